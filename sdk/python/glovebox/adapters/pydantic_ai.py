# SPDX-License-Identifier: Apache-2.0
"""A toolset for PydanticAI:

    async with await AsyncSandbox.create() as sandbox:
        agent = Agent("…", toolsets=[sandbox_toolset(sandbox)])
"""

from __future__ import annotations

from typing import Any

from pydantic_ai import BinaryContent, FunctionToolset, ModelRetry, ToolReturn

from .. import AsyncSandbox, NotFound
from ._functions import SandboxFunctions


class _Functions(SandboxFunctions):
    """As the model of PydanticAI sees them: with pictures, and told what to do about a mistake."""

    async def run_code(self, code: str, language: str = "python") -> Any:
        verdict = await self.execute(code, language)
        pictures = [
            BinaryContent(data=each.png, media_type="image/png")
            for each in verdict.results
            if each.png is not None
        ]
        return ToolReturn(return_value=str(verdict), content=pictures) if pictures else str(verdict)

    run_code.__doc__ = SandboxFunctions.run_code.__doc__

    async def read_file(self, path: str) -> str:
        try:
            return await super().read_file(path)
        except NotFound as error:
            raise ModelRetry(str(error)) from error

    read_file.__doc__ = SandboxFunctions.read_file.__doc__


def sandbox_toolset(sandbox: AsyncSandbox, *, timeout: float = 60.0) -> FunctionToolset[Any]:
    """Tools that run code and commands, and read and write files, in a sandbox. Pictures go to the
    model. `timeout`: seconds for each execution and command.
    """
    does = _Functions(sandbox, timeout=timeout)
    return FunctionToolset([does.run_code, does.run_command, does.read_file, does.write_file])
