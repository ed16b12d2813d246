# SPDX-License-Identifier: MIT OR Apache-2.0
"""What others have measured, as data: it stands beside what is measured here.

Of the report that this project follows (Sinclair, 2023), the minheap tables and regressions of sections 4.1, 4.2, 5.2 and 7.1;
the analysis is checked against the regressions printed there. Of DaCapo's lusearch, what it allocates.
"""

from importlib.resources import files

import pandas as pd

TIMEOUT = "TIMEOUT"

# The report's name of a build, and ours for the same thing.
COUNTERPARTS = {
    "ms-64k-block": ("4.2", "MMTk mimalloc"),
    "ms-4k": ("5.2", "MMTk mimalloc 4KiB blocks"),
    "stock-MarkCompact": ("4.2", "mark-compact"),
    "stock-SemiSpace": ("4.2", "semi-space"),
    "malloc-libc": ("4.2", "libc"),
    "malloc-jemalloc": ("4.2", "jemalloc"),
    "malloc-mimalloc1-64kpage": ("4.2", "mimalloc v1"),
    "malloc-mimalloc2-64kpage": ("4.2", "mimalloc v2"),
    "malloc-mimalloc1-4kblock": ("5.2", "mimalloc v1 4KiB blocks"),
    "malloc-mimalloc2-4kblock": ("5.2", "mimalloc v2 4KiB blocks"),
    "malloc-mimalloc1": ("5.2", "mimalloc v1 4KiB accounting"),
    "malloc-mimalloc2": ("5.2", "mimalloc v2 4KiB accounting"),
}


def _read(name: str) -> pd.DataFrame:
    with files("shardsweep").joinpath("data", "published", name).open() as source:
        return pd.read_csv(source, dtype=str)


def minheaps() -> pd.DataFrame:
    """Columns section, table, build, threads and minheap in MiB; a run that timed out there has no minheap (NA)."""
    table = _read("minheap.csv")
    table["threads"] = table["threads"].astype("Int64")
    table["minheap"] = table["minheap"].replace(TIMEOUT, pd.NA).astype("Float64")
    return table


def regressions() -> pd.DataFrame:
    """Columns section, table, build, slope, intercept and r2: as text, because the number of digits is part of it."""
    return _read("regressions.csv")


def allocations(benchmark: str) -> pd.DataFrame:
    """What DaCapo's benchmark allocates that ours of that name stands for. Columns row, above and up_to in bytes, objects and
    bytes: a row with sizes has shares of both, another has a number of one of them, and none (NA) of the other."""
    table = _read("allocations.csv")
    rows = table[table["benchmark"] == benchmark].drop(columns="benchmark").reset_index(drop=True)
    return rows.astype(dict.fromkeys(("above", "up_to", "objects", "bytes"), "Float64"))
