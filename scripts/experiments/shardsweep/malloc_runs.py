# SPDX-License-Identifier: MIT OR Apache-2.0
"""The folder of a malloc measurement: results.csv, a run a row; machine.json, on what and with which libraries; said.json,
what each program said when it was first run. Runs that are not to be compared are kept apart."""

import json
import os
import sys
from pathlib import Path

import pandas as pd
from pydantic import BaseModel

from shardsweep import machine
from shardsweep.errors import UserError
from shardsweep.files import read_checked, write_whole

RESULTS = "results.csv"
FACTS = "machine.json"
SAID = "said.json"
COLUMNS = {
    "program": "str",
    "threads": "int",
    "operations": "int",
    "allocator": "str",
    "round": "int",
    "wall": "float",
    "user": "float",
    "system": "float",
    "peak_kib": "int",
}
# A run.
KEY = ["program", "threads", "operations", "allocator", "round"]
ELSEWHERE = "choose another folder with --folder, or remove it"


class _Facts(BaseModel):
    """What machine.json has to have."""

    machine: dict
    revision: str
    libraries: dict[str, str]
    programs: dict[str, str] = {}


def mend(folder: Path) -> None:
    """Drops the last row of the results if a full disk has cut it short, and says so."""
    file = folder / RESULTS
    content = file.read_bytes() if file.is_file() else b""
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(file, whole)
        print(f"malloc-bench: {file}: the last row was cut short and is dropped", file=sys.stderr)


def read(folder: Path) -> pd.DataFrame:
    """All runs. Raises UserError for a file that is damaged, or has runs of a program with different work."""
    file = folder / RESULTS
    if not file.is_file() or file.stat().st_size == 0:
        return pd.DataFrame(columns=list(COLUMNS)).astype(COLUMNS)
    try:
        rows = pd.read_csv(file, dtype=COLUMNS)
    except ValueError as error:
        raise UserError(f"{file} is damaged ({' '.join(str(error).split())}): restore it") from None
    if list(rows) != list(COLUMNS) or rows.isna().any(axis=None):
        raise UserError(f"{file} is damaged (its columns are not {', '.join(COLUMNS)}): restore it")
    if rows.duplicated(KEY).any():
        raise UserError(f"{file} is damaged (it has a run twice): restore it")
    work = rows.groupby("program")["operations"].nunique()
    if len(work) and work.max() > 1:
        raise UserError(f"{file} has runs of {work.idxmax()} with different numbers of operations: not to be compared")
    return rows


def check(folder: Path, rows: pd.DataFrame, operations: dict[str, int], libraries: dict[str, str]) -> None:
    """Raises UserError unless runs of so many operations by program, on these libraries, can be added to those of the
    folder."""
    for program, before in rows.groupby("program")["operations"].first().items():
        if operations.get(program, before) != before:
            now = operations[program]
            raise UserError(
                f"{folder} has {program} with {before} operations, not {now}: take its --share, or {ELSEWHERE}"
            )
    if not (folder / FACTS).exists():
        if not rows.empty:
            raise UserError(f"{folder} has no {FACTS}, so that nothing says what its runs are of: {ELSEWHERE}")
        return
    known = read_checked(folder / FACTS, _Facts)
    _check_same(folder, "libraries", known.libraries, digests(libraries))
    before, now = map(machine.exact_processor, (known.machine, machine.host()))
    if before != now:
        raise UserError(f"{folder} was measured on {before}, not {now}: {ELSEWHERE}")


def check_programs(folder: Path, programs: dict[str, str]) -> None:
    """Raises UserError unless the folder was measured with programs of these digests, as far as it says."""
    known = read_checked(folder / FACTS, _Facts).programs
    if known:
        _check_same(folder, "programs", known, programs)


def _check_same(folder: Path, what: str, before: dict[str, str], now: dict[str, str]) -> None:
    others = [name for name, digest in now.items() if before.get(name) != digest]
    if others:
        raise UserError(f"{folder} was measured with other {what}, by name {', '.join(others)}: {ELSEWHERE}")


def check_committed(folder: Path) -> None:
    """Raises UserError where what was measured is not what a commit says."""
    machine.check_committed(str(folder), read_checked(folder / FACTS, _Facts).revision)


def check_covers(folder: Path, kept: Path) -> None:
    """Raises UserError unless the folder has each run that another one has, with at least as many operations."""
    run = [name for name in KEY if name != "operations"]
    both = read(kept).merge(read(folder), on=run, how="left", suffixes=("", "_new"))
    # A run that is not there has no operations, and is not as large either.
    lacking = both[~(both["operations_new"] >= both["operations"])]
    if len(lacking):
        first = lacking.iloc[0]
        point = f"{first.program} {first.threads} on {first.allocator} in round {first['round']}"
        raise UserError(
            f"{folder} has not all that {kept} has: {len(lacking)} runs are missing or smaller, the first {point}; measure "
            f"these too, or remove {kept / RESULTS}"
        )


def digests(files: dict[str, str]) -> dict[str, str]:
    """What a measurement depends on of each library or program that is there."""
    return {
        name: machine.digest(Path(file)) if file else "the C library's"
        for name, file in files.items()
        if not file or Path(file).is_file()
    }


def keep_facts(folder: Path, libraries: dict[str, str], programs: dict[str, str]) -> None:
    """Writes on what and with what the folder is measured, unless it is said already."""
    if not (folder / FACTS).exists():
        what = {
            "machine": machine.host(), "revision": machine.revision(), "libraries": digests(libraries),
            "programs": programs,
        }  # fmt: skip
        write_whole(folder / FACTS, json.dumps(what, indent=1) + "\n")


class Said:
    """What each program has said with each number of threads, kept in the folder."""

    def __init__(self, folder: Path):
        self.file = folder / SAID
        self.known = read_checked(self.file, dict[str, str]) if self.file.exists() else {}

    def compare(self, program: str, threads: int, allocator: str, said: str) -> None:
        """Raises UserError where a run says something else than the first one with as many threads."""
        key = f"{program} {threads}"
        if key not in self.known:
            self.known[key] = said
            write_whole(self.file, json.dumps(self.known, indent=1) + "\n")
        if self.known[key] != said:
            raise UserError(f"{program} says '{said}' on {allocator}, not '{self.known[key]}'")
