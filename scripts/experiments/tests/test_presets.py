# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a grid is beside a preset: the same, a part of it, or another."""

import pytest

from shardsweep import analysis, claims, grid, presets

PRESET = {
    "about": "Everything, many times.",
    "minheap": {"builds": ["a", "b"], "threads": [1, 24], "attempts": 2, "trials": 3},
    "perf-by-heap": {
        "builds": ["a", "b"], "baseline": "a", "threads": [24], "heaps": [50, 200], "invocations": 20,
        "modifiers": ["compile_in_foreground"],
    },
}  # fmt: skip


@pytest.fixture
def beside(tmp_path, monkeypatch):
    """What the preset, changed, is beside the preset itself."""
    monkeypatch.setattr(grid, "PRESETS", tmp_path)
    (tmp_path / "all.yml").write_text(grid.dump(grid.check(PRESET, "here")))

    def compare(**changes):
        experiments = {
            name: {**content, **changes.get(name, {})} for name, content in PRESET.items() if name != "about"
        }
        measured = grid.check({"about": PRESET["about"], **experiments}, "here")
        return presets.beside(measured, "all"), presets.about(measured)

    return compare


def test_sweeps_of_a_part_are_the_preset_together(beside):
    whole = grid.preset("all")
    part = grid.check(
        {"perf-by-heap": {**PRESET["perf-by-heap"], "invocations": 10}, "minheap": PRESET["minheap"]}, "here"
    )
    assert presets.beside(part, "all") == "a part of it: invocations 10 in place of 20 (perf-by-heap)"
    assert part.pooled(2).perf_by_heap == whole.perf_by_heap
    assert presets.beside(part, "all", 2) == "differs: repeats 2 in place of 1 (minheap)"


def test_a_grid_of_the_same_experiments_is_the_preset(beside):
    assert beside() == ("the same", PRESET["about"])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"minheap": {"trials": 0}}, "a part of it: trials 0 in place of 3 (minheap)"),
        ({"minheap": {"threads": [24]}}, "a part of it: threads without 1 (minheap)"),
        ({"perf-by-heap": {"invocations": 3}}, "a part of it: invocations 3 in place of 20 (perf-by-heap)"),
        ({"perf-by-heap": {"invocations": 30}}, "differs: invocations 30 in place of 20 (perf-by-heap)"),
        ({"perf-by-heap": {"builds": ["a"]}}, "a part of it: builds without b (perf-by-heap)"),
        (
            {"perf-by-heap": {"heaps": [50, 100]}},
            "differs: heaps without 200 (perf-by-heap); heaps also 100 (perf-by-heap)",
        ),
        ({"minheap": {"attempts": 1}}, "differs: attempts 1 in place of 2 (minheap)"),
        (
            {"perf-by-heap": {"modifiers": []}},
            "differs: modifiers none in place of compile_in_foreground (perf-by-heap)",
        ),
        ({"minheap": {"builds": ["b", "a"]}}, "the same"),
    ],
)
def test_a_grid_that_leaves_out_is_a_part_and_one_that_does_otherwise_differs(beside, changes, said):
    found, about = beside(**changes)
    assert found == said
    assert about == (PRESET["about"] if said == "the same" else f"The preset all, but for: {said.split(': ', 1)[1]}.")


def test_experiments_may_be_missing_or_more():
    one, other = grid.check({"minheap": PRESET["minheap"]}, "a"), grid.check(PRESET, "b")
    assert presets.differences(one, other) == [presets.Difference("no perf-by-heap", True)]
    assert presets.differences(other, one) == [presets.Difference("perf-by-heap besides", False)]


def test_growth_with_threads_is_tested_for_a_curve_where_a_preset_measures_it():
    short = {}
    for name in grid.presets():
        minheap = grid.preset(name).minheap
        if minheap and 1 < len(minheap.threads) < analysis.BENDABLE:
            short[name] = minheap.threads
    # That of half an hour measures fewer.
    assert set(short) == {"quick"}


def test_a_preset_has_enough_jvms_for_the_verdicts_of_its_claims():
    judged = {
        claim.data
        for section in claims.Results().sections
        for claim in section.claims
        if claim.baseline and claim.data in grid.presets()
    }
    jvms = {name: grid.preset(name).perf_by_heap.invocations for name in judged}
    assert len(jvms) > 3 and min(jvms.values()) >= analysis.FEW, jvms


def test_a_grid_of_the_users_own_is_told_in_its_own_words():
    own = grid.check({"about": "Mine.", "minheap": PRESET["minheap"]}, "here")
    assert presets.about(own) == "Mine."
