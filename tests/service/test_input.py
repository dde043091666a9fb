# SPDX-License-Identifier: Apache-2.0
"""Code that asks for input while it is executed, and the clients that reply."""

import threading
import unittest

from daemon import LINES, Case, Daemon, wait_until
from tenant import Tenant

ASK = "print('got', repr(input('name? ')))"


class Input(Case):
    def setUp(self):
        self.context = self.create(timeout="10m").context()

    def reply(self, status=204, **reply):
        return self.context.must(status, "POST", "/input", reply)

    def asked(self, code, **wishes):
        """The events of code that asks, up to its first request, and that request."""
        events = self.context.start(code, allow_input=True, **wishes)
        return events, events.until("input_request")

    def refused(self, **reply):
        """A reply that nothing waits for."""
        answer = self.reply(409, **reply)
        self.assertEqual(answer["error"], "conflict")
        self.assertTrue(answer["hint"])

    def test_two_prompts_of_a_cell_are_answered_one_after_the_other(self):
        events, first = self.asked("a = input('first? '); b = input('second? '); print(b + a)")
        self.assertEqual((first["prompt"], first["password"]), ("first? ", False))
        self.reply(value="1é\U0001f600")
        second = events.until("input_request")
        self.assertEqual(second["prompt"], "second? ")
        self.assertNotEqual(second["request"], first["request"])
        self.reply(value="2", request=second["request"])
        verdict = events.until("verdict")
        self.assertEqual((verdict["status"], verdict["stdout"]), ("ok", "21é\U0001f600\n"))

    def test_a_password_is_asked_for_as_one(self):
        events, asked = self.asked("import getpass; print(len(getpass.getpass('secret? ')))")
        self.assertEqual((asked["prompt"], asked["password"]), ("secret? ", True))
        self.reply(value="hunter2")
        self.assertEqual(events.until("verdict")["stdout"], "7\n")

    def test_the_end_of_input_is_a_reply_too(self):
        for reply in ({}, {"value": None}):
            events, _ = self.asked(ASK)
            self.reply(**reply)
            self.assertEqual(events.until("verdict")["error"]["name"], "EOFError")

    def test_without_the_wish_the_code_finds_the_end_of_input(self):
        events = list(self.context.start(ASK))
        self.assertNotIn("input_request", [event["type"] for event in events])
        self.assertEqual(events[-1]["error"]["name"], "EOFError")
        self.refused(value="late")

    def test_a_request_is_answered_once_and_never_by_a_reply_to_another(self):
        self.refused(value="too early")
        events, first = self.asked("input(); input(); print('end')")
        self.reply(value="", request=first["request"])
        second = events.until("input_request")
        self.refused(value="stale", request=first["request"])
        self.refused(value="of the future", request=second["request"] + 1)
        self.reply(value="")
        self.assertEqual(events.until("verdict")["stdout"], "end\n")
        self.refused(value="late")
        events, third = self.asked(ASK)
        self.refused(value="stale", request=second["request"])
        self.assertGreater(third["request"], second["request"])
        self.reply(value="fresh")
        self.assertEqual(events.until("verdict")["stdout"], "got 'fresh'\n")

    def test_a_verdict_at_the_end_is_enough_for_who_knows_what_is_asked(self):
        verdicts = []
        asker = threading.Thread(
            target=lambda: verdicts.append(self.context.execute(ASK, allow_input=True))
        )
        asker.start()
        reply = ("POST", self.context.path + "/input", {"value": "blind"})
        wait_until(lambda: self.daemon.ask(*reply).status == 204, "a request for input")
        asker.join()
        self.assertEqual(verdicts[0]["stdout"], "got 'blind'\n")

    def test_an_interrupt_ends_the_wait_and_the_context_lives_on(self):
        events, _ = self.asked("x = 1\ninput()")
        self.context.must(204, "POST", "/interrupt")
        verdict = events.until("verdict")
        self.assertEqual(verdict["status"], "canceled")
        self.refused(value="late")
        self.assertEqual(self.context.value("x"), "1")

    def test_the_time_limit_counts_the_wait(self):
        events, _ = self.asked("x = 1\ninput()", limits={"time": "300ms"})
        verdict = events.until("verdict")
        self.assertEqual((verdict["status"], verdict["limit"]), ("timeout", "time"))
        self.refused(value="late")
        self.assertEqual(self.context.value("x"), "1")

    def test_what_has_caught_its_interrupt_is_asked_for_nothing_more(self):
        code = "try: input('one')\nexcept KeyboardInterrupt: print(repr(input('two')))"
        events, _ = self.asked(code)
        self.context.must(204, "POST", "/interrupt")
        left = list(events)
        self.assertNotIn("input_request", [event["type"] for event in left])
        self.assertEqual(left[-1]["type"], "verdict")

    def test_a_client_that_leaves_ends_the_wait(self):
        events, _ = self.asked("x = 1\ninput()")
        events.close()
        self.assertEqual(self.context.value("x"), "1")
        self.refused(value="late")

    def test_a_restart_and_the_end_of_the_sandbox_end_the_wait(self):
        events, _ = self.asked("input()")
        self.context.must(204, "POST", "/restart")
        self.assertIn(events.until("verdict")["status"], ("canceled", "signaled"))
        self.refused(value="late")
        events, _ = self.asked("input()")
        self.context.sandbox.kill()
        self.assertIn(list(events)[-1]["type"], ("failed", "verdict"))
        self.context.must(410, "POST", "/input", {"value": "late"})

    def test_another_follower_sees_the_request_and_its_reply_counts(self):
        how = {"headers": {"Idempotency-Key": "followed"}}
        first, asked = self.asked(ASK, **how)
        second, again = self.asked(ASK, **how)
        self.assertEqual(asked, again)
        self.reply(value="from the second", request=again["request"])
        self.refused(value="from the first", request=asked["request"])
        for events in (first, second):
            self.assertEqual(events.until("verdict")["stdout"], "got 'from the second'\n")

    def test_what_waits_for_input_holds_up_no_output_and_no_other_context(self):
        code = (
            "import threading, time\n"
            "def talk():\n"
            "    while True: print('tick', flush=True); time.sleep(0.05)\n"
            "threading.Thread(target=talk, daemon=True).start()\n"
            "input()"
        )
        events, _ = self.asked(code)
        self.assertIn("tick", events.until("stdout")["text"])
        self.assertEqual(self.context.sandbox.context().value("6 * 7"), "42")
        self.reply()
        self.assertEqual(events.until("verdict")["error"]["name"], "EOFError")

    def test_another_tenant_and_a_key_for_reading_cannot_reply(self):
        events, _ = self.asked(ASK)
        path = self.context.path + "/input"
        other = Tenant(self.daemon, "input-other")
        other.must(404, "POST", path, {"value": "forged"})
        reader = self.daemon.must(
            201, "POST", "/v1/keys", {"tenant": "default", "scopes": ["read"]}
        )
        self.daemon.must(403, "POST", path, {"value": "forged"}, key=reader["key"])
        self.reply(value="real")
        self.assertEqual(events.until("verdict")["stdout"], "got 'real'\n")

    def test_wrong_replies_are_refused_and_the_request_stays_open(self):
        events, asked = self.asked(ASK)
        for body in (
            {"value": 1},
            {"value": ["x"]},
            {"value": "x" * (64 * 1024 + 1)},
            {"value": "x", "request": 0},
            {"value": "x", "request": "1"},
            {"value": "x", "unknown": 1},
        ):
            self.assertTrue(self.context.must(400, "POST", "/input", body)["message"])
        self.context.must(413, "POST", "/input", {"value": "x" * (2 << 20)})
        long = "x" * (64 * 1024)
        self.reply(value=long, request=asked["request"])
        self.assertEqual(events.until("verdict")["stdout"], f"got {long!r}\n")

    def test_a_flood_of_requests_without_an_ear_is_bounded(self):
        code = (
            "import sys\n"
            "wire = sys.modules['glovebox_agent.wire']\n"
            "agent = input.__self__\n"
            "for _ in range(10_000): agent.emit(wire.INPUT_REQUEST, {'prompt': 'more? '})\n"
        )
        events = list(self.context.start(code, allow_input=True))
        kinds = [event["type"] for event in events]
        self.assertEqual(events[-1]["status"], "ok", events[-1])
        self.assertEqual(kinds.count("input_request"), 16)
        self.assertEqual(self.context.value("6 * 7"), "42")

    def test_node_asks_for_several_lines_at_once(self):
        context = self.context = self.create(timeout="10m").context("javascript")
        code = "const both = [input('a? '), input('b? ')]; (await Promise.all(both)).join('-')"
        events, _ = self.asked(code)
        events.until("input_request")
        self.reply(value="1")
        self.reply(value="2")
        verdict = events.until("verdict")
        self.assertEqual(verdict["results"][0]["data"]["text/plain"], "'1-2'")
        # One that nobody waits for takes no answer away from the next.
        self.assertEqual(context.execute("void input('lost? ')", allow_input=True)["status"], "ok")
        events, _ = self.asked("await input('mine? ')")
        self.reply(value="mine")
        verdict = events.until("verdict")
        self.assertEqual(verdict["results"][0]["data"]["text/plain"], "'mine'")


class InputBesideADaemonThatEnds(unittest.TestCase):
    def test_a_reply_after_the_daemons_restart_reaches_the_code(self):
        daemon = Daemon()
        self.addCleanup(daemon.discard)
        daemon.start()
        context = daemon.create(timeout="10m").context()
        how = {"headers": {"Idempotency-Key": "survives"}, "limits": {"time": "10m"}}
        events = context.start(ASK, allow_input=True, **how)
        asked = events.until("input_request")
        daemon.kill()
        daemon.start()
        context.must(204, "POST", "/input", {"value": "after", "request": asked["request"]})
        again = context.start(ASK, accept=LINES, allow_input=True, **how)
        self.assertEqual(again.until("input_request"), asked)
        self.assertEqual(again.until("verdict")["stdout"], "got 'after'\n")
        context.must(409, "POST", "/input", {"value": "twice", "request": asked["request"]})


if __name__ == "__main__":
    unittest.main()
