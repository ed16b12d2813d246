# SPDX-License-Identifier: MIT OR Apache-2.0
"""Live progress of a sweep: what is running, done of total, time left. It watches files, as clusters need it."""

import subprocess
import time
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from shardsweep import point
from shardsweep.grid import Point

POLL_SECONDS = 0.5
# How often a line is printed where there is no terminal to draw on.
PLAIN_SECONDS = 60
# How a job's own line begins.
SAID = "shardsweep: "


def follow(folder: Path, points: list[Point], process: subprocess.Popen) -> None:
    """Shows progress until the process ends."""
    console = Console(stderr=True)
    without = unmeasured(folder, points)
    already = len(points) - len(without)
    started = time.monotonic()
    printed = started
    columns = (
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )  # fmt: skip
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("starting", total=len(points), completed=already, left="")
        while True:
            ended = process.poll() is not None
            without = unmeasured(folder, without)
            waiting = [each for each in without if not failure(folder, each)]
            done = len(points) - len(without)
            left = time_left(time.monotonic() - started, done - already, len(waiting))
            current = running(folder, waiting)
            if len(waiting) < len(without):
                current += f", {len(without) - len(waiting)} failed"
            bar.update(task, completed=done, description=current, left=left)
            if not console.is_terminal and (ended or time.monotonic() - printed >= PLAIN_SECONDS):
                printed = time.monotonic()
                console.print(f"{done} of {len(points)} points; {current}; {left}", highlight=False)
            if ended:
                return
            time.sleep(POLL_SECONDS)


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
