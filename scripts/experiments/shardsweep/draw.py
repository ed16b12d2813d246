# SPDX-License-Identifier: MIT OR Apache-2.0
"""Draws figures: PNG and SVG with matplotlib, zoomable HTML with plotly. Both use the same colours and markers."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import plotly.graph_objects as go

from shardsweep.figures import Figure, Series

# Okabe and Ito's colours, which stay apart for colour-blind readers; a second round differs by its marker.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31"]
MARKERS = [("o", "circle"), ("s", "square"), ("^", "triangle-up"), ("D", "diamond")]


def _styles(series: list[Series]) -> list[tuple[str, tuple[str, str]]]:
    """A colour and marker per series; a fitted line has those of the series before it."""
    styles, number = [], -1
    for each in series:
        number += not each.dashed
        styles.append((COLOURS[number % len(COLOURS)], MARKERS[number // len(COLOURS) % len(MARKERS)]))
    return styles


def _errors(each: Series) -> list[list[float]] | None:
    """Distances to the ends of the intervals, missing and infinite ones as zero; None if there are no intervals."""
    if not each.low:
        return None
    y = np.asarray(each.y)
    distances = np.array([y - np.asarray(each.low), np.asarray(each.high) - y])
    return np.clip(np.where(np.isfinite(distances), distances, 0), 0, None).tolist()


def files(figure: Figure, folder: Path) -> list[Path]:
    """Writes the figure as PNG and SVG; returns the two files."""
    canvas, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for position, (each, (colour, (marker, _))) in enumerate(zip(figure.series, _styles(figure.series), strict=True)):
        if figure.bars:
            names = list(dict.fromkeys(x for one in figure.series for x in one.x))
            width = 0.8 / len(figure.series)
            places = [names.index(x) + (position - (len(figure.series) - 1) / 2) * width for x in each.x]
            axes.bar(places, each.y, width, label=each.name, color=colour)
            axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
        elif each.dashed:
            axes.plot(each.x, each.y, color=colour, linestyle="--", linewidth=1)
        else:
            axes.errorbar(
                each.x, each.y, yerr=_errors(each), label=each.name, color=colour, capsize=2,
                marker=marker if each.markers else None, markersize=4, linewidth=1.2,
            )  # fmt: skip
    axes.set(title=figure.title, xlabel=figure.x_label, ylabel=figure.y_label)
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
    for each, (colour, (_, marker)) in zip(figure.series, _styles(figure.series), strict=True):
        if figure.bars:
            canvas.add_bar(x=each.x, y=each.y, name=each.name, marker_color=colour)
            continue
        errors = _errors(each)
        canvas.add_scatter(
            x=each.x,
            y=each.y,
            name=each.name,
            mode="lines+markers" if each.markers else "lines",
            line={"color": colour, "dash": "dash" if each.dashed else "solid", "width": 1.5},
            marker={"symbol": marker, "size": 6},
            error_y={"type": "data", "symmetric": False, "arrayminus": errors[0], "array": errors[1]}
            if errors
            else None,
            showlegend=not each.dashed,
        )
    canvas.update_layout(
        title=figure.title,
        xaxis_title=figure.x_label,
        yaxis_title=figure.y_label,
        template="plotly_white",
        height=480,
        yaxis_rangemode="tozero",
    )
    return canvas.to_html(full_html=False, include_plotlyjs=False, div_id=figure.id, config={"displaylogo": False})
