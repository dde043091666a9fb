# SPDX-License-Identifier: Apache-2.0
"""LangChain's own suite for sandboxes of Deep Agents, as it comes with `langchain-tests`; and a whole
agent with a scripted model.
"""

import chart
import pytest
from deepagents import create_deep_agent
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langchain_tests.integration_tests import SandboxIntegrationTests

from glovebox import Sandbox
from glovebox.adapters.deepagents import GloveboxSandbox


class TestGloveboxSandbox(SandboxIntegrationTests):
    @pytest.fixture(scope="class")
    def sandbox(self):
        with Sandbox.create(timeout="1h") as sandbox:
            yield GloveboxSandbox(sandbox)


class Scripted(FakeMessagesListChatModel):
    def bind_tools(self, tools, **_):
        return self


def test_a_whole_agent_makes_a_chart_from_a_file():
    code = ("import matplotlib; matplotlib.use('Agg'); import pandas as pd; "
            "pd.read_csv('sales.csv').plot(x='month', y='sold').figure.savefig('chart.png')")
    model = Scripted(responses=[
        AIMessage("", tool_calls=[{"id": "1", "name": "write_file", "args": {
            "file_path": "/workspace/sales.csv", "content": "month,sold\njan,3\nfeb,5\n"}}]),
        AIMessage("", tool_calls=[{"id": "2", "name": "execute", "args": {
            "command": f'python -c "{code}" && head -c 4 chart.png | tail -c 3'}}]),
        AIMessage("drawn")])
    with Sandbox.create(timeout="1h") as sandbox:
        agent = create_deep_agent(model=model, backend=GloveboxSandbox(sandbox))
        result = agent.invoke({"messages": [{"role": "user", "content": "Draw the sales."}]})
        said = [each.content for each in result["messages"] if each.type == "tool"]
        assert chart.ANSWER in said[1], said
        assert sandbox.files.read("chart.png").startswith(b"\x89PNG")
