# SPDX-License-Identifier: Apache-2.0
"""A tool spec for LlamaIndex:

    async with await AsyncSandbox.create() as sandbox:
        agent = FunctionAgent(tools=GloveboxToolSpec(sandbox).to_tool_list(), llm=…)
"""

from __future__ import annotations

from llama_index.core.tools.tool_spec.base import BaseToolSpec

from ._functions import SandboxFunctions


class GloveboxToolSpec(SandboxFunctions, BaseToolSpec):
    """Tools that run code and commands, and read and write files, in a sandbox."""

    spec_functions = ["run_code", "run_command", "read_file", "write_file"]
