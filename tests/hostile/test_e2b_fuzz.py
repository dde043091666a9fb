# SPDX-License-Identifier: Apache-2.0
"""E2B's interface with requests that no client of E2B's sends: wrong bodies on each route, and
envelopes of the Connect protocol that are none."""

import json
import struct
import unittest

from harness import ROUNDS, SEED, chance_of
from described import NASTY_BODIES, NASTY_SEGMENTS, Maker
from raw import Peer, Wrong
from test_tenancy import E2B
from victims import MOST_GROWTH_KB, Victim

CONTROL = (
    *E2B,
    ("POST", "/v2/sandboxes", {"templateID": "base"}),
    ("POST", "/v3/templates", {}),
    ("GET", "/teams", None),
    ("GET", "/volumes", None),
    ("POST", "/volumes", {}),
    ("GET", "/secrets", None),
    ("POST", "/secrets", {}),
    ("POST", "/templates/tags", {}),
)
UNARY = (
    "/filesystem.Filesystem/Stat",
    "/filesystem.Filesystem/MakeDir",
    "/filesystem.Filesystem/Move",
    "/filesystem.Filesystem/ListDir",
    "/filesystem.Filesystem/Remove",
    "/filesystem.Filesystem/CreateWatcher",
    "/filesystem.Filesystem/GetWatcherEvents",
    "/filesystem.Filesystem/RemoveWatcher",
    "/process.Process/List",
    "/process.Process/SendInput",
    "/process.Process/SendSignal",
    "/process.Process/Update",
    "/process.Process/CloseStdin",
    "/process.Process/Nothing",
    "/nothing.Nothing/Nothing",
)
STREAMING = (
    "/process.Process/Start",
    "/process.Process/Connect",
    "/process.Process/StreamInput",
    "/filesystem.Filesystem/WatchDir",
)
PARTS = (b"", b"--b\r\n\r\n", b"--b--", b"--b\r\nX: y\r\n\r\nz\r\n--b--\r\n")
# What a message of theirs may name; the values are made up.
FIELDS = ("path", "source", "destination", "depth", "recursive", "watcherId", "process", "input")
FIELDS += ("signal", "pty", "cmd", "args", "envs", "cwd", "selector", "pid", "tag", "stdin", "size")


class E2bFuzz(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.victim = Victim()
        cls.addClassCleanup(cls.victim.daemon.discard)
        cls.renew()

    @classmethod
    def renew(cls):
        cls.victim.renew()
        cls.box = cls.victim.daemon.must(201, "POST", "/sandboxes", {"templateID": "base"})

    def ask(self, method, path, content=None, headers=()):
        lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close"]
        lines += [f"X-API-KEY: {self.victim.daemon.key}"]
        if not any(name == "Content-Type" for name, _ in headers):
            lines.append("Content-Type: application/json")
        lines += [f"{name}: {value}" for name, value in headers]
        lines.append(f"Content-Length: {len(content or b'')}")
        request = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + (content or b"")
        try:
            with Peer(self.victim.daemon.port) as peer:
                peer.send(request)
                return peer.answer(method), request
        except Wrong as wrong:
            self.fail(f"seed {SEED}: {wrong}, asked {request[:1000]!r}")

    def judge(self, answer, request):
        told = f"seed {SEED}: {answer}, asked {request[:1000]!r}"
        self.assertIsNotNone(answer, told)
        self.assertTrue(answer.status < 500 or answer.status in (501, 502, 503), told)
        if answer.status >= 400:
            error = json.loads(answer.body)
            self.assertTrue(error.get("message") and error.get("code"), told)
        return answer

    def traffic(self, port):
        return [
            ("E2b-Sandbox-Id", self.box["sandboxID"]),
            ("E2b-Sandbox-Port", port),
            ("X-Access-Token", self.box.get("envdAccessToken") or ""),
        ]

    def message(self, chance, maker):
        chosen = {name: maker.anything() for name in chance.sample(FIELDS, chance.randrange(5))}
        return json.dumps(chosen).encode("utf-8", "replace")

    def body(self, chance, maker, valid):
        if valid is not None and chance.random() < 0.5:
            made = {**valid, **{chance.choice((*valid, "x")): maker.anything()}} if valid else {}
            return json.dumps(made).encode("utf-8", "replace")
        return chance.choice(NASTY_BODIES)

    def test_control_routes_bear_requests_that_are_made_up(self):
        before = self.victim.memory_kb()
        for method, pattern, valid in CONTROL:
            chance = chance_of(method + pattern)
            maker = Maker(chance, self.victim.known)
            self.renew()
            with self.subTest(method + " " + pattern):
                for _ in range(ROUNDS):
                    id = self.box["sandboxID"]
                    id = id if chance.random() < 0.7 else chance.choice(NASTY_SEGMENTS)
                    path = pattern.format(id=id, name=chance.choice((*NASTY_SEGMENTS, "base")))
                    if method == "GET" and chance.random() < 0.5:
                        path += "&" if "?" in path else "?"
                        path += maker.spelled(maker.text()[:99]) + "=1"
                    content = None if method == "GET" else self.body(chance, maker, valid)
                    self.judge(*self.ask(method, path, content))
                self.assertTrue(self.victim.is_alive())
        self.assertLess(self.victim.memory_kb() - before, MOST_GROWTH_KB)

    def test_calls_with_one_answer_bear_messages_that_are_none(self):
        self.renew()
        for path in UNARY:
            chance = chance_of(path)
            maker = Maker(chance, {})
            with self.subTest(path):
                for _ in range(ROUNDS):
                    content = self.message(chance, maker)
                    if chance.random() < 0.3:
                        content = chance.choice(NASTY_BODIES)
                    self.judge(*self.ask("POST", path, content, self.traffic("49983")))
        self.assertTrue(self.victim.is_alive())

    def test_streams_bear_envelopes_that_are_none(self):
        self.renew()
        for path in STREAMING:
            chance = chance_of(path)
            maker = Maker(chance, {})
            with self.subTest(path):
                for _ in range(ROUNDS):
                    message = self.message(chance, maker)
                    size = chance.choice((len(message), len(message) + 1, 0, 2**31, 2**32 - 1))
                    flags = chance.choice((0, 0, 0, 1, 2, 255))
                    content = struct.pack(">BI", flags, size) + message
                    content = content[: chance.choice((len(content), 3, 5))]
                    timeout = chance.choice(("500", "-1", "x", "9" * 30))
                    headers = [("Content-Type", "application/connect+json")]
                    headers.append(("Connect-Timeout-Ms", timeout))
                    self.judge(*self.ask("POST", path, content, headers + self.traffic("49983")))
        self.assertTrue(self.victim.is_alive())

    def test_files_and_code_bear_what_is_made_up(self):
        self.renew()
        chance = chance_of("files")
        maker = Maker(chance, {})
        for _ in range(2 * ROUNDS):
            path = "/files?path=" + maker.spelled(maker.text())
            method = chance.choice(("GET", "POST", "PUT", "HEAD"))
            kind = chance.choice(("multipart/form-data; boundary=b", "application/x", "x"))
            content = chance.choice(PARTS)
            answer, request = self.ask(
                method, path, content, [("Content-Type", kind), *self.traffic("49983")]
            )
            if method != "HEAD":
                self.judge(answer, request)
            body = chance.choice(NASTY_BODIES)
            for route in ("/execute", "/contexts"):
                self.judge(*self.ask("POST", route, body, self.traffic("49999")))
        self.assertTrue(self.victim.is_alive())


if __name__ == "__main__":
    unittest.main()
