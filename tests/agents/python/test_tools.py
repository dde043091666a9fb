# SPDX-License-Identifier: Apache-2.0
"""Cells that call tools, and whoever returns results to them."""

import unittest

from harness import Agent, Outcome

SEARCH = {
    "name": "search",
    "description": "Finds pages.",
    "parameters": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for."},
            "limit": {"type": "integer", "default": 10},
        },
        "required": ["query"],
    },
}
STOP = {"name": "stop-all"}


class Tools(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.agent = Agent()
        cls.addClassCleanup(cls.agent.close)

    def start(self, code, *tools, **options):
        return self.agent.send("execute", code=code, tools=tools or (SEARCH, STOP), **options)

    def call(self, channel):
        """The next call, with what came before it."""
        return self.agent.until("tool_call", channel)[-1].json

    def answer(self, call, **answer):
        self.agent.send("tool_result", call=call["call"], **answer)

    def end(self, channel):
        return Outcome(self.agent.until("done", channel))

    def echo(self, code, *tools, **options):
        """The outcome of a cell whose every call returns its arguments."""
        channel = self.start(code, *tools, **options)
        frames = []
        while not frames or frames[-1].name != "done":
            frames.append(self.agent.read())
            if frames[-1].name == "tool_call":
                self.answer(frames[-1].json, result=frames[-1].json["arguments"])
        return Outcome(frames)

    def test_a_call_blocks_the_cell_until_its_result_is_there(self):
        channel = self.start("print('before', end='')\nsearch('x', limit=3)['hits']")
        frames = self.agent.until("tool_call", channel)
        self.assertEqual([f.name for f in frames], ["started", "stdout", "tool_call"])
        call = frames[-1].json
        self.assertEqual((call["name"], call["arguments"]), ("search", {"query": "x", "limit": 3}))
        self.answer(call, result={"hits": [1, 2.5, None, "ü"]})
        self.assertEqual(self.end(channel).plain, "[1, 2.5, None, 'ü']")

    def test_arguments_are_given_by_place_or_by_name_and_only_those_that_are_given_are_sent(self):
        cases = {
            "search('q')": {"query": "q"},
            "search('q', 5)": {"query": "q", "limit": 5},
            "search(limit=None, query='q')": {"query": "q", "limit": None},
            "tools.search('q')": {"query": "q"},
            "stop_all()": {},
            "tools.stop_all(anything={'a': (1, 2)})": {"anything": {"a": [1, 2]}},
            "getattr(tools, 'stop-all')(self=1)": {"self": 1},
            "import tools as t; t.search('q')": {"query": "q"},
            "from tools import search as s; s('q')": {"query": "q"},
        }
        for code, sent in cases.items():
            with self.subTest(code):
                self.assertEqual(eval(self.echo(code).plain), sent)

    def test_wrong_arguments_are_a_type_error_and_no_call(self):
        for code in ("search()", "search('a', 1, 2)", "search('a', query='b')", "search(q='a')",
                     "search(object())"):
            with self.subTest(code):
                outcome = self.echo(code)
                self.assertEqual(outcome.error["name"], "TypeError")
                self.assertNotIn("tool_call", outcome.names)
                self.assertNotIn("tools.py", "".join(outcome.error["traceback"]))
        self.assertEqual(self.echo("search(float('nan'))").error["name"], "ValueError")
        outcome = self.echo("search('x' * (256 << 10))")
        self.assertEqual(outcome.error["name"], "ToolError")
        self.assertNotIn("tool_call", outcome.names)

    def test_values_of_usual_types_are_sent_as_json(self):
        code = (
            "import datetime, dataclasses, fractions\n"
            "@dataclasses.dataclass\nclass P: x: int\n"
            "stop_all(a={1}, b=datetime.date(2026, 1, 2), c=P(3), d=fractions.Fraction(1, 2))"
        )
        self.assertEqual(
            eval(self.echo(code).plain), {"a": [1], "b": "2026-01-02", "c": {"x": 3}, "d": 0.5}
        )

    def test_an_error_of_a_tool_is_raised_where_it_was_called(self):
        channel = self.start("try: search('x')\nexcept ToolError as e: print(repr(e), e.tool)")
        self.answer(self.call(channel), error={"message": "no luck"})
        self.assertEqual(self.end(channel).text(), "ToolError('no luck') search\n")
        channel = self.start("search('x')")
        self.answer(self.call(channel), error={"message": "no luck"})
        error = self.end(channel).error
        self.assertEqual((error["name"], error["value"]), ("ToolError", "no luck"))
        self.assertNotIn("glovebox", "".join(error["traceback"]))

    def test_a_function_shows_its_schema(self):
        code = "import inspect\nprint(inspect.signature(search), search.__doc__, sep='|')"
        expected = "(query: str, limit: int = 10)|Finds pages.\n\nquery: What to look for.\n"
        self.assertEqual(self.echo(code).text(), expected)
        odd = {
            "name": "odd",
            "parameters": {
                "properties": {
                    "a": {"type": ["string", "null"]},
                    "b": {"type": "array", "items": {"type": "number"}},
                    "user-id": {}, "class": {},
                    "c": {"enum": ["x", "y"]},
                },
                "required": ["b"],
            },
        }
        code = "import inspect; print(inspect.signature(odd)); odd(b=[1], **{'class': 2})"
        outcome = self.echo(code, odd)
        self.assertEqual(
            outcome.text(),
            "(a: Optional[str] = None, *, b: list[float], c: Literal['x', 'y'] = None, "
            "**arguments)\n",
        )
        self.assertEqual(outcome.plain, "{'b': [1], 'class': 2}")

    def test_a_schema_that_makes_no_sense_allows_everything(self):
        for schema in ({"properties": 1}, {"properties": {"a": 1}, "required": 5}, [], {"a": "b"}):
            outcome = self.echo("t(a=1)", {"name": "t", "parameters": schema})
            self.assertEqual(outcome.plain, "{'a': 1}", schema)

    def test_gathered_calls_are_under_way_at_once_and_return_in_any_order(self):
        code = (
            "import asyncio\n"
            "await asyncio.gather(*(search.aio(str(i)) for i in range(50)))"
        )
        channel = self.start(code)
        calls = [self.call(channel) for _ in range(50)]
        for call in reversed(calls):
            self.answer(call, result=int(call["arguments"]["query"]) * 2)
        self.assertEqual(eval(self.end(channel).plain), [2 * i for i in range(50)])

    def test_more_than_may_be_open_wait_for_their_turn(self):
        code = "await __import__('asyncio').gather(*(search.aio(str(i)) for i in range(150)))"
        channel = self.start(code)
        calls = [self.call(channel) for _ in range(64)]
        self.assertTrue(self.agent.quiet_for(0.2))
        for answered in range(150):
            self.answer(calls[answered], result=None)
            if len(calls) < 150:
                calls.append(self.call(channel))
        self.assertEqual(eval(self.end(channel).plain), [None] * 150)

    def test_threads_call_at_once(self):
        code = (
            "from concurrent.futures import ThreadPoolExecutor\n"
            "with ThreadPoolExecutor(8) as pool: got = list(pool.map(search, map(str, range(8))))\n"
            "got"
        )
        channel = self.start(code)
        calls = [self.call(channel) for _ in range(8)]
        for call in reversed(calls):
            self.answer(call, result=call["arguments"]["query"])
        self.assertEqual(eval(self.end(channel).plain), [str(i) for i in range(8)])
        self.assertEqual(self.agent.run("40 + 2").plain, "42")

    def test_a_blocking_call_a_coroutine_and_input_work_beside_each_other(self):
        code = (
            "import asyncio\n"
            "task = asyncio.ensure_future(search.aio('async'))\n"
            "await asyncio.sleep(0)\n"
            "(search('sync'), input('line? '), await task)"
        )
        channel = self.start(code)
        first, second = self.call(channel), self.call(channel)
        self.answer(second, result="b")
        self.agent.until("input_request", channel)
        self.agent.send("input", text="c")
        self.answer(first, result="a")
        self.assertEqual(self.end(channel).plain, "('b', 'c', 'a')")
        self.assertEqual(self.echo("search('x'), search('y')").status, "ok")

    def test_names_of_the_guest_are_never_taken(self):
        tools = ({"name": "print"}, {"name": "mine"}, {"name": "tools"}, {"name": "class"})
        code = (
            "mine = 'my own'\nprint(mine, callable(tools.tools), sep=' ')\n"
            "import builtins; print(builtins.print is print)"
        )
        self.assertEqual(self.echo(code, *tools).text(), "my own True\nTrue\n")
        self.assertEqual(self.agent.run("mine").plain, "'my own'")
        self.agent.run("del mine")

    def test_after_the_execution_nothing_is_left_of_them(self):
        self.echo("kept = search\nimport tools as module")
        self.assertEqual(self.agent.run("search").error["name"], "NameError")
        self.assertEqual(self.agent.run("ToolError").error["name"], "NameError")
        self.assertEqual(self.agent.run("import tools").error["name"], "ModuleNotFoundError")
        error = self.agent.run("kept('x')").error
        self.assertEqual(error["name"], "ToolError")
        self.assertIn("has ended", error["value"])
        # Nor may it be called in an execution that offers another one.
        self.assertEqual(self.echo("kept('x')", STOP).error["name"], "ToolError")

    def test_functions_of_earlier_cells_call_what_is_offered_now(self):
        self.agent.run("def later(): return search('late')")
        self.assertEqual(self.echo("later()").plain, "{'query': 'late'}")
        self.echo("from tools import search as imported")
        self.assertEqual(self.echo("imported('late')").plain, "{'query': 'late'}")

    def test_a_tool_with_dots_in_its_name_is_in_a_module(self):
        issue = {**SEARCH, "name": "mcp.git-hub.create-issue"}
        cases = {
            "from mcp.git_hub import create_issue\ncreate_issue('q')": {"query": "q"},
            "import mcp.git_hub as hub; hub.create_issue('q', 5)": {"query": "q", "limit": 5},
            "import mcp; mcp.git_hub.create_issue('q')": {"query": "q"},
            "tools.mcp.git_hub.create_issue('q')": {"query": "q"},
            "from tools import mcp as m; m.git_hub.create_issue('q')": {"query": "q"},
            "del mcp\nmcp.git_hub.create_issue('q')": {"query": "q"},
            "await mcp.git_hub.create_issue.aio('q')": {"query": "q"},
            "llm.complete('q')": {"query": "q"},
        }
        for code, sent in cases.items():
            with self.subTest(code):
                channel = self.start(code, issue, {**SEARCH, "name": "llm.complete"})
                call = self.call(channel)
                self.assertIn(call["name"], (issue["name"], "llm.complete"))
                self.answer(call, result=call["arguments"])
                self.assertEqual(eval(self.end(channel).plain), sent)
        says = "mcp.git_hub.create_issue.__module__, 'create_issue' in globals()"
        self.agent.run("del create_issue, hub, m")
        self.assertEqual(self.echo(says, issue).plain, "('mcp.git_hub', False)")

    def test_a_module_of_tools_ends_with_the_execution_and_its_functions_serve_again(self):
        issue = {**SEARCH, "name": "gone.github.create_issue"}
        self.echo("from gone.github import create_issue\nimport gone.github as kept", issue)
        for code in ("import gone", "import gone.github", "from gone.github import create_issue"):
            self.assertEqual(self.agent.run(code).error["name"], "ModuleNotFoundError")
        self.assertEqual(self.agent.run("gone").error["name"], "NameError")
        self.assertIn("has ended", self.agent.run("create_issue('q')").error["value"])
        self.assertEqual(self.echo("create_issue('q'), kept.create_issue('r')", issue).plain,
                         "({'query': 'q'}, {'query': 'r'})")
        other = {"name": "gone.github.close_issue"}
        self.assertIn("has ended", self.echo("create_issue('q')", other).error["value"])

    def test_a_package_of_the_guest_hides_a_module_and_is_extended_by_what_it_lacks(self):
        package = (
            "import pathlib, sys, tempfile\n"
            "folder = pathlib.Path(tempfile.mkdtemp()); sys.path.insert(0, str(folder))\n"
            "(folder / 'mine').mkdir(); (folder / 'mine/__init__.py').write_text('here = 1')\n"
            "(folder / 'mine/own.py').write_text('search = \"of the guest\"')"
        )
        self.agent.run(package)
        tools = ({**SEARCH, "name": "mine.own.search"}, {**SEARCH, "name": "mine.more.search"})
        code = (
            "import mine, mine.own, mine.more\n"
            "mine.here, mine.own.search, mine.more.search('q'), tools.mine.own.search('r')"
        )
        self.assertEqual(self.echo(code, *tools).plain,
                         "(1, 'of the guest', {'query': 'q'}, {'query': 'r'})")
        self.assertEqual(self.agent.run("mine.here, hasattr(mine, 'more')").plain, "(1, False)")
        self.assertEqual(self.agent.run("import mine.more").error["name"], "ModuleNotFoundError")
        self.agent.run("sys.path.remove(str(folder)); del mine, sys.modules['mine']")

    def test_calls_that_nobody_waits_for_end_with_the_execution(self):
        code = (
            "import asyncio, threading\n"
            "errors = []\n"
            "def ask():\n"
            "    try: search('thread')\n"
            "    except Exception as e: errors.append(str(e))\n"
            "thread = threading.Thread(target=ask); thread.start()\n"
            "task = asyncio.ensure_future(search.aio('task')); await asyncio.sleep(0)"
        )
        channel = self.start(code)
        late = self.call(channel)
        self.call(channel)
        self.assertEqual(self.end(channel).status, "ok")
        self.answer(late, result="late")
        outcome = self.agent.run("thread.join()\ntry: await task\nexcept Exception as e: errors.append(str(e))\nerrors")
        self.assertEqual(eval(outcome.plain), ["the execution has ended"] * 2)
        self.assertEqual(self.echo("search('x')").plain, "{'query': 'x'}")

    def test_an_interrupt_ends_the_wait(self):
        for code in ("search('x')", "await search.aio('x')"):
            with self.subTest(code):
                channel = self.start(code)
                call = self.call(channel)
                self.agent.interrupt()
                self.assertEqual(self.end(channel).error["name"], "KeyboardInterrupt")
                self.answer(call, result="late")
                self.assertEqual(self.echo("search('y')").plain, "{'query': 'y'}")

    def test_a_forked_child_cannot_call(self):
        code = (
            "import os\n"
            "pid = os.fork()\n"
            "if not pid:\n"
            "    try: search('x')\n"
            "    except ToolError: os._exit(7)\n"
            "    os._exit(1)\n"
            "os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])"
        )
        self.assertEqual(self.echo(code).plain, "7")

    def test_large_results_come_whole(self):
        channel = self.start("len(search('x'))")
        self.answer(self.call(channel), result="x" * (3 << 20))
        self.assertEqual(self.end(channel).plain, str(3 << 20))

    def test_an_answer_to_nothing_is_dropped(self):
        self.agent.send("tool_result", call=10_000, result=1)
        channel = self.start("search('x')")
        call = self.call(channel)
        self.agent.send("tool_result", call=call["call"] + 1, result="wrong")
        self.answer(call, result="right")
        self.answer(call, result="twice")
        self.assertEqual(self.end(channel).plain, "'right'")


if __name__ == "__main__":
    unittest.main()
