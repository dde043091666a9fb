# SPDX-License-Identifier: Apache-2.0
"""As much of a WebSocket client (RFC 6455) as the tests need."""

import base64
import os
import socket
import struct

TEXT, BINARY, CLOSE, PING = 1, 2, 8, 9


class WebSocket:
    def __init__(self, daemon, path, patience_s=30, key=None):
        self.closed_with = None
        self.socket = socket.create_connection(("127.0.0.1", daemon.port), patience_s)
        self.file = self.socket.makefile("rb")
        nonce = base64.b64encode(os.urandom(16)).decode()
        lines = [
            f"GET {path} HTTP/1.1",
            f"Host: 127.0.0.1:{daemon.port}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {nonce}",
            f"X-API-KEY: {key or daemon.key}",
        ]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self.status = int(self.file.readline().split()[1])
        while self.file.readline().strip():
            pass

    def send(self, payload):
        kind = BINARY if isinstance(payload, bytes) else TEXT
        payload = payload if isinstance(payload, bytes) else payload.encode()
        size = len(payload)
        length = struct.pack("!B", 0x80 | size) if size < 126 else struct.pack("!BH", 0xFE, size)
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))
        self.socket.sendall(bytes([0x80 | kind]) + length + mask + masked)

    def receive(self):
        """The next message, bytes or text; None at the end. No fragments are awaited."""
        while True:
            head = self.file.read(2)
            if len(head) < 2:
                return None
            kind, size = head[0] & 15, head[1] & 127
            if size == 126:
                (size,) = struct.unpack("!H", self.file.read(2))
            elif size == 127:
                (size,) = struct.unpack("!Q", self.file.read(8))
            payload = self.file.read(size)
            if kind == CLOSE:
                self.closed_with = struct.unpack("!H", payload[:2])[0] if payload else None
                return None
            if kind != PING:
                return payload.decode() if kind == TEXT else payload

    def rest(self):
        """Passes over what still comes; None at the end."""
        while self.receive() is not None:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()
