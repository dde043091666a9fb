# SPDX-License-Identifier: Apache-2.0
"""Requests as bytes, and answers as they come: a client's library would correct what is wrong."""

import json
import re
import socket

PATIENCE_S = 60


class Wrong(AssertionError):
    """What no answer may be."""


class RawAnswer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def __str__(self):
        return f"{self.status} {self.headers} {self.body[:500]!r}"


class Peer:
    """One connection."""

    def __init__(self, port, patience_s=PATIENCE_S):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=patience_s)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, request):
        try:
            self.socket.sendall(request)
        except (BrokenPipeError, ConnectionResetError):
            pass  # It may answer before it has read all, and end.

    def more(self):
        try:
            piece = self.socket.recv(65536)
        except ConnectionResetError:
            piece = b""
        except TimeoutError:
            raise Wrong(f"no answer within {PATIENCE_S} s; so far {self.buffer[:200]!r}") from None
        self.buffer += piece
        return bool(piece)

    def head(self):
        """(status, headers) of the next answer; nothing when the connection ends before one."""
        while b"\r\n\r\n" not in self.buffer:
            if not self.more():
                if self.buffer:
                    raise Wrong(f"half an answer: {self.buffer[:200]!r}")
                return None
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        if not re.fullmatch(r"HTTP/1\.1 [1-5]\d\d [ -~]*", lines[0]):
            raise Wrong(f"no status line: {lines[0]!r}")
        headers = {}
        for line in lines[1:]:
            name, value = line.split(":", 1)
            headers[name.lower()] = value.strip()
        return int(lines[0].split()[1]), headers

    def answer(self, method="GET", streams=False):
        """The next answer. Of one that goes on, what there is of it."""
        head = self.head()
        if head is None:
            return None
        status, headers = head
        if status == 100:
            return self.answer(method, streams)
        if method == "HEAD" or status in (101, 204, 304):
            return RawAnswer(status, headers, b"")
        if streams and status == 200:
            return RawAnswer(status, headers, b"")
        if "content-length" in headers:
            size = int(headers["content-length"])
            while len(self.buffer) < size:
                if not self.more():
                    raise Wrong(f"{len(self.buffer)} of {size} bytes of an answer")
            body, self.buffer = self.buffer[:size], self.buffer[size:]
            return RawAnswer(status, headers, body)
        chunked = headers.get("transfer-encoding") == "chunked"
        while not (chunked and self.buffer.endswith(b"\r\n0\r\n\r\n")) and self.more():
            pass
        body, self.buffer = self.buffer, b""
        return RawAnswer(status, headers, body)


def is_error_of_ours(answer):
    """The one shape of all our errors."""
    try:
        told = json.loads(answer.body)
    except ValueError:
        return False
    return (
        isinstance(told, dict)
        and answer.headers.get("content-type", "").startswith("application/json")
        and told.get("code") == answer.status
        and re.fullmatch(r"[a-z][a-z0-9_]*", str(told.get("error"))) is not None
        and isinstance(told.get("message"), str)
        and told["message"] != ""
        and isinstance(told.get("hint"), str)
    )
