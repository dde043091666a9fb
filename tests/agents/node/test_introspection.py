# SPDX-License-Identifier: Apache-2.0
"""Completion, inspection, completeness, variables: none of them may run code of the guest."""

from __future__ import annotations

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from harness import COMPLETE, EXECUTE, INSPECT, IS_COMPLETE, NODE, STARTED, VARIABLES, Agent  # noqa: E402

TRAPS = """
let touched = 0;
const trap = {get secret() { touched++; return {deep: 1} }, plain: {inner: 1}};
const proxy = new Proxy({}, {get() { touched++ }, ownKeys() { touched++; return [] }, getPrototypeOf() { touched++; return null },
  getOwnPropertyDescriptor() { touched++ }});
const shy = {[Symbol.for('nodejs.util.inspect.custom')]() { touched++; return 'shown' }};
"""


@unittest.skipUnless(NODE, "node is not installed")
class Introspection(unittest.TestCase):
    def setUp(self) -> None:
        self.agent = Agent()
        self.addCleanup(self.agent.__exit__)

    def matches(self, code: str, cursor: int | None = None) -> list[str]:
        return self.agent.ask(COMPLETE, code=code, cursor=len(code) if cursor is None else cursor)["matches"]

    def test_properties_are_completed(self) -> None:
        self.agent.execute("const tree = {apple: {core: 1}, apricot: 2, ['no name']: 3}")
        self.assertEqual(self.matches("x = tree.ap"), ["apple", "apricot"])
        self.assertIn("core", self.matches("tree.apple."))
        self.assertIn("core", self.matches("tree?.apple?.c"))
        self.assertNotIn("no name", self.matches("tree."))

    def test_globals_and_keywords_are_completed(self) -> None:
        self.agent.execute("let myVariable = 1")
        self.assertEqual(self.matches("1 + myVa"), ["myVariable"])
        self.assertEqual(self.matches("swi"), ["switch"])

    def test_lazy_globals_of_node_are_completed(self) -> None:
        self.assertIn("randomUUID", self.matches("crypto.random"))

    def test_inherited_methods_are_completed(self) -> None:
        self.agent.execute("class Base { method() {} }; class Derived extends Base {}; const made = new Derived(); const list = [1]")
        self.assertEqual(self.matches("made.meth"), ["method"])
        self.assertIn("flatMap", self.matches("list.fl"))

    def test_cursor_and_places_count_code_points(self) -> None:
        self.agent.execute("const tree = {apple: 1}")
        answer = self.agent.ask(COMPLETE, code="'🎉🎉'; tree.apX", cursor=13)
        self.assertEqual(answer, {"matches": ["apple"], "start": 11, "end": 13})

    def test_members_of_an_unknown_value_are_not_guessed(self) -> None:
        self.assertEqual(self.matches("call().to"), [])

    def test_nothing_of_the_guest_runs(self) -> None:
        self.agent.execute(TRAPS)
        self.assertEqual(self.matches("trap.secret."), [])
        self.assertEqual(self.matches("proxy."), [])
        self.assertIn("secret", self.matches("trap.s"))
        for code in ("trap", "trap.secret", "proxy", "shy"):
            self.agent.ask(INSPECT, code=code, cursor=len(code))
        self.agent.ask(VARIABLES)
        self.assertEqual(self.agent.execute("touched").text, "0")

    def test_inspect_shows_value_and_type(self) -> None:
        self.agent.execute("const point = {x: 1}; function area(w, h) { return w * h }")
        answer = self.agent.ask(INSPECT, code="point.x", cursor=3)
        self.assertEqual(answer, {"found": True, "data": {"text/plain": "point: Object\n{ x: 1 }"}})
        shown = self.agent.ask(INSPECT, code="area", cursor=4)["data"]["text/plain"]
        self.assertIn("function area(w, h) { return w * h }", shown)

    def test_inspect_of_nothing_finds_nothing(self) -> None:
        self.assertFalse(self.agent.ask(INSPECT, code="unheardOf", cursor=4)["found"])

    def test_code_is_complete_incomplete_or_invalid(self) -> None:
        for code, status in (("1 + 1", "complete"), ("await f()", "complete"), ("if (a) {", "incomplete"), ("f(1,", "incomplete"),
                             ("`open", "incomplete"), ("/* open", "incomplete"), ("let = = 1", "invalid"), ("a }", "invalid"),
                             ("'open", "invalid"), ("import fs from 'fs'", "complete")):
            with self.subTest(code):
                self.assertEqual(self.agent.ask(IS_COMPLETE, code=code)["status"], status)

    def test_an_open_block_asks_for_an_indent(self) -> None:
        self.assertEqual(self.agent.ask(IS_COMPLETE, code="  if (a) {")["indent"], "    ")

    def test_variables_are_those_of_the_guest(self) -> None:
        self.agent.execute("let n = 1; const s = 'text'; class C {}; const c = new C(); loose = [1, 2]; const big = 'b'.repeat(1000)")
        found = {one["name"]: (one["type"], one["value"]) for one in self.agent.ask(VARIABLES)["variables"]}
        self.assertEqual(found["n"], ("number", "1"))
        self.assertEqual(found["s"], ("string", "'text'"))
        self.assertEqual(found["c"], ("C", "C {}"))
        self.assertEqual(found["loose"], ("Array", "[ 1, 2 ]"))
        self.assertEqual(len(found["big"][1]), 200)
        self.assertEqual(set(found), {"n", "s", "C", "c", "loose", "big"})

    def test_variables_are_at_most_a_thousand(self) -> None:
        self.agent.execute("for (let i = 0; i < 2000; i++) globalThis['v' + i] = i")
        self.assertEqual(len(self.agent.ask(VARIABLES)["variables"]), 1000)

    def test_requests_are_answered_while_a_cell_waits(self) -> None:
        channel = self.agent.send(EXECUTE, {"code": "let free; await new Promise(r => { free = r })"})
        self.agent.until(STARTED)
        self.assertEqual(self.matches("fre"), ["free"])
        self.agent.interrupt_until_done(channel)


if __name__ == "__main__":
    unittest.main()
