# SPDX-License-Identifier: Apache-2.0
"""A daemon and a keeper that may open hardly any more descriptors: clients wait or are told so, and
all goes on where it was once there are some again."""

import http.client
import resource
import socket
import unittest

import harness  # noqa: F401, which finds the next
from daemon import Daemon, wait_until
from footprint import descriptors

# What a client may be told while there are none.
TOLD = (429, 503, 507)
CROWD = 150


class Descriptors(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.discard)
        self.daemon.start()
        self.sandbox = self.daemon.create(metadata={"kept": "yes"}, timeout="10m")
        self.context = self.sandbox.context()
        self.context.execute("kept = 41")
        self.sandbox.write("kept", b"kept")

    def narrow(self, pid, more):
        """Leaves it so many descriptors beyond those that it has."""
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (descriptors(pid) + more, before[1]))
        return lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, before)

    def ask(self, *request):
        """The status; nothing when there was no answer in time."""
        try:
            connection = self.daemon.connect(1)
            body, headers = self.daemon.head(request[2] if request[2:] else None, None, "own")
            connection.request(request[0], request[1], body, headers)
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def try_all(self):
        files = self.sandbox.path + "/files/more"
        return [
            self.ask("GET", self.sandbox.path),
            self.ask("POST", "/v1/sandboxes", {}),
            self.ask("PUT", files, b"more"),
            self.ask("POST", self.context.path + "/execute", {"code": "1"}),
            self.ask("POST", self.sandbox.path + "/contexts", {}),
            self.ask("POST", self.sandbox.path + "/processes", {"argv": ["true"]}),
            self.ask("POST", self.sandbox.path + "/snapshot", {}),
            self.ask("POST", "/v1/run", {"language": "python", "code": "1"}),
        ]

    def assert_whole(self):
        self.assertIsNone(self.daemon.process.poll(), "the daemon has ended")
        self.assertEqual(self.daemon.keeper(), self.keeper, "the keeper is another one")
        self.assertEqual(self.context.value("kept + 1"), "42")
        self.assertEqual(self.sandbox.read("kept"), b"kept")
        listed = self.daemon.must(200, "GET", "/v1/sandboxes?metadata.kept=yes")["sandboxes"]
        self.assertEqual([one["id"] for one in listed], [self.sandbox.id])
        self.assertEqual(self.daemon.create().context().value("1"), "1")

    def test_a_daemon_without_descriptors_lets_clients_wait_and_forgets_nothing(self):
        self.keeper = self.daemon.keeper()
        for more in (0, 12):
            with self.subTest(more):
                widen = self.narrow(self.daemon.process.pid, more)
                self.addCleanup(widen)
                address = ("127.0.0.1", self.daemon.port)
                crowd = [socket.create_connection(address) for _ in range(CROWD)]
                statuses = self.try_all()
                for status in statuses:
                    self.assertTrue(
                        status is None or status < 400 or status in TOLD, f"told {statuses}"
                    )
                for peer in crowd:
                    peer.close()
                widen()
                wait_until(lambda: self.ask("GET", self.sandbox.path) == 200, "an answer again")
                self.assert_whole()

    def test_a_keeper_without_descriptors_says_so_and_keeps_what_it_has(self):
        self.keeper = self.daemon.keeper()
        for more in (0, 9):
            with self.subTest(more):
                widen = self.narrow(self.keeper, more)
                self.addCleanup(widen)
                statuses = [status for _ in range(2) for status in self.try_all()]
                for status in statuses:
                    self.assertTrue(
                        status is None or status < 400 or status in TOLD, f"told {statuses}"
                    )
                widen()
                wait_until(lambda: self.ask("POST", "/v1/sandboxes", {}) == 201, "a new one again")
                self.assert_whole()


if __name__ == "__main__":
    unittest.main()
