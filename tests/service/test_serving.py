# SPDX-License-Identifier: Apache-2.0
"""How the daemon is started and ended: by systemd, at once, with an end that is told; and CORS."""

import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from daemon import GLOVEBOX, PATIENCE_S, Daemon, wait_until

# As systemd does it: the sockets from descriptor 3 on, and the pid of the program itself.
AS_SYSTEMD = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", NOTIFY_SOCKET=sys.argv[2])
os.execv(sys.argv[3], sys.argv[3:])
"""


class Activation(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="gb-act."))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.notify.close)
        self.notify.bind(str(self.dir / "n"))
        self.notify.settimeout(PATIENCE_S)

    def start(self, listening):
        data = self.dir / "data"
        process = subprocess.Popen(
            [sys.executable, "-c", AS_SYSTEMD, str(listening.fileno()), str(self.dir / "n")]
            + [GLOVEBOX, "serve", "--data", str(data)],
            pass_fds=[listening.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(process.wait, PATIENCE_S)
        self.addCleanup(process.terminate)
        return process, data

    def told(self):
        return self.notify.recv(4096).decode()

    def test_an_inherited_socket_is_served_and_systemd_is_told(self):
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
            process, data = self.start(listening)
        self.assertEqual(self.told(), "READY=1")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        self.addCleanup(connection.close)
        connection.request("GET", "/healthz")
        self.assertEqual(connection.getresponse().status, 200)
        # The usual places are not taken besides.
        self.assertFalse((data / "api.sock").exists())
        process.send_signal(signal.SIGTERM)
        self.assertTrue(self.told().startswith("STOPPING=1"))
        self.assertEqual(process.wait(PATIENCE_S), 0)

    def test_an_inherited_unix_socket_needs_no_key(self):
        path = self.dir / "s"
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
            listening.listen()
            process, _ = self.start(listening)
        self.assertEqual(self.told(), "READY=1")
        listed = subprocess.run(
            [GLOVEBOX, "sandbox", "ls", "--json", "--url", f"unix:{path}"],
            capture_output=True,
            check=False,
            timeout=PATIENCE_S,
        )
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertEqual(json.loads(listed.stdout)["sandboxes"], [])
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE_S), 0)
        self.assertTrue(path.exists(), "it is systemd's to remove")


class Serving(unittest.TestCase):
    def daemon(self, *options):
        daemon = Daemon()
        self.addCleanup(daemon.discard)
        daemon.options = list(options)
        return daemon.start()

    def test_it_answers_before_it_is_warm_and_says_when_it_is(self):
        daemon = self.daemon()
        self.assertEqual(daemon.must(200, "GET", "/v1/sandboxes")["sandboxes"], [])
        # What needs an interpreter waits for it.
        sandbox = daemon.create()
        self.assertEqual(sandbox.context().value("6 * 7"), "42")
        wait_until(lambda: daemon.must(200, "GET", "/healthz")["ready"], "that it is warm")

    def test_the_usual_socket_is_in_the_data_directory(self):
        daemon = Daemon()
        self.addCleanup(daemon.discard)
        environment = {**os.environ, "HOME": str(daemon.dir)}
        process = subprocess.Popen(
            [GLOVEBOX, "serve", "--listen", "127.0.0.1:0", "--data", str(daemon.data)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        daemon.process = process
        self.assertIn(b"listening on", process.stdout.readline())
        mode = (daemon.data / "api.sock").stat().st_mode & 0o777
        self.assertEqual(mode, 0o600)

    def test_the_end_waits_for_requests_as_long_as_it_was_told(self):
        daemon = self.daemon("--drain", "60s")
        context = daemon.create().context()
        events = context.start("import time; print('begun', flush=True); time.sleep(1.5); print('whole')")
        events.until("stdout")
        ends = threading.Thread(target=daemon.stop)
        ends.start()
        said = list(events)
        ends.join(PATIENCE_S)
        self.assertEqual(said[-1]["type"], "verdict", said)
        self.assertEqual(said[-1]["status"], "ok")

    def test_the_end_does_not_wait_longer(self):
        daemon = self.daemon("--drain", "200ms")
        context = daemon.create().context()
        events = context.start("import time; print('begun', flush=True); time.sleep(600)")
        events.until("stdout")
        start = time.monotonic()
        self.assertEqual(daemon.stop(), 0)
        self.assertLess(time.monotonic() - start, 25)
        self.assertIn("200 ms", (daemon.dir / "serve.log").read_text())

    def test_pages_of_other_origins_may_read_only_where_they_are_named(self):
        origin = "https://app.example.com"
        preflight = {"Access-Control-Request-Method": "POST",
                     "Access-Control-Request-Headers": "content-type,x-api-key"}
        allowed = self.daemon("--cors", origin)
        answer = allowed.ask("OPTIONS", "/v1/sandboxes", headers={"Origin": origin, **preflight}, key=None)
        self.assertEqual(answer.status, 204)
        self.assertEqual(answer.headers["access-control-allow-origin"], origin)
        self.assertEqual(answer.headers["access-control-allow-headers"], "content-type,x-api-key")
        self.assertIn("PATCH", answer.headers["access-control-allow-methods"])
        for path in ("/v1/sandboxes", "/sandboxes"):
            answer = allowed.ask("GET", path, headers={"Origin": origin})
            self.assertEqual(answer.headers.get("access-control-allow-origin"), origin, path)
            other = allowed.ask("GET", path, headers={"Origin": "https://evil.example"})
            self.assertNotIn("access-control-allow-origin", other.headers)
        # What a guest answers is its own.
        sandbox = allowed.create()
        guest = allowed.ask("GET", sandbox.path + "/ports/9/", headers={"Origin": origin})
        self.assertNotIn("access-control-allow-origin", guest.headers)

    def test_ports_have_names_that_take_a_key_or_a_token(self):
        daemon = self.daemon()
        sandbox = daemon.create()
        sandbox.write("page", b"of the guest")
        sandbox.must(
            201, "POST", "/processes", {"argv": ["python3", "-m", "http.server", "8000"]}
        )
        name = f"8000-{sandbox.id}.localhost:{daemon.port}"

        def ask(path="/page", key=None, **headers):
            return daemon.ask("GET", path, headers={"Host": name, **headers}, key=key)

        wait_until(lambda: ask(key="own").status == 200, "the server inside")
        self.assertEqual(ask(key="own").body, b"of the guest")
        self.assertEqual(ask().status, 401)
        self.assertEqual(ask(key="e2b_" + "0" * 64).status, 401)
        token = sandbox.must(201, "POST", "/port-tokens", {"port": 8000})["token"]
        self.assertEqual(ask(**{"X-Port-Token": token}).body, b"of the guest")
        self.assertEqual(ask(**{"X-Port-Token": token + "0"}).status, 401)
        moved = ask(f"/page?a=1&glovebox_token={token}")
        self.assertEqual((moved.status, moved.headers["location"]), (302, "/page?a=1"))
        cookie = moved.headers["set-cookie"].split(";")[0]
        self.assertEqual(ask(Cookie=cookie).body, b"of the guest")
        self.assertEqual(ask(Cookie=cookie, Origin=f"http://{name}").status, 200)
        self.assertEqual(ask(Cookie=cookie, Origin="http://8000-other.localhost").status, 401)
        # It opens no other port and no other sandbox, and it is no key.
        other = {"Host": f"9-{sandbox.id}.localhost", "X-Port-Token": token}
        self.assertEqual(daemon.ask("GET", "/", headers=other, key=None).status, 401)
        self.assertEqual(daemon.ask("GET", "/v1/sandboxes", key=token).status, 401)
        away = ask(f"//evil.example/?glovebox_token={token}")
        self.assertEqual(away.headers["location"], "/evil.example/")

    def test_no_page_of_another_origin_may_read_unless_said(self):
        daemon = self.daemon()
        headers = {"Origin": "https://app.example.com", "Access-Control-Request-Method": "GET"}
        answer = daemon.ask("OPTIONS", "/v1/sandboxes", headers=headers, key=None)
        self.assertNotIn("access-control-allow-origin", answer.headers)


if __name__ == "__main__":
    unittest.main()
