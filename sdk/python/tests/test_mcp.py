# SPDX-License-Identifier: Apache-2.0
"""The client of MCP servers, against a server of our own by both transports."""

import contextlib
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from glovebox import ConnectionFailed, McpError, McpServer, ProtocolError, Timeout  # noqa: E402

SERVER = [sys.executable, str(HERE / "servers/mcp_server.py")]
BEARER = {"Authorization": "Bearer the-token"}


@contextlib.contextmanager
def http_server():
    """The address of a server that ends with the block."""
    with subprocess.Popen([*SERVER, "--http"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True, env={"ISSUES_TOKEN": "the-token"}) as process:
        yield process.stdout.readline().strip()
        process.stdin.close()


class Both:
    """What holds by either transport."""

    def test_it_says_who_it_is_and_what_it_can_do(self):
        self.assertEqual((self.server.name, self.server.version), ("issues", "1.2"))
        self.assertEqual(self.server.instructions, "Be brief.")
        names = [each.name for each in self.server.tools()]
        self.assertEqual(names[:3], ["create_issue", "repo_read", "fail"])
        self.assertEqual(len(names), 8)
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


class Pipe(Both, unittest.TestCase):
    def setUp(self):
        self.server = McpServer.start(SERVER, env={"ISSUES_TOKEN": "the-token"}, timeout=30)
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
        other = 'read x; echo \'{"id":1,"result":{"protocolVersion":"1999-01-01"}}\'; cat'
        with self.assertRaisesRegex(ProtocolError, "1999-01-01"):
            McpServer.start(["sh", "-c", other])


class Http(Both, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.url = cls.enterClassContext(http_server())

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
        with self.assertRaisesRegex(ValueError, "use http"):
            McpServer.connect("file:///etc/passwd")
        with self.assertRaisesRegex(ConnectionFailed, "cannot reach"):
            McpServer.connect("http://127.0.0.1:1/mcp")


if __name__ == "__main__":
    unittest.main()
