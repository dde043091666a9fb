# SPDX-License-Identifier: Apache-2.0
"""Dry runs of commands: what they show, that they change nothing, and who decides."""

import unittest

from daemon import wait_until
from test_dry_runs import LONG, DryRuns


class CommandTest(DryRuns):
    """A command has no variables; all else is as with code."""

    def try_command(self, shell, **wishes):
        done = self.sandbox.must(200, "POST", "/commands", {"shell": shell, "dry_run": True, **wishes})
        self.assertIn("dry_run", done, done)
        return done

    def test_its_result_is_that_of_a_command_and_what_it_changed(self):
        self.sandbox.must(200, "POST", "/commands", {"shell": "echo old > f; echo x > gone"})
        done = self.try_command("read line; echo $line > f; rm gone; echo said; exit 3", stdin="new\n")
        self.assertEqual((done["stdout"], done["exit_code"]), ("said\n", 3))
        run = done["dry_run"]
        self.assertEqual(self.paths(run["files"]["modified"]), ["f"])
        self.assertEqual(run["files"]["modified"][0]["diff"], "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-old\n+new\n")
        self.assertEqual(self.paths(run["files"]["deleted"]), ["gone"])
        self.assertFalse({"variables", "context"} & set(run))
        self.assertEqual(self.undecided(), [run])
        self.decide(run, "discard")
        self.assertEqual((self.sandbox.read("f"), self.sandbox.read("gone")), (b"old\n", b"x\n"))
        self.decide(run, "commit", 404)

    def test_what_is_committed_stays_and_the_next_one_shows_its_own_changes(self):
        self.decide(self.try_command("echo 1 > f")["dry_run"], "commit")
        run = self.try_command("echo 2 > g")["dry_run"]
        self.assertEqual(self.paths(run["files"]["added"]), ["g"])
        self.decide(run, "discard")
        self.assertEqual(self.paths(self.sandbox.must(200, "GET", "/files")["entries"]), ["./f"])

    def test_what_it_left_behind_is_told_and_ends_and_an_interpreter_lives_on(self):
        self.context.execute("x = 7")
        run = self.try_command("setsid sleep 86421 > /dev/null 2>&1 &")["dry_run"]
        self.assertEqual(len(run["processes"]), 1, run)
        self.decide(run, "discard")
        self.assertEqual(self.value_of_processes("86421"), "0")
        self.assertEqual(self.context.value("x"), "7")

    def test_nothing_else_changes_the_sandbox_until_it_is_decided(self):
        run = self.try_command("true")["dry_run"]
        for path, body in ((f"/contexts/{self.context.id}/execute", {"code": "1"}),
                           ("/commands", {"shell": "true"}), ("/commands", {"shell": "true", "dry_run": True})):
            self.assertIn(run["id"], self.sandbox.must(409, "POST", path, body)["message"])
        self.decide(run, "commit")
        self.assertEqual(self.context.value("1 + 1"), "2")

    def test_its_time_is_over_whatever_becomes_of_the_daemon(self):
        run = self.try_command("echo 1 > f", dry_run_timeout=LONG)["dry_run"]
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(self.undecided(), [run])
        self.decide(run, "discard")
        run = self.try_command("echo 1 > f", dry_run_timeout="200ms")["dry_run"]
        wait_until(lambda: not self.undecided(), "the dry run is discarded")
        self.decide(run, "commit", 404)
        self.assertEqual(self.sandbox.must(200, "GET", "/files")["entries"], [])

    def test_a_command_that_cannot_be_started_leaves_no_dry_run(self):
        self.sandbox.must(404, "POST", "/commands", {"argv": ["/nothing"], "dry_run": True})
        self.sandbox.must(400, "POST", "/commands", {"shell": "true", "dry_run_timeout": "1m"})
        self.assertEqual(self.undecided(), [])

    def test_the_journal_says_that_it_was_one_and_who_decided(self):
        self.decide(self.try_command("true")["dry_run"], "commit")
        records = self.daemon.must(200, "GET", f"/v1/audit?limit=1000&sandbox={self.sandbox.id}")["records"]
        (started,) = [each for each in records if each["action"] == "process.start"]
        self.assertEqual((started["details"]["dry_run"], started["details"]["network_open"]), (True, False))
        self.assertIn("dry_run.commit", [each["action"] for each in records])


if __name__ == "__main__":
    unittest.main()
