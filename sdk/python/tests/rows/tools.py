# SPDX-License-Identifier: Apache-2.0
"""Rows on tools: functions of the client that code in the sandbox calls."""

import sys
import textwrap

from claims import same, within
from glovebox import McpLogin, McpServer, ToolLimits
from served import ROOT

sys.path.append(str(ROOT / "sdk/python/tests/servers"))
import authorization  # noqa: E402  pylint: disable=wrong-import-position

SERVER = [sys.executable, str(ROOT / "sdk/python/tests/servers/mcp_server.py")]


def add(a: int, b: int = 1) -> int:
    """Adds two numbers."""
    return a + b


def fail(why: str):
    raise ValueError(why)


async def code_calls_a_function_of_the_client(world):
    async with await world.sandbox() as sandbox:
        verdict = await sandbox.execute("add(40, b=2)", tools=[add])
        same((verdict.status.value, verdict.text), ("ok", "42"))


async def what_a_tool_raises_is_raised_inside(world):
    async with await world.sandbox() as sandbox:
        verdict = await sandbox.execute("fail('the reason')", tools=[fail])
        within("the reason", verdict.error.value)


async def every_call_gets_its_own_result(world):
    async with await world.sandbox() as sandbox:
        verdict = await sandbox.execute("[add(n) for n in range(5)]", tools=[add])
        same(verdict.text, "[1, 2, 3, 4, 5]")


async def a_stream_is_answered_by_hand(world):
    async with await world.sandbox() as sandbox:
        context = await sandbox.contexts.create()
        last = None
        async for event in context.stream("add(1)", tools=[add]):
            if event.tool_call is not None:
                same((event.tool_call.name, event.tool_call.arguments["a"]), ("add", 1))
                await context.answer(event.tool_call.id, 7)
            last = event
        same(last.verdict.text, "7")


def issues():
    return McpServer.start(SERVER, env={"ISSUES_TOKEN": "the-token"})


async def a_tool_of_an_mcp_server_is_a_function_of_a_module(world):
    code = """
        from mcp.issues import create_issue
        made = create_issue("Broken", labels=["bug"])
        import os, subprocess
        leaked = [name for name, value in os.environ.items() if "the-token" in value]
        print(made["title"], made["labels"], made["authorized"], leaked)
    """
    with issues() as server:
        async with await world.sandbox() as sandbox:
            verdict = await sandbox.execute(textwrap.dedent(code), mcp={"issues": server})
            same(verdict.stdout, "Broken ['bug'] True []\n")
            # A cell later, the function that was imported still serves.
            again = await sandbox.execute("create_issue('x')['title']", mcp={"issues": server})
            same(again.text, "'x'")
            gone = await sandbox.execute("create_issue('x')")
            same(gone.error.name, "ToolError")


async def what_an_mcp_server_refuses_is_raised_inside(world):
    code = "for f in (mcp.issues.fail, mcp.issues.huge):\n    try: f()\n    except ToolError as e: print(e)"
    with issues() as server:
        async with await world.sandbox() as sandbox:
            verdict = await sandbox.execute(code, mcp={"issues": server})
            within("no such thing", verdict.stdout)
            within("the result of 'mcp.issues.huge' was refused", verdict.stdout)


async def arguments_of_any_name_reach_an_mcp_server(world):
    code = "mcp.issues.repo_read(**{'self': 1, 'function': 2})"
    with issues() as server:
        async with await world.sandbox() as sandbox:
            verdict = await sandbox.execute(code, mcp={"issues": server})
            same(verdict.text, "'{\"function\": 2, \"self\": 1}'")


async def only_the_tools_that_are_chosen_can_be_called(world):
    code = "print(mcp.issues.create_issue('x')['title'], hasattr(mcp.issues, 'fail'))"
    with issues() as server:
        async with await world.sandbox() as sandbox:
            chosen = {"issues": server.tools("create-issue")}
            verdict = await sandbox.execute(code, mcp=chosen)
            same(verdict.stdout, "x False\n")


async def code_asks_a_model_that_the_client_has(world):
    def complete(prompt, **options):
        return {"text": f"{prompt}!", "options": options}

    code = "answer = llm.complete('hi', temperature=0); print(answer['text'], answer['options'])"
    async with await world.sandbox() as sandbox:
        verdict = await sandbox.execute(code, llm=complete)
        same(verdict.stdout, "hi! {'temperature': 0}\n")


MODULES = "print(mcp.issues.repo_read(), llm.complete('hi'), add(1)); 5"


async def a_stream_answers_modules_and_leaves_the_rest_by_hand(world):
    with issues() as server:
        async with await world.sandbox() as sandbox:
            context = await sandbox.contexts.create()
            called, last = [], None
            async for event in context.stream(MODULES, tools=[add], llm=lambda prompt: prompt + "!",
                                              mcp={"issues": server}):
                if event.tool_call is not None:
                    called.append(event.tool_call.name)
                    if event.tool_call.name == "add":
                        await context.answer(event.tool_call.id, 7)
                last = event
            same(called, ["mcp.issues.repo_read", "llm.complete", "add"])
            same((last.verdict.stdout, last.verdict.text), ("{} hi! 7\n", "5"))


async def a_session_answers_modules_and_tools(world):
    with issues() as server:
        async with await world.sandbox() as sandbox:
            context = await sandbox.contexts.create()
            async with await context.session() as session:
                offered = {"llm": lambda prompt: prompt + "!", "mcp": {"issues": server}}
                for _ in range(2):
                    verdict = await session.execute(MODULES, tools=[add], **offered)
                    same((verdict.stdout, verdict.text), ("{} hi! 2\n", "5"))
                limited = await session.execute(MODULES, **offered, tool_limits=ToolLimits(calls=1))
                within("may call tools 1 times", limited.error.value)
                last = None
                async for event in session.stream("llm.complete('x')", **offered):
                    last = event
                same(last.verdict.text, "'x!'")
                within("NameError", str((await session.execute("add(1)")).error))


async def a_person_signs_in_to_a_server_whose_tools_code_calls(world):
    with authorization.world() as guarded:
        login = McpLogin(guarded.mcp, open_page=guarded.visit)
        with McpServer.connect(guarded.mcp, headers=login, probe=0) as server:
            async with await world.sandbox() as sandbox:
                verdict = await sandbox.execute(
                    "from mcp.guarded import read\nread()", mcp={"guarded": server})
                same(verdict.text, "'read'")


async def calls_of_all_modules_have_one_limit(world):
    code = "try:\n    for n in range(9): add(n); llm.complete('x')\nexcept ToolError as e: print(n, e)"
    async with await world.sandbox() as sandbox:
        verdict = await sandbox.execute(
            code, tools=[add], llm=lambda prompt: prompt, tool_limits=ToolLimits(calls=4))
        same(verdict.stdout, "2 an execution may call tools 4 times\n")
