# SPDX-License-Identifier: Apache-2.0
"""Runs cells in a Glovebox agent, speaking the frames of agents/README.md."""

from __future__ import annotations

import base64
import json
import os
import select
import signal
import socket
import struct
import subprocess
import time

from transcript import Cell, CellFailure, Transcript

HEADER = struct.Struct("<IBI")
EXECUTE, INPUT, FETCH, END = 1, 2, 7, 9
(READY, STARTED, STDOUT, STDERR, DISPLAY, RESULT, ERROR, INPUT_REQUEST, CLEAR, DONE, REPLY,
 NOTE) = range(64, 76)
PART = 127
FRAME_LIMIT = 1 << 20
MESSAGE_LIMIT = 64 << 20
SOCKET_NUMBER = 3


class Agent:
    """One agent process, started by `command`. Use as a context manager."""

    def __init__(self, command: list[str], directory: str, environment: dict[str, str]) -> None:
        self._socket, theirs = socket.socketpair()
        outputs = [os.pipe(), os.pipe()]
        # Python passes a descriptor on only under its own number, so the child's end takes
        # number 3 here for the moment of the start.
        kept = _duplicate(SOCKET_NUMBER)
        os.dup2(theirs.fileno(), SOCKET_NUMBER, inheritable=True)
        try:
            self._process = subprocess.Popen(
                command, cwd=directory, env=environment, stdin=subprocess.DEVNULL,
                stdout=outputs[0][1], stderr=outputs[1][1], pass_fds=(SOCKET_NUMBER,),
                start_new_session=True)
        finally:
            os.close(SOCKET_NUMBER)
            if kept is not None:
                os.dup2(kept, SOCKET_NUMBER)
                os.close(kept)
            theirs.close()
            for _, end in outputs:
                os.close(end)
        self._pipes = {outputs[0][0]: "stdout", outputs[1][0]: "stderr"}
        for pipe in self._pipes:
            os.set_blocking(pipe, False)
        self._buffer = bytearray()
        self._parts: dict[int, bytearray] = {}
        self._channel = 0
        self.notes: list[str] = []
        try:
            kind, _, payload = self._next(Transcript(), time.monotonic() + 60)
        except CellFailure:
            self.__exit__()
            raise
        if kind != READY:
            self.__exit__()
            raise CellFailure(f"the first frame is {kind}, not ready: {payload!r}")

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *_) -> None:
        try:
            self._send(END, 0, b"")
        except OSError:
            pass  # it ended before
        self._socket.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for pipe in self._pipes:
            os.close(pipe)

    def run(self, cell: Cell, timeout: float) -> Transcript:
        deadline = time.monotonic() + timeout
        transcript = Transcript()
        answers = list(cell.inputs)
        interrupted = False
        self._channel += 1
        self._send(EXECUTE, self._channel, _encode({"code": cell.code}))
        started = None
        while True:
            kind, channel, payload = self._next(transcript, deadline)
            if channel != self._channel:
                transcript.violations.append(f"frame {kind} carries channel {channel}")
            if started is None and kind not in (STARTED, NOTE):
                transcript.violations.append(f"frame {kind} came before started")
            if kind in (STDOUT, STDERR):
                name = "stdout" if kind == STDOUT else "stderr"
                transcript.stream(name, payload.decode("utf-8", "replace"))
                if cell.interrupt_at and not interrupted:
                    if cell.interrupt_at in transcript.text_of("stdout"):
                        interrupted = True
                        os.kill(self._process.pid, signal.SIGINT)
                continue
            message = json.loads(payload)
            if kind == STARTED:
                started = message["execution_count"]
            elif kind == DONE:
                break
            elif kind == NOTE:
                self.notes.append(message["text"])
            elif kind == INPUT_REQUEST:
                transcript.outputs.append({"type": "input", **message})
                answer = {"text": answers.pop(0) if answers else ""}
                self._send(INPUT, self._channel, _encode(answer))
            else:
                transcript.outputs.append(_output(kind, message))
        if started != message["execution_count"]:
            transcript.violations.append(
                f"started as {started}, done as {message['execution_count']}")
        while cell.until not in transcript.text_of("stdout"):
            self._drain(transcript, 0.05)
            if time.monotonic() > deadline:
                raise CellFailure(f"never wrote {cell.until!r}: {transcript.outputs}")
        for output in transcript.outputs:
            if output["type"] in ("display", "result"):
                output["data"] = {name: self._whole(value, deadline)
                                  for name, value in output["data"].items()}
        transcript.status = message["status"]
        transcript.execution_count = message["execution_count"]
        return transcript

    def _whole(self, value, deadline: float):
        """A value that came by reference, fetched."""
        if not isinstance(value, dict) or set(value) != {"ref", "size"}:
            return value
        content = bytearray()
        while len(content) < value["size"]:
            request = {"ref": value["ref"], "offset": len(content), "size": FRAME_LIMIT // 2}
            self._send(FETCH, self._channel, _encode(request))
            kind, _, payload = self._next(Transcript(), deadline)
            piece = json.loads(payload)
            if kind != REPLY or "error" in piece or not piece["base64"]:
                raise CellFailure(f"fetch of {request} gave {kind} {piece}")
            content += base64.b64decode(piece["base64"])
        return content.decode("utf-8")

    def _send(self, kind: int, channel: int, payload: bytes) -> None:
        while len(payload) > FRAME_LIMIT:
            part, payload = payload[:FRAME_LIMIT], payload[FRAME_LIMIT:]
            self._socket.sendall(HEADER.pack(len(part), PART, channel) + part)
        self._socket.sendall(HEADER.pack(len(payload), kind, channel) + payload)

    def _next(self, transcript: Transcript, deadline: float) -> tuple[int, int, bytes]:
        """The next message. What came on the pipes before it goes into the transcript."""
        while True:
            frame = self._frame()
            if frame is not None:
                kind, channel, payload = frame
                joined = self._parts.setdefault(channel, bytearray())
                joined += payload
                if len(joined) > MESSAGE_LIMIT:
                    raise CellFailure("a message is longer than 64 MiB")
                if kind != PART:
                    return kind, channel, bytes(self._parts.pop(channel))
                continue
            if time.monotonic() > deadline:
                raise CellFailure(f"no frame in time; until now: {transcript.outputs}")
            ready, _, _ = select.select([self._socket, *self._pipes], [], [], 0.5)
            # The socket is read first: bytes that were written before its frames were sent are in
            # the pipes by then.
            arrived = self._socket.recv(1 << 16) if self._socket in ready else None
            self._drain(transcript, 0)
            if arrived == b"":
                raise CellFailure(f"the agent ended; until now: {transcript.outputs}")
            self._buffer += arrived or b""

    def _frame(self) -> tuple[int, int, bytes] | None:
        if len(self._buffer) < HEADER.size:
            return None
        size, kind, channel = HEADER.unpack_from(self._buffer)
        if size > FRAME_LIMIT:
            raise CellFailure(f"a frame of type {kind} has {size} bytes")
        if len(self._buffer) < HEADER.size + size:
            return None
        payload = bytes(self._buffer[HEADER.size:HEADER.size + size])
        del self._buffer[:HEADER.size + size]
        return kind, channel, payload

    def _drain(self, transcript: Transcript, wait: float) -> None:
        ready, _, _ = select.select(list(self._pipes), [], [], wait)
        for pipe in ready:
            content = bytearray()
            try:
                while piece := os.read(pipe, 1 << 16):
                    content += piece
            except BlockingIOError:
                pass
            transcript.stream(self._pipes[pipe], content.decode("utf-8", "replace"))


def _output(kind: int, message: dict) -> dict:
    if kind == DISPLAY:
        return {"type": "display", "data": message["data"], "metadata": message["metadata"],
                "update": message.get("update", False), "display_id": message.get("display_id")}
    if kind == RESULT:
        return {"type": "result", "data": message["data"], "metadata": message["metadata"],
                "execution_count": message["execution_count"]}
    if kind == ERROR:
        return {"type": "error", "name": message["name"], "value": message["value"],
                "traceback": "\n".join(message["traceback"])}
    if kind == CLEAR:
        return {"type": "clear", "wait": message["wait"]}
    raise CellFailure(f"frame {kind} is not one of an execution: {message}")


def _encode(message: dict) -> bytes:
    return json.dumps(message).encode("utf-8")


def _duplicate(number: int) -> int | None:
    try:
        return os.dup(number)
    except OSError:
        return None
