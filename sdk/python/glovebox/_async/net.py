# SPDX-License-Identifier: Apache-2.0
"""Everything that waits: connections, programs, files and time. ``_sync/net.py`` is its twin; the
rest of that package is generated from this one.
"""

from __future__ import annotations

import asyncio
import inspect
import socket
import ssl
from typing import Any, Awaitable, Callable, Coroutine, List, Optional, Sequence, TypeVar

from .._address import Address
from ..errors import ConnectionFailed, Timeout

T = TypeVar("T")
PIECE = 256 * 1024


async def _within(work: Awaitable[T], seconds: Optional[float], what: str) -> T:
    try:
        return await asyncio.wait_for(work, seconds)
    except asyncio.TimeoutError:
        raise Timeout(f"{what} for {seconds:g} s", "raise the client's timeout") from None


class AsyncStream:
    """A connection to a daemon."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.loop: Optional[object] = asyncio.get_running_loop()

    @classmethod
    async def connect(
        cls, address: Address, tls: Optional[ssl.SSLContext], seconds: Optional[float]
    ) -> "AsyncStream":
        """Raises ConnectionFailed or Timeout."""
        try:
            if address.engine is not None:
                connected = socket.socket(fileno=await in_thread(address.engine.connect))
                opening: Any = asyncio.open_unix_connection(sock=connected)
            elif address.path is not None:
                opening = asyncio.open_unix_connection(address.path)
            else:
                name = address.host if tls is not None else None
                opening = asyncio.open_connection(
                    address.host, address.port, ssl=tls, server_hostname=name
                )
            reader, writer = await _within(opening, seconds, "no connection")
        except OSError as error:
            raise cannot_connect(address, error) from error
        return cls(reader, writer)

    async def receive(self, seconds: Optional[float]) -> bytes:
        """The next bytes; none at the end."""
        try:
            return await _within(self._reader.read(PIECE), seconds, "nothing received")
        except OSError as error:
            raise ConnectionFailed(f"the connection broke: {error}") from error

    async def send(self, data: bytes, seconds: Optional[float]) -> None:
        try:
            self._writer.write(data)
            await _within(self._writer.drain(), seconds, "nothing could be sent")
        except OSError as error:
            raise ConnectionFailed(f"the connection broke: {error}") from error

    def is_usable(self) -> bool:
        """Whether the other side has not ended the connection, nor this one its event loop."""
        same = self.loop is current_loop()
        return same and not self._reader.at_eof() and not self._writer.is_closing()

    async def aclose(self) -> None:
        self.abandon()
        try:
            await asyncio.wait_for(self._writer.wait_closed(), 1.0)
        except (OSError, asyncio.TimeoutError):
            pass  # It is closed all the same.

    def abandon(self) -> None:
        """Closes the connection without waiting; also after the end of its event loop."""
        try:
            self._writer.close()
        except RuntimeError:
            pass


def cannot_connect(address: Address, error: OSError) -> ConnectionFailed:
    return ConnectionFailed(
        f"cannot reach the daemon at {address.url}: {error.strerror or error}",
        "start it with `glovebox serve`, or name another one with url=… or GLOVEBOX_URL; "
        "Client('embedded:') needs none",
    )


def current_loop() -> Optional[object]:
    return asyncio.get_running_loop()


async def sleep(seconds: float) -> None:
    await asyncio.sleep(seconds)


async def call(function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Any:
    """Calls what the user gave, a function or a coroutine function."""
    result = function(*arguments, **named)
    return await result if inspect.isawaitable(result) else result


async def end(iterator: Any) -> None:
    """Ends a generator that was not read to its end, and whatever it holds."""
    await iterator.aclose()


async def in_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Calls a function that waits for the disk."""
    return await asyncio.get_running_loop().run_in_executor(None, function, *arguments)


class Jobs:
    """Calls that run beside each other, and end together."""

    def __init__(self) -> None:
        self._tasks: List["asyncio.Task[object]"] = []

    async def start(self, work: Coroutine[Any, Any, object]) -> None:
        self._tasks.append(asyncio.ensure_future(work))

    async def finish(self) -> None:
        """Waits for all of them, and raises what the first one raised."""
        tasks, self._tasks = self._tasks, []
        if tasks:
            await asyncio.gather(*tasks)

    async def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []


class AsyncChild:
    """A program that this one has started."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(
        cls, arguments: Sequence[str], log: Optional[int] = None
    ) -> "AsyncChild":
        """Starts it. What it says on standard error is kept, or goes to the descriptor `log`."""
        process = await asyncio.create_subprocess_exec(
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE if log is None else log,
        )
        return cls(process)

    async def receive(self) -> bytes:
        assert self._process.stdout is not None
        return await self._process.stdout.read(PIECE)

    async def stderr(self) -> bytes:
        if self._process.stderr is None:
            return b""
        return await self._process.stderr.read()

    async def wait(self) -> int:
        return await self._process.wait()

    def is_alive(self) -> bool:
        return self._process.returncode is None

    def terminate(self) -> None:
        if self.is_alive():
            self._process.terminate()

    async def stop(self, seconds: float) -> None:
        """Asks it to end, and insists if it has not within `seconds`."""
        self.terminate()
        try:
            await asyncio.wait_for(self._process.wait(), seconds)
        except asyncio.TimeoutError:
            self._process.kill()
            await self._process.wait()
