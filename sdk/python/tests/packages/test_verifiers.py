# SPDX-License-Identifier: Apache-2.0
"""The tools of a rollout, served as verifiers serves them, and called as its agents call them."""

import asyncio
import contextlib
import os

import chart
import pytest
from verifiers.v1.mcp.launch import serve

from glovebox import AsyncClient, AsyncSandbox, McpServer
from glovebox.adapters.verifiers import GloveboxToolset, GloveboxToolsetConfig


@pytest.fixture
def config(tmp_path):
    key = tmp_path / "key"
    key.write_text(os.environ["GLOVEBOX_API_KEY"])
    return GloveboxToolsetConfig(api_key_file=str(key), files={"given.txt": "from the task"})


@contextlib.asynccontextmanager
async def served(config):
    """What calls the tools of one rollout."""
    async with serve(GloveboxToolset(config)) as url:
        server = await asyncio.to_thread(McpServer.connect, url)
        try:
            yield lambda name, arguments: asyncio.to_thread(server.call, name, arguments)
        finally:
            server.close()


async def test_a_whole_run_makes_a_chart_from_a_file_and_its_sandbox_ends(config):
    async with served(config) as call:
        for name, arguments in chart.CALLS:
            answer = await call(name, arguments)
        assert answer["result"] == chart.ANSWER
        async with AsyncClient() as client:
            [info] = [each async for each in client.sandboxes.list()]
            assert await chart.is_drawn(AsyncSandbox(client, info.id))
    async with AsyncClient() as client:
        assert [each.id async for each in client.sandboxes.list()] == []


async def test_files_of_the_task_are_there_and_failures_are_told(config):
    async with served(config) as call:
        assert (await call("read_file", {"path": "given.txt"}))["result"] == "from the task"
        assert "ZeroDivisionError" in (await call("run_code", {"code": "1 / 0"}))["result"]
        assert "none" in (await call("read_file", {"path": "none"}))["result"]


async def test_rollouts_have_sandboxes_of_their_own(config):
    async with served(config) as one, served(config) as other:
        await one("run_code", {"code": "x = 1"})
        assert "NameError" in (await other("run_code", {"code": "x"}))["result"]
