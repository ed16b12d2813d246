# SPDX-License-Identifier: MIT OR Apache-2.0
"""Data sets of `results/`, and the pages that are made of them: that each number in them is what its CSV says."""

import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest
import yaml

from shardsweep import analysis, catalog, claims, cli, freshness, grid, point, presets, record, sweep, thresholds, tidy
from shardsweep.errors import UserError

COMMIT = "0123456789ab"
PROCESSOR = "Fast 1"
MINHEAP = {"minheap": {"builds": ["ms-64k", "ms-4k"], "threads": [1, 2, 4], "attempts": 2}}
TIMES = {"perf-by-heap": {"builds": ["ms-64k", "ms-4k"], "baseline": "ms-64k", "threads": [24], "heaps": [200]}}


def row(metric, value, build="ms-64k", threads=24, heap=200, invocation=0, benchmark="lusearch", iteration=5):
    return {
        "build": build, "plan": "MarkSweep", "block": 65536, "accounting": "page", "benchmark": benchmark,
        "threads": threads, "heap": heap, "invocation": invocation, "iteration": iteration, "metric": metric,
        "value": value, "unit": "ms", "commit": COMMIT, "processor": PROCESSOR, "jar": "ba9876543210",
    }  # fmt: skip


def data_set(folder, wanted, rows, processor=PROCESSOR):
    """A folder like that of a sweep of which only the results were kept."""
    folder.mkdir(parents=True)
    (folder / "grid.yml").write_text(grid.dump(grid.check(wanted, "here")))
    (folder / "notes.json").write_text("[]")
    facts = {"machines": [{"processor": processor}], "java": "17", "revision": "abc", "packages": {}, "builds": {}}
    (folder / "machine.json").write_text(json.dumps(facts))
    tidy.write(tidy.frame(rows), folder / "results.csv")
    return folder


def minheaps(value):
    return [
        row("minheap", value(threads, build), build, threads, None, iteration=0)
        for threads in (1, 2, 4)
        for build in ("ms-64k", "ms-4k")
    ]


def times(build, values, **changed):
    return [row("time.total", value, build, invocation=place, **changed) for place, value in enumerate(values)]


@pytest.fixture
def results(tmp_path):
    """Writes claims about the data sets that a test has put there, and reads what they come to."""

    def read(*lines):
        (tmp_path / "claims.yml").write_text(yaml.safe_dump([{"title": "All", "claims": lines}]))
        return claims.Results(tmp_path)

    return read


def claim(measure, builds=("ms-64k",), **more):
    return {"id": "a", "claim": "of {build}", "data": "some", "measure": measure, "builds": list(builds), **more}


def test_a_minheap_and_a_slope_are_those_of_the_searches(tmp_path, results):
    data_set(tmp_path / "some", MINHEAP, minheaps(lambda threads, build: 3 + 2 * threads + (build == "ms-4k")))
    answer = results(claim("minheap", threads=4)).answers["a-ms-64k"]
    assert (answer.text, answer.number, answer.interval, answer.estimate.n) == ("of `ms-64k`", "11", "", 1)
    assert answer.source.origin == freshness.Origin(COMMIT[:7], PROCESSOR, "stale")
    assert answer.source.protocol == "iteration 5, 2 attempts at a size, 600 s a run"
    slope = results(claim("slope", digits=2)).answers["a-ms-64k"]
    assert (slope.number, slope.interval, slope.estimate.n) == ("2.00", "2.00 to 2.00", 3)


def test_the_slope_of_a_curve_is_told_to_be_one(tmp_path, results):
    bent = [
        row("minheap", value, build, threads, None, iteration=0)
        for threads in (1, 2, 4, 8, 16, 32)
        for build, value in (("ms-64k", threads**2), ("ms-4k", 3 * threads))
    ]
    data_set(tmp_path / "some", MINHEAP, bent)
    found = results(claim("slope", ["ms-64k", "ms-4k"]))
    assert [found.answers[f"a-{build}"].bend for build in ("ms-64k", "ms-4k")] == ["the mean slope of a curve", ""]
    assert found.bends("a", ["ms-64k", "ms-4k"]) == "`ms-64k`: the mean slope of a curve"


def test_a_slope_of_few_points_is_told_not_to_be_tested(tmp_path, results):
    data_set(tmp_path / "some", MINHEAP, minheaps(lambda threads, _: threads**2))
    found, untested = results(claim("slope", ["ms-64k", "ms-4k"])), "of fewer than 6 points, not tested for a curve"
    assert found.answers["a-ms-64k"].bend == untested
    assert found.bends("a", ["ms-64k", "ms-4k"]) == f"`ms-64k`, `ms-4k`: {untested}"


def trials(counts, build="ms-64k", threads=1):
    """Rows of how many runs passed, failed and took too long by heap size."""
    return [
        row(f"trial.{kind}", number, build, threads, heap, iteration=0)
        for heap, numbers in counts.items()
        for kind, number in zip(("passed", "too-small", "timeout"), numbers, strict=True)
    ]


def test_a_minheap_is_the_heap_in_which_half_of_all_runs_pass_where_they_tell(tmp_path, results):
    counts = {4: (0, 5, 0), 5: (2, 3, 0), 6: (5, 0, 0)}
    searched = [row("minheap", 6, threads=1, heap=None, iteration=0, invocation=place) for place in range(2)]
    data_set(tmp_path / "some", MINHEAP, [*searched, *trials(counts)])
    found = results(claim("minheap", threads=1), {**claim("minheap", threads=1, share=0.95), "id": "b"})
    half, most = found.answers["a-ms-64k"], found.answers["b-ms-64k"]
    fit = thresholds.Fit([4, 5, 6], [0, 2, 5], [5, 3, 0])
    for answer, share in ((half, 0.5), (most, 0.95)):
        wanted = fit.heap(share)
        assert answer.number == f"{wanted.estimate:.1f}"
        assert answer.interval == f"{wanted.low:.1f} to {wanted.high:.1f}"
        assert (answer.estimate.n, answer.confidence) == (15, "95 %")
    assert 4 < half.estimate.low < half.estimate.value < half.estimate.high < 6 and most.estimate.value > 5.5
    assert found.meaning("a") == "the heap in which half of all runs pass"


def test_without_runs_around_it_a_minheap_is_that_of_the_searches(tmp_path, results):
    data_set(tmp_path / "some", MINHEAP, [*minheaps(lambda *_: 5), *trials({4: (0, 5, 0), 5: (5, 0, 0)}, "ms-4k")])
    found = results(
        claim("minheap", ["ms-64k", "ms-4k"], threads=1),
        {**claim("minheap", ["ms-64k", "ms-4k"], threads=1, share=0.95), "id": "b"},
    )
    assert [answer.number for answer in found.answers.values()][:3] == ["5", "4.5", "not measured"]
    assert (found.answers["a-ms-64k"].interval, found.answers["a-ms-64k"].confidence) == ("", "")
    half, searched = "the heap in which half of all runs pass", "the smallest heap in which a run of a search passed"
    assert found.meaning("a") == f"with a decimal {half}, else {searched}"


@pytest.mark.parametrize(("values", "said"), [((10, None, None), "not measured"), ((10, None, 12), "12")])
def test_a_search_without_a_minheap_counts_as_larger_than_all_others(tmp_path, results, values, said):
    searched = [
        row("minheap", value, threads=1, heap=None, iteration=0, invocation=place) for place, value in enumerate(values)
    ]
    data_set(tmp_path / "some", MINHEAP, searched)
    assert results(claim("minheap", threads=1)).answers["a-ms-64k"].number == said


def test_a_minheap_whose_runs_took_too_long_is_marked_and_counts_them(tmp_path, results):
    data_set(tmp_path / "some", MINHEAP, [*minheaps(lambda *_: 6), *trials({5: (0, 2, 3), 6: (5, 0, 0)})])
    found = results(claim("minheap", threads=1))
    assert (found.answers["a-ms-64k"].number, found.answers["a-ms-64k"].estimate.n) == ("5.5†", 10)
    assert found.slow("a") == "†: some of the runs that did not pass ended at the time limit."


def test_the_path_of_a_search_is_no_sample_of_runs(tmp_path, results):
    searched = [
        row(f"trial.{kind}", runs, threads=1, heap=heap, iteration=0)
        for heap, passed in ((8, 1), (6, 1), (5, 1), (4, 0), (3, 0), (2, 0))
        for kind, runs in (("passed", passed), ("too-small", 1 - passed))
    ]
    found = [row("minheap", 5, threads=1, heap=None, iteration=0, invocation=place) for place in range(2)]
    data_set(tmp_path / "some", {"minheap": {**MINHEAP["minheap"], "attempts": 1, "trials": 1}}, [*found, *searched])
    answer = results(claim("minheap", threads=1)).answers["a-ms-64k"]
    assert (answer.number, answer.interval, answer.confidence, answer.estimate.n) == ("5", "", "", 2)
    assert answer.source.protocol == "iteration 5, 1 attempt at a size, 1 more run at each size, 600 s a run"


def test_where_some_builds_are_stale_they_are_named(tmp_path, results, monkeypatch):
    data_set(tmp_path / "some", TIMES, [*times("ms-64k", [100.0]), *times("ms-4k", [200.0])])
    one = claim("ratio", ["ms-4k"], metric="time.total", baseline="ms-64k")
    source = results(one).answers["a-ms-4k"].source
    for stale, said in (
        ({"ms-4k"}, "stale: `ms-4k`; else fresh"),
        ({"ms-64k", "ms-4k"}, "stale"),
        ({"hotspot-G1"}, "fresh"),
    ):
        monkeypatch.setattr(
            freshness, "state", lambda _, of=None, builds=(), old=stale: "stale" if old & builds else "fresh"
        )
        assert source.origin.state == said


def test_a_build_is_stale_where_the_checkout_is_that_has_run_it(tmp_path, results, monkeypatch):
    rows = [{**each, "sitting": place} for place in ("one", "two") for each in times("ms-64k", [100.0])]
    data_set(tmp_path / "some", TIMES, rows)
    file = tmp_path / "some" / "machine.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "sittings": {"one": "1" * 40, "two": "2" * 40}}))
    source = results(claim("median", metric="time.total")).answers["a-ms-64k"].source
    for stale, said in (((), "fresh"), ((COMMIT,), "stale"), (("2" * 40,), "stale")):
        monkeypatch.setattr(freshness, "state", lambda commit, *_, old=stale: "stale" if commit in old else "fresh")
        assert source.origin.state == said


def test_ratios_are_of_medians_and_have_a_verdict(tmp_path, results):
    slow = [1100.0, 1110, 1090, 1105, 1095, 1100]
    data_set(tmp_path / "some", TIMES, [*times("ms-64k", np.array(slow[::-1]) / 1.1), *times("ms-4k", slow)])
    one = claim("ratio", ["ms-4k"], metric="time.total", baseline="ms-64k", threads=24, heap=200, digits=3)
    answer = results(one).answers["a-ms-4k"]
    assert (answer.number, answer.verdict, answer.estimate.n) == ("1.100", "more", 6)
    assert answer.estimate.low < 1.1 < answer.estimate.high
    assert answer.confidence == "95 %"
    assert answer.source.protocol == "iteration 5, 20 JVMs a sitting"
    median = results(claim("median", ["ms-4k"], metric="time.total")).answers["a-ms-4k"]
    assert (median.number, median.estimate.n) == ("1100", 6)


def test_few_samples_have_the_confidence_that_their_range_has(tmp_path, results):
    data_set(tmp_path / "some", TIMES, [*times("ms-64k", [1000.0, 1010, 990]), *times("ms-4k", [1100.0, 1110, 1090])])
    median = results(claim("median", metric="time.total")).answers["a-ms-64k"]
    assert (median.interval, median.confidence, median.estimate.n) == ("990 to 1010", "75 %", 3)
    one = claim("ratio", ["ms-4k"], metric="time.total", baseline="ms-64k", digits=2)
    answer = results(one).answers["a-ms-4k"]
    assert answer.estimate.confidence == analysis.ratio_confidence(3) < 0.92
    # All of the interval is above 1: of six JVMs it would be more.
    assert answer.estimate.low > 1 and answer.verdict == "too few"


def test_a_ratio_is_of_blocks_whose_speed_may_differ(tmp_path, results):
    speeds = np.array([1.0, 1.9, 1.2, 1.6, 1.1, 1.8, 1.4, 1.3])
    data_set(tmp_path / "some", TIMES, [*times("ms-64k", 100 * speeds), *times("ms-4k", 110 * speeds)])
    one = claim("ratio", ["ms-4k"], metric="time.total", baseline="ms-64k", threads=24, heap=200, digits=2)
    answer = results(one).answers["a-ms-4k"]
    assert (answer.number, answer.interval, answer.verdict) == ("1.10", "1.10 to 1.10", "more")


def test_jvms_without_a_metric_are_told(tmp_path, results):
    rows = [*times("ms-64k", [1.0] * 3), *times("ms-4k", [1.0] * 3)]
    rows += [row("cpu.total", 1.0, build, invocation=place) for build in ("ms-64k", "ms-4k") for place in (0, 2)]
    data_set(tmp_path / "some", TIMES, [*rows[:-1], *times("ms-64k", [1.0], heap=100)])
    found = results(
        claim("median", metric="time.total", threads=24, heap=200),
        {**claim("ratio", ["ms-4k"], metric="cpu.total", baseline="ms-64k", threads=24, heap=200), "id": "b"},
    )
    assert found.without("a", "b") == "`cpu.total`: 3 of 6 JVMs have no value of it." and found.without("a") == ""
    assert found.answers["b-ms-4k"].estimate.n == 1


def test_a_mean_is_over_the_cells_that_every_build_ran(tmp_path, results):
    rows = [
        *times("ms-64k", [100.0], benchmark="h2"), *times("ms-4k", [200.0], benchmark="h2"),
        *times("ms-64k", [100.0], benchmark="javac"), *times("ms-4k", [800.0], benchmark="javac"),
        *times("ms-64k", [100.0], benchmark="graph"),
    ]  # fmt: skip
    data_set(tmp_path / "some", TIMES, rows)
    answer = results(claim("mean", ["ms-4k"], metric="time.total", baseline="ms-64k", digits=1)).answers["a-ms-4k"]
    assert (answer.number, answer.estimate.n) == ("4.0", 2)
    assert {program: part.number for program, part in answer.parts.items()} == {"h2": "2.0", "javac": "8.0"}
    assert {part.verdict for part in answer.parts.values()} == {"too few"}


def test_a_program_of_a_mean_has_the_verdict_of_its_jvms(tmp_path, results):
    speeds, rows = (1.0, 1.5, 1.2, 1.9, 1.1, 1.4), []
    for name, ratio in (("h2", 1.5), ("graph", 0.5), ("javac", 1.0)):
        for heap in (50, 100):
            values = [100 * speed for speed in speeds]
            rows += times("ms-64k", values, benchmark=name, heap=heap)
            rows += times("ms-4k", [ratio * value for value in values], benchmark=name, heap=heap)
    data_set(tmp_path / "some", TIMES, rows)
    one = claim("mean", ["ms-4k"], metric="time.total", baseline="ms-64k", digits=2)
    parts = results(one).answers["a-ms-4k"].parts
    assert [(name, part.number, part.verdict) for name, part in parts.items()] == [
        ("graph", "0.50", "less"), ("h2", "1.50", "more"), ("javac", "1.00", "equal within 2%"),
    ]  # fmt: skip
    assert (parts["h2"].estimate.n, parts["h2"].confidence) == (6, "95 %")


def test_the_interval_of_a_mean_is_of_programs_and_not_of_their_cells(tmp_path, results):
    ratios = {"h2": (1.5, 1.6, 1.7), "javac": (1.0, 1.0, 1.0), "graph": (0.5, 0.5, 0.6)}
    rows = [
        row("time.total", value, build, heap=heap, benchmark=name)
        for name, cells in ratios.items()
        for heap, ratio in zip((50, 100, 200), cells, strict=True)
        for build, value in (("ms-64k", 100.0), ("ms-4k", 100.0 * ratio))
    ]
    data_set(tmp_path / "some", TIMES, rows)
    answer = results(claim("mean", ["ms-4k"], metric="time.total", baseline="ms-64k", digits=3)).answers["a-ms-4k"]
    logs = [np.mean(np.log(cells)) for cells in ratios.values()]
    # The 97.5 % quantile of Student's t with two degrees of freedom.
    reach = 4.302653 * np.std(logs, ddof=1) / np.sqrt(3)
    assert answer.number == f"{np.exp(np.mean(logs)):.3f}" and answer.estimate.n == 3
    assert answer.interval == f"{np.exp(np.mean(logs) - reach):.3f} to {np.exp(np.mean(logs) + reach):.3f}"
    # One JVM in each cell.
    assert (answer.confidence, answer.verdict) == ("95 %", "too few")
    assert answer.parts["h2"].number == f"{np.exp(np.mean(np.log(ratios['h2']))):.3f}"


def test_a_column_names_the_commits_of_all_its_builds(tmp_path, results):
    other = [{**each, "commit": "fedcba9", "processor": "Slow 2"} for each in times("ms-4k", [2.0])]
    longer = [{**each, "commit": "fedcba9876543210"} for each in times("hotspot-Serial", [3.0])]
    data_set(tmp_path / "some", TIMES, [*times("ms-64k", [1.0]), *other, *longer])
    found = results(
        claim("median", ["ms-64k", "ms-4k", "hotspot-Serial"], metric="time.total"),
        {**claim("median", ["ms-64k"], metric="cpu.total"), "id": "b"},
    )
    source = found.source("a", "b")
    assert source.origin == freshness.Origin(f"{COMMIT[:7]}, fedcba9", "Fast 1, Slow 2", "stale")
    assert (source.data.name, source.protocol) == ("some", "iteration 5, 20 JVMs a sitting")
    assert found.source("b") is None
    (tmp_path / "page.jinja").write_text('{{ results.source("c") }}')
    with pytest.raises(UserError, match=r"page\.jinja: no claim c"):
        found.render("page.jinja")


def test_builds_stand_beside_the_first_folder_that_has_them(tmp_path, results):
    data_set(tmp_path / "some", TIMES, [*times("ms-64k", [1.0]), *times("ms-64k", [1.0], heap=100)])
    data_set(tmp_path / "archive" / "old", TIMES, [*times("ms-64k", [1.0]), *times("ms-4k", [1.0])])
    found, builds = results(claim("minheap")), ["ms-4k", "ms-64k", "stock-Immix"]
    ran, left = found.ran("full", "time.total", builds, ["none", "some", "archive/old"])
    of_some = "threads 24; heap 100, 200 MiB, without 25, 50, 75, 150, 400"
    of_old = "threads 24; heap 200 MiB, without 25, 50, 75, 100, 150, 400"
    assert (ran, left) == ([("some", ["ms-64k"], of_some), ("archive/old", ["ms-4k"], of_old)], ["stock-Immix"])
    ran, left = found.ran("full", "time.total", builds, ["some", "archive/old"], "heap")
    assert (ran, left) == ([("some", ["ms-64k"], of_some)], ["ms-4k", "stock-Immix"])
    assert found.ran("full", "minheap", builds, ["some"]) == ([], builds)
    assert found.ran("time", "time.total", ["ms-4k"], ["archive/old"])[0][0][2] == "threads 24; heap 200 MiB"


def test_time_at_equal_memory_lies_between_the_heaps_that_hold_more_and_less(tmp_path, results):
    def run(build, heap, held, time):
        return [
            row("resident.peak", held, build, heap=heap, iteration=0), row("time.total", time, build, heap=heap),
        ]  # fmt: skip

    rows = [
        *run("hotspot-Serial", 200, 250.0, 1000.0), *run("hotspot-Serial", 100, 150.0, 1100.0),
        *run("ms-64k", 100, 200.0, 1500.0), *run("ms-64k", 200, 300.0, 1300.0),
        *run("ms-4k", 100, 260.0, 1500.0), *run("ms-4k", 200, 400.0, 1300.0),
    ]  # fmt: skip
    data_set(tmp_path / "some", TIMES, rows)
    builds = ["ms-64k", "ms-4k", "hotspot-Serial"]
    same = dict(metric="time.total", baseline="hotspot-Serial", threads=24, heap=200)
    found = results(claim("equal-memory", builds, **same)).answers
    assert (found["a-ms-64k"].number, found["a-hotspot-Serial"].number) == ("1367", "1000")
    assert found["a-ms-4k"].estimate is None


def test_time_at_equal_memory_is_that_of_a_time_that_falls_by_the_inverse_of_the_heap(tmp_path, results):
    rows = [
        row(metric, value, build, heap=heap, iteration=iteration)
        for heap in (50, 100, 400)
        for build, held in (("hotspot-Serial", 300), ("ms-64k", 150 + heap))
        for metric, value, iteration in (("resident.peak", held, 0), ("time.total", 1000 + 60_000 / heap, 5))
    ]
    data_set(tmp_path / "some", TIMES, rows)
    same = dict(metric="time.total", baseline="hotspot-Serial", threads=24, heap=100)
    answer = results(claim("equal-memory", **same)).answers["a-ms-64k"]
    assert (answer.number, answer.interval, answer.confidence) == ("1400", "too few", "")


def of_heaps(heaps, blocks, spread, chance):
    """Runs of Serial that hold 300 MiB and take 1000 ms, and of ms-64k in some heaps, which hold 150 MiB more than these."""
    rows = []
    for heap in heaps:
        for place in range(blocks):
            speed = 1 + spread * chance.uniform(-1, 1)
            for build, held, time in (("hotspot-Serial", 300, 1000), ("ms-64k", 150 + heap, 1000 + 60_000 / heap)):
                noise = 1 + spread / 10 * chance.uniform(-1, 1, 2)
                rows.append(row("resident.peak", held * noise[0], build, heap=heap, invocation=place, iteration=0))
                rows.append(row("time.total", time * speed * noise[1], build, heap=heap, invocation=place))
    return rows


def test_time_at_equal_memory_has_an_interval_by_bootstrap(tmp_path, results):
    data_set(tmp_path / "some", TIMES, of_heaps((50, 100, 400), 8, 0.1, np.random.default_rng(1)))
    same = dict(metric="time.total", baseline="hotspot-Serial", threads=24, heap=100, digits=3)
    found = results(
        claim("equal-memory", **same), {**claim("equal-memory-ratio", **same), "id": "b"},
        {**claim("equal-memory-ratio", ["ms-64k", "hotspot-Serial"], **same), "id": "c"},
    )  # fmt: skip
    time, ratio = (found.answers[f"{each}-ms-64k"].estimate for each in ("a", "b"))
    assert time.low < 1400 < time.high and ratio.low < 1.4 < ratio.high
    assert time.n == 8 and found.answers["b-ms-64k"].confidence == "95 %" and "c-hotspot-Serial" not in found.answers
    # A heap of 100 MiB has the time, and the machine's speed is that of both builds in each of its blocks.
    assert time.high / time.low < 1.3 and ratio.high / ratio.low < 1.1


def test_an_end_at_equal_memory_that_no_heap_bounds_is_unknown(tmp_path, results):
    rows = of_heaps((148, 400), 8, 0.1, np.random.default_rng(2))
    data_set(tmp_path / "some", TIMES, rows)
    same = dict(metric="time.total", baseline="hotspot-Serial", threads=24, heap=148)
    answer = results(claim("equal-memory", **same)).answers["a-ms-64k"]
    assert np.isfinite(answer.estimate.low) and np.isnan(answer.estimate.high)
    assert answer.interval.endswith(" to unknown")


def test_a_minheap_whose_next_smaller_heap_was_too_slow_is_marked(tmp_path, results):
    slow = [
        row(f"minheap.by-{why}", 1, "ms-4k", threads, None, iteration=0)
        for threads, why in ((2, "timeout"), (4, "overhead"))
    ]
    data_set(tmp_path / "some", MINHEAP, [*minheaps(lambda threads, build: 3 + threads), *slow])
    found = results(
        claim("minheap", ["ms-64k", "ms-4k"], threads=4), {**claim("minheap", threads=4), "id": "b"},
        {**claim("slope", ["ms-64k", "ms-4k"]), "id": "c"},
    )  # fmt: skip
    assert [answer.number for answer in found.answers.values()] == ["7", "7+", "7", "1", "1*+"]
    gave_up = '+: in the next smaller heap the JVM gave up: "GC overhead limit exceeded".'
    assert (found.slow("a"), found.slow("b")) == (gave_up, "")
    assert (found.slow("a", builds=["ms-64k"]), found.slow("a", builds=["ms-4k"])) == ("", gave_up)
    assert found.slow("b", "c") == f"*: in the next smaller heap it was too slow for the time limit. {gave_up}"
    assert found.number("a", "ms-4k") == "7+"


@pytest.mark.parametrize(
    ("own", "others", "said"),
    [
        ((6, 8), ((7, 9), (6, 7)), "undecided"), ((6, 8), ((9, 10), (8.5, 9)), "less"), ((12, 13), ((9, 10), (8, 9)), "more"),
        ((6, 8), ((9, 10), (4, 5)), "undecided"), ((6, 8), ((9, float("nan")),), "too few"), ((6, 8), (), "not measured"),
        ((float("nan"),) * 2, ((9, 10),), "too few"),
    ],
)  # fmt: skip
def test_minheaps_are_compared_by_their_intervals(own, others, said):
    def answer(ends):
        return claims.Answer("a", "", 0, claims.Estimate(7, *ends))

    unknown = claims.Answer("a", "", 0)
    assert answer(own).beside(*map(answer, others), unknown) == said
    assert unknown.beside(answer(own)) == "not measured"


@pytest.mark.parametrize("ends", [(1.1, float("nan")), (float("nan"), float("nan"))])
def test_an_interval_that_lacks_an_end_decides_nothing(ends):
    assert claims.Answer("a", "", 0, claims.Estimate(7, *ends)).verdict == "undecided"
    assert claims.Answer("a", "", 0).verdict == "not measured"


def test_what_is_not_measured_is_said_to_be_so(tmp_path, results):
    data_set(tmp_path / "some", TIMES, times("ms-64k", [1.0]))
    lines = [
        claim("minheap", threads=1), {**claim("median", metric="time.total"), "id": "b", "data": "none"},
        {**claim("ratio", metric="time.total", baseline="ms-4k"), "id": "c"},
    ]  # fmt: skip
    found = results(*lines)
    assert [answer.number for answer in found.answers.values()] == ["not measured"] * 3
    assert found.number("a", "ms-64k") == "" == found.number("nothing", "ms-64k")


def test_bad_claims_and_templates_get_one_line(tmp_path, results):
    with pytest.raises(UserError, match=r"claims\.yml: .*measure.*"):
        results(claim("guess"))
    found = results(claim("minheap"))
    (tmp_path / "page.jinja").write_text('{{ get("b-ms-64k").number }}')
    with pytest.raises(UserError, match=r"page\.jinja: no claim b-ms-64k"):
        found.render("page.jinja")
    with pytest.raises(UserError, match="the front page has no <!-- begin"):
        claims.front("no marks", "a.jinja", "block")


def test_a_block_of_the_front_page_is_replaced_and_nothing_else():
    (begin, end), other = claims.marks("a.jinja"), "\nother\n".join(claims.marks("b.jinja"))
    page = f"before\n{other}\n{begin}\nold\n{end}\nafter\n"
    replaced = f"before\n{other}\n{begin}\n\nnew\n\n{end}\nafter\n"
    assert claims.front(page, "a.jinja", " new \n") == replaced


def test_sittings_of_one_grid_are_pooled_and_their_invocations_counted_on(tmp_path):
    folders = [data_set(tmp_path / name, TIMES, times("ms-64k", [1.0, 2.0])) for name in ("first", "second")]
    target = record.record("time", folders, tmp_path / "results")
    table, notes = sweep.results(target)
    assert list(table["invocation"]) == [0, 1, 2, 3] and notes == []
    assert list(table["sitting"]) == ["first", "first", "second", "second"]
    assert set(table["jar"]) == {"ba9876543210"}
    facts = sweep.read_machine(target)
    assert facts["machines"] == [{"processor": PROCESSOR}] and facts["sittings"] == {"first": "abc", "second": "abc"}
    assert "Total time" in (target / "tables.md").read_text()


def test_what_is_not_to_be_pooled_is_refused(tmp_path):
    one = data_set(tmp_path / "one", TIMES, times("ms-64k", [1.0]))
    other = data_set(tmp_path / "other", TIMES, times("ms-64k", [1.0]), "Slow 2")
    minheap = data_set(tmp_path / "minheap", MINHEAP, minheaps(lambda *_: 3))
    empty = data_set(tmp_path / "empty", TIMES, [])
    results = tmp_path / "results"
    for folders, why in (
        ([one, other], "different processors, Fast 1 and Slow 2"), ([one, minheap], "of different grids"),
        ([empty], "has no results"), ([tmp_path / "nothing"], r"has no grid\.yml"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=why):
            record.record("time", folders, results)
    with pytest.raises(UserError, match="no name for a data set"):
        record.record("../time", [one], results)
    assert not results.exists()


def same_but_for_age(text):
    """Whether a result is fresh changes with each commit: pages are made again for that by hand."""
    return re.sub(r"stale: [^;|]*; else fresh|\b(fresh|stale)\b", "aged", text)


def test_the_pages_are_those_that_the_data_sets_make(tmp_path):
    results = shutil.copytree(
        record.RESULTS, tmp_path / "results", ignore=shutil.ignore_patterns("plots", "report.html")
    )
    page = tmp_path / "README.md"
    shutil.copy(catalog.ROOT / "README.md", page)
    pages = page, results / claims.PAGE, results / "calibration" / claims.PAGE
    before = [each.read_text() for each in pages]
    assert set(claims.write(results, page)) == set(pages)
    after = [each.read_text() for each in pages]
    assert list(map(same_but_for_age, after)) == list(map(same_but_for_age, before)), "run `shardsweep results`"


def test_the_page_says_what_runs_the_code_of_a_commit_that_makes_no_other_result_stale(tmp_path, monkeypatch):
    for name in ("claims.yml", claims.PAGE_TEMPLATE):
        shutil.copy(record.RESULTS / name, tmp_path / name)
    some = {"commit": COMMIT.ljust(40, "0"), "why": "some"}
    unmeasured = [
        freshness.Unmeasured(**some, **runs)
        for runs in (
            {}, {"but_for_minheaps": True}, {"but_for": {"stock-Immix", "ms-4k"}},
            {"but_for": {"ms-4k"}, "but_for_minheaps": True, "but_for_programs": True},
        )
    ]  # fmt: skip
    monkeypatch.setattr(freshness, "unmeasured", lambda: unmeasured)
    text = claims.Results(tmp_path).render(claims.PAGE_TEMPLATE)
    assert [line for line in text.splitlines() if line.startswith(f"- {COMMIT[:7]}")] == [
        f"- {COMMIT[:7]}: some{exceptions}"
        for exceptions in (
            "", "; but for minheaps", "; but for `ms-4k`, `stock-Immix`",
            "; but for `ms-4k`, minheaps, programs other than lusearch",
        )
    ]  # fmt: skip


def test_pages_of_nothing_that_was_measured_say_so(tmp_path):
    for name in ("claims.yml", claims.PAGE_TEMPLATE, *claims.FRONT_TEMPLATES):
        shutil.copy(record.RESULTS / name, tmp_path / name)
    found = claims.Results(tmp_path)
    text = found.render(claims.PAGE_TEMPLATE)
    assert "| `time/`, not measured |" in text and text.count("Not measured.") == len(found.sections)
    assert "| unknown | unknown | unknown |" in text and "none of `ms-64k`" in text
    assert "Nothing yet" in found.render(claims.FRONT_TEMPLATES[0])
    assert "Measured on" not in found.render(claims.FRONT_TEMPLATES[1])


# What the templates may say in figures: names, sizes and settings, no results.
LITERAL = re.compile(
    r"`[^`]*`|\d+ (KiB|MiB\b(?= a JVM)|threads?)|\(2023\)|heap of 200 MiB|[Tt]ime in 200 MiB|95 %|\"[^\"]*\""
)


@pytest.mark.parametrize("name", [claims.PAGE_TEMPLATE, *claims.FRONT_TEMPLATES])
def test_no_result_is_typed_into_a_template(name):
    text = re.sub(r"\{[{%].*?[%}]\}", "", (record.RESULTS / name).read_text(), flags=re.S)
    typed = [line for line in text.splitlines() if re.search(r"\d", LITERAL.sub("", line))]
    assert typed == []


def test_each_median_on_the_page_is_that_of_its_csv():
    """Computed here once more, without the code that makes the page."""
    found = claims.Results()
    for section in found.sections:
        for one in section.claims:
            file = record.RESULTS / one.data / "results.csv"
            if one.measure not in ("minheap", "median") or one.share != 0.5 or not file.is_file():
                continue
            table = pd.read_csv(file)
            around = table[table["metric"].str.startswith("trial.") & (table["threads"] == one.threads)]
            slow = table[(table["metric"] == "minheap.by-timeout") & (table["threads"] == one.threads)]
            table = table[(table["metric"] == one.metric) & (table["benchmark"] == one.benchmark)]
            table = table[(table["threads"] == one.threads) & table["value"].notna()]
            if one.heap:
                table = table[table["heap"] == one.heap]
            for build in one.builds:
                number = found.answers[f"{one.id}-{build}"].number
                if one.measure == "minheap" and build in set(around["build"]):
                    assert_is_between(float(number.rstrip("†")), around[around["build"] == build])
                    continue
                own = table[table["build"] == build]
                own = own[own["iteration"] == own["iteration"].max()]
                wanted = f"{own['value'].median():.{one.digits}f}" if len(own) else "not measured"
                wanted += "*" if one.measure == "minheap" and build in set(slow["build"]) else ""
                assert number == wanted


def assert_is_between(minheap, runs):
    """It is between the last heap in which no run passed and the first from which on all did."""
    counts = runs.pivot_table(index="heap", columns="metric", values="value", aggfunc="sum").fillna(0)
    passed = counts.pop("trial.passed")
    failed = counts.sum(axis="columns")
    none = [heap for heap in counts.index if not passed[:heap].any()]
    every = [heap for heap in counts.index if not failed[heap:].any()]
    assert max(none, default=0) <= minheap <= min(every)


PAGE = (record.RESULTS / claims.PAGE).read_text()


@pytest.mark.parametrize("folder", sorted(record.RESULTS.glob("*/grid.yml")), ids=lambda file: file.parent.name)
def test_the_command_of_a_data_set_is_of_its_grid_and_its_preset_is_told_apart(folder):
    folder = folder.parent
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| [`{folder.name}/`]({folder.name}/) |")]
    *_, command, beside, _ = (cell.strip() for cell in line.strip("| ").split(" | "))
    _, *arguments = command.strip("`").split()
    options = cli._parser().parse_args(arguments)
    recorded = grid.load(folder / point.GRID_FILE)
    assert grid.load(catalog.ROOT / options.grid) == recorded and not options.out.is_absolute()
    whole = [one.model_dump(exclude={"about"}) for one in (recorded, grid.preset(folder.name))]
    assert (beside == "the same") == (whole[0] == whole[1])
    assert beside == presets.beside(recorded, folder.name)
    # A report does not say of a part what a preset says of the whole.
    assert (presets.about(recorded) == recorded.about) == (beside == "the same")


@pytest.mark.parametrize("folder", sorted(record.RESULTS.glob("*/grid.yml")), ids=lambda file: file.parent.name)
def test_the_rows_of_a_data_set_are_of_its_grid(folder):
    table, whole = pd.read_csv(folder.parent / sweep.RESULTS), grid.load(folder)
    sittings = table["sitting"].nunique()
    for experiment in whole.experiments().values():
        measure = "minheap" if experiment is whole.minheap else "time.total"
        rows = table[table["metric"] == measure]
        assert set(rows["build"]) <= set(whole.builds()) and set(rows["benchmark"]) <= set(experiment.benchmarks)
        assert set(rows["threads"]) <= set(experiment.threads)
        if measure == "time.total":
            assert rows["iteration"].max() == experiment.iterations
            assert rows["invocation"].nunique() == experiment.invocations * sittings
            assert set(rows["heap"]) <= set(experiment.heaps) or set(rows["factor"]) <= set(experiment.factors)


def test_the_pages_say_how_noisy_each_data_set_is():
    """Computed here once more, without the code that makes the page."""
    for folder in sorted(file.parent for file in record.RESULTS.glob("*/grid.yml")):
        table = pd.read_csv(folder / sweep.RESULTS)
        whole = table[table["iteration"] == 0]
        totals = whole.groupby("metric")["value"].sum()
        probes = whole.loc[whole["metric"] == "machine.probe", "value"]
        slower = np.percentile(probes, 95) / np.percentile(probes, 5) - 1 if len(probes) else 0
        (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| [`{folder.name}/`]({folder.name}/) |")]
        said, share = line.strip("| ").split(" | ")[-1], totals.get("machine.others", 0) / totals.get("time.process", 1)
        assert (f"other processes {share * 100:.0f} %" in said) == ("time.process" in totals), folder.name
        assert (f"speed {slower * 100:.0f} %" in said) == (len(probes) > 0), folder.name
        assert ("(noisy)" in said) == (share > 0.02 or slower > 0.1), folder.name


def test_a_noisy_data_set_is_told_to_be_so(tmp_path):
    rows = [row("time.process", 10_000.0, iteration=0), row("machine.steal", 10.0, iteration=0)]
    for name, others, said in (("one", 100.0, "1 %, host 0 %"), ("two", 300.0, "3 %, host 0 % (noisy)")):
        data_set(tmp_path / name, TIMES, [*rows, row("machine.others", others, iteration=0)])
        assert claims.DataSet(tmp_path, name).noise == f"other processes {said}"
    data_set(tmp_path / "three", MINHEAP, minheaps(lambda *_: 3))
    assert claims.DataSet(tmp_path, "three").noise == ""
    probes = [row("machine.probe", value, invocation=number, iteration=0) for number, value in enumerate((20.0, 30.0))]
    data_set(tmp_path / "four", TIMES, [*rows, *probes])
    assert claims.DataSet(tmp_path, "four").noise == "host 0 %, speed 44 % (noisy)"


def test_builds_that_the_page_says_were_run_are_in_the_data_and_the_others_are_not():
    """Computed here once more, without the code that makes the page."""
    ran = re.findall(r"\[`([a-z0-9/-]+)/`\]\(\1/\): ((?:`[\w-]+`(?:, )?)+)", PAGE)
    assert {"memory", "minheap", "archive/minheap-first"} <= {folder for folder, _ in ran}
    for folder, names in ran:
        builds = set(re.findall(r"`([\w-]+)`", names))
        assert builds <= set(pd.read_csv(record.RESULTS / folder / sweep.RESULTS)["build"]), folder
    memory = next(line for line in PAGE.splitlines() if line.startswith("| 6.2.2"))
    assert "malloc" not in memory.split(" | ")[3] and "`malloc-libc`" in memory.split(" | ")[4]


def test_marks_of_slow_minheaps_are_told_below_each_table():
    front = (catalog.ROOT / "README.md").read_text()
    for page in (front, PAGE):
        for part in re.split(r"^## |<!-- (?:begin|end)", page, flags=re.M):
            marked = re.search(r"^\|.*\b\d+\* \|", part, flags=re.M)
            assert bool(marked) <= ("*: in the next smaller heap it was too slow for the time limit." in part)


def test_commits_have_one_length_on_the_pages():
    tables = [line for line in PAGE.splitlines() if line.startswith("|")]
    front = re.findall(r"commits ([^A-Z]*),", (catalog.ROOT / "README.md").read_text())
    names = re.findall(r"\b(?=[a-f]*\d)[0-9a-f]{7,40}\b", "\n".join([*tables, *front]))
    assert len(names) > 50 and {len(name) for name in names} == {freshness.DIGITS}


def test_the_minheaps_beside_those_of_the_real_lusearch_are_the_recorded_ones():
    """Computed here once more, without the code that makes the page."""
    table = pd.read_csv(record.RESULTS / "minheap" / sweep.RESULTS)
    found = table[table["metric"] == "minheap"].groupby(["build", "threads"])["value"].median()
    page = (record.RESULTS / "calibration" / claims.PAGE).read_text()
    rows = {
        "`ms-64k` with 1, 12, 24, 48 threads": [found["ms-64k", each] for each in (1, 12, 24, 48)],
        "`ms-4k` with 48": [found["ms-4k", 48]],
        "MarkCompact with 48": [found["stock-MarkCompact", 48]],
        "Serial with 48": [found["hotspot-Serial", 48]],
    }
    for title, ours in rows.items():
        (line,) = [line for line in page.splitlines() if line.startswith(f"| {title} |")]
        real, told = ([float(each) for each in cell.split(", ")] for cell in line.strip("| ").split(" | ")[1:])
        assert told == ours, title
        apart = {one: other for one, other in zip(real, told, strict=True) if abs(other / one - 1) > 0.15}
        assert apart == ({12.0: 15.0} if "MarkCompact" in title else {})
    assert "MarkCompact needs 15 MiB with 48 threads in place of 12, which is 25 % more" in " ".join(page.split())


def test_what_lusearch_allocates_is_what_was_counted():
    """Computed here once more, without the code that makes the page."""
    counted = pd.read_csv(record.RESULTS / "calibration" / "allocations.csv").query("benchmark == 'lusearch'")
    page = (record.RESULTS / "calibration" / claims.PAGE).read_text()
    bytes_ = counted.assign(bytes=counted["size"] * counted["objects"]).groupby("run")["bytes"].sum()
    told = re.findall(r"^\| (objects|bytes) a batch \| [\d,]+ \| ([\d,]+) \|", page, flags=re.M)
    wanted = {"objects": counted.groupby("run")["objects"].sum().median(), "bytes": bytes_.median()}
    assert {what: int(number.replace(",", "")) for what, number in told} == {
        what: round(number / 16) for what, number in wanted.items()
    }
