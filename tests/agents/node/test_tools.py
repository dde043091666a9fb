# SPDX-License-Identifier: Apache-2.0
"""Cells that call tools, and whoever returns results to them."""

from __future__ import annotations

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from harness import DONE, EXECUTE, NODE, NOTE, TOOL_CALL, TOOL_RESULT, Agent, Execution  # noqa: E402

TOOLS = [{"name": "search", "description": "", "parameters": {}}, {"name": "stop-all"}]


@unittest.skipUnless(NODE, "node is not installed")
class Tools(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.agent = Agent()
        cls.addClassCleanup(cls.agent.__exit__)

    def start(self, code: str, tools=TOOLS) -> int:
        return self.agent.send(EXECUTE, {"code": code, "tools": tools})

    def call(self) -> dict:
        return self.agent.until(TOOL_CALL).json

    def answer(self, call: dict, **answer: object) -> None:
        self.agent.send(TOOL_RESULT, {"call": call["call"], **answer})

    def echo(self, code: str, tools=TOOLS) -> Execution:
        """A cell whose every call returns its arguments."""
        execution = Execution(self.start(code, tools))
        while not execution.frames or execution.frames[-1].type != DONE:
            execution.frames.append(self.agent.receive())
            if execution.frames[-1].type == TOOL_CALL:
                call = execution.frames[-1].json
                self.answer(call, result=call["arguments"])
        return execution

    def test_a_call_is_awaited_and_gives_what_the_tool_returned(self) -> None:
        channel = self.start("(await tools.search({query: 'x', limit: 3})).hits")
        call = self.call()
        self.assertEqual((call["name"], call["arguments"]), ("search", {"query": "x", "limit": 3}))
        self.answer(call, result={"hits": [1, None, "ü"]})
        self.assertEqual(self.agent.collect(channel).text, "[ 1, null, 'ü' ]")

    def test_names_with_a_dash_have_one_without(self) -> None:
        code = "await tools['stop-all'](); await tools.stop_all({a: 1})"
        self.assertEqual(self.echo(code).text, "{ a: 1 }")

    def test_arguments_are_one_object(self) -> None:
        for value in ("1", "'x'", "null", "[1]", "() => 1", "{a: 1n}", "{toJSON() { return 1 }}"):
            with self.subTest(value):
                execution = self.echo(f"await tools.search({value})")
                self.assertEqual(execution.error["name"], "TypeError")
                self.assertEqual(execution.of(TOOL_CALL), [])
        execution = self.echo("await tools.search({a: 'x'.repeat(256 << 10)})")
        self.assertEqual((execution.error["name"], execution.of(TOOL_CALL)), ("ToolError", []))

    def test_an_error_of_a_tool_is_thrown(self) -> None:
        code = "await tools.search().catch((e) => [e.name, e.message, e.tool, e instanceof tools.ToolError])"
        channel = self.start(code)
        self.answer(self.call(), error={"message": "no luck"})
        self.assertEqual(self.agent.collect(channel).text, "[ 'ToolError', 'no luck', 'search', true ]")
        channel = self.start("await tools.search()")
        self.answer(self.call(), error={"message": "no luck"})
        error = self.agent.collect(channel).error
        self.assertEqual((error["name"], error["value"]), ("ToolError", "no luck"))

    def test_calls_are_under_way_at_once_and_return_in_any_order(self) -> None:
        channel = self.start("(await Promise.all([...Array(50).keys()].map((n) => tools.search({n})))).join()")
        calls = [self.call() for _ in range(50)]
        for call in reversed(calls):
            self.answer(call, result=call["arguments"]["n"] * 2)
        expected = ",".join(str(2 * n) for n in range(50))
        self.assertEqual(self.agent.collect(channel).text, f"'{expected}'")

    def test_more_than_may_be_open_wait_for_their_turn(self) -> None:
        channel = self.start("(await Promise.all([...Array(150).keys()].map((n) => tools.search({n})))).length")
        calls = [self.call() for _ in range(64)]
        for answered in range(150):
            self.answer(calls[answered], result=None)
            if len(calls) < 150:
                calls.append(self.call())
        self.assertEqual(self.agent.collect(channel).text, "150")

    def test_what_nobody_waits_for_fails_with_the_end_of_the_execution(self) -> None:
        channel = self.start("globalThis.kept = tools; globalThis.lost = tools.search(); 1")
        call = self.call()
        self.assertEqual(self.agent.collect(channel).status, "ok")
        self.answer(call, result="late")
        self.assertEqual(self.agent.execute("await lost.catch((e) => e.message)").text, "'the execution has ended'")
        self.assertEqual(self.agent.execute("typeof tools").text, "'undefined'")
        self.assertIn("has ended", self.agent.execute("await kept.search()").error["value"])
        self.assertIn("has ended", self.echo("await kept.search()", [{"name": "other"}]).error["value"])
        self.assertEqual(self.echo("await kept.search({a: 1})").text, "{ a: 1 }")

    def test_a_tool_with_dots_in_its_name_is_in_an_object(self) -> None:
        offer = [{"name": "mcp.git-hub.create-issue"}, {"name": "llm.complete"}]
        for code in ("mcp.git_hub.create_issue", "tools.mcp.git_hub['create-issue']", "llm.complete"):
            with self.subTest(code):
                channel = self.start(f"await {code}({{a: 1}})", offer)
                call = self.call()
                self.assertIn(call["name"], [each["name"] for each in offer])
                self.answer(call, result=call["arguments"])
                self.assertEqual(self.agent.collect(channel).text, "{ a: 1 }")
        self.assertEqual(self.echo("Object.isFrozen(mcp.git_hub)", offer).text, "true")
        self.assertEqual(self.agent.execute("[typeof mcp, typeof llm].join()").text, "'undefined,undefined'")

    def test_a_variable_of_the_guest_stays_and_a_note_says_so(self) -> None:
        with Agent() as agent:
            agent.execute("const tools = 'mine'")
            execution = agent.execute("tools", tools=TOOLS)
            self.assertEqual(execution.text, "'mine'")
            self.assertIn("hides 'tools'", execution.of(NOTE)[0].json["text"])
            self.assertEqual(agent.execute("tools").text, "'mine'")

    def test_an_interrupt_ends_the_wait(self) -> None:
        channel = self.start("await tools.search()")
        call = self.call()
        execution = self.agent.interrupt_until_done(channel)
        self.assertEqual(execution.error["name"], "KeyboardInterrupt")
        self.answer(call, result="late")
        self.assertEqual(self.echo("await tools.search({a: 1})").text, "{ a: 1 }")

    def test_typescript_has_them_too(self) -> None:
        with Agent("typescript") as agent:
            channel = agent.send(EXECUTE, {"code": "const n: number = await tools.search(); n", "tools": TOOLS})
            call = agent.until(TOOL_CALL).json
            agent.send(TOOL_RESULT, {"call": call["call"], "result": 5})
            self.assertEqual(agent.collect(channel).text, "5")


if __name__ == "__main__":
    unittest.main()
