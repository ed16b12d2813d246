# SPDX-License-Identifier: MIT OR Apache-2.0
"""Live progress of a sweep: what is running, done of total, time left, and the numbers of each point that is done. It watches
files, as clusters need it."""

import statistics
import subprocess
import time
from collections import defaultdict
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from shardsweep import point
from shardsweep.errors import UserError
from shardsweep.grid import Point

# Each look, and each drawing, costs a little of the processors on which the points are timed.
POLL_SECONDS = 5
DRAWINGS_PER_SECOND = 1
# How often a line is printed where there is no terminal to draw on.
PLAIN_SECONDS = 60
# How a job's own line begins.
SAID = "shardsweep: "


def follow(folder: Path, points: list[Point], process: subprocess.Popen) -> None:
    """Shows progress until the process ends."""
    console = Console(stderr=True)
    without = unmeasured(folder, points)
    already = len(points) - len(without)
    numbers = Numbers(folder, points)
    numbers.lines()
    started = time.monotonic()
    printed = started
    columns = (
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )  # fmt: skip
    bar = Progress(*columns, console=console, disable=not console.is_terminal, refresh_per_second=DRAWINGS_PER_SECOND)
    with bar:
        task = bar.add_task("starting", total=len(points), completed=already, left="")
        while True:
            ended = _ended(process)
            without = unmeasured(folder, without)
            waiting = [each for each in without if not failure(folder, each)]
            done = len(points) - len(without)
            left = time_left(time.monotonic() - started, done - already, len(waiting))
            current = running(folder, waiting)
            if len(waiting) < len(without):
                current += f", {len(without) - len(waiting)} failed"
            for line in numbers.lines():
                bar.console.print(line, highlight=False, markup=False, soft_wrap=True)
            bar.update(task, completed=done, description=current, left=left)
            if not console.is_terminal and (ended or time.monotonic() - printed >= PLAIN_SECONDS):
                printed = time.monotonic()
                console.print(f"{done} of {len(points)} points; {current}; {left}", highlight=False)
            if ended:
                return


def _ended(process: subprocess.Popen) -> bool:
    """Whether the process has ended before it is time for another look."""
    try:
        process.wait(POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


class Numbers:
    """What the points of a sweep say, once each is done."""

    def __init__(self, folder: Path, points: list[Point]):
        self._folder = folder
        self._untold = points
        # By point but for its invocation, and by build: milliseconds of each invocation.
        self._times = defaultdict(list)

    def lines(self) -> list[str]:
        """A line for each point that has been done since the last call."""
        told = {each: line for each in self._untold if (line := self._line(each))}
        self._untold = [each for each in self._untold if each not in told]
        return list(told.values())

    def _line(self, each: Point) -> str | None:
        file = point.result_file(self._folder, each)
        if not file.exists():
            return None
        try:
            rows = point.read_result(file)["rows"]
        except UserError:
            # The storage of a cluster has copied a part of it.
            return None
        said = _minheap(rows) if each.experiment == "minheap" else self._medians(each, rows)
        return f"{each.id}: {said or 'nothing to tell: see the report'}"

    def _medians(self, each: Point, rows: list[dict]) -> str:
        """The median time of each build over the invocations so far."""
        last = {row["build"]: row["value"] for row in rows if row["metric"] == "time.total"}
        where = each.id.rpartition("-")[0]
        for build, value in last.items():
            self._times[where, build].append(value)
        times = {build: self._times[where, build] for build in sorted(last)}
        return ", ".join(f"{build} {statistics.median(some):.0f} ms (of {len(some)})" for build, some in times.items())


def _minheap(rows: list[dict]) -> str:
    found = next((row["value"] for row in rows if row["metric"] == "minheap"), None)
    return f"{found} MiB" if found else "no minheap"


def unmeasured(folder: Path, points: list[Point]) -> list[Point]:
    """Those of the points that have no result yet."""
    return [each for each in points if not point.result_file(folder, each).exists()]


def job_log(folder: Path, each: Point) -> Path:
    """What the job of a point has written, once it is begun."""
    return folder / "jobs" / f"{each.id}.log"


def failure(folder: Path, each: Point) -> str | None:
    """Why the job of a point ended without a result, in its own words; None if it has said nothing."""
    log = job_log(folder, each)
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    own = [line for line in lines if line.startswith(SAID)]
    return own[-1].removeprefix(SAID) if own else None


def running(folder: Path, waiting: list[Point]) -> str:
    """The points that a job has begun, of those that have neither result nor failure."""
    begun = [each.id for each in waiting if job_log(folder, each).exists()]
    if not begun:
        return "waiting for a job to start" if waiting else "done"
    more = f" and {len(begun) - 1} more" if len(begun) > 1 else ""
    return begun[-1] + more


def time_left(elapsed: float, done: int, waiting: int) -> str:
    """The rest at the pace so far, in words."""
    if not waiting:
        return "finished"
    if not done:
        return "time left: not known yet"
    seconds = elapsed / done * waiting
    return f"about {seconds / 60:.0f} min left" if seconds >= 90 else f"about {seconds:.0f} s left"
