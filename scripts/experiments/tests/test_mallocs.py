# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests of the malloc measurement: what it runs, refuses and reports."""

import csv
import stat

import pytest

from shardsweep import mallocs

MEASURE = """#!/bin/sh
# Says what it was asked for, and takes longer with a library.
shift $(($# - 2))
echo "threads $1, operations $2"
echo "$((1000 * $1)) 500 100 2000" >&2
"""


@pytest.fixture
def measure(tmp_path, monkeypatch):
    """Runs the command on a stand-in for the launcher; returns its exit code, and the folder of the results."""
    launcher = tmp_path / "measure"
    launcher.write_text(MEASURE)
    launcher.chmod(launcher.stat().st_mode | stat.S_IXUSR)
    folder = tmp_path / "results"

    def run(*arguments: str) -> int:
        monkeypatch.setattr("sys.argv", ["", "--programs-in", str(tmp_path), "--folder", str(folder), *arguments])
        return mallocs.main()

    return run, folder


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


def test_a_program_that_says_something_else_is_an_error(measure, tmp_path, capsys):
    run, _ = measure
    (tmp_path / "measure").write_text('#!/bin/sh\necho "on $1"\necho "1 1 1 1" >&2\n')
    library = tmp_path / "library.so"
    library.touch()
    assert run("--programs", "cfrac", "--threads", "1", "--rounds", "1", "glibc=", f"ours={library}") == 1
    assert "cfrac says" in capsys.readouterr().err


def test_a_program_that_fails_is_an_error(measure, tmp_path, capsys):
    run, _ = measure
    (tmp_path / "measure").write_text("#!/bin/sh\necho no memory >&2\nexit 1\n")
    assert run("--programs", "cfrac", "--threads", "1", "--rounds", "1", "glibc=") == 1
    assert "on the C library ends with 1: no memory" in capsys.readouterr().err
