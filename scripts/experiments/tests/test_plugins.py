# SPDX-License-Identifier: MIT OR Apache-2.0
"""A tiny sweep of the builds themselves: build/jdk with our policy and with mmtk-core's own, running lusearch."""

import json
import subprocess
import sys

import pytest
import yaml

from shardsweep import catalog, tidy

pytestmark = pytest.mark.slow

BUILDS = ["ms-64k", "stock-MarkSweep"]
COMMON = {"size": "small", "builds": BUILDS, "threads": [1]}
GRID = {
    "minheap": {**COMMON, "iterations": 1, "attempts": 1, "start": 6, "largest": 64, "limit": 30},
    "perf-by-heap": {**COMMON, "baseline": "ms-64k", "heaps": [48], "invocations": 1, "iterations": 2, "limit": 120},
}


@pytest.fixture(scope="module")
def swept(variables, tmp_path_factory):
    """The results of the sweep, and its folder."""
    built = catalog.ROOT / "build"
    plugins = [built / "jdk" / "lib" / "mmtk" / f"libmmtk_{name}.so" for name in ("ms-64k", "stock")]
    for file in (built / "jdk" / "bin" / "java", *plugins, built / "lusearch.jar"):
        assert file.exists(), f"{file} is not there: run make jdk plugins lusearch first"
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "tiny.yml").write_text(yaml.safe_dump(GRID))
    own = {name: value for name, value in variables.items() if name not in ("SHARDSWEEP_JDK", "LUSEARCH_JAR")}
    done = subprocess.run(
        [sys.executable, "-m", "shardsweep", "sweep", "--grid", folder / "tiny.yml", "--out", folder / "out"],
        env=own, capture_output=True, text=True, check=False, timeout=590,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return tidy.read(folder / "out" / "results.csv"), folder / "out"


def test_every_build_has_a_minheap_and_its_facts_in_the_table(swept):
    minheaps = swept[0][swept[0].metric == "minheap"].set_index("build")
    assert sorted(minheaps.index) == BUILDS
    assert minheaps["value"].between(2, 64).all()
    assert minheaps.loc["ms-64k", ["plan", "block", "accounting"]].tolist() == ["MarkSweep", 65536, "page"]
    facts = json.loads((swept[1] / "machine.json").read_text())
    assert all(facts["builds"][build]["revision"] for build in BUILDS)


def test_mmtks_own_statistics_count_the_collections_of_the_timed_iteration(swept):
    timed = swept[0][(swept[0].heap == 48) & (swept[0].iteration == 2)]
    values = timed.pivot(index="build", columns="metric", values="value")
    assert sorted(values.index) == BUILDS
    # Counted by MMTk between the benchmark's callbacks, and by us in the JVM's log of collections.
    assert values["mmtk.GC"].tolist() == values["collections"].tolist()
    assert (values["mmtk.GC"] > 0).all()
    assert (values["mmtk.time.stw"] > 0).all() and (values["mmtk.time.other"] > 0).all()
