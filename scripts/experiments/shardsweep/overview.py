# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a report begins with: a dot plot of the builds for each measurement, relative to whichever build is clicked, and
memory against time. This is their data; the page's script draws them."""

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from shardsweep import analysis, draw, figures, thresholds
from shardsweep.analysis import Interval

# The measurements that have a plot, of `figures.METRICS`, in this order. Where latencies were measured they are what the
# benchmark is for.
SHOWN = (
    "latency.metered.p99",
    "time.total",
    "cpu.total",
    "time.mutator",
    "time.collector",
    "collections",
    "pause.max",
    "resident.peak",
)
TITLES = {metric: (title, unit) for metric, title, unit in figures.METRICS}
TIME, MEMORY = "time.total", "resident.peak"


def data(table: pd.DataFrame, baseline: str | None = None) -> dict:
    """All plots of a result table, as JSON knows them: `cells` of dot plots, and `scatters`. Either may be empty. The first cell
    is shown first, relative to the `baseline` if there is one; `looks` has the style of each build."""
    last = figures.timed(table)
    # A dot alone compares nothing: minheaps that only serve for factors come last.
    cells = sorted(
        [*_minheaps(table), *_cells(last)], key=lambda cell: max(len(each["builds"]) for each in cell["panels"]) < 2
    )
    scatters = list(_scatters(last))
    builds = {build for cell in cells for panel in cell["panels"] for build in panel["builds"]}
    looks = {}
    for place, build in enumerate(sorted(builds)):
        look = draw.style(build, place)
        looks[build] = {"colour": look.colour, "symbol": look.symbol, "dash": look.dash}
    return {"cells": cells, "scatters": scatters, "looks": looks, "baseline": baseline if baseline in builds else None}


def _cells(last: pd.DataFrame) -> Iterable[dict]:
    """The plots of each benchmark, number of threads and heap size."""
    for (benchmark, threads, heap), cell in last.groupby(analysis.CELL, sort=False, dropna=False):
        panels = [_measured(cell, metric) for metric in SHOWN]
        panels = [panel for panel in panels if panel["builds"]]
        if panels:
            name = f"{benchmark}, {figures.threads_named(threads)}, {heap} MiB"
            yield {"name": name, "panels": panels}


def _minheaps(table: pd.DataFrame) -> Iterable[dict]:
    """The minheaps of each benchmark, a plot for each number of threads."""
    searches = analysis.of_known_minheaps(thresholds.minheaps(table))
    runs, marks = thresholds.points(table), thresholds.marks(table)
    for benchmark, of_benchmark in searches.groupby("benchmark", sort=False):
        panels = [
            _minheap(group, runs, marks, f"Minheap, {figures.threads_named(threads)}")
            for threads, group in of_benchmark.groupby("threads", dropna=False)
        ]
        yield {"name": f"{benchmark}, minheap", "panels": panels}


def _minheap(
    searches: pd.DataFrame,
    runs: dict[tuple[str, str, int], thresholds.Runs],
    marks: dict[tuple[str, str, int], str],
    title: str,
) -> dict:
    """The minheap of each build: the heap in which half of its runs pass, where they tell of it, else the median of its
    searches, which are too few for a verdict."""
    points = {analysis.point_key(row): row.build for row in searches.itertuples()}
    known = {build: runs[key].heap(0.5) for key, build in points.items() if key in runs}
    found = {
        build: known.get(build) or _searched(group["value"]) for build, group in searches.groupby("build", sort=False)
    }

    def compare(build: str, baseline: str) -> tuple[Interval, str]:
        ends = [(each.low, each.high) for each in (found[build], found[baseline])]
        verdict = analysis.apart(*ends) if {build, baseline} <= known.keys() else analysis.TOO_FEW
        ratio = analysis.quotient(found[build], found[baseline])
        return ratio, f"{verdict}, n = {ratio.samples}"

    notes = {build: " ".join(thresholds.told(marks.get(key, ""))) for key, build in points.items()}
    return _panel(title, "MiB", found, compare, notes)


def _searched(values: pd.Series) -> Interval:
    """The median of searches, of which one that ended without a minheap counts as larger than all others."""
    found = analysis.median(values.astype(float).fillna(np.inf))
    ends = (end if np.isfinite(end) else np.nan for end in (found.low, found.high))
    return Interval(found.estimate, *ends, found.samples)


def _measured(cell: pd.DataFrame, metric: str) -> dict:
    """The medians of a metric, and their ratios, by block."""
    rows = analysis.by_block(cell[cell["metric"] == metric].dropna(subset=["value"]))
    samples = {build: group["value"].astype(float) for build, group in rows.groupby("build", sort=False)}

    def compare(build: str, baseline: str) -> tuple[Interval, str]:
        ratio = analysis.ratio_of_medians(samples[build], samples[baseline])
        return ratio, _said(ratio)

    return _panel(*TITLES[metric], {build: analysis.median(values) for build, values in samples.items()}, compare, {})


def _panel(
    title: str,
    unit: str,
    found: dict[str, Interval],
    compare: Callable[[str, str], tuple[Interval, str]],
    notes: dict[str, str],
) -> dict:
    """What was found of each build, and its ratio to each, with what that says, both as `compare` has them of a build and a
    baseline; a missing end of an interval is None. `notes`: what else is to be said of builds, whose points are hollow."""
    builds = sorted(found, key=lambda build: (found[build].estimate, build))
    compared = {
        baseline: [
            # Its own ratio is 1 by definition.
            ([1, None, None], "") if build == baseline else (_numbers(ratio), said)
            for build in builds
            for ratio, said in [compare(build, baseline)]
        ]
        for baseline in found
        if found[baseline].estimate > 0
    }
    return {
        "title": title,
        "unit": unit,
        "builds": builds,
        "samples": [found[build].samples for build in builds],
        "notes": [notes.get(build, "") for build in builds],
        "values": [_numbers(found[build]) for build in builds],
        "ratios": {baseline: [ratio for ratio, _ in each] for baseline, each in compared.items()},
        "verdicts": {baseline: [said for _, said in each] for baseline, each in compared.items()},
    }


def _numbers(found: Interval) -> list[float | None]:
    return [None if np.isnan(each) else each for each in (found.estimate, found.low, found.high)]


def _said(ratio: Interval) -> str:
    """The verdict on a ratio, of how many blocks, and the confidence of its interval."""
    confidence = "" if np.isnan(ratio.low) else f", {analysis.ratio_confidence(ratio.samples):.0%}"
    return f"{analysis.verdict_of(ratio)}, n = {ratio.samples}{confidence}"


def _scatters(last: pd.DataFrame) -> Iterable[dict]:
    """Peak resident memory and time of each build, a point for each heap size, a plot for each benchmark and number of
    threads."""
    for (benchmark, threads), group in last.groupby(["benchmark", "threads"], sort=False, dropna=False):
        medians = {
            metric: group[group["metric"] == metric].groupby(["build", "heap"])["value"].median()
            for metric in (MEMORY, TIME)
        }
        both = pd.concat(medians, axis="columns").dropna().reset_index().sort_values(["build", "heap"])
        if both.empty:
            continue
        yield {
            "name": f"{benchmark}, {figures.threads_named(threads)}",
            "builds": [
                {
                    "name": build,
                    "heaps": [int(heap) for heap in points["heap"]],
                    "memory": [float(value) for value in points[MEMORY]],
                    "time": [float(value) for value in points[TIME]],
                }
                for build, points in both.groupby("build", sort=False)
            ],
        }
