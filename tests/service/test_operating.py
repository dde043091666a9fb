# SPDX-License-Identifier: Apache-2.0
"""What operators see: metrics and the access log of every door, messages with a time and a level."""

import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest
import urllib.parse
import urllib.request

from daemon import GLOVEBOX, PATIENCE_S, ROOT, Daemon, wait_until

# All of docs/operating.md.
DOORS = ("rest", "e2b", "envd", "interpreter", "mcp", "port")
STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


class Operating(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        cls.daemon.options = ["--access-log"]
        cls.daemon.start()

    def metrics(self):
        return self.daemon.must(200, "GET", "/metrics").body.decode()

    def log(self):
        return (self.daemon.dir / "serve.log").read_text().splitlines()

    def requests(self):
        return [json.loads(line) for line in self.log() if line.startswith("{")]

    def value(self, name):
        for line in self.metrics().splitlines():
            if line.startswith(name + " "):
                return float(line.rsplit(" ", 1)[1])
        return None

    def test_requests_through_each_door_are_counted_and_logged(self):
        self.daemon.must(200, "GET", "/v1/sandboxes")
        self.daemon.must(200, "GET", "/v2/sandboxes?metadata=secret%3DSECRET")
        headers = {"E2b-Sandbox-Id": "nothing", "E2b-Sandbox-Port": "49983"}
        self.daemon.ask("GET", "/files?path=SECRET", headers=headers)
        headers["E2b-Sandbox-Port"] = "49999"
        self.daemon.ask("POST", "/execute?token=SECRET", {"code": "SECRET"}, headers=headers)
        self.daemon.ask("GET", "/mcp?token=SECRET")
        headers = {"Host": "8000-nothing.localhost"}
        self.daemon.ask("GET", "/?token=SECRET", headers=headers)

        def seen():
            doors = {line["door"]: line for line in self.requests()}
            return doors if set(DOORS) <= doors.keys() else None

        wait_until(lambda: seen() is not None, "lines of all doors")
        doors = seen()
        self.assertEqual(doors["e2b"]["route"], "/v2/sandboxes")
        self.assertEqual(doors["e2b"]["status"], 200)
        self.assertTrue(doors["e2b"]["key"])
        self.assertTrue(doors["e2b"]["tenant"])
        for door, route in (("envd", "/files"), ("interpreter", "/execute")):
            self.assertEqual(doors[door]["sandbox"], "nothing")
            self.assertEqual(doors[door]["route"], route)
        for line in doors.values():
            self.assertRegex(line["at"], f"^{STAMP}$")
            self.assertIn(line["peer"], ("127.0.0.1", "unix"))
        whole = "\n".join(self.log())
        self.assertNotIn("SECRET", whole)
        self.assertNotIn(self.daemon.key, whole)
        text = self.metrics()
        for door in DOORS:
            self.assertIn(f'glovebox_http_requests_total{{door="{door}"', text)

    def test_the_figures_are_those_of_now(self):
        box = self.daemon.create()
        running = r'glovebox_sandboxes\{state="running"\} 1\n'
        self.assertRegex(self.metrics(), running)
        box.kill()
        self.assertNotRegex(self.metrics(), running)
        self.assertRegex(self.metrics(), r'glovebox_build_info\{version="[0-9.]+[^"]*"\} 1\n')
        self.assertGreater(self.value("process_open_fds"), 5)
        self.assertGreater(self.value("glovebox_data_filesystem_avail_bytes"), 0)

    def sample(self, name, key="own"):
        text = self.daemon.must(200, "GET", "/metrics", key=key).body.decode()
        for line in text.splitlines():
            if line.startswith(name + " "):
                return float(line.rsplit(" ", 1)[1])
        return None

    def test_creations_and_ends_are_counted(self):
        created = self.sample("glovebox_sandbox_create_seconds_count")
        deleted = self.sample('glovebox_sandbox_ends_total{reason="deleted"}')
        expired = self.sample('glovebox_sandbox_ends_total{reason="expired"}')
        self.daemon.create().kill()
        self.daemon.create(timeout="200ms")
        wait_until(
            lambda: self.sample('glovebox_sandbox_ends_total{reason="expired"}') == expired + 1,
            "the end of the second one",
        )
        self.assertEqual(
            self.sample('glovebox_sandbox_ends_total{reason="deleted"}'), deleted + 1
        )
        self.assertEqual(self.sample("glovebox_sandbox_create_seconds_count"), created + 2)
        self.assertEqual(
            self.sample('glovebox_sandbox_create_seconds_bucket{le="+Inf"}'), created + 2
        )

    def test_the_keeper_and_its_pools_are_shown(self):
        wait_until(lambda: self.daemon.must(200, "GET", "/healthz")["ready"], "the pools")
        self.assertEqual(self.value("glovebox_keeper_up"), 1)
        self.assertGreater(self.value("glovebox_keeper_threads"), 3)
        self.assertGreater(self.value("glovebox_keeper_open_fds"), 5)
        self.assertEqual(self.value("glovebox_pool_failures_total"), 0)
        for template in ("default", "code-interpreter"):
            wanted = self.sample(f'glovebox_pool_wanted{{template="{template}"}}')
            self.assertGreaterEqual(wanted, 1)
            wait_until(
                lambda: self.sample(f'glovebox_pool_ready{{template="{template}"}}') >= 1,
                f"a sandbox that waits for {template}",
            )

    def test_only_an_administrator_sees_other_tenants(self):
        self.daemon.must(201, "POST", "/v1/tenants", {"name": "metered"})
        keys = {
            scope: self.daemon.must(
                201, "POST", "/v1/keys", {"tenant": "metered", "scopes": ["read", "run", *scope]}
            )["key"]
            for scope in ((), ("admin",))
        }
        made = self.daemon.must(201, "POST", "/v1/sandboxes", {}, key=keys[()])["id"]
        self.addCleanup(self.daemon.ask, "DELETE", f"/v1/sandboxes/{made}", key=keys[()])
        mine, default = (
            f'glovebox_tenant_sandboxes{{tenant="{name}"}}' for name in ("metered", "default")
        )
        self.assertEqual(self.sample(mine, keys[()]), 1)
        self.assertIsNone(self.sample(default, keys[()]))
        self.assertEqual(self.sample(mine, keys[("admin",)]), 1)
        self.assertIsNotNone(self.sample(default, keys[("admin",)]))
        self.assertEqual(self.sample(mine), 1)

    @unittest.skipUnless(shutil.which("promtool"), "no promtool")
    def test_promtool_finds_nothing_to_say_against_the_metrics(self):
        self.daemon.must(200, "GET", "/v1/sandboxes")
        checked = subprocess.run(
            ["promtool", "check", "metrics"], input=self.metrics(), capture_output=True, text=True
        )
        self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, "", ""))

    @unittest.skipUnless(shutil.which("prometheus"), "no prometheus")
    def test_prometheus_scrapes_them_and_can_be_asked(self):
        self.daemon.must(200, "GET", "/v1/sandboxes")
        directory = pathlib.Path(tempfile.mkdtemp(prefix="gb-prom."))
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        (directory / "key").write_text(self.daemon.key)
        job = {
            "job_name": "glovebox",
            "authorization": {"credentials_file": str(directory / "key")},
            "static_configs": [{"targets": [f"127.0.0.1:{self.daemon.port}"]}],
        }
        # JSON is YAML.
        config = {"global": {"scrape_interval": "1s"}, "scrape_configs": [job]}
        (directory / "config").write_text(json.dumps(config))
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with open(directory / "log", "wb") as log:
            process = subprocess.Popen(
                ["prometheus", f"--config.file={directory}/config"]
                + [f"--storage.tsdb.path={directory}/series"]
                + [f"--web.listen-address=127.0.0.1:{port}"],
                stdout=log,
                stderr=log,
            )
        self.addCleanup(process.wait, PATIENCE_S)
        self.addCleanup(process.terminate)

        def ask(query):
            address = f"http://127.0.0.1:{port}/api/v1/query?query={urllib.parse.quote(query)}"
            try:
                with urllib.request.urlopen(address, timeout=PATIENCE_S) as answer:
                    return [float(each["value"][1]) for each in json.load(answer)["data"]["result"]]
            except OSError:
                return []

        wait_until(lambda: ask('up{job="glovebox"}') == [1], "a scrape")
        counted = 'sum(glovebox_http_requests_total{route="/v1/sandboxes",status="200"}) > 0'
        wait_until(lambda: len(ask(counted)) == 1, "the requests")
        slowest = "histogram_quantile(0.9, sum by (le) (glovebox_http_request_seconds_bucket))"
        self.assertEqual(len(ask(slowest)), 1)
        self.assertEqual(ask("glovebox_build_info"), [1])

    def test_the_death_of_the_keeper_is_told_and_counted(self):
        before = self.value("glovebox_keeper_starts_total")
        os.kill(self.daemon.keeper(), signal.SIGKILL)
        wait_until(
            lambda: any(re.match(rf"{STAMP} error the keeper died", line) for line in self.log()),
            "the line about the keeper",
        )
        self.assertEqual(self.value("glovebox_keeper_starts_total"), before + 1)


# Debian has it where only root looks.
LOGROTATE = shutil.which("logrotate", path=os.environ.get("PATH", "") + ":/usr/sbin")


@unittest.skipUnless(LOGROTATE, "no logrotate")
class Rotation(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.discard)
        self.daemon.options = ["--access-log"]
        self.daemon.start()
        page = (ROOT / "docs/operating.md").read_text()
        (config,) = re.findall(r"^```\n(/var/log/glovebox/\*\.log \{.*?\})\n```$", page, re.M | re.S)
        self.config = self.daemon.dir / "logrotate.conf"
        self.config.write_text(config.replace("/var/log/glovebox", str(self.daemon.dir)))
        # logrotate reads no configuration that others could have written.
        self.config.chmod(0o600)

    def rotate(self):
        done = subprocess.run(
            [LOGROTATE, "--force", "--state", self.daemon.dir / "state", self.config],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def paths(self, number):
        """Those of the requests in the log, or in the one rotated so many times."""
        log = self.daemon.dir / "serve.log"
        if number:
            text = gzip.decompress(log.with_name(f"serve.log.{number}.gz").read_bytes())
        else:
            text = log.read_bytes()
        self.assertNotIn(b"\0", text)
        lines = text.decode().splitlines()
        return [json.loads(line)["path"] for line in lines if line.startswith("{")]

    def request(self, name):
        self.daemon.ask("GET", f"/v1/templates/{name}")
        path = f"/v1/templates/{name}"
        wait_until(lambda: self.paths(0)[-1:] == [path], "its line")
        return path

    def test_as_the_page_configures_it_loses_nothing_of_a_daemon_at_rest(self):
        first, second = self.request("a"), self.request("b")
        self.rotate()
        self.assertEqual(self.paths(0), [])
        third = self.request("c")
        self.assertEqual((self.paths(0), self.paths(1)), ([third], [first, second]))
        self.rotate()
        fourth = self.request("d")
        self.assertEqual(
            [self.paths(number) for number in range(3)], [[fourth], [third], [first, second]]
        )


class Addresses(unittest.TestCase):
    def serve(self, *options):
        with tempfile.TemporaryDirectory(prefix="gb-adr.") as directory:
            return subprocess.run(
                [GLOVEBOX, "serve", "--data", directory + "/data", *options],
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
            )

    def test_a_port_that_does_not_exist_is_refused(self):
        for port in ("99999", "65536", "-1", "80x", ""):
            failed = self.serve("--listen", f"127.0.0.1:{port}", "--unix", "")
            self.assertEqual(failed.returncode, 2, failed)
            self.assertIn("invalid port", failed.stderr)
            self.assertIn("hint: use a number from 0 to 65535", failed.stderr)

    def test_whoever_occupies_an_address_is_named(self):
        daemon = Daemon()
        self.addCleanup(daemon.discard)
        daemon.start()
        ours = f"a glovebox daemon is listening there: process {daemon.process.pid} ("
        failed = self.serve("--listen", f"127.0.0.1:{daemon.port}", "--unix", "")
        self.assertNotEqual(failed.returncode, 0)
        self.assertIn(ours, failed.stderr)
        failed = self.serve("--listen", "", "--unix", str(daemon.unix))
        self.assertNotEqual(failed.returncode, 0)
        self.assertIn(ours, failed.stderr)
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            failed = self.serve("--listen", f"127.0.0.1:{port}", "--unix", "")
            self.assertIn(
                f"another program is listening there: process {os.getpid()} (", failed.stderr
            )


class Exposure(unittest.TestCase):
    def test_keys_in_plain_text_on_a_network_are_warned_of(self):
        with tempfile.TemporaryDirectory(prefix="gb-exp.") as directory:
            serve = [GLOVEBOX, "serve", "--unix", "", "--data", directory + "/data"]
            with subprocess.Popen(
                serve + ["--listen", "0.0.0.0:0"],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            ) as process:
                self.assertIn("listening on", process.stdout.readline())
                process.terminate()
                log = process.communicate(timeout=PATIENCE_S)[1]
        self.assertRegex(log, rf"(?m)^{STAMP} warning listening on 0\.0\.0\.0:0 without TLS.*hint: ")


if __name__ == "__main__":
    unittest.main()
