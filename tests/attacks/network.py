# SPDX-License-Identifier: Apache-2.0
"""A network of the test's own: a name server that says what it is told to, a web server that counts
who comes, and an HTTP proxy such as an operator may have."""

import http.server
import ipaddress
import os
import select
import socket
import struct
import threading

A, AAAA = 1, 28

# For the environment of what is to reach these and nothing else.
NO_PROXY = {name: "" for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY",
                                  "no_proxy", "NO_PROXY")}


# For a command line of glovebox: the tier that the tests of networks are asked of, where it is not
# the one that is taken by itself (tests/conformance).
TIER = os.environ.get("GLOVEBOX_NETWORK_TIER")
OF_TIER = ["--tier", TIER] if TIER else []
# In which a program has surely begun and connected, on emulated processors beside other tests, too.
TIME_TO_CONNECT = "20s" if TIER else "2s"


class NameServer:
    """Answers over UDP on 127.0.0.1. `names` maps a name to a list of lists of addresses: the first
    question about it gets the first list, the last list counts for all that follow."""

    def __init__(self, names):
        self.names = {name: [list(answer) for answer in answers] for name, answers in names.items()}
        self.asked = []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            question, peer = self.socket.recvfrom(512)
            if not question:
                return
            self.socket.sendto(self.answer(question), peer)

    def answer(self, question):
        labels, at = [], 12
        while question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode())
            at += 1 + question[at]
        name = ".".join(labels).lower()
        kind = struct.unpack_from("!H", question, at + 1)[0]
        self.asked.append((name, kind))
        known = self.names.get(name)
        addresses = []
        if known:
            turn = sum(asked == (name, kind) for asked in self.asked) - 1
            addresses = [ipaddress.ip_address(text) for text in known[min(turn, len(known) - 1)]]
        records = b""
        for address in addresses:
            if {4: A, 6: AAAA}[address.version] == kind:
                records += b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 0, len(address.packed))
                records += address.packed
        count = sum({4: A, 6: AAAA}[address.version] == kind for address in addresses)
        flags = 0x8180 | (0 if known else 3)
        return (question[:2] + struct.pack("!HHHHH", flags, 1, count, 0, 0)
                + question[12:at + 5] + records)

    def close(self):
        self.socket.sendto(b"", self.socket.getsockname())
        self.thread.join()
        self.socket.close()


class WebServer:
    """An HTTP server on 127.0.0.1 that remembers each request it got, and calls `told` then."""

    def __init__(self):
        served = self
        self.requests = []
        self.told = lambda: None

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                body = b""
                if self.headers.get("Transfer-Encoding") == "chunked":
                    while size := int(self.rfile.readline(), 16):
                        body += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                else:
                    body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                served.requests.append((self.command, self.path, dict(self.headers), body))
                served.told()
                answer = b"here you are"
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_POST = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class Upstream:
    """A proxy that knows CONNECT, and leads every name to one port of 127.0.0.1."""

    def __init__(self, port):
        self.port_behind = port
        self.heads = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            client, _ = self.listener.accept()
            head = b""
            while b"\r\n\r\n" not in head:
                piece = client.recv(4096)
                if not piece:
                    break
                head += piece
            if not head:
                client.close()
                return
            self.heads.append(head.decode())
            threading.Thread(target=self.carry, args=(client, head), daemon=True).start()

    def carry(self, client, head):
        with client, socket.create_connection(("127.0.0.1", self.port_behind)) as server:
            if head.startswith(b"CONNECT"):
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            else:
                server.sendall(head)
            splice(client, server)

    def close(self):
        socket.create_connection(("127.0.0.1", self.port)).close()
        self.thread.join()
        self.listener.close()


def splice(left, right):
    while True:
        for ready in select.select([left, right], [], [])[0]:
            data = ready.recv(65536)
            if not data:
                return
            (right if ready is left else left).sendall(data)


class RulesForOneServer:
    """The attacker may reach one server of the host, and names that lead to where it may not go. The
    name server and the allowed server tell what has really happened."""

    NAMES = {
        "loopback.example": [["127.0.0.1"]],
        "loopback6.example": [["::1"]],
        "mapped.example": [["::ffff:127.0.0.1"]],
        "metadata.example": [["169.254.169.254"]],
        "private.example": [["10.0.0.1", "192.168.0.1"]],
        "nat64.example": [["64:ff9b::7f00:1"]],
        "6to4.example": [["2002:7f00:1::1"]],
        "zero.example": [["0.0.0.0"]],
        "rebound.example": [["192.0.2.1"], ["127.0.0.1"]],
        "both.example": [["192.0.2.1", "127.0.0.1"]],
    }

    def __init__(self, host, _most):
        self.web = WebServer()
        self.names = NameServer(self.NAMES)
        host.tokens["allowed"] = str(self.web.port)
        self.options = ["--allow-net", f"127.0.0.1:{self.web.port}", "--allow-net", "*.example"]
        self.environment = {"GLOVEBOX_NAME_SERVERS": self.names.address}

    def complaints(self, verdict):
        found = []
        if verdict.get("walls", {}).get("network") != "rules":
            found.append("the verdict does not say that there are network rules")
        allowed = [connection for connection in verdict.get("connections", [])
                   if connection["verdict"] == "allowed"]
        if [(made["host"], made["port"]) for made in allowed] != [("127.0.0.1", self.web.port)] * len(allowed):
            found.append(f"the verdict tells of other connections: {allowed}")
        if len(self.web.requests) != len(allowed):
            found.append(f"{len(self.web.requests)} requests came, the verdict tells of {len(allowed)}")
        for _, path, headers, _ in self.web.requests:
            if path != "/allowed" or headers.get("Host") != f"127.0.0.1:{self.web.port}":
                found.append(f"a request for {path} of {headers.get('Host')} came")
        strange = {name for name, _ in self.names.asked if not name.endswith(".example")}
        if strange:
            found.append(f"names were looked up that no rule allows: {sorted(strange)}")
        return found

    def remove(self):
        self.web.close()
        self.names.close()
