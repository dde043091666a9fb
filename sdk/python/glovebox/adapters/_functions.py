# SPDX-License-Identifier: Apache-2.0
"""What frameworks that take plain functions offer to a model."""

from __future__ import annotations

from .. import AsyncSandbox, Verdict


class SandboxFunctions:
    """Functions of one sandbox. Their docstrings are for the model."""

    def __init__(self, sandbox: AsyncSandbox, *, timeout: float = 60.0) -> None:
        """`timeout`: seconds for each execution and command."""
        self._sandbox = sandbox
        self._timeout = timeout

    async def execute(self, code: str, language: str) -> Verdict:
        """The verdict of code in the live interpreter of its language."""
        return await self._sandbox.execute(code, language, time=self._timeout)

    async def run_code(self, code: str, language: str = "python") -> str:
        """Runs code in a live interpreter, which keeps its variables from call to call. Returns
        what it prints and its value.

        Args:
            code: The code to run.
            language: The interpreter, such as python, javascript or bash.
        """
        return str(await self.execute(code, language))

    async def run_command(self, command: str) -> str:
        """Runs a line of shell and returns its output and exit status.

        Args:
            command: The line of shell.
        """
        done = await self._sandbox.commands.run(command, timeout=self._timeout)
        status = "" if done.ok else f"\n[{done.reason}, exit status {done.exit_code}]"
        return done.stdout + done.stderr + status

    async def read_file(self, path: str) -> str:
        """Returns the text of a file.

        Args:
            path: Relative to the workspace, or absolute.
        """
        return await self._sandbox.files.read_text(path, errors="replace")

    async def write_file(self, path: str, content: str) -> str:
        """Writes a text to a file and creates its directories.

        Args:
            path: Relative to the workspace, or absolute.
            content: The whole text.
        """
        return f"wrote {(await self._sandbox.files.write(path, content)).size} bytes to {path}"
