# SPDX-License-Identifier: Apache-2.0
"""A server that says what a test tells it to, whatever it is asked."""

import json
import socket
import threading


def response(status, body=b"", **headers):
    """A whole response. Names of headers have `_` for `-`."""
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def stream(*events, end=True):
    """A chunked response of lines; without an end, the connection is cut."""
    out = b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n"
    for event in events:
        line = json.dumps(event).encode() + b"\n"
        out += b"%x\r\n%b\r\n" % (len(line), line)
    return out + (b"0\r\n\r\n" if end else b"")


class Request:
    def __init__(self, method, target, headers, body, connection):
        self.method, self.target, self.headers, self.body = method, target, headers, body
        self.connection = connection

    @property
    def json(self):
        return json.loads(self.body)


class FakeDaemon:
    """`answer` gets each Request, and returns the bytes of its response; None cuts the connection.
    A list of responses does the same, one after the other.
    """

    def __init__(self, answer):
        self.requests = []
        self._answers = answer if callable(answer) else None
        self._list = None if callable(answer) else list(answer)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self._socket.getsockname()[1]
        self._lock = threading.Lock()
        self._connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.serve(connection)

    def serve(self, connection):
        """Answers what comes over a connection of the test's own."""
        self._connections += 1
        threading.Thread(
            target=self._serve, args=(connection, self._connections), daemon=True).start()

    def _serve(self, connection, number):
        with connection, connection.makefile("rb") as file:
            while (request := self._read(file, number)) is not None:
                with self._lock:
                    self.requests.append(request)
                    if self._list is not None:
                        answer = self._list.pop(0) if self._list else None
                if self._answers is not None:
                    answer = self._answers(request)
                if answer is None:
                    return
                connection.sendall(answer)
                if b"chunked" in answer[:200] and not answer.endswith(b"0\r\n\r\n"):
                    return

    @staticmethod
    def _read(file, number):
        line = file.readline().decode()
        if not line.strip():
            return None
        method, target, _ = line.split(" ", 2)
        headers = {}
        while (line := file.readline().decode().strip()):
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        if "chunked" in headers.get("transfer-encoding", ""):
            body = b""
            while (size := int(file.readline(), 16)):
                body += file.read(size)
                file.readline()
            file.readline()
        else:
            body = file.read(int(headers.get("content-length", 0)))
        return Request(method, target, headers, body, number)
