# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a sweep measures: the grid file, its checks, and the points that it unfolds into."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from shardsweep.catalog import CONFIGS
from shardsweep.errors import UserError
from shardsweep.files import read_yaml

PRESETS = CONFIGS / "presets"

# 0 leaves the number of threads to the benchmark.
Threads = Annotated[int, Field(ge=0, le=4096)]
Mebibytes = Annotated[int, Field(ge=1, le=1 << 20)]
Factor = Annotated[float, Field(gt=0, le=1000)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$")]


class Experiment(BaseModel):
    """What every experiment needs. `limit` is the time limit of one run of the JVM, in seconds; `modifiers`, of
    `configs/modifiers.yml`, go to each run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    suite: Name = "shardsweep"
    benchmarks: Annotated[list[Name], Field(min_length=1)] = ["lusearch"]
    size: Name | None = None
    builds: Annotated[list[Name], Field(min_length=1)]
    threads: Annotated[list[Threads], Field(min_length=1)]
    iterations: Annotated[int, Field(ge=1)] = 5
    limit: Annotated[int, Field(ge=1)] = 600
    modifiers: list[Name] = []

    @field_validator("builds", "threads", "benchmarks", "heaps", "factors", "modifiers", check_fields=False)
    @classmethod
    def _no_repeats(cls, values: list) -> list:
        if len(set(values)) != len(values):
            raise ValueError("lists a value twice")
        return values


class Minheap(Experiment):
    """Minheap by threads: the first search begins at `start` MiB, none passes `largest`; `attempts` tries at a size.
    After a search there are `trials` runs more at each size around what it has found."""

    start: Mebibytes = 8
    largest: Mebibytes = 1024
    attempts: Annotated[int, Field(ge=1)] = 2
    repeats: Annotated[int, Field(ge=1)] = 1
    trials: Annotated[int, Field(ge=0)] = 0

    @field_validator("largest")
    @classmethod
    def _room(cls, largest: int, info) -> int:
        if "start" in info.data and largest < info.data["start"]:
            raise ValueError("is smaller than start")
        return largest


class Performance(Experiment):
    """Time by heap size or by threads, relative to `baseline`. Heap sizes are `heaps`, in MiB, or else `factors` of
    what the grid's minheap experiment finds for the build `minheap_of`, with the same benchmark and number of threads.
    """

    heaps: list[Mebibytes] = []
    factors: list[Factor] = []
    minheap_of: Name | None = None
    invocations: Annotated[int, Field(ge=1)] = 20
    baseline: Name

    @model_validator(mode="after")
    def _one_kind_of_size(self) -> Self:
        if bool(self.heaps) == bool(self.factors):
            raise ValueError("needs either heaps or factors")
        if bool(self.factors) != bool(self.minheap_of):
            raise ValueError("factors and minheap_of need each other")
        return self

    @field_validator("baseline")
    @classmethod
    def _compared(cls, baseline: str, info) -> str:
        if "builds" in info.data and baseline not in info.data["builds"]:
            raise ValueError(f"{baseline} is not one of the builds")
        return baseline


class Resident(Experiment):
    """Resident memory over time, sampled every `interval` milliseconds."""

    heaps: Annotated[list[Mebibytes], Field(min_length=1)]
    invocations: Annotated[int, Field(ge=1)] = 1
    interval: Annotated[int, Field(ge=5)] = 50


# What the two performance experiments of a grid must agree in: their rows go into the same tables.
SHARED = ("suite", "size", "iterations", "modifiers", "baseline")


class Grid(BaseModel):
    """A whole sweep: any of the four experiments."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    about: str = ""
    minheap: Minheap | None = None
    perf_by_heap: Performance | None = Field(None, alias="perf-by-heap")
    perf_by_threads: Performance | None = Field(None, alias="perf-by-threads")
    rss: Resident | None = None

    def experiments(self) -> dict[str, Experiment]:
        """The experiments that are asked for, by the name of their running-ng configuration."""
        all_of_them = {
            "minheap": self.minheap,
            "perf-by-heap": self.perf_by_heap,
            "perf-by-threads": self.perf_by_threads,
            "rss": self.rss,
        }
        return {name: experiment for name, experiment in all_of_them.items() if experiment}

    def pooled(self, sittings: int) -> Self:
        """The grid of which one sweep has as many JVMs as so many sweeps of this one."""
        counts = {
            "perf_by_heap": "invocations",
            "perf_by_threads": "invocations",
            "rss": "invocations",
            "minheap": "repeats",
        }
        found = {
            name: one.model_copy(update={count: getattr(one, count) * sittings})
            for name, count in counts.items()
            if (one := getattr(self, name))
        }
        return self.model_copy(update=found)

    def builds(self) -> list[str]:
        """The builds of all experiments, each once."""
        return list(dict.fromkeys(name for experiment in self.experiments().values() for name in experiment.builds))

    @model_validator(mode="after")
    def _one_table(self) -> Self:
        one, other = self.perf_by_heap, self.perf_by_threads
        apart = [name for name in SHARED if one and other and getattr(one, name) != getattr(other, name)]
        if apart:
            raise ValueError(
                f"perf-by-heap and perf-by-threads share their tables: {apart[0]} must be the same, or measure them in "
                "two grids"
            )
        return self

    @model_validator(mode="after")
    def _minheaps_are_measured(self) -> Self:
        for name, experiment in self.experiments().items():
            if isinstance(experiment, Performance) and experiment.minheap_of:
                self._check_minheaps(name, experiment)
        return self

    def _check_minheaps(self, name: str, experiment: Performance) -> None:
        found = self.minheap
        if not found or experiment.minheap_of not in found.builds:
            raise ValueError(f"{name}: there is no minheap of {experiment.minheap_of} in this grid to take factors of")
        for unlike in ("suite", "size"):
            if getattr(found, unlike) != getattr(experiment, unlike):
                raise ValueError(f"{name}: factors need a minheap experiment of the same {unlike}")
        for among in ("benchmarks", "threads"):
            if missing := set(getattr(experiment, among)) - set(getattr(found, among)):
                raise ValueError(f"{name}: factors need minheaps of the {among} {', '.join(map(str, sorted(missing)))}")


@dataclass(frozen=True)
class Point:
    """One job. A minheap point is one build's search; a performance point is one invocation of all builds in turn,
    so that whatever else the machine does meets all of them alike. It has a `heap` in MiB, or a `factor` of a minheap.
    """

    experiment: str
    benchmark: str
    threads: int
    builds: tuple[str, ...]
    heap: int | None
    invocation: int
    factor: float | None = None

    @property
    def id(self) -> str:
        """The point's name: relative path of its result, unique in a grid."""
        return f"{self.experiment}/{self.benchmark}/{self._where}/t{self.threads}-{self.invocation}"

    @property
    def _where(self) -> str:
        if self.heap is not None:
            return f"h{self.heap}"
        return self.builds[0] if self.factor is None else f"x{self.factor:g}"


def points(grid: Grid) -> list[Point]:
    """Every point of the grid. Invocations are the outermost loop of each experiment: a sweep that is cut short has
    measured every point about equally often."""
    unfolded = []
    # Two experiments may measure the same cell: their invocations are numbered through, so that none counts twice.
    first = 0
    for name, experiment in grid.experiments().items():
        unfolded.extend(_unfold(name, experiment, first))
        if isinstance(experiment, Performance):
            first += experiment.invocations
    return unfolded


def _unfold(name: str, experiment: Experiment, first: int) -> Iterator[Point]:
    if isinstance(experiment, Minheap):
        for repeat, benchmark, threads, build in itertools.product(
            range(experiment.repeats), experiment.benchmarks, experiment.threads, experiment.builds
        ):
            yield Point(name, benchmark, threads, (build,), None, repeat)
    else:
        factors = experiment.factors if isinstance(experiment, Performance) else []
        sizes = [*((heap, None) for heap in experiment.heaps), *((None, factor) for factor in factors)]
        for invocation, benchmark, threads, (heap, factor) in itertools.product(
            range(first, first + experiment.invocations), experiment.benchmarks, experiment.threads, sizes
        ):
            yield Point(name, benchmark, threads, tuple(experiment.builds), heap, invocation, factor)


def needed(grid: Grid, point: Point) -> list[Point]:
    """The minheap points of which a point's heap size is a factor: to be measured before it."""
    if point.factor is None:
        return []
    build = grid.experiments()[point.experiment].minheap_of
    return [
        Point("minheap", point.benchmark, point.threads, (build,), None, repeat)
        for repeat in range(grid.minheap.repeats)
    ]


def load(path: Path) -> Grid:
    """Reads a grid file. Raises UserError with the place and kind of what is wrong in it."""
    try:
        content = read_yaml(path, f"grid {path}")
    except FileNotFoundError:
        raise UserError(f"grid {path} is not there; presets: {', '.join(presets())}") from None
    except OSError as error:
        raise UserError(f"grid {path} cannot be read: {error}") from None
    return check(content, str(path))


def check(content: object, origin: str) -> Grid:
    """Turns parsed YAML into a grid; `origin` names it in the error."""
    if not isinstance(content, dict):
        raise UserError(f"grid {origin}: expected experiments by name (minheap, perf-by-heap, perf-by-threads, rss)")
    try:
        grid = Grid.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        # What is wrong with the whole has no place.
        place = ".".join(map(str, first["loc"]))
        parts = (f"grid {origin}", place, first["msg"].removeprefix("Value error, "))
        raise UserError(": ".join(part for part in parts if part)) from None
    if not grid.experiments():
        raise UserError(f"grid {origin}: names no experiment (minheap, perf-by-heap, perf-by-threads, rss)")
    return grid


def dump(grid: Grid) -> str:
    """The grid as YAML that `load` reads back, with every default written out."""
    return yaml.safe_dump(grid.model_dump(by_alias=True, exclude_none=True), sort_keys=False)


def with_suite(grid: Grid, suite: str) -> Grid:
    """The grid with another suite, in which its benchmarks have the same names."""
    content = grid.model_dump(by_alias=True, exclude_none=True)
    for name in grid.experiments():
        content[name]["suite"] = suite
    return check(content, f"with suite {suite}")


def presets() -> list[str]:
    """Names of the presets in `configs/presets`."""
    return sorted(path.stem for path in PRESETS.glob("*.yml"))


def preset(name: str) -> Grid:
    """The preset of that name."""
    return load(PRESETS / f"{name}.yml")


def without(grid: Grid, missing: dict[str, str]) -> tuple[Grid, list[str]]:
    """The grid without the builds that are missing (name -> why), and without experiments that this leaves nothing to
    measure or to compare with; a line about each of these. Raises UserError where nothing at all is left."""
    content = grid.model_dump(by_alias=True, exclude_none=True)
    lines = [f"build {name} is left out: {why}" for name, why in missing.items()]
    for name, experiment in grid.experiments().items():
        left = [build for build in experiment.builds if build not in missing]
        wanted = {getattr(experiment, of, None) for of in ("baseline", "minheap_of")} - {None}
        if left and not wanted & set(missing):
            content[name]["builds"] = left
        else:
            del content[name]
            lacking = "".join(f", or not {each}" for each in sorted(wanted))
            lines.append(f"{name} is left out: it has no build{lacking}")
    if not set(content) & set(grid.experiments()):
        raise UserError(f"there is nothing to measure: {lines[0]}")
    return Grid.model_validate(content), lines
