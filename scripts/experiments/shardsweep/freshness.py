# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whether a result is of the code of the checkout, and how its commit is shown."""

import subprocess
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from shardsweep import catalog, inputs, machine
from shardsweep.files import read_checked, read_json
from shardsweep.record import RESULTS

UNMEASURED = "unmeasured.yml"
# Records differ in how many digits of a commit they have: no fewer than these, by which a commit is shown.
DIGITS = 7
FRESH, STALE, UNKNOWN = "fresh", "stale", "unknown"

_NO_CODE = (":!*.md", ":!*/test/*", ":!*/tests/*", ":!*/tests.rs")
# Of policy/src, what the feature `malloc` alone compiles, beside the folder.
ONLY_MALLOC = ("spare", "thread_free")
# The Serviceability Agent runs in a process of its own; its patch adds to the JVM a table that only it reads. The malloc is in no
# plugin; of the build that loads it, and of other mallocs, nothing is claimed.
_NO_COLLECTOR = (
    ":!openjdk/src/jdk.hotspot.agent/*",
    ":!openjdk/patches/*-agent.patch",
    ":!policy/src/malloc/*",
    *(f":!policy/src/{name}.rs" for name in ONLY_MALLOC),
    ":!scripts/building/*malloc.sh",
    ":!scripts/building/rivals.sh",
    ":!scripts/building/dacapo.sh",
)
_CARGO = ("Cargo.toml", "Cargo.lock")
# Of policy/src, what the malloc is made of.
POLICY_OF_MALLOC = ("config", "lib", "marks", "pages", "prefetch", "size_class", "sync", *ONLY_MALLOC)
# The programs, and how they are run; and all but these.
_RUNNING = (
    "benchmarks/**",
    "configs/*.yml",
    *(f"scripts/experiments/shardsweep/{file.name}" for file in inputs.MEASURING),
)
_RUN, _NOT_RUN = (tuple(f":({kind}){path}" for path in _RUNNING) for kind in ("glob", "exclude,glob"))
# What results depend on, by what was measured: a commit that differs from the checkout in one of these has other code.
# Presets are not among them: a data set has the grid that it was measured by.
_OF_COLLECTORS = (
    *_CARGO,
    "policy",
    "mmtk",
    "openjdk",
    *_RUN,
    "scripts/building",
    *_NO_CODE,
    *_NO_COLLECTOR,
)
_OF_MALLOC = (
    *_CARGO,
    "malloc",
    "mmtk/mimalloc3",
    "policy/Cargo.toml",
    "policy/src/malloc",
    *(f"policy/src/{name}.rs" for name in POLICY_OF_MALLOC),
    ":(glob)scripts/building/*malloc.sh",
    "scripts/building/rivals.sh",
    *_NO_CODE,
)
# HotSpot's own collectors load no plugin.
_HOTSPOT = "hotspot-"
_NO_PLUGIN = tuple(f":!{path}" for path in (*_CARGO, "policy", "mmtk"))
# What was measured: collectors with lusearch alone, in a given heap or in the least that it runs in, or with other programs too;
# the malloc; the soak, which has other programs; jcstress, which has tests of its own; the stress runs, in heaps of any size.
COLLECTORS, MINHEAPS, PROGRAMS, MALLOC = "collectors", "minheaps", "programs", "malloc"
SOAK, JCSTRESS, STRESS = "soak", "jcstress", "stress"
CODE = {
    COLLECTORS: _OF_COLLECTORS,
    MINHEAPS: _OF_COLLECTORS,
    PROGRAMS: _OF_COLLECTORS,
    MALLOC: _OF_MALLOC,
    SOAK: _OF_COLLECTORS,
    JCSTRESS: _OF_COLLECTORS,
    STRESS: _OF_COLLECTORS,
}
# What is run there beside the programs, or in place of them.
_OWN_PROGRAMS = {SOAK: ("scripts/testing/soak",), JCSTRESS: ("scripts/testing/jcstress",)}
# Of which the exceptions of `Unmeasured` hold. Other programs run in multiples of their minheaps.
_IN_LEAST_HEAPS = (MINHEAPS, PROGRAMS, STRESS)
_OF_OTHER_PROGRAMS = (PROGRAMS, SOAK, JCSTRESS, STRESS)
# A build is of one commit, and the checkout that has run it of another: each says something of a part of the code.
WHOLE, OF_BUILD, OF_CHECKOUT = "whole", "of the build", "of the checkout"


class Unmeasured(BaseModel):
    """A commit whose code nothing runs that was measured of a collector, but for some builds, and for minheaps, or programs other
    than lusearch, if it says so; nor of the malloc if it says so."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    commit: str = Field(pattern=r"^[0-9a-f]{40}$")
    why: str
    but_for: frozenset[str] = frozenset()
    but_for_minheaps: bool = False
    but_for_programs: bool = False
    nor_malloc: bool = False

    @property
    def exceptions(self) -> list[str]:
        """What of the collectors runs its code, as it is shown."""
        kinds = ((self.but_for_minheaps, "minheaps"), (self.but_for_programs, "programs other than lusearch"))
        return [*(f"`{build}`" for build in sorted(self.but_for)), *(kind for is_run, kind in kinds if is_run)]

    def is_run_by(self, of: str, builds: frozenset[str] | None) -> bool:
        """Whether the malloc, or of the collectors one of these builds, or where they are not known any build, runs its code."""
        if of == MALLOC:
            return not self.nor_malloc
        if (of in _IN_LEAST_HEAPS and self.but_for_minheaps) or (of in _OF_OTHER_PROGRAMS and self.but_for_programs):
            return True
        return bool(self.but_for if builds is None else self.but_for & builds)


def unmeasured() -> list[Unmeasured]:
    """The commits that make no result stale of those that they name."""
    return read_checked(RESULTS / UNMEASURED, list[Unmeasured])


@dataclass(frozen=True)
class Origin:
    """The commits of a result as they are shown, the processors, and whether all commits are `fresh`; else `stale`. Each
    is `unknown` where none was recorded."""

    commits: str
    processors: str
    state: str


def origin(
    revisions: Iterable[str], processors: Iterable[str], of: str = COLLECTORS, builds: frozenset[str] | None = None
) -> Origin:
    """Where a result is from that is of those revisions and processors, and of those builds if they are known. Two records of
    one commit are one."""
    known = sorted(set(revisions))
    states = {state(each, of, builds) for each in known} or {UNKNOWN}
    return Origin(
        ", ".join(dict.fromkeys(map(shown, known))) or UNKNOWN,
        ", ".join(sorted(set(processors))) or UNKNOWN,
        states.pop() if len(states) == 1 else STALE,
    )


def recorded_origin(file: Path, of: str = COLLECTORS, builds: frozenset[str] | None = None) -> Origin:
    """Where a result is from, of those builds if they are known, whose facts are in that file; unknown where it is not there, or
    does not say."""
    facts = read_json(file, "restore it") if file.is_file() else {}
    on = {"processor": UNKNOWN, **facts.get("machine", {})}
    commit, checkout = facts.get("revision", UNKNOWN), facts.get("checkout")
    whole = origin([commit], [machine.processor(on)], of, builds)
    return replace(whole, state=state_of_runs(commit, [checkout] if checkout else [], of, builds))


def shown(revision: str) -> str:
    """A commit as it is shown."""
    return machine.short(revision, DIGITS)


@cache
def state(commit: str, of: str = COLLECTORS, builds: frozenset[str] | None = None, part: str = WHOLE) -> str:
    """Whether what results of some builds depend on, or a part of it, is as in the checkout, but for unmeasured commits: `fresh`
    or `stale`; `stale` too where git does not know the commit, as with a tree that no commit has. An unknown commit has an
    unknown state."""
    if commit == UNKNOWN:
        return UNKNOWN
    paths = _paths(of, builds, part)
    if "-dirty" in commit or _git("diff", "--quiet", "HEAD", paths=paths) is None:
        return STALE
    since = _git("log", "--format=%H", f"{commit}...HEAD", paths=paths)
    without = {each.commit for each in unmeasured() if not each.is_run_by(of, builds)}
    return STALE if since is None or set(since.split()) - without else FRESH


def state_of_runs(commit: str, checkouts: Collection[str], of: str, builds: frozenset[str] | None) -> str:
    """Whether both a build of that commit and the checkouts that have run it are `fresh`. Where none was recorded, the commit
    of the build is that of the programs too."""
    if not checkouts:
        return state(commit, of, builds)
    states = {state(each, of, builds, OF_CHECKOUT) for each in checkouts}
    states.add(state(commit, of, builds, OF_BUILD))
    return states.pop() if len(states) == 1 else STALE


def _paths(of: str, builds: frozenset[str] | None, part: str) -> tuple[str, ...]:
    """What results of some builds depend on, or that part of it."""
    own = _OWN_PROGRAMS.get(of, ())
    if part == OF_CHECKOUT:
        return (*_RUN, *own, *_NO_CODE)
    has_plugin = of == MALLOC or not builds or any(not build.startswith(_HOTSPOT) for build in builds)
    return (*CODE[of], *(() if has_plugin else _NO_PLUGIN), *(_NOT_RUN if part == OF_BUILD else own))


def _git(*command: str, paths: tuple[str, ...]) -> str | None:
    """What git says of the code that was measured; None where it fails."""
    whole = ["git", "-C", str(catalog.ROOT), *command, "--", *paths]
    try:
        done = subprocess.run(whole, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None
