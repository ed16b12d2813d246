# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a measurement ran on and with: machines, system, versions, revisions. A sweep records it in its folder at its first
start; a script of another measurement calls
`python -m shardsweep.machine FILE.json [JDK [PLUGIN...]] [--command TEXT] [--committed]`."""

import argparse
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from shardsweep import catalog
from shardsweep.errors import UserError, system_said
from shardsweep.files import write_whole

PACKAGES = ("running-ng", "snakemake", "scipy", "pandas")


# What tells generations apart that have one name, and their lines in /proc/cpuinfo.
GENERATION = {"family": "cpu family", "model": "model", "stepping": "stepping"}


def host() -> dict:
    """The machine that this runs on."""
    return {
        "processor": _first("/proc/cpuinfo", "model name"),
        **{name: _first("/proc/cpuinfo", line) for name, line in GENERATION.items()},
        "processors": os.cpu_count(),
        "memory": _memory(),
        "kernel": platform.release(),
        "system": _first("/etc/os-release", "PRETTY_NAME", "="),
        "clock": _clock(),
        "huge pages": _chosen("/sys/kernel/mm/transparent_hugepage/enabled"),
    }


def processor(machine: dict) -> str:
    """The processor of a machine, with its generation as far as that was recorded."""
    return _processor(machine, "family", "model")


def exact_processor(machine: dict) -> str:
    """The same with its stepping: what two measurements are pooled by."""
    return _processor(machine, *GENERATION)


def _processor(machine: dict, *facts: str) -> str:
    known = [f"{name} {machine[name]}" for name in facts if machine.get(name, "unknown") != "unknown"]
    return " ".join([machine["processor"], *known])


def record(file: Path, builds: list[str], suites: list[str], settings: dict[str, str]) -> None:
    """Writes the facts as JSON, unless a first start of the same sweep already did. The machine is this one, until it
    is known where the points were measured. The settings are variables that change what a run does."""
    if file.exists():
        return
    chosen = catalog.choose(list(dict.fromkeys(builds)))
    facts = {
        "machines": [host()],
        "java": _java(),
        "revision": revision(),
        "packages": {name: version(name) for name in PACKAGES},
        "settings": settings,
        "configurations": {file.name: digest(file) for file in sorted(catalog.CONFIGS.glob("*.yml"))},
        "jars": {suite: digest(catalog.jar(suite)) for suite in dict.fromkeys(suites)},
        "builds": {
            build.name: {
                "plan": build.plan, "block": build.block, "accounting": build.accounting, "revision": build.revision,
                "jvm": build.jvm_revision, "running-ng": build.config,
            }
            for build in chosen
        },
    }  # fmt: skip
    write_whole(file, json.dumps(facts, indent=1))


def record_here(
    file: Path,
    jdk: Path | None = None,
    plugins: Iterable[str] = (),
    command: str | None = None,
    committed: bool = False,
) -> None:
    """Writes this machine, the command if it is told, and the commit of what is measured as JSON: of the plugins of a JDK, or
    else of its JVM. That and the checkout, of which the programs are, have lines of their own. Without a JDK it is the commit
    that is checked out. Raises UserError where plugins and JVM are not of one code, or they and the checkout are to be of code
    that a commit has and are not."""
    of_jvm = catalog.revisions(jdk, None)[1] if jdk else None
    checkout = revision()
    measured = _of_plugins(jdk, plugins, of_jvm) or of_jvm or checkout
    if committed:
        for what, of in (("what is measured", measured), ("the JVM", of_jvm), ("the checkout", checkout)):
            check_committed(what, of)
    facts = {"machine": host(), "revision": measured}
    if jdk:
        facts["checkout"] = checkout
    if of_jvm:
        facts["jvm"] = of_jvm
    if command:
        facts["command"] = command
    write_whole(file, json.dumps(facts, indent=1) + "\n")


def _of_plugins(jdk: Path | None, plugins: Iterable[str], of_jvm: str | None) -> str | None:
    """The commit of plugins of a JDK; None where there are none."""
    commits = {}
    for plugin in plugins:
        commit = catalog.revisions(jdk, plugin)[0]
        if wrong := catalog.unknown(plugin, commit) or catalog.mixed(plugin, commit, of_jvm):
            raise UserError(wrong)
        commits.setdefault(commit, plugin)
    if len(commits) > 1:
        said = ", ".join(f"{plugin} of {commit}" for commit, plugin in commits.items())
        raise UserError(f"plugins are of several commits, {said}: make plugins")
    return next(iter(commits), None)


def digest(file: Path) -> str:
    """The SHA-256 of a file."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _clock() -> str:
    """The highest clock rate of the first processor; in a virtual machine, the one that it is told."""
    try:
        kilohertz = int(Path("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq").read_text())
        return f"{kilohertz / 1000:.0f} MHz at most"
    except OSError:
        told = _first("/proc/cpuinfo", "cpu MHz")
        return told if told == "unknown" else f"{float(told):.0f} MHz"


def _chosen(path: str) -> str:
    """The mode in brackets, of a file of the kernel that lists all modes."""
    try:
        chosen = re.search(r"\[(\w+)\]", Path(path).read_text())
    except OSError:
        return "unknown"
    return chosen[1] if chosen else "unknown"


def _first(path: str, name: str, separator: str = ":") -> str:
    with open(path) as source:
        for line in source:
            key, _, value = line.partition(separator)
            if key.strip() == name:
                return value.strip().strip('"')
    return "unknown"


def _memory() -> str:
    kib = int(_first("/proc/meminfo", "MemTotal").split()[0])
    return f"{kib / (1 << 20):.1f} GiB"


def _java() -> str:
    java = Path(catalog.environment()["SHARDSWEEP_JDK"]) / "bin" / "java"
    # -version speaks on standard error.
    return subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr.strip()


# What the name of a commit ends with where something is changed.
DIRTY = "-dirty"
# What is made of measurements, which is replaced while they are recorded.
_BUT_RESULTS = (":!results", ":!README.md")
# Of what no commit has, what is measured.
_CODE = ("benchmarks", "configs", "malloc", "mmtk", "openjdk", "policy")


def revision() -> str:
    """The commit that is checked out, with all its digits; ends with -dirty if something other than results was changed, or
    there is code that it has not."""
    git = ["git", "-C", str(catalog.ROOT)]
    try:
        head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
        compare = [*git, "diff", "--quiet", "HEAD", "--", ".", *_BUT_RESULTS]
        changed = subprocess.run(compare, capture_output=True, check=False)
        new = subprocess.run(
            [*git, "ls-files", "--others", "--exclude-standard", "--", *_CODE], capture_output=True, check=False
        )
    except FileNotFoundError:
        return "unknown"
    if head.returncode != 0:
        return "unknown"
    return head.stdout.strip() + (DIRTY if changed.returncode != 0 or new.stdout else "")


def check_committed(what: str, revision: str | None) -> None:
    """Raises UserError where something is of a revision that has changes which no commit has."""
    if (revision or "").endswith(DIRTY):
        raise UserError(f"{what} is of {revision}, with changes that no commit has: commit, build and measure again")


def short(revision: str, digits: int) -> str:
    """The first digits of a commit; what follows it, as `-dirty`, stays."""
    commit, dash, rest = revision.partition("-")
    return f"{commit[:digits]}{dash}{rest}"


if __name__ == "__main__":
    try:
        parser = argparse.ArgumentParser(prog="machine", description="Records what a measurement is of.")
        parser.add_argument("file", type=Path)
        parser.add_argument("jdk", type=Path, nargs="?")
        parser.add_argument("plugins", nargs="*")
        parser.add_argument("--command")
        parser.add_argument("--committed", action="store_true")
        record_here(**vars(parser.parse_args()))
    except UserError as error:
        sys.exit(f"machine: error: {error}")
    except OSError as error:
        sys.exit(f"machine: error: {system_said(error)}")
