# SPDX-License-Identifier: Apache-2.0
"""The ways of reads.toml to read what a policy hides, each in a sandbox whose policy has rules for files."""
import json
import os
import pathlib
import subprocess
import tempfile
import tomllib
import unittest

HERE = pathlib.Path(__file__).resolve().parent
GLOVEBOX = os.environ["GLOVEBOX"]
WAYS = tomllib.loads((HERE / "reads.toml").read_text())["way"]
READS = json.dumps(["secret.txt", "vault", "vault/key", WAYS])
HIDDEN = '[files.read]\nrefuse = ["secret.txt", "vault/*"]\n'
LISTED = '[files.read]\nallow = ["src/**", "/tmp/*"]\notherwise = "refuse"\n'
PYTHON = ["-l", "python", "-e"]
NAMED = "import os, sys\nfor name in os.environ['NAMES'].split():\n" \
        "  try: print(open(name).read().strip() or 'empty')\n" \
        "  except OSError as error: print(error.strerror)\n"


def run(policy, program, *options):
    """With src/given.py, secret.txt and vault/key in the workspace."""
    with tempfile.TemporaryDirectory() as folder:
        files = pathlib.Path(folder)
        (files / "p.toml").write_text(policy)
        (files / "secret.txt").write_text("hidden")
        for directory, name, text in (("src", "given.py", "given"), ("vault", "key", "hidden")):
            (files / directory).mkdir()
            (files / directory / name).write_text(text)
        copied = [option for name in ("secret.txt", "src", "vault") for option in ("--file", str(files / name))]
        return subprocess.run(
            [GLOVEBOX, "run", "--json", "--policy", str(files / "p.toml"), *copied, "--env", "READS=" + READS,
             *options, *program],
            capture_output=True, text=True, timeout=120, check=False)


def verdict_of(done):
    verdict = json.loads(done.stdout)
    assert verdict.get("status") == "ok", (verdict, done.stderr)
    return verdict


class ReadsTest(unittest.TestCase):
    maxDiff = None

    def read_by(self, policy, *options):
        verdict = verdict_of(run(policy, [str(HERE / "reader.py")], *options))
        given, read = json.loads(verdict["stdout"])
        self.assertEqual(given, "given")
        return verdict, read

    def test_no_way_reads_what_is_hidden(self):
        verdict, read = self.read_by(HIDDEN, "--tier", "native")
        self.assertEqual(read, [])
        self.assertEqual(verdict["walls"]["read"], "rules")

    def test_nor_what_a_list_does_not_name(self):
        verdict, read = self.read_by(LISTED, "--tier", "native")
        self.assertEqual(read, [])
        self.assertEqual(verdict["walls"]["read"], "rules")

    def test_nor_in_the_landlock_tier(self):
        verdict, read = self.read_by(LISTED, "--min-tier", "landlock", "--tier", "landlock")
        self.assertEqual(read, [])
        self.assertEqual(verdict["walls"]["read"], "rules")

    def test_without_the_policy_the_ways_read_it(self):
        verdict, read = self.read_by("[files.read]\nnote = ['x']\n", "--tier", "native")
        self.assertNotIn("read", verdict["walls"])
        self.assertGreater(len(read), 22, read)

    def test_a_tier_without_mounts_says_that_it_hides_nothing(self):
        verdict = verdict_of(run(HIDDEN, [*PYTHON, NAMED], "--min-tier", "landlock", "--tier", "landlock",
                                 "--env", "NAMES=secret.txt"))
        self.assertEqual(verdict["stdout"], "hidden\n")
        self.assertNotIn("read", verdict["walls"])
        self.assertTrue(any("can be read" in note for note in verdict["notes"]), verdict["notes"])

    def test_what_a_program_makes_itself_can_be_read_where_the_list_has_its_directory(self):
        code = "for name in NAMES:\n  open(name, 'w').write('own')\n"
        verdict = verdict_of(run(LISTED, [*PYTHON, "import os\nNAMES = os.environ['NAMES'].split()\n" + code + NAMED],
                                 "--tier", "native", "--env", "NAMES=src/own /tmp/own own"))
        self.assertEqual(verdict["stdout"], "own\nown\nPermission denied\n")

    def test_rules_for_reading_and_writing_hold_together(self):
        policy = LISTED + '[files.write]\nallow = ["out/*"]\nrefuse = ["out/kept/*"]\notherwise = "refuse"\n'
        code = ("import os\nfor name in os.environ['NAMES'].split():\n"
                "  for mode in 'rw':\n"
                "    try: open(name, mode).close(); print(name, mode)\n"
                "    except OSError: pass\n")
        verdict = verdict_of(run(policy, [*PYTHON, code], "--tier", "native",
                                 "--env", "NAMES=out/a src/given.py secret.txt out/kept/b"))
        self.assertEqual(verdict["stdout"], "out/a w\nsrc/given.py r\n")
        self.assertEqual((verdict["walls"]["read"], verdict["walls"]["write"]), ("rules", "rules"))

    def test_what_is_hidden_in_a_closed_place_is_hidden_and_the_rest_of_it_is_closed(self):
        policy = '[files.write]\nrefuse = ["vault/*"]\n[files.read]\nrefuse = ["vault/a/key"]\n'
        code = ("import os\nprint(sorted(os.listdir('vault')), os.listdir('vault/a'))\n"
                "for name in os.environ['NAMES'].split():\n"
                "  for mode in 'rw':\n"
                "    try: open(name, mode).close(); print(name, mode)\n"
                "    except OSError: pass\n")
        verdict = verdict_of(run(policy, [*PYTHON, code], "--tier", "native",
                                 "--env", "NAMES=vault/key vault/new vault/a/key vault/a/new"))
        self.assertEqual(verdict["stdout"], "['a', 'key'] ['key']\nvault/key r\n")

    def test_other_languages_start_under_a_list(self):
        for language, code in (
                ("bash", 'while read -r name; do $CAT "$name" || echo no; done <<< "${NAMES// /$NEWLINE}"'),
                ("javascript", "const fs = require('fs');\nfor (const name of process.env.NAMES.split(' ')) {\n"
                               "  try { console.log(fs.readFileSync(name, 'utf8')); } catch { console.log('no'); }\n}")):
            with self.subTest(language):
                verdict = verdict_of(run(LISTED, ["-l", language, "-e", code], "--tier", "native",
                                         "--env", "NAMES=src/given.py secret.txt", "--env", "CAT=cat", "--env", "NEWLINE=\n"))
                self.assertEqual(verdict["stdout"].replace("\n", ""), "givenno")

    def test_a_compiled_language_is_refused_unless_all_of_the_workspace_can_be_read(self):
        done = run(LISTED + "[languages]\nallow = ['c']\n", ["-l", "c", "-e", "int main(void) { return 0; }"], "--tier", "native")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("what is compiled in 'c'", done.stderr)


if __name__ == "__main__":
    unittest.main()
