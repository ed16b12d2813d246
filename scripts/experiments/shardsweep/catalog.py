# SPDX-License-Identifier: MIT OR Apache-2.0
"""The builds that `configs/` names, and which of them are really there."""

import difflib
import logging
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml
from running.config import Configuration
from running.modifier import JVMArg, Modifier
from running.runtime import Runtime
from running.util import parse_config_str, parse_modifier_strs

from shardsweep.errors import UserError, last_said
from shardsweep.files import read_json

ROOT = Path(__file__).resolve().parents[3]
CONFIGS = ROOT / "configs"
PLUGIN_FLAG = "-XX:ThirdPartyHeapPlugin="
# What plugins load from their own folder, by the start of their names.
LOADED = {
    "malloc-mimalloc1-4kblock": "libmimalloc1-4kblock.so",
    "malloc-mimalloc2-4kblock": "libmimalloc2-4kblock.so",
    "malloc-mimalloc3": "libmimalloc3.so",
    "malloc-shardsweep": "libshardsweep_malloc.so",
}
PLAN_MODIFIERS = ("mmtk_gc", "hotspot_gc")
# mmtk-core's option of that name wins over the variable that a build sets.
PLAN_FLAG = re.compile(r"^-XX:ThirdPartyHeapOptions=(.*,)?plan=")
# A flag of HotSpot's, with a value or with a sign.
SETTING = re.compile(r"-XX:[+-]?(?P<name>\w+)")
PLACE_OF_VALUE = re.compile(r"\{\d+\}")


@dataclass(frozen=True)
class Build:
    """One build: its running-ng configuration string and what the result table says about it.

    `plugin` is None for HotSpot's own collectors. `missing` is empty, or one line that says what is not there and how
    to make it. `files` are the JVM, the plugin and the library that this loads from its own folder. `revision` and
    `jvm_revision` are the commits that the plugin and the JVM were built from, None where they do not say.
    """

    name: str
    config: str
    plugin: str | None
    plan: str
    block: int | None
    accounting: str | None
    revision: str | None
    jvm_revision: str | None
    missing: str
    files: tuple[Path, ...]


# HotSpot's collectors whose pauses are in other lines of its log.
UNREAD = ("Z", "Shenandoah")
PATHS = {
    "SHARDSWEEP_JDK": str(ROOT / "build" / "jdk"),
    "LUSEARCH_JAR": str(ROOT / "build" / "lusearch.jar"),
    "DACAPO_BACH": "",
    "DACAPO_CHOPIN": "",
}


def environment() -> dict[str, str]:
    """The variables that the configurations use, set to this checkout's own where the user has not set them."""
    paths = {name: os.environ.get(name, default) for name, default in PATHS.items()}
    # Jobs run in another directory than the user's.
    absolute = {name: os.path.abspath(path) if path else "" for name, path in paths.items()}
    return {**absolute, "SHARDSWEEP_PYTHON": sys.executable}


# Variables that change what a JVM does or prints begin so.
_OF_JVM = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "MMTK_")


def plain_environment(without: tuple[str, ...] = _OF_JVM) -> dict[str, str]:
    """The user's environment for a program whose settings nothing records: without variables whose names begin so, which change
    what it does. By default those of a JVM."""
    return {name: value for name, value in os.environ.items() if not name.startswith(without)}


def is_own_jdk() -> bool:
    """Whether the JDK is the one that `make jdk` makes."""
    return environment()["SHARDSWEEP_JDK"] == PATHS["SHARDSWEEP_JDK"]


def configuration(file: Path = CONFIGS / "base.yml") -> Configuration:
    """A configuration of `configs/` with its runtimes, modifiers and suites resolved."""
    os.environ.update(environment())
    # running-ng warns about every path that is not there; what matters of that is said in one line each below.
    logging.getLogger().setLevel(logging.ERROR)
    try:
        loaded = Configuration.from_file(file.parent, file.name)
        # The lists of an experiment need no resolving here, and its benchmarks could be of a suite that is not there.
        loaded.resolve_class()
    except (ValueError, KeyError, TypeError, SyntaxError, yaml.YAMLError) as error:
        raise UserError(f"{file}: {error}") from None
    return loaded


def builds() -> dict[str, Build]:
    """Every build of `configs/builds.yml` by name, in its order."""
    loaded = configuration()
    return {name: _build(loaded, name, config) for name, config in loaded.get("builds").items()}


def _build(loaded: Configuration, name: str, config: str) -> Build:
    try:
        runtime, modifiers = parse_config_str(loaded, config)
    except KeyError as error:
        raise UserError(f"configs/builds.yml: build {name}: {error.args[0]}") from None
    plan = _plan(config)
    if plan is None:
        raise UserError(f"configs/builds.yml: build {name} names no plan, as mmtk_gc-MarkSweep and hotspot_gc-G1 do")
    if plan in UNREAD:
        raise UserError(f"configs/builds.yml: build {name}: the pauses of {plan} are not read from its log")
    flags = _flags(modifiers)
    plugin = next((flag.removeprefix(PLUGIN_FLAG) for flag in flags if flag.startswith(PLUGIN_FLAG)), None)
    facts = _plugin_facts(runtime.home, plugin)
    revision, jvm_revision = revisions(runtime.home, plugin)
    # The block size of a plugin is that of its mark-sweep space, which generational and concurrent mark-sweep have too.
    blocks = facts if plan.endswith("MarkSweep") else {}
    return Build(
        name,
        config,
        plugin,
        plan,
        block=blocks.get("block_size"),
        accounting=blocks.get("accounting"),
        revision=revision,
        jvm_revision=jvm_revision,
        missing=_missing(runtime, plugin, revision) or mixed(plugin, revision, jvm_revision),
        files=(_jvm_file(runtime.home, "so"), *(_plugin_files(runtime, plugin) if plugin else ())),
    )


def _plan(config: str) -> str | None:
    for part in config.split("|"):
        modifier, _, value = part.partition("-")
        if modifier in PLAN_MODIFIERS and value:
            return value
    return None


def _flags(modifiers: list[Modifier]) -> list[str]:
    return [flag for modifier in modifiers if isinstance(modifier, JVMArg) for flag in modifier.val]


def _plugin_file(home: Path, plugin: str, suffix: str) -> Path:
    # As for the JVM, a name with a slash is a path.
    if "/" in plugin:
        return Path(plugin).with_suffix(f".{suffix}")
    return home / "lib" / "mmtk" / f"libmmtk_{plugin}.{suffix}"


def _jvm_file(home: Path, suffix: str) -> Path:
    return home / "lib" / "server" / f"libjvm.{suffix}"


def _plugin_files(runtime: Runtime, plugin: str) -> list[Path]:
    file = _plugin_file(runtime.home, plugin, "so")
    names = [library for build, library in LOADED.items() if plugin.startswith(build)]
    return [file, *(library for name in names if (library := file.with_name(name)).is_file())]


def revisions(home: Path, plugin: str | None) -> tuple[str | None, str | None]:
    """The commits that a plugin of a JDK, if one is named, and its JVM were built from; None where they do not say."""
    facts = _plugin_facts(home, plugin), _facts(_jvm_file(home, "json"), "jdk")
    return tuple(each.get("source_revision") for each in facts)


def _plugin_facts(home: Path, plugin: str | None) -> dict:
    return _facts(_plugin_file(home, plugin, "json"), f"plugin BUILD={plugin}") if plugin else {}


def _facts(file: Path, target: str) -> dict:
    """What is said of a JVM or a plugin by the file beside it, which that target of make writes; nothing where there is none."""
    return read_json(file, f"make it again with make {target}") if file.is_file() else {}


def _missing(runtime: Runtime, plugin: str | None, revision: str | None) -> str:
    if not runtime.executable.is_file():
        return f"{runtime.executable} is not there: make jdk, or point SHARDSWEEP_JDK at a JDK"
    if plugin and not _plugin_file(runtime.home, plugin, "so").is_file():
        return f"{_plugin_file(runtime.home, plugin, 'so')} is not there: make plugin BUILD={plugin}"
    return unknown(plugin, revision) if plugin else ""


def unknown(plugin: str, revision: str | None) -> str:
    """That a plugin does not say of which commit it is. The JVM's says nothing of it."""
    return "" if revision else f"plugin {plugin} does not say of which commit it is: make plugin BUILD={plugin}"


def mixed(plugin: str | None, revision: str | None, jvm_revision: str | None) -> str:
    """That the JVM is of other code than the plugin's commit says, so that this would not say what was measured."""
    if not (revision and jvm_revision) or _has_same_jvm(revision, jvm_revision):
        return ""
    return f"plugin {plugin} is of {revision}, the JVM of {jvm_revision}, and openjdk/ differs: make jdk plugins"


@cache
def _has_same_jvm(one: str, other: str) -> bool:
    """Whether the JVM's code is the same at two revisions, as far as git can tell. What changed since the commit of a revision
    that is dirty, nobody knows."""
    commits = [each.removesuffix("-dirty") for each in (one, other)]
    code = ("openjdk", ":(glob)scripts/building/jdk*.sh", ":!openjdk/test", ":!*.md")
    compare = ["git", "-C", str(ROOT), "diff", "--quiet", *commits, "--", *code]
    try:
        return subprocess.run(compare, capture_output=True, check=False).returncode != 1
    except FileNotFoundError:
        return True


def place(folder: Path) -> str:
    """A folder as it is called by a command in the checkout's root."""
    whole = folder.resolve()
    return shlex.quote(str(whole.relative_to(ROOT) if whole.is_relative_to(ROOT) else whole))


def choose(names: list[str]) -> list[Build]:
    """The named builds, whether they are there or not. Raises UserError for a name that no configuration has."""
    known = builds()
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3) or list(known)
            raise UserError(f"unknown build {name}: did you mean {', '.join(near)}? `shardsweep builds` lists all")
    return [known[name] for name in names]


def check_modifiers(names: list[str], chosen: list[Build]) -> None:
    """Raises UserError unless each is a modifier of `configs/modifiers.yml` with all its values, which follow a "-", none
    chooses a plan, and none sets a flag that another one or one of the builds sets."""
    loaded = configuration()
    for name in names:
        _check_modifier(loaded, name)
    flags = [(f"modifier {name}", flag) for name in names for flag in _flags(parse_modifier_strs(loaded, [name]))]
    for build in chosen:
        own = [(f"build {build.name}", flag) for flag in _flags(parse_config_str(loaded, build.config)[1])]
        _check_flags([*own, *flags])


def _check_modifier(loaded: Configuration, name: str) -> None:
    known = loaded.get("modifiers")
    modifier, *values = name.split("-")
    if modifier not in known:
        raise UserError(f"unknown modifier {name}: there are {', '.join(known)}")
    # running-ng leaves a place that has no value as it is, for the JVM to stumble over.
    if PLACE_OF_VALUE.search(str(known[modifier].apply_value_opts(values))):
        raise UserError(f"modifier {name} lacks a value: each follows a -, as in t-24")
    if modifier in PLAN_MODIFIERS or any(map(PLAN_FLAG.search, _flags(parse_modifier_strs(loaded, [name])))):
        raise UserError(f"modifier {name} chooses a plan: that is for the build, `shardsweep builds` lists all")


def _check_flags(flags: list[tuple[str, str]]) -> None:
    """Raises UserError where two set the same flag, of pairs of who sets it and the flag. HotSpot heeds the last one,
    without a word."""
    set_by = {}
    for owner, flag in flags:
        if not (found := SETTING.match(flag)):
            continue
        name = found["name"]
        if set_by.setdefault(name, owner) != owner:
            raise UserError(f"{set_by[name]} and {owner} both set the flag {name}: give one of them only")


def jar(suite: str, to_be_built: bool = False) -> Path:
    """The jar of a suite. Raises UserError unless the suite is known and its jar is there. That of `make lusearch` counts as
    there where it is `to_be_built`."""
    suites = configuration().get("suites")
    if suite not in suites:
        raise UserError(f"unknown suite {suite}: there are {', '.join(suites)}")
    variable = {"dacapobach": "DACAPO_BACH", "dacapochopin": "DACAPO_CHOPIN"}.get(suite)
    if variable and not os.environ[variable]:
        raise UserError(f"suite {suite} needs its jar: set {variable} to the path of DaCapo's")
    built = to_be_built and _is_own_jar(suites[suite].path)
    if not built and not suites[suite].path.is_file():
        hint = f"set {variable} to the path of DaCapo's" if variable else "make lusearch, or point LUSEARCH_JAR at it"
        raise UserError(f"{suites[suite].path} is not there: {hint}")
    return suites[suite].path


def _is_own_jar(path: Path) -> bool:
    """Whether a jar is the one that `make lusearch` makes."""
    return str(path) == PATHS["LUSEARCH_JAR"]


def check_own_jar(jar: Path) -> None:
    """Raises UserError where a jar is the one that `make lusearch` makes, and of other sources than the checkout has: results are
    taken to be of these."""
    if not _is_own_jar(jar):
        return
    script = ROOT / "scripts" / "building" / "lusearch.sh"
    if subprocess.run([script, "--check"], check=False).returncode:
        raise UserError(f"{jar} is not of the sources in benchmarks: make lusearch")


def check_benchmarks(suite: str, names: list[str], size: str | None) -> None:
    """Raises UserError for a benchmark that the jar of a suite does not list, or a size that it refuses. Of a jar that is not
    there, or a JVM, the names are those of `configs/suites.yml`; a jar that lists nothing has whatever is asked for."""
    of_suite = configuration().get("suites")[suite]
    java = Path(os.environ["SHARDSWEEP_JDK"]) / "bin" / "java"
    if java.is_file() and of_suite.path.is_file():
        known = _listed(java, of_suite.path, suite, size)
    else:
        known = list(of_suite.minheap_values[of_suite.minheap])
    for name in names:
        if known and name not in known:
            raise UserError(f"suite {suite} has no benchmark {name}: there are {', '.join(known)}")


@cache
def _listed(java: Path, jar: Path, suite: str, size: str | None) -> list[str]:
    """The benchmarks that a jar lists. Raises UserError where it refuses the size."""
    command = [java, "-jar", jar, *(("-s", size) if size else ()), "-l"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and size and f"'{size}'" in done.stderr:
        raise UserError(f"suite {suite}: {last_said(done.stderr)}")
    return [] if done.returncode else done.stdout.split()
