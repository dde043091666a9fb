# SPDX-License-Identifier: Apache-2.0
"""An agent of Google's ADK works in a sandbox, driven by a model that is scripted."""

import pytest
from google.adk.agents import LlmAgent
from google.adk.code_executors.code_execution_utils import CodeExecutionInput, File
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from glovebox.adapters.google_adk import GloveboxCodeExecutor

CSV = b"month,sold\nJan,3\nFeb,5\n"
PLOT = "data_1_2.plot(x='month', y='sold')\nimport matplotlib.pyplot as plt\nplt.show()"


class Scripted(BaseLlm):
    """Writes one block of code after the other, and says in the end what the last one gave."""

    blocks: list
    seen: list = []

    async def generate_content_async(self, llm_request, stream=False):
        texts = [part.text or "" for content in llm_request.contents for part in content.parts]
        self.seen.append(texts)
        code = self.blocks.pop(0) if self.blocks else None
        text = f"```python\n{code}\n```" if code else f"answer: {texts[-1]}"
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))


@pytest.fixture
def executor():
    with GloveboxCodeExecutor(timeout_seconds=20) as executor:
        yield executor


async def run(executor, blocks, *parts):
    """The last text, and the artifacts."""
    model = Scripted(model="scripted", blocks=list(blocks))
    agent = LlmAgent(name="analyst", model=model, code_executor=executor)
    runner = InMemoryRunner(agent, app_name="app")
    session = await runner.session_service.create_session(app_name="app", user_id="u")
    last = ""
    async for event in runner.run_async(
            user_id="u", session_id=session.id,
            new_message=types.Content(role="user", parts=[types.Part(text="Draw."), *parts])):
        for part in event.content.parts if event.content else []:
            last = part.text or last
    names = await runner.artifact_service.list_artifact_keys(
        app_name="app", user_id="u", session_id=session.id)
    loaded = [await runner.artifact_service.load_artifact(
        app_name="app", user_id="u", session_id=session.id, filename=name) for name in names]
    return last, [each.inline_data.data for each in loaded]


async def test_a_whole_run_makes_a_chart_from_a_file(executor):
    file = types.Part(inline_data=types.Blob(data=CSV, mime_type="text/csv"))
    answer, plots = await run(executor, [PLOT, "print('sold', data_1_2.sold.sum())"], file)
    assert "sold 8" in answer
    assert [each[:4] for each in plots] == [b"\x89PNG"]


async def test_a_failure_is_told_to_the_model_and_it_tries_again(executor):
    answer, _ = await run(executor, ["1 / 0", "print('second')"])
    assert "second" in answer


def test_sessions_have_variables_of_their_own(executor):
    def execute(code, session):
        return executor.execute_code(None, CodeExecutionInput(code=code, execution_id=session))

    execute("x = 41", "a")
    assert execute("x + 1", "a").stdout == "42\n"
    assert "NameError" in execute("x", "b").stderr
    assert "more than" in GloveboxCodeExecutor(timeout_seconds=1).execute_code(
        None, CodeExecutionInput(code="while True: pass")).stderr


def test_a_session_whose_sandbox_has_ended_goes_on_in_another_one(executor):
    given = CodeExecutionInput(code="print(open('f').read())", execution_id="a",
                               input_files=[File("f", b"plain \xff", "text/plain")])
    given.code = "print(len(open('f', 'rb').read()))"
    assert executor.execute_code(None, given).stdout == "7\n"
    executor._sandboxes["a"].kill()
    assert executor.execute_code(None, given).stdout == "7\n"


def test_no_more_sandboxes_are_kept_than_was_said():
    with GloveboxCodeExecutor(most_sandboxes=1) as executor:
        for session in ("a", "b"):
            executor.execute_code(None, CodeExecutionInput(code="1", execution_id=session))
        assert list(executor._sandboxes) == ["b"]
