# SPDX-License-Identifier: MIT OR Apache-2.0
"""The search for the smallest heap: bisection to 1 MiB, with the reasons of every failure kept apart."""

import enum
from collections.abc import Callable
from dataclasses import dataclass, field

from shardsweep.logs import Outcome

# These two, and only these, say that a heap is too small.
TOO_SMALL = {Outcome.OOM, Outcome.TIMEOUT}


class End(enum.StrEnum):
    """How a search ended."""

    FOUND = "found"
    TOO_LARGE = "too-large"  # not even the largest allowed heap was enough
    BROKEN = "broken"  # every attempt at one size crashed, or failed in a way that has nothing to do with memory


@dataclass
class Search:
    """The result: `minheap` in MiB when found; every attempt in order; what made the next smaller heap fail."""

    end: End
    minheap: int | None
    attempts: list[tuple[int, Outcome]] = field(default_factory=list)
    bound_by: Outcome | None = None


def search(probe: Callable[[int, int], Outcome], start: int, largest: int, attempts: int) -> Search:
    """Finds the smallest heap, in MiB, at which `probe(heap, attempt)` passes.

    If `start` is too small, the heap grows by a quarter until it is enough; if it is enough, it shrinks by steps that
    double until it is too small. What is then left is cut at a third: a heap that is enough costs a whole run, one
    that is too small ends early, so the search stays low. The nearer `start`, the shorter. A size passes if one of
    `attempts` does; it is too small if an attempt says so and none passes. If no attempt passes and none says so
    either, the search stops: a crash is no statement about size.
    """
    result = Search(End.BROKEN, None)
    failed_by: dict[int, Outcome] = {0: None}

    def passes(heap: int) -> bool | None:
        verdict = None
        for attempt in range(attempts):
            outcome = probe(heap, attempt)
            result.attempts.append((heap, outcome))
            if outcome is Outcome.PASSED:
                return True
            if outcome in TOO_SMALL:
                verdict = False
                failed_by[heap] = outcome
        return verdict

    low, high, heap, step = 0, None, start, 1
    while high is None or high - low > 1:
        verdict = passes(heap)
        if verdict is None:
            return result
        if verdict:
            high = heap
        elif heap == largest:
            result.end = End.TOO_LARGE
            return result
        else:
            low = heap
        if high is None:
            heap = min(heap + max(heap // 4, 1), largest)
        elif low == 0:
            heap, step = max(high - step, 1), step * 2
        else:
            heap = low + max((high - low) // 3, 1)
    result.end, result.minheap, result.bound_by = End.FOUND, high, failed_by[low]
    return result
