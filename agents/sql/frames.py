# SPDX-License-Identifier: Apache-2.0
"""Frames over one stream socket: nine bytes of header (size u32, type u8, channel u32,
little-endian) and a payload."""

import json
import os
import struct

EXECUTE, INPUT, COMPLETE, IS_COMPLETE, VARIABLES, END = 1, 2, 3, 5, 8, 9
READY, STARTED, STDOUT, DISPLAY, RESULT, ERROR, DONE, REPLY = 64, 65, 66, 68, 69, 70, 73, 74
PART = 127

MAX_PAYLOAD = 1 << 20
MAX_MESSAGE = 64 << 20
_HEADER = struct.Struct("<IBI")


class Frames:
    """Messages over a stream that is both ways."""

    def __init__(self, descriptor: int) -> None:
        self._socket = descriptor
        self._buffer = bytearray()

    def send(self, kind: int, channel: int, message: dict | bytes) -> None:
        payload = message if isinstance(message, bytes) else encode(message)
        offset = 0
        while len(payload) - offset > MAX_PAYLOAD:
            self._write(PART, channel, payload[offset:offset + MAX_PAYLOAD])
            offset += MAX_PAYLOAD
        self._write(kind, channel, payload[offset:])

    def receive(self) -> tuple[int, int, bytes] | None:
        """The next message as (type, channel, payload); None when the stream has ended."""
        parts = bytearray()
        while True:
            header = self._take(_HEADER.size)
            if header is None:
                return None
            size, kind, channel = _HEADER.unpack(header)
            if size > MAX_PAYLOAD or len(parts) + size > MAX_MESSAGE:
                return None
            payload = self._take(size)
            if payload is None:
                return None
            parts += payload
            if kind != PART:
                return kind, channel, bytes(parts)

    def _take(self, size: int) -> bytes | None:
        while len(self._buffer) < size:
            try:
                chunk = os.read(self._socket, 1 << 17)
            except ConnectionError:
                return None
            if not chunk:
                return None
            self._buffer += chunk
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def _write(self, kind: int, channel: int, payload: bytes) -> None:
        frame = memoryview(_HEADER.pack(len(payload), kind, channel) + payload)
        try:
            while frame:
                frame = frame[os.write(self._socket, frame):]
        except (BrokenPipeError, ConnectionError):
            os._exit(1)  # Nobody is left to speak to.


def encode(message: dict) -> bytes:
    """JSON without NaN, and without the lone surrogates that UTF-8 cannot hold."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
