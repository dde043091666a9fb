# SPDX-License-Identifier: Apache-2.0
"""The client of MCP servers, against a server of our own by both transports."""

import contextlib
import dataclasses
import json
import logging
import pathlib
import subprocess
import sys
import unittest
import unittest.mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from served import GLOVEBOX, shared_daemon  # noqa: E402

from glovebox import ConnectionFailed, McpError, McpServer, ProtocolError, Timeout  # noqa: E402
from glovebox._mcp_headers import header_paths, header_value  # noqa: E402

SERVER = [sys.executable, str(HERE / "servers/mcp_server.py")]
BEARER = {"Authorization": "Bearer the-token"}
TOKEN = {"ISSUES_TOKEN": "the-token"}
STATELESS = "2026-07-28"


@contextlib.contextmanager
def http_server(*options):
    """The address of a server that ends with the block."""
    with subprocess.Popen([*SERVER, "--http", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True, env=TOKEN) as process:
        yield process.stdout.readline().strip()
        process.stdin.close()


class Both:
    """What holds by either transport and any revision."""

    revision, options, tools = "2025-11-25", (), 8

    def test_it_says_who_it_is_and_what_it_can_do(self):
        self.assertEqual((self.server.name, self.server.version), ("issues", "1.2"))
        self.assertEqual(self.server.instructions, "Be brief.")
        self.assertEqual(self.server.revision, self.revision)
        names = [each.name for each in self.server.tools()]
        self.assertEqual(names[:3], ["create_issue", "repo_read", "fail"])
        self.assertEqual(len(names), self.tools)
        made = self.server.tools("create-issue")[0]
        self.assertEqual(made.description, "Creates an issue.")
        self.assertEqual(list(made.parameters["properties"]), ["title", "labels"])
        with self.assertRaisesRegex(ValueError, "has no tool 'rm'"):
            self.server.tools("rm")

    def test_a_call_returns_what_is_structured_or_text_or_contents(self):
        self.assertEqual(self.server.call("create-issue", {"title": "Ü"}),
                         {"title": "Ü", "labels": None, "authorized": True})
        self.assertEqual(self.server.call("repo/read", {"a": 1}), '{"a": 1}')
        self.assertEqual(self.server.call("picture")[0]["mimeType"], "image/png")

    def test_what_a_tool_or_the_server_refuses_is_an_error(self):
        with self.assertRaisesRegex(McpError, "no such thing"):
            self.server.call("fail")
        with self.assertRaisesRegex(McpError, "refuses 'tools/call': no tools/call"):
            self.server.call("nonesuch")

    def test_a_server_that_asks_its_client_is_refused_and_goes_on(self):
        self.assertIn(self.server.call("ask"), ("told -32601", "done"))


class Stateless(Both):
    """What holds in the revision without sessions."""

    revision, options, tools = STATELESS, ("--stateless",), 11

    def test_a_server_that_asks_its_client_is_refused_and_goes_on(self):
        with self.assertRaisesRegex(McpError, "'ask' asks for input"):
            self.server.call("ask")
        self.assertEqual(self.server.call("repo/read"), "{}")

    def test_a_call_that_is_to_be_continued_is_made_again_with_its_state(self):
        self.assertEqual(self.server.call("continue"), "done")

    def test_what_is_listed_is_believed_for_as_long_as_the_server_says(self):
        listing = self.server._listed()
        self.assertIs(self.server._listed(), listing)
        self.server._listing = dataclasses.replace(listing, until=0)
        self.assertIsNot(self.server._listed(), listing)


class Pipe(Both, unittest.TestCase):
    def setUp(self):
        self.server = McpServer.start([*SERVER, *self.options], env=TOKEN, timeout=30)
        self.addCleanup(self.server.close)

    def test_one_that_does_not_answer_is_not_waited_for_longer_than_was_said(self):
        transport = self.server._transport
        transport.timeout = 0.1  # From now on: it has taken its time to start.
        with self.assertRaisesRegex(Timeout, "did not answer 'tools/call' within 0.1 s"):
            self.server.call("hang")
        transport.timeout = 30
        self.assertEqual(self.server.call("repo/read"), "{}")

    def test_one_that_ends_is_an_error_of_the_call_and_of_later_ones(self):
        for name in ("die", "repo/read"):
            with self.assertRaises(ConnectionFailed):
                self.server.call(name)

    def test_closing_it_ends_the_program(self):
        process = self.server._transport._process
        self.server.close()
        self.assertEqual(process.returncode, 0)

    def test_what_is_no_server_is_an_error(self):
        with self.assertRaisesRegex(ConnectionFailed, "cannot start"):
            McpServer.start(["/nonexistent"])
        with self.assertRaises(ConnectionFailed):
            McpServer.start(["true"])
        for code, told in ((-32601, {"protocolVersion": "1999-01-01"}),
                           (-32022, {"supported": ["1999-01-01"]})):
            error = {"code": code, "message": "", "data": told}
            says = [json.dumps({"id": 1, "error": error}), json.dumps({"id": 2, "result": told})]
            other = f"read x; echo '{says[0]}'; read x; echo '{says[1]}'; cat"
            with self.assertRaisesRegex(ProtocolError, "1999-01-01"):
                McpServer.start(["sh", "-c", other])

    def test_one_that_ends_or_is_silent_at_a_revision_that_it_does_not_know_is_spoken_to_all_the_same(
            self):
        for option, probe in (("--brittle", 0.1), ("--brittle", 30), ("--silent", 0.1), ("--silent", 0)):
            with McpServer.start([*SERVER, option], env=TOKEN, timeout=30, probe=probe) as server:
                self.assertEqual((server.name, server.revision), ("issues", self.revision))


class StatelessPipe(Stateless, Pipe):
    def test_one_that_takes_long_to_start_is_spoken_to_by_its_own_revision(self):
        # It has been asked twice by the time it answers, and refuses the second question.
        slow = [*SERVER, *self.options, "--slow"]
        with McpServer.start(slow, env=TOKEN, timeout=30, probe=0.1) as server:
            self.assertEqual(server.revision, STATELESS)

    test_one_that_ends_or_is_silent_at_a_revision_that_it_does_not_know_is_spoken_to_all_the_same = None


class Http(Both, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.url = cls.enterClassContext(http_server(*cls.options))

    def setUp(self):
        self.server = McpServer.connect(self.url, headers=BEARER, timeout=30)
        self.addCleanup(self.server.close)

    def test_a_session_that_has_ended_is_begun_anew(self):
        with self.assertRaises(ConnectionFailed):
            self.server.call("die")  # Twice: it ends the next one, too.
        self.assertEqual(self.server.call("repo/read"), "{}")

    def test_a_token_follows_no_redirect_and_its_absence_is_told(self):
        for url, headers, status in ((self.url, {}, 401), (self.url[:-3] + "elsewhere", BEARER, 307)):
            with self.assertRaisesRegex(ConnectionFailed, f"status {status}"):
                McpServer.connect(url, headers=headers)
        with self.assertRaisesRegex(ConnectionFailed, "hint: give its token"):
            McpServer.connect(self.url)
        with self.assertRaisesRegex(ValueError, "use http"):
            McpServer.connect("file:///etc/passwd")
        with self.assertRaisesRegex(ConnectionFailed, "cannot reach"):
            McpServer.connect("http://127.0.0.1:1/mcp")

    def test_a_token_that_expires_is_asked_for_before_each_request(self):
        given = []

        def headers():
            given.append(BEARER if len(given) < 4 else {})
            return given[-1]

        with McpServer.connect(self.url, headers=headers, timeout=30) as server:
            with self.assertRaisesRegex(ConnectionFailed, "status 401"):
                for _ in range(9):
                    server.call("repo/read")
        self.assertGreaterEqual(len(given), 5)


class StatelessHttp(Stateless, Http):
    tools = 10

    def setUp(self):
        super().setUp()
        self.enterContext(unittest.mock.patch.object(logging.getLogger("glovebox"), "disabled", True))

    def test_a_session_that_has_ended_is_begun_anew(self):
        with self.assertRaisesRegex(ConnectionFailed, "status 503"):
            self.server.call("die")
        self.assertEqual(self.server.call("repo/read"), "{}")

    def test_arguments_that_the_server_wants_in_headers_are_there(self):
        given = {"where": {"room": " Küche"}, "times": 2, "now": True}
        self.assertEqual(self.server.call("räumen", given), "done")  # Listed after the first attempt.
        self.assertEqual(self.server.call("räumen", {"times": None, "where": {"room": "x\ny"}}), "done")
        self.assertEqual(self.server.call("räumen"), "done")

    def test_a_tool_whose_headers_are_unclear_is_not_offered(self):
        with unittest.mock.patch.object(logging.getLogger("glovebox"), "disabled", False), \
                self.assertLogs("glovebox", "WARNING") as logged:
            names = [each.name for each in self.server.tools()]
        self.assertEqual(names[-1], "r_umen")
        self.assertIn("unclear", logged.output[0])


class Headers(unittest.TestCase):
    """Of arguments, by the marks of a schema."""

    def test_marks_that_are_not_valid_are_refused(self):
        text = {"type": "string"}
        for marked in (
                {"a": {**text, "x-mcp-header": ""}}, {"a": {**text, "x-mcp-header": "A\nB"}},
                {"a": {**text, "x-mcp-header": 1}}, {"a": {"type": "number", "x-mcp-header": "A"}},
                {"a": {**text, "x-mcp-header": "A"}, "b": {**text, "x-mcp-header": "a"}},
                {"a": {"anyOf": [{"properties": {"b": {**text, "x-mcp-header": "A"}}}]}}):
            with self.assertRaises(ValueError, msg=marked):
                header_paths({"properties": marked})
        deep = {}
        for _ in range(200):
            deep = {"properties": {"a": deep}}
        with self.assertRaisesRegex(ValueError, "levels deep"):
            header_paths(deep)
        self.assertEqual(header_paths({"properties": {"x-mcp-header": text}, "default": {
            "x-mcp-header": "data"}}), {})

    def test_what_cannot_stand_in_a_header_is_in_base64(self):
        for value, said in (("us-west1", "us-west1"), ("a b", "a b"), ("", "=?base64??="),
                            (" padded ", "=?base64?IHBhZGRlZCA=?="),
                            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
                            ("a\n", "=?base64?YQo=?="),
                            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=")):
            self.assertEqual(header_value(value), said)


class Own(unittest.TestCase):
    """Our own servers."""

    def test_the_program_is_used_by_the_newest_revision(self):
        with McpServer.start([GLOVEBOX, "mcp"]) as server:
            self.assertEqual((server.name, server.revision), ("glovebox", STATELESS))
            self.used(server)

    def test_the_daemon_is_used_by_the_newest_revision(self):
        daemon = shared_daemon()
        with McpServer.connect(f"http://127.0.0.1:{daemon.port}/mcp",
                               headers={"Authorization": f"Bearer {daemon.key}"}) as server:
            self.assertEqual((server.name, server.revision), ("glovebox", STATELESS))
            self.used(server)

    def used(self, server):
        self.assertIn("run_code", [each.name for each in server.tools()])
        made = server.call("run_code", {"code": "20 + 22"})
        self.assertEqual(made["result"], "42")
        if "sandbox" in made:
            server.call("delete_sandbox", {"sandbox": made["sandbox"]})


if __name__ == "__main__":
    unittest.main()
