# SPDX-License-Identifier: MIT OR Apache-2.0
"""The analysis, checked against what the report publishes and against values worked out by hand."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from shardsweep import analysis, catalog, cli, figures, grid, published, tables, tidy

REGRESSIONS = published.regressions()


def rounded_as(value: float, text: str) -> str:
    return f"{value:.{len(text.split('.')[1])}f}"


@pytest.mark.parametrize(
    "row", list(REGRESSIONS.itertuples()), ids=lambda row: f"{row.section}-{row.table}-{row.build}"
)
def test_published_regressions_are_reproduced_to_the_digit(row):
    tables = published.minheaps()
    lines = analysis.lines(tables, ["section", "table", "build"], "threads", "minheap")
    ours = lines[(lines.section == row.section) & (lines.table == row.table) & (lines.build == row.build)]
    assert len(ours) == 1
    for figure in ("slope", "intercept", "r2"):
        text = getattr(row, figure)
        assert rounded_as(ours.iloc[0][figure], text) == text, figure


def test_every_published_table_is_there():
    counts = published.minheaps().groupby(["section", "table"]).size().to_dict()
    assert counts == {
        ("4.1", "1"): 6,
        ("4.2", "1"): 27,
        ("4.2", "2"): 36,
        ("5.2", "1"): 27,
        ("5.2", "2"): 18,
        ("7.1", "1"): 18,
        ("7.1", "2"): 18,
    }
    assert len(REGRESSIONS) == 16
    assert published.minheaps()["minheap"].isna().sum() == 2


def test_every_counterpart_names_a_published_column():
    columns = {(row.section, row.build) for row in REGRESSIONS.itertuples()}
    assert set(published.COUNTERPARTS.values()) <= columns


def test_line_needs_two_places_and_flat_data_has_no_correlation():
    assert analysis.least_squares([4, 4], [1, 2]) is None
    flat = analysis.least_squares([1, 2, 3], [5, 5, 5])
    assert (flat.slope, flat.intercept) == (0, 5)
    assert math.isnan(flat.r2)


def test_standard_errors_are_those_of_the_textbook():
    # x 1 to 5, y 2, 4, 5, 4, 5: slope 0.6, residuals with a sum of squares of 2.4 over 3 degrees of freedom.
    line = analysis.least_squares([1, 2, 3, 4, 5], [2, 4, 5, 4, 5])
    assert (line.slope, line.intercept) == (pytest.approx(0.6), pytest.approx(2.2))
    assert line.slope_error == pytest.approx(math.sqrt(2.4 / 3 / 10))
    assert line.intercept_error == pytest.approx(math.sqrt(2.4 / 3 * (1 / 5 + 9 / 10)))
    assert math.isnan(analysis.least_squares([1, 2], [1, 3]).slope_error)


def test_a_curve_is_not_called_a_line():
    x = list(range(1, 10))
    assert analysis.least_squares(x, [each**2 for each in x]).is_curve
    assert not analysis.least_squares(x, [3 * each + 1 for each in x]).is_curve
    # Rounding to whole MiB bends nothing.
    assert not analysis.least_squares(x, [round(0.6 * each) for each in x]).is_curve
    assert not analysis.least_squares([1, 2, 3], [1, 4, 9]).is_curve


def test_a_bend_is_not_tested_with_few_points():
    x = [1, 12, 24, 48]
    assert math.isnan(analysis.least_squares(x, [each**2 for each in x]).curvature)
    rows = [{**row("a", None, each**2, metric="minheap"), "threads": each} for each in [*x, 60, 72]]
    (few,), (more,) = (tables.regressions(tidy.frame(some)) for some in (rows[:5], rows))
    assert (few.rows[0][7], more.rows[0][7]) == ("not tested", "curve")
    assert "Fewer than 6 points are not tested." in few.note


def test_of_the_recorded_minheaps_that_of_mark_compact_is_a_curve():
    table = tidy.read(catalog.ROOT / "results" / "archive" / "minheap" / "results.csv")
    lines = analysis.lines(table[table.metric == "minheap"], ["build"], "threads", "value")
    assert list(lines.loc[lines["shape"] == "curve", "build"]) == ["stock-MarkCompact"]
    text = "\n".join(tables.markdown(one) for one in tables.regressions(table))
    assert text.count("| curve |") == 1 and text.count("| line |") == 3


def test_means_are_over_the_cells_that_every_build_ran():
    ran = [("a", 10, 100), ("a", 20, 100), ("b", 20, 50), ("c", 10, 300), ("c", 20, 200)]
    table = tidy.frame([row(*each) for each in ran])
    ratios = analysis.common(analysis.relative(table, "time.total", "a"))
    assert set(ratios["heap"]) == {20} and len(ratios) == 3
    (means,) = tables.geometric_means(table, "a")
    # Over both of its cells, c would take 2.449 times as long.
    assert [cells[:2] for cells in means.rows] == [["a", "1.000 (1)"], ["b", "0.500 (1)"], ["c", "2.000 (1)"]]
    nothing = [row("a", 10, 100), row("a", 20, 100), row("b", 20, 50), row("c", 10, 300)]
    assert tables.geometric_means(tidy.frame(nothing), "a") == []


def test_a_cell_in_which_a_build_has_zero_counts_for_no_build():
    values = [("a", 10, 4), ("a", 20, 4), ("b", 10, 2), ("b", 20, 0), ("c", 10, 1), ("c", 20, 16)]
    table = tidy.frame([row(*each, metric="collections") for each in values])
    (means,) = tables.geometric_means(table, "a")
    # Over both of its cells, c would have as many as a.
    assert [cells for cells in means.rows if cells[0] != "a"] == [["b", "0.500 (1)"], ["c", "0.250 (1)"]]


def test_factors_have_figures_of_their_own():
    heaps = {("lusearch", 2): 20, ("lusearch", 4): 40, ("xalan", 2): 50, ("xalan", 4): 100}
    rows = [
        {**row(build, heap, value * heap, benchmark=name), "factor": factor}
        for (name, factor), heap in heaps.items()
        for build, value in (("a", 10), ("b", 5 if factor == 2 else 10))
    ]
    table = tidy.frame([each for each in rows if (each["build"], each["heap"]) != ("b", 20)])
    (found,) = figures.means_by_factor(table, "a")
    assert [(each.name, each.x, each.y) for each in found.series] == [("a", [2, 4], [1, 1]), ("b", [2, 4], [0.5, 1])]
    assert [(each.x, each.y) for each in figures.across(table, "a")[0].series] == [
        (["lusearch", "xalan", "geometric mean"], [1, 1, 1]),
        (["lusearch", "xalan", "geometric mean"], [1, pytest.approx(0.5**0.5), pytest.approx(0.5**0.25)]),
    ], "xalan has two cells, and counts once"
    drawn = figures.by(table[table["benchmark"] == "xalan"], "factor", "threads", "a")
    assert [(each.x_label, each.series[0].x) for each in drawn] == [("heap as a multiple of the minheap", [2, 4])] * 2


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.99, 1.01, "equal within 2%"), (0.9, 0.97, "less"), (1.03, 1.2, "more"), (0.9, 1.01, "undecided"),
     (0.99, 0.995, "equal within 2%"), (float("nan"), 1, "")],
)  # fmt: skip
def test_verdicts_follow_from_intervals(low, high, verdict):
    assert analysis.verdict(low, high) == verdict


def test_a_lucky_search_is_no_point_of_a_line():
    found = [("a", 1, 10), ("a", 1, 10), ("a", 2, 12), ("a", 2, 12), ("a", 48, 20), ("a", 48, None)]
    table = tidy.frame([{**row(build, None, value, metric="minheap"), "threads": n} for build, n, value in found])
    (lines,) = tables.regressions(table)
    assert [cells[1] for cells in lines.rows] == ["2.0000"], "with 48 threads half of the searches found no minheap"
    assert sorted(analysis.with_minheap(table)["threads"].unique()) == [1, 2]


def test_the_lower_bound_is_the_best_of_any_build_and_heap_without_pauses():
    cells = {("a", 10): (100, 50), ("a", 20): (80, 20), ("b", 10): (110, 10), ("b", 20): (105, 5)}
    rows = []
    for (build, heap), (total, pauses) in cells.items():
        rows += [row(build, heap, total), row(build, heap, pauses, metric="time.collector")]
    found = analysis.lower_bound_overhead(tidy.frame(rows), "time.total", "time.collector")
    overheads = {(each.build, each.heap): each.overhead for each in found.itertuples()}
    # The bound is 50: a in 10 MiB, less its pauses.
    assert overheads == {("a", 10): 2, ("a", 20): 1.6, ("b", 10): 2.2, ("b", 20): 2.1}
    (table,) = tables.overheads(tidy.frame(rows))
    assert table.rows[0] == ["lusearch", "24", "10", "a", "2.000"]
    assert tables.overheads(tidy.frame([row("a", 10, 100)])) == []


def test_the_lower_bound_is_of_what_each_jvm_has_without_its_pauses():
    rows = [
        row("a", 10, value, metric=metric, invocation=invocation)
        for invocation, (total, pauses) in enumerate([(100, 0), (110, 30), (130, 5)])
        for metric, value in (("time.total", total), ("time.collector", pauses))
    ]
    (found,) = analysis.lower_bound_overhead(tidy.frame(rows), "time.total", "time.collector").itertuples()
    # Without pauses 100, 80 and 125; of the medians the difference would be 105.
    assert found.overhead == pytest.approx(1.1)


def test_median_interval_holds_the_truth_and_narrows_with_more_samples():
    generator = np.random.default_rng(1)
    few, many = (analysis.median(generator.normal(100, 10, size)) for size in (10, 200))
    for found in (few, many):
        assert found.low <= found.estimate <= found.high
        assert found.low < 100 < found.high
    assert many.high - many.low < few.high - few.low
    single = analysis.median([7.0])
    assert single.estimate == 7 and math.isnan(single.low)


def row(build, heap, value, metric="time.total", benchmark="lusearch", invocation=0, threads=24):
    return {
        "build": build, "plan": "MarkSweep", "block": None, "accounting": None, "benchmark": benchmark,
        "threads": threads, "heap": heap, "invocation": invocation, "iteration": 5, "metric": metric,
        "value": value, "unit": "ms",
    }  # fmt: skip


def test_relative_and_geometric_mean_use_only_cells_that_both_builds_ran():
    table = tidy.frame(
        [row("a", 10, 100), row("a", 20, 100), row("a", 40, 100), row("b", 20, 50), row("b", 40, 200), row("b", 80, 1)]
    )
    ratios = analysis.relative(table, "time.total", "a")
    ours = ratios[ratios.build == "b"].set_index("heap")["ratio"]
    assert ours.to_dict() == {20: 0.5, 40: 2.0}
    means = analysis.geometric_means(ratios, ["build"]).set_index("build")
    assert means.loc["b", "geometric_mean"] == pytest.approx(1.0)
    assert means.loc["b", "cells"] == 2
    assert means.loc["a", "geometric_mean"] == 1.0


def test_ratio_interval_of_clearly_different_samples_excludes_one():
    found = analysis.ratio_of_medians([80, 81, 79, 80, 82], [100, 101, 99, 100, 98])
    assert found.estimate == pytest.approx(0.8)
    assert found.high < 1


def test_intervals_of_ratios_are_those_of_the_paired_percentile_bootstrap():
    generator = np.random.default_rng(2)
    values, baseline = generator.normal(100, 9, 12), generator.normal(90, 5, 12)

    def ratio(one, other, axis):
        return np.median(one, axis=axis) / np.median(other, axis=axis)

    wanted = stats.bootstrap(
        (values, baseline), ratio, n_resamples=analysis.RESAMPLES, vectorized=True, method="percentile", paired=True,
        rng=np.random.default_rng([analysis.SEED, 0]),
    ).confidence_interval  # fmt: skip
    found = analysis.ratio_of_medians(values, baseline)
    assert (found.low, found.high) == (wanted.low, wanted.high)


def drifting(chance, blocks, ratio, noise, drift):
    """Two samples of a ratio, whose blocks ran on a machine whose speed differs by up to `drift` either way."""
    speed = np.exp(chance.uniform(-drift, drift, blocks))
    return [speed * middle * np.exp(chance.normal(0, noise, blocks)) for middle in (100 * ratio, 100)]


def test_a_drift_of_the_machine_is_no_difference_of_the_builds():
    chance = np.random.default_rng(7)
    values, baseline = drifting(chance, 10, 1.1, 0.01, 0.3)
    found = analysis.ratio_of_medians(values, baseline)
    assert 1 < found.low < 1.1 < found.high < 1.2 and analysis.verdict_of(found) == "more"
    # The same samples without their blocks: the builds are not told apart.
    apart = [np.median(each[chance.integers(0, 10, (5000, 10))], axis=1) for each in (values, baseline)]
    low, high = np.quantile(apart[0] / apart[1], analysis.TAILS)
    assert low < 1 < high and high - low > 5 * (found.high - found.low)


@pytest.mark.parametrize("drift", [0, 0.3])
@pytest.mark.parametrize("blocks", [2, 3, 5, 6, 10])
def test_the_interval_of_a_ratio_holds_the_true_one_as_often_as_is_said(blocks, drift):
    chance = np.random.default_rng(4)
    found = [analysis.ratio_of_medians(*drifting(chance, blocks, 1.1, 0.05, drift)) for _ in range(500)]
    held = np.mean([each.low <= 1.1 <= each.high for each in found])
    # Of many blocks that drift it holds the true one more often, not less.
    assert held >= analysis.ratio_confidence(blocks) - 0.04
    assert held <= analysis.ratio_confidence(blocks) + 0.05
    assert (analysis.ratio_confidence(blocks) < 0.95) == (blocks < analysis.FEW)
    assert {analysis.verdict_of(each) == "too few" for each in found} == {blocks < analysis.FEW}


def test_a_ratio_is_of_the_blocks_that_both_builds_have():
    whole = [("a", 10, 100 + place, place) for place in range(4)] + [("b", 10, 50, 2), ("b", 10, 50, 3)]
    table = tidy.frame([row(*each[:3], invocation=each[3]) for each in [*whole, ("b", 10, 1, 7)]])
    ratios = analysis.relative(table, "time.total", "a").set_index("build")
    assert (ratios.loc["b", "ratio"], ratios.loc["b", "samples"]) == (50 / 102.5, 2)
    none = tidy.frame([row("a", 10, 100), row("b", 10, 50, invocation=1)])
    assert list(analysis.relative(none, "time.total", "a")["build"]) == ["a"]


def test_blocks_of_two_sittings_are_apart():
    rows = [{**row(build, 10, value), "sitting": of} for of, value in (("x", 1), ("y", 9)) for build in ("a", "b")]
    by_cell = analysis.samples(tidy.frame(rows), "time.total")
    assert [list(each.index) for each in by_cell.values()] == [[0, 1], [0, 1]]


def test_a_mean_of_ratios_is_that_of_its_cells_and_has_their_spread():
    chance = np.random.default_rng(5)
    cells = [drifting(chance, 8, ratio, 0.02, 0.3) for ratio in (0.5, 2, 1.331)]
    found = analysis.mean_of_ratios(cells)
    each = [analysis.ratio_of_medians(*cell) for cell in cells]
    assert found.estimate == pytest.approx(stats.gmean([one.estimate for one in each])) and found.samples == 8
    assert found.low < 1.1 < found.high
    assert found.high / found.low < min(one.high / one.low for one in each)


@pytest.mark.parametrize("samples", [2, 3, 5, 6, 7, 8, 9, 12, 20, 41])
def test_the_interval_of_a_median_holds_the_true_one_as_often_as_is_said(samples):
    drawn = np.random.default_rng(3).exponential(1, (4000, samples))
    found = [analysis.median(each) for each in drawn]
    held = np.mean([each.low <= np.log(2) <= each.high for each in found])
    assert held == pytest.approx(analysis.confidence(samples), abs=0.03)
    assert (analysis.confidence(samples) < analysis.CONFIDENCE) == (samples < analysis.FEW)
    if samples < analysis.FEW:
        assert (found[0].low, found[0].high) == (drawn[0].min(), drawn[0].max())
    else:
        wanted = stats.quantile_test(drawn[0], p=0.5).confidence_interval(analysis.CONFIDENCE)
        assert (found[0].low, found[0].high) == (wanted.low, wanted.high)


@pytest.mark.parametrize(
    ("own", "other", "said"),
    [
        ((6.0, 7.0, 8.0), (8.1, 9.0, 10.0), "less"), ((8.1, 9.0, 10.0), (6.0, 7.0, 8.0), "more"),
        ((6.0, 7.0, 8.2), (8.1, 9.0, 10.0), "undecided"), ((6.0, 7.0, float("nan")), (8.1, 9.0, 10.0), "too few"),
    ],
)  # fmt: skip
def test_a_quotient_of_estimates_says_what_their_intervals_do(own, other, said):
    value, baseline = (
        analysis.Interval(middle, low, high, samples) for samples, (low, middle, high) in ((5, own), (9, other))
    )
    assert analysis.apart((own[0], own[2]), (other[0], other[2])) == said
    ratio = analysis.quotient(value, baseline)
    assert (ratio.estimate, ratio.samples) == (own[1] / other[1], 5)
    assert (analysis.verdict(ratio.low, ratio.high) or "too few") == said


@pytest.mark.parametrize(
    ("values", "agree"),
    [((10, 11), True), ((10, 12), False), ((100, 105), True), ((100, 106), False), ((10, 10, None), False)],
)
def test_repeats_agree_within_one_mebibyte_or_five_percent(values, agree):
    rows = [row("a", None, value, metric="minheap", invocation=i) for i, value in enumerate(values)]
    spread = analysis.repeat_spread(tidy.frame(rows))
    assert spread["agree"].tolist() == [agree]


def recorded(**changed: float | None):
    """Published minheaps of section 4.2 as the results of a run, those of the named builds at 24 threads changed."""
    known = published.minheaps()
    known = known[(known["section"] == "4.2") & (known["table"] == "2")]
    rows = []
    for each in known.itertuples():
        value = changed.get(each.build.replace("-", "_"), each.minheap) if each.threads == 24 else each.minheap
        rows.append({**row(each.build, None, value, metric="minheap"), "threads": each.threads})
    return tidy.frame(rows)


def minheap_of(build: str) -> float:
    table = recorded()
    return float(table[(table.build == build) & (table.threads == 24)]["value"].iloc[0])


def test_two_runs_are_compared_point_by_point():
    same = analysis.compare_runs(recorded(), recorded())
    assert len(same) == 36 and same["agree"].all()
    near, far = minheap_of("mark-compact") + 1, minheap_of("semi-space") * 1.06
    compared = analysis.compare_runs(recorded(), recorded(mark_compact=near, semi_space=far))
    apart = compared[~compared["agree"]]
    assert apart[["build", "threads", "second"]].values.tolist() == [["semi-space", 24, far]]


def test_a_minheap_that_only_one_run_has_is_a_difference():
    one = recorded(semi_space=None)
    for first, second in ((one, recorded()), (recorded(), one)):
        compared = analysis.compare_runs(first, second)
        assert compared[~compared["agree"]]["build"].tolist() == ["semi-space"]
    assert analysis.compare_runs(one, one)["agree"].all()
    whole = recorded()
    fewer = whole[whole.threads != 48]
    for first, second in ((fewer, whole), (whole, fewer)):
        compared = analysis.compare_runs(first, second)
        assert set(compared[~compared["agree"]]["threads"]) == {48}


MINHEAP = {"builds": ["ms-64k", "ms-4k"], "threads": [1, 24]}


def run_of(minheap, table, folder):
    """The folder of a run of a grid, of which only grid and results are there."""
    folder.mkdir()
    (folder / "grid.yml").write_text(grid.dump(grid.check({"minheap": minheap}, "here")))
    tidy.write(table, folder / "results.csv")
    (folder / "notes.json").write_text("[]")


@pytest.mark.parametrize(
    ("searches", "median"),
    [([10, None, None], None), ([10, None, 12], 12), ([10, None], None), ([None], None), ([9, 11], 10)],
)
def test_a_search_without_a_minheap_is_above_all_others(searches, median):
    found = analysis.median_minheap(pd.Series(searches, dtype="Float64"))
    assert np.isnan(found) if median is None else found == median


def test_runs_of_different_grids_are_not_compared(tmp_path, capsys):
    run_of(MINHEAP, recorded(), tmp_path / "one")
    run_of({**MINHEAP, "threads": [1], "attempts": 1}, recorded(), tmp_path / "two")
    assert cli.main(["repeat", str(tmp_path / "one"), str(tmp_path / "two")]) == 1
    said = capsys.readouterr().err
    assert "one is of another grid than" in said and said.count("\n") == 1
    assert said.endswith("two: threads also 24; attempts 2 in place of 1\n")


def test_the_command_says_whether_two_runs_agree(tmp_path, capsys):
    for name, table in (("one", recorded()), ("two", recorded(semi_space=minheap_of("semi-space") * 2))):
        run_of(MINHEAP, table, tmp_path / name)
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    assert cli.main(["repeat", one, one]) == 0
    assert "all 36 points agree" in capsys.readouterr().out
    assert cli.main(["repeat", one, two]) == 1
    said = capsys.readouterr()
    assert "1 of 36 points do not agree" in said.err
    (line,) = [line for line in said.out.splitlines() if "semi-space" in line]
    assert re.findall(r"\d+", line) == ["24", "18", "36"]


def test_table_survives_a_round_trip(tmp_path):
    table = tidy.frame([row("b", None, None), row("a", 10, 1.5)])
    tidy.write(table, tmp_path / "results.csv")
    pd.testing.assert_frame_equal(tidy.read(tmp_path / "results.csv"), table)
    assert [path.name for path in tmp_path.iterdir()] == ["results.csv"]
