# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the recorded data say: each claim of `results/claims.yml` with its estimate, interval, and where it is from.

`results/README.md` and the blocks of the front page between marks are made of these. No measured number in them is typed.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
import numpy as np
from pydantic import BaseModel, ConfigDict

from shardsweep import analysis, calibration, catalog, freshness, grid, sweep, tables, thresholds
from shardsweep.errors import UserError
from shardsweep.estimates import Claim, DataSet, Estimate, estimate, protocol
from shardsweep.files import read_checked, write_whole
from shardsweep.record import RESULTS

CLAIMS = "claims.yml"
PAGE_TEMPLATE, PAGE = "README.md.jinja", "README.md"
CALIBRATION_TEMPLATE = "calibration.md.jinja"
# A block of the front page each.
FRONT_TEMPLATES = ("front.md.jinja", "plans.md.jinja")
UNKNOWN = "not measured"
# What to say of a slope by the shape of its points, but for a line.
BENDS = {
    "curve": "the mean slope of a curve",
    "not tested": f"of fewer than {analysis.BENDABLE} points, not tested for a curve",
}


class Section(BaseModel):
    """Claims that stand in one table."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    claims: list[Claim]


@dataclass(frozen=True)
class Source:
    """Where numbers are from: the data set, the name in `freshness.CODE` of the code that they depend on, how it was measured, of
    which commits of each build, by checkouts of which commits, and on which processors."""

    data: DataSet
    code: str
    protocol: str
    measured: frozenset[tuple[str, str]]
    checkouts: frozenset[str]
    processors: frozenset[str]

    @property
    def origin(self) -> freshness.Origin:
        """Commits and processors as text, and whether all is fresh. Each commit is judged by the builds that were measured
        at it: where they differ, those that are not fresh are named."""
        states = {}
        for build, commit in self.measured:
            state = freshness.state_of_runs(commit, self.checkouts, self.code, frozenset([build]))
            states.setdefault(state, set()).add(build)
        whole = freshness.origin(
            {commit for _, commit in self.measured},
            self.processors,
            self.code,
            frozenset(build for build, _ in self.measured),
        )
        return dataclasses.replace(whole, state=_told(states) or whole.state)


def _told(states: dict[str, set[str]]) -> str:
    """What states builds are in, as text: the one that all are in, or the others than `fresh`, with their builds."""
    if len(states) < 2:
        return next(iter(states), "")
    named = [
        f"{state}: {', '.join(f'`{build}`' for build in sorted(builds))}"
        for state, builds in sorted(states.items())
        if state != freshness.FRESH
    ]
    return "; ".join([*named, f"else {freshness.FRESH}"] if freshness.FRESH in states else named)


@dataclass(frozen=True)
class Answer:
    """What a claim comes to; `estimate` and `source` are None where the data set does not have it."""

    id: str
    text: str
    digits: int
    estimate: Estimate | None = None
    source: Source | None = None

    @property
    def number(self) -> str:
        """The estimate as text, with the marks of its minheaps."""
        return self._number(self.estimate.value) + self.estimate.slow if self.estimate else UNKNOWN

    def _number(self, value: float) -> str:
        own = self.estimate.digits
        return tables.number(value, self.digits if own is None else own)

    @property
    def interval(self) -> str:
        """Both ends of the interval as text; empty where there is none, or that the sample has too few for one."""
        if not self._has_interval:
            return analysis.TOO_FEW if self.estimate and self.estimate.few else ""
        low, high = (self._number(end) or "unknown" for end in (self.estimate.low, self.estimate.high))
        return f"{low} to {high}"

    @property
    def _has_interval(self) -> bool:
        return bool(self.estimate) and not np.isnan([self.estimate.low, self.estimate.high]).all()

    @property
    def confidence(self) -> str:
        """How often such an interval holds the true number, as text; empty where there is no interval."""
        return tables.percent(self.estimate.confidence) if self._has_interval else ""

    @property
    def parts(self) -> dict[str, "Answer"]:
        """What the estimate is the mean of, by program."""
        parts = self.estimate.parts if self.estimate else {}
        return {program: Answer(f"{self.id}-{program}", program, self.digits, one) for program, one in parts.items()}

    @property
    def bend(self) -> str:
        """What is to be said of a slope whose points are not known to be of a line; else nothing."""
        return BENDS.get(self.estimate.shape, "") if self.estimate else ""

    @property
    def verdict(self) -> str:
        """What the interval of a ratio says."""
        if self.estimate and self.estimate.few:
            return analysis.TOO_FEW
        if not self.estimate:
            return UNKNOWN
        # An interval that has one end decides nothing.
        return analysis.verdict(self.estimate.low, self.estimate.high) or analysis.UNDECIDED

    def beside(self, *others: "Answer") -> str:
        """Whether it is less or more than each of some others, by their intervals. Minheaps of searches have none."""
        known = [(each.estimate.low, each.estimate.high) for each in (self, *others) if each.estimate]
        return analysis.apart(*known) if self.estimate and len(known) > 1 else UNKNOWN


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
            there = (self.folder / name / sweep.RESULTS).is_file()
            self._data[name] = DataSet(self.folder, name) if there else None
        return self._data[name]

    def _answer(self, claim: Claim, build: str) -> Answer:
        key, text = f"{claim.id}-{build}", claim.claim.replace("{build}", f"`{build}`")
        data = self.data(claim.data)
        found = estimate(data, claim, build) if data else None
        if found is None:
            return Answer(key, text, claim.digits)
        rows = data.told_by(claim)
        used = rows[rows["build"].isin([build, claim.baseline])]
        measured = used[["build", "commit"]].dropna().itertuples(index=False, name=None)
        source = Source(
            data,
            data.code(claim.measure),
            protocol(claim, data.grid),
            frozenset(measured),
            frozenset(data.checkouts[each] for each in used["sitting"].dropna().unique() if each in data.checkouts),
            frozenset(used["processor"].dropna()),
        )
        return Answer(key, text, claim.digits, found, source)

    def of(self, section: Section) -> list[Answer]:
        """The answers of a section, in the order of its file."""
        return self._answers([claim.id for claim in section.claims])

    @property
    def measured(self) -> bool:
        """Whether the data sets have anything that is claimed."""
        return any(answer.estimate for answer in self.answers.values())

    def number(self, claim: str, build: str) -> str:
        """The estimate of a claim and a build as text; empty where there is none, or the claim is not of that build."""
        answer = self.answers.get(f"{claim}-{build}")
        return answer.number if answer and answer.estimate else ""

    def searched(self, name: str, build: str, threads: int) -> str:
        """The smallest heap, in whole MiB, in which a run of a search of a data set passed; empty where there was none."""
        data = self.data(name)
        if not data:
            return ""
        rows = data.table[(data.table["metric"] == "minheap") & (data.table["build"] == build)]
        return tables.number(analysis.median_minheap(rows.loc[rows["threads"] == threads, "value"]), 0)

    def source(self, *claims: str) -> Source | None:
        """Where the numbers of all builds of some claims are from, which are of one data set; None where there is no
        number."""
        found = [source for each in self._answers(claims) if (source := each.source)]
        if not found:
            return None
        sets = zip(*((one.measured, one.checkouts, one.processors) for one in found), strict=True)
        return Source(found[0].data, found[0].code, found[0].protocol, *(frozenset().union(*each) for each in sets))

    def slow(self, *claims: str, builds: Iterable[str] = ()) -> str:
        """What the marks mean that numbers of some claims have, of some builds or of all; empty where none has one."""
        return " ".join(thresholds.told(" ".join(each.number for each in self._answers(claims, builds))))

    def meaning(self, *claims: str) -> str:
        """What the minheaps of some claims are, in words; empty where there is none."""
        found = [each.estimate for each in self._answers(claims) if each.estimate]
        return tables.minheap_meaning({not np.isnan(each.confidence) for each in found})

    def bends(self, claim: str, builds: Iterable[str]) -> str:
        """What is to be said of the slopes of some builds that are not known to be those of lines; else nothing."""
        named = {}
        for build in builds:
            if said := self.answers[f"{claim}-{build}"].bend:
                named.setdefault(said, []).append(f"`{build}`")
        return "; ".join(f"{', '.join(of)}: {said}" for said, of in named.items())

    def sets(self, section: Section) -> list[DataSet]:
        """The data sets of a section that are there."""
        found = (self.data(name) for name in dict.fromkeys(claim.data for claim in section.claims))
        return [each for each in found if each]

    def without(self, *claims: str) -> str:
        """A sentence for each metric of some claims that not all JVMs have; empty where they do."""
        said = [
            f"`{claim.metric}`: {sentence}"
            for claim in self._claims(claims)
            if claim.measure not in ("minheap", "slope") and (data := self.data(claim.data))
            for sentence in data.without(claim)
        ]
        return " ".join(dict.fromkeys(said))

    def _answers(self, names: Sequence[str], builds: Iterable[str] = ()) -> list[Answer]:
        """What some claims come to, of these builds, or of all that they compare."""
        return [
            self.answers[f"{claim.id}-{build}"] for claim in self._claims(names) for build in builds or claim.compared
        ]

    def _claims(self, names: Sequence[str]) -> list[Claim]:
        known = {claim.id: claim for section in self.sections for claim in section.claims}
        missing = [name for name in names if name not in known]
        if missing:
            raise jinja2.UndefinedError(f"no claim {missing[0]}")
        return [known[name] for name in names]

    def origin(self, facts: str, of: str = freshness.COLLECTORS, builds: Iterable[str] = ()) -> freshness.Origin:
        """Where a result is from whose facts are in a file of this folder. Of a collector, `builds` are those that it is of."""
        return freshness.recorded_origin(self.folder / facts, of, frozenset(builds) or None)

    def ran(
        self, preset: str, metric: str, builds: list[str], folders: list[str], over: str | None = None
    ) -> tuple[list[tuple[str, list[str], str]], list[str]]:
        """Which of the builds have a metric, each beside the first of the folders that has it, as `DataSet.having` has it,
        and how much of the preset's grid that covers; and those of which no folder has it."""
        found, left = [], list(builds)
        whole = grid.preset(preset)
        wanted = whole.perf_by_threads if over == "threads" else whole.perf_by_heap
        for folder in folders:
            data = self.data(folder)
            having = data.having(metric, over) if data else set()
            if here := [build for build in left if build in having]:
                covered = data.covered(metric, here, whole.minheap if metric == "minheap" else wanted)
                found.append((folder, here, covered))
                left = [build for build in left if build not in here]
        return found, left

    def render(self, template: str) -> str:
        """A template of `results/`, filled in. Raises UserError where it names a claim that is not there."""
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(self.folder), trim_blocks=True, lstrip_blocks=True,
            undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False,
        )  # fmt: skip
        known = {
            "results": self, "get": self._get, "preset": grid.preset, "unmeasured": freshness.unmeasured(),
            "shown": freshness.shown, "few": analysis.FEW, "too_few": analysis.TOO_FEW, "bendable": analysis.BENDABLE,
            "margin": tables.percent(analysis.MARGIN),
            "calibration": calibration.Calibration(self.folder / calibration.FOLDER),
            "noise": {who: tables.percent(share) for who, share in analysis.NOISE.items()},
        }  # fmt: skip
        try:
            return environment.get_template(template).render(known)
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
    """Makes `results/README.md`, the page of the calibration if that was measured, and the blocks of the front page. Returns what
    was written."""
    found = Results(results)
    pages = {results / PAGE: PAGE_TEMPLATE}
    if (results / calibration.FOLDER).is_dir():
        pages[results / calibration.FOLDER / PAGE] = CALIBRATION_TEMPLATE
    for place, template in pages.items():
        write_whole(place, found.render(template))
    text = page.read_text(encoding="utf-8")
    for template in FRONT_TEMPLATES:
        text = front(text, template, found.render(template))
    write_whole(page, text)
    return [*pages, page]
