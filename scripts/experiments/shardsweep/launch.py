# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs one command under a time limit and records how it ended: the wrapper that running-ng puts before every JVM.

running-ng keeps the output of a run, but neither its exit status nor that it was stopped, and knows nothing of resident
memory. This program adds two lines to the output, each `shardsweep-launch ` and a JSON object: one before the command
starts (`{"start": ...}`) and one after it ended:

    exit     exit code, or null if a signal ended it        signal   that signal, or null
    timeout  whether it was stopped at the limit            seconds  elapsed
    user, system   processor seconds                        peak_kib largest resident set
    minor, major   page faults without and with a read      voluntary, involuntary  context switches
    steal          processor seconds that the host of this virtual machine gave to others
    others         processor seconds that other processes used
    probe          milliseconds that a fixed computation took before the command started
    resident [[seconds, resident KiB, anonymous KiB], ...], only with --sample

It imports nothing outside the standard library, so that starting it costs little.
"""

import argparse
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time

MARK = "shardsweep-launch "
# How long a JVM may take to print the stacks of its threads before it is killed.
DUMP_SECONDS = 2.0
PR_SET_PDEATHSIG = 1
# Of the fixed computation: some ten milliseconds each. The shortest counts, which is not one that was interrupted.
PROBES = 3


def main(arguments: list[str] | None = None) -> int:
    """Runs the command given after `--`; returns its exit code, or 128 + the signal that ended it."""
    parser = argparse.ArgumentParser(prog="python -m shardsweep.launch", description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, required=True, help="seconds after which the command is stopped")
    parser.add_argument(
        "--sample", type=float, default=0, help="milliseconds between samples of resident memory; 0: none"
    )
    parser.add_argument("command", nargs="+")
    options = parser.parse_args(arguments)
    # Without this, a sweep that is killed would leave a JVM behind that disturbs the next one.
    _die_with_parent()
    _report({"start": {"time": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "command": options.command}})
    probe = min(_probe() for _ in range(PROBES))
    started, before = time.monotonic(), _machine()
    try:
        process = subprocess.Popen(options.command, preexec_fn=_die_with_parent)
    except OSError as error:
        print(f"{options.command[0]}: {error.strerror}", flush=True)
        _report({"exit": 127, "signal": None, "timeout": False, "seconds": 0.0, "peak_kib": 0})
        return 127
    timed_out, samples = _watch(process, started, options.limit, options.sample / 1000)
    _, status, usage = os.wait4(process.pid, 0)
    # Popen must not wait for a process that is reaped already.
    process.returncode = os.waitstatus_to_exitcode(status)
    used, stolen = (after - earlier for after, earlier in zip(_machine(), before, strict=True))
    ended = {
        "exit": process.returncode if process.returncode >= 0 else None,
        "signal": -process.returncode if process.returncode < 0 else None,
        "timeout": timed_out,
        "seconds": round(time.monotonic() - started, 3),
        "user": round(usage.ru_utime, 3),
        "system": round(usage.ru_stime, 3),
        "peak_kib": usage.ru_maxrss,
        "minor": usage.ru_minflt,
        "major": usage.ru_majflt,
        "voluntary": usage.ru_nvcsw,
        "involuntary": usage.ru_nivcsw,
        "steal": round(stolen, 2),
        # Both are counted in ticks, at different places: the difference can be a little below nothing.
        "others": round(max(used - usage.ru_utime - usage.ru_stime, 0.0), 2),
        "probe": round(probe, 3),
    }
    if options.sample:
        ended["resident"] = samples
    _report(ended)
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def _watch(process: subprocess.Popen, started: float, limit: float, interval: float) -> tuple[bool, list]:
    """Waits for the process without reaping it; stops it at the limit. Returns whether it did, and the samples."""
    samples = []
    handle = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        deadline = started + limit
        while True:
            left = deadline - time.monotonic()
            wait = min(interval, left) if interval else left
            if poll.poll(max(wait, 0) * 1000):
                return False, samples
            if time.monotonic() >= deadline:
                break
            resident = _resident(process.pid)
            if resident:
                samples.append([round(time.monotonic() - started, 3), *resident])
        # The stacks of a JVM that hangs go into the log.
        process.send_signal(signal.SIGQUIT)
        if not poll.poll(DUMP_SECONDS * 1000):
            process.kill()
        return True, samples
    finally:
        os.close(handle)


def _machine() -> tuple[float, float]:
    """Processor seconds that all processes have used since the machine started, and those that its host took away."""
    with open("/proc/stat") as source:
        user, nice, system, _, _, interrupts, soft, steal = map(int, source.readline().split()[1:9])
    tick = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + interrupts + soft) / tick, steal / tick


def _probe() -> float:
    """Milliseconds of a fixed computation: a processor whose clock has fallen, or whose host shares it, takes longer."""
    started = time.perf_counter()
    sum(range(1_000_000))
    return (time.perf_counter() - started) * 1000


def _resident(pid: int) -> list[int]:
    """What the process holds, and how much of that is anonymous, in KiB; empty if it has given up its memory to end."""
    with open(f"/proc/{pid}/status") as status:
        fields = dict(line.split(":", 1) for line in status)
    return [int(fields[name].split()[0]) for name in ("VmRSS", "RssAnon") if name in fields]


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _report(content: dict) -> None:
    # The command may have left an unfinished line.
    sys.stdout.write(f"\n{MARK}{json.dumps(content)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
