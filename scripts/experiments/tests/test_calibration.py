# SPDX-License-Identifier: MIT OR Apache-2.0
"""What our lusearch allocates beside DaCapo's: rows of a known histogram, and a measurement of a tiny program."""

import json
from collections import Counter

import pandas as pd
import pytest

from shardsweep import calibration, catalog, machine, published
from shardsweep.errors import UserError

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def published_rows(*rows):
    return pd.DataFrame(rows, columns=["row", "above", "up_to", "objects", "bytes"]).astype(
        dict.fromkeys(("above", "up_to", "objects", "bytes"), "Float64")
    )


THEIRS = published_rows(
    ("objects a batch", None, None, 50, None), ("bytes an object", None, None, None, 40),
    ("up to 24 bytes", 0, 24, 0.8, 0.3), ("more than 24", 24, None, 0.2, 0.7),
)  # fmt: skip
SIZES = Counter({16: 600, 24: 200, 112: 200})


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """A folder with two runs of a benchmark: as published but for the bytes, and with a tenth more objects of 16 bytes."""
    monkeypatch.setattr(calibration, "COUNTED", {"lusearch": {"as it runs": ()}})
    monkeypatch.setattr(published, "allocations", lambda _: THEIRS)
    rows = [
        {"size": size, "objects": objects, "benchmark": "lusearch", "variant": "as it runs", "run": run}
        for run, sizes in enumerate((SIZES, SIZES + Counter({16: 60})))
        for size, objects in sizes.items()
    ]
    pd.DataFrame(rows).to_csv(tmp_path / calibration.ALLOCATIONS, index=False)
    return calibration.Calibration(tmp_path)


def test_numbers_of_a_histogram_are_a_batch_or_shares():
    found = calibration.numbers(SIZES, THEIRS)
    whole = 600 * 16 + 200 * 24 + 200 * 112
    assert found.loc[0, "objects"] == 1000 / 16 and pd.isna(found.loc[0, "bytes"])
    assert found.loc[1, "bytes"] == whole / 1000 and pd.isna(found.loc[1, "objects"])
    assert list(found.loc[2, ["objects", "bytes"]]) == [0.8, 14400 / whole]
    assert list(found.loc[3, ["objects", "bytes"]]) == [0.2, 22400 / whole]
    with pytest.raises(UserError, match="no objects"):
        calibration.numbers(Counter(), THEIRS)


def test_a_table_has_medians_and_the_range_of_the_factors(measured):
    lines = measured.allocations("lusearch", "real").splitlines()
    assert lines[0] == "|  | real | ours, as it runs | over real |"
    assert lines[2] == "| objects a batch | 50 | 64 | 1.25 to 1.32 |"
    assert lines[3] == "| bytes an object | 40 | 36 | 0.89 to 0.92 |"
    assert lines[4] == "| up to 24 bytes | 80.00%, 30.00% | 80.57%, 39.90% | 1.00 to 1.01, 1.30 to 1.36 |"


def test_a_row_is_beyond_the_margin_if_one_run_is(measured, monkeypatch):
    # The second run has 0.847 of the bytes above 24, and the first 0.870.
    assert measured.beyond("lusearch", "as it runs") == ["objects a batch", "up to 24 bytes", "more than 24"]
    monkeypatch.setattr(calibration, "MARGIN", 0.31)
    assert measured.beyond("lusearch", "as it runs") == ["objects a batch", "up to 24 bytes"]
    monkeypatch.setattr(calibration, "MARGIN", 0.36)
    assert measured.beyond("lusearch", "as it runs") == []


def test_what_is_published_has_a_row_for_each_size_and_known_totals():
    for benchmark in calibration.COUNTED:
        rows = published.allocations(benchmark)
        totals = rows[rows["above"].isna()]
        assert set(totals["row"]) <= set(calibration._TOTALS) and len(rows) > len(totals) > 0
        assert (totals[["objects", "bytes"]].notna().sum(axis=1) == 1).all()


def test_without_a_measurement_one_line_says_what_makes_it(tmp_path):
    with pytest.raises(UserError, match="shardsweep calibrate"):
        calibration.Calibration(tmp_path).allocations("lusearch", "real")


@pytest.fixture
def revisions(monkeypatch):
    """Sets the commits that plugin and JVM say that they are of."""

    def say(plugin, jvm):
        known = {"ms-64k": plugin, None: jvm}
        monkeypatch.setattr(catalog, "revisions", lambda _, name: (known[name], jvm))

    return say


def test_what_no_commit_has_is_not_measured(tmp_path, jdk, tiny_jar, revisions):
    revisions(f"{COMMIT}-dirty", f"{COMMIT}-dirty")
    (tmp_path / calibration.FOLDER).mkdir()
    (tmp_path / calibration.FOLDER / "kept").touch()
    with pytest.raises(UserError, match="commit, build and measure again"):
        calibration.measure(tmp_path, jdk, tiny_jar)
    assert [file.name for file in (tmp_path / calibration.FOLDER).iterdir()] == ["kept"]


@pytest.mark.slow
def test_a_tiny_program_is_measured(tmp_path, tiny_jar, monkeypatch, revisions):
    revisions(COMMIT, COMMIT)
    monkeypatch.setattr(machine, "revision", lambda: COMMIT)
    for name, value in {"COUNTED": {"steady": {"as it runs": ()}}, "RUNS": 2, "LIVING": (1, 2), "HEAP": 12}.items():
        monkeypatch.setattr(calibration, name, value)
    folder = calibration.measure(tmp_path, catalog.ROOT / "build" / "jdk", tiny_jar)
    counted = pd.read_csv(folder / calibration.ALLOCATIONS)
    # 16 MiB a thread in arrays of 1,016 bytes with their headers.
    assert list(counted.loc[counted["size"] == 1016, "objects"]) == [16 * 1024] * 2
    assert list(pd.read_csv(folder / calibration.LIFETIMES)["threads"]) == [1, 2]
    facts = json.loads((folder / calibration.MACHINE).read_text())
    assert facts["revision"] == COMMIT and facts["command"] == calibration.COMMAND
    assert facts["machine"] == machine.host()
    assert calibration.Calibration(folder).lifetimes("steady").count("\n") == 3
