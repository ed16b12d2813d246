# SPDX-License-Identifier: MIT OR Apache-2.0
"""The verdict on a long run, of samples whose answer is known."""

import numpy as np
import pandas as pd
import pytest

from shardsweep import soak
from shardsweep.errors import UserError


def samples(trend):
    """Samples around `trend`, a share of 1,000 by time from 0 to 1, each like the one before it as those of a program are."""
    generator = np.random.default_rng(18)
    noise = np.zeros(600)
    for i in range(1, len(noise)):
        noise[i] = 0.7 * noise[i - 1] + generator.normal(0, 20)
    time = np.linspace(0, 1, len(noise))
    return pd.Series(1000 * (1 + trend(time)) + noise)


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
    assert soak.judge(samples(trend), "memory").rises == rises


def test_growth_is_that_of_the_judged_time():
    verdict = soak.judge(samples(lambda time: 0.3 * time), "memory")
    assert verdict.growth == pytest.approx(300 * (1 - soak.WARM_UP), rel=0.15)


def test_missing_samples_are_left_out():
    some = samples(lambda time: 0.3 * time)
    some[::2] = np.nan
    assert soak.judge(some, "live").rises


def test_too_few_samples_are_no_verdict():
    with pytest.raises(UserError, match="too few samples"):
        soak.judge(pd.Series([1.0, 2.0, 3.0]), "live")


def test_a_file_is_judged_and_plotted(tmp_path, capsys):
    level, leak = samples(lambda time: 0 * time), samples(lambda time: 0.5 * time)
    data = pd.DataFrame({column: level for column in soak.SUBJECTS} | {"metaspace_kib": leak})
    data.insert(0, "seconds", range(len(data)))
    data.to_csv(tmp_path / "soak.csv", index=False)
    assert soak.main(tmp_path / "soak.csv") == 1
    assert "rises: metaspace, KiB" in capsys.readouterr().out.splitlines()[-1]
    assert (tmp_path / "soak.png").stat().st_size > 1000
    assert (tmp_path / "soak.svg").stat().st_size > 1000


def test_where_samples_are_missing_the_process_was_stopped(tmp_path, capsys):
    seconds = [*range(0, 100, 2), *range(190, 300, 2), *range(330, 400, 2)]
    data = pd.DataFrame({column: [1.0] * len(seconds) for column in soak.SUBJECTS})
    data.insert(0, "seconds", seconds)
    data.to_csv(tmp_path / "soak.csv", index=False)
    assert soak.main(tmp_path / "soak.csv") == 0
    assert "no samples: 2 times, for 2 minutes: the process was stopped" in capsys.readouterr().out
