# SPDX-License-Identifier: Apache-2.0
"""Code that calls its client's tools, and clients that return what the code waits for."""

import concurrent.futures
import json
import threading
import unittest

from daemon import LINES, Case, Daemon, wait_until
from tenant import Tenant
from traces import named

SEARCH = {
    "name": "search",
    "description": "Finds pages.",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}, "limit": {}}},
}
STOP = {"name": "stop"}
TOOLS = [SEARCH, STOP]
# What a guest finds who looks for the way out, and takes it by itself.
FORGER = (
    "import sys\n"
    "wire = sys.modules['glovebox_agent.wire']\n"
    "agent = input.__self__\n"
    "def forge(name, arguments=b'{}'):\n"
    "    return agent.calls.wait(agent.calls.start(name, arguments))['error']['message']\n"
)
# Of the executions that wait while the daemon is killed.
SANDBOXES, CONTEXTS = 4, 25
MOST_MEMORY = 8 << 20


class Tools(Case):
    def setUp(self):
        self.context = self.create(timeout="10m").context()

    def start(self, code, tools=TOOLS, context=None, **wishes):
        return (context or self.context).start(code, tools=tools, **wishes)

    def called(self, code, **wishes):
        """The events of code that calls a tool, up to its first call, and that call."""
        events = self.start(code, **wishes)
        return events, events.until("tool_call")

    def answer(self, call, status=204, **reply):
        return self.context.must(status, "POST", f"/tools/{call['id']}", reply)

    def closed(self, call):
        """Nobody waits for it any more."""
        problem = self.answer(call, 409, result="late")
        self.assertEqual(problem["error"], "conflict")
        self.assertTrue(problem["hint"])

    def serve(self, code, tool=lambda call: {"result": call["arguments"]}, **wishes):
        """The verdict of code, and its calls, each of which is answered as it comes."""
        calls = []
        for event in self.start(code, **wishes):
            if event["type"] == "tool_call":
                calls.append(event)
                self.answer(event, **tool(event))
        return event, calls

    def test_a_call_is_an_event_and_its_result_goes_back_as_it_was_written(self):
        code = "r = search('x', limit=[1, {'b': None}]); print(list(r), r['z'])"
        events, call = self.called(code)
        self.assertEqual(set(call), {"type", "id", "name", "arguments"})
        self.assertIs(type(call["id"]), str)
        self.assertEqual(call["name"], "search")
        self.assertEqual(call["arguments"], {"query": "x", "limit": [1, {"b": None}]})
        self.answer(call, result={"z": 12345678901234567890123, "a": "ü"})
        verdict = events.until("verdict")
        self.assertEqual(verdict["status"], "ok", verdict)
        self.assertEqual(verdict["stdout"], "['z', 'a'] 12345678901234567890123\n")

    def test_a_loop_of_calls_returns_each_result_to_its_call(self):
        code = "print(sum(search(str(i))['query'] == str(i) for i in range(100)))"
        verdict, calls = self.serve(code)
        self.assertEqual(verdict["stdout"], "100\n")
        self.assertEqual(len({call["id"] for call in calls}), 100)

    def test_gathered_calls_are_open_at_once_and_answered_in_any_order(self):
        code = (
            "import asyncio\n"
            "print(await asyncio.gather(*(search.aio(i) for i in range(50))))"
        )
        events = self.start(code)
        calls = [events.until("tool_call") for _ in range(50)]
        for call in reversed(calls):
            self.answer(call, result=call["arguments"]["query"] * 2)
        self.assertEqual(events.until("verdict")["stdout"], f"{[2 * i for i in range(50)]}\n")

    def test_large_calls_at_once_reach_a_client_that_reads_slowly(self):
        code = (
            "import asyncio\n"
            "calls = (search.aio('x' * 200_000, limit=i) for i in range(50))\n"
            "print(await asyncio.gather(*calls))"
        )
        events, first = self.called(code)
        self.context.must(200, "GET", "/notebook")
        calls = [first] + [events.until("tool_call") for _ in range(49)]
        for call in calls:
            self.assertEqual(len(call["arguments"]["query"]), 200_000)
            self.answer(call, result=call["arguments"]["limit"])
        self.assertEqual(events.until("verdict")["stdout"], f"{list(range(50))}\n")

    def test_an_error_is_raised_where_the_tool_was_called(self):
        code = "try: search('x')\nexcept ToolError as e: print(e, e.tool)\nstop()"
        verdict, _ = self.serve(code, lambda call: {"error": {"message": f"no {call['name']}"}})
        self.assertEqual(verdict["stdout"], "no search search\n")
        self.assertEqual(verdict["status"], "error")
        self.assertEqual((verdict["error"]["name"], verdict["error"]["value"]), ("ToolError", "no stop"))

    def test_a_call_is_answered_once_and_by_its_owner(self):
        events, call = self.called("print(search('x'))")
        path = f"{self.context.path}/tools/{call['id']}"
        Tenant(self.daemon, "tools-other").must(404, "POST", path, {"result": "forged"})
        reader = self.daemon.must(
            201, "POST", "/v1/keys", {"tenant": "default", "scopes": ["read"]}
        )
        self.daemon.must(403, "POST", path, {"result": "forged"}, key=reader["key"])
        other = self.context.sandbox.context()
        other.must(404, "POST", f"/tools/{call['id']}", {"result": "of another context"})
        for unknown in (str(int(call["id"]) + 1), "0", "-1", "x", "1" * 40):
            self.answer({"id": unknown}, 404, result="forged")
        self.answer(call, result="real")
        self.closed(call)
        self.assertEqual(events.until("verdict")["stdout"], "real\n")
        self.closed(call)

    def test_wrong_replies_are_refused_and_the_call_stays_open(self):
        events, call = self.called("print(len(search('x')))")
        for reply in ({}, {"error": "no"}, {"error": {}}, {"result": 1, "error": {"message": "x"}},
                      {"result": 1, "unknown": 1}, {"error": {"message": "x" * (64 * 1024 + 1)}}):
            self.assertTrue(self.answer(call, 400, **reply)["message"], reply)
        deep = json.loads("[" * 40 + "]" * 40)
        self.answer(call, 400, result=deep)
        self.answer(call, 413, result="x" * (1 << 20))
        long = "x" * ((1 << 20) - 20)
        self.answer(call, result=long)
        self.assertEqual(events.until("verdict")["stdout"], f"{len(long)}\n")

    def test_wrong_offers_are_refused_before_anything_runs(self):
        for tools in ({}, [1], [{}], [{"name": "a b"}], [{"name": "_a"}], [{"name": "a", "x": 1}],
                      [{"name": "a", "parameters": []}], [{"name": "a-b"}, {"name": "a_b"}],
                      [{"name": "a.b"}, {"name": "a"}], [{"name": "tools.a"}], [{"name": "a..b"}],
                      [{"name": "a.b.c.d.e"}],
                      [{"name": f"t{i}"} for i in range(129)],
                      [{"name": "a", "description": "x" * (300 * 1024)}]):
            answer = self.context.must(400, "POST", "/execute", {"code": "1", "tools": tools})
            self.assertIn("tools", answer["message"])
        for limits in ({"calls": -1}, {"calls": 1_000_001}, {"wait": "31d"}, {"other": 1}):
            body = {"code": "1", "tools": TOOLS, "tool_limits": limits}
            self.context.must(400, "POST", "/execute", body)

    def test_a_module_has_the_tools_that_its_name_precedes(self):
        tools = [{**SEARCH, "name": "mcp.pages.search"}, {"name": "llm.complete"}]
        code = (
            "from mcp.pages import search\n"
            "print(search('x'), llm.complete(prompt='hi'))\n"
            "print(tools.mcp.pages.search.__module__)"
        )
        verdict, calls = self.serve(code, tools=tools)
        self.assertEqual([call["name"] for call in calls], ["mcp.pages.search", "llm.complete"])
        self.assertEqual(verdict["stdout"], "{'query': 'x'} {'prompt': 'hi'}\nmcp.pages\n")
        verdict, calls = self.serve("search('again')", tools=tools)
        self.assertEqual([call["arguments"] for call in calls], [{"query": "again"}])
        said = self.context.execute(FORGER + "print(forge('mcp.pages.search'))", tools=[STOP])
        self.assertEqual(said["stdout"], "no tool 'mcp.pages.search' in this execution\n")

    def test_what_is_not_offered_cannot_be_called(self):
        verdict, calls = self.serve(FORGER + "print(forge('rm'), forge('search'))", tools=[STOP])
        self.assertEqual(calls, [])
        said = "no tool 'rm' in this execution no tool 'search' in this execution\n"
        self.assertEqual(verdict["stdout"], said)
        verdict = self.context.execute(FORGER + "print(forge('search'))")
        self.assertEqual(verdict["stdout"], "no tool 'search' in this execution\n")

    def test_forged_arguments_are_refused_within(self):
        code = FORGER + (
            "print(forge('search', b'[1]'))\n"
            "print(forge('search', b'{\"a\":\"' + b'x' * (1 << 20) + b'\"}'))\n"
            "print(forge('search', b'{\"a\":' + b'[' * 40 + b']' * 40 + b'}'))\n"
            "print(search('ok'))"
        )
        verdict, calls = self.serve(code)
        self.assertEqual(len(calls), 1)
        lines = verdict["stdout"].splitlines()
        for line, part in zip(lines, ("object", "256 KiB", "32 levels", "'query': 'ok'")):
            self.assertIn(part, line)

    def test_a_line_break_in_forged_arguments_forges_no_event(self):
        code = FORGER + (
            "forge('search', b'{\"a\"\\n:\\n1,\\r\\n\"b\":\"\\\\n\\\\n{}\"}')"
        )
        events, call = self.called(code)
        self.assertEqual(call["arguments"], {"a": 1, "b": "\n\n{}"})
        self.answer(call, error={"message": "seen"})
        self.assertEqual(events.until("verdict")["status"], "ok")

    def test_a_malformed_call_ends_the_context_and_hangs_nothing(self):
        for payload in (b"{}", b"[", b'{"call":-1}', b'{"call":1e99}', b'{"call":"1"}'):
            context = self.context.sandbox.context()
            code = FORGER + f"agent.wire.send(wire.TOOL_CALL, 1, {payload!r})\nwhile True: pass"
            verdict = self.start(code, context=context).until("verdict")
            self.assertEqual(verdict["status"], "signaled", payload)
            self.assertIn("malformed", " ".join(verdict["notes"]))

    def test_a_flood_of_calls_is_bounded_and_holds_nothing_up(self):
        code = FORGER + (
            "for n in range(100_000):\n"
            "    agent.emit(wire.TOOL_CALL, {'call': 1 << 30 | n, 'name': 'search', 'arguments': {}})"
        )
        verdict = None
        calls = 0
        for event in self.start(code):
            calls += event["type"] == "tool_call"
            verdict = event
        self.assertEqual(verdict["status"], "ok", verdict)
        self.assertEqual(calls, 64)
        self.assertEqual(self.context.value("6 * 7"), "42")

    def test_an_execution_may_call_as_often_as_its_client_says(self):
        code = (
            "try:\n    for n in range(9): search(n)\n"
            "except ToolError as e: print(n, e)"
        )
        verdict, calls = self.serve(code, tool_limits={"calls": 3})
        self.assertEqual(len(calls), 3)
        self.assertEqual(verdict["stdout"], "3 an execution may call tools 3 times\n")

    def test_the_time_limit_stands_still_while_a_call_is_open(self):
        # It says how long it has waited already, so nobody has to guess.
        code = (
            "import threading, time\n"
            "begin = time.monotonic()\n"
            "def tell():\n"
            "    while True: print(time.monotonic() - begin > 1.5, flush=True); time.sleep(0.1)\n"
            "threading.Thread(target=tell, daemon=True).start()\n"
            "search('x')"
        )
        events, call = self.called(code, limits={"time": "1s"})
        while "True" not in events.until("stdout")["text"]:
            pass
        self.answer(call, result=1)
        self.assertEqual(events.until("verdict")["status"], "ok")

    def test_a_wait_beyond_what_the_client_allows_counts(self):
        for limits in ({"wait": 0}, {"wait": "200ms"}):
            events, call = self.called(
                "x = 1\nsearch('x')", limits={"time": "300ms"}, tool_limits=limits
            )
            verdict = events.until("verdict")
            self.assertEqual((verdict["status"], verdict["limit"]), ("timeout", "time"))
            self.closed(call)
            self.assertEqual(self.context.value("x"), "1")

    def test_an_interrupt_ends_the_wait_and_the_context_lives_on(self):
        events, call = self.called("x = 1\nsearch('x')")
        self.context.must(204, "POST", "/interrupt")
        self.assertEqual(events.until("verdict")["status"], "canceled")
        self.closed(call)
        self.assertEqual(self.context.value("x"), "1")
        code = "try: search('x')\nexcept KeyboardInterrupt: search('again')"
        events, _ = self.called(code)
        self.context.must(204, "POST", "/interrupt")
        left = list(events)
        self.assertNotIn("tool_call", [event["type"] for event in left])
        self.assertEqual(left[-1]["type"], "verdict")

    def test_an_interrupt_ends_coroutines_that_wait(self):
        events, call = self.called("await search.aio('x')")
        self.context.must(204, "POST", "/interrupt")
        self.assertEqual(events.until("verdict")["status"], "canceled")
        self.closed(call)

    def test_a_client_that_leaves_ends_the_wait(self):
        events, call = self.called("x = 1\nsearch('x')")
        events.close()
        self.assertEqual(self.context.value("x"), "1")
        self.closed(call)

    def test_a_restart_and_the_end_of_the_sandbox_end_the_wait(self):
        events, call = self.called("search('x')")
        self.context.must(204, "POST", "/restart")
        self.assertIn(events.until("verdict")["status"], ("canceled", "signaled"))
        self.closed(call)
        events, call = self.called("search('x')")
        self.context.sandbox.kill()
        self.assertIn(list(events)[-1]["type"], ("failed", "verdict"))
        self.answer(call, 410, result="late")

    def test_a_paused_sandbox_takes_the_answer_and_its_code_goes_on_when_it_does(self):
        events, call = self.called("print(search('x'))")
        self.context.sandbox.must(204, "POST", "/pause")
        self.answer(call, result="while paused")
        self.closed(call)
        self.assertEqual(self.context.sandbox.info()["state"], "paused")
        self.context.sandbox.must(200, "POST", "/resume")
        self.assertEqual(events.until("verdict")["stdout"], "while paused\n")
        events, call = self.called("print(search('x'))")
        self.context.sandbox.must(204, "POST", "/pause")
        self.context.sandbox.must(200, "POST", "/resume")
        self.answer(call, result="afterwards")
        self.assertEqual(events.until("verdict")["stdout"], "afterwards\n")

    def test_an_answer_wakes_a_sandbox_that_is_to_be_woken(self):
        self.context = self.create(timeout="10m", auto_resume=True).context()
        events, call = self.called("print(search('x'))")
        self.context.sandbox.must(204, "POST", "/pause")
        self.answer(call, result="awake")
        self.assertEqual(events.until("verdict")["stdout"], "awake\n")

    def test_another_follower_sees_the_call_and_its_answer_counts(self):
        how = {"headers": {"Idempotency-Key": "followed"}}
        first, call = self.called("print(search('x'))", **how)
        second, again = self.called("print(search('x'))", **how)
        self.assertEqual(call, again)
        self.answer(again, result="from the second")
        self.closed(call)
        for events in (first, second):
            self.assertEqual(events.until("verdict")["stdout"], "from the second\n")

    def test_input_and_tools_are_asked_for_beside_each_other(self):
        code = (
            "import asyncio\n"
            "task = asyncio.ensure_future(search.aio('x')); await asyncio.sleep(0)\n"
            "print(input('? '), await task)"
        )
        events, call = self.called(code, allow_input=True)
        asked = events.until("input_request")
        self.assertNotEqual(str(asked["request"]), call["id"])
        self.answer(call, result="found")
        self.context.must(204, "POST", "/input", {"value": "typed", "request": asked["request"]})
        self.assertEqual(events.until("verdict")["stdout"], "typed found\n")
        verdict = self.context.execute("input()", tools=TOOLS)
        self.assertEqual(verdict["error"]["name"], "EOFError")

    def test_node_calls_several_at_once(self):
        self.context = self.context.sandbox.context("javascript")
        code = (
            "const both = await Promise.all(['a', 'b'].map((query) => tools.search({query})));\n"
            "both.map((one) => one.query).join('-')"
        )
        verdict, calls = self.serve(code)
        self.assertEqual([call["arguments"]["query"] for call in calls], ["a", "b"])
        self.assertEqual(verdict["results"][0]["data"]["text/plain"], "'a-b'")
        verdict, calls = self.serve(
            "await mcp.pages.search({query: 'x'})", tools=[{"name": "mcp.pages.search"}]
        )
        self.assertEqual([call["name"] for call in calls], ["mcp.pages.search"], verdict)
        verdict, _ = self.serve("await tools.stop()", lambda _: {"error": {"message": "no"}})
        self.assertEqual((verdict["error"]["name"], verdict["error"]["value"]), ("ToolError", "no"))

    def test_a_language_that_cannot_call_says_so(self):
        context = self.context.sandbox.context("bash")
        body = {"code": "echo hello", "tools": TOOLS}
        problem = context.must(501, "POST", "/execute", body)
        self.assertEqual(problem["message"], "live bash does not support 'tools'")
        self.assertEqual(context.execute("echo hello", tools=[])["stdout"], "hello\n")

    def test_without_an_offer_nothing_of_it_is_seen(self):
        names = "[name for name in ('tools', 'search', 'ToolError') if name in vars(__builtins__)]"
        self.serve("1")
        self.assertEqual(self.context.value(names), "[]")


class WhileTheDaemonIsKilled(unittest.TestCase):
    def test_a_hundred_waiting_cells_go_on_and_each_call_happens_once(self):
        daemon = Daemon()
        self.addCleanup(daemon.discard)
        daemon.start()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            sandboxes = list(pool.map(lambda _: daemon.create(timeout="10m"), range(SANDBOXES)))
            waits = list(pool.map(lambda n: Wait(sandboxes[n % SANDBOXES], n),
                                  range(SANDBOXES * CONTEXTS)))
        for wait in waits:
            wait.follow()
        memory = [private_memory(pid) for pid in named(daemon.keeper(), "tool-waits")]
        self.assertEqual(len(memory), len(waits))
        self.assertLess(max(memory), MOST_MEMORY)
        # A third is answered before anybody follows again, and a third by two clients at once.
        daemon.kill()
        daemon.start()
        for wait in waits[::3]:
            wait.answer()
        for wait in waits:
            wait.follow()
        for wait in waits[1::3]:
            wait.answer_twice()
        for wait in waits[2::3]:
            wait.answer()
        for wait in waits:
            wait.check(self)


class Wait:
    """One cell that waits for a tool, and its client."""

    def __init__(self, sandbox, number):
        self.number = number
        self.context = sandbox.context()
        self.call = None
        self.events = None
        self.answered = []

    def follow(self):
        code = (
            "import ctypes; ctypes.CDLL(None).prctl(15, b'tool-waits')\n"
            "seen = globals().get('seen', 0) + 1\n"
            f"print(search({self.number}), seen)"
        )
        if self.events is not None:
            self.events.close()  # Of a daemon that is dead.
        self.events = self.context.start(
            code, {"Idempotency-Key": "waits"}, LINES, tools=TOOLS
        )
        call = self.events.until("tool_call")
        if self.call not in (None, call):
            raise AssertionError(f"called anew: {self.call}, then {call}")
        self.call = call

    def answer(self, value="once"):
        path = f"{self.context.path}/tools/{self.call['id']}"
        status = self.context.sandbox.daemon.ask("POST", path, {"result": value}).status
        self.answered.append(status)

    def answer_twice(self):
        clients = [threading.Thread(target=self.answer) for _ in range(2)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()

    def check(self, case):
        self.answer("again")
        case.assertEqual(self.answered.count(204), 1, self.answered)
        case.assertEqual(set(self.answered), {204, 409})
        case.assertEqual(self.call["arguments"], {"query": self.number})
        rest = list(self.events)
        case.assertNotIn("tool_call", [event["type"] for event in rest])
        case.assertEqual(rest[-1]["stdout"], "once 1\n", rest[-1])


def private_memory(pid):
    """Bytes that only this process has."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
        return sum(int(line.split()[1]) << 10 for line in rollup if line.startswith("Private"))


if __name__ == "__main__":
    unittest.main()
