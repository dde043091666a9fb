# SPDX-License-Identifier: Apache-2.0
"""The agent's end of descriptor 3: frames in, frames out, and values too large to send inline.

Agents whose interpreter lives in a Python process share this file.
"""

from __future__ import annotations

import base64
import collections
import fcntl
import json
import os
import queue
import signal
import struct
import threading
from typing import Any

EXECUTE, INPUT, COMPLETE, INSPECT, IS_COMPLETE, CHECKPOINT, FETCH, VARIABLES, END = range(1, 10)
READY, STARTED, STDOUT, STDERR, DISPLAY, RESULT, ERROR = range(64, 71)
INPUT_REQUEST, CLEAR, DONE, REPLY, NOTE, PART = 71, 72, 73, 74, 75, 127

_HEADER = struct.Struct("<IBI")
_FRAME_LIMIT = 1 << 20
_MESSAGE_LIMIT = 64 << 20
_BLOBS_LIMIT = 64 << 20
_FETCH_LIMIT = 1 << 20

Message = tuple[int, int, dict[str, Any]]


class Link:
    """Sends frames, and reads them on a thread of its own.

    The thread is there because the agent must end with descriptor 3 also while guest code runs
    that never comes back.
    """

    def __init__(self, descriptor: int = 3) -> None:
        # A copy far away from the low numbers survives guest code that closes 3 to 99.
        self._fd = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 200)
        os.close(descriptor)
        self._owner = os.getpid()
        self._write_lock = threading.Lock()
        self._inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._inputs: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self.channel = 0

    def start(self) -> None:
        """Begins to read. SIGINT stays with the main thread, whose system calls it must break."""
        old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        threading.Thread(target=self._read_forever, name="glovebox-link", daemon=True).start()
        signal.pthread_sigmask(signal.SIG_SETMASK, old)

    def is_mine(self) -> bool:
        """False in a process that guest code forked: it must not speak on the socket."""
        return os.getpid() == self._owner

    def next(self) -> Message:
        """Waits for the next request."""
        return self._inbox.get()

    def next_input(self, timeout: float) -> dict[str, Any] | None:
        """Waits for an answer to an input request; None when none came in time."""
        try:
            return self._inputs.get(timeout=timeout)[2]
        except queue.Empty:
            return None

    def forget_inputs(self) -> None:
        """Drops answers that came too late, so that they can't answer a later question."""
        while self.next_input(0.0) is not None:
            pass

    def send(self, kind: int, payload: dict[str, Any] | bytes, channel: int | None = None) -> None:
        if not self.is_mine():
            return
        if not isinstance(payload, bytes):
            text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
            payload = text.encode("utf-8", "replace")
        channel = self.channel if channel is None else channel
        view = memoryview(payload)
        if kind in (STDOUT, STDERR):
            starts = range(0, len(view), _FRAME_LIMIT)
            pieces = [(kind, view[at : at + _FRAME_LIMIT]) for at in starts]
        else:
            pieces = []
            while len(view) > _FRAME_LIMIT:
                pieces.append((PART, view[:_FRAME_LIMIT]))
                view = view[_FRAME_LIMIT:]
            pieces.append((kind, view))
        with self._write_lock:
            for piece_kind, piece in pieces:
                self._write(_HEADER.pack(len(piece), piece_kind, channel) + piece)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._fd, view) :]
            except OSError:
                os._exit(0)  # The outside is gone, so nobody is left to speak to.

    def _read_exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                piece = os.read(self._fd, min(size - len(data), _FRAME_LIMIT))
            except OSError:
                piece = b""
            if not piece:
                os._exit(0)
            data += piece
        return bytes(data)

    def _read_forever(self) -> None:
        parts: dict[int, bytearray] = {}
        while True:
            size, kind, channel = _HEADER.unpack(self._read_exactly(_HEADER.size))
            if size > _FRAME_LIMIT:
                os._exit(1)  # The stream is without meaning from here on.
            payload = self._read_exactly(size)
            if kind == PART:
                parts.setdefault(channel, bytearray()).extend(payload)
                if sum(map(len, parts.values())) > _MESSAGE_LIMIT:
                    os._exit(1)
                continue
            if kind == END:
                os._exit(0)
            if channel in parts:
                payload = bytes(parts.pop(channel)) + payload
            try:
                value = json.loads(payload) if payload else {}
            except (ValueError, RecursionError):
                value = {}
            if not isinstance(value, dict):
                value = {}
            (self._inputs if kind == INPUT else self._inbox).put((kind, channel, value))


class Blobs:
    """Keeps MIME values that are too large to go inline, the newest 64 MiB of them."""

    def __init__(self) -> None:
        self._blobs: collections.OrderedDict[str, bytes] = collections.OrderedDict()
        self._size = 0
        self._count = 0
        try:
            self._inline = int(os.environ.get("GLOVEBOX_INLINE", "8388608"))
        except ValueError:
            self._inline = 8388608

    def bundle(self, data: dict[str, Any]) -> dict[str, Any]:
        """The same MIME values, with a reference in place of each large one."""
        return {mime: self._inline_or_ref(value) for mime, value in data.items()}

    def fetch(self, request: dict[str, Any]) -> dict[str, Any]:
        blob = self._blobs.get(str(request.get("ref")))
        offset, size = request.get("offset", 0), request.get("size", _FETCH_LIMIT)
        if blob is None:
            return {"error": "no such value, or it was dropped to make room for newer ones"}
        if not isinstance(offset, int) or not isinstance(size, int) or offset < 0 or size < 0:
            return {"error": "offset and size must be non-negative integers"}
        piece = blob[offset : offset + min(size, _FETCH_LIMIT * 3 // 4)]
        return {"base64": base64.b64encode(piece).decode("ascii"), "size": len(blob)}

    def _inline_or_ref(self, value: Any) -> Any:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if len(text) * 4 <= self._inline:
            return value
        blob = text.encode("utf-8", "replace")
        if len(blob) <= self._inline:
            return value
        self._count += 1
        name = f"r{self._count}"
        self._blobs[name] = blob
        self._size += len(blob)
        while self._size > _BLOBS_LIMIT and self._blobs:
            self._size -= len(self._blobs.popitem(last=False)[1])
        return {"ref": name, "size": len(blob)}


class Surroundings:
    """Working directory and environment of one execution; the environment is put back after it.

    Raises OSError when there is no such directory; nothing is changed then. Changes go through libc as well as through os.environ, because the interpreter beside us reads
    the process's environment, not Python's copy of it.
    """

    def __init__(self, request: dict[str, Any]) -> None:
        self._old: dict[str, str | None] = {}
        cwd = request.get("cwd")
        if isinstance(cwd, str) and cwd:
            os.chdir(cwd)
        env = request.get("env")
        for name, value in (env if isinstance(env, dict) else {}).items():
            if not name or "=" in name or "\0" in name or "\0" in str(value):
                continue
            self._old[name] = os.environ.get(name)
            os.environ[name] = str(value)

    def restore(self) -> None:
        for name, value in self._old.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
