# SPDX-License-Identifier: MIT OR Apache-2.0
"""Minheap as an estimate: the heaps in which a run passes with a given probability, with intervals.

The probability of passing is a logistic function of the heap size h: 1 / (1 + exp(-(h - middle) / width)). Its two
parameters are those of the largest penalised likelihood (Firth's penalty, half the logarithm of the determinant of
Fisher's information): without the penalty the width would be 0 where all runs above some size pass and all below fail.
Intervals are those of the profile likelihood, with the penalty and without: with it alone they would leave out steps.
"""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import optimize, special, stats

from shardsweep.analysis import CONFIDENCE, MINHEAP_POINT, Interval, point_key, thread_key

# How far the penalised likelihood falls from its maximum to the ends of an interval.
FALL = stats.chi2.ppf(CONFIDENCE, 1) / 2
# Width of the curve in MiB, as a logarithm: from a step to a rise over hundreds of MiB.
WIDTHS = (np.log(0.02), np.log(200.0))


def can_be_found(passed: Sequence[int], failed: Sequence[int]) -> bool:
    """Whether the runs in each heap size tell of a threshold: some passed, some failed, and some size was run more than
    once. One run a size is the path of a search, whose sizes follow from how the runs before ended."""
    runs = np.add(passed, failed)
    return bool(np.sum(passed) > 0 and np.sum(failed) > 0 and np.max(runs) > 1)


@dataclass(frozen=True)
class Runs:
    """How many runs of one build passed in each heap size and how many did not, of which some `timed_out`."""

    heaps: tuple[int, ...]
    passed: tuple[int, ...]
    failed: tuple[int, ...]
    timed_out: int

    def heap(self, share: float) -> Interval:
        """The heap in which that share of all runs pass."""
        return _heap(self.heaps, self.passed, self.failed, share)

    @property
    def number(self) -> int:
        """All of them."""
        return sum(self.passed) + sum(self.failed)


@functools.cache
def _heap(heaps: tuple[int, ...], passed: tuple[int, ...], failed: tuple[int, ...], share: float) -> Interval:
    return Fit(heaps, passed, failed).heap(share)


# How the runs of a heap size ended, as metrics of the result table.
TRIALS = PASSED, TOO_SMALL, TIMED_OUT = "trial.passed", "trial.too-small", "trial.timeout"

# What marks a minheap of a search whose next smaller heap was not too small as such, or around which runs took too long.
SLOW = {"minheap.by-timeout": "*", "minheap.by-overhead": "+", TIMED_OUT: "†"}
WHY_SLOW = {
    "*": "in the next smaller heap it was too slow for the time limit.",
    "+": 'in the next smaller heap the JVM gave up: "GC overhead limit exceeded".',
    "†": "some of the runs that did not pass ended at the time limit.",
}


def points(table: pd.DataFrame) -> dict[tuple[str, str, int], Runs]:
    """The runs around each minheap that tell of a threshold, by benchmark, build and threads; repeats are pooled. A search
    that broke off has none, whatever runs came before."""
    kinds = list(TRIALS)
    trials = table[table["metric"].isin(kinds)]
    ended = table[(table["metric"] == "minheap") & table["value"].notna()]
    minheaps_of = set(map(point_key, ended.itertuples()))
    found = {}
    for key, group in trials.groupby(MINHEAP_POINT, sort=False, dropna=False):
        counts = group.pivot_table(index="heap", columns="metric", values="value", aggfunc="sum")
        counts = counts.reindex(columns=kinds).fillna(0).astype(int)
        failed = counts[TOO_SMALL] + counts[TIMED_OUT]
        benchmark, build, threads = key
        point = (benchmark, build, thread_key(threads))
        if point in minheaps_of and can_be_found(counts[PASSED], failed):
            found[point] = Runs(
                tuple(map(int, counts.index)), tuple(counts[PASSED]), tuple(failed), int(counts[TIMED_OUT].sum())
            )
    return found


def minheaps(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of minheaps, with the ends of their intervals: those of searches, or for a point whose runs tell of a threshold
    one of the heap in which half of them pass. Where the runs do not bound it, an end is the last heap that was run."""
    rows = table[table["metric"] == "minheap"].copy()
    rows["low"] = rows["high"] = rows["value"]
    keys = pd.Series(list(map(point_key, rows.itertuples())), rows.index, object)
    for key, runs in points(table).items():
        first, *again = rows.index[[each == key for each in keys[rows.index]]]
        half = runs.heap(0.5)
        last = (min(half.estimate, *runs.heaps), max(half.estimate, *runs.heaps))
        ends = [run if np.isnan(end) else end for end, run in zip((half.low, half.high), last, strict=True)]
        rows.loc[first, ["value", "low", "high"]] = (half.estimate, *ends)
        rows = rows.drop(again)
    return rows


def marks(table: pd.DataFrame) -> dict[tuple[str, str, int], str]:
    """The marks of `SLOW` by benchmark, build and threads. Where the runs around a minheap tell more than its search did, how
    that ended says nothing of it."""
    rows = table[table["metric"].isin(list(SLOW)) & (table["value"] > 0)]
    estimated = points(table)
    found: dict[tuple[str, str, int], set[str]] = {}
    for row in rows.itertuples():
        key = point_key(row)
        if key not in estimated or row.metric == TIMED_OUT:
            found.setdefault(key, set()).add(SLOW[row.metric])
    return {key: each_once(each) for key, each in found.items()}


def each_once(marks: Iterable[str]) -> str:
    """The marks of some minheaps, each once."""
    return "".join(sorted(set("".join(marks))))


def told(text: str) -> list[str]:
    """What the marks mean that are in a text."""
    return [f"{mark}: {why}" for mark, why in WHY_SLOW.items() if mark in text]


class Fit:
    """The curve through the runs that `passed` and `failed` in each of the `heaps`, in MiB.

    Raises ValueError unless some runs passed and some failed: there is no threshold to find then.
    """

    def __init__(self, heaps: Sequence[float], passed: Sequence[int], failed: Sequence[int]) -> None:
        self._heaps = np.asarray(heaps, dtype=float)
        self._passed = np.asarray(passed, dtype=float)
        self._failed = np.asarray(failed, dtype=float)
        if not (self._passed.sum() > 0 and self._failed.sum() > 0):
            raise ValueError("a threshold needs runs that passed and runs that failed")
        self.runs = int(self._passed.sum() + self._failed.sum())
        start = (self._heaps.mean(), np.log(max(np.ptp(self._heaps) / 8, 0.1)))
        found = optimize.minimize(
            lambda at: -self._likelihood(*at), start, method="Nelder-Mead", options={"xatol": 1e-5}
        )
        self._middle, self._log_width = found.x
        self._highest = {True: -found.fun, False: self._highest_unpenalised()}

    def heap(self, probability: float) -> Interval:
        """The heap in which a run passes with that probability. An end of the interval that the runs do not bound is
        NaN."""
        estimate = self._middle + np.exp(self._log_width) * special.logit(probability)
        low = min(self._end(probability, estimate, -1, penalised) for penalised in (True, False))
        high = max(self._end(probability, estimate, 1, penalised) for penalised in (True, False))
        # No heap is smaller than nothing.
        ends = (low if low > 0 else float("nan"), high if np.isfinite(high) else float("nan"))
        return Interval(float(estimate), *ends, self.runs)

    def _highest_unpenalised(self) -> float:
        """The largest likelihood, of the curve that was found or of a step between two heaps."""
        heaps = np.unique([self._heaps.min() - 1, *self._heaps, self._heaps.max() + 1])
        between = (heaps[:-1] + heaps[1:]) / 2
        starts = [(self._middle, self._log_width), *((middle, WIDTHS[0]) for middle in between)]
        best = max(starts, key=lambda at: self._likelihood(*at, penalised=False))
        found = optimize.minimize(lambda at: -self._likelihood(*at, penalised=False), best, method="Nelder-Mead")
        return max(-found.fun, self._likelihood(*best, penalised=False))

    def _likelihood(self, middle: float, log_width: float, penalised: bool = True) -> float:
        if not WIDTHS[0] <= log_width <= WIDTHS[1]:
            return -np.inf
        distance = (self._heaps - middle) / np.exp(log_width)
        likelihood = self._passed @ special.log_expit(distance) + self._failed @ special.log_expit(-distance)
        if not penalised:
            return likelihood
        weight = (self._passed + self._failed) * special.expit(distance) * special.expit(-distance)
        away = self._heaps - middle
        determinant = weight.sum() * (weight @ away**2) - (weight @ away) ** 2
        # Rounding can take it below nothing where all weights vanish.
        return likelihood + 0.5 * np.log(max(determinant, 1e-300))

    def _profile(self, probability: float, heap: float, penalised: bool) -> float:
        """The largest likelihood of the curves that pass with the probability at the heap."""
        offset = special.logit(probability)
        best = optimize.minimize_scalar(
            lambda log_width: -self._likelihood(heap - np.exp(log_width) * offset, log_width, penalised),
            bounds=WIDTHS,
            method="bounded",
        )
        return -best.fun

    def _end(self, probability: float, estimate: float, towards: int, penalised: bool) -> float:
        """How far the heap may be from the estimate; without end where the runs do not bound it."""

        def above(heap: float) -> float:
            return self._profile(probability, heap, penalised) - (self._highest[penalised] - FALL)

        inside, step = estimate, 0.25
        if above(inside) < 0:
            return inside
        for _ in range(16):
            outside = inside + towards * step
            if above(outside) < 0:
                return float(optimize.brentq(above, *sorted((inside, outside)), xtol=1e-3))
            inside, step = outside, step * 2
        return towards * float("inf")
