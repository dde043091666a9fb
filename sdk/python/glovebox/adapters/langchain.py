# SPDX-License-Identifier: Apache-2.0
"""Tools for LangChain:

    async with await AsyncSandbox.create() as sandbox:
        agent = create_agent(model, tools=sandbox_tools(sandbox))
"""

from __future__ import annotations

import base64
import functools
from typing import Any, Callable, Dict, List, Union

from langchain_core.tools import BaseTool, StructuredTool, ToolException

from .. import AsyncSandbox, GloveboxError, Sandbox, Verdict
from ._functions import SandboxFunctions
from .schemas import Toolbox

NAMES = ("run_code", "run_command", "read_file", "write_file")


def sandbox_tools(
    sandbox: Union[AsyncSandbox, Sandbox], *, timeout: float = 60.0
) -> List[BaseTool]:
    """Tools that run code and commands, and read and write files, in a sandbox. Plots go to the
    model. Those of a `Sandbox` work with ``invoke`` and ``ainvoke``, those of an `AsyncSandbox`
    with ``ainvoke``. `timeout`: seconds for each execution and command.
    """
    if isinstance(sandbox, Sandbox):
        blocking = _Blocking(sandbox, timeout=timeout)
        return [_tool(func=_told(getattr(blocking, name))) for name in NAMES]
    does = _Functions(sandbox, timeout=timeout)
    return [_tool(coroutine=_told_later(getattr(does, name))) for name in NAMES]


class _Functions(SandboxFunctions):
    async def run_code(self, code: str, language: str = "python") -> Any:
        return _shown(await self.execute(code, language))

    run_code.__doc__ = SandboxFunctions.run_code.__doc__


class _Blocking(Toolbox):
    def run_code(self, code: str, language: str = "python") -> Any:
        return _shown(super().run_code(code, language))

    run_code.__doc__ = SandboxFunctions.run_code.__doc__


def _shown(verdict: Verdict) -> Union[str, List[Dict[str, Any]]]:
    """A text, or blocks of content where there are plots."""
    plots = [
        {"type": "image", "mime_type": "image/png", "base64": base64.b64encode(each.png).decode()}
        for each in verdict.results
        if each.png is not None
    ]
    return [{"type": "text", "text": str(verdict)}, *plots] if plots else str(verdict)


def _tool(**function: Any) -> BaseTool:
    # What a tool cannot do, such as to read a file that is missing, is told to the model.
    return StructuredTool.from_function(**function, parse_docstring=True, handle_tool_error=True)


def _told(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except GloveboxError as error:
            raise ToolException(str(error)) from error

    return call


def _told_later(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def call(*arguments: Any, **named: Any) -> Any:
        try:
            return await function(*arguments, **named)
        except GloveboxError as error:
            raise ToolException(str(error)) from error

    return call
