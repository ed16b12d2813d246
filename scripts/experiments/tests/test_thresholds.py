# SPDX-License-Identifier: MIT OR Apache-2.0
"""The minheap as a probability, against curves whose answer is known."""

import math

import numpy as np
import pytest
from scipy import special

from shardsweep import tables, thresholds, tidy
from shardsweep.thresholds import Fit, can_be_found


def test_two_sizes_have_the_curve_that_goes_through_both():
    """A quarter passes in 10 MiB, three quarters in 11: the logarithms of the odds are -ln 3 and ln 3, 1 MiB apart."""
    fit = Fit([10, 11], [25_000, 75_000], [75_000, 25_000])
    width = 1 / (2 * math.log(3))
    assert fit.heap(0.5).estimate == pytest.approx(10.5, abs=1e-3)
    assert fit.heap(0.95).estimate == pytest.approx(10.5 + width * math.log(19), abs=2e-3)
    # The standard error of the middle, by the delta method, is that of a quarter of the logarithm of the odds.
    half = fit.heap(0.5)
    error = math.sqrt(2 / (100_000 * 0.25 * 0.75)) / 2 * width
    assert (half.high - half.low) / 2 == pytest.approx(1.96 * error, rel=0.02)


def test_where_chance_has_no_part_the_answer_is_between_the_sizes_and_finite():
    fit = Fit([8, 9, 10, 11], [0, 0, 5, 5], [5, 5, 0, 0])
    half, most = fit.heap(0.5), fit.heap(0.95)
    assert half.estimate == pytest.approx(9.5, abs=1e-3)
    assert 9 <= half.low < 9.5 < half.high <= 10
    # A step anywhere between 9 and 10 explains the runs as well.
    assert 9 <= most.low < 9.2 and 9.5 < most.estimate < most.high < 13
    assert half.samples == 20


def test_more_runs_tell_more():
    few, many = (Fit([8, 9, 10], [0, n, 2 * n], [2 * n, n, 0]).heap(0.5) for n in (2, 20))
    assert many.high - many.low < (few.high - few.low) / 2


@pytest.mark.parametrize("width", [0.8, 0.05])
def test_intervals_hold_the_truth_about_as_often_as_they_say(width):
    generator = np.random.default_rng(20)
    sizes = np.arange(16, 26)
    held = {0.5: 0, 0.95: 0}
    for middle in generator.uniform(20, 21, 100):
        passed = generator.binomial(6, special.expit((sizes - middle) / width))
        fit = Fit(sizes, passed, 6 - passed)
        for share in held:
            found = fit.heap(share)
            held[share] += found.low <= middle + width * special.logit(share) <= found.high
    # Of 100 at 95 %, fewer than 88 are one case in five hundred.
    assert min(held.values()) >= 88, held


@pytest.mark.parametrize(("passed", "failed"), [([3, 3], [0, 0]), ([0, 0], [3, 3]), ([], [])])
def test_runs_that_all_end_alike_have_no_threshold(passed, failed):
    with pytest.raises(ValueError, match="runs that passed and runs that failed"):
        Fit(range(len(passed)), passed, failed)


def test_ends_that_the_runs_do_not_bound_are_none():
    found = Fit([13, 14], [0, 1], [2, 0]).heap(0.5)
    assert 13 < found.estimate < 14
    assert math.isnan(found.low)


def row(metric, value, heap=None, build="ms-64k"):
    keys = {"build": build, "benchmark": "lusearch", "threads": 24, "heap": heap, "invocation": 0, "iteration": 0}
    return {**keys, "metric": metric, "value": value, "unit": "MiB" if metric == "minheap" else "runs"}


def trial(heap, passed, failed, build="ms-64k"):
    return [row("trial.passed", passed, heap, build), row("trial.too-small", failed, heap, build)]


def test_estimates_have_a_table_with_repeats_pooled_and_time_outs_marked():
    slow = [row("minheap", 9), row("minheap.by-timeout", 1), row("trial.timeout", 1, 9)]
    whole = [*trial(8, 0, 5), *trial(9, 2, 2), *trial(9, 3, 2), *trial(10, 5, 0), *trial(8, 0, 5, "ms-4k"), *slow]
    (table,) = tables.estimates(tidy.frame(whole))
    (cells,) = table.rows
    # How the search has ended is no matter.
    assert cells[:4] == ["lusearch", "ms-64k", "24", "9.0†"] and cells[-1] == "20"
    assert "†: some of the runs that did not pass ended at the time limit." in table.note
    assert tables.estimates(tidy.frame(slow)) == []
    assert thresholds.marks(tidy.frame(slow[:2])) == {("lusearch", "ms-64k", 24): "*"}


def test_a_search_that_broke_off_has_no_estimate():
    runs = [*trial(8, 1, 0), *trial(7, 1, 0), *trial(5, 0, 2)]
    assert tables.estimates(tidy.frame([*runs, row("minheap", None)])) == []
    assert tables.estimates(tidy.frame([*runs, row("minheap", 7)]))


def test_the_path_of_a_search_has_no_estimate():
    ends = ((8, 1), (6, 1), (5, 0), (4, 0))
    searched = [row("minheap", 6), *(one for heap, passed in ends for one in trial(heap, passed, 1 - passed))]
    assert tables.estimates(tidy.frame(searched)) == []
    (table,) = tables.estimates(tidy.frame([*searched, *trial(6, 0, 1)]))
    assert table.rows[0][-1] == "5"


@pytest.mark.parametrize(
    ("passed", "failed", "can"),
    [([1, 1, 0], [0, 0, 1], False), ([2, 1, 0], [0, 0, 1], True), ([0, 1, 1], [2, 1, 0], True),
     ([2, 2], [0, 0], False), ([0, 0], [2, 2], False), ([], [], False)],
)  # fmt: skip
def test_runs_tell_where_some_end_otherwise_and_some_size_was_run_again(passed, failed, can):
    assert can_be_found(passed, failed) == can
