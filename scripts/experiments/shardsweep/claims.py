# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the recorded data say: each claim of `results/claims.yml` with its estimate, interval, and where it is from.

`results/README.md` and the blocks of the front page between marks are made of these. No number in them is typed.
"""

import subprocess
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

import jinja2
import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field
from scipy import stats

from shardsweep import analysis, catalog, figures, grid, point, sweep, tables, thresholds
from shardsweep.errors import UserError
from shardsweep.files import read_checked, write_whole
from shardsweep.record import RESULTS

CLAIMS = "claims.yml"
UNMEASURED = "unmeasured.yml"
PAGE_TEMPLATE, PAGE = "README.md.jinja", "README.md"
# A block of the front page each.
FRONT_TEMPLATES = ("front.md.jinja", "plans.md.jinja")
# What a result depends on. A commit that differs from the checkout in one of these has other code. The Serviceability Agent runs
# in a process of its own; its patch adds to the JVM a table that only it reads. The malloc is in no plugin; of the build that
# loads it nothing is claimed.
NO_CODE = (
    ":!*.md",
    ":!*/test/*",
    ":!*/tests/*",
    ":!*/tests.rs",
    ":!openjdk/src/jdk.hotspot.agent/*",
    ":!openjdk/patches/*-agent.patch",
    ":!policy/src/malloc/*",
)
CODE = ("policy", "mmtk", "openjdk", "benchmarks", "Cargo.lock", *NO_CODE)
UNKNOWN = "not measured"


class Claim(BaseModel):
    """One line for each build: what is measured, in which data set, and of which of its cells."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z0-9-]+$")
    claim: str
    data: str
    measure: Literal["minheap", "slope", "median", "ratio", "mean", "equal-memory"]
    builds: list[str] = Field(min_length=1)
    metric: str = "minheap"
    baseline: str | None = None
    benchmark: str = "lusearch"
    threads: int | None = None
    heap: int | None = None
    digits: int = 0

    @property
    def compared(self) -> list[str]:
        """The builds that have a line. A ratio of the baseline to itself says nothing."""
        itself = self.baseline if self.measure in ("ratio", "mean") else None
        return [build for build in self.builds if build != itself]


class Section(BaseModel):
    """Claims that stand in one table."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    claims: list[Claim]


@dataclass(frozen=True)
class Estimate:
    """A number with its interval (NaN where there is none), and the size of the sample. `curve`: the number is a slope,
    and the points bend too much to be a line."""

    value: float
    low: float = float("nan")
    high: float = float("nan")
    n: int = 0
    curve: bool = False


@dataclass(frozen=True)
class Answer:
    """What a claim comes to; `estimate` is None where the data set does not have it."""

    id: str
    text: str
    digits: int
    estimate: Estimate | None
    protocol: str = ""
    commit: str = ""
    processor: str = ""
    state: str = ""

    @property
    def number(self) -> str:
        """The estimate as text."""
        return tables.number(self.estimate.value, self.digits) if self.estimate else UNKNOWN

    @property
    def interval(self) -> str:
        """Both ends of the interval as text; empty where there is none."""
        if not self.estimate or np.isnan(self.estimate.low):
            return ""
        return f"{tables.number(self.estimate.low, self.digits)} to {tables.number(self.estimate.high, self.digits)}"

    @property
    def verdict(self) -> str:
        """What the interval of a ratio says."""
        said = analysis.verdict(self.estimate.low, self.estimate.high) if self.estimate else ""
        return said or UNKNOWN


class DataSet:
    """One folder of `results/`."""

    def __init__(self, folder: Path):
        self.name = folder.name
        self.table, _ = sweep.results(folder)
        self.grid = grid.load(folder / point.GRID_FILE)

    @cached_property
    def timed(self) -> pd.DataFrame:
        """The rows of timed iterations and of whole runs."""
        return figures.timed(self.table)

    def rows(self, claim: Claim, metric: str) -> pd.DataFrame:
        """The rows of a claim's cells with that metric, of all builds."""
        source = self.table if metric == "minheap" or metric.startswith("trial.") else self.timed
        chosen = source[source["metric"] == metric]
        if claim.measure != "mean":
            chosen = chosen[chosen["benchmark"] == claim.benchmark]
        for column, value in (("threads", claim.threads), ("heap", claim.heap)):
            if value is not None:
                chosen = chosen[chosen[column] == value]
        return chosen.dropna(subset=["value"])


def estimate(data: DataSet, claim: Claim, build: str) -> Estimate | None:
    """What a data set says about a claim and a build; None where it says nothing."""
    rows = data.rows(claim, claim.metric)
    own = rows[rows["build"] == build]
    if own.empty:
        return None
    match claim.measure:
        case "minheap":
            return _minheap(data, claim, build, own)
        case "slope":
            return _slope(own)
        case "median":
            found = analysis.median(own["value"])
            return Estimate(found.estimate, found.low, found.high, found.samples)
        case "ratio":
            return _ratio(rows, own, claim.baseline)
        case "mean":
            return _mean(rows, build, claim)
        case "equal-memory":
            return _equal_memory(data, claim, build)


def _minheap(data: DataSet, claim: Claim, build: str, own: pd.DataFrame) -> Estimate:
    """The median of the searches; its interval is that of the heap in which half of all runs pass, if they were tried."""
    counts = []
    for metric in ("trial.passed", "trial.failed"):
        rows = data.rows(claim, metric)
        counts.append(rows[rows["build"] == build].groupby("heap")["value"].sum())
    passed, failed = counts
    if passed.empty or not passed.sum() or not failed.sum():
        return Estimate(float(own["value"].median()), n=len(own))
    sizes = sorted(set(passed.index) | set(failed.index))
    fit = thresholds.Fit(pd.Series(sizes), passed.reindex(sizes, fill_value=0), failed.reindex(sizes, fill_value=0))
    half = fit.heap(0.5)
    return Estimate(float(own["value"].median()), half.low, half.high, fit.runs)


def _slope(own: pd.DataFrame) -> Estimate | None:
    line = analysis.least_squares(own["threads"], own["value"])
    if line is None:
        return None
    reach = stats.t.ppf((1 + analysis.CONFIDENCE) / 2, line.points - 2) if line.points > 2 else float("nan")
    ends = [line.slope + sign * reach * line.slope_error for sign in (-1, 1)]
    return Estimate(line.slope, *ends, line.points, line.is_curve)


def _ratio(rows: pd.DataFrame, own: pd.DataFrame, baseline: str | None) -> Estimate | None:
    reference = rows[rows["build"] == baseline]
    if reference.empty:
        return None
    found = analysis.ratio_of_medians(own["value"], reference["value"])
    return Estimate(found.estimate, found.low, found.high, found.samples)


def _mean(rows: pd.DataFrame, build: str, claim: Claim) -> Estimate | None:
    """Geometric mean of the ratios of all cells that each build ran; the interval is that of the mean of logarithms."""
    ratios = analysis.common(analysis.relative(rows, claim.metric, claim.baseline))
    logs = np.log(ratios.loc[(ratios["build"] == build) & (ratios["ratio"] > 0), "ratio"].astype(float))
    if logs.empty:
        return None
    reach = (
        stats.t.ppf((1 + analysis.CONFIDENCE) / 2, len(logs) - 1) * stats.sem(logs) if len(logs) > 1 else float("nan")
    )
    ends = np.exp([logs.mean() - reach, logs.mean(), logs.mean() + reach])
    return Estimate(float(ends[1]), float(ends[0]), float(ends[2]), len(logs))


def _equal_memory(data: DataSet, claim: Claim, build: str) -> Estimate | None:
    """What the metric would be in the heap in which the build holds as much memory as the baseline does in the claim's
    heap: on the line between the two heap sizes whose peaks lie around that. None where all peaks lie on one side."""
    every_heap = claim.model_copy(update={"heap": None})
    resident, metric = (data.rows(every_heap, name) for name in ("resident.peak", claim.metric))
    held = resident.loc[(resident["build"] == claim.baseline) & (resident["heap"] == claim.heap), "value"].median()
    by_heap = [rows[rows["build"] == build].groupby("heap")["value"] for rows in (resident, metric)]
    points = pd.concat([by_heap[0].median(), by_heap[1].median()], axis=1, keys=["held", "metric"]).dropna()
    points = points.astype(float).sort_values("held")
    if points.empty or pd.isna(held) or not points["held"].iloc[0] <= held <= points["held"].iloc[-1]:
        return None
    return Estimate(float(np.interp(held, points["held"], points["metric"])), n=int(by_heap[1].size().min()))


def protocol(claim: Claim, whole: grid.Grid) -> str:
    """How it was measured, in a few words."""
    if claim.measure in ("minheap", "slope"):
        one = whole.minheap
        again = f", {one.trials} more runs at each size" if one.trials else ""
        return f"{_iterations(one)}, {one.attempts} attempts at a size{again}, {one.limit} s a run"
    one = whole.perf_by_heap or whole.perf_by_threads or whole.rss
    return (
        f"{_iterations(one)}, {one.invocations} JVMs a sitting{', ' if one.modifiers else ''}{' '.join(one.modifiers)}"
    )


def _iterations(one: grid.Experiment) -> str:
    return "1 iteration" if one.iterations == 1 else f"iteration {one.iterations}"


class Unmeasured(BaseModel):
    """A commit whose code nothing runs that was measured."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    commit: str = Field(pattern=r"^[0-9a-f]{40}$")
    why: str


def unmeasured() -> list[Unmeasured]:
    """The commits that make no result stale."""
    return read_checked(RESULTS / UNMEASURED, list[Unmeasured])


@cache
def state(commit: str) -> str:
    """Whether the code of a commit is that of the checkout, but for that of unmeasured commits: `fresh` or `stale`; `stale`
    too where git does not know it, as with a tree that no commit has."""
    if "-dirty" in commit or _git("diff", "--quiet", "HEAD") is None:
        return "stale"
    since = _git("log", "--format=%H", f"{commit}...HEAD")
    known = {each.commit for each in unmeasured()}
    return "stale" if since is None or set(since.split()) - known else "fresh"


def _git(*command: str) -> str | None:
    """What git says of the code of the checkout; None where it fails."""
    whole = ["git", "-C", str(catalog.ROOT), *command, "--", *CODE]
    try:
        done = subprocess.run(whole, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None


def _values(column: pd.Series) -> list[str]:
    return sorted(column.dropna().unique())


class Results:
    """All claims and what the recorded data say about them."""

    def __init__(self, folder: Path = RESULTS):
        self.folder = folder
        self.sections = read_checked(folder / CLAIMS, list[Section])
        self._data: dict[str, DataSet | None] = {}
        self.answers = {
            answer.id: answer
            for section in self.sections
            for claim in section.claims
            for answer in (self._answer(claim, build) for build in claim.compared)
        }

    def data(self, name: str) -> DataSet | None:
        """The data set of that name, if it is there."""
        if name not in self._data:
            folder = self.folder / name
            self._data[name] = DataSet(folder) if (folder / sweep.RESULTS).is_file() else None
        return self._data[name]

    @property
    def recorded(self) -> list[str]:
        """The names of the data sets that are there."""
        return sorted(file.parent.name for file in self.folder.glob(f"*/{sweep.RESULTS}"))

    def _answer(self, claim: Claim, build: str) -> Answer:
        key, text = f"{claim.id}-{build}", claim.claim.replace("{build}", f"`{build}`")
        data = self.data(claim.data)
        found = estimate(data, claim, build) if data else None
        if found is None:
            return Answer(key, text, claim.digits, None)
        rows = data.rows(claim, claim.metric)
        used = rows[rows["build"].isin([build, claim.baseline])]
        commits = _values(used["commit"])
        states = {state(commit) for commit in commits} or {"stale"}
        return Answer(
            key, text, claim.digits, found, protocol(claim, data.grid), ", ".join(commits) or "unknown",
            ", ".join(_values(used["processor"])) or "unknown", "fresh" if states == {"fresh"} else "stale",
        )  # fmt: skip

    def of(self, section: Section) -> list[Answer]:
        """The answers of a section, in the order of its file."""
        return [self.answers[f"{claim.id}-{build}"] for claim in section.claims for build in claim.compared]

    @property
    def measured(self) -> bool:
        """Whether the data sets have anything that is claimed."""
        return any(answer.estimate for answer in self.answers.values())

    def number(self, claim: str, build: str) -> str:
        """The estimate of a claim and a build as text; empty where there is none, or the claim is not of that build."""
        answer = self.answers.get(f"{claim}-{build}")
        return answer.number if answer and answer.estimate else ""

    def render(self, template: str) -> str:
        """A template of `results/`, filled in. Raises UserError where it names a claim that is not there."""
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(self.folder), trim_blocks=True, lstrip_blocks=True,
            undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False,
        )  # fmt: skip
        try:
            return environment.get_template(template).render(results=self, get=self._get, unmeasured=unmeasured())
        except jinja2.TemplateError as error:
            raise UserError(f"{self.folder / template}: {error}") from None

    def _get(self, key: str) -> Answer:
        if key not in self.answers:
            raise jinja2.UndefinedError(f"no claim {key}")
        return self.answers[key]


def marks(template: str) -> tuple[str, str]:
    """What stands before and behind the block of the front page that is made of a template."""
    return f"<!-- begin {template}: made by `shardsweep results` -->", f"<!-- end {template} -->"


def front(text: str, template: str, block: str) -> str:
    """The front page with the block of a template replaced. Raises UserError where its marks are not there."""
    begin, end = marks(template)
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise UserError(f"the front page has no {begin} ... {end}")
    return f"{before}{begin}\n\n{block.strip()}\n\n{end}{after}"


def write(results: Path = RESULTS, page: Path = catalog.ROOT / "README.md") -> list[Path]:
    """Makes `results/README.md` and the blocks of the front page. Returns what was written."""
    found = Results(results)
    write_whole(results / PAGE, found.render(PAGE_TEMPLATE))
    text = page.read_text(encoding="utf-8")
    for template in FRONT_TEMPLATES:
        text = front(text, template, found.render(template))
    write_whole(page, text)
    return [results / PAGE, page]
