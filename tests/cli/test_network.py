# SPDX-License-Identifier: Apache-2.0
"""Network by rule: what a program in a sandbox reaches, and what is told of it. The servers are the
test's own, on 127.0.0.1 of the host."""

import contextlib
import pathlib
import socket
import sys
import threading
import unittest

from program import Case, glovebox

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "attacks"))

from network import (  # noqa: E402
    NO_PROXY, OF_TIER, TIER, TIME_TO_CONNECT, NameServer, Upstream, WebServer)

# What a program does that knows nothing of us: the standard library finds the proxy by itself. Inside,
# 127.0.0.1 is the sandbox's own, and NO_PROXY says so; here it is the host's that is asked for.
FETCH = """
import os, sys, urllib.request, urllib.error
del os.environ["no_proxy"], os.environ["NO_PROXY"]
for url in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(url, timeout=60).read().decode())
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode().strip())
    except Exception as error:
        print(type(error).__name__, error)
"""

# A tunnel, and a plain request inside it.
TUNNEL = """
import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", 3128, timeout=60)
connection.set_tunnel(sys.argv[1], int(sys.argv[2]))
connection.request("GET", "/tunneled")
print(connection.getresponse().read().decode())
"""


def run(*words, **how):
    return glovebox("run", *OF_TIER, *words, **how)


def fetch(*words, urls=(), code=FETCH, env=None):
    return run("-l", "python", "-e", code, *words, "--", *urls, env=NO_PROXY | (env or {}))


class NetworkCase(Case):
    def setUp(self):
        super().setUp()
        self.web = WebServer()
        self.addCleanup(self.web.close)
        self.here = f"127.0.0.1:{self.web.port}"


class WithoutRules(NetworkCase):
    def test_nothing_is_reached_and_no_proxy_is_named(self):
        code = "import os; print([name for name in os.environ if 'proxy' in name.lower()])"
        answer = run("-l", "python", "-e", code, "--json", env=NO_PROXY)
        self.assertEqual(answer.verdict["stdout"], "[]\n")
        self.assertEqual(answer.verdict["walls"]["network"], "none")
        self.assertNotIn("connections", answer.verdict)
        code = f"import urllib.request; urllib.request.urlopen('http://{self.here}/')"
        self.assert_status(run("-l", "python", "-e", code, env=NO_PROXY), 1)
        self.assertEqual(self.web.requests, [])


class WithRules(NetworkCase):
    def test_what_a_rule_allows_is_reached_and_recorded(self):
        answer = fetch("--allow-net", self.here, "--json", urls=[f"http://{self.here}/path?query"])
        verdict = answer.verdict
        self.assertEqual(verdict["stdout"], "here you are\n", answer)
        self.assertEqual(verdict["walls"]["network"], "rules")
        self.assertTrue(verdict["walls"]["net_ns"])
        (made,) = verdict["connections"]
        self.assertEqual((made["host"], made["port"], made["verdict"], made["rule"],
                          made["address"], made["via"]),
                         ("127.0.0.1", self.web.port, "allowed", f"allow {self.here}",
                          "127.0.0.1", "direct"))
        self.assertGreater(made["sent"], 50)
        self.assertGreater(made["received"], len("here you are"))
        ((method, path, headers, _),) = self.web.requests
        self.assertEqual((method, path, headers["Host"]), ("GET", "/path?query", self.here))
        self.assertFalse({"Proxy-Connection", "Proxy-Authorization", "Via"} & headers.keys())

    def test_bodies_pass_whole_in_either_framing(self):
        code = """
import http.client, sys
for body, headers in ((b"x" * 300_000, {}), ((b"y" * 1000 for _ in range(300)), {})):
    connection = http.client.HTTPConnection("127.0.0.1", 3128, timeout=60)
    connection.request("POST", sys.argv[1], body, headers)
    print(connection.getresponse().status)
"""
        answer = fetch("--allow-net", self.here, urls=[f"http://{self.here}/"], code=code)
        self.assertEqual(answer.out, b"200\n200\n", answer)
        self.assertEqual([body for *_, body in self.web.requests],
                         [b"x" * 300_000, b"y" * 300_000])

    def test_a_tunnel_carries_what_it_is_given(self):
        answer = fetch("--allow-net", self.here, "--json", code=TUNNEL,
                       urls=["127.0.0.1", str(self.web.port)])
        self.assertEqual(answer.verdict["stdout"], "here you are\n", answer)
        self.assertEqual(self.web.requests[0][1], "/tunneled")
        self.assertEqual(answer.verdict["connections"][0]["verdict"], "allowed")

    def test_what_no_rule_allows_is_denied_and_recorded(self):
        other = WebServer()
        self.addCleanup(other.close)
        url = f"http://127.0.0.1:{other.port}/"
        verdict = fetch("--allow-net", self.here, "--json", urls=[url]).verdict
        self.assertIn("403", verdict["stdout"])
        self.assertIn("loopback addresses", verdict["stdout"])
        (denied,) = verdict["connections"]
        self.assertEqual((denied["verdict"], denied["rule"], denied["port"]),
                         ("denied", "loopback addresses", other.port))
        self.assertEqual(other.requests, [])

    def test_a_denying_rule_wins(self):
        verdict = fetch("--allow-net", "127.0.0.0/8", "--deny-net", self.here, "--json",
                        urls=[f"http://{self.here}/"]).verdict
        self.assertEqual(verdict["connections"][0]["rule"], f"deny {self.here}")
        self.assertEqual(self.web.requests, [])

    def test_connections_are_events_as_they_end(self):
        events = fetch("--allow-net", self.here, "--events", urls=[f"http://{self.here}/"]).events
        (made,) = [event for event in events if event["type"] == "connection"]
        self.assertEqual((made["host"], made["verdict"]), ("127.0.0.1", "allowed"))
        self.assertEqual(events[-1]["type"], "verdict")

    def test_the_long_name_of_the_option_is_the_same(self):
        answer = fetch("--allow-host", self.here, urls=[f"http://{self.here}/"])
        self.assertEqual(answer.out, b"here you are\n", answer)

    def test_variables_of_the_caller_stay(self):
        code = "import os; print(os.environ['HTTP_PROXY'], os.environ['no_proxy'])"
        answer = run("-l", "python", "-e", code, "--allow-net", self.here,
                     "--env", "HTTP_PROXY=mine", env=NO_PROXY)
        self.assertEqual(answer.out, b"mine localhost,127.0.0.1,::1\n")

    def test_the_namespace_still_has_nothing_but_loopback(self):
        code = "import socket; print([name for _, name in socket.if_nameindex()])"
        answer = run("-l", "python", "-e", code, "--allow-net", self.here, env=NO_PROXY)
        self.assertEqual(answer.out, b"['lo']\n")

    def test_the_proxy_outlives_no_run(self):
        code = "import socket; socket.create_connection(('127.0.0.1', 3128)).recv(1)"
        answer = run("-l", "python", "-e", code, "--allow-net", self.here, "--time", TIME_TO_CONNECT, "--json",
                     env=NO_PROXY)
        self.assertEqual(answer.verdict["status"], "timeout")
        (cut,) = answer.verdict["connections"]
        self.assertEqual(cut["verdict"], "failed")

    def test_live_interpreters_have_them_too(self):
        code = ("import os, urllib.request; del os.environ['no_proxy'], os.environ['NO_PROXY']\n"
                f"urllib.request.urlopen('http://{self.here}/').read()\n")
        answer = glovebox("repl", *OF_TIER, "-l", "python", "--allow-net", self.here, stdin=code.encode(),
                          env=NO_PROXY)
        self.assertIn(b"here you are", answer.out, answer)


class Names(NetworkCase):
    def serve(self, names):
        server = NameServer(names)
        self.addCleanup(server.close)
        return server

    def fetch(self, server, url, *words):
        return fetch("--allow-net", "*.example", "--json", *words, urls=[url],
                     env={"GLOVEBOX_NAME_SERVERS": server.address}).verdict

    def test_are_looked_up_outside_and_every_address_is_checked(self):
        server = self.serve({"web.example": [["127.0.0.1"]]})
        url = f"http://web.example:{self.web.port}/"
        denied = self.fetch(server, url)
        self.assertIn("loopback addresses", denied["stdout"])
        self.assertEqual(self.web.requests, [])
        allowed = self.fetch(server, url, "--allow-net", self.here)
        self.assertEqual(allowed["stdout"], "here you are\n", allowed)
        self.assertEqual(allowed["connections"][0]["host"], "web.example")
        self.assertEqual(self.web.requests[0][2]["Host"], f"web.example:{self.web.port}")

    def test_that_no_rule_allows_are_not_looked_up(self):
        server = self.serve({})
        self.assertIn("403", self.fetch(server, "http://secret.test/")["stdout"])
        self.assertEqual(server.asked, [])

    def test_that_do_not_exist_are_a_failure_and_no_denial(self):
        verdict = self.fetch(self.serve({}), "http://none.example/")
        self.assertIn("502", verdict["stdout"])
        self.assertEqual(verdict["connections"][0]["verdict"], "failed")

    def test_bound_anew_lead_nowhere_else(self):
        # Looked up once for each connection, and dialed as it was checked.
        server = self.serve({"web.example": [["192.0.2.1"], ["127.0.0.1"]]})
        for _ in range(2):
            verdict = self.fetch(server, f"http://web.example:{self.web.port}/")
            self.assertEqual(verdict["connections"][0]["verdict"], "denied")
        self.assertEqual(self.web.requests, [])


# Programs that know no proxy. What they connect to looks like any other server.
PLAIN = """
import os, socket, sys
for name in list(os.environ):
    if name.lower().endswith("_proxy"):
        del os.environ[name]

def attempt(work):
    try:
        print(work())
    except OSError as error:
        print(type(error).__name__)

def speak(host, port, text=b"GET /plain HTTP/1.0\\r\\n\\r\\n"):
    with socket.create_connection((host, int(port)), timeout=60) as server:
        server.sendall(text)
        heard = b""
        while piece := server.recv(4096):
            heard += piece
        return heard.splitlines()[-1].decode()
"""


class WithoutAProxy(NetworkCase):
    def setUp(self):
        super().setUp()
        self.names = NameServer({"web.example": [["127.0.0.1"]]})
        self.addCleanup(self.names.close)

    def run_plain(self, code, *words, env=None):
        return fetch("--allow-net", "*.example", "--allow-net", self.here, "--json", *words,
                     code=PLAIN + code,
                     env={"GLOVEBOX_NAME_SERVERS": self.names.address, **(env or {})}).verdict

    def test_a_name_that_a_rule_allows_is_reached(self):
        verdict = self.run_plain(f"attempt(lambda: speak('WEB.example', {self.web.port}))")
        self.assertEqual(verdict["stdout"], "here you are\n", verdict)
        (made,) = verdict["connections"]
        self.assertEqual((made["host"], made["port"], made["address"], made["verdict"], made["rule"]),
                         ("web.example", self.web.port, "127.0.0.1", "allowed", f"allow {self.here}"))

    def test_other_names_and_addresses_are_reset_and_recorded(self):
        verdict = self.run_plain("""
for place in (("secret.test", 443), ("192.0.2.7", 25), ("169.254.169.254", 443), ("198.18.9.9", 1)):
    attempt(lambda: speak(*place))
""")
        # Where QEMU's network stack is between, it may learn of the reset before the program has
        # its connection.
        cut = verdict["stdout"].replace("Refused", "Reset") if TIER == "microvm" else verdict["stdout"]
        self.assertEqual(cut, "ConnectionResetError\n" * 4, verdict)
        self.assertEqual({(made["host"], made["verdict"], made["rule"])
                          for made in verdict["connections"]},
                         {("secret.test", "denied", "default"), ("192.0.2.7", "denied", "reserved addresses"),
                          ("169.254.169.254", "denied", "metadata addresses"),
                          ("198.18.9.9", "denied", "reserved addresses")})
        self.assertEqual(self.names.asked, [])

    def test_names_are_not_looked_up_before_a_connection_is_allowed(self):
        verdict = self.run_plain("""
for name in ("web.example", "data.leaves.example", "data.leaves.test"):
    attempt(lambda: socket.gethostbyname(name).startswith(("198.18.", "198.19.")))
attempt(lambda: socket.gethostbyname("no host name"))
""")
        self.assertEqual(verdict["stdout"], "True\nTrue\nTrue\ngaierror\n", verdict)
        self.assertEqual(self.names.asked, [])

    def test_a_request_to_port_80_is_held_to_its_host(self):
        upstream = Upstream(self.web.port)
        self.addCleanup(upstream.close)
        verdict = self.run_plain("""
for host in ("far.example", "other.example", "far.example:81"):
    attempt(lambda: speak("far.example", 80, b"GET /x HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" % host.encode()))
attempt(lambda: speak("secret.test", 80, b"GET /x HTTP/1.1\\r\\nHost: secret.test\\r\\n\\r\\n"))
""", env={"http_proxy": f"http://127.0.0.1:{upstream.port}"})
        refused = "glovebox: the Host header does not name the host that was connected to\n"
        self.assertEqual(verdict["stdout"], "here you are\n" + refused * 2
                         + "glovebox: secret.test:80: not allowed: default\n", verdict)
        (head,) = upstream.heads
        self.assertIn("GET http://far.example/x HTTP/1.1\r\nHost: far.example\r\n", head)

    def test_tls_is_held_to_its_host(self):
        upstream = Upstream(self.web.port)
        self.addCleanup(upstream.close)
        verdict = self.run_plain("""
import ssl
context = ssl.create_default_context()
def shake(host, asked):
    with socket.create_connection((host, 443), timeout=60) as server:
        context.wrap_socket(server, server_hostname=asked)
for asked in ("far.example", "other.example"):
    try:
        shake("far.example", asked)
    except ssl.SSLError as error:
        print(error.reason)
""", env={"https_proxy": f"http://127.0.0.1:{upstream.port}"})
        first, second = verdict["stdout"].splitlines()
        self.assertNotIn("UNRECOGNIZED_NAME", first)  # The server behind it speaks no TLS.
        self.assertIn("UNRECOGNIZED_NAME", second)
        allowed, denied = sorted(verdict["connections"], key=lambda made: made["verdict"])
        self.assertEqual((allowed["verdict"], denied["verdict"]), ("allowed", "denied"))
        self.assertIn("TLS asks for 'other.example'", denied["reason"])
        self.assertEqual(denied["sent"], 0)

    def test_a_server_may_speak_first(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(120)
            port = listener.getsockname()[1]

            def greet():
                with contextlib.suppress(OSError), listener.accept()[0] as guest:
                    guest.sendall(b"220 ready\n")
                    guest.recv(1)

            thread = threading.Thread(target=greet)
            thread.start()
            verdict = self.run_plain(
                f"print(socket.create_connection(('web.example', {port}), 60).recv(9))",
                "--allow-net", f"127.0.0.1:{port}")
            thread.join()
        self.assertEqual(verdict["stdout"], "b'220 ready'\n", verdict)

    def test_what_is_no_tcp_fails_at_once(self):
        verdict = self.run_plain("""
for address in (("192.0.2.7", 53), ("8.8.8.8", 443)):
    attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", address))
attempt(lambda: socket.create_connection(("2001:db8::7", 443), 60))
""")
        self.assertEqual(verdict["stdout"], "PermissionError\n" * 2 + "OSError\n", verdict)

    def test_its_own_loopback_stays_the_sandboxs(self):
        verdict = self.run_plain("""
server = socket.create_server(("0.0.0.0", 8080))
client = socket.create_connection(("127.0.0.1", 8080), 60)
server.accept()[0].sendall(b"own")
print(client.recv(3))
""")
        self.assertEqual(verdict["stdout"], "b'own'\n", verdict)
        self.assertNotIn("connections", {k: v for k, v in verdict.items() if v})


class ThroughTheProxyOfTheHost(NetworkCase):
    def setUp(self):
        super().setUp()
        self.upstream = Upstream(self.web.port)
        self.addCleanup(self.upstream.close)
        self.proxy = f"http://operator:pass%20word@127.0.0.1:{self.upstream.port}"

    def test_a_name_is_not_looked_up_here_and_the_guest_sees_no_credentials(self):
        answer = fetch("--allow-net", "far.example:443", "--json", code=TUNNEL + "\nimport os; print(os.environ)",
                       urls=["far.example", "443"], env={"HTTPS_PROXY": self.proxy})
        self.assertTrue(answer.verdict["stdout"].startswith("here you are\n"), answer)
        self.assertNotIn("operator", answer.verdict["stdout"])
        (made,) = answer.verdict["connections"]
        self.assertEqual((made["via"], made["address"], made["rule"]),
                         ("upstream", None, "allow far.example:443"))
        (head,) = self.upstream.heads
        self.assertIn("CONNECT far.example:443 HTTP/1.1\r\n", head)
        self.assertIn("Proxy-Authorization: Basic b3BlcmF0b3I6cGFzcyB3b3Jk\r\n", head)

    def test_a_plain_request_goes_on_as_a_whole_url(self):
        answer = fetch("--allow-net", "far.example", urls=["http://far.example/x"],
                       env={"http_proxy": self.proxy})
        self.assertEqual(answer.out, b"here you are\n", answer)
        self.assertIn("GET http://far.example/x HTTP/1.1\r\n", self.upstream.heads[0])

    def test_the_rules_hold_as_without_it(self):
        answer = fetch("--allow-net", "far.example", "--json",
                       urls=["http://other.example/", "http://169.254.169.254/"],
                       env={"http_proxy": self.proxy, "https_proxy": self.proxy})
        self.assertEqual([made["verdict"] for made in answer.verdict["connections"]],
                         ["denied", "denied"])
        self.assertEqual(self.upstream.heads, [])

    def test_what_no_proxy_names_goes_straight(self):
        server = NameServer({"near.example": [["127.0.0.1"]]})
        self.addCleanup(server.close)
        answer = fetch("--allow-net", "*.example", "--allow-net", self.here, "--json",
                       urls=[f"http://near.example:{self.web.port}/"],
                       env={"http_proxy": self.proxy, "no_proxy": "near.example",
                            "GLOVEBOX_NAME_SERVERS": server.address})
        self.assertEqual(answer.verdict["connections"][0]["via"], "direct")
        self.assertEqual(self.upstream.heads, [])


class Mistakes(Case):
    def refused(self, *words, env=None):
        answer = run("-l", "sh", "-e", "true", *words, env=NO_PROXY | (env or {}))
        self.assertIn("hint:", answer.message)
        return answer

    def test_a_rule_that_is_none_is_refused(self):
        for rule in ("http://a.example", "127.1", "a.example.", "*", "a.example:0", "[::1]"):
            with self.subTest(rule=rule):
                self.assert_status(self.refused("--allow-net", rule), 2)

    def test_denying_alone_is_refused(self):
        self.assert_status(self.refused("--deny-net", "a.example"), 2)

    def test_a_tier_without_a_network_refuses(self):
        answer = glovebox("run", "-l", "sh", "-e", "true", "--allow-net", "a.example",
                          "--tier", "landlock", env=NO_PROXY)
        self.assertIn("hint:", answer.message)
        self.assert_status(answer, 125)

    def test_a_proxy_of_the_host_that_cannot_be_used_is_named_without_its_password(self):
        answer = self.refused("--allow-net", "a.example",
                              env={"HTTPS_PROXY": "socks5://me:secret@a.example"})
        self.assert_status(answer, 2)
        self.assertIn("HTTPS_PROXY", answer.message)
        self.assertNotIn("secret", answer.message)


if __name__ == "__main__":
    unittest.main()
