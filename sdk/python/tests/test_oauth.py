# SPDX-License-Identifier: Apache-2.0
"""Signing in to an MCP server that wants tokens of an authorization server."""
import json
import pathlib
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent), str(HERE / "servers")]
from authorization import world  # noqa: E402

from glovebox import LoginFailed, McpLogin, McpServer, Timeout  # noqa: E402

GUARDED = "/.well-known/oauth-protected-resource/mcp"
ISSUER = "/.well-known/oauth-authorization-server/login"


class SigningIn(unittest.TestCase):
    def setUp(self):
        self.world = self.enterContext(world())

    def login(self, **how):
        return McpLogin(self.world.mcp, **{"open_page": self.world.visit, **how})

    def connect(self, login):
        server = McpServer.connect(self.world.mcp, headers=login, timeout=30, probe=0)
        self.addCleanup(server.close)
        return server

    def refused(self, words, **how):
        with self.assertRaisesRegex(LoginFailed, words):
            self.login(**how)()
        self.assertEqual(self.world.tokens, set())

    def test_a_person_agrees_once_and_the_token_goes_with_every_request(self):
        visited = []
        server = self.connect(self.login(open_page=lambda url: (
            visited.append(url), self.world.visit(url))[0]))
        self.assertEqual([server.call("read"), server.call("read")], ["read", "read"])
        (page,) = visited
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(page).query))
        self.assertEqual((asked["theme"], asked["scope"], asked["resource"]),
                         ("dark", "issues", self.world.mcp))
        (registered,) = self.world.registered
        self.assertEqual(registered["redirect_uris"], [asked["redirect_uri"]])
        self.assertTrue(asked["redirect_uri"].startswith("http://127.0.0.1:"))
        self.assertEqual([form["grant_type"] for form in self.world.asked], ["authorization_code"])

    def test_a_token_is_renewed_before_it_expires_with_the_newest_refresh_token(self):
        self.world.expires = 1
        server = self.connect(self.login())
        server.call("read")
        grants = [form["grant_type"] for form in self.world.asked]
        self.assertEqual(grants[0], "authorization_code")
        self.assertEqual(set(grants[1:]), {"refresh_token"})
        self.assertEqual(len({form.get("refresh_token") for form in self.world.asked}), len(grants))

    def test_a_token_that_the_server_takes_no_more_is_renewed_and_the_request_made_again(self):
        server = self.connect(self.login())
        self.world.tokens.clear()
        self.assertEqual(server.call("read"), "read")
        self.assertEqual(len(self.world.registered), 1)
        # Without its refresh token, a person is asked again.
        self.world.tokens.clear()
        self.world.grants.clear()
        self.assertEqual(server.call("read"), "read")
        self.assertEqual(len(self.world.registered), 2)

    def test_what_is_stored_is_for_this_user_and_this_server_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            store = pathlib.Path(folder) / "new/tokens.json"
            self.connect(self.login(store=store))
            self.assertEqual(store.stat().st_mode & 0o777, 0o600)
            self.assertEqual([each.name for each in store.parent.iterdir()], ["tokens.json"])
            self.connect(self.login(store=store, open_page=self.fail))
            held = json.loads(store.read_bytes())
            for wrong in (b"", b"[]", b"{}", json.dumps({**held, "url": "https://other.example"}).encode(),
                          json.dumps({**held, "token_endpoint": "http://other.example"}).encode()):
                store.write_bytes(wrong)
                before = len(self.world.registered)
                self.connect(self.login(store=store))
                self.assertEqual(len(self.world.registered), before + 1)
            login = self.login(store=store)
            login.forget()
            self.assertEqual(store.read_bytes(), b"{}")

    def test_a_client_that_is_known_there_is_not_registered(self):
        redirects = type("Any", (), {"__contains__": lambda *_: True})()
        self.world.clients["mine"] = {"redirect_uris": redirects}
        self.connect(self.login(client_id="mine"))
        self.assertEqual(self.world.registered, [])
        self.world.changed[ISSUER] = {"registration_endpoint": None}
        self.world.tokens.clear()
        self.refused("registers no programs")

    def test_who_refuses_or_does_not_come_is_an_error(self):
        self.world.refuses = True
        self.refused("refused: access_denied")
        with self.assertRaisesRegex(Timeout, "nobody signed in"):
            self.login(open_page=lambda _: None, timeout=0.01)()
        self.refused("no browser", open_page=lambda _: False)

    def test_an_answer_without_the_state_or_of_another_server_is_not_taken(self):
        seen = []

        def forge(address):
            asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(address).query))
            back = asked["redirect_uri"]
            many = "&".join(f"a{number}=1" for number in range(99))
            for query in ("code=forged", "code=forged&state=x", f"state={asked['state']}&{many}"):
                try:
                    urllib.request.urlopen(f"{back}?{query}", timeout=30)
                except urllib.error.HTTPError as error:
                    seen.append((error.code, error.read()))
            self.world.visit(address)

        self.login(open_page=lambda url: threading.Thread(target=forge, args=[url]).start())()
        self.assertEqual(seen, [(404, b"")] * 3)
        self.assertNotIn("forged", [form["code"] for form in self.world.asked])
        self.world.tokens.clear()
        self.world.answers = {"iss": "https://evil.example"}
        self.refused("another authorization server")
        self.world.answers = {}
        self.world.changed[ISSUER] = {"authorization_response_iss_parameter_supported": True}
        self.refused("another authorization server")
        self.world.answers = {"iss": self.world.issuer}
        self.login()()

    def test_a_server_that_says_what_cannot_be_true_gets_nothing(self):
        for path, changed, words in (
                (GUARDED, {"resource": "https://other.example/mcp"}, "describes another"),
                (GUARDED, {"resource": self.world.mcp + "2"}, "describes another"),
                (GUARDED, {"authorization_servers": []}, "names no authorization server"),
                (GUARDED, {"authorization_servers": ["http://other.example"]}, "invalid address"),
                (GUARDED, {"authorization_servers": ["file:///etc/passwd"]}, "invalid address"),
                (ISSUER, {"issuer": "https://other.example"}, "no description"),
                (ISSUER, {"code_challenge_methods_supported": ["plain"]}, "PKCE"),
                (ISSUER, {"authorization_endpoint": "javascript:alert(1)"}, "invalid address"),
                (ISSUER, {"authorization_endpoint": "https://a.example/ --help"}, "invalid address"),
                (ISSUER, {"token_endpoint": "http://other.example/token"}, "invalid address"),
                (ISSUER, {"registration_endpoint": "http://user@127.0.0.1/"}, "invalid address")):
            self.world.changed = {path: changed}
            with self.subTest(changed):
                self.refused(words)
        for url in ("http://other.example/mcp", "ftp://127.0.0.1/", "https://a.example/#x"):
            with self.assertRaisesRegex(LoginFailed, "invalid address"):
                McpLogin(url)

    def test_words_of_a_server_control_no_terminal(self):
        self.world.changed = {GUARDED: {"resource": "http://x\x1b[2J" + "y" * 10_000}}
        with self.assertRaises(LoginFailed) as raised:
            self.login()()
        self.assertNotIn("\x1b", str(raised.exception))
        self.assertLess(len(str(raised.exception)), 400)

    def test_a_token_without_an_end_is_kept(self):
        self.world.expires = None
        login = self.login()
        self.assertEqual(login(), login())
        self.assertGreater(login._held["expires"], time.time())


if __name__ == "__main__":
    unittest.main()
