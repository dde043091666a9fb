# SPDX-License-Identifier: Apache-2.0
"""Many executions of one context over one WebSocket."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, AsyncIterator, Mapping, Optional, Sequence

from .._generated.requests import ExecuteRequest, Limits, ToolLimits
from .._generated.responses import Result, Verdict
from .._model import Duration, Size
from .._request import Callback, limits_of, with_tools
from ..errors import ConnectionFailed
from ..events import Event, decode, event_of
from ..mcp import Complete, McpTools
from ..tools import ToolLike, tools_of
from .follow import deliver
from .net import end
from .websocket import AsyncWebSocket

if TYPE_CHECKING:
    from .context import AsyncContext


class AsyncSession:
    """Executes code over a WebSocket. One execution at a time; another may interrupt it."""

    def __init__(self, socket: AsyncWebSocket, context: "AsyncContext") -> None:
        self._socket = socket
        self._context = context

    async def stream(
        self,
        code: str,
        *,
        env: Optional[Mapping[str, str]] = None,
        time: Optional[Duration] = None,
        memory: Optional[Size] = None,
        limits: Optional[Limits] = None,
        recover: Optional[bool] = None,
        store_history: Optional[bool] = None,
        tools: Optional[Sequence[ToolLike]] = None,
        mcp: Optional[Mapping[str, McpTools]] = None,
        llm: Optional[Complete] = None,
        tool_limits: Optional[ToolLimits] = None,
    ) -> AsyncIterator[Event]:
        """The events of an execution; read them to the end, which is the verdict. Who answers calls of
        tools is as for ``Context.stream``.
        """
        own = await self._context._offered(None, mcp, llm)
        by_hand = tools_of(tools or [])
        given = tools_of([*by_hand.values(), *own.values()])
        request = ExecuteRequest(
            code=code,
            env=env,
            limits=limits_of(limits, time, memory),
            recover=recover,
            store_history=store_history,
            tool_limits=tool_limits if given else None,
        )
        events = self._events(json.dumps(with_tools(request, list(given.values()))))
        answered = self._context._answering(events, own, by_hand)
        try:
            async for event in answered:
                yield event
        finally:
            await end(answered)

    async def _events(self, request: str) -> AsyncIterator[Event]:
        await self._socket.send(request)
        while True:
            message = await self._socket.receive()
            if message is None:
                raise ConnectionFailed("the WebSocket ended within an execution")
            event = event_of(decode(message))
            if event.type == "keepalive":
                continue
            yield event
            if event.type == "verdict":
                return

    async def execute(
        self,
        code: str,
        *,
        env: Optional[Mapping[str, str]] = None,
        time: Optional[Duration] = None,
        memory: Optional[Size] = None,
        limits: Optional[Limits] = None,
        recover: Optional[bool] = None,
        store_history: Optional[bool] = None,
        on_stdout: Callback[str] = None,
        on_stderr: Callback[str] = None,
        on_result: Callback[Result] = None,
        on_event: Callback[Event] = None,
        tools: Optional[Sequence[ToolLike]] = None,
        mcp: Optional[Mapping[str, McpTools]] = None,
        llm: Optional[Complete] = None,
        tool_limits: Optional[ToolLimits] = None,
    ) -> Verdict:
        """Executes code and returns the verdict, as ``Context.execute`` does."""
        verdict: Optional[Verdict] = None
        offered = await self._context._offered(tools, mcp, llm)
        request = ExecuteRequest(
            code=code,
            env=env,
            limits=limits_of(limits, time, memory),
            recover=recover,
            store_history=store_history,
            tool_limits=tool_limits if offered else None,
        )
        events = self._events(json.dumps(with_tools(request, list(offered.values()))))
        answered = self._context._answering(events, offered)
        try:
            async for event in answered:
                await deliver(event, on_stdout, on_stderr, on_result, None, on_event)
                verdict = event.verdict or verdict
        finally:
            await end(answered)
        assert verdict is not None
        return verdict

    async def interrupt(self) -> None:
        await self._socket.send('{"interrupt": true}')

    async def aclose(self) -> None:
        await self._socket.aclose()

    async def __aenter__(self) -> "AsyncSession":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
