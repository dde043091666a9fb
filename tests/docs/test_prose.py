#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/check_prose finds the wording that once stopped readers, and nothing in the tree."""
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What was written once, and what is written now.
PAIRS = (
    ("mend: install python3", "hint: install python3"),
    ("Arguments for the program stand behind `--`.", "Pass arguments to the program after `--`."),
    ("which walls can be built on this machine, and what would fix the others",
     "which protections this machine supports, and how to enable the rest"),
    ("It sees nothing of yours but what you name.",
     "It sees none of your files except the ones you pass."),
    ("Programs use it when three environment variables lead there.",
     "To point E2B's JavaScript SDKs at it, set three environment variables."),
    ("Without more they use the socket.", "By default they use the socket."),
    ("A request shows it as `Authorization`.", "Send it as `Authorization`."),
    ("`--key` shows a key.", "`--key` passes an API key."),
    ("It takes a key, too.", "It also requires a key."),
    ("It answers at once.", "It accepts requests immediately."),
    ("A key is told once, when it is made.", "A key is shown only once, when it is created."),
    ("What it bears", "Failure modes"),
    ("The answer are lines of events.", "The response is a stream of events."),
    ("A root of one's own", "A custom root file system"),
    ("a daemon of root's", "a daemon running as root"),
    ("A suite of Debian's", "a Debian suite"),
    ("Whoever wants `stop` to end everything takes it away.",
     "To make `stop` end everything, remove it."),
    ("Who has a key with the scope `admin` rules all of them.",
     "A key with the `admin` scope controls all tenants."),
    ("The message says why and names the mend.", "The message says why and how to fix it."),
    ("An interpreter that dies ends the run in any case.", "A crash always ends the run."),
    ("the file is no notebook", "the file is not a notebook"),
    ("'x' is no HOST:PORT", "'x' is not of the form HOST:PORT"),
    ("'x' is no size", "'x' is not a valid size"),
    ("Go on behind cells that fail", "Continue after a cell fails"),
    ("field 'code': a text is wanted", "field 'code': expected a string"),
    ("the body is to be application/json", "Content-Type must be application/json"),
    ("glovebox ends; requests under way have 10000 ms",
     "shutting down; waiting up to 10 s for running requests"),
    ("the cell used more memory than it may", "the cell exceeded its memory limit (512 MiB)"),
)


def check(name, text):
    """The status of the check for a file of this name, and what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / name
        path.write_text(text, encoding="utf-8")
        done = subprocess.run([ROOT / "tools/check_prose", path], capture_output=True, text=True,
                              check=False)
        return done.returncode, done.stdout + done.stderr


class Prose(unittest.TestCase):
    def test_each_old_phrase_is_found(self):
        for old, _ in PAIRS:
            with self.subTest(old):
                self.assertEqual(check("page.md", f"# A page\n\n{old}\n")[0], 1)

    def test_what_is_written_now_is_left_alone(self):
        status, said = check("page.md", "".join(f"{new}\n\n" for _, new in PAIRS))
        self.assertEqual((status, said), (0, ""))

    def test_strings_of_the_program_are_read_wherever_they_are_split(self):
        status, said = check("error.cc", 'auto a = Error("it is "\n              "no notebook");\n')
        self.assertEqual(status, 1)
        self.assertIn("error.cc:1:", said)
        self.assertEqual(check("help.cc", 'auto a = R"(a text is wanted)";\n')[0], 1)

    def test_code_and_comments_are_no_prose(self):
        self.assertEqual(check("page.md", "A `mend` and\n\n```sh\nmend\n```\n"), (0, ""))
        self.assertEqual(check("error.cc", "int mend();  // a text is wanted\n"), (0, ""))

    def test_the_tree_has_none(self):
        done = subprocess.run([ROOT / "tools/check_prose"], capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_a_proselint_that_does_not_understand_us_is_no_clean_page(self):
        with tempfile.TemporaryDirectory() as folder:
            linter = pathlib.Path(folder) / "proselint"
            linter.write_text("#!/bin/sh\necho 'invalid choice' >&2\nexit 2\n", encoding="utf-8")
            linter.chmod(0o755)
            done = subprocess.run([ROOT / "tools/check_prose", "--proselint", ROOT / "README.md"],
                                  capture_output=True, text=True, check=False,
                                  env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
        self.assertEqual((done.returncode, done.stderr),
                         (1, "check_prose: proselint failed: invalid choice\n"))

    def test_lines_of_prose_have_a_hundred_characters(self):
        self.assertIn('"README.md"', (ROOT / "tools/check_prose").read_text(encoding="utf-8"))
        longest = max((line for line in (ROOT / "README.md").read_text().splitlines()
                       if not line.startswith("|")), key=len)
        self.assertLessEqual(len(longest), 100, longest)


if __name__ == "__main__":
    unittest.main()
