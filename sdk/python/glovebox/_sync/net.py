# SPDX-License-Identifier: Apache-2.0
"""Everything that waits: connections, programs, files and time. ``_async/net.py`` is its twin; the
rest of this package is generated from that one.
"""

from __future__ import annotations

import select
import socket
import ssl
import subprocess
import threading
import time
from typing import Any, Callable, List, Optional, Sequence, TypeVar

from .._address import Address
from ..errors import ConnectionFailed, Timeout

T = TypeVar("T")
PIECE = 256 * 1024
# What most answers fit into. The memory for a whole piece is asked of the system each time.
FIRST_PIECE = 16 * 1024


class Stream:
    """A connection to a daemon."""

    loop: Optional[object] = None

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._most = FIRST_PIECE

    @classmethod
    def connect(
        cls, address: Address, tls: Optional[ssl.SSLContext], seconds: Optional[float]
    ) -> "Stream":
        """Raises ConnectionFailed or Timeout."""
        try:
            if address.engine is not None:
                connected = socket.socket(fileno=address.engine.connect())
            elif address.path is not None:
                connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                try:
                    connected.settimeout(seconds)
                    connected.connect(address.path)
                except BaseException:
                    connected.close()
                    raise
            else:
                connected = socket.create_connection((address.host, address.port), seconds)
                connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if tls is not None:
                connected = tls.wrap_socket(connected, server_hostname=address.host)
        except socket.timeout:
            raise Timeout(f"no connection for {seconds} s", "raise the client's timeout") from None
        except OSError as error:
            raise cannot_connect(address, error) from error
        return cls(connected)

    def receive(self, seconds: Optional[float]) -> bytes:
        """The next bytes; none at the end."""
        try:
            self._wait_at_most(seconds)
            data = self._socket.recv(self._most)
            # Where there was more, there is more to come.
            self._most = PIECE if len(data) == self._most else FIRST_PIECE
            return data
        except socket.timeout:
            raise Timeout(
                f"nothing received for {seconds} s", "raise the client's timeout"
            ) from None
        except OSError as error:
            raise ConnectionFailed(f"the connection broke: {error}") from error

    def send(self, data: bytes, seconds: Optional[float]) -> None:
        try:
            self._wait_at_most(seconds)
            self._socket.sendall(data)
        except socket.timeout:
            raise Timeout(
                f"nothing could be sent for {seconds} s", "raise the client's timeout"
            ) from None
        except OSError as error:
            raise ConnectionFailed(f"the connection broke: {error}") from error

    def _wait_at_most(self, seconds: Optional[float]) -> None:
        if self._socket.gettimeout() != seconds:  # To set it is a system call.
            self._socket.settimeout(seconds)

    def is_usable(self) -> bool:
        """Whether the other side has not ended the connection: an idle one has nothing to read."""
        if self._socket.fileno() < 0:
            return False
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)

    def close(self) -> None:
        self._socket.close()

    def abandon(self) -> None:
        self._socket.close()


def cannot_connect(address: Address, error: OSError) -> ConnectionFailed:
    return ConnectionFailed(
        f"cannot reach the daemon at {address.url}: {error.strerror or error}",
        "start it with `glovebox serve`, or name another one with url=… or GLOVEBOX_URL; "
        "Client('embedded:') needs none",
    )


def current_loop() -> Optional[object]:
    return None


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def call(function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Any:
    """Calls what the user gave."""
    return function(*arguments, **named)


def end(iterator: Any) -> None:
    """Ends a generator that was not read to its end, and whatever it holds."""
    iterator.close()


def in_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Calls a function that waits for the disk."""
    return function(*arguments)


class Jobs:
    """Calls that run beside each other in the asynchronous twin; here, each ends before the next."""

    def start(self, work: object) -> None:
        """The call has been made by now: it is the argument."""

    def finish(self) -> None:
        pass

    def cancel(self) -> None:
        pass


class Child:
    """A program that this one has started."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._said: List[bytes] = []
        # Read beside the output, so that neither pipe can fill up and hold the program.
        self._reader = threading.Thread(target=self._read_stderr, daemon=True)
        self._reader.start()

    def _read_stderr(self) -> None:
        if self._process.stderr is not None:
            with self._process.stderr as pipe:
                self._said.append(pipe.read())

    @classmethod
    def start(
        cls, arguments: Sequence[str], log: Optional[int] = None
    ) -> "Child":
        """Starts it. What it says on standard error is kept, or goes to the descriptor `log`."""
        return cls(
            subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if log is None else log,
                bufsize=0,
                )
        )

    def receive(self) -> bytes:
        assert self._process.stdout is not None
        return self._process.stdout.read(PIECE)

    def stderr(self) -> bytes:
        self._reader.join()
        return b"".join(self._said)

    def wait(self) -> int:
        return self._process.wait()

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def terminate(self) -> None:
        if self.is_alive():
            self._process.terminate()

    def stop(self, seconds: float) -> None:
        """Asks it to end, and insists if it has not within `seconds`."""
        self.terminate()
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()
