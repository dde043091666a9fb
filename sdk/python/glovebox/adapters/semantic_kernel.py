# SPDX-License-Identifier: Apache-2.0
"""A plugin for Semantic Kernel:

    async with await AsyncSandbox.create() as sandbox:
        agent = ChatCompletionAgent(service=…, plugins=[GloveboxPlugin(sandbox)])
"""

from __future__ import annotations

from typing import Annotated

from semantic_kernel.functions import kernel_function

from ._functions import SandboxFunctions


class GloveboxPlugin(SandboxFunctions):
    """Functions that run code and commands, and read and write files, in a sandbox."""

    @kernel_function(
        description="Runs code in a live interpreter, which keeps its variables from call to call. "
        "Returns what it prints and its value."
    )
    async def run_code(
        self,
        code: Annotated[str, "The code to run"],
        language: Annotated[str, "The interpreter, such as python or javascript"] = "python",
    ) -> Annotated[str, "Output and value"]:
        return await super().run_code(code, language)

    @kernel_function(description="Runs a line of shell and returns its output and exit status.")
    async def run_command(
        self, command: Annotated[str, "The line of shell"]
    ) -> Annotated[str, "Output and exit status"]:
        return await super().run_command(command)

    @kernel_function(description="Returns the text of a file.")
    async def read_file(
        self, path: Annotated[str, "Relative to the workspace, or absolute"]
    ) -> Annotated[str, "The text"]:
        return await super().read_file(path)

    @kernel_function(description="Writes a text to a file and creates its directories.")
    async def write_file(
        self,
        path: Annotated[str, "Relative to the workspace, or absolute"],
        content: Annotated[str, "The whole text"],
    ) -> Annotated[str, "How much was written"]:
        return await super().write_file(path, content)
