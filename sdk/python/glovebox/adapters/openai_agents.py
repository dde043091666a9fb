# SPDX-License-Identifier: Apache-2.0
"""Tools for the OpenAI Agents SDK:

    async with await AsyncSandbox.create() as sandbox:
        agent = Agent(name="analyst", tools=sandbox_tools(sandbox))
"""

from __future__ import annotations

from typing import List

from agents import FunctionTool, Tool, function_tool

from .. import AsyncSandbox
from ._functions import SandboxFunctions


def sandbox_tools(sandbox: AsyncSandbox, *, timeout: float = 60.0) -> List[Tool]:
    """Tools that run code and commands, and read and write files, in a sandbox. `timeout`: seconds
    for each execution and command.
    """
    does = SandboxFunctions(sandbox, timeout=timeout)
    tools: List[FunctionTool] = [
        function_tool(each)
        for each in (does.run_code, does.run_command, does.read_file, does.write_file)
    ]
    return list(tools)
