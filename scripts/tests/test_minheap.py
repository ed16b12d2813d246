# SPDX-License-Identifier: MIT OR Apache-2.0
"""The search for the smallest heap, against programs whose need is known."""

import json
from dataclasses import replace

import pytest

from shardsweep.grid import Minheap, Point
from shardsweep.logs import Outcome
from shardsweep.minheap import End, search
from shardsweep.point import first_heap, result_file


@pytest.mark.parametrize("start", [1, 4, 8, 50])
@pytest.mark.parametrize("need", [1, 2, 7, 8, 9, 31, 64])
def test_finds_the_need_to_one_mebibyte_from_any_start(need, start):
    found = search(lambda heap, attempt: Outcome.PASSED if heap >= need else Outcome.OOM, start, 64, 1)
    assert (found.end, found.minheap) == (End.FOUND, need)
    assert found.bound_by is (Outcome.OOM if need > 1 else None)


def test_a_time_out_bounds_a_minheap_and_is_told():
    found = search(lambda heap, attempt: Outcome.PASSED if heap >= 10 else Outcome.TIMEOUT, 8, 64, 1)
    assert (found.minheap, found.bound_by) == (10, Outcome.TIMEOUT)


def test_a_start_next_to_the_need_makes_a_short_search():
    def tried(start):
        found = search(lambda heap, attempt: Outcome.PASSED if heap >= 40 else Outcome.OOM, start, 64, 1)
        return [heap for heap, _ in found.attempts]

    assert tried(40) == [40, 39]
    assert tried(42) == [42, 41, 39, 40]
    assert tried(36) == [36, 45, 39, 41, 40]


def test_a_search_begins_on_the_line_through_what_is_known(tmp_path):
    experiment = Minheap(builds=["ms-64k"], benchmarks=["lusearch"], threads=[1, 2, 12, 48], start=20, largest=30)
    point = Point("minheap", "lusearch", 12, ("ms-64k",), None, 1)

    def know(threads, minheap, invocation=1):
        file = result_file(tmp_path, replace(point, threads=threads, invocation=invocation))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"rows": [{"metric": "minheap", "value": minheap}, {"metric": "runs.oom"}]}))

    know(1, 9, invocation=0)
    know(2, None)
    assert first_heap(tmp_path, point, experiment) == 20
    know(1, 4)
    assert first_heap(tmp_path, point, experiment) == 4
    know(2, 5)
    assert first_heap(tmp_path, point, experiment) == 15
    assert first_heap(tmp_path, replace(point, threads=48), experiment) == 30


def test_a_size_passes_if_one_attempt_does():
    def flaky(heap, attempt):
        return Outcome.PASSED if heap >= 10 and attempt == 2 else Outcome.OOM

    assert search(flaky, 8, 64, 3).minheap == 10
    assert search(flaky, 8, 64, 2).end is End.TOO_LARGE


def test_a_need_above_the_largest_heap_is_none_and_says_why():
    found = search(lambda heap, attempt: Outcome.TIMEOUT, 8, 20, 1)
    assert (found.end, found.minheap) == (End.TOO_LARGE, None)
    assert found.attempts == [(heap, Outcome.TIMEOUT) for heap in (8, 10, 12, 15, 18, 20)]


@pytest.mark.parametrize("broken", [Outcome.CRASH, Outcome.FAILED, Outcome.ERROR])
def test_a_crash_is_never_too_small(broken):
    """Below 10 MiB this program crashes: how much it needs cannot be known, and is not guessed."""
    found = search(lambda heap, attempt: Outcome.PASSED if heap >= 10 else broken, 16, 64, 2)
    assert (found.end, found.minheap) == (End.BROKEN, None)
    enough = [(heap, Outcome.PASSED) for heap in (16, 15, 13)]
    assert found.attempts == [*enough, (9, broken), (9, broken)]


def test_a_crash_that_does_not_come_again_is_got_over_and_kept():
    def crashes_once(heap, attempt):
        if heap == 12 and attempt == 0:
            return Outcome.CRASH
        return Outcome.PASSED if heap >= 11 else Outcome.OOM

    found = search(crashes_once, 8, 64, 2)
    assert found.minheap == 11
    assert (12, Outcome.CRASH) in found.attempts
