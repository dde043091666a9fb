# SPDX-License-Identifier: Apache-2.0
"""An agent of PydanticAI works in a sandbox, driven by a model that is scripted."""

import chart
from pydantic_ai import Agent, BinaryContent
from pydantic_ai.messages import (
    ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart)
from pydantic_ai.models.function import FunctionModel

from glovebox import AsyncSandbox
from glovebox.adapters.pydantic_ai import sandbox_toolset


def scripted(calls, seen):
    """Calls one tool after the other, and repeats the last result in the end."""
    left = list(calls)

    def respond(messages, _):
        seen.extend(messages[-1].parts)
        if left:
            name, arguments = left.pop(0)
            return ModelResponse(parts=[ToolCallPart(name, arguments)])
        returned = [part.content for part in seen if isinstance(part, ToolReturnPart)]
        return ModelResponse(parts=[TextPart(str(returned[-1]) if returned else "nothing")])

    return FunctionModel(respond)


async def run(calls):
    seen = []
    async with await AsyncSandbox.create() as sandbox:
        agent = Agent(scripted(calls, seen), toolsets=[sandbox_toolset(sandbox)])
        output = (await agent.run("Draw the sales.")).output
        return output, seen, [each.path for each in await sandbox.files.list(".")]


async def test_a_whole_run_makes_a_chart_from_a_file():
    output, _, files = await run(chart.CALLS)
    assert output == chart.ANSWER
    assert {name.rsplit("/", 1)[-1] for name in files} >= {"sales.csv", "chart.png"}


async def test_pictures_reach_the_model():
    _, seen, _ = await run([("run_code", {
        "code": "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"})])
    pictures = [item for part in seen if isinstance(part, (UserPromptPart, ToolReturnPart))
                and not isinstance(part.content, str) for item in part.content
                if isinstance(item, BinaryContent)]
    assert [each.data[:4] for each in pictures] == [b"\x89PNG"]


async def test_a_failure_is_told_to_the_model():
    output, _, _ = await run([("run_code", {"code": "1 / 0"})])
    assert "ZeroDivisionError" in output
    _, seen, _ = await run([("read_file", {"path": "none"})])
    outcomes = [part.outcome for part in seen if isinstance(part, ToolReturnPart)]
    assert outcomes == ["retried"]
