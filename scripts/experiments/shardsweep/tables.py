# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tables of a sweep, ready to print: minheaps and regressions beside the published ones, and performance."""

import itertools
from dataclasses import dataclass

import pandas as pd
import rich.table
from rich.console import Console

from shardsweep import analysis, published, thresholds
from shardsweep.figures import METRICS, threads_text, timed

# Why a minheap is missing, as the report prints it (TIMEOUT) and in the same manner.
WORDS = {
    "timeout": "TIMEOUT",
    "overhead": "GC OVERHEAD",
    "oom": "TOO LARGE",
    "crash": "CRASH",
    "failed": "WRONG RESULT",
    "error": "ERROR",
}


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


def percent(share: float) -> str:
    """A share of 1 as text, in whole percent."""
    return f"{share * 100:.0f} %"


def minheaps(table: pd.DataFrame, notes: list[dict]) -> list[Table]:
    """Minheap by threads and build, with the published figure for the same in brackets where there is one."""
    why = _reasons(notes)
    slow = thresholds.marks(table)
    known = thresholds.points(table)
    found = []
    rows = thresholds.minheaps(table)
    for benchmark, of_benchmark in rows.groupby("benchmark", sort=False):
        theirs = _published() if _is_lusearch(benchmark) else {}
        builds = list(dict.fromkeys(of_benchmark["build"]))
        body = []
        for threads, of_threads in of_benchmark.groupby("threads", dropna=False):
            cells = [threads_text(threads)]
            for build in builds:
                values = of_threads.loc[of_threads["build"] == build, "value"]
                key = (benchmark, build, analysis.thread_key(threads))
                digits = 1 if key in known else 0
                cells.append(_minheap_cell(values, digits, slow.get(key, ""), why.get(key), theirs.get(key[1:])))
            body.append(cells)
        meaning = minheap_meaning(
            {analysis.point_key(row) in known for row in of_benchmark.dropna(subset=["value"]).itertuples()}
        )
        note = [f"A minheap is {meaning}. Medians over repeats." if meaning else "", *told(body)]
        if theirs:
            note.append("In brackets: what Sinclair (2023) published for DaCapo 9.12 lusearch.")
        title = f"Minheap of {benchmark} (MiB)"
        found.append(Table(f"minheap-{benchmark}", title, ["threads", *builds], body, " ".join(filter(None, note))))
    return found


def minheap_meaning(estimated: set[bool]) -> str:
    """What minheaps are that stand side by side: whether each is an estimate of many runs or of searches alone."""
    half = "the heap in which half of all runs pass"
    searched = "the smallest heap in which a run of a search passed"
    if estimated == {True, False}:
        return f"with a decimal {half}, else {searched}"
    return {True: half, False: searched}[estimated.pop()] if estimated else ""


def told(body: list[list[str]]) -> list[str]:
    """What the marks mean that are in the cells of a table."""
    return thresholds.told("".join(itertools.chain.from_iterable(body)))


def _reasons(notes: list[dict]) -> dict[tuple[str, str, int], str]:
    """How the searches ended that found no minheap. Those notes alone have no log: they are of more than one run."""
    ends = [note for note in notes if note["experiment"] == "minheap" and note["log"] is None]
    return {(note["benchmark"], note["build"], note["threads"]): note["outcome"] for note in ends}


def _is_lusearch(benchmark: str) -> bool:
    """Whether a benchmark may stand beside what was published: of lusearch, ours or one of DaCapo's."""
    return benchmark in ("lusearch", "lusearch9") or benchmark.endswith(":lusearch")


def _published() -> dict[tuple[str, int], float]:
    known = published.minheaps()
    values = {}
    for build, (section, name) in published.COUNTERPARTS.items():
        for row in known[(known["section"] == section) & (known["build"] == name)].itertuples():
            values[build, row.threads] = row.minheap
    return values


def _minheap_cell(values: pd.Series, digits: int, mark: str, why: str | None, theirs: float | None) -> str:
    if values.empty:
        return ""
    middle = analysis.median_minheap(values)
    text = WORDS.get(why, "NONE") if pd.isna(middle) else number(middle, digits) + mark
    return f"{text} ({theirs:.0f})" if theirs is not None and not pd.isna(theirs) else text


def regressions(table: pd.DataFrame) -> list[Table]:
    """Slope and intercept of each build with standard errors, R², and whether it is a line, where that was tested; of
    lusearch with the published ones."""
    theirs = {(row.section, row.build): row for row in published.regressions().itertuples()}
    rows = analysis.with_minheap(thresholds.minheaps(table))
    lines = analysis.lines(rows, ["benchmark", "build"], "threads", "value")
    slow = thresholds.marks(table)
    found = []
    for benchmark, group in lines.groupby("benchmark", sort=False):
        columns = ["build", "slope (MiB/thread)", "±", "intercept (MiB)", "±", "R²", "points", "shape"]
        body = [
            [line.build, number(line.slope, 4), number(line.slope_error, 4), number(line.intercept),
             number(line.intercept_error), number(line.r2, 4),
             f"{line.points}{thresholds.each_once(slow[key] for key in slow if key[:2] == (benchmark, line.build))}",
             line.shape]
            for line in group.itertuples()
        ]  # fmt: skip
        note = " ".join([
            "±: standard errors. A curve bends so much that points of a line would with a probability below "
            f"{analysis.BEND:.0%}: its slope is a mean. Fewer than {analysis.BENDABLE} points are not tested. Points "
            "without a minheap are left out.", *told(body)
        ])  # fmt: skip
        if _is_lusearch(benchmark):
            columns += ["published slope", "published intercept", "published R²"]
            body = [[*cells, *_published_line(theirs, cells[0])] for cells in body]
            note += " Published: Sinclair (2023), for DaCapo 9.12 lusearch."
        title = f"Growth of the minheap of {benchmark} with threads"
        found.append(Table(f"regression-{benchmark}", title, columns, body, note))
    return found


def _published_line(theirs: dict, build: str) -> list[str]:
    other = theirs.get(published.COUNTERPARTS.get(build))
    return [other.slope, other.intercept, other.r2] if other else ["", "", ""]


def spread(table: pd.DataFrame) -> list[Table]:
    """All repeated minheaps, and whether they agree within 1 MiB or 5 %; none if nothing was repeated."""
    spreads = analysis.repeat_spread(table[table["metric"] == "minheap"])
    if spreads.empty:
        return []
    slow = thresholds.marks(table)
    rows = [
        [row.benchmark, row.build, threads_text(row.threads), number(row.smallest, 0),
         number(row.median, 0) + slow.get(analysis.point_key(row), ""),
         number(row.largest, 0), str(row.repeats), "yes" if row.agree else "NO"]
        for row in spreads.itertuples()
    ]  # fmt: skip
    columns = ["benchmark", "build", "threads", "smallest", "median", "largest", "repeats", "agree"]
    note = " ".join(["They agree within 1 MiB or 5 %.", *told(rows)])
    return [Table("spread", "Repeated minheaps (MiB)", columns, rows, note)]


def estimates(table: pd.DataFrame) -> list[Table]:
    """The heaps in which half of all runs pass, and 95 %, with intervals; of points whose runs tell of them."""
    slow = thresholds.marks(table)
    rows = []
    for (benchmark, build, threads), runs in thresholds.points(table).items():
        cells = [benchmark, build, threads_text(threads or pd.NA)]
        for share in (0.5, 0.95):
            found = runs.heap(share)
            cells += [number(found.estimate, 1), number(found.low, 1), number(found.high, 1)]
        cells[3] += slow.get((benchmark, build, threads), "")
        rows.append([*cells, str(runs.timed_out), str(runs.number)])
    if not rows:
        return []
    columns = ["benchmark", "build", "threads", "50 % pass in", "low", "high", "95 % pass in", "low", "high"]
    columns += ["timed out", "runs"]
    note = (
        "Heaps of a logistic curve through the runs that passed and did not in each heap size; those that timed out are "
        "among the ones that did not. Low and high: "
        f"{analysis.CONFIDENCE:.0%} profile-likelihood intervals, empty where the runs do not bound them."
    )
    return [Table("estimates", "Minheap as a probability (MiB)", columns, rows, " ".join([note, *told(rows)]))]


def repeat(compared: pd.DataFrame) -> Table:
    """The points at which two runs of a grid do not agree, of what `analysis.compare_runs` gives."""
    rows = [
        [row.benchmark, row.build, threads_text(row.threads), number(row.first, 0) or "NONE",
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
        shown = medians.merge(
            analysis.relative(last, metric, baseline), on=["build", *analysis.CELL], how="left", suffixes=("", "_ratio")
        )
        rows = [
            [row.benchmark, threads_text(row.threads), str(row.heap), row.build, number(row.median, 1),
             number(row.low, 1), number(row.high, 1), str(row.samples),
             *_ratio_cells(analysis.Interval(row.ratio, row.low_ratio, row.high_ratio, row.samples_ratio),
                           itself=row.build == baseline)]
            for row in shown.sort_values([*analysis.CELL, "build"], na_position="first").itertuples()
        ]  # fmt: skip
        columns = ["benchmark", "threads", "heap (MiB)", "build", f"median ({unit})", "low", "high", "invocations"]
        found.append(
            Table(
                f"performance-{metric}",
                title,
                [*columns, f"/ {baseline}", "low", "high", "confidence", "verdict"],
                rows,
                " ".join([*without(last, metric), _how_to_read(metric, shown["samples"])]),
            )
        )
    return found


def _ratio_cells(ratio: analysis.Interval, itself: bool) -> list[str]:
    """A ratio with its interval, the confidence of that, and the verdict; of the baseline to itself the ratio alone."""
    cells = [number(ratio.estimate), number(ratio.low), number(ratio.high)]
    if itself or pd.isna(ratio.estimate):
        return [*cells, "", ""]
    confidence = "" if pd.isna(ratio.low) else percent(analysis.ratio_confidence(int(ratio.samples)))
    return [*cells, confidence, analysis.verdict_of(ratio)]


def without(rows: pd.DataFrame, metric: str) -> list[str]:
    """A sentence about the JVMs that passed, of those of some rows, and have no value of a metric; none where each has one."""
    runs = rows[rows["metric"] == "time.total"]
    having = rows[(rows["metric"] == metric) & rows["value"].notna()]
    lacking = len(runs) - len(having)
    return [f"{lacking} of {len(runs)} JVMs have no value of it."] if lacking > 0 else []


def _how_to_read(metric: str, samples: pd.Series) -> str:
    of = "whole runs of the JVM" if metric == "resident.peak" else "the timed iteration"
    note = (
        f"Medians of {of}; low and high: intervals of at least {analysis.CONFIDENCE:.0%} of medians, by order statistics, and of "
        f"{analysis.CONFIDENCE:.0%} of ratios, by bootstrap over the invocations that both builds have. "
    )
    # One sample has no interval at all.
    if samples.between(2, analysis.FEW - 1).any():
        two, three, four, five = (percent(analysis.confidence(samples)) for samples in range(2, analysis.FEW))
        note += (
            "With fewer than six invocations low and high are the smallest and largest median that the sample allows, "
            f"that is its range, which holds the median in {two} (two), {three} (three), {four} (four) or {five} (five) "
            "of cases. "
        )
    return note + (
        "A build without a row at a heap size has no run there that passed. Verdicts are of the interval of the ratio: equal if "
        f"all of it is within {analysis.MARGIN:.0%}; fewer than six invocations are {analysis.TOO_FEW} for one. Their interval "
        "is a range, which holds the ratio as often as is said beside it."
    )


def resident(table: pd.DataFrame) -> list[Table]:
    """What each build held, by the samples of all its invocations."""
    metrics = ["sample.resident", "sample.anonymous"]
    samples = table[table["metric"].isin(metrics)].dropna(subset=["value"])
    rows = []
    for (benchmark, threads, heap, build), of_build in samples.groupby([*analysis.CELL, "build"], dropna=False):
        cells = [benchmark, threads_text(threads), str(heap), build]
        for metric in metrics:
            values = of_build.loc[of_build["metric"] == metric, "value"]
            cells += [number(values.median(), 1), number(values.max(), 1)]
        rows.append(cells)
    if not rows:
        return []
    columns = ["benchmark", "threads", "heap (MiB)", "build"]
    columns += ["resident: median", "largest", "anonymous: median", "largest"]
    note = "Over the samples of all invocations. Anonymous: what is not of a file."
    return [Table("resident", "Resident memory (MiB)", columns, rows, note)]


def geometric_means(table: pd.DataFrame, baseline: str) -> list[Table]:
    """One figure per build and metric: the geometric mean over the cells that all builds ran."""
    last = timed(table)
    columns, by_build = [], {}
    for metric, title, _ in METRICS:
        means = analysis.geometric_means(analysis.common(analysis.relative(last, metric, baseline)), ["build"])
        if means.empty:
            continue
        columns.append(title)
        for row in means.itertuples():
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
            "In brackets: the number of settings (benchmark, threads, heap) in which every build of the column has more "
            "than zero; the others count for none.",
        )
    ]


def overheads(table: pd.DataFrame) -> list[Table]:
    """Lower-bound overhead of every build and cell, in time and in processor time, as far as they were measured."""
    last = timed(table)
    kinds = (("time", "time.total", "time.collector"), ("processor time", "cpu.total", "cpu.collector"))
    found = {
        name: analysis.lower_bound_overhead(last, whole, collector)
        for name, whole, collector in kinds
        if {whole, collector} <= set(last["metric"])
    }
    found = {name: each for name, each in found.items() if len(each)}
    if not found:
        return []
    keys = ["build", *analysis.CELL]
    joined = pd.concat({name: each.set_index(keys)["overhead"] for name, each in found.items()}, axis="columns")
    few = last[last["metric"] == "time.total"].groupby(keys, dropna=False)["value"].count().min() < analysis.FEW
    rows = [
        [row["benchmark"], threads_text(row["threads"]), str(row["heap"]), row["build"],
         *(number(row[name]) for name in found)]
        for _, row in joined.reset_index().sort_values([*analysis.CELL, "build"], na_position="first").iterrows()
    ]  # fmt: skip
    note = (
        "Median over the smallest median without pauses of any build and heap, of the same benchmark and threads: what "
        "collecting costs at least, barriers and concurrent work included."
    )
    if few:
        note += (
            f" Some of these medians are of fewer than {analysis.FEW} JVMs: the smallest of many such lies below what the work "
            "costs, so that all numbers here are too large."
        )
    columns = ["benchmark", "threads", "heap (MiB)", "build", *found]
    return [Table("overheads", "Lower-bound overhead", columns, rows, note)]


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


def lines(columns: list[str], rows: list[list[str]]) -> str:
    """The lines of a table in Markdown."""
    every = [columns, ["---", *["--:"] * (len(columns) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in every)


def markdown(table: Table) -> str:
    """The table in Markdown, under its title."""
    return f"## {table.title}\n\n{lines(table.columns, table.rows)}\n" + (f"\n{table.note}\n" if table.note else "")


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
