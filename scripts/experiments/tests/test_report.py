# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reports, of sweeps and of recorded results: what the tables say, what the page says, and what is left alone."""

import json
import math
import re
import shutil
import signal
from pathlib import Path

import pandas as pd
import pytest
import yaml

from shardsweep import (
    analysis,
    catalog,
    cli,
    draw,
    figures,
    grid,
    overview,
    point,
    report,
    sweep,
    tables,
    thresholds,
    tidy,
)
from shardsweep.errors import UserError

RECORDED = sorted(file.parent for file in (catalog.ROOT / "results").glob("**/grid.yml"))
MACHINE = {"processor": "Fast 1", "processors": 8, "memory": "16.0 GiB", "kernel": "6.1", "system": "Debian 12"}
MADE_WITH = {"machines": [MACHINE], "java": "17", "revision": "abc", "packages": {"pandas": "3"}, "builds": {}}
GRID = {
    "minheap": {"builds": ["ms-64k", "ms-4k"], "threads": [0, 24], "repeats": 2},
    "perf-by-heap": {"builds": ["ms-64k", "ms-4k"], "baseline": "ms-4k", "threads": [24], "heaps": [50]},
}


def row(metric, value, build="ms-64k", threads=24, heap=None, invocation=0, benchmark="lusearch", iteration=0):
    return {
        "build": build, "plan": "MarkSweep", "block": 65536, "accounting": "page", "benchmark": benchmark,
        "threads": threads, "heap": heap, "invocation": invocation, "iteration": iteration, "metric": metric,
        "value": value, "unit": "MiB",
    }  # fmt: skip


def note(outcome, experiment="minheap", log=None, threads=24):
    return {
        "experiment": experiment, "build": "ms-64k", "benchmark": "lusearch", "threads": threads, "heap": 8,
        "outcome": outcome, "detail": "", "log": log,
    }  # fmt: skip


def minheaps(rows, notes=()):
    (table,) = tables.minheaps(tidy.frame(rows), list(notes))
    return table


@pytest.fixture
def folder(tmp_path) -> Path:
    """The folder of a sweep of the grid above that nothing is measured of yet."""
    (tmp_path / "grid.yml").write_text(yaml.safe_dump(GRID))
    (tmp_path / "machine.json").write_text(json.dumps(MADE_WITH))
    (tmp_path / "points").mkdir()
    return tmp_path


def measure(folder: Path, place: int, machine: dict) -> None:
    each = grid.points(grid.load(folder / "grid.yml"))[place]
    file = point.result_file(folder, each)
    file.parent.mkdir(parents=True, exist_ok=True)
    rows = [row("minheap", 9.0 + place, build=each.builds[0], threads=each.threads or None)]
    file.write_text(json.dumps({"rows": rows, "notes": [], "machine": machine}))


def test_there_are_recorded_results():
    assert len(RECORDED) > 10


@pytest.mark.parametrize("kept", RECORDED, ids=lambda folder: folder.name)
def test_recorded_results_are_read_and_have_the_tables_that_a_report_makes_of_them(kept, tmp_path):
    recorded = shutil.copytree(kept, tmp_path / kept.name)
    sections = report.sections(grid.load(recorded / "grid.yml"), *sweep.results(recorded))
    place = str(kept.relative_to(catalog.ROOT))
    assert report.text(sections, tidy.read(recorded / "results.csv"), place) == (recorded / "tables.md").read_text()
    assert len(sweep.read_machine(recorded)["machines"]) >= 1


@pytest.mark.parametrize("kept", RECORDED, ids=lambda folder: folder.name)
def test_recorded_notes_are_of_signals_that_there_are_and_agree_with_the_table(kept):
    table, notes = sweep.results(kept)
    for each in notes:
        if found := re.fullmatch(r"ended by signal (\d+)", each["detail"]):
            assert int(found[1]) < signal.NSIG, each
        rows = table[(table["build"] == each["build"]) & (table["metric"] == f"runs.{each['outcome']}")]
        assert rows["value"].sum() > 0, each


def noise(steal, others):
    return [
        row("time.process", 10_000.0), row("machine.steal", steal), row("machine.others", others),
        row("time.process", 10_000.0, invocation=1),
    ]  # fmt: skip


def test_a_machine_that_is_noisy_at_the_start_is_told(monkeypatch):
    for used, stolen, said in (
        (0.02, 0.01, []),
        (0.5, 0.0, ["noisy: other processes took 25% of a processor in the 2 s before the sweep"]),
        (0.0, 0.1, ["noisy: the host of this virtual machine took 5% of a processor in the 2 s before the sweep"]),
    ):
        seconds = iter([(10.0, 3.0), (10.0 + used, 3.0 + stolen)])
        monkeypatch.setattr(report.launch, "_machine", lambda seconds=seconds: next(seconds))
        monkeypatch.setattr(report.time, "sleep", lambda _: None)
        assert report.noise_now() == said


def test_a_noisy_machine_is_told():
    assert report._noise(tidy.frame(noise(100.0, 300.0))) == []
    assert report._noise(tidy.frame(noise(500.0, 3000.0))) == [
        "noisy: other processes took 15% of a processor while the runs were timed",
        "noisy: the host of this virtual machine took 2% of a processor while the runs were timed",
    ]
    assert report._noise(tidy.frame([row("minheap", 3)])) == []
    probes = [row("machine.probe", 20.0, invocation=number) for number in range(22)]
    assert report._noise(tidy.frame([*probes, row("machine.probe", 60.0, invocation=22)])) == [], "one run of many"
    slow = [row("machine.probe", 26.0, invocation=number) for number in range(22, 26)]
    assert report._noise(tidy.frame([*probes, *slow])) == [
        "noisy: the processors' speed differed by 30% from run to run"
    ]


def test_noise_stands_above_the_tables_of_a_report_and_on_the_terminal(folder, capsys):
    measure(folder, 0, MACHINE)
    (place,) = (folder / "points").rglob("*.json")
    result = json.loads(place.read_text())
    for others, said in ((300.0, ""), (3000.0, "noisy: other processes took 15% of a processor")):
        place.write_text(json.dumps({**result, "rows": result["rows"] + noise(100.0, others)}))
        assert cli.main(["report", str(folder)]) == 0
        commands, above = (folder / "tables.md").read_text().split("\n\n")[:2]
        assert commands == (
            f"Measured by `build/venv/bin/shardsweep sweep --grid {folder}/grid.yml --out {folder}`; these tables are made by "
            f"`build/venv/bin/shardsweep report {folder}`."
        )
        assert above.startswith(said or "## ")
        (line,) = capsys.readouterr().err.splitlines() or [""]
        assert line.startswith(f"shardsweep: {said}" if said else "") and bool(line) == bool(said)


def test_the_report_of_recorded_results_leaves_them_as_they_are(tmp_path):
    folder = tmp_path / "minheap"
    shutil.copytree(catalog.ROOT / "results" / "archive" / "minheap", folder)
    kept = {name: (folder / name).read_bytes() for name in ("results.csv", "notes.json", "machine.json", "grid.yml")}
    assert kept["results.csv"].count(b"\n") > 100
    _, page = report.write(folder)
    assert {name: (folder / name).read_bytes() for name in kept} == kept
    text = page.read_text()
    assert "Minheap of lusearch (MiB)" in text
    assert "points measured" not in text and "Command lines" not in text
    assert (folder / "plots" / "minheap-lusearch.png").exists()


def test_a_folder_without_any_results_is_refused_and_left_alone(tmp_path):
    (tmp_path / "grid.yml").write_text(yaml.safe_dump(GRID))
    with pytest.raises(UserError, match=r"has neither points nor results\.csv: run the sweep first"):
        report.write(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["grid.yml"]


def test_a_damaged_file_is_named(folder):
    (folder / "machine.json").write_text("")
    with pytest.raises(UserError, match=r"machine\.json is damaged .*: remove it and run the sweep again"):
        report.write(folder)


@pytest.mark.parametrize("content", ["{}", "[]", '{"machines": {}}', "3"])
def test_facts_that_say_something_else_are_refused_in_one_line(folder, content):
    (folder / "machine.json").write_text(content)
    with pytest.raises(UserError, match=r"machine\.json is damaged .*: remove it and run the sweep again") as caught:
        report.write(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["{}", "[[]]", '[{"build": "ms-64k"}]', "3"])
def test_notes_that_say_something_else_are_refused_in_one_line(tmp_path, content):
    kept = shutil.copytree(catalog.ROOT / "results" / "archive" / "minheap", tmp_path / "minheap")
    (kept / "notes.json").write_text(content)
    with pytest.raises(UserError, match=r"notes\.json is damaged .*: restore it") as caught:
        report.write(kept)
    assert "\n" not in str(caught.value)


def test_a_sweep_that_has_measured_nothing_has_the_machine_that_began_it(folder):
    _, page = report.write(folder)
    assert "0 of 28 points measured." in page.read_text()
    assert json.loads((folder / "machine.json").read_text()) == MADE_WITH


def test_machines_are_those_of_the_points(folder):
    elsewhere = {**MACHINE, "processor": "Slow 2"}
    for place, machine in enumerate((elsewhere, elsewhere)):
        measure(folder, place, machine)
    _, page = report.write(folder)
    assert json.loads((folder / "machine.json").read_text()) == {**MADE_WITH, "machines": [elsewhere]}
    assert "<td>processor</td>" in page.read_text() and "different machines" not in page.read_text()
    measure(folder, 2, MACHINE)
    _, page = report.write(folder)
    text = page.read_text()
    assert json.loads((folder / "machine.json").read_text())["machines"] == [elsewhere, MACHINE]
    assert "measured on 2 different machines: processor Slow 2, processors 8" in text
    assert '<td>machine 1: processor</td><td class="text">Slow 2</td>' in text
    assert '<td>machine 2: processor</td><td class="text">Fast 1</td>' in text


def test_why_a_minheap_is_missing_is_what_its_search_ended_with():
    run = "logs/some.log.gz"
    notes = [
        note("error", experiment="perf-by-heap", log=run),
        note("crash", log=run),
        note("timeout"),
        note("oom", log=run, threads=1),
        note("failed", log=run),
        note("crash", experiment="perf-by-heap", log=run),
    ]
    assert minheaps([row("minheap", None)], notes).rows == [["24", "TIMEOUT"]]


def test_a_minheap_that_a_time_out_bounds_is_marked():
    rows = [row("minheap", 9), row("minheap", 12, build="ms-4k"), row("minheap.by-timeout", 1, build="ms-4k")]
    table = minheaps(rows)
    assert table.rows == [["24", "12* (12)", "9"]]
    assert "*: in the next smaller heap it was too slow for the time limit." in table.note
    plain = minheaps(rows[:2])
    assert plain.rows == [["24", "12 (12)", "9"]] and "*" not in plain.note


@pytest.mark.parametrize(
    ("benchmark", "beside"),
    [("lusearch", True), ("lusearch9", True), ("dacapobach:lusearch", True), ("xalan", False), ("h2:lusearch9", False)],
)
def test_published_numbers_stand_beside_lusearch_only(benchmark, beside):
    rows = [row("minheap", 10 + threads, build="ms-4k", threads=threads, benchmark=benchmark) for threads in (1, 24)]
    (regression,) = tables.regressions(tidy.frame(rows))
    table = minheaps(rows)
    assert ["(" in cells[1] for cells in table.rows] == [beside, beside]
    assert ("Sinclair" in table.note, "Sinclair" in regression.note) == (beside, beside)
    assert ("published slope" in regression.columns) == beside
    assert {len(cells) for cells in regression.rows} == {len(regression.columns)}


def test_a_minheap_whose_next_smaller_heap_was_too_slow_is_marked_wherever_it_is_printed():
    rows = [row("minheap", 9 + each, threads=each, build="ms-4k") for each in (1, 12, 24)]
    rows += [row("minheap", 33, build="ms-4k", invocation=1), row("minheap.by-overhead", 1, build="ms-4k")]
    table = tidy.frame(rows)
    (spread,) = tables.spread(table)
    (growth,) = tables.regressions(table)
    (minheap,) = tables.minheaps(table, [])
    assert spread.rows[0][4] == "33+" and growth.rows[0][6] == "4+" and minheap.rows[2][1].startswith("33+")
    why = '+: in the next smaller heap the JVM gave up: "GC overhead limit exceeded".'
    for each in (spread, growth, minheap):
        assert why in each.note


def test_and_wherever_it_is_drawn(tmp_path):
    rows = [row("minheap", 9 + each, threads=each) for each in (1, 12, 24)]
    slow = tidy.frame([*rows, row("minheap.by-timeout", 1, threads=12)])
    why = "*: in the next smaller heap it was too slow for the time limit."
    (figure,) = figures.minheap(slow)
    assert figure.series[0].marks == ["", "*", ""] and figure.note == why
    _, svg = draw.files(figure, tmp_path)
    text = svg.read_text()
    assert text.count("<!-- * -->") == 1 and f"<!-- {why} -->" in text
    assert why in draw.html(figure) and '"text":["","*",""]' in draw.html(figure)
    assert [panel["notes"] for panel in overview.data(slow)["cells"][0]["panels"]] == [[""], [why], [""]]
    (plain,) = figures.minheap(tidy.frame(rows))
    assert not any(plain.series[0].marks) and plain.note == ""
    assert "+text" not in draw.html(plain)


def test_repeats_with_the_benchmarks_own_threads_are_compared():
    rows = [row("minheap", value, threads=None, invocation=number) for number, value in enumerate((9, 19))]
    (table,) = tables.spread(tidy.frame(rows))
    assert table.rows == [["lusearch", "ms-64k", "default", "9", "14", "19", "2", "NO"]]


def timed(values, metric="time.total"):
    return [
        row(metric, value, build=build, heap=50, invocation=number, iteration=0 if metric == "resident.peak" else 5)
        for build in ("ms-64k", "ms-4k")
        for number, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        (1, ["", "", "", "too few"]),
        (3, ["0.901", "1.111", "75 %", "too few"]),
        (6, ["0.901", "1.111", "95 %", "undecided"]),
    ],
)
def test_ratios_have_their_confidence_and_of_few_samples_no_verdict(samples, said):
    up = [100.0 + 2 * place for place in range(samples)]
    rows = [*timed(up)[:samples], *timed(up[::-1])[samples:]]
    (table,) = tables.performance(tidy.frame(rows), "ms-4k")
    own, other = sorted(table.rows, key=lambda cells: cells[3] == "ms-4k")
    assert table.columns[8:] == ["/ ms-4k", "low", "high", "confidence", "verdict"]
    assert own[8] == "1.000" and [own[9] == "", own[11:]] == [said[0] == "", said[2:]]
    assert other[8:] == ["1.000", "", "", "", ""]


def test_a_table_says_how_many_jvms_lack_its_metric():
    rows = timed([100.0] * 6) + timed([50.0] * 6, "cpu.total")[1:]
    notes = {table.id: table.note for table in tables.performance(tidy.frame(rows), "ms-4k")}
    assert notes["performance-cpu.total"].startswith("1 of 12 JVMs have no value of it. Medians")
    assert "no value of it" not in notes["performance-time.total"]


def test_minheaps_with_more_runs_around_them_are_the_heaps_in_which_half_pass():
    ends = {8: (0, 3, 2), 9: (2, 3, 0), 10: (5, 0, 0)}
    rows = [row("minheap", 10, invocation=place) for place in (0, 1)] + [row("minheap", 5, build="ms-4k")]
    rows += [
        row(f"trial.{kind}", number, heap=heap)
        for heap, numbers in ends.items()
        for kind, number in zip(("passed", "too-small", "timeout"), numbers, strict=True)
    ]
    table = minheaps(rows)
    half = thresholds.Fit([8, 9, 10], [0, 2, 5], [5, 3, 0]).heap(0.5)
    assert table.columns == ["threads", "ms-4k", "ms-64k"] and table.rows == [["24", "5 (12)", f"{half.estimate:.1f}†"]]
    assert "A minheap is with a decimal the heap in which half of all runs pass, else the smallest" in table.note
    assert "†: some of the runs that did not pass ended at the time limit." in table.note
    (estimates,) = tables.estimates(tidy.frame(rows))
    assert estimates.rows[0][-2:] == ["2", "15"] and estimates.rows[0][3] == table.rows[0][2]
    one, _ = (
        thresholds.minheaps(tidy.frame(rows)).sort_values("build", ascending=False)[["value", "low", "high"]].values
    )
    assert list(one) == [half.estimate, half.low, half.high]


@pytest.mark.parametrize(("samples", "told"), [(1, False), (2, True), (5, True), (9, False)])
def test_intervals_of_few_samples_are_called_ranges(samples, told):
    values = [100.0 + number for number in range(samples)]
    (table,) = tables.performance(tidy.frame(timed(values)), "ms-4k")
    assert ("With fewer than six invocations low and high are" in table.note) == told
    low, high = table.rows[0][5:7]
    assert ((low, high) == (f"{values[0]:.1f}", f"{values[-1]:.1f}")) == told


def test_peak_memory_is_told_to_be_of_the_whole_run():
    rows = timed([100.0] * 6) + timed([50.0] * 6, "resident.peak")
    notes = {table.id: table.note for table in tables.performance(tidy.frame(rows), "ms-4k")}
    assert notes["performance-time.total"].startswith("Medians of the timed iteration;")
    assert notes["performance-resident.peak"].startswith("Medians of whole runs of the JVM;")


def test_an_infinite_bound_is_none():
    found = analysis.ratio_of_medians([1, 2, 3], [0, 1, 1])
    assert found.estimate == 2 and found.low > 0 and math.isnan(found.high)
    series = figures.Series("a", [1, 2], [5.0, 5.0], [4.0, float("nan")], [float("inf"), 6.0])
    assert draw._errors(series) == [[1, 0], [0, 1]]


def samples(values, invocation=0, threads=None):
    rows = []
    for second, (resident, anonymous) in enumerate(values):
        pairs = (("time", second * 1000), ("resident", resident), ("anonymous", anonymous))
        rows += [row(f"sample.{name}", value, heap=50, invocation=invocation, threads=threads) for name, value in pairs]
    return rows


def test_resident_memory_has_a_table_of_all_invocations():
    table = tidy.frame(samples([(10, 1), (20, 2)]) + samples([(60, 3)], invocation=1))
    (found,) = tables.resident(table)
    assert found.rows == [["lusearch", "default", "50", "ms-64k", "20.0", "60.0", "2.0", "3.0"]]
    assert tables.resident(tidy.frame([])) == []
    whole = grid.check({"rss": {"builds": ["ms-64k"], "threads": [0], "heaps": [50]}}, "test")
    (section,) = report.sections(whole, table, [])
    assert [one.id for one in section.tables] == ["resident"]
    assert [one.title for one in section.figures] == ["lusearch, default threads, 50 MiB: resident memory"]
    assert re.fullmatch(r"[a-z0-9-]+", section.figures[0].id)


def test_a_table_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    file = tmp_path / "results.csv"
    tidy.write(tidy.frame([row("minheap", 9)]), file)
    before = file.read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        tidy.write(tidy.frame([]), file)
    assert file.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["results.csv"]
    pd.testing.assert_frame_equal(tidy.read(file), tidy.frame([row("minheap", 9)]))


def test_the_same_plot_gives_the_same_files(tmp_path):
    figure = figures.Figure("a", "a", "x", "y", [figures.Series("ms-64k", [1, 2], [1, 2], [0, 1], [2, 3])])
    (tmp_path / "again").mkdir()
    first, again = (draw.files(figure, folder) for folder in (tmp_path, tmp_path / "again"))
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in again]
