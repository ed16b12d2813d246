# SPDX-License-Identifier: MIT OR Apache-2.0
"""A tiny sweep from end to end, with HotSpot's own collectors: every experiment, the results, the report, resuming."""

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from shardsweep import grid, point, tidy

pytestmark = pytest.mark.slow

GRID = {
    "about": "A sweep for tests.",
    "minheap": {
        "benchmarks": ["steady"], "builds": ["hotspot-Serial"], "threads": [1, 6], "iterations": 2, "limit": 20,
        "start": 4, "largest": 64, "attempts": 1,
    },
    "perf-by-heap": {
        "benchmarks": ["steady"], "builds": ["hotspot-Serial", "hotspot-Parallel", "ms-64k"],
        "baseline": "hotspot-Serial", "threads": [4], "heaps": [3, 32], "invocations": 2, "iterations": 3, "limit": 20,
    },
    "perf-by-threads": {
        "benchmarks": ["steady"], "builds": ["hotspot-Serial"], "baseline": "hotspot-Serial", "threads": [6],
        "factors": [1.5], "minheap_of": "hotspot-Serial", "invocations": 1, "iterations": 3, "limit": 20,
    },
    "rss": {
        "benchmarks": ["steady"], "builds": ["hotspot-Serial"], "threads": [4], "heaps": [32], "iterations": 2,
        "interval": 10, "limit": 20, "modifiers": ["compile_in_foreground"],
    },
}  # fmt: skip


def command(*arguments) -> list[str]:
    return [sys.executable, "-m", "shardsweep", *map(str, arguments)]


@pytest.fixture(scope="module")
def swept(variables, tmp_path_factory) -> tuple[subprocess.CompletedProcess, Path]:
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "tiny.yml").write_text(yaml.safe_dump(GRID))
    done = subprocess.run(
        command("sweep", "--grid", folder / "tiny.yml", "--out", folder / "out"),
        env=variables, capture_output=True, text=True, check=False, timeout=280,
    )  # fmt: skip
    return done, folder / "out"


def test_it_succeeds_and_says_what_it_left_out_and_where_the_report_is(swept):
    done, out = swept
    assert done.returncode == 0, done.stderr
    assert "build ms-64k is left out: " in done.stderr and "make plugin BUILD=ms-64k" in done.stderr
    assert f"Report: {out / 'report.html'}" in done.stdout
    assert "Minheap of steady (MiB)" in done.stdout
    assert "8 of 8 points" in done.stderr


def test_points_are_measured_in_the_order_of_the_grid(swept):
    out = swept[1]
    files = [point.result_file(out, each) for each in grid.points(grid.load(out / point.GRID_FILE))]
    assert sorted(files, key=lambda file: file.stat().st_mtime_ns) == files


def test_minheaps_grow_with_the_live_memory_of_the_threads(swept):
    table = tidy.read(swept[1] / "results.csv")
    minheaps = table[table.metric == "minheap"].set_index("threads")["value"]
    # A thread keeps 1 MiB alive; a collector needs some more to work with.
    assert 2 <= minheaps[1] <= 6
    assert 6 <= minheaps[6] <= 14
    tried = table[table.metric.isin(["runs.passed", "runs.oom"])].groupby("metric")["value"].sum()
    assert tried["runs.passed"] >= 2 and tried["runs.oom"] >= 2
    assert table[table.metric.isin(["runs.crash", "runs.error", "runs.failed"])]["value"].sum() == 0


def test_the_tables_are_in_a_file_too(swept):
    table = tidy.read(swept[1] / "results.csv")
    minheaps = table[table.metric == "minheap"].set_index("threads")["value"]
    text = (swept[1] / "tables.md").read_text()
    rows = "".join(f"| {threads} | {minheaps[threads]:.0f} |\n" for threads in (1, 6))
    assert f"## Minheap of steady (MiB)\n\n| threads | hotspot-Serial |\n| --- | --: |\n{rows}\n" in text


def test_performance_has_every_iteration_and_cells_without_room_are_blank(swept):
    table = tidy.read(swept[1] / "results.csv")
    times = table[(table.metric == "time.total") & (table.build == "hotspot-Parallel")]
    assert sorted(zip(times.invocation, times.iteration, strict=True)) == [(i, n) for i in (0, 1) for n in (1, 2, 3)]
    assert set(times.heap) == {32}
    parts = table[(table.iteration == 3) & (table.invocation == 0) & (table.build == "hotspot-Serial")].set_index(
        "metric"
    )["value"]
    assert parts["time.mutator"] + parts["time.collector"] == pytest.approx(parts["time.total"])
    assert parts["collections"] > 0
    # 4 threads allocate 16 MiB each, but for what is in the heap at the ends.
    assert 60 < parts["charged"] < 80
    assert parts["time.paused"] == pytest.approx(parts["time.to-safepoint"] + parts["time.collector"])
    assert parts["time.to-safepoint"] > 0
    assert table[(table.heap == 3) & (table.metric == "runs.oom")]["value"].sum() == 4


def test_builds_take_turns_in_an_order_of_chance_that_is_recorded(swept):
    table = tidy.read(swept[1] / "results.csv")
    places = table[(table.metric == "order") & (table.heap == 32) & (table.threads == 4) & (table.invocation < 2)]
    assert set(places["invocation"]) == {0, 1}
    for _, block in places.groupby("invocation"):
        assert sorted(block["value"]) == [0, 1]
    timed = table[table["metric"] == "process.user"]
    assert len(timed) >= 4 and (timed["value"] > 0).all()


def test_a_heap_size_may_be_a_factor_of_a_minheap(swept):
    table = tidy.read(swept[1] / "results.csv")
    of_six = table[table["threads"] == 6]
    minheap = of_six.loc[of_six["metric"] == "minheap", "value"].item()
    timed = of_six[of_six["metric"] == "time.total"]
    assert list(timed["iteration"]) == [1, 2, 3]
    assert set(timed["heap"]) == {round(1.5 * minheap)}
    assert set(timed["factor"]) == {1.5} and table.loc[table["threads"] == 4, "factor"].isna().all()
    assert (swept[1] / "points" / "perf-by-threads" / "steady" / "x1.5" / "t6-2.json").exists()


def test_resident_memory_is_sampled_over_time(swept):
    table = tidy.read(swept[1] / "results.csv")
    times, held = (table[table.metric == metric]["value"].tolist() for metric in ("sample.time", "sample.resident"))
    assert len(times) == len(held) >= 3
    assert times == sorted(times)
    assert 10 < max(held) < 200


def test_modifiers_of_an_experiment_go_to_its_runs_and_no_others(swept):
    logs = (swept[1] / "logs").glob("*/*.log.gz")
    flag = b"-XX:-BackgroundCompilation"
    seen = {("rss" in log.parent.name, flag in gzip.decompress(log.read_bytes())) for log in logs}
    assert seen == {(True, True), (False, False)}


def test_the_folder_holds_logs_plots_and_the_machine(swept):
    out = swept[1]
    logs = list((out / "logs").glob("*/steady.32000.32.jdk.common.hotspot_gc-Serial.t-4.launch-20-0.shardsweep.log.gz"))
    assert len(logs) == 2
    drawn = {path.name for path in (out / "plots").iterdir()}
    assert {
        "minheap-steady.png",
        "minheap-steady.svg",
        "rss-steady-4-32.png",
        "heap-steady-threads4-time.total.svg",
    } <= drawn
    assert (out / "plots" / "minheap-steady.png").read_bytes().startswith(b"\x89PNG")
    machine = json.loads((out / "machine.json").read_text())
    assert machine["packages"]["running-ng"] == "0.4.7"
    assert set(machine["builds"]) == {"hotspot-Serial", "hotspot-Parallel"}
    measured = json.loads(next((out / "points").rglob("*.json")).read_text())
    assert machine["machines"] == [measured["machine"]]
    notes = json.loads((out / "notes.json").read_text())
    assert {note["experiment"] for note in notes} == {"perf-by-heap"}


def test_a_second_call_measures_nothing_again(swept, variables):
    out = swept[1]
    before = {path: path.stat().st_mtime_ns for path in (out / "points").rglob("*.json")}
    again = subprocess.run(
        command("sweep", "--grid", out.parent / "tiny.yml", "--out", out),
        env=variables, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert {path: path.stat().st_mtime_ns for path in (out / "points").rglob("*.json")} == before
    listed = subprocess.run(
        command("sweep", "--grid", out.parent / "tiny.yml", "--out", out, "--dry-run"),
        env=variables, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "0 of 8 points to measure" in listed.stdout


# What a reader would do, done by a script: sort a table by a click, and zoom into a plot.
READER = """
<script>
addEventListener("load", async () => {
  const table = document.getElementById("table-performance-time.total");
  const column = [...table.tHead.rows[0].cells].findIndex(cell => cell.textContent.startsWith("median"));
  const shown = () => [...table.tBodies[0].rows].map(row => parseFloat(row.cells[column].textContent));
  const header = table.tHead.rows[0].cells[column];
  const sorted = async order => {
    header.click();
    while (header.ariaSort !== order) await new Promise(resolve => setTimeout(resolve, 10));
    return shown();
  };
  // The module that makes tables sortable may end after the page has loaded.
  while (!table.classList.contains("dataTable")) await new Promise(resolve => setTimeout(resolve, 10));
  const up = await sorted("ascending");
  const down = await sorted("descending");
  const plot = document.getElementById("minheap-steady");
  await Plotly.relayout(plot, {"xaxis.range": [2, 5]});
  const seen = {
    up, down, errors: window.problems,
    zoom: plot._fullLayout.dragmode, range: plot._fullLayout.xaxis.range,
    plots: document.querySelectorAll(".plotly-graph-div").length,
    drawn: [...document.querySelectorAll(".plotly-graph-div")].filter(one => one.querySelector("svg.main-svg")).length,
    traces: plot.data.length,
  };
  const result = document.createElement("pre");
  result.id = "seen";
  result.textContent = JSON.stringify(seen);
  document.body.append(result);
});
</script>
"""
CHROMIUM_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-default-apps", "--disable-extensions", "--disable-sync", "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=20000",
)  # fmt: skip


def test_the_report_works_in_a_browser_without_a_network(swept, tmp_path):
    chromium = shutil.which("chromium") or shutil.which("chromium-headless-shell")
    assert chromium, "this test needs a browser: apt-get install chromium"
    page = (swept[1] / "report.html").read_text()
    assert not re.search(r'<(script|link|img)[^>]+(src|href)="(?!#)', page), "the page loads something from outside"
    page = page.replace(
        "<head>", "<head><script>window.problems = []; onerror = (e) => window.problems.push(e)</script>", 1
    )
    watched = tmp_path / "watched.html"
    watched.write_text(page.replace("</body>", READER + "</body>"))
    done = subprocess.run(
        [chromium, *CHROMIUM_FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", watched.as_uri()],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    seen = json.loads(re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.DOTALL)[1])
    assert seen["errors"] == []
    assert len(seen["up"]) == 3
    assert seen["up"] == sorted(seen["up"]) and seen["down"] == seen["up"][::-1]
    assert seen["zoom"] == "zoom" and seen["range"] == [2, 5]
    assert seen["plots"] == seen["drawn"] >= 10
    # The points and the line through them.
    assert seen["traces"] == 2


def test_an_interrupted_sweep_leaves_no_jvm_and_goes_on_where_it_stopped(variables, tmp_path):
    grid_file = tmp_path / "hanging.yml"
    grid_file.write_text(
        yaml.safe_dump(
            {
                "perf-by-heap": {
                    "benchmarks": ["steady", "hang"], "builds": ["hotspot-Serial"], "baseline": "hotspot-Serial",
                    "threads": [1], "heaps": [16], "invocations": 1, "iterations": 1, "limit": 60,
                }
            }
        )
    )  # fmt: skip
    out = tmp_path / "out"
    arguments = command("sweep", "--grid", grid_file, "--out", out)
    process = subprocess.Popen(arguments, env=variables, stderr=subprocess.PIPE, text=True, preexec_fn=in_background)
    steady = out / "points" / "perf-by-heap" / "steady" / "h16" / "t1-0.json"
    hanging = "hang.16000.16.*.log"
    wait_for(lambda: steady.exists() and jvms(variables["LUSEARCH_JAR"], "hang"))
    second = subprocess.run(arguments, env=variables, capture_output=True, text=True, check=False, timeout=60)
    assert second.returncode == 1 and "another sweep is at work in" in second.stderr
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "goes on where it stopped" in said
    wait_for(lambda: not jvms(variables["LUSEARCH_JAR"], "hang"))
    assert list((out / "logs").rglob(hanging)), "the log of the interrupted run is not packed"
    measured = steady.stat().st_mtime_ns

    again = subprocess.run(arguments, env=variables, capture_output=True, text=True, check=False, timeout=480)
    assert steady.stat().st_mtime_ns == measured
    assert again.returncode == 0, again.stderr
    table = tidy.read(out / "results.csv")
    assert table[table.metric == "runs.timeout"]["benchmark"].tolist() == ["hang"]
    assert table[table.metric == "runs.passed"]["benchmark"].tolist() == ["steady"]


def started_hanging(variables: dict[str, str], out: Path) -> subprocess.Popen:
    """A sweep into that folder, whose first JVM is at work."""
    arguments = ("minheap", "--benchmarks", "hang", "--builds", "hotspot-Serial", "--threads", "1", "--attempts", "1",
                 "--limit", "60", "--out", out)  # fmt: skip
    process = subprocess.Popen(
        command(*arguments), env=variables, stderr=subprocess.PIPE, text=True, preexec_fn=at_terminal
    )
    wait_for(lambda: jvms(variables["LUSEARCH_JAR"], "hang"))
    return process


def at_terminal() -> None:
    """Undoes nohup, in which tests may run: a program goes on there when its terminal closes."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def test_a_terminal_that_closes_stops_the_sweep_and_its_jvm(variables, tmp_path):
    process = started_hanging(variables, tmp_path / "out")
    process.send_signal(signal.SIGHUP)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "goes on where it stopped" in said
    wait_for(lambda: not jvms(variables["LUSEARCH_JAR"], "hang"))


def test_a_killed_jvm_is_a_crash_that_the_sweep_reports_at_its_end(variables, tmp_path):
    out = tmp_path / "out"
    process = started_hanging(variables, out)
    ((pid, _),) = jvms(variables["LUSEARCH_JAR"], "hang").items()
    os.kill(pid, signal.SIGKILL)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "CRASH: hotspot-Serial, hang, 1 threads, 8 MiB: ended by signal 9" in said
    table = tidy.read(out / "results.csv")
    assert table[table.metric == "minheap"]["value"].isna().all()
    assert table[table.metric == "runs.crash"]["value"].tolist() == [1]


def test_a_full_disk_is_said_and_what_was_measured_stays(variables, tmp_path):
    """On a file system of 2 MiB (needs root), filled up after the first point."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], check=True)
    try:
        arguments = ("perf", "--benchmarks", "steady", "--builds", "hotspot-Serial", "--baseline", "hotspot-Serial",
                     "--threads", "1,2", "--heaps", "16", "--invocations", "1", "--iterations", "1",
                     "--limit", "20", "--out",
                     disk / "out")  # fmt: skip
        process = subprocess.Popen(command(*arguments), env=variables, stderr=subprocess.PIPE, text=True)
        points = disk / "out" / "points" / "perf-by-heap" / "steady" / "h16"
        wait_for(lambda: any(points.glob("*.json")))
        fill(disk / "filler")
        _, said = process.communicate(timeout=120)
        assert process.returncode == 1
        assert "No space left on device" in said, said
        assert len(said.splitlines()) < 10
        assert len(list(points.glob("*.json"))) == 1
        (disk / "filler").unlink()
        again = subprocess.run(
            command(*arguments), env=variables, capture_output=True, text=True, check=False, timeout=120
        )
        assert len(list(points.glob("*.json"))) == 2, again.stderr
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


def fill(file: Path) -> None:
    with file.open("wb", buffering=0) as sink:
        try:
            while True:
                sink.write(bytes(1024))
        except OSError:
            return


def jvms(jar: str, benchmark: str) -> dict[int, list[str]]:
    """Running JVMs at work on the benchmark: process id and command line."""
    found = {}
    for each in Path("/proc").glob("[0-9]*"):
        try:
            words = (each / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if words[0].endswith("/bin/java") and {jar, benchmark} <= set(words):
            found[int(each.name)] = words
    return found


def in_background() -> None:
    """As a shell starts a job in the background: deaf to interrupts, which an interrupted sweep must overcome."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def wait_for(condition, seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.1)
