# SPDX-License-Identifier: MIT OR Apache-2.0
"""The search for the smallest heap, against programs whose need is known."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from shardsweep import logs, point, probe
from shardsweep.grid import Grid, Minheap, Point
from shardsweep.logs import Outcome
from shardsweep.minheap import End, search, trials
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


def test_a_search_begins_at_what_is_known_of_the_nearest_number_of_threads(tmp_path):
    experiment = Minheap(builds=["ms-64k"], benchmarks=["lusearch"], threads=[1, 2, 12, 48], start=20, largest=30)
    wanted = Point("minheap", "lusearch", 12, ("ms-64k",), None, 1)

    def know(threads, minheap, invocation=1):
        file = result_file(tmp_path, replace(wanted, threads=threads, invocation=invocation))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"rows": [{"metric": "minheap", "value": minheap}, {"metric": "runs.oom"}]}))

    know(1, 9, invocation=0)
    know(2, None)
    assert first_heap(tmp_path, wanted, experiment) == 20
    know(1, 4)
    assert first_heap(tmp_path, wanted, experiment) == 4
    know(2, 5)
    # Not at 15, where a line through the two would be: a line that is fitted to the results later.
    assert first_heap(tmp_path, wanted, experiment) == 5
    know(48, 21)
    assert first_heap(tmp_path, wanted, experiment) == 5
    assert first_heap(tmp_path, replace(wanted, threads=48), experiment) == 21


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


def test_a_collector_that_does_nothing_else_bounds_a_minheap_too():
    found = search(lambda heap, attempt: Outcome.PASSED if heap >= 10 else Outcome.OVERHEAD, 8, 64, 1)
    assert (found.minheap, found.bound_by) == (10, Outcome.OVERHEAD)


def test_trials_reach_from_a_size_that_never_passes_to_one_that_always_does():
    def probe_size(heap):
        # In 19 to 22 MiB, one run of five passes.
        return [Outcome.PASSED if heap > 22 or (heap >= 19 and number == 0) else Outcome.OOM for number in range(5)]

    tried = trials(probe_size, 20, 64)
    assert Counter(heap for heap, _ in tried) == dict.fromkeys(range(18, 24), 5)
    assert min(heap for heap, outcome in tried if outcome is Outcome.PASSED) == 19
    # Sizes are further apart where the minheap is large, and none is beyond the largest, or below 1.
    far = trials(lambda heap: [Outcome.PASSED if heap > 640 else Outcome.OOM], 640, 700)
    assert [heap for heap, _ in far] == [640, 660]
    assert [heap for heap, _ in trials(lambda heap: [Outcome.OOM], 2, 4)] == [2, 3, 4]
    assert [heap for heap, _ in trials(lambda heap: [Outcome.PASSED], 2, 4)] == [2, 1, 3]


def test_a_crash_is_no_trial():
    def crashing(heap):
        return [Outcome.CRASH, Outcome.PASSED if heap >= 9 else Outcome.OOM]

    assert {heap for heap, _ in trials(crashing, 9, 64)} == {8, 9, 10}


LOGS = Path(__file__).parent / "logs"


@pytest.mark.parametrize("name", ["oom", "timeout", "overhead"])
def test_the_trials_of_a_point_are_rows_by_heap_size(tmp_path, monkeypatch, name):
    """From recorded logs: below 6 MiB a run ends as the named one, in 7 MiB every third passes, above all do."""
    logged = {each: logs.read(LOGS / f"{each}.log")[-1] for each in ("passed-serial", "oom", "timeout")}
    logged["overhead"] = replace(logged["oom"], outcome=Outcome.OVERHEAD)
    numbers = []

    def run(folder, wanted, experiment, builds, heap, number):
        numbers.append((heap, number))
        passes = heap > 7 or (heap == 7 and number % 3 == 0)
        return [probe.Run(None, logged["passed-serial" if passes else name], LOGS / "any")]

    monkeypatch.setattr(probe, "run", run)
    monkeypatch.setattr(point, "_keys", lambda *_: {"build": "any", "heap": None})
    experiment = Minheap(builds=["any"], threads=[1], start=9, largest=20, attempts=2, trials=6)
    where = Point("minheap", "lusearch", 1, ("any",), None, 0)
    rows, notes = point._minheap(tmp_path, where, Grid(minheap=experiment), None)
    assert len(set(numbers)) == len(numbers) and notes == []
    counts = {(row["heap"], row["metric"]): row["value"] for row in rows if row["metric"].startswith("trial.")}
    # The search tries 7 MiB once, the trials six times, of which two pass.
    lost, other = ("trial.timeout", "trial.too-small") if name == "timeout" else ("trial.too-small", "trial.timeout")
    assert (counts[7, "trial.passed"], counts[7, lost], counts[7, other]) == (3, 4, 0)
    assert (counts[6, "trial.passed"], counts[6, lost], counts[6, other]) == (0, 8, 0)
    assert (counts[8, "trial.passed"], counts[8, lost], counts[8, other]) == (7, 0, 0)
    bounds = {row["metric"] for row in rows if row["metric"].startswith("minheap.")}
    assert bounds == ({f"minheap.by-{name}"} if name != "oom" else set())
    alone = Minheap(builds=["any"], threads=[1], start=9, largest=20, attempts=2, trials=0)
    rows, _ = point._minheap(tmp_path, where, Grid(minheap=alone), None)
    assert [row["metric"] for row in rows if row["metric"].startswith("trial.")] == []
