# SPDX-License-Identifier: Apache-2.0
"""A WebSocket, as the daemon and servers inside of sandboxes speak it."""

from __future__ import annotations

import struct
from typing import AsyncIterator, List, Optional, Union

from .._frames import BINARY, CLOSE, PING, PONG, TEXT, FrameReader, Message, frame
from ..errors import ConnectionFailed
from .net import AsyncStream


class AsyncWebSocket:
    """An open WebSocket. Iterate over it for messages, texts as `str` and binary ones as `bytes`."""

    def __init__(self, stream: AsyncStream, received: bytes, seconds: Optional[float]) -> None:
        self._stream = stream
        self._seconds = seconds
        self._reader = FrameReader()
        self._waiting: List[Message] = self._reader.feed(received)
        #: The status with which the other side closed it.
        self.close_code: Optional[int] = None
        self._closed = False

    async def send(self, message: Union[str, bytes]) -> None:
        if isinstance(message, str):
            await self._stream.send(frame(TEXT, message.encode("utf-8")), self._seconds)
        else:
            await self._stream.send(frame(BINARY, message), self._seconds)

    async def receive(self) -> Union[str, bytes, None]:
        """The next message; None at the end."""
        while True:
            while self._waiting:
                message = self._waiting.pop(0)
                if message.kind in (TEXT, BINARY):
                    return message.content
                if message.kind == PING:
                    await self._stream.send(frame(PONG, message.payload), self._seconds)
                elif message.kind == CLOSE:
                    if len(message.payload) >= 2:
                        (self.close_code,) = struct.unpack("!H", message.payload[:2])
                    await self.aclose()
                    return None
            if self._closed:
                return None
            data = await self._stream.receive(None)
            if not data:
                await self.aclose()
                return None
            self._waiting += self._reader.feed(data)

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            await self._stream.send(frame(CLOSE, struct.pack("!H", 1000)), self._seconds)
        except ConnectionFailed:
            pass  # The other side was faster.
        await self._stream.aclose()

    def __aiter__(self) -> AsyncIterator[Union[str, bytes]]:
        return self._messages()

    async def _messages(self) -> AsyncIterator[Union[str, bytes]]:
        while True:
            message = await self.receive()
            if message is None:
                return
            yield message

    async def __aenter__(self) -> "AsyncWebSocket":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
