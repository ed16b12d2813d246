# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the tests share: a JDK, a tiny benchmark jar in the place of lusearch, and a way to call the command line."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def jdk() -> Path:
    """The JDK of the PATH, or else build/jdk: these tests need HotSpot's own collectors only."""
    javac = shutil.which("javac")
    home = Path(javac).resolve().parents[1] if javac else HERE.parents[2] / "build" / "jdk"
    assert (home / "bin" / "javac").exists(), "a JDK is needed: apt-get install openjdk-17-jdk-headless"
    return home


@pytest.fixture(scope="session")
def tiny_jar(jdk, tmp_path_factory) -> Path:
    """tests/java/Tiny.java as a jar with DaCapo's command line."""
    folder = tmp_path_factory.mktemp("tiny")
    subprocess.run(
        [jdk / "bin" / "javac", "-XDignore.symbol.file", "-d", folder, HERE / "java" / "Tiny.java"], check=True
    )
    jar = folder / "tiny.jar"
    classes = ("-C", folder, "Tiny.class", "-C", folder, "Harness.class")
    subprocess.run([jdk / "bin" / "jar", "cfe", jar, "Tiny", *classes], check=True)
    return jar


@pytest.fixture(scope="session")
def variables(jdk, tiny_jar) -> dict[str, str]:
    """An environment in which the configurations find that JDK and that jar, and nothing else."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("DACAPO_", "SHARDSWEEP_", "MMTK_"))
    }
    return {**kept, "SHARDSWEEP_JDK": str(jdk), "LUSEARCH_JAR": str(tiny_jar)}


@pytest.fixture
def shardsweep(variables, tmp_path):
    """Calls the command line in an empty folder; returns the finished process."""

    def call(*arguments: str, **changed: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-m", "shardsweep", *map(str, arguments)],
            env={**variables, **changed}, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip

    return call


@pytest.fixture
def checkout(tmp_path):
    """Makes a checkout of some files of this one and of stand-ins, bodies of shell scripts by path; those in `tools/` take
    the place of programs of the machine. Gives a way to call one of its scripts, which returns the finished process."""

    def make(copied: list[str], stand_ins: dict[str, str]):
        for name in (*copied, "scripts/lib.sh"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(HERE.parents[2] / name, tmp_path / name)
        for name, body in {"tools/dpkg-query": "echo installed", **stand_ins}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
            (tmp_path / name).chmod(0o755)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SHARDSWEEP_")}
        path = f"{tmp_path / 'tools'}:{os.environ['PATH']}"

        def call(script: str, *arguments: str, **changed: str) -> subprocess.CompletedProcess:
            return subprocess.run(
                [tmp_path / script, *arguments], env={**kept, "PATH": path, **changed}, capture_output=True, text=True,
                check=False, timeout=60,
            )  # fmt: skip

        return call

    return make
