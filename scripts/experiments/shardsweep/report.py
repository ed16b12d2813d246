# SPDX-License-Identifier: MIT OR Apache-2.0
"""The report of a sweep: tables for the terminal and as a file, plots, and one HTML page that needs nothing else."""

import re
import shlex
import time
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import jinja2
import pandas as pd
from itables.utils import read_package_file
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from shardsweep import (
    analysis,
    catalog,
    draw,
    figures,
    grid,
    launch,
    logs,
    overview,
    point,
    presets,
    progress,
    sweep,
    tables,
    tidy,
)
from shardsweep.figures import Figure
from shardsweep.files import write_whole
from shardsweep.grid import Grid
from shardsweep.tables import Table

PAGE = "report.html"
PLOTS = "plots"
TABLES = "tables.md"


@dataclass
class Section:
    """One part of the report."""

    id: str
    title: str
    tables: list[Table]
    figures: list[Figure] = field(default_factory=list)


def sections(whole: Grid, table: pd.DataFrame, notes: list[dict]) -> list[Section]:
    """What there is to show of the results."""
    found = []
    if whole.minheap:
        found.append(
            Section(
                "minheap",
                "Minheap",
                [
                    *tables.minheaps(table, notes),
                    *tables.estimates(table),
                    *tables.regressions(table),
                    *tables.spread(table),
                ],
                figures.minheap(table),
            )
        )
    performance = whole.perf_by_heap or whole.perf_by_threads
    if performance:
        found.append(_performance(whole, table, performance.baseline))
    if whole.rss:
        found.append(Section("resident", "Resident memory", tables.resident(table), figures.resident(table)))
    if notes:
        found.append(Section("failures", "Runs that did not pass", tables.notes(notes)))
    return [section for section in found if section.tables or section.figures]


def _performance(whole: Grid, table: pd.DataFrame, baseline: str) -> Section:
    last = figures.timed(table)
    drawn = figures.across(last, baseline)
    if whole.perf_by_heap:
        cells = _cells(last, whole.perf_by_heap)
        drawn += figures.means_by_factor(cells, baseline)
        drawn += figures.by(cells, _size(whole.perf_by_heap), "threads", baseline)
    if whole.perf_by_threads:
        by_threads = whole.perf_by_threads
        drawn += figures.by(_cells(last, by_threads), "threads", _size(by_threads), by_threads.baseline)
    return Section(
        "performance",
        "Performance",
        [*tables.geometric_means(table, baseline), *tables.overheads(table), *tables.performance(table, baseline)],
        drawn,
    )


def _size(experiment: grid.Performance) -> str:
    """The column that says how large a heap is: with factors, each number of threads has heaps of its own."""
    return "factor" if experiment.factors else "heap"


def _cells(table: pd.DataFrame, experiment: grid.Performance) -> pd.DataFrame:
    """The rows that an experiment asked for, whichever measured them."""
    threads = [each or pd.NA for each in experiment.threads]
    wanted = table["build"].isin(experiment.builds)
    wanted &= table["heap"].isin(experiment.heaps) if experiment.heaps else table["factor"].isin(experiment.factors)
    return table[wanted & (table["threads"].isin(threads) | (table["threads"].isna() & (0 in experiment.threads)))]


@dataclass(frozen=True)
class Commands:
    """What measured a folder, and what makes its tables."""

    measured: str
    tables: str


def commands(place: str) -> Commands:
    """The commands of a folder at that place. What is recorded below `results/` was measured in a folder of its own."""
    recorded = place.startswith("results/")
    out = f"build/sweeps/{Path(place).name}" if recorded else place
    return Commands(
        f"build/venv/bin/shardsweep sweep --grid {place}/grid.yml --out {out}",
        f"build/venv/bin/shardsweep report {place}",
    )


def write(folder: Path, place: str | None = None) -> tuple[list[Section], Path]:
    """Makes tables, plots and page of what is measured in a sweep's folder, which is going to be at that place if at another
    one. Returns the sections and the page."""
    whole = grid.load(folder / point.GRID_FILE)
    table, notes = sweep.results(folder)
    found = sections(whole, table, notes)
    (folder / PLOTS).mkdir(exist_ok=True)
    for section in found:
        for figure in section.figures:
            draw.files(figure, folder / PLOTS)
    write_whole(folder / TABLES, text(found, table, place or catalog.place(folder)))
    page = folder / PAGE
    write_whole(page, _page(folder, whole, found, table, notes))
    return found, page


def text(found: list[Section], table: pd.DataFrame, place: str) -> str:
    """The tables of some sections in Markdown, under the commands of their folder at that place, and a line on noise if there
    is any."""
    one = commands(place)
    head = [f"Measured by `{one.measured}`; these tables are made by `{one.tables}`.", *_noise(table)]
    return "\n".join(
        [*(f"{line}\n" for line in head), *(tables.markdown(one) for each in found for one in each.tables)]
    )


def _page(folder: Path, whole: Grid, found: list[Section], table: pd.DataFrame, notes: list[dict]) -> str:
    templates = files("shardsweep") / "templates"
    environment = jinja2.Environment(autoescape=True, trim_blocks=True)
    environment.filters["order"] = order
    template = environment.from_string((templates / "report.html").read_text(encoding="utf-8"))
    facts = sweep.read_machine(folder)
    points = grid.points(whole)
    packages = ", ".join(f"{name} {number}" for name, number in facts["packages"].items())
    return template.render(
        title=f"Shardsweep: {folder.resolve().name}",
        about=presets.about(whole),
        progress=_progress(folder, points),
        warnings=[*_machines_apart(facts["machines"]), *_noise(table), *serious(notes)],
        sections=[
            {
                "id": each.id,
                "title": each.title,
                "tables": each.tables,
                "figures": [draw.html(one) for one in each.figures],
            }
            for each in found
        ],
        machine=[
            *_machine_rows(facts["machines"]),
            *((name, facts[name]) for name in ("java", "revision")),
            ("packages", packages),
            *((f"jar of suite {suite}", f"SHA-256 {digest}") for suite, digest in facts.get("jars", {}).items()),
        ],
        builds=list(facts["builds"].items()),
        grid=grid.dump(whole),
        commands=_commands(folder, points),
        overview=overview.data(table, _first_baseline(whole)),
        script=Markup((templates / "overview.js").read_text(encoding="utf-8")),
        plotly=Markup(get_plotlyjs()),
        widget=read_package_file("html", "dt_bundle.js"),
    )


def order(cell: str) -> str:
    """What a cell of the page is sorted by: the number that it begins with, or else all of it."""
    number = re.match(r"-?[0-9]+(\.[0-9]+)?", cell)
    return number[0] if number else cell


def _first_baseline(whole: Grid) -> str | None:
    """What the page is relative to at first: where heaps are multiples of minheaps, each program's time says little alone."""
    by_heap = whole.perf_by_heap
    return by_heap.baseline if by_heap and by_heap.factors else None


def _progress(folder: Path, points: list[grid.Point]) -> str:
    """How far the sweep is; nothing about one of which only the results were kept."""
    if sweep.is_recorded(folder):
        return ""
    done = len(points) - len(progress.unmeasured(folder, points))
    return f"{done} of {len(points)} points measured."


def _machine_rows(machines: list[dict]) -> list[tuple[str, object]]:
    """The facts of each machine, numbered if there is more than one."""
    return [
        (f"machine {place}: {name}" if len(machines) > 1 else name, value)
        for place, one in enumerate(machines, 1)
        for name, value in one.items()
    ]


# What is said of noise of each kind.
NOISY = {
    analysis.HOST: "the host of this virtual machine took {:.0%} of a processor",
    analysis.OTHERS: "other processes took {:.0%} of a processor",
    analysis.PROBE: "the processors' speed differed by {:.0%} from run to run",
}


def _noise(table: pd.DataFrame) -> list[str]:
    """A line for each kind of noise that is to be told of."""
    return [
        f"{line}{'' if who == analysis.PROBE else ' while the runs were timed'}"
        for who, line in _noisy(analysis.noise(table)).items()
    ]


def _noisy(noise: dict[str, float]) -> dict[str, str]:
    return {who: f"noisy: {NOISY[who].format(share)}" for who, share in analysis.noisy(noise).items()}


def noise_of(folder: Path) -> list[str]:
    """The lines on the noise of a sweep's folder, as last gathered."""
    return _noise(tidy.read(folder / sweep.RESULTS))


def noise_now(seconds: float = 2) -> list[str]:
    """A line for each kind of noise that this machine has in the next seconds, in which this process does nothing."""
    # Private there: results are stale where that file, which is a part of every run, differs from the checkout's.
    before = launch._machine()
    time.sleep(seconds)
    others, host = (after - earlier for after, earlier in zip(launch._machine(), before, strict=True))
    found = _noisy({analysis.OTHERS: others / seconds, analysis.HOST: host / seconds})
    return [f"{line} in the {seconds:g} s before the sweep" for line in found.values()]


def _machines_apart(machines: list[dict]) -> list[str]:
    if len(machines) < 2:
        return []
    texts = [", ".join(f"{name} {value}" for name, value in one.items()) for one in machines]
    return [f"measured on {len(machines)} different machines: {'; '.join(texts)}"]


def serious(notes: list[dict]) -> list[str]:
    """One line for each run that ended in a way that says nothing about heap sizes: crash, wrong result, error."""
    return [
        f"{note['outcome'].upper()}: {note['build']}, {note['benchmark']}, {note['threads'] or 'default'} threads, "
        f"{note['heap']} MiB: {note['detail']}"
        for note in notes
        if note["outcome"] in (logs.Outcome.CRASH, logs.Outcome.FAILED, logs.Outcome.ERROR)
    ]


def serious_notes(folder: Path) -> list[str]:
    """The lines of `serious` for a sweep's folder, as last gathered."""
    return serious(sweep.read_notes(folder))


def _commands(folder: Path, points: list[grid.Point]) -> list[str]:
    """One command line for each experiment and build, out of the logs."""
    lines = {}
    for each in points:
        for log in sorted((folder / "logs" / f"{each.id.replace('/', '.')}.a0").glob("*.log.gz")):
            key = (each.experiment, log.name.split(".jdk.")[-1].split(".launch")[0].rsplit(".t-", 1)[0])
            if key not in lines:
                lines[key] = shlex.join(logs.read(log)[-1].command)
    return list(lines.values())
