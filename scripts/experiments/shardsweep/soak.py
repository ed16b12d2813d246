# SPDX-License-Identifier: MIT OR Apache-2.0
"""Says whether what a long run has recorded stays level, and plots it. Usage: python -m shardsweep.soak FILE.csv"""

import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import theilslopes

from shardsweep import draw
from shardsweep.errors import UserError, system_said

# Column -> what it is.
SUBJECTS = {
    "live_kib": "live set, KiB",
    "metaspace_kib": "metaspace, KiB",
    "code_cache_kib": "code cache, KiB",
    "classes": "loaded classes",
    "resident_kib": "resident memory, KiB",
    "longest_pause_ms": "longest pause, ms",
}

# The process was stopped, by whoever else uses the machine, where a sample is missing for so many intervals.
STOPPED = 4

# Share of the run in which programs warm up and caches fill; it is not judged.
WARM_UP = 0.33

# The rest is cut into so many parts of the same time, and their medians are judged: samples that follow each other are
# alike, these are less so.
PARTS = 16

# A subject rises if its slope's interval of this confidence lies above 0, and it grows by this share of its median.
CONFIDENCE = 0.98
SHARE = 0.05


@dataclass(frozen=True)
class Verdict:
    """What became of a subject in the judged part of the run."""

    subject: str
    median: float
    # Growth from the middle of the first part to that of the last one, by Theil and Sen's slope, in the subject's unit.
    growth: float
    rises: bool

    def line(self) -> str:
        """The verdict as text, with the growth as a share of the median."""
        share = self.growth / self.median if self.median else 0
        word = "RISES" if self.rises else "level"
        return f"{self.subject:22} median {self.median:10.0f}  growth {share:+7.1%}  {word}"


def judge(seconds: pd.Series, samples: pd.Series, subject: str) -> Verdict:
    """Judges samples at seconds from the start of the run, of which some may be missing. Raises UserError if there are
    too few."""
    end = seconds.max()
    begin = end * WARM_UP
    seen = samples.notna() & (seconds >= begin)
    judged, at = samples[seen], seconds[seen]
    part = ((at - begin) / (end - begin) * PARTS).clip(upper=PARTS - 1) // 1
    medians, middles = judged.groupby(part).median(), at.groupby(part).median()
    if len(medians) < PARTS // 2:
        raise UserError(f"{subject}: too few samples to judge, {len(judged)}: let it run for longer")
    slope, _, low, _ = theilslopes(medians.to_numpy(), middles.to_numpy(), CONFIDENCE)
    growth, median = slope * (middles.iloc[-1] - middles.iloc[0]), judged.median()
    return Verdict(subject, median, growth, bool(low > 0 and growth > SHARE * median))


def stops(seconds: pd.Series) -> pd.Series:
    """The times without a sample, in seconds, that are far longer than the usual one."""
    between = seconds.diff().dropna()
    return between[between > STOPPED * between.median()]


def broken(samples: pd.DataFrame) -> pd.DataFrame:
    """The samples with an empty one before each that follows a stop: a line through them is broken there."""
    after = samples.loc[stops(samples["seconds"]).index]
    gaps = pd.DataFrame({"seconds": after["seconds"].to_numpy()}, index=after.index - 0.5)
    return pd.concat([samples, gaps]).sort_index()


def plot(data: pd.DataFrame, file: Path) -> None:
    """Draws each subject over time, as PNG and SVG."""
    figure = Figure(figsize=(9, 11), layout="constrained")
    panels = figure.subplots(len(SUBJECTS), sharex=True)
    for axes, (column, title) in zip(panels, SUBJECTS.items(), strict=True):
        seen = broken(data[["seconds", column]].dropna())
        axes.plot(seen["seconds"] / 60, seen[column], linewidth=0.6, color="#0072B2")
        if column == "longest_pause_ms":
            # A process that was stopped from outside has pauses as long.
            axes.set(title=title, yscale="log")
        else:
            axes.set(title=title, ylim=(0, None))
        axes.grid(alpha=0.3)
    panels[-1].set_xlabel("minutes")
    draw.save(figure, file.with_suffix(""), dpi=100)


def read(file: Path) -> pd.DataFrame:
    """The samples. Raises UserError where there is none."""
    try:
        data = pd.read_csv(file)
    except pd.errors.EmptyDataError:
        data = pd.DataFrame()
    if data.empty:
        raise UserError(f"{file} has no sample")
    return data


def main(file: Path) -> int:
    """Prints a line for each subject. Returns 1 if one rises."""
    data = read(file)
    plot(data, file)
    verdicts = [judge(data["seconds"], data[column], title) for column, title in SUBJECTS.items()]
    for verdict in verdicts:
        print(verdict.line())
    rising = [verdict.subject for verdict in verdicts if verdict.rises]
    stopped = stops(data["seconds"])
    if len(stopped):
        print(f"no samples: {len(stopped)} times, for {stopped.sum() / 60:.0f} minutes: the process was stopped")
    outcome = f"rises: {'; '.join(rising)}" if rising else "all is level"
    print(f"soak: {data['seconds'].iloc[-1] / 60:.0f} minutes: {outcome}")
    return 1 if rising else 0


if __name__ == "__main__":
    try:
        sys.exit(main(Path(sys.argv[1])))
    except UserError as error:
        sys.exit(f"soak: error: {error}")
    except OSError as error:
        sys.exit(f"soak: error: {system_said(error)}")
