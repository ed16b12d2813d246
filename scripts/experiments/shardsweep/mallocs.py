# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures allocators for C programs: the programs of malloc/benchmarks under each of several preloaded libraries.

A round runs every program at every number of threads under all allocators in turn, so that a machine that drifts drifts
for all of them. Each run has to say what the first one said. The folder gets results.csv, a run a row, tables.md,
machine.json and plots; an interrupted measurement goes on where it stopped. Called by scripts/experiments/malloc-bench.sh.
"""

import argparse
import csv
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
from scipy import stats

from shardsweep import draw, machine
from shardsweep.errors import UserError
from shardsweep.figures import Figure, Series
from shardsweep.files import write_whole

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
    # Files. A dozen seconds.
    "cxx-build": 3,
}
ONE_THREAD = ("cfrac", "espresso", "cxx-build")
# Of these, what they hold is that of a queue whose length is chance.
MEMORY_BY_CHANCE = ("xmalloc-test",)
COLUMNS = ("program", "threads", "operations", "allocator", "round", "wall", "user", "system", "peak_kib")
# Frees nothing: it says what the programs cost without an allocator, and is no competitor. Memory does not suffice for
# the other programs.
BOUND = "bump"
BOUNDED = ("cache-scratch", "cache-thrash", "threadtest", "alloc-test", "mstress", "cfrac", "espresso", "cxx-build")
OURS = "shardsweep"
# The column of a measure, its title, and the programs without it.
MEASURES = (("wall", "Time", ()), ("peak_kib", "Peak resident memory", MEMORY_BY_CHANCE))


def main() -> int:
    """Measures and reports. Returns 0, or 1 after one line on standard error that says what is wrong."""
    options = _parser().parse_args()
    try:
        libraries = dict(_library(each) for each in options.allocators)
        options.folder.mkdir(parents=True, exist_ok=True)
        if not options.report and not measure(options, libraries):
            print(f"malloc-bench: stopped after {options.minutes:g} minutes: the same command goes on", flush=True)
            return 0
        report(options.folder, options.baseline)
    except UserError as error:
        print(f"malloc-bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("malloc-bench: interrupted: the same command goes on", file=sys.stderr)
        return 1
    return 0


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
    parser.add_argument("--report", action="store_true", help="measure nothing: tables and plots again")
    parser.add_argument("allocators", nargs="*", metavar="NAME=LIBRARY", help="no library: the C library's own malloc")
    return parser


def _library(text: str) -> tuple[str, str]:
    name, separator, library = text.partition("=")
    if not separator or (library and not Path(library).is_file()):
        raise UserError(f"'{text}' does not name a library that is there")
    return name, library


def _grid(options: argparse.Namespace) -> list[tuple[str, int, int]]:
    """Program, threads and operations of each point."""
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
    return points


def measure(options: argparse.Namespace, libraries: dict[str, str]) -> bool:
    """Runs what results.csv does not have yet. Returns whether that is all of it."""
    end = time.monotonic() + 60 * options.minutes
    grid, file = _grid(options), options.folder / "results.csv"
    facts = options.folder / "machine.json"
    if not facts.exists():
        what = {"machine": machine.host(), "revision": machine.revision(), "libraries": _digests(libraries)}
        write_whole(facts, json.dumps(what, indent=1) + "\n")
    elif json.loads(facts.read_text())["libraries"] != _digests(libraries):
        raise UserError(f"{options.folder} was measured with other libraries: take another folder")
    done = set()
    if file.exists():
        for row in csv.DictReader(file.open(encoding="utf-8")):
            done.add((row["program"], int(row["threads"]), int(row["operations"]), row["allocator"], int(row["round"])))
    says: dict[tuple, str] = {}
    with file.open("a", newline="", encoding="utf-8") as output:
        writer = csv.writer(output)
        if output.tell() == 0:
            writer.writerow(COLUMNS)
        for turn in range(1, options.rounds + 1):
            for point in grid:
                for name, library in libraries.items():
                    if (*point, name, turn) in done or (name == BOUND and point[0] not in BOUNDED):
                        continue
                    if time.monotonic() >= end:
                        return False
                    said, numbers = _run(options.programs_in, point, library)
                    if says.setdefault(point, said) != said:
                        raise UserError(f"{point[0]} says '{said}' on {name}, not '{says[point]}'")
                    writer.writerow((*point, name, turn, *numbers))
                    output.flush()
            print(f"malloc-bench: round {turn} of {options.rounds} is done", flush=True)
    return True


def _digests(libraries: dict[str, str]) -> dict[str, str]:
    return {name: machine.digest(Path(file)) if file else "the C library's" for name, file in libraries.items()}


def _run(folder: Path, point: tuple[str, int, int], library: str) -> tuple[str, tuple]:
    """What the program says; and wall, user and system seconds, and KiB resident at most."""
    program, threads, operations = point
    unset = ("LD_", "SHARDSWEEP_", "MALLOC_", "MIMALLOC_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(unset)}
    command = [folder / "measure", library, folder / program, str(threads), str(operations)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not done.stdout.strip():
        what = f"{program} {threads} {operations} on {library or 'the C library'}"
        raise UserError(f"{what} ends with {done.returncode}: {done.stderr.strip()}")
    *micros, peak = done.stderr.split()
    return done.stdout.strip(), (*(f"{int(each) / 1e6:.6f}" for each in micros), peak)


def _rows(folder: Path) -> pd.DataFrame:
    """All runs. Raises UserError if there is none."""
    file = folder / "results.csv"
    rows = pd.read_csv(file) if file.is_file() else pd.DataFrame(columns=COLUMNS)
    if rows.empty:
        raise UserError(f"{folder} has no measurement yet")
    return rows


def ratios(table: pd.DataFrame, column: str, baseline: str) -> pd.DataFrame:
    """By program and threads the column of each allocator, relative to the baseline's."""
    wide = table.pivot(index=["program", "threads"], columns="allocator", values=column)
    if baseline not in wide:
        raise UserError(f"the baseline {baseline} was not measured: {', '.join(wide)}")
    order = [name for name in table["allocator"].unique() if name in wide]
    return wide[order].div(wide[baseline], axis=0).dropna(subset=[each for each in order if each != BOUND])


def report(folder: Path, baseline: str) -> None:
    """Writes tables.md and the plots."""
    points = _rows(folder).groupby(["program", "threads", "allocator"], sort=False)
    table = points[["wall", "peak_kib"]].median().reset_index()
    runs = sorted({points.size().min(), points.size().max()})
    head = f"Medians of {' to '.join(map(str, runs))} runs, relative to {baseline}. Below 1 is better. `{BOUND}` frees nothing.\n"
    parts = [head]
    for column, title, left_out in MEASURES:
        relative = ratios(table[~table["program"].isin(left_out)], column, baseline)
        means = relative.apply(lambda column: stats.gmean(column.dropna()))
        head = ["program", "threads", *relative.columns]
        lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
        for (program, threads), row in relative.iterrows():
            cells = ("" if pd.isna(value) else f"{value:.2f}" for value in row)
            lines.append(f"| {program} | {threads} | " + " | ".join(cells) + " |")
        lines.append("| geometric mean | | " + " | ".join(f"{value:.3f}" for value in means) + " |")
        parts.append(f"## {title}\n\n" + "\n".join(lines) + "\n")
        _plot(folder, relative, column, f"{title}, relative to {baseline}")
    parts.append(_goals(table))
    write_whole(folder / "tables.md", "\n".join(parts))
    print(f"malloc-bench: {folder / 'tables.md'}")


def _goals(table: pd.DataFrame) -> str:
    """Ours against the best of the mimallocs, point by point, and secure mode against ours."""
    rivals = [name for name in table["allocator"].unique() if name.startswith("mimalloc")]
    lines = []
    for column, title, left_out in MEASURES:
        rows = table[~table["program"].isin(left_out)]
        wide = rows.pivot(index=["program", "threads"], columns="allocator", values=column)
        if OURS in wide and rivals:
            best = wide[rivals].min(axis=1)
            lines.append(f"{title} of {OURS} relative to the best of {', '.join(rivals)} {_spread(wide[OURS] / best)}")
        if OURS in wide and f"{OURS}-secure" in wide:
            lines.append(f"{title} of secure mode relative to {OURS} {_spread(wide[f'{OURS}-secure'] / wide[OURS])}")
    return "\n".join(lines) + "\n"


def _spread(against: pd.Series) -> str:
    """Mean and worst of ratios by program and threads."""
    against = against.dropna()
    programs = against.groupby("program").apply(stats.gmean)
    worst = against.idxmax()
    return (
        f"at each point: geometric mean {stats.gmean(against):.3f}; of a program's numbers of threads at most "
        f"{programs.max():.2f}, {programs.idxmax()}; of all points at most {against.max():.2f}, "
        f"{worst[0]} with {worst[1]} threads.\n"
    )


def _plot(folder: Path, relative: pd.DataFrame, column: str, title: str) -> None:
    """A group of bars a program, at the most threads that it was run with. As many allocators as there are colours."""
    most = relative.reset_index().groupby("program", sort=False).last()
    series = [
        Series(name, list(most.index), [float(value) for value in most[name]])
        for name in relative.columns[: len(draw.COLOURS)]
    ]
    figure = Figure(f"malloc-{column}", f"{title}, at most threads", "", "ratio", series, bars=True)
    draw.files(figure, folder)


if __name__ == "__main__":
    sys.exit(main())
