# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes results of the JSON that JMH has left in a folder, a file for each collector, variant and round, beside machine.json:
results.csv, tables.md, that, and with several heap sizes a plot. Usage: python -m shardsweep.micro WORK PLUGIN FOLDER"""

import json
import re
import shutil
import sys
from pathlib import Path

import pandas as pd

from shardsweep import analysis, catalog, draw, tables
from shardsweep.errors import UserError, system_said
from shardsweep.figures import Figure, Series
from shardsweep.files import replaced, write_whole


def rows(path: Path):
    """A row for each benchmark of a file, each of which had a JVM of its own: the median of its iterations."""
    collector, variant, turn = path.stem.rsplit("-", 2)
    for result in json.loads(path.read_text()):
        metric = result["primaryMetric"]
        parameters = {name: value for name, value in result.get("params", {}).items() if name != "garbage"}
        yield {
            "benchmark": " ".join([result["benchmark"].rsplit(".", 1)[1], *parameters.values()]),
            "variant": variant,
            "collector": collector,
            "round": int(turn),
            "median": metric["scorePercentiles"]["50.0"],
            "unit": metric["scoreUnit"],
        }


def table(data: pd.DataFrame, plugin: str) -> tables.Table:
    """The medians over the JVMs of both collectors by benchmark and variant, and the ratio of the plugin's to the other's, with
    its interval and what that says."""
    other = next(name for name in data["collector"] if name != plugin)
    body = []
    for key, group in data.groupby(["benchmark", "variant"], sort=False):
        by_round = group.set_index("round")
        own, others = (by_round.loc[by_round["collector"] == each, "median"] for each in (plugin, other))
        ratio = analysis.ratio_of_medians(own, others)
        said = (others.median(), own.median(), ratio.estimate, ratio.low, ratio.high)
        body.append([plain(key[0]), key[1], *(tables.number(each, 2) for each in said), analysis.verdict_of(ratio)])
    variants = "threads" if data["variant"].str.isdigit().all() else "heap"
    columns = ["benchmark", variants, other, plugin, "ratio", "low", "high", "verdict"]
    units = ", ".join(dict.fromkeys(data["unit"]))
    return tables.Table("micro", f"Median {units}", columns, body, _how_to_read(data["round"].nunique()))


def _how_to_read(rounds: int) -> str:
    """What the columns are of, and how often the interval of so many JVMs holds the true ratio: one alone has none."""
    if rounds == 1:
        return "Medians of the iterations of one JVM."
    held = tables.percent(analysis.ratio_confidence(rounds))
    return (
        f"Medians over {rounds} JVMs, of each of which it is the median of its iterations. Low and high: the interval of "
        f"the ratio by bootstrap, which holds the true one in {held} of cases. The verdict is that of the interval."
    )


def mebibytes(variant: str) -> int | None:
    """The heap size that a variant names, None if it names none."""
    size = re.fullmatch(r"(\d+)m", variant)
    return int(size[1]) if size else None


def plain(benchmark: str) -> str:
    """What a benchmark of `FullCollection` keeps alive, in words; any other name as it is."""
    found = re.fullmatch(r"collect (\d+) (\w+)", benchmark)
    return f"{found[2].lower()} of {found[1]} MiB" if found else benchmark


def by_heap(data: pd.DataFrame) -> Figure:
    """The medians over JVMs by heap size, with intervals; a line for each collector and structure that is alive."""
    series = []
    for (benchmark, collector), group in data.groupby(["benchmark", "collector"], sort=False):
        by_size = {
            mebibytes(variant): analysis.median(of["median"]) for variant, of in group.groupby("variant", sort=False)
        }
        ends = ([getattr(each, end) for each in by_size.values()] for end in ("estimate", "low", "high"))
        series.append(Series(f"{collector}, {plain(benchmark)}", list(by_size), *ends))
    return Figure("heaps", "A full collection by heap size", "heap, MiB", data["unit"].iloc[0], series, log_x=True)


def command(what: str, plugin: str, folder: Path) -> str:
    """What measures it and makes its tables, in a sentence."""
    of = "" if plugin == "ms-64k" else f"PLUGIN={plugin} "
    return f"Measured, and this table made, by `{of}TO={catalog.place(folder)} scripts/experiments/micro.sh {what}`."


def main(work: Path, plugin: str, folder: Path) -> None:
    """Replaces the folder by the results, and prints the table. Raises UserError unless both collectors were measured."""
    paths = sorted(work.glob("*-*.json"), key=lambda path: path.stat().st_mtime)
    data = pd.DataFrame(row for path in paths for row in rows(path))
    measured = set(data["collector"]) if paths else set()
    if len(measured) != 2 or plugin not in measured:
        found = ", ".join(sorted(measured)) or "nothing"
        raise UserError(f"{work} has results of {found}, not of {plugin} and another")
    text = f"{command(work.name, plugin, folder)}\n\n{tables.markdown(table(data, plugin))}"
    with replaced(folder) as new:
        data.round(3).to_csv(new / "results.csv", index=False)
        write_whole(new / "tables.md", text)
        shutil.copy(work / "machine.json", new)
        if data["variant"].map(mebibytes).notna().all():
            draw.files(by_heap(data), new)
    print(text)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
    except UserError as error:
        sys.exit(f"micro: error: {error}")
    except OSError as error:
        sys.exit(f"micro: error: {system_said(error)}")
