# SPDX-License-Identifier: MIT OR Apache-2.0
"""The launcher, with real processes."""

import json
import signal
import subprocess
import sys
import time

import pytest
from processes import is_alive

from shardsweep.launch import MARK


def launch(*arguments: str) -> tuple[subprocess.CompletedProcess, dict, str]:
    done = subprocess.run(
        [sys.executable, "-m", "shardsweep.launch", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False, timeout=60,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    marks = [json.loads(line[len(MARK) :]) for line in lines if line.startswith(MARK)]
    return done, marks[-1], done.stdout


@pytest.mark.parametrize(
    ("command", "code", "exit_code", "ended_by"),
    [("exit 0", 0, 0, None), ("exit 3", 3, 3, None), ("kill -SEGV $$", 128 + signal.SIGSEGV, None, signal.SIGSEGV)],
)
def test_exit_code_and_signal_are_kept_and_recorded(command, code, exit_code, ended_by):
    done, end, _ = launch("--limit", "10", "--", "sh", "-c", command)
    assert done.returncode == code
    assert (end["exit"], end["signal"], end["timeout"]) == (exit_code, ended_by, False)


def test_what_a_command_uses_is_measured_and_what_others_use_too():
    busy = "import os, time; [None for _ in range(3_000_000)]; held = bytearray(20 << 20); time.sleep(0.05)"
    burn = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        _, end, _ = launch("--limit", "20", "--", sys.executable, "-c", busy)
    finally:
        burn.kill()
        burn.wait()
    assert end["user"] > 0 and end["minor"] > (20 << 20) / 4096 / 600
    assert end["major"] >= 0 and end["voluntary"] >= 1 and end["involuntary"] >= 0
    assert end["steal"] >= 0 and 0 < end["others"] < 1000
    assert 0 < end["probe"] < 1000


def test_a_command_that_hangs_is_stopped_at_the_limit():
    started = time.monotonic()
    done, end, _ = launch("--limit", "0.5", "--", "sleep", "60")
    assert end["timeout"] is True
    assert done.returncode != 0
    assert time.monotonic() - started < 10


def test_even_one_that_ignores_every_polite_signal():
    _, end, _ = launch("--limit", "5", "--", "sh", "-c", "trap '' QUIT TERM INT; while :; do sleep 0.1; done")
    assert (end["timeout"], end["signal"]) == (True, signal.SIGKILL)


def test_peak_and_samples_see_memory_that_is_held():
    hold = "import time; held = bytearray(100 << 20); time.sleep(2)"
    _, end, _ = launch("--limit", "10", "--sample", "50", "--", sys.executable, "-c", hold)
    assert end["peak_kib"] > 100 * 1024
    assert len(end["resident"]) >= 5
    assert max(sample[1] for sample in end["resident"]) > 100 * 1024
    assert max(sample[2] for sample in end["resident"]) > 100 * 1024


def test_a_process_that_has_given_up_its_memory_is_not_sampled():
    # The first thread ends alone: what /proc says of the process is then what it says of one that is ending.
    ends = (
        "import ctypes, threading, time; threading.Timer(0.5, print).start(); time.sleep(0.2)\n"
        "ctypes.CDLL(None).syscall(60)"
    )
    _, end, _ = launch("--limit", "10", "--sample", "20", "--", sys.executable, "-c", ends)
    assert min(sample[1] for sample in end["resident"]) > 0


def test_no_samples_unless_asked_for_and_unfinished_lines_do_no_harm():
    _, end, output = launch("--limit", "10", "--", "printf", "no end of line")
    assert "resident" not in end
    assert "no end of line\n" in output


def test_a_missing_program_is_an_error_of_its_own():
    done, end, output = launch("--limit", "10", "--", "./no-such-java")
    assert (done.returncode, end["exit"]) == (127, 127)
    assert "no-such-java: No such file or directory" in output


def test_the_command_does_not_outlive_a_killed_launcher(tmp_path):
    file = tmp_path / "pid"
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "shardsweep.launch",
            "--limit",
            "60",
            "--",
            "sh",
            "-c",
            f"echo $$ > {file}; exec sleep 60",
        ]
    )
    deadline = time.monotonic() + 20
    while not (file.exists() and file.read_text().strip()) and time.monotonic() < deadline:
        time.sleep(0.05)
    pid = int(file.read_text())
    process.kill()
    process.wait()
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_alive(pid)
