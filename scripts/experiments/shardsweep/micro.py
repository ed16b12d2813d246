# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes results of the JSON that JMH has left in a folder: results.csv, tables.md, machine.json, and with several heap
sizes a plot. Usage: python -m shardsweep.micro WORK PLUGIN FOLDER"""

import json
import math
import re
import sys
from pathlib import Path

import pandas as pd

from shardsweep import analysis, draw, machine, tables
from shardsweep.errors import UserError
from shardsweep.figures import Figure, Series
from shardsweep.files import replaced, write_whole


def rows(path: Path):
    """A row for each benchmark of a file: its score, the half width of JMH's 99.9 % interval, and the median."""
    collector, variant = path.stem.rsplit("-", 1)
    for result in json.loads(path.read_text()):
        metric = result["primaryMetric"]
        parameters = {name: value for name, value in result.get("params", {}).items() if name != "garbage"}
        yield {
            "benchmark": " ".join([result["benchmark"].rsplit(".", 1)[1], *parameters.values()]),
            "variant": variant,
            "collector": collector,
            "score": metric["score"],
            "error": metric["scoreError"],
            "median": metric["scorePercentiles"]["50.0"],
            "unit": metric["scoreUnit"],
        }


def table(data: pd.DataFrame, plugin: str) -> tables.Table:
    """The medians of both collectors by benchmark and variant, and the ratio of the plugin to the other, with what can be said
    of it: JMH's intervals of the means lead to one of their ratio."""
    numbers = ["median", "score", "error"]
    wide = data.pivot_table(numbers, index=["benchmark", "variant"], columns="collector", sort=False)
    other = next(name for name in data["collector"] if name != plugin)
    body = []
    for key, row in wide.iterrows():
        medians = [row["median", each] for each in (other, plugin)]
        own, others = (
            (row["score", each] - row["error", each], row["score", each] + row["error", each])
            for each in (plugin, other)
        )
        low, high = own[0] / others[1], own[1] / others[0] if others[0] > 0 else math.inf
        said = [tables.number(each, 2) for each in (*medians, medians[1] / medians[0])]
        body.append([*key, *said, analysis.verdict(low, high)])
    columns = ["benchmark", "variant", other, plugin, "ratio", "that is"]
    units = ", ".join(dict.fromkeys(data["unit"]))
    note = "The last column is of the means, within JMH's intervals of 99.9 % confidence."
    return tables.Table("micro", f"Median {units}", columns, body, note)


def mebibytes(variant: str) -> int | None:
    """The heap size that a variant names, None if it names none."""
    size = re.fullmatch(r"(\d+)m", variant)
    return int(size[1]) if size else None


def plain(benchmark: str) -> str:
    """What a benchmark of `FullCollection` keeps alive, in words; any other name as it is."""
    found = re.fullmatch(r"collect (\d+) (\w+)", benchmark)
    return f"{found[2].lower()} of {found[1]} MiB" if found else benchmark


def by_heap(data: pd.DataFrame) -> Figure:
    """The medians by heap size, a line for each collector and structure that is alive."""
    series = [
        Series(f"{collector}, {plain(benchmark)}", group["variant"].map(mebibytes).tolist(), group["median"].tolist())
        for (benchmark, collector), group in data.groupby(["benchmark", "collector"], sort=False)
    ]
    return Figure("heaps", "A full collection by heap size", "heap, MiB", data["unit"].iloc[0], series, log_x=True)


def main(work: Path, plugin: str, folder: Path) -> None:
    """Replaces the folder by the results, and prints the table. Raises UserError unless both collectors were measured."""
    paths = sorted(work.glob("*.json"), key=lambda path: path.stat().st_mtime)
    data = pd.DataFrame(row for path in paths for row in rows(path))
    measured = set(data["collector"]) if paths else set()
    if len(measured) != 2 or plugin not in measured:
        found = ", ".join(sorted(measured)) or "nothing"
        raise UserError(f"{work} has results of {found}, not of {plugin} and another")
    text = tables.markdown(table(data, plugin))
    with replaced(folder) as new:
        data.round(3).to_csv(new / "results.csv", index=False)
        write_whole(new / "tables.md", text)
        machine.record_here(new / "machine.json")
        if data["variant"].map(mebibytes).notna().all():
            draw.files(by_heap(data), new)
    print(text)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
    except UserError as error:
        sys.exit(f"micro: error: {error}")
