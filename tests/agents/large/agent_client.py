# SPDX-License-Identifier: Apache-2.0
"""Plays the outside for one agent: starts it with descriptor 3 and collects its frames."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any

HEADER = struct.Struct("<IBI")
EXECUTE, INPUT, COMPLETE, INSPECT, IS_COMPLETE, CHECKPOINT, FETCH, VARIABLES, END = range(1, 10)
READY, STARTED, STDOUT, STDERR, DISPLAY, RESULT, ERROR = range(64, 71)
INPUT_REQUEST, CLEAR, DONE, REPLY, NOTE, PART = 71, 72, 73, 74, 75, 127
NAMES = {
    STARTED: "started", STDOUT: "stdout", STDERR: "stderr", DISPLAY: "display", RESULT: "result",
    ERROR: "error", INPUT_REQUEST: "input_request", CLEAR: "clear", DONE: "done", NOTE: "note",
}  # fmt: skip
AGENTS = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "..", "agents"))


class AgentGone(Exception):
    """The agent ended, or said nothing for too long."""


@dataclass
class Execution:
    """What one execution gave, in order."""

    events: list[tuple[str, Any]] = field(default_factory=list)

    def text(self, kind: str) -> str:
        return b"".join(data for name, data in self.events if name == kind).decode()

    @property
    def stdout(self) -> str:
        return self.text("stdout")

    @property
    def stderr(self) -> str:
        return self.text("stderr")

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [data for name, data in self.events if name == kind]

    @property
    def status(self) -> str:
        return self.all("done")[0]["status"]

    @property
    def result(self) -> dict[str, Any] | None:
        results = self.all("result")
        return results[0]["data"] if results else None

    @property
    def error(self) -> dict[str, Any] | None:
        errors = self.all("error")
        return errors[0] if errors else None


class Agent:
    def __init__(self, command: list[str], env: dict[str, str] | None = None) -> None:
        self.workspace = tempfile.TemporaryDirectory()
        # An interpreter that is killed leaves its temporary files.
        self._scratch = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        ours, theirs = socket.socketpair()
        self._socket = ours
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        self._pipes = {out_read: "stdout", err_read: "stderr"}
        begin = time.monotonic()
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": self.workspace.name,
            "LANG": "C.UTF-8", "TMPDIR": self._scratch.name, **(env or {}),
        }  # fmt: skip
        # A shell moves the socket to 3: preexec_fn would do it in Python code after a fork.
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", f'exec "$@" 3<&{theirs.fileno()} {theirs.fileno()}<&-', "sh", *command]
            if theirs.fileno() != 3 else command,
            stdin=subprocess.DEVNULL, stdout=out_write, stderr=err_write, cwd=self.workspace.name,
            env=environment, pass_fds=(theirs.fileno(),), start_new_session=True,
        )  # fmt: skip
        theirs.close()
        os.close(out_write)
        os.close(err_write)
        self._buffer = b""
        self._parts = b""
        self._channel = 100
        self._events: list[tuple[str, Any]] = []
        kind, _, self.ready = self._frame(60.0)
        if kind != READY:
            raise AgentGone(f"the first frame is of type {kind}")
        self.start_seconds = time.monotonic() - begin

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._socket.close()
        for pipe in self._pipes:
            os.close(pipe)
        self.workspace.cleanup()

    def end(self) -> int:
        """Closes descriptor 3 and waits for the agent's exit."""
        self._socket.shutdown(socket.SHUT_RDWR)
        return self.process.wait(timeout=60)

    def send(self, kind: int, payload: dict[str, Any] | None = None) -> int:
        self._channel += 1
        data = json.dumps(payload).encode() if payload is not None else b""
        while len(data) > 1 << 20:
            self._socket.sendall(HEADER.pack(1 << 20, PART, self._channel) + data[: 1 << 20])
            data = data[1 << 20 :]
        self._socket.sendall(HEADER.pack(len(data), kind, self._channel) + data)
        return self._channel

    def interrupt(self) -> None:
        os.kill(self.process.pid, signal.SIGINT)

    def run(self, code: str, *, answers: tuple[str, ...] = (), timeout: float = 60.0,
            interrupt_on: str | None = None, **options: Any) -> Execution:  # fmt: skip
        """Executes; answers input requests; interrupts when `interrupt_on` stood in stdout."""
        channel = self.send(EXECUTE, {"code": code, **options})
        self._events = []
        waiting = list(answers)
        interrupted = False
        while True:
            kind, got, payload = self._frame(timeout, interrupt_on if not interrupted else None)
            if kind == INPUT_REQUEST:
                self.send(INPUT, {"text": waiting.pop(0)} if waiting else {"eof": True})
            if kind != 0:
                if got != channel:
                    raise AgentGone(f"frame {kind} carries channel {got} and not {channel}")
                self._events.append((NAMES[kind], payload))
            if kind == DONE:
                return Execution(self._events)
            if interrupt_on is not None and not interrupted:
                if interrupt_on in Execution(self._events).stdout:
                    interrupted = True
                    self.interrupt()

    def start(self, code: str, until: str) -> None:
        """Begins an execution and returns when `until` stood in stdout."""
        self.send(EXECUTE, {"code": code})
        self._events = []
        while until not in Execution(self._events).stdout:
            kind, _, payload = self._frame(60.0, until)
            if kind != 0:
                self._events.append((NAMES[kind], payload))

    def ask(self, kind: int, payload: dict[str, Any]) -> dict[str, Any]:
        channel = self.send(kind, payload)
        got_kind, got, answer = self._frame(30.0)
        if (got_kind, got) != (REPLY, channel):
            raise AgentGone(f"frame {got_kind} on channel {got} answers request {channel}")
        return answer

    def _frame(self, timeout: float, stop_at: str | None = None) -> tuple[int, int, Any]:
        """The next frame; or (0, 0, None) when raw output has come and the caller looks for it."""
        deadline = time.monotonic() + timeout
        while True:
            if len(self._buffer) >= HEADER.size:
                size, kind, channel = HEADER.unpack_from(self._buffer)
                if len(self._buffer) >= HEADER.size + size:
                    payload = self._buffer[HEADER.size : HEADER.size + size]
                    self._buffer = self._buffer[HEADER.size + size :]
                    self._drain_pipes()
                    if kind == PART:
                        self._parts += payload
                        continue
                    payload, self._parts = self._parts + payload, b""
                    if kind not in (STDOUT, STDERR):
                        return kind, channel, json.loads(payload)
                    return kind, channel, payload
            readable, _, _ = select.select(
                [self._socket, *self._pipes], [], [], max(0.0, deadline - time.monotonic())
            )
            if not readable:
                raise AgentGone(f"nothing came for {timeout} s; so far: {self._events}")
            if self._socket in readable:
                data = self._socket.recv(1 << 20)
                if not data:
                    self._drain_pipes()
                    raise AgentGone(f"the agent ended; so far: {self._events}")
                self._buffer += data
            elif stop_at is not None:
                self._drain_pipes()
                return 0, 0, None
            else:
                self._drain_pipes()

    def _drain_pipes(self) -> None:
        for pipe, name in self._pipes.items():
            while select.select([pipe], [], [], 0)[0]:
                data = os.read(pipe, 1 << 16)
                if not data:
                    break
                self._events.append((name, data))
