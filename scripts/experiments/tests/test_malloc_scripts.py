# SPDX-License-Identifier: MIT OR Apache-2.0
"""The scripts that measure our malloc without the bench: what they keep, and what they leave alone."""

import json
import sys

import pytest

from shardsweep import machine

BLOW_UP = "scripts/experiments/malloc-blow-up.sh"
INSTRUCTIONS = "scripts/experiments/malloc-instructions.sh"
LIBRARIES = "scripts/experiments/malloc-libraries.sh"
COMMIT = "1" * 40
# One that does not count.
ANY_LIBRARY = "/lib/x86_64-linux-gnu/libm.so.6"
# Each sample is taken after a moment.
TOOLS = {
    "build/venv/bin/python": f'exec {sys.executable} "$@"',
    "scripts/experiments/venv.sh": "",
    "scripts/building/malloc.sh": "",
    "scripts/building/mimalloc.sh": "",
    "scripts/building/rivals.sh": "",
    "tools/sleep": "exec /bin/sleep 0.02",
    # Nothing is changed, whatever is in the checkout of these tests.
    "tools/git": f"case $* in *rev-parse*) echo {COMMIT} ;; esac",
}
# What stands in for callgrind: as many instructions for each pair.
COUNTS = 'for each; do pairs=$each; done; echo "==1== Collected : $((5000 + pairs * 90))" >&2'
# A program that lives as long, and takes more memory at each step.
PROGRAM = """#!{python}
import sys, time
held = []
for step in range({steps}):
    held.append(b"x" * {bytes})
    time.sleep(0.02)
print("blow-up:", sys.argv[2], "cells")
"""


@pytest.fixture
def blow_up(checkout, tmp_path):
    """Runs the script on a program of so many steps, each of which takes so many bytes, with stand-ins of programs of the
    virtual environment; gives the finished process, and the folder of the results, which has some already."""
    results = tmp_path / "results" / "malloc"
    results.mkdir(parents=True)
    (results / "blow-up.csv").write_text("kept")

    def run(steps, size, *arguments, **stand_ins):
        program = tmp_path / "program"
        program.write_text(PROGRAM.format(python=sys.executable, steps=steps, bytes=size))
        program.chmod(0o755)
        compiler = f'for each; do [ "$last" = -o ] && cp {program} "$each"; last=$each; done; true'
        tools = {**TOOLS, **{f"build/venv/bin/{name}": body for name, body in stand_ins.items()}, "tools/gcc": compiler}
        return checkout([BLOW_UP], tools)(BLOW_UP, *arguments), results

    return run


def test_what_is_held_is_kept_with_its_origin(blow_up):
    done, results = blow_up(200, 0)
    assert done.returncode == 0, done.stderr
    rows = (results / "blow-up.csv").read_text().splitlines()
    assert rows[0] == "allocator,cells,seconds,resident_kib" and len(rows) > 20
    assert {row.rpartition(",")[0].split(",")[0] for row in rows[1:]} == {"shardsweep", "shardsweep-secure"}
    facts = json.loads((results / "blow-up.json").read_text())
    assert facts["revision"] == COMMIT
    assert facts["machine"]["processor"] == machine.host()["processor"]


@pytest.mark.parametrize(
    ("program", "said"),
    [
        pytest.param((0, 0), "too few samples of shardsweep to judge: fewer than 10", id="none"),
        pytest.param((200, 1 << 18), "what shardsweep holds is not bounded: the samples are in", id="growth"),
    ],
)
def test_what_is_not_bounded_or_not_known_replaces_nothing(blow_up, program, said):
    done, results = blow_up(*program)
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if not line.startswith("ERROR: ld.so")]
    assert len(errors) == 1 and errors[0].startswith(f"malloc-blow-up: error: {said}")
    assert [(file.name, file.read_text()) for file in results.iterdir()] == [("blow-up.csv", "kept")]


def test_another_number_of_cells_replaces_nothing(blow_up, tmp_path):
    done, results = blow_up(200, 0, "5000")
    assert done.returncode == 0, done.stderr
    assert [(file.name, file.read_text()) for file in results.iterdir()] == [("blow-up.csv", "kept")]
    assert "shardsweep,5000," in (tmp_path / "build" / "malloc" / "blow-up.csv").read_text()


@pytest.mark.parametrize(("revision", "kept"), [("one", True), ("another", False), ("one-dirty", False)])
def test_an_interrupted_measurement_goes_on_with_the_next_malloc(blow_up, tmp_path, revision, kept):
    malloc = tmp_path / "build" / "malloc"
    malloc.mkdir(parents=True)
    (malloc / "blow-up.json").write_text(f"{revision.replace('another', 'one')}\n")
    samples = "shardsweep,5000,10,1000\n" * 20
    (malloc / "blow-up-shardsweep.csv").write_text(samples)
    done, _ = blow_up(200, 0, "5000", python=f'echo {revision} >"$3"')
    assert done.returncode == 0, done.stderr
    assert (samples in (malloc / "blow-up.csv").read_text()) == kept


@pytest.fixture
def counting(checkout, tmp_path):
    """Gives the script, with stand-ins, and one library in the place of all."""

    def make(library, **stand_ins):
        call = checkout([INSTRUCTIONS, LIBRARIES], {**TOOLS, "tools/gcc": "", "tools/valgrind": COUNTS, **stand_ins})
        with (tmp_path / LIBRARIES).open("a") as script:
            script.write(f'LIBRARIES=("${{LIBRARIES[@]/=?*/={library}}}")\n')
        return call

    return make


def test_instructions_are_kept_with_their_origin(counting, checkout, tmp_path):
    call = counting(ANY_LIBRARY)
    done, results = call(INSTRUCTIONS), tmp_path / "results" / "malloc"
    assert done.returncode == 0, done.stderr
    rows = (results / "instructions.csv").read_text().splitlines()
    assert rows[:3] == ["allocator,instructions", "glibc,90.0", "shardsweep,90.0"]
    facts = json.loads((results / "instructions.json").read_text())
    assert facts["revision"] == COMMIT
    assert facts["machine"]["processor"] == machine.host()["processor"]
    before = {file: file.read_bytes() for file in results.iterdir()}
    for valgrind in ("echo no such program >&2; exit 1", f"{COUNTS}; exit 139"):
        checkout([], {"tools/valgrind": valgrind})
        done = call(INSTRUCTIONS)
        assert done.returncode == 1 and "callgrind does not count on glibc" in done.stderr
        assert {file: file.read_bytes() for file in results.iterdir()} == before


@pytest.mark.parametrize(
    ("library", "git", "said"),
    [
        ("/nowhere/library.so", TOOLS["tools/git"], "callgrind does not count on shardsweep"),
        (ANY_LIBRARY, f"{TOOLS['tools/git']}; case $* in *diff*) exit 1 ;; esac", "with changes that no commit has"),
    ],
)
def test_instructions_without_the_library_or_of_no_commit_are_not_kept(counting, tmp_path, library, git, said):
    done = counting(library, **{"tools/git": git})(INSTRUCTIONS)
    assert done.returncode == 1 and said in done.stderr
    assert not list((tmp_path / "results" / "malloc").iterdir())
