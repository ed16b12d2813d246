# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reading running-ng's logs, on recorded ones."""

import gzip
import json
from pathlib import Path

import pytest

from shardsweep import launch, logs, point
from shardsweep.errors import UserError
from shardsweep.logs import Outcome

LOGS = Path(__file__).parent / "logs"


def read(name: str) -> logs.Invocation:
    (run,) = logs.read(LOGS / f"{name}.log")
    return run


@pytest.mark.parametrize(
    ("name", "outcome", "detail"),
    [
        ("passed-serial", Outcome.PASSED, ""),
        ("passed-g1", Outcome.PASSED, ""),
        ("sampled-parallel", Outcome.PASSED, ""),
        ("oom", Outcome.OOM, "Terminating due to java.lang.OutOfMemoryError: Java heap space"),
        ("oom-at-start", Outcome.OOM, "GC triggered before VM initialization completed."),
        ("timeout", Outcome.TIMEOUT, "stopped at the time limit"),
        ("crash", Outcome.CRASH, "SIGSEGV (0xb)"),
        ("wrong", Outcome.FAILED, "DaCapo tiny wrong FAILED"),
    ],
)
def test_every_way_to_end_is_told_apart(name, outcome, detail):
    run = read(name)
    assert run.outcome is outcome
    assert run.detail.startswith(detail)


@pytest.mark.parametrize(
    ("said", "outcome", "detail"),
    [
        (
            "#\n# There is insufficient memory for the Java Runtime Environment to continue.\n# Native memory\nEND.",
            Outcome.ERROR, "exit code 1: # There is insufficient memory for the Java Runtime Environment to continue.",
        ),
        (
            "thread 'main' panicked at policy/src/x.rs:10:5:\na free cell is marked\nnote: run",
            Outcome.CRASH, "thread 'main' panicked at policy/src/x.rs:10:5: a free cell is marked",
        ),
        ("thread 'main' panicked at 'no', x.rs:10:5\nnote", Outcome.CRASH, "thread 'main' panicked at 'no', x.rs:10:5"),
    ],
)  # fmt: skip
def test_why_a_jvm_ended_is_told(said, outcome, detail):
    end = {"timeout": False, "signal": None, "exit": 1, "seconds": 1}
    assert logs._outcome(end, said) == (outcome, detail)


def test_a_line_of_the_jvm_among_statistics_is_none_of_them():
    lines = [logs.MMTk_HEADER, "GC\ttime.other", "7\t1.5", logs.MMTk_FOOTER]
    for place in range(1, 4):
        output = "\n".join([*lines[:place], "[0.1s][info][safepoint] Safepoint", *lines[place:]])
        assert logs._statistics(output) == {"GC": 7, "time.other": 1.5}


def test_collections_belong_to_the_iteration_they_happened_in():
    run = read("passed-serial")
    assert [(each.number, each.milliseconds) for each in run.iterations] == [(1, 78), (2, 32)]
    timed = run.iterations[-1]
    # Added up from the file with awk.
    assert len(timed.collections) == 18
    assert sum(map(sum, timed.collections)) == pytest.approx(7.751)


# Each sum is that of the file's lines, added up with awk.
def test_what_is_charged_is_from_the_start_of_an_iteration_to_its_end():
    first, timed = read("usage-serial").iterations
    assert timed.charged == pytest.approx(68.2900, abs=1e-3)
    # Up to the last collection it would be 2 MiB less.
    assert len(timed.collections) == 11 and sum(map(sum, timed.collections)) == pytest.approx(6.403)
    assert first.charged == pytest.approx(64, abs=8)


def test_what_is_collected_while_results_are_checked_is_of_no_iteration(tmp_path):
    text = (LOGS / "usage-serial.log").read_text()
    work, ended, checked = text.rpartition("===== DaCapo tiny steady PASSED")
    later = (
        "[0.500s][info][gc      ] GC(900) Pause Young (Allocation Failure) 15M->1M(19M) 77.000ms\n"
        "[0.500s][info][gc,cpu  ] GC(900) User=0.50s Sys=0.50s Real=0.08s\n"
        '[0.500s][info][safepoint   ] Safepoint "GenCollectForAllocation", Time since last: 1 ns, '
        "Reaching safepoint: 5000000 ns, At safepoint: 1 ns, Total: 80000000 ns\n"
    )
    checking = tmp_path / "checking.log"
    checking.write_text(work + later + ended + checked)
    (run,) = logs.read(checking)
    assert run.iterations == read("usage-serial").iterations
    # Without the line about usage nothing says where the work ends.
    silent = tmp_path / "silent.log"
    silent.write_text("".join(line for line in checking.read_text().splitlines(True) if "Shardsweep usage" not in line))
    (run,) = logs.read(silent)
    assert run.iterations[-1].collections[-1] == [77.0]


def test_safepoints_and_processors_of_an_iteration_are_added_up():
    timed = read("usage-serial").iterations[-1]
    assert timed.reaching == pytest.approx(0.352546)
    assert timed.pause_cpu == pytest.approx(10)
    measures = {name: value for name, value, _ in point._measures(timed)}
    assert measures["time.to-safepoint"] == timed.reaching
    assert measures["time.paused"] == pytest.approx(0.352546 + 6.403)
    # The stand-in's counters are the same at both ends.
    assert (measures["cpu.total"], measures["faults.minor"], measures["cpu.collector"]) == (0, 0, pytest.approx(10))


def measures_without(tmp_path, *kinds):
    """The measures of the timed iteration of a log in which that has no lines of some kinds."""
    before, started, timed = (LOGS / "usage-serial.log").read_text().rpartition("===== DaCapo tiny steady starting")
    kept = [line for line in timed.splitlines(keepends=True) if not any(f"[{kind}" in line for kind in kinds)]
    (tmp_path / "without.log").write_text(before + started + "".join(kept))
    (run,) = logs.read(tmp_path / "without.log")
    return {name: value for name, value, _ in point._measures(run.iterations[-1])}


def test_an_iteration_without_a_pause_took_no_time_for_one(tmp_path):
    measures = measures_without(tmp_path, "gc", "safepoint")
    nothing = ("time.collector", "time.to-safepoint", "time.paused", "cpu.collector", "collections", "pause.max")
    assert [measures[name] for name in nothing] == [0] * len(nothing)
    assert "pause.median" not in measures
    # The way to a safepoint that is no collection counts.
    measures = measures_without(tmp_path, "gc")
    assert measures["time.paused"] == measures["time.to-safepoint"] == pytest.approx(0.352546)
    # Its end may be logged when the iteration has ended.
    assert measures_without(tmp_path, "safepoint")["time.paused"] == pytest.approx(6.403)


def test_what_a_log_does_not_tell_of_pauses_is_not_nothing(tmp_path):
    assert "cpu.collector" not in measures_without(tmp_path, "gc,cpu")
    (run,) = logs.read(LOGS / "passed-serial.log")
    told = {name for name, *_ in point._measures(run.iterations[-1])}
    assert "time.collector" in told and not told & {"time.to-safepoint", "time.paused", "cpu.collector"}


def test_latencies_belong_to_the_iteration_whose_requests_they_are_of(tmp_path):
    text = (LOGS / "usage-serial.log").read_text()
    before, ended, after = text.rpartition("===== DaCapo tiny steady PASSED")
    said = (
        "===== Shardsweep latency usec simple 50% 210 99.9% 4100 max 8000, metered 50% 230 99.9% 9000 max 16000 =====\n"
    )
    served = tmp_path / "served.log"
    served.write_text(before + said + ended + after)
    (run,) = logs.read(served)
    measures = [{name: value for name, value, _ in point._measures(each)} for each in run.iterations]
    told = {name: value for name, value in measures[-1].items() if name.startswith("latency.")}
    assert told == {
        "latency.simple.p50": 0.21, "latency.simple.p99.9": 4.1, "latency.simple.max": 8.0,
        "latency.metered.p50": 0.23, "latency.metered.p99.9": 9.0, "latency.metered.max": 16.0,
    }  # fmt: skip
    assert not any(name.startswith("latency.") for name in measures[0])


def test_a_line_whose_end_comes_after_one_of_the_jvm_is_read(tmp_path):
    text = (LOGS / "usage-serial.log").read_text()
    safepoint = next(line for line in text.splitlines(keepends=True) if "[safepoint" in line)
    cut = tmp_path / "cut.log"
    said = "heap 14802 ====="
    assert text.count(said) == 1
    cut.write_text(text.replace(said, said + safepoint))
    (run,), whole = logs.read(cut), read("usage-serial").iterations[-1]
    # The JVM's line is of this iteration or the one before it.
    assert (run.iterations[-1].usage, run.iterations[-1].charged) == (whole.usage, whole.charged)


def test_without_the_benchmarks_word_what_is_charged_is_not_told(tmp_path):
    text = (LOGS / "usage-serial.log").read_text()
    silent = tmp_path / "silent.log"
    silent.write_text("".join(line for line in text.splitlines(keepends=True) if "Shardsweep usage" not in line))
    (run,) = logs.read(silent)
    assert run.iterations[-1].charged is None
    told = {name for name, _, _ in point._measures(run.iterations[-1])}
    assert not told & {"charged", "cpu.total", "faults.minor"} and "pause.max" in told


def test_an_iteration_without_collections_has_charged_what_it_grew(tmp_path):
    text = (LOGS / "usage-serial.log").read_text()
    before, started, second = text.rpartition("===== DaCapo tiny steady starting")
    quiet = tmp_path / "quiet.log"
    kept = "".join(line for line in second.splitlines(keepends=True) if "[gc" not in line and "[safepoint" not in line)
    quiet.write_text(before.replace("heap 14802", "heap 12027") + started + kept)
    (run,) = logs.read(quiet)
    assert run.iterations[-1].charged == 2


def test_what_the_launcher_measures_of_a_run_is_in_its_rows():
    run = read("usage-serial")
    rows = {row["metric"]: (row["value"], row["unit"]) for row in point._rows(run, {})}
    assert rows["process.user"] == (132, "ms") and rows["process.system"] == (31, "ms")
    assert rows["process.faults.minor"] == (11076, "count") and rows["process.faults.major"] == (5, "count")
    assert rows["machine.steal"] == (0, "ms") and rows["machine.others"] == (620, "ms")
    # A log of a launcher that said less has fewer rows.
    assert "machine.steal" not in {row["metric"] for row in point._rows(read("passed-serial"), {})}


def test_one_collection_of_g1_has_several_pauses_and_concurrent_work_is_none():
    collections = [each for iteration in read("passed-g1").iterations for each in iteration.collections]
    assert [1.500, 0.292] in collections


def test_a_run_that_did_not_end_well_keeps_its_command_and_peak():
    run = read("crash")
    assert run.command[0].endswith("/bin/java") and "-Xmx16M" in run.command
    assert run.peak_kib == 42648
    assert run.iterations == []


@pytest.mark.parametrize(("text", "said"), [("some words\n\n", "some words"), ("", "silent")])
def test_a_run_that_ends_without_a_cause_is_told_by_its_last_line(tmp_path, text, said):
    start, end = (
        {"start": {"command": ["java"]}},
        {"exit": 1, "signal": None, "timeout": False, "seconds": 1, "peak_kib": 1},
    )
    marks = [f"{launch.MARK}{json.dumps(mark)}\n" for mark in (start, end)]
    (tmp_path / "log").write_text(f"mkdir -p PLOTTY_WORKAROUND; timedrun; java\n{marks[0]}{text}{marks[1]}")
    (run,) = logs.read(tmp_path / "log")
    assert (run.outcome, run.detail) == (logs.Outcome.ERROR, f"exit code 1: {said}")


def test_samples_are_in_the_order_of_time():
    times = [sample[0] for sample in read("sampled-parallel").resident]
    assert len(times) > 5 and times == sorted(times)


def test_packed_logs_and_several_runs_in_one_file(tmp_path):
    text = (LOGS / "oom.log").read_text() + (LOGS / "passed-serial.log").read_text()
    file = tmp_path / "two.log.gz"
    file.write_bytes(gzip.compress(text.encode()))
    assert [run.outcome for run in logs.read(file)] == [Outcome.OOM, Outcome.PASSED]


def test_words_before_the_jvm_started_mean_nothing(tmp_path):
    text = (LOGS / "passed-serial.log").read_text()
    file = tmp_path / "variables.log"
    file.write_text(text.replace("HOME=", "NOTE=java.lang.OutOfMemoryError panicked at FAILED\n\tHOME=", 1))
    (run,) = logs.read(file)
    assert run.outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ("java.lang.OutOfMemoryError: Java heap space", Outcome.OOM),
        ("java.lang.OutOfMemoryError: GC overhead limit exceeded", Outcome.OVERHEAD),
        ("java.lang.OutOfMemoryError: Metaspace", Outcome.ERROR),
        ("java.lang.OutOfMemoryError: Map failed", Outcome.ERROR),
        ("java.lang.OutOfMemoryError: Unable to allocate 4096 bytes", Outcome.ERROR),
        ("java.lang.OutOfMemoryError: unable to create native thread", Outcome.ERROR),
        ("thread '<unnamed>' panicked at src/plan/global.rs:10:5:", Outcome.CRASH),
        ("Error: -Xmx2048k is too small: plan MarkSweep needs at least -Xmx4096k", Outcome.OOM),
        ("Unrecognized VM option 'UseThirdPartyHeap'", Outcome.ERROR),
    ],
)
def test_what_the_jvm_says_decides_when_its_exit_code_is_one(tmp_path, said, outcome):
    head, _, _ = (LOGS / "oom.log").read_text().partition("[0.")
    file = tmp_path / "said.log"
    file.write_text(f"{head}{said}\n\nshardsweep-launch {END_WITH_ONE}\n")
    (run,) = logs.read(file)
    assert run.outcome is outcome
    assert said.partition(":")[0] in run.detail


END_WITH_ONE = (
    '{"exit": 1, "signal": null, "timeout": false, "seconds": 0.1, "user": 0.1, "system": 0.1, "peak_kib": 30000}'
)


def test_a_killed_jvm_and_an_interrupted_log_are_no_statement_about_memory(tmp_path):
    text = (LOGS / "passed-serial.log").read_text()
    killed = tmp_path / "killed.log"
    start, _, _ = text.partition("===== DaCapo tiny steady PASSED")
    killed.write_text(
        start + "\nshardsweep-launch " + END_WITH_ONE.replace('1, "signal": null', 'null, "signal": 9') + "\n"
    )
    (run,) = logs.read(killed)
    assert (run.outcome, run.detail) == (Outcome.CRASH, "ended by signal 9")
    for code, outcome in (137, Outcome.CRASH), (255, Outcome.ERROR):
        killed.write_text(start + "\nshardsweep-launch " + END_WITH_ONE.replace("1", str(code), 1) + "\n")
        assert logs.read(killed)[0].outcome is outcome
    interrupted = tmp_path / "interrupted.log"
    interrupted.write_text(start)
    assert logs.read(interrupted)[0].outcome is Outcome.ERROR


@pytest.mark.parametrize("mark", ["end", "start"])
def test_a_log_that_ends_in_the_middle_of_a_mark_is_cut(tmp_path, mark):
    marked = [f"{launch.MARK}{json.dumps(each)}\n" for each in ({"start": {"command": ["java"]}}, {"exit": 0})]
    file = tmp_path / "cut.log"
    start = (LOGS / "passed-serial.log").read_text().partition(launch.MARK)[0]
    file.write_text(start + ("".join(marked)[:-5] if mark == "end" else marked[0][:-5]))
    (run,) = logs.read(file)
    assert run.is_cut


def test_statistics_of_mmtk_are_read_by_name(tmp_path):
    text = (LOGS / "passed-serial.log").read_text()
    # The format of print_stats in mmtk 0.33.0's util/statistics/stats.rs.
    printed = (
        f"{logs.MMTk_HEADER}\nGC\ttime.other\ttime.stw\twork.total\twork.min\t\n7\t12.50\t3.25\t100\tinf\t\n"
        f"Total time: 15.75 ms\n{logs.MMTk_FOOTER}\n"
    )
    file = tmp_path / "mmtk.log"
    file.write_text(text.replace("===== DaCapo tiny steady PASSED", f"{printed}===== DaCapo tiny steady PASSED"))
    (run,) = logs.read(file)
    assert run.statistics == {"GC": 7, "time.other": 12.5, "time.stw": 3.25, "work.total": 100}
    assert read("passed-serial").statistics == {}


def test_a_file_that_is_no_log_is_named(tmp_path):
    file = tmp_path / "other.log"
    file.write_text("nothing of the kind\n")
    with pytest.raises(UserError, match=r"other\.log is not a running-ng log"):
        logs.read(file)
    broken = tmp_path / "broken.log.gz"
    damaged = bytearray(gzip.compress(b"some text " * 1000))
    damaged[20:30] = bytes(10)
    for content in (b"\x1f\x8b\x08", bytes(damaged)):
        broken.write_bytes(content)
        with pytest.raises(UserError, match="cannot be read"):
            logs.read(broken)
