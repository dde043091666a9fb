# SPDX-License-Identifier: Apache-2.0
"""An agent of LangChain works in a sandbox, driven by a model that is scripted."""

import chart
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage

from glovebox import AsyncSandbox, Sandbox
from glovebox.adapters.langchain import sandbox_tools

PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"


class Scripted(GenericFakeChatModel):
    """Calls one tool after the other."""

    def bind_tools(self, tools, **_):
        assert [each.name for each in tools] == [
            "run_code", "run_command", "read_file", "write_file"]
        return self


def scripted(calls):
    asked = [AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call{at}"}])
             for at, (name, arguments) in enumerate(calls)]
    return Scripted(messages=iter([*asked, AIMessage("done")]))


def results(state):
    return [each.content for each in state["messages"] if isinstance(each, ToolMessage)]


async def run(calls):
    async with await AsyncSandbox.create() as sandbox:
        agent = create_agent(scripted(calls), tools=sandbox_tools(sandbox))
        state = await agent.ainvoke({"messages": [("user", "Draw the sales.")]})
        return results(state), await sandbox.files.exists("chart.png") and await chart.is_drawn(sandbox)


async def test_a_whole_run_makes_a_chart_from_a_file():
    told, drawn = await run(chart.CALLS)
    assert told[-1] == chart.ANSWER and drawn


async def test_pictures_reach_the_model():
    told, _ = await run([("run_code", {"code": PLOT})])
    assert [block["type"] for block in told[0]] == ["text", "image"]


async def test_a_failure_is_told_to_the_model():
    told, _ = await run([("run_code", {"code": "1 / 0"}), ("read_file", {"path": "none"})])
    assert "ZeroDivisionError" in told[0] and "none" in told[1]


def test_a_synchronous_agent_has_the_same_tools():
    with Sandbox.create() as sandbox:
        tools = sandbox_tools(sandbox)
        assert tools[0].args["code"]["description"] == "The code to run."
        agent = create_agent(scripted(chart.CALLS), tools=tools)
        state = agent.invoke({"messages": [("user", "Draw the sales.")]})
        assert results(state)[-1] == chart.ANSWER
