# SPDX-License-Identifier: Apache-2.0
"""Uses the daemon's tool servers over HTTP with SSE as vLLM does, with the SDK that is installed: the
URL is all that it knows of the server, and each request has a session of its own.
"""
import asyncio
import contextlib
import os

from mcp import ClientSession
from mcp.client.sse import sse_client

# With the key as its password.
BASE = os.environ["TOOL_SERVERS"]


@contextlib.asynccontextmanager
async def connected(server, **headers):
    async with (sse_client(url=f"http://{BASE}/mcp/{server}/sse", headers=headers) as streams,
                ClientSession(*streams) as session):
        first = dumped(await session.initialize())
        assert first["serverInfo"]["name"] == server and first["instructions"], first
        yield session


def dumped(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def call(session, tool, **arguments):
    result = dumped(await session.call_tool(tool, arguments))
    return result["content"][0]["text"]


async def main():
    for server, tool in (("python", "python"), ("container", "exec")):
        async with connected(server) as session:
            listed = dumped(await session.list_tools())["tools"]
            assert [each["name"] for each in listed] == [tool, "cleanup_session"], listed
    ids = {"x-session-id": "resp_1"}
    async with connected("python", **ids) as python, connected("container", **ids) as container:
        assert await call(python, "python", code="x = 41") == "(no output)"
        assert await call(python, "python", code="open('f', 'w').write('kept'); x + 1") == "42"
        assert await call(container, "exec", cmd=["cat", "f"]) == "kept"
        both = await asyncio.gather(call(container, "exec", cmd=["echo", "a"]),
                                    call(container, "exec", cmd=["echo", "b"]))
        assert both == ["a\n", "b\n"], both
        assert "deleted sandbox" in await call(python, "cleanup_session")
    print("ok: tool servers")


asyncio.run(asyncio.wait_for(main(), 240))
