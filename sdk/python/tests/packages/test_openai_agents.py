# SPDX-License-Identifier: Apache-2.0
"""An agent of the OpenAI Agents SDK works in a sandbox, driven by a model that is scripted."""

import json

from agents import Agent, ModelResponse, Runner, Usage
from agents.models.interface import Model
from openai.types.responses import (
    ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText)

from glovebox import AsyncSandbox
from glovebox.adapters.openai_agents import sandbox_tools


class Scripted(Model):
    """Calls one tool after the other, and repeats the last result in the end."""

    def __init__(self, *calls):
        self.calls = list(calls)
        self.seen = []

    async def get_response(self, system_instructions, input, *_, **__):
        self.seen = [each["output"] for each in input if not isinstance(input, str)
                     and each.get("type") == "function_call_output"]
        if self.calls:
            name, arguments = self.calls.pop(0)
            item = ResponseFunctionToolCall(
                type="function_call", name=name, call_id=f"call{len(self.calls)}",
                arguments=json.dumps(arguments))
        else:
            item = ResponseOutputMessage(
                id="m", type="message", role="assistant", status="completed",
                content=[ResponseOutputText(type="output_text", text=self.seen[-1],
                                            annotations=[])])
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


async def test_a_whole_run_makes_a_chart_from_a_file():
    model = Scripted(
        ("write_file", {"path": "sales.csv", "content": "jan,3\nfeb,5\n"}),
        ("run_code", {"code": "rows = [line.split(',') for line in open('sales.csv')]"}),
        ("run_code", {"code": "import matplotlib; matplotlib.use('Agg')\n"
                              "import matplotlib.pyplot as plt\n"
                              "plt.bar([r[0] for r in rows], [int(r[1]) for r in rows])\n"
                              "plt.savefig('chart.png')"}),
        ("run_command", {"command": "head -c 4 chart.png | tail -c 3"}))
    async with await AsyncSandbox.create() as sandbox:
        agent = Agent(name="analyst", model=model, tools=sandbox_tools(sandbox))
        result = await Runner.run(agent, "Draw the sales.")
        assert result.final_output == "PNG"
        assert (await sandbox.files.read("chart.png")).startswith(b"\x89PNG")


async def test_a_failure_is_told_to_the_model():
    model = Scripted(("run_code", {"code": "1 / 0"}))
    async with await AsyncSandbox.create() as sandbox:
        result = await Runner.run(
            Agent(name="a", model=model, tools=sandbox_tools(sandbox)), "Go.")
        assert "ZeroDivisionError" in result.final_output
