# SPDX-License-Identifier: Apache-2.0
"""What only one of the four languages has: R's plots and tables, C++'s crashes, and the like."""

from __future__ import annotations

import base64
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import languages  # noqa: E402
from agent_client import COMPLETE, FETCH, VARIABLES, Agent  # noqa: E402
from languages import Language  # noqa: E402

_TABLE = "application/vnd.glovebox.table+json"


class OneLanguage(unittest.TestCase):
    language: Language
    command: list[str]
    agent: Agent

    @classmethod
    def setUpClass(cls) -> None:
        reason = cls.language.missing()
        if reason:
            raise unittest.SkipTest(reason)
        cls.command = cls.language.started_by()
        cls.agent = Agent(cls.command)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.agent.close()


class R(OneLanguage):
    language = languages.R

    def displays(self, code: str) -> list[dict[str, object]]:
        return [display["data"] for display in self.agent.run(code).all("display")]

    def test_a_plot_comes_as_png_and_svg(self) -> None:
        (data,) = self.displays('plot(1:3, main = "Größe")')
        self.assertEqual(base64.b64decode(data["image/png"])[:8], b"\x89PNG\r\n\x1a\n")
        self.assertIn("<svg", data["image/svg+xml"])

    def test_each_page_is_a_plot_and_figures_of_one_page_are_one(self) -> None:
        self.assertEqual(len(self.displays("plot(1); plot(2)")), 2)
        self.assertEqual(len(self.displays("par(mfrow = c(1, 2)); plot(1); plot(2)")), 1)
        self.displays("par(mfrow = c(1, 1))")

    def test_a_later_cell_adds_to_the_plot_and_an_unchanged_plot_is_not_sent_again(self) -> None:
        self.displays("plot(1:3)")
        self.assertEqual(self.displays("x <- 1"), [])
        self.assertEqual(len(self.displays("lines(3:1)")), 1)

    def test_a_plot_comes_after_the_output_before_its_page_turned(self) -> None:
        kinds = [k for k, _ in self.agent.run('plot(1); cat("a"); plot(2); cat("b")').events]
        self.assertEqual(kinds, ["started", "stdout", "display", "stdout", "display", "done"])

    def test_a_data_frame_comes_as_text_html_and_columns(self) -> None:
        code = 'data.frame(n = c(1.5, NA), s = c("a<b", "é"), l = c(TRUE, NA), f = factor(c("u", "v")))'
        data = self.agent.run(code).result
        self.assertIn("a&lt;b", data["text/html"])
        table = data[_TABLE]
        self.assertEqual(
            [(column["name"], column["type"], column["values"]) for column in table["columns"]],
            [
                ("n", "numeric", [1.5, None]),
                ("s", "character", ["a<b", "é"]),
                ("l", "logical", [True, None]),
                ("f", "factor", ["u", "v"]),
            ],
        )
        self.assertEqual((table["rows"], table["truncated"]), (2, False))

    def test_a_long_data_frame_is_cut_and_says_so(self) -> None:
        table = self.agent.run("data.frame(a = 1:50000)").result[_TABLE]
        self.assertEqual((table["rows"], table["truncated"]), (50000, True))
        self.assertEqual(len(table["columns"][0]["values"]), 10000)

    def test_warnings_and_messages_keep_their_place_among_output(self) -> None:
        code = 'cat("a\\n"); message("m"); cat("b\\n"); warning("w"); cat("c\\n")'
        events = [(k, v) for k, v in self.agent.run(code).events if k.startswith("std")]
        texts = ["".join(v.decode() for _, v in [event]) for event in events]
        self.assertEqual(texts, ["a\n", "m\n", "b\n", "Warning: w\n", "c\n"])

    def test_an_error_names_the_calls_that_led_to_it(self) -> None:
        error = self.agent.run('inner <- function() stop("x")\nouter <- function() inner()\nouter()').error
        self.assertEqual(error["traceback"][0], "Error in inner(): x")
        self.assertEqual([line.split()[-1] for line in error["traceback"][2:4]], ["outer()", "inner()"])

    def test_readline_asks_the_outside(self) -> None:
        execution = self.agent.run('nchar(readline("name? "))', answers=("a" * 5000,))
        self.assertEqual(execution.all("input_request")[0]["prompt"], "name? ")
        self.assertEqual(execution.result["text/plain"], "[1] 5000")

    def test_a_recursion_without_end_is_an_error(self) -> None:
        self.assertEqual(self.agent.run("deep <- function(n) deep(n + 1); deep(1)").status, "error")
        self.assertEqual(self.agent.run("1").status, "ok")

    def test_completion_and_variables_know_the_session(self) -> None:
        self.agent.run("long_name <- c(1, 2)")
        answer = self.agent.ask(COMPLETE, {"code": "é; long_na", "cursor": 10})
        self.assertEqual(answer, {"matches": ["long_name"], "start": 3, "end": 10})
        found = self.agent.ask(VARIABLES, {})["variables"]
        self.assertIn(("long_name", "numeric"), [(each["name"], each["type"]) for each in found])

    def test_clearing_the_workspace_leaves_the_agent_whole(self) -> None:
        self.agent.run("rm(list = ls(all.names = TRUE)); closeAllConnections(); options(warn = 0)")
        self.assertEqual(self.agent.run("1 + 1").result["text/plain"], "[1] 2")
        self.agent.run("options(warn = 1)")

    def test_a_large_value_is_fetched_by_reference(self) -> None:
        agent = Agent(self.command, {"GLOVEBOX_INLINE": "100"})
        self.addCleanup(agent.close)
        value = agent.run('strrep("a", 500)').result["text/plain"]
        self.assertEqual(value["size"], len('[1] ""') + 500)
        piece = agent.ask(FETCH, {"ref": value["ref"], "offset": 5, "size": 3})
        self.assertEqual(base64.b64decode(piece["base64"]), b"aaa")


class Java(OneLanguage):
    language = languages.JAVA

    def test_input_is_asked_for_and_closed_streams_come_back(self) -> None:
        self.agent.run("System.out.close(); System.in.close();")
        execution = self.agent.run("System.out.println(System.in.read());", answers=("A",))
        self.assertEqual(execution.stdout, "65\n")

    def test_statements_after_an_error_do_not_run(self) -> None:
        execution = self.agent.run('int a = 1 / 0;\nSystem.out.println("after");')
        self.assertEqual(execution.error["name"], "java.lang.ArithmeticException")
        self.assertEqual(execution.stdout, "")


class CSharp(OneLanguage):
    language = languages.CSHARP

    def test_methods_outside_of_classes_can_call_themselves(self) -> None:
        self.agent.run("int fact(int n) { return n < 2 ? 1 : n * fact(n - 1); }")
        self.assertEqual(self.agent.run("fact(5)").result["text/plain"], "120")

    def test_generic_methods_and_async_ones_work(self) -> None:
        self.assertEqual(self.agent.run("T same<T>(T a) => a;\nsame(3)").result["text/plain"], "3")
        code = "async Task<int> later() { await Task.Delay(1); return 4; }\nlater().Result"
        self.assertEqual(self.agent.run(code).result["text/plain"], "4")


class Cpp(OneLanguage):
    language = languages.CPP

    def test_a_crash_is_an_error_and_variables_stay(self) -> None:
        self.agent.run("std::vector<int> kept{1, 2};")
        execution = self.agent.run("volatile int* nowhere = nullptr; *nowhere = 1;")
        self.assertEqual(execution.error["name"], "SIGSEGV")
        self.assertEqual(self.agent.run("kept").result["text/plain"], "{1, 2}")

    def test_initialisers_run_once_and_in_order_with_statements(self) -> None:
        self.agent.run("int calls = 0; int call() { return ++calls; }")
        self.agent.run("int first = call(); calls = 10; auto second = call();")
        self.assertEqual(self.agent.run("first * 100 + second").result["text/plain"], "111")
        self.assertEqual(self.agent.run("calls").result["text/plain"], "11")

    def test_types_templates_and_lambdas_last(self) -> None:
        self.agent.run("template <typename T> T twice(T t) { return t + t; }\nauto add = [](int a) { return a + 1; };")
        self.agent.run("struct Point { int x, y; int sum() const; };\nint Point::sum() const { return x + y; }")
        self.assertEqual(self.agent.run("add(twice(Point{1, 2}.sum()))").result["text/plain"], "7")

    def test_a_whole_program_runs_as_a_cell(self) -> None:
        code = "#include <iostream>\nusing namespace std;\nint main() { cout << 7 << endl; }"
        self.assertEqual(self.agent.run(code).stdout, "7\n")

    def test_what_a_failed_cell_declared_before_the_failure_is_kept(self) -> None:
        execution = self.agent.run("int early = 1; throw 5; int late = 2;")
        self.assertEqual((execution.error["name"], len(execution.all("note"))), ("int", 1))
        self.assertEqual(self.agent.run("early").result["text/plain"], "1")
        self.assertEqual(self.agent.run("late").status, "error")
        self.agent.run("int late = 3;")
        self.assertEqual(self.agent.run("late").result["text/plain"], "3")


# The base has no language, and is no test.
del OneLanguage

if __name__ == "__main__":
    unittest.main()
