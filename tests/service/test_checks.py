# SPDX-License-Identifier: Apache-2.0
"""What has to hold of a run before it counts as ok, by its request and by policies."""

import json
import unittest

from daemon import Daemon, shared_daemon
from tenant import Tenant

TOTAL = {"type": "object", "required": ["total"], "properties": {"total": {"type": "integer"}}}
PRINTS = "import json; print(json.dumps({'total': %s}))"
POLICY = """
[checks]
files = ["report.txt"]
output_schema = '{"type": "object"}'
"""


def passed(verdict):
    return [(each["check"], each["passed"]) for each in verdict["checks"]]


class ByRequestTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = shared_daemon()

    def run_with(self, checks, code, status=200):
        body = {"language": "python", "code": code, "checks": checks}
        return self.daemon.must(status, "POST", "/v1/run", body)

    def test_a_run_of_which_all_holds_is_ok(self):
        checks = {"commands": ["test -s a"], "files": ["a"], "output_schema": TOTAL}
        verdict = self.run_with(checks, PRINTS % 3 + "; open('a', 'w').write('x')")
        self.assertEqual(verdict["status"], "ok")
        self.assertEqual(
            passed(verdict), [("command", True), ("file", True), ("output_schema", True)])

    def test_each_check_that_does_not_hold_takes_ok_and_says_why(self):
        for checks, word in (
            ({"commands": ["true", "echo no >&2; exit 3"]}, "exit status 3: no"),
            ({"files": ["a", "b"]}, "not made it"),
            ({"files": ["code"]}, "not made it"),
            ({"output_schema": TOTAL}, "total"),
            ({"output_schema": {"$ref": "http://localhost/schema"}}, "the schema"),
            ({"output_schema": {"$schema": "https://json-schema.org/draft/2020-12/schema"}},
             "not checked here"),
        ):
            verdict = self.run_with(checks, PRINTS % "'3'" + "; open('a', 'w')")
            self.assertEqual((verdict["status"], verdict["exit_code"]), ("unverified", 0), checks)
            failed = [each for each in verdict["checks"] if not each["passed"]]
            self.assertEqual(len(failed), 1, verdict["checks"])
            self.assertIn(word, failed[0]["reason"])

    def test_a_pattern_or_a_reference_that_never_ends_has_not_passed(self):
        for schema in (
            {"type": "string", "pattern": "^(a+)+$"},
            {"$ref": "#"},
            {"definitions": {"a": {"allOf": [{"$ref": "#/definitions/a"}]}},
             "$ref": "#/definitions/a"},
        ):
            verdict = self.run_with(
                {"output_schema": schema}, "import json; print(json.dumps('a' * 40 + '!'))")
            self.assertEqual(verdict["status"], "unverified", schema)

    def test_output_that_was_cut_has_not_passed(self):
        body = {"language": "python", "code": "print('1' * 100000)", "checks": {"output_schema": {}},
                "limits": {"output": 1000}}
        verdict = self.daemon.must(200, "POST", "/v1/run", body)
        self.assertEqual(verdict["status"], "unverified")
        self.assertIn("more output", verdict["checks"][0]["reason"])

    def test_what_did_not_end_with_ok_is_not_checked(self):
        verdict = self.run_with({"files": ["a"], "output_schema": TOTAL}, "raise SystemExit(4)")
        self.assertEqual((verdict["status"], verdict["exit_code"]), ("error", 4))
        self.assertNotIn("checks", verdict)

    def test_what_is_no_check_is_refused(self):
        for checks in ({"file": ["a"]}, {"files": [""]}, {"files": ["a"] * 33}, {"commands": "x"},
                       {"output_schema": "{}"}, {"review": 1}, []):
            self.run_with(checks, "1", status=400)


class ReviewTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        cls.daemon.options = ["--approval-time", "2s"]
        cls.daemon.start()

    def events(self, **checks):
        body = {"language": "python", "code": "print('said')",
                "checks": {"review": "It says something.", **checks}}
        events = self.daemon.stream("POST", "/v1/run", body)
        self.addCleanup(events.close)
        return events

    def answered(self, reply, key="own", status=204):
        for event in self.events():
            if event["type"] == "tool_call":
                asked = event
                answer = self.daemon.ask("POST", f"/v1/reviews/{event['id']}", reply, key=key)
                self.assertEqual(answer.status, status, answer)
        return asked, event

    def test_a_model_that_agrees_makes_it_ok(self):
        asked, verdict = self.answered({"ok": True, "reason": "it does"})
        self.assertEqual((asked["name"], asked["arguments"]["criteria"]),
                         ("review", "It says something."))
        self.assertEqual((asked["arguments"]["code"], asked["arguments"]["stdout"]),
                         ("print('said')", "said\n"))
        self.assertEqual((verdict["type"], verdict["status"]), ("verdict", "ok"))
        self.assertEqual(verdict["checks"][-1]["reason"], "it does")

    def test_a_model_that_does_not_takes_ok(self):
        _, verdict = self.answered({"ok": False, "reason": "it lies"})
        self.assertEqual(verdict["status"], "unverified")
        self.assertEqual(verdict["checks"], [{"check": "review", "passed": False,
                                              "what": "It says something.", "reason": "it lies"}])

    def test_what_nobody_answers_in_time_has_not_passed(self):
        *_, verdict = self.events()
        self.assertEqual(verdict["status"], "unverified")
        self.assertIn("in time", verdict["checks"][0]["reason"])

    def test_what_is_no_answer_and_an_answer_of_others_count_for_nothing(self):
        for reply, status in (({}, 400), ({"ok": "true"}, 400), ({"ok": True, "more": 1}, 400)):
            self.assertEqual(self.answered(reply, status=status)[1]["status"], "unverified")
        other = Tenant(self.daemon, "other")
        for event in self.events():
            if event["type"] == "tool_call":
                other.must(404, "POST", f"/v1/reviews/{event['id']}", {"ok": True})
        self.assertEqual(event["status"], "unverified")

    def test_an_answer_is_taken_once(self):
        for event in self.events():
            if event["type"] == "tool_call":
                path = f"/v1/reviews/{event['id']}"
                statuses = sorted(self.daemon.ask("POST", path, {"ok": ok}).status
                                  for ok in (False, True))
                self.assertIn(statuses, ([204, 404], [204, 409]))
        self.assertEqual(event["status"], "unverified")

    def test_what_has_failed_another_check_is_not_reviewed(self):
        events = list(self.events(files=["a"]))
        self.assertNotIn("tool_call", [each["type"] for each in events])
        self.assertEqual(events[-1]["status"], "unverified")

    def test_reviews_and_checks_are_recorded_without_what_was_said(self):
        _, verdict = self.answered({"ok": False, "reason": "it lies"})
        records = self.daemon.must(200, "GET", "/v1/audit?limit=100")["records"]
        end = [each for each in records if each["action"] == "run.end"
               and each["sandbox"] == verdict["id"]][-1]
        self.assertEqual(end["result"], "unverified")
        self.assertEqual(end["details"]["checks"], [{"check": "review", "passed": False}])
        self.assertIn("review.answer", [each["action"] for each in records])
        self.assertNotIn("it lies", json.dumps(records))


class ByPolicyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        path = cls.daemon.dir / "house.toml"
        path.write_text(POLICY)
        path.chmod(0o644)
        cls.daemon.options = ["--policy", str(path)]
        cls.daemon.start()

    def test_policy_and_request_both_have_to_hold(self):
        makes = "; open('report.txt', 'w')"
        for code, checks, status in (
            ("print('{}')" + makes, {}, "ok"),
            ("print('{}')", {}, "unverified"),
            ("print('[]')" + makes, {}, "unverified"),
            ("print('{}')" + makes, {"output_schema": TOTAL}, "unverified"),
            (PRINTS % 1 + makes, {"output_schema": TOTAL}, "ok"),
        ):
            verdict = self.daemon.must(200, "POST", "/v1/run", {
                "language": "python", "code": code, "checks": checks})
            self.assertEqual(verdict["status"], status, (code, checks, verdict["checks"]))


if __name__ == "__main__":
    unittest.main()
