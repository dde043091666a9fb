# SPDX-License-Identifier: Apache-2.0
"""What the client does with servers that fail, stall, lie, or call tools: against a server that is
told what to say. Each test runs with the synchronous and with the asynchronous client.
"""

import asyncio
import pathlib
import socket
import sys
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import glovebox  # noqa: E402
from fake_daemon import FakeDaemon, response, stream  # noqa: E402
from glovebox import Retry  # noqa: E402

QUICK = Retry(attempts=3, first=0.001, longest=2.0)
VERDICT = {
    "type": "verdict", "id": "v", "language": "python", "tier": "native", "status": "ok",
    "exit_code": 0, "signal": None, "stdout": "", "stderr": "",
    "truncated": {"stdout": False, "stderr": False}, "bytes": {"stdout": 0, "stderr": 0},
    "results": [], "error": None, "files": [], "walls": {}, "limits": {}, "usage": {},
    "timings": {}, "unknown_field": 1,
}
BUSY = {"code": 503, "error": "unavailable", "message": "busy", "hint": "later"}


class Both(unittest.TestCase):
    """`ask(url, work)` does `work(client)`; `work` is written for either kind with `do`."""

    def each(self, answers, work, check, **options):
        """Runs `work(client)`, a coroutine function for the asynchronous client and its result for
        the other, against new servers; then `check(server, what it returned or raised)`.
        """
        options.setdefault("retry", QUICK)
        for kind in ("sync", "async"):
            with self.subTest(kind), FakeDaemon(answers() if not isinstance(answers, list)
                                                else answers) as server:
                try:
                    if kind == "sync":
                        with glovebox.Client(server.url, "key", **options) as client:
                            found = work(client)
                    else:
                        found = asyncio.run(self.asynchronously(server.url, work, options))
                except glovebox.GloveboxError as error:
                    found = error
                check(server, found)

    @staticmethod
    async def asynchronously(url, work, options):
        async with glovebox.AsyncClient(url, "key", **options) as client:
            return await work(client)


def health(client):
    return client.health()


def create(client):
    return client.sandboxes.create()


def execute(client, code="1", **options):
    kind = glovebox.Sandbox if isinstance(client, glovebox.Client) else glovebox.AsyncSandbox
    return kind(client, "s").contexts.get("c").execute(code, **options)


class EngineOfNobody(glovebox.Engine):
    """In place of an engine, a server that says what it is told to."""

    def __init__(self, server):
        super().__init__()
        self.server = server

    def connect(self):
        ours, its = socket.socketpair()
        self.server.serve(its)
        return ours.detach()


class InProcess(unittest.TestCase):
    def executed(self, answer, timeout=120.0, **options):
        """What the engine was asked, and the verdict, by each kind of client."""
        for kind in (glovebox.Client, glovebox.AsyncClient):
            with self.subTest(kind.__name__), FakeDaemon(answer) as server:
                client = kind(EngineOfNobody(server), timeout=timeout)
                found = execute(client, **options)
                if kind is glovebox.AsyncClient:
                    found = asyncio.run(self.ended(client, found))
                else:
                    client.close()
                (request,) = server.requests
                yield request, found

    @staticmethod
    async def ended(client, found):
        async with client:
            return await found

    def test_the_verdict_alone_is_asked_for_and_waited_for_however_long_it_takes(self):
        answer = [response(200, {**VERDICT, "stdout": "alone"})]
        # The time-out of a client is for silence between events.
        for request, verdict in self.executed(answer, timeout=0):
            self.assertEqual(verdict.stdout, "alone")
            self.assertNotIn("accept", request.headers)
            self.assertNotIn("idempotency-key", request.headers)

    def test_who_wants_to_hear_of_events_gets_a_stream_of_them(self):
        said = []
        events = [stream({"type": "stdout", "text": "out"}, VERDICT)]
        for request, verdict in self.executed(events, on_stdout=said.append):
            self.assertEqual(request.headers["accept"], "application/x-ndjson")
            self.assertTrue(verdict.ok)
        self.assertEqual(said, ["out", "out"])


class Retries(Both):
    def test_a_busy_daemon_is_asked_again_when_it_said(self):
        def check(server, found):
            self.assertEqual(found, {"status": "ok"})
            self.assertEqual(len(server.requests), 2)

        self.each([response(503, BUSY, Retry_After="0"), response(200, {"status": "ok"})],
                  health, check)

    def test_a_wait_that_is_too_long_is_an_error(self):
        def check(server, found):
            self.assertIsInstance(found, glovebox.Unavailable)
            self.assertEqual((found.retry_after, found.message, found.hint), (60, "busy", "later"))
            self.assertEqual(len(server.requests), 1)

        self.each([response(503, BUSY, Retry_After="60")], health, check)

    def test_attempts_come_to_an_end(self):
        def check(server, found):
            self.assertIsInstance(found, glovebox.Unavailable)
            self.assertEqual(len(server.requests), 4)

        self.each([response(503, BUSY)] * 5, health, check)

    def test_a_creation_is_repeated_with_its_key(self):
        def check(server, found):
            self.assertEqual(found.id, "s1")
            keys = {each.headers["idempotency-key"] for each in server.requests}
            self.assertEqual((len(server.requests), len(keys)), (3, 1))

        self.each(lambda: [None, response(503, BUSY), response(201, {"id": "s1"})], create, check)

    def test_what_cannot_be_repeated_is_not(self):
        def pause(client):
            kind = (glovebox.Sandbox if isinstance(client, glovebox.Client)
                    else glovebox.AsyncSandbox)
            return kind(client, "s").pause()

        def check(server, found):
            self.assertIsInstance(found, (glovebox.ConnectionFailed, glovebox.Unavailable))
            self.assertEqual(len(server.requests), 1)

        self.each(lambda: [None, response(204)], pause, check)
        self.each(lambda: [response(503, BUSY), response(204)], pause, check)

    def test_a_rate_is_waited_for_whatever_the_request(self):
        def fork(client):
            kind = (glovebox.Sandbox if isinstance(client, glovebox.Client)
                    else glovebox.AsyncSandbox)
            return kind(client, "s").snapshot()

        limited = response(429, {"error": "exhausted", "message": "slow"}, Retry_After="0")
        self.each(lambda: [limited, response(201, {"template": "t"})], fork,
                  lambda server, found: self.assertEqual(found, "t"))

    def test_a_quota_is_not_waited_for(self):
        used = response(429, {"message": "the tenant's quota of sandboxes is used up"})

        def check(server, found):
            self.assertIsInstance(found, glovebox.QuotaError)
            self.assertEqual(len(server.requests), 1)

        self.each(lambda: [used, used], create, check)


class Connections(Both):
    def test_one_connection_serves_many_requests(self):
        def many(client):
            if isinstance(client, glovebox.Client):
                return [client.health() for _ in range(3)]

            async def ask():
                return [await client.health() for _ in range(3)]

            return ask()

        def check(server, found):
            self.assertEqual({each.connection for each in server.requests}, {1})

        self.each(lambda: [response(200, {})] * 3, many, check)

    def test_an_answer_of_any_size_comes_whole_and_leaves_its_connection(self):
        sizes = [0, 16 * 1024 - 64, 16 * 1024, 64 * 1024, 1 << 20, 3]

        def all_of(client):
            if isinstance(client, glovebox.Client):
                return [client.health()["x"] for _ in sizes]

            async def ask():
                return [(await client.health())["x"] for _ in sizes]

            return ask()

        def check(server, found):
            self.assertEqual([len(each) for each in found], sizes)
            self.assertEqual({each.connection for each in server.requests}, {1})

        self.each(lambda: [response(200, {"x": "a" * size}) for size in sizes], all_of, check)

    def test_a_stream_that_was_read_leaves_its_connection(self):
        def twice(client):
            if isinstance(client, glovebox.Client):
                return [client.run("1"), client.health()]

            async def ask():
                return [await client.run("1"), await client.health()]

            return ask()

        self.each(lambda: [stream(VERDICT), response(200, {})], twice,
                  lambda server, found: self.assertEqual(
                      {each.connection for each in server.requests}, {1}))

    def test_silence_is_a_timeout(self):
        held = threading.Event()
        self.addCleanup(held.set)

        def silent():
            return lambda request: held.wait(60) and None

        self.each(silent, health,
                  lambda server, found: self.assertIsInstance(found, glovebox.Timeout),
                  timeout=0.05)

    def test_what_is_not_http_is_a_protocol_error(self):
        for answer in (b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 200 X\r\nContent-Length: x\r\n\r\n",
                       b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
                       b"HTTP/1.1 200 X\r\n" + b"a: b\r\n" * 20000,
                       response(200, b"<html>")):
            self.each(lambda answer=answer: [answer], health,
                      lambda server, found: self.assertIsInstance(found, glovebox.ProtocolError))

    def test_an_error_without_json_keeps_its_text(self):
        def check(server, found):
            self.assertIsInstance(found, glovebox.BadGateway)
            self.assertEqual(found.message, "a proxy's page")

        self.each(lambda: [response(502, b"a proxy's page")], health, check)

    def test_line_breaks_never_reach_the_wire(self):
        with FakeDaemon([]) as server, glovebox.Client(server.url, "key") as client:
            sandbox = glovebox.Sandbox(client, "s")
            with self.assertRaises(ValueError):
                sandbox.ports.request(80, headers={"X": "1\r\nY: 2"})
            with self.assertRaises(glovebox.GloveboxError):
                glovebox.Client(server.url, "key\r\nX: y")
            self.assertEqual(server.requests, [])

    def test_ids_cannot_leave_their_place(self):
        with FakeDaemon([response(200, {})] * 2) as server, \
                glovebox.Client(server.url, "key") as client:
            with self.assertRaises(ValueError):
                glovebox.Sandbox(client, "../../keys?x#").info()
            self.assertEqual(server.requests[0].target, "/v1/sandboxes/..%2F..%2Fkeys%3Fx%23")

    def test_an_asynchronous_client_survives_its_loop(self):
        with FakeDaemon([response(200, {})] * 2) as server:
            client = glovebox.AsyncClient(server.url, "key")
            for _ in range(2):
                asyncio.run(client.health())
            self.assertEqual([each.connection for each in server.requests], [1, 2])
            asyncio.run(client.aclose())


class Streams(Both):
    def test_a_broken_stream_is_resumed_without_repeating(self):
        events = [{"type": "started"}, {"type": "stdout", "text": "1"},
                  {"type": "stdout", "text": "2"}]
        out = []

        def work(client):
            out.clear()
            return execute(client, on_stdout=out.append)

        def check(server, found):
            self.assertEqual((found.status.value, out), ("ok", ["1", "2"]))
            keys = {each.headers["idempotency-key"] for each in server.requests}
            self.assertEqual((len(server.requests), len(keys)), (3, 1))

        self.each(lambda: [
            stream(*events[:2], {"type": "keepalive"}, end=False),
            stream({"type": "keepalive"}, *events[:2], end=False),
            stream(*events, VERDICT)], work, check)

    def test_a_failure_in_a_stream_is_raised(self):
        failed = {"type": "failed", "code": 404, "error": "not_found", "message": "gone",
                  "hint": "look"}

        def check(server, found):
            self.assertIsInstance(found, glovebox.NotFound)
            self.assertEqual((found.message, found.hint), ("gone", "look"))

        self.each(lambda: [stream({"type": "started"}, failed)], execute, check)

    def test_words_and_fields_of_the_future_are_no_errors(self):
        def check(server, found):
            self.assertEqual(found.status, "melted")
            self.assertIsInstance(found.status, glovebox.Status)
            self.assertFalse(found.ok)

        self.each(lambda: [stream({"type": "aurora"}, {**VERDICT, "status": "melted"})], execute,
                  check)


def add(a: int, b: int = 1) -> int:
    """Adds."""
    return a + b


async def add_slowly(a: int) -> int:
    await asyncio.sleep(0)
    return a + 100


class Tools(Both):
    """The recorded exchange of a daemon that knows tools."""

    def answer(self, *calls):
        """Responds to `execute` with these calls and waits for their results, then the verdict."""
        server_calls = [{"type": "tool_call", **each} for each in calls]
        self.results = {}

        def answers():
            self.results = {}

            def answer(request):
                if request.target.endswith("/execute"):
                    self.offered = request.json["tools"]
                    return stream(*server_calls, VERDICT)
                self.results[request.target.rsplit("/", 1)[1]] = request.json
                return response(204)

            return answer

        return answers

    def test_a_call_gets_the_result_of_the_function(self):
        def check(server, found):
            self.assertTrue(found.ok)
            self.assertEqual(self.results, {"t1": {"result": 3}, "t2": {"result": 11}})
            self.assertEqual(self.offered[0]["name"], "add")
            self.assertEqual(self.offered[0]["parameters"]["required"], ["a"])

        self.each(self.answer({"id": "t1", "name": "add", "arguments": {"a": 2}},
                              {"id": "t2", "name": "add", "arguments": {"a": 10}}),
                  lambda client: execute(client, tools=[add]), check)

    def test_what_goes_wrong_reaches_the_code_as_an_error(self):
        def broken():
            raise RuntimeError("why")

        def unspeakable():
            return object()

        def check(server, found):
            self.assertTrue(found.ok)
            errors = {key: value["error"]["message"] for key, value in self.results.items()}
            self.assertEqual(errors["t1"], "RuntimeError: why")
            self.assertIn("not JSON serializable", errors["t2"])
            self.assertEqual(errors["t3"], "there is no tool 'other'")
            self.assertIn("unexpected keyword", errors["t4"])

        self.each(self.answer({"id": "t1", "name": "broken", "arguments": {}},
                              {"id": "t2", "name": "unspeakable", "arguments": {}},
                              {"id": "t3", "name": "other", "arguments": {}},
                              {"id": "t4", "name": "broken", "arguments": {"x": 1}}),
                  lambda client: execute(client, tools=[broken, unspeakable]), check)

    def test_a_coroutine_function_is_a_tool(self):
        with FakeDaemon(self.answer({"id": "t1", "name": "add_slowly", "arguments": {"a": 1}})()) \
                as server:
            async def work():
                async with glovebox.AsyncClient(server.url, "key") as client:
                    return await execute(client, tools=[add_slowly])

            self.assertTrue(asyncio.run(work()).ok)
        self.assertEqual(self.results, {"t1": {"result": 101}})

    def test_asynchronous_calls_run_beside_each_other(self):
        async def work():
            met = asyncio.Event()

            async def first():
                await met.wait()
                return 1

            async def second():
                met.set()
                return 2

            with FakeDaemon(self.answer({"id": "t1", "name": "first", "arguments": {}},
                                        {"id": "t2", "name": "second", "arguments": {}})()) as server:
                async with glovebox.AsyncClient(server.url, "key") as client:
                    return await execute(client, tools=[first, second])

        self.assertTrue(asyncio.run(work()).ok)
        self.assertEqual(self.results, {"t1": {"result": 1}, "t2": {"result": 2}})

    def test_an_answer_that_comes_too_late_is_no_error(self):
        def answers():
            return lambda request: (
                stream({"type": "tool_call", "id": "t", "name": "add", "arguments": {"a": 1}},
                       VERDICT)
                if request.target.endswith("/execute")
                else response(409, {"message": "the execution has ended"}))

        self.each(answers, lambda client: execute(client, tools=[add]),
                  lambda server, found: self.assertTrue(found.ok))


class Frames(unittest.TestCase):
    def test_fragments_and_pings_between_them_are_understood(self):
        from glovebox._frames import BINARY, PING, FrameReader

        reader = FrameReader()
        content = b"\x02\x03abc" + b"\x89\x01p" + b"\x80\x7e\x00\x80" + b"d" * 128
        found = [each for piece in (content[:3], content[3:9], content[9:])
                 for each in reader.feed(piece)]
        self.assertEqual([(each.kind, each.payload) for each in found],
                         [(PING, b"p"), (BINARY, b"abc" + b"d" * 128)])

    def test_a_frame_that_a_server_may_not_send_is_refused(self):
        from glovebox._frames import FrameReader

        for frame in (b"\x81\x81abcdx", b"\xc1\x00", b"\x82\x7f" + b"\x7f" * 8):
            with self.assertRaises(glovebox.ProtocolError):
                FrameReader().feed(frame)

    def test_masking_is_its_own_inverse(self):
        from glovebox._frames import _masked

        for size in (0, 1, 3, 4, 5, 1000):
            content = bytes(range(256)) * 4
            content = content[:size]
            self.assertEqual(_masked(_masked(content, b"abcd"), b"abcd"), content)


class Bodies(unittest.TestCase):
    def test_chunks_are_joined_wherever_they_are_cut(self):
        from glovebox._http1 import BodyDecoder

        body = b"5;x=y\r\nhello\r\n10\r\n" + b"y" * 16 + b"\r\n0\r\nTrailer: x\r\n\r\nrest"
        for size in range(1, len(body)):
            decoder = BodyDecoder("GET", 200, {"transfer-encoding": "chunked"})
            out = b"".join(decoder.feed(body[at:at + size]) for at in range(0, len(body), size))
            self.assertEqual((out, decoder.complete), (b"hello" + b"y" * 16, True))


if __name__ == "__main__":
    unittest.main()
