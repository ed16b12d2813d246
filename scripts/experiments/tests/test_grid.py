# SPDX-License-Identifier: MIT OR Apache-2.0
"""Grids: the presets, the points, and what a malformed one says."""

import tomllib

import pytest

from shardsweep import catalog, grid, point, probe, published
from shardsweep.errors import UserError

MINIMAL = {"minheap": {"builds": ["ms-64k"], "threads": [1]}}


@pytest.mark.parametrize("name", grid.presets())
def test_presets_name_only_builds_and_suites_that_are_configured(name):
    whole = grid.load(grid.PRESETS / f"{name}.yml")
    for experiment in whole.experiments().values():
        assert {build.name for build in catalog.choose(experiment.builds)} == set(experiment.builds)
        assert experiment.suite in catalog.configuration().get("suites")


def test_quick_and_full_cover_what_they_promise():
    quick = grid.load(grid.PRESETS / "quick.yml").minheap
    assert quick.threads == [1, 12, 24, 48]
    assert {"ms-64k", "ms-64k-block", "ms-4k", "stock-MarkSweep", "stock-MarkCompact"} == set(quick.builds)
    full = grid.load(grid.PRESETS / "full.yml")
    assert full.minheap.threads == [1, 6, 12, 18, 24, 30, 36, 42, 48]
    assert full.perf_by_heap.invocations == full.perf_by_threads.invocations == 20
    assert set(full.experiments()) == {"minheap", "perf-by-heap", "perf-by-threads", "rss"}


def test_every_plugin_that_a_build_names_can_be_made():
    table = tomllib.loads((catalog.ROOT / "mmtk" / "builds.toml").read_text())
    named = {build.plugin for build in catalog.builds().values()} - {None}
    assert named <= set(table) and len(named) > 10


def test_full_has_a_counterpart_of_every_build_that_the_report_measures():
    full = grid.load(grid.PRESETS / "full.yml")
    assert set(published.COUNTERPARTS) <= set(full.minheap.builds)
    assert set(published.minheaps()["threads"]) <= set(full.minheap.threads)


def test_every_build_runs_with_its_own_plugin_and_plan():
    builds = catalog.builds()
    assert builds["stock-Immix"].config == "jdk|common|stock|mmtk_gc-Immix"
    assert builds["stock-Immix"].plan == "Immix"
    assert builds["hotspot-G1"].plan == "G1"
    for name, build in builds.items():
        if name.startswith(("ms-", "malloc-")):
            plugin = name.removesuffix(f"-{build.plan}").removesuffix("-small-pages")
            assert build.plan == "MarkSweep" or plugin != name
            assert build.config.split("|")[2] == plugin.replace("-", "_")
    assert builds["ms-64k-StickyMarkSweep"].plan == "StickyMarkSweep"
    assert builds["ms-64k-small-pages"].config == "jdk|common|ms_64k|small_pages|mmtk_gc-MarkSweep"
    assert builds["hotspot-Serial-huge-pages"].plan == "Serial"


def test_points_have_names_of_their_own_and_go_round_the_builds():
    whole = grid.check(
        {
            "minheap": {"builds": ["ms-64k", "ms-4k"], "threads": [1, 24], "repeats": 2},
            "perf-by-heap": {
                "builds": ["ms-64k", "ms-4k"],
                "baseline": "ms-4k",
                "threads": [24],
                "heaps": [50, 100],
                "invocations": 3,
            },
            "perf-by-threads": {
                "builds": ["ms-64k", "ms-4k"],
                "baseline": "ms-4k",
                "threads": [24],
                "heaps": [50],
                "invocations": 2,
            },
        },
        "test",
    )
    points = grid.points(whole)
    assert len(points) == len({point.id for point in points}) == 8 + 6 + 2
    performance = [point for point in points if point.heap]
    assert all(point.builds == ("ms-64k", "ms-4k") for point in performance)
    # The same cell is measured by both experiments, each time as another invocation.
    cells = [(point.threads, point.heap, point.invocation) for point in performance]
    assert len(set(cells)) == len(cells)


def test_what_is_written_down_reads_back_the_same():
    whole = grid.check(MINIMAL, "test")
    import yaml

    assert grid.check(yaml.safe_load(grid.dump(whole)), "test") == whole


def changed(**values):
    return {"minheap": {**MINIMAL["minheap"], **values}}


PERFORMANCE = {"builds": ["ms-4k"], "threads": [1], "heaps": [10]}
COMPARED = {**PERFORMANCE, "builds": ["ms-4k", "ms-64k"], "baseline": "ms-4k"}


def two(**values):
    """Both performance experiments, the second with these values."""
    return {"perf-by-heap": COMPARED, "perf-by-threads": {**COMPARED, **values}}


def test_performance_experiments_may_differ_in_what_their_tables_tell_apart():
    whole = grid.check(two(threads=[2], heaps=[20], invocations=3, limit=5, builds=["ms-4k"]), "test")
    assert whole.perf_by_threads.heaps == [20]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([], "expected experiments by name"),
        ({}, "names no experiment"),
        ({"minheaps": {}}, "minheaps: Extra inputs are not permitted"),
        ({"minheap": {"builds": ["ms-64k"]}}, "minheap.threads: Field required"),
        (changed(threads=[]), "minheap.threads: List should have at least 1 item"),
        (changed(threads=["many"]), "minheap.threads.0: Input should be a valid integer"),
        (changed(threads=[-1]), "minheap.threads.0: Input should be greater than or equal to 0"),
        (changed(threads=[6, 6]), "minheap.threads: lists a value twice"),
        (changed(builds=["../x"]), "minheap.builds.0: String should match pattern"),
        (changed(start=64, largest=32), "minheap.largest: is smaller than start"),
        ({"perf-by-heap": PERFORMANCE}, "perf-by-heap.baseline: Field required"),
        ({"perf-by-heap": {**PERFORMANCE, "baseline": "ms-64k"}}, "ms-64k is not one of the builds"),
        *(
            (two(**{name: value}), f"perf-by-heap and perf-by-threads share their tables: {name} must be the same")
            for name, value in {
                "suite": "dacapobach",
                "size": "small",
                "iterations": 7,
                "modifiers": ["t-1"],
                "baseline": "ms-64k",
            }.items()
        ),
    ],
)
def test_malformed_grids_are_refused_in_one_line(content, said):
    with pytest.raises(UserError) as caught:
        grid.check(content, "mine.yml")
    message = str(caught.value)
    assert message.startswith("grid mine.yml: ")
    assert said in message
    assert "\n" not in message and ": :" not in message


MULTIPLES = {
    "minheap": {"benchmarks": ["lusearch", "xalan"], "builds": ["stock-MarkCompact", "ms-4k"], "threads": [1, 24],
                "repeats": 2},
    "perf-by-heap": {"benchmarks": ["xalan"], "builds": ["ms-64k", "ms-4k"], "baseline": "ms-4k", "threads": [24],
                     "factors": [1.5, 6], "minheap_of": "stock-MarkCompact", "invocations": 1},
}  # fmt: skip


def test_a_factor_needs_the_minheaps_of_its_own_benchmark_and_threads():
    whole = grid.check(MULTIPLES, "test")
    minheaps, timed = whole.minheap, [each for each in grid.points(whole) if each.experiment == "perf-by-heap"]
    assert [each.id for each in timed] == ["perf-by-heap/xalan/x1.5/t24-0", "perf-by-heap/xalan/x6/t24-0"]
    for each in timed:
        assert [one.id for one in grid.needed(whole, each)] == [
            f"minheap/xalan/stock-MarkCompact/t24-{repeat}" for repeat in range(minheaps.repeats)
        ]
        assert set(grid.needed(whole, each)) <= set(grid.points(whole))
    assert not any(grid.needed(whole, each) for each in grid.points(whole) if each.experiment == "minheap")


@pytest.mark.parametrize(
    "experiment, change, said",
    [
        ("perf-by-heap", {"heaps": [50]}, "either heaps or factors"),
        ("perf-by-heap", {"factors": []}, "either heaps or factors"),
        ("perf-by-heap", {"minheap_of": None}, "factors and minheap_of need each other"),
        ("perf-by-heap", {"minheap_of": "stock-Immix"}, "no minheap of stock-Immix"),
        ("perf-by-heap", {"benchmarks": ["fop", "xalan"]}, "minheaps of the benchmarks fop"),
        ("perf-by-heap", {"threads": [24, 48]}, "minheaps of the threads 48"),
        ("perf-by-heap", {"factors": [0]}, "perf-by-heap.factors.0"),
        ("minheap", {"suite": "dacapobach"}, "of the same suite"),
        ("minheap", {"size": "small"}, "of the same size"),
    ],
)
def test_factors_without_their_minheaps_are_refused(experiment, change, said):
    with pytest.raises(UserError) as caught:
        grid.check({**MULTIPLES, experiment: {**MULTIPLES[experiment], **change}}, "mine.yml")
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_missing_build_takes_the_factors_of_its_minheap_with_it():
    left, lines = grid.without(grid.check(MULTIPLES, "test"), {"stock-MarkCompact": "not built"})
    assert left.minheap.builds == ["ms-4k"] and left.perf_by_heap is None
    assert "perf-by-heap is left out" in lines[1] and "stock-MarkCompact" in lines[1]


def test_another_suite_goes_to_every_experiment():
    changed_to = grid.with_suite(grid.check(MULTIPLES, "test"), "dacapobach")
    assert {each.suite for each in changed_to.experiments().values()} == {"dacapobach"}


def test_builds_that_are_missing_leave_the_rest():
    whole = grid.check(
        {
            **changed(builds=["ms-64k", "ms-4k"]),
            "perf-by-heap": {**PERFORMANCE, "builds": ["ms-64k", "ms-4k"], "baseline": "ms-4k"},
        },
        "test",
    )
    left, lines = grid.without(whole, {"ms-4k": "not built"})
    assert left.minheap.builds == ["ms-64k"]
    assert left.perf_by_heap is None
    assert lines[0] == "build ms-4k is left out: not built"
    assert "perf-by-heap is left out" in lines[1]
    with pytest.raises(UserError, match="nothing to measure"):
        grid.without(whole, {"ms-4k": "not built", "ms-64k": "not built"})


def test_the_order_of_builds_is_of_chance_and_the_same_each_time_in_a_sitting():
    whole = grid.check(
        {"perf-by-heap": {"builds": list("abcd"), "baseline": "a", "threads": [1], "heaps": [50], "invocations": 60}},
        "test",
    )
    orders, again, others = (
        [tuple(probe.order(each, list(each.builds), sitting)) for each in grid.points(whole)]
        for sitting in ("monday", "monday", "tuesday")
    )
    assert orders == again
    # One in 24 is the same by chance.
    assert sum(one == other for one, other in zip(orders, others, strict=True)) < 10
    # Each build is first, and second, and so on, about as often as any other.
    for place in range(4):
        counts = [sum(1 for order in orders if order[place] == name) for name in "abcd"]
        assert sum(counts) == 60 and min(counts) >= 6
    assert len(set(orders)) > 15


def test_a_point_has_the_order_of_the_sitting_that_its_folder_is(tmp_path, monkeypatch):
    experiment = {"builds": list("abcdefgh"), "baseline": "a", "threads": [1], "heaps": [50], "invocations": 1}
    whole = grid.check({"perf-by-heap": experiment}, "test")
    (one,) = grid.points(whole)
    ran = []
    monkeypatch.setattr(point, "_run", lambda folder, point, whole, builds, heap: ran.append(builds) or [])
    for sitting in ("monday", "tuesday"):
        point._performance(tmp_path / sitting, one, whole, list(one.builds), 50)
    assert ran == [probe.order(one, list(one.builds), sitting) for sitting in ("monday", "tuesday")]
    assert ran[0] != ran[1]
