#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Network rules in the tier `microvm`: what a machine reaches through its card, and what somebody
reaches who has taken its kernel or QEMU over. The servers are the test's own, on this machine's
loopback interface. Exit status 77, with the reason, where no machine can run.

    GLOVEBOX=build/release/bin/glovebox tests/microvm/run_network.py [NAME…]
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

import run_microvm
from run_microvm import GLOVEBOX, PATIENCE_S, SKIPPED, Machines, why_not_here

sys.path.insert(0, str(run_microvm.ROOT / "tests/attacks"))

from network import NO_PROXY, NameServer, WebServer  # noqa: E402

QEMU = "/usr/bin/qemu-system-x86_64"
# A program of the same package that can be covered.
REAL_QEMU = "/usr/bin/qemu-system-i386"

# What every program in these tests begins with.
SPEAK = """
import os, socket, sys, urllib.request, urllib.error
for name in list(os.environ):
    if name.lower() == "no_proxy":
        del os.environ[name]

def attempt(work, *arguments):
    try:
        print(work(*arguments), flush=True)
    except OSError as error:
        print(type(error).__name__, flush=True)

# A reset may come before QEMU has told the machine that there is a connection.
def reach(host, port):
    try:
        return speak(host, port)
    except (ConnectionResetError, ConnectionRefusedError):
        return "refused"

def fetch(url):
    try:
        return urllib.request.urlopen(url, timeout=60).read().decode()
    except urllib.error.HTTPError as error:
        return error.code

def speak(host, port):
    with socket.create_connection((host, port), 60) as server:
        server.sendall(b"GET /plain HTTP/1.0\\r\\n\\r\\n")
        heard = b""
        while piece := server.recv(4096):
            heard += piece
        return heard.splitlines()[-1].decode()
"""


class NetworkCase(Machines):
    def setUp(self):
        super().setUp()
        self.web = self.serve(WebServer())
        self.other = self.serve(WebServer())
        self.names = self.serve(NameServer({"web.example": [["127.0.0.1"]]}))
        self.here = f"127.0.0.1:{self.web.port}"
        self.there = f"127.0.0.1:{self.other.port}"

    def serve(self, server):
        self.addCleanup(server.close)
        return server

    def environment(self):
        return super().environment() | NO_PROXY | {"GLOVEBOX_NAME_SERVERS": self.names.address}

    def start_python(self, code, *options, before=(), stdin=subprocess.DEVNULL):
        return subprocess.Popen(
            [*before, GLOVEBOX, "run", "--tier", "microvm", "--json", "--time", "3m", "-l", "python",
             "-e", SPEAK + code, *options],
            env=self.environment(), stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)

    def run_python(self, code, *options):
        with self.start_python(code, *options) as run:
            out, err = run.communicate(timeout=2 * PATIENCE_S)
        self.assertTrue(out.startswith("{"), out + err)
        return json.loads(out)


class Machine(NetworkCase):
    def test_reaches_what_a_rule_allows_and_nothing_else(self):
        verdict = self.run_python(f"""
attempt(fetch, "http://{self.here}/allowed")
attempt(fetch, "http://{self.there}/denied")
attempt(fetch, "http://secret.test/")
attempt(speak, "web.example", {self.web.port})
attempt(reach, "web.example", {self.other.port})
attempt(reach, "169.254.169.254", 443)
attempt(speak, "127.0.0.1", {self.web.port})
attempt(lambda: socket.gethostbyname("data.leaves.test").startswith(("198.18.", "198.19.")))
""", "--allow-net", self.here, "--allow-net", "*.example")
        self.assertEqual(verdict["stdout"].splitlines(), [
            "here you are", "403", "403", "here you are", "refused", "refused",
            "ConnectionRefusedError", "True"], verdict)
        self.assert_cloned(verdict)
        self.assertEqual(verdict["walls"]["network"], "rules")
        self.assertTrue(verdict["walls"]["net_ns"])
        self.assertEqual([path for _, path, *_ in self.web.requests], ["/allowed", "/plain"])
        self.assertEqual(self.other.requests, [])
        self.assertEqual({name for name, _ in self.names.asked}, {"web.example"})
        self.assertEqual(
            [(made["host"], made["port"], made["verdict"], made["rule"]) for made in verdict["connections"]],
            [("127.0.0.1", self.web.port, "allowed", f"allow {self.here}"),
             ("127.0.0.1", self.other.port, "denied", "loopback addresses"),
             ("secret.test", 80, "denied", "default"),
             ("web.example", self.web.port, "allowed", f"allow {self.here}"),
             ("web.example", self.other.port, "denied", "loopback addresses"),
             ("169.254.169.254", 443, "denied", "metadata addresses")])

    def test_keeps_its_own_loopback_and_sends_no_datagrams(self):
        verdict = self.run_python("""
server = socket.create_server(("0.0.0.0", 8080))
client = socket.create_connection(("127.0.0.1", 8080), 60)
server.accept()[0].sendall(b"own")
print(client.recv(3))
attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.7", 443)))
attempt(socket.create_connection, ("2001:db8::7", 443), 60)
attempt(open, "/proc/sys/net/ipv4/ip_forward", "w")
""", "--allow-net", self.here)
        self.assertEqual(verdict["stdout"].splitlines(), [
            "b'own'", "PermissionError", "OSError", "PermissionError"], verdict)
        self.assertEqual(verdict["connections"], [])

    def test_without_rules_has_no_card(self):
        verdict = self.run_python("print([name for _, name in socket.if_nameindex()])\n"
                                  f"attempt(speak, '127.0.0.1', {self.web.port})\n")
        self.assertEqual(verdict["stdout"].splitlines(), ["['lo']", "ConnectionRefusedError"], verdict)
        self.assertEqual(verdict["walls"]["network"], "none")
        self.assertEqual(self.web.requests, [])


# Beside the real QEMU, as the same user, in the same sandbox and under the same filter: what code in
# its place can reach. It tells the one server that it may reach, once the machine's guest runs.
BESIDE_QEMU = f"""#!/usr/bin/python3 -IB
import os, sys
if "-incoming" in sys.argv and os.fork() == 0:
    import socket, urllib.parse
    os.closerange(3, 1024)
    def attempt(work):
        try:
            return str(work())
        except OSError as error:
            return type(error).__name__
    def answer(port, request):
        with socket.create_connection(("127.0.0.1", port), 120) as server:
            server.sendall(request)
            return server.recv(4096).split()[1].decode()
    def get(place):
        return answer(3128, f"GET http://{{place}} HTTP/1.1\\r\\nHost: {{place.partition('/')[0]}}\\r\\n\\r\\n".encode())
    def listening():
        # All that somebody listens to in this namespace, and that has a name without a file.
        ports = [(line.split()[1], line.split()[3]) for kind in ("tcp", "tcp6", "udp", "udp6")
                 for line in open("/proc/net/" + kind).readlines()[1:]]
        ports = sorted(f"{{int(at.split(':')[1], 16)}}" for at, state in ports if state in ("0A", "07"))
        named = [line for line in open("/proc/net/unix") if "@" in line]
        return ports + named
    here, there = @here@, @there@
    said = dict(
        allowed=attempt(lambda: get(here + "/from-qemu")),
        denied=attempt(lambda: get(there + "/from-qemu")),
        direct=attempt(lambda: socket.create_connection(("127.0.0.1", int(there.split(":")[1])), 5)),
        led=attempt(lambda: socket.create_connection(("192.0.2.1", 9), 60).recv(1)),
        datagram=attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53))),
        raw=attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)),
        packet=attempt(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW)),
        cards=str([name for _, name in socket.if_nameindex()]),
        listening=attempt(listening))
    get(here + "/said?" + urllib.parse.urlencode(said))
    os._exit(0)
os.execv({REAL_QEMU!r}, [{QEMU!r}, *sys.argv[1:]])
"""


@unittest.skipIf(os.geteuid() != 0, "covers QEMU by a mount, which takes root")
class QemuThatWasTakenOver(NetworkCase):
    def setUp(self):
        super().setUp()
        self.told = threading.Event()

    def test_reaches_what_the_rules_allow_and_nothing_else(self):
        place = pathlib.Path(tempfile.mkdtemp(prefix="gb-microvm."))
        self.addCleanup(shutil.rmtree, place)
        place.chmod(0o755)
        covering = place / "qemu"
        covering.write_text(BESIDE_QEMU.replace("@here@", repr(self.here)).replace("@there@", repr(self.there)))
        covering.chmod(0o755)
        script = f"mount --bind {QEMU} {REAL_QEMU} && mount --bind {covering} {QEMU} && exec \"$@\""
        self.web.told = self.come
        with self.start_python("sys.stdin.read()", "--allow-net", self.here, stdin=subprocess.PIPE,
                               before=["unshare", "--mount", "sh", "-c", script, "sh"]) as run:
            self.told.wait(PATIENCE_S)
            out, err = run.communicate(timeout=PATIENCE_S)
        self.assertEqual(json.loads(out)["status"], "ok", out + err)
        (said,) = [path for _, path, *_ in self.web.requests if path.startswith("/said?")]
        self.assertEqual(dict(urllib.parse.parse_qsl(said.partition("?")[2])), {
            "allowed": "200", "denied": "403", "direct": "ConnectionRefusedError",
            "led": "ConnectionResetError", "datagram": "PermissionError", "raw": "PermissionError",
            "packet": "OSError", "cards": "['lo']", "listening": "['3128', '53']"})
        self.assertEqual(self.other.requests, [])

    def come(self):
        if self.web.requests[-1][1].startswith("/said?"):
            self.told.set()


if __name__ == "__main__":
    if why := why_not_here():
        print(f"skipped: {why}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
