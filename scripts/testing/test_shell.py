# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the scripts share, and what they refuse. Run by test.sh."""

import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).parent


def bash(text: str, folder: Path = HERE) -> subprocess.CompletedProcess:
    """What bash does with these lines."""
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text], cwd=folder, capture_output=True, text=True, check=False
    )


class Shell(unittest.TestCase):
    def test_a_check_that_fails_with_much_output_does_not_end_the_others(self):
        done = bash("source ../lib.sh; source ./check.sh; check one eval 'seq 100000; false'; check two true; finish")
        said = done.stdout.splitlines()
        self.assertEqual((done.returncode, said[0], said[1]), (1, "FAILED: one", "1"))
        self.assertEqual(said[-2:], ["ok: two", "bash: 1 of 2 checks passed"])

    def test_code_that_no_commit_has_marks_the_revision(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "scripts").mkdir()
            (folder / "policy").mkdir()
            (folder / "scripts/lib.sh").write_text((HERE.parent / "lib.sh").read_text())
            git = "git -c user.name=A -c user.email=a@b"
            bash(f"git init -q; git add -A; {git} commit -qm one", folder)
            ask = "source scripts/lib.sh; source_revision"
            self.assertRegex(bash(ask, folder).stdout, r"^[0-9a-f]{40}\n$")
            (folder / "notes.txt").touch()
            self.assertRegex(bash(ask, folder).stdout, r"^[0-9a-f]{40}\n$")
            (folder / "policy/new.rs").touch()
            self.assertRegex(bash(ask, folder).stdout, r"^[0-9a-f]{40}-dirty\n$")
            (folder / "scripts/lib.sh").write_text((HERE.parent / "lib.sh").read_text() + "# more\n")
            self.assertRegex(bash(ask, folder).stdout, r"^[0-9a-f]{40}-dirty\n$")
        with tempfile.TemporaryDirectory() as name:
            lib = HERE.parent / "lib.sh"
            self.assertEqual(bash(f"source {lib}; ROOT={name}; source_revision", Path(name)).stdout, "unknown\n")

    def test_runs_are_kept_where_machine_commit_and_command_are_the_same(self):
        with tempfile.TemporaryDirectory() as name:
            python = Path(name, "venv/bin/python")
            python.parent.mkdir(parents=True)
            python.write_text('#!/bin/sh\n[ "$4" != fails ] && echo "$4" >"$3"\n')
            python.chmod(0o755)
            runs = Path(name, "to/runs.csv")
            for said, rows, kept in (
                ("one", "", False), ("one", "1\n", True), ("another", "1\n", False), ("another", "1\n2\n", False),
                ("one-dirty", "", False), ("one-dirty", "1\n", False),
            ):  # fmt: skip
                if rows:
                    runs.write_text(f"run\n{rows}")
                done = bash(f"source ../lib.sh; source ./check.sh; OUT={name}; begin_runs {name}/to run 2 {said}")
                self.assertEqual(
                    (done.returncode, done.stderr, runs.read_text()), (0, "", f"run\n{rows if kept else ''}")
                )
            done = bash(f"source ../lib.sh; source ./check.sh; OUT={name}; begin_runs {name}/to run 1 fails; echo on")
            self.assertEqual((done.returncode, done.stdout), (1, ""))

    def test_no_step_is_no_success(self):
        for nothing in ("''", "+", "' '"):
            done = bash(f"./test.sh {nothing}")
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, r"^test: error: (no step is named|there is no step ''): shell lint [^\n]*\n$")

    def test_a_program_that_lists_no_case_is_no_success(self):
        for program, said in (("true", "lists no case"), ("false", "does not list its cases")):
            for step in ("corner_cases", "secure"):
                with self.subTest(program=program, step=step), tempfile.TemporaryDirectory() as name:
                    for made in ("corners", "secure"):
                        Path(name, made).symlink_to(f"/bin/{program}")
                    done = bash(f"source ./test-malloc.sh; WORK={name}; gcc() {{ :; }}; {step}")
                    self.assertEqual((done.returncode, done.stdout), (1, ""))
                    self.assertRegex(done.stderr, rf"^bash: error: {name}/(corners|secure) {said}\n$")


if __name__ == "__main__":
    unittest.main()
