# SPDX-License-Identifier: Apache-2.0
"""Plays the outside of glovebox-jupyter-agent: frames over descriptor 3, signals, exit status."""
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from typing import Any, NamedTuple

EXECUTE, INPUT, COMPLETE, INSPECT, IS_COMPLETE, CHECKPOINT, FETCH, VARIABLES, END = range(1, 10)
READY, STARTED, STDOUT, STDERR, DISPLAY, RESULT, ERROR = range(64, 71)
INPUT_REQUEST, CLEAR, DONE, REPLY, NOTE, PART = 71, 72, 73, 74, 75, 127

HEADER = struct.Struct("<IBI")
TIMEOUT = 60.0


class Frame(NamedTuple):
    type: int
    channel: int
    payload: Any  # Bytes for STDOUT and STDERR, otherwise what the JSON says.


def with_descriptor_3(descriptor: int, *command: str) -> list[str]:
    """The command for subprocess, which passes descriptors on but does not renumber them."""
    move = "" if descriptor == 3 else f"exec 3<&{descriptor} {descriptor}<&-; "
    return ["bash", "-c", move + 'exec "$@"', "-", *command]


class Agent:
    """One agent with its kernel."""

    def __init__(self, *arguments: str, env: dict[str, str] | None = None) -> None:
        ours, theirs = socket.socketpair()
        self.socket = ours
        # A kernel that is killed leaves its temporary files.
        self._scratch = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        started = time.monotonic()

        self.process = subprocess.Popen(
            with_descriptor_3(theirs.fileno(), os.environ["GLOVEBOX_JUPYTER_AGENT"], *arguments),
            pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
            env={**os.environ, "TMPDIR": self._scratch.name, **(env or {})})
        theirs.close()
        self._buffer = b""
        self._parts: dict[int, bytes] = {}
        self.ready: Frame | None = None
        self._started = started
        self.start_time = 0.0

    def wait_ready(self) -> "Agent":
        self.ready = self.next()
        self.start_time = time.monotonic() - self._started
        return self

    def send(self, kind: int, channel: int, payload: dict[str, Any] | bytes = b"") -> None:
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        pieces = [data[at:at + (1 << 20)] for at in range(0, len(data), 1 << 20)] or [b""]
        for piece in pieces[:-1]:
            self.socket.sendall(HEADER.pack(len(piece), PART, channel) + piece)
        self.socket.sendall(HEADER.pack(len(pieces[-1]), kind, channel) + pieces[-1])

    def _read(self, size: int, deadline: float) -> bytes | None:
        while len(self._buffer) < size:
            if not select.select([self.socket], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the agent sent nothing in time")
            data = self.socket.recv(1 << 20)
            if not data:
                return None
            self._buffer += data
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data

    def next(self, timeout: float = TIMEOUT) -> Frame:
        """The next message, joined; EOFError at the end."""
        deadline = time.monotonic() + timeout
        while True:
            header = self._read(HEADER.size, deadline)
            if header is None:
                raise EOFError
            size, kind, channel = HEADER.unpack(header)
            data = self._read(size, deadline) if size else b""
            if data is None:
                raise EOFError
            if kind == PART:
                self._parts[channel] = self._parts.get(channel, b"") + data
                continue
            data = self._parts.pop(channel, b"") + data
            return Frame(kind, channel, data if kind in (STDOUT, STDERR) else json.loads(data))

    def until(self, kind: int, timeout: float = TIMEOUT) -> list[Frame]:
        """All frames up to the first of this type, with it."""
        frames = [self.next(timeout)]
        while frames[-1].type != kind:
            frames.append(self.next(timeout))
        return frames

    def rest(self) -> list[Frame]:
        """All frames up to the end of the stream."""
        frames = []
        try:
            while True:
                frames.append(self.next())
        except EOFError:
            return frames

    def execute(self, code: str, channel: int = 1, **options: Any) -> list[Frame]:
        self.send(EXECUTE, channel, {"code": code, **options})
        return self.until(DONE)

    def ask(self, kind: int, channel: int = 9, **payload: Any) -> dict[str, Any]:
        self.send(kind, channel, payload)
        frame = self.until(REPLY)[-1]
        assert frame.channel == channel
        return frame.payload

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def kernel_pid(self) -> int:
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return int(children.read_text().split()[0])

    def kernel_folder(self) -> pathlib.Path:
        """Where the connection file is, which is an argument of the kernel."""
        arguments = pathlib.Path(f"/proc/{self.kernel_pid()}/cmdline").read_text().split("\0")
        file = next(argument for argument in arguments if argument.endswith("/connection.json"))
        return pathlib.Path(file).parent

    def wait(self) -> int:
        return self.process.wait(TIMEOUT)

    def close(self) -> None:
        self.socket.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdout, self.process.stderr):
            pipe.close()


class AgentTest(unittest.TestCase):
    """A test with an agent of its own."""

    def start(self, *arguments: str, **options: Any) -> Agent:
        agent = Agent(*arguments, **options)
        self.addCleanup(agent.close)
        return agent

    def start_spec(self, spec: dict[str, Any], **options: Any) -> Agent:
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        path = pathlib.Path(folder) / "kernel.json"
        path.write_text(json.dumps(spec))
        return self.start("--spec", str(path), **options)


class SharedAgentTest(unittest.TestCase):
    """All tests of the class use one agent with `KERNEL`: a start takes a second or more."""

    KERNEL = ""
    agent: Agent

    @classmethod
    def setUpClass(cls) -> None:
        if not is_installed(cls.KERNEL):
            raise unittest.SkipTest(f"the kernel {cls.KERNEL} is not installed")
        cls.agent = Agent("--kernel", cls.KERNEL)
        cls.addClassCleanup(cls.agent.close)
        cls.agent.wait_ready()


def is_installed(kernel: str) -> bool:
    folders = ("/usr/share/jupyter/kernels", "/usr/local/share/jupyter/kernels")
    return any(pathlib.Path(folder, kernel, "kernel.json").exists() for folder in folders)


def python_with_zmq() -> str | None:
    """Debian's pyzmq is for Debian's Python, which need not be the one that runs the tests."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import zmq"], capture_output=True).returncode == 0:
            return python
    return None


def types(frames: list[Frame]) -> list[int]:
    return [frame.type for frame in frames]


def of_type(frames: list[Frame], kind: int) -> list[Any]:
    return [frame.payload for frame in frames if frame.type == kind]


def text(frames: list[Frame], kind: int = STDOUT) -> str:
    return b"".join(of_type(frames, kind)).decode()
