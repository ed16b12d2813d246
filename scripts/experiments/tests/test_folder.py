# SPDX-License-Identifier: MIT OR Apache-2.0
"""A sweep's folder without a sweep: what it depends on, when it is resumed, refused or new, what a resumed run says.

The JDK is a folder with the files that are looked for and nothing in them: no JVM is started."""

import gzip
import hashlib
import json
import os
import subprocess
import tomllib
from contextlib import nullcontext
from pathlib import Path

import pytest
from running.util import config_str_encode

from shardsweep import catalog, cli, files, grid, inputs, logs, machine, point, probe, progress, sweep
from shardsweep.errors import UserError

CONTENT = {"minheap": {"benchmarks": ["steady"], "builds": ["hotspot-Serial"], "threads": [1, 2]}}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    """A JDK that is there and does nothing, in the working directory of the test."""
    home = tmp_path / "jdk"
    for name in ("bin/java", "lib/server/libjvm.so"):
        (home / name).parent.mkdir(parents=True)
        (home / name).touch()
    (home / "lib" / "mmtk").mkdir()
    (tmp_path / "bench.jar").touch()
    for name in [name for name in os.environ if name.startswith(("MMTK_", "DACAPO_", "SHARDSWEEP_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SHARDSWEEP_JDK", str(home))
    monkeypatch.setenv("LUSEARCH_JAR", str(tmp_path / "bench.jar"))
    monkeypatch.chdir(tmp_path)
    return home


@pytest.fixture
def wanted() -> grid.Grid:
    return grid.check(CONTENT, "test")


def other() -> grid.Grid:
    return grid.check({"minheap": {**CONTENT["minheap"], "threads": [6]}}, "test")


def fails_at(monkeypatch, name: str) -> None:
    """Lets the disk be full when the file of that name is written."""
    write = Path.write_text

    def full(path, *arguments, **named):
        if path.name.startswith(name):
            write(path, "")
            raise OSError(28, "No space left on device")
        return write(path, *arguments, **named)

    monkeypatch.setattr(Path, "write_text", full)


@pytest.mark.parametrize("name", ["grid.yml", "inputs.json"])
def test_a_disk_that_is_full_at_the_start_leaves_a_folder_to_begin_with(tmp_path, wanted, monkeypatch, name):
    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        fails_at(patched, name)
        with pytest.raises(OSError, match="No space left"):
            sweep.prepare(out, wanted)
    sweep.prepare(out, wanted)
    sweep.prepare(out, wanted)
    assert sorted(file.name for file in out.iterdir()) == ["grid.yml", "inputs.json"]
    assert grid.load(out / "grid.yml") == wanted


def test_a_disk_that_is_full_when_the_machine_is_recorded_leaves_no_half_of_it(tmp_path, monkeypatch):
    file = tmp_path / "machine.json"
    monkeypatch.setattr(machine, "_java", lambda: "17")
    with monkeypatch.context() as patched:
        fails_at(patched, "machine.json")
        with pytest.raises(OSError, match="No space left"):
            machine.record(file, ["hotspot-Serial"], ["shardsweep"], {})
    machine.record(file, ["hotspot-Serial"], ["shardsweep"], {})
    facts = json.loads(file.read_text())
    assert facts["machines"] == [machine.host()]
    of_processor = {"processor", "family", "model", "stepping", "processors", "clock"}
    assert set(machine.host()) == {*of_processor, "memory", "kernel", "system", "huge pages"}
    assert machine.host() == machine.host()


def test_the_jars_of_a_sweep_are_recorded_by_their_digest(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "_java", lambda: "17")
    (tmp_path / "bench.jar").write_bytes(b"a jar")
    machine.record(tmp_path / "machine.json", ["hotspot-Serial"], ["shardsweep", "shardsweep"], {"MMTK_THREADS": "1"})
    facts = json.loads((tmp_path / "machine.json").read_text())
    assert facts["jars"] == {"shardsweep": hashlib.sha256(b"a jar").hexdigest()}
    assert facts["settings"] == {"MMTK_THREADS": "1"}
    base = catalog.CONFIGS / "base.yml"
    assert facts["configurations"][base.name] == hashlib.sha256(base.read_bytes()).hexdigest()


@pytest.mark.parametrize(("text", "mode"), [("always [madvise] never\n", "madvise"), ("\n", "unknown")])
def test_the_mode_of_huge_pages_is_the_one_in_brackets(tmp_path, text, mode):
    (tmp_path / "enabled").write_text(text)
    assert machine._chosen(str(tmp_path / "enabled")) == mode
    assert machine._chosen(str(tmp_path / "nothing")) == "unknown"


def test_a_grid_of_the_users_own_is_not_overwritten(tmp_path, wanted):
    (tmp_path / "grid.yml").write_text("# mine\n")
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "grid.yml").write_text("# mine\n")
    with pytest.raises(UserError, match="is not empty and not a sweep"):
        sweep.prepare(folder, wanted)
    assert (folder / "grid.yml").read_text() == "# mine\n"


def test_a_damaged_folder_is_refused_in_one_line(tmp_path, wanted):
    sweep.prepare(tmp_path / "out", wanted)
    (tmp_path / "out" / "inputs.json").write_text("")
    with pytest.raises(UserError, match=r"inputs\.json is damaged .*: choose another folder") as caught:
        sweep.prepare(tmp_path / "out", wanted)
    assert "\n" not in str(caught.value)


def test_a_dry_run_refuses_the_folder_of_another_grid_and_writes_nothing(tmp_path, wanted, capsys):
    sweep.prepare(tmp_path / "out", other())
    before = sorted((file.name, file.read_bytes()) for file in (tmp_path / "out").iterdir())
    with pytest.raises(UserError, match="holds a sweep of another grid"):
        sweep.dry_run(tmp_path / "out", wanted)
    assert sorted((file.name, file.read_bytes()) for file in (tmp_path / "out").iterdir()) == before
    sweep.dry_run(tmp_path / "new", wanted)
    assert "2 of 2 points to measure" in capsys.readouterr().out
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["MMTK_THREADS", "SHARDSWEEP_RESET_DELAY"])
def test_results_depend_on_configurations_and_on_the_variables_that_runs_get(tmp_path, wanted, monkeypatch, name):
    before = inputs.of(wanted)
    assert {str(file) for file in (Path(logs.__file__), Path(probe.__file__), inputs.PACKAGES)} < set(before)
    assert {str(file) for file in catalog.CONFIGS.glob("*.yml")} < set(before)
    sweep.prepare(tmp_path / "out", wanted)
    monkeypatch.setenv(name, "1")
    assert inputs.of(wanted) == {**before, name: "1"}
    with pytest.raises(UserError, match=f"was measured with another {name}"):
        sweep.prepare(tmp_path / "out", wanted)


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_point_is_not_of_a_jvm_that_took_the_place_of_the_one_the_sweep_began_with(
    tmp_path, home, wanted, monkeypatch, capsys, when
):
    out, file = tmp_path / "out", tmp_path / "result.json"
    log = out / "logs" / "run.log.gz"
    sweep.prepare(out, wanted)
    monkeypatch.chdir(out)

    def build():
        (home / "lib" / "server" / "libjvm.so").write_text("another")

    def run(folder, point, experiment, builds, *_):
        log.parent.mkdir()
        log.touch()
        build()
        return [probe.Run(builds[0], None, log.relative_to(out))]

    monkeypatch.setattr(probe, "run", run)
    if when == "before":
        build()
    assert point.main([grid.points(wanted)[0].id, str(file)]) == 1
    assert "libjvm.so has changed since the sweep began: sweep again" in capsys.readouterr().err
    assert not file.exists() and log.parent.exists() == (when == "meanwhile")
    # With the first JVM in its place again it would be a result.
    assert not log.exists()


def test_a_point_may_be_measured_where_files_lie_elsewhere(tmp_path, wanted, monkeypatch):
    sweep.prepare(tmp_path / "out", wanted)
    monkeypatch.setenv("LUSEARCH_JAR", str(tmp_path / "elsewhere.jar"))
    (tmp_path / "elsewhere.jar").write_text("the same, or not")
    inputs.check_unchanged(tmp_path / "out", wanted)


UNKNOWN = "plugin ms-64k does not say of which commit it is: make plugin BUILD=ms-64k"


def test_what_is_of_several_plugins_is_of_their_commit(home, tmp_path):
    def record(**revisions):
        for name, revision in revisions.items():
            (home / "lib" / "mmtk" / f"libmmtk_{name}.json").write_text(json.dumps({"source_revision": revision}))
        machine.record_here(tmp_path / "machine.json", home, [*revisions])
        return json.loads((tmp_path / "machine.json").read_text())["revision"]

    (home / "lib" / "server" / "libjvm.json").write_text(json.dumps({"source_revision": "later"}))
    assert record(one="new", two="new") == "new"
    assert json.loads((tmp_path / "machine.json").read_text())["checkout"] == machine.revision()
    with pytest.raises(UserError, match="plugins are of several commits, one of new, two of old: make plugins"):
        record(one="new", two="old")
    # A name with a slash is a path, as for the JVM.
    (tmp_path / "own.json").write_text(json.dumps({"source_revision": "mine"}))
    machine.record_here(tmp_path / "machine.json", home, [str(tmp_path / "own.so")])
    assert json.loads((tmp_path / "machine.json").read_text())["revision"] == "mine"
    with pytest.raises(UserError, match="what is measured is of mine-dirty"):
        (tmp_path / "own.json").write_text(json.dumps({"source_revision": "mine-dirty"}))
        machine.record_here(tmp_path / "machine.json", home, [str(tmp_path / "own.so")], committed=True)


def test_what_is_recorded_is_of_commits_all_of_it(home, tmp_path, monkeypatch):
    def record(plugin, jvm, checkout):
        (tmp_path / "own.json").write_text(json.dumps({"source_revision": plugin}))
        (home / "lib" / "server" / "libjvm.json").write_text(json.dumps({"source_revision": jvm}))
        monkeypatch.setattr(machine, "revision", lambda: checkout)
        machine.record_here(tmp_path / "machine.json", home, [str(tmp_path / "own.so")], committed=True)

    record("mine", "mine", "mine")
    for what, told in (("the JVM", ("mine", "mine-dirty", "mine")), ("the checkout", ("mine", "mine", "mine-dirty"))):
        with pytest.raises(UserError, match=f"{what} is of mine-dirty"):
            record(*told)


def test_a_build_is_of_the_revisions_beside_its_jvm_and_its_plugin(home, monkeypatch):
    monkeypatch.setattr(catalog, "_has_same_jvm", lambda one, other: {one, other} != {"old", "new"})
    plugins = home / "lib" / "mmtk"
    (plugins / "libmmtk_ms-64k.so").touch()
    assert catalog.builds()["hotspot-Serial"].jvm_revision is None
    for revision, jvm, said in (
        ("new", "new", ""),
        ("new", "later", ""),
        ("old", "new", "plugin ms-64k is of old, the JVM of new, and openjdk/ differs: make jdk plugins"),
    ):
        (plugins / "libmmtk_ms-64k.json").write_text(json.dumps({"source_revision": revision}))
        (home / "lib" / "server" / "libjvm.json").write_text(json.dumps({"source_revision": jvm}))
        build, serial = (catalog.builds()[name] for name in ("ms-64k", "hotspot-Serial"))
        assert (build.revision, build.jvm_revision, build.missing) == (revision, jvm, said)
        assert (serial.revision, serial.jvm_revision, serial.missing) == (None, jvm, "")
    with pytest.raises(UserError, match="plugin ms-64k is of old, the JVM of new"):
        machine.record_here(home / "machine.json", home, ["ms-64k"])
    assert not (home / "machine.json").exists()
    (plugins / "libmmtk_ms-64k.json").unlink()
    assert catalog.builds()["ms-64k"].missing == UNKNOWN
    with pytest.raises(UserError, match=UNKNOWN):
        machine.record_here(home / "machine.json", home, ["ms-64k"])
    facts = {"revision": "the checkout's", "builds": {"hotspot-Serial": {"revision": None, "jvm": "new"}}}
    assert sweep._origin("hotspot-Serial", facts, {"processor": "Fast 1"}, None)["commit"] == "new"
    of_generation = {"processor": "Fast 1", "family": "25", "model": "1", "stepping": "1"}
    assert sweep._origin("ms-64k", facts, of_generation, None)["processor"] == "Fast 1 family 25 model 1"


def test_results_do_not_depend_on_where_builds_are_kept(wanted, monkeypatch):
    before = inputs.of(wanted)
    monkeypatch.setenv("SHARDSWEEP_CACHE", "/elsewhere")
    assert "SHARDSWEEP_CACHE" not in probe.passed_on()
    assert inputs.of(wanted) == before


def test_results_depend_on_the_library_that_a_plugin_loads(home):
    plugins = home / "lib" / "mmtk"
    for name in ("libmmtk_malloc-mimalloc2.so", "libmmtk_malloc-mimalloc3.so"):
        (plugins / name).touch()

    def names(build: str) -> list[str]:
        return [file.name for file in catalog.builds()[build].files]

    assert names("malloc-mimalloc3") == ["libjvm.so", "libmmtk_malloc-mimalloc3.so"]
    (plugins / "libmimalloc3.so").touch()
    assert names("malloc-mimalloc3") == ["libjvm.so", "libmmtk_malloc-mimalloc3.so", "libmimalloc3.so"]
    assert names("malloc-mimalloc3-64kpage")[-1] == "libmimalloc3.so"
    assert names("malloc-mimalloc2") == ["libjvm.so", "libmmtk_malloc-mimalloc2.so"]
    for plugin, library in (
        ("malloc-mimalloc2-4kblock", "libmimalloc2-4kblock.so"),
        ("malloc-shardsweep", "libshardsweep_malloc.so"),
    ):
        for name in (f"libmmtk_{plugin}.so", library):
            (plugins / name).touch()
        assert names(plugin) == ["libjvm.so", f"libmmtk_{plugin}.so", library]
    assert names("malloc-mimalloc2") == ["libjvm.so", "libmmtk_malloc-mimalloc2.so"]


def test_paths_of_the_user_are_absolute(tmp_path, monkeypatch):
    for name in ("SHARDSWEEP_JDK", "LUSEARCH_JAR", "DACAPO_BACH"):
        monkeypatch.setenv(name, f"here/{name}")
        assert catalog.environment()[name] == str(tmp_path / "here" / name)
    assert catalog.environment()["DACAPO_CHOPIN"] == ""


def test_a_resumed_run_forgets_how_earlier_ones_failed(tmp_path, wanted):
    points = grid.points(wanted)
    for each in points:
        log = progress.job_log(tmp_path, each)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("a warning\nshardsweep: the disk is full\n")
    done = point.result_file(tmp_path, points[0])
    done.parent.mkdir(parents=True)
    done.write_text("{}")
    assert progress.failure(tmp_path, points[1]) == "the disk is full"
    sweep._forget_failures(tmp_path, points)
    assert [progress.job_log(tmp_path, each).exists() for each in points] == [True, False]
    assert sweep._why(tmp_path, points[1], tmp_path / "snakemake.log").startswith("not measured")


def test_a_job_without_a_word_of_ours_is_told_by_its_last_line(tmp_path, wanted):
    each = grid.points(wanted)[0]
    log = progress.job_log(tmp_path, each)
    log.parent.mkdir(parents=True)
    for text, said in (("Killed\n\n", "Killed"), ("", "silent")):
        log.write_text(text)
        assert sweep._why(tmp_path, each, tmp_path / "snakemake.log") == f"{said}; see {tmp_path / 'snakemake.log'}"


@pytest.mark.parametrize(
    ("script", "said"),
    [("echo on the way; echo 'no disk' >&2; exit 1", "no disk"), ("echo some; exit 1", "some"), ("exit 1", "silent")],
)
def test_what_running_ng_said_last_is_told_where_it_fails(tmp_path, monkeypatch, script, said):
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))
    with pytest.raises(UserError, match=f"^running-ng failed at some: {said}"):
        probe._call(tmp_path, "some", tmp_path / "some.yml", 8)


def test_a_run_whose_launcher_was_stopped_counts_for_nothing(tmp_path, wanted, monkeypatch):
    """running-ng packs its log as any other."""
    whole = (Path(__file__).parent / "logs" / "passed-serial.log").read_text()
    cut = whole[: whole.rindex(logs.MARK)]
    said = [cut, cut, whole]
    build, asked, experiment = catalog.builds()["hotspot-Serial"], grid.points(wanted)[0], wanted.minheap
    name = f"steady.8000.8.{config_str_encode(probe._config_string(build, asked, experiment))}.shardsweep.log.gz"

    def call(folder, run_id, file, heap):
        log = folder / "logs" / run_id / name
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(gzip.compress(said.pop(0).encode()))

    monkeypatch.setattr(probe, "_call", call)
    for _ in range(2):
        with pytest.raises(UserError, match="the launcher was stopped from outside"):
            probe.run(tmp_path, asked, experiment, [build], 8)
    for _ in range(2):
        assert probe.run(tmp_path, asked, experiment, [build], 8)[0].invocation.outcome == logs.Outcome.PASSED
    assert not said


def test_a_call_that_was_cut_is_made_again_with_all_its_builds(tmp_path, wanted, monkeypatch):
    whole = gzip.compress((Path(__file__).parent / "logs" / "passed-serial.log").read_bytes())
    builds, asked, experiment = catalog.builds(), grid.points(wanted)[0], wanted.minheap
    chosen = [builds["hotspot-Serial"], builds["hotspot-G1"]]
    folder = tmp_path / "logs" / f"{asked.id.replace('/', '.')}.a0"
    strings = (config_str_encode(probe._config_string(build, asked, experiment)) for build in chosen)
    first, second = (folder / f"steady.8000.8.{each}.shardsweep.log.gz" for each in strings)
    folder.mkdir(parents=True)
    calls = []

    def call(*_):
        calls.append([file.exists() for file in (first, second)])
        first.write_bytes(whole)
        second.write_bytes(whole)

    monkeypatch.setattr(probe, "_call", call)
    call()
    # What a failure of power leaves of the second.
    for left in (b"", whole[: len(whole) // 2]):
        second.write_bytes(left)
        runs = probe.run(tmp_path, asked, experiment, chosen, 8)
        assert [each.invocation.outcome for each in runs] == [logs.Outcome.PASSED] * 2
    assert calls == [[False, False]] * 3


def test_a_folder_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    target = tmp_path / "set"
    target.mkdir()
    (target / "old").write_text("old")

    def interrupted():
        with files.replaced(target) as new:
            (new / "half").touch()
            raise KeyboardInterrupt

    def full(path, to):
        if path.name == "set" and path != target:
            raise OSError(28, "No space left on device")
        return os.rename(path, to)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space left"):
        patched.setattr(Path, "rename", full)
        with files.replaced(target) as new:
            (new / "new").touch()
    assert [file.name for file in target.iterdir()] == ["old"]
    with files.replaced(target) as new:
        (new / "new").touch()
    assert [file.name for file in target.iterdir()] == ["new"]
    assert {file.name for file in tmp_path.iterdir()} == {"set", "jdk", "bench.jar"}


def test_a_point_that_failed_is_neither_running_nor_waited_for(tmp_path, wanted, capfd):
    points = grid.points(wanted)
    for each, text in zip(points, ("", "shardsweep: the disk is full\n"), strict=True):
        log = progress.job_log(tmp_path, each)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(text)
    progress.follow(tmp_path, points, subprocess.Popen(["true"]))
    assert f"0 of 2 points; {points[0].id}, 1 failed; " in " ".join(capfd.readouterr().err.split())
    progress.job_log(tmp_path, points[0]).write_text("shardsweep: the disk is full\n")
    progress.follow(tmp_path, points, subprocess.Popen(["true"]))
    assert "0 of 2 points; done, 2 failed; finished" in " ".join(capfd.readouterr().err.split())


def done(folder, each, rows):
    """Writes the result of a point."""
    file = point.result_file(folder, each)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"rows": rows}))


def test_a_point_that_is_done_is_told_with_its_minheap(tmp_path, wanted, capfd):
    first, second = grid.points(wanted)
    done(tmp_path, first, [{"metric": "minheap", "value": 5}])
    numbers = progress.Numbers(tmp_path, [first, second])
    assert numbers.lines() == ["minheap/steady/hotspot-Serial/t1-0: 5 MiB"]
    point.result_file(tmp_path, second).write_text('{"rows": [')
    assert numbers.lines() == []
    done(tmp_path, second, [{"metric": "minheap", "value": None}])
    assert numbers.lines() == ["minheap/steady/hotspot-Serial/t2-0: no minheap"]
    assert numbers.lines() == []
    # Of what was done before, nothing is said anew.
    point.result_file(tmp_path, second).unlink()
    late = json.dumps({"rows": [{"metric": "minheap", "value": 6}]})
    command = ["sh", "-c", f"sleep 5; echo '{late}' >{point.result_file(tmp_path, second)}"]
    progress.follow(tmp_path, [first, second], subprocess.Popen(command))
    lines = capfd.readouterr().err.splitlines()
    assert [line for line in lines if "MiB" in line] == ["minheap/steady/hotspot-Serial/t2-0: 6 MiB"]


def test_a_point_that_is_done_is_told_with_the_median_time_of_each_build_so_far(tmp_path):
    builds = ["hotspot-Serial", "hotspot-G1"]
    perf = {"builds": builds, "baseline": builds[0], "threads": [1], "heaps": [40, 50], "invocations": 3}
    points = grid.points(grid.check({"perf-by-heap": perf}, "test"))
    numbers = progress.Numbers(tmp_path, points)
    said = []
    for each, serial in zip(points, (100, 900, 200, 800, 110, 700), strict=True):
        # The warm-up is no time of the build.
        times = {("hotspot-Serial", 1): 5000, ("hotspot-Serial", 2): serial, ("hotspot-G1", 1): 70}
        rows = [{"build": build, "metric": "time.total", "value": value} for (build, _), value in times.items()]
        done(tmp_path, each, [] if serial == 700 else rows)
        said += numbers.lines()
    assert said[4] == f"{points[4].id}: hotspot-G1 70 ms (of 3), hotspot-Serial 110 ms (of 3)"
    assert said[3] == f"{points[3].id}: hotspot-G1 70 ms (of 2), hotspot-Serial 850 ms (of 2)"
    assert said[5] == f"{points[5].id}: nothing to tell: see the report"


@pytest.mark.parametrize(
    ("text", "said"),
    [("about: 2024-13-01\n", "is not YAML: month must be in 1..12"), ("a: [", "is not YAML"), ("\xff", "is not YAML")],
)
def test_files_that_are_no_yaml_get_one_line(tmp_path, text, said):
    file = tmp_path / "config.yaml"
    file.write_bytes(text.encode("latin-1"))
    for read in (lambda: grid.load(file), lambda: sweep.check_profile(str(tmp_path), None)):
        with pytest.raises(UserError) as caught:
            read()
        assert said in str(caught.value) and str(file) in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("profile", ["slurm", "kubernetes"])
def test_a_profile_of_a_cluster_needs_its_plugin_and_the_size_of_its_nodes(monkeypatch, profile):
    monkeypatch.setattr(sweep, "find_spec", lambda name: None)
    said = f"profile {profile} needs snakemake-executor-plugin-{profile}: run scripts/experiments/venv.sh cluster,"
    with pytest.raises(UserError, match=said):
        sweep.check_profile(profile, 4)
    sweep.check_profile("local", None)
    there = [f"snakemake_executor_plugin_{profile}"]
    monkeypatch.setattr(sweep, "find_spec", lambda name: name in there)
    with pytest.raises(UserError, match="say with --processors how many a node has"):
        sweep.check_profile(profile, None)
    sweep.check_profile(profile, 4)
    monkeypatch.setenv("MMTK_PLAN", "Immix")
    with pytest.raises(UserError, match="unset MMTK_PLAN") if profile == "kubernetes" else nullcontext():
        sweep.check_profile(profile, 4)


def test_without_git_the_revision_is_unknown(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine.revision() == "unknown"


@pytest.mark.parametrize("config", ["jdk|common", "jdk|common|mmtk_gc"])
def test_a_build_without_a_plan_is_named(config):
    with pytest.raises(UserError, match=r"configs/builds\.yml: build odd names no plan, as mmtk_gc-MarkSweep"):
        catalog._build(catalog.configuration(), "odd", config)


def test_a_collector_whose_pauses_are_not_read_is_refused():
    with pytest.raises(UserError, match=r"configs/builds\.yml: build odd: the pauses of Z are not read from its log"):
        catalog._build(catalog.configuration(), "odd", "jdk|common|hotspot_gc-Z")


@pytest.mark.parametrize(
    ("names", "flag"),
    [
        (["mmtk_option-threads-1", "mmtk_option-full_heap_system_gc-true"], "ThirdPartyHeapOptions"),
        (["collector_threads-1", "collector_threads-2"], "ParallelGCThreads"),
        (["huge_pages", "small_pages"], "UseTransparentHugePages"),
    ],
)
def test_modifiers_that_set_one_flag_are_refused(names, flag):
    builds = catalog.choose(["ms-64k", "hotspot-G1"])
    with pytest.raises(UserError, match=f"modifier {names[0]} and modifier {names[1]} both set the flag {flag}: "):
        catalog.check_modifiers(names, builds)
    for name in names:
        catalog.check_modifiers([name, "compressed_oops_off", "t-4"], builds)


@pytest.mark.parametrize(
    ("modifier", "flag"),
    [("huge_pages", "UseTransparentHugePages"), ("allocation_only", "MetaspaceSize"), ("stock", "UseThirdPartyHeap")],
)
def test_a_modifier_that_sets_a_flag_of_a_build_is_refused(modifier, flag):
    builds = catalog.choose(["hotspot-Serial", "ms-64k-small-pages"])
    with pytest.raises(UserError, match=rf"build \S+ and modifier {modifier} both set the flag {flag}: "):
        catalog.check_modifiers([modifier], builds)


@pytest.mark.parametrize("modifier", ["hotspot_gc-G1", "mmtk_gc-Immix", "mmtk_option-plan-Immix"])
def test_a_modifier_that_chooses_a_plan_is_refused(modifier):
    with pytest.raises(UserError, match=f"modifier {modifier} chooses a plan: that is for the build"):
        catalog.check_modifiers([modifier], catalog.choose(["ms-64k"]))


def test_a_yaml_file_reads_as_it_is(tmp_path):
    (tmp_path / "some.yml").write_text("about: Größe\n", encoding="utf-8")
    assert files.read_yaml(tmp_path / "some.yml", "some") == {"about": "Größe"}


def plugins(capsys, *arguments) -> list[str]:
    assert cli.main(["plugins", *map(str, arguments)]) == 0
    return capsys.readouterr().out.splitlines()


def test_plugins_are_those_that_a_preset_needs(capsys):
    table = tomllib.loads((catalog.ROOT / "mmtk" / "builds.toml").read_text())
    full = plugins(capsys, "--preset", "full")
    assert set(full) <= set(table) and len(set(full)) == len(full)
    assert "malloc-mimalloc1-64kpage" in full and table["malloc-mimalloc1-64kpage"]["on_demand"]
    assert plugins(capsys, "--preset", "quick") == plugins(capsys) == ["ms-64k", "ms-64k-block", "ms-4k", "stock"]


def test_plugins_of_a_grid_file(tmp_path, capsys):
    file = tmp_path / "own.yml"
    file.write_text("minheap: {builds: [hotspot-G1, stock-Immix, stock-SemiSpace], threads: [1]}\n")
    assert plugins(capsys, "--grid", file) == ["stock"]
    assert cli.main(["plugins", "--preset", "huge"]) == 1
    there = "chopin, chopin-minheap, defaults, full, latency, memory, minheap, pauses, plans, programs, quick, small-heaps, time"
    said = f"shardsweep: no preset huge: there are {there}; --grid takes a file\n"
    assert capsys.readouterr().err == said


def test_a_resumed_sweep_whose_workflow_does_not_start_says_so(tmp_path, wanted, monkeypatch):
    folder = tmp_path / "out"
    sweep.prepare(folder, wanted)
    done = grid.points(wanted)[0]
    for file in (point.result_file(folder, done), progress.job_log(folder, done)):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text('{"rows": [], "notes": []}')
    monkeypatch.setattr(machine, "record", lambda *_: None)
    monkeypatch.setattr(sweep, "_snakemake", lambda *_: ["sh", "-c", "echo the profile is broken; exit 1"])
    with pytest.raises(UserError, match=r"^the workflow ended before any point was begun: the profile is broken "):
        sweep.run(folder, "local")


def test_a_jar_of_other_sources_is_refused(tmp_path, monkeypatch, checkout):
    built = "mkdir -p dist/target; echo built >dist/target/lusearch.jar"
    call = checkout(["scripts/building/lusearch.sh"], {"tools/mvn": f"cd {tmp_path}/benchmarks; {built}"})
    jar = tmp_path / "build" / "lusearch.jar"
    monkeypatch.setattr(catalog, "ROOT", tmp_path)
    monkeypatch.setitem(catalog.PATHS, "LUSEARCH_JAR", str(jar))
    (tmp_path / "benchmarks").mkdir()
    for source in ("one", "two"):
        (tmp_path / "benchmarks" / "Source.java").write_text(source)
        with pytest.raises(UserError, match=r"lusearch\.jar is not of the sources in benchmarks: make lusearch"):
            catalog.check_own_jar(jar)
        done = call("scripts/building/lusearch.sh", SHARDSWEEP_CACHE=str(tmp_path / "cache"))
        assert done.returncode == 0, done.stderr
        catalog.check_own_jar(jar)
    (tmp_path / "benchmarks" / "Source.java").write_text("three")
    catalog.check_own_jar(tmp_path / "bench.jar")
