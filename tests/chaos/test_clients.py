# SPDX-License-Identifier: Apache-2.0
"""Clients that are slow, half gone or gone: they cost a bounded amount of memory and time, nobody
else notices them, and nothing of what they did not finish stays."""

import http.client
import json
import os
import signal
import socket
import struct
import time
import unittest

from harness import chance_of
from daemon import Case, Daemon, wait_until
from footprint import descriptors, memory_kb
from traces import named, start_time

# What others wait at most for an answer meanwhile, on a machine that has other things to do.
PROMPT_S = 20
MOST_GROWTH_KB = 64 << 10
CROWD = 200
# src/doors/transport/http.h: header_patience, and a second between two looks.
HEADER_PATIENCE_S = 15


class Clients(Case):
    def setUp(self):
        self.sandbox = self.create(timeout="10m")
        self.memory = self.memories()
        self.peers = []
        self.addCleanup(self.close_all)

    def memories(self):
        return {pid: memory_kb(pid) for pid in (self.daemon.process.pid, self.daemon.keeper())}

    def close_all(self):
        for peer in self.peers:
            peer.close()
        self.peers.clear()

    def peer(self, text=b"", receive_buffer=None):
        peer = socket.socket()
        if receive_buffer:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        peer.settimeout(PROMPT_S)
        peer.connect(("127.0.0.1", self.daemon.port))
        self.peers.append(peer)
        if text:
            peer.sendall(text)
        return peer

    def head(self, method, path, *headers):
        lines = [f"{method} {self.sandbox.path}{path} HTTP/1.1", "Host: a"]
        lines += [f"X-API-KEY: {self.daemon.key}", *headers]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def others_are_served(self):
        begun = time.monotonic()
        self.assertEqual(self.sandbox.info()["state"], "running")
        self.assertLess(time.monotonic() - begun, PROMPT_S)

    def assert_memory_is_bounded(self):
        for pid, now in self.memories().items():
            self.assertLess(now - self.memory[pid], MOST_GROWTH_KB, f"memory of {pid}")

    def is_closed(self, peer):
        """Reads what is there; true at the end."""
        peer.setblocking(False)
        try:
            while peer.recv(65536):
                pass
            return True
        except BlockingIOError:
            return False
        except OSError:
            return True

    def test_heads_that_trickle_are_cut_off_while_others_are_served(self):
        peers = [self.peer(b"GET /healthz HTTP/1.1\r\nHost: a\r\n") for _ in range(CROWD)]
        begun = time.monotonic()
        left = peers
        while left:
            self.assertLess(time.monotonic() - begun, HEADER_PATIENCE_S + 15, f"{len(left)} stay")
            for peer in left:
                try:
                    peer.setblocking(True)
                    peer.sendall(b"X-A: b\r\n")
                except OSError:
                    pass
            self.others_are_served()
            left = [peer for peer in left if not self.is_closed(peer)]
            time.sleep(0.5)  # It is the slowness that is the input here.
        self.assert_memory_is_bounded()

    def test_bodies_that_do_not_come_keep_nobody_else_from_being_served(self):
        head = self.head("PUT", "/files/slow", "Content-Length: 100000000")
        for _ in range(CROWD):
            self.peer(head + b"x" * 1000)
        for _ in range(20):
            self.others_are_served()
        self.assert_memory_is_bounded()
        self.close_all()
        wait_until(
            lambda: not named(self.daemon.keeper(), "glovebox-files"), "the end of the uploads"
        )
        self.sandbox.must(404, "GET", "/files/slow")
        self.assertEqual(self.sandbox.must(200, "GET", "/files?list=.")["entries"], [])

    def test_readers_that_do_not_read_fill_no_memory(self):
        self.sandbox.write("large", bytes(32 << 20))
        for _ in range(50):
            self.peer(self.head("GET", "/files/large"), receive_buffer=4096)
        context = self.sandbox.context()
        code = json.dumps({"code": "while True: print('x' * 10_000)", "limits": {"time": "20s"}})
        execute = self.head(
            "POST",
            f"/contexts/{context.id}/execute",
            "Accept: application/x-ndjson",
            "Content-Type: application/json",
            f"Content-Length: {len(code)}",
        )
        self.peer(execute + code.encode(), receive_buffer=4096)
        end = time.monotonic() + 3
        while time.monotonic() < end:
            self.others_are_served()
        self.assert_memory_is_bounded()

    def test_a_client_that_has_said_all_may_close_its_side(self):
        for _ in range(20):
            peer = self.peer(self.head("GET", ""))
            peer.shutdown(socket.SHUT_WR)
            answer = http.client.HTTPResponse(peer)
            answer.begin()
            self.assertEqual(json.loads(answer.read())["id"], self.sandbox.id)

    def test_resets_at_any_moment_leave_no_descriptor_and_no_thread(self):
        chance = chance_of("resets")
        self.sandbox.write("large", bytes(1 << 20))
        pid, keeper = self.daemon.process.pid, self.daemon.keeper()
        # Connections that wait between the two processes are kept.
        slack = 64 + 16
        before = descriptors(pid), descriptors(keeper)
        requests = [
            self.head("GET", "/files/large"),
            self.head("PUT", "/files/reset", "Content-Length: 5000000") + bytes(200_000),
            self.head("GET", "/files/watch?path=."),
            self.head("PUT", "/files/chunks", "Transfer-Encoding: chunked") + b"fff\r\nabc",
        ]
        reset = struct.pack("ii", 1, 0)
        for _ in range(300):
            request = chance.choice(requests)
            peer = self.peer()
            peer.settimeout(0.02)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            try:
                peer.sendall(request[: chance.randrange(1, len(request))])
                if chance.random() < 0.5:
                    peer.recv(1000)
            except OSError:
                pass
            peer.close()
        self.peers.clear()

        def is_calm():
            now = descriptors(pid), descriptors(keeper)
            return all(a <= b + slack for a, b in zip(now, before)) and not named(
                keeper, "glovebox-files"
            )

        wait_until(is_calm, "that what was reset is given back")
        self.sandbox.must(404, "GET", "/files/reset")
        self.others_are_served()
        self.assert_memory_is_bounded()

    def test_an_upload_that_breaks_off_changes_nothing(self):
        self.sandbox.write("kept", b"whole")
        for framing in ("Content-Length: 5000000", "Transfer-Encoding: chunked"):
            for path in ("kept", "fresh", "deep/er/fresh"):
                piece = b"x" * 100_000
                if "chunked" in framing:
                    piece = b"186a0\r\n" + piece + b"\r\n"
                self.peer(self.head("PUT", "/files/" + path, framing) + piece)
                self.close_all()
        wait_until(lambda: not named(self.daemon.keeper(), "glovebox-files"), "their end")
        self.assertEqual(self.sandbox.read("kept"), b"whole")
        for path in ("fresh", "deep/er/fresh"):
            self.sandbox.must(404, "GET", "/files/" + path)
        listed = self.sandbox.must(200, "GET", "/files?list=.&depth=9")["entries"]
        files = [one["path"].rsplit("/", 1)[-1] for one in listed if one["type"] != "directory"]
        self.assertEqual(files, ["kept"], "drafts stay behind")


class Late(unittest.TestCase):
    """What was sent before a crash and not answered must not undo what was confirmed after it."""

    def test_an_upload_of_a_dead_daemon_does_not_replace_a_later_one(self):
        daemon = Daemon()
        self.addCleanup(daemon.discard)
        daemon.start()
        sandbox = daemon.create()
        keeper = daemon.keeper()
        peer = socket.create_connection(("127.0.0.1", daemon.port))
        self.addCleanup(peer.close)
        # More than the daemon waits for before it begins.
        content = b"early" * 10_000
        half = len(content) // 2
        head = f"PUT {sandbox.path}/files/f HTTP/1.1\r\nHost: a\r\nX-API-KEY: {daemon.key}\r\n"
        head += f"Content-Length: {len(content)}\r\n\r\n"
        peer.sendall(head.encode() + content[:half])
        (server,) = wait_until(lambda: named(keeper, "glovebox-files"), "the file server")
        started = start_time(server)
        # All of it lies in its socket when the daemon dies.
        os.kill(server, signal.SIGSTOP)
        peer.sendall(content[half:])
        wait_until(lambda: self.has_passed_on(daemon, peer), "that the daemon has passed it on")
        daemon.kill()
        daemon.start()
        sandbox.write("f", b"late")
        os.kill(server, signal.SIGCONT)
        wait_until(lambda: start_time(server) != started, "its end")
        self.assertEqual(sandbox.read("f"), b"late")

    def has_passed_on(self, daemon, peer):
        """Nothing waits in the daemon's socket, and its handler waits for the file server."""
        port = peer.getsockname()[1]
        with open("/proc/net/tcp", encoding="ascii") as table:
            for line in table:
                fields = line.split()
                if fields[2].endswith(f":{port:04X}"):
                    return fields[4].endswith(":00000000")
        return False


if __name__ == "__main__":
    unittest.main()
