# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whether results are of the code of the checkout, in a repository of the test's own, and how commits are shown."""

import json
import re
import subprocess

import pytest

from shardsweep import catalog, freshness, machine
from shardsweep.freshness import COLLECTORS, JCSTRESS, MALLOC, MINHEAPS, PROGRAMS, SOAK

COMMIT = "0123456789abcdef0123456789abcdef01234567"
# What has the code of the collectors.
OF_COLLECTORS = {COLLECTORS, SOAK, JCSTRESS}


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Commits files to a repository that stands for the checkout, and asks git other things about it."""

    class Repository:
        def git(self, *command):
            done = subprocess.run(
                ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", tmp_path, *command],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            return done.stdout.strip()

        def write(self, name, text):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)

        def commit(self, name):
            self.write(name, f"{name} of {len(list(tmp_path.rglob('*')))}")
            self.git("add", ".")
            self.git("commit", "-m", name)
            return self.git("rev-parse", "HEAD")

        def state(self, commit, of=COLLECTORS):
            freshness.state.cache_clear()
            return freshness.state(commit, of)

    repository = Repository()
    repository.listed = []
    repository.git("init")
    monkeypatch.setattr(catalog, "ROOT", tmp_path)
    monkeypatch.setattr(freshness, "unmeasured", lambda: repository.listed)
    yield repository
    freshness.state.cache_clear()


def test_a_commit_is_fresh_where_its_code_is_that_of_the_checkout():
    code = freshness.CODE[COLLECTORS]
    head = subprocess.run(
        ["git", "-C", catalog.ROOT, "log", "-1", "--format=%H", "--", *code], capture_output=True, text=True, check=True
    ).stdout.strip()
    clean = subprocess.run(["git", "-C", catalog.ROOT, "diff", "--quiet", "HEAD", "--", *code], check=False)
    assert freshness.state(head) == ("fresh" if clean.returncode == 0 else "stale")
    assert freshness.state(f"{head}-dirty") == freshness.state("0" * 12) == "stale"


def test_commits_that_nothing_measured_runs_make_no_result_stale(repository):
    measured, other = repository.commit("policy/measured.rs"), repository.commit("policy/src/lib.rs")
    assert repository.state(measured) == "stale"
    repository.listed.append(freshness.Unmeasured(commit=other, why="nothing runs it"))
    assert repository.state(measured) == repository.state(measured, SOAK) == "fresh"
    assert repository.state(measured, MALLOC) == "stale", "what no collector runs, a malloc may"
    repository.listed[:] = [freshness.Unmeasured(commit=other, why="comments", nor_malloc=True)]
    freshness.state.cache_clear()
    assert repository.state(measured) == repository.state(measured, MALLOC) == "fresh"
    repository.listed[:] = [freshness.Unmeasured(commit=other, why="a program", but_for_programs=True)]
    others = (PROGRAMS, SOAK, JCSTRESS, freshness.STRESS)
    states = [repository.state(measured, of) for of in (COLLECTORS, *others)]
    assert states == ["fresh", *["stale"] * len(others)], "lusearch does not run it"
    repository.listed[:] = [freshness.Unmeasured(commit=other, why="before an OutOfMemoryError", but_for_minheaps=True)]
    freshness.state.cache_clear()
    states = [repository.state(measured, of) for of in (COLLECTORS, SOAK, MINHEAPS, freshness.STRESS, PROGRAMS)]
    assert states == ["fresh", "fresh", "stale", "stale", "stale"], (
        "what runs in a heap that is large enough does not run it"
    )
    repository.commit("policy/notes.md")
    assert repository.state(measured) == "fresh"
    repository.write("policy/measured.rs", "not committed")
    assert repository.state(measured) == "stale"
    repository.git("checkout", ".")
    repository.git("checkout", "--detach")
    elsewhere = repository.commit("policy/elsewhere.rs")
    repository.git("checkout", "-")
    assert repository.state(elsewhere) == "stale", "the checkout lacks what was measured"
    measured = repository.git("rev-parse", "HEAD")
    repository.commit("policy/another.rs")
    assert repository.state(measured) == "stale"


@pytest.mark.parametrize(
    ("changed", "stale"),
    [
        ("Cargo.toml", {*OF_COLLECTORS, MALLOC}),
        ("Cargo.lock", {*OF_COLLECTORS, MALLOC}),
        ("policy/src/size_class.rs", {*OF_COLLECTORS, MALLOC}),
        ("policy/src/collect.rs", OF_COLLECTORS),
        ("policy/src/malloc/arena.rs", {MALLOC}),
        ("policy/tests/heap.rs", set()),
        ("malloc/src/lib.rs", {MALLOC}),
        ("malloc/benchmarks/larson.c", {MALLOC}),
        ("malloc/tests/corners.c", set()),
        ("mmtk/builds.toml", OF_COLLECTORS),
        ("benchmarks/lusearch/pom.xml", OF_COLLECTORS),
        ("openjdk/src/hotspot/share/gc/thirdparty/thirdPartyHeap.cpp", OF_COLLECTORS),
        ("openjdk/src/jdk.hotspot.agent/share/A.java", set()),
        ("configs/builds.yml", OF_COLLECTORS),
        ("configs/modifiers.yml", OF_COLLECTORS),
        ("configs/presets/time.yml", set()),
        ("configs/README.md", set()),
        ("scripts/building/jdk.sh", OF_COLLECTORS),
        ("scripts/building/plugin.sh", OF_COLLECTORS),
        ("scripts/building/malloc.sh", {MALLOC}),
        ("scripts/building/mimalloc.sh", {MALLOC}),
        ("scripts/building/rivals.sh", {MALLOC}),
        ("scripts/experiments/shardsweep/launch.py", OF_COLLECTORS),
        ("scripts/experiments/shardsweep/logs.py", OF_COLLECTORS),
        ("scripts/experiments/shardsweep/report.py", set()),
        ("scripts/testing/soak/Soak.java", {SOAK}),
        ("scripts/testing/jcstress/pom.xml", {JCSTRESS}),
    ],
)
def test_a_result_is_stale_where_what_it_depends_on_has_changed(repository, changed, stale):
    measured = repository.commit("README.md")
    repository.commit(changed)
    assert {of for of in (*OF_COLLECTORS, MALLOC) if repository.state(measured, of) == "stale"} == stale


def test_programs_are_of_the_checkout_and_plugins_of_their_commit(repository):
    built = repository.commit("policy/measured.rs")
    ran = repository.commit("benchmarks/measured.java")
    repository.commit("README.md")
    states = {
        (commit, part): freshness.state(commit, COLLECTORS, None, part)
        for commit in (built, ran)
        for part in (freshness.WHOLE, freshness.OF_BUILD, freshness.OF_CHECKOUT)
    }
    stale = {key for key, state in states.items() if state == "stale"}
    assert stale == {(built, freshness.WHOLE), (built, freshness.OF_CHECKOUT)}
    freshness.state.cache_clear()
    repository.commit("configs/base.yml")
    assert freshness.state(ran, COLLECTORS, None, freshness.OF_BUILD) == "fresh"
    assert freshness.state(ran, COLLECTORS, None, freshness.OF_CHECKOUT) == "stale"


def test_the_malloc_is_made_of_the_files_of_the_policy_that_it_uses():
    source = catalog.ROOT / "policy" / "src"
    used, left = {"lib"}, sorted((source / "malloc").glob("*.rs"))
    while left:
        for name in re.findall(r"\bcrate::(?:\{)?([a-z_]+)", left.pop().read_text()):
            if name not in used and (source / f"{name}.rs").is_file():
                used.add(name)
                left.append(source / f"{name}.rs")
    assert used == set(freshness.POLICY_OF_MALLOC)


def test_what_the_malloc_alone_is_made_of_makes_no_collector_stale(repository):
    measured = repository.commit("policy/measured.rs")
    repository.commit("policy/src/thread_free.rs")
    assert repository.state(measured) == "fresh"
    assert repository.state(measured, MALLOC) == "stale"


def test_what_results_depend_on_is_there():
    for of, paths in freshness.CODE.items():
        for path in paths:
            listed = ["git", "-C", catalog.ROOT, "ls-files", "--", path.replace(":!", ":(top)")]
            assert subprocess.run(listed, capture_output=True, text=True, check=True).stdout, f"{of}: {path}"


def test_unmeasured_commits_are_there():
    shallow = ["git", "-C", catalog.ROOT, "rev-parse", "--is-shallow-repository"]
    if subprocess.run(shallow, capture_output=True, text=True, check=True).stdout.strip() == "true":
        pytest.skip("a shallow clone does not have them")
    for each in freshness.unmeasured():
        done = subprocess.run(["git", "-C", catalog.ROOT, "cat-file", "-e", each.commit], check=False)
        assert done.returncode == 0, f"{each.commit} is no commit of this repository"


def test_commits_that_some_builds_run_make_the_results_of_these_stale(repository):
    measured, other = repository.commit("policy/measured.rs"), repository.commit("policy/mmtk/plan.rs")
    repository.listed.append(freshness.Unmeasured(commit=other, why="a plan", but_for={"stock-Immix", "ms-64k"}))
    states = {
        builds: freshness.state(measured, builds=frozenset(builds))
        for builds in [("hotspot-Serial",), ("hotspot-Serial", "ms-64k"), ("stock-Immix",)]
    }
    assert list(states.values()) == ["fresh", "stale", "stale"]
    assert repository.state(measured) == "stale", "where builds are not known"


def test_what_plugins_are_made_of_makes_no_collector_of_hotspot_stale(repository):
    serial, both = frozenset(["hotspot-Serial"]), frozenset(["hotspot-Serial", "ms-64k"])
    measured = repository.commit("openjdk/measured.cpp")
    repository.commit("mmtk/src/plan.rs")
    assert [freshness.state(measured, builds=builds) for builds in (serial, both)] == ["fresh", "stale"]
    repository.commit("openjdk/heap.cpp")
    freshness.state.cache_clear()
    assert freshness.state(measured, builds=serial) == "stale"


def test_a_commit_and_its_beginning_are_one(repository):
    measured = repository.commit("policy/a.rs")
    found = freshness.origin([measured, measured[:12], measured[:7]], ["Fast 1", "Fast 1"])
    assert found == freshness.Origin(measured[:7], "Fast 1", "fresh")
    older = freshness.origin([measured, f"{COMMIT}-dirty"], ["Slow 2", "Fast 1"])
    assert older.commits.split(", ") == sorted([measured[:7], f"{COMMIT[:7]}-dirty"])
    assert (older.processors, older.state) == ("Fast 1, Slow 2", "stale")


def test_where_nothing_was_recorded_all_is_unknown(repository, tmp_path):
    unknown = freshness.Origin("unknown", "unknown", "unknown")
    assert freshness.origin([], []) == freshness.recorded_origin(tmp_path / "machine.json") == unknown
    file = tmp_path / "machine.json"
    file.write_text("{}")
    assert freshness.recorded_origin(file) == unknown
    measured = repository.commit("malloc/src/lib.rs")
    file.write_text(json.dumps({"machine": {"processor": "Fast 1"}, "revision": measured}))
    assert freshness.recorded_origin(file, MALLOC) == freshness.Origin(measured[:7], "Fast 1", "fresh")
    assert freshness.origin([measured, "unknown"], []).state == "stale"


def test_what_a_script_measured_is_of_a_build_and_of_the_checkout(repository, tmp_path):
    built = repository.commit("policy/measured.rs")
    ran = repository.commit("scripts/testing/soak/Soak.java")
    file = tmp_path / "machine.json"
    for checkout, state in ((ran, "fresh"), (built, "stale")):
        file.write_text(json.dumps({"revision": built, "checkout": checkout}))
        assert freshness.recorded_origin(file, SOAK).state == state
    file.write_text(json.dumps({"revision": built}))
    assert freshness.recorded_origin(file, SOAK).state == "stale", (
        "where it is not known, the programs are of the build's commit"
    )
    repository.commit("policy/another.rs")
    freshness.state.cache_clear()
    file.write_text(json.dumps({"revision": built, "checkout": ran}))
    assert freshness.recorded_origin(file, SOAK).state == "stale"


def test_a_commit_is_recorded_with_all_its_digits_and_whether_something_was_changed(repository):
    measured = repository.commit("policy/a.rs")
    repository.git("tag", "-a", "-m", "a tag", "v1")
    assert machine.revision() == measured
    repository.commit("results/time/results.csv")
    measured = repository.commit("README.md")
    repository.write("results/time/results.csv", "not committed")
    repository.write("README.md", "not committed")
    assert machine.revision() == measured
    repository.write("policy/a.rs", "not committed")
    assert machine.revision() == f"{measured}-dirty"


def test_the_jvm_is_the_same_where_openjdk_is_but_for_its_tests(repository):
    first, docs, plugin, test, jvm = (
        repository.commit(name)
        for name in ("openjdk/a.cpp", "openjdk/README.md", "policy/a.rs", "openjdk/test/A.java", "openjdk/b.cpp")
    )
    assert all(catalog._has_same_jvm(first, each) for each in (first, docs, plugin, test, f"{test}-dirty"))
    assert not catalog._has_same_jvm(first, jvm) and not catalog._has_same_jvm(jvm, test)
    assert catalog._has_same_jvm(jvm, "0" * 40), "git does not know it"
