# SPDX-License-Identifier: MIT OR Apache-2.0
"""Results of what JMH says."""

import json
import os
import sys

import pandas as pd
import pytest

from shardsweep import analysis, micro
from shardsweep.errors import UserError


def write(folder, name, medians, age):
    """A file as JMH writes it, with a benchmark for each median."""
    said = [
        {
            "benchmark": f"org.shardsweep.micro.Some.{benchmark}",
            "params": {"structure": "MAP", "garbage": "7"},
            "primaryMetric": {
                "score": median + 1, "scorePercentiles": {"50.0": median}, "scoreUnit": "ms/op",
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
    (folder / "machine.json").write_text("what it ran on")
    return folder


def table(work, to):
    """The lines of the table that is made of the files."""
    micro.main(work, "ms-64k", to)
    return (to / "tables.md").read_text().splitlines()


def test_the_ratio_is_that_of_the_medians_over_jvms_and_the_verdict_that_of_its_interval(work, tmp_path):
    # From round to round the machine is slower: of pairs that does not matter.
    slower = [1.0, 1.2, 1.4, 1.7, 2.0, 2.4]
    apart = {"first": [10 * each for each in slower], "second": [4.0] * 6, "third": [1.0, 1.2] * 3}
    own = {"first": [30 * each for each in slower], "second": [3.0] * 6, "third": [1.2, 1.0] * 3}
    for turn in range(6):
        for age, (collector, medians) in enumerate({"Serial": apart, "ms-64k": own}.items()):
            name = f"{collector}-1-{turn + 1}"
            write(work, name, {each: values[turn] for each, values in medians.items()}, 2 * turn + age)
    lines = table(work, tmp_path / "to")
    command = f"TO={tmp_path / 'to'} scripts/experiments/micro.sh work"
    assert lines[0] == f"Measured, and this table made, by `{command}`."
    assert lines[4] == "| benchmark | threads | Serial | ms-64k | ratio | low | high | verdict |"
    assert (tmp_path / "to" / "machine.json").read_text() == "what it ran on"
    assert lines[6:9] == [
        "| first MAP | 1 | 15.50 | 46.50 | 3.00 | 3.00 | 3.00 | more |",
        "| second MAP | 1 | 4.00 | 3.00 | 0.75 | 0.75 | 0.75 | less |",
        "| third MAP | 1 | 1.10 | 1.10 | 1.00 | 0.83 | 1.20 | undecided |",
    ]
    held = f"{analysis.ratio_confidence(6):.0%}".replace("%", " %")
    assert lines[10].startswith("Medians over 6 JVMs") and f"holds the true one in {held} of cases" in lines[10]


def test_one_jvm_alone_has_no_verdict(work, tmp_path):
    write(work, "Serial-1-1", {"first": 10.0}, 1)
    write(work, "ms-64k-1-1", {"first": 30.0}, 2)
    lines = table(work, tmp_path / "to")
    assert lines[6] == "| first MAP | 1 | 10.00 | 30.00 | 3.00 |  |  | too few |"
    assert lines[8] == "Medians of the iterations of one JVM."


def test_results_stay_where_a_collector_is_missing(work, tmp_path):
    write(work, "Serial-1-1", {"first": 10.0}, 1)
    write(work, "ms-64k-1-1", {"first": 15.0}, 2)
    micro.main(work, "ms-64k", tmp_path / "to")
    before = {file.name: file.read_bytes() for file in (tmp_path / "to").iterdir()}
    (work / "ms-64k-1-1.json").unlink()
    with pytest.raises(UserError, match="has results of Serial, not of ms-64k and another"):
        micro.main(work, "ms-64k", tmp_path / "to")
    assert {file.name: file.read_bytes() for file in (tmp_path / "to").iterdir()} == before


def test_every_file_is_in_the_csv(work, tmp_path):
    write(work, "Parallel-2g-1", {"first": 10.0}, 1)
    write(work, "ms-64k-2g-1", {"first": 15.0}, 2)
    write(work, "Parallel-2g-2", {"first": 11.0}, 3)
    write(work, "ms-64k-2g-2", {"first": 14.0}, 4)
    micro.main(work, "ms-64k", tmp_path / "to")
    data = pd.read_csv(tmp_path / "to" / "results.csv")
    assert data[["collector", "variant", "round", "median"]].values.tolist() == [
        ["Parallel", "2g", 1, 10.0],
        ["ms-64k", "2g", 1, 15.0],
        ["Parallel", "2g", 2, 11.0],
        ["ms-64k", "2g", 2, 14.0],
    ]
    assert not (tmp_path / "to" / "heaps.svg").exists()


def test_heap_sizes_are_drawn_with_intervals(work, tmp_path):
    medians = {"Parallel-64m": 9.0, "ms-64k-64m": 6.0, "Parallel-128m": 8.0, "ms-64k-128m": 6.5}
    for turn in range(3):
        for age, (name, median) in enumerate(medians.items()):
            write(work, f"{name}-{turn + 1}", {"first": median + turn}, 4 * turn + age)
    micro.main(work, "ms-64k", tmp_path / "to")
    assert (tmp_path / "to" / "heaps.svg").stat().st_size > 1000
    figure = micro.by_heap(pd.read_csv(tmp_path / "to" / "results.csv"))
    assert {each.name: (each.x, each.y, each.low, each.high) for each in figure.series} == {
        "Parallel, first MAP": ([64, 128], [10.0, 9.0], [9.0, 8.0], [11.0, 10.0]),
        "ms-64k, first MAP": ([64, 128], [7.0, 7.5], [6.0, 6.5], [8.0, 8.5]),
    }


SCRIPT = "scripts/experiments/micro.sh"
PLUGIN = "build/jdk/lib/mmtk/libmmtk_ms-64k.so"
# Says which collector it runs on, in the order of the runs. Leaves a file, in which there is nothing where it is not to pass.
JAVA = """case "$*" in *UseThirdPartyHeap*) name=ours ;; *) name=HotSpot ;; esac; echo "$name" >>"$ORDER"
while [ "$1" != -rff ]; do shift; done; : >"$2"; [ "$(wc -l <"$ORDER")" != "$LAST" ]"""


@pytest.fixture
def script(checkout, tmp_path):
    """Calls the script on stand-ins, with some variables; gives the finished process, and the collectors in their order."""
    for name in ("build/jdk/lib/server/libjvm.so", PLUGIN, "benchmarks/micro/target/micro.jar"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    python = '[ "$2" != shardsweep.machine ] || echo "$@" >"$3"'
    call = checkout(
        [SCRIPT],
        {
            "build/jdk/bin/java": JAVA,
            "build/jdk/lib/server/libjvm.json": "",
            "build/venv/bin/python": python,
            "scripts/experiments/venv.sh": "",
            "tools/mvn": "",
        },
    )
    order = tmp_path / "order"

    def run(what, **variables):
        order.write_text("")
        kept = {"ORDER": str(order), "LAST": "", "SHARDSWEEP_CACHE": str(tmp_path / "cache"), **variables}
        return call(SCRIPT, what, **kept), order.read_text().split()

    return run


def test_every_round_has_a_jvm_of_each_collector_in_turn(script, tmp_path):
    done, order = script("collection")
    assert (done.returncode, order) == (0, ["HotSpot", "ours"] * 6), done.stderr
    for _ in range(2):
        done, order = script("collection", ROUNDS="2")
        assert (done.returncode, order) == (0, ["HotSpot", "ours"] * 2), done.stderr
    logs = sorted(file.name for file in (tmp_path / "build/micro/collection").glob("*-?.log"))
    assert logs == ["Parallel-2g-1.log", "Parallel-2g-2.log", "ms-64k-2g-1.log", "ms-64k-2g-2.log"]
    done, order = script("collection", ROUNDS="none")
    assert (done.returncode, order) == (1, [])
    assert done.stderr == "micro: error: ROUNDS is 'none': say a whole number of at least 1\n"
    java = tmp_path / "build/jdk/bin/java"
    java.write_text(f"{java.read_text()}\necho another >{tmp_path / PLUGIN}\n")
    done, _ = script("collection", ROUNDS="1")
    assert done.returncode == 1
    assert done.stderr.endswith("micro: error: JVM or plugin were built again meanwhile: measure again\n")


def test_what_was_interrupted_goes_on_with_the_same_builds(script, tmp_path):
    done, order = script("collection", ROUNDS="2", LAST="3")
    assert (done.returncode, order) == (1, ["HotSpot", "ours", "HotSpot"])
    done, order = script("collection", ROUNDS="2")
    assert (done.returncode, order) == (0, ["HotSpot", "ours"]), done.stderr
    assert script("collection", ROUNDS="2", LAST="3")[0].returncode == 1
    assert script("collection", ROUNDS="1")[1] == ["HotSpot", "ours"]
    assert script("collection", ROUNDS="2", LAST="3")[0].returncode == 1
    (tmp_path / PLUGIN).write_text("another")
    assert script("collection", ROUNDS="2")[1] == ["HotSpot", "ours"] * 2


def test_structures_have_plain_names():
    assert micro.plain("collect 24 TREE") == "tree of 24 MiB"
    assert micro.plain("first MAP") == "first MAP"


def test_the_script_records_what_it_measures(checkout, tmp_path):
    """On stand-ins of JVM and Maven: JMH's file is written by the first."""
    java = f'while [ "$1" != -rff ]; do shift; done; cp {tmp_path}/said.json "$2"'
    stand_ins = {
        "build/jdk/bin/java": java, PLUGIN: "", "build/jdk/lib/server/libjvm.so": "", "tools/mvn": "",
        "benchmarks/micro/target/micro.jar": "", "build/venv/bin/python": f'exec {sys.executable} "$@"',
        "scripts/experiments/venv.sh": "",
    }  # fmt: skip
    call = checkout([SCRIPT], stand_ins)
    write(tmp_path, "said", {"first": 10.0}, 1)
    for file, revision in (("mmtk/libmmtk_ms-64k", "2" * 40), ("server/libjvm", "1" * 40)):
        path = tmp_path / "build" / "jdk" / "lib" / f"{file}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"source_revision": revision}))
    to = tmp_path / "to"
    done = call(SCRIPT, "collection", TO=str(to), SHARDSWEEP_CACHE=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
    for _ in range(2):
        again = call(SCRIPT, "collection", SHARDSWEEP_CACHE=str(tmp_path / "cache"))
        assert again.returncode == 0, again.stderr
    assert (tmp_path / "build" / "micro" / "collection" / "results" / "tables.md").is_file()
    facts = json.loads((to / "machine.json").read_text())
    assert (facts["revision"], facts["jvm"]) == ("2" * 40, "1" * 40)
