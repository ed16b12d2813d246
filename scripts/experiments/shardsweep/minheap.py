# SPDX-License-Identifier: MIT OR Apache-2.0
"""The smallest heap: a search by bisection to 1 MiB, and repeated runs around what it finds.

Whether a heap is enough is a matter of chance near the limit. The search alone gives one sample of it; the trials
around it say how probable it is to pass in each size. Reasons of failures are kept apart.
"""

import enum
from collections.abc import Callable
from dataclasses import dataclass, field

from shardsweep.logs import Outcome

# These, and only these, say that a heap is too small.
TOO_SMALL = {Outcome.OOM, Outcome.OVERHEAD, Outcome.TIMEOUT}
# Sizes of trials are as far apart as this part of the minheap, and 1 MiB at least.
STEP = 1 / 32


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


def trials(probe: Callable[[int], list[Outcome]], minheap: int, largest: int) -> list[tuple[int, Outcome]]:
    """Runs `probe`, which tries a heap size some times, at sizes around `minheap`.

    The sizes reach down to one in which no run passes, and up to one in which every run does that says anything about
    memory: between these two lies all that a fit can learn from.
    """
    found: list[tuple[int, Outcome]] = []

    def passed(heap: int) -> list[bool]:
        outcomes = probe(heap)
        found.extend((heap, outcome) for outcome in outcomes)
        return [outcome is Outcome.PASSED for outcome in outcomes if outcome in (Outcome.PASSED, *TOO_SMALL)]

    step = max(round(minheap * STEP), 1)
    heap = minheap
    while heap >= 1 and any(passed(heap)):
        heap -= step
    heap = minheap + step
    while heap <= largest and not all(passed(heap)):
        heap += step
    return found
