# SPDX-License-Identifier: MIT OR Apache-2.0
"""The verdict on a long run, of samples whose answer is known."""

import json
import sys

import numpy as np
import pandas as pd
import pytest

from shardsweep import machine, soak
from shardsweep.errors import UserError


def samples(trend):
    """Samples around `trend`, a share of 1,000 by time from 0 to 1, each like the one before it as those of a program are."""
    generator = np.random.default_rng(18)
    noise = np.zeros(600)
    for i in range(1, len(noise)):
        noise[i] = 0.7 * noise[i - 1] + generator.normal(0, 20)
    time = np.linspace(0, 1, len(noise))
    return pd.Series(1000 * (1 + trend(time)) + noise)


def judge(some):
    """The verdict on samples at equal intervals."""
    return soak.judge(pd.Series(range(len(some))), some, "memory")


@pytest.mark.parametrize(
    ("trend", "rises"),
    [
        pytest.param(lambda time: 0 * time, False, id="level"),
        pytest.param(lambda time: 0.3 * time, True, id="leak"),
        pytest.param(lambda time: -0.3 * time, False, id="fall"),
        pytest.param(lambda time: 0.5 * np.minimum(time / 0.2, 1), False, id="warm-up"),
        pytest.param(lambda time: 0.02 * time, False, id="too little to count"),
        pytest.param(lambda time: 0.3 * np.sin(time * 60), False, id="to and fro"),
    ],
)
def test_only_what_grows_after_the_warm_up_rises(trend, rises):
    assert judge(samples(trend)).rises == rises


def test_growth_is_that_of_the_judged_time():
    verdict = judge(samples(lambda time: 0.3 * time))
    assert verdict.growth == pytest.approx(300 * (1 - soak.WARM_UP), rel=0.15)


def test_missing_samples_are_left_out():
    some = samples(lambda time: 0.3 * time)
    some[::2] = np.nan
    assert judge(some).rises


def test_the_warm_up_is_a_share_of_the_time_and_not_of_the_samples():
    # The process was stopped again and again after the warm-up: two thirds of its samples are of that.
    seconds = pd.Series([*range(0, 300), *range(300, 1000, 4)])
    filling = pd.Series(np.minimum(seconds, 300) * 10.0)
    verdict = soak.judge(seconds, filling, "memory")
    assert (verdict.growth, verdict.median) == (0, 3000)


def test_growth_is_by_time_where_samples_are_missing():
    seconds = pd.Series([*range(0, 650), *range(900, 1000)])
    verdict = soak.judge(seconds, 1000 + 0.5 * seconds, "memory")
    # From the middle of the first part after the warm-up to that of the last one.
    assert verdict.growth == pytest.approx(0.5 * 1000 * (1 - soak.WARM_UP) * (1 - 1 / soak.PARTS), rel=0.05)


def test_too_few_samples_are_no_verdict():
    for some in ([1.0, 2.0, 3.0], [1.0], []):
        with pytest.raises(UserError, match="too few samples"):
            judge(pd.Series(some, dtype=float))


def test_a_file_is_judged_and_plotted(tmp_path, capsys):
    level, leak = samples(lambda time: 0 * time), samples(lambda time: 0.5 * time)
    data = pd.DataFrame({column: level for column in soak.SUBJECTS} | {"metaspace_kib": leak})
    data.insert(0, "seconds", range(len(data)))
    data.to_csv(tmp_path / "soak.csv", index=False)
    assert soak.main(tmp_path / "soak.csv") == 1
    assert "rises: metaspace, KiB" in capsys.readouterr().out.splitlines()[-1]
    assert (tmp_path / "soak.png").stat().st_size > 1000
    assert (tmp_path / "soak.svg").stat().st_size > 1000


@pytest.mark.parametrize("text", ["", "seconds,heap_kib\n"])
def test_a_file_without_a_sample_is_refused(tmp_path, text):
    (tmp_path / "soak.csv").write_text(text)
    with pytest.raises(UserError, match=r"soak\.csv has no sample"):
        soak.main(tmp_path / "soak.csv")


def test_where_samples_are_missing_the_process_was_stopped(tmp_path, capsys):
    seconds = [*range(0, 100, 2), *range(190, 300, 2), *range(330, 400, 2)]
    data = pd.DataFrame({column: [1.0] * len(seconds) for column in soak.SUBJECTS})
    data.insert(0, "seconds", seconds)
    data.to_csv(tmp_path / "soak.csv", index=False)
    assert soak.main(tmp_path / "soak.csv") == 0
    assert "no samples: 2 times, for 2 minutes: the process was stopped" in capsys.readouterr().out


def test_the_script_leaves_what_it_ran_on(checkout, tmp_path):
    data = pd.DataFrame({column: [1.0] * 100 for column in soak.SUBJECTS})
    data.insert(0, "seconds", range(100))
    data.to_csv(tmp_path / "samples.csv", index=False)
    java = f'for each; do case $each in */soak.csv) cp {tmp_path}/samples.csv "$each" ;; esac; done'
    stand_ins = {
        "build/jdk/bin/java": java, "build/jdk/bin/javac": "", "build/lusearch.jar": "",
        "build/venv/bin/python": f'exec {sys.executable} "$@"', "scripts/experiments/venv.sh": "",
        "scripts/building/lusearch.sh": "",
    }  # fmt: skip
    script = "scripts/testing/soak.sh"
    call = checkout([script], stand_ins)
    for file, revision in (("mmtk/libmmtk_ms-64k", "2" * 40), ("server/libjvm", "1" * 40)):
        path = tmp_path / "build" / "jdk" / "lib" / f"{file}.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"source_revision": revision}))
        path.with_suffix(".so").touch()
    for plugin, revision in (("ms-64k", "2" * 40), ("none", "1" * 40)):
        done = call(script, "0.1", PLUGIN=plugin)
        assert done.returncode == 0, done.stderr
        facts = json.loads((tmp_path / "build" / "soak" / f"{plugin}-270m" / "machine.json").read_text())
        assert (facts["revision"], facts["jvm"]) == (revision, "1" * 40)
        assert facts["machine"]["processor"] == machine.host()["processor"]


def test_a_line_is_broken_where_the_process_was_stopped():
    seconds = [*range(0, 100, 2), *range(190, 300, 2)]
    drawn = soak.broken(pd.DataFrame({"seconds": seconds, "classes": 1.0}))
    assert list(drawn.loc[drawn["classes"].isna(), "seconds"]) == [190]
    assert list(drawn["seconds"]) == [*range(0, 100, 2), 190, *range(190, 300, 2)]
