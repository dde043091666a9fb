# SPDX-License-Identifier: Apache-2.0
# Written by sdk/python/generate from glovebox/_async/http.py: change that, and run it again.
"""HTTP/1.1 over connections that are kept and used again."""

from __future__ import annotations

import ssl
from typing import Iterable, Iterator, Dict, Iterable, List, Mapping, Optional, Union

from .._address import Address
from .._frames import accepts, new_nonce
from .._http1 import (
    LAST_CHUNK,
    MOST_HEAD,
    BodyDecoder,
    LineSplitter,
    chunk,
    parse_head,
    request_head,
)
from ..errors import ConnectionFailed, GloveboxError, ProtocolError
from .net import Stream, current_loop

#: What a request may carry: bytes, or pieces of them as they come.
Body = Union[bytes, Iterable[bytes], Iterable[bytes]]
MOST_LINE = 256 * 1024 * 1024
MOST_IDLE = 16


class Response:
    """A response whose body has not been read yet."""

    def __init__(
        self,
        pool: "Pool",
        stream: Stream,
        status: int,
        headers: Dict[str, str],
        decoder: BodyDecoder,
        stays: bool,
        seconds: Optional[float],
        early: bytes,
    ) -> None:
        self.status = status
        #: By their names in lower case.
        self.headers = headers
        self._pool = pool
        self._stream = stream
        self._decoder = decoder
        self._stays = stays
        self._seconds = seconds
        self._early = early
        self._open = True

    def iter_bytes(self) -> Iterator[bytes]:
        """The body in pieces, as they come. Raises ConnectionFailed if it is cut short."""
        try:
            if self._early:
                early, self._early = self._early, b""
                piece = self._decoder.feed(early)
                if piece:
                    yield piece
            while not self._decoder.complete:
                data = self._stream.receive(self._seconds)
                if not data:
                    self._decoder.end()
                    if not self._decoder.complete:
                        raise ConnectionFailed("the connection ended within a response")
                    break
                piece = self._decoder.feed(data)
                if piece:
                    yield piece
        finally:
            self.close()

    def iter_lines(self) -> Iterator[bytes]:
        """The lines of the body, as they come, without their line breaks."""
        splitter = LineSplitter(MOST_LINE)
        for piece in self.iter_bytes():
            for line in splitter.feed(piece):
                yield line
        for line in splitter.end():
            yield line

    def read(self) -> bytes:
        """The whole body."""
        pieces: List[bytes] = []
        for piece in self.iter_bytes():
            pieces.append(piece)
        return b"".join(pieces)

    def close(self) -> None:
        """Gives the connection back if the body has been read, and ends it if not."""
        if not self._open:
            return
        self._open = False
        whole = self._decoder.complete and not self._decoder.until_end and not self._decoder.rest
        if whole and self._stays:
            self._pool.give_back(self._stream)
        else:
            self._stream.close()

    def __enter__(self) -> "Response":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class NotSent(Exception):
    """The request never reached the daemon."""

    def __init__(self, error: GloveboxError) -> None:
        super().__init__(str(error))
        self.error = error


class Pool:
    """Connections to one daemon."""

    def __init__(
        self, address: Address, tls: Optional[ssl.SSLContext], connect_seconds: Optional[float]
    ) -> None:
        self.address = address
        self._tls = tls
        self._connect_seconds = connect_seconds
        self._idle: List[Stream] = []
        self._closed = False

    def give_back(self, stream: Stream) -> None:
        if self._closed or len(self._idle) >= MOST_IDLE:
            stream.abandon()
        else:
            self._idle.append(stream)

    def _connect(self) -> Stream:
        try:
            return Stream.connect(self.address, self._tls, self._connect_seconds)
        except GloveboxError as error:
            raise NotSent(error) from error

    def _reuse(self) -> Optional[Stream]:
        """A connection that is open, if there is one; ends those that are not."""
        while self._idle:
            try:
                stream = self._idle.pop()
            except IndexError:  # Another thread took it.
                return None
            if stream.is_usable():
                return stream
            stream.abandon()
        return None

    def request(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: Optional[Body],
        seconds: Optional[float],
    ) -> Response:
        """Sends a request. Raises NotSent, ConnectionFailed, Timeout or ProtocolError."""
        head = {"Host": self.address.netloc, **headers}
        if isinstance(body, (bytes, bytearray)):
            head["Content-Length"] = str(len(body))
        elif body is not None:
            head["Transfer-Encoding"] = "chunked"
        elif method in ("POST", "PUT", "PATCH"):
            head["Content-Length"] = "0"
        first = request_head(method, target, head)
        stream = self._reuse() or self._connect()
        try:
            try:
                self._send(stream, first, body, seconds)
            except ConnectionFailed:
                # A daemon that refuses a body early has said why before it closed.
                pass
            return self._receive(stream, method, seconds)
        except BaseException:
            stream.close()
            raise

    def _send(
        self, stream: Stream, head: bytes, body: Optional[Body], seconds: Optional[float]
    ) -> None:
        if body is None or isinstance(body, (bytes, bytearray)):
            stream.send(head + bytes(body or b""), seconds)
            return
        stream.send(head, seconds)
        if isinstance(body, Iterable):
            for piece in body:
                if piece:
                    stream.send(chunk(piece), seconds)
        else:
            for piece in body:
                if piece:
                    stream.send(chunk(piece), seconds)
        stream.send(LAST_CHUNK, seconds)

    def _receive(
        self, stream: Stream, method: str, seconds: Optional[float]
    ) -> Response:
        received = b""
        while True:
            head, found, rest = received.partition(b"\r\n\r\n")
            if found:
                status, headers, stays = parse_head(head)
                if status >= 200 or status == 101:
                    break
                received = rest  # An interim response.
                continue
            if len(received) > MOST_HEAD:
                raise ProtocolError("the head of a response is too long")
            data = stream.receive(seconds)
            if not data:
                raise ConnectionFailed("the connection ended without a response")
            received += data
        decoder = BodyDecoder(method, status, headers)
        if decoder.complete:
            decoder.rest = rest
            rest = b""
        return Response(self, stream, status, headers, decoder, stays, seconds, rest)

    def upgrade(
        self, target: str, headers: Mapping[str, str], seconds: Optional[float]
    ) -> "tuple[Optional[Stream], bytes, Optional[Response]]":
        """Opens a WebSocket: its connection and what it has received; or the refusal."""
        nonce = new_nonce()
        head = {
            "Host": self.address.netloc,
            **headers,
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": nonce,
        }
        stream = self._connect()
        try:
            stream.send(request_head("GET", target, head), seconds)
            response = self._receive(stream, "GET", seconds)
            if response.status != 101:
                return None, b"", response
            if not accepts(nonce, response.headers.get("sec-websocket-accept")):
                raise ProtocolError("the server did not accept the WebSocket")
            return stream, response._decoder.rest, None
        except BaseException:
            stream.close()
            raise

    def close(self) -> None:
        self._closed = True
        while self._idle:
            stream = self._idle.pop()
            if stream.loop is current_loop():
                stream.close()
            else:
                stream.abandon()

