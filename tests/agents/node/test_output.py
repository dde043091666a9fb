# SPDX-License-Identifier: Apache-2.0
"""Streams, rich values, errors, and questions to the user."""

from __future__ import annotations

import base64
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from harness import (CLEAR, DONE, EXECUTE, FETCH, INPUT, INPUT_REQUEST, NODE, RESULT, STARTED, STDERR,  # noqa: E402
                     STDOUT, Agent)


@unittest.skipUnless(NODE, "node is not installed")
class AgentTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.agent = Agent(GLOVEBOX_INLINE="100000")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.agent.__exit__()


class Streams(AgentTest):
    def test_console_and_process_write_to_their_streams(self) -> None:
        execution = self.agent.execute(
            "console.log('a', {b: 1}); console.info('c'); console.debug('d'); process.stdout.write('e\\n');"
            "console.error('f'); console.warn('g'); process.stderr.write('h\\n')")
        self.assertEqual(execution.stdout, "a { b: 1 }\nc\nd\ne\n")
        self.assertEqual(execution.stderr, "f\ng\nh\n")

    def test_output_keeps_its_order_between_started_and_done(self) -> None:
        execution = self.agent.execute("console.log(1); console.error(2); console.log(3); 4")
        self.assertEqual([frame.type for frame in execution.frames], [STARTED, STDOUT, STDERR, STDOUT, RESULT, DONE])

    def test_output_between_executions_carries_the_last_channel(self) -> None:
        execution = self.agent.execute("setTimeout(() => console.log('later'), 5); 0")
        frame = self.agent.until(STDOUT)
        self.assertEqual((frame.channel, frame.payload), (execution.channel, b"later\n"))

    def test_much_output_arrives_whole(self) -> None:
        execution = self.agent.execute("process.stdout.write('z'.repeat(5e6)); for (let i = 0; i < 2e4; i++) console.log(i)")
        self.assertEqual(execution.stdout, "z" * 5_000_000 + "".join(f"{i}\n" for i in range(20000)))

    def test_bytes_are_written_as_they_are(self) -> None:
        execution = self.agent.execute("process.stdout.write(Buffer.from([0, 255, 10])); 0")
        self.assertEqual(execution.of(STDOUT)[0].payload, b"\x00\xff\n")

    def test_a_write_calls_back(self) -> None:
        execution = self.agent.execute("await new Promise(r => process.stdout.write('x', r)); 'called'")
        self.assertEqual(execution.text, "'called'")

    def test_streams_can_be_piped_to_standard_output(self) -> None:
        code = "const {pipeline} = require('stream/promises'); await pipeline(require('stream').Readable.from(['p', 'q']), process.stdout, {end: false})"
        self.assertEqual(self.agent.execute(code).stdout, "pq")

    def test_descriptor_three_is_not_inherited(self) -> None:
        code = ("const {spawnSync, execSync} = require('child_process');"
                "execSync('[ -e /proc/$$/fd/3 ] && echo open || echo closed').toString()")
        self.assertEqual(self.agent.execute(code).text, r"'closed\n'")


class RichValues(AgentTest):
    def test_display_makes_bundles_of_all_kinds(self) -> None:
        execution = self.agent.execute(
            "display.html('<b>h</b>'); display.markdown('# m'); display.svg('<svg/>'); display.png(Buffer.from('png'));"
            "display.json({j: [1]}); display({plain: true}); display({'text/html': 'x', 'text/plain': 'y'})")
        self.assertEqual([shown["data"] for shown in execution.displays], [
            {"text/html": "<b>h</b>"}, {"text/markdown": "# m"}, {"image/svg+xml": "<svg/>"},
            {"image/png": base64.b64encode(b"png").decode()}, {"application/json": {"j": [1]}},
            {"text/plain": "{ plain: true }"}, {"text/html": "x", "text/plain": "y"}])
        self.assertIsNone(execution.result)

    def test_a_display_can_be_updated(self) -> None:
        shown = self.agent.execute("const handle = display('a', {id: 'mine'}); handle.update('b'); 0").displays
        self.assertEqual([(one["display_id"], one["update"], one["data"]["text/plain"]) for one in shown],
                         [("mine", False, "'a'"), ("mine", True, "'b'")])

    def test_an_object_may_show_itself(self) -> None:
        code = "({[Symbol.for('Jupyter.display')]() { return {'text/html': '<i>', 'text/plain': 'i'} }})"
        self.assertEqual(self.agent.execute(code).result, {"text/html": "<i>", "text/plain": "i"})

    def test_an_object_may_show_itself_later(self) -> None:
        code = "({async $$mimeBundle() { return {'text/plain': 'slow'} }})"
        self.assertEqual(self.agent.execute(code).result, {"text/plain": "slow"})

    def test_an_object_that_fails_to_show_itself_is_an_error(self) -> None:
        execution = self.agent.execute("({$$mimeBundle() { throw new Error('shy') }})")
        self.assertEqual(execution.error["value"], "shy")

    def test_display_clear_clears(self) -> None:
        self.assertEqual(self.agent.execute("display.clear({wait: true})").of(CLEAR)[0].json, {"wait": True})

    def test_a_large_value_goes_by_reference(self) -> None:
        reference = self.agent.execute("display.html('é'.repeat(1500000))").displays[0]["data"]["text/html"]
        self.assertEqual(reference["size"], 3_000_000)
        self.assertEqual(self.agent.fetch(reference["ref"]).decode(), "é" * 1_500_000)

    def test_old_references_make_room_for_new_ones(self) -> None:
        execution = self.agent.execute("for (let i = 0; i < 8; i++) display.html(String(i).repeat(10e6))")
        references = [shown["data"]["text/html"]["ref"] for shown in execution.displays]
        self.assertIn("error", self.agent.ask(FETCH, ref=references[0], offset=0, size=10))
        self.assertEqual(base64.b64decode(self.agent.ask(FETCH, ref=references[7], offset=5, size=3)["base64"]), b"777")

    def test_a_value_that_json_cannot_hold_is_an_error(self) -> None:
        self.assertEqual(self.agent.execute("const loop = {}; loop.loop = loop; display.json(loop)").error["name"], "TypeError")

    def test_a_value_that_cannot_be_shown_does_not_end_the_context(self) -> None:
        execution = self.agent.execute("({[Symbol.for('nodejs.util.inspect.custom')]() { throw new Error('no') }})")
        self.assertEqual(execution.text, "[object that cannot be shown: no]")


class Errors(AgentTest):
    def traceback(self, code: str) -> str:
        return "\n".join(self.agent.execute(code).error["traceback"])

    def test_an_error_has_name_value_and_place(self) -> None:
        execution = self.agent.execute("let before = 1;\nfunction fail() {\n  throw new RangeError('too far')\n}\nfail()")
        cell = f"cell {execution.frames[0].json['execution_count']}"
        self.assertEqual((execution.error["name"], execution.error["value"]), ("RangeError", "too far"))
        traceback = "\n".join(execution.error["traceback"])
        self.assertIn(f"at fail ({cell}:3:9)", traceback)
        self.assertIn(f"at {cell}:5:1", traceback)
        self.assertEqual(execution.status, "error")

    def test_columns_are_those_of_the_cell_whatever_became_of_it(self) -> None:
        self.assertRegex(self.traceback("await 0; const before = 1; let x; throw new Error('here')"), r"cell \d+:1:41")

    def test_no_frame_of_the_agent_is_shown(self) -> None:
        traceback = self.traceback("await 0; setTimeout; require('./missing')")
        for own in ("agents/node", "node:internal", "node:vm"):
            self.assertNotIn("(" + own, traceback)
        printed = self.agent.execute("console.error(new Error('printed'))").stderr
        self.assertRegex(printed, r"^Error: printed\n    at cell \d+:1:15\n$")

    def test_an_error_in_an_earlier_cell_names_that_cell(self) -> None:
        count = self.agent.execute("function thrower() {\n  null.x }").frames[0].json["execution_count"]
        self.assertIn(f"thrower (cell {count}:2:8)", self.traceback("thrower()"))

    def test_a_syntax_error_shows_the_line(self) -> None:
        execution = self.agent.execute("let ok = 1\nlet bad = = 2")
        self.assertEqual(execution.error["name"], "SyntaxError")
        self.assertIn("let bad = = 2", "\n".join(execution.error["traceback"]))

    def test_a_syntax_error_beside_await_shows_the_line(self) -> None:
        self.assertIn("await nothing(;", self.traceback("let ok = 1\nawait nothing(;"))

    def test_causes_and_properties_of_an_error_are_shown(self) -> None:
        traceback = self.traceback("throw Object.assign(new Error('outer', {cause: new Error('inner')}), {code: 'E7'})")
        self.assertIn("code: 'E7'", traceback)
        self.assertIn("[cause]: Error: inner", traceback)

    def test_anything_can_be_thrown(self) -> None:
        for thrown, value in (("5", "5"), ("null", "null"), ("({a: 1})", "{ a: 1 }"), ("new Proxy({}, {get() { throw 1 }})", "{}")):
            with self.subTest(thrown):
                self.assertEqual(self.agent.execute(f"throw {thrown}").error["value"], value)

    def test_a_rejected_last_value_is_an_error(self) -> None:
        self.assertEqual(self.agent.execute("Promise.reject(new Error('refused'))").error["value"], "refused")

    def test_an_error_in_a_timer_is_said_on_stderr_and_ends_nothing(self) -> None:
        execution = self.agent.execute("setTimeout(() => { throw new Error('in a timer') }, 1); 0")
        frame = self.agent.until(STDERR)
        self.assertEqual(frame.channel, execution.channel)
        self.assertIn(b"Uncaught Error: in a timer", frame.payload)
        self.assertEqual(self.agent.execute("1").text, "1")

    def test_an_unhandled_rejection_is_said_on_stderr_and_ends_nothing(self) -> None:
        execution = self.agent.execute("Promise.reject(new Error('left alone')); await new Promise(r => setTimeout(r, 5))")
        self.assertIn("Uncaught Error: left alone", execution.stderr)
        self.assertEqual(execution.status, "ok")

    def test_stack_overflow_is_an_error(self) -> None:
        self.assertEqual(self.agent.execute("(function deeper() { deeper() })()").error["name"], "RangeError")


class Questions(AgentTest):
    def answer(self, code: str, answers: list[dict]) -> tuple[list[dict], str | None]:
        channel = self.agent.send(EXECUTE, {"code": code})
        asked = []
        for answer in answers:
            asked.append(self.agent.until(INPUT_REQUEST).json)
            self.agent.send(INPUT, answer, channel)
        return asked, self.agent.collect(channel).text

    def test_input_gives_a_promise_of_a_line(self) -> None:
        asked, text = self.answer("await input('name? ') + await input('pass? ', {password: true})", [{"text": "a"}, {"text": "b"}])
        self.assertEqual(asked, [{"prompt": "name? ", "password": False}, {"prompt": "pass? ", "password": True}])
        self.assertEqual(text, "'ab'")

    def test_prompt_waits_for_a_line(self) -> None:
        self.assertEqual(self.answer("const said = prompt('? '); said.toUpperCase()", [{"text": "ünï"}])[1], "'ÜNÏ'")

    def test_the_end_of_input_is_null(self) -> None:
        self.assertEqual(self.answer("[prompt(''), await input('')]", [{"eof": True}, {"eof": True}])[1], "[ null, null ]")

    def test_requests_that_come_during_a_prompt_are_answered_after_it(self) -> None:
        channel = self.agent.send(EXECUTE, {"code": "prompt('? ')"})
        self.agent.until(INPUT_REQUEST)
        second = self.agent.send(EXECUTE, {"code": "'second'"})
        self.agent.send(INPUT, {"text": "first"}, channel)
        self.assertEqual(self.agent.collect(channel).text, "'first'")
        self.assertEqual(self.agent.collect(second).text, "'second'")


del AgentTest

if __name__ == "__main__":
    unittest.main()
