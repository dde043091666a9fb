# SPDX-License-Identifier: Apache-2.0
import os
import tempfile
import unittest

from harness import Agent


class Execution(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.agent = Agent()
        cls.addClassCleanup(cls.agent.close)

    def test_the_last_expression_is_the_result(self):
        outcome = self.agent.run("a = 20\na + 1\na + 2")
        self.assertEqual(outcome.plain, "22")
        self.assertEqual(outcome.names, ["started", "result", "done"])

    def test_of_statements_in_one_line_only_the_last_one_is_shown(self):
        self.assertEqual([f.json["data"] for f in self.agent.run("1; 2").all("result")],
                         [{"text/plain": "2"}])
        self.assertEqual(self.agent.run("for i in [1, 2]: i").all("result"), [])

    def test_what_is_registered_for_the_end_of_a_cell_hears_of_it_after_the_result(self):
        self.agent.run("heard = lambda result: print('heard', result.result)\n"
                       "get_ipython().events.register('post_run_cell', heard)")
        outcome = self.agent.run("6 * 7")
        self.agent.run("get_ipython().events.unregister('post_run_cell', heard)")
        self.assertEqual(outcome.names, ["started", "result", "stdout", "done"])
        self.assertEqual(outcome.text(), "heard 42\n")

    def test_a_shown_value_comes_before_what_the_same_line_prints_later(self):
        outcome = self.agent.run("[__import__('sys').displayhook(1), print('later')] and None")
        self.assertEqual(outcome.names, ["started", "result", "stdout", "done"])

    def test_a_text_with_half_a_surrogate_pair_is_a_result(self):
        self.assertEqual(self.agent.run("'a\"\\n' + chr(0x1f600)").plain, "'a\"\\n😀'")
        self.assertEqual(self.agent.run("__import__('builtins').chr(0xd800)").plain,
                         r"'\ud800'")

    def test_a_formatter_for_int_holds_for_numbers_but_not_for_bool(self):
        self.agent.run("f = get_ipython().display_formatter.formatters['text/plain']\n"
                       "f.for_type(int, lambda v, p, c: p.text('number'))")
        shown = self.agent.run("7").plain, self.agent.run("True").plain
        self.agent.run("f.type_printers.pop(int)\nfrom IPython.lib import pretty\n"
                       "f.for_type(int, pretty._repr_pprint)")
        self.assertEqual(shown, ("number", "True"))

    def test_a_semicolon_hides_the_result(self):
        self.assertEqual(self.agent.run("5;").all("result"), [])

    def test_a_semicolon_in_a_string_hides_nothing(self):
        self.assertEqual(self.agent.run("';'").plain, "';'")

    def test_variables_live_on(self):
        self.agent.run("kept = 41")
        self.assertEqual(self.agent.run("kept + 1").plain, "42")

    def test_the_execution_count_grows_by_one_and_is_the_same_in_all_frames(self):
        first = self.agent.run("1").one("done")["execution_count"]
        outcome = self.agent.run("2")
        counts = [outcome.one(n)["execution_count"] for n in ("started", "result", "done")]
        self.assertEqual(counts, [first + 1] * 3)

    def test_a_silent_execution_shows_no_result_and_counts_for_nothing(self):
        before = self.agent.run("0").one("done")["execution_count"]
        outcome = self.agent.run("silent_value = 3\n77", silent=True)
        self.assertEqual(outcome.names, ["started", "done"])
        self.assertEqual(self.agent.run("silent_value").one("done")["execution_count"], before + 1)

    def test_an_execution_without_history_is_not_in_the_history(self):
        self.agent.run("'unremembered'", store_history=False)
        self.assertNotIn("unremembered", self.agent.run("print(In)").text())

    def test_inputs_and_outputs_can_be_used_again(self):
        self.agent.run("6 * 7")
        outcome = self.agent.run("_, _i, Out[max(Out)]")
        self.assertEqual(outcome.plain, "(42, '6 * 7', 42)")

    def test_history_magic_lists_the_cells(self):
        self.agent.run("remembered = 1")
        self.assertIn("remembered = 1\n", self.agent.run("%history").text())

    def test_await_works_at_the_top_level(self):
        outcome = self.agent.run("import asyncio\nawait asyncio.sleep(0, 'slept')")
        self.assertEqual(outcome.plain, "'slept'")

    def test_async_comprehensions_work_at_the_top_level(self):
        self.agent.run("async def g():\n    yield 1\n    yield 2")
        self.assertEqual(self.agent.run("[x async for x in g()]").plain, "[1, 2]")

    def test_an_error_has_name_value_and_coloured_traceback(self):
        outcome = self.agent.run("def f():\n    return 1 / 0\nf()")
        self.assertEqual(outcome.status, "error")
        self.assertEqual(outcome.error["name"], "ZeroDivisionError")
        self.assertEqual(outcome.error["value"], "division by zero")
        joined = "\n".join(outcome.error["traceback"])
        self.assertIn("\x1b[", joined)
        self.assertIn("Traceback (most recent call last)", joined)

    def test_a_syntax_error_is_shown(self):
        outcome = self.agent.run("def :")
        self.assertEqual((outcome.status, outcome.error["name"]), ("error", "SyntaxError"))

    def test_system_exit_is_an_error_and_the_context_lives_on(self):
        outcome = self.agent.run("raise SystemExit(3)")
        self.assertEqual((outcome.status, outcome.error["name"]), ("error", "SystemExit"))
        self.assertIn("To exit", outcome.text("stderr"))
        self.assertEqual(self.agent.run("1").plain, "1")

    def test_environment_holds_for_one_execution(self):
        code = "import os\nos.environ.get('ONE'), os.environ.get('HOME')"
        self.assertEqual(
            self.agent.run(code, env={"ONE": "1", "HOME": "/x"}).plain, "('1', '/x')"
        )
        self.assertEqual(self.agent.run(code).plain, "(None, '/tmp')")

    def test_environment_is_restored_after_an_error(self):
        self.agent.run("1/0", env={"GONE": "1"})
        self.assertEqual(self.agent.run("'GONE' in os.environ").plain, "False")

    def test_the_working_directory_can_be_chosen(self):
        with tempfile.TemporaryDirectory() as folder:
            outcome = self.agent.run("import os\nos.getcwd()", cwd=folder)
            self.assertEqual(outcome.plain, repr(os.path.realpath(folder)))
        self.agent.run("", cwd="/tmp")

    def test_a_working_directory_that_is_not_there_is_an_error_and_nothing_runs(self):
        outcome = self.agent.run("ran = 1", cwd="/no/such/folder")
        self.assertEqual(outcome.error["name"], "FileNotFoundError")
        self.assertEqual(self.agent.run("'ran' in globals()").plain, "False")

    def test_executions_that_wait_are_done_in_order(self):
        channels = [self.agent.send("execute", code=f"print({n})") for n in range(20)]
        for number, channel in enumerate(channels):
            frames = self.agent.until("done", channel)
            self.assertEqual({f.channel for f in frames}, {channel})
            self.assertEqual(frames[1].payload, b"%d\n" % number)

    def test_an_error_does_not_stop_those_that_wait(self):
        first = self.agent.send("execute", code="1/0")
        second = self.agent.send("execute", code="2")
        self.agent.until("done", first)
        self.assertEqual(self.agent.until("done", second)[-1].json["status"], "ok")

    def test_stop_on_error_aborts_those_that_wait(self):
        first = self.agent.send("execute", code="input()\n1/0", stop_on_error=True)
        second = self.agent.send("execute", code="aborted = 1")
        self.agent.send("input", text="")
        self.agent.until("done", first)
        frames = self.agent.until("done", second)
        self.assertEqual(frames[-1].json["status"], "aborted")
        self.assertEqual(self.agent.run("'aborted' in globals()").plain, "False")

    def test_a_broken_request_is_an_error_and_no_end(self):
        channel = self.agent.send("execute", nothing=1)
        frames = self.agent.until("done", channel)
        self.assertEqual(frames[-1].json["status"], "error")

    def test_a_long_cell_comes_in_parts(self):
        text = "x" * (3 << 20)
        self.assertEqual(self.agent.run(f"len('{text}')").plain, str(3 << 20))

    def test_the_main_module_is_the_guests(self):
        code = (
            "import __main__, pickle\nclass P: pass\n"
            "pickle.loads(pickle.dumps(P())).__class__ is P"
        )
        self.assertEqual(self.agent.run(code).plain, "True")

    def test_the_agents_files_hide_no_module_of_the_guest(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("values", "display", "agent", "wire"):
                with open(f"{folder}/{name}.py", "w") as file:
                    file.write(f"mine = '{name}'")
            code = "import values, display as d, wire\nvalues.mine, d.mine, wire.mine"
            outcome = self.agent.run(code, cwd=folder)
            self.agent.run("", cwd="/tmp")
        self.assertEqual(outcome.plain, "('values', 'display', 'wire')")


class Ends(unittest.TestCase):
    def test_the_end_frame_runs_exit_handlers(self):
        with Agent() as agent, tempfile.TemporaryDirectory() as folder:
            agent.run(f"import atexit\natexit.register(lambda: open('{folder}/left', 'w').close())")
            agent.send("end")
            self.assertEqual(agent.wait(), 0)
            self.assertEqual(os.listdir(folder), ["left"])

    def test_exit_ends_the_context_after_done(self):
        for code in ("exit", "quit()"):
            with Agent() as agent:
                self.assertEqual(agent.run(code).status, "ok")
                self.assertEqual(agent.read().name, "note")
                self.assertEqual(agent.wait(), 0)

    def test_the_agent_ends_with_its_channel(self):
        agent = Agent()
        agent.socket.close()
        self.assertEqual(agent.wait(), 0)
        agent.close()

    def test_ready_comes_first_and_says_what_there_is(self):
        with Agent() as agent:
            self.assertEqual((agent.ready.name, agent.ready.channel), ("ready", 0))
            self.assertEqual(agent.ready.json["language"], "python")
            self.assertNotIn("checkpoint", agent.ready.json["features"])


if __name__ == "__main__":
    unittest.main()
