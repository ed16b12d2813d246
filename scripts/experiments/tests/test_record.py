# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recording sweeps as a data set: what is refused, what is told, and that nothing is left half done."""

import json

import pytest

from shardsweep import grid, point, progress, record, report, sweep, tidy
from shardsweep.errors import UserError

GRID = grid.check({"minheap": {"builds": ["ms-64k"], "threads": [1, 2]}}, "here")
GENERATION = {"processor": "Fast", "family": "25", "model": "1", "stepping": "1"}
FACTS = {"machines": [], "java": "17", "revision": "abc", "packages": {}, "builds": {}}


def swept(folder, *minheaps, **changed):
    """The folder of a sweep in which so many of its points are measured, with some facts of its own."""
    machine = changed.get("machines", [{"processor": "Fast 1"}])[0]
    folder.mkdir(parents=True)
    (folder / "grid.yml").write_text(grid.dump(GRID))
    (folder / "machine.json").write_text(json.dumps({**FACTS, **changed}))
    (folder / "points").mkdir()
    for each, value in zip(grid.points(GRID), minheaps, strict=False):
        row = {
            "build": "ms-64k", "plan": "MarkSweep", "block": 65536, "accounting": "page", "benchmark": "lusearch",
            "threads": each.threads, "heap": None, "invocation": 0, "iteration": 0, "metric": "minheap",
            "value": value, "unit": "MiB",
        }  # fmt: skip
        file = point.result_file(folder, each)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"rows": [row], "notes": [], "machine": machine}))
    return folder


def test_multiples_of_different_minheaps_are_not_pooled(tmp_path):
    folders = [swept(tmp_path / name, 3, 4) for name in ("first", "second", "third")]
    for folder, heap in zip(folders, (72, 74, 72), strict=True):
        for file in folder.glob("points/**/*.json"):
            said = json.loads(file.read_text())
            said["rows"] = [{**row, "heap": heap, "factor": 1.5} for row in said["rows"]]
            file.write_text(json.dumps(said))
    with pytest.raises(UserError, match=r"1\.5 times the minheap of lusearch are 72 MiB and 74 MiB: not to be pooled"):
        record.record("minheap", folders[:2], tmp_path / "results")
    record.record("minheap", folders[::2], tmp_path / "results")


def content(folder):
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_data_set_is_replaced_as_a_whole(tmp_path):
    target = record.record("minheap", [swept(tmp_path / "first", 3, 4)], tmp_path / "results")
    (target / "plots" / "of-another-grid.svg").touch()
    assert record.record("minheap", [swept(tmp_path / "second", 5, 6)], tmp_path / "results") == target
    assert list(tidy.read(target / "results.csv")["value"]) == [5, 6]
    assert not (target / "plots" / "of-another-grid.svg").exists()
    assert [file.name for file in (tmp_path / "results").iterdir()] == ["minheap"]
    assert "<title>Shardsweep: minheap</title>" in (target / "report.html").read_text()


@pytest.mark.parametrize("name", record.RESERVED)
def test_folders_of_other_forms_have_their_names_for_themselves(tmp_path, name):
    assert (record.RESULTS / name).is_dir()
    with pytest.raises(UserError, match=f"'{name}' is no name for a data set"):
        record.record(name, [swept(tmp_path / "one", 3, 4)], tmp_path / "results")
    assert not (tmp_path / "results").exists()


def test_a_folder_that_is_no_data_set_is_left_alone(tmp_path):
    there = tmp_path / "results" / "thesis"
    there.mkdir(parents=True)
    (there / "results.csv").write_text("mine")
    with pytest.raises(UserError, match=r"thesis is not the folder of a data set: it has no grid\.yml"):
        record.record("thesis", [swept(tmp_path / "one", 3, 4)], tmp_path / "results")
    assert content(tmp_path / "results") == {"thesis/results.csv": b"mine"}


def test_a_sweep_that_is_not_at_its_end_is_refused(tmp_path, capsys):
    folder = swept(tmp_path / "one", 3)
    log = progress.job_log(folder, grid.points(GRID)[1])
    log.parent.mkdir(parents=True)
    for text in (None, "a job at work\n"):
        if text:
            log.write_text(text)
        with pytest.raises(UserError, match="one is not at its end: 1 of 2 points are to be measured yet"):
            record.record("minheap", [folder], tmp_path / "results")
    assert not (tmp_path / "results").exists()
    log.write_text("shardsweep: the disk is full\n")
    failed = grid.points(GRID)[1].id
    with pytest.raises(UserError, match=f"one: {failed} has failed: the disk is full: run the sweep again"):
        record.record("minheap", [folder], tmp_path / "results")
    assert not (tmp_path / "results").exists()
    log.write_text("shardsweep: ms-64k has no minheap to take 2 times of\n")
    record.record("minheap", [folder], tmp_path / "results")
    why = "ms-64k has no minheap to take 2 times of"
    assert capsys.readouterr().err == f"shardsweep: {folder}: {failed} cannot be measured: {why}\n"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"builds": {"ms-64k": {"revision": "abc-dirty"}}}, "ms-64k"),
        ({"builds": {"ms-64k": {"revision": "abc", "jvm": "abc-dirty"}}}, "the JVM of ms-64k"),
        ({"revision": "abc-dirty"}, "the sweep two"),
    ],
)
def test_what_no_commit_has_is_refused(tmp_path, changed, said):
    folders = [swept(tmp_path / "one", 3, 4), swept(tmp_path / "two", 3, 4, **changed)]
    refusal = f"{said} is of abc-dirty, with changes that no commit has: commit, build and measure again"
    with pytest.raises(UserError, match=f"^{refusal}$"):
        record.record("minheap", folders, tmp_path / "results")
    assert not (tmp_path / "results").exists()


def test_an_interruption_leaves_the_data_set_as_it_was(tmp_path, monkeypatch):
    target = record.record("minheap", [swept(tmp_path / "first", 3, 4)], tmp_path / "results")
    before = content(tmp_path / "results")
    second = swept(tmp_path / "second", 5, 6)

    def interrupted(*_):
        raise KeyboardInterrupt

    for module, name in ((tidy, "write"), (record, "write_whole"), (report, "write")):
        with monkeypatch.context() as patched:
            patched.setattr(module, name, interrupted)
            with pytest.raises(KeyboardInterrupt):
                record.record("minheap", [second], tmp_path / "results")
        assert content(tmp_path / "results") == before
    record.record("minheap", [second], tmp_path / "results")
    assert list(tidy.read(target / "results.csv")["value"]) == [5, 6]


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ({"java": "17\nA"}, {"java": "18\nA"}, "different java, 17 A and 18 A"),
        (
            {"machines": [{**GENERATION, "model": "1"}]}, {"machines": [{**GENERATION, "model": "17"}]},
            "different processors, Fast family 25 model 1 stepping 1 and Fast family 25 model 17 stepping 1",
        ),
        (
            {"machines": [GENERATION]}, {"machines": [{"processor": "Fast"}]},
            "different processors, Fast and Fast family 25 model 1 stepping 1",
        ),
        (
            {"machines": [{**GENERATION, "processors": 2}]}, {"machines": [{**GENERATION, "processors": 16}]},
            "different numbers of processors, 16 and 2",
        ),
        (
            {"machines": [{**GENERATION, "huge pages": "madvise"}]}, {"machines": [{**GENERATION, "huge pages": "never"}]},
            "different modes of huge pages, madvise and never",
        ),
        ({"settings": {}}, {"settings": {"MMTK_THREADS": "1"}}, "different settings, MMTK_THREADS=1 and none"),
        (
            {"configurations": {"base.yml": "ab"}}, {"configurations": {"base.yml": "cd"}},
            "different configurations base.yml, ab and cd",
        ),
        ({"jars": {"ours": "ab"}}, {"jars": {"ours": "cd"}}, "different jars of suite ours, ab and cd"),
        ({"packages": {"running-ng": "1"}}, {"packages": {"running-ng": "2"}}, "different versions of running-ng, 1 and 2"),
        (
            {"builds": {"ms-64k": {"revision": "abc"}}}, {"builds": {"ms-64k": {"revision": "def"}}},
            "different revisions of ms-64k, abc and def",
        ),
        (
            {"builds": {"ms-64k": {"revision": "abc", "jvm": "abc"}}},
            {"builds": {"ms-64k": {"revision": "abc", "jvm": "def"}}},
            "different JVMs of ms-64k, abc and def",
        ),
    ],
)  # fmt: skip
def test_sittings_of_other_code_are_not_pooled(tmp_path, one, other, said):
    first, second, same = (
        swept(tmp_path / name, 3, 4, **facts) for name, facts in (("first", one), ("second", other), ("same", one))
    )
    with pytest.raises(UserError, match=f"measured on {said}: not to be pooled"):
        record.record("minheap", [first, second], tmp_path / "results")
    assert not (tmp_path / "results").exists()
    target = record.record("minheap", [first, same], tmp_path / "results")
    assert sweep.read_machine(target)["sittings"] == {"first": "abc", "same": "abc"}


def test_sittings_are_pooled_whose_kernels_differ(tmp_path):
    folders = [
        swept(tmp_path / kernel, 3, 4, machines=[{**GENERATION, "kernel": kernel}]) for kernel in ("6.1", "6.18")
    ]
    target = record.record("minheap", folders, tmp_path / "results")
    assert [one["kernel"] for one in sweep.read_machine(target)["machines"]] == ["6.1", "6.18"]
    assert set(tidy.read(target / "results.csv")["processor"]) == {"Fast family 25 model 1"}
    first = (target / "tables.md").read_text().splitlines()[0]
    assert "sweep --grid results/minheap/grid.yml --out build/sweeps/minheap`" in first
    assert "`build/venv/bin/shardsweep report results/minheap`" in first


def test_sittings_have_names_of_their_own(tmp_path):
    folders = [swept(tmp_path / name / "full", 3, 4) for name in ("monday", "tuesday")]
    for again in (folders, [folders[0], folders[0]]):
        with pytest.raises(UserError, match="two folders are called full, which is the name of a sitting"):
            record.record("minheap", again, tmp_path / "results")
    target = record.record("minheap", [folders[0], folders[1].rename(tmp_path / "other")], tmp_path / "results")
    assert sweep.read_machine(target)["sittings"] == {"full": "abc", "other": "abc"}
