# SPDX-License-Identifier: Apache-2.0
"""An authorization server, and an MCP server that wants its tokens: at one address, for tests.

As a program it prints the address of the MCP server, and is told by lines of JSON on its standard
input what is to change: {"set": {"expires": 1}}, {"clear": ["tokens"]}. After each it prints what
it knows. It ends with its input.
"""
import base64
import contextlib
import hashlib
import http.server
import json
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request


class World(http.server.ThreadingHTTPServer):
    """What both know, and what a test may change before or after."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Pages)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.mcp = self.url + "/mcp"
        self.issuer = self.url + "/login"
        self.changed = {}     # Of a description, by its path.
        self.refuses = False  # The person at the browser.
        self.answers = {}     # More that the browser brings back.
        self.expires = 3600
        self.asked = []       # The forms that came to the token endpoint.
        self.registered = []
        self.clients = {}
        self.grants = {}      # Codes and refresh tokens, each for one use, with what they are for.
        self.tokens = set()
        self.names = iter(range(10_000))

    def descriptions(self):
        return {
            "/.well-known/oauth-protected-resource/mcp": {
                "resource": self.mcp, "authorization_servers": [self.issuer],
                "scopes_supported": ["issues", "wiki"]},
            "/.well-known/oauth-authorization-server/login": {
                "issuer": self.issuer, "code_challenge_methods_supported": ["S256"],
                "authorization_endpoint": self.url + "/authorize?theme=dark",
                "token_endpoint": self.url + "/token",
                "registration_endpoint": self.url + "/register"}}

    def description(self, path):
        found = self.descriptions().get(path)
        return None if found is None else {**found, **self.changed.get(path, {})}

    def authorize(self, asked):
        """Where the browser goes next."""
        back = {"state": asked["state"], **self.answers}
        client = self.clients.get(asked["client_id"])
        assert client is not None and asked["redirect_uri"] in client["redirect_uris"], asked
        assert asked["code_challenge_method"] == "S256" and asked["response_type"] == "code", asked
        if self.refuses:
            back["error"] = "access_denied"
        else:
            back["code"] = f"code-{next(self.names)}"
            self.grants[back["code"]] = asked
        return asked["redirect_uri"] + "?" + urllib.parse.urlencode(back)

    def token(self, form):
        self.asked.append(form)
        grant = self.grants.pop(form.get("code") or form.get("refresh_token"), None)
        if grant is None or grant["client_id"] != form["client_id"] or form["resource"] != self.mcp:
            return 400, {"error": "invalid_grant"}
        if form["grant_type"] == "authorization_code":
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            if challenge != grant["code_challenge"] or form["redirect_uri"] != grant["redirect_uri"]:
                return 400, {"error": "invalid_grant"}
        number = next(self.names)
        self.grants[f"refresh-{number}"] = {"client_id": form["client_id"]}
        self.tokens.add(f"token-{number}")
        return 200, {"access_token": f"token-{number}", "refresh_token": f"refresh-{number}",
                     "token_type": "Bearer", "expires_in": self.expires}

    def register(self, wanted):
        name = f"client-{next(self.names)}"
        self.registered.append(wanted)
        self.clients[name] = wanted
        return {"client_id": name}

    def visit(self, address):
        """What a person does who opens the page. Returns at once, as the start of a browser does."""
        def browse():
            with contextlib.suppress(urllib.error.HTTPError):
                urllib.request.urlopen(address, timeout=30).close()

        threading.Thread(target=browse, daemon=True).start()


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        parts = urllib.parse.urlsplit(self.path)
        if parts.path == "/authorize":
            self.reply(302, None, Location=self.server.authorize(
                dict(urllib.parse.parse_qsl(parts.query))))
            return
        found = self.server.description(parts.path)
        self.reply(404 if found is None else 200, found or {"error": "not_found"})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/register":
            self.reply(201, self.server.register(json.loads(body)))
        elif self.path == "/token":
            self.reply(*self.server.token(dict(urllib.parse.parse_qsl(body.decode()))))
        elif self.headers.get("Authorization", "")[len("Bearer "):] not in self.server.tokens:
            self.reply(401, {}, **{"WWW-Authenticate": 'Bearer scope="issues", resource_metadata='
                                   f'"{self.server.url}/.well-known/oauth-protected-resource/mcp"'})
        else:
            self.mcp(json.loads(body))

    def mcp(self, message):
        results = {"initialize": {
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "guarded", "version": "1"}},
            "tools/list": {"tools": [{"name": "read", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": "read"}]}}
        if "id" not in message:
            self.reply(202, None)
        else:
            self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]})

    def reply(self, status, value, **headers):
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"Content-Type": "application/json", "Content-Length": str(len(body)),
                           **headers}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def world():
    with World() as made:
        thread = threading.Thread(target=made.serve_forever, args=[0.01])
        thread.start()
        try:
            yield made
        finally:
            made.shutdown()
            thread.join()


def main():
    with world() as made:
        print(made.mcp, flush=True)
        for line in sys.stdin:
            wanted = json.loads(line)
            for name, value in wanted.get("set", {}).items():
                setattr(made, name, value)
            for name in wanted.get("clear", ()):
                getattr(made, name).clear()
            print(json.dumps({"asked": made.asked, "registered": made.registered,
                              "tokens": sorted(made.tokens), "issuer": made.issuer}), flush=True)


if __name__ == "__main__":
    main()
