# SPDX-License-Identifier: Apache-2.0
"""Code that calls input(), and a client that is asked for what it reads."""
import unittest

from client import Client, STATELESS, text_of

FORMS = {"elicitation": {}}
GREET = "name = input('name? ')\n'hello ' + name"


def accept(line):
    return {"action": "accept", "content": {"input": line}}


class Sessions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = Client(capabilities=FORMS)
        cls.addClassCleanup(cls.shared.close)

    def client(self, respond):
        """A client with forms, which responds in this way."""
        self.shared.respond = respond
        self.shared.notes.clear()
        return self.shared

    def test_a_client_with_forms_is_asked_and_its_line_is_read(self):
        for version in ("2025-11-25", "2025-06-18"):
            asked = []

            def respond(request):
                asked.append(request)
                return accept("Ada")

            with Client(version=version, capabilities=FORMS, respond=respond) as client:
                done = client.call("run_code", code="print('before')\n" + GREET)
            self.assertEqual(done["structuredContent"]["result"], "'hello Ada'", text_of(done))
            self.assertEqual(done["structuredContent"]["stdout"], "before\n")
            self.assertEqual([each["method"] for each in asked], ["elicitation/create"])
            params = asked[0]["params"]
            self.assertEqual(params["message"], "Code in a sandbox asks: name? ")
            self.assertEqual(params["requestedSchema"]["properties"]["input"]["type"], "string")

    def test_each_input_is_asked_for_in_its_turn(self):
        numbers = iter("123")
        client = self.client(lambda request: accept(next(numbers)))
        done = client.call("run_code", code="[input(f'{i}? ') for i in range(3)]")
        self.assertEqual(done["structuredContent"]["result"], "['1', '2', '3']")

    def test_who_declines_or_cannot_be_asked_ends_the_input(self):
        for respond in (lambda request: {"action": "decline"}, lambda request: {"action": "cancel"},
                        lambda request: accept(7), lambda request: accept("x" * 70_000),
                        lambda request: {"action": "accept", "content": 7}, lambda request: {}):
            done = self.client(respond).call("run_code", code=GREET)
            self.assertEqual(done["structuredContent"]["error"]["name"], "EOFError", text_of(done))

    def test_a_client_without_forms_is_not_asked(self):
        for capabilities in ({"roots": {}}, {"elicitation": {"url": {}}}, {"elicitation": 7}):
            with Client(capabilities=capabilities, respond=self.fail) as client:
                done = client.call("run_code", code=GREET)
            self.assertEqual(done["structuredContent"]["error"]["name"], "EOFError", capabilities)

    def test_nothing_entered_is_an_empty_line(self):
        client = self.client(lambda request: {"action": "accept", "content": {}})
        self.assertEqual(client.call("run_code", code="input()")["structuredContent"]["result"], "''")

    def test_a_password_is_never_asked_for(self):
        client = self.client(self.fail)
        done = client.call("run_code", code="import getpass\ngetpass.getpass('key: ')")
        self.assertEqual(done["structuredContent"]["error"]["name"], "EOFError")

    def test_a_prompt_can_neither_be_long_nor_drive_a_terminal(self):
        asked = []

        def respond(request):
            asked.append(request["params"]["message"])
            return accept("")

        client = self.client(respond)
        client.call("run_code", code="input('\\x1b[31mred\\x1b[0m\\n\\x07' + 'x' * 100_000)")
        self.assertLess(len(asked[0]), 2_000)
        self.assertIn("red", asked[0])
        self.assertFalse(any(ord(each) < 32 for each in asked[0]), asked[0][:80])

    def test_code_that_asks_without_end_is_not_answered_without_end(self):
        count = []

        def respond(request):
            count.append(1)
            return accept("")

        client = self.client(respond)
        done = client.call("run_code", code="n = 0\nwhile True:\n    input()\n    n += 1")
        self.assertEqual(done["structuredContent"]["error"]["name"], "EOFError")
        self.assertEqual(len(count), 100)

    def test_a_question_that_nobody_answers_ends_with_the_time_and_is_withdrawn(self):
        asked = []
        client = self.client(lambda request: asked.append(request["id"]))
        done = client.call("run_code", code=GREET, timeout=1)
        self.assertEqual(done["structuredContent"]["status"], "timeout")
        gone = [each["params"]["requestId"] for each in client.notes
                if each["method"] == "notifications/cancelled"]
        self.assertEqual(gone, asked)
        self.assertEqual(client.call("run_code", code="1")["structuredContent"]["result"], "1")

    def test_a_canceled_call_takes_its_question_with_it(self):
        asked = []
        client = self.client(lambda request: asked.append(request))
        number = client.send("tools/call", {"name": "run_code", "arguments": {"code": GREET}})
        while not asked:
            message = client.take()
            if "id" in message and "method" in message:
                asked.append(message)
        client.notify("notifications/cancelled", {"requestId": number})
        while "result" not in client.request("ping"):
            pass
        self.assertEqual(client.call("run_code", code="1")["structuredContent"]["result"], "1")

    def test_what_is_printed_before_a_question_comes_as_progress(self):
        client = self.client(lambda request: accept("Ada"))
        client.request("tools/call", {"name": "run_code", "arguments": {
            "code": "print('look', flush=True)\n" + GREET}}, progressToken=1)
        told = "".join(each["params"]["message"] for each in client.notes
                       if each["method"] == "notifications/progress")
        self.assertEqual(told, "look\n")


class Stateless(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = Client(version=STATELESS, capabilities=FORMS)
        cls.addClassCleanup(cls.client.close)

    def answer(self, asked, line, **arguments):
        """The next result of the call that `asked` is one of."""
        return self.client.request("tools/call", {
            "name": "run_code", "arguments": arguments, "requestState": asked["requestState"],
            "inputResponses": {} if line is None else {"input": line}})["result"]

    def test_a_question_is_a_result_and_its_answer_another_request(self):
        code = "a = input('a? ')\nb = input('b? ')\na + b"
        first = self.client.call("run_code", code=code)
        self.assertEqual(first["resultType"], "input_required")
        request = first["inputRequests"]["input"]
        self.assertEqual((request["method"], request["params"]["message"]),
                         ("elicitation/create", "Code in a sandbox asks: a? "))
        second = self.answer(first, accept("1"), code=code)
        self.assertEqual(second["inputRequests"]["input"]["params"]["message"],
                         "Code in a sandbox asks: b? ")
        # Without a response, the question is asked again.
        again = self.answer(second, None, code=code)
        self.assertEqual(again["inputRequests"], second["inputRequests"])
        done = self.answer(again, accept("2"), code=code)
        self.assertEqual((done["resultType"], done["structuredContent"]["result"]),
                         ("complete", "'12'"))
        self.assertEqual(done["structuredContent"]["context"], "default")

    def test_only_the_same_call_goes_on_and_only_once(self):
        first = self.client.call("run_code", code=GREET)
        other = self.answer(first, accept("x"), code="1")
        self.assertTrue(other["isError"])
        state = first["requestState"]
        for wrong in ("", "x", state[:-4] + "AAA=", "cnVuX2NvZGU6OTk=." + state.split(".")[1]):
            refused = self.answer({"requestState": wrong}, accept("x"), code=GREET)
            self.assertTrue(refused["isError"], wrong)
        done = self.answer(first, accept("Ada"), code=GREET)
        self.assertEqual(done["structuredContent"]["result"], "'hello Ada'")
        late = self.answer(first, accept("Eve"), code=GREET)
        self.assertTrue(late["isError"])
        self.assertIn("waits for an answer", text_of(late))

    def test_the_time_ends_a_question_that_nobody_answers(self):
        first = self.client.call("run_code", code=GREET, timeout=1)
        # It waits for its turn behind the code that asks.
        self.assertEqual(self.client.call("run_code", code="1")["structuredContent"]["result"], "1")
        late = self.answer(first, accept("Ada"), code=GREET, timeout=1)
        self.assertEqual(late["structuredContent"]["status"], "timeout")

    def test_more_questions_than_can_wait_end_the_input(self):
        with Client(version=STATELESS, capabilities=FORMS) as client:
            asked = [client.call("run_code", code=GREET, context="new") for _ in range(16)]
            self.assertEqual({each["resultType"] for each in asked}, {"input_required"})
            full = client.call("run_code", code=GREET, context="new")
            self.assertEqual(full["structuredContent"]["error"]["name"], "EOFError")

    def test_the_end_of_the_client_ends_code_that_waits(self):
        with Client(version=STATELESS, capabilities=FORMS) as client:
            client.call("run_code", code=GREET, timeout=3_000)
            self.assertEqual(client.close(), 0)


if __name__ == "__main__":
    unittest.main()
