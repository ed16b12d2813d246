# SPDX-License-Identifier: MIT OR Apache-2.0
"""Statistics over result tables: lines through minheaps, medians and their ratios with intervals, relative geometric means."""

import dataclasses
import functools
import math
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
# Of fewer samples not even the range holds the median as often as that: no verdict is made of them.
FEW = 6
TOO_FEW, UNDECIDED = "too few", "undecided"
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


# What is one run of each build, in turn, among the rows of a cell: what the machine did meanwhile meets all of them.
BLOCK = ["sitting", "factor", "invocation"]


def by_block(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the number of the block that each is of as their index."""
    return rows.set_index(rows.groupby(BLOCK, dropna=False).ngroup().to_numpy())


def ratio_of_medians(values: Sequence[float], baseline: Sequence[float]) -> Interval:
    """The median of `values` over that of `baseline`, each by block, of the blocks that both have. Blocks are resampled for
    the percentile-bootstrap interval, so that a drift of the machine's speed does not count as a difference."""
    return mean_of_ratios([(values, baseline)])


def mean_of_ratios(cells: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Interval:
    """The geometric mean over some cells of what `ratio_of_medians` has of each. The cells are resampled independently. Its
    sample is the smallest number of blocks."""
    pairs = [_paired(*cell) for cell in cells]
    smallest = min(len(values) for values, _ in pairs)
    if not smallest:
        return Interval(float("nan"), float("nan"), float("nan"), 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = float(np.prod([np.median(above) / np.median(below) for above, below in pairs]) ** (1 / len(pairs)))
        if smallest < 2:
            return Interval(estimate, float("nan"), float("nan"), smallest)
        ratios = [_medians(above, place) / _medians(below, place) for place, (above, below) in enumerate(pairs)]
        return Interval(estimate, *interval_ends(np.prod(ratios, axis=0) ** (1 / len(pairs))), smallest)


def _paired(*samples: Sequence[float]) -> list[tuple[float, ...]]:
    """Samples of the blocks that all have, in the same order."""
    series = [pd.Series(each, dtype=float) for each in samples]
    blocks = functools.reduce(lambda one, other: one.intersection(other), (each.index for each in series))
    return [tuple(each.loc[blocks]) for each in series]


@functools.lru_cache(maxsize=512)
def _medians(values: tuple[float, ...], place: int) -> np.ndarray:
    """The medians of the resamples: those of two samples of the same blocks are of the same draws."""
    return np.median(np.asarray(values)[draws(len(values), place)], axis=1)


@functools.lru_cache(maxsize=64)
def draws(blocks: int, place: int = 0) -> np.ndarray:
    """Which of so many blocks the resamples have; of different places they are independent."""
    return np.random.default_rng([SEED, place]).integers(0, blocks, (RESAMPLES, blocks))


def interval_ends(resampled: np.ndarray) -> tuple[float, float]:
    """The ends of a percentile interval: the bias-corrected ones are undefined for samples without variation. An infinite
    end, as of a ratio whose resampled baseline was zero, is none."""
    with np.errstate(invalid="ignore"):
        ends = np.quantile(resampled, TAILS)
    return tuple(float(end) if np.isfinite(end) else float("nan") for end in ends)


def ratio_confidence(blocks: int) -> float:
    """How often the interval of the ratio of medians of so many blocks holds the true one: that of few is their range."""
    return CONFIDENCE if blocks >= FEW else confidence(blocks)


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

    A cell that one of the two could not run, or in no block of which both ran, or whose baseline is zero, has no row.
    The baseline's own ratio is 1 by definition and has no interval.
    """
    by_cell = samples(table, metric)
    rows = []
    for (build, *cell), values in by_cell.items():
        reference = by_cell.get((baseline, *cell))
        if reference is None:
            continue
        if build == baseline:
            found = Interval(1.0, float("nan"), float("nan"), len(values))
        else:
            found = ratio_of_medians(values, reference)
        if np.median(reference) > 0 and found.samples:
            rows.append((build, *cell, found.estimate, found.low, found.high, found.samples))
    return pd.DataFrame(rows, columns=["build", *CELL, "ratio", "low", "high", "samples"])


def samples(table: pd.DataFrame, metric: str) -> dict[tuple, pd.Series]:
    """The values of one metric by block, for each build and cell."""
    chosen = by_block(table[table["metric"] == metric].dropna(subset=["value"]))
    return {key: group["value"].astype(float) for key, group in chosen.groupby(["build", *CELL], dropna=False)}


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
    return "more" if low > 1 else UNDECIDED


def verdict_of(ratio: Interval) -> str:
    """What a ratio says whose interval is by bootstrap: that of fewer than `FEW` blocks is no interval of `CONFIDENCE`."""
    return TOO_FEW if ratio.samples < FEW else verdict(ratio.low, ratio.high)


def apart(own: tuple[float, float], *others: tuple[float, float]) -> str:
    """Whether something is less or more than each of some others, by the ends of their intervals, or undecided; too few where
    one of the ends is missing."""
    if np.isnan([own, *others]).any():
        return TOO_FEW
    if own[1] < min(low for low, _ in others):
        return "less"
    return "more" if own[0] > max(high for _, high in others) else UNDECIDED


def quotient(value: Interval, baseline: Interval) -> Interval:
    """One estimate over another one that is independent of it. The ends are those that `apart` goes by: all is below 1 where
    that says less. They leave out the truth no more often than those of both estimates together."""
    return Interval(
        value.estimate / baseline.estimate, value.low / baseline.high, value.high / baseline.low,
        min(value.samples, baseline.samples),
    )  # fmt: skip


def common(ratios: pd.DataFrame) -> pd.DataFrame:
    """The positive ratios of the cells in which every build has one which has any: only over these are geometric means of
    builds comparable. A build that cannot run in a small heap would else have a mean over the large ones alone."""
    positive = ratios[ratios["ratio"] > 0]
    having = positive.groupby(CELL, dropna=False)["build"].transform("nunique")
    return positive[having == positive["build"].nunique()]


def lower_bound_overhead(table: pd.DataFrame, whole: str, collector: str) -> pd.DataFrame:
    """Overhead of each build and cell over the least that the work itself can cost, whatever the collector.

    The bound is the smallest median, over JVMs, of `whole` less `collector` (time or processor time, and the part of it in
    pauses) of any build and heap size of the same benchmark and number of threads. A collector that works concurrently,
    or slows it by barriers, has that in its `whole`, and so above the bound.
    """
    own = ["benchmark", "threads"]
    keys = ["build", *CELL]
    jvm = [*keys, *BLOCK]
    columns = {metric: table[table["metric"] == metric].set_index(jvm)["value"] for metric in (whole, collector)}
    each = pd.concat(columns, axis="columns").dropna(subset=[whole, collector]).astype(float)
    each["rest"] = each[whole] - each[collector]
    both = each.groupby(keys, dropna=False).median().reset_index()
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


def thread_key(threads) -> int:
    """The number of threads as notes have it: 0 where it is the benchmark's own."""
    return 0 if pd.isna(threads) else int(threads)


def point_key(row) -> tuple[str, str, int]:
    """Benchmark, build and threads of a row of the result table."""
    return row.benchmark, row.build, thread_key(row.threads)


def agree(low: float, high: float) -> bool:
    """Whether two minheaps in MiB, `low` no larger than `high`, differ by at most 1 MiB or 5 %."""
    return bool(high - low <= max(1.0, 0.05 * low))


def repeat_spread(minheaps: pd.DataFrame) -> pd.DataFrame:
    """Smallest, median and largest minheap of each point that was measured more than once, and whether they agree.

    They agree in the sense of `agree`. A search without a minheap counts as in `median_minheap`, and agrees with no other.
    """
    rows = []
    for key, group in minheaps.groupby(MINHEAP_POINT, sort=False, dropna=False):
        values = group["value"].astype(float)
        if len(values) < 2 or values.isna().all():
            continue
        low, high = values.min(), values.max(skipna=False)
        rows.append((*key, low, median_minheap(values), high, len(values), agree(low, high)))
    return pd.DataFrame(rows, columns=[*MINHEAP_POINT, "smallest", "median", "largest", "repeats", "agree"])


def median_minheap(searches: pd.Series) -> float:
    """The median of searches, of which one that ended without a minheap counts as larger than all others; NaN where that is the
    median."""
    middle = searches.astype(float).fillna(math.inf).median()
    return middle if math.isfinite(middle) else math.nan


def of_known_minheaps(searches: pd.DataFrame) -> pd.DataFrame:
    """The searches of the points that have a minheap by `median_minheap`."""
    medians = searches.groupby(MINHEAP_POINT, dropna=False)["value"].transform(median_minheap)
    return searches[medians.notna()]


def with_minheap(searches: pd.DataFrame) -> pd.DataFrame:
    """Of these the searches that found one."""
    return of_known_minheaps(searches).dropna(subset=["value"])


def compare_runs(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """The minheap of each point in two runs of a grid (medians over repeats), and whether the two agree.

    A minheap that only one of the runs has agrees with nothing; that both have none, they agree upon.
    """
    medians = [
        run[run["metric"] == "minheap"].groupby(MINHEAP_POINT, sort=False, dropna=False)["value"].agg(median_minheap)
        for run in (first, second)
    ]
    both = pd.concat(medians, axis="columns", keys=["first", "second"]).astype(float).reset_index()
    values = both[["first", "second"]]
    # Where a value is missing, these are too, and differ.
    low, high = values.min(axis="columns", skipna=False), values.max(axis="columns", skipna=False)
    both["agree"] = [agree(*each) for each in zip(low, high, strict=True)]
    both.loc[values.isna().all(axis="columns"), "agree"] = True
    return both
