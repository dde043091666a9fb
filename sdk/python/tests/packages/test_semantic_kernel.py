# SPDX-License-Identifier: Apache-2.0
"""An agent of Semantic Kernel works in a sandbox, driven by a model that is scripted."""

import json
from typing import Any, ClassVar, List

import chart
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase
from semantic_kernel.connectors.ai.function_choice_behavior import FunctionChoiceBehavior
from semantic_kernel.connectors.ai.open_ai.prompt_execution_settings.open_ai_prompt_execution_settings import (
    OpenAIChatPromptExecutionSettings)
from semantic_kernel.contents import (
    AuthorRole, ChatMessageContent, FunctionCallContent, FunctionResultContent, TextContent)

from glovebox import AsyncSandbox
from glovebox.adapters.semantic_kernel import GloveboxPlugin


class Scripted(ChatCompletionClientBase):
    """Calls one function after the other, and repeats the last result in the end."""

    SUPPORTS_FUNCTION_CALLING: ClassVar[bool] = True
    calls: List[Any]

    def get_prompt_execution_settings_class(self):
        return OpenAIChatPromptExecutionSettings

    async def _inner_get_chat_message_contents(self, chat_history, settings):
        if self.calls:
            name, arguments = self.calls.pop(0)
            item = FunctionCallContent(id=f"call{len(self.calls)}", name=f"GloveboxPlugin-{name}",
                                       arguments=json.dumps(arguments))
        else:
            results = [item.result for message in chat_history.messages for item in message.items
                       if isinstance(item, FunctionResultContent)]
            item = TextContent(text=str(results[-1]))
        return [ChatMessageContent(role=AuthorRole.ASSISTANT, items=[item])]

    def _prepare_chat_history_for_request(self, chat_history, role_key="role",
                                          content_key="content"):
        return chat_history

    def _update_function_choice_settings_callback(self):
        return lambda *_: None

    def _reset_function_choice_settings(self, settings):
        pass


async def run(calls):
    async with await AsyncSandbox.create() as sandbox:
        agent = ChatCompletionAgent(
            name="analyst", service=Scripted(ai_model_id="scripted", calls=list(calls)),
            plugins=[GloveboxPlugin(sandbox)],
            function_choice_behavior=FunctionChoiceBehavior.Auto(
                maximum_auto_invoke_attempts=len(calls) + 1))
        answer = await agent.get_response(messages="Draw the sales.")
        return str(answer.message), await sandbox.files.exists("chart.png")


async def test_a_whole_run_makes_a_chart_from_a_file():
    assert await run(chart.CALLS) == (chart.ANSWER, True)


async def test_a_failure_is_told_to_the_model():
    text, _ = await run([("run_code", {"code": "1 / 0"})])
    assert "ZeroDivisionError" in text
