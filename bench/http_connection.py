# SPDX-License-Identifier: Apache-2.0
"""How benchmarks talk to the daemon."""
import re
import socket


class HttpConnection:
    """A kept connection that knows no more of HTTP than it needs: its own time is little."""

    def __init__(self, address, key, patience_s=None):
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), patience_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.headers = (f"Host: {address}\r\nAuthorization: Bearer {key}\r\n"
                        "Content-Type: application/json\r\nContent-Length: ")

    def ask(self, method, path, body=""):
        """The status and the body of the answer."""
        self.socket.sendall(
            f"{method} {path} HTTP/1.1\r\n{self.headers}{len(body)}\r\n\r\n{body}".encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self.read()
        head, _, text = answer.partition(b"\r\n\r\n")
        length = re.search(rb"(?im)^content-length: *(\d+)", head)
        while length and len(text) < int(length[1]):
            text += self.read()
        return int(head.split(b" ", 2)[1]), text

    def read(self):
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError("the daemon has hung up")
        return data
