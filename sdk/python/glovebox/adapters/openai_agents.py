# SPDX-License-Identifier: Apache-2.0
"""Tools for the OpenAI Agents SDK:

    async with await AsyncSandbox.create() as sandbox:
        agent = Agent(name="analyst", tools=sandbox_tools(sandbox))
"""

from __future__ import annotations

from typing import List

from agents import FunctionTool, Tool, function_tool

from .. import AsyncSandbox


def sandbox_tools(sandbox: AsyncSandbox, *, timeout: float = 60.0) -> List[Tool]:
    """Tools that run code and commands, and read and write files, in a sandbox. `timeout`: seconds
    for each execution and command.
    """

    async def run_code(code: str, language: str = "python") -> str:
        """Runs code in a live interpreter, which keeps its variables from call to call. Returns
        what it prints and its value.

        Args:
            code: The code to run.
            language: The interpreter, such as python, javascript or bash.
        """
        return str(await sandbox.execute(code, language, time=timeout))

    async def run_command(command: str) -> str:
        """Runs a line of shell and returns its output and exit status.

        Args:
            command: The line of shell.
        """
        done = await sandbox.commands.run(command, timeout=timeout)
        status = "" if done.ok else f"\n[{done.reason}, exit status {done.exit_code}]"
        return done.stdout + done.stderr + status

    async def read_file(path: str) -> str:
        """Returns the text of a file.

        Args:
            path: Relative to the workspace, or absolute.
        """
        return await sandbox.files.read_text(path, errors="replace")

    async def write_file(path: str, content: str) -> str:
        """Writes a text to a file and creates its directories.

        Args:
            path: Relative to the workspace, or absolute.
            content: The whole text.
        """
        return f"wrote {(await sandbox.files.write(path, content)).size} bytes to {path}"

    tools: List[FunctionTool] = [
        function_tool(each) for each in (run_code, run_command, read_file, write_file)
    ]
    return list(tools)
