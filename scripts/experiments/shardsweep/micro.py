# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes micro.csv and a table of the JSON that JMH has left in a folder. Usage: python -m shardsweep.micro FOLDER PLUGIN"""

import json
import sys
from pathlib import Path

import pandas as pd


def rows(path: Path):
    """A row for each benchmark of a file: its score, and the half width of JMH's 99.9 % interval."""
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


def main(folder: Path, plugin: str) -> None:
    """Writes the CSV and prints the table, with the ratio of the plugin to the other collector."""
    paths = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
    data = pd.DataFrame(row for path in paths for row in rows(path))
    data.round(3).to_csv(folder / "micro.csv", index=False)
    table = data.pivot_table(index=["variant", "benchmark"], columns="collector", values="median", sort=False)
    other = next(name for name in table.columns if name != plugin)
    table["ratio"] = table[plugin] / table[other]
    print(table.round(2).to_string())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
