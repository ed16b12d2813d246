# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tables and plots of a malloc measurement: each allocator relative to one of them, and ours to the best of the others."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from scipy import stats

from shardsweep import draw, malloc_runs
from shardsweep.errors import UserError
from shardsweep.figures import Figure, Series
from shardsweep.files import write_whole

TABLES = "tables.md"
OURS = "shardsweep"
# The end of the name of an allocator's secure mode.
SECURE = "-secure"
# Of these, what they hold is that of a queue whose length is chance.
MEMORY_BY_CHANCE = ("xmalloc-test",)
# The column of a measure, its title, and the programs without it.
MEASURES = (("wall", "Time", ()), ("peak_kib", "Peak resident memory", MEMORY_BY_CHANCE))
# Of these, processes run beside each other, so that their time says less than that of the processors.
PARALLEL = ("cxx-build",)
# Frees nothing: it says what the programs cost with fresh memory alone, and is no competitor.
BUMP = "bump"


def write(folder: Path, baseline: str, commands: str) -> Path:
    """Writes tables and plots of the folder's runs into it, the tables under a line on their commands, and returns the file of
    the tables. Raises UserError if there is no run."""
    rows = malloc_runs.read(folder)
    if rows.empty:
        raise UserError(f"{folder} has no measurement yet")
    rows = rows.assign(processor=rows["user"] + rows["system"])
    points = rows.groupby(["program", "threads", "allocator"], sort=False)
    table = points[["wall", "peak_kib", "processor"]].median().reset_index()
    runs = sorted({points.size().min(), points.size().max()})
    head = f"Medians of {' to '.join(map(str, runs))} runs, relative to {baseline}. Below 1 is better."
    head += f" `{BUMP}` frees nothing and uses no memory again: it has a page fault for each page.\n"
    parts = [f"{commands}\n", head]
    for column, title, left_out, shown in _measured(table):
        relative = ratios(shown, column, baseline)
        parts.append(f"## {title}\n\n" + "\n".join(_lines(relative)) + "\n")
        without = [name for name in left_out if name in set(table["program"])]
        if without:
            parts.append(f"Without {', '.join(without)}: what it holds is a queue, whose length is chance.\n")
        _plot(folder, relative, column, f"{title}, relative to {baseline}")
    parallel = table[table["program"].isin(PARALLEL)]
    if not parallel.empty:
        lines = _lines(ratios(parallel, "processor", baseline))
        parts.append("## User and system time\n\n" + "\n".join(lines[:-1]) + "\n")
    parts.append(_goals(table))
    write_whole(folder / TABLES, "\n".join(parts))
    return folder / TABLES


def _measured(table: pd.DataFrame) -> Iterator[tuple[str, str, tuple[str, ...], pd.DataFrame]]:
    """Each of the measures with the rows of its programs, if there are any."""
    for measure in MEASURES:
        rows = table[~table["program"].isin(measure[-1])]
        if not rows.empty:
            yield *measure, rows


def ratios(table: pd.DataFrame, column: str, baseline: str) -> pd.DataFrame:
    """By program and threads the column of each allocator, relative to the baseline's."""
    wide = table.pivot(index=["program", "threads"], columns="allocator", values=column)
    if baseline not in wide:
        raise UserError(f"the baseline {baseline} was not measured: {', '.join(wide)}")
    order = [name for name in table["allocator"].unique() if name in wide]
    return wide[order].div(wide[baseline], axis=0).dropna(subset=[each for each in order if each != BUMP])


def _lines(relative: pd.DataFrame) -> list[str]:
    """The lines of a table in Markdown."""
    # Of a column with gaps there is none: it would be of other points than its neighbours'.
    means = ["" if pd.isna(mean) else f"{mean:.3f}" for mean in relative.apply(stats.gmean)]
    head = ["program", "threads", *relative.columns]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    for (program, threads), row in relative.iterrows():
        cells = ("" if pd.isna(value) else f"{value:.2f}" for value in row)
        lines.append(f"| {program} | {threads} | " + " | ".join(cells) + " |")
    return [*lines, "| geometric mean | | " + " | ".join(means) + " |"]


def _goals(table: pd.DataFrame) -> str:
    """Ours against the best of the mimallocs, point by point, and secure modes against the plain ones."""
    names = list(table["allocator"].unique())
    rivals = [name for name in names if name.startswith("mimalloc") and not name.endswith(SECURE)]
    secured = [name for name in names if name + SECURE in names]
    lines = []
    for column, title, _, rows in _measured(table):
        wide = rows.pivot(index=["program", "threads"], columns="allocator", values=column)
        if OURS in wide and rivals:
            best = wide[rivals].min(axis=1)
            lines.append(f"{title} of {OURS} relative to the best of {', '.join(rivals)} {_spread(wide[OURS] / best)}")
        lines += [
            f"{title} of {name + SECURE} relative to {name} {_spread(wide[name + SECURE] / wide[name])}"
            for name in secured
            if {name, name + SECURE} <= set(wide)
        ]
    return "\n".join(lines) + "\n"


def _spread(against: pd.Series) -> str:
    """Mean and worst of ratios by program and threads."""
    against = against.dropna()
    programs = against.groupby("program").apply(stats.gmean)
    worst = against.idxmax()
    return (
        f"at each point: geometric mean {stats.gmean(against):.3f}; of a program's numbers of threads at most "
        f"{programs.max():.2f}, {programs.idxmax()}; of all points at most {against.max():.2f}, "
        f"{worst[0]} with {worst[1]} threads.\n"
    )


def _plot(folder: Path, relative: pd.DataFrame, column: str, title: str) -> None:
    """A group of bars a program, at the most threads that it was run with. As many allocators as there are colours."""
    most = relative.reset_index().groupby("program", sort=False).last()
    series = [
        Series(name, list(most.index), [float(value) for value in most[name]])
        for name in relative.columns[: len(draw.COLOURS)]
    ]
    figure = Figure(f"malloc-{column}", f"{title}, at most threads", "", "ratio", series, bars=True)
    draw.files(figure, folder)
