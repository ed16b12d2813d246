# SPDX-License-Identifier: MIT OR Apache-2.0
"""How long the objects of a benchmark live: what survives a collection of new objects, and what is alive with more threads.

Both are read from the collector's own log, of the last of two iterations. HotSpot's Serial copies what survives of the young
generation, and logs what it held before and holds afterwards. The default plan of ms-64k marks the whole heap in each
collection, and logs the bytes in the cells that it has marked.
"""

import math
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pandas as pd
from scipy import stats

from shardsweep import catalog
from shardsweep.errors import UserError, last_said
from shardsweep.tables import Table, number

SERIAL = ("-XX:+UseSerialGC", "-Xlog:gc+heap")
MARK_SWEEP = ("-XX:+UseThirdPartyHeap", "-Xlog:gc+heap=debug")
ITERATIONS = 2

_STARTING = re.compile(r"^===== DaCapo .* starting =====", re.MULTILINE)
_YOUNG = re.compile(
    r"GC\((\d+)\) DefNew: (\d+)K\(\d+K\)->(\d+)K.*\n(?:.*\n)*?.*GC\(\1\) Tenured: (\d+)K\(\d+K\)->(\d+)K"
)
_LIVE = re.compile(r"Heap after GC.*\n(?:.*\n)*?.* (\d+)K live at the last collection")


@dataclass(frozen=True)
class Lifetimes:
    """Of one number of threads, in KiB: for each young collection, what was new and what survived, which counts an object again
    that has survived before and is still young; for each collection of the whole heap, what was alive."""

    threads: int
    young: list[tuple[int, int]]
    live: list[int]


def survivors(log: str) -> list[tuple[int, int]]:
    """What Serial's collections of the last iteration found new, and what survived, in KiB. Full collections do not count."""
    found = []
    left = 0
    for _, before, after, old_before, old_after in _YOUNG.findall(_last_iteration(log)):
        promoted = int(old_after) - int(old_before)
        if promoted >= 0:
            found.append((int(before) - left, int(after) + promoted))
        left = int(after)
    return found


def alive(log: str) -> list[int]:
    """What the collections of the last iteration found alive, in KiB."""
    return [int(kib) for kib in _LIVE.findall(_last_iteration(log))]


def _last_iteration(log: str) -> str:
    starts = list(_STARTING.finditer(log))
    return log[starts[-1].end() :] if starts else log


def measure(java: Path, jar: Path, arguments: list[str], threads: int, heap: int) -> Lifetimes:
    """Runs a benchmark on both collectors in `heap` MiB. Raises UserError where a run does not pass."""

    def run(flags: tuple[str, ...]) -> str:
        with tempfile.TemporaryDirectory() as folder:
            command = [java, *flags, f"-Xmx{heap}m", "-jar", jar, "-n", str(ITERATIONS), "-t", str(threads), *arguments]
            done = subprocess.run(
                command,
                cwd=folder,
                env=catalog.plain_environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
        if done.returncode != 0:
            said = last_said(done.stdout)
            raise UserError(f"{jar.name}, {threads} threads, {flags[0]}, ended with {done.returncode}: {said}")
        return done.stdout

    return Lifetimes(threads, survivors(run(SERIAL)), alive(run(MARK_SWEEP)))


def frame(found: list[Lifetimes]) -> pd.DataFrame:
    """A row a number of threads: the young collections, the median of what survived one in KiB, and the share of all that was
    new; the collections of the whole heap, and the median of what was alive at one in KiB. NaN where there was no collection."""
    return pd.DataFrame(map(_summary, found))


def _summary(of: Lifetimes) -> dict[str, float]:
    new = sum(allocated for allocated, _ in of.young)
    kept = sum(survived for _, survived in of.young)
    return {
        "threads": of.threads,
        "young": len(of.young),
        "survived": median(survived for _, survived in of.young) if of.young else math.nan,
        "share": kept / new if new else math.nan,
        "whole": len(of.live),
        "alive": median(of.live) if of.live else math.nan,
    }


def table(summary: pd.DataFrame, title: str) -> Table:
    """The rows of a frame as text, and the line through what is alive, with the standard error of its slope."""
    rows = [
        [
            str(row.threads),
            str(row.young),
            number(row.survived, 0),
            "" if math.isnan(row.share) else f"{row.share:.2%}",
            str(row.whole),
            number(row.alive, 0),
        ]
        for row in summary.itertuples()
    ]
    points = summary.dropna(subset=["alive"])
    if len(points) > 2:
        line = stats.linregress(points["threads"], points["alive"])
        rows.append(["a thread", "", "", "", "", f"{line.slope:.1f} ± {line.stderr:.1f}"])
    columns = ["threads", "young collections", "KiB that survive", "of what is new", "whole collections", "KiB alive"]
    return Table("lifetimes", title, columns, rows)
