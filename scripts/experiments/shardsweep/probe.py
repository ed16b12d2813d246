# SPDX-License-Identifier: MIT OR Apache-2.0
"""One call of running-ng: some builds, one benchmark, one heap size, one invocation of each."""

import os
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml
from running.util import config_str_encode

from shardsweep import catalog, logs
from shardsweep.catalog import CONFIGS, Build
from shardsweep.errors import UserError, last_said
from shardsweep.grid import Experiment, Point, Resident

# running-ng writes its whole environment into every log: what a run does not need stays out of the results.
PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
# Variables that change what a run does begin with these.
SETTINGS = ("MMTK_", "SHARDSWEEP_")
PASSED_ON_PREFIXES = (*SETTINGS, "SLURM_JOB_ID")
# Only builds read it.
NOT_PASSED_ON = ("SHARDSWEEP_CACHE",)
# What running-ng calls for the head of a log, and the Debian packages that have it.
PROGRAMS = {"vmstat": "procps", "top": "procps", "w": "procps", "who": "coreutils", "gzip": "gzip"}
# The launcher ends a run at the limit; running-ng's own limit is only there in case that fails.
GRACE_SECONDS = 60


@dataclass(frozen=True)
class Run:
    """One run of one build: what came of it, and the log that it is from."""

    build: Build
    invocation: logs.Invocation
    log: Path


def check_programs() -> None:
    """Raises UserError when a program that running-ng calls is not installed."""
    missing = sorted({package for program, package in PROGRAMS.items() if not shutil.which(program)})
    if missing:
        raise UserError(f"running-ng needs programs that are not installed: apt-get install {' '.join(missing)}")


def passed_on() -> dict[str, str]:
    """The variables of this process's environment that its runs get, but for those of `catalog.environment`."""
    return {
        name: value
        for name, value in os.environ.items()
        # running-ng writes logs as ASCII and stops at anything else.
        if (name in PASSED_ON or name.startswith(PASSED_ON_PREFIXES)) and name not in NOT_PASSED_ON and value.isascii()
    }


def settings() -> dict[str, str]:
    """Those of them that change what a run does, in the order of their names."""
    ours = catalog.environment()
    passed = sorted(passed_on().items())
    return {name: value for name, value in passed if name.startswith(SETTINGS) and name not in ours}


def order(point: Point, builds: list[Build], sitting: str) -> list[Build]:
    """The builds in the order in which an invocation goes through them. It is random, so that no build always follows
    the same other one, in one sitting or in all, and always the same for a point of a sitting, so that an interrupted one
    goes on as it began."""
    return random.Random(f"{sitting}/{point.id}").sample(builds, len(builds))


def run(
    folder: Path, point: Point, experiment: Experiment, builds: list[Build], heap: int, attempt: int = 0
) -> list[Run]:
    """Runs each build once at `heap` MiB, in turn, and reads the logs.

    A call that an earlier, interrupted job finished is not made again. One that was interrupted itself is, with all its
    builds: running-ng packs the logs only after the last of them. Raises UserError if running-ng itself fails, or the launcher
    is stopped.
    """
    configs = [_config_string(build, point, experiment) for build in builds]
    run_id = f"{point.id.replace('/', '.')}.a{attempt}"
    log_folder = folder / "logs" / run_id
    stem = f"{point.benchmark}.{heap * 1000}.{heap}"
    files = [log_folder / f"{stem}.{config_str_encode(config)}.{experiment.suite}.log" for config in configs]
    # Half a log is what an interrupted run leaves: running-ng would append to it.
    if any(file.exists() or _is_cut(_packed(file)) for file in files):
        for file in files:
            file.unlink(missing_ok=True)
            _packed(file).unlink(missing_ok=True)
    if not all(_packed(file).exists() for file in files):
        _call(folder, run_id, _experiment_file(folder, run_id, point, experiment, configs), heap)
    runs = [
        Run(build, logs.read(_packed(file))[-1], _packed(file).relative_to(folder))
        for build, file in zip(builds, files, strict=True)
    ]
    for each in runs:
        if each.invocation.is_cut:
            raise UserError(
                f"{folder / each.log}: the launcher was stopped from outside; the same command runs it again"
            )
    return runs


def _is_cut(packed: Path) -> bool:
    """Whether it is the log of a run whose launcher was stopped, which running-ng packs, too; or one that was not written whole,
    as where the power has failed. Neither says anything of the build."""
    try:
        return packed.exists() and logs.read(packed)[-1].is_cut
    except UserError:
        return True


def _packed(log: Path) -> Path:
    return log.with_name(log.name + ".gz")


def _config_string(build: Build, point: Point, experiment: Experiment) -> str:
    threads = f"|t-{point.threads}" if point.threads else ""
    interval = experiment.interval if isinstance(experiment, Resident) else 0
    return "|".join([f"{build.config}{threads}", *experiment.modifiers, f"launch-{experiment.limit}-{interval}"])


def _experiment_file(folder: Path, run_id: str, point: Point, experiment: Experiment, configs: list[str]) -> Path:
    """Writes the running-ng configuration of this call: the experiment's own, narrowed to one point."""
    suite = f"suites.{experiment.suite}"
    overrides = {
        "benchmarks": {experiment.suite: [point.benchmark]},
        "configs": configs,
        "invocations": 1,
        f"{suite}.timing_iteration": experiment.iterations,
        f"{suite}.timeout": experiment.limit + GRACE_SECONDS,
        f"{suite}.minheap_values.mib.{point.benchmark}": 1,
    }
    if experiment.size:
        overrides[f"{suite}.size"] = experiment.size
    file = folder / "configs" / f"{run_id}.yml"
    file.parent.mkdir(parents=True, exist_ok=True)
    content = {"includes": [str(CONFIGS / f"{point.experiment}.yml")], "overrides": overrides}
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    return file


def _call(folder: Path, run_id: str, file: Path, heap: int) -> None:
    command = [
        *(sys.executable, "-m", "running", "runbms", str(folder / "logs"), str(file)),
        *("-s", str(heap), "-i", "1", "--resume", run_id),
    ]
    done = subprocess.run(
        command,
        env={**passed_on(), **catalog.environment(), "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        said = last_said(done.stderr.strip() or done.stdout)
        free = shutil.disk_usage(folder).free >> 20
        disk = f"; only {free} MiB of disk are free" if free < 256 else ""
        raise UserError(f"running-ng failed at {run_id}: {said}{disk}")
