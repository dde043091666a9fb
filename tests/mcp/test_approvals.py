# SPDX-License-Identifier: Apache-2.0
"""What a policy asks a person about, and clients whose user is that person."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import threading
import time
import unittest

import test_http  # Its class would run here again.
from client import Client, GLOVEBOX, PATIENCE_S, STATELESS, text_of

FORMS = {"elicitation": {}}
POLICY = """
[python.calls]
ask = ["eval"]
refuse = ["os.system"]
[commands]
ask = ["touch"]
"""
RISKY = "eval('6 * 7')"


def reply(run, **more):
    return {"action": "accept", "content": {"run": run} | more}


class WithPolicy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="glovebox-mcp-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.policy = os.path.join(cls.folder.name, "house.toml")
        pathlib.Path(cls.policy).write_text(POLICY, encoding="utf-8")


class Sessions(WithPolicy):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.shared = Client("--policy", cls.policy, capabilities=FORMS)
        cls.addClassCleanup(cls.shared.close)

    def client(self, respond):
        self.asked = []
        self.shared.respond = lambda request: self.asked.append(request) or respond
        return self.shared

    def test_the_user_is_shown_what_was_found_and_agrees(self):
        client = self.client(reply(True))
        done = client.call("run_code", code="x = 1\n" + RISKY)
        self.assertEqual(done["structuredContent"]["result"], "42", text_of(done))
        self.assertEqual([each["method"] for each in self.asked], ["elicitation/create"])
        params = self.asked[0]["params"]
        self.assertRegex(params["message"], r"line 2: B307 'eval': .*\n    eval\('6 \* 7'\)")
        self.assertEqual(params["requestedSchema"]["properties"]["run"]["type"], "boolean")

    def test_whatever_is_no_clear_yes_refuses(self):
        for response in (reply(False), reply("true"), reply(1), {"action": "accept"},
                         {"action": "decline"}, {"action": "cancel"}, {}, {"content": {"run": True}},
                         {"action": "accept", "content": [True]}):
            done = self.client(response).call("run_code", code=f"eval('1')  # {response}")
            self.assertTrue(done["isError"], response)
            self.assertIn("a person refused this program", text_of(done), response)
            self.assertEqual(len(self.asked), 1)

    def test_what_the_policy_refuses_or_allows_is_not_asked_about(self):
        client = self.client(reply(True))
        done = client.call("run_code", code="import os\nos.system('id')")
        self.assertIn("the policy refuses this program", text_of(done))
        self.assertEqual(client.call("run_code", code="6 * 7")["structuredContent"]["result"], "42")
        self.assertEqual(self.asked, [])

    def test_commands_and_runs_without_an_interpreter_are_asked_about(self):
        client = self.client(reply(True))
        done = client.call("run_command", command="touch a && echo made")
        self.assertEqual(done["structuredContent"]["stdout"], "made\n", text_of(done))
        self.assertIn("command may run", self.asked[0]["params"]["message"])
        done = client.call("run_code", code="print(eval('7'))", fresh=True)
        self.assertEqual(done["structuredContent"]["stdout"], "7\n", text_of(done))
        self.assertEqual(len(self.asked), 2)
        done = self.client(reply(False)).call("run_command", command="touch b")
        self.assertIn("a person refused", text_of(done))
        done = client.call("list_files")
        self.assertNotIn('"b"', json.dumps(done["structuredContent"]))

    def test_the_same_code_is_asked_about_again_unless_that_is_declined(self):
        for remember, questions in ((False, 2), (True, 1)):
            client = self.client(reply(True, remember=remember))
            for _ in range(2):
                client.call("run_command", command=f"touch again-{remember}")
            self.assertEqual(len(self.asked), questions, remember)

    def test_a_canceled_call_takes_its_question_with_it(self):
        client = self.client(None)
        number = client.send("tools/call", {"name": "run_code", "arguments": {"code": RISKY}})
        while not self.asked:
            message = client.take()
            if "id" in message and "method" in message:
                self.asked.append(message)
        client.notify("notifications/cancelled", {"requestId": number})
        while "result" not in client.request("ping"):
            pass
        self.assertEqual(client.call("run_code", code="1")["structuredContent"]["result"], "1")

    def test_the_approved_code_can_ask_for_input(self):
        with Client("--policy", self.policy, capabilities=FORMS,
                    respond=lambda request: reply(True) if "run" in request["params"][
                        "requestedSchema"]["properties"] else
                    {"action": "accept", "content": {"input": "8"}}) as client:
            done = client.call("run_code", code="eval(input('n? '))")
        self.assertEqual(done["structuredContent"]["result"], "8", text_of(done))

    def test_code_cannot_write_into_the_form(self):
        client = self.client(reply(False))
        client.call("run_code", code="eval('\x1b[2J\x07' + '" + "x" * 100_000 + "')")
        message = self.asked[0]["params"]["message"]
        self.assertLess(len(message), 5_000)
        self.assertFalse(any(ord(each) < 32 and each != "\n" for each in message), message[:80])


class WithoutForms(WithPolicy):
    def test_what_nobody_can_be_asked_about_is_refused_at_once(self):
        for version in ("2025-11-25", STATELESS):
            with Client("--policy", self.policy, version=version, respond=self.fail) as client:
                for tool, arguments in (("run_code", {"code": RISKY}),
                                        ("run_command", {"command": "touch a"})):
                    begun = time.monotonic()
                    done = client.call(tool, **arguments)
                    self.assertIn("this client cannot ask one", text_of(done))
                    self.assertLess(time.monotonic() - begun, PATIENCE_S)
                self.assertEqual(client.call("run_command", command="ls")["structuredContent"][
                    "status"], "ok")


class Stateless(WithPolicy):
    def answer(self, client, tool, asked, response, **arguments):
        return client.request("tools/call", {
            "name": tool, "arguments": arguments, "requestState": asked["requestState"],
            "inputResponses": {"approval": response}})["result"]

    def test_a_question_is_a_result_and_its_answer_another_request(self):
        with Client("--policy", self.policy, version=STATELESS, capabilities=FORMS) as client:
            for tool, arguments, member, value in (
                    ("run_code", {"code": RISKY}, "result", "42"),
                    ("run_code", {"code": "print(eval('7'))", "fresh": True}, "stdout", "7\n"),
                    ("run_command", {"command": "touch a; echo b"}, "stdout", "b\n")):
                for agrees in (True, False):
                    asked = client.call(tool, **arguments)
                    self.assertEqual(asked["resultType"], "input_required", asked)
                    done = self.answer(client, tool, asked, reply(agrees), **arguments)
                    self.assertEqual(done.get("isError", False), not agrees, text_of(done))
                    if agrees:
                        self.assertEqual(done["structuredContent"][member], value)
                    # Neither can be said twice.
                    late = self.answer(client, tool, asked, reply(True), **arguments)
                    self.assertIn("waits for an answer", text_of(late))

    def test_an_answer_to_other_code_is_refused(self):
        with Client("--policy", self.policy, version=STATELESS, capabilities=FORMS) as client:
            asked = client.call("run_code", code=RISKY)
            other = self.answer(client, "run_code", asked, reply(True), code="eval('other')")
            self.assertTrue(other["isError"])
            done = self.answer(client, "run_code", asked, reply(True), code=RISKY)
            self.assertEqual(done["structuredContent"]["result"], "42")


class Daemon(unittest.TestCase):
    """Over HTTP, where the scope of the key says who may decide."""
    send, stateless, admin = test_http.Http.send, test_http.Http.stateless, test_http.Http.admin
    ids = test_http.Http.ids

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="glovebox-mcp-")
        cls.addClassCleanup(cls.folder.cleanup)
        policy = pathlib.Path(cls.folder.name) / "house.toml"
        policy.write_text(POLICY, encoding="utf-8")
        cls.daemon = subprocess.Popen(
            [GLOVEBOX, "serve", "--listen", "127.0.0.1:0", "--data", cls.folder.name + "/data",
             "--policy", str(policy)], stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.daemon.stdout.close)
        cls.addClassCleanup(cls.daemon.wait, PATIENCE_S)
        cls.addClassCleanup(cls.daemon.terminate)
        cls.address = re.search(r"127\.0\.0\.1:\d+", cls.daemon.stdout.readline())[0]
        cls.key = (pathlib.Path(cls.folder.name) / "data/api-key").read_text(encoding="ascii").strip()

    def key_for(self, *scopes):
        return self.admin("key", "create", *(word for each in scopes for word in ("--scope", each)),
                          ).split()[-1]

    def call(self, key, **params):
        status, messages = self.stateless(
            "tools/call", {"name": "run_code", "arguments": {"code": RISKY}} | params,
            meta={"io.modelcontextprotocol/clientCapabilities": FORMS}, key=key)
        self.assertEqual(status, 200)
        return messages[-1]["result"]

    def waiting(self):
        return json.loads(self.admin("approve", "--json"))["approvals"]

    def test_a_key_that_may_approve_is_asked(self):
        key = self.key_for("run", "read", "approve")
        asked = self.call(key)
        self.assertEqual(asked["resultType"], "input_required", asked)
        done = self.call(key, requestState=asked["requestState"],
                         inputResponses={"approval": reply(True)})
        self.assertEqual(done["structuredContent"]["result"], "42", text_of(done))
        self.assertEqual(self.waiting(), [])

    def test_a_key_that_may_only_run_cannot_decide(self):
        key = self.key_for("run", "read")
        done = []
        caller = threading.Thread(target=lambda: done.append(self.call(
            key, inputResponses={"approval": reply(True)})))
        caller.start()
        while not self.waiting():
            self.assertEqual(done, [])
        self.admin("approve", self.waiting()[0]["id"], "--refuse")
        caller.join(PATIENCE_S)
        self.assertIn("a person refused this program", text_of(done[0]))

    def test_whoever_decides_first_has_decided(self):
        key = self.key_for("run", "read", "approve")
        asked = self.call(key)
        self.admin("approve", self.waiting()[0]["id"], "--refuse")
        done = self.call(key, requestState=asked["requestState"],
                         inputResponses={"approval": reply(True)})
        self.assertIn("a person refused this program", text_of(done))


if __name__ == "__main__":
    unittest.main()
