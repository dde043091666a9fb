# SPDX-License-Identifier: Apache-2.0
"""What each kind of key may do through E2B's door, on connections that were open before it was
revoked, and for tokens that were made in its name. Keys and tokens reach no guest."""

import base64
import hashlib
import json
import time
import unittest

import harness  # noqa: F401: the path to the modules of tests/service
from daemon import wait_until
from described import operations
from e2b_routes import e2b_routes
from test_tenants import BODIES, SCOPES, add_key
from victims import Victim
from websocket import WebSocket

# A server in the sandbox that answers with the head that it got.
ECHO = """
import http.server, json
class Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        body = json.dumps([self.path, list(self.headers.items())]).encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(('127.0.0.1', 8000), Echo).serve_forever()
"""
# Answers with what the path says, byte by byte.
LIAR = """
import socket, urllib.parse
server = socket.create_server(('127.0.0.1', 8001))
while True:
    peer, _ = server.accept()
    head = peer.recv(65536).decode('latin-1')
    peer.sendall(urllib.parse.unquote_to_bytes(head.split()[1][1:]))
    peer.close()
"""


def told(answer):
    return answer.body.decode(errors="replace") + str(answer.headers)


class Keys(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.victim = Victim()
        cls.addClassCleanup(cls.victim.daemon.discard)
        daemon = cls.daemon = cls.victim.daemon
        daemon.kill()
        hour = 3600 * 10**9
        cls.other = add_key(daemon, "other", SCOPES)
        cls.by_scope = {one: add_key(daemon, "default", (one,)) for one in SCOPES}
        cls.expired = add_key(daemon, "default", SCOPES, expires=time.time_ns() - hour)
        cls.revoked = add_key(daemon, "default", SCOPES, revoked=time.time_ns() - hour)
        daemon.start()
        cls.traffic = cls.opened()
        cls.secrets = [cls.traffic["envdAccessToken"], cls.traffic["trafficAccessToken"]]

    @classmethod
    def opened(cls, **wishes):
        wishes = {"templateID": "base", "secure": True, "timeout": 3600, **wishes}
        return cls.daemon.must(201, "POST", "/v2/sandboxes", wishes)

    def new_key(self, scopes=("run", "read")):
        made = self.daemon.must(
            201, "POST", "/v1/keys", {"tenant": "default", "scopes": list(scopes)}
        )
        return made["key"], made["id"]

    def revoke(self, id):
        self.daemon.must(204, "DELETE", "/v1/keys/" + id)

    def routes(self):
        """(method, path with something of ours, path with something that is nowhere, body)"""
        found = e2b_routes()
        self.assertGreater(len(found), 40)
        for method, pattern in found:
            ours = self.traffic["sandboxID"] if "sandboxes/" in pattern else "mine"
            body = None if method == "GET" else {}
            yield method, pattern.replace("*", ours), pattern.replace("*", ours[::-1]), body

    def test_no_e2b_route_answers_without_a_valid_key(self):
        almost = self.daemon.key[:-1] + ("0" if self.daemon.key[-1] != "0" else "1")
        for method, path, _, body in self.routes():
            for key in (None, "", almost, self.expired, self.revoked):
                answer = self.daemon.ask(method, path, body, key=key)
                self.assertEqual(answer.status, 401, f"{method} {path} with {key!r}: {answer}")

    def test_a_key_does_through_e2b_what_its_scope_says_and_nothing_else(self):
        for method, path, _, body in self.routes():
            wanted = "read" if method == "GET" else "run"
            for scope, key in self.by_scope.items():
                if scope != wanted:
                    answer = self.daemon.ask(method, path, body, key=key)
                    self.assertEqual(answer.status, 403, f"{method} {path} with {scope}: {answer}")
        self.daemon.must(403, "POST", "/sandboxes", {"templateID": "base"},
                         key=self.by_scope["admin"])

    def test_no_answer_to_a_reader_holds_a_token(self):
        volume = self.daemon.ask("POST", "/volumes", {"name": "tokens"})
        secrets = [*self.secrets, *([volume.json["token"]] if volume.status == 201 else [])]
        paths = [path for method, path, _, _ in self.routes() if method == "GET"]
        if volume.status == 201:
            paths.append("/volumes/" + volume.json["volumeID"])
        for path in [*paths, "/v1/sandboxes", "/v1/sandboxes/" + self.traffic["sandboxID"]]:
            answer = self.daemon.ask("GET", path, key=self.by_scope["read"])
            for secret in secrets:
                self.assertNotIn(secret, told(answer), path)
                self.assertNotIn(secret.split(".")[1], told(answer), path)
        shown = self.daemon.must(
            200, "GET", "/sandboxes/" + self.traffic["sandboxID"], key=self.by_scope["read"]
        )
        self.assertNotIn("envdAccessToken", shown)
        own = self.daemon.must(200, "GET", "/sandboxes/" + self.traffic["sandboxID"])
        self.assertEqual(own["envdAccessToken"], self.traffic["envdAccessToken"])

    def test_what_is_another_tenants_is_as_what_does_not_exist(self):
        for method, ours, nowhere, body in self.routes():
            if ours == nowhere:
                continue
            asked = [self.daemon.ask(method, one, body, key=self.other) for one in (ours, nowhere)]
            self.assertEqual(asked[0].status, asked[1].status, f"{method} {ours}: {asked[0]}")
            for secret in self.secrets:
                self.assertNotIn(secret, told(asked[0]), ours)
        self.daemon.must(200, "GET", "/sandboxes/" + self.traffic["sandboxID"])

    def test_a_connection_that_was_open_ends_with_its_key(self):
        key, id = self.new_key()
        connection = self.daemon.connect()
        self.addCleanup(connection.close)
        path = self.victim.sandbox.path
        connection.request("GET", path, headers={"X-API-KEY": key})
        self.assertEqual(connection.getresponse().read()[:1], b"{")
        self.revoke(id)
        connection.request("GET", path, headers={"X-API-KEY": key})
        self.assertEqual(connection.getresponse().status, 401)

    def test_no_route_answers_on_a_connection_that_was_open_before_its_key_was_revoked(self):
        description = self.daemon.must(200, "GET", "/openapi.json", key=None)
        routes = [(method, path, body) for method, path, _, body in self.routes()]
        for one in operations(description):
            if not one.is_open:
                values = {name: "mine" for name in one.in_path} | self.victim.known
                routes.append((one.method, one.pattern.format(**values), BODIES.get(one.name)))
        self.assertGreater(len(routes), 100)
        key, id = self.new_key(SCOPES)
        forms = ({"X-API-KEY": key}, {"Authorization": "Bearer " + key})
        connections = []
        for number, _ in enumerate(routes):
            connection = self.daemon.connect()
            self.addCleanup(connection.close)
            connection.request("GET", "/v1/languages", headers=forms[number % 2])
            answer = connection.getresponse()
            self.assertEqual((answer.status, answer.will_close), (200, False), answer.read())
            answer.read()
            connections.append(connection)
        self.revoke(id)
        for number, (method, path, body) in enumerate(routes):
            content, headers = self.daemon.head(body, forms[number % 2], None)
            connection = connections[number]
            # A connection that is made anew would prove less.
            connection.auto_open = False
            connection.request(method, path, content, headers)
            self.assertEqual(connection.getresponse().status, 401, f"{method} {path}")
        self.assertEqual(self.victim.sandbox.read("secret"), b"content")

    def test_a_websocket_runs_nothing_once_its_key_is_revoked_and_is_closed_with_1008(self):
        key, id = self.new_key()
        context = self.victim.context
        with WebSocket(self.daemon, context.path + "/execute", key=key) as peer:
            peer.send(json.dumps({"code": "before = 1"}))
            while json.loads(peer.receive())["type"] != "verdict":
                pass
            self.revoke(id)
            peer.send(json.dumps({"code": "after = 1"}))
            self.assertIsNone(peer.receive())
            self.assertEqual(peer.closed_with, 1008)
        self.assertEqual(context.value("'before' in globals(), 'after' in globals()"),
                         "True False")

    def test_a_terminal_tells_and_takes_nothing_once_its_key_is_revoked(self):
        key, id = self.new_key()
        sandbox = self.victim.sandbox
        wish = {"argv": ["cat"], "stdin": True}
        pid = sandbox.must(201, "POST", "/processes", wish)["pid"]
        path = f"{sandbox.path}/processes/{pid}"
        for sends in (True, False):
            with WebSocket(self.daemon, path, key=key) as peer:
                self.assertEqual(peer.status, 101)
                self.revoke(id)
                if sends:
                    peer.send(b"after")
                self.assertIsNone(peer.rest())
                self.assertEqual(peer.closed_with, 1008)
            key, id = self.new_key()
        self.daemon.must(204, "DELETE", path)

    def serve_echo(self, id, token):
        traffic = {"E2b-Sandbox-Id": id, "E2b-Sandbox-Port": "49999", "X-Access-Token": token}
        for code in (ECHO, LIAR):
            start = (
                "import subprocess, sys\n"
                f"subprocess.Popen([sys.executable, '-c', {code!r}], start_new_session=True)\n1"
            )
            begun = self.daemon.ask("POST", "/execute", {"code": start}, traffic, key=None)
            self.assertEqual(begun.status, 200, str(begun))
        for port in (8000, 8001):
            wait_until(
                lambda: self.to_port(id, port, "/HTTP/1.1%20200%20OK%0d%0a%0d%0a").status == 200,
                "a server in the sandbox",
            )

    def to_port(self, id, port, path="/", headers=None, host=None, method="GET"):
        given = dict(headers or {})
        if host:
            given["Host"] = host
        else:
            given |= {"E2b-Sandbox-Id": id, "E2b-Sandbox-Port": str(port)}
        return self.daemon.ask(method, path, None, given, key=None)

    def test_keys_and_tokens_of_ours_reach_no_guest_on_any_way(self):
        id, token = self.traffic["sandboxID"], self.traffic["envdAccessToken"]
        self.serve_echo(id, token)
        key = self.daemon.key
        port_token = self.daemon.must(
            201, "POST", f"/v1/sandboxes/{id}/port-tokens", {"port": 8000}
        )["token"]
        carried = [
            {"X-API-KEY": key},
            {"Authorization": "Bearer " + key},
            {"X-API-KEY": key, "Authorization": "Bearer " + key},
            {"authorization": "bearer " + key},
            {"X-Whatever": "my key is " + key},
            {"Cookie": f"a=b; glovebox_port={port_token}; c=d"},
            {"X-Port-Token": port_token},
            {"X-Access-Token": token},
            {"E2B-Traffic-Access-Token": self.traffic["trafficAccessToken"]},
            {"Connection": "close, X-Hop", "X-Hop": "secret of the hop"},
        ]
        secrets = [key, port_token, "secret of the hop", *self.secrets]
        for headers in carried:
            mine = {**headers, "X-Mine": "kept"}
            by_path = dict(mine) if {"X-API-KEY", "Authorization", "authorization"} & set(
                mine
            ) else {**mine, "X-API-KEY": key}
            asked = {
                "by E2B's headers": self.to_port(id, 8000, headers=mine),
                "by name": self.to_port(id, 8000, headers=mine, host=f"8000-{id}.localhost"),
                "by path": self.daemon.ask(
                    "GET", f"/v1/sandboxes/{id}/ports/8000/", None, by_path, key=None
                ),
            }
            for way, answer in asked.items():
                self.assertEqual(answer.status, 200, f"{way} {headers}: {answer}")
                for secret in secrets:
                    self.assertNotIn(secret, told(answer), f"{way}: {headers}")
                self.assertIn("kept", told(answer))

    def test_what_a_guest_answers_is_read_before_it_is_passed_on(self):
        id = self.traffic["sandboxID"]
        self.serve_echo(id, self.traffic["envdAccessToken"])
        lies = {
            "two lengths": "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            "length and chunks": "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n"
            "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "a bare line feed": "HTTP/1.1 200 OK\r\nX-A: a\nSet-Cookie: b=c\r\n\r\n",
            "an odd status": "HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n",
            "no HTTP": "SSH-2.0-OpenSSH\r\n\r\n",
        }
        import urllib.parse

        for way in ("by path", "by E2B's headers"):
            for what, lie in lies.items():
                path = "/" + urllib.parse.quote(lie, safe="")
                if way == "by path":
                    answer = self.daemon.ask("GET", f"/v1/sandboxes/{id}/ports/8001{path}")
                else:
                    answer = self.to_port(id, 8001, path)
                self.assertEqual(answer.status, 502, f"{what} {way}: {answer}")

    def test_a_port_token_ends_with_the_key_that_asked_for_it_and_outlives_a_restart(self):
        id = self.traffic["sandboxID"]
        self.serve_echo(id, self.traffic["envdAccessToken"])
        sandbox = self.daemon.create(timeout="1h")
        code = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {ECHO!r}])"
        sandbox.context().execute(code)
        key, key_id = self.new_key()
        token = sandbox.must(201, "POST", "/port-tokens", {"port": 8000}, key=key)["token"]
        self.assertNotIn("default", token)
        host = {"Host": f"8000-{sandbox.id}.localhost", "X-Port-Token": token}
        ask = lambda: self.daemon.ask("GET", "/", None, host, key=None).status  # noqa: E731
        wait_until(lambda: ask() == 200, "a server in the sandbox")
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(ask(), 200, "after a restart")
        self.assertEqual(self.by_signature().status, 404, "a signature, of a sandbox unheard of")
        self.assertEqual(self.to_port(id, 8000, host=f"8000-{id}.localhost").status, 200,
                         "a public name of E2B's, before anybody asked for its sandbox by id")
        self.revoke(key_id)
        self.assertEqual(ask(), 401, "once its key is revoked")
        sandbox.kill()

    def test_a_page_of_another_sandbox_cannot_use_the_cookie_of_this_one(self):
        id = self.victim.sandbox.id
        token = self.victim.sandbox.must(201, "POST", "/port-tokens", {"port": 9})["token"]
        name = {"Host": f"9-{id}.localhost", "Cookie": "glovebox_port=" + token}
        allowed, refused = 502, 401  # Nothing listens there.
        for wanted, more in (
            (allowed, {}),
            (allowed, {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}),
            (allowed, {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}),
            (allowed, {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate",
                       "Sec-Fetch-Dest": "document"}),
            (refused, {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors",
                       "Sec-Fetch-Dest": "image"}),
            (refused, {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate",
                       "Sec-Fetch-Dest": "iframe"}),
            (refused, {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}),
        ):
            answer = self.daemon.ask("GET", "/", None, {**name, **more}, key=None)
            self.assertEqual(answer.status, wanted, f"{more}: {answer}")
        # Another host of the site may have set one of the same name.
        shadowed = {**name, "Cookie": f"glovebox_port=x; glovebox_port={token}; glovebox_port=y"}
        self.assertEqual(self.daemon.ask("GET", "/", None, shadowed, key=None).status, allowed)

    def test_who_has_only_heard_of_a_sandbox_wakes_it_not(self):
        made = self.opened(
            autoPause=True,
            autoResume={"enabled": True},
            network={"allowPublicTraffic": False},
        )
        id = made["sandboxID"]
        self.daemon.must(204, "POST", f"/sandboxes/{id}/pause", {})
        state = lambda: self.daemon.must(200, "GET", "/sandboxes/" + id)["state"]  # noqa: E731
        for port, path in ((8000, "/"), (49999, "/contexts"), (49983, "/envs"), (49983, "/health"),
                           (49983, "/files?path=x"), (49999, "/health")):
            answer = self.to_port(id, port, path)
            self.assertIn(answer.status, (401, 403, 429, 502), f"{port}{path}: {answer}")
            self.assertEqual(state(), "paused", f"{port}{path}")
        token = {"X-Access-Token": made["envdAccessToken"]}
        self.assertEqual(self.to_port(id, 49983, "/envs", token).status, 200)
        self.assertEqual(state(), "running")
        self.daemon.must(204, "DELETE", "/sandboxes/" + id)

    def test_a_flood_of_false_signatures_hides_no_good_one(self):
        for at in range(600):
            path = f"/files?path=/x&username=user&signature=v1_{at:043d}"
            self.assertEqual(self.daemon.ask("GET", path, key=None).status, 401)
        answer = self.by_signature()
        self.assertEqual(answer.status, 404, str(answer))

    def by_signature(self):
        """The answer to a good signature of a file that is not there."""
        token = self.traffic["envdAccessToken"]
        digest = hashlib.sha256(f"/home/user/none:read:user:{token}".encode()).digest()
        signature = "v1_" + base64.b64encode(digest).decode().rstrip("=")
        query = f"path=/home/user/none&username=user&signature={signature}"
        return self.daemon.ask("GET", "/files?" + query.replace("+", "%2B"), key=None)

    def test_requests_with_a_wrong_token_are_counted_and_good_ones_go_on(self):
        id, token = self.traffic["sandboxID"], self.traffic["envdAccessToken"]
        connection = self.daemon.connect()
        self.addCleanup(connection.close)
        seen = set()
        for _ in range(400):
            headers = {"E2b-Sandbox-Id": id, "E2b-Sandbox-Port": "49983", "X-Access-Token": "x"}
            connection.request("GET", "/envs", headers=headers)
            answer = connection.getresponse()
            answer.read()
            seen.add(answer.status)
            if answer.status == 429:
                self.assertTrue(answer.headers["Retry-After"])
        self.assertLessEqual(seen, {401, 429})
        self.assertEqual(
            self.to_port(id, 49983, "/envs", {"X-Access-Token": token}).status, 200
        )

    def test_the_scheme_of_an_authorization_may_be_in_any_case_and_get_implies_head(self):
        for scheme in ("Bearer", "bearer", "BEARER"):
            headers = {"Authorization": f"{scheme} {self.daemon.key}"}
            self.assertEqual(
                self.daemon.ask("GET", "/v1/sandboxes", None, headers, key=None).status, 200
            )
        for path in ("/healthz", "/v1/sandboxes", self.victim.sandbox.path, "/v1/languages"):
            answer = self.daemon.ask("HEAD", path)
            self.assertEqual((answer.status, answer.body), (200, b""), path)
        watch = self.daemon.ask("HEAD", self.victim.sandbox.path + "/files/watch")
        self.assertNotEqual(watch.status, 200)




if __name__ == "__main__":
    unittest.main()
