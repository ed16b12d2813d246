# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a benchmark allocates: histograms by size of all objects of an iteration, of any jar with DaCapo's command line.

A JVMTI agent counts every object of a run. An iteration's are those of a run with one iteration more, less those of the
run without it: what starting and warming up allocate is in both.
"""

import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from shardsweep import catalog
from shardsweep.errors import UserError, last_said
from shardsweep.files import read_yaml
from shardsweep.tables import Table

AGENT = "liballocations.so"
FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")
# HotSpot's simplest collector sees what the others do: what is allocated does not depend on it.
JAVA_FLAGS = ("-XX:+UseSerialGC", "-Xmx1g")
# The last sizes of the rows, in bytes, and what they are called.
ROWS = {
    24: "up to 24 bytes",
    64: "25 to 64",
    512: "65 to 512",
    1024: "513 bytes to 1 KiB",
    2048: "1 to 2 KiB",
    4096: "2 to 4 KiB",
    8192: "4 to 8 KiB",
    32768: "8 to 32 KiB",
    65536: "32 to 64 KiB",
    1 << 62: "more",
}

Sizes = Counter[int]


def build_agent(home: Path, folder: Path) -> Path:
    """Compiles the agent against the headers of a JDK. Raises UserError where that cannot be done."""
    include = home / "include"
    if not (include / "jvmti.h").is_file():
        raise UserError(f"{include / 'jvmti.h'} is not there: point SHARDSWEEP_JDK at a whole JDK")
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler:
        raise UserError("the agent needs a C compiler: apt-get install gcc libc6-dev")
    source = files("shardsweep") / "agent" / "allocations.c"
    library = folder / AGENT
    command = [compiler, *FLAGS, f"-I{include}", f"-I{include / 'linux'}", "-o", str(library), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UserError(f"the agent does not compile: {last_said(done.stderr)}")
    return library


def count(java: Path, agent: Path, jar: Path, arguments: list[str], folder: Path, flags: Sequence[str] = ()) -> Sizes:
    """The number of objects of each size that one run allocates, with those flags of the JVM. Raises UserError where the run does
    not pass."""
    histogram = folder / "sizes"
    histogram.unlink(missing_ok=True)
    command = [java, f"-agentpath:{agent}={histogram}", *JAVA_FLAGS, *flags, "-jar", jar, *arguments]
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**catalog.plain_environment(), "LC_ALL": "C.UTF-8"},
    )
    if done.returncode != 0 or not histogram.is_file():
        said = last_said(done.stdout + done.stderr)
        raise UserError(f"{jar.name} {' '.join(arguments)} ended with {done.returncode}: {said}")
    pairs = (line.split() for line in histogram.read_text().splitlines())
    return Counter({int(size): int(objects) for size, objects in pairs})


def iteration(home: Path, jar: Path, arguments: list[str], warmups: int, flags: Sequence[str] = ()) -> Sizes:
    """What the iteration after so many others allocates, by size, with those flags of the JVM."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        agent = build_agent(home, folder)
        java = home / "bin" / "java"
        fewer, more = (
            count(java, agent, jar, ["-n", str(number), *arguments], folder, flags) for number in (warmups, warmups + 1)
        )
    return Counter({size: more[size] - fewer[size] for size in more.keys() | fewer.keys()})


def published(file: Path) -> Sizes:
    """What a whole run of a benchmark of DaCapo allocates, as DaCapo's repository has it: benchmarks/bms/*/stats-alloc.yml."""
    try:
        known = read_yaml(file, str(file))["objects-by-size"]
        return Counter({int(size): int(objects) for size, objects in known.items()})
    except (UserError, LookupError, TypeError, ValueError, AttributeError):
        raise UserError(f"{file} is not one of DaCapo's stats-alloc.yml: it has no objects-by-size") from None


def totals(sizes: Sizes, title: str) -> tuple[int, int]:
    """How many objects there are, and how many bytes. Raises UserError, with the title, where there is no object."""
    objects = sum(sizes.values())
    size = sum(each * number for each, number in sizes.items())
    if objects <= 0 or size <= 0:
        raise UserError(f"{title}: there are no objects")
    return objects, size


def shares(sizes: Sizes, above: float, up_to: float, title: str) -> tuple[float, float]:
    """What part of all objects, and of all bytes, those above a size are, up to another. Raises UserError as `totals`."""
    objects, size = totals(sizes, title)
    some = {each: number for each, number in sizes.items() if above < each <= up_to}
    return sum(some.values()) / objects, sum(each * number for each, number in some.items()) / size


def table(sizes: Sizes, batches: int, title: str) -> Table:
    """Objects and bytes a batch, and the share of each row of sizes in both. Raises UserError where there is no object."""
    objects, size = totals(sizes, title)
    rows = [
        ["objects a batch", f"{objects / batches:.0f}", ""],
        ["bytes a batch", "", f"{size / batches:.0f}"],
        ["bytes an object", "", f"{size / objects:.0f}"],
    ]
    first = 0
    for last, name in ROWS.items():
        rows.append([name, *(f"{share:.2%}" for share in shares(sizes, first, last, title))])
        first = last
    return Table("allocations", title, ["", "objects", "bytes"], rows)
