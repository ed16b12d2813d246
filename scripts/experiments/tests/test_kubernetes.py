# SPDX-License-Identifier: MIT OR Apache-2.0
"""A tiny grid through the Kubernetes profile, against a server that speaks what Snakemake asks of Kubernetes' API.

It runs a job's command on this machine, in an empty directory and with the variables of the job's secret: what a pod
has that sees the shared volume. Scheduling, images and mounts are not exercised, only that the job asks for them.
"""

import base64
import http.server
import json
import re
import subprocess
import sys
import threading

import pytest
import yaml

from shardsweep import tidy

pytestmark = pytest.mark.slow

API = re.compile(r"/(?:api/v1|apis/batch/v1)/namespaces/default/(secrets|jobs|pods)(?:/([^/?]+))?")


class Cluster(http.server.BaseHTTPRequestHandler):
    """Keeps secrets and jobs in `server.objects`, by kind and name; runs jobs at once, with `server.shell` if set."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        kind = API.match(self.path)[1]
        self.server.objects[kind][body["metadata"]["name"]] = body
        if kind == "jobs":
            body["status"] = {}
            self.server.submitted.append(body)
            threading.Thread(target=self.run, args=(body,)).start()
        self.answer(201, body)

    def do_GET(self) -> None:
        kind, name = API.match(self.path).groups()
        # Without a pod to look at, Snakemake goes by the job's status.
        self.answer(200, self.server.objects["jobs"][name] if kind == "jobs" else {"kind": "PodList", "items": []})

    def do_DELETE(self) -> None:
        kind, name = API.match(self.path).groups()
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        found = self.server.objects[kind].pop(name, None)
        self.answer(200 if found else 404, {"kind": "Status", "status": "Success"})

    def run(self, job: dict) -> None:
        (container,) = job["spec"]["template"]["spec"]["containers"]
        variables = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere"}
        for each in container["env"]:
            reference = each["valueFrom"]["secretKeyRef"]
            value = self.server.objects["secrets"][reference["name"]]["data"][reference["key"]]
            variables[each["name"]] = base64.b64decode(value).decode()
        directory = self.server.folder / job["metadata"]["name"]
        directory.mkdir()
        with (directory / "pod.log").open("w") as log:
            done = subprocess.run(
                [*(self.server.shell or container["command"]), *container["args"]],
                env=variables, cwd=directory, stdout=log, stderr=log, check=False,
            )  # fmt: skip
        job["status"] = {"failed" if done.returncode else "succeeded": 1}

    def answer(self, status: int, body: dict) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_) -> None:
        """Says nothing."""


@pytest.fixture
def cluster(tmp_path):
    """The server; `configuration` is what kubectl would be given to find it."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Cluster)
    server.objects, server.submitted, server.shell = {"secrets": {}, "jobs": {}}, [], None
    server.folder = tmp_path / "pods"
    server.folder.mkdir()
    server.configuration = tmp_path / "kubeconfig"
    address = f"http://127.0.0.1:{server.server_port}"
    server.configuration.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1", "kind": "Config", "current-context": "test",
                "clusters": [{"name": "test", "cluster": {"server": address}}],
                "users": [{"name": "test", "user": {}}],
                "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            }
        )
    )  # fmt: skip
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def sweep(cluster, variables, out, **settings) -> subprocess.CompletedProcess:
    """A sweep of two points; `settings` are changed in the experiment."""
    experiment = {
        "benchmarks": ["steady"], "builds": ["hotspot-Serial"], "baseline": "hotspot-Serial", "threads": [2],
        "heaps": [16, 24], "invocations": 1, "iterations": 1, "limit": 20, **settings,
    }  # fmt: skip
    file = out.with_suffix(".yml")
    file.write_text(yaml.safe_dump({"perf-by-heap": experiment}))
    return subprocess.run(
        [sys.executable, "-m", "shardsweep", "sweep", "--grid", file, "--out", out, "--profile", "kubernetes",
         "--processors", "8"],
        env={**variables, "KUBECONFIG": str(cluster.configuration)},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def test_a_grid_runs_as_jobs_of_a_cluster(cluster, variables, tmp_path):
    out = tmp_path / "out"
    done = sweep(cluster, variables, out)
    pods = "".join(log.read_text() for log in cluster.folder.glob("*/pod.log"))
    assert done.returncode == 0, done.stderr + (out / "snakemake.log").read_text()[-3000:] + pods[-3000:]
    table = tidy.read(out / "results.csv")
    assert sorted(table[table.metric == "runs.passed"]["heap"]) == [16, 24]
    assert len(list((out / "logs").rglob("*.log.gz"))) == 2
    assert len(cluster.submitted) == 2
    for job in cluster.submitted:
        pod = job["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert container["image"] == "shardsweep"
        assert {"name": "shardsweep", "mountPath": "/shardsweep"} in container["volumeMounts"]
        assert {"name": "shardsweep", "persistentVolumeClaim": {"claimName": "shardsweep"}} in pod["volumes"]
        # 95 % of a node's processors: the rest is Kubernetes' own.
        assert container["resources"]["requests"]["cpu"] == "7600m"
    assert cluster.objects == {"secrets": {}, "jobs": {}}, "left behind in the cluster"


def test_a_pod_that_fails_leaves_its_point_out(cluster, variables, tmp_path):
    cluster.shell = ["/bin/false"]
    done = sweep(cluster, variables, tmp_path / "out", heaps=[16])
    assert done.returncode == 1
    assert "ended before any point was begun: At least one job did not complete" in done.stderr
    assert len(cluster.submitted) == 1
    assert cluster.objects["secrets"] == {}
