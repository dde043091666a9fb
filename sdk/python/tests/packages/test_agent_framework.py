# SPDX-License-Identifier: Apache-2.0
"""An agent of Microsoft's Agent Framework works in a sandbox, driven by a model that is scripted."""

import json

from agent_framework import (
    Agent, BaseChatClient, ChatResponse, Content, FunctionInvocationLayer, Message, tool)

from glovebox import AsyncSandbox, ToolLimits
from glovebox.adapters.agent_framework import GloveboxCodeActProvider, GloveboxExecuteCodeTool

CHART = """
import matplotlib.pyplot as plt
rows = [line.split(",") for line in open("sales.csv")]
plt.bar([row[0] for row in rows], [rate(int(row[1])) for row in rows])
plt.savefig("chart.png")
plt.show()
"""


class Scripted(FunctionInvocationLayer, BaseChatClient):
    """Executes one cell after the other, and repeats the last result in the end."""

    def __init__(self, *cells):
        super().__init__()
        self.cells = list(cells)
        self.results = []

    def _inner_get_response(self, *, messages, stream, options, **_):
        async def respond():
            assert [each.name for each in options["tools"]] == ["execute_code"]
            assert "execute_code" in options["instructions"]
            self.results = [content for message in messages for content in message.contents
                            if content.type == "function_result"]
            if self.cells:
                content = Content.from_function_call(
                    f"call{len(self.cells)}", "execute_code",
                    arguments=json.dumps({"code": self.cells.pop(0)}))
            else:
                content = Content.from_text(str(self.results[-1].result))
            return ChatResponse(messages=[Message("assistant", [content])])

        return respond()


@tool
def rate(sold: int) -> int:
    """What was sold, in another currency."""
    return sold * 2


async def run(*cells, **options):
    model = Scripted(*cells)
    async with await AsyncSandbox.create() as sandbox:
        await sandbox.files.write("sales.csv", "jan,3\nfeb,5\n")
        provider = GloveboxCodeActProvider(sandbox, tools=[rate], **options)
        answer = await Agent(client=model, context_providers=[provider]).run("Draw the sales.")
        drawn = await sandbox.files.exists("chart.png") and await sandbox.files.read("chart.png")
        return answer.text, model.results, drawn


async def test_a_whole_run_makes_a_chart_from_a_file_with_a_tool_of_the_agent():
    text, results, drawn = await run(CHART, "print(len(rows), rate(sold=21))")
    assert text.strip() == "2 42"
    assert drawn[:4] == b"\x89PNG"
    assert "image/png" in str(results[0].to_dict())


async def test_a_failure_of_code_or_of_a_tool_is_told_to_the_model():
    text, _, _ = await run("1 / 0")
    assert "ZeroDivisionError" in text
    text, _, _ = await run("try: rate(sold='many')\nexcept ToolError as e: print('refused', e)")
    assert "refused" in text


async def test_calls_of_tools_have_a_limit():
    text, _, _ = await run("[rate(1) for _ in range(3)]", tool_limits=ToolLimits(calls=2))
    assert "2 times" in text


async def test_a_tool_that_needs_an_approval_makes_each_execution_need_one():
    @tool(approval_mode="always_require")
    def pay(amount: int) -> str:
        """Pays."""
        return "paid"

    async with await AsyncSandbox.create() as sandbox:
        made = GloveboxExecuteCodeTool(sandbox, tools=[rate, pay])
        assert made.approval_mode == "always_require"
        assert "pay(amount): Pays." in made.description
