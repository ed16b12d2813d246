# SPDX-License-Identifier: MIT OR Apache-2.0
"""A tiny grid through a real Slurm of one machine, which the test starts for itself. Needs root and the packages."""

import datetime
import gzip
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from shardsweep import tidy
from shardsweep.launch import MARK

pytestmark = pytest.mark.slow

CONFIGURATION = """\
ClusterName=shardsweep
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs={processors} RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@pytest.fixture
def slurm(tmp_path):
    """The environment of a running Slurm; it is stopped after the test."""
    missing = [program for program in ("munged", "slurmctld", "slurmd", "srun") if not shutil.which(program)]
    assert not missing, "this test needs Slurm: apt-get install slurm-wlm munge"
    for name in ("state", "spool", "bin"):
        (tmp_path / name).mkdir()
    key = tmp_path / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    file = tmp_path / "slurm.conf"
    file.write_text(
        CONFIGURATION.format(
            host=socket.gethostname().split(".")[0], folder=tmp_path, processors=os.cpu_count(), ports=free_ports(2)
        )
    )
    # Snakemake's job step drops SLURM_CONF, which only a cluster outside /etc/slurm needs.
    step = tmp_path / "bin" / "srun"
    step.write_text(f'#!/bin/sh\nSLURM_CONF={file} exec {shutil.which("srun")} "$@"\n')
    step.chmod(0o755)
    variables = {"SLURM_CONF": str(file), "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    daemons = (
        ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={tmp_path}/munge.socket",
         f"--pid-file={tmp_path}/munge.pid", f"--log-file={tmp_path}/munge.log", f"--seed-file={tmp_path}/munge.seed"],
        ["slurmctld", "-D", "-f", str(file)],
        ["slurmd", "-D", "-f", str(file)],
    )  # fmt: skip
    running = []
    try:
        for daemon in daemons:
            with (tmp_path / f"{daemon[0]}.out").open("w") as output:
                running.append(subprocess.Popen(daemon, stdout=output, stderr=output, env={**os.environ, **variables}))
            time.sleep(1)
        wait_for_idle_node({**os.environ, **variables}, tmp_path)
        yield variables
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait(timeout=30)


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def wait_for_idle_node(variables: dict, folder: Path) -> None:
    deadline = time.monotonic() + 60
    while True:
        state = subprocess.run(["sinfo", "-h", "-o", "%T"], env=variables, capture_output=True, text=True, check=False)
        if state.stdout.strip() == "idle":
            return
        said = (folder / "slurmd.out").read_text() + (folder / "slurmctld.out").read_text()
        assert time.monotonic() < deadline, f"Slurm does not come up: {state.stdout} {state.stderr} {said[-2000:]}"
        time.sleep(0.5)


def test_a_grid_runs_as_jobs_of_a_cluster_one_at_a_time(slurm, variables, tmp_path):
    grid_file = tmp_path / "cluster.yml"
    grid_file.write_text(
        yaml.safe_dump(
            {
                "perf-by-heap": {
                    "benchmarks": ["steady"], "builds": ["hotspot-Serial"], "baseline": "hotspot-Serial",
                    "threads": [2], "heaps": [16, 24], "invocations": 1, "iterations": 1, "limit": 20,
                }
            }
        )
    )  # fmt: skip
    out = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "-m", "shardsweep", "sweep", "--grid", str(grid_file), "--out", str(out), "--profile", "slurm",
         "--processors", str(os.cpu_count())],
        env={**variables, **slurm}, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + (out / "snakemake.log").read_text()[-3000:]
    table = tidy.read(out / "results.csv")
    assert sorted(table[table.metric == "runs.passed"]["heap"]) == [16, 24]
    workflow = (out / "snakemake.log").read_text()
    assert workflow.count("has been submitted with SLURM jobid") == 2
    spans = sorted(job_span(log) for log in (out / "logs").rglob("*.log.gz"))
    assert spans[0][1] <= spans[1][0], "two JVMs ran on one machine at a time"


def job_span(log: Path) -> tuple[float, float]:
    """Start and end of the JVM, by the launcher's marks, which are of a second's precision."""
    marks = [
        json.loads(line.removeprefix(MARK))
        for line in gzip.decompress(log.read_bytes()).decode().splitlines()
        if line.startswith(MARK)
    ]
    start = datetime.datetime.strptime(marks[0]["start"]["time"], "%Y-%m-%dT%H:%M:%S%z").timestamp()
    return start, start + marks[1]["seconds"]
