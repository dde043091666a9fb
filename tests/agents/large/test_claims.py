# SPDX-License-Identifier: Apache-2.0
"""What holds for each of the four agents, said once and tried on all of them.

    python3 -m unittest discover -s tests/agents/large
"""

from __future__ import annotations

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import languages  # noqa: E402
from agent_client import IS_COMPLETE, Agent  # noqa: E402
from languages import Language  # noqa: E402


class Claims:
    """Mixed into one test case a language. One agent serves a class's tests, as in a session."""

    language: Language
    command: list[str]
    agent: Agent | None = None

    @classmethod
    def setUpClass(cls) -> None:
        reason = cls.language.missing()
        if reason:
            raise unittest.SkipTest(reason)
        cls.command = cls.language.started_by()

    @classmethod
    def tearDownClass(cls) -> None:
        if cls.agent is not None:
            cls.agent.close()
            cls.agent = None

    def setUp(self) -> None:
        if type(self).agent is None:
            type(self).agent = Agent(self.command)
        self.session = type(self).agent

    def fresh_agent(self) -> Agent:
        agent = Agent(self.command)
        self.addCleanup(agent.close)
        return agent

    def test_ready_names_language_version_and_features(self) -> None:
        ready = self.session.ready
        self.assertEqual(ready["language"], self.language.name)
        self.assertRegex(ready["version"], r"\d+\.\d+")
        self.assertIn("is_complete", ready["features"])

    def test_state_persists_between_executions(self) -> None:
        self.assertEqual(self.session.run(self.language.declare).status, "ok")
        self.assertIn("42", self.session.run(self.language.use).result["text/plain"])

    def test_a_name_can_be_declared_again_with_another_type(self) -> None:
        self.assertEqual(self.session.run(self.language.declare).status, "ok")
        self.assertEqual(self.session.run(self.language.redeclare).status, "ok")
        self.assertIn("other", self.session.run(self.language.use_text).result["text/plain"])

    def test_output_comes_in_order_and_before_the_result(self) -> None:
        execution = self.session.run(self.language.print_then_value)
        self.assertEqual(execution.stdout, "first\nsecond\n")
        self.assertIn("3", execution.result["text/plain"])
        kinds = [kind for kind, _ in execution.events]
        self.assertLess(max(i for i, k in enumerate(kinds) if k == "stdout"), kinds.index("result"))
        self.assertEqual((kinds[0], kinds[-1]), ("started", "done"))

    def test_stdout_and_stderr_are_told_apart(self) -> None:
        execution = self.session.run(self.language.both_streams)
        self.assertEqual((execution.stdout, execution.stderr), ("out\n", "err\n"))
        if self.language.ordered_streams:
            streams = [k for k, _ in execution.events if k in ("stdout", "stderr")]
            self.assertEqual(streams[0], "stdout")
            self.assertEqual(streams[-1], "stderr")

    def test_unicode_passes_both_ways(self) -> None:
        self.assertEqual(self.session.run(self.language.unicode).stdout, "grüße 🧤\n")

    def test_an_error_has_name_value_and_traceback_and_the_session_goes_on(self) -> None:
        execution = self.session.run(self.language.throw)
        self.assertEqual(execution.status, "error")
        self.assertIn("broken pot", execution.error["value"])
        self.assertTrue(execution.error["name"])
        self.assertIn("broken pot", "\n".join(execution.error["traceback"]))
        self.assertEqual(self.session.run(self.language.no_value).status, "ok")

    def test_a_syntax_error_is_an_error_and_runs_nothing(self) -> None:
        execution = self.session.run(self.language.wrong)
        self.assertEqual(execution.status, "error")
        self.assertEqual(len(execution.all("error")), 1)
        self.assertIsNone(execution.result)

    def test_what_has_no_value_has_no_result(self) -> None:
        execution = self.session.run(self.language.no_value)
        self.assertEqual((execution.status, execution.result), ("ok", None))

    def test_an_interrupt_ends_an_endless_loop_and_keeps_the_state(self) -> None:
        self.session.run(self.language.declare)
        execution = self.session.run(self.language.forever, interrupt_on="ready")
        self.assertEqual(execution.status, "error")
        self.assertIn("interrupt", execution.error["name"].lower())
        self.assertIn("42", self.session.run(self.language.use).result["text/plain"])

    def test_an_interrupt_ends_a_sleep(self) -> None:
        execution = self.session.run(self.language.sleeps, interrupt_on="ready", timeout=30)
        self.assertIn("interrupt", execution.error["name"].lower())

    def test_an_interrupt_between_executions_leaves_the_agent_serving(self) -> None:
        self.session.interrupt()
        # When a signal arrives is the kernel's and the runtime's matter: one of these may be hit.
        after = [self.session.run(self.language.print_then_value) for _ in range(3)]
        hit = [execution for execution in after if execution.error]
        self.assertLessEqual(len(hit), 1)
        self.assertTrue(all("interrupt" in execution.error["name"].lower() for execution in hit))
        self.assertIn("3", after[-1].result["text/plain"])

    def test_an_environment_variable_holds_for_one_execution(self) -> None:
        code = self.language.variable
        self.assertEqual(self.session.run(code, env={"GLOVEBOX_TEST": "wärme"}).stdout, "wärme")
        self.assertNotIn("wärme", self.session.run(self.language.both_streams).stdout)
        again = self.session.run(code, env={"GLOVEBOX_TEST": "kälte"})
        self.assertEqual(again.stdout, "kälte")

    def test_an_execution_can_name_its_working_directory(self) -> None:
        if not self.language.changes_directory:
            execution = self.session.run(self.language.no_value, cwd="/usr")
            self.assertEqual(len(execution.all("note")), 1, "it must say that it can't")
            return
        agent = self.fresh_agent()
        self.assertEqual(agent.run(self.language.changes_directory, cwd="/usr").stdout, "/usr")
        self.assertEqual(agent.run(self.language.no_value, cwd="/no/such/folder").status, "error")

    def test_a_silent_execution_shows_no_result_and_does_not_count(self) -> None:
        before = self.session.run(self.language.no_value).all("done")[0]["execution_count"]
        silent = self.session.run(self.language.print_then_value, silent=True)
        self.assertIsNone(silent.result)
        after = self.session.run(self.language.no_value).all("done")[0]["execution_count"]
        self.assertEqual(after, before + 1)

    def test_an_open_bracket_is_incomplete(self) -> None:
        answer = self.session.ask(IS_COMPLETE, {"code": self.language.incomplete})
        self.assertEqual(answer["status"], "incomplete")

    def test_a_request_without_meaning_is_answered_with_an_error(self) -> None:
        self.assertIn("error", self.session.ask(6, {"id": 1}))

    def test_code_over_one_frame_arrives_whole(self) -> None:
        comment = "#" if self.language.name == "r" else "//"
        code = f"{comment} {'a' * (3 << 20)}\n{self.language.print_then_value}"
        self.assertEqual(self.session.run(code).stdout, "first\nsecond\n")

    def test_the_agent_ends_with_descriptor_3_also_in_an_endless_loop(self) -> None:
        agent = self.fresh_agent()
        agent.start(self.language.forever, until="ready")
        self.assertIsInstance(agent.end(), int)


class RClaims(Claims, unittest.TestCase):
    language = languages.R


class JavaClaims(Claims, unittest.TestCase):
    language = languages.JAVA


class CSharpClaims(Claims, unittest.TestCase):
    language = languages.CSHARP


class CppClaims(Claims, unittest.TestCase):
    language = languages.CPP


if __name__ == "__main__":
    unittest.main()
