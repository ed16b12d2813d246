# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a data set of `results/` says about a claim: an estimate, its interval, and how it was measured."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field
from scipy import stats

from shardsweep import analysis, figures, freshness, grid, point, presets, sweep, tables, thresholds


class Claim(BaseModel):
    """One line for each build: what is measured, in which data set, and of which of its cells."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z0-9-]+$")
    claim: str
    data: str
    measure: Literal["minheap", "slope", "median", "ratio", "mean", "equal-memory"]
    builds: list[str] = Field(min_length=1)
    metric: str = "minheap"
    baseline: str | None = None
    benchmark: str = "lusearch"
    threads: int | None = None
    heap: int | None = None
    digits: int = 0

    @property
    def compared(self) -> list[str]:
        """The builds that have a line. A ratio of the baseline to itself says nothing."""
        itself = self.baseline if self.measure in ("ratio", "mean") else None
        return [build for build in self.builds if build != itself]


@dataclass(frozen=True)
class Estimate:
    """A number with its interval (NaN where there is none), how often such an interval holds the true one, and the size
    of the sample. `curve`: the number is a slope, and the points bend too much to be a line. `slow`: the marks, of
    `tables.SLOW`, of the minheaps that it is of. `parts`: what it is the mean of, by program."""

    value: float
    low: float = float("nan")
    high: float = float("nan")
    n: int = 0
    confidence: float = float("nan")
    curve: bool = False
    slow: str = ""
    parts: dict[str, float] = field(default_factory=dict)


class DataSet:
    """One folder of `results/`, by its name."""

    def __init__(self, results: Path, name: str):
        self.name = name
        self.table, _ = sweep.results(results / name)
        self.grid = grid.load(results / name / point.GRID_FILE)

    @property
    def command(self) -> str:
        """What measures it."""
        return f"build/venv/bin/shardsweep sweep --grid results/{self.name}/grid.yml --out build/sweeps/{self.name}"

    @property
    def beside(self) -> str:
        """What its grid is beside the preset of its name."""
        return presets.beside(self.grid, self.name)

    @cached_property
    def code(self) -> str:
        """The name in `freshness.CODE` of the code that its results depend on."""
        return freshness.PROGRAMS if set(self.table.benchmark) - {"lusearch"} else freshness.COLLECTORS

    @cached_property
    def noise(self) -> str:
        """What part of a processor others took while it was timed, by how much the processors' speed differed, and whether
        that is noisy, as text; empty where it was not measured."""
        shares = analysis.noise(self.table)
        names = {analysis.OTHERS: "other processes", analysis.HOST: "host", analysis.PROBE: "speed"}
        said = ", ".join(f"{names[who]} {tables.percent(share)}" for who, share in shares.items())
        return f"{said} (noisy)" if analysis.noisy(shares) else said

    @cached_property
    def marks(self) -> dict[tuple[str, str, int], str]:
        """The marks of its minheaps, as `tables.marks` has them."""
        return tables.marks(self.table)

    @cached_property
    def timed(self) -> pd.DataFrame:
        """The rows of timed iterations and of whole runs."""
        return figures.timed(self.table)

    def having(self, metric: str, over: str | None = None) -> set[str]:
        """The builds that have a metric; of each at two values or more of the column `over`, if there is one."""
        rows = self.table[self.table["metric"] == metric].dropna(subset=["value"])
        if over:
            rows = rows[rows.groupby("build")[over].transform("nunique") > 1]
        return set(rows["build"])

    def rows(self, claim: Claim, metric: str) -> pd.DataFrame:
        """The rows of a claim's cells with that metric, of all builds."""
        source = self.table if metric == "minheap" or metric.startswith("trial.") else self.timed
        chosen = source[source["metric"] == metric]
        if claim.measure != "mean":
            chosen = chosen[chosen["benchmark"] == claim.benchmark]
        for column, value in (("threads", claim.threads), ("heap", claim.heap)):
            if value is not None:
                chosen = chosen[chosen[column] == value]
        return chosen.dropna(subset=["value"])


def estimate(data: DataSet, claim: Claim, build: str) -> Estimate | None:
    """What a data set says about a claim and a build; None where it says nothing."""
    rows = data.rows(claim, claim.metric)
    own = rows[rows["build"] == build]
    if own.empty:
        return None
    match claim.measure:
        case "minheap":
            return _minheap(data, claim, build, own)
        case "slope":
            return _slope(data, own)
        case "median":
            found = analysis.median(own["value"])
            return Estimate(found.estimate, found.low, found.high, found.samples, analysis.confidence(found.samples))
        case "ratio":
            return _ratio(rows, own, claim.baseline)
        case "mean":
            return _mean(rows, build, claim)
        case "equal-memory":
            return _equal_memory(data, claim, build)


def _minheap(data: DataSet, claim: Claim, build: str, own: pd.DataFrame) -> Estimate:
    """The median of the searches; its interval is that of the heap in which half of all runs pass, where the runs tell."""
    counts = []
    for metric in ("trial.passed", "trial.failed"):
        rows = data.rows(claim, metric)
        counts.append(rows[rows["build"] == build].groupby("heap")["value"].sum())
    sizes = sorted(set().union(*(count.index for count in counts)))
    passed, failed = (count.reindex(sizes, fill_value=0) for count in counts)
    minheap = float(own["value"].median())
    if not thresholds.can_be_found(passed, failed):
        return Estimate(minheap, n=len(own), slow=_slow(data, own))
    fit = thresholds.Fit(sizes, passed, failed)
    half = fit.heap(0.5)
    return Estimate(minheap, half.low, half.high, fit.runs, analysis.CONFIDENCE, slow=_slow(data, own))


def _slow(data: DataSet, own: pd.DataFrame) -> str:
    """The marks of some minheaps, of those that have one."""
    keys = {(row.benchmark, row.build, tables.thread_key(row.threads)) for row in own.itertuples()}
    return "".join(sorted({data.marks[key] for key in keys & data.marks.keys()}))


def _slope(data: DataSet, own: pd.DataFrame) -> Estimate | None:
    line = analysis.least_squares(own["threads"], own["value"])
    if line is None:
        return None
    reach = _reach(line.points - 2) * line.slope_error
    ends = (line.slope - reach, line.slope + reach)
    return Estimate(line.slope, *ends, line.points, analysis.CONFIDENCE, line.is_curve, _slow(data, own))


def _reach(freedom: int) -> float:
    """How many standard errors an interval by Student's t reaches to either side; NaN without degrees of freedom."""
    return float(stats.t.ppf((1 + analysis.CONFIDENCE) / 2, freedom)) if freedom > 0 else float("nan")


def _ratio(rows: pd.DataFrame, own: pd.DataFrame, baseline: str | None) -> Estimate | None:
    reference = rows[rows["build"] == baseline]
    if reference.empty:
        return None
    found = analysis.ratio_of_medians(own["value"], reference["value"])
    return Estimate(found.estimate, found.low, found.high, found.samples, analysis.ratio_confidence(found.samples))


def _mean(rows: pd.DataFrame, build: str, claim: Claim) -> Estimate | None:
    """Geometric mean of the ratios of all programs, each of which has the mean of its cells that each build ran. The
    interval is that of the mean of the programs' logarithms: the cells of one program are no independent samples."""
    ratios = analysis.common(analysis.relative(rows, claim.metric, claim.baseline))
    own = ratios[ratios["build"] == build]
    logs = np.log(own["ratio"].astype(float)).groupby(own["benchmark"]).mean()
    if logs.empty:
        return None
    reach = _reach(len(logs) - 1) * (stats.sem(logs) if len(logs) > 1 else float("nan"))
    value, low, high = (float(each) for each in np.exp([logs.mean(), logs.mean() - reach, logs.mean() + reach]))
    return Estimate(value, low, high, len(logs), analysis.CONFIDENCE, parts=np.exp(logs).to_dict())


def _equal_memory(data: DataSet, claim: Claim, build: str) -> Estimate | None:
    """What the metric would be in the heap in which the build holds as much memory as the baseline does in the claim's
    heap. That heap is on the line between the two sizes whose peaks lie around that. The metric is on a line in 1 / heap,
    because time falls by heap as the number of collections does. None where all peaks lie on one side."""
    every_heap = claim.model_copy(update={"heap": None})
    resident, metric = (data.rows(every_heap, name) for name in ("resident.peak", claim.metric))
    held = resident.loc[(resident["build"] == claim.baseline) & (resident["heap"] == claim.heap), "value"].median()
    by_heap = [rows[rows["build"] == build].groupby("heap")["value"] for rows in (resident, metric)]
    points = pd.concat([by_heap[0].median(), by_heap[1].median()], axis=1, keys=["held", "metric"]).dropna()
    points = points.set_axis(points.index.astype(float)).astype(float).sort_values("held")
    if points.empty or pd.isna(held) or not points["held"].iloc[0] <= held <= points["held"].iloc[-1]:
        return None
    heap = np.interp(held, points["held"], points.index)
    falling = points["metric"].sort_index(ascending=False)
    return Estimate(float(np.interp(1 / heap, 1 / falling.index, falling)), n=int(by_heap[1].size().min()))


def protocol(claim: Claim, whole: grid.Grid) -> str:
    """How it was measured, in a few words."""
    if claim.measure in ("minheap", "slope"):
        one = whole.minheap
        again = f", {_count(one.trials, 'more run')} at each size" if one.trials else ""
        return f"{_iterations(one)}, {_count(one.attempts, 'attempt')} at a size{again}, {one.limit} s a run"
    one = whole.perf_by_heap or whole.perf_by_threads or whole.rss
    return ", ".join([_iterations(one), f"{_count(one.invocations, 'JVM')} a sitting", *one.modifiers])


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _iterations(one: grid.Experiment) -> str:
    return "1 iteration" if one.iterations == 1 else f"iteration {one.iterations}"
