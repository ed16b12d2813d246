# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests of the malloc measurement: what it runs, refuses and reports."""

import csv
import json
import os
import shutil
import stat
import subprocess

import pytest

from shardsweep import catalog, files, machine, mallocs

MEASURE = """#!/bin/sh
# Says what it was asked for, and takes longer with a library.
shift $(($# - 2))
echo "threads $1, operations $2"
echo "$((1000 * $1)) 500 100 2000" >&2
"""


COMMIT = "1" * 40


@pytest.fixture
def measure(tmp_path, monkeypatch):
    """Runs the command on a stand-in for the launcher; returns its exit code, and the folder of the results."""
    launcher = tmp_path / "measure"
    launcher.write_text(MEASURE)
    launcher.chmod(launcher.stat().st_mode | stat.S_IXUSR)
    folder = tmp_path / "results"
    monkeypatch.setattr(machine, "revision", lambda: COMMIT)

    def run(*arguments: str) -> int:
        monkeypatch.setattr("sys.argv", ["", "--programs-in", str(tmp_path), "--folder", str(folder), *arguments])
        return mallocs.main()

    return run, folder


@pytest.mark.parametrize(("command", "status"), [("exit 3", 3), ("kill -SEGV $$", 139)])
def test_the_launcher_ends_as_its_command_does(tmp_path, command, status):
    launcher = tmp_path / "measure"
    subprocess.run(["gcc", "-o", launcher, catalog.ROOT / "malloc" / "benchmarks" / "measure.c"], check=True)
    done = subprocess.run([launcher, "", "/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert len(done.stderr.split()) == 4


POINT = ("--programs", "cfrac", "--threads", "1", "--baseline", "glibc", "glibc=")


def rows(folder):
    with (folder / "results.csv").open() as source:
        return list(csv.DictReader(source))


def test_measures_every_point_in_turn_and_goes_on(measure, tmp_path):
    run, folder = measure
    library = tmp_path / "library.so"
    library.touch()
    arguments = ("--programs", "larson,cfrac", "--threads", "1,2", "--share", "0.5", "--baseline", "glibc")
    assert run(*arguments, "--rounds", "1", "glibc=", f"shardsweep={library}", f"mimalloc1={library}") == 0
    first = rows(folder)
    # cfrac has one thread.
    points = [(row["program"], row["threads"]) for row in first[::3]]
    assert points == [("larson", "1"), ("larson", "2"), ("cfrac", "1")]
    assert [row["allocator"] for row in first[:3]] == ["glibc", "shardsweep", "mimalloc1"]
    assert {row["operations"] for row in first} == {"4000000", "10000"}
    assert first[0]["wall"] == "0.001000" and first[0]["peak_kib"] == "2000"
    assert run(*arguments, "--rounds", "2", "glibc=", f"shardsweep={library}", f"mimalloc1={library}") == 0
    assert rows(folder)[: len(first)] == first and len(rows(folder)) == 2 * len(first)
    tables = (folder / "tables.md").read_text()
    assert "| larson | 2 | 1.00 | 1.00 | 1.00 |" in tables
    assert "relative to the best of mimalloc1 at each point: geometric mean 1.000" in tables
    assert (folder / "malloc-wall.png").is_file() and (folder / "malloc-peak_kib.svg").is_file()


def test_secure_modes_are_compared_with_the_plain_ones_alone(measure, tmp_path):
    run, folder = measure
    library = tmp_path / "library.so"
    library.touch()
    names = ("shardsweep", "shardsweep-secure", "mimalloc1", "mimalloc1-secure")
    point = ("--programs", "cfrac", "--threads", "1", "--rounds", "1", "--baseline", "mimalloc1")
    assert run(*point, *(f"{name}={library}" for name in names)) == 0
    tables = (folder / "tables.md").read_text()
    assert "Time of shardsweep relative to the best of mimalloc1 at each point" in tables
    for name in ("shardsweep", "mimalloc1"):
        assert tables.count(f"of {name}-secure relative to {name} at each point: geometric mean 1.000") == 2


def test_what_a_table_leaves_out_is_said_and_what_runs_side_by_side_has_one_more(measure):
    run, folder = measure
    point = ("--programs", "larson,xmalloc-test,cxx-build", "--threads", "1", "--rounds", "1", "--baseline", "glibc")
    assert run(*point, "glibc=") == 0
    time, memory, processor = (folder / "tables.md").read_text().split("\n## ")[1:]
    assert "| xmalloc-test | 1 | 1.00 |" in time and "Without" not in time
    assert "| xmalloc-test" not in memory and "Without xmalloc-test: what it holds" in memory
    assert processor.startswith("User and system time\n") and "| cxx-build | 1 | 1.00 |" in processor
    assert "larson" not in processor.split("\n\n")[1]


def test_a_program_that_a_table_leaves_out_may_be_the_only_one(measure):
    run, folder = measure
    assert run("--programs", "xmalloc-test", "--threads", "1", "--rounds", "1", "--baseline", "glibc", "glibc=") == 0
    tables = (folder / "tables.md").read_text()
    assert "| xmalloc-test | 1 | 1.00 |" in tables and "Peak resident memory" not in tables


def test_stops_after_its_time(measure, capsys):
    run, folder = measure
    arguments = ("--programs", "cfrac", "--threads", "1", "--rounds", "1", "--baseline", "glibc", "glibc=")
    assert run("--minutes", "0", *arguments) == 0
    assert "stopped after 0 minutes" in capsys.readouterr().out
    assert rows(folder) == [] and not (folder / "tables.md").exists()
    assert run(*arguments) == 0
    assert len(rows(folder)) == 1


def test_refuses_what_it_cannot_measure(measure, tmp_path, capsys):
    run, _folder = measure
    assert run("glibc=", "ours=/no/such.so") == 1
    assert "'ours=/no/such.so' does not name a library" in capsys.readouterr().err
    assert run("--programs", "larsen", "glibc=") == 1
    assert "there is no program 'larsen'" in capsys.readouterr().err
    assert run("--threads", "one", "glibc=") == 1
    assert "not whole numbers" in capsys.readouterr().err
    assert run("--report", "glibc=") == 1
    assert "has no measurement yet" in capsys.readouterr().err


def test_results_of_other_libraries_are_kept_apart(measure, tmp_path, capsys):
    run, _ = measure
    library = tmp_path / "library.so"
    library.write_text("one")
    arguments = ("--programs", "cfrac", "--threads", "1", "--rounds", "1", "--baseline", "glibc")
    arguments += ("glibc=", f"ours={library}")
    assert run(*arguments) == 0
    library.write_text("another")
    assert run(*arguments) == 1
    assert "was measured with other libraries" in capsys.readouterr().err


def test_results_of_other_programs_and_machines_are_kept_apart(measure, tmp_path, capsys):
    run, folder = measure
    (tmp_path / "cfrac").write_text("one")
    arguments = ("--rounds", "1", *POINT)
    assert run(*arguments) == 0
    assert run(*arguments) == 0
    (tmp_path / "cfrac").write_text("another")
    assert run(*arguments) == 1
    assert "was measured with other programs, by name cfrac: choose" in capsys.readouterr().err
    (tmp_path / "cfrac").write_text("one")
    facts = json.loads((folder / "machine.json").read_text())
    facts["machine"]["stepping"] = "77"
    (folder / "machine.json").write_text(json.dumps(facts))
    assert run(*arguments) == 1
    assert " stepping 77, not " in capsys.readouterr().err


def test_a_program_that_says_something_else_is_an_error(measure, tmp_path, capsys):
    run, _ = measure
    (tmp_path / "measure").write_text('#!/bin/sh\necho "on $1"\necho "1 1 1 1" >&2\n')
    library = tmp_path / "library.so"
    library.touch()
    assert run("--programs", "cfrac", "--threads", "1", "--rounds", "1", "glibc=", f"ours={library}") == 1
    assert "cfrac says" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("echo no memory >&2; exit 1", "ends with 1: no memory"),
        ("echo 1; echo a warning 1 1 1 1 >&2", "ends with 0: a warning"),
    ],
)
def test_a_program_that_fails_or_whose_library_warns_is_an_error(measure, tmp_path, capsys, does, said):
    run, _ = measure
    (tmp_path / "measure").write_text(f"#!/bin/sh\n{does}\n")
    assert run("--programs", "cfrac", "--threads", "1", "--rounds", "1", "glibc=") == 1
    assert f"on the C library {said}" in capsys.readouterr().err


def test_runs_of_different_work_are_kept_apart(measure, capsys):
    run, folder = measure
    assert run("--rounds", "1", "--share", "0.5", *POINT) == 0
    before = (folder / "results.csv").read_bytes()
    for more in ([], ["--check"]):
        assert run("--rounds", "2", *more, *POINT) == 1
        said = capsys.readouterr().err
        assert f"{folder} has cfrac with 10000 operations, not 20000: take its --share, or choose another" in said
    assert (folder / "results.csv").read_bytes() == before
    # Both shares in one file, however they came there, have no common median.
    (folder / "results.csv").write_bytes(before + b"cfrac,1,20000,glibc,1,0.1,0.1,0.1,9\r\n")
    assert run("--report", *POINT) == 1
    assert "runs of cfrac with different numbers of operations: not to be compared" in capsys.readouterr().err


@pytest.mark.parametrize("left", [-1, -2, -9, 30, 5])
def test_a_row_that_was_cut_short_is_dropped_and_measured_again(measure, capsys, left):
    run, folder = measure
    assert run("--rounds", "2", *POINT) == 0
    whole = (folder / "results.csv").read_bytes()
    # Of the header too.
    (folder / "results.csv").write_bytes(whole[:left])
    capsys.readouterr()
    assert run("--rounds", "2", *POINT) == 0
    assert (
        capsys.readouterr().err
        == f"malloc-bench: {folder / 'results.csv'}: the last row was cut short and is dropped\n"
    )
    assert (folder / "results.csv").read_bytes() == whole
    assert run("--rounds", "3", *POINT) == 0
    assert capsys.readouterr().err == "" and len(rows(folder)) == 3


@pytest.mark.parametrize(
    "text", ["cfrac,1\n", "cfrac,1,many,glibc,1,1,1,1,1\n", "a,1,1,a,1,1,1,1,1a,1,1,a,1,1,1,1,1\n"]
)
def test_a_damaged_row_gets_one_line(measure, capsys, text):
    run, folder = measure
    assert run("--rounds", "2", *POINT) == 0
    with (folder / "results.csv").open("a") as file:
        file.write(text)
    capsys.readouterr()
    assert run("--rounds", "3", *POINT) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"malloc-bench: {folder / 'results.csv'} is damaged (") and said.count("\n") == 1


def test_a_run_is_measured_once(measure, capsys):
    run, folder = measure
    assert run("--rounds", "1", "--programs", "cfrac,cfrac", "--threads", "1,1", "--baseline", "glibc", "glibc=") == 0
    assert len(rows(folder)) == 1
    with files.locked(folder, "measurement"):
        capsys.readouterr()
        assert run("--rounds", "2", *POINT) == 1
    said = capsys.readouterr().err
    assert said == f"malloc-bench: another measurement is at work in {folder}: wait for it, or stop it\n"
    results = folder / "results.csv"
    results.write_text(results.read_text() + results.read_text().splitlines()[-1] + "\n")
    assert run("--rounds", "2", *POINT) == 1
    said = capsys.readouterr().err
    assert said == f"malloc-bench: {results} is damaged (it has a run twice): restore it\n"


def test_what_a_program_said_is_compared_after_an_interruption_too(measure, tmp_path, capsys):
    run, folder = measure
    assert run("--rounds", "1", *POINT) == 0
    (folder / "said.json").write_text('{"cfrac 1": "something else"}')
    assert run("--rounds", "2", *POINT) == 1
    said = capsys.readouterr().err
    assert said == "malloc-bench: cfrac says 'threads 1, operations 20000' on glibc, not 'something else'\n"
    assert len(rows(folder)) == 1


def test_folders_that_cannot_be_used_get_one_line(measure, tmp_path, capsys):
    run, folder = measure
    for place, why in (("/proc/none", "No such file or directory"), (str(tmp_path / "measure"), "File exists")):
        assert run("--folder", place, *POINT) == 1
        said = capsys.readouterr().err
        assert said.startswith(f"malloc-bench: {place}") and said.endswith(f": {why}\n") and said.count("\n") == 1
    assert run("--rounds", "1", *POINT) == 0
    for file, text in (("machine.json", "{"), ("machine.json", "[]"), ("said.json", "[]"), ("said.json", "")):
        before = (folder / file).read_text()
        (folder / file).write_text(text)
        capsys.readouterr()
        assert run("--rounds", "2", *POINT) == 1
        said = capsys.readouterr().err
        assert said.startswith(f"malloc-bench: {folder / file}") and said.count("\n") == 1
        (folder / file).write_text(before)
    (folder / "machine.json").unlink()
    assert run("--rounds", "2", *POINT) == 1
    assert "has no machine.json, so that nothing says what its runs are of" in capsys.readouterr().err


@pytest.mark.parametrize("share", ["0", "-1", "2", "nan"])
def test_a_share_is_a_share(measure, capsys, share):
    run, _ = measure
    assert run("--share", share, *POINT) == 1
    assert (
        capsys.readouterr().err == f"malloc-bench: --share {share}: this is no share, which is above 0 and at most 1\n"
    )


def test_only_what_is_measured_to_its_end_is_recorded(measure, tmp_path, monkeypatch, capsys):
    run, folder = measure
    kept = tmp_path / "kept"
    kept.mkdir()
    monkeypatch.setattr(mallocs, "RECORDED", kept)
    (kept / "blow-up.csv").write_text("of another program")
    assert run("--rounds", "2", "--record", "--minutes", "0", *POINT) == 0
    assert [file.name for file in kept.iterdir()] == ["blow-up.csv"]
    assert run("--rounds", "2", *POINT) == 0
    assert [file.name for file in kept.iterdir()] == ["blow-up.csv"]
    assert run("--rounds", "2", "--record", *POINT) == 0
    assert f"malloc-bench: {kept / 'tables.md'}\n" in capsys.readouterr().out
    plots = {f"malloc-{measure}.{form}" for measure in ("wall", "peak_kib") for form in ("png", "svg")}
    assert {file.name for file in kept.iterdir()} == {"blow-up.csv", "machine.json", "results.csv", "tables.md", *plots}
    facts = (folder / "machine.json").read_text()
    (folder / "machine.json").write_text(facts.replace(COMMIT, f"{COMMIT}-dirty"))
    assert run("--rounds", "2", "--record", *POINT) == 1
    assert f"results is of {COMMIT}-dirty, with changes that no commit has: commit" in capsys.readouterr().err
    (folder / "machine.json").write_text(facts)
    for name in ("results.csv", "machine.json"):
        assert (kept / name).read_bytes() == (folder / name).read_bytes()
    commands, tables = (kept / "tables.md").read_text().split("\n", 1)
    before, same = (folder / "tables.md").read_text().split("\n", 1)
    assert tables == same
    script = "scripts/experiments/malloc-bench.sh"
    made = "these tables are made by"
    assert commands == f"Measured by `{script} --record`; {made} `{script} --folder {kept} --report`."
    assert before == f"Measured by `{script} --folder {folder}`; {made} `{script} --folder {folder} --report`."


@pytest.mark.parametrize(
    ("less", "lacking"),
    [
        pytest.param(["--programs", "cfrac"], "larson 1 on glibc in round 1", id="a program"),
        pytest.param(["--threads", "2"], "larson 1 on glibc in round 1", id="a number of threads"),
        pytest.param(["--rounds", "1"], "larson 1 on glibc in round 2", id="a round"),
        pytest.param(["--share", "0.1"], "larson 1 on glibc in round 1", id="operations"),
    ],
)
def test_what_lacks_runs_of_the_recorded_does_not_replace_them(measure, tmp_path, monkeypatch, capsys, less, lacking):
    run, folder = measure
    kept = tmp_path / "kept"
    monkeypatch.setattr(mallocs, "RECORDED", kept)
    whole = ["--programs", "larson,cfrac", "--threads", "1,2", "--rounds", "2", "--share", "0.5", "--baseline", "glibc"]
    assert run(*whole, "--record", "glibc=") == 0
    before = {file.name: file.read_bytes() for file in kept.iterdir()}
    other = ["--folder", str(tmp_path / "other")]
    capsys.readouterr()
    assert run(*whole, *other, *less, "--record", "glibc=") == 1
    said = capsys.readouterr().err
    assert f"the first {lacking}; measure these too, or remove {kept}/results.csv\n" in said and said.count("\n") == 1
    assert {file.name: file.read_bytes() for file in kept.iterdir()} == before
    # What is measured stays, and more of it takes the place of the recorded.
    if "--share" not in less:
        assert run(*whole, *other, "--rounds", "3", "--record", "glibc=") == 0
        assert len(rows(kept)) == 3 * len(rows(folder)) / 2


def test_the_recorded_tables_are_made_of_the_recorded_runs(measure, tmp_path):
    run, _ = measure
    recorded = catalog.ROOT / "results" / "malloc"
    copy = shutil.copytree(recorded, tmp_path / "copy")
    (copy / "tables.md").unlink()
    assert run("--folder", str(copy), "--report") == 0
    commands, tables = (recorded / "tables.md").read_text().split("\n", 1)
    assert (copy / "tables.md").read_text().split("\n", 1)[1] == tables
    assert commands.startswith(
        "Measured by `scripts/experiments/malloc-bench.sh --share 0.5 --record`; these tables are made by"
    )


@pytest.fixture
def script(tmp_path):
    """Runs malloc-bench.sh in a checkout of its own, in which what it calls does nothing but write down that it was called;
    gives what is written down, and the finished process."""
    scripts, python = tmp_path / "scripts", tmp_path / "build" / "venv" / "bin" / "python"
    for name in ("experiments/malloc-bench.sh", "experiments/malloc-libraries.sh", "lib.sh"):
        (scripts / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(catalog.ROOT / "scripts" / name, scripts / name)
    calls, tools = tmp_path / "calls", tmp_path / "tools"
    stubs = [scripts / "building" / f"{name}.sh" for name in ("malloc", "mimalloc", "rivals")]
    for stub in (*stubs, scripts / "experiments" / "venv.sh", tools / "gcc", python):
        stub.parent.mkdir(parents=True, exist_ok=True)
        stub.write_text(f'#!/bin/sh\necho {stub.stem} "$@" >>{calls}\ncase "$*" in *$REFUSED) exit 1; esac\n')
        stub.chmod(0o755)
    (tools / "dpkg-query").write_text("#!/bin/sh\necho installed\n")
    (tools / "dpkg-query").chmod(0o755)
    source = tmp_path / "malloc" / "benchmarks"
    source.mkdir(parents=True)
    for name in ("measure.c", "larson.c", "cxx-build.sh"):
        (source / name).touch()

    def run(*arguments, refused="nothing"):
        calls.unlink(missing_ok=True)
        done = subprocess.run(
            [scripts / "experiments" / "malloc-bench.sh", *arguments], capture_output=True, text=True, check=False,
            env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "REFUSED": refused},
        )  # fmt: skip
        return calls.read_text().splitlines(), done

    return run


def names(calls):
    return [call.split()[0] for call in calls]


def test_the_script_measures_below_build_and_records_when_it_is_told(script, tmp_path):
    calls, done = script("--rounds", "1")
    assert done.returncode == 0, done.stderr
    order = ["venv", "python", "malloc", "malloc", "python", "mimalloc", "rivals", "gcc", "gcc", "python"]
    assert names(calls) == order
    assert f"--folder {tmp_path}/build/malloc/results --rounds 1 glibc= shardsweep=" in calls[-1]
    assert not any("--record" in call for call in calls)
    assert "--record" in script("--record")[0][-1]


def test_the_script_refuses_before_it_builds(script):
    for refused, before in (
        ("--check", ["venv", "python"]),
        ("libbump.so", ["venv", "python", "malloc", "malloc", "python"]),
    ):
        calls, done = script("--rounds", "1", refused=refused)
        assert done.returncode == 1 and names(calls) == before


@pytest.mark.parametrize("option", ["--report", "--help"])
def test_the_script_builds_nothing_for_tables_and_help(script, option):
    calls, done = script(option)
    assert done.returncode == 0 and names(calls) == ["venv", "python"]


def test_a_check_passes_over_libraries_that_are_not_built_yet(measure, tmp_path, capsys):
    run, folder = measure
    assert run("--check", "glibc=", "ours=/no/such.so") == 0
    assert not folder.exists()
    library = tmp_path / "library.so"
    library.write_text("one")
    assert run("--rounds", "1", *POINT, f"ours={library}") == 0
    assert run("--check", *POINT, f"ours={library}", "theirs=/no/such.so") == 0
    library.write_text("another")
    capsys.readouterr()
    assert run("--check", *POINT, f"ours={library}", "theirs=/no/such.so") == 1
    assert "was measured with other libraries, by name ours: choose another folder" in capsys.readouterr().err
    assert set(json.loads((folder / "machine.json").read_text())["libraries"]) == {"glibc", "ours"}
