# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures allocators for C programs: the programs of malloc/benchmarks under each of several preloaded libraries.

A round runs every program at every number of threads under all allocators in turn, so that a machine that drifts drifts
for all of them. Each run has to say what the first one said. The folder gets results.csv, a run a row, tables.md,
machine.json and plots; an interrupted measurement goes on where it stopped. Called by scripts/experiments/malloc-bench.sh.
"""

import argparse
import csv
import math
import shutil
import subprocess
import sys
import time
from pathlib import Path

from shardsweep import catalog, malloc_report, malloc_runs
from shardsweep.errors import UserError, system_said
from shardsweep.files import locked, replaced

# Operations of each program: about half a second of one thread.
OPERATIONS = {
    "cache-scratch": 400_000,
    "cache-thrash": 400_000,
    "threadtest": 40_000_000,
    "linux-scalability": 30_000_000,
    "larson": 8_000_000,
    "phong": 10_000_000,
    "xmalloc-test": 5_000_000,
    "sh6bench": 20_000_000,
    "sh8bench": 20_000_000,
    "alloc-test": 20_000_000,
    "mstress": 3_000_000,
    "rptest": 5_000_000,
    "blow-up": 5_000_000,
    "cfrac": 20_000,
    "espresso": 30,
    # Programs. A dozen seconds.
    "cxx-build": 10,
}
ONE_THREAD = ("cfrac", "espresso", "cxx-build")
# Programs for which memory suffices where nothing is freed.
BOUNDED = ("cache-scratch", "cache-thrash", "threadtest", "alloc-test", "mstress", "cfrac", "espresso", "cxx-build")
RECORDED = catalog.ROOT / "results" / "malloc"


def main() -> int:
    """Measures and reports. Returns 0, or 1 after one line on standard error that says what is wrong."""
    options = _parser().parse_args()
    try:
        _run_mode(options)
        return 0
    except UserError as error:
        print(f"malloc-bench: {error}", file=sys.stderr)
    except OSError as error:
        print(f"malloc-bench: {system_said(error)}", file=sys.stderr)
    except KeyboardInterrupt:
        print("malloc-bench: interrupted: the same command goes on", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="malloc-bench", description=__doc__.splitlines()[0])
    parser.add_argument("--programs-in", type=Path, required=True, help="where the built programs are")
    parser.add_argument("--folder", type=Path, required=True, help="gets the results")
    parser.add_argument("--programs", default=",".join(OPERATIONS), help="separated by commas (default: all)")
    parser.add_argument("--threads", default="1,2,4,8,16", help="numbers of threads (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=10, help="runs of each (default: %(default)s)")
    parser.add_argument("--share", type=float, default=1.0, help="share of the operations, for a try (default: 1)")
    parser.add_argument("--minutes", type=float, default=math.inf, help="time after which it stops (default: none)")
    parser.add_argument("--baseline", default="mimalloc3", help="tables are relative to it (default: %(default)s)")
    parser.add_argument("--check", action="store_true", help="measure nothing: say whether it can be measured")
    last = parser.add_mutually_exclusive_group()
    last.add_argument("--report", action="store_true", help="measure nothing: tables and plots again")
    last.add_argument("--record", action="store_true", help="when all is measured, keep it in results/malloc, "
                      "if it has all runs that are kept there")  # fmt: skip
    parser.add_argument("allocators", nargs="*", metavar="NAME=LIBRARY", help="no library: the C library's own malloc")
    return parser


def _run_mode(options: argparse.Namespace) -> None:
    if options.check:
        _check(options)
        return
    if not options.report and not measure(options):
        print(f"malloc-bench: stopped after {options.minutes:g} minutes: the same command goes on", flush=True)
        return
    malloc_runs.mend(options.folder)
    written = malloc_report.write(options.folder, options.baseline, commands(options.folder))
    if options.record:
        written = record(options.folder, options.baseline)
    print(f"malloc-bench: {written}")


def commands(folder: Path, place: Path | None = None) -> str:
    """What measured the runs of a folder, which is going to be at that place if at another one, and what makes its tables."""
    rows = malloc_runs.read(folder)
    shares = rows["operations"] / rows["program"].map(OPERATIONS)
    share = f" --share {shares.median():.3g}" if len(rows) and shares.median() != 1 else ""
    place = (place or folder).resolve()
    script, at = "scripts/experiments/malloc-bench.sh", f" --folder {catalog.place(place)}"
    to = " --record" if place == RECORDED else at
    return f"Measured by `{script}{share}{to}`; these tables are made by `{script}{at} --report`."


def _check(options: argparse.Namespace) -> None:
    """Raises UserError for what cannot be measured. Of the libraries, those that are there already are compared."""
    operations = {program: number for program, _, number in _grid(options)}
    libraries = dict(each.partition("=")[::2] for each in options.allocators)
    malloc_runs.mend(options.folder)
    malloc_runs.check(options.folder, malloc_runs.read(options.folder), operations, libraries)


def _library(text: str) -> tuple[str, str]:
    name, separator, library = text.partition("=")
    if not separator or (library and not Path(library).is_file()):
        raise UserError(f"'{text}' does not name a library that is there")
    return name, library


def _grid(options: argparse.Namespace) -> list[tuple[str, int, int]]:
    """Program, threads and operations of each point."""
    if not 0 < options.share <= 1:
        raise UserError(f"--share {options.share:g}: this is no share, which is above 0 and at most 1")
    points = []
    for program in options.programs.split(","):
        if program not in OPERATIONS:
            raise UserError(f"there is no program '{program}': {', '.join(OPERATIONS)}")
        operations = max(1, round(OPERATIONS[program] * options.share))
        try:
            threads = [int(number) for number in options.threads.split(",")]
        except ValueError:
            raise UserError(f"--threads {options.threads}: these are not whole numbers") from None
        points += [(program, number, operations) for number in threads if number == 1 or program not in ONE_THREAD]
    # Each is run once a round, however often it is named.
    return list(dict.fromkeys(points))


def measure(options: argparse.Namespace) -> bool:
    """Runs what results.csv does not have yet. Returns whether that is all of it."""
    end = time.monotonic() + 60 * options.minutes
    libraries = dict(map(_library, options.allocators))
    _check(options)
    options.folder.mkdir(parents=True, exist_ok=True)
    with locked(options.folder, "measurement"):
        programs = malloc_runs.digests({name: str(options.programs_in / name) for name in ("measure", *OPERATIONS)})
        malloc_runs.keep_facts(options.folder, libraries, programs)
        malloc_runs.check_programs(options.folder, programs)
        return _run_missing(options, libraries, end)


def _run_missing(options: argparse.Namespace, libraries: dict[str, str], end: float) -> bool:
    """Runs, until that moment, what results.csv does not have yet. Returns whether that is all of it."""
    done = set(malloc_runs.read(options.folder)[malloc_runs.KEY].itertuples(index=False, name=None))
    said = malloc_runs.Said(options.folder)
    with (options.folder / malloc_runs.RESULTS).open("a", newline="", encoding="utf-8") as output:
        writer = csv.writer(output)
        if output.tell() == 0:
            writer.writerow(malloc_runs.COLUMNS)
        for turn in range(1, options.rounds + 1):
            for point in _grid(options):
                for name, library in libraries.items():
                    if (*point, name, turn) in done or (name == malloc_report.BUMP and point[0] not in BOUNDED):
                        continue
                    if time.monotonic() >= end:
                        return False
                    words, numbers = _run(options.programs_in, point, library)
                    said.compare(*point[:2], name, words)
                    writer.writerow((*point, name, turn, *numbers))
                    output.flush()
            print(f"malloc-bench: round {turn} of {options.rounds} is done", flush=True)
    return True


def _run(folder: Path, point: tuple[str, int, int], library: str) -> tuple[str, tuple]:
    """What the program says; and wall, user and system seconds, and KiB resident at most."""
    program, threads, operations = point
    unset = ("LD_", "SHARDSWEEP_", "MALLOC_", "MIMALLOC_", "TCMALLOC_", "TBB_MALLOC_", "GLIBC_TUNABLES")
    environment = catalog.plain_environment(unset)
    command = [folder / "measure", library, folder / program, str(threads), str(operations)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    # The library, or the loader, may have said more than the program was asked for.
    numbers = done.stderr.split()
    if done.returncode != 0 or not done.stdout.strip() or not (numbers and all(map(str.isdecimal, numbers))):
        what = f"{program} {threads} {operations} on {library or 'the C library'}"
        said = f"{what} ends with {done.returncode}: {done.stderr.strip()}"
        raise UserError(f"{said}; the same command goes on where it stopped")
    *micros, peak = numbers
    return done.stdout.strip(), (*(f"{int(each) / 1e6:.6f}" for each in micros), peak)


def record(folder: Path, baseline: str) -> Path:
    """Puts the measurement of the folder in the place of the one that is kept, beside what else is kept there, and returns
    the file of its tables. Raises UserError for one that lacks some of its runs, or is of code that no commit has."""
    malloc_runs.check_committed(folder)
    malloc_runs.check_covers(folder, RECORDED)
    with replaced(RECORDED) as new:
        if RECORDED.is_dir():
            shutil.copytree(RECORDED, new, dirs_exist_ok=True)
        for name in (malloc_runs.RESULTS, malloc_runs.FACTS):
            shutil.copyfile(folder / name, new / name)
        malloc_report.write(new, baseline, commands(new, RECORDED))
    return RECORDED / malloc_report.TABLES


if __name__ == "__main__":
    sys.exit(main())
