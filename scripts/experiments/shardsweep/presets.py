# SPDX-License-Identifier: MIT OR Apache-2.0
"""A grid that was measured beside a preset: whether it is that preset, a part of it, or another grid."""

from dataclasses import dataclass

from shardsweep import grid
from shardsweep.grid import Experiment, Grid

# Fewer of these measure a part of what a preset does, as fewer values in a list do.
COUNTS = ("invocations", "repeats", "trials")
LISTS = ("benchmarks", "builds", "threads", "heaps", "factors")


@dataclass(frozen=True)
class Difference:
    """One difference from a preset, in a few words, and whether it only leaves something out."""

    text: str
    less: bool


def differences(measured: Grid, preset: Grid) -> list[Difference]:
    """In what the experiments of a grid differ from those of a preset."""
    ours, theirs = measured.experiments(), preset.experiments()
    found = [Difference(f"no {name}", True) for name in theirs if name not in ours]
    found += [Difference(f"{name} besides", False) for name in ours if name not in theirs]
    for name in theirs:
        if name in ours:
            where = f" ({name})" if len(theirs) > 1 else ""
            found += [Difference(f"{one.text}{where}", one.less) for one in _differences(ours[name], theirs[name])]
    return found


def _differences(ours: Experiment, theirs: Experiment) -> list[Difference]:
    found = []
    for field in type(theirs).model_fields:
        own, other = getattr(ours, field), getattr(theirs, field)
        if field in LISTS:
            missing, more = ([each for each in one if each not in two] for one, two in ((other, own), (own, other)))
            found += [
                Difference(f"{field} {word} {', '.join(map(str, values))}", less)
                for word, values, less in (("without", missing, True), ("also", more, False))
                if values
            ]
        elif own != other:
            found.append(
                Difference(f"{field} {_text(own)} in place of {_text(other)}", field in COUNTS and own < other)
            )
    return found


def _text(value: object) -> str:
    return ", ".join(value) or "none" if isinstance(value, list) else str(value)


def beside(measured: Grid, name: str, sittings: int = 1) -> str:
    """What so many sweeps of a grid are beside the preset of that name: the same, a part of it, or something else, and why."""
    found = differences(measured.pooled(sittings), grid.preset(name))
    if not found:
        return "the same"
    return f"{'a part of it' if all(one.less for one in found) else 'differs'}: {_texts(found)}"


def about(measured: Grid) -> str:
    """What a report says of a grid. The words of a preset are of the whole of it: where a grid has them and differs, they
    may not hold, and the differences stand in their place."""
    for name in grid.presets():
        preset = grid.preset(name)
        found = differences(measured, preset) if measured.about == preset.about else []
        if found:
            return f"The preset {name}, but for: {_texts(found)}."
    return measured.about


def minheaps_apart(one: Grid, other: Grid) -> str:
    """In what the minheaps of two grids differ, in a few words; empty where they do not."""
    if not one.minheap or not other.minheap:
        return "one of them has no minheap"
    return _texts(_differences(one.minheap, other.minheap))


def _texts(found: list[Difference]) -> str:
    return "; ".join(one.text for one in found)
