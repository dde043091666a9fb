# SPDX-License-Identifier: Apache-2.0
"""Code in a sandbox calls the tools of a server that is made with MCP's own package, of the line that
is installed: 2.x, which has the revision without sessions, or 1.x."""

import importlib.metadata
import sys

import pytest

from glovebox import AsyncSandbox, McpServer

SERVER = """
import sys
try:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
except ImportError:
    from mcp.server.fastmcp import FastMCP as MCPServer
    from mcp.server.fastmcp.exceptions import ToolError

app = MCPServer("weather")

@app.tool()
def degrees(city: str, scale: str = "C") -> dict[str, object]:
    '''The temperature in a city.'''
    return {"city": city, "degrees": 7, "scale": scale}

@app.tool()
def fail() -> str:
    raise ToolError("no luck")

app.run(transport=sys.argv[1])
"""


LINE = importlib.metadata.version("mcp").split(".")[0]
REVISIONS = {"1": "2025-11-25", "2": "2026-07-28"}


@pytest.fixture
def weather(tmp_path):
    path = tmp_path / "weather.py"
    path.write_text(SERVER)
    with McpServer.start([sys.executable, str(path), "stdio"]) as server:
        yield server


def test_its_newest_revision_is_spoken(weather):
    assert weather.revision == REVISIONS[LINE]


async def test_its_tools_are_functions_with_its_types_and_descriptions(weather):
    code = (
        "from mcp.weather import degrees\n"
        "import inspect\n"
        "print(degrees('Oslo', scale='F'), inspect.signature(degrees), degrees.__doc__)"
    )
    async with await AsyncSandbox.create() as sandbox:
        verdict = await sandbox.execute(code, mcp={"weather": weather})
        assert verdict.stdout == (
            "{'city': 'Oslo', 'degrees': 7, 'scale': 'F'} (city: str, scale: str = 'C') "
            "The temperature in a city.\n"), verdict


async def test_many_calls_are_under_way_at_once(weather):
    code = (
        "import asyncio\n"
        "cities = [f'city {n}' for n in range(30)]\n"
        "found = await asyncio.gather(*(mcp.weather.degrees.aio(city) for city in cities))\n"
        "[each['city'] for each in found] == cities"
    )
    async with await AsyncSandbox.create() as sandbox:
        assert (await sandbox.execute(code, mcp={"weather": weather})).text == "True"


async def test_what_its_tool_raises_is_raised_inside(weather):
    async with await AsyncSandbox.create() as sandbox:
        verdict = await sandbox.execute("mcp.weather.fail()", mcp={"weather": weather})
        assert verdict.error.name == "ToolError" and "no luck" in verdict.error.value
