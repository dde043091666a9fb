# SPDX-License-Identifier: Apache-2.0
"""Where one request ends and the next begins: what could be read in two ways is refused, and its
connection ends. Of each case the bytes behind it look like a further request, which nobody may
answer."""

import unittest

from harness import chance_of
from raw import Peer, Wrong
from victims import MOST_GROWTH_KB, Victim

HOST = b"Host: 127.0.0.1\r\n"
NEXT = b"GET /openapi.json HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
POST = b"POST /v1/run HTTP/1.1\r\n" + HOST
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"

AMBIGUOUS = {
    "both framings": POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "both, turned": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
    "two lengths": POST + b"Content-Length: 0\r\nContent-Length: 5\r\n\r\n",
    "a list of lengths": POST + b"Content-Length: 0, 5\r\n\r\n",
    "a signed length": POST + b"Content-Length: +0\r\n\r\n",
    "a negative length": POST + b"Content-Length: -1\r\n\r\n",
    "a hexadecimal length": POST + b"Content-Length: 0x0\r\n\r\n",
    "no length": POST + b"Content-Length: \r\n\r\n",
    "a length beyond 64 bits": POST + b"Content-Length: 18446744073709551616\r\n\r\n",
    "a space before the colon": POST + b"Content-Length : 0\r\n\r\n",
    "chunked twice": POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "chunked in two lines": POST + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n0\r\n\r\n",
    "chunked not last": POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "an unknown coding": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "a coding with a tab": POST + b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
    "a folded header": POST + b"X: a\r\n Content-Length: 5\r\n\r\n",
    "a folded coding": POST + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "a line that ends in LF": POST + b"X: a\nContent-Length: 5\r\n\r\n",
    "a CR alone": POST + b"X: a\rContent-Length: 5\r\n\r\n",
    "a NUL in a header": POST + b"X: a\0b\r\nContent-Length: 0\r\n\r\n",
    "a name with a space": POST + b"Content Length: 5\r\n\r\n",
    "a header without a name": POST + b": 5\r\n\r\n",
    "a header without a colon": POST + b"Content-Length\r\n\r\n",
    "no host": b"POST /v1/run HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
    "two hosts": POST + HOST + b"Content-Length: 0\r\n\r\n",
    "old with chunks": CHUNKED.replace(b"/1.1", b"/1.0") + b"0\r\n\r\n",
    "an unknown version": b"GET /healthz HTTP/2.0\r\n" + HOST + b"\r\n",
    "no version": b"GET /healthz\r\n" + HOST + b"\r\n",
    "a space in the target": b"GET /healthz x HTTP/1.1\r\n" + HOST + b"\r\n",
    "two spaces": b"GET  /healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    "a control in the target": b"GET /health\x01z HTTP/1.1\r\n" + HOST + b"\r\n",
    "no method": b" /healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    "a method of signs": b"G(T /healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 64 + b"\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}
# Framings of chunks that fail in the body, after the head was fine.
BAD_CHUNKS = {
    "a signed size": b"+0\r\n\r\n",
    "a size with 0x": b"0x0\r\n\r\n",
    "no size": b"\r\n\r\n",
    "a size beyond 64 bits": b"10000000000000000\r\n",
    "a space before the size": b" 5\r\nhello\r\n0\r\n\r\n",
    "more than its size": b"2\r\nabc\r\n0\r\n\r\n",
    "LF alone": b"2\nab\n0\n\n",
    "an endless size": b"0" * 100_000,
    "an endless extension": b"1;" + b"x" * 100_000,
    "a CR in an extension": b"1;a\rb\r\na\r\n0\r\n\r\n",
    "endless trailers": b"0\r\n" + b"X: y\r\n" * 50_000,
}
FINE = {
    "chunks": CHUNKED + b"2\r\n{}\r\n0\r\n\r\n",
    "an extension": CHUNKED + b"2;name=value\r\n{}\r\n0\r\n\r\n",
    "a trailer": CHUNKED + b"2\r\n{}\r\n0\r\nX-Sum: 1\r\n\r\n",
    "a length": POST + b"Content-Length: 2\r\n\r\n{}",
    "an empty line in front": b"\r\n" + POST + b"Content-Length: 2\r\n\r\n{}",
}


class Framing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.victim = Victim()
        cls.addClassCleanup(cls.victim.daemon.discard)
        cls.port = cls.victim.daemon.port
        cls.key = b"X-API-KEY: " + cls.victim.daemon.key.encode() + b"\r\n"

    def answers(self, request):
        """The statuses until the connection ends."""
        found = []
        with Peer(self.port) as peer:
            peer.send(request)
            while (answer := peer.answer()) is not None:
                found.append(answer.status)
                if len(found) > 3:
                    raise Wrong(f"answers without end: {found}")
        return found

    def with_key(self, request):
        """Inserted behind the Host, where there is one."""
        return request.replace(HOST, HOST + self.key, 1)

    def test_what_can_be_read_in_two_ways_is_refused_and_ends_the_connection(self):
        for name, request in AMBIGUOUS.items():
            for keyed in (request, self.with_key(request)):
                with self.subTest(name):
                    found = self.answers(keyed + NEXT)
                    self.assertEqual(len(found), 1, f"{found} for {keyed!r}")
                    self.assertIn(found[0], (400, 405, 414, 431, 501, 505), f"{keyed!r}")

    def test_chunks_that_are_none_end_the_connection(self):
        for name, body in BAD_CHUNKS.items():
            with self.subTest(name):
                found = self.answers(self.with_key(CHUNKED) + body + NEXT)
                self.assertEqual(len(found), 1, found)
                self.assertIn(found[0], (400, 413, 431))

    def test_requests_that_are_fine_are_answered_one_after_the_other(self):
        for name, request in FINE.items():
            with self.subTest(name):
                found = self.answers(self.with_key(request) + NEXT)
                self.assertEqual(found, [400, 200], "of /v1/run without code, and the next")

    def test_heads_without_end_are_cut_off(self):
        for name, piece in (
            ("one line", b"a" * 10_000),
            ("one header", b"X: " + b"a" * 10_000),
            ("many headers", b"X-1: y\r\n" * 1_000),
            ("empty lines", b"\r\n" * 5_000),
        ):
            with self.subTest(name), Peer(self.port) as peer:
                peer.send(b"" if name == "empty lines" else b"GET / HTTP/1.1\r\n")
                for _ in range(50):
                    peer.send(piece)
                answer = None if name == "empty lines" else peer.answer()
                if answer:
                    self.assertIn(answer.status, (400, 414, 431))
        self.assertTrue(self.victim.is_alive())

    def test_garbage_is_borne(self):
        chance = chance_of("garbage")
        before = self.victim.memory_kb()
        whole = self.with_key(CHUNKED + b"2\r\n{}\r\n0\r\n\r\n")
        for _ in range(300):
            request = bytearray(whole)
            for _ in range(chance.randrange(1, 6)):
                request[chance.randrange(len(request))] = chance.randrange(256)
            with Peer(self.port) as peer:
                peer.send(bytes(request))
                # What lacks its end waits for it, as it should.
                peer.socket.shutdown(1)
                answer = peer.answer()
                # A method or a version that the daemon does not speak.
                self.assertTrue(answer is None or answer.status < 500 or answer.status in (501, 505),
                                f"{bytes(request)!r}: {answer and answer.status}")
        self.assertTrue(self.victim.is_alive())
        self.assertLess(self.victim.memory_kb() - before, MOST_GROWTH_KB)


if __name__ == "__main__":
    unittest.main()
