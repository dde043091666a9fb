# SPDX-License-Identifier: Apache-2.0
"""CodeAct for Microsoft's Agent Framework: one tool that executes Python, whose code calls the
agent's other tools.

    async with await AsyncSandbox.create() as sandbox:
        agent = Agent(client=…, context_providers=[GloveboxCodeActProvider(sandbox, tools=[search])])
"""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

from agent_framework import (
    AgentSession,
    Content,
    ContextProvider,
    FunctionTool,
    SessionContext,
    SupportsAgentRun,
)
from agent_framework import tool as function_tool

from .. import AsyncSandbox, Tool, ToolLimits

ToolOf = Union[FunctionTool, Callable[..., Any]]

_INPUT: Dict[str, Any] = {
    "type": "object",
    "properties": {"code": {"type": "string", "description": "Python code to execute."}},
    "required": ["code"],
}


class GloveboxExecuteCodeTool(FunctionTool):
    """Executes Python in the live interpreter of a sandbox. `tools` are functions that the code
    calls, and run outside. If one of them needs an approval, each execution does.
    """

    def __init__(
        self,
        sandbox: AsyncSandbox,
        *,
        tools: Sequence[ToolOf] = (),
        timeout: float = 60.0,
        tool_limits: Optional[ToolLimits] = None,
    ) -> None:
        """`timeout`: seconds for each execution, without the time of tools."""
        inner = [each if isinstance(each, FunctionTool) else function_tool(each) for each in tools]
        approval = any(each.approval_mode == "always_require" for each in inner)
        super().__init__(
            name="execute_code",
            description=_description(inner),
            approval_mode="always_require" if approval else "never_require",
            func=self._run,
            input_model=_INPUT,
        )
        self._sandbox = sandbox
        self._inner = [_offered(each) for each in inner]
        self._timeout = timeout
        self._tool_limits = tool_limits

    async def _run(self, code: str) -> List[Content]:
        verdict = await self._sandbox.execute(
            code, time=self._timeout, tools=self._inner, tool_limits=self._tool_limits
        )
        plots = [
            Content.from_data(each.png, "image/png")
            for each in verdict.results
            if each.png is not None
        ]
        return [Content.from_text(str(verdict)), *plots]


class GloveboxCodeActProvider(ContextProvider):
    """Gives an agent the tool ``execute_code`` and says how to use it."""

    def __init__(
        self,
        sandbox: AsyncSandbox,
        *,
        tools: Sequence[ToolOf] = (),
        timeout: float = 60.0,
        tool_limits: Optional[ToolLimits] = None,
        source_id: str = "glovebox_codeact",
    ) -> None:
        super().__init__(source_id)
        self._tool = GloveboxExecuteCodeTool(
            sandbox, tools=tools, timeout=timeout, tool_limits=tool_limits
        )

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: Dict[str, Any],
    ) -> None:
        context.extend_instructions(
            self.source_id,
            "Work with execute_code: it executes Python in a sandbox, where variables and files "
            "stay from call to call. Combine several steps in one call where you can.",
        )
        context.extend_tools(self.source_id, [self._tool])


def _offered(tool: FunctionTool) -> Tool:
    """A tool of the framework as one that code calls. Its values go back as they are."""
    invoke = partial(tool.invoke, skip_parsing=True)
    return Tool(tool.name, tool.description, tool.parameters(), _with_mapping(invoke))


def _with_mapping(invoke: Callable[..., Any]) -> Callable[..., Any]:
    # As one mapping, the framework checks the arguments; as keywords, it would drop some.
    async def call(**arguments: Any) -> Any:
        return await invoke(arguments=arguments)

    return call


def _description(tools: Sequence[FunctionTool]) -> str:
    text = (
        "Executes Python in a live interpreter inside a sandbox, and returns what it prints, the "
        "value of its last expression, and plots."
    )
    if tools:
        text += " The code can call these functions:"
        for each in tools:
            names = ", ".join(each.parameters().get("properties", {}))
            text += f"\n- {each.name}({names}): {each.description}"
        text += "\nEach has a docstring; `await NAME.aio(…)` calls several at once."
    return text
