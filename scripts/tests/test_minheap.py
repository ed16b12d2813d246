# SPDX-License-Identifier: MIT OR Apache-2.0
"""The search for the smallest heap, against programs whose need is known."""

import pytest

from shardsweep.logs import Outcome
from shardsweep.minheap import End, search


@pytest.mark.parametrize("start", [1, 4, 8, 50])
@pytest.mark.parametrize("need", [1, 2, 7, 8, 9, 31, 64])
def test_finds_the_need_to_one_mebibyte_from_any_start(need, start):
    found = search(lambda heap, attempt: Outcome.PASSED if heap >= need else Outcome.OOM, start, 64, 1)
    assert (found.end, found.minheap) == (End.FOUND, need)
    assert found.reason is None
    assert found.bound_by is (Outcome.OOM if need > 1 else None)


def test_a_time_out_bounds_a_minheap_and_is_told():
    found = search(lambda heap, attempt: Outcome.PASSED if heap >= 10 else Outcome.TIMEOUT, 8, 64, 1)
    assert (found.minheap, found.bound_by) == (10, Outcome.TIMEOUT)


def test_a_size_passes_if_one_attempt_does():
    def flaky(heap, attempt):
        return Outcome.PASSED if heap >= 10 and attempt == 2 else Outcome.OOM

    assert search(flaky, 8, 64, 3).minheap == 10
    assert search(flaky, 8, 64, 2).end is End.TOO_LARGE


def test_a_need_above_the_largest_heap_is_none_and_says_why():
    found = search(lambda heap, attempt: Outcome.TIMEOUT, 8, 20, 1)
    assert (found.end, found.minheap, found.reason) == (End.TOO_LARGE, None, Outcome.TIMEOUT)
    assert [heap for heap, _ in found.attempts] == [8, 10, 12, 15, 18, 20]


@pytest.mark.parametrize("broken", [Outcome.CRASH, Outcome.FAILED, Outcome.ERROR])
def test_a_crash_is_never_too_small(broken):
    """Below 10 MiB this program crashes: how much it needs cannot be known, and is not guessed."""
    found = search(lambda heap, attempt: Outcome.PASSED if heap >= 10 else broken, 16, 64, 2)
    assert (found.end, found.minheap, found.reason) == (End.BROKEN, None, broken)
    assert found.attempts == [(16, Outcome.PASSED), (5, broken), (5, broken)]


def test_a_crash_that_does_not_come_again_is_got_over_and_kept():
    def crashes_once(heap, attempt):
        if heap == 12 and attempt == 0:
            return Outcome.CRASH
        return Outcome.PASSED if heap >= 11 else Outcome.OOM

    found = search(crashes_once, 8, 64, 2)
    assert found.minheap == 11
    assert (12, Outcome.CRASH) in found.attempts
