# SPDX-License-Identifier: Apache-2.0
"""Starts an agent as glovebox does and speaks frames with it."""

import json
import os
import select
import signal
import socket
import struct
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

AGENTS = Path(__file__).resolve().parents[3] / "agents"

EXECUTE, INPUT, COMPLETE, IS_COMPLETE, VARIABLES, END = 1, 2, 3, 5, 8, 9
READY, STARTED, STDOUT, STDERR, DISPLAY, RESULT, ERROR = 64, 65, 66, 67, 68, 69, 70
INPUT_REQUEST, CLEAR, DONE, REPLY, NOTE, PART = 71, 72, 73, 74, 75, 127

MAX_PAYLOAD = 1 << 20
# A machine of two cores that others use as well; nothing here waits as long in success.
PATIENCE = 60.0


@dataclass
class Execution:
    """All that an agent sent for one execution, in the order in which glovebox would handle it."""

    events: list[tuple[int, object]] = field(default_factory=list)
    done: dict = field(default_factory=dict)

    def stream(self, kind: int) -> bytes:
        return b"".join(value for event, value in self.events if event == kind)

    @property
    def stdout(self) -> str:
        return self.stream(STDOUT).decode()

    @property
    def stderr(self) -> str:
        return self.stream(STDERR).decode()

    def frames(self, kind: int) -> list[dict]:
        return [value for event, value in self.events if event == kind]

    @property
    def result(self) -> dict | None:
        found = self.frames(RESULT)
        return found[-1]["data"] if found else None

    @property
    def error(self) -> dict | None:
        found = self.frames(ERROR)
        return found[-1] if found else None


class Agent:
    """One running agent; a context manager."""

    def __init__(self, command: list[str], cwd: str, env: dict[str, str] | None = None) -> None:
        self.socket, theirs = socket.socketpair()
        out_reader, out_writer = os.pipe()
        err_reader, err_writer = os.pipe()
        self.pipes = {out_reader: STDOUT, err_reader: STDERR}
        self.started = time.monotonic()

        def place_descriptors() -> None:
            os.dup2(theirs.fileno(), 3)

        self.process = subprocess.Popen(
            command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out_writer, stderr=err_writer,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": cwd, "LANG": "C.UTF-8",
                 **(env or {})},
            start_new_session=True, pass_fds=(3,), preexec_fn=place_descriptors)
        theirs.close()
        os.close(out_writer)
        os.close(err_writer)
        self.buffer = b""
        self.parts = b""
        self.channel = 0
        self.interrupting = False
        self.stray: list[tuple[int, object]] = []
        kind, _, self.ready = self.receive(self.stray)
        self.ready_after = time.monotonic() - self.started
        if kind != READY:
            raise AssertionError(f"the first frame is {kind}: {self.ready}")

    def __enter__(self) -> "Agent":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            raise
        for pipe in self.pipes:
            os.close(pipe)

    def send(self, kind: int, message: dict | bytes, channel: int) -> None:
        payload = message if isinstance(message, bytes) else json.dumps(message).encode()
        while len(payload) > MAX_PAYLOAD:
            head, payload = payload[:MAX_PAYLOAD], payload[MAX_PAYLOAD:]
            self.socket.sendall(struct.pack("<IBI", len(head), PART, channel) + head)
        self.socket.sendall(struct.pack("<IBI", len(payload), kind, channel) + payload)

    def interrupt(self) -> None:
        """Until the execution ends, as glovebox does: an interpreter can lose one, for instance
        while it forks."""
        self.interrupting = True
        os.kill(self.process.pid, signal.SIGINT)

    def _drain(self, events: list[tuple[int, object]]) -> None:
        while True:
            ready, _, _ = select.select(list(self.pipes), [], [], 0)
            chunks = [(self.pipes[pipe], os.read(pipe, 1 << 16)) for pipe in ready]
            events.extend((kind, chunk) for kind, chunk in chunks if chunk)
            if not any(chunk for _, chunk in chunks):
                return

    def receive(self, events: list[tuple[int, object]],
                look=lambda: None) -> tuple[int, int, object]:
        """The next message. What the pipes gave before it is added to `events`; `look` is called
        after that."""
        deadline = time.monotonic() + PATIENCE
        while True:
            while len(self.buffer) >= 9:
                size, kind, channel = struct.unpack("<IBI", self.buffer[:9])
                if size > MAX_PAYLOAD:
                    raise AssertionError(f"a frame of {size} bytes")
                if len(self.buffer) < 9 + size:
                    break
                payload, self.buffer = self.buffer[9:9 + size], self.buffer[9 + size:]
                self.parts += payload
                if kind == PART:
                    continue
                payload, self.parts = self.parts, b""
                self._drain(events)
                if kind in (STDOUT, STDERR):
                    return kind, channel, payload
                return kind, channel, json.loads(payload)
            left = max(0, deadline - time.monotonic())
            ready, _, _ = select.select([self.socket, *self.pipes], [], [],
                                        min(left, 1) if self.interrupting else left)
            if not ready and self.interrupting and left:
                self.interrupt()
            elif not ready:
                raise AssertionError(f"nothing came for {PATIENCE} s; so far: {events[-5:]!r}")
            if self.socket in ready:
                chunk = self.socket.recv(1 << 18)
                if not chunk:
                    self._drain(events)
                    raise EOFError(f"the agent has ended; so far: {events[-5:]!r}")
                self.buffer += chunk
            else:
                self._drain(events)
                look()

    def begin(self, code: str, **options: object) -> int:
        self.channel += 1
        self.send(EXECUTE, {"code": code, **options}, self.channel)
        return self.channel

    def finish(self, channel: int, on_event=None) -> Execution:
        """Collects until the execution's end; `on_event(kind, value)` may interrupt or answer."""
        execution = Execution()
        seen = 0

        def look() -> None:
            nonlocal seen
            while on_event and seen < len(execution.events):
                seen += 1
                on_event(*execution.events[seen - 1])

        while True:
            kind, at, value = self.receive(execution.events, look)
            if at != channel:
                raise AssertionError(f"a frame {kind} on channel {at}, expected {channel}")
            if kind == DONE:
                self.interrupting = False
                execution.done = value
                return execution
            execution.events.append((kind, value))
            look()

    def run(self, code: str, on_event=None, **options: object) -> Execution:
        return self.finish(self.begin(code, **options), on_event)

    def ask(self, kind: int, message: dict) -> dict:
        self.channel += 1
        self.send(kind, message, self.channel)
        events: list[tuple[int, object]] = []
        answered, channel, reply = self.receive(events)
        if (answered, channel) != (REPLY, self.channel):
            raise AssertionError(f"frame {answered} on channel {channel}: {reply}")
        return reply
