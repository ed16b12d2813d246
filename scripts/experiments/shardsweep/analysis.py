# SPDX-License-Identifier: MIT OR Apache-2.0
"""Statistics over result tables: lines through minheaps, medians and their ratios with intervals, relative geometric means."""

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

CONFIDENCE = 0.95
# Below this probability of its bend, a series of points is called a curve.
BEND = 0.01
# Of fewer points the test of a bend finds next to none.
BENDABLE = 6
RESAMPLES = 5000
# What an interval leaves out at either end.
TAILS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
# Of fewer samples not even the range holds the median as often as that.
FEW = 6
# Pairs of samples of a simulation, and resamples of each.
SIMULATED = 1000
# The intervals of a report are the same each time it is made from the same table.
SEED = 20230201


@dataclass(frozen=True)
class Line:
    """A least-squares line through `points` (x, y) pairs; `r2` is the square of their correlation.

    `slope_error` and `intercept_error` are standard errors. `curvature` is the probability of a bend at least as strong
    as that of the points if they were of a line: the F test of a quadratic term. It is NaN for fewer than `BENDABLE`
    points.
    """

    slope: float
    intercept: float
    r2: float
    points: int
    slope_error: float
    intercept_error: float
    curvature: float

    @property
    def shape(self) -> str:
        """What the points are of, as far as they tell."""
        if np.isnan(self.curvature):
            return "not tested"
        return "curve" if self.is_curve else "line"

    @property
    def is_curve(self) -> bool:
        """Whether the points bend too much to be called a line: the slope is that of a curve, in the mean."""
        return bool(self.curvature < BEND)


@dataclass(frozen=True)
class Interval:
    """An estimate and its interval; `low` and `high` are NaN where the sample is too small."""

    estimate: float
    low: float
    high: float
    samples: int


def least_squares(x: Sequence[float], y: Sequence[float]) -> Line | None:
    """The line through the points, or None for fewer than two different x. Missing values must be left out before."""
    xs, ys = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if len(np.unique(xs)) < 2:
        return None
    fit = stats.linregress(xs, ys)
    # A correlation needs variation in y: a flat line has none to explain.
    r2 = fit.rvalue**2 if np.ptp(ys) > 0 else float("nan")
    errors = (float(fit.stderr), float(fit.intercept_stderr)) if len(xs) > 2 else (float("nan"), float("nan"))
    return Line(float(fit.slope), float(fit.intercept), float(r2), len(xs), *errors, _curvature(xs, ys))


def _curvature(xs: np.ndarray, ys: np.ndarray) -> float:
    if len(np.unique(xs)) < BENDABLE:
        return float("nan")
    straight, bent = (float(np.sum((np.polyval(np.polyfit(xs, ys, degree), xs) - ys) ** 2)) for degree in (1, 2))
    # What is left of exact points is rounding.
    negligible = 1e-12 * float(np.sum(ys**2))
    if straight <= negligible:
        return 1.0
    freedom = len(xs) - 3
    return float(stats.f.sf((straight - bent) / (max(bent, negligible) / freedom), 1, freedom))


def lines(table: pd.DataFrame, by: list[str], x: str, y: str) -> pd.DataFrame:
    """One least-squares line per group of `by`, rows with a missing y left out (as the report leaves out TIMEOUT)."""
    rows = []
    for key, group in table.dropna(subset=[x, y]).groupby(by, sort=False):
        line = least_squares(group[x], group[y])
        if line is not None:
            rows.append((*key, *dataclasses.astuple(line), line.shape))
    columns = [each.name for each in dataclasses.fields(Line)]
    return pd.DataFrame(rows, columns=[*by, *columns, "shape"])


def median(values: Sequence[float]) -> Interval:
    """The median with its interval, whose ends are two of the values: as many lie beyond the one as beyond the other."""
    sample = np.sort(np.asarray(values, dtype=float))
    estimate = float(np.median(sample)) if len(sample) else float("nan")
    place = _place(len(sample))
    ends = (float(sample[place - 1]), float(sample[-place])) if len(sample) > 1 else (float("nan"), float("nan"))
    return Interval(estimate, *ends, len(sample))


@functools.cache
def _place(samples: int) -> int:
    """Which of the sorted values of a sample ends the interval of its median, counted from 1 at either end: the innermost
    that leaves out no more than `TAILS`, or the first where each leaves out more."""
    return max(int(stats.binom.ppf(TAILS[0], samples, 0.5)), 1)


def confidence(samples: int) -> float:
    """How often the interval of the median of so many samples holds the true one, whatever their distribution: unless so
    many of them lie on one side that the interval does."""
    return float(1 - 2 * stats.binom.cdf(_place(samples) - 1, samples, 0.5))


def ratio_of_medians(values: Sequence[float], baseline: Sequence[float]) -> Interval:
    """The median of `values` over that of `baseline`, with a percentile-bootstrap interval: the two are resampled
    independently."""
    above, below = np.asarray(values, dtype=float), np.asarray(baseline, dtype=float)
    smallest, ends = min(len(above), len(below)), (float("nan"), float("nan"))
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = float(np.median(above) / np.median(below)) if smallest else float("nan")
        if smallest > 1:
            ends = _ends(_resampled(tuple(above)) / _resampled(tuple(below), len(above)))
    return Interval(estimate, *ends, smallest)


@functools.lru_cache(maxsize=512)
def _resampled(values: tuple[float, ...], behind: int = 0) -> np.ndarray:
    """The medians of bootstrap samples. Where the sample stands behind another one in a statistic, it has the random
    numbers that follow those of the `behind` values of that: the two are independent."""
    chance, size = np.random.default_rng(SEED), len(values)
    if behind:
        chance.integers(0, behind, (RESAMPLES, behind))
    return np.median(np.asarray(values, dtype=float)[chance.integers(0, size, (RESAMPLES, size))], axis=1)


def _ends(resampled: np.ndarray) -> tuple[float, float]:
    """The ends of a percentile interval: the bias-corrected ones are undefined for samples without variation. The end
    of a ratio whose resampled baseline was zero is infinite: there is none."""
    ends = np.quantile(resampled, TAILS)
    return tuple(float(end) if np.isfinite(end) else float("nan") for end in ends)


@functools.cache
def ratio_confidence(samples: int) -> float:
    """How often the interval of the ratio of the medians of two samples, of so many each, holds the true one: of few,
    by simulation with samples of a normal distribution."""
    if samples >= FEW:
        return CONFIDENCE
    chance = np.random.default_rng(SEED)
    drawn = chance.normal(100, 1, (2, SIMULATED, samples))
    places = chance.integers(0, samples, (2, SIMULATED, samples))
    values, baseline = (np.median(of[:, place], axis=2) for of, place in zip(drawn, places, strict=True))
    low, high = np.quantile(values / baseline, TAILS, axis=1)
    return float(np.mean((low <= 1) & (high >= 1)))


def summary(table: pd.DataFrame, metric: str, by: list[str]) -> pd.DataFrame:
    """Median and interval of one metric per group of `by`."""
    rows = []
    chosen = table[table["metric"] == metric].dropna(subset=["value"])
    for key, group in chosen.groupby(by, sort=False, dropna=False):
        found = median(group["value"])
        rows.append((*key, found.estimate, found.low, found.high, found.samples))
    return pd.DataFrame(rows, columns=[*by, "median", "low", "high", "samples"])


CELL = ["benchmark", "threads", "heap"]


def relative(table: pd.DataFrame, metric: str, baseline: str) -> pd.DataFrame:
    """Every build's median over that of `baseline`, cell by cell (benchmark, threads, heap).

    A cell that one of the two could not run, or whose baseline is zero, has no row. The baseline's own ratio is 1 by
    definition and has no interval.
    """
    chosen = table[table["metric"] == metric].dropna(subset=["value"])
    samples = {key: group["value"].to_numpy() for key, group in chosen.groupby(["build", *CELL], dropna=False)}
    rows = []
    for (build, *cell), values in samples.items():
        reference = samples.get((baseline, *cell))
        if reference is None or np.median(reference) == 0:
            continue
        if build == baseline:
            found = Interval(1.0, float("nan"), float("nan"), len(values))
        else:
            found = ratio_of_medians(values, reference)
        rows.append((build, *cell, found.estimate, found.low, found.high, found.samples))
    return pd.DataFrame(rows, columns=["build", *CELL, "ratio", "low", "high", "samples"])


# What two builds may differ by and still be called equal.
MARGIN = 0.02


def verdict(low: float, high: float) -> str:
    """What the interval of a ratio says: that both are equal within `MARGIN`, that one is less or more, or neither."""
    if np.isnan(low) or np.isnan(high):
        return ""
    if low >= 1 / (1 + MARGIN) and high <= 1 + MARGIN:
        return f"equal within {MARGIN:.0%}"
    if high < 1:
        return "less"
    return "more" if low > 1 else "undecided"


def common(ratios: pd.DataFrame) -> pd.DataFrame:
    """The positive ratios of the cells in which every build has one which has any: only over these are geometric means of
    builds comparable. A build that cannot run in a small heap would else have a mean over the large ones alone."""
    positive = ratios[ratios["ratio"] > 0]
    having = positive.groupby(CELL, dropna=False)["build"].transform("nunique")
    return positive[having == positive["build"].nunique()]


def lower_bound_overhead(table: pd.DataFrame, whole: str, collector: str) -> pd.DataFrame:
    """Overhead of each build and cell over the least that the work itself can cost, whatever the collector.

    The bound is the smallest median of `whole` less `collector` (time or processor time, and the part of it in pauses)
    of any build and heap size of the same benchmark and number of threads. A collector that works beside the program,
    or slows it by barriers, has that in its `whole`, and so above the bound.
    """
    own = ["benchmark", "threads"]
    keys = ["build", *CELL]
    medians = {
        metric: table[table["metric"] == metric].groupby(keys, dropna=False)["value"].median()
        for metric in (whole, collector)
    }
    both = pd.concat(medians, axis="columns").dropna(subset=[whole, collector]).astype(float).reset_index()
    both["rest"] = both[whole] - both[collector]
    both["bound"] = both.groupby(own, dropna=False)["rest"].transform("min")
    both["overhead"] = both[whole] / both["bound"]
    # Nothing can be told of work that is too short for the clock.
    return both.loc[both["bound"] > 0, [*keys, "overhead"]]


def geometric_means(ratios: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Geometric mean of the ratios of `common` per group of `by`, and the number of cells it is over."""
    rows = []
    for key, group in ratios.groupby(by, sort=False):
        rows.append((*key, float(stats.gmean(group["ratio"])), len(group)))
    return pd.DataFrame(rows, columns=[*by, "geometric_mean", "cells"])


HOST, OTHERS, PROBE = "machine.steal", "machine.others", "machine.probe"
# The noise of each kind that is passed over without a word.
NOISE = {OTHERS: 0.02, HOST: 0.02, PROBE: 0.1}


def noise(table: pd.DataFrame) -> dict[str, float]:
    """The part of a processor that the host of a virtual machine (`HOST`) and other processes (`OTHERS`) took while the
    runs were timed, and by what part a fixed computation before each run took longer at its 95th percentile than at its
    5th (`PROBE`). What was not measured is left out."""
    whole = table[table["iteration"] == 0]
    totals = whole.groupby("metric")["value"].sum()
    seconds = totals.get("time.process", 0.0)
    found = {who: float(totals[who] / seconds) for who in (OTHERS, HOST) if seconds and who in totals}
    probes = whole.loc[whole["metric"] == PROBE, "value"]
    if len(probes):
        found[PROBE] = float(probes.quantile(0.95) / probes.quantile(0.05)) - 1
    return found


def noisy(noise: dict[str, float]) -> dict[str, float]:
    """What of it is to be told of."""
    return {who: share for who, share in noise.items() if share > NOISE[who]}


MINHEAP_POINT = ["benchmark", "build", "threads"]


def agree(low: float, high: float) -> bool:
    """Whether two minheaps in MiB, `low` no larger than `high`, differ by at most 1 MiB or 5 %."""
    return bool(high - low <= max(1.0, 0.05 * low))


def repeat_spread(minheaps: pd.DataFrame) -> pd.DataFrame:
    """Smallest, median and largest minheap of each point that was measured more than once, and whether they agree.

    They agree in the sense of `agree`.
    """
    rows = []
    for key, group in minheaps.dropna(subset=["value"]).groupby(MINHEAP_POINT, sort=False, dropna=False):
        values = group["value"].astype(float)
        if len(values) < 2:
            continue
        low, high = values.min(), values.max()
        rows.append((*key, low, values.median(), high, len(values), agree(low, high)))
    return pd.DataFrame(rows, columns=[*MINHEAP_POINT, "smallest", "median", "largest", "repeats", "agree"])


def compare_runs(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """The minheap of each point in two runs of a grid (medians over repeats), and whether the two agree.

    A minheap that only one of the runs has agrees with nothing; that both have none, they agree upon.
    """
    medians = [
        run[run["metric"] == "minheap"].groupby(MINHEAP_POINT, sort=False, dropna=False)["value"].median()
        for run in (first, second)
    ]
    both = pd.concat(medians, axis="columns", keys=["first", "second"]).astype(float).reset_index()
    values = both[["first", "second"]]
    # Where a value is missing, these are too, and differ.
    low, high = values.min(axis="columns", skipna=False), values.max(axis="columns", skipna=False)
    both["agree"] = [agree(*each) for each in zip(low, high, strict=True)]
    both.loc[values.isna().all(axis="columns"), "agree"] = True
    return both
