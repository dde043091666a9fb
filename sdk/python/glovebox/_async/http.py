# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 over connections that are kept and used again."""

from __future__ import annotations

import ssl
from typing import AsyncIterable, AsyncIterator, Dict, Iterable, List, Mapping, Optional, Union

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
from .net import AsyncStream, current_loop

#: What a request may carry: bytes, or pieces of them as they come.
Body = Union[bytes, Iterable[bytes], AsyncIterable[bytes]]
MOST_LINE = 256 * 1024 * 1024
MOST_IDLE = 16


class AsyncResponse:
    """A response whose body has not been read yet."""

    def __init__(
        self,
        pool: "AsyncPool",
        stream: AsyncStream,
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

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        """The body in pieces, as they come. Raises ConnectionFailed if it is cut short."""
        try:
            if self._early:
                early, self._early = self._early, b""
                piece = self._decoder.feed(early)
                if piece:
                    yield piece
            while not self._decoder.complete:
                data = await self._stream.receive(self._seconds)
                if not data:
                    self._decoder.end()
                    if not self._decoder.complete:
                        raise ConnectionFailed("the connection ended within a response")
                    break
                piece = self._decoder.feed(data)
                if piece:
                    yield piece
        finally:
            await self.aclose()

    async def iter_lines(self) -> AsyncIterator[bytes]:
        """The lines of the body, as they come, without their line breaks."""
        splitter = LineSplitter(MOST_LINE)
        async for piece in self.aiter_bytes():
            for line in splitter.feed(piece):
                yield line
        for line in splitter.end():
            yield line

    async def read(self) -> bytes:
        """The whole body."""
        pieces: List[bytes] = []
        async for piece in self.aiter_bytes():
            pieces.append(piece)
        return b"".join(pieces)

    async def aclose(self) -> None:
        """Gives the connection back if the body has been read, and ends it if not."""
        if not self._open:
            return
        self._open = False
        whole = self._decoder.complete and not self._decoder.until_end and not self._decoder.rest
        if whole and self._stays:
            self._pool.give_back(self._stream)
        else:
            await self._stream.aclose()

    async def __aenter__(self) -> "AsyncResponse":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class NotSent(Exception):
    """The request never reached the daemon."""

    def __init__(self, error: GloveboxError) -> None:
        super().__init__(str(error))
        self.error = error


class AsyncPool:
    """Connections to one daemon."""

    def __init__(
        self, address: Address, tls: Optional[ssl.SSLContext], connect_seconds: Optional[float]
    ) -> None:
        self.address = address
        self._tls = tls
        self._connect_seconds = connect_seconds
        self._idle: List[AsyncStream] = []
        self._closed = False

    def give_back(self, stream: AsyncStream) -> None:
        if self._closed or len(self._idle) >= MOST_IDLE:
            stream.abandon()
        else:
            self._idle.append(stream)

    async def _connect(self) -> AsyncStream:
        try:
            return await AsyncStream.connect(self.address, self._tls, self._connect_seconds)
        except GloveboxError as error:
            raise NotSent(error) from error

    def _reuse(self) -> Optional[AsyncStream]:
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

    async def request(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: Optional[Body],
        seconds: Optional[float],
    ) -> AsyncResponse:
        """Sends a request. Raises NotSent, ConnectionFailed, Timeout or ProtocolError."""
        head = {"Host": self.address.netloc, **headers}
        if isinstance(body, (bytes, bytearray)):
            head["Content-Length"] = str(len(body))
        elif body is not None:
            head["Transfer-Encoding"] = "chunked"
        elif method in ("POST", "PUT", "PATCH"):
            head["Content-Length"] = "0"
        first = request_head(method, target, head)
        stream = self._reuse() or await self._connect()
        try:
            try:
                await self._send(stream, first, body, seconds)
            except ConnectionFailed:
                # A daemon that refuses a body early has said why before it closed.
                pass
            return await self._receive(stream, method, seconds)
        except BaseException:
            await stream.aclose()
            raise

    async def _send(
        self, stream: AsyncStream, head: bytes, body: Optional[Body], seconds: Optional[float]
    ) -> None:
        if body is None or isinstance(body, (bytes, bytearray)):
            await stream.send(head + bytes(body or b""), seconds)
            return
        await stream.send(head, seconds)
        if isinstance(body, AsyncIterable):
            async for piece in body:
                if piece:
                    await stream.send(chunk(piece), seconds)
        else:
            for piece in body:
                if piece:
                    await stream.send(chunk(piece), seconds)
        await stream.send(LAST_CHUNK, seconds)

    async def _receive(
        self, stream: AsyncStream, method: str, seconds: Optional[float]
    ) -> AsyncResponse:
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
            data = await stream.receive(seconds)
            if not data:
                raise ConnectionFailed("the connection ended without a response")
            received += data
        decoder = BodyDecoder(method, status, headers)
        if decoder.complete:
            decoder.rest = rest
            rest = b""
        return AsyncResponse(self, stream, status, headers, decoder, stays, seconds, rest)

    async def upgrade(
        self, target: str, headers: Mapping[str, str], seconds: Optional[float]
    ) -> "tuple[Optional[AsyncStream], bytes, Optional[AsyncResponse]]":
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
        stream = await self._connect()
        try:
            await stream.send(request_head("GET", target, head), seconds)
            response = await self._receive(stream, "GET", seconds)
            if response.status != 101:
                return None, b"", response
            if not accepts(nonce, response.headers.get("sec-websocket-accept")):
                raise ProtocolError("the server did not accept the WebSocket")
            return stream, response._decoder.rest, None
        except BaseException:
            await stream.aclose()
            raise

    async def aclose(self) -> None:
        self._closed = True
        while self._idle:
            stream = self._idle.pop()
            if stream.loop is current_loop():
                await stream.aclose()
            else:
                stream.abandon()

