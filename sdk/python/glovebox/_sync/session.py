# SPDX-License-Identifier: Apache-2.0
# Written by sdk/python/generate from glovebox/_async/session.py: change that, and run it again.
"""Many executions of one context over one WebSocket."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Iterator, Mapping, Optional, Sequence

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
from .websocket import WebSocket

if TYPE_CHECKING:
    from .context import Context


class Session:
    """Executes code over a WebSocket. One execution at a time; another may interrupt it."""

    def __init__(self, socket: WebSocket, context: "Context") -> None:
        self._socket = socket
        self._context = context

    def stream(
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
    ) -> Iterator[Event]:
        """The events of an execution; read them to the end, which is the verdict. Who answers calls of
        tools is as for ``Context.stream``.
        """
        own = self._context._offered(None, mcp, llm)
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
            for event in answered:
                yield event
        finally:
            end(answered)

    def _events(self, request: str) -> Iterator[Event]:
        self._socket.send(request)
        while True:
            message = self._socket.receive()
            if message is None:
                raise ConnectionFailed("the WebSocket ended within an execution")
            event = event_of(decode(message))
            if event.type == "keepalive":
                continue
            yield event
            if event.type == "verdict":
                return

    def execute(
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
        offered = self._context._offered(tools, mcp, llm)
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
            for event in answered:
                deliver(event, on_stdout, on_stderr, on_result, None, on_event)
                verdict = event.verdict or verdict
        finally:
            end(answered)
        assert verdict is not None
        return verdict

    def interrupt(self) -> None:
        self._socket.send('{"interrupt": true}')

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
