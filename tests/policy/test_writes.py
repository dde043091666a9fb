# SPDX-License-Identifier: Apache-2.0
"""The ways of writes.toml to change a file, each in a sandbox whose policy has rules for files."""
import json
import os
import pathlib
import subprocess
import tempfile
import tomllib
import unittest

HERE = pathlib.Path(__file__).resolve().parent
GLOVEBOX = os.environ["GLOVEBOX"]
WAYS = tomllib.loads((HERE / "writes.toml").read_text())["way"]
POLICY = """
[files.write]
allow = ["out/*", "/tmp/*"]
note = ["report.txt"]
otherwise = "refuse"
"""
PYTHON = ["-l", "python", "-e"]


def run(policy, program, *options):
    with tempfile.TemporaryDirectory() as folder:
        files = pathlib.Path(folder)
        (files / "p.toml").write_text(policy)
        (files / "writes.json").write_text(json.dumps([["given.txt", "report.txt"], "out", "/dev/shm/a", WAYS]))
        (files / "given.txt").write_text("given")
        return subprocess.run(
            [GLOVEBOX, "run", "--json", "--policy", str(files / "p.toml"), "--file",
             str(files / "writes.json"), "--file", str(files / "given.txt"), *options, *program],
            capture_output=True, text=True, timeout=120, check=False)


def verdict_of(done):
    verdict = json.loads(done.stdout)
    assert verdict.get("status") == "ok", (verdict, done.stderr)
    return verdict


class WritesTest(unittest.TestCase):
    maxDiff = None

    def check(self, tier):
        verdict = verdict_of(run(POLICY, [str(HERE / "writer.py")], "--min-tier", "landlock", "--tier", tier))
        self.assertEqual(verdict["walls"]["write"], "rules")
        found = json.loads(verdict["stdout"])
        wanted = {way["name"]: way.get("written", False) for way in WAYS}
        self.assertEqual(dict(zip(wanted, found, strict=True)), wanted)

    def test_native_lets_write_only_what_the_policy_names(self):
        self.check("native")

    def test_landlock_lets_write_only_what_the_policy_names(self):
        self.check("landlock")

    def test_without_walls_each_way_changes_a_file(self):
        verdict = verdict_of(run("[files.write]\nnote = ['out/*']\n", [str(HERE / "writer.py")]))
        self.assertNotIn("write", verdict["walls"])
        found = json.loads(verdict["stdout"])
        self.assertEqual([way["name"] for way, did in zip(WAYS, found, strict=True) if not did], [])

    def test_what_is_written_comes_out(self):
        with tempfile.TemporaryDirectory() as out:
            done = run(POLICY, [*PYTHON, "open('out/a.txt', 'w').write('done')"], "--out", out)
            verdict_of(done)
            self.assertEqual((pathlib.Path(out) / "out/a.txt").read_text(), "done")

    def test_two_policies_leave_what_both_allow(self):
        with tempfile.TemporaryDirectory() as folder:
            other = pathlib.Path(folder) / "q.toml"
            other.write_text('[files.write]\nallow = ["out/plots/*"]\notherwise = "refuse"\n')
            code = ("import os\nfor path in os.environ['NAMES'].split():\n"
                    "  try: open(path, 'w'); print(path)\n"
                    "  except OSError: pass\n")
            done = run(POLICY, [*PYTHON, code], "--policy", str(other),
                       "--env", "NAMES=out/a.txt out/plots/a.txt")
            self.assertEqual(verdict_of(done)["stdout"], "out/plots/a.txt\n")

    def test_a_guest_that_is_root_is_refused(self):
        refused = run(POLICY, [*PYTHON, "print(1)"], "--user", "root")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("rules for commands and files do not hold for a guest that is root", refused.stderr)


if __name__ == "__main__":
    unittest.main()
