# SPDX-License-Identifier: Apache-2.0
"""Has the user of an official SDK's client decide about what a policy asks."""
import asyncio
import contextlib
import os
import pathlib
import tempfile

from mcp import StdioServerParameters, types

CODE = "eval('6 * 7')"


@contextlib.asynccontextmanager
async def connected(server, respond):
    """A client of the 2.x line, which speaks the newest revision, or a session of the 1.x line."""
    try:
        from mcp import Client
    except ImportError:
        from mcp import ClientSession
        from mcp.client.stdio import stdio_client
        async with stdio_client(server) as (read, write), \
                ClientSession(read, write, elicitation_callback=respond) as session:
            await session.initialize()
            yield session
    else:
        async with Client(server, elicitation_callback=respond) as client:
            yield client


async def main(policy):
    server = StdioServerParameters(command=os.environ.get("GLOVEBOX", "glovebox"),
                                   args=["mcp", "--policy", policy])
    asked = []
    decisions = iter([True, False, True])

    async def respond(_, params):
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"run": next(decisions)})

    async with connected(server, respond) as client:
        for tool, arguments, expected in (
                ("run_code", {"code": CODE}, "42"),
                ("run_code", {"code": CODE}, "a person refused this program"),
                ("run_command", {"command": "touch made; ls"}, "made")):
            result = (await client.call_tool(tool, arguments)).model_dump(mode="json", by_alias=True)
            text = " ".join(each.get("text") or "" for each in result["content"])
            assert expected in text, (tool, text)
        assert len(asked) == 3 and all(each.startswith("A policy asks") for each in asked), asked
        result = (await client.call_tool("run_code", {"code": "6 * 7"})).model_dump(mode="json")
        assert len(asked) == 3, "harmless code is asked about"
    print("ok: approvals")


with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder) / "house.toml"
    file.write_text('[python.calls]\nask = ["eval"]\n[commands]\nask = ["touch"]\n', encoding="ascii")
    asyncio.run(asyncio.wait_for(main(str(file)), 240))
