# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the results of a sweep depend on. It is fixed in the sweep's folder; a point that was measured with something else is no
result of it."""

import hashlib
from pathlib import Path

from shardsweep import catalog, grid, machine, probe
from shardsweep.errors import UserError
from shardsweep.files import read_json
from shardsweep.grid import Grid

FILE = "inputs.json"
GRID = "grid"
# What runs the benchmark and reads what it says.
MEASURING = [Path(__file__).with_name(f"{name}.py") for name in ("launch", "logs", "minheap", "point", "probe")]
# The versions of what they use.
PACKAGES = Path(__file__).parents[1] / "requirements.lock"
REMEDY = "choose another folder with --out, or remove it"


def of(wanted: Grid) -> dict[str, str]:
    """The grid, the variables of mmtk-core and of our libraries, and digests of the code that measures, of its packages, of the
    configurations and of each JVM, plugin and jar that it uses."""
    files = {file for build in catalog.choose(wanted.builds()) for file in build.files}
    files |= {catalog.jar(experiment.suite) for experiment in wanted.experiments().values()}
    files |= {*catalog.CONFIGS.glob("*.yml"), *MEASURING, PACKAGES}
    digests = {str(file): machine.digest(file) for file in sorted(files)}
    return {GRID: hashlib.sha256(grid.dump(wanted).encode()).hexdigest(), **probe.settings(), **digests}


def recorded(folder: Path) -> dict[str, str]:
    """Those that a sweep's folder was begun with."""
    return read_json(folder / FILE, REMEDY)


def changed(before: dict[str, str], now: dict[str, str]) -> str | None:
    """The first in which they differ; None if they are the same."""
    return next((name for name in {**before, **now} if before.get(name) != now.get(name)), None)


def check_unchanged(folder: Path, wanted: Grid) -> None:
    """Raises UserError where something has changed since the sweep in that folder began, of what there is under the same name
    where this runs."""
    if not (folder / FILE).exists():
        return
    before, now = recorded(folder), of(wanted)
    name = changed(before, {name: now.get(name, value) for name, value in before.items()})
    if name:
        raise UserError(f"{name} has changed since the sweep began: sweep again, into another folder")
