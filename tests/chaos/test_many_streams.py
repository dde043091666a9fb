# SPDX-License-Identifier: Apache-2.0
"""Ten thousand clients that follow processes in which nothing happens: each of them costs
kilobytes, and others work beside them as if they were not there."""

import resource
import socket
import statistics
import time
import unittest

import harness  # noqa: F401  Finds the daemon of tests/service.
from daemon import LINES, Case, Daemon
from footprint import memory_kb
from tenant import Tenant

STREAMS = 10_000
# Where a daemon may open no more than that, as root without CAP_SYS_RESOURCE, there is room for
# some fewer: each has two descriptors there.
FEW_FILES = 65_536
LEAST_STREAMS = 8_000
AT_ONCE = 100
MOST_KB = 200 << 10
EXECUTIONS = 300


class ManyStreams(Case):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.discard)

    def setUp(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < STREAMS + 1_000:
            self.skipTest(f"a process may open {hard} files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (STREAMS + 1_000, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        self.wanted = STREAMS
        if self.most_files() < FEW_FILES:
            self.wanted = LEAST_STREAMS
        self.streams = []
        self.addCleanup(self.close_all)

    def close_all(self):
        for stream in self.streams:
            stream.close()

    def most_files(self):
        return resource.prlimit(self.daemon.process.pid, resource.RLIMIT_NOFILE)[0]

    def memory(self):
        return sum(memory_kb(pid) for pid in (self.daemon.process.pid, self.daemon.keeper()))

    def open(self, tenant, path):
        """Some more streams, of which each has had its first event; false when there is no room
        for all of them."""
        request = (f"GET {path} HTTP/1.1\r\nHost: a\r\nX-API-KEY: {tenant.key}\r\n"
                   f"Accept: {LINES}\r\n\r\n").encode()
        opened = []
        for _ in range(min(AT_ONCE, self.wanted - len(self.streams))):
            stream = socket.create_connection(("127.0.0.1", self.daemon.port), timeout=60)
            stream.sendall(request)
            opened.append(stream)
        for stream in opened:
            answer = b""
            while b'"started"' not in answer and b'"exhausted"' not in answer:
                piece = stream.recv(4096)
                self.assertTrue(piece, answer)
                answer += piece
            if b'"started"' in answer:
                self.streams.append(stream)
            else:
                stream.close()
        return all(stream.fileno() != -1 for stream in opened)

    def executions(self, context):
        took = []
        for _ in range(EXECUTIONS):
            begun = time.monotonic()
            self.assertEqual(context.value("6 * 7"), "42")
            took.append((time.monotonic() - begun) * 1000)
        cuts = statistics.quantiles(took, n=100)
        return f"p50 {cuts[49]:.2f} ms, p99 {cuts[98]:.2f} ms"

    def followed(self, number):
        """A tenant, and a process of theirs that waits for a line and says it."""
        tenant = Tenant(self.daemon, f"listener-{number}")
        path = tenant.sandbox(timeout="20m") + "/processes"
        made = tenant.must(201, "POST", path, {"argv": ["sh", "-c", "read line; echo $line"],
                                               "stdin": True})
        return tenant, f"{path}/{made['pid']}"

    def test_they_cost_kilobytes_and_no_thread(self):
        context = self.create(timeout="20m").context()
        quiet = self.executions(context)
        followed = [self.followed(number) for number in range(8)]
        before = self.memory()
        begun = time.monotonic()
        for tenant, path in followed:
            while len(self.streams) < self.wanted and self.open(tenant, path):
                pass
        opened = time.monotonic() - begun
        beside = self.executions(context)
        grown = self.memory() - before
        print(f"{len(self.streams)} streams: opened in {opened:.1f} s, {grown >> 10} MB;"
              f" execute {quiet} without them, {beside} beside them", flush=True)
        self.assertEqual(len(self.streams), self.wanted)
        self.assertLess(grown, MOST_KB)
        for tenant, path in followed:
            tenant.must(204, "POST", f"{path}/stdin", b"all of you\n")
        for stream in self.streams:
            said = b""
            while b'"ended"' not in said:
                piece = stream.recv(4096)
                self.assertTrue(piece, said)
                said += piece
            self.assertIn(b"all of you", said)


if __name__ == "__main__":
    unittest.main()
