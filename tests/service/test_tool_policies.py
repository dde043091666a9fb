# SPDX-License-Identifier: Apache-2.0
"""What policies say about the tools that code calls, and the people whom they ask about a call."""

import json
import unittest

from approving import Approving
from daemon import Daemon, wait_until
from tenant import Tenant

POLICY = """
[tools]
allow = ["search", "mcp.github.get_*", "pay amount<=100"]
ask = ["mcp.github.*", "llm.complete", "pay"]
refuse = ["mcp.github.delete_*", "pay to=mallory"]
otherwise = "refuse"
"""
OF_TENANT = '[tools]\nrefuse = ["search"]\n'
TOOLS = [{"name": name} for name in (
    "search", "pay", "other", "llm.complete", "mcp.github.get_issue", "mcp.github.create_issue",
    "mcp.github.delete_repo")]
LONG = "10m"
CAUGHT = "try:\n    print({call})\nexcept ToolError as error:\n    print(error.tool, error)"


def caught(call):
    return CAUGHT.format(call=call)


def start_daemon(case, patience):
    daemon = Daemon()
    case.addClassCleanup(daemon.discard)
    for name, text in (("house", POLICY), ("tenant", OF_TENANT)):
        path = daemon.dir / f"{name}.toml"
        path.write_text(text)
        path.chmod(0o644)
    daemon.options = ["--policy", str(daemon.dir / "house.toml"), "--tenant-policy",
                      f"other={daemon.dir / 'tenant.toml'}", "--approval-time", patience]
    return daemon.start()


class Calls(Approving, unittest.TestCase):
    PATIENCE = LONG

    @classmethod
    def setUpClass(cls):
        cls.daemon = start_daemon(cls, cls.PATIENCE)

    def setUp(self):
        self.context = self.daemon.create(timeout="10m").context()
        super().setUp()

    def question(self):
        (found,) = wait_until(self.waiting, "somebody is asked")
        return found

    def start(self, code, **wishes):
        events = self.context.start(code, tools=TOOLS, **wishes)
        self.addCleanup(events.close)
        return events

    def serve(self, code, decision=None, **wishes):
        """What code printed, each call of which is answered by its name; and its events."""
        seen = []
        for event in self.start(code, **wishes):
            seen.append(event)
            if event["type"] == "approval_needed":
                self.decide(event, decision)
            elif event["type"] == "tool_call":
                self.context.must(204, "POST", f"/tools/{event['id']}", {"result": event["name"]})
        return event["stdout"], [each for each in seen if each["type"] not in ("started", "stdout")]


class DecidedTest(Calls):
    def test_what_is_allowed_is_called_and_nobody_is_asked(self):
        for call in ("search(query='x')", "tools.mcp.github.get_issue(number=1)",
                     "pay(amount=100, to='bob')"):
            said, events = self.serve(f"print({call})")
            self.assertEqual([each["type"] for each in events], ["tool_call", "verdict"])
            self.assertEqual(said, events[0]["name"] + "\n")

    def test_what_is_refused_is_an_exception_inside_and_no_client_hears_of_the_call(self):
        for call, name, reason in (
                ("tools.mcp.github.delete_repo(repo='a/b')", "mcp.github.delete_repo",
                 "tool matches 'mcp.github.delete_*'"),
                ("other()", "other", "tool is not on the policy's list"),
                ("pay(amount=1, to='mallory')", "pay", "tool matches 'pay to=mallory'")):
            said, events = self.serve(caught(call))
            self.assertEqual([each["type"] for each in events], ["tool_refused", "verdict"])
            self.assertEqual(events[0]["name"], name)
            self.assertIn(reason, events[0]["message"])
            self.assertEqual(said, f"{name} {events[0]['message']}\n")
            self.context.must(409, "POST", f"/tools/{events[0]['id']}", {"result": "late"})

    def test_modules_and_the_model_are_held_to_it_too(self):
        code = ("from mcp.github import create_issue, delete_repo\n"
                + caught("create_issue(title='x')") + "\n" + caught("delete_repo()") + "\n"
                + caught("llm.complete(prompt='hi')"))
        said, events = self.serve(code, "allow")
        self.assertEqual([(each["type"], each.get("name")) for each in events], [
            ("approval_needed", None), ("tool_call", "mcp.github.create_issue"),
            ("tool_refused", "mcp.github.delete_repo"),
            ("approval_needed", None), ("tool_call", "llm.complete"), ("verdict", None)])
        self.assertEqual(said.splitlines()[::2], ["mcp.github.create_issue", "llm.complete"])

    def test_the_stricter_of_the_policies_of_daemon_tenant_and_request_holds(self):
        tenant = Tenant(self.daemon, "other")
        made = tenant.must(201, "POST", "/v1/sandboxes", {})
        verdict = tenant.must(
            200, "POST", f"/v1/sandboxes/{made['id']}/contexts/default/execute",
            {"code": caught("search(query='x')"), "tools": TOOLS})
        self.assertIn("tool matches 'search' of", verdict["stdout"])
        self.context = self.daemon.create(policy=["grader"]).context()
        said, _ = self.serve(caught("search(query='x')"))
        self.assertIn("tool is not on the policy's list of grader", said)
        self.context = self.daemon.create(policy=["untrusted"]).context()
        said, events = self.serve(caught("search(query='x')"), "allow")
        self.assertEqual((said, events[0]["type"]), ("search\n", "approval_needed"))
        said, _ = self.serve(caught("other()"))
        self.assertIn("tool is not on the policy's list of", said)

    def test_the_journal_has_every_call_and_what_became_of_it(self):
        code = caught("search()") + "\n" + caught("other()")
        self.serve(code)
        records = self.daemon.must(
            200, "GET", f"/v1/audit?sandbox={self.context.sandbox.id}&limit=1000")["records"]
        calls = [each for each in records if each["action"] == "tool.call"]
        self.assertEqual([(each["subject"], each["decision"]) for each in calls],
                         [("search", "allowed"), ("other", "refused")])
        self.assertIn("not on the policy's list", json.dumps(calls[1]))
        # Its end counts both, and says when its code was told.
        (end,) = [each for each in records if each["action"] == "execute.end"]
        self.assertEqual(end["details"]["tool_calls"], 2)


class AskedTest(Calls):
    def test_a_question_shows_the_call_and_is_bound_to_it(self):
        events = self.start("print(pay(amount=101, to='bob'))")
        told = events.until("approval_needed")
        question = self.question()
        self.assertEqual((question["id"], question["hash"]), (told["id"], told["hash"]))
        self.assertEqual((question["kind"], question["sandbox"]),
                         ("tool_call", self.context.sandbox.id))
        name, arguments = question["code"].split(" ", 1)
        self.assertEqual((name, json.loads(arguments)), ("pay", {"amount": 101, "to": "bob"}))
        self.assertEqual(question["findings"][0]["reason"], "tool matches 'pay'")
        self.decide({**question, "hash": "0" * 64}, "allow", status=409)
        self.decide(question, "allow")
        call = events.until("tool_call")
        self.assertEqual(call["arguments"], {"amount": 101, "to": "bob"})
        self.context.must(204, "POST", f"/tools/{call['id']}", {"result": "paid"})
        self.assertEqual(events.until("verdict")["stdout"], "paid\n")

    def test_a_person_refuses_one_call_and_the_cell_goes_on(self):
        said, events = self.serve(caught("pay(amount=500)") + "\nprint('on')", "refuse")
        self.assertEqual([each["type"] for each in events],
                         ["approval_needed", "tool_refused", "verdict"])
        self.assertIn("a person refused this call: tool matches 'pay'", said)
        self.assertTrue(said.endswith("\non\n"))

    def test_a_call_that_was_remembered_is_not_asked_about_again(self):
        events = self.start("print(pay(amount=7000))\nprint(pay(amount=7000))\nprint(pay(amount=7001))")
        self.decide(events.until("approval_needed"), "allow", remember=True)
        seen = []
        for event in events:
            seen.append(event["type"])
            if event["type"] == "tool_call":
                self.context.must(204, "POST", f"/tools/{event['id']}", {"result": 1})
            elif event["type"] == "approval_needed":
                self.decide(event, "refuse")
        self.assertEqual([each for each in seen if each not in ("stdout", "stderr", "error")],
                         ["tool_call", "tool_call", "approval_needed", "tool_refused", "verdict"])

    def test_calls_that_are_open_at_once_are_asked_about_one_after_the_other(self):
        code = ("import asyncio\nprint(await asyncio.gather(*(pay.aio(amount=a) for a in (201, 1, 202)),"
                " return_exceptions=True))")
        said, events = self.serve(code, "allow")
        self.assertEqual([each["type"] for each in events],
                         ["approval_needed", "tool_call", "tool_call", "approval_needed",
                          "tool_call", "verdict"])
        self.assertEqual(said, "['pay', 'pay', 'pay']\n")

    def test_an_interrupt_withdraws_the_question(self):
        events = self.start("pay(amount=300)")
        events.until("approval_needed")
        self.context.must(204, "POST", "/interrupt")
        self.assertEqual(events.until("tool_refused")["name"], "pay")
        self.assertEqual(events.until("verdict")["status"], "canceled")
        self.assertEqual(self.waiting(), [])

    def test_a_client_that_leaves_withdraws_the_question(self):
        events = self.start("pay(amount=301)")
        events.until("approval_needed")
        events.close()
        wait_until(lambda: not self.waiting(), "nobody is asked any more")

    def test_a_call_that_was_decided_is_not_asked_about_when_its_execution_is_followed_again(self):
        key = {"Idempotency-Key": "again"}
        events = self.start(caught("pay(amount=302)") + "\nsearch()", headers=key)
        self.decide(events.until("approval_needed"), "refuse")
        refused = events.until("tool_refused")
        again = self.start(caught("pay(amount=302)") + "\nsearch()", headers=key)
        self.assertEqual(again.until("tool_refused")["id"], refused["id"])
        self.assertEqual(self.waiting(), [])
        for each in (again, events):
            call = each.until("tool_call")
        self.context.must(204, "POST", f"/tools/{call['id']}", {"result": 1})
        self.assertEqual(again.until("verdict")["status"], "ok")


class RestartTest(Calls):
    def setUp(self):
        super().setUp()
        self.context = self.daemon.create(timeout="10m").context()

    def follow(self, code):
        return self.start(code, headers={"Idempotency-Key": "again"})

    def restart(self, events, *options):
        self.daemon.kill()
        events.close()
        known = self.daemon.options
        self.addCleanup(setattr, self.daemon, "options", known)
        self.daemon.options = [*known, *options]
        self.daemon.start()

    def test_a_call_that_was_agreed_to_is_not_asked_about_by_the_next_daemon(self):
        code = "print(pay(amount=901))"
        events = self.follow(code)
        self.decide(events.until("approval_needed"), "allow")
        call = events.until("tool_call")
        self.restart(events)
        events = self.follow(code)
        seen = next(each for each in events if each["type"] in ("tool_call", "approval_needed"))
        self.assertEqual((seen["type"], seen["id"]), ("tool_call", call["id"]), seen)
        self.context.must(204, "POST", f"/tools/{call['id']}", {"result": "paid"})
        self.assertEqual(events.until("verdict")["stdout"], "paid\n")

    def test_a_call_that_nobody_has_decided_about_is_asked_about_by_the_next_daemon(self):
        code = caught("pay(amount=902)")
        events = self.follow(code)
        events.until("approval_needed")
        self.restart(events)
        events = self.follow(code)
        self.decide(events.until("approval_needed"), "refuse")
        self.assertEqual(events.until("tool_refused")["name"], "pay")
        self.assertEqual(events.until("verdict")["status"], "ok")

    def test_what_was_agreed_to_under_other_policies_is_asked_about_again(self):
        stricter = self.daemon.dir / "stricter.toml"
        stricter.write_text('[tools]\nask = ["pay"]\n')
        stricter.chmod(0o644)
        code = caught("pay(amount=903)")
        events = self.follow(code)
        self.decide(events.until("approval_needed"), "allow")
        events.until("tool_call")
        self.restart(events, "--policy", str(stricter))
        events = self.follow(code)
        self.decide(events.until("approval_needed"), "refuse")
        self.assertEqual(events.until("tool_refused")["name"], "pay")


class LateTest(Calls):
    PATIENCE = "1s"

    def test_what_nobody_decides_about_in_time_is_refused(self):
        events = list(self.start(caught("pay(amount=400)")))
        self.assertEqual([each["type"] for each in events if each["type"] not in ("started", "stdout")],
                         ["approval_needed", "tool_refused", "verdict"])
        self.assertIn("nobody approved this call in time", events[-1]["stdout"])


if __name__ == "__main__":
    unittest.main()
