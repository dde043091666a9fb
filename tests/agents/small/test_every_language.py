# SPDX-License-Identifier: Apache-2.0
"""What every agent of a small language must do. One class for each language, made below."""

import tempfile
import time
import unittest

import harness
from harness import ERROR, INPUT_REQUEST, NOTE, RESULT, STARTED, STDOUT, Agent, Execution
from languages import LANGUAGES, Language


def shown(execution: Execution) -> str:
    """All that an execution shows as text, printed or as values."""
    values = [frame["data"]["text/plain"] for frame in execution.frames(RESULT)]
    return "".join([execution.stdout, *values])


class Claims:
    language: Language

    def setUp(self) -> None:
        if self.language.missing:
            self.skipTest(self.language.missing)
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.agent = self.enterContext(Agent(list(self.language.command), directory.name))

    def run_code(self, code: str, **options: object) -> Execution:
        return self.agent.run(code, **options)

    def need(self, name: str) -> str:
        code = getattr(self.language, name)
        if not code:
            self.skipTest(f"{self.language.name} cannot: {name}")
        return code

    def assert_alive(self) -> None:
        execution = self.run_code(self.language.remember.replace("table t", "table alive")
                                  .replace("into t", "into alive"))
        self.assertEqual(execution.done["status"], "ok", execution)

    def test_ready_states_language_and_version_and_nothing_is_written(self) -> None:
        self.assertEqual(self.agent.ready["language"], self.language.name)
        self.assertRegex(self.agent.ready["version"], r"^[0-9]+\.[0-9]+")
        self.assertEqual(self.agent.stray, [])

    def test_state_persists(self) -> None:
        self.assertEqual(self.run_code(self.language.remember).done["status"], "ok")
        execution = self.run_code(self.language.recall)
        self.assertIn("42", shown(execution))
        self.assertEqual(execution.result is not None, self.language.shows_result)

    def test_executions_are_counted_but_silent_ones_are_not(self) -> None:
        self.assertEqual(self.run_code(self.language.trivial).done["execution_count"], 1)
        silent = self.run_code(self.language.trivial, silent=True)
        self.assertIsNone(silent.result)
        self.assertEqual(self.run_code(self.language.trivial).done["execution_count"], 2)

    def test_executions_that_come_together_are_done_in_turn(self) -> None:
        channels = [self.agent.begin(self.language.trivial) for _ in range(20)]
        counts = [self.agent.finish(channel).done["execution_count"] for channel in channels]
        self.assertEqual(counts, list(range(1, 21)))

    def test_output_keeps_its_order_and_comes_before_done(self) -> None:
        execution = self.run_code(self.need("numbers"))
        self.assertEqual(execution.stdout, "".join(f"{number}\n" for number in range(1, 1001)))

    def test_unicode_survives_both_ways(self) -> None:
        self.assertIn("ünï😀", shown(self.run_code(self.language.unicode)))

    def test_an_error_has_name_and_value_and_state_stays(self) -> None:
        self.run_code(self.language.remember)
        execution = self.run_code(self.language.fails)
        self.assertEqual(execution.done["status"], "error")
        self.assertEqual(execution.error["name"], self.language.failure)
        self.assertIn(self.language.failure_text, execution.error["value"])
        self.assertIn("42", shown(self.run_code(self.language.recall)))

    def test_a_syntax_error_is_an_error_and_the_agent_goes_on(self) -> None:
        execution = self.run_code(self.language.syntax_error)
        self.assertEqual(execution.done["status"], "error")
        self.assertEqual(len(execution.frames(ERROR)), 1)
        self.assert_alive()

    def test_an_interrupt_ends_an_endless_loop_and_state_stays(self) -> None:
        self.run_code(self.language.remember)
        for _ in range(3):
            execution = self.run_code(
                self.language.loop,
                on_event=lambda kind, _: kind == STARTED and self.agent.interrupt())
            if execution.done["status"] == "ok":
                self.fail("the loop ended by itself")
            self.assertEqual(execution.error["name"], "Interrupt")
        self.assertIn("42", shown(self.run_code(self.language.recall)))

    def test_interrupts_at_any_moment_lose_no_frame_and_no_state(self) -> None:
        # Ever later, until most executions are over before it comes.
        self.run_code(self.language.remember)
        for moment in range(200):
            channel = self.agent.begin(self.language.trivial)
            time.sleep(moment * 10e-6)
            self.agent.interrupt()
            self.assertIn(self.agent.finish(channel).done["status"], ("ok", "error"))
        self.assertIn("42", shown(self.run_code(self.language.recall)))

    def test_an_interrupt_between_executions_is_without_effect(self) -> None:
        self.run_code(self.language.remember)
        self.agent.interrupt()
        self.assertIn("42", shown(self.run_code(self.language.recall)))

    def test_ten_megabytes_of_output_arrive_whole(self) -> None:
        execution = self.run_code(self.need("flood"))
        self.assertEqual(len(execution.stream(STDOUT)), 10_000_000)
        self.assertEqual(execution.done["status"], "ok")

    def test_code_of_three_megabytes_comes_in_parts(self) -> None:
        line = self.language.padding.format("é" * 1000)
        code = line * 1500
        self.assertGreater(len(code.encode()), 3_000_000)
        self.run_code(self.language.remember)
        self.assertIn("42", shown(self.run_code(code + self.language.recall)))

    def test_environment_holds_for_one_execution(self) -> None:
        code = self.need("print_env")
        value = "it's \"ü\" $HOME"
        self.assertIn(value, shown(self.run_code(code, env={"GB_TEST": value})))
        self.assertNotIn(value, shown(self.run_code(code)))

    def test_directory_holds_for_one_execution(self) -> None:
        code = self.need("print_cwd")
        self.assertEqual(shown(self.run_code(code, cwd="/usr")).strip(), "/usr")
        self.assertIn(self.directory, shown(self.run_code(code)))

    def test_a_directory_that_is_not_there_is_an_error_and_nothing_runs(self) -> None:
        execution = self.run_code(self.language.remember, cwd="/nowhere")
        self.assertEqual(execution.done["status"], "error")
        self.assertNotIn("42", shown(self.run_code(self.language.recall)))

    def test_leaving_is_reported_with_its_status(self) -> None:
        self.run_code(self.language.remember)
        execution = self.run_code(self.need("leave"))
        self.assertEqual(execution.error["name"], "ExitStatus")
        self.assertEqual(execution.error["value"], "exit status 3")
        kept = "42" in shown(self.run_code(self.language.recall))
        self.assertEqual(kept, self.language.leave_keeps_state)
        self.assertEqual(bool(execution.frames(NOTE)), not self.language.leave_keeps_state)

    def test_input_is_asked_of_the_caller(self) -> None:
        code = self.need("ask")

        def answer(kind: int, _: object) -> None:
            if kind == INPUT_REQUEST:
                self.agent.send(harness.INPUT, {"text": "tüped"}, self.agent.channel)

        self.assertEqual(self.run_code(code, on_event=answer).stdout.strip(), "tüped")

    def test_an_interrupt_ends_the_wait_for_input(self) -> None:
        code = self.need("ask")
        execution = self.run_code(
            code, on_event=lambda kind, _: kind == INPUT_REQUEST and self.agent.interrupt())
        self.assertEqual(execution.error["name"], "Interrupt")
        self.assert_alive()

    def test_a_guest_that_closes_descriptors_is_still_served(self) -> None:
        self.run_code(self.need("close_descriptors"))
        self.assert_alive()

    def test_a_forked_copy_of_the_interpreter_serves_no_frames(self) -> None:
        self.run_code(self.need("fork"))
        self.assertEqual(self.run_code(self.language.trivial).done["execution_count"], 2)

    def test_is_complete_tells_unfinished_code(self) -> None:
        for code, status in ((self.language.incomplete, "incomplete"),
                             (self.language.recall, "complete")):
            with self.subTest(code):
                reply = self.agent.ask(harness.IS_COMPLETE, {"code": code})
                self.assertEqual(reply["status"], status)

    def test_a_completion_lies_within_the_code(self) -> None:
        code = "é " + self.language.remember[:1]
        reply = self.agent.ask(harness.COMPLETE, {"code": code, "cursor": len(code)})
        self.assertEqual(reply["end"], len(code))
        self.assertLessEqual(reply["start"], reply["end"])
        for match in reply["matches"]:
            self.assertTrue(match.lower().startswith(code[reply["start"]:].lower()), match)

    def test_requests_without_sense_are_answered(self) -> None:
        for kind in (harness.COMPLETE, harness.IS_COMPLETE, 4, 6, 7):
            with self.subTest(kind):
                self.assertIsInstance(
                    self.agent.ask(kind, b"[1" if kind != 7 else {"ref": 5}), dict)
        self.agent.send(harness.EXECUTE, b"\xff{", 99)
        self.assertEqual(self.agent.finish(99).done["status"], "error")
        self.assert_alive()

    def test_the_agent_ends_by_the_end_frame(self) -> None:
        self.agent.send(harness.END, b"", 0)
        self.assertEqual(self.agent.process.wait(harness.PATIENCE), 0)


for _language in LANGUAGES:
    _name = f"{_language.name.capitalize()}Test"
    globals()[_name] = type(_name, (Claims, unittest.TestCase), {"language": _language})

if __name__ == "__main__":
    unittest.main()
