# SPDX-License-Identifier: MIT OR Apache-2.0
"""Draws figures: PNG and SVG with matplotlib, zoomable HTML with plotly. Both use the same colours and markers."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import plotly.graph_objects as go

from shardsweep import catalog
from shardsweep.figures import Figure, Series

# Okabe and Ito's colours, which stay apart for colour-blind readers; a second round differs by its marker.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31"]
MARKERS = [("o", "circle"), ("s", "square"), ("^", "triangle-up"), ("D", "diamond")]
# Of matplotlib and of plotly: dashes of a fit are another matter, as that has no markers.
DASHES = [("-", "solid"), ("-.", "dashdot"), (":", "dot"), ((0, (8, 2)), "longdash")]
# The builds that pages of results have most.
FIRST = (
    "ms-64k", "ms-4k", "ms-64k-block", "hotspot-Serial", "ms-64k-StickyMarkSweep", "stock-Immix", "hotspot-G1",
    "ms-64k-ConcurrentMarkSweep",
)  # fmt: skip


class Style(NamedTuple):
    """A colour, and marker and dashes as matplotlib and as plotly name them."""

    colour: str
    marker: str
    symbol: str
    line: str | tuple
    dash: str


@cache
def _places() -> dict[str, int]:
    """The place of each build among all, which decides on its style: those of the pages first, with a colour each."""
    return {name: place for place, name in enumerate(dict.fromkeys([*FIRST, *catalog.builds()]))}


def style(name: str, place: int) -> Style:
    """The look of a build, the same in every plot. Anything else looks as its place in the plot says."""
    number = _places().get(name, place)
    turn = number // len(COLOURS)
    return Style(
        COLOURS[number % len(COLOURS)],
        *MARKERS[turn % len(MARKERS)],
        *DASHES[(turn + turn // len(MARKERS)) % len(DASHES)],
    )


def _styles(series: list[Series]) -> list[Style]:
    """A style per series; a fitted line has that of the series before it."""
    styles, number = [], -1
    for each in series:
        number += not each.dashed
        styles.append(styles[-1] if each.dashed else style(each.name, number))
    return styles


def _errors(each: Series) -> list[list[float]] | None:
    """Distances to the ends of the intervals, missing and infinite ones as zero; None if there are no intervals."""
    if not each.low:
        return None
    y = np.asarray(each.y)
    distances = np.array([y - np.asarray(each.low), np.asarray(each.high) - y])
    return np.clip(np.where(np.isfinite(distances), distances, 0), 0, None).tolist()


def _below(figure: Figure) -> list[str]:
    """The lines of text below a plot."""
    return [line for line in (figure.x_label, figure.note) if line]


def files(figure: Figure, folder: Path) -> list[Path]:
    """Writes the figure as PNG and SVG; returns the two files."""
    canvas, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for position, (each, look) in enumerate(zip(figure.series, _styles(figure.series), strict=True)):
        if figure.bars:
            names = list(dict.fromkeys(x for one in figure.series for x in one.x))
            width = 0.8 / len(figure.series)
            places = [names.index(x) + (position - (len(figure.series) - 1) / 2) * width for x in each.x]
            axes.bar(places, each.y, width, label=each.name, color=look.colour)
            axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
        elif each.dashed:
            axes.plot(each.x, each.y, color=look.colour, linestyle="--", linewidth=1)
        else:
            axes.errorbar(
                each.x, each.y, yerr=_errors(each), label=each.name, color=look.colour, capsize=2,
                linestyle=look.line,
                marker=look.marker if each.markers else None, markersize=4, linewidth=1.2,
            )  # fmt: skip
        for x, y, mark in zip(each.x, each.y, each.marks, strict=False):
            axes.annotate(mark, (x, y), xytext=(0, 4), textcoords="offset points", ha="center", color=look.colour)
    axes.set(title=figure.title, xlabel="\n".join(_below(figure)), ylabel=figure.y_label)
    if figure.log_x:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:.0f}")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    if not figure.bars:
        axes.set_ylim(bottom=0)
    written = save(canvas, folder / figure.id, dpi=120)
    plt.close(canvas)
    return written


def save(canvas: matplotlib.figure.Figure, stem: Path, dpi: int) -> list[Path]:
    """Writes a plot as PNG and SVG, whose paths begin with `stem`; returns the two files. The same plot gives the same files."""
    png, svg = (stem.with_name(f"{stem.name}.{suffix}") for suffix in ("png", "svg"))
    canvas.savefig(png, dpi=dpi)
    with matplotlib.rc_context({"svg.hashsalt": "shardsweep"}):
        canvas.savefig(svg, metadata={"Date": None})
    return [png, svg]


def html(figure: Figure) -> str:
    """The figure as an HTML fragment that expects plotly's script in the page."""
    canvas = go.Figure()
    for each, look in zip(figure.series, _styles(figure.series), strict=True):
        if figure.bars:
            canvas.add_bar(x=each.x, y=each.y, name=each.name, marker_color=look.colour)
            continue
        errors = _errors(each)
        canvas.add_scatter(
            x=each.x,
            y=each.y,
            name=each.name,
            mode="+".join(["lines", *["markers"] * each.markers, *["text"] * any(each.marks)]),
            text=each.marks,
            textposition="top center",
            line={"color": look.colour, "dash": "dash" if each.dashed else look.dash, "width": 1.5},
            marker={"symbol": look.symbol, "size": 6},
            error_y={"type": "data", "symmetric": False, "arrayminus": errors[0], "array": errors[1]}
            if errors
            else None,
            showlegend=not each.dashed,
        )
    canvas.update_layout(
        title=figure.title,
        xaxis_title="<br>".join(_below(figure)),
        yaxis_title=figure.y_label,
        template="plotly_white",
        height=480,
        yaxis_rangemode="tozero",
        xaxis_type="log" if figure.log_x else None,
    )
    return canvas.to_html(full_html=False, include_plotlyjs=False, div_id=figure.id, config={"displaylogo": False})
