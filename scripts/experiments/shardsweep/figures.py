# SPDX-License-Identifier: MIT OR Apache-2.0
"""The figures of a sweep as data: what is drawn, independent of what draws it. They follow the report's (section 6)."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from shardsweep import analysis, thresholds

# Metric, title, unit: those of the report's figures 3 to 6 and 7 to 10, then those that the report does not have.
METRICS = [
    ("time.total", "Total time", "ms"),
    ("time.mutator", "Mutator time", "ms"),
    ("time.collector", "Collector time", "ms"),
    ("collections", "Collections", "count"),
    ("pause.median", "Median pause", "ms"),
    ("pause.max", "Longest pause", "ms"),
    ("charged", "Heap charged", "MiB"),
    ("resident.peak", "Peak resident memory", "MiB"),
    ("cpu.total", "Processor time", "ms"),
    ("cpu.user", "User time", "ms"),
    ("cpu.system", "System time", "ms"),
    ("faults.minor", "Page faults without a read", "count"),
    ("faults.major", "Page faults with a read", "count"),
    ("time.paused", "Time until safepoints and in pauses", "ms"),
    ("time.to-safepoint", "Time until safepoints", "ms"),
    *(
        (f"latency.{kind}.{name}", f"{title} latency, {of}", "ms")
        for kind, title in (("simple", "Simple"), ("metered", "Metered"))
        for name, of in (("p50", "median"), ("p99", "99 %"), ("p99.9", "99.9 %"), ("max", "longest"))
    ),
]
# How each axis of a plot is labelled, and how a value of what is fixed is told.
AXES = {
    "heap": ("heap (MiB)", "{} MiB"),
    "threads": ("mutator threads", "{} threads"),
    "factor": ("heap as a multiple of the minheap", "factor {}"),
}


@dataclass
class Series:
    """One line, or one set of bars; `low` and `high` are the ends of intervals, and `marks` short texts above points, where there
    are any."""

    name: str
    x: list
    y: list[float]
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    dashed: bool = False
    markers: bool = True
    marks: list[str] = field(default_factory=list)


@dataclass
class Figure:
    """One plot. `bars` draws groups of bars over the names in x, `log_x` doubles x at each step of its axis. `note` stands below
    it."""

    id: str
    title: str
    x_label: str
    y_label: str
    series: list[Series]
    bars: bool = False
    log_x: bool = False
    note: str = ""


def timed(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the timed (last) iteration of each run, and those of whole runs."""
    rows = table[table["iteration"] > 0]
    last = rows.groupby(["build", *analysis.CELL, "invocation"], dropna=False)["iteration"].transform("max")
    return pd.concat([rows[rows["iteration"] == last], table[table["iteration"] == 0]])


def minheap(table: pd.DataFrame) -> list[Figure]:
    """Minheap by threads, a figure per benchmark; with the least-squares line of each build that is not a curve, and the marks
    of those that were too slow in smaller heaps. Where there are several searches of a point, the bars reach from the least
    to the greatest."""
    found = []
    rows = thresholds.minheaps(table).dropna(subset=["threads"])
    slow = thresholds.marks(table)
    for benchmark, of_benchmark in rows.groupby("benchmark", sort=False):
        series = []
        for build, group in of_benchmark.groupby("build", sort=False):
            # A search without a minheap is larger than all others: nothing bounds its point.
            bounds = {"low": "min", "high": lambda of: of.max(skipna=False)}
            points = group.groupby("threads").agg({"value": analysis.median_minheap, **bounds})
            points = points.dropna(subset=["value"])
            if points.empty:
                continue
            x = [int(threads) for threads in points.index]
            marks = [slow.get((benchmark, build, threads), "") for threads in x]
            series.append(Series(build, x, *(_floats(points[each]) for each in ("value", "low", "high")), marks=marks))
            found_heaps = analysis.with_minheap(group)
            line = analysis.least_squares(found_heaps["threads"], found_heaps["value"])
            if line and not line.is_curve:
                ends = [x[0], x[-1]]
                fitted = [line.intercept + line.slope * end for end in ends]
                series.append(Series(f"{build}: fit", ends, fitted, dashed=True, markers=False))
        if not series:
            continue
        note = " ".join(thresholds.told("".join(mark for each in series for mark in each.marks)))
        found.append(
            Figure(
                f"minheap-{_slug(benchmark)}",
                f"{benchmark}: minheap",
                "mutator threads",
                "minheap (MiB)",
                series,
                note=note,
            )
        )
    return found


def by(table: pd.DataFrame, axis: str, fixed: str, baseline: str | None) -> list[Figure]:
    """Every metric over `axis` (of `AXES`), a figure per benchmark, value of `fixed`, and metric.

    Total, mutator and collector time and collections are also drawn relative to the baseline. One value alone is no
    axis: the dot plots of the overview have it.
    """
    found = []
    if table[axis].nunique() < 2:
        return found
    for (benchmark, value), cell in table.groupby(["benchmark", fixed], sort=False, dropna=False):
        where = f"{benchmark}, {AXES[fixed][1].format(value)}" if not pd.isna(value) else str(benchmark)
        slug = _slug(f"{benchmark}-{fixed}{'' if pd.isna(value) else value}")
        for position, (metric, title, unit) in enumerate(METRICS):
            medians = analysis.summary(cell, metric, ["build", axis])
            if medians.empty:
                continue
            found.append(
                Figure(
                    f"{axis}-{slug}-{metric}",
                    f"{where}: {title.lower()}",
                    AXES[axis][0],
                    f"{title} ({unit})",
                    _lines(medians, axis, "median"),
                )
            )
            if baseline and position < 4:
                ratios = analysis.relative(cell, metric, baseline)
                if axis == "factor":
                    ratios = ratios.merge(_factors(cell), on=analysis.CELL)
                if not ratios.empty:
                    found.append(
                        Figure(
                            f"{axis}-{slug}-{metric}-relative",
                            f"{where}: {title.lower()} relative to {baseline}",
                            AXES[axis][0],
                            f"{title} / {baseline}",
                            _lines(ratios, axis, "ratio"),
                        )
                    )
    return found


def across(table: pd.DataFrame, baseline: str) -> list[Figure]:
    """Every benchmark relative to the baseline, and the geometric mean of these: the report's figure 1. Only the cells count
    that every build ran."""
    found = []
    if table["benchmark"].nunique() < 2:
        return found
    for metric, title, _ in METRICS[:4]:
        ratios = analysis.common(analysis.relative(table, metric, baseline))
        if ratios.empty:
            continue
        each = analysis.geometric_means(ratios, ["build", "benchmark"])
        of_means = each.rename(columns={"geometric_mean": "ratio"})
        whole = analysis.geometric_means(of_means, ["build"]).assign(benchmark="geometric mean")
        series = [
            Series(build, list(group["benchmark"]), _floats(group["geometric_mean"]))
            for build, group in pd.concat([each, whole]).groupby("build", sort=False)
        ]
        found.append(
            Figure(
                f"across-{metric}", f"{title} relative to {baseline}", "", f"{title} / {baseline}", series, bars=True
            )
        )
    return found


def means_by_factor(table: pd.DataFrame, baseline: str) -> list[Figure]:
    """Geometric means over the benchmarks that every build ran with every factor, by the heap's factor."""
    found = []
    factors = _factors(table)
    for metric, title, _ in METRICS[:4]:
        ratios = analysis.common(analysis.relative(table, metric, baseline).merge(factors, on=analysis.CELL))
        of_benchmark = ratios.groupby("benchmark")["factor"].transform("nunique")
        ratios = ratios[of_benchmark == ratios["factor"].nunique()]
        if ratios["factor"].nunique() < 2:
            continue
        means = analysis.geometric_means(ratios, ["build", "factor"])
        series = [
            Series(build, _floats(group["factor"]), _floats(group["geometric_mean"]))
            for build, group in means.sort_values("factor").groupby("build", sort=False)
        ]
        found.append(
            Figure(
                f"factors-{metric}",
                f"{title} relative to {baseline}, geometric mean of the benchmarks with every factor",
                AXES["factor"][0],
                f"{title} / {baseline}",
                series,
            )
        )
    return found


def _factors(table: pd.DataFrame) -> pd.DataFrame:
    """The factor of each cell that was asked for by one."""
    return table[[*analysis.CELL, "factor"]].dropna(subset=["factor"]).drop_duplicates(analysis.CELL)


def resident(table: pd.DataFrame) -> list[Figure]:
    """Resident memory over time, one figure per benchmark, threads and heap; the first invocation of each build."""
    found = []
    samples = table[table["metric"].isin(["sample.time", "sample.resident"])]
    for (benchmark, threads, heap), cell in samples.groupby(analysis.CELL, sort=False, dropna=False):
        series = []
        for build, group in cell.groupby("build", sort=False):
            first = group[group["invocation"] == group["invocation"].min()]
            seconds = first.loc[first["metric"] == "sample.time", "value"] / 1000
            held = first.loc[first["metric"] == "sample.resident", "value"]
            series.append(Series(build, _floats(seconds), _floats(held), markers=False))
        title = f"{benchmark}, {threads_named(threads)}, {heap} MiB: resident memory"
        name = _slug(f"rss-{benchmark}-{threads_text(threads)}-{heap}")
        found.append(Figure(name, title, "seconds", "resident (MiB)", series))
    return found


def threads_text(threads) -> str:
    """A number of threads as text; a missing one is the benchmark's own."""
    return "default" if pd.isna(threads) else str(threads)


def threads_named(threads) -> str:
    """The same with its noun."""
    text = threads_text(threads)
    return f"{text} {'thread' if text == '1' else 'threads'}"


def _lines(table: pd.DataFrame, axis: str, value: str) -> list[Series]:
    series = []
    for build, group in table.dropna(subset=[axis]).groupby("build", sort=False):
        group = group.sort_values(axis)
        intervals = (_floats(group["low"]), _floats(group["high"]))
        series.append(Series(build, _floats(group[axis]), _floats(group[value]), *intervals))
    return series


def _floats(values) -> list[float]:
    return [float(value) for value in np.asarray(values, dtype=float)]


def _slug(text: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-." else "-" for letter in str(text))
