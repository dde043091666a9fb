# SPDX-License-Identifier: Apache-2.0
"""`glovebox run --dry-run`: what a program would write is shown, and written when somebody agrees."""

import json
import os
import pathlib
import pty
import subprocess
import tempfile

from program import GLOVEBOX, PATIENCE_S, Case, run

CODE = "open('new', 'w').write('n\\n'); open('old', 'w').write('2\\n'); print('done')"


class DryRun(Case):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.out = pathlib.Path(place.name) / "out"
        self.out.mkdir()
        (self.out / "old").write_text("1\n")

    def rehearse(self, *options, code=CODE, **how):
        return run("-l", "python", "-e", code, "--out", str(self.out), "--dry-run", *options, **how)

    def contents(self):
        return {path.name: path.read_text() for path in self.out.iterdir()}

    def test_nothing_is_written_without_an_answer(self):
        answer = self.rehearse()
        self.assert_status(answer, 0)
        self.assertEqual(self.contents(), {"old": "1\n"})
        for part in ("A new  2 B\n", "M old  2 B -> 2 B\n", "-1\n", "+2\n", "nothing was written", "use --yes"):
            self.assertIn(part, answer.message)

    def test_yes_writes_what_was_shown(self):
        answer = self.rehearse("--yes")
        self.assert_status(answer, 0)
        self.assertEqual(self.contents(), {"old": "2\n", "new": "n\n"})
        self.assertIn("glovebox: written", answer.message)

    def test_json_lists_it_and_says_whether_it_was_written(self):
        for options, written in (((), False), (("--yes",), True)):
            verdict = self.rehearse("--json", *options).verdict
            self.assertEqual(verdict["stdout"], "done\n")
            shown = verdict["dry_run"]
            self.assertEqual([each["path"] for each in shown["files"]["added"]], ["new"])
            self.assertIn("-1\n+2\n", shown["files"]["modified"][0]["diff"])
            self.assertEqual(shown["committed"], written)
        self.assertEqual(self.contents(), {"old": "2\n", "new": "n\n"})

    def test_files_that_are_there_already_are_no_change(self):
        self.rehearse("--yes")
        answer = self.rehearse()
        self.assertIn("nothing has changed", answer.message)

    def test_without_a_place_to_write_to_it_shows_what_was_made(self):
        answer = run("-l", "python", "-e", CODE, "--dry-run", "--yes")
        self.assert_status(answer, 0)
        self.assertIn("A new", answer.message)
        self.assertIn("there is no --out", answer.message)

    def test_a_place_that_is_not_there_is_made_with_the_answer_and_not_before(self):
        self.out = self.out / "later"
        self.rehearse()
        self.assertFalse(self.out.exists())
        self.rehearse("--yes")
        self.assertEqual(self.contents(), {"old": "2\n", "new": "n\n"})

    def test_the_network_is_closed_and_told(self):
        code = "import urllib.request\ntry: urllib.request.urlopen('http://example.com/')\nexcept Exception as e: print(e)"
        verdict = self.rehearse("--json", "--allow-net", "example.com:80", code=code).verdict
        self.assertIn("403", verdict["stdout"])
        self.assertEqual(verdict["dry_run"]["hosts"], [{"host": "example.com", "port": 80, "verdict": "denied"}])

    def test_nothing_is_left_behind_in_the_temporary_directory(self):
        place = self.out / "tmp"
        place.mkdir()
        self.rehearse(env=dict(os.environ, TMPDIR=str(place)))
        self.assertEqual(list(place.iterdir()), [])

    def test_options_that_need_it_are_refused_without(self):
        for options in (("--yes",), ("--dry-run-network", "open"), ("--dry-run", "--watch")):
            self.assert_status(run("-l", "sh", "-e", "true", *options), 2)

    def ask(self, reply):
        """What is said at a terminal whose person replies this."""
        mine, theirs = pty.openpty()
        self.addCleanup(os.close, mine)
        process = subprocess.Popen(
            [GLOVEBOX, "run", "-l", "python", "-e", CODE, "--out", str(self.out), "--dry-run"],
            stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        said = b""
        while b"[y/N] " not in said:
            said += os.read(mine, 4096)
        os.write(mine, reply)
        while True:
            try:
                said += os.read(mine, 4096)
            except OSError:
                break
        return process.wait(PATIENCE_S), said.decode()

    def test_a_person_is_asked_with_colours(self):
        status, said = self.ask(b"n\n")
        self.assertEqual((status, self.contents()), (0, {"old": "1\n"}))
        self.assertIn("\x1b[32m+2", said)
        self.assertIn("nothing was written", said)

    def test_a_person_may_agree(self):
        status, _ = self.ask(b"yes\n")
        self.assertEqual((status, self.contents()), (0, {"old": "2\n", "new": "n\n"}))
