# SPDX-License-Identifier: Apache-2.0
"""`glovebox replay` from what the network answered: `serve --audit-network`. Servers, names and
authority are the test's own."""

import contextlib
import http.server
import json
import pathlib
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "attacks"))

import taken_over  # noqa: E402
from daemon import GLOVEBOX, wait_until  # noqa: E402
from reaching_daemon import start_reaching  # noqa: E402
from secure_network import Authority  # noqa: E402
from test_network import sandbox_with_native_tier  # noqa: E402

VALUE = "the-real-value-of-the-secret"
BIG = 9 << 20

PRELUDE = """
import hashlib, os, socket, sys, urllib.request, urllib.error
def ask(url, body=None, **headers):
    request = urllib.request.Request(url, data=body, headers=headers)
    try:
        return urllib.request.urlopen(request, timeout=60).read().decode()
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read().decode().strip()}"
    except OSError as error:
        return str(error)
"""


class CountingServer:
    """Answers each request with how many there were, and what it was asked. /big is too large for a
    recording, and /auth repeats the header Authorization, cut in two."""

    def __init__(self, certificate=None, asked=lambda: None):
        served = self
        self.count = 0

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 60

            def do_GET(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                served.count += 1
                asked()
                answer = f"{served.count} {self.command} {self.path} {body.decode()}".encode()
                if self.path == "/big":
                    answer = b"x" * BIG
                if self.path == "/auth":
                    answer = str(self.headers["Authorization"]).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                middle = len(answer) - 10
                for piece in (answer[:middle], answer[middle:]):
                    self.wfile.write(piece)
                    self.wfile.flush()

            do_POST = do_GET

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # A guest may end a connection as it likes.

            def finish_request(self, request, address):
                if certificate is None:
                    super().finish_request(request, address)
                    return
                with context.wrap_socket(request, server_side=True) as secure:
                    super().finish_request(secure, address)

        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()

    def close(self):
        if self.thread.is_alive():
            self.server.shutdown()
            self.thread.join()
            self.server.server_close()


class GreetingServer:
    """A protocol of lines in which the server speaks first, and tells how many came before."""

    def __init__(self):
        self.count = 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            try:
                line, _ = self.socket.accept()
            except OSError:
                return
            self.count += 1
            with line:
                line.settimeout(60)
                line.sendall(f"hello {self.count}\n".encode())
                word = line.makefile("rb").readline()
                line.sendall(b"you said " + word)

    def close(self):
        if self.thread.is_alive():
            self.socket.shutdown(socket.SHUT_RDWR)
            self.socket.close()
            self.thread.join()


GREET = """
def greet(port, word):
    line = socket.create_connection(("plain.example", port), timeout=60)
    said = line.makefile("rwb")
    first = said.readline()
    said.write(word + b"\\n"); said.flush()
    return (first + said.read()).decode()
"""


class Recording(unittest.TestCase):
    wrapper = ()

    @classmethod
    def setUpClass(cls):
        keys = tempfile.mkdtemp(prefix="glovebox-test-ca.")
        cls.addClassCleanup(shutil.rmtree, keys, ignore_errors=True)
        cls.authority = Authority(keys)
        cls.certificate = cls.authority.issue("api.example")
        cls.daemon = start_reaching(cls, cls.authority, ("api.example", "plain.example"),
                                    options=("--audit-network", "12M"), wrapper=cls.wrapper)
        if not sandbox_with_native_tier(cls.daemon):
            raise unittest.SkipTest("the native tier does not work here")
        cls.daemon.must(201, "POST", "/secrets", {"name": "api key", "value": VALUE})

    def serve(self, server):
        self.addCleanup(server.close)
        return server

    def network(self, *servers, **more):
        allow = [f"127.0.0.1:{server.port}" for server in servers]
        allow += [f"{name}.example:{server.port}" for name in ("api", "plain") for server in servers]
        return {"allow": allow, **more}

    def ran(self, code, network, key="own", **more):
        verdict = self.daemon.must(200, "POST", "/v1/run", {
            "language": "python", "code": PRELUDE + GREET + code, "network": network, **more}, key=key)
        self.assertEqual(verdict["status"], "ok", verdict)
        return verdict

    def replay(self, *words, key=()):
        return subprocess.run([GLOVEBOX, "replay", *words, "--url", f"unix:{self.daemon.unix}", *key],
                              capture_output=True, text=True, check=False)

    def end_of(self, verdict):
        found = self.daemon.must(
            200, "GET", f"/v1/audit?newest=1&action=run.end&sandbox={verdict['id']}")["records"]
        return found[0]["details"]

    def file_of(self, verdict):
        start = self.end_of(verdict)["start"]
        return next(pathlib.Path(self.daemon.data, "audit/network").glob(f"{start:020}.*"))

    def verify(self):
        return subprocess.run([GLOVEBOX, "audit", "verify", "--data", str(self.daemon.data)],
                              capture_output=True, text=True, check=False)


class RecordedNetwork(Recording):
    def test_plain_and_secure_answers_are_the_same_again_without_their_servers(self):
        plain, secure = self.serve(CountingServer()), self.serve(CountingServer(self.certificate))
        code = f"""
for path in ("/a", "/b", "/a", "/a"):
    print(ask("http://plain.example:{plain.port}" + path))
    print(ask("https://api.example:{secure.port}" + path))
print(ask("https://api.example:{secure.port}/post", b"body"))
print(ask("http://plain.example:{plain.port}/post", b"body"))
"""
        verdict = self.ran(code, self.network(plain, secure))
        self.assertIn("5 POST /post body\n", verdict["stdout"])
        self.assertEqual(self.end_of(verdict)["network_recording"]["bytes"],
                         self.file_of(verdict).stat().st_size)
        plain.close()
        secure.close()
        again = self.replay(verdict["id"])
        self.assertEqual((again.returncode, again.stderr), (0, ""), again)
        shown = json.loads(self.replay(verdict["id"], "--json").stdout)
        self.assertEqual((shown["network"], shown["network_lacks"], shown["same"]), ("recorded", None, True))
        self.assertEqual(shown["verdict"]["stdout"], verdict["stdout"])
        # What was a replay is one again; and the network of today has nobody there.
        self.assertEqual(self.replay(shown["verdict"]["id"]).returncode, 0)
        live = self.replay(verdict["id"], "--network", "live")
        self.assertEqual(live.returncode, 1, live)
        self.assertIn("stdout differs", live.stdout)

    def test_nothing_reaches_a_server_that_is_there(self):
        server = self.serve(CountingServer())
        verdict = self.ran(f"print(ask('http://plain.example:{server.port}/'))", self.network(server))
        self.assertEqual((verdict["stdout"], server.count), ("1 GET / \n", 1))
        self.assertEqual(self.replay(verdict["id"]).returncode, 0)
        self.assertEqual(server.count, 1)

    def proxies(self):
        children = pathlib.Path(f"/proc/{self.daemon.keeper()}/task").glob("*/children")
        found = []
        for pid in " ".join(each.read_text() for each in children).split():
            with contextlib.suppress(OSError):  # It may end at any time.
                if pathlib.Path(f"/proc/{pid}/comm").read_text() == "glovebox-egress\n":
                    found.append(int(pid))
        return found

    def call_in_proxy(self, call, *arguments, **run):
        """What the call answers to the proxy of a run."""
        wait_until(lambda: not self.proxies(), "the end of the proxies before it")
        events = self.daemon.stream("POST", "/v1/run", {
            "language": "python", "code": "import time; print('here', flush=True); time.sleep(600)", **run})
        self.addCleanup(events.close)
        events.until("stdout")
        (proxy,) = self.proxies()
        answer = taken_over.call_in(proxy, call, *arguments)
        events.close()
        wait_until(lambda: proxy not in self.proxies(), "the end of the proxy")
        return answer

    @unittest.skipIf(taken_over.why_not_here(), taken_over.why_not_here())
    def test_a_proxy_that_is_taken_over_while_it_replays_cannot_reach_anything(self):
        server = self.serve(CountingServer())
        network = self.network(server)
        verdict = self.ran(f"print(ask('http://plain.example:{server.port}/'))", network)
        nowhere = (0, 0, 0)
        for name, number, arguments in (("socket", 41, (socket.AF_INET, socket.SOCK_STREAM, 0)),
                                        ("connect", 42, nowhere), ("bind", 49, nowhere)):
            with self.subTest(name):
                answer = self.call_in_proxy(number, *arguments, network=network, replay_network=verdict["id"])
                self.assertIs(answer, signal.SIGSYS)
        # The same call of a proxy that is to reach servers.
        made = self.call_in_proxy(41, socket.AF_INET, socket.SOCK_STREAM, 0, network=network)
        self.assertNotIsInstance(made, signal.Signals)
        self.assertGreater(made, 2)

    def test_a_request_that_was_not_recorded_is_refused_and_named(self):
        server = self.serve(CountingServer(self.certificate))
        url = f"https://api.example:{server.port}"
        # The second run finds another path, and one fewer of those that it asked for.
        code = f"import time\nprint(ask('{url}/same')); print(ask('{url}/' + str(time.time())))"
        verdict = self.ran(code, self.network(server))
        again = self.replay(verdict["id"])
        self.assertEqual(again.returncode, 1, again)
        self.assertRegex(again.stdout, rf"network: GET {url}/[0-9.]+ is not in the recording\n")
        self.assertRegex(again.stdout, rf"network: GET {url}/[0-9.]+ is in the recording, and was not made\n")
        self.assertNotIn("/same", again.stdout)
        shown = json.loads(self.replay(verdict["id"], "--json").stdout)
        self.assertEqual(shown["differences"], ["stdout", "network", "network"])
        self.assertIn("403 glovebox: GET ", shown["verdict"]["stdout"])
        self.assertEqual(server.count, 2)

    def test_a_place_that_was_not_recorded_is_refused_and_named(self):
        server, other = self.serve(CountingServer()), self.serve(CountingServer())
        verdict = self.ran(f"print(ask('http://plain.example:{server.port}/'))", self.network(server))
        body = {"language": "python", "code": PRELUDE + f"print(ask('http://plain.example:{other.port}/'))",
                "network": self.network(server, other), "replay_network": verdict["id"]}
        again = self.daemon.must(200, "POST", "/v1/run", body)
        self.assertIn("no connection to it is in the recording", again["stdout"])
        self.assertEqual((again["connections"][0]["rule"], other.count), ("recording", 0))

    def test_a_server_that_speaks_first_says_the_same_again(self):
        server = self.serve(GreetingServer())
        code = f"print(greet({server.port}, b'word'), greet({server.port}, b'other'))"
        verdict = self.ran(code, self.network(server))
        self.assertEqual(verdict["stdout"], "hello 1\nyou said word\n hello 2\nyou said other\n\n")
        server.close()
        again = self.replay(verdict["id"])
        self.assertEqual((again.returncode, again.stderr), (0, ""), again)
        changed = self.daemon.must(200, "POST", "/v1/run", {
            "language": "python", "code": PRELUDE + GREET + f"print(greet({server.port}, b'WORD'))",
            "network": self.network(server), "replay_network": verdict["id"]})
        self.assertEqual(changed["connections"][0]["reason"],
                         f"what was sent to plain.example:{server.port} is not what was recorded")

    def test_a_name_that_led_nowhere_leads_nowhere_again(self):
        server = self.serve(CountingServer())
        network = {"allow": [f"gone.example:{server.port}"]}
        verdict = self.ran(f"print(ask('http://gone.example:{server.port}/'))", network)
        self.assertIn("502", verdict["stdout"])
        again = self.replay(verdict["id"])
        self.assertEqual(again.returncode, 0, again)

    def test_a_secret_is_in_no_record_and_is_not_needed_again(self):
        server = self.serve(CountingServer(self.certificate))
        network = self.network(server, secrets=[
            {"secret": "api key", "env": "TOKEN", "hosts": [f"api.example:{server.port}"]}])
        code = f"print(ask('https://api.example:{server.port}/auth', Authorization='Bearer ' + os.environ['TOKEN']))"
        verdict = self.ran(code, network)
        self.assertTrue(self.file_of(verdict).stat().st_size > 0)
        # The program got it in two pieces, and printed it: that is in the journal, as what it printed.
        self.assertEqual(verdict["stdout"], f"Bearer {VALUE}\n")
        for file in pathlib.Path(self.daemon.data, "audit/network").iterdir():
            self.assertFalse(VALUE.encode() in file.read_bytes(), file)
        server.close()
        again = self.daemon.must(200, "POST", "/v1/run", {
            "language": "python", "code": PRELUDE + GREET + code, "network": network,
            "replay_network": verdict["id"]})
        self.assertEqual(again["stdout"], "Bearer " + "*" * len(VALUE) + "\n")

    def test_what_does_not_fit_is_said_and_another_tenant_can_replay_nothing(self):
        server = self.serve(CountingServer())
        self.daemon.must(201, "POST", "/v1/tenants", {"name": "other"})
        other = self.daemon.must(201, "POST", "/v1/keys", {"tenant": "other", "scopes": ["admin", "run"]})["key"]
        network = self.network(server)
        mine = self.ran(f"print(ask('http://plain.example:{server.port}/'))", network)
        refused = self.daemon.must(404, "POST", "/v1/run", {
            "language": "python", "code": "", "network": network, "replay_network": mine["id"]}, key=other)
        self.assertIn("no network was recorded", refused["message"])
        runs_only = self.daemon.must(201, "POST", "/v1/keys", {"scopes": ["run"]})["key"]
        self.daemon.must(403, "POST", "/v1/run", {
            "language": "python", "code": "", "network": network, "replay_network": mine["id"]}, key=runs_only)
        big = f"print(ask('http://plain.example:{server.port}/'), len(ask('http://plain.example:{server.port}/big')))"
        verdict = self.ran(big, network, key=other)
        self.assertTrue(verdict["stdout"].endswith(f" {BIG}\n"), verdict)
        recording = self.end_of(verdict)["network_recording"]
        self.assertTrue(recording["incomplete"])
        self.assertLessEqual(recording["bytes"], 8 << 20)
        again = self.replay(verdict["id"])
        self.assertEqual(again.returncode, 1, again)
        self.assertIn("network: the recording is incomplete", again.stdout)
        self.assertIn("/big is not in the recording", again.stdout)
        # 12 MiB are all that a tenant may have.
        self.ran(big, network, key=other)
        full = self.ran(big, network, key=other)
        self.assertEqual(list(self.end_of(full)["network_recording"]), ["left_out"])
        unrecorded = self.replay(full["id"], "--network", "recorded")
        self.assertEqual(unrecorded.returncode, 2, unrecorded)
        self.assertIn("as many recordings as it may have", unrecorded.stderr)

    def test_a_changed_or_missing_recording_is_found_and_not_replayed(self):
        server = self.serve(CountingServer())
        runs = [self.ran(f"print(ask('http://plain.example:{server.port}/'))", self.network(server))
                for _ in range(2)]
        self.assertEqual(self.verify().returncode, 0)
        changed, missing = map(self.file_of, runs)
        bytes_of_it = bytearray(changed.read_bytes())
        bytes_of_it[-20] ^= 1
        changed.write_bytes(bytes_of_it)
        kept = missing.read_bytes()
        missing.unlink()
        found = self.verify()
        self.assertEqual(found.returncode, 1, found)
        self.assertIn(f"problem in network/{changed.name}: the recording's hash does not match", found.stdout)
        self.assertIn(f"problem in network/{missing.name}: the recording cannot be read", found.stdout)
        again = self.replay(runs[0]["id"])
        self.assertEqual(again.returncode, 125, again)
        self.assertIn("the recording of the network was changed", again.stderr)
        bytes_of_it[-20] ^= 1
        changed.write_bytes(bytes_of_it)
        missing.write_bytes(kept)
        self.assertEqual(self.verify().returncode, 0)

    def test_without_rules_nothing_is_recorded(self):
        verdict = self.daemon.must(200, "POST", "/v1/run", {"language": "python", "code": "print(1)"})
        self.assertNotIn("network_recording", self.end_of(verdict))
        self.assertEqual(verdict.get("notes", []), [])


class RecordingThatCannotBeWritten(Recording):
    # A file that becomes too large then is an error to the daemon, as a full disk is, and no signal.
    wrapper = ("env", "--ignore-signal=XFSZ")

    def limit_files(self, size):
        resource.prlimit(self.daemon.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def test_the_end_of_its_run_is_in_the_journal_and_says_so(self):
        self.addCleanup(self.limit_files, resource.RLIM_INFINITY)
        server = self.serve(CountingServer(asked=lambda: self.limit_files(BIG // 2)))
        verdict = self.ran(f"print(len(ask('http://plain.example:{server.port}/big')))", self.network(server))
        self.assertEqual(verdict["stdout"], f"{BIG}\n")
        self.limit_files(resource.RLIM_INFINITY)
        self.assertEqual(self.end_of(verdict)["network_recording"],
                         {"left_out": "write a recording of the network: File too large"})
        self.assertEqual(list(pathlib.Path(self.daemon.data, "audit/network").iterdir()), [])
        self.assertEqual(self.verify().returncode, 0)
        # It takes nothing of what the tenant may have.
        other = self.serve(CountingServer())
        again = self.ran(f"print(len(ask('http://plain.example:{other.port}/big')))", self.network(other))
        self.assertGreater(self.end_of(again)["network_recording"]["bytes"], BIG // 2)
