# SPDX-License-Identifier: Apache-2.0
"""Frames over descriptor 3: whole or not at all, whatever interrupts, forks or re-enters us.

The guest shares this process. So a frame may be asked for by any thread, by a finalizer or a
signal handler in the midst of another frame, and Ctrl-C may come between any two bytecodes.
A frame once begun is therefore kept in `_backlog` until the last byte is written.
"""

from __future__ import annotations

import builtins
import collections
import errno
import fcntl
import resource
import json
import os
import select
import signal
import socket
import struct
import threading

# A private copy: the guest may delete what it likes from the one that it can reach by import.
__builtins__ = dict(vars(builtins))

(
    EXECUTE, INPUT, COMPLETE, INSPECT, IS_COMPLETE, CHECKPOINT, FETCH, VARIABLES, END, TOOL_RESULT,
    RENEW,
) = range(1, 12)
(
    READY, STARTED, STDOUT, STDERR, DISPLAY, RESULT, ERROR, INPUT_REQUEST, CLEAR, DONE, REPLY, NOTE,
    TOOL_CALL,
) = range(64, 77)
PART = 127

HEADER = struct.Struct("<IBI")
FRAME_LIMIT = 1 << 20
MESSAGE_LIMIT = 64 << 20
# Bytes read at once, and bytes from which on nothing is joined for one write.
READ_SIZE = 16384
JOIN_LIMIT = 65536
# Where the channel goes: out of reach of a guest that closes the low descriptors by habit.
HIGH_FD = 200
# How long a wait for the peer may keep a pending Ctrl-C waiting.
POLL_MS = 50

EXIT_CHANNEL_LOST = 70
EXIT_PROTOCOL = 71

_exit = os._exit
_get_ident = threading.get_ident
_close = os.close
_fstat = os.fstat
_DONTWAIT = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
_encode_fast = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False).encode
_decode = json.JSONDecoder().decode
_quote = json.encoder.encode_basestring


class Wire:
    def __init__(self, fd: int) -> None:
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 1
        self.fd = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, min(HIGH_FD, most))
        _close(fd)
        self._socket = socket.socket(fileno=self.fd)
        self._socket.setblocking(True)
        self._send = self._socket.send
        self._recv = self._socket.recv
        status = _fstat(self.fd)
        self._identity = (status.st_dev, status.st_ino)
        self._lock = threading.Lock()
        self._owner = 0
        self._backlog: collections.deque[memoryview] = collections.deque()
        self._received = bytearray()
        self._parts = bytearray()
        self._main = _get_ident()
        # While this is set, the handler of SIGINT only takes a note of it.
        self._guarded = False
        self._interrupted = False
        # Whether Ctrl-C means anything now.
        self.interruptible = False
        # A child that the guest forked holds its memory, but must not talk.
        self.detached = False

    def detach(self) -> None:
        """For a forked child: the channel stays with its parent."""
        self.detached = True
        self._backlog.clear()
        try:
            self._socket.close()
        except OSError:
            pass

    def renew(self) -> None:
        """Another channel lies under our number now: this process is a context of its own."""
        status = _fstat(self.fd)
        self._identity = (status.st_dev, status.st_ino)
        self._backlog.clear()
        self._received.clear()
        self._parts.clear()

    def is_main_thread(self) -> bool:
        return _get_ident() == self._main

    # Ctrl-C

    def on_interrupt(self, _signum=None, _frame=None) -> None:
        """The handler of SIGINT."""
        if self.detached:
            raise KeyboardInterrupt
        if not self.interruptible:
            return
        if self._guarded:
            self._interrupted = True
        else:
            raise KeyboardInterrupt

    def allow_interrupts(self) -> None:
        self._interrupted = False
        self.interruptible = True

    def shield(self) -> Shield:
        """For what Ctrl-C must not end halfway: it comes at the end of it."""
        return Shield(self)

    def forbid_interrupts(self) -> None:
        self.interruptible = False
        self._interrupted = False

    # Writing

    def send(self, kind: int, channel: int, payload: bytes) -> None:
        """Sends one message; blocks while the peer doesn't read. Raises KeyboardInterrupt only
        with the message kept for later."""
        if self.detached:
            return
        self.write(frames(kind, channel, payload))

    def hold(self, kind: int, channel: int, payload: bytes) -> None:
        """Keeps a message for the next one to take along."""
        if not self.detached:
            self._backlog.append(memoryview(frames(kind, channel, payload)))

    def write(self, message: bytes) -> None:
        """Sends bytes that are whole frames."""
        me = _get_ident()
        main = me == self._main
        outer = not (main and self._guarded)
        if main:
            self._guarded = True
        self._backlog.append(memoryview(message))
        try:
            if self._owner != me:
                self._drain(me, main and outer and self.interruptible)
        finally:
            if main and outer:
                self._guarded = False
        if main and outer and self._interrupted and self.interruptible:
            self._interrupted = False
            raise KeyboardInterrupt

    def _drain(self, me: int, interruptible: bool) -> None:
        lock = self._lock
        if not lock.acquire(False):
            while not lock.acquire(True, POLL_MS / 1000):
                if interruptible and self._interrupted:
                    return
        self._owner = me
        backlog = self._backlog
        try:
            while backlog:
                if len(backlog) > 1:
                    self._join()
                data = backlog[0]
                try:
                    sent = self._send(data, _DONTWAIT)
                except BlockingIOError:
                    if interruptible and self._interrupted:
                        return
                    self._wait(select.POLLOUT)
                    continue
                except OSError as error:
                    self._lost(error)
                if sent == len(data):
                    backlog.popleft()
                else:
                    backlog[0] = data[sent:]
        finally:
            self._owner = 0
            lock.release()

    def _join(self) -> None:
        """Makes one piece of what waits, so that it goes by one system call."""
        backlog = self._backlog
        pieces = []
        size = 0
        while backlog and size < JOIN_LIMIT:
            pieces.append(backlog.popleft())
            size += len(pieces[-1])
        backlog.appendleft(memoryview(b"".join(pieces)))

    def _wait(self, what: int) -> int:
        poll = select.poll()
        poll.register(self.fd, what)
        events = poll.poll(POLL_MS)
        if events and events[0][1] & select.POLLNVAL:
            self._lost(None)
        return bool(events)

    def _lost(self, error: OSError | None):
        """The channel is gone: nobody is left to serve."""
        if error is not None and error.errno in (errno.EPIPE, errno.ECONNRESET):
            _exit(0)
        _exit(EXIT_CHANNEL_LOST)

    # Reading

    def read(self, block: bool = True) -> tuple[int, int, bytes] | None:
        """The next message, or None if none has come and `block` is false. One thread at a time;
        while the main thread waits, Ctrl-C gets through if it is allowed."""
        outer = not self._guarded and _get_ident() == self._main
        while True:
            message = self._take()
            if message is not None:
                return message
            if block and not self.interruptible:
                # Nothing can raise here, so the cheapest wait will do.
                self._receive(0)
            else:
                if block:
                    while not self._wait(select.POLLIN):
                        pass
                if outer:
                    self._guarded = True
                try:
                    came = self._receive(_DONTWAIT)
                finally:
                    if outer:
                        self._guarded = False
                if outer and self._interrupted and self.interruptible:
                    self._interrupted = False
                    raise KeyboardInterrupt
                if not came:
                    if block:
                        continue
                    return None

    def wait_readable(self) -> bool:
        """Waits a moment for something to read."""
        return self._wait(select.POLLIN)

    def _receive(self, flags: int) -> bool:
        try:
            data = self._recv(READ_SIZE, flags)
        except BlockingIOError:
            return False
        except OSError as error:
            self._lost(error)
        if not data:
            _exit(0)
        self._received += data
        return True

    def _take(self) -> tuple[int, int, bytes] | None:
        received = self._received
        while len(received) >= HEADER.size:
            size, kind, channel = HEADER.unpack_from(received)
            if size > FRAME_LIMIT:
                _exit(EXIT_PROTOCOL)
            end = HEADER.size + size
            if len(received) < end:
                return None
            payload = bytes(received[HEADER.size : end])
            del received[:end]
            if kind == PART:
                if len(self._parts) + size > MESSAGE_LIMIT:
                    _exit(EXIT_PROTOCOL)
                self._parts += payload
                continue
            if self._parts:
                payload = bytes(self._parts) + payload
                self._parts = bytearray()
            return kind, channel, payload
        return None

    def intact(self) -> bool:
        """Whether the descriptor still is the channel; a guest may close or replace it."""
        try:
            status = _fstat(self.fd)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity


class Shield:
    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._outer = False

    def __enter__(self) -> None:
        wire = self._wire
        if wire.is_main_thread() and not wire._guarded:
            self._outer = wire._guarded = True

    def __exit__(self, *_error) -> None:
        wire = self._wire
        if self._outer:
            wire._guarded = False
            if wire._interrupted and wire.interruptible:
                wire._interrupted = False
                raise KeyboardInterrupt


def frames(kind: int, channel: int, payload: bytes) -> bytes:
    """One message, in parts when it is long."""
    if len(payload) <= FRAME_LIMIT:
        return HEADER.pack(len(payload), kind, channel) + payload
    return _split(kind, channel, payload)


def _split(kind: int, channel: int, payload: bytes) -> bytes:
    pieces = []
    start = 0
    while len(payload) - start > FRAME_LIMIT:
        pieces.append(HEADER.pack(FRAME_LIMIT, PART, channel))
        pieces.append(payload[start : start + FRAME_LIMIT])
        start += FRAME_LIMIT
    pieces.append(HEADER.pack(len(payload) - start, kind, channel))
    pieces.append(payload[start:])
    return b"".join(pieces)


def well_formed(text: str) -> str:
    """The text with halves of surrogate pairs joined, and U+FFFD for those that stand alone."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def pack_json(value) -> bytes:
    """JSON that every parser takes. `value` holds plain values only (see values.plain)."""
    text = _encode_fast(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return well_formed(text).encode()


def pack_string(text: str) -> bytes:
    """The text as JSON has it, with its quotes."""
    try:
        return _quote(text).encode()
    except UnicodeEncodeError:
        return _quote(well_formed(text)).encode()


def unpack_json(payload: bytes) -> dict:
    value = _decode(payload.decode()) if payload else {}
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def take_over_sigint(wire: Wire) -> None:
    signal.signal(signal.SIGINT, wire.on_interrupt)
