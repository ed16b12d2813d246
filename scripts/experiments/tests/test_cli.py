# SPDX-License-Identifier: MIT OR Apache-2.0
"""The command line: help that teaches, and bad input that gets one line and destroys nothing."""

import json
import os
import re
import subprocess

import pytest

from shardsweep import catalog, cli, grid, point, sweep
from shardsweep.errors import UserError

MINHEAP = ("minheap", "--builds", "hotspot-Serial", "--threads", "1", "--benchmarks", "steady")


def refused(done, said: str) -> None:
    assert done.returncode == 1
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("shardsweep: ")
    assert said in lines[0]


@pytest.mark.parametrize(
    "name",
    [
        "sweep", "minheap", "perf", "threads", "rss", "report", "repeat", "record", "results", "counters",
        "allocations", "lifetimes", "builds", "plugins",
    ],
)  # fmt: skip
def test_every_command_explains_itself(shardsweep, name):
    top, own = shardsweep("--help"), shardsweep(name, "--help")
    assert top.returncode == own.returncode == 0
    assert f"\n    {name}" in top.stdout
    assert f"usage: shardsweep {name}" in own.stdout


@pytest.mark.parametrize("line", [line for line in cli.TOP_EXAMPLES.splitlines() if line.startswith("  shardsweep ")])
def test_every_example_is_a_command(line):
    # What it does stands behind two spaces or more.
    command = re.split(" {2,}", line.strip())[0]
    assert cli._parser().parse_args(command.split()[1:])


def test_make_sweep_refuses_an_unknown_preset_before_it_builds_anything():
    done = subprocess.run(
        [catalog.ROOT / "scripts" / "experiments" / "sweep.sh"], env={**os.environ, "PRESET": "nope"},
        capture_output=True, text=True, check=False, timeout=20,
    )  # fmt: skip
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("sweep: error: no preset nope: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("suite", ["nope", "dacapo", "dacapobach dacapochopin", "--check", "dacapobach\nnope"])
def test_make_sweep_refuses_an_unknown_suite_before_it_builds_anything(suite):
    done = subprocess.run(
        [catalog.ROOT / "scripts" / "experiments" / "sweep.sh"], env={**os.environ, "SUITE": suite},
        capture_output=True, text=True, check=False, timeout=20,
    )  # fmt: skip
    assert done.returncode == 1 and done.stdout == ""
    said = " ".join(suite.split())
    assert done.stderr == f"sweep: error: no suite {said}: there are shardsweep, dacapobach, dacapochopin\n"


@pytest.fixture
def make_sweep(checkout, tmp_path):
    """Runs sweep.sh in a checkout in which what it calls writes down that it was called, and fails where it is called with
    what is `refused`; gives what is written down, and the finished process."""
    calls = tmp_path / "calls"
    body = f'echo "$(basename $0 .sh)" "$@" >>{calls}\ncase "$*" in *$REFUSED*) exit 1; esac\necho some-plugin'
    called = [f"scripts/building/{name}.sh" for name in ("jdk", "lusearch", "plugin")]
    called += ["scripts/experiments/venv.sh", "build/venv/bin/shardsweep"]
    script = "scripts/experiments/sweep.sh"
    call = checkout([script, "configs/presets/quick.yml", "configs/suites.yml"], dict.fromkeys(called, body))

    def run(*arguments, refused="nothing", **variables):
        calls.unlink(missing_ok=True)
        done = call(script, *arguments, REFUSED=refused, **variables)
        return calls.read_text().splitlines(), done

    return run


def test_make_sweep_checks_its_arguments_before_it_builds_anything(make_sweep):
    check = "shardsweep sweep --preset quick --check --suite dacapobach"
    calls, done = make_sweep("--suite", "dacapobach", refused="--check")
    assert done.returncode == 1 and calls == ["venv", check]
    calls, done = make_sweep("--suite", "dacapobach")
    assert done.returncode == 0, done.stderr
    assert calls == [
        "venv", check, "shardsweep plugins --preset quick", "jdk", "lusearch", "plugin some-plugin",
        "shardsweep sweep --preset quick --suite dacapobach",
    ]  # fmt: skip


def test_make_sweep_takes_a_suite(make_sweep):
    calls, done = make_sweep("--dry-run", SUITE="dacapobach")
    assert done.returncode == 0, done.stderr
    assert [line for line in calls if line.startswith("shardsweep sweep")] == [
        "shardsweep sweep --preset quick --suite dacapobach --check --dry-run",
        "shardsweep sweep --preset quick --suite dacapobach --dry-run",
    ]
    calls, _ = make_sweep(SUITE="")
    assert "shardsweep sweep --preset quick" in calls


def test_a_check_takes_what_make_makes_for_granted_and_nothing_else(shardsweep, tmp_path):
    made = {name: catalog.PATHS[name] for name in ("SHARDSWEEP_JDK", "LUSEARCH_JAR")}
    done = shardsweep("sweep", "--preset", "full", "--check", **made)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    refused(
        shardsweep("sweep", "--preset", "chopin", "--check", **made), "suite dacapochopin needs its jar: set DACAPO_CHO"
    )
    refused(shardsweep("sweep", "--suite", "nope", "--check", **made), "unknown suite nope")
    refused(shardsweep("sweep", "--check", **{**made, "SHARDSWEEP_JDK": str(tmp_path)}), "there is nothing to measure")
    refused(shardsweep("sweep", "--check", **{**made, "LUSEARCH_JAR": "no.jar"}), "no.jar is not there")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "page", ["README.md", "results/README.md", "configs/README.md", "results/calibration/README.md"]
)
def test_a_page_with_commands_of_the_environment_says_how_to_make_it(page):
    text = (catalog.ROOT / page).read_text()
    assert "build/venv/bin/" in text and re.search(r"`make( [a-z]+)* venv`", text)


def test_make_venv_makes_the_environment():
    done = subprocess.run(["make", "--dry-run", "venv"], cwd=catalog.ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "scripts/experiments/venv.sh\n"


def test_without_a_python_the_environment_needs_the_packages_of_debian(checkout, tmp_path):
    """Whatever the machine has: stand-ins that are no Python take the place of it."""
    script = "scripts/experiments/venv.sh"
    tools = {"python3": "exit 1", "python3.11": "exit 1", "dpkg-query": "exit 1", "id": "echo 1000"}
    call = checkout(
        [script, "scripts/experiments/requirements.lock", "scripts/experiments/pyproject.toml"],
        {f"tools/{name}": body for name, body in tools.items()},
    )
    own = tmp_path / script
    own.write_text(own.read_text().replace("/usr/bin/python3", "python3"))
    done = call(script)
    packages = "apt-get install --no-install-recommends python3 python3-venv"
    assert done.returncode == 1
    assert done.stderr == f"venv: error: Debian packages are missing; have root run: {packages}\n"
    done = call(script, PYTHON="/no/such")
    assert (done.returncode, done.stderr) == (1, "venv: error: PYTHON=/no/such is no Python 3.11 or later with venv\n")


def test_what_clusters_need_is_added_to_the_environment_once(checkout, tmp_path):
    """A stand-in of Python makes an environment whose pip writes down what it is told to install."""
    script, calls = "scripts/experiments/venv.sh", tmp_path / "calls"
    pip = f'#!/bin/sh\necho "$@" >>{calls}\n'
    make = f'[ "$2" = venv ] || exit 0\nmkdir -p $3/bin\nprintf "%s" \'{pip}\' >$3/bin/pip\n'
    make += "printf '#!/bin/sh\\n' >$3/bin/python\nchmod +x $3/bin/*"
    locks = [f"scripts/experiments/{name}" for name in ("requirements.lock", "pyproject.toml", "cluster.lock")]
    call = checkout([script, *locks], {"tools/python3": make})

    def installed(*arguments):
        calls.unlink(missing_ok=True)
        done = call(script, *arguments)
        assert done.returncode == 0, done.stderr
        called = calls.read_text().splitlines() if calls.exists() else []
        return [line.rsplit("/", 1)[1] for line in called]

    assert installed() == ["requirements.lock", "experiments"]
    assert installed("cluster") == ["cluster.lock"]
    assert installed("cluster") == installed() == []
    (tmp_path / locks[0]).write_text("other")
    assert installed("cluster") == ["requirements.lock", "experiments", "cluster.lock"]
    refused = call(script, "clusters")
    assert (refused.returncode, refused.stderr) == (1, "venv: error: there is no extra clusters: venv.sh [cluster]\n")


def test_no_package_of_clusters_is_one_of_the_base_but_those_of_the_same_version():
    folder = catalog.ROOT / "scripts" / "experiments"
    base, cluster = (
        dict(re.findall(r"^([a-z0-9-]+)==(\S+)", (folder / name).read_text(), re.MULTILINE))
        for name in ("requirements.lock", "cluster.lock")
    )
    plugins = [name for name in cluster if name.startswith(("snakemake-executor", "snakemake-storage"))]
    assert len(plugins) == 4 and not set(plugins) & set(base)
    assert {name: cluster[name] for name in set(base) & set(cluster)}.items() <= base.items()


def test_help_of_minheap_says_what_counts_as_too_small(shardsweep):
    text = " ".join(shardsweep("minheap", "--help").stdout.split())
    assert "A crash or a wrong result never does" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("sweep", "--preset", "huge"),
            "no preset huge: there are chopin, chopin-minheap, defaults, full, latency, memory, minheap, pauses, plans, "
            "programs, quick, small-heaps, time",
        ),
        (("sweep", "--grid", "none.yml"), "grid none.yml is not there"),
        (("minheap", "--builds", "ms-46k", "--threads", "1"), "unknown build ms-46k: did you mean ms-4k, ms-64k"),
        ((*MINHEAP, "--modifiers", "collector_threads-4,cold"), "unknown modifier cold: there are common"),
        ((*MINHEAP, "--modifiers", "mmtk_option-threads"), "modifier mmtk_option-threads lacks a value"),
        ((*MINHEAP, "--suite", "dacapo"), "unknown suite dacapo: there are shardsweep, dacapobach, dacapochopin"),
        ((*MINHEAP, "--suite", "dacapobach"), "set DACAPO_BACH"),
        ((*MINHEAP, "--largest", "4"), "minheap.largest: is smaller than start"),
        ((*MINHEAP, "--profile", "cloud"), "no profile cloud: there are kubernetes, local, slurm"),
        ((*MINHEAP, "--modifiers", "mmtk_option-a-1,mmtk_option-b-2"), "both set the flag ThirdPartyHeapOptions"),
        ((*MINHEAP, "--modifiers", "hotspot_gc-G1"), "modifier hotspot_gc-G1 chooses a plan"),
        (("report", "nowhere"), "nowhere is not the folder of a sweep"),
        (("repeat", "nowhere", "elsewhere"), "nowhere is not the folder of a sweep"),
    ],
)
def test_bad_input_gets_one_line(shardsweep, arguments, said):
    refused(shardsweep(*arguments), said)


def test_a_folder_of_another_form_is_told_to_have_its_tables_already(shardsweep):
    folder = catalog.ROOT / "results" / "micro" / "allocation"
    refused(shardsweep("report", folder), f"it has no grid.yml; its tables are in {folder}/tables.md")


BAD_SIZE = "suite shardsweep: bad value 'huge' for --size: give small, default or large"
BAD_NAME = "suite shardsweep has no benchmark nope: there are graph, lusearch"


@pytest.mark.parametrize("stop", [("--check",), ("--dry-run",), ()])
def test_what_the_jar_does_not_have_is_refused_before_anything_runs(shardsweep, tmp_path, stop):
    options = ("--builds", "hotspot-Serial", "--threads", "1", "--out", "out", *stop)
    listed = {"TINY_BENCHMARKS": "graph lusearch"}
    for command in (("minheap",), ("perf", "--heaps", "50", "--baseline", "hotspot-Serial")):
        refused(shardsweep(*command, *options, "--benchmarks", "lusearch,nope", **listed), BAD_NAME)
        refused(shardsweep(*command, *options, "--size", "huge", **listed), BAD_SIZE)
    assert not (tmp_path / "out").exists()


def test_benchmarks_of_a_jar_that_is_to_be_built_are_those_of_the_suite(shardsweep, tmp_path, monkeypatch):
    monkeypatch.setitem(catalog.PATHS, "LUSEARCH_JAR", str(tmp_path / "none.jar"))
    monkeypatch.setenv("LUSEARCH_JAR", str(tmp_path / "none.jar"))
    catalog.check_benchmarks("shardsweep", ["lusearch", "h2"], None)
    with pytest.raises(UserError, match="has no benchmark nope: there are graph, h2, "):
        catalog.check_benchmarks("shardsweep", ["nope"], None)


def test_a_jar_that_lists_nothing_is_left_to_say_what_it_lacks(shardsweep):
    done = shardsweep(*MINHEAP, "--check")
    assert (done.returncode, done.stderr) == (0, "")


def test_malformed_yaml_is_named(shardsweep, tmp_path):
    (tmp_path / "bad.yml").write_text("minheap: [unclosed")
    refused(shardsweep("sweep", "--grid", "bad.yml"), "grid bad.yml is not YAML")
    (tmp_path / "bad.yml").write_text("minheap:\n  builds: [ms-64k]\n  thread: [1]\n")
    refused(shardsweep("sweep", "--grid", "bad.yml"), "grid bad.yml: minheap.threads: Field required")


def test_a_missing_jar_a_missing_jdk_and_an_unbuilt_plugin_say_how_to_get_them(shardsweep, tmp_path):
    refused(
        shardsweep(*MINHEAP, LUSEARCH_JAR="no.jar"), "no.jar is not there: make lusearch, or point LUSEARCH_JAR at it"
    )
    refused(shardsweep(*MINHEAP, SHARDSWEEP_JDK=str(tmp_path)), "make jdk, or point SHARDSWEEP_JDK at a JDK")
    refused(shardsweep("minheap", "--builds", "ms-64k", "--threads", "1"), "make plugin BUILD=ms-64k")


def test_a_folder_with_something_else_in_it_is_left_alone(shardsweep, tmp_path):
    precious = tmp_path / "thesis"
    precious.mkdir()
    (precious / "thesis.tex").write_text("chapter one")
    refused(shardsweep(*MINHEAP, "--out", precious), "is not empty and not a sweep")
    assert [path.name for path in precious.iterdir()] == ["thesis.tex"]


def test_a_folder_is_resumed_only_for_the_same_grid_on_the_same_builds(tmp_path, variables, monkeypatch):
    for name in ("SHARDSWEEP_JDK", "LUSEARCH_JAR"):
        monkeypatch.setenv(name, variables[name])
    content = {"minheap": {"benchmarks": ["steady"], "builds": ["hotspot-Serial"], "threads": [1]}}
    wanted = grid.check(content, "test")
    out = tmp_path / "out"
    sweep.prepare(out, wanted)
    sweep.prepare(out, wanted)
    folder = sweep.default_folder("minheap", wanted)
    content["minheap"]["threads"] = [2]
    with pytest.raises(UserError, match="holds a sweep of another grid"):
        sweep.prepare(out, grid.check(content, "test"))
    jar = tmp_path / "other.jar"
    jar.write_bytes(b"another benchmark")
    monkeypatch.setenv("LUSEARCH_JAR", str(jar))
    with pytest.raises(UserError, match=r"was measured with another .*jar: choose another folder"):
        sweep.prepare(out, wanted)
    assert sweep.default_folder("minheap", wanted) != folder
    assert grid.load(out / point.GRID_FILE) == wanted


def test_dry_run_lists_and_writes_nothing(shardsweep, tmp_path):
    done = shardsweep(*MINHEAP, "--out", tmp_path / "new", "--dry-run")
    assert done.returncode == 0
    assert "to do  minheap/steady/hotspot-Serial/t1-0" in done.stdout
    assert "1 of 1 points to measure" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_missing_programs_are_named_with_their_packages(shardsweep, tmp_path):
    refused(
        shardsweep(*MINHEAP, "--out", tmp_path / "new", PATH=str(tmp_path)), "apt-get install coreutils gzip procps"
    )


def test_a_jvm_that_does_not_know_its_flags_is_an_error_and_no_minheap(shardsweep, tmp_path, jdk):
    """A stock JDK with a file where the plugin would be: each run ends at once, with HotSpot's own message."""
    home = tmp_path / "jdk"
    (home / "lib").mkdir(parents=True)
    for name in ("bin", "conf"):
        (home / name).symlink_to(jdk / name)
    for each in (jdk / "lib").iterdir():
        (home / "lib" / each.name).symlink_to(each)
    (home / "lib" / "mmtk").mkdir()
    (home / "lib" / "mmtk" / "libmmtk_ms-64k.so").touch()
    facts = {"block_size": 65536, "accounting": "page", "source_revision": "abc"}
    (home / "lib" / "mmtk" / "libmmtk_ms-64k.json").write_text(json.dumps(facts))
    done = shardsweep(
        "minheap", "--builds", "ms-64k", "--threads", "1", "--benchmarks", "steady", "--out", tmp_path / "out",
        SHARDSWEEP_JDK=str(home),
    )  # fmt: skip
    assert done.returncode == 1
    assert "ERROR: ms-64k, steady, 1 threads, 8 MiB: exit code 1: " in done.stderr
    rows = (tmp_path / "out" / "results.csv").read_text().splitlines()
    assert any(row.startswith("ms-64k,MarkSweep,65536,page,steady,1,,,0,0,minheap,,MiB") for row in rows)
    assert any(",runs.error,2.0,runs" in row for row in rows)
    assert os.path.exists(tmp_path / "out" / "report.html")
