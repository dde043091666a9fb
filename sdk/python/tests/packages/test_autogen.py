# SPDX-License-Identifier: Apache-2.0
"""AutoGen's executor, as its agents use it."""

import asyncio

import pytest
from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock, CodeExecutor

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
