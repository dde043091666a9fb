# SPDX-License-Identifier: Apache-2.0
"""A real daemon, as the tests start, ask, kill and look at it."""

import atexit
import contextlib
import functools
import http.client
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))
from plain_python import configure_plain_python  # noqa: E402

GLOVEBOX = os.environ.get("GLOVEBOX", str(ROOT / "build/release/bin/glovebox"))

# Far above what any step needs: what hangs fails its test and not the whole run.
PATIENCE_S = 60

LINES = "application/x-ndjson"
EVENTS = "text/event-stream"


def wait_until(condition, what, patience_s=PATIENCE_S):
    """Asks `condition` until it answers something true, and answers that."""
    end = time.monotonic() + patience_s
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not within {patience_s} s: {what}")
        select.select([], [], [], 0.01)


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)

    def __str__(self):
        return f"{self.status} {self.body[:1000]!r}"


class Events:
    """The events of an answer that goes on, one by one."""

    def __init__(self, connection, response):
        self.connection = connection
        self.response = response
        self.events = self.read()

    def __iter__(self):
        return self.events

    def read(self):
        for line in self.response:
            line = line.strip()
            if line.startswith(b"data:"):
                line = line[5:]
            elif line and not line.startswith(b"{"):
                continue
            if line:
                yield json.loads(line)
        self.close()

    def until(self, kind):
        for event in self:
            if event["type"] == kind:
                return event
        raise AssertionError(f"the stream ended without {kind}")

    def close(self):
        self.response.close()
        self.connection.close()

    def __del__(self):
        self.close()


class Daemon:
    """One `glovebox serve` with a data directory of its own."""

    def __init__(self, user=os.environ.get("GLOVEBOX_TEST_USER", "")):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="gb-svc."))
        # The user as whom root's daemon runs; nobody else can do that.
        self.user = user if os.geteuid() == 0 else ""
        self.dir.chmod(0o711 if self.user else 0o700)
        self.data = self.dir / "data"
        self.unix = (self.data if self.user else self.dir) / "s"
        self.process = None
        self.port = 0
        self.options = []
        self.wrapper = []  # A command that becomes the one behind it.
        self.config = configure_plain_python(self.dir / "config")

    def start(self):
        with open(self.dir / "serve.log", "ab") as log:
            self.process = subprocess.Popen(
                [*self.wrapper, GLOVEBOX, "serve", "--listen", "127.0.0.1:0"]
                + ["--data", str(self.data), "--unix", str(self.unix)]
                + (["--user", self.user] if self.user else [])
                + self.options,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "XDG_CONFIG_HOME": self.config},
            )
        if not select.select([self.process.stdout], [], [], PATIENCE_S)[0]:
            raise AssertionError("the daemon does not start")
        line = self.process.stdout.readline().decode()
        if "listening on" not in line:
            raise AssertionError("no daemon: " + (self.dir / "serve.log").read_text())
        self.port = int(line.split(";")[0].rsplit(":", 1)[1])
        self.key = (self.data / "api-key").read_text().strip()
        return self

    def kill(self):
        """As a crash does it: the keeper and the sandboxes stay."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        """The regular end, with all sandboxes. Answers the exit status."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(PATIENCE_S)
        finally:
            self.process.stdout.close()

    def discard(self):
        if self.process and self.process.poll() is None:
            self.stop()
        # Of a test that failed while no daemon ran.
        if keeper := self.keeper():
            os.kill(keeper, signal.SIGTERM)
            wait_until(lambda: self.keeper() is None, "the end of the keeper")
        shutil.rmtree(self.dir, ignore_errors=True)

    def keeper(self):
        """The pid of its keeper: the oldest one, as what it clones bears its name for a moment."""
        wanted = ["keeper", "--data", str(self.data)]
        wanted += ["--user", self.user] if self.user else []
        found = []
        for directory in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                command = (directory / "cmdline").read_bytes().decode().split("\0")[1:-1]
                if command == wanted:
                    stat = (directory / "stat").read_text().rsplit(")", 1)[1].split()
                    found.append((int(stat[19]), int(directory.name)))
        return min(found)[1] if found else None

    def builders(self):
        """The pids of those that build templates."""
        wanted = ["builder", "--data", os.path.realpath(self.data)]
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (process / "cmdline").read_bytes().decode().split("\0")[1:-1] == wanted:
                    found.append(int(process.name))
        return sorted(found)

    def connect(self, patience_s=None):
        return http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=patience_s or PATIENCE_S
        )

    def head(self, body, headers, key):
        given = {} if key is None else {"X-API-KEY": self.key if key == "own" else key}
        if body is not None and not isinstance(body, (bytes, bytearray)):
            body = json.dumps(body)
            given["Content-Type"] = "application/json"
        return body, {**given, **(headers or {})}

    def ask(self, method, path, body=None, headers=None, key="own"):
        connection = self.connect()
        try:
            body, headers = self.head(body, headers, key)
            connection.request(method, path, body, headers)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def stream(self, method, path, body=None, headers=None, accept=LINES):
        connection = self.connect()
        body, headers = self.head(body, {"Accept": accept, **(headers or {})}, "own")
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        if response.status != 200:
            raise AssertionError(str(Answer(response)))
        return Events(connection, response)

    def must(self, status, *request, **how):
        """An answer with this status; of JSON, what it says."""
        answer = self.ask(*request, **how)
        if answer.status != status:
            raise AssertionError(f"{request[:2]}: wanted {status}, got {answer}")
        is_json = answer.headers.get("content-type", "").startswith("application/json")
        return answer.json if is_json else answer

    def create(self, **wishes):
        return Sandbox(self, self.must(201, "POST", "/v1/sandboxes", wishes)["id"])


class Sandbox:
    def __init__(self, daemon, id):
        self.daemon = daemon
        self.id = id
        self.path = f"/v1/sandboxes/{id}"

    def must(self, status, method, path="", *rest, **how):
        return self.daemon.must(status, method, self.path + path, *rest, **how)

    def info(self):
        return self.must(200, "GET")

    def is_gone(self):
        return self.daemon.ask("GET", self.path).status == 410

    def kill(self):
        self.must(204, "DELETE")

    def context(self, language="python"):
        made = self.must(201, "POST", "/contexts", {"language": language})
        return Context(self, made["id"])

    def write(self, path, content, **parameters):
        query = "&".join(f"{name}={value}" for name, value in parameters.items())
        return self.must(200, "PUT", f"/files/{path}?{query}", content)

    def read(self, path):
        return self.must(200, "GET", f"/files/{path}").body


class Context:
    def __init__(self, sandbox, id):
        self.sandbox = sandbox
        self.id = id
        self.path = f"{sandbox.path}/contexts/{id}"

    def must(self, status, method, path="", *rest, **how):
        return self.sandbox.daemon.must(status, method, self.path + path, *rest, **how)

    def execute(self, code, headers=None, **wishes):
        return self.must(200, "POST", "/execute", {"code": code, **wishes}, headers=headers)

    def start(self, code, headers=None, accept=LINES, **wishes):
        return self.sandbox.daemon.stream(
            "POST", self.path + "/execute", {"code": code, **wishes}, headers, accept
        )

    def value(self, expression):
        """What an expression is in a Python context, as text."""
        return self.execute(f"print({expression})")["stdout"].strip()


@functools.cache
def shared_daemon():
    daemon = Daemon()
    # Its directory goes with the program; a test of the suite that needs its end has its own one.
    atexit.register(daemon.discard)
    return daemon.start()


class Case(unittest.TestCase):
    """Tests of one daemon for all that need one that runs, in `self.daemon`."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = shared_daemon()

    def create(self, **wishes):
        sandbox = self.daemon.create(**wishes)
        self.addCleanup(self.daemon.ask, "DELETE", sandbox.path)
        return sandbox
