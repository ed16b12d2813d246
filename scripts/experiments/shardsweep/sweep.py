# SPDX-License-Identifier: MIT OR Apache-2.0
"""A sweep's folder and its run: the grid is fixed in it, Snakemake works through the points, results are gathered."""

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
from pydantic import BaseModel, ConfigDict

from shardsweep import catalog, grid, inputs, logs, machine, point, probe, progress, tidy
from shardsweep.errors import UserError, last_said
from shardsweep.files import locked, read_checked, read_yaml, write_whole
from shardsweep.grid import Grid, Point

WORKFLOW = Path(str(files("shardsweep") / "workflow"))
RESULTS = "results.csv"
NOTES = "notes.json"
MACHINE = "machine.json"
SWEEPS = catalog.ROOT / "build" / "sweeps"
STOP_SECONDS = 30
# Of commits and digests, in the result table.
DIGITS = 12


class _Facts(BaseModel):
    """What machine.json has to have."""

    model_config = ConfigDict(extra="allow")

    machines: list[dict]
    java: str
    revision: str
    packages: dict[str, str]
    jars: dict[str, str] = {}
    builds: dict[str, dict]


class _Note(BaseModel):
    """What notes.json has of a run that did not pass, or of a search that found no minheap."""

    experiment: str
    build: str
    benchmark: str
    threads: int
    heap: int
    outcome: logs.Outcome
    detail: str
    log: str | None


def available(wanted: Grid, to_be_built: bool = False) -> tuple[Grid, list[str]]:
    """The part of the grid that can be measured with what is there, and one line about each thing that cannot. What lies in
    `build/` counts as there where it is `to_be_built`."""
    built = to_be_built and catalog.is_own_jdk()
    missing = {build.name: build.missing for build in catalog.choose(wanted.builds()) if build.missing and not built}
    possible, lines = grid.without(wanted, missing)
    for experiment in possible.experiments().values():
        jar = catalog.jar(experiment.suite, to_be_built)
        if not to_be_built:
            catalog.check_own_jar(jar)
        catalog.check_benchmarks(experiment.suite, experiment.benchmarks, experiment.size)
        catalog.check_modifiers(experiment.modifiers, catalog.choose(experiment.builds))
    return possible, lines


def default_folder(name: str, wanted: Grid) -> Path:
    """A folder below build/sweeps of its own for each state of the inputs: what is built anew is measured anew."""
    key = hashlib.sha256(json.dumps(inputs.of(wanted)).encode()).hexdigest()
    return SWEEPS / f"{name}-{key[:8]}"


def prepare(folder: Path, wanted: Grid) -> None:
    """Makes the folder of a sweep, or checks that it is one of the same grid on the same builds: to be resumed."""
    now = inputs.of(wanted)
    if _is_begun(folder, wanted, now):
        return
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / point.GRID_FILE, grid.dump(wanted))
    # Last: a folder with this file is whole.
    write_whole(folder / inputs.FILE, json.dumps(now, indent=1))


def _is_begun(folder: Path, wanted: Grid, now: dict[str, str]) -> bool:
    """Whether the folder holds a sweep of this grid with these inputs; if not, it is one for a new sweep. Raises
    UserError for any other folder."""
    if not (folder / inputs.FILE).exists():
        if folder.exists() and not _is_free(folder, wanted):
            raise UserError(f"{folder} is not empty and not a sweep: choose another folder with --out")
        return False
    name = inputs.changed(inputs.recorded(folder), now)
    if name:
        what = "holds a sweep of another grid" if name == inputs.GRID else f"was measured with another {name}"
        raise UserError(f"{folder} {what}: {inputs.REMEDY}")
    return True


def _is_free(folder: Path, wanted: Grid) -> bool:
    """Whether there is nothing in the folder, but for the grid where a full disk let `prepare` write no more."""
    there = list(folder.iterdir())
    kept = folder / point.GRID_FILE
    return not there or (there == [kept] and kept.read_bytes() == grid.dump(wanted).encode())


def run(folder: Path, profile: str, processors: int | None = None) -> bool:
    """Measures the points that have no result yet. Returns whether all have one now."""
    folder = folder.resolve()
    whole = grid.load(folder / point.GRID_FILE)
    points = grid.points(whole)
    with locked(folder, "sweep") as held:
        suites = [experiment.suite for experiment in whole.experiments().values()]
        machine.record(folder / MACHINE, whole.builds(), suites, probe.settings())
        waiting = _forget_failures(folder, points)
        # To jobs that run elsewhere, Snakemake sends only what is in its working directory.
        shutil.copyfile(WORKFLOW / "Snakefile", folder / "Snakefile")
        command = _snakemake(folder, profile, processors)
        log = folder / "snakemake.log"
        with log.open("a") as output:
            # A group of its own: the terminal's interrupt comes to this process alone, which passes it on to all of it.
            # Snakemake keeps the lock should this process be killed.
            process = subprocess.Popen(
                command, stdout=output, stderr=output, start_new_session=True, env=_environment(), pass_fds=(held,)
            )
            try:
                progress.follow(folder, points, process)
            except BaseException as error:
                _stop(process)
                if not isinstance(error, KeyboardInterrupt):
                    raise
                raise UserError(f"interrupted; the same command goes on where it stopped, in {folder}") from None
        if process.returncode != 0 and not any(progress.job_log(folder, each).exists() for each in waiting):
            said = last_said(log.read_text(errors="replace"))
            raise UserError(f"the workflow ended before any point was begun: {said} (the whole log is {log})")
        # Where no point could be measured, Snakemake has removed it: the folder is not of recorded results for that.
        (folder / point.POINTS).mkdir(exist_ok=True)
        left = progress.unmeasured(folder, points)
        for each in left:
            print(f"shardsweep: {each.id}: {_why(folder, each, log)}", file=sys.stderr)
    return not left


def _forget_failures(folder: Path, points: list[Point]) -> list[Point]:
    """Removes the logs of the jobs that an earlier run has begun in vain: none of them says how they end this time. Returns the
    points that have no result."""
    waiting = progress.unmeasured(folder, points)
    for each in waiting:
        progress.job_log(folder, each).unlink(missing_ok=True)
    return waiting


def _stop(process: subprocess.Popen) -> None:
    """Interrupts Snakemake and everything below it, as the terminal would; kills what does not heed that."""
    # It may have ended by itself.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _environment() -> dict[str, str]:
    return {**os.environ, **catalog.environment()}


def _snakemake(folder: Path, profile: str, processors: int | None) -> list[str]:
    # On a cluster a job has as many processors as it asks for, and no more.
    threads = ("--set-threads", f"measure={processors}") if processors else ()
    return [
        *(sys.executable, "-m", "snakemake" if _cluster(profile) else "shardsweep.scheduler"),
        *("--snakefile", str(folder / "Snakefile"), "--directory", str(folder)),
        *("--profile", str(profile_folder(profile))),
        # Where a profile has a storage provider, what a job makes goes there: to where it would be without one.
        *("--default-storage-prefix", str(folder)),
        # Points already there are results, whatever changed since; the folder's own lock replaces Snakemake's,
        # which would outlive a killed run.
        *("--rerun-triggers", "mtime", "--rerun-incomplete", "--nolock", "--keep-going"),
        *("--nocolor", "--quiet", "progress", "rules"),
        *threads,
    ]


def _cluster(profile: str) -> str | None:
    """The executor by which the jobs of a profile run on other machines; None where they run on this one."""
    file = profile_folder(profile) / "config.yaml"
    settings = read_yaml(file, f"profile {file}")
    executor = settings.get("executor") if isinstance(settings, dict) else None
    return None if executor == "local" else executor


def check_profile(profile: str, processors: int | None) -> None:
    """Raises UserError for a profile that is not there, or one of a cluster without its plugin or the size of its nodes: a
    JVM that sees a part of a node only would be measured as if that were all."""
    executor = _cluster(profile)
    if not executor:
        return
    if not find_spec(f"snakemake-executor-plugin-{executor}".replace("-", "_")):
        raise UserError(
            f"profile {profile} needs snakemake-executor-plugin-{executor}: "
            "run scripts/experiments/venv.sh cluster, which installs those for Slurm and Kubernetes"
        )
    if not processors:
        raise UserError(f"profile {profile} runs jobs elsewhere: say with --processors how many a node has")
    if executor == "kubernetes" and (names := ", ".join(probe.settings())):
        raise UserError(f"profile {profile} passes no variables on: unset {names}")


def profile_folder(profile: str) -> Path:
    """The folder of a profile: one of ours by name, or any by path."""
    for candidate in (WORKFLOW / "profiles" / profile, Path(profile)):
        if (candidate / "config.yaml").is_file():
            return candidate.resolve()
    ours = ", ".join(sorted(path.name for path in (WORKFLOW / "profiles").iterdir()))
    raise UserError(f"no profile {profile}: there are {ours}, or give the path of a folder with a config.yaml")


def dry_run(folder: Path, wanted: Grid) -> None:
    """Lists the points of a grid and which of them the folder has already. Writes nothing, and refuses what `prepare`
    does."""
    _is_begun(folder, wanted, inputs.of(wanted))
    points = grid.points(wanted)
    done = {each.id for each in points if point.result_file(folder, each).exists()}
    for each in points:
        print(f"{'done' if each.id in done else 'to do':6} {each.id}  {' '.join(each.builds)}")
    print(f"{len(points) - len(done)} of {len(points)} points to measure, in {folder}")


def _why(folder: Path, each: Point, log: Path) -> str:
    job = progress.job_log(folder, each)
    said = last_said(job.read_text(errors="replace")) if job.exists() else "not measured"
    return progress.failure(folder, each) or f"{said}; see {log}"


def is_recorded(folder: Path) -> bool:
    """Whether the folder has the results of a sweep without the points that they were gathered from, as `results/`."""
    return not (folder / point.POINTS).is_dir()


def results(folder: Path) -> tuple[pd.DataFrame, list[dict]]:
    """The table and the notes of a sweep's folder: gathered from its points, or as they were recorded."""
    if not is_recorded(folder):
        return gather(folder)
    if not (folder / RESULTS).is_file():
        raise UserError(f"{folder} has neither {point.POINTS} nor {RESULTS}: run the sweep first")
    return tidy.read(folder / RESULTS), read_notes(folder)


def read_notes(folder: Path) -> list[dict]:
    """The notes of a sweep's folder, as last gathered."""
    return [note.model_dump() for note in read_checked(folder / NOTES, list[_Note])]


def read_machine(folder: Path) -> dict:
    """What a sweep's folder was measured on and with."""
    return read_checked(folder / MACHINE, _Facts, "remove it and run the sweep again").model_dump(exclude_unset=True)


def gather(folder: Path) -> tuple[pd.DataFrame, list[dict]]:
    """Collects every measured point into results.csv and notes.json, and their machines into machine.json."""
    rows, notes, machines = [], [], []
    whole, facts = grid.load(folder / point.GRID_FILE), read_machine(folder)
    for each in grid.points(whole):
        file = point.result_file(folder, each)
        if file.exists():
            result = point.read_result(file)
            jar = facts.get("jars", {}).get(whole.experiments()[each.experiment].suite)
            rows.extend({**row, **_origin(row["build"], facts, result["machine"], jar)} for row in result["rows"])
            notes.extend(result["notes"])
            if result["machine"] not in machines:
                machines.append(result["machine"])
    table = tidy.frame(rows)
    tidy.write(table, folder / RESULTS)
    write_whole(folder / NOTES, json.dumps(notes, indent=1))
    if machines:
        write_whole(folder / MACHINE, json.dumps({**facts, "machines": machines}, indent=1))
    return table, notes


def _origin(build: str, facts: dict, on: dict, jar: str | None) -> dict:
    """What the result table says about where a row is from."""
    of_build = facts["builds"].get(build, {})
    revision = of_build.get("revision") or of_build.get("jvm") or facts["revision"]
    return {
        "commit": machine.short(revision, DIGITS),
        "processor": machine.processor(on),
        "jar": jar[:DIGITS] if jar else None,
    }
