# SPDX-License-Identifier: MIT OR Apache-2.0
"""Counts that do not depend on the clock, compared with those on record: what CI can tell a regression by.

The record is `results/counters.yml`: for each counter its value, the part of it by which a run may exceed it, and what
it counts. A value below the record by more than that part is told, and passes.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections import Counter as Counts
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from shardsweep import catalog, logs, minheap
from shardsweep.errors import UserError, last_said
from shardsweep.files import read_checked
from shardsweep.logs import Outcome

FILE = catalog.ROOT / "results" / "counters.yml"
PROGRAM = catalog.ROOT / "build" / "cargo" / "release" / "examples" / "allocation"
THREADS = 12
HEAP = 200
# A heap that is too small for a size-small run is one in which it does not end within this many seconds.
LIMIT = 300
# Runs in a heap size before it is too small: near the minheap chance has a part.
ATTEMPTS = 4
# Where strace writes, in the folder of a run.
TRACE = "trace"
# The advice by which pages go back to the OS.
RETURNED = "MADV_DONTNEED"
# Rounds of the allocating program; what a round costs is what the second number has more.
ROUNDS = (1, 3)


class Counter(BaseModel):
    """A counter on record: what is counted may exceed `value` by no more than the part `tolerance` of it. Where chance can only
    add to what a run counts, the least of up to `runs` is compared."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    counts: str
    value: float = Field(gt=0)
    tolerance: float = Field(ge=0)
    runs: int = Field(default=1, ge=1)


@dataclass(frozen=True)
class Compared:
    """A counter as it is now, and what to say about it."""

    name: str
    now: float
    known: Counter

    @property
    def failed(self) -> bool:
        """Whether it is worse than the record allows."""
        return self.now > self.known.value * (1 + self.known.tolerance)

    @property
    def said(self) -> str:
        """One line."""
        if self.failed:
            verdict = "WORSE"
        elif self.now < self.known.value * (1 - self.known.tolerance):
            verdict = "better: put it on record"
        else:
            verdict = "ok"
        return f"{self.name}: {self.now:.4g}, on record {self.known.value:.4g} ± {self.known.tolerance:.0%}: {verdict}"


def known(file: Path = FILE) -> dict[str, Counter]:
    """The counters on record. Raises UserError for a file that is not such a record."""
    return read_checked(file, dict[str, Counter])


def compare(record: dict[str, Counter], names: list[str]) -> list[Compared]:
    """Counts anew what the names say, or everything on record. Raises UserError for one that nothing counts."""
    unknown = [name for name in (*record, *names) if name not in MEASURES or name not in record]
    if unknown:
        raise UserError(f"no counter {unknown[0]}: there are {', '.join(MEASURES)}")
    return [_counted(name, record[name]) for name in names or record]


def _counted(name: str, known: Counter) -> Compared:
    """Counts anew. Ends with the first run that is not worse than on record."""
    best = Compared(name, MEASURES[name](), known)
    for _ in range(known.runs - 1):
        if not best.failed:
            break
        in_large_heap.cache_clear()
        in_large_heap_traced.cache_clear()
        best = min(best, Compared(name, MEASURES[name](), known), key=lambda compared: compared.now)
    return best


@dataclass(frozen=True)
class Call:
    """A system call with its arguments, as strace prints them."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Run:
    """A JVM that has ended: how, what it printed, its page faults without a read, and its traced system calls."""

    status: int
    output: str
    faults: int
    calls: tuple[Call, ...]

    def count(self, name: str, argument: str = "") -> int:
        """How often it called one, with this among the arguments."""
        return sum(call.name == name and argument in call.arguments for call in self.calls)


def lusearch(heap: int, size: str, threads: int = THREADS, traced: tuple[str, ...] = ()) -> Run:
    """Runs an iteration of lusearch on `ms-64k` in a heap of so many MiB. One that is too slow has the status -1."""
    with tempfile.TemporaryDirectory() as folder:
        jar = catalog.environment()["LUSEARCH_JAR"]
        options = ["-n", "1", "-t", threads, "-s", size, "--scratch-directory", folder, "lusearch"]
        return _run(heap, ["-XX:+DisableExplicitGC", "-jar", jar, *options], Path(folder), traced)


def _run(heap: int, arguments: list, folder: Path, traced: tuple[str, ...], missing: str = "") -> Run:
    """Runs a JVM on `ms-64k` in the folder, by strace if there are system calls to trace. One of these may be `missing`, as in
    a kernel that does not have it."""
    places = catalog.environment()
    java = Path(places["SHARDSWEEP_JDK"]) / "bin" / "java"
    for file, remedy in ((java, "make jdk"), (Path(places["LUSEARCH_JAR"]), "make lusearch")):
        if not file.is_file():
            raise UserError(f"{file} is not there: {remedy}")
    command = [
        *(_tracer(traced, missing) if traced else ()), java, "-XX:+UseThirdPartyHeap", "-XX:ThirdPartyHeapPlugin=ms-64k",
        "-XX:+ExitOnOutOfMemoryError", f"-Xms{heap}m", f"-Xmx{heap}m", "-Xlog:gc", *arguments,
    ]  # fmt: skip
    log, trace = folder / "log", folder / TRACE
    with log.open("w") as output:
        process = subprocess.Popen(
            list(map(str, command)),
            env=catalog.plain_environment(),
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            process_group=0,
        )
    status, faults = _end(process)
    # Where another thread calls meanwhile, a call has two lines. The first has its arguments.
    called = re.findall(r"\b(\w+)\(([^)<\n]*)", trace.read_text()) if traced and trace.exists() else []
    calls = tuple(Call(name, arguments.strip()) for name, arguments in called if name in traced)
    return Run(status, log.read_text(errors="replace"), faults, calls)


def _tracer(calls: tuple[str, ...], missing: str) -> list[str]:
    if not shutil.which("strace"):
        raise UserError("system calls are counted by strace: apt-get install strace")
    refusal = [f"--inject={missing}:error=ENOSYS"] if missing else []
    return ["strace", "--follow-forks", "--seccomp-bpf", f"--output={TRACE}", f"--trace={','.join(calls)}", *refusal]


def _end(process: subprocess.Popen) -> tuple[int, int]:
    """Waits for the end of a process, and kills it after the limit or when this one is interrupted. Returns its status, -1
    if it was too slow, and its page faults."""

    def kill() -> None:
        # The tracer's JVM too.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(LIMIT, kill)
    timer.daemon = True
    timer.start()
    try:
        # Its faults alone: `resource` would tell those of all children.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        slow = not timer.is_alive()
    finally:
        timer.cancel()
        # Does nothing where it has ended.
        kill()
        process.wait()
    return -1 if slow else process.returncode, usage.ru_minflt


def smallest_heap(size: str, threads: int, start: int, least: int = 1) -> float:
    """Minheap of the benchmark in MiB, searched from `start`. What is smaller than `least` is not tried: a run that has too
    little memory takes long to end."""

    def probe(heap: int, _: int) -> Outcome:
        if heap < least:
            return Outcome.OOM
        run = lusearch(heap, size, threads)
        if run.status == 0:
            return Outcome.PASSED
        if run.status == -1:
            return Outcome.TIMEOUT
        is_oom = logs.OUT_OF_MEMORY.search(run.output) and not logs.crash(run.output) and run.status > 0
        return Outcome.OOM if is_oom else Outcome.CRASH

    found = minheap.search(probe, start, 64, ATTEMPTS)
    if found.minheap is None:
        raise UserError(f"lusearch has no minheap: {found.end}")
    return found.minheap


def smallest_heap_of_many() -> float:
    """The same with 48 threads and the default size, where it is not smaller than on record."""
    on_record = int(known()["minheap-48"].value)
    return smallest_heap("default", 48, on_record, on_record)


@cache
def in_large_heap() -> Run:
    """A run with room. Raises UserError where it does not pass."""
    return _passed(lusearch(HEAP, "default"), "lusearch")


def _passed(run: Run, program: str) -> Run:
    if run.status != 0:
        raise UserError(f"{program} in {HEAP} MiB ended with {run.status}: {last_said(run.output)}")
    return run


def collections() -> float:
    """Collections of a run with room."""
    return len(re.findall(r"\[gc\s*\] GC\(\d+\) Pause", in_large_heap().output))


def faults() -> float:
    """Page faults of a run with room."""
    return in_large_heap().faults


@cache
def in_large_heap_traced() -> Run:
    """A run with room, and its system calls that get and give back memory, but for those of the purger, which depend on time."""
    return _passed(lusearch(HEAP, "default", traced=("mmap", "munmap", "madvise")), "lusearch")


def system_calls() -> float:
    """System calls of that run, of equal advice one. What gives pages back is the purger's where the kernel has no
    process_madvise."""
    run = in_large_heap_traced()
    return len(run.calls) - _repeated_advice(run) - run.count("madvise", RETURNED)


def repeated_advice() -> float:
    """The others of that run: memory comes back that the purger had returned. How much that is depends on time."""
    return _repeated_advice(in_large_heap_traced())


def _repeated_advice(run: Run) -> int:
    advice = Counts(call for call in run.calls if call.name == "madvise" and RETURNED not in call.arguments)
    return advice.total() - len(advice)


def purge() -> float:
    """System calls that give back what a large heap holds, of which little is alive."""
    return _purge().count("process_madvise", RETURNED)


def purge_range_by_range() -> float:
    """The same where the kernel takes one range at a time."""
    return _purge(missing="process_madvise").count("madvise", RETURNED)


def _purge(missing: str = "") -> Run:
    with tempfile.TemporaryDirectory() as folder:
        program = str(files("shardsweep") / "java" / "Purge.java")
        return _passed(_run(HEAP, [program], Path(folder), ("process_madvise", "madvise"), missing), "Purge.java")


def instructions(kind: str) -> float:
    """Instructions that an allocation costs, its part of the collection included: what two runs differ by."""
    if not PROGRAM.is_file():
        raise UserError(
            f"{PROGRAM} is not there: cargo build --release --package shardsweep-policy --example allocation"
        )
    counts, allocations = zip(*(_callgrind(kind, rounds) for rounds in ROUNDS), strict=True)
    return (counts[1] - counts[0]) / (allocations[1] - allocations[0])


def _callgrind(kind: str, rounds: int) -> tuple[int, int]:
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(PROGRAM), kind, str(rounds)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise UserError("instructions are counted by valgrind: apt-get install valgrind") from None
    counted = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not counted:
        raise UserError(f"{' '.join(command)} ended with {done.returncode}")
    return int(counted[1]), int(done.stdout)


MEASURES: dict[str, Callable[[], float]] = {
    "instructions-grow": lambda: instructions("grow"),
    "instructions-sweep": lambda: instructions("sweep"),
    "collections": collections,
    "faults": faults,
    "minheap": lambda: smallest_heap("small", THREADS, 6),
    "minheap-48": smallest_heap_of_many,
    "system-calls": system_calls,
    "repeated-advice": repeated_advice,
    "purge": purge,
    "purge-range-by-range": purge_range_by_range,
}
