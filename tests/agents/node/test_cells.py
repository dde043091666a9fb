# SPDX-License-Identifier: Apache-2.0
"""What a cell leaves behind for the next one, and what its value is."""

from __future__ import annotations

import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, os.path.dirname(__file__))
from harness import EXECUTE, NODE, STARTED, Agent  # noqa: E402


@unittest.skipUnless(NODE, "node is not installed")
class Cells(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.agent = Agent()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.agent.__exit__()

    def value(self, code: str) -> str | None:
        execution = self.agent.execute(code)
        self.assertIsNone(execution.error, execution.error)
        return execution.text

    def test_ready_names_language_and_version(self) -> None:
        self.assertEqual(self.agent.ready.channel, 0)
        self.assertEqual(self.agent.ready.json["language"], "javascript")
        self.assertRegex(self.agent.ready.json["version"], r"^\d+\.\d+\.\d+$")

    def test_value_of_the_last_expression_is_the_result(self) -> None:
        self.assertEqual(self.value("let a = 1\na + 1"), "2")

    def test_value_of_a_last_statement_that_is_no_expression_is_no_result(self) -> None:
        self.assertIsNone(self.value("for (const i of [1, 2]) i * 2"))

    def test_undefined_is_no_result(self) -> None:
        self.assertIsNone(self.value("void 0"))

    def test_null_is_a_result(self) -> None:
        self.assertEqual(self.value("null"), "null")

    def test_values_look_as_in_the_repl(self) -> None:
        self.assertEqual(self.value("[new Map([[1, {a: 'b'}]]), 10n, Symbol('s')]"),
                         "[ Map(1) { 1 => { a: 'b' } }, 10n, Symbol(s) ]")

    def test_a_cell_in_braces_is_an_object(self) -> None:
        self.assertEqual(self.value("{a: 1, b: 2}"), "{ a: 1, b: 2 }")

    def test_a_long_string_is_shown_whole(self) -> None:
        self.assertEqual(self.value("'x'.repeat(20000)"), "'" + "x" * 20000 + "'")

    def test_declarations_of_all_kinds_persist(self) -> None:
        self.value("let l = 1; const c = 2; var v = 3; class K { m() { return l + c } } function f() { return v }")
        self.assertEqual(self.value("[l, c, v, new K().m(), f()]"), "[ 1, 2, 3, 3, 3 ]")

    def test_destructured_declarations_persist(self) -> None:
        self.value("const {p: {q}, ...others} = {p: {q: 1}, r: 2}, [first, , third = 9] = [7, 8]")
        self.assertEqual(self.value("[q, others, first, third]"), "[ 1, { r: 2 }, 7, 9 ]")

    def test_everything_can_be_declared_again_as_something_else(self) -> None:
        self.value("const again = 1; let twice = 1; class Thrice {}; function fourth() {}")
        self.value("let again = 2; class twice {}; const Thrice = 3; var fourth = 4")
        self.assertEqual(self.value("[again, typeof twice, Thrice, fourth]"), "[ 2, 'function', 3, 4 ]")

    def test_let_without_a_value_starts_as_undefined_again(self) -> None:
        self.value("let counter = 5")
        self.assertEqual(self.value("let counter; typeof counter"), "'undefined'")

    def test_earlier_functions_see_later_declarations(self) -> None:
        self.value("function outer() { return inner() } function inner() { return 'old' }; await 0")
        self.value("const inner = () => 'new'")
        self.assertEqual(self.value("outer()"), "'new'")

    def test_functions_are_hoisted_also_beside_await(self) -> None:
        self.assertEqual(self.value("const early = hoisted(); await 0; early\nfunction hoisted() { return 'up' }\nearly"), "'up'")

    def test_var_in_a_nested_block_persists_also_beside_await(self) -> None:
        self.value("await 0; for (var index = 0; index < 3; index++) { var square = index * index }")
        self.assertEqual(self.value("[index, square]"), "[ 3, 4 ]")

    def test_var_as_the_only_statement_of_a_branch_stays_one_statement(self) -> None:
        self.assertEqual(self.value("await 0; if (false) var branch = 1; else var branch = 2; branch"), "2")

    def test_arguments_of_the_agent_are_not_those_of_the_guest(self) -> None:
        self.assertEqual(self.value("[process.argv.slice(1), process.execArgv]"), "[ [], [] ]")

    def test_let_in_a_block_does_not_persist(self) -> None:
        self.value("{ let hidden = 1 };")
        self.assertEqual(self.value("typeof hidden"), "'undefined'")

    def test_statements_without_semicolons_stay_apart(self) -> None:
        self.assertEqual(self.value("const list = []\nlist.push(1)\nlet other = 2\n;[3].forEach(x => list.push(x))\nlist"), "[ 1, 3 ]")

    def test_names_of_nodes_own_globals_can_be_declared(self) -> None:
        self.value("const crypto = require('crypto'); const {performance} = require('perf_hooks'); const fs = require('fs')")
        self.assertEqual(self.value("[typeof crypto.createHash, typeof performance.now, typeof fs.statSync]"),
                         "[ 'function', 'function', 'function' ]")

    def test_await_works_at_the_top_level(self) -> None:
        self.assertEqual(self.value("const awaited = await new Promise(r => setTimeout(r, 1, 'late')); awaited"), "'late'")

    def test_for_await_works_at_the_top_level(self) -> None:
        execution = self.agent.execute("for await (const part of [1, Promise.resolve(2)]) console.log(part)")
        self.assertEqual(execution.stdout, "1\n2\n")

    def test_a_promise_as_the_last_value_is_awaited(self) -> None:
        self.assertEqual(self.value("Promise.resolve(5)"), "5")

    def test_a_promise_of_nothing_is_no_result(self) -> None:
        self.assertIsNone(self.value("Promise.resolve()"))

    def test_imports_of_all_kinds_persist(self) -> None:
        self.value("import fs1, {join as glue} from 'node:path'\nimport * as os1 from 'os'\nimport 'node:fs'")
        self.assertEqual(self.value("[glue('a', 'b'), fs1.join === glue, typeof os1.cpus]"), "[ 'a/b', true, 'function' ]")

    def test_import_of_a_missing_name_is_an_error(self) -> None:
        error = self.agent.execute("import {nothing} from 'node:fs'").error
        self.assertEqual(error["name"], "SyntaxError")
        self.assertIn("'nothing'", error["value"])

    def test_import_and_require_start_at_the_working_directory(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            Path(directory, "esm.mjs").write_text("export default 'esm'; export const named = 1")
            Path(directory, "cjs.js").write_text("module.exports = 'cjs'")
            Path(directory, "data.json").write_text('{"a": 1}')
            code = ("import esm, {named} from './esm.mjs'\nimport data from './data.json' with {type: 'json'}\n"
                    "function lazily() { return import('./esm.mjs') }\n"
                    "[esm, named, data.a, require('./cjs.js'), (await lazily()).default]")
            execution = self.agent.execute(code, cwd=directory)
        self.assertEqual(execution.text, "[ 'esm', 1, 1, 'cjs', 'esm' ]", execution.error)

    def test_modules_of_node_need_no_require(self) -> None:
        self.assertEqual(self.value("path.basename('/a/b')"), "'b'")

    def test_code_for_the_main_program_runs(self) -> None:
        self.assertEqual(self.value("let ran = false; if (require.main === module) ran = true; ran"), "true")

    def test_exports_are_declarations(self) -> None:
        self.value("export const exported = 1; export default function shipped() { return 2 }")
        self.assertEqual(self.value("[exported, shipped()]"), "[ 1, 2 ]")

    def test_environment_and_directory_hold_for_one_execution(self) -> None:
        directory = os.path.realpath(tempfile.gettempdir())
        before = self.value("process.cwd()")
        execution = self.agent.execute("await 0; [process.env.ONCE, process.cwd()]", env={"ONCE": "yes"}, cwd=directory)
        self.assertEqual(execution.text, f"[ 'yes', '{directory}' ]")
        self.assertEqual(self.value("process.env.ONCE === undefined && process.cwd()"), before)

    def test_a_directory_that_is_not_there_is_an_error(self) -> None:
        execution = self.agent.execute("1", cwd="/nowhere/at/all")
        self.assertIn("ENOENT", execution.error["value"])
        self.assertEqual(self.value("1"), "1")

    def test_count_grows_only_with_what_is_stored(self) -> None:
        first = self.agent.execute("1").of(STARTED)[0].json["execution_count"]
        hidden = self.agent.execute("2", silent=True)
        self.assertEqual(hidden.frames[-1].json["execution_count"], first)
        self.assertIsNone(hidden.result)
        self.agent.execute("3", store_history=False)
        self.assertEqual(self.agent.execute("4").of(STARTED)[0].json["execution_count"], first + 1)

    def test_executions_wait_their_turn(self) -> None:
        slow = self.agent.send(EXECUTE, {"code": "await new Promise(r => setTimeout(r, 20)); let turn = 'slow'"})
        quick = self.agent.send(EXECUTE, {"code": "turn + ' was first'"})
        self.agent.collect(slow)
        self.assertEqual(self.agent.collect(quick).text, "'slow was first'")

    def test_a_long_cell_comes_in_parts(self) -> None:
        self.assertEqual(self.value(f"'{'y' * 3_000_000}'.length"), "3000000")

    def test_an_empty_cell_is_well(self) -> None:
        execution = self.agent.execute("// nothing")
        self.assertEqual((execution.status, execution.result), ("ok", None))

    def test_strict_cells_are_strict(self) -> None:
        self.assertEqual(self.agent.execute("'use strict'; notDeclared = 1").error["name"], "ReferenceError")

    def test_timers_outlive_their_cell(self) -> None:
        self.value("let rang; const bell = new Promise(r => { rang = r }); setTimeout(() => rang('rang'), 5); undefined")
        self.assertEqual(self.value("bell"), "'rang'")

    def test_text_beyond_ascii_survives(self) -> None:
        self.assertEqual(self.value("'日本 🎉'"), "'日本 🎉'")


if __name__ == "__main__":
    unittest.main()
