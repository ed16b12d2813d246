# SPDX-License-Identifier: MIT OR Apache-2.0
"""What our lusearch allocates and how long its objects live, beside what is known of DaCapo's: measured into a folder of
`results/`, and the tables of the page there."""

import sys
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import pandas as pd

from shardsweep import allocations, lifetimes, machine, published, tables
from shardsweep.allocations import Sizes
from shardsweep.errors import UserError
from shardsweep.files import replaced

FOLDER = "calibration"
ALLOCATIONS, LIFETIMES, MACHINE = "allocations.csv", "lifetimes.csv", "machine.json"
COMMAND = "build/venv/bin/shardsweep calibrate"
# What is counted, by benchmark: flags of the JVM, by what is said of such runs.
AS_IT_RUNS, WITHOUT = "as it runs", "without escape analysis"
COUNTED = {"lusearch": {AS_IT_RUNS: ()}, "lusearch9": {WITHOUT: ("-XX:-DoEscapeAnalysis",), AS_IT_RUNS: ()}}
RUNS = 3
# Each run is of the third iteration, of one thread.
THREADS, SIZE, BATCHES, WARMUPS = 1, "small", 16, 2
QUERIES = 2048
# The lifetimes are of these threads, in this heap in MiB.
LIVING = (1, 12, 24, 48)
HEAP, LIVING_SIZE = 50, "default"
# By what part a row may differ.
MARGIN = 0.15
# What a row without sizes counts.
_TOTALS = {
    "objects a batch": lambda objects, _: objects / BATCHES,
    "bytes a batch": lambda _, size: size / BATCHES,
    "bytes an object": lambda objects, size: size / objects,
    "objects a query": lambda objects, _: objects / BATCHES / QUERIES,
}
_COLUMNS = ("objects", "bytes")


def measure(results: Path, jdk: Path, jar: Path) -> Path:
    """Replaces the folder in `results` by what a JDK and our jar allocate and keep. Raises UserError where a run does not pass,
    or plugin, JVM or checkout are of no commit."""
    with replaced(results / FOLDER) as new:
        machine.record_here(new / MACHINE, jdk, ["ms-64k"], COMMAND, committed=True)
        pd.concat(_count(jdk, jar)).to_csv(new / ALLOCATIONS, index=False)
        pd.concat(_live(jdk / "bin" / "java", jar)).to_csv(new / LIFETIMES, index=False)
    return results / FOLDER


def _count(jdk: Path, jar: Path) -> Iterator[pd.DataFrame]:
    arguments = ["-t", str(THREADS), "-s", SIZE]
    for benchmark, variants in COUNTED.items():
        for variant, flags in variants.items():
            for run in range(RUNS):
                print(f"allocations of {benchmark}, {variant}, run {run + 1} of {RUNS}", file=sys.stderr)
                sizes = allocations.iteration(jdk, jar, [*arguments, benchmark], WARMUPS, flags)
                told = pd.DataFrame(sorted(sizes.items()), columns=["size", "objects"])
                yield told[told["objects"] != 0].assign(benchmark=benchmark, variant=variant, run=run)


def _live(java: Path, jar: Path) -> Iterator[pd.DataFrame]:
    for benchmark in COUNTED:
        found = []
        for threads in LIVING:
            print(f"lifetimes of {benchmark}, {threads} threads", file=sys.stderr)
            found.append(lifetimes.measure(java, jar, ["-s", LIVING_SIZE, benchmark], threads, HEAP))
        yield lifetimes.frame(found).assign(benchmark=benchmark)


class Calibration:
    """What was measured into a folder, as the tables of its page."""

    batches, runs, heap = BATCHES, RUNS, HEAP

    def __init__(self, folder: Path):
        self.folder = folder

    @cached_property
    def _counted(self) -> pd.DataFrame:
        return self._read(ALLOCATIONS)

    def _read(self, name: str) -> pd.DataFrame:
        try:
            return pd.read_csv(self.folder / name)
        except FileNotFoundError:
            raise UserError(f"{self.folder / name} is not there: {COMMAND}") from None

    def _runs(self, benchmark: str, variant: str) -> list[pd.DataFrame]:
        """Each run's numbers, row by row as `published.allocations` has them."""
        table = self._counted
        own = table[(table["benchmark"] == benchmark) & (table["variant"] == variant)]
        theirs = published.allocations(benchmark)
        return [
            numbers(Counter(dict(zip(of["size"], of["objects"], strict=True))), theirs) for _, of in own.groupby("run")
        ]

    def allocations(self, benchmark: str, source: str) -> str:
        """What is known of DaCapo's benchmark from `source`, beside the medians of ours of each variant, and by what factors the
        runs differ; in Markdown."""
        theirs = published.allocations(benchmark)
        columns, cells = ["", source], [theirs["row"], _texts(theirs, theirs)]
        for variant in COUNTED[benchmark]:
            runs = self._runs(benchmark, variant)
            middle = theirs.assign(**{each: sum_up(runs, each, "median") for each in _COLUMNS})
            columns += [f"ours, {variant}", f"over {source}"]
            cells += [_texts(middle, theirs), _factors(runs, theirs)]
        return tables.lines(columns, [list(row) for row in zip(*cells, strict=True)])

    @property
    def margin(self) -> str:
        """By what part a row may differ, as text."""
        return tables.percent(MARGIN)

    def beyond(self, benchmark: str, variant: str) -> list[str]:
        """The rows in which some run differs from DaCapo's by more than the margin, in objects or in bytes."""
        theirs = published.allocations(benchmark)
        factors = [run[list(_COLUMNS)] / theirs[list(_COLUMNS)] for run in self._runs(benchmark, variant)]
        far = [((each - 1).abs() > MARGIN).fillna(False).any(axis=1) for each in factors]
        return list(theirs["row"][pd.concat(far, axis=1).any(axis=1)])

    def lifetimes(self, benchmark: str) -> str:
        """How long the objects of ours live, in Markdown."""
        whole = self._read(LIFETIMES)
        table = lifetimes.table(whole[whole["benchmark"] == benchmark], "")
        return tables.lines(table.columns, table.rows)


def sum_up(runs: list[pd.DataFrame], column: str, how: str) -> pd.Series:
    """The median, or what else, of a column over runs, row by row."""
    return pd.concat([run[column] for run in runs], axis=1).agg(how, axis=1)


def numbers(sizes: Sizes, like: pd.DataFrame) -> pd.DataFrame:
    """What a histogram has in the rows of what was published. Raises UserError where it has no object."""
    objects, size = allocations.totals(sizes, FOLDER)
    found = like.copy()
    for row in like.itertuples():
        if row.row in _TOTALS:
            one = _TOTALS[row.row](objects, size)
            of = (one, pd.NA) if pd.isna(row.bytes) else (pd.NA, one)
        else:
            last = float("inf") if pd.isna(row.up_to) else row.up_to
            of = allocations.shares(sizes, row.above, last, FOLDER)
        found.loc[row.Index, list(_COLUMNS)] = of
    return found


def _texts(numbers: pd.DataFrame, theirs: pd.DataFrame) -> list[str]:
    """Each row's numbers as text: shares of objects and of bytes, or one number."""
    return [
        f"{objects:.2%}, {size:.2%}" if not pd.isna(above) else f"{size if pd.isna(objects) else objects:,.0f}"
        for objects, size, above in zip(numbers["objects"], numbers["bytes"], theirs["above"], strict=True)
    ]


def _factors(runs: list[pd.DataFrame], theirs: pd.DataFrame) -> list[str]:
    """By what factors the runs differ from theirs, row by row: the least and the most."""
    ends = {column: [sum_up(runs, column, how) / theirs[column] for how in ("min", "max")] for column in _COLUMNS}
    return [
        ", ".join(f"{low[row]:.2f} to {high[row]:.2f}" for low, high in ends.values() if not pd.isna(low[row]))
        for row in theirs.index
    ]
