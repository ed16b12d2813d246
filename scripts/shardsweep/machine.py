# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a sweep ran on and with: machines, system, versions, revisions. Recorded in its folder at its first start."""

import json
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

from shardsweep import catalog
from shardsweep.files import write_whole

PACKAGES = ("running-ng", "snakemake", "scipy", "pandas")


def host() -> dict:
    """The machine that this runs on."""
    return {
        "processor": _first("/proc/cpuinfo", "model name"),
        "processors": os.cpu_count(),
        "memory": _memory(),
        "kernel": platform.release(),
        "system": _first("/etc/os-release", "PRETTY_NAME", "="),
    }


def record(file: Path, builds: list[str]) -> None:
    """Writes the facts as JSON, unless a first start of the same sweep already did. The machine is this one, until it
    is known where the points were measured."""
    if file.exists():
        return
    chosen = catalog.choose(list(dict.fromkeys(builds)))
    facts = {
        "machines": [host()],
        "java": _java(),
        "revision": _revision(),
        "packages": {name: version(name) for name in PACKAGES},
        "builds": {
            build.name: {
                "plan": build.plan, "block": build.block, "accounting": build.accounting, "revision": build.revision,
                "running-ng": build.config,
            }
            for build in chosen
        },
    }  # fmt: skip
    write_whole(file, json.dumps(facts, indent=1))


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


def _revision() -> str:
    command = ["git", "-C", str(catalog.ROOT), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "unknown"
    return done.stdout.strip() or "unknown"
