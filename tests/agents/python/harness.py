# SPDX-License-Identifier: Apache-2.0
"""A client of the Python agent: a socket pair and a process of its own for each context."""

from __future__ import annotations

import json
import os
import pathlib
import select
import signal
import socket
import struct
import subprocess
import tempfile

AGENT = pathlib.Path(__file__).resolve().parents[3] / "agents" / "python" / "agent.py"
PYTHON = os.environ.get("GLOVEBOX_PYTHON", "/usr/bin/python3")
HEADER = struct.Struct("<IBI")
DEADLINE = 60

NAMES = {
    64: "ready", 65: "started", 66: "stdout", 67: "stderr", 68: "display", 69: "result",
    70: "error", 71: "input_request", 72: "clear", 73: "done", 74: "reply", 75: "note", 76: "tool_call",
}
REQUESTS = {
    "execute": 1, "input": 2, "complete": 3, "inspect": 4, "is_complete": 5, "checkpoint": 6,
    "fetch": 7, "variables": 8, "end": 9, "tool_result": 10,
}


class Frame:
    def __init__(self, kind: int, channel: int, payload: bytes) -> None:
        self.name = NAMES[kind]
        self.channel = channel
        self.payload = payload

    @property
    def json(self) -> dict:
        return json.loads(self.payload)

    def __repr__(self) -> str:
        return f"{self.name}@{self.channel} {self.payload[:200]!r}"


class Outcome:
    """All frames of one execution."""

    def __init__(self, frames: list[Frame]) -> None:
        self.frames = frames

    def all(self, name: str) -> list[Frame]:
        return [f for f in self.frames if f.name == name]

    def text(self, name: str = "stdout") -> str:
        return b"".join(f.payload for f in self.all(name)).decode()

    def one(self, name: str) -> dict:
        (frame,) = self.all(name)
        return frame.json

    @property
    def names(self) -> list[str]:
        return [f.name for f in self.frames]

    @property
    def status(self) -> str:
        return self.one("done")["status"]

    @property
    def plain(self) -> str:
        return self.one("result")["data"]["text/plain"]

    @property
    def error(self) -> dict:
        return self.one("error")


class Agent:
    def __init__(self, env: dict | None = None, cwd: str | None = None, command=None) -> None:
        # Of its own: modules that lie in its directory come before those of tests.
        self._directory = tempfile.TemporaryDirectory(prefix="glovebox-agent-")
        ours, theirs = socket.socketpair()
        self.socket = ours
        self.socket.settimeout(DEADLINE)
        environment = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"} | (env or {})

        def put_channel_at_three() -> None:
            os.dup2(theirs.fileno(), 3, inheritable=True)
            os.setsid()

        self.process = subprocess.Popen(
            command or [PYTHON, str(AGENT)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd or self._directory.name,
            env=environment,
            close_fds=False,
            preexec_fn=put_channel_at_three,
        )
        theirs.close()
        self._buffer = b""
        self._channel = 0
        self.ready = self.read()

    def read(self) -> Frame:
        parts = b""
        while True:
            kind, channel, payload = self._read_raw()
            if kind == 127:
                parts += payload
                continue
            return Frame(kind, channel, parts + payload)

    def _read_raw(self) -> tuple[int, int, bytes]:
        size, kind, channel = HEADER.unpack(self._exactly(HEADER.size))
        assert size <= 1 << 20, size
        return kind, channel, self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            data = self.socket.recv(1 << 20)
            if not data:
                raise EOFError("the agent closed the channel")
            self._buffer += data
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data

    def quiet_for(self, seconds: float) -> bool:
        return not self._buffer and not select.select([self.socket], [], [], seconds)[0]

    def send(self, name: str, **message) -> int:
        self._channel += 1
        payload = b"" if name == "end" else json.dumps(message).encode()
        limit = 1 << 20
        while len(payload) > limit:
            self.socket.sendall(HEADER.pack(limit, 127, self._channel) + payload[:limit])
            payload = payload[limit:]
        header = HEADER.pack(len(payload), REQUESTS[name], self._channel)
        self.socket.sendall(header + payload)
        return self._channel

    def until(self, name: str, channel: int | None = None) -> list[Frame]:
        frames = []
        while True:
            frames.append(self.read())
            last = frames[-1]
            if last.name == name and (channel is None or last.channel == channel):
                return frames

    def run(self, code: str, **options) -> Outcome:
        channel = self.send("execute", code=code, **options)
        return Outcome(self.until("done", channel))

    def ask(self, name: str, **message) -> dict:
        channel = self.send(name, **message)
        return self.until("reply", channel)[-1].json

    def interrupt(self) -> None:
        os.kill(self.process.pid, signal.SIGINT)

    def wait(self) -> int:
        return self.process.wait(DEADLINE)

    def close(self) -> None:
        self.socket.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()
        self._directory.cleanup()

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *_) -> None:
        self.close()
