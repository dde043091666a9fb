# SPDX-License-Identifier: Apache-2.0
"""AutoGen's executor, as its agents use it, and in one whose model is scripted."""

import asyncio

import chart
import pytest
from autogen_agentchat.agents import ApprovalResponse, CodeExecutorAgent
from autogen_agentchat.messages import CodeExecutionEvent
from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock, CodeExecutor
from autogen_ext.models.replay import ReplayChatCompletionClient

from glovebox.adapters.autogen import GloveboxCodeExecutor


@pytest.fixture
async def executor():
    async with GloveboxCodeExecutor(timeout=5) as executor:
        yield executor


def blocks(*pairs):
    return [CodeBlock(code=code, language=language) for language, code in pairs]


async def test_blocks_share_variables(executor):
    found = await executor.execute_code_blocks(
        blocks(("python", "x = 41"), ("python", "print(x + 1)")), CancellationToken())
    assert (found.exit_code, found.output.strip()) == (0, "42")


async def test_each_language_has_its_own_interpreter(executor):
    found = await executor.execute_code_blocks(
        blocks(("sh", "echo shell > f"), ("py", "print(open('f').read())")), CancellationToken())
    assert (found.exit_code, found.output.strip()) == (0, "shell")


async def test_the_first_failure_ends_it(executor):
    found = await executor.execute_code_blocks(
        blocks(("python", "1 / 0"), ("python", "print('after')")), CancellationToken())
    assert found.exit_code != 0
    assert "ZeroDivisionError" in found.output and "after" not in found.output


async def test_a_restart_forgets(executor):
    await executor.execute_code_blocks(blocks(("python", "x = 1")), CancellationToken())
    await executor.restart()
    found = await executor.execute_code_blocks(blocks(("python", "x")), CancellationToken())
    assert "NameError" in found.output


async def test_a_timeout_is_an_exception():
    async with GloveboxCodeExecutor(timeout=0.3) as executor:
        with pytest.raises(asyncio.TimeoutError):
            await executor.execute_code_blocks(
                blocks(("python", "while True: pass")), CancellationToken())


async def test_a_cancellation_ends_the_execution(executor):
    token = CancellationToken()
    work = asyncio.ensure_future(executor.execute_code_blocks(
        blocks(("python", "open('started', 'w')\nwhile True: pass")), token))
    while not await executor._sandbox.files.exists("started"):
        await asyncio.sleep(0.01)
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    found = await executor.execute_code_blocks(blocks(("python", "print(1)")), CancellationToken())
    assert found.output.strip() == "1"


async def test_it_is_saved_and_loaded():
    saved = GloveboxCodeExecutor(timeout=7).dump_component()
    loaded = CodeExecutor.load_component(saved)
    assert isinstance(loaded, GloveboxCodeExecutor) and loaded._timeout == 7


async def test_a_whole_agent_makes_a_chart_from_a_file(executor):
    code = "\n".join(arguments["code"] for name, arguments in chart.CALLS if name == "run_code")
    model = ReplayChatCompletionClient([
        f"```sh\nprintf 'jan,3\\nfeb,5\\n' > sales.csv\n```\n```python\n{code}\n```\n"
        "```sh\nhead -c 4 chart.png | tail -c 3\n```",
        "Drawn."])
    agent = CodeExecutorAgent(
        "analyst", executor, model_client=model, supported_languages=["python", "sh"],
        approval_func=lambda request: ApprovalResponse(approved=True, reason="a test"))
    events = [each async for each in agent.run_stream(task="Draw the sales.")]
    ran = [each.result.output for each in events if isinstance(each, CodeExecutionEvent)]
    assert [each.strip()[-3:] for each in ran] == [chart.ANSWER], events
    assert events[-1].messages[-1].content == "Drawn."
    assert await chart.is_drawn(executor._sandbox)
