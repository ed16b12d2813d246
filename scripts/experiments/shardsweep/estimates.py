# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a data set of `results/` says about a claim: an estimate, its interval, and how it was measured."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field
from scipy import stats

from shardsweep import analysis, figures, freshness, grid, point, presets, record, report, sweep, tables, thresholds

# The measures that come of runs in ever smaller heaps.
SEARCHED = ("minheap", "slope")


class Claim(BaseModel):
    """One line for each build: what is measured, in which data set, and of which of its cells."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z0-9-]+$")
    claim: str
    data: str
    measure: Literal["minheap", "slope", "median", "ratio", "mean", "equal-memory", "equal-memory-ratio"]
    builds: list[str] = Field(min_length=1)
    metric: str = "minheap"
    baseline: str | None = None
    benchmark: str = "lusearch"
    threads: int | None = None
    heap: int | None = None
    share: float = Field(0.5, gt=0, lt=1)
    digits: int = 0

    @property
    def compared(self) -> list[str]:
        """The builds that have a line. A ratio of the baseline to itself says nothing."""
        itself = self.baseline if self.measure in ("ratio", "mean", "equal-memory-ratio") else None
        return [build for build in self.builds if build != itself]


@dataclass(frozen=True)
class Estimate:
    """A number with its interval (NaN where there is none), how often such an interval holds the true one, and the size
    of the sample. `few`: that is too small for an interval, or for a verdict by it. `shape`: of a slope, what its points are
    of, as `analysis.Line.shape` has it. `slow`: the marks, of `thresholds.SLOW`, of the minheaps that it is of. `parts`: what
    it is the mean of, by program. `digits`: how many it has after the point, if not as many as the claim says."""

    value: float
    low: float = float("nan")
    high: float = float("nan")
    n: int = 0
    confidence: float = float("nan")
    few: bool = False
    shape: str = ""
    slow: str = ""
    parts: dict[str, "Estimate"] = field(default_factory=dict)
    digits: int | None = None


class DataSet:
    """One folder of `results/`, by its name."""

    def __init__(self, results: Path, name: str):
        self.name = name
        self._folder = results / name
        self.table, _ = sweep.results(results / name)
        self.grid = grid.load(results / name / point.GRID_FILE)

    @property
    def command(self) -> str:
        """What measures it."""
        return report.commands(f"{record.RESULTS.name}/{self.name}").measured

    @cached_property
    def checkouts(self) -> dict[str, str]:
        """The commits of the checkouts that have run its builds, by sitting."""
        return sweep.read_machine(self._folder).get("sittings", {})

    @property
    def machines(self) -> str:
        """How many processors and how much memory its machines have, as text; empty where that is not known."""
        known = [
            one
            for one in sweep.read_machine(self._folder).get("machines", [])
            if {"processors", "memory"} <= one.keys()
        ]
        return " or ".join(dict.fromkeys(f"{one['processors']} processors, {one['memory']}" for one in known))

    @property
    def sittings(self) -> int:
        """How many sweeps it is of."""
        return self.table["sitting"].nunique()

    @property
    def beside(self) -> str:
        """What was measured, in all sittings, is beside the preset of its name."""
        return presets.beside(self.grid, self.name, self.sittings)

    def code(self, measure: str) -> str:
        """The name in `freshness.CODE` of the code that its results of a claim's measure depend on."""
        if set(self.table.benchmark) - {"lusearch"}:
            return freshness.PROGRAMS
        return freshness.MINHEAPS if measure in SEARCHED else freshness.COLLECTORS

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
        """The marks of its minheaps, as `thresholds.marks` has them."""
        return thresholds.marks(self.table)

    @cached_property
    def minheaps(self) -> pd.DataFrame:
        """Its minheaps, as `thresholds.minheaps` has them."""
        return thresholds.minheaps(self.table)

    @cached_property
    def runs(self) -> dict[tuple[str, str, int], thresholds.Runs]:
        """The runs around its minheaps, as `thresholds.points` has them."""
        return thresholds.points(self.table)

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

    def covered(self, metric: str, builds: list[str], wanted: grid.Experiment) -> str:
        """In which of the threads and heap sizes that an experiment wants some builds have a metric, in a few words."""
        rows = self.table[(self.table["metric"] == metric) & self.table["build"].isin(builds)].dropna(subset=["value"])
        kinds = [("threads", "{}", wanted.threads), ("heap", "{} MiB", getattr(wanted, "heaps", []))]
        said = []
        for column, unit, asked in kinds:
            there = sorted(map(int, rows[column].dropna().unique()))
            missing = [str(each) for each in asked if each not in there]
            if there and asked:
                values = unit.format(", ".join(map(str, there)))
                said.append(f"{column} {values}" + (f", without {', '.join(missing)}" if missing else ""))
        return "; ".join(said)

    def rows(self, claim: Claim, metric: str) -> pd.DataFrame:
        """The rows of a claim's cells with that metric, of all builds."""
        if metric == "minheap":
            return analysis.with_minheap(self.cells(claim, self.minheaps))
        chosen = self.cells(claim, self.timed)
        return chosen[chosen["metric"] == metric].dropna(subset=["value"])

    def told_by(self, claim: Claim) -> pd.DataFrame:
        """The rows that a claim's estimates are made of, of all builds. All searches and runs tell of a minheap."""
        if claim.measure not in SEARCHED:
            return self.rows(claim, claim.metric)
        return self.cells(claim, self.table[self.table["metric"].isin(["minheap", *thresholds.TRIALS])])

    def without(self, claim: Claim) -> list[str]:
        """A sentence about the JVMs of a claim that have no value of its metric; none where each has one."""
        rows = self.cells(claim, self.timed)
        return tables.without(rows[rows["build"].isin([*claim.builds, claim.baseline])], claim.metric)

    @staticmethod
    def cells(claim: Claim, chosen: pd.DataFrame) -> pd.DataFrame:
        """Those of some rows that are of a claim's cells, of all builds."""
        if claim.measure != "mean":
            chosen = chosen[chosen["benchmark"] == claim.benchmark]
        for column, value in (("threads", claim.threads), ("heap", claim.heap)):
            if value is not None:
                chosen = chosen[chosen[column] == value]
        return chosen


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
            return _ratio(rows, build, claim.baseline)
        case "mean":
            return _mean(rows, build, claim)
        case "equal-memory" | "equal-memory-ratio":
            return _equal_memory(data, claim, build)


def _minheap(data: DataSet, claim: Claim, build: str, own: pd.DataFrame) -> Estimate | None:
    """The heap in which the claim's share of all runs pass, where the runs around a minheap tell of it. Else, in place of that
    of half of them, the median of the searches, which has no interval."""
    runs, slow = data.runs.get((claim.benchmark, build, analysis.thread_key(claim.threads))), _slow(data, own)
    if runs:
        found = runs.heap(claim.share)
        return Estimate(
            found.estimate, found.low, found.high, runs.number, analysis.CONFIDENCE, slow=slow, digits=claim.digits + 1
        )
    if claim.share != Claim.model_fields["share"].default:
        return None
    # Those too that ended without a minheap.
    searches = data.cells(claim, data.minheaps)
    searches = searches.loc[searches["build"] == build, "value"]
    middle = analysis.median_minheap(searches)
    return None if math.isnan(middle) else Estimate(middle, n=len(searches), slow=slow)


def _slow(data: DataSet, own: pd.DataFrame) -> str:
    """The marks of some minheaps, of those that have one."""
    keys = set(map(analysis.point_key, own.itertuples()))
    return thresholds.each_once(data.marks[key] for key in keys & data.marks.keys())


def _slope(data: DataSet, own: pd.DataFrame) -> Estimate | None:
    line = analysis.least_squares(own["threads"], own["value"])
    if line is None:
        return None
    reach = _reach(line.points - 2) * line.slope_error
    ends = (line.slope - reach, line.slope + reach)
    return Estimate(line.slope, *ends, line.points, analysis.CONFIDENCE, shape=line.shape, slow=_slow(data, own))


def _reach(freedom: int) -> float:
    """How many standard errors an interval by Student's t reaches to either side; NaN without degrees of freedom."""
    return float(stats.t.ppf((1 + analysis.CONFIDENCE) / 2, freedom)) if freedom > 0 else float("nan")


def _ratio(rows: pd.DataFrame, build: str, baseline: str | None) -> Estimate | None:
    rows = analysis.by_block(rows)
    own, reference = (rows.loc[rows["build"] == each, "value"] for each in (build, baseline))
    found = analysis.ratio_of_medians(own, reference)
    return _estimate(found) if found.samples else None


def _estimate(ratio: analysis.Interval) -> Estimate:
    """A ratio of medians, or a mean of such, as an estimate."""
    return Estimate(
        ratio.estimate, ratio.low, ratio.high, ratio.samples, analysis.ratio_confidence(ratio.samples),
        few=ratio.samples < analysis.FEW,
    )  # fmt: skip


def _mean(rows: pd.DataFrame, build: str, claim: Claim) -> Estimate | None:
    """Geometric mean of the ratios of all programs, each of which has the mean of its cells that each build ran. The
    interval is that of the mean of the programs' logarithms: the cells of one program are no independent samples. Each
    program has that of its JVMs; where all are too few for a verdict, so is the mean."""
    ratios = analysis.common(analysis.relative(rows, claim.metric, claim.baseline))
    samples = analysis.samples(rows, claim.metric)
    parts = {}
    for program, cells in ratios[ratios["build"] == build].groupby("benchmark"):
        keys = cells[analysis.CELL].itertuples(index=False, name=None)
        pairs = [(samples[build, *key], samples[claim.baseline, *key]) for key in keys]
        parts[program] = _estimate(analysis.mean_of_ratios(pairs))
    if not parts:
        return None
    logs = np.log([part.value for part in parts.values()])
    reach = _reach(len(logs) - 1) * (stats.sem(logs) if len(logs) > 1 else float("nan"))
    value, low, high = (float(each) for each in np.exp([logs.mean(), logs.mean() - reach, logs.mean() + reach]))
    few = all(part.few for part in parts.values())
    return Estimate(value, low, high, len(logs), analysis.CONFIDENCE, few=few, parts=parts)


def _equal_memory(data: DataSet, claim: Claim, build: str) -> Estimate | None:
    """What the metric would be in the heap in which the build holds as much memory as the baseline does in the claim's
    heap, or that over what the baseline has there. None where the peaks of all heaps lie on one side, or one of the two was
    not run in the claim's heap. The interval is that of the bootstrap over the blocks of each heap size."""
    by_heap = _by_heap(data, claim, build)
    medians = {heap: each.median().to_numpy() for heap, each in by_heap.items()}
    value = _at_equal_memory(medians, claim)
    if not np.isfinite(value):
        return None
    smallest = min(len(each) for each in by_heap.values())
    if smallest < analysis.FEW:
        return Estimate(value, n=smallest, few=True)
    drawn = {
        heap: np.median(each.to_numpy()[analysis.draws(len(each), place)], axis=1)
        for place, (heap, each) in enumerate(by_heap.items())
    }
    resampled = [
        _at_equal_memory({heap: each[place] for heap, each in drawn.items()}, claim)
        for place in range(analysis.RESAMPLES)
    ]
    return Estimate(value, *analysis.interval_ends(np.array(resampled)), smallest, analysis.CONFIDENCE)


def _by_heap(data: DataSet, claim: Claim, build: str) -> dict[float, pd.DataFrame]:
    """What the build holds and its metric, and in the claim's heap the same of the baseline, by block, of each heap size."""
    every_heap = claim.model_copy(update={"heap": None})
    kinds = ("resident.peak", claim.metric)
    # One numbering of blocks for both metrics.
    rows = analysis.by_block(pd.concat([data.rows(every_heap, kind) for kind in kinds]))
    found = {}
    for heap, of_heap in rows.groupby("heap"):
        builds = [build, claim.baseline] if heap == claim.heap else [build]
        columns = [
            of_heap.loc[(of_heap["build"] == each) & (of_heap["metric"] == kind), "value"].astype(float)
            for each in builds
            for kind in kinds
        ]
        blocks = pd.concat(columns, axis="columns", join="inner")
        if len(blocks):
            found[float(heap)] = blocks
    return found


def _at_equal_memory(medians: dict[float, np.ndarray], claim: Claim) -> float:
    """The metric at equal memory, of the medians of `_by_heap`: the heap is on the line between the two sizes whose peaks lie
    around the baseline's, and the metric on a line in 1 / heap, because time falls by heap as the number of collections does.
    Where all peaks are larger it is above any measured value, which is infinity here, and where all are smaller below."""
    if claim.heap not in medians:
        return float("nan")
    held, reference = medians[claim.heap][2:]
    peaks = sorted((each[0], heap) for heap, each in medians.items())
    if not peaks[0][0] <= held <= peaks[-1][0]:
        return float("inf") if held < peaks[0][0] else float("-inf")
    heap = np.interp(held, *zip(*peaks, strict=True))
    falling = sorted(medians, reverse=True)
    value = np.interp(1 / heap, [1 / each for each in falling], [medians[each][1] for each in falling])
    return float(value / reference if claim.measure == "equal-memory-ratio" else value)


def protocol(claim: Claim, whole: grid.Grid) -> str:
    """How it was measured, in a few words."""
    if claim.measure in SEARCHED:
        one = whole.minheap
        again = f", {_count(one.trials, 'more run')} at each size" if one.trials else ""
        return f"{_iterations(one)}, {_count(one.attempts, 'attempt')} at a size{again}, {one.limit} s a run"
    one = whole.perf_by_heap or whole.perf_by_threads or whole.rss
    return ", ".join([_iterations(one), f"{_count(one.invocations, 'JVM')} a sitting", *one.modifiers])


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _iterations(one: grid.Experiment) -> str:
    return "1 iteration" if one.iterations == 1 else f"iteration {one.iterations}"
