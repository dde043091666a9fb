# SPDX-License-Identifier: Apache-2.0
"""WebSocket frames (RFC 6455) without any input or output, as a client makes and reads them."""

from __future__ import annotations

import base64
import hashlib
import os
import struct
from typing import List, NamedTuple, Optional, Union

from .errors import ProtocolError

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
MOST_MESSAGE = 64 * 1024 * 1024
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def new_nonce() -> str:
    return base64.b64encode(os.urandom(16)).decode("ascii")


def accepts(nonce: str, answer: Optional[str]) -> bool:
    """Whether the server's Sec-WebSocket-Accept belongs to our nonce."""
    digest = hashlib.sha1(nonce.encode("ascii") + _GUID).digest()
    return answer == base64.b64encode(digest).decode("ascii")


def frame(kind: int, payload: bytes) -> bytes:
    """A whole message as one masked frame."""
    size = len(payload)
    if size < 126:
        head = struct.pack("!BB", 0x80 | kind, 0x80 | size)
    elif size < 1 << 16:
        head = struct.pack("!BBH", 0x80 | kind, 0xFE, size)
    else:
        head = struct.pack("!BBQ", 0x80 | kind, 0xFF, size)
    mask = os.urandom(4)
    return head + mask + _masked(payload, mask)


def _masked(payload: bytes, mask: bytes) -> bytes:
    # One operation on a large number is far faster than one for each byte.
    size = len(payload)
    repeated = (mask * (size // 4 + 1))[:size]
    number = int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")
    return number.to_bytes(size, "big")


class Message(NamedTuple):
    kind: int
    payload: bytes

    @property
    def content(self) -> Union[str, bytes]:
        return self.payload.decode("utf-8") if self.kind == TEXT else self.payload


class FrameReader:
    """Makes messages of the bytes that a connection receives."""

    def __init__(self) -> None:
        self._buffer = b""
        self._kind = 0
        self._parts: List[bytes] = []

    def feed(self, data: bytes) -> List[Message]:
        self._buffer += data
        found: List[Message] = []
        while True:
            message = self._next()
            if message is None:
                return found
            if message.kind:
                found.append(message)

    def _next(self) -> Optional[Message]:
        """The next message; one without a kind for a part of one; None if more bytes must come."""
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        final, kind, size = buffer[0] & 0x80, buffer[0] & 15, buffer[1]
        if buffer[0] & 0x70 or size & 0x80:
            raise ProtocolError("invalid WebSocket frame")
        at = 2
        if size >= 126:
            extra = 2 if size == 126 else 8
            if len(buffer) < at + extra:
                return None
            size = int.from_bytes(buffer[at:at + extra], "big")
            at += extra
        if size + sum(map(len, self._parts)) > MOST_MESSAGE:
            raise ProtocolError(f"a WebSocket message of more than {MOST_MESSAGE} bytes")
        if len(buffer) < at + size:
            return None
        payload, self._buffer = buffer[at:at + size], buffer[at + size:]
        if kind >= CLOSE:
            return Message(kind, payload)
        if kind:
            self._kind, self._parts = kind, []
        self._parts.append(payload)
        if not final:
            return Message(0, b"")
        whole, self._parts = b"".join(self._parts), []
        return Message(self._kind, whole)
