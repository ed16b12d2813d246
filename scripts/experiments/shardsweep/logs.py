# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads running-ng's log files: how each run ended, its iterations, collections, statistics and resident memory."""

import enum
import gzip
import json
import math
import re
import signal
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from running.command.log_preprocessor import MMTk_FOOTER, MMTk_HEADER

from shardsweep.errors import UserError, last_said
from shardsweep.launch import MARK


class Outcome(enum.StrEnum):
    """How a run ended. Only `OOM`, `OVERHEAD` and `TIMEOUT` say anything about the size of the heap."""

    PASSED = "passed"
    OOM = "oom"  # the Java heap was too small, by the JVM's own word
    OVERHEAD = "overhead"  # there was room, but next to all the time went into collections: "GC overhead limit"
    TIMEOUT = "timeout"  # stopped at the time limit
    CRASH = "crash"  # ended by a signal, a fatal error of the JVM or a panic of the plugin
    FAILED = "failed"  # the benchmark found its result wrong
    ERROR = "error"  # ended otherwise: a flag that the JVM does not know, a missing file


@dataclass
class Iteration:
    """One iteration of the benchmark, counted from 1. `collections` has those that happened in it: the pauses of each,
    in milliseconds.

    `charged` is the heap charged during it, in MiB: how much the heap grew up to each of its collections, and after the
    last one. It is None where the benchmark does not say what is in use at the start and at the end, as DaCapo's jars.
    `usage` has what the process used during it, by the names of `USAGE`, where the benchmark says that.
    `latencies` has microseconds by names such as `simple.p99.9` and `metered.max`, where the benchmark has requests.

    `reaching` is how many milliseconds passed from the request of each safepoint until all threads stood still, also of
    those that are not collections. `pause_cpu` is the processor time of the threads during the pauses. Each is None
    where there were pauses and the log does not tell it.
    """

    number: int
    milliseconds: float
    collections: list[list[float]]
    charged: float | None
    usage: dict[str, float] = field(default_factory=dict)
    latencies: dict[str, float] = field(default_factory=dict)
    reaching: float | None = None
    pause_cpu: float | None = None


@dataclass
class Invocation:
    """One run of the JVM. `launcher` is all that the launcher says at its end; where it was stopped before, the log is cut."""

    command: list[str]
    outcome: Outcome
    detail: str
    iterations: list[Iteration] = field(default_factory=list)
    statistics: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    peak_kib: int = 0
    launcher: dict = field(default_factory=dict)
    resident: list[list[float]] = field(default_factory=list)
    is_cut: bool = False


# What the benchmark says at both ends of an iteration: milliseconds of the processors, page faults, heap in use.
USAGE = ("user", "system", "minor", "major")

_RUN = re.compile(r"^mkdir -p PLOTTY_WORKAROUND; timedrun; ", re.MULTILINE)
# A lack of memory outside the Java heap says nothing about the heap's size.
OUT_OF_MEMORY = re.compile(
    r"java\.lang\.OutOfMemoryError"
    r"(?!: (?:Metaspace|Compressed class space|unable to create|Direct buffer|Cannot reserve|Map failed|Unable to allocate))"
    # What HotSpot, and then the third-party heap, say of a heap that they cannot even start in.
    r"|Too small (?:initial |maximum )?heap|GC triggered before VM initialization completed"
    r"|-Xmx\d+k is too small"
)
_OVERHEAD = "GC overhead limit exceeded"
_CRASH = re.compile(
    # Rust says on the next line why it panicked.
    r"^# A fatal error has been detected by the Java Runtime Environment:|^.*\bpanicked at .*(?:(?<=:)\n.*)?$",
    re.MULTILINE,
)
_WRONG = re.compile(r"^=====.*\bFAILED\b.*$", re.MULTILINE)
_CAUSE = re.compile(
    r"^(?:Error: |Unrecognized |Error occurred |Exception in |Unable to access |Conflicting "
    r"|# There is insufficient memory |# Native memory allocation ).*$",
    re.MULTILINE,
)
_PHASE = re.compile(
    r"^=====\s+DaCapo \S+ \S+ (?P<what>starting|completed|PASSED|FAILED)"
    r"(?: warmup (?P<warmup>\d+))?(?: in (?P<ms>\d+) msec)?"
)
_PAUSE = re.compile(
    r"^\[[\d.]+s\]\[info\s*\]\[gc\s*\] GC\((?P<id>\d+)\) Pause.*? "
    r"(?P<before>[\d.]+)(?P<before_unit>[BKMG])->(?P<after>[\d.]+)(?P<after_unit>[BKMG])\([\d.]+[BKMG]\) "
    r"(?P<ms>[\d.]+)ms$"
)
_SAFEPOINT = re.compile(
    r"^\[[\d.]+s\]\[info\s*\]\[safepoint\s*\] Safepoint .* Reaching safepoint: +(?P<reaching>\d+) ns,"
    r".* Total: +\d+ ns$"
)
_PAUSE_CPU = re.compile(
    r"^\[[\d.]+s\]\[info\s*\]\[gc,cpu\s*\] GC\(\d+\) User=(?P<user>[\d.]+)s Sys=(?P<system>[\d.]+)s "
)
_USAGE = re.compile(r"^===== Shardsweep usage (?P<counters>\S.*\S) =====$")
# A line of the benchmark's, of which the end has not been written when the JVM writes one of its own.
_CUT = re.compile(r"(?<= =====)(?=\[[\d.]+s\]\[)")
_LATENCY = re.compile(r"^===== Shardsweep latency usec (?P<kinds>\S.*\S) =====$")
_MIB = {"B": 1 / (1 << 20), "K": 1 / 1024, "M": 1.0, "G": 1024.0}


def read(path: Path) -> list[Invocation]:
    """Every run that a log file holds, in order. Raises UserError for a file that holds none."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8", errors="replace") as source:
            text = source.read()
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    # What is before the first mark belongs to no run.
    runs = [_invocation(part) for part in _RUN.split(text)[1:]]
    if not runs:
        raise UserError(f"{path} is not a running-ng log, or an empty one")
    return runs


def _invocation(text: str) -> Invocation:
    marks = _marks(text)
    if not marks or "start" not in marks[0]:
        said = "the log holds no mark of the launcher: running-ng was stopped before the JVM ran"
        return Invocation([], Outcome.ERROR, said, is_cut=True)
    command = marks[0]["start"]["command"]
    # The part before the mark lists the machine's processes and variables: any word may occur there.
    output = _CUT.sub("\n", text.partition(MARK)[2].partition("\n")[2])
    if len(marks) < 2:
        return Invocation(command, Outcome.ERROR, "interrupted before the JVM ended", is_cut=True)
    end = marks[-1]
    outcome, detail = _outcome(end, output)
    return Invocation(
        command,
        outcome,
        detail,
        iterations=_iterations(output),
        statistics=_statistics(output),
        seconds=end["seconds"],
        peak_kib=end["peak_kib"],
        launcher=end,
        resident=end.get("resident", []),
    )


def _marks(text: str) -> list[dict]:
    """What the launcher has said of a run, up to a mark that it was stopped in the middle of."""
    marks = []
    for line in text.splitlines():
        if line.startswith(MARK):
            try:
                marks.append(json.loads(line[len(MARK) :]))
            except ValueError:
                break
    return marks


def _outcome(end: dict, output: str) -> tuple[Outcome, str]:
    if end["timeout"]:
        return Outcome.TIMEOUT, f"stopped at the time limit, after {end['seconds']:.0f} s"
    if end["signal"] is not None:
        return Outcome.CRASH, crash(output) or f"ended by signal {end['signal']}"
    if said := crash(output):
        return Outcome.CRASH, said
    if oom := OUT_OF_MEMORY.search(output):
        line = _line_at(output, oom.start())
        return Outcome.OVERHEAD if _OVERHEAD in line else Outcome.OOM, line
    if end["exit"] is not None and 128 < end["exit"] < 128 + signal.NSIG:
        return Outcome.CRASH, f"ended by signal {end['exit'] - 128}"
    if wrong := _WRONG.search(output):
        return Outcome.FAILED, wrong.group().strip("= ")
    if end["exit"] == 0 and any(match["what"] == "PASSED" for match in map(_PHASE.match, output.splitlines()) if match):
        return Outcome.PASSED, ""
    cause = _CAUSE.search(output)
    said = cause.group() if cause else last_said(_without_marks(output))
    return Outcome.ERROR, f"exit code {end['exit']}: {said}"


def crash(output: str) -> str | None:
    """What a JVM that crashed says of that; None where it says nothing of a crash."""
    found = _CRASH.search(output)
    if not found:
        return None
    if found.group().startswith("#"):
        # The line after the announcement names the signal or the failed assertion.
        reasons = [line.strip("# ") for line in output[found.end() :].splitlines() if line.strip("# ")]
        return reasons[0] if reasons else "fatal error of the JVM"
    return " ".join(found.group().split())


def _line_at(text: str, position: int) -> str:
    return text[text.rfind("\n", 0, position) + 1 :].partition("\n")[0].strip()


def _without_marks(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith(MARK))


def _iterations(output: str) -> list[Iteration]:
    """Splits the output at the benchmark's own lines; a collection belongs to the iteration it was printed in."""
    found: list[Iteration] = []
    reader = _Reader()
    for line in output.splitlines():
        if phase := _PHASE.match(line):
            if phase["what"] == "starting":
                reader.begin()
            elif phase["ms"] and reader.running and phase["what"] != "FAILED":
                found.append(reader.end(len(found) + 1, float(phase["ms"])))
        elif usage := _USAGE.match(line):
            reader.said({name: int(value) for name, value in map(str.split, usage["counters"].split(","))})
        elif latency := _LATENCY.match(line):
            reader.latencies = _latencies(latency["kinds"])
        elif reader.has_ended:
            continue
        elif pause := _PAUSE.match(line):
            reader.pause(pause)
        elif safepoint := _SAFEPOINT.match(line):
            reader.safepoint(safepoint)
        elif cpu := _PAUSE_CPU.match(line):
            reader.pause_cpu = (reader.pause_cpu or 0.0) + 1000 * (float(cpu["user"]) + float(cpu["system"]))
    return found


def _latencies(kinds: str) -> dict[str, float]:
    """Of `simple 50% 2 max 32, metered 50% 7 max 32`: microseconds by `simple.p50`, `simple.max`, and so on."""
    found = {}
    for kind, *words in map(str.split, kinds.split(",")):
        for percentile, microseconds in zip(words[::2], words[1::2], strict=True):
            name = "max" if percentile == "max" else f"p{percentile.removesuffix('%')}"
            found[f"{kind}.{name}"] = float(microseconds)
    return found


class _Reader:
    """What the lines of the iteration that is being read have said."""

    def __init__(self) -> None:
        self.running = self.has_safepoints = False
        self.heap = 0.0
        # What the benchmark said last, in the iteration or before it.
        self.before: dict[str, int] = {}
        self.after: dict[str, int] = {}
        self._clear()

    def _clear(self) -> None:
        # Pauses by the number of their collection: one of G1 can have several.
        self.pauses: dict[int, list[float]] = {}
        self.latencies: dict[str, float] = {}
        self.charged = self.reaching = 0.0
        self.pause_cpu: float | None = None

    def begin(self) -> None:
        """An iteration starts."""
        self._clear()
        self.running, self.before, self.after = True, self.after, {}
        if self.before:
            # The heap at the start of an iteration is not the one after the collection before it.
            self.heap = self.before["heap"] / 1024

    @property
    def has_ended(self) -> bool:
        """Whether the benchmark has said what its timed work used, and checks the results of that, which may collect too."""
        return self.running and bool(self.before and self.after)

    def said(self, counters: dict[str, int]) -> None:
        """The benchmark has said what the process has used so far."""
        self.after = counters

    def pause(self, line: re.Match) -> None:
        """A pause has ended."""
        before = float(line["before"]) * _MIB[line["before_unit"]]
        after = float(line["after"]) * _MIB[line["after_unit"]]
        self.charged += max(0.0, before - self.heap)
        self.heap = after
        self.pauses.setdefault(int(line["id"]), []).append(float(line["ms"]))

    def safepoint(self, line: re.Match) -> None:
        """All threads have gone on after a safepoint."""
        self.has_safepoints = True
        self.reaching += int(line["reaching"]) / 1e6

    def end(self, number: int, milliseconds: float) -> Iteration:
        """What is known of the iteration, which has ended."""
        self.running = False
        usage, charged = {}, None
        if self.before and self.after:
            usage = {name: float(self.after[name] - self.before[name]) for name in USAGE}
            charged = self.charged + max(0.0, self.after["heap"] / 1024 - self.heap)
        # The next iteration has its own line about its start.
        self.after = {}
        return Iteration(
            number,
            milliseconds,
            list(self.pauses.values()),
            charged,
            usage,
            self.latencies,
            # A pause is in a safepoint: where there are pauses and no safepoint at all, these are not logged.
            self.reaching if self.has_safepoints or not self.pauses else None,
            self.pause_cpu if self.pause_cpu is not None or self.pauses else 0.0,
        )


def _statistics(output: str) -> dict[str, float]:
    """mmtk-core's statistics of the timed iteration, by their names; empty where none were printed.

    `GC` is the number of collections, `time.other` and `time.stw` are milliseconds outside and inside of their pauses.
    """
    header = output.rfind(MMTk_HEADER)
    footer = output.find(MMTk_FOOTER, header)
    if header < 0 or footer < 0:
        return {}
    # A JVM logs among them.
    names, values = [line for line in output[header:footer].splitlines() if not line.startswith("[")][1:3]
    read = {name: float(value) for name, value in zip(names.split(), values.split(), strict=True)}
    # The smallest and largest of nothing are infinite.
    return {name: value for name, value in read.items() if math.isfinite(value)}
