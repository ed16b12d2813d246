#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Answers shell scripts' questions about mmtk/builds.toml, the table of plugin builds.

builds.py names                     the builds that `make plugins` makes
builds.py cargo NAME                arguments of `cargo build` that make NAME, one a line
builds.py describe NAME REVISION    the JSON that is put beside the plugin
builds.py configurations            configs/builds.yml
"""

import json
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CRATE = "shardsweep-mmtk"
ABI_HEADER = ROOT / "openjdk/src/hotspot/share/gc/thirdparty/thirdPartyHeapPlugin.h"


def fail(message):
    """Exits with one line that says what is wrong."""
    sys.exit(f"plugin: error: {message}")


def read_builds():
    """All builds by name. Exits with a message if the table has none or one of them lacks an entry."""
    with open(ROOT / "mmtk/builds.toml", "rb") as file:
        builds = tomllib.load(file)
    for name, build in builds.items():
        for key in ("features", "block_size", "accounting"):
            if key not in build:
                fail(f"mmtk/builds.toml: [{name}] has no {key}")
    return builds


def find_build(name):
    """The build of that name. Exits with the names that there are if it is not one of them."""
    builds = read_builds()
    if name not in builds:
        fail(f"there is no build '{name}': mmtk/builds.toml has {', '.join(builds)}")
    return builds[name]


def cargo_arguments(build):
    """Assertions have a profile of their own (in the root's Cargo.toml), so that both kinds of build keep their objects."""
    profile = "debug-assertions" if build.get("debug_assertions") else "release"
    arguments = ["--package", CRATE, "--profile", profile]
    if build["features"]:
        arguments += ["--features", ",".join(build["features"])]
    return arguments


def locked_version(crate):
    """The version of a crate that Cargo.lock fixes."""
    with open(ROOT / "Cargo.lock", "rb") as file:
        for package in tomllib.load(file)["package"]:
            if package["name"] == crate:
                return package["version"]
    fail(f"Cargo.lock names no crate {crate}")


def abi_version():
    """The ABI version that the C header defines."""
    found = re.search(r"^#define\s+THIRD_PARTY_HEAP_ABI_VERSION\s+(\d+)", ABI_HEADER.read_text(), re.M)
    if not found:
        fail(f"{ABI_HEADER.relative_to(ROOT)} does not define THIRD_PARTY_HEAP_ABI_VERSION as a number")
    return int(found[1])


def describe(name, build, revision):
    """What a plugin is, for people and for analysis. `block_size` is in bytes."""
    return {
        "build": name,
        "mmtk_version": locked_version("mmtk"),
        "features": build["features"],
        "debug_assertions": build.get("debug_assertions", False),
        "block_size": build["block_size"],
        "accounting": build["accounting"],
        "source_revision": revision,
        "abi_version": abi_version(),
    }


HEAD = """\
# SPDX-License-Identifier: MIT OR Apache-2.0
# Made by `scripts/building/builds.py configurations >configs/builds.yml` of mmtk/builds.toml: change that.
#
# What a result table calls a build, and how running-ng runs it. The plan of a build is the value of its mmtk_gc or
# hotspot_gc; block size and accounting are read from the JSON file that lies beside the plugin.
builds:
"""
# HotSpot's own, which need no plugin.
COLLECTORS = ("Serial", "Parallel", "G1")
# The defaults of the OS's pages turned round: ours has huge ones, HotSpot's have not.
TURNED_ROUND = {
    "ms-64k-small-pages": "jdk|common|ms_64k|small_pages|mmtk_gc-MarkSweep",
    "hotspot-Serial-huge-pages": "jdk|common|huge_pages|hotspot_gc-Serial",
}


def labels(name, build):
    """The plans that experiments run a build with, by what they call each."""
    plans = build.get("plans", ["MarkSweep"])
    others = {f"{name}-{plan}": plan for plan in build.get("other_plans", [])}
    if len(plans) == 1:
        return {name: plans[0], **others}
    return {**{f"{name}-{plan}": plan for plan in plans}, **others}


def configurations(builds):
    """running-ng's configurations of the builds that experiments run. A plugin with several plans is a build for each.
    The modifiers have no "-" in their names: running-ng would split them there."""
    modifiers = {name: name.replace("-", "_") for name, build in builds.items() if not build.get("debug_assertions")}
    lines = []
    for name, modifier in modifiers.items():
        for label, plan in labels(name, builds[name]).items():
            lines.append(f'  {label}: "jdk|common|{modifier}|mmtk_gc-{plan}"\n')
    lines += [f'  hotspot-{each}: "jdk|common|hotspot_gc-{each}"\n' for each in COLLECTORS]
    lines += [f'  {label}: "{configuration}"\n' for label, configuration in TURNED_ROUND.items()]
    lines.append("\nmodifiers:\n")
    for name, modifier in modifiers.items():
        flags = f"-XX:+UseThirdPartyHeap -XX:ThirdPartyHeapPlugin={name}"
        lines.append(f'  {modifier}:\n    type: JVMArg\n    val: "{flags}"\n')
    return HEAD + "".join(lines)


def main(arguments):
    """Prints what the arguments ask for, as the module's docstring says."""
    match arguments:
        case ["names"]:
            print(*(name for name, build in read_builds().items() if not build.get("on_demand")), sep="\n")
        case ["cargo", name]:
            print(*cargo_arguments(find_build(name)), sep="\n")
        case ["describe", name, revision]:
            print(json.dumps(describe(name, find_build(name), revision), indent=2))
        case ["configurations"]:
            print(configurations(read_builds()), end="")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
