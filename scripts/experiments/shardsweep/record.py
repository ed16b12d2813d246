# SPDX-License-Identifier: MIT OR Apache-2.0
"""Keeps what sweeps have measured: one data set a subject, in `results/`, of one sweep or more."""

import json
import re
from pathlib import Path

import pandas as pd

from shardsweep import catalog, grid, point, report, sweep, tidy
from shardsweep.errors import UserError
from shardsweep.files import write_whole

RESULTS = catalog.ROOT / "results"


def record(name: str, folders: list[Path], results: Path = RESULTS) -> Path:
    """Replaces the data set `name` by what the folders of sweeps hold, and returns its folder.

    Each sweep is a sitting. All of them are of one grid and were measured on one kind of processor: samples of others
    are not to be pooled. Raises UserError where they are not, or have no results.
    """
    if not re.fullmatch(r"[a-z0-9-]+", name):
        raise UserError(f"{name!r} is no name for a data set: small letters, digits and - only")
    for folder in folders:
        if not (folder / point.GRID_FILE).is_file():
            raise UserError(f"{folder} is not the folder of a sweep: it has no {point.GRID_FILE}")
    grids = {grid.dump(grid.load(folder / point.GRID_FILE)) for folder in folders}
    if len(grids) > 1:
        raise UserError("the sweeps are of different grids: record each under a name of its own")
    table, notes = _pooled(folders)
    machines = [machine for folder in folders for machine in sweep.read_machine(folder)["machines"]]
    processors = sorted({machine["processor"] for machine in machines})
    if len(processors) > 1:
        raise UserError(f"measured on different processors, {' and '.join(processors)}: not to be pooled")
    target = results / name
    target.mkdir(parents=True, exist_ok=True)
    tidy.write(table, target / sweep.RESULTS)
    write_whole(target / point.GRID_FILE, grids.pop())
    write_whole(target / sweep.NOTES, json.dumps(notes, indent=1))
    write_whole(target / sweep.MACHINE, json.dumps(_facts(folders, machines), indent=1))
    report.write(target)
    return target


def _pooled(folders: list[Path]) -> tuple[pd.DataFrame, list[dict]]:
    """The tables and notes of all sweeps. Invocations are counted on, so that each is one JVM."""
    tables, notes, before = [], [], 0
    for folder in folders:
        table, said = sweep.results(folder)
        if table.empty:
            raise UserError(f"{folder} has no results: run the sweep first")
        tables.append(table.assign(sitting=folder.resolve().name, invocation=table["invocation"] + before))
        before += int(table["invocation"].max()) + 1
        notes += said
    pooled = pd.concat(tables, ignore_index=True).astype(tidy.ALL)
    return pooled.sort_values(tidy.SORT, kind="stable", ignore_index=True), notes


def _facts(folders: list[Path], machines: list[dict]) -> dict:
    """What the data set was measured on and with: the facts of the first sweep, all machines, and each sweep's commit."""
    each = {folder.resolve().name: sweep.read_machine(folder) for folder in folders}
    different = [machine for place, machine in enumerate(machines) if machine not in machines[:place]]
    sittings = {name: facts["revision"] for name, facts in each.items()}
    return {**next(iter(each.values())), "machines": different, "sittings": sittings}
