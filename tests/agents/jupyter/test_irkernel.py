# SPDX-License-Identifier: Apache-2.0
"""IRkernel as a context: nothing about the agent is Python's."""
import base64
import unittest

from harness import (COMPLETE, DISPLAY, DONE, ERROR, EXECUTE, INPUT, INPUT_REQUEST, INSPECT,
                     IS_COMPLETE, RESULT, STARTED, STDERR, STDOUT, AgentTest, SharedAgentTest,
                     is_installed, of_type, text, types)

KERNEL = "ir"


class Irkernel(SharedAgentTest):
    KERNEL = KERNEL

    def test_ready_names_the_language(self) -> None:
        self.assertEqual(self.agent.ready.payload["language"], "R")
        self.assertRegex(self.agent.ready.payload["version"], r"^\d+\.\d+")

    def test_value_of_an_expression_is_shown(self) -> None:
        frames = self.agent.execute("6 * 7")
        shown = of_type(frames, DISPLAY) + of_type(frames, RESULT)
        self.assertEqual([bundle["data"]["text/plain"] for bundle in shown], ["[1] 42"])
        self.assertEqual(types(frames)[0], STARTED)
        self.assertEqual(frames[-1].payload["status"], "ok")

    def test_streams_are_told_apart(self) -> None:
        frames = self.agent.execute("cat('out\\n'); message('err')")
        self.assertEqual(text(frames, STDOUT), "out\n")
        self.assertEqual(text(frames, STDERR).strip(), "err")

    def test_a_table_is_shown_as_html_too(self) -> None:
        frames = self.agent.execute("data.frame(a = 1:2)")
        bundle = (of_type(frames, DISPLAY) + of_type(frames, RESULT))[0]
        self.assertIn("<table", bundle["data"]["text/html"])

    def test_a_plot_is_a_png(self) -> None:
        frames = self.agent.execute("plot(1:3)")
        image = of_type(frames, DISPLAY)[0]["data"]["image/png"]
        self.assertEqual(base64.b64decode(image, validate=True)[:4], b"\x89PNG")

    def test_error_is_shown_and_the_variables_stay(self) -> None:
        self.agent.execute("kept <- 5")
        frames = self.agent.execute("stop('on purpose')")
        self.assertIn("on purpose", of_type(frames, ERROR)[0]["value"])
        self.assertEqual(frames[-1].payload["status"], "error")
        self.assertEqual(text(self.agent.execute("cat(kept)")), "5")

    def test_input_is_asked_for_and_answered(self) -> None:
        self.agent.send(EXECUTE, 3, {"code": "x <- readline('name? ')\n"
                                             "cat(rev(strsplit(x, '')[[1]]))"})
        self.assertEqual(self.agent.until(INPUT_REQUEST)[-1].payload["prompt"], "name? ")
        self.agent.send(INPUT, 3, {"text": "eva"})
        self.assertEqual(text(self.agent.until(DONE)), "a v e")

    def test_interrupt_ends_the_execution_but_not_the_kernel(self) -> None:
        self.agent.execute("survivor <- 7")
        self.agent.send(EXECUTE, 4, {"code": "cat('on'); flush.console(); repeat Sys.sleep(0.01)"})
        self.agent.until(STDOUT)
        self.agent.interrupt()
        self.agent.until(DONE)
        self.assertEqual(text(self.agent.execute("cat(survivor)")), "7")

    def test_completion_and_inspection(self) -> None:
        answer = self.agent.ask(COMPLETE, code="read.cs", cursor=7)
        self.assertIn("read.csv", answer["matches"])
        self.assertEqual((answer["start"], answer["end"]), (0, 7))
        self.assertTrue(self.agent.ask(INSPECT, code="mean", cursor=4)["found"])

    def test_is_complete_tells_all_cases_apart(self) -> None:
        status = lambda code: self.agent.ask(IS_COMPLETE, code=code)["status"]
        self.assertEqual([status("1 + 1"), status("f <- function() {"), status("1 1")],
                         ["complete", "incomplete", "invalid"])


@unittest.skipUnless(is_installed(KERNEL), f"the kernel {KERNEL} is not installed")
class IrkernelLife(AgentTest):
    def test_quit_is_told_as_the_end_of_the_kernel(self) -> None:
        agent = self.start("--kernel", KERNEL).wait_ready()
        agent.send(EXECUTE, 1, {"code": "tools::pskill(Sys.getpid(), 9)"})
        frames = agent.rest()
        self.assertEqual(of_type(frames, ERROR)[0]["name"], "KernelDied")
        self.assertEqual(frames[-1].type, DONE)
        self.assertNotEqual(agent.wait(), 0)


if __name__ == "__main__":
    unittest.main()
