# SPDX-License-Identifier: MIT OR Apache-2.0
"""The counters that CI compares: what is a regression, and what is counted, on a program in the place of the JVM."""

import os
import signal
import stat
import subprocess
import sys
import time

import pytest
from processes import is_alive

from shardsweep import cli, counters
from shardsweep.errors import UserError

KNOWN = counters.Counter(counts="faults", value=100, tolerance=0.1)


@pytest.mark.parametrize(
    ("now", "failed", "said"),
    [(110, False, "ok"), (111, True, "WORSE"), (90, False, "ok"), (89, False, "better: put it on record")],
)
def test_more_than_the_tolerance_is_a_regression(now, failed, said):
    compared = counters.Compared("faults", now, KNOWN)
    assert compared.failed is failed
    assert compared.said == f"faults: {now}, on record 100 ± 10%: {said}"


def test_everything_on_record_is_counted_and_everything_counted_is_on_record():
    assert set(counters.known()) == set(counters.MEASURES)


def test_a_regression_is_the_exit_status(monkeypatch, capsys):
    for worse, status in ((1.0, 0), (2.0, 1)):
        monkeypatch.setattr(
            counters,
            "MEASURES",
            {name: lambda name=name, worse=worse: counters.known()[name].value * worse for name in counters.known()},
        )
        assert cli.main(["counters", "faults"]) == status
    assert "WORSE" in capsys.readouterr().out
    assert cli.main(["counters", "luck"]) == 1
    assert capsys.readouterr().err.startswith("shardsweep: no counter luck: there are ")


@pytest.mark.parametrize(
    ("counts", "runs", "now", "left"),
    [
        pytest.param([120, 130, 105, 90], 4, 105, 1, id="no-worse"),
        pytest.param([130, 120, 125], 3, 120, 0, id="worse-each-time"),
        pytest.param([130, 90], 1, 130, 1, id="once"),
    ],
)
def test_what_chance_adds_to_is_counted_again_while_it_is_worse(monkeypatch, counts, runs, now, left):
    each = iter(counts)
    monkeypatch.setitem(counters.MEASURES, "faults", lambda: next(each))
    (compared,) = counters.compare({"faults": KNOWN.model_copy(update={"runs": runs})}, [])
    assert compared.now == now
    assert len(list(each)) == left


def test_a_damaged_record_gets_one_line(tmp_path):
    file = tmp_path / "counters.yml"
    for content in ("faults: {value: 3}", "[1]", "faults: {counts: some, value: -1, tolerance: 0}"):
        file.write_text(content)
        with pytest.raises(UserError, match=r"counters\.yml: "):
            counters.known(file)
    with pytest.raises(UserError, match="is not there"):
        counters.known(tmp_path / "none.yml")


@pytest.fixture
def java(tmp_path, monkeypatch):
    """A script in the place of the JVM; `heap` is its -Xmx in MiB."""

    def write(body):
        program = tmp_path / "bin" / "java"
        program.parent.mkdir(exist_ok=True)
        heap = 'for each in "$@"; do case $each in -Xmx*m) heap=${each#-Xmx}; heap=${heap%m};; esac; done'
        program.write_text(f"#!/bin/sh\n{heap}\n{body}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("SHARDSWEEP_JDK", str(tmp_path))
        monkeypatch.setenv("LUSEARCH_JAR", str(program))
        counters.in_large_heap.cache_clear()

    yield write
    counters.in_large_heap.cache_clear()


def test_the_minheap_is_the_smallest_heap_that_passes(java):
    java('[ $heap -ge 9 ] || { echo "java.lang.OutOfMemoryError"; exit 3; }')
    assert counters.smallest_heap("small", 12, 6) == 9


def test_a_heap_in_which_the_jvm_cannot_start_is_too_small(java):
    java('[ $heap -ge 3 ] || { echo "Error: -Xmx$((heap * 1024))k is too small"; exit 1; }')
    assert counters.smallest_heap("small", 12, 6) == 3


def test_what_is_smaller_than_on_record_is_not_tried_with_many_threads(java, monkeypatch, tmp_path):
    tried = tmp_path / "tried"
    record = {"minheap-48": counters.Counter(counts="MiB", value=11, tolerance=0)}
    monkeypatch.setattr(counters, "known", lambda: record)
    for least in (1, 12):
        java(f'echo $heap >>{tried}; [ $heap -ge {least} ] || {{ echo "java.lang.OutOfMemoryError"; exit 3; }}')
        tried.unlink(missing_ok=True)
        assert counters.smallest_heap_of_many() == max(least, 11)
        assert min(map(int, tried.read_text().split())) == 11
    assert counters.Compared("minheap-48", 12, record["minheap-48"]).failed


def test_traced_system_calls_are_counted_and_no_others(java):
    java("exec python3 -c 'import mmap, os; [mmap.mmap(-1, 4096 * n).madvise(4) for n in range(1, 8)]; os.getpid()'")
    run = counters.lusearch(200, "small", traced=("madvise", "getpid"))
    assert run.count("madvise") >= 7 and {call.name for call in run.calls} <= {"madvise", "getpid"}
    assert not counters.lusearch(200, "small").calls


def test_of_equal_advice_one_is_counted_and_the_others_apart(java, monkeypatch):
    program = "import mmap, sys; m = mmap.mmap(-1, 4096); [m.madvise(int(n)) for n in sys.argv[1]]"
    java(f"PYTHONHASHSEED=0 exec python3 -S -B -c '{program}' $advice")
    counted = []
    # MADV_SEQUENTIAL, MADV_WILLNEED, and MADV_DONTNEED, which is not counted; the address differs from run to run.
    for advice in ("2", "2344323"):
        monkeypatch.setenv("advice", advice)
        counters.in_large_heap_traced.cache_clear()
        counted.append((counters.system_calls(), counters.repeated_advice()))
    assert counted[1] == (counted[0][0] + 1, counted[0][1] + 3)


def test_a_traced_run_that_is_too_slow_is_stopped_with_its_tracer(java, tmp_path, monkeypatch):
    java(f"echo $$ >{tmp_path}/begun; exec sleep 1000")
    # As long as it takes to begin, on a machine that has much else to do.
    monkeypatch.setattr(counters, "LIMIT", 10)
    assert counters.lusearch(8, "small", traced=("mmap",)).status == -1
    pid = int((tmp_path / "begun").read_text())
    # A process that was killed is there until it has run once more.
    deadline = time.monotonic() + 60
    while is_alive(pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_crash_is_no_minheap(java):
    java("kill -SEGV $$")
    with pytest.raises(UserError, match="lusearch has no minheap: broken"):
        counters.smallest_heap("small", 12, 6)


def test_a_jvm_that_crashes_out_of_memory_has_crashed(java):
    java('echo "java.lang.OutOfMemoryError: Java heap space"; kill -SEGV $$')
    with pytest.raises(UserError, match="lusearch has no minheap: broken"):
        counters.smallest_heap("small", 12, 6)


def test_a_run_that_is_too_slow_is_stopped(java, monkeypatch):
    java("exec sleep 1000")
    monkeypatch.setattr(counters, "LIMIT", 1)
    assert counters.lusearch(8, "small").status == -1


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupt_ends_the_run_at_once(java, tmp_path, stop):
    begun = tmp_path / "begun"
    java(f"echo $$ >{begun}.part; mv {begun}.part {begun}; exec sleep 1000")
    command = [sys.executable, "-m", "shardsweep", "counters", "collections"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            while not begun.exists():
                assert process.poll() is None
                time.sleep(0.05)
            process.send_signal(stop)
            _, said = process.communicate(timeout=20)
        finally:
            process.kill()
    assert (process.returncode, said) == (1, "shardsweep: interrupted\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int(begun.read_text()), 0)


def test_collections_and_faults_are_those_of_one_run(java, tmp_path):
    runs = tmp_path / "runs"
    java(
        f"echo run >>{runs}; echo '[0.1s][info][gc] GC(0) Pause Full (Some) 3M->1M(9M) 1.0ms'; "
        "echo '[0.2s][info][gc] GC(1) Pause Full (Some) 3M->1M(9M) 1.0ms'; echo '[0.2s][info][gc] Using MMTk'"
    )
    assert counters.collections() == 2
    assert 10 < counters.faults() < 100_000
    assert runs.read_text() == "run\n"


def test_a_run_that_fails_has_no_counts(java):
    java("echo 'Error: no plugin'; exit 1")
    with pytest.raises(UserError, match="lusearch in 200 MiB ended with 1: Error: no plugin"):
        counters.collections()


def test_a_run_that_is_killed_without_a_word_is_told(java):
    java("kill -KILL $$")
    with pytest.raises(UserError, match="lusearch in 200 MiB ended with -9: silent"):
        counters.collections()


def test_instructions_are_what_more_rounds_cost(monkeypatch, tmp_path):
    valgrind = tmp_path / "valgrind"
    valgrind.write_text(
        "#!/bin/sh\nfor each; do rounds=$each; done\necho $((rounds * 100))\n"
        'echo "==1== Collected : $((5000 + rounds * 700))" >&2\n'
    )
    valgrind.chmod(0o755)
    monkeypatch.setattr(counters, "PROGRAM", valgrind)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert counters.instructions("grow") == 7
    valgrind.write_text("#!/bin/sh\nexit 2\n")
    with pytest.raises(UserError, match="ended with 2"):
        counters.instructions("grow")
    monkeypatch.setattr(counters, "PROGRAM", tmp_path / "none")
    with pytest.raises(UserError, match="is not there: cargo build"):
        counters.instructions("grow")
