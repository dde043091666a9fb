# SPDX-License-Identifier: Apache-2.0
"""Rows on tools: functions of the client that code in the sandbox calls."""

from claims import same, within


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
