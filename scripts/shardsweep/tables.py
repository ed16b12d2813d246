# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tables of a sweep, ready to print: minheaps and regressions beside the published ones, and performance."""

from dataclasses import dataclass

import pandas as pd
import rich.table
from rich.console import Console

from shardsweep import analysis, published
from shardsweep.figures import METRICS, timed

# Why a minheap is missing, as the report prints it (TIMEOUT) and in the same manner.
WORDS = {"timeout": "TIMEOUT", "oom": "TOO LARGE", "crash": "CRASH", "failed": "WRONG RESULT", "error": "ERROR"}


@dataclass
class Table:
    """A titled table of text, as it is to be read. `note` says how to read it."""

    id: str
    title: str
    columns: list[str]
    rows: list[list[str]]
    note: str = ""


def number(value: float, digits: int = 3) -> str:
    """A number as text; empty for a missing one."""
    return "" if pd.isna(value) else f"{value:.{digits}f}"


def minheaps(table: pd.DataFrame, notes: list[dict]) -> list[Table]:
    """Minheap by threads and build, with the published figure for the same in brackets where there is one."""
    theirs = _published()
    why = {(note["benchmark"], note["build"], note["threads"]): note["outcome"] for note in notes}
    found = []
    rows = table[table["metric"] == "minheap"]
    for benchmark, of_benchmark in rows.groupby("benchmark", sort=False):
        builds = list(dict.fromkeys(of_benchmark["build"]))
        body = []
        for threads, of_threads in of_benchmark.groupby("threads", dropna=False):
            cells = [_threads(threads)]
            for build in builds:
                values = of_threads.loc[of_threads["build"] == build, "value"]
                key = 0 if pd.isna(threads) else threads
                cells.append(_minheap_cell(values, why.get((benchmark, build, key)), theirs.get((build, key))))
            body.append(cells)
        found.append(
            Table(
                f"minheap-{benchmark}",
                f"Minheap of {benchmark} (MiB)",
                ["threads", *builds],
                body,
                "Medians over repeats. In brackets: what Sinclair (2023) published for DaCapo 9.12 lusearch.",
            )
        )
    return found


def _threads(threads) -> str:
    return "default" if pd.isna(threads) else str(threads)


def _published() -> dict[tuple[str, int], float]:
    known = published.minheaps()
    values = {}
    for build, (section, name) in published.COUNTERPARTS.items():
        for row in known[(known["section"] == section) & (known["build"] == name)].itertuples():
            values[build, row.threads] = row.minheap
    return values


def _minheap_cell(values: pd.Series, why: str | None, theirs: float | None) -> str:
    if values.empty:
        return ""
    measured = values.dropna()
    text = number(measured.median(), 0) if len(measured) else WORDS.get(why, "NONE")
    return f"{text} ({theirs:.0f})" if theirs is not None and not pd.isna(theirs) else text


def regressions(table: pd.DataFrame) -> list[Table]:
    """Slope, intercept and R² of each build, with the published ones."""
    theirs = {(row.section, row.build): row for row in published.regressions().itertuples()}
    rows = table[table["metric"] == "minheap"]
    lines = analysis.lines(rows, ["benchmark", "build"], "threads", "value")
    found = []
    for benchmark, group in lines.groupby("benchmark", sort=False):
        body = []
        for line in group.itertuples():
            other = theirs.get(published.COUNTERPARTS.get(line.build, ("", "")))
            known = [other.slope, other.intercept, other.r2] if other else ["", "", ""]
            ours = [number(line.slope, 4), number(line.intercept), number(line.r2, 4), str(line.points)]
            body.append([line.build, *ours, *known])
        columns = ["build", "slope (MiB/thread)", "intercept (MiB)", "R²", "points"]
        found.append(
            Table(
                f"regression-{benchmark}",
                f"Least-squares lines through the minheaps of {benchmark}",
                [*columns, "published slope", "published intercept", "published R²"],
                body,
                "Points without a minheap are left out. Published: Sinclair (2023), for DaCapo 9.12 lusearch.",
            )
        )
    return found


def spread(table: pd.DataFrame) -> list[Table]:
    """Repeated minheaps that do not agree within 1 MiB or 5 %; none if all do or nothing was repeated."""
    spreads = analysis.repeat_spread(table[table["metric"] == "minheap"])
    if spreads.empty:
        return []
    rows = [
        [row.benchmark, row.build, str(row.threads), number(row.smallest, 0), number(row.median, 0),
         number(row.largest, 0), str(row.repeats), "yes" if row.agree else "NO"]
        for row in spreads.itertuples()
    ]  # fmt: skip
    columns = ["benchmark", "build", "threads", "smallest", "median", "largest", "repeats", "agree"]
    return [Table("spread", "Repeated minheaps (MiB)", columns, rows, "They agree within 1 MiB or 5 %.")]


def repeat(compared: pd.DataFrame) -> Table:
    """The points at which two runs of a grid do not agree, of what `analysis.compare_runs` gives."""
    rows = [
        [row.benchmark, row.build, _threads(row.threads), number(row.first, 0) or "NONE",
         number(row.second, 0) or "NONE"]
        for row in compared[~compared["agree"]].itertuples()
    ]  # fmt: skip
    columns = ["benchmark", "build", "threads", "first", "second"]
    return Table("repeat", "Minheaps that do not agree (MiB)", columns, rows, "They would within 1 MiB or 5 %.")


def performance(table: pd.DataFrame, baseline: str) -> list[Table]:
    """Every metric of the timed iteration: median, interval and ratio to the baseline, cell by cell."""
    found = []
    last = timed(table)
    for metric, title, unit in METRICS:
        medians = analysis.summary(last, metric, ["build", *analysis.CELL])
        if medians.empty:
            continue
        joined = medians.merge(
            analysis.relative(last, metric, baseline), on=["build", *analysis.CELL], how="left", suffixes=("", "_ratio")
        )
        rows = [
            [row.benchmark, _threads(row.threads), str(row.heap), row.build, number(row.median, 1),
             number(row.low, 1), number(row.high, 1), str(row.samples),
             number(row.ratio), number(row.low_ratio), number(row.high_ratio)]
            for row in joined.sort_values([*analysis.CELL, "build"], na_position="first").itertuples()
        ]  # fmt: skip
        columns = ["benchmark", "threads", "heap (MiB)", "build", f"median ({unit})", "low", "high", "invocations"]
        found.append(
            Table(
                f"performance-{metric}",
                title,
                [*columns, f"/ {baseline}", "low", "high"],
                rows,
                f"Medians of the timed iteration; low and high: {analysis.CONFIDENCE:.0%} bootstrap intervals. "
                "A build without a row at a heap size could not run there.",
            )
        )
    return found


def geometric_means(table: pd.DataFrame, baseline: str) -> list[Table]:
    """One figure per build and metric: the geometric mean over all cells that it and the baseline both ran."""
    last = timed(table)
    columns, by_build = [], {}
    for metric, title, _ in METRICS:
        ratios = analysis.relative(last, metric, baseline)
        if ratios.empty:
            continue
        columns.append(title)
        for row in analysis.geometric_means(ratios, ["build"]).itertuples():
            by_build.setdefault(row.build, {})[title] = f"{row.geometric_mean:.3f} ({row.cells})"
    if not by_build:
        return []
    rows = [[build, *(cells.get(column, "") for column in columns)] for build, cells in by_build.items()]
    return [
        Table(
            "geometric-means",
            f"Geometric means relative to {baseline}",
            ["build", *columns],
            rows,
            "In brackets: the number of cells (benchmark, threads, heap) that the build and the baseline both ran.",
        )
    ]


def notes(entries: list[dict]) -> list[Table]:
    """Every run that did not pass, but for a minheap's expected failures."""
    if not entries:
        return []
    rows = [
        [entry["outcome"], entry["build"], entry["benchmark"], str(entry["threads"] or "default"), str(entry["heap"]),
         entry["detail"], entry["log"] or ""]
        for entry in entries
    ]  # fmt: skip
    columns = ["outcome", "build", "benchmark", "threads", "heap (MiB)", "what", "log"]
    return [Table("notes", "Runs that did not pass", columns, rows)]


def markdown(table: Table) -> str:
    """The table in Markdown, under its title."""
    lines = [table.columns, ["---", *["--:"] * (len(table.columns) - 1)], *table.rows]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"## {table.title}\n\n{body}\n" + (f"\n{table.note}\n" if table.note else "")


def show(table: Table, console: Console) -> None:
    """Prints a table to the terminal."""
    drawn = rich.table.Table(
        title=table.title, caption=table.note or None, title_justify="left", caption_justify="left"
    )
    for position, column in enumerate(table.columns):
        drawn.add_column(column, justify="right" if position else "left")
    for row in table.rows:
        drawn.add_row(*row)
    console.print(drawn, markup=False)
