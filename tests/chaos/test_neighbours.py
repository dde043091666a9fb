# SPDX-License-Identifier: Apache-2.0
"""Noisy neighbours: one tenant, or somebody without a key, does the worst to the daemon's front,
and another tenant hardly notices. GLOVEBOX_CHAOS_NOISE is how many connections each kind opens."""

import contextlib
import json
import os
import resource
import socket
import sys
import time
import unittest

import harness  # noqa: F401  It knows where the daemon is.
from daemon import PATIENCE_S, Daemon

NOISE = int(os.environ.get("GLOVEBOX_CHAOS_NOISE", "600"))
MEASURED_S = 3
MOST_TIMES_SLOWER = 3
# What is quick anyway is not measured against itself: the machine does other things, too. Without
# walls between tenants, each of these takes as long as the noise goes on.
ALWAYS_GOOD_S = 2.0
PORT = 9000

# Listens, takes connections and says nothing.
SILENT_SERVER = f"""
import socket, time
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(("127.0.0.1", {PORT}))
server.listen(1024)
kept = []
print("listens", flush=True)
while True:
    kept.append(server.accept()[0])
"""


class Noise:
    """Connections that are opened, used badly, and kept."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.peers = []

    def add(self, text, receive_buffer=None):
        peer = socket.socket()
        if receive_buffer:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        peer.settimeout(PATIENCE_S)
        # Some are refused or cut off, as they ought to be.
        with contextlib.suppress(OSError):
            peer.connect(("127.0.0.1", self.daemon.port))
            peer.setblocking(False)
            peer.send(text)
        self.peers.append(peer)

    def close(self):
        for peer in self.peers:
            peer.close()


class Neighbours(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = min(hard, max(soft, 10 * NOISE + 1_000))
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        cls.addClassCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        cls.daemon.start()
        daemon = cls.daemon
        daemon.must(201, "POST", "/v1/tenants", {"name": "noisy", "quotas": {}})
        made = daemon.must(201, "POST", "/v1/keys", {"tenant": "noisy", "scopes": ["run", "read"]})
        cls.noisy_key = made["key"]
        sandbox = daemon.must(201, "POST", "/v1/sandboxes", {"timeout": "10m"}, key=cls.noisy_key)
        cls.noisy_path = f"/v1/sandboxes/{sandbox['id']}"
        context = cls.noisy(201, "POST", "/contexts", {"language": "python"})
        cls.noisy_context = f"/contexts/{context['id']}"
        # The quiet one.
        cls.sandbox = daemon.create(timeout="10m")
        cls.context = cls.sandbox.context()
        cls.context.execute("x = 41")
        cls.quiet = cls.measure()

    @classmethod
    def noisy(cls, status, method, path, *rest):
        return cls.daemon.must(status, method, cls.noisy_path + path, *rest, key=cls.noisy_key)

    @classmethod
    def measure(cls):
        """The longest of each kind of call, in seconds."""
        worst = dict.fromkeys(("create", "execute", "health"), 0.0)

        def timed(name, call):
            begun = time.monotonic()
            result = call()
            worst[name] = max(worst[name], time.monotonic() - begun)
            return result

        end = time.monotonic() + MEASURED_S
        while time.monotonic() < end:
            timed("health", lambda: cls.daemon.must(200, "GET", "/healthz", key=None))
            made = timed("create", lambda: cls.daemon.create(timeout="1m"))
            made.kill()
            for _ in range(5):
                timed("execute", lambda: cls.context.execute("x"))
        return worst

    def disturb(self, texts, receive_buffer=None):
        noise = Noise(self.daemon)
        self.addCleanup(noise.close)
        for text in texts:
            noise.add(text, receive_buffer)
        now = self.measure()
        quiet = self.quiet
        print(
            f"{self._testMethodName}: "
            + ", ".join(f"{name} {1e3 * quiet[name]:.0f} -> {1e3 * now[name]:.0f} ms" for name in now),
            file=sys.stderr,
            flush=True,
        )
        for name, took in now.items():
            self.assertLess(took, max(MOST_TIMES_SLOWER * quiet[name], ALWAYS_GOOD_S), name)
        self.assertEqual(self.context.value("x + 1"), "42")

    def request(self, method, path, *headers, key=None, body=None):
        text = b"" if body is None else json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", "Host: a", *headers]
        lines += [f"X-API-KEY: {key}"] if key else []
        if body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(text)}"]
        return ("\r\n".join(lines) + "\r\n\r\n").encode() + text

    def of_noisy(self, method, path, *headers, body=None):
        return self.request(method, self.noisy_path + path, *headers, key=self.noisy_key, body=body)

    def test_readers_without_a_key_that_never_read(self):
        text = 200 * self.request("GET", "/openapi.json")
        self.disturb(NOISE * [text], receive_buffer=2_048)

    def test_readers_with_a_key_that_never_read(self):
        self.noisy(200, "PUT", "/files/large", bytes(16 << 20))
        file = 4 * self.of_noisy("GET", "/files/large")
        archive = self.of_noisy("GET", "/files/.?archive=tar")
        self.disturb(NOISE // 2 * [file, archive], receive_buffer=2_048)

    def test_connections_that_say_nothing_or_trickle(self):
        begun = b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: "
        self.disturb(3 * NOISE * [b"", begun])

    def test_connections_to_a_silent_port(self):
        events = self.daemon.connect()
        self.addCleanup(events.close)
        body, headers = self.daemon.head(
            {"argv": ["python3", "-c", SILENT_SERVER]},
            {"Accept": "application/x-ndjson"},
            self.noisy_key,
        )
        events.request("POST", self.noisy_path + "/processes", body, headers)
        answer = events.getresponse()
        self.assertEqual(answer.status, 200)
        while b"listens" not in answer.readline():
            pass
        self.disturb(NOISE * [self.of_noisy("GET", f"/ports/{PORT}/")])

    def test_websockets(self):
        text = self.of_noisy(
            "GET",
            self.noisy_context + "/execute",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        )
        self.disturb(NOISE * [text])

    def test_executions_and_watches_that_wait(self):
        execution = self.of_noisy(
            "POST",
            self.noisy_context + "/execute",
            "Accept: application/x-ndjson",
            body={"code": "import time; time.sleep(20)"},
        )
        watch = self.of_noisy("GET", "/files/watch?path=.")
        self.disturb(NOISE // 2 * [execution, watch])
        # Who has taken all that there is for them can still end it.
        begun = time.monotonic()
        self.noisy(204, "POST", self.noisy_context + "/interrupt")
        self.assertLess(time.monotonic() - begun, ALWAYS_GOOD_S)


if __name__ == "__main__":
    unittest.main()
