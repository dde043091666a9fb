# SPDX-License-Identifier: Apache-2.0
"""Policies that want a dry run before a person is asked."""

import subprocess
import unittest

from daemon import GLOVEBOX, Daemon, wait_until

POLICY = """
dry_run = true
[python.calls]
ask = ["eval"]
refuse = ["os.system"]
[javascript.calls]
ask = ["eval"]
"""
CODE = "x = eval('2'); open('report', 'w').write('new\\n'); print('out')"
LONG = "10m"


def start_daemon(case, time=LONG):
    daemon = Daemon()
    case.addClassCleanup(daemon.discard)
    policy = daemon.dir / "policy.toml"
    policy.write_text(POLICY)
    policy.chmod(0o644)
    daemon.options = ["--policy", str(policy), "--approval-time", time]
    return daemon.start()


class Asked(unittest.TestCase):
    """A context in which x is 1 and a report is old."""

    TIME = LONG

    @classmethod
    def setUpClass(cls):
        cls.daemon = start_daemon(cls, cls.TIME)

    def setUp(self):
        self.sandbox = self.daemon.create()
        self.addCleanup(self.daemon.ask, "DELETE", self.sandbox.path)
        self.context = self.sandbox.context()
        self.context.execute("x = 1; open('report', 'w').write('old\\n')")

    def start(self, code=CODE, **wishes):
        """The events, and what is asked."""
        events = self.context.start(code, **wishes)
        self.addCleanup(events.close)
        id = events.until("approval_needed")["id"]
        (question,) = [each for each in self.waiting() if each["id"] == id]
        return events, question

    def waiting(self):
        return self.daemon.must(200, "GET", "/v1/approvals")["approvals"]

    def undecided(self):
        return self.sandbox.must(200, "GET", "/dry-runs")["dry_runs"]

    def decide(self, question, decision, status=204, **more):
        self.daemon.must(status, "POST", f"/v1/approvals/{question['id']}",
                         {"decision": decision, "hash": question["hash"], **more})

    def assert_unchanged(self):
        wait_until(lambda: not self.undecided(), "nothing waits for a decision")
        self.assertEqual(self.context.value("(x, open('report').read())"), "(1, 'old\\n')")


class DecidedTest(Asked):
    def test_the_question_shows_what_it_would_change(self):
        events, question = self.start()
        run = question["dry_run"]
        self.assertIn("-old\n+new\n", run["files"]["modified"][0]["diff"])
        (changed,) = run["variables"]["changed"]
        self.assertEqual((changed["name"], changed["value_before"], changed["value"]), ("x", "1", "2"))
        self.assertIsNone(question["no_dry_run"])
        self.decide(question, "refuse")
        list(events)

    def test_agreeing_keeps_it_and_then_tells_what_it_printed(self):
        events, question = self.start()
        self.decide(question, "allow")
        rest = list(events)
        self.assertEqual([each["text"] for each in rest if each["type"] == "stdout"], ["out\n"])
        self.assertEqual(rest[-1]["status"], "ok")
        self.assertTrue(rest[-1]["dry_run"]["committed"])
        self.assertEqual(self.context.value("(x, open('report').read())"), "(2, 'new\\n')")

    def test_refusing_takes_it_back_and_tells_nothing(self):
        events, question = self.start()
        self.decide(question, "refuse")
        (failed,) = list(events)
        self.assertEqual((failed["type"], failed["code"]), ("failed", 403))
        self.assert_unchanged()

    def test_who_leaves_takes_it_back(self):
        events, _ = self.start()
        events.close()
        self.assert_unchanged()

    def test_whoever_ran_it_can_discard_it_but_not_commit_it(self):
        events, question = self.start()
        path = f"/dry-runs/{question['dry_run']['id']}"
        self.assertIn("only by an approval", self.sandbox.must(403, "POST", path + "/commit")["message"])
        self.sandbox.must(204, "POST", path + "/discard")
        self.decide(question, "allow")
        self.assertEqual(list(events)[-1]["code"], 404)
        self.assert_unchanged()

    def test_the_hash_is_of_its_effects_too(self):
        events, first = self.start("y = eval('x')")
        self.decide(first, "refuse")
        list(events)
        self.context.execute("x = 5")
        events, other = self.start("y = eval('x')")
        self.assertNotEqual(first["hash"], other["hash"])
        self.decide({**other, "hash": first["hash"]}, "allow", status=409)
        self.decide(other, "refuse")
        list(events)

    def test_an_execution_that_is_asked_for_again_is_not_executed_again(self):
        key = {"Idempotency-Key": "once"}
        events, question = self.start("x += eval('1'); print(x)", headers=key)
        self.decide(question, "allow")
        list(events)
        again = self.context.execute("x += eval('1'); print(x)", headers=key)
        self.assertEqual((again["stdout"], again["dry_run"]["id"]), ("2\n", question["dry_run"]["id"]))
        self.assertEqual(self.context.value("x"), "2")

    def test_what_it_bound_is_known_to_the_next_cell(self):
        events, question = self.start("import os as o; eval('1')")
        self.decide(question, "allow")
        list(events)
        self.assertEqual(self.context.must(403, "POST", "/execute", {"code": "o.system('true')"})["error"],
                         "refused")

    def test_the_command_line_shows_the_changes_beside_the_findings(self):
        events, question = self.start()
        done = subprocess.run(
            [GLOVEBOX, "approve", question["id"], "--yes", "--url", f"unix:{self.daemon.unix}"],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
        self.assertEqual(done.returncode, 0, done)
        for text in ("B307", "dry run, which an approval commits:", "+new"):
            self.assertIn(text, done.stderr)
        self.assertEqual(list(events)[-1]["type"], "verdict")


class WithoutTest(Asked):
    """Where there can be no dry run, a person is asked before anything runs."""

    def asked_without(self, events, reason):
        id = events.until("approval_needed")["id"]
        (question,) = [each for each in self.waiting() if each["id"] == id]
        self.assertIsNone(question["dry_run"])
        self.assertIn(reason, question["no_dry_run"])
        self.decide(question, "allow")
        verdict = list(events)[-1]
        self.assertEqual(verdict["status"], "ok", verdict)
        return verdict

    def test_input_tools_and_dry_runs_themselves(self):
        for wishes, reason in (({"allow_input": True}, "input"), ({"tools": [{"name": "t"}]}, "tools")):
            with self.subTest(reason):
                self.asked_without(self.context.start("eval('1')", **wishes), reason)
        verdict = self.asked_without(self.context.start("eval('1')", dry_run=True), "dry run itself")
        self.sandbox.must(204, "POST", f"/dry-runs/{verdict['dry_run']['id']}/commit")

    def test_another_language(self):
        context = self.sandbox.context("javascript")
        self.asked_without(context.start("eval('1')"), "")

    def test_a_run_of_its_own(self):
        events = self.daemon.stream("POST", "/v1/run", {"language": "python", "code": "eval('1')"})
        self.asked_without(events, "only code that is executed in a context")


class InTimeTest(Asked):
    TIME = "1s"

    def test_what_nobody_decides_in_time_is_taken_back(self):
        events, _ = self.start()
        self.assertIn("in time", list(events)[-1]["message"])
        self.assert_unchanged()


class KilledTest(Asked):
    def test_a_daemon_that_dies_leaves_nothing_that_can_be_committed(self):
        _, question = self.start()
        self.daemon.kill()
        self.daemon.start()
        (run,) = self.undecided()
        self.assertEqual(run["id"], question["dry_run"]["id"])
        self.sandbox.must(403, "POST", f"/dry-runs/{run['id']}/commit")
        self.sandbox.must(204, "POST", f"/dry-runs/{run['id']}/discard")
        self.assert_unchanged()


if __name__ == "__main__":
    unittest.main()
