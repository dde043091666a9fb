# SPDX-License-Identifier: Apache-2.0
"""A client of `glovebox mcp` that is as plain as can be: it writes lines and reads lines."""
import json
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from plain_python import configure_plain_python  # noqa: E402

GLOVEBOX = os.environ.get("GLOVEBOX", "glovebox")
PATIENCE_S = 120
STATELESS = "2026-07-28"
CONFIG = tempfile.TemporaryDirectory(prefix="glovebox-mcp-config-")
configure_plain_python(CONFIG.name)


class Client:
    """`version` is a revision with `initialize`, STATELESS, or None for neither. `capabilities` are the
    client's; `respond` gets the requests of the server, and returns the results, or None to be silent.
    `as_shipped`: with the libraries that Python imports before it is asked for."""

    def __init__(self, *options, version="2025-11-25", capabilities=None, respond=None,
                 as_shipped=False):
        self.process = subprocess.Popen([GLOVEBOX, "mcp", *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=os.environ if as_shipped else
                                        os.environ | {"XDG_CONFIG_HOME": CONFIG.name})
        self.arrived = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.errors = []
        self.error_reader = threading.Thread(
            target=lambda: self.errors.extend(self.process.stderr), daemon=True)
        self.error_reader.start()
        self.notes = []
        self.responses = {}
        self.last_id = 0
        self.version = version
        self.capabilities = capabilities or {}
        self.respond = respond
        if version and version != STATELESS:
            self.first = self.request("initialize", {
                "protocolVersion": version, "capabilities": self.capabilities,
                "clientInfo": {"name": "test", "version": "1"}})["result"]
            self.notify("notifications/initialized")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _read(self):
        for line in self.process.stdout:
            self.arrived.put(json.loads(line))
        self.arrived.put(None)

    def close(self):
        """The exit status, after the end of our messages."""
        if self.process.stdout.closed:
            return self.process.returncode
        self.process.stdin.close()
        status = self.process.wait(PATIENCE_S)
        self.reader.join()
        self.error_reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return status

    def write(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def send(self, method, params=None, **meta):
        """Sends a request; its id."""
        self.last_id += 1
        params = dict(params or {})
        if self.version == STATELESS:
            meta = {"io.modelcontextprotocol/protocolVersion": STATELESS,
                    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                    "io.modelcontextprotocol/clientCapabilities": self.capabilities} | meta
        if meta:
            params["_meta"] = meta
        self.write(json.dumps({"jsonrpc": "2.0", "id": self.last_id, "method": method,
                               "params": params}))
        return self.last_id

    def notify(self, method, params=None):
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}}))

    def take(self):
        """The next message, whatever it is."""
        message = self.arrived.get(timeout=PATIENCE_S)
        if message is None:
            raise EOFError("the server has ended: " + b"".join(self.errors).decode())
        return message

    def wait(self, number):
        """The response to a request; notifications that come before it are kept."""
        while number not in self.responses:
            message = self.take()
            if "method" in message and "id" in message:
                result = self.respond(message)
                if result is not None:
                    self.write(json.dumps({"jsonrpc": "2.0", "id": message["id"],
                                           "result": result}))
            elif "method" in message:
                self.notes.append(message)
            else:
                self.responses[message.get("id")] = message
        return self.responses.pop(number)

    def request(self, method, params=None, **meta):
        return self.wait(self.send(method, params, **meta))

    def call(self, tool, **arguments):
        """The result of a tool."""
        answer = self.request("tools/call", {"name": tool, "arguments": arguments})
        return answer["result"]


def text_of(result):
    return "\n".join(each["text"] for each in result["content"] if each["type"] == "text")
