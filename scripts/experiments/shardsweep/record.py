# SPDX-License-Identifier: MIT OR Apache-2.0
"""Keeps what sweeps have measured: one data set a subject, in `results/`, of one sweep or more."""

import json
import re
import sys
from pathlib import Path

import pandas as pd

from shardsweep import catalog, grid, machine, point, progress, report, sweep, tidy
from shardsweep.errors import UserError
from shardsweep.files import replaced, write_whole

RESULTS = catalog.ROOT / "results"
# Folders of `results/` whose files are of other forms.
RESERVED = ("archive", "calibration", "jcstress", "malloc", "micro", "soak", "stress")


def record(name: str, folders: list[Path], results: Path = RESULTS) -> Path:
    """Replaces the data set `name` by what the folders of sweeps hold, and returns its folder.

    Each sweep is a sitting. All of them are at their end, are of one grid, and were measured on one kind of machine, with one
    JVM, jar and commit of each build, in the same heaps, and with the same settings: samples of others are not to be pooled.
    Raises UserError where they are not, have no results, or are of a build or a checkout that has no commit.
    """
    target = _target(name, results)
    whole = _grid(folders)
    table, notes = _pooled(folders)
    facts = {point.sitting(folder): sweep.read_machine(folder) for folder in folders}
    _check_committed(facts)
    _check_alike(list(facts.values()))
    with replaced(target) as new:
        tidy.write(table, new / sweep.RESULTS)
        write_whole(new / point.GRID_FILE, grid.dump(whole))
        write_whole(new / sweep.NOTES, json.dumps(notes, indent=1))
        write_whole(new / sweep.MACHINE, json.dumps(_facts(facts), indent=1))
        report.write(new, f"{results.name}/{name}")
    return target


def _target(name: str, results: Path) -> Path:
    """The folder of a data set. Raises UserError where something else is, or would be."""
    if not re.fullmatch(r"[a-z0-9-]+", name) or name in RESERVED:
        kept = ", ".join(RESERVED)
        raise UserError(f"{name!r} is no name for a data set: small letters, digits and - only, and not {kept}")
    target = results / name
    if target.exists() and not (target / point.GRID_FILE).is_file():
        raise UserError(f"{target} is not the folder of a data set: it has no {point.GRID_FILE}")
    return target


def _grid(folders: list[Path]) -> grid.Grid:
    """The grid of all sweeps. Raises UserError where they are no sitting each, of the same grid."""
    names = list(map(point.sitting, folders))
    again = next((name for name in names if names.count(name) > 1), None)
    if again:
        raise UserError(f"two folders are called {again}, which is the name of a sitting: rename one of them")
    grids = {}
    for folder in folders:
        if not (folder / point.GRID_FILE).is_file():
            raise UserError(f"{folder} is not the folder of a sweep: it has no {point.GRID_FILE}")
        whole = grid.load(folder / point.GRID_FILE)
        grids[grid.dump(whole)] = whole
        _check_ended(folder, whole)
    if len(grids) > 1:
        raise UserError("the sweeps are of different grids: record each under a name of its own")
    return next(iter(grids.values()))


def _check_ended(folder: Path, whole: grid.Grid) -> None:
    """Raises UserError while there are points that are to be measured, or have failed; but for those that cannot be measured,
    as their minheap is none, which it tells."""
    if sweep.is_recorded(folder):
        return
    points = grid.points(whole)
    failures = {each.id: progress.failure(folder, each) for each in progress.unmeasured(folder, points)}
    waiting = [name for name, why in failures.items() if not why]
    if waiting:
        raise UserError(f"{folder} is not at its end: {len(waiting)} of {len(points)} points are to be measured yet")
    for name, why in failures.items():
        if point.NO_MINHEAP not in why:
            raise UserError(
                f"{folder}: {name} has failed: {why}: run the sweep again, which measures what has no result"
            )
        print(f"shardsweep: {folder}: {name} cannot be measured: {why}", file=sys.stderr)


def _pooled(folders: list[Path]) -> tuple[pd.DataFrame, list[dict]]:
    """The tables and notes of all sweeps. Invocations are counted on, so that each is one JVM."""
    tables, notes, before = [], [], 0
    for folder in folders:
        table, said = sweep.results(folder)
        if table.empty:
            raise UserError(f"{folder} has no results: run the sweep first")
        tables.append(table.assign(sitting=point.sitting(folder), invocation=table["invocation"] + before))
        before += int(table["invocation"].max()) + 1
        notes += said
    pooled = pd.concat(tables, ignore_index=True).astype(tidy.ALL)
    _check_heaps(pooled)
    return pooled.sort_values(tidy.SORT, kind="stable", ignore_index=True), notes


def _check_heaps(table: pd.DataFrame) -> None:
    """Raises UserError where a multiple of the minheap is of two minheaps."""
    for (benchmark, factor), rows in table.dropna(subset=["factor", "heap"]).groupby(["benchmark", "factor"]):
        for _, heaps in rows.groupby("threads", dropna=False)["heap"]:
            if heaps.nunique() > 1:
                both = " and ".join(f"{heap:.0f} MiB" for heap in sorted(heaps.unique()))
                raise UserError(f"{factor:g} times the minheap of {benchmark} are {both}: not to be pooled")


def _check_committed(sweeps: dict[str, dict]) -> None:
    """Raises UserError where a build, or the checkout that measured it, is not what its commit says."""
    for sitting, facts in sweeps.items():
        for name, build in facts["builds"].items():
            machine.check_committed(name, build.get("revision"))
            machine.check_committed(f"the JVM of {name}", build.get("jvm"))
        machine.check_committed(f"the sweep {sitting}", facts["revision"])


def _check_alike(facts: list[dict]) -> None:
    """Raises UserError where sweeps were measured on or with different things, and names the first of these."""
    found: dict[str, set[str]] = {}
    for one in facts:
        for each in one["machines"]:
            found.setdefault("processors", set()).add(machine.exact_processor(each))
            found.setdefault("numbers of processors", set()).add(str(each.get("processors", "unknown")))
            found.setdefault("modes of huge pages", set()).add(each.get("huge pages", "unknown"))
        running = one.get("packages", {}).get("running-ng", "unknown")
        found.setdefault("versions of running-ng", set()).add(running)
        found.setdefault("java", set()).add(" ".join(one["java"].split()))
        settings = (f"{name}={value}" for name, value in one.get("settings", {}).items())
        found.setdefault("settings", set()).add(" ".join(settings) or "none")
        for kind, what in (("jars", "jars of suite"), ("configurations", "configurations")):
            for name, digest in one.get(kind, {}).items():
                found.setdefault(f"{what} {name}", set()).add(digest)
        for name, build in one["builds"].items():
            found.setdefault(f"revisions of {name}", set()).add(build.get("revision") or "none")
            found.setdefault(f"JVMs of {name}", set()).add(build.get("jvm") or "unknown")
    for what, values in found.items():
        if len(values) > 1:
            raise UserError(f"measured on different {what}, {' and '.join(sorted(values))}: not to be pooled")


def _facts(sweeps: dict[str, dict]) -> dict:
    """What the data set was measured on and with: the facts of the first sweep, all machines, and each sweep's commit."""
    machines = [one for facts in sweeps.values() for one in facts["machines"]]
    different = [one for place, one in enumerate(machines) if one not in machines[:place]]
    sittings = {name: facts["revision"] for name, facts in sweeps.items()}
    return {**next(iter(sweeps.values())), "machines": different, "sittings": sittings}
