# SPDX-License-Identifier: Apache-2.0
# Written by sdk/python/generate from glovebox/_async/websocket.py: change that, and run it again.
"""A WebSocket, as the daemon and servers inside of sandboxes speak it."""

from __future__ import annotations

import struct
from typing import Iterator, List, Optional, Union

from .._frames import BINARY, CLOSE, PING, PONG, TEXT, FrameReader, Message, frame
from ..errors import ConnectionFailed
from .net import Stream


class WebSocket:
    """An open WebSocket. Iterate over it for messages, texts as `str` and binary ones as `bytes`."""

    def __init__(self, stream: Stream, received: bytes, seconds: Optional[float]) -> None:
        self._stream = stream
        self._seconds = seconds
        self._reader = FrameReader()
        self._waiting: List[Message] = self._reader.feed(received)
        #: The status with which the other side closed it.
        self.close_code: Optional[int] = None
        self._closed = False

    def send(self, message: Union[str, bytes]) -> None:
        if isinstance(message, str):
            self._stream.send(frame(TEXT, message.encode("utf-8")), self._seconds)
        else:
            self._stream.send(frame(BINARY, message), self._seconds)

    def receive(self) -> Union[str, bytes, None]:
        """The next message; None at the end."""
        while True:
            while self._waiting:
                message = self._waiting.pop(0)
                if message.kind in (TEXT, BINARY):
                    return message.content
                if message.kind == PING:
                    self._stream.send(frame(PONG, message.payload), self._seconds)
                elif message.kind == CLOSE:
                    if len(message.payload) >= 2:
                        (self.close_code,) = struct.unpack("!H", message.payload[:2])
                    self.close()
                    return None
            if self._closed:
                return None
            data = self._stream.receive(None)
            if not data:
                self.close()
                return None
            self._waiting += self._reader.feed(data)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            self._stream.send(frame(CLOSE, struct.pack("!H", 1000)), self._seconds)
        except ConnectionFailed:
            pass  # The other side was faster.
        self._stream.close()

    def __iter__(self) -> Iterator[Union[str, bytes]]:
        return self._messages()

    def _messages(self) -> Iterator[Union[str, bytes]]:
        while True:
            message = self.receive()
            if message is None:
                return
            yield message

    def __enter__(self) -> "WebSocket":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
