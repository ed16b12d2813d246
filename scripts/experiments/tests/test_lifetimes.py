# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lifetimes, from logs with known answers and from a program whose live data are known."""

import pytest

from shardsweep import catalog, cli, lifetimes
from shardsweep.errors import UserError

START = "===== DaCapo 9.12 lusearch starting =====\n"


def young(number: int, before: int, after: int, old_before: int, old_after: int) -> str:
    return (
        f"[1.0s][info][gc,heap] GC({number}) DefNew: {before}K(15360K)->{after}K(15360K) Eden: 1K->0K(13696K)\n"
        f"[1.0s][info][gc,heap] GC({number}) Tenured: {old_before}K(34176K)->{old_after}K(34176K)\n"
    )


def whole(live: int) -> str:
    return (
        "[1.0s][debug][gc,heap] GC(1) Heap after GC invocations=2 (full 0):\n"
        "[1.0s][debug][gc,heap] GC(1)  third-party heap, plan MarkSweep, plugin ms-64k (mmtk 0.33.0)\n"
        f"[1.0s][debug][gc,heap] GC(1)  blocks of 64K: {live}K live at the last collection, 91748K charged\n"
    )


def test_survivors_are_those_that_stay_young_and_those_that_are_promoted():
    log = START + young(0, 9000, 500, 0, 0) + START + young(1, 13500, 400, 100, 350) + young(2, 13400, 100, 350, 350)
    assert lifetimes.survivors(log) == [(13500, 650), (13000, 100)]


def test_a_collection_that_frees_old_objects_does_not_count():
    log = START + young(1, 1000, 0, 5000, 3000) + young(2, 1000, 10, 3000, 3000)
    assert lifetimes.survivors(log) == [(1000, 10)]


def test_alive_is_what_was_found_after_a_collection_of_the_last_iteration():
    before = "[1.0s][debug][gc,heap] GC(1)  blocks of 64K: 77K live at the last collection, 91748K charged\n"
    assert lifetimes.alive(START + whole(1) + START + before + whole(3000) + before + whole(4000)) == [3000, 4000]


def test_the_table_has_shares_and_the_line_through_what_is_alive():
    found = [lifetimes.Lifetimes(threads, [(1000, 10), (3000, 30)], [threads * 100, 99999, 0]) for threads in (1, 2, 4)]
    rows = lifetimes.table(lifetimes.frame(found), "some").rows
    assert rows[1] == ["2", "2", "20", "1.00%", "3", "200"]
    assert rows[-1] == ["a thread", "", "", "", "", "100.0 ± 0.0"]


def test_the_command_shows_the_table(tmp_path, monkeypatch, capsys):
    (tmp_path / "some.jar").touch()
    known = lifetimes.Lifetimes(4, [(1000, 10)], [100])
    monkeypatch.setattr(lifetimes, "measure", lambda java, jar, arguments, threads, heap: known)
    assert cli.main(["lifetimes", "lusearch", "--jar", str(tmp_path / "some.jar"), "--threads", "4"]) == 0
    assert "1.00%" in capsys.readouterr().out


@pytest.mark.slow
def test_what_a_program_keeps_is_alive(tiny_jar):
    """Each thread keeps 1,024 arrays of 1,016 bytes, which ms-64k has in cells of 1,024; and all do so at one moment."""
    java = catalog.ROOT / "build" / "jdk" / "bin" / "java"
    one, four = (lifetimes.measure(java, tiny_jar, ["steady"], threads, 12) for threads in (1, 4))
    for young in (one.young, four.young):
        # What has survived once is still young, and may survive again.
        before = [0, *(survived for _, survived in young)]
        assert young and all(0 <= now <= new + earlier for (new, now), earlier in zip(young, before, strict=False))
    assert max(four.live) - max(one.live) == pytest.approx(3 * 1024, abs=256)


def test_a_benchmark_that_does_not_pass_is_told(jdk, tiny_jar):
    with pytest.raises(UserError, match=r"tiny\.jar, 1 threads, -XX:\+UseSerialGC, ended with 1: .*FAILED"):
        lifetimes.measure(jdk / "bin" / "java", tiny_jar, ["wrong"], 1, 64)


def test_variables_of_the_caller_change_no_run(tmp_path, monkeypatch):
    java = tmp_path / "java"
    java.write_text('#!/bin/sh\n[ -z "$MMTK_PLAN$JAVA_TOOL_OPTIONS" ]\n')
    java.chmod(0o755)
    monkeypatch.setenv("MMTK_PLAN", "StickyMarkSweep")
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xint")
    assert lifetimes.measure(java, tmp_path / "some.jar", [], 1, 64) == lifetimes.Lifetimes(1, [], [])


@pytest.mark.parametrize("option", [("--threads", "0"), ("--threads", "1,x"), ("--heap", "0"), ("--jar", "none.jar")])
def test_bad_options_get_one_line(shardsweep, option):
    done = shardsweep("lifetimes", *option, "lusearch")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
