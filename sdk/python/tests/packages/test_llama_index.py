# SPDX-License-Identifier: Apache-2.0
"""An agent of LlamaIndex works in a sandbox, driven by a model that is scripted."""

import json
from typing import Any, List

import chart
from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback

from glovebox import AsyncSandbox
from glovebox.adapters.llama_index import GloveboxToolSpec


class Scripted(CustomLLM):
    """Calls one tool after the other, and repeats the last result in the end."""

    calls: List[Any]

    @property
    def metadata(self):
        return LLMMetadata()

    def _next(self, prompt):
        if not self.calls:
            answer = prompt.rsplit("Observation: ", 1)[1].split("\n")[0]
            return f"Thought: I can answer.\nAnswer: {answer}"
        name, arguments = self.calls.pop(0)
        return f"Thought: next\nAction: {name}\nAction Input: {json.dumps(arguments)}"

    @llm_completion_callback()
    def complete(self, prompt, formatted=False, **_):
        return CompletionResponse(text=self._next(prompt))

    @llm_completion_callback()
    def stream_complete(self, prompt, formatted=False, **_):
        text = self._next(prompt)
        yield CompletionResponse(text=text, delta=text)


async def test_the_tools_are_described():
    async with await AsyncSandbox.create() as sandbox:
        tools = {each.metadata.name: each.metadata
                 for each in GloveboxToolSpec(sandbox).to_tool_list()}
    assert list(tools) == ["run_code", "run_command", "read_file", "write_file"]
    assert "live interpreter" in tools["run_code"].description
    schema = tools["write_file"].get_parameters_dict()
    assert schema["required"] == ["path", "content"]


async def test_a_whole_run_makes_a_chart_from_a_file():
    async with await AsyncSandbox.create() as sandbox:
        agent = ReActAgent(tools=GloveboxToolSpec(sandbox).to_tool_list(),
                           llm=Scripted(calls=list(chart.CALLS)))
        assert str(await agent.run(user_msg="Draw the sales.")) == chart.ANSWER
        assert await chart.is_drawn(sandbox)
