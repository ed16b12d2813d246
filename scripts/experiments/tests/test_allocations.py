# SPDX-License-Identifier: MIT OR Apache-2.0
"""The agent that counts allocations, against programs whose allocations are known."""

from collections import Counter

import pytest

from shardsweep import allocations
from shardsweep.errors import UserError


def test_every_array_of_an_iteration_is_counted_and_no_other(jdk, tiny_jar):
    threads = 3
    sizes = allocations.iteration(jdk, tiny_jar, ["-t", str(threads), "steady"], 1)
    # 16 MiB a thread in arrays of 1000 bytes, which with their headers are 1016; and an array of 1024 references.
    assert sizes[1016] == threads * 16 * 1024
    assert sizes[4112] == threads
    # What the iteration needs besides is little: threads, a barrier, and the lines that it prints.
    assert sum(sizes.values()) - sizes[1016] < 5000


def test_shares_are_of_objects_and_of_bytes():
    sizes = Counter({16: 60, 24: 20, 32: 10, 4112: 10})
    found = {name: cells for name, *cells in allocations.table(sizes, 10, "some").rows}
    whole = 16 * 60 + 24 * 20 + 32 * 10 + 4112 * 10
    assert found["objects a batch"] == ["10", ""] and found["bytes a batch"] == ["", f"{whole / 10:.0f}"]
    assert found["bytes an object"] == ["", f"{whole / 100:.0f}"]
    assert found["up to 24 bytes"] == ["80.00%", f"{1440 / whole:.2%}"]
    assert found["4 to 8 KiB"] == ["10.00%", f"{41120 / whole:.2%}"]
    assert found["more"] == ["0.00%", "0.00%"]


def test_what_dacapo_publishes_is_read_and_anything_else_refused(tmp_path, shardsweep):
    file = tmp_path / "stats-alloc.yml"
    file.write_text(
        "objects-allocated: 4\n# by size\nobjects-by-size:\n  16: 3\n  2097168: 1\nbytes-by-size:\n  16: 48\n"
    )
    assert allocations.published(file) == Counter({16: 3, 2097168: 1})
    for text in ("", "objects-by-size: 3\n", "objects-by-size: {a: 1}\n", "{"):
        file.write_text(text)
        done = shardsweep("allocations", "--published", file, "lusearch")
        assert done.returncode == 1
        assert done.stderr == f"shardsweep: {file} is not one of DaCapo's stats-alloc.yml: it has no objects-by-size\n"


def test_a_histogram_without_objects_is_refused(tmp_path, shardsweep):
    file = tmp_path / "stats-alloc.yml"
    for text in ("objects-by-size: {}\n", "objects-by-size: {16: 0}\n", "objects-by-size: {0: 3}\n"):
        file.write_text(text)
        done = shardsweep("allocations", "--published", file, "lusearch")
        assert done.returncode == 1
        assert done.stderr == f"shardsweep: Allocations of lusearch, as {file} has them: there are no objects\n"


def test_a_compiler_that_fails_without_a_word_is_told(tmp_path, monkeypatch):
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "jvmti.h").touch()
    (tmp_path / "gcc").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "gcc").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(UserError, match="the agent does not compile: silent"):
        allocations.build_agent(tmp_path, tmp_path)


def test_a_benchmark_that_does_not_pass_is_told(jdk, tiny_jar):
    with pytest.raises(UserError, match=r"tiny\.jar -n 1 -t 1 wrong ended with 1: .*FAILED"):
        allocations.iteration(jdk, tiny_jar, ["-t", "1", "wrong"], 1)


def test_a_jdk_without_headers_and_a_jar_that_is_not_there_get_one_line(tmp_path, shardsweep):
    with pytest.raises(UserError, match=r"jvmti\.h is not there: point SHARDSWEEP_JDK at a whole JDK"):
        allocations.build_agent(tmp_path, tmp_path)
    done = shardsweep("allocations", "--jar", "none.jar", "lusearch")
    assert done.returncode == 1
    assert "none.jar is not there: make lusearch, or give another --jar" in done.stderr
    assert done.stderr.count("\n") == 1
