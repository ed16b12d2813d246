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


def follow(folder: Path, points: list[Point], process: subprocess.Popen) -> None:
    """Shows progress until the process ends."""
    console = Console(stderr=True)
    waiting = {each.id: each for each in points if not point.result_file(folder, each).exists()}
    already = len(points) - len(waiting)
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
            for name in [name for name, each in waiting.items() if point.result_file(folder, each).exists()]:
                del waiting[name]
            done = len(points) - len(waiting)
            left = time_left(time.monotonic() - started, done - already, len(waiting))
            current = running(folder, waiting)
            bar.update(task, completed=done, description=current, left=left)
            if not console.is_terminal and (ended or time.monotonic() - printed >= PLAIN_SECONDS):
                printed = time.monotonic()
                console.print(f"{done} of {len(points)} points; {current}; {left}", highlight=False)
            if ended:
                return
            time.sleep(POLL_SECONDS)


def running(folder: Path, waiting: dict[str, Point]) -> str:
    """The points that a job has begun: its log is there and its result is not."""
    begun = [name for name in waiting if (folder / "jobs" / f"{name}.log").exists()]
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
