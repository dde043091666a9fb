# SPDX-License-Identifier: Apache-2.0
"""sys.stdout and sys.stderr as frames.

A complete line goes out at once while lines are rare; a flood is gathered. So `print("x")` is one
frame that comes without delay, and a million of them are some hundred frames.
"""

from __future__ import annotations

import _thread
import builtins
import io
import os
import time

from .wire import STDERR, STDOUT

__builtins__ = dict(vars(builtins))

# Characters gathered before they are sent whatever the time.
GATHER_CHARS = 16384
# A line that comes later than this after the last frame is not part of a flood.
FLOOD_SECONDS = 0.002
# How long text may lie here while a cell runs on.
LINGER_SECONDS = 0.05
# The helper thread leaves after so many rounds with nothing to do.
IDLE_ROUNDS = 20
# Characters in one frame: at most four bytes each, so below the limit of a frame.
FRAME_CHARS = 1 << 18

_monotonic = time.monotonic
_sleep = time.sleep
_write = os.write
_start_thread = _thread.start_new_thread


class Streams:
    """Both streams of one context, kept in the order in which they were written."""

    def __init__(self, wire) -> None:
        self.wire = wire
        self.channel = 0
        self.stdout = GuestStream(self, STDOUT, 1, "<stdout>")
        self.stderr = GuestStream(self, STDERR, 2, "<stderr>")
        self.stdout.other = self.stderr
        self.stderr.other = self.stdout
        self.helper_lives = False
        self._wanted = False
        self._lock = _thread.allocate_lock()

    def flush(self) -> None:
        """Before any frame that isn't a stream's."""
        if self.stdout.pending:
            self.stdout.flush()
        if self.stderr.pending:
            self.stderr.flush()

    def after_fork(self) -> None:
        """In a child of the guest: what lies here is the parent's to send."""
        for stream in (self.stdout, self.stderr):
            stream.pending.clear()
            stream.size = 0
            stream.raw = True
        self.helper_lives = False

    def call_helper(self) -> None:
        """Makes sure that what lies here is sent if nothing else comes."""
        self.helper_lives = True
        try:
            _start_thread(self._help, ())
        except RuntimeError:
            # No thread to be had under the guest's limits: then the end of the cell must do.
            self.helper_lives = False

    def dismiss_helper(self) -> None:
        """Waits until the helper is gone: a copy of this process must have one thread."""
        self._wanted = False
        while self.helper_lives:
            _sleep(0.001)
            self._wanted = False

    def _help(self) -> None:
        self._wanted = True
        idle = 0
        while idle < IDLE_ROUNDS and self._wanted:
            _sleep(LINGER_SECONDS)
            if self.stdout.pending or self.stderr.pending:
                idle = 0
                self.flush()
            else:
                idle += 1
        self.helper_lives = False


class GuestStream(io.TextIOBase):
    """A text stream whose writes become frames of one type."""

    encoding = "UTF-8"
    errors = None
    line_buffering = True
    newlines = None
    mode = "w"

    def __init__(self, streams: Streams, kind: int, fd: int, name: str) -> None:
        super().__init__()
        self._streams = streams
        self._kind = kind
        self._fd = fd
        self.name = name
        # Only ever changed in place, so that threads may append while another one sends.
        self.pending: list[str] = []
        self.size = 0
        # Whether to write to the descriptor: in a child of the guest.
        self.raw = False
        # The other stream, which is sent first, for their order to hold.
        self.other = None
        self._last = 0.0
        self._append = self.pending.append
        self.buffer = ByteSide(self)

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self.closed:
            raise ValueError("I/O operation on closed file")
        if self.other.pending:
            self.other.flush()
        count = len(text)
        self._append(text)
        self.size += count
        if self.size >= GATHER_CHARS or self.raw:
            self.flush()
        elif not count or text[-1] == "\n":
            # An empty write is the end of print(..., end="").
            if _monotonic() - self._last >= FLOOD_SECONDS:
                self.flush()
            elif not self._streams.helper_lives and self.pending:
                self._streams.call_helper()
        elif not self._streams.helper_lives:
            self._streams.call_helper()
        return count

    def writelines(self, lines) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        pending = self.pending
        if not pending:
            return
        if self.raw:
            self._flush_raw()
            return
        streams = self._streams
        # Two that flush at once would take the same pieces.
        with streams._lock:
            pending = self.pending
            count = len(pending)
            text = "".join(pending)
            del pending[:count]
            self.size = 0
        self._last = _monotonic()
        if not text:
            return
        send = streams.wire.send
        if len(text) <= FRAME_CHARS:
            send(self._kind, streams.channel, _bytes_of(text))
            return
        for start in range(0, len(text), FRAME_CHARS):
            piece = text[start : start + FRAME_CHARS]
            send(self._kind, streams.channel, _bytes_of(piece))

    def _flush_raw(self) -> None:
        text = "".join(self.pending)
        self.pending.clear()
        self.size = 0
        write_all(self._fd, _bytes_of(text))

    def write_bytes(self, data: bytes) -> None:
        self.flush()
        if self.raw:
            write_all(self._fd, data)
            return
        streams = self._streams
        for start in range(0, len(data), FRAME_CHARS):
            streams.wire.send(self._kind, streams.channel, data[start : start + FRAME_CHARS])

    def fileno(self) -> int:
        return self._fd

    def isatty(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        # Like the real streams' users, some close what isn't theirs; others still need it.
        self.flush()

    def reconfigure(self, **_options) -> None:
        self.flush()


class ByteSide(io.RawIOBase):
    """What `sys.stdout.buffer` is."""

    def __init__(self, text: GuestStream) -> None:
        super().__init__()
        self._text = text
        self.name = text.name
        self.mode = "wb"

    def write(self, data) -> int:
        piece = bytes(data)
        self._text.write_bytes(piece)
        return len(piece)

    def flush(self) -> None:
        self._text.flush()

    def fileno(self) -> int:
        return self._text.fileno()

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        self._text.flush()


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[_write(fd, view) :]


def _bytes_of(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")
