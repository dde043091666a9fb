# SPDX-License-Identifier: Apache-2.0
"""A place behind a name that rules allow: it notes what really came, and asks the sandbox in return."""

import socket
import threading

from network import NameServer


class Place:
    """A server on 127.0.0.1 that answers `seen` to the first bytes of a connection, or, where they
    are a request, a redirect to `elsewhere`; and notes all bytes of each."""

    def __init__(self, elsewhere):
        self.redirect = (f"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{elsewhere}/\r\n"
                         "Content-Length: 0\r\nConnection: close\r\n\r\n").encode()
        self.received = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.ended = False
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            client, _ = self.listener.accept()
            if self.ended:
                client.close()
                return
            threading.Thread(target=self.hear, args=(client,), daemon=True).start()

    def hear(self, client):
        heard = bytearray()
        self.received.append(heard)
        try:
            with client:
                while piece := client.recv(65536):
                    if not heard:
                        client.sendall(self.redirect if piece.startswith(b"GET") else b"seen")
                    heard += piece
        except OSError:
            pass

    def close(self):
        self.ended = True
        socket.create_connection(("127.0.0.1", self.port)).close()
        self.thread.join()
        self.listener.close()


class RulesForOneName:
    """The attacker may reach one server, by the names of one domain, and may send 4 MiB there in 500
    connections. What it listens at itself is tried from outside as long as it runs."""

    SENT = 4 << 20
    CONNECTIONS = 500

    def __init__(self, host, _most):
        self.place = Place(host.tokens["port"])
        self.names = NameServer({"a.example": [["127.0.0.1"]], "b.example": [["127.0.0.1"]],
                                 "metadata.google.internal": [["169.254.169.254"]]})
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.inbound = free.getsockname()[1]
        host.tokens |= {"allowed": str(self.place.port), "inbound": str(self.inbound)}
        rules = ("*.example", f"127.0.0.1:{self.place.port}", "metadata.google.internal")
        self.options = [word for rule in rules for word in ("--allow-net", rule)]
        self.options += ["--net-sent", str(self.SENT), "--net-connections", str(self.CONNECTIONS)]
        self.environment = {"GLOVEBOX_NAME_SERVERS": self.names.address}
        self.came_in = 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.try_from_outside)
        self.thread.start()

    def try_from_outside(self):
        while not self.over.wait(0.05):
            for address in ("127.0.0.1", "::1"):
                try:
                    socket.create_connection((address, self.inbound), timeout=5).close()
                    self.came_in += 1
                except OSError:
                    pass

    def complaints(self, verdict):
        found = []
        made = verdict.get("connections", [])
        allowed = [each for each in made if each["verdict"] == "allowed"]
        if {each["port"] for each in allowed} - {self.place.port}:
            found.append(f"the verdict tells of other connections: {allowed}")
        if any(b"b.example" in heard[:2000] for heard in self.place.received):
            found.append("TLS asked for another host than that of its connection")
        if (sent := sum(map(len, self.place.received))) > self.SENT + 1:
            found.append(f"{sent} bytes came")
        if len(self.place.received) > self.CONNECTIONS:
            found.append(f"{len(self.place.received)} connections came")
        if self.came_in:
            found.append("what the attacker listens at was reached from outside")
        strange = {(name, kind) for name, kind in self.names.asked
                   if kind not in (1, 28) or name not in self.names.names}
        if strange:
            found.append(f"questions left that no connection needs: {sorted(strange)}")
        return found

    def remove(self):
        self.over.set()
        self.thread.join()
        self.place.close()
        self.names.close()
