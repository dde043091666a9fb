# SPDX-License-Identifier: Apache-2.0
"""Many clients at once, and for long: what they cost. GLOVEBOX_CHAOS_SECONDS makes the mixed load
longer, GLOVEBOX_CHAOS_CONNECTIONS the crowd larger; both print what they measured."""

import concurrent.futures
import os
import resource
import select
import socket
import statistics
import sys
import time
import unittest

from harness import chance_of
from daemon import Daemon
from footprint import descriptors, memory_kb

CONNECTIONS = int(os.environ.get("GLOVEBOX_CHAOS_CONNECTIONS", "5000"))
SECONDS = float(os.environ.get("GLOVEBOX_CHAOS_SECONDS", "8"))
# What the daemon may take: in all, and for each connection.
MOST_KB = 100 << 10
MOST_KB_OF_A_CONNECTION = 40
# Over the second half of the mixed load.
MOST_GROWTH_KB = 16 << 10
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
CLIENTS = 4


class Load(unittest.TestCase):
    def setUp(self):
        self.limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = CONNECTIONS + 1_000
        if self.limits[0] < wanted:
            if self.limits[1] < wanted and os.geteuid() != 0:
                self.skipTest(f"only {self.limits[1]} descriptors may be had")
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(wanted, self.limits[1])))
            self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, self.limits)
        self.daemon = Daemon()
        self.addCleanup(self.daemon.discard)
        # As a shell starts it: the daemon itself asks for what it may have.
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (1_024, hard))
        try:
            self.daemon.start()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    def test_idle_connections_cost_little_and_disturb_nobody(self):
        pid = self.daemon.process.pid
        sandbox = self.daemon.create(timeout="10m")
        before = memory_kb(pid)
        peers = []
        self.addCleanup(lambda: [peer.close() for peer in peers])
        for _ in range(CONNECTIONS):
            peer = socket.create_connection(("127.0.0.1", self.daemon.port), timeout=30)
            # Each has been used once, and is kept.
            peer.sendall(HEALTH)
            peers.append(peer)
        for peer in peers:
            self.assertIn(b"HTTP/1.1 200", peer.recv(4096))
        self.assertGreaterEqual(descriptors(pid), CONNECTIONS)
        after = memory_kb(pid)
        took = []
        for _ in range(50):
            begun = time.perf_counter()
            sandbox.info()
            took.append((time.perf_counter() - begun) * 1000)
        print(
            f"{CONNECTIONS} idle connections: {before} KB before, {after} KB with them, "
            f"{(after - before) / CONNECTIONS:.1f} KB each; a request in "
            f"{statistics.median(took):.1f} ms (p50), {max(took):.1f} ms at most",
            file=sys.stderr,
        )
        self.assertLess(after, MOST_KB + MOST_KB_OF_A_CONNECTION * CONNECTIONS)
        self.assertLess(statistics.median(took), 1_000)
        # All of them are still there.
        ready, _, _ = select.select(peers[:500], [], [], 0)
        self.assertEqual(ready, [], "idle connections were ended")

    def test_memory_is_flat_over_mixed_load(self):
        begun = time.monotonic()
        keeper = self.daemon.keeper()
        readings = []
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as threads:
            running = [threads.submit(self.use, n, begun + SECONDS) for n in range(CLIENTS)]
            while not all(one.done() for one in running):
                concurrent.futures.wait(running, SECONDS / 30)
                passed = time.monotonic() - begun
                readings.append((passed, memory_kb(self.daemon.process.pid), memory_kb(keeper)))
            done = sum(one.result() for one in running)
        print(f"{done} requests in {SECONDS:.0f} s; s, daemon KB, keeper KB:", file=sys.stderr)
        for passed, ours, keepers in readings:
            print(f"{passed:8.1f} {ours:8} {keepers:8}", file=sys.stderr)
        half = [one for one in readings if one[0] > SECONDS / 2]
        first, last = half[: len(half) // 2], half[len(half) // 2 :]
        self.assertLess(max(one[1] for one in readings), MOST_KB)
        for place in (1, 2):
            grown = min(one[place] for one in last) - min(one[place] for one in first)
            self.assertLess(grown, MOST_GROWTH_KB, f"KB more, of {('daemon', 'keeper')[place - 1]}")

    def use(self, number, end):
        """One client that does a bit of everything, and takes away what it has made."""
        chance, done = chance_of(f"use {number}"), 0
        content = bytes(200_000)
        while time.monotonic() < end:
            sandbox = self.daemon.create(timeout="10m", metadata={"n": str(done)})
            context = sandbox.context()
            for _ in range(10):
                if time.monotonic() > end:
                    break
                sandbox.write(f"f{chance.randrange(5)}", content[: chance.randrange(200_000)])
                context.execute(f"n = {done}; print('x' * {chance.randrange(5_000)})")
                self.daemon.must(200, "GET", "/v1/sandboxes?limit=10")
                started = sandbox.must(201, "POST", "/processes", {"argv": ["true"]})
                self.daemon.ask("GET", f"{sandbox.path}/processes/{started['pid']}")
                self.daemon.ask("GET", sandbox.path + "/files/none")
                done += 6
            name = sandbox.must(201, "POST", "/snapshot", {"name": f"load-{number}"})["template"]
            self.daemon.create(template=name).kill()
            sandbox.kill()
            done += 5
        return done


if __name__ == "__main__":
    unittest.main()
