# SPDX-License-Identifier: Apache-2.0
"""Every operation that the daemon describes, with requests made up from that description: it stays,
it answers in time, never with a fault of its own, and errors have their one shape."""

import collections
import pathlib
import sys
import unittest

from harness import ROUNDS, SEED, chance_of
from described import Maker, operations
from raw import Peer, Wrong, is_error_of_ours
from victims import MOST_GROWTH_KB, Victim

# Answers that go on for as long as somebody listens.
ENDLESS = {"watchFiles", "attachProcess", "startProcess"}
ACCEPTS = ("*/*", "application/json", "application/x-ndjson", "text/event-stream", "\xff")

# How the host's files begin; a sandbox has a passwd of its own, which its guest may read.
OF_THE_HOST = [pathlib.Path(path).read_bytes().splitlines()[0]
               for path in ("/etc/passwd", "/etc/shadow")]


class Fuzz(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.victim = Victim()
        cls.addClassCleanup(cls.victim.daemon.discard)
        description = cls.victim.daemon.must(200, "GET", "/openapi.json", key=None)
        cls.operations = list(operations(description))
        cls.statuses = collections.Counter()

    @classmethod
    def tearDownClass(cls):
        print("statuses:", dict(sorted(cls.statuses.items())), file=sys.stderr)

    def request(self, chance, maker, operation):
        content, kind = maker.body(operation)
        headers = [("Host", "127.0.0.1"), ("X-API-KEY", self.victim.daemon.key)]
        if content is not None:
            headers.append(("Content-Length", str(len(content))))
            headers.append(("Content-Type", kind))
        if chance.random() < 0.3:
            headers.append(("Accept", chance.choice(ACCEPTS)))
        if chance.random() < 0.1:
            headers.append(("Idempotency-Key", chance.choice(("k", "k" * 300, "\xff", "a b"))))
        if chance.random() < 0.1:
            headers.append(("Range", chance.choice(("bytes=5-2", "bytes=-", "b", "bytes=0-1,3-4"))))
        if chance.random() < 0.05:
            headers.append(("X-Request-Id", "x" * chance.choice((1, 128, 129, 4_000))))
        lines = [f"{operation.method} {maker.path(operation)} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + (content or b"")

    def judge(self, operation, answer):
        """What is wrong with an answer, in words."""
        if answer is None:
            return "the connection ended without an answer"
        self.statuses[answer.status] += 1
        if answer.status >= 500 and answer.status not in {503} | operation.documented:
            return "a fault of the daemon's"
        if answer.status == 500:
            return "an error that nobody planned for"
        if answer.status >= 400 and operation.method != "HEAD" and not is_error_of_ours(answer):
            return "an error of another shape"
        if "x-injected" in answer.headers:
            return "a header of the client's"
        if any(line in answer.body for line in OF_THE_HOST):
            return "a file of the host"
        return None

    def try_one(self, chance, maker, operation):
        request = self.request(chance, maker, operation)
        try:
            with Peer(self.victim.daemon.port) as peer:
                peer.send(request)
                answer = peer.answer(operation.method, operation.name in ENDLESS)
            wrong = self.judge(operation, answer)
        except Wrong as error:
            answer, wrong = None, str(error)
        if wrong:
            self.fail(f"seed {SEED}, {operation.name}: {wrong}: {answer}\nasked {request[:2000]!r}")

    def test_each_operation_bears_requests_that_are_made_up(self):
        before = 0
        for operation in self.operations:
            chance = chance_of(operation.name)
            self.victim.renew()
            maker = Maker(chance, self.victim.known)
            with self.subTest(operation.name):
                for _ in range(ROUNDS):
                    self.try_one(chance, maker, operation)
                self.assertTrue(self.victim.is_alive(), f"dead after {operation.name}")
            before = before or self.victim.memory_kb()
        grown = self.victim.memory_kb() - before
        self.assertLess(grown, MOST_GROWTH_KB, "the daemon has grown")

    def test_methods_that_nobody_knows_cost_nothing_for_ever(self):
        self.victim.renew()
        path = f"/v1/sandboxes/{self.victim.sandbox.id}/ports/8000/"

        def ask(first, count):
            with Peer(self.victim.daemon.port) as peer:
                for number in range(first, first + count):
                    peer.send(f"M{number:0200} {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
                    answer = peer.answer()
                    self.assertIn(answer.status, (400, 401, 405), str(answer))

        ask(0, 500)
        size = len(self.victim.daemon.must(200, "GET", "/metrics").body)
        ask(500, 500)
        again = len(self.victim.daemon.must(200, "GET", "/metrics").body)
        self.assertLess(again - size, 5_000, "each new word is kept")


if __name__ == "__main__":
    unittest.main()
