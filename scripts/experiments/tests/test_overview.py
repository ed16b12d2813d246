# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a report begins with: the data of its plots, and that a browser draws them relative to the build that is clicked."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from shardsweep import analysis, catalog, draw, figures, overview, report, thresholds, tidy


def row(metric, value, build="ms-64k", heap=50, invocation=0, threads=24, iteration=5):
    return {
        "build": build, "plan": "MarkSweep", "benchmark": "lusearch", "threads": threads, "heap": heap,
        "invocation": invocation, "iteration": iteration, "metric": metric, "value": value, "unit": "ms",
    }  # fmt: skip


def times(build, values, metric="time.total", heap=50):
    iteration = 0 if metric == "resident.peak" else 5
    return [row(metric, value, build, heap, place, iteration=iteration) for place, value in enumerate(values)]


def test_builds_are_sorted_and_have_intervals_and_ratios_to_each_other():
    table = tidy.frame([*times("slow", [200.0, 220, 210]), *times("fast", [100.0, 110, 105]), *times("once", [160.0])])
    (cell,) = overview.data(table)["cells"]
    assert cell["name"] == "lusearch, 24 threads, 50 MiB"
    (panel,) = cell["panels"]
    assert (panel["title"], panel["unit"]) == ("Total time", "ms")
    assert panel["builds"] == ["fast", "once", "slow"] and panel["samples"] == [3, 1, 3]
    assert panel["values"] == [[105, 100, 110], [160, None, None], [210, 200, 220]]
    of_fast = panel["ratios"]["fast"]
    assert of_fast[0] == [1, None, None] and of_fast[1] == [1.6, None, None], "of the first block"
    assert of_fast[2][0] == 2 and of_fast[2][1:] == [2, 2], "in each block one took twice the time of the other"
    assert panel["verdicts"]["fast"] == ["", "too few, n = 1", "too few, n = 3, 75%"]


def test_verdicts_are_those_of_the_tables():
    table = tidy.frame([*times("slow", [200.0 + each for each in range(6)]), *times("fast", [100.0] * 6)])
    (panel,) = overview.data(table)["cells"][0]["panels"]
    assert panel["verdicts"] == {"fast": ["", "more, n = 6, 95%"], "slow": ["less, n = 6, 95%", ""]}


def test_intervals_are_those_of_the_tables():
    table = tidy.read(catalog.ROOT / "results" / "archive" / "time-foreground" / "results.csv")
    (cell,) = overview.data(table)["cells"]
    panel = next(each for each in cell["panels"] if each["title"] == "Total time")
    ratios = analysis.relative(figures.timed(table), "time.total", "ms-64k").set_index("build")
    compared = 0
    for build, (ratio, low, high) in zip(panel["builds"], panel["ratios"]["ms-64k"], strict=True):
        if build != "ms-64k":
            wanted = ratios.loc[build]
            assert ratio == pytest.approx(wanted["ratio"])
            assert (low, high) == (wanted["low"], wanted["high"])
            compared += 1
    assert compared == 3


def test_an_end_of_an_interval_that_is_not_there_is_none():
    table = tidy.frame([*times("a", [1.0, 2, 3], "collections"), *times("b", [0.0, 1, 1], "collections")])
    (panel,) = overview.data(table)["cells"][0]["panels"]
    ratio, low, high = panel["ratios"]["b"][panel["builds"].index("a")]
    assert ratio == 2 and low > 0 and high is None


def test_minheaps_of_one_build_come_last_and_metered_latency_first():
    minheap = row("minheap", 5.0, heap=None, iteration=0)
    latency = times("ms-64k", [3.0], "latency.metered.p99") + times("ms-4k", [4.0], "latency.metered.p99")
    found = overview.data(tidy.frame([minheap, *times("ms-64k", [100.0]), *latency]), "ms-4k")
    assert [cell["name"] for cell in found["cells"]] == ["lusearch, 24 threads, 50 MiB", "lusearch, minheap"]
    assert [panel["title"] for panel in found["cells"][0]["panels"]] == ["Metered latency, 99 %", "Total time"]
    assert found["baseline"] == "ms-4k" and set(found["looks"]) == {"ms-64k", "ms-4k"}


def test_no_two_builds_look_alike_and_each_looks_the_same_everywhere():
    builds = list(catalog.builds())
    looks = {draw.style(build, place) for place, build in enumerate(builds)}
    assert len({(look.colour, look.symbol, look.dash) for look in looks}) == len(builds)
    assert draw.style("ms-4k", 0) == draw.style("ms-4k", 7)


def test_a_baseline_of_zero_is_none_and_nothing_measured_has_no_plot():
    table = tidy.frame([*times("a", [0.0], "collections"), *times("b", [4.0], "collections")])
    (cell,) = overview.data(table)["cells"]
    assert list(cell["panels"][0]["ratios"]) == ["b"]
    assert overview.data(tidy.frame([])) == {"cells": [], "scatters": [], "looks": {}, "baseline": None}


def test_minheaps_have_a_plot_for_each_number_of_threads():
    rows = [row("minheap", 3 + threads, threads=threads, heap=None, iteration=0) for threads in (1, 24)]
    (cell,) = overview.data(tidy.frame(rows))["cells"]
    assert [panel["title"] for panel in cell["panels"]] == ["Minheap, 1 thread", "Minheap, 24 threads"]
    assert cell["panels"][1]["values"] == [[27, None, None]]


def test_a_search_without_a_minheap_counts_as_larger_than_all_others():
    found = {"some": (10, None, 12), "most": (10, None, None)}
    rows = [
        row("minheap", value, build, None, place, iteration=0)
        for build, values in found.items()
        for place, value in enumerate(values)
    ]
    (panel,) = overview.data(tidy.frame(rows))["cells"][0]["panels"]
    assert (panel["builds"], panel["values"]) == (["some"], [[12, 10, None]])


def test_runs_tell_of_a_minheap_that_most_searches_did_not_find():
    lost = [row("minheap", None, "some", None, place, iteration=0) for place in (1, 2)]
    rows = [*tried("some", {9: 0, 10: 5}, {9: 5, 10: 0}), *lost]
    (panel,) = overview.data(tidy.frame(rows))["cells"][0]["panels"]
    assert panel["builds"] == ["some"] and 9 < panel["values"][0][0] < 10


def tried(build, passed, failed):
    """The rows of a minheap around which runs were repeated: how many passed and failed in each heap size."""
    counts = [
        row(metric, value, build, heap, iteration=0)
        for metric, values in (("trial.passed", passed), ("trial.too-small", failed))
        for heap, value in values.items()
    ]
    return [row("minheap", float(min(passed)), build, None, iteration=0), *counts]


def test_minheaps_have_the_intervals_of_the_runs_around_them():
    rows = [
        *tried("small", {8: 0, 9: 0, 10: 5, 11: 5}, {8: 5, 9: 5, 10: 0, 11: 0}),
        *tried("near", {9: 0, 10: 3, 11: 5}, {9: 5, 10: 2, 11: 0}),
        *tried("large", {20: 0, 21: 0, 22: 5, 23: 5}, {20: 5, 21: 5, 22: 0, 23: 0}),
        # Nothing bounds it from below.
        *tried("unbounded", {30: 1, 31: 1}, {30: 1, 31: 1}),
        row("minheap", 40.0, "searched", None, iteration=0),
        *(row("minheap", value, "again", None, place, iteration=0) for place, value in enumerate((50.0, 52, 51))),
    ]
    table = tidy.frame(rows)
    (panel,) = overview.data(table)["cells"][0]["panels"]
    assert panel["builds"] == ["small", "near", "large", "unbounded", "searched", "again"]
    values = dict(zip(panel["builds"], panel["values"], strict=True))
    for (_, build, _), runs in thresholds.points(table).items():
        half = runs.heap(0.5)
        assert values[build] == [None if np.isnan(each) else each for each in (half.estimate, half.low, half.high)]
    assert 9 <= values["small"][1] < values["small"][0] < values["small"][2] <= 10
    assert values["unbounded"][1] is None and values["unbounded"][2] > 31
    assert values["searched"] == [40, None, None] and values["again"] == [51, 50, 52]
    assert panel["samples"] == [20, 15, 20, 4, 1, 3]
    verdicts = dict(zip(panel["builds"], panel["verdicts"]["small"], strict=True))
    assert verdicts == {
        "small": "", "near": "undecided, n = 15", "large": "more, n = 20", "unbounded": "too few, n = 4",
        "searched": "too few, n = 1", "again": "too few, n = 3",
    }  # fmt: skip
    assert panel["verdicts"]["large"][0] == "less, n = 20"
    ratio, low, high = panel["ratios"]["small"][2]
    assert ratio == values["large"][0] / values["small"][0]
    assert (low, high) == (values["large"][1] / values["small"][2], values["large"][2] / values["small"][1])


def test_memory_stands_against_time_for_each_heap_that_has_both():
    rows = [
        *times("a", [100.0, 120]), *times("a", [40.0, 60], "resident.peak"),
        *times("a", [90.0], heap=200), *times("a", [300.0], "resident.peak", 200), *times("b", [100.0]),
    ]  # fmt: skip
    (scatter,) = overview.data(tidy.frame(rows))["scatters"]
    assert scatter == {
        "name": "lusearch, 24 threads",
        "builds": [{"name": "a", "heaps": [50, 200], "memory": [50, 300], "time": [110, 90]}],
    }


CLICK = """
<script>
addEventListener("load", async () => {
  const settled = () => new Promise(resolve => setTimeout(resolve, 500));
  await settled();
  const first = () => document.getElementById("panels").firstChild;
  const state = () => ({title: first().layout.title.text, x: first().data[0].x, y: first().data[0].y});
  const before = state();
  first().emit("plotly_click", {points: [{y: "ms-64k"}]});
  await settled();
  const after = state();
  first().emit("plotly_click", {points: [{y: "ms-64k"}]});
  await settled();
  // A table whose first column is numbers of several lengths.
  const table = [...document.querySelectorAll("table.sortable")].find(one => one.tBodies[0].rows.length > 2);
  const column = place => [...table.tBodies[0].rows].map(one => one.cells[place].textContent);
  const last = table.tHead.rows[0].cells.length - 1;
  const header = table.tHead.rows[0].cells[last];
  const sorted = async order => {
    header.click();
    while (header.ariaSort !== order) await new Promise(resolve => setTimeout(resolve, 10));
    return column(last);
  };
  // The module that makes tables sortable may end after the page has loaded.
  while (!table.classList.contains("dataTable")) await new Promise(resolve => setTimeout(resolve, 10));
  const up = await sorted("ascending");
  const down = await sorted("descending");
  const plot = document.querySelector("#panels svg.main-svg").getBoundingClientRect();
  const open = [...document.querySelectorAll("details")].filter(one => one.open).length;
  const wide = [...document.querySelectorAll("#panels > div")].filter(one => one.scrollWidth > innerWidth).length;
  parent.postMessage({before, after, again: state(), open, wide, up, down,
    overflow: document.documentElement.scrollWidth - innerWidth, inner: innerWidth, plot: [plot.left, plot.right, plot.height],
    scatters: document.querySelectorAll("#scatters svg.main-svg").length}, "*");
});
</script>
"""
# A window of the browser is no narrower than 500 pixels; a frame is.
FRAME = """
<script>
addEventListener("message", event => {
  document.body.append(Object.assign(document.createElement("pre"), {id: "seen", textContent: JSON.stringify(event.data)}));
});
</script>
<body><iframe src="%s" width="%d" height="900" style="border: 0"></iframe></body>
"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [1300, 390])
def test_the_page_in_a_browser(tmp_path, width):
    chromium = shutil.which("chromium")
    assert chromium, "this test needs a browser: apt-get install chromium"
    folder = shutil.copytree(catalog.ROOT / "results" / "archive" / "time-foreground", tmp_path / "some")
    _, page = report.write(folder)
    page.write_text(page.read_text().replace("</body>", CLICK + "</body>"))
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME % (page.as_uri(), width))
    done = subprocess.run(
        [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,1000",
         "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=20000", f"--user-data-dir={tmp_path / 'p'}",
         "--dump-dom", frame.as_uri()], capture_output=True, text=True, check=True, timeout=240,
    )  # fmt: skip
    seen = json.loads(re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.DOTALL)[1])
    check_baseline(seen)
    check_layout(seen, width)
    check_sorted(seen)


def check_baseline(seen):
    """A click on a build makes it the baseline, and another one goes back."""
    assert seen["before"]["title"] == "Total time (ms)" and seen["after"]["title"] == "Total time / ms-64k"
    after = dict(zip(seen["after"]["y"], seen["after"]["x"], strict=True))
    before = dict(zip(seen["before"]["y"], seen["before"]["x"], strict=True))
    assert len(after) == 4 and after["ms-64k"] == 1
    assert after == pytest.approx({build: value / before["ms-64k"] for build, value in before.items()})
    # The least is at the top.
    assert seen["before"]["x"] == sorted(seen["before"]["x"], reverse=True)
    assert seen["again"] == seen["before"]


def check_layout(seen, width):
    """Nothing is wider than the window, and the first plot is in it."""
    assert seen["inner"] == width and seen["overflow"] <= 0
    left, right, height = seen["plot"]
    assert 0 <= left < right <= width and height > 100
    assert seen["open"] == 0 and seen["wide"] == 0 and seen["scatters"] > 0


def check_sorted(seen):
    """A click on the head of a column sorts by the numbers in it, and another one turns the order round."""
    numbers = [float(report.order(cell)) for cell in seen["up"]]
    assert numbers == sorted(numbers) and len(set(numbers)) > 1
    assert [float(report.order(cell)) for cell in seen["down"]] == sorted(numbers, reverse=True)


def test_a_cell_is_sorted_by_the_number_that_it_begins_with():
    cells = ["12", "-0.5 (-1.0 to 0.1)", "5*", "", "more", "1.117"]
    assert [report.order(cell) for cell in cells] == ["12", "-0.5", "5", "", "more", "1.117"]
