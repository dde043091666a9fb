# SPDX-License-Identifier: Apache-2.0
"""A small client of the agents' frame protocol, which starts the Node agent as Glovebox does."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

AGENT = Path(__file__).resolve().parents[3] / "agents" / "node" / "agent.mjs"
NODE = os.environ.get("GLOVEBOX_TEST_NODE") or shutil.which("node")
TIMEOUT = 30.0

EXECUTE, INPUT, COMPLETE, INSPECT, IS_COMPLETE, CHECKPOINT, FETCH, VARIABLES, END, TOOL_RESULT = range(1, 11)
READY, STARTED, STDOUT, STDERR, DISPLAY, RESULT, ERROR, INPUT_REQUEST, CLEAR, DONE, REPLY, NOTE, TOOL_CALL = range(64, 77)
PART = 127


@dataclass
class Frame:
    type: int
    channel: int
    payload: bytes

    @property
    def json(self) -> dict:
        return json.loads(self.payload)


@dataclass
class Execution:
    """What one execution sent until it was done."""

    channel: int
    frames: list[Frame] = field(default_factory=list)

    def of(self, kind: int) -> list[Frame]:
        return [frame for frame in self.frames if frame.type == kind]

    @property
    def stdout(self) -> str:
        return b"".join(frame.payload for frame in self.of(STDOUT)).decode()

    @property
    def stderr(self) -> str:
        return b"".join(frame.payload for frame in self.of(STDERR)).decode()

    @property
    def result(self) -> dict | None:
        found = self.of(RESULT)
        return found[0].json["data"] if found else None

    @property
    def text(self) -> str | None:
        return self.result["text/plain"] if self.result is not None else None

    @property
    def error(self) -> dict | None:
        found = self.of(ERROR)
        return found[0].json if found else None

    @property
    def displays(self) -> list[dict]:
        return [frame.json for frame in self.of(DISPLAY)]

    @property
    def status(self) -> str:
        return self.frames[-1].json["status"]


class Agent:
    """A running agent; use it in a with statement."""

    def __init__(self, language: str = "javascript", cwd: str | None = None, **environment: str):
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(TIMEOUT)

        def become_agent() -> None:
            os.dup2(theirs.fileno(), 3, inheritable=True)

        command = [NODE, "--expose-internals", str(AGENT), "--language", language]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd,
            env={**os.environ, **environment}, start_new_session=True, preexec_fn=become_agent,
            pass_fds=(3,))
        theirs.close()
        self.buffer = bytearray()
        self.channel = 0
        self.ready = self.receive()

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def send(self, kind: int, message: dict | None = None, channel: int | None = None) -> int:
        """Sends one message on a new channel, or on the one that is named."""
        if channel is None:
            self.channel += 1
            channel = self.channel
        payload = b"" if message is None else json.dumps(message).encode()
        while len(payload) > 1 << 20:
            self.socket.sendall(struct.pack("<IBI", 1 << 20, PART, channel) + payload[: 1 << 20])
            payload = payload[1 << 20:]
        self.socket.sendall(struct.pack("<IBI", len(payload), kind, channel) + payload)
        return channel

    def _read(self, size: int) -> bytes:
        while len(self.buffer) < size:
            got = self.socket.recv(1 << 20)
            if not got:
                raise EOFError("the agent has ended")
            self.buffer += got
        taken = bytes(self.buffer[:size])
        del self.buffer[:size]
        return taken

    def receive(self) -> Frame:
        """The next message, joined from its parts."""
        parts = b""
        while True:
            size, kind, channel = struct.unpack("<IBI", self._read(9))
            if size > 1 << 20:
                raise ValueError("the frame is longer than the protocol allows")
            payload = self._read(size)
            if kind != PART:
                return Frame(kind, channel, parts + payload)
            parts += payload

    def execute(self, code: str, **options: object) -> Execution:
        return self.collect(self.send(EXECUTE, {"code": code, **options}))

    def collect(self, channel: int) -> Execution:
        """Everything on a channel up to the end of its execution."""
        execution = Execution(channel)
        while not execution.frames or execution.frames[-1].type != DONE:
            frame = self.receive()
            if frame.channel == channel:
                execution.frames.append(frame)
        return execution

    def until(self, kind: int) -> Frame:
        """The next message of a type; others before it are dropped."""
        while True:
            frame = self.receive()
            if frame.type == kind:
                return frame

    def ask(self, kind: int, **message: object) -> dict:
        channel = self.send(kind, message)
        while True:
            frame = self.receive()
            if frame.type == REPLY and frame.channel == channel:
                return frame.json

    def fetch(self, ref: str) -> bytes:
        value = b""
        while True:
            answer = self.ask(FETCH, ref=ref, offset=len(value), size=1 << 20)
            value += base64.b64decode(answer["base64"])
            if len(value) >= answer["size"]:
                return value

    def interrupt_until_done(self, channel: int) -> Execution:
        """Interrupts as a user would who presses Ctrl-C until it works: the agent may still be about to listen."""
        execution = Execution(channel)
        deadline = time.monotonic() + TIMEOUT
        pressed = 0.0
        self.socket.settimeout(0.5)
        try:
            while not execution.frames or execution.frames[-1].type != DONE:
                now = time.monotonic()
                if now > deadline:
                    raise TimeoutError("the interrupt had no effect")
                # By the clock, not by silence: a cell that prints without end is never silent.
                if now - pressed >= 0.5:
                    os.kill(self.process.pid, signal.SIGINT)
                    pressed = now
                try:
                    frame = self.receive()
                except TimeoutError:
                    continue
                if frame.channel == channel:
                    execution.frames.append(frame)
            return execution
        finally:
            self.socket.settimeout(TIMEOUT)
