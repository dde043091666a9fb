# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 without any input or output: what is sent, and what was received."""

from __future__ import annotations

from typing import Dict, Mapping, Optional, Tuple

from .errors import ProtocolError

MOST_HEAD = 64 * 1024
MOST_CHUNK_LINE = 1024


def request_head(method: str, target: str, headers: Mapping[str, str]) -> bytes:
    """The request line and headers. Line breaks in any of them are refused."""
    lines = [f"{method} {target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    for line in lines:
        if "\r" in line or "\n" in line or "\0" in line:
            raise ValueError(f"a line break in {line.split(':')[0]!r}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def chunk(data: bytes) -> bytes:
    """A piece of a body whose length is not known in advance."""
    return b"%x\r\n%b\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"


def parse_head(head: bytes) -> Tuple[int, Dict[str, str], bool]:
    """The status, the headers in lower case, and whether the connection stays open."""
    lines = head.decode("latin-1").split("\r\n")
    parts = lines[0].split(" ", 2)
    if len(parts) < 2 or not parts[0].startswith("HTTP/1.") or not parts[1].isdigit():
        raise ProtocolError(f"not a response of HTTP/1.1: {lines[0][:80]!r}")
    headers: Dict[str, str] = {}
    for line in lines[1:]:
        if not line:
            continue
        name, colon, value = line.partition(":")
        if not colon:
            raise ProtocolError(f"invalid header {line[:80]!r}")
        name = name.strip().lower()
        headers[name] = f"{headers[name]}, {value.strip()}" if name in headers else value.strip()
    stays = parts[0] == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
    return int(parts[1]), headers, stays


class BodyDecoder:
    """Takes a body's bytes from what a connection receives."""

    def __init__(self, method: str, status: int, headers: Mapping[str, str]) -> None:
        self.complete = False
        #: Whether the end of the connection is the end of the body.
        self.until_end = False
        #: What came after the body.
        self.rest = b""
        self._left: Optional[int] = None
        self._chunked = False
        self._buffer = b""
        self._state = "size"
        length = headers.get("content-length")
        if method == "HEAD" or status in (204, 304) or 100 <= status < 200:
            self.complete = True
        elif "chunked" in headers.get("transfer-encoding", "").lower():
            self._chunked = True
        elif length is not None:
            if not length.isdigit():
                raise ProtocolError(f"invalid Content-Length {length[:80]!r}")
            self._left = int(length)
            self.complete = self._left == 0
        else:
            self.until_end = True

    def feed(self, data: bytes) -> bytes:
        """The part of the body that is in `data`."""
        if self.complete:
            self.rest += data
            return b""
        if self._chunked:
            return self._feed_chunks(data)
        if self._left is None:
            return data
        taken = data[: self._left]
        self._left -= len(taken)
        self.complete = self._left == 0
        self.rest = data[len(taken):]
        return taken

    def _feed_chunks(self, data: bytes) -> bytes:
        out = []
        buffer = self._buffer + data
        while buffer:
            if self._state == "data":
                assert self._left is not None
                taken = buffer[: self._left]
                out.append(taken)
                self._left -= len(taken)
                buffer = buffer[len(taken):]
                if self._left:
                    break
                self._state = "end of data"
            line, found, after = buffer.partition(b"\r\n")
            if not found:
                if len(buffer) > MOST_CHUNK_LINE:
                    raise ProtocolError("a chunk's size is too long")
                break
            buffer = after
            if self._state == "end of data":
                if line:
                    raise ProtocolError("a chunk is longer than its size")
                self._state = "size"
            elif self._state == "size":
                self._left = _hexadecimal(line)
                self._state = "data" if self._left else "trailer"
            elif not line:  # The end of the trailer.
                self.complete = True
                self.rest, buffer = buffer, b""
                break
        self._buffer = buffer
        return b"".join(out)

    def end(self) -> None:
        """The connection has ended."""
        if self.until_end:
            self.complete = True


def _hexadecimal(line: bytes) -> int:
    text = line.split(b";", 1)[0].strip()
    try:
        if not text or text[:1] in b"+-" or b"_" in text:
            raise ValueError
        return int(text, 16)
    except ValueError:
        raise ProtocolError(f"invalid size of a chunk {line[:80]!r}") from None


class LineSplitter:
    """Makes lines of the pieces of a body."""

    def __init__(self, most: int) -> None:
        self._pending = b""
        self._most = most

    def feed(self, data: bytes) -> "list[bytes]":
        *lines, self._pending = (self._pending + data).split(b"\n")
        if len(self._pending) > self._most:
            raise ProtocolError(f"a line of more than {self._most} bytes")
        return lines

    def end(self) -> "list[bytes]":
        last, self._pending = self._pending, b""
        return [last] if last else []
