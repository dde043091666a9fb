# SPDX-License-Identifier: Apache-2.0
"""TypeScript cells: types are taken out, places stay."""

from __future__ import annotations

import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from harness import IS_COMPLETE, NODE, Agent  # noqa: E402


@unittest.skipUnless(NODE, "node is not installed")
class TypeScript(unittest.TestCase):
    def setUp(self) -> None:
        if not shutil.which("esbuild"):
            self.skipTest("esbuild is not installed")
        self.agent = Agent("typescript")
        self.addCleanup(self.agent.__exit__)

    def test_types_are_taken_out(self) -> None:
        code = ("interface Point { x: number }\nenum Colour { Red, Green }\nconst p: Point = {x: 1};\n"
                "class Box<T> { constructor(private value: T) {} get(): T { return this.value } }\n"
                "[p.x, Colour.Green, new Box<number>(4).get()] as unknown")
        self.assertEqual(self.agent.execute(code).text, "[ 1, 1, 4 ]")
        self.assertEqual(self.agent.ready.json["language"], "typescript")

    def test_declarations_persist(self) -> None:
        self.agent.execute("const total: number = 3; function twice(n: number): number { return 2 * n }")
        self.assertEqual(self.agent.execute("twice(total)").text, "6")

    def test_await_and_the_last_expression_work(self) -> None:
        self.assertEqual(self.agent.execute("const n: number = await Promise.resolve(5)\nn satisfies number").text, "5")

    def test_imports_are_kept_for_later_cells(self) -> None:
        self.agent.execute("import fs, {type Stats, PathLike} from 'node:fs'\nimport type {Server} from 'node:http'")
        self.assertEqual(self.agent.execute("typeof fs.statSync").text, "'function'")

    def test_places_in_errors_are_those_of_the_cell(self) -> None:
        code = "interface A {\n  a: number\n}\n\nfunction bad(a: A): never {\n  throw new Error('typed')\n}\nawait 0\nbad({a: 1})"
        traceback = "\n".join(self.agent.execute(code).error["traceback"])
        self.assertRegex(traceback, r"at bad \(cell 1:6:9\)")
        self.assertRegex(traceback, r"at async cell 1:9:1|at cell 1:9:1")

    def test_places_in_printed_stacks_are_those_of_the_cell(self) -> None:
        stderr = self.agent.execute("type A = {\n  a: number\n}\nconsole.error(new Error('printed'))").stderr
        self.assertRegex(stderr, r"cell 1:4:15")

    def test_a_syntax_error_names_its_place(self) -> None:
        error = self.agent.execute("let ok = 1\nlet a: = 5").error
        self.assertEqual(error["name"], "SyntaxError")
        self.assertIn("cell 1:2", error["traceback"][0])

    def test_completeness_knows_types(self) -> None:
        for code, status in (("let a: number = 1", "complete"), ("function f(a: number) {", "incomplete"), ("let a: = 1", "invalid")):
            with self.subTest(code):
                self.assertEqual(self.agent.ask(IS_COMPLETE, code=code)["status"], status)


@unittest.skipUnless(NODE, "node is not installed")
class WithoutCompiler(unittest.TestCase):
    def test_the_lack_of_a_compiler_is_said_and_ends_nothing(self) -> None:
        with Agent("typescript", PATH="/nowhere") as agent:
            if agent.execute("typeof require('module').stripTypeScriptTypes").text == "'function'":
                self.skipTest("this Node strips types itself")
            self.assertIn("esbuild", agent.execute("1").error["value"])


if __name__ == "__main__":
    unittest.main()
