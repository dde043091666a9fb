# SPDX-License-Identifier: Apache-2.0
"""Completion and inspection of code in live contexts."""

import re
import unittest

from daemon import Case

FACE = "\U0001f600"


def plain(inspection):
    """Its text without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", inspection["data"]["text/plain"])


class CodeHelp(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.sandbox = cls.daemon.create(timeout="20m")
        cls.addClassCleanup(cls.daemon.ask, "DELETE", cls.sandbox.path)
        cls.python = cls.sandbox.context()
        cls.python.execute(
            "import os\n"
            "def greet(name: str, *, loud=False) -> str:\n"
            "    '''Says hello.'''\n"
            "    return 'hello ' + name\n"
            "größe = 1\n"
        )

    def complete(self, code, status=200, context=None, **rest):
        return (context or self.python).must(
            status, "POST", "/complete", {"code": code, **rest}
        )

    def inspect(self, code, status=200, context=None, **rest):
        return (context or self.python).must(status, "POST", "/inspect", {"code": code, **rest})

    def replaced(self, code, completion, match):
        """The code after a completion, as a client applies it."""
        points = list(code)
        points[completion["start"] : completion["end"]] = match
        return "".join(points)

    def test_an_attribute_is_completed(self):
        code = "os.pa"
        found = self.complete(code)
        fits = [self.replaced(code, found, match) for match in found["matches"]]
        self.assertIn("os.path", fits)
        self.assertEqual(found["end"], 5)

    def test_the_cursor_stands_where_it_is_said_to(self):
        code = "os.pa + os.sep"
        found = self.complete(code, cursor=5)
        fits = [self.replaced(code, found, match) for match in found["matches"]]
        self.assertIn("os.path + os.sep", fits)
        self.assertEqual(self.complete("", cursor=0)["start"], 0)

    def test_positions_are_code_points(self):
        before = f"x = 'é€{FACE}{FACE}'; "
        for name, whole in (("os.pa", "os.path"), ("grö", "größe")):
            code = before + name + f"  # {FACE}"
            cursor = len(before) + len(name)
            found = self.complete(code, cursor=cursor)
            fits = [self.replaced(code, found, match) for match in found["matches"]]
            self.assertIn(code.replace(name, whole), fits)
            self.assertEqual(found["end"], cursor)
        described = self.inspect(f"'{FACE}{FACE}', greet", cursor=6 + 2)
        self.assertIn("Says hello.", described["data"]["text/plain"])

    def test_positions_are_code_points_in_node_too(self):
        context = self.sandbox.context("javascript")
        before = f"'é{FACE}{FACE}'; "
        code = before + f"Math.flo // {FACE}"
        found = self.complete(code, context=context, cursor=len(before) + 8)
        fits = [self.replaced(code, found, match) for match in found["matches"]]
        self.assertIn(before + f"Math.floor // {FACE}", fits)
        self.assertEqual(found["end"], len(before) + 8)

    def test_a_function_is_described_by_signature_and_doc_and_by_its_source_on_request(self):
        described = self.inspect("greet('x')", cursor=3)
        self.assertTrue(described["found"])
        text = plain(described)
        self.assertIn("name: str, *, loud=False", text)
        self.assertIn("Says hello.", text)
        self.assertNotIn("return 'hello '", text)
        self.assertIn("return 'hello ' + name", plain(self.inspect("greet", detail=1)))
        nothing = self.inspect("no_such_name")
        self.assertEqual((nothing["found"], nothing["data"]), (False, {}))

    def test_questions_leave_no_trace(self):
        count = self.python.execute("1")["execution_count"]
        self.complete("os.pa")
        self.inspect("os")
        self.assertEqual(self.python.execute("1")["execution_count"], count + 1)

    def test_a_context_that_was_never_used_is_started_for_it(self):
        default = self.sandbox.must(200, "POST", "/contexts/default/complete", {"code": "pri"})
        self.assertIn("print", [match.rstrip("(") for match in default["matches"]])

    def test_bad_requests_are_refused(self):
        for rest in (
            {"cursor": -1},
            {"cursor": 6},
            {"cursor": 10**9},
            {"cursor": 1.5},
            {"cursor": "1"},
            {"unknown": 1},
        ):
            for ask in (self.complete, self.inspect):
                answer = ask("os.pa", 400, **rest)
                self.assertTrue(answer["message"], rest)
                self.assertTrue(answer["hint"], rest)
        # Five code points, though it is more of everything else.
        self.complete(f"é€{FACE}os", 400, cursor=6)
        for body in ({}, {"code": 1}, {"code": None}):
            self.python.must(400, "POST", "/complete", body)
        for detail in (-1, 2, True, "1"):
            self.inspect("os", 400, detail=detail)
        self.complete("x" * (256 * 1024 + 1), 400)
        self.complete("x" * (2 << 20), 413)
        self.python.must(400, "POST", "/complete", b'{"code":"\\ud800"}',
                         headers={"Content-Type": "application/json"})

    def test_a_busy_context_is_waited_for_a_moment_and_then_refused(self):
        context = self.create(timeout="10m").context()
        events = context.start("input('wait? ')", allow_input=True)
        events.until("input_request")
        for ask in (self.complete, self.inspect):
            answer = ask("pri", 409, context=context)
            self.assertIn("busy", answer["message"])
            self.assertTrue(answer["hint"])
        context.must(204, "POST", "/input", {})
        events.until("verdict")
        self.assertTrue(self.complete("pri", context=context)["matches"])

    def test_an_interpreter_that_cannot_says_so(self):
        context = self.sandbox.context("bash")
        self.assertTrue(self.complete("ech", context=context)["matches"])
        answer = self.inspect("echo", 501, context=context)
        self.assertEqual(answer["error"], "unsupported")
        self.assertIn("inspect", answer["message"])
        self.assertTrue(answer["hint"])

    def test_code_of_the_guests_that_does_not_return_is_interrupted(self):
        context = self.create(timeout="10m").context()
        context.execute("class Trap:\n    def __dir__(self):\n        while True: pass\ntrap = Trap()")
        self.complete("trap.", 503, context=context)
        # Else it would wait for this limit.
        verdict = context.execute("6 * 7", limits={"time": "10m"})
        self.assertEqual(verdict["results"][0]["data"]["text/plain"], "42", verdict)

    def test_an_interpreter_that_has_ended_is_said_to_have(self):
        context = self.create(timeout="10m").context()
        self.assertEqual(context.execute("import os; os._exit(3)")["exit_code"], 3)
        self.assertIn("ended", self.complete("pri", 409, context=context)["message"])

    def test_a_lie_of_the_agents_is_no_answer(self):
        context = self.create(timeout="10m").context()
        context.execute(
            "import sys\n"
            "queries = sys.modules['glovebox_agent.queries']\n"
            "queries.answer = lambda *_: {'matches': ['x'], 'start': 7, 'end': 10**12}"
        )
        self.complete("pri", 409, context=context)
        nothing = self.inspect("print", context=context)
        self.assertEqual((nothing["found"], nothing["data"]), (False, {}))


if __name__ == "__main__":
    unittest.main()
