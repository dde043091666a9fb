# SPDX-License-Identifier: Apache-2.0
# Written by sdk/python/generate from glovebox/_async/session.py: change that, and run it again.
"""Many executions of one context over one WebSocket."""

from __future__ import annotations

import json
from typing import Iterator, Mapping, Optional

from .._generated.requests import ExecuteRequest, Limits
from .._generated.responses import Result, Verdict
from .._model import Duration, Size
from .._request import Callback, limits_of
from ..errors import ConnectionFailed
from ..events import Event, decode, event_of
from .follow import deliver
from .websocket import WebSocket


class Session:
    """Executes code over a WebSocket. One execution at a time; another may interrupt it."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

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
    ) -> Iterator[Event]:
        """The events of an execution; read them to the end, which is the verdict."""
        request = ExecuteRequest(
            code=code,
            env=env,
            limits=limits_of(limits, time, memory),
            recover=recover,
            store_history=store_history,
        )
        self._socket.send(json.dumps(request.to_json()))
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
    ) -> Verdict:
        """Executes code and returns the verdict, as ``Context.execute`` does."""
        verdict: Optional[Verdict] = None
        for event in self.stream(
            code,
            env=env,
            time=time,
            memory=memory,
            limits=limits,
            recover=recover,
            store_history=store_history,
        ):
            deliver(event, on_stdout, on_stderr, on_result, None, on_event)
            verdict = event.verdict or verdict
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
