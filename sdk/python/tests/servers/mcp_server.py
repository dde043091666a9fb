#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small MCP server, over standard input and output or, with --http, by streamable HTTP: what the
tests of both SDKs connect to. Its token says what never enters a sandbox. It speaks the revisions that
begin with `initialize`, or with --stateless only 2026-07-28. With --brittle, it ends at a first request
that it does not know; with --silent, it does not answer one; with --slow, not before another has come.
"""
import base64
import http.server
import json
import os
import sys
import threading

TOKEN = os.environ.get("ISSUES_TOKEN", "")
ADDRESS = ("127.0.0.1", 0)
STATELESS = "2026-07-28"
META = "io.modelcontextprotocol/"
IS_STATELESS = "--stateless" in sys.argv
OBJECT = {"type": "object", "additionalProperties": False}
TOOLS = [
    {"name": "create-issue", "description": "Creates an issue.", "inputSchema": {
        **OBJECT, "required": ["title"],
        "properties": {"title": {"type": "string", "description": "Its title."},
                       "labels": {"type": "array", "items": {"type": "string"}}}}},
    {"name": "repo/read", "description": "Reads a file.", "inputSchema": {
        **OBJECT, "properties": {"self": {}, "function": {}}}},
    {"name": "fail", "inputSchema": OBJECT},
    {"name": "picture", "inputSchema": OBJECT},
    {"name": "huge", "inputSchema": OBJECT},
    {"name": "ask", "description": "Asks its client first.", "inputSchema": OBJECT},
    {"name": "hang", "inputSchema": OBJECT},
    {"name": "die", "inputSchema": OBJECT},
]
if IS_STATELESS:
    TOOLS += [
        {"name": "continue", "description": "Has a result when asked again.", "inputSchema": OBJECT},
        {"name": "räumen", "inputSchema": {**OBJECT, "properties": {
            "where": {**OBJECT, "properties": {
                "room": {"type": "string", "x-mcp-header": "Room"}}},
            "times": {"type": "integer", "x-mcp-header": "Times"},
            "now": {"type": "boolean", "x-mcp-header": "Now"}}}},
        {"name": "unclear", "inputSchema": {**OBJECT, "properties": {
            "some": {"type": "array", "items": {"type": "string", "x-mcp-header": "Some"}}}}},
    ]
PAGE = 5


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def called(name, arguments):
    if name == "create-issue":
        made = {"title": arguments["title"], "labels": arguments.get("labels"),
                "authorized": TOKEN == "the-token"}
        return text(json.dumps(made), structuredContent=made)
    if name == "repo/read":
        return text(json.dumps(arguments, sort_keys=True))
    if name == "fail":
        return text("no such thing", isError=True)
    if name == "picture":
        return {"content": [{"type": "image", "data": "iVBORw0K", "mimeType": "image/png"}]}
    if name == "huge":
        return text("x" * (2 << 20))
    if name == "die":
        os._exit(3)
    return text("done")


def refusal(code, message, **data):
    return {"error": {"code": code, "message": message, "data": data}}


def complete(result, **more):
    return {"result": {"resultType": "complete", "_meta": {
        META + "serverInfo": {"name": "issues", "version": "1.2"}}, **result, **more}}


def stateless(method, params):
    """The answer of the revision without sessions."""
    meta = params.get("_meta", {})
    if meta.get(META + "protocolVersion") != STATELESS:
        return refusal(-32022, "unsupported revision", supported=[STATELESS])
    assert meta[META + "clientCapabilities"] == {} and meta[META + "clientInfo"]["name"] == "glovebox"
    if method == "server/discover":
        return complete({"supportedVersions": [STATELESS], "instructions": "Be brief.",
                         "capabilities": {"tools": {}}}, ttlMs=0, cacheScope="private")
    if method == "tools/call" and params["name"] == "ask":
        return {"result": {"resultType": "input_required", "requestState": "s", "inputRequests": {
            "who": {"method": "elicitation/create", "params": {"message": "Who?"}}}}}
    if method == "tools/call" and params["name"] == "continue" and "requestState" not in params:
        return {"result": {"resultType": "input_required", "requestState": "so far"}}
    result = answer(method, params)
    if result is None:
        return refusal(-32601, f"no {method}")
    return complete(result, **({"ttlMs": 60_000} if method == "tools/list" else {}))


def answer(method, params):
    """A result, or None."""
    if method == "initialize":
        known = params["protocolVersion"] in ("2025-06-18", "2025-11-25")
        return {"protocolVersion": params["protocolVersion"] if known else "2025-06-18",
                "capabilities": {"tools": {}}, "instructions": "Be brief.",
                "serverInfo": {"name": "issues", "version": "1.2"}}
    if method == "tools/list":
        at = int(params.get("cursor", 0))
        page = {"tools": TOOLS[at:at + PAGE]}
        return page | ({"nextCursor": str(at + PAGE)} if at + PAGE < len(TOOLS) else {})
    if method == "tools/call" and params["name"] in [each["name"] for each in TOOLS]:
        return called(params["name"], params["arguments"])
    return None


def reply(message):
    method, params = message["method"], message.get("params", {})
    result = None if IS_STATELESS else answer(method, params)
    if IS_STATELESS:
        what = stateless(method, params)
    elif result is None:
        what = refusal(-32601, f"no {method}")
    else:
        what = {"result": result}
    return {"jsonrpc": "2.0", "id": message["id"], **what}


def hangs(message):
    return message["method"] == "tools/call" and message["params"]["name"] == "hang"


def asks(message):
    return not IS_STATELESS and message["method"] == "tools/call" and message["params"]["name"] == "ask"


QUESTION = {"jsonrpc": "2.0", "id": "q1", "method": "roots/list"}


def messages():
    held = []
    for line in sys.stdin:
        held.append(json.loads(line))
        if "--slow" not in sys.argv or "initialize" in [each["method"] for each in held]:
            yield from held
            held = []
            sys.argv = [each for each in sys.argv if each != "--slow"]


def serve_pipe():
    def say(message):
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()

    print("welcome to a server that prints what no message is", flush=True)
    waiting = None
    for message in messages():
        if message.get("method") == "server/discover" and "--brittle" in sys.argv:
            sys.exit(1)
        if message.get("method") == "server/discover" and "--silent" in sys.argv:
            continue
        if "method" not in message:
            # The refusal of its own question: now the tool returns.
            say({"jsonrpc": "2.0", "id": waiting, "result": text(f"told {message['error']['code']}")})
        elif "id" not in message or hangs(message):
            continue
        elif asks(message):
            waiting = message["id"]
            say(QUESTION)
        else:
            say(reply(message))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    sessions = 0
    live = set()
    told = threading.Event()

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/elsewhere":
            return self.say(307, b"", Location="/mcp")
        if self.headers.get("Authorization") != "Bearer the-token":
            return self.say(401, b"")
        if IS_STATELESS:
            return self.say_stateless(message)
        if message.get("method") == "initialize":
            Handler.sessions += 1
            session = f"session-{Handler.sessions}"
            self.live.add(session)
            return self.say(200, json.dumps(reply(message)).encode(), **{"Mcp-Session-Id": session})
        if self.headers.get("Mcp-Session-Id") not in self.live \
                or self.headers.get("MCP-Protocol-Version") != "2025-11-25":
            return self.say(404, b"")
        if "method" not in message:
            self.told.set()
            return self.say(202, b"")
        if "id" not in message:
            return self.say(202, b"")
        if message["method"] == "tools/call" and message["params"]["name"] == "die":
            self.live.clear()  # As a server that was started anew.
            return self.say(404, b"")
        events = [reply(message)]
        if asks(message):
            events.insert(0, QUESTION)
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}
        body = "".join(f": comment\nevent: message\ndata: {json.dumps(each)}\n\n"
                       for each in [note, *events])
        return self.say(200, body.encode(), **{"Content-Type": "text/event-stream"})

    def say_stateless(self, message):
        params = message["params"]
        if mismatch := self.mismatch(message["method"], params):
            answered = {"id": message["id"], **refusal(-32020, mismatch)}
        elif params.get("name") == "die":
            return self.say(503, b"")
        else:
            answered = reply(message)
        status = 200 if "result" in answered else 400
        return self.say(status, json.dumps({"jsonrpc": "2.0", **answered}).encode())

    def mismatch(self, method, params):
        """Which header does not say what the message says."""
        expected = {"MCP-Protocol-Version": params["_meta"][META + "protocolVersion"],
                    "Mcp-Method": method, "Mcp-Name": params.get("name"), "Mcp-Session-Id": None}
        arguments = params.get("arguments", {})
        if params.get("name") == "räumen":
            expected |= {"Mcp-Param-Room": arguments.get("where", {}).get("room"),
                         "Mcp-Param-Times": arguments.get("times"),
                         "Mcp-Param-Now": arguments.get("now")}
        for name, value in expected.items():
            said = self.headers.get(name)
            if said and said.startswith("=?base64?"):
                said = base64.b64decode(said[9:-2]).decode()
            text = value if isinstance(value, str) or value is None else json.dumps(value)
            if said != text:
                return f"{name} is {said}, not {text}"
        return None

    def do_DELETE(self):
        self.live.discard(self.headers.get("Mcp-Session-Id"))
        self.say(200, b"")

    def say(self, status, body, **headers):
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve_http():
    server = http.server.ThreadingHTTPServer(ADDRESS, Handler)
    print(f"http://127.0.0.1:{server.server_address[1]}/mcp", flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    serve_http() if "--http" in sys.argv else serve_pipe()
