# SPDX-License-Identifier: Apache-2.0
"""Lists and calls every tool of `glovebox mcp` with the official SDK that is installed."""
import asyncio
import contextlib
import json
import os
import pathlib

import bpe_openai
from mcp import StdioServerParameters

SERVER = StdioServerParameters(command=os.environ.get("GLOVEBOX", "glovebox"), args=["mcp"])
MOST_TOKENS = 2_500

# What each tool is called with, in this order; the SDK checks results against their schemas.
CALLS = json.loads((pathlib.Path(__file__).resolve().parents[1] / "calls.json").read_text())


@contextlib.asynccontextmanager
async def connected():
    """A client of the 2.x line, which speaks the newest revision, or a session of the 1.x line."""
    try:
        from mcp import Client
    except ImportError:
        from mcp import ClientSession
        from mcp.client.stdio import stdio_client
        async with stdio_client(SERVER) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            yield session
    else:
        async with Client(SERVER) as client:
            yield client


def dumped(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def main():
    async with connected() as client:
        tools = dumped(await client.list_tools())["tools"]
        names = [tool["name"] for tool in tools]
        assert names == [name for name, _, _ in CALLS[:2]] + [
            "read_file", "write_file", "edit_file", "list_files", "search_files", "ports",
            "checkpoint", "rollback", "finish_dry_run", "fork", "restart", "list_languages", "create_sandbox",
            "delete_sandbox"], names
        text = json.dumps({"tools": tools}, separators=(",", ":"))
        tokens = len(bpe_openai.get_encoding("cl100k_base").encode(text))
        print(f"{tokens} tokens for {len(tools)} tools")
        assert tokens <= MOST_TOKENS, tokens
        for name, arguments, expected in CALLS:
            result = dumped(await client.call_tool(name, arguments))
            assert not result.get("isError"), (name, result)
            data = result.get("structuredContent", {})
            for key, value in expected.items():
                assert data.get(key) == value, (name, key, data)
            print(f"ok: {name}")
        failed = dumped(await client.call_tool("run_code", {"code": "1/0"}))
        assert failed["isError"] and "ZeroDivisionError" in failed["content"][0]["text"]


asyncio.run(asyncio.wait_for(main(), 240))
