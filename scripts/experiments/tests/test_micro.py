# SPDX-License-Identifier: MIT OR Apache-2.0
"""Results of what JMH says."""

import json
import os

import pandas as pd
import pytest

from shardsweep import micro
from shardsweep.errors import UserError


def write(folder, name, medians, age):
    """A file as JMH writes it, with a benchmark for each median."""
    said = [
        {
            "benchmark": f"org.shardsweep.micro.Some.{benchmark}",
            "params": {"structure": "MAP", "garbage": "7"},
            "primaryMetric": {
                "score": median + 1, "scoreError": 0.5, "scorePercentiles": {"50.0": median}, "scoreUnit": "ms/op",
            },
        }
        for benchmark, median in medians.items()
    ]  # fmt: skip
    (folder / f"{name}.json").write_text(json.dumps(said))
    os.utime(folder / f"{name}.json", (age, age))


@pytest.fixture
def work(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def test_the_ratio_is_that_of_the_medians(work, tmp_path):
    write(work, "Serial-1", {"first": 10.0, "second": 4.0, "third": 1.2}, 1)
    write(work, "ms-64k-1", {"first": 15.0, "second": 3.0, "third": 0.9}, 2)
    micro.main(work, "ms-64k", tmp_path / "to")
    lines = (tmp_path / "to" / "tables.md").read_text().splitlines()
    assert lines[2] == "| benchmark | variant | Serial | ms-64k | ratio | that is |"
    # The means are greater by 1, give or take a half.
    assert lines[4:7] == [
        "| first MAP | 1 | 10.00 | 15.00 | 1.50 | more |",
        "| second MAP | 1 | 4.00 | 3.00 | 0.75 | undecided |",
        "| third MAP | 1 | 1.20 | 0.90 | 0.75 | undecided |",
    ]


def test_results_stay_where_a_collector_is_missing(work, tmp_path):
    write(work, "Serial-1", {"first": 10.0}, 1)
    write(work, "ms-64k-1", {"first": 15.0}, 2)
    micro.main(work, "ms-64k", tmp_path / "to")
    before = {file.name: file.read_bytes() for file in (tmp_path / "to").iterdir()}
    (work / "ms-64k-1.json").unlink()
    with pytest.raises(UserError, match="has results of Serial, not of ms-64k and another"):
        micro.main(work, "ms-64k", tmp_path / "to")
    assert {file.name: file.read_bytes() for file in (tmp_path / "to").iterdir()} == before


def test_every_file_is_in_the_csv(work, tmp_path):
    write(work, "Parallel-2g", {"first": 10.0}, 1)
    write(work, "ms-64k-2g", {"first": 15.0}, 2)
    micro.main(work, "ms-64k", tmp_path / "to")
    data = pd.read_csv(tmp_path / "to" / "results.csv")
    assert data[["collector", "variant", "median"]].values.tolist() == [
        ["Parallel", "2g", 10.0],
        ["ms-64k", "2g", 15.0],
    ]
    assert not (tmp_path / "to" / "heaps.svg").exists()


def test_heap_sizes_are_drawn(work, tmp_path):
    for age, (name, median) in enumerate(
        [("Parallel-64m", 9.0), ("ms-64k-64m", 6.0), ("Parallel-128m", 8.0), ("ms-64k-128m", 6.5)]
    ):
        write(work, name, {"first": median}, age)
    micro.main(work, "ms-64k", tmp_path / "to")
    assert (tmp_path / "to" / "heaps.svg").stat().st_size > 1000
    figure = micro.by_heap(pd.read_csv(tmp_path / "to" / "results.csv"))
    assert {each.name: (each.x, each.y) for each in figure.series} == {
        "Parallel, first MAP": ([64, 128], [9.0, 8.0]),
        "ms-64k, first MAP": ([64, 128], [6.0, 6.5]),
    }


def test_structures_have_plain_names():
    assert micro.plain("collect 24 TREE") == "tree of 24 MiB"
    assert micro.plain("first MAP") == "first MAP"
