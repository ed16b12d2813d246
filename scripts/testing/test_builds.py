# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests of builds.py."""

import json
import subprocess
import sys
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "building" / "builds.py"


def run(*arguments):
    """Runs builds.py as the shell scripts do."""
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True)


class Builds(unittest.TestCase):
    def test_names_leave_out_what_is_built_on_demand(self):
        names = run("names").stdout.split()
        self.assertIn("stock", names)
        self.assertIn("malloc-mimalloc3", names)
        self.assertNotIn("stock-sanity", names)
        self.assertNotIn("malloc-mimalloc3-64kpage", names)

    def test_debug_builds_have_their_own_profile(self):
        self.assertEqual(
            run("cargo", "stock").stdout.split()[:4], ["--package", "shardsweep-mmtk", "--profile", "release"]
        )
        arguments = run("cargo", "stock-sanity").stdout.split()
        self.assertEqual(arguments[3:], ["debug-assertions", "--features", "sanity"])

    def test_description_has_every_field(self):
        description = json.loads(run("describe", "stock", "0123abc-dirty").stdout)
        self.assertEqual(description["build"], "stock")
        self.assertEqual(description["mmtk_version"], "0.33.0")
        self.assertEqual(description["features"], [])
        self.assertEqual(description["block_size"], 65536)
        self.assertEqual(description["accounting"], "block")
        self.assertEqual(description["source_revision"], "0123abc-dirty")
        self.assertGreaterEqual(description["abi_version"], 1)

    def test_configurations_of_the_experiments_are_those_of_the_table(self):
        made = run("configurations").stdout
        self.assertEqual((SCRIPT.parents[2] / "configs" / "builds.yml").read_text(), made)
        self.assertIn('  ms-64k-block: "jdk|common|ms_64k_block|mmtk_gc-MarkSweep"\n', made)
        self.assertIn('  stock-Immix: "jdk|common|stock|mmtk_gc-Immix"\n', made)
        self.assertIn('val: "-XX:+UseThirdPartyHeap -XX:ThirdPartyHeapPlugin=malloc-mimalloc3-64kpage"\n', made)
        self.assertNotIn("sanity", made)
        self.assertNotIn("debug", made)

    def test_unknown_build_is_refused_with_the_choices(self):
        for command in (["cargo", "nothing"], ["describe", "nothing", "0"]):
            result = run(*command)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr, r"^plugin: error: there is no build 'nothing': .*stock.*\n$")


if __name__ == "__main__":
    unittest.main()
