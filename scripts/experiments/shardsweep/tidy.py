# SPDX-License-Identifier: MIT OR Apache-2.0
"""The result format: one CSV, a row a measurement.

Columns and units: `build`, `plan`; `block` in bytes (0 for a malloc library, empty where the plan has no blocks of one
size); `accounting` (`page`, `page-64k`, `block` or empty); `benchmark`; `threads`; `heap` in MiB (empty for a minheap,
which is itself a heap size); `factor`, where the heap was asked for as a multiple of a minheap; `invocation` counted
from 0 (for a minheap: the repeat); `iteration` counted from 1 (0 for the whole run of the JVM); `metric`, `value`,
`unit`. A `value` is empty where the measurement was tried and gave none; other rows say why.

Where a row is from: `sitting`, the name of the sweep's folder, once it is recorded below `results/`; `commit`, of which
the plugin is, or for HotSpot's collectors the JVM; `processor`, its name, family and model; `jar`, the first digits
of the benchmark's SHA-256. Tables of earlier versions lack these.
"""

from pathlib import Path

import pandas as pd

from shardsweep.errors import UserError
from shardsweep.files import write_whole

COLUMNS = {
    "build": "string",
    "plan": "string",
    "block": "Int64",
    "accounting": "string",
    "benchmark": "string",
    "threads": "Int64",
    "heap": "Int64",
    "factor": "Float64",
    "invocation": "Int64",
    "iteration": "Int64",
    "metric": "string",
    "value": "Float64",
    "unit": "string",
}
ORIGIN = {"sitting": "string", "commit": "string", "processor": "string", "jar": "string"}
ALL = {**COLUMNS, **ORIGIN}
SORT = ["benchmark", "metric", "build", "threads", "heap", "invocation", "iteration"]


def frame(rows: list[dict]) -> pd.DataFrame:
    """The rows as a table with exactly the columns above, in an order that does not depend on when it was measured."""
    table = pd.DataFrame(rows, columns=list(ALL)).astype(ALL)
    # Stable, because the samples of one resident-memory trace differ in nothing that is sorted by.
    return table.sort_values(SORT, kind="stable", ignore_index=True)


def write(table: pd.DataFrame, path: Path) -> None:
    """Writes the table as CSV."""
    write_whole(path, table.to_csv(index=False))


def read(path: Path) -> pd.DataFrame:
    """Reads a CSV that `write` made. Raises UserError when it is missing or has other columns."""
    try:
        table = pd.read_csv(path, dtype=ALL)
    except FileNotFoundError:
        raise UserError(f"{path} is not there: run a sweep first, or name the folder of one") from None
    except (TypeError, ValueError) as error:
        raise UserError(f"{path} is not a result table: {error}") from None
    missing = [column for column in COLUMNS if column not in table]
    if missing:
        raise UserError(f"{path} is not a result table: it lacks the columns {', '.join(missing)}")
    return table.reindex(columns=list(ALL)).astype(ALL)
