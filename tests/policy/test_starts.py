# SPDX-License-Identifier: Apache-2.0
"""The ways of starts.toml to start a program, each in a sandbox whose policy has rules for commands."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import tomllib
import unittest

HERE = pathlib.Path(__file__).resolve().parent
GLOVEBOX = os.environ["GLOVEBOX"]
WAYS = tomllib.loads((HERE / "starts.toml").read_text())["way"]
REFUSING = "[commands]\nrefuse = ['rm']\n"
ALLOWING = ("[commands]\notherwise = 'refuse'\n"
            "allow = ['sh', 'dash', 'env', 'xargs', 'find', 'timeout', 'nice', 'setsid', 'echo']\n")


def run(policy, program, *options):
    with tempfile.TemporaryDirectory() as folder:
        files = pathlib.Path(folder)
        (files / "p.toml").write_text(policy)
        (files / "starts.json").write_text(json.dumps(WAYS))
        return subprocess.run(
            [GLOVEBOX, "run", "--json", "--policy", str(files / "p.toml"), "--file",
             str(files / "starts.json"), *options, *program],
            capture_output=True, text=True, timeout=120, check=False)


def started(policy, tier):
    done = run(policy, [str(HERE / "starter.py")], "--min-tier", "landlock", "--tier", tier)
    verdict = json.loads(done.stdout)
    assert verdict["status"] == "ok", verdict
    return verdict, json.loads(verdict["stdout"])


class StartsTest(unittest.TestCase):
    maxDiff = None

    def check(self, tier, policy, column):
        verdict, found = started(policy, tier)
        self.assertEqual(verdict["walls"]["exec"], "rules")
        wanted = {way["name"]: way.get("landlock" if tier == "landlock" else "", way.get(column, False))
                  for way in WAYS}
        self.assertEqual(dict(zip(wanted, found, strict=True)), wanted)

    def test_native_refuses_what_a_policy_refuses(self):
        self.check("native", REFUSING, "refusing")

    def test_native_starts_only_what_a_policy_names(self):
        self.check("native", ALLOWING, "allowing")

    def test_landlock_refuses_what_a_policy_refuses(self):
        self.check("landlock", REFUSING, "refusing")

    def test_landlock_starts_only_what_a_policy_names(self):
        self.check("landlock", ALLOWING, "allowing")

    def test_without_rules_every_way_starts_a_program(self):
        verdict, found = started("[commands]\nask = ['rm']\n", "native")
        self.assertNotIn("exec", verdict["walls"])
        self.assertEqual([way["name"] for way, did in zip(WAYS, found, strict=True) if not did], [])


class RulesTest(unittest.TestCase):
    def test_a_compiled_program_starts_where_the_policy_lets_written_programs(self):
        with tempfile.NamedTemporaryFile("w", suffix=".c") as program:
            program.write('#include <stdio.h>\nint main(void) { puts("ran"); }\n')
            program.flush()
            policy = REFUSING + "[languages]\nallow = ['c']\n"
            refused = run(policy, [program.name])
            self.assertEqual(refused.returncode, 126, refused.stderr)
            self.assertIn("compiled there", refused.stderr)
            ran = run(policy.replace("[languages]", "written = 'allow'\n[languages]"), [program.name])
            self.assertEqual(json.loads(ran.stdout)["stdout"], "ran\n", ran.stderr)

    @unittest.skipUnless(shutil.which("runsc"), "gVisor's runsc is not installed")
    def test_a_tier_that_cannot_hold_the_rules_is_refused(self):
        refused = run(REFUSING, ["-l", "python", "-e", "print(1)"], "--tier", "gvisor")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("the gvisor tier does not enforce the rules of a policy for commands and files", refused.stderr)

    def test_a_guest_that_is_root_is_refused(self):
        refused = run(REFUSING, ["-l", "python", "-e", "print(1)"], "--user", "root")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("rules for commands and files do not hold for a guest that is root", refused.stderr)


if __name__ == "__main__":
    unittest.main()
