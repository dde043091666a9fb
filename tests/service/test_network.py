# SPDX-License-Identifier: Apache-2.0
"""Network rules of the daemon's sandboxes: who reaches what, what is told of it, and what is left.
The servers are the test's own, on 127.0.0.1 of the host."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest
from unittest import mock

from daemon import GLOVEBOX, Daemon, Sandbox, wait_until

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "attacks"))

from network import NO_PROXY, OF_TIER, TIER, NameServer, WebServer  # noqa: E402

# The standard library finds the proxy by itself, but asks it for nothing on 127.0.0.1, which is the
# sandbox's own; here it is the host's that is asked for.
FETCH = """
import os, urllib.request, urllib.error
def fetch(url):
    for name in ("no_proxy", "NO_PROXY"):
        os.environ.pop(name, None)
    try:
        proxy = urllib.request.ProxyHandler({"http": os.environ["http_proxy"]})
        return urllib.request.build_opener(proxy).open(url, timeout=60).read().decode()
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read().decode().strip()}"
    except OSError as error:
        return type(error).__name__ + " " + str(error)
"""
# The same without the proxy's handler: as any program does it.
PLAIN = "import urllib.request; print(urllib.request.urlopen(%r, timeout=60).read().decode())"


def egresses(keeper):
    """The proxies that a keeper has, by pid; a dead one that was not waited for does not count."""
    found = []
    for directory in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            stat = (directory / "stat").read_text()
        except OSError:
            continue
        name, rest = re.fullmatch(r"\d+ \((.*)\) (.*)", stat, re.DOTALL).groups()
        state, parent = rest.split()[:2]
        if name == "glovebox-egress" and int(parent) == keeper and state != "Z":
            found.append(int(directory.name))
    return found


def sandbox_of_tier(daemon, tier):
    made = daemon.ask("POST", "/v1/sandboxes", {"tier": tier})
    if made.status != 201:
        return False
    daemon.must(204, "DELETE", f"/v1/sandboxes/{made.json['id']}")
    return True


def sandbox_with_native_tier(daemon):
    return sandbox_of_tier(daemon, "native")


class NetworkCase(unittest.TestCase):
    reach = None

    @classmethod
    def setUpClass(cls):
        cls.names = NameServer({"here.example": [["127.0.0.1"]], "metadata.example": [["169.254.169.254"]]})
        cls.addClassCleanup(cls.names.close)
        cls.web = WebServer()
        cls.addClassCleanup(cls.web.close)
        cls.here = f"127.0.0.1:{cls.web.port}"
        cls.url = f"http://{cls.here}/path"
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        cls.environment = NO_PROXY | {"GLOVEBOX_NAME_SERVERS": cls.names.address}
        cls.start()
        if not sandbox_of_tier(cls.daemon, TIER or "native"):
            raise unittest.SkipTest(f"the {TIER or 'native'} tier does not work here")

    @classmethod
    def start(cls):
        cls.daemon.options = OF_TIER + (["--network", cls.reach] if cls.reach else [])
        with mock.patch.dict(os.environ, cls.environment):
            cls.daemon.start()

    def setUp(self):
        self.web.requests.clear()

    def create(self, daemon=None, **wishes):
        sandbox = (daemon or self.daemon).create(**wishes)
        self.addCleanup(self.daemon.ask, "DELETE", sandbox.path)
        return sandbox

    def create_for_here(self, **wishes):
        return self.create(network={"allow": [self.here]}, **wishes)

    def fetch(self, sandbox, url, context="default"):
        said = sandbox.must(200, "POST", f"/contexts/{context}/execute",
                            {"code": FETCH + f"print(fetch({url!r}))"})
        return said["stdout"].strip() + said["stderr"]

    def connections(self, sandbox):
        return sandbox.must(200, "GET", "/connections")

    def egresses(self):
        return egresses(self.daemon.keeper())

    def pools_are_full(self):
        text = self.daemon.must(200, "GET", "/metrics").body.decode()
        figures = {name: re.findall(rf"^glovebox_pool_{name}\{{.*\}} (\d+)$", text, re.MULTILINE)
                   for name in ("ready", "wanted")}
        return figures["ready"] and figures["ready"] == figures["wanted"]

    def command(self, sandbox, *argv):
        return sandbox.must(200, "POST", "/commands", {"argv": list(argv)})


class AsTheOperatorAllowsAny(NetworkCase):
    reach = "any"

    def test_contexts_and_commands_reach_what_a_rule_names_and_nothing_else(self):
        sandbox = self.create_for_here()
        self.assertEqual(sandbox.info()["walls"]["network"], "rules")
        self.assertEqual(sandbox.info()["network"]["allow"], [self.here])
        self.assertEqual(self.fetch(sandbox, self.url), "here you are")
        self.assertIn("403", self.fetch(sandbox, f"http://127.0.0.1:{self.daemon.port}/healthz"))
        self.assertEqual(self.fetch(sandbox, self.url, sandbox.context().id), "here you are")
        code = FETCH + f"print(fetch({self.url!r}))"
        self.assertEqual(self.command(sandbox, "python3", "-c", code)["stdout"], "here you are\n")
        self.assertEqual(len(self.web.requests), 3)

    def test_programs_find_the_proxy_by_themselves(self):
        sandbox = self.create(
            network={"allow": ["here.example", "127.0.0.1"]})
        plain = PLAIN % f"http://here.example:{self.web.port}/"
        self.assertEqual(sandbox.must(200, "POST", "/contexts/default/execute", {"code": plain})
                         ["stdout"], "here you are\n")
        self.assertEqual(self.command(sandbox, "python3", "-c", plain)["stdout"], "here you are\n")

    def test_what_the_client_sets_for_a_proxy_stays(self):
        sandbox = self.create_for_here(env={"http_proxy": "http://mine.example:1"})
        code = "import os; print(os.environ['http_proxy'], os.environ['HTTP_PROXY'])"
        told = "http://mine.example:1 http://127.0.0.1:3128\n"
        self.assertEqual(self.command(sandbox, "python3", "-c", code)["stdout"], told)

    def test_without_rules_there_is_no_proxy(self):
        before = self.egresses()
        for wishes in ({}, {"network": {}}, {"network": {"deny": ["example.com"]}}):
            sandbox = self.create(**wishes)
            self.assertEqual(sandbox.info()["walls"]["network"], "none")
            code = "import os; print([name for name in os.environ if 'proxy' in name.lower()])"
            self.assertEqual(self.command(sandbox, "python3", "-c", code)["stdout"], "[]\n")
            self.assertEqual(self.connections(sandbox)["connections"], [])
        self.assertEqual(self.egresses(), before)

    def test_connections_are_told_in_the_order_in_which_they_ended(self):
        sandbox = self.create_for_here()
        self.fetch(sandbox, self.url)
        self.fetch(sandbox, "http://other.example/")
        told = wait_until(lambda: len((said := self.connections(sandbox))["connections"]) == 2
                          and said, "the records of two connections")
        self.assertEqual(told["schema"], "glovebox.connections/1")
        self.assertEqual(told["more_connections"], 0)
        first, second = told["connections"]
        self.assertEqual((first["host"], first["port"], first["verdict"], first["rule"]),
                         ("127.0.0.1", self.web.port, "allowed", f"allow {self.here}"))
        self.assertGreater(first["received"], 0)
        self.assertEqual((second["host"], second["verdict"]), ("other.example", "denied"))

    def test_another_tenant_learns_nothing_of_the_connections(self):
        self.daemon.ask("POST", "/v1/tenants", {"name": "other"})
        key = self.daemon.must(201, "POST", "/v1/keys",
                               {"tenant": "other", "scopes": ["run", "read"]})["key"]
        sandbox = self.create_for_here()
        self.fetch(sandbox, self.url)
        self.assertEqual(self.daemon.ask("GET", sandbox.path + "/connections", key=key).status, 404)
        theirs = Sandbox(self.daemon, self.daemon.must(
            201, "POST", "/v1/sandboxes", {"network": {"allow": ["example.com"]}}, key=key)["id"])
        code = {"code": FETCH + f"print(fetch({self.url!r}))"}
        said = self.daemon.must(200, "POST", theirs.path + "/contexts/default/execute", code, key=key)
        self.assertIn("403", said["stdout"])
        hosts = wait_until(lambda: self.daemon.must(
            200, "GET", theirs.path + "/connections", key=key)["connections"], "the record")
        self.assertEqual([each["verdict"] for each in hosts], ["denied"])
        self.daemon.must(204, "DELETE", theirs.path, key=key)

    def test_nothing_is_left_of_a_sandbox_that_was_killed(self):
        before = set(self.egresses())
        sandbox = self.create_for_here()
        self.assertEqual(len(set(self.egresses()) - before), 1)
        sandbox.kill()
        wait_until(lambda: set(self.egresses()) <= before, "the end of the proxy")

    def test_nothing_is_left_of_a_sandbox_whose_time_is_over(self):
        before = set(self.egresses())
        sandbox = self.create_for_here(timeout="1s")
        wait_until(sandbox.is_gone, "the end of the sandbox")
        wait_until(lambda: set(self.egresses()) <= before, "the end of the proxy")

    def test_the_keeper_holds_no_descriptor_of_a_network_that_is_over(self):
        def descriptors():
            return len(os.listdir(f"/proc/{self.daemon.keeper()}/fd"))

        def is_over():
            return set(self.egresses()) <= before

        before = set(self.egresses())
        # Of another size than usual, so that none comes from a pool, which grows with its use.
        def once():
            self.create_for_here(limits={"disk": "100M"}).kill()

        once()
        wait_until(self.pools_are_full, "the pools", 180)
        most = wait_until(lambda: is_over() and descriptors(), "the end of the proxy")
        for _ in range(10):
            once()
        # Ten that leaked one each would show.
        wait_until(lambda: is_over() and descriptors() <= most + 5,
                   "the keeper to close what it had opened")

    def test_without_its_proxy_a_sandbox_has_no_network_and_lives_on(self):
        before = set(self.egresses())
        sandbox = self.create_for_here()
        context = sandbox.context()
        self.assertEqual(self.fetch(sandbox, self.url, context.id), "here you are")
        (proxy,) = set(self.egresses()) - before
        wait_until(lambda: self.connections(sandbox)["connections"], "the record")
        os.kill(proxy, signal.SIGKILL)
        wait_until(lambda: "refused" in self.fetch(sandbox, self.url, context.id),
                   "connections to be refused")
        self.assertEqual(context.value("6 * 7"), "42")
        self.assertEqual([each["verdict"] for each in self.connections(sandbox)["connections"]],
                         ["allowed"])
        # New rules start another one.
        sandbox.must(200, "PATCH", "", {"network": {"allow": ["127.0.0.1"]}})
        self.assertEqual(self.fetch(sandbox, self.url, context.id), "here you are")

    def test_new_rules_hold_at_once(self):
        before = set(self.egresses())
        sandbox = self.create_for_here()
        self.assertEqual(self.fetch(sandbox, self.url), "here you are")
        sandbox.must(200, "PATCH", "", {"network": {"allow": ["example.com"]}})
        self.assertIn("403", self.fetch(sandbox, self.url))
        sandbox.must(200, "PATCH", "", {"network": {"allow": [self.here]}})
        self.assertEqual(self.fetch(sandbox, self.url), "here you are")
        told = wait_until(lambda: len((said := self.connections(sandbox)["connections"])) == 3
                          and said, "the records")
        self.assertEqual(sorted(each["verdict"] for each in told), ["allowed", "allowed", "denied"])
        self.assertEqual(len(set(self.egresses()) - before), 1)

    def test_one_without_a_way_out_cannot_get_one_later(self):
        sandbox = self.create()
        refused = sandbox.must(409, "PATCH", "", {"network": {"allow": ["example.com"]}})
        self.assertIn("create a sandbox", json.dumps(refused))
        self.assertEqual(sandbox.info()["network"]["allow"], [])

    def test_a_pause_keeps_the_network(self):
        sandbox = self.create_for_here()
        sandbox.must(204, "POST", "/pause")
        sandbox.must(200, "POST", "/resume")
        self.assertEqual(self.fetch(sandbox, self.url), "here you are")

    def test_its_memory_is_not_saved_and_it_lives_on(self):
        sandbox = self.create_for_here()
        context = sandbox.context()
        context.execute("x = 1")
        for path, body in (("/pause", {"to_disk": True}), ("/fork", {"memory": True})):
            refused = sandbox.must(501, "POST", path, body)
            self.assertIn("memory of a sandbox", refused["message"])
        self.assertEqual(context.value("x"), "1")
        self.assertEqual(self.fetch(sandbox, self.url, context.id), "here you are")

    def test_a_fork_and_a_rollback_have_a_network(self):
        sandbox = self.create_for_here()
        context = sandbox.context()
        context.execute("x = 1")
        context.must(201, "POST", "/checkpoint")
        self.assertEqual(self.fetch(sandbox, self.url, context.id), "here you are")
        context.must(200, "POST", "/rollback", {})
        self.assertEqual(self.fetch(sandbox, self.url, context.id), "here you are")
        before = set(self.egresses())
        (made,) = sandbox.must(201, "POST", "/fork", {"count": 1})["sandboxes"]
        fork = Sandbox(self.daemon, made["id"])
        self.addCleanup(self.daemon.ask, "DELETE", fork.path)
        self.assertEqual(len(set(self.egresses()) - before), 1)
        self.assertEqual(self.fetch(fork, self.url), "here you are")

    def test_what_a_run_prints_and_what_it_connects_to_do_not_mix(self):
        code = (
            "import socket, threading\n"
            "def refused():\n"
            "    for i in range(60):\n"
            "        with socket.create_connection(('127.0.0.1', 3128)) as proxy:\n"
            "            proxy.sendall(b'CONNECT denied.example:443 HTTP/1.1\\r\\n\\r\\n')\n"
            "            proxy.recv(1000)\n"
            "threads = [threading.Thread(target=refused) for _ in range(4)]\n"
            "for each in threads: each.start()\n"
            "lines = 0\n"
            "while any(each.is_alive() for each in threads):\n"
            "    print('x' * 4000, flush=True)\n"
            "    lines += 1\n"
            "print(lines)\n")
        events = list(self.daemon.stream("POST", "/v1/run", {
            "language": "python", "code": code, "limits": {"output": "64MiB"},
            "network": {"allow": ["example.com:443"]}}))
        self.assertEqual(events[-1]["type"], "verdict", events[-1])
        connections = [event for event in events if event["type"] == "connection"]
        self.assertEqual(len(connections), 240)
        out = "".join(event["text"] for event in events if event["type"] == "stdout")
        *printed, count = out.splitlines()
        mixed = [line[:200] for line in printed if line != "x" * 4000]
        self.assertEqual((len(printed), mixed), (int(count), []))

    def test_limits_of_its_own_do_not_cost_the_network(self):
        # Its file system has another size, so it does not come from a pool.
        sandbox = self.create_for_here(limits={"disk": "100M", "memory": "300M"})
        self.assertEqual(self.fetch(sandbox, self.url), "here you are")

    def test_a_run_reaches_what_a_rule_names(self):
        code = FETCH + f"print(fetch({self.url!r})); print(fetch('http://other.example/')[:3])"
        verdict = self.daemon.must(200, "POST", "/v1/run", {
            "language": "python", "code": code, "network": {"allow": [self.here]}})
        self.assertEqual(verdict["stdout"], "here you are\n403\n", verdict)
        self.assertEqual(verdict["walls"]["network"], "rules")
        # In the order in which they ended, which need not be that of the requests.
        self.assertEqual(sorted(each["verdict"] for each in verdict["connections"]),
                         ["allowed", "denied"])

    def test_the_landlock_tier_refuses(self):
        refused = self.daemon.ask("POST", "/v1/sandboxes",
                                  {"tier": "landlock", "network": {"allow": ["example.com"]}})
        self.assertEqual(refused.status, 501, refused)

    def test_a_client_of_e2b_has_the_rules_that_it_asked_for(self):
        def create(**wishes):
            made = self.daemon.must(201, "POST", "/v2/sandboxes", {"templateID": "base", **wishes})
            sandbox = Sandbox(self.daemon, made["sandboxID"])
            self.addCleanup(self.daemon.ask, "DELETE", sandbox.path)
            return sandbox

        closed = create(allow_internet_access=False)
        self.assertEqual(closed.info()["walls"]["network"], "none")
        named = create(network={"allowOut": ["127.0.0.1"], "denyOut": ["0.0.0.0/0"]})
        self.assertEqual(self.fetch(named, self.url), "here you are")
        self.assertIn("403", self.fetch(named, "http://192.0.2.1/"))
        # What is open to everything is not open to this machine.
        self.assertIn("403", self.fetch(create(), self.url))
        refused = self.daemon.ask("POST", "/v2/sandboxes", {
            "templateID": "base", "network": {"egressProxy": {"address": "proxy.example:1"}}})
        self.assertEqual(refused.status, 501, refused)

    def test_the_command_line_creates_and_shows_and_runs(self):
        def glovebox(*words):
            done = subprocess.run(
                [GLOVEBOX, "sandbox", *words, "--url", f"http://127.0.0.1:{self.daemon.port}"],
                env=os.environ | {"GLOVEBOX_API_KEY": self.daemon.key},
                capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        id = glovebox("create", "--allow-net", self.here, "--deny-net", "10.0.0.0/8").strip()
        sandbox = Sandbox(self.daemon, id)
        self.addCleanup(self.daemon.ask, "DELETE", sandbox.path)
        self.assertEqual(sandbox.info()["network"]["deny"], ["10.0.0.0/8"])
        self.fetch(sandbox, self.url)
        wait_until(lambda: f"allow {self.here}" in glovebox("info", id), "the connection")
        code = FETCH + f"print(fetch({self.url!r}))"
        self.assertEqual(glovebox("run", "-l", "python", "-e", code, "--allow-net", self.here),
                         "here you are\n")


class AsTheOperatorAllowsPublicAddresses(NetworkCase):
    reach = "public"

    def test_a_rule_of_addresses_that_are_not_public_is_refused(self):
        for rule in ("127.0.0.1", self.here, "10.0.0.0/8", "169.254.169.254", "192.168.1.1:80",
                     "::1", "fd00::/8"):
            for path, wishes in (("/v1/sandboxes", {}),
                                 ("/v1/run", {"language": "python", "code": "1"})):
                refused = self.daemon.ask("POST", path, wishes | {"network": {"allow": [rule]}})
                self.assertEqual(refused.status, 403, (rule, path, refused))
                self.assertIn("--network any", refused.json["hint"])

    def test_no_rule_leads_to_this_machine_or_its_neighbors(self):
        sandbox = self.create(network={"allow": ["*.example", "0.0.0.0/0", "::/0"]})
        for url in (self.url, f"http://here.example:{self.web.port}/", "http://metadata.example/",
                    f"http://[::1]:{self.web.port}/", "http://10.0.0.1/"):
            self.assertIn("403", self.fetch(sandbox, url), url)
        self.assertEqual(self.web.requests, [])
        self.assertEqual({each["verdict"] for each in self.connections(sandbox)["connections"]},
                         {"denied"})

    def test_new_rules_are_refused_like_first_ones(self):
        sandbox = self.create(network={"allow": ["example.com"]})
        sandbox.must(403, "PATCH", "", {"network": {"allow": [self.here]}})
        self.assertEqual(sandbox.info()["network"]["allow"], ["example.com"])
        self.assertIn("403", self.fetch(sandbox, self.url))


class AsTheOperatorAllowsNothing(NetworkCase):
    def test_rules_are_refused(self):
        for path, wishes in (("/v1/sandboxes", {}),
                             ("/v1/run", {"language": "python", "code": "1"})):
            refused = self.daemon.ask("POST", path, wishes | {"network": {"allow": ["example.com"]}})
            self.assertEqual(refused.status, 403, refused)
            self.assertIn("--network public", refused.json["hint"])
        sandbox = self.create()
        sandbox.must(403, "PATCH", "", {"network": {"default": "allow"}})

    def test_rules_that_let_nothing_out_are_no_matter(self):
        sandbox = self.create(network={"deny": ["10.0.0.0/8"]})
        self.assertEqual(sandbox.info()["walls"]["network"], "none")

    def test_a_client_of_e2b_gets_a_sandbox_without_a_network(self):
        made = self.daemon.must(201, "POST", "/v2/sandboxes", {"templateID": "base"})
        sandbox = Sandbox(self.daemon, made["sandboxID"])
        self.addCleanup(self.daemon.ask, "DELETE", sandbox.path)
        self.assertEqual(sandbox.info()["walls"]["network"], "none")
        self.assertEqual(self.egresses(), [])


class Restarts(NetworkCase):
    reach = "any"

    def setUp(self):
        super().setUp()
        self.addCleanup(self.bring_back, "any")

    def bring_back(self, reach):
        if self.daemon.process.poll() is None:
            self.daemon.kill()
        type(self).reach = reach
        self.start()

    def test_another_daemon_takes_the_network_over_with_its_sandbox(self):
        sandbox = self.create_for_here()
        self.fetch(sandbox, self.url)
        proxies = self.egresses()
        self.bring_back("none")
        self.assertEqual(self.egresses(), proxies)
        self.assertEqual(self.fetch(sandbox, self.url), "here you are")
        wait_until(lambda: len(self.connections(sandbox)["connections"]) == 2, "both records")
        self.assertEqual(sandbox.info()["walls"]["network"], "rules")
        sandbox.must(200, "PATCH", "", {"network": {}})
        self.assertIn("403", self.fetch(sandbox, self.url))
        sandbox.kill()
        wait_until(lambda: self.egresses() == [], "the end of the proxy")

    def test_no_proxy_outlives_its_keeper(self):
        self.create_for_here()
        (proxy,) = self.egresses()
        os.kill(self.daemon.keeper(), signal.SIGKILL)
        wait_until(lambda: not pathlib.Path(f"/proc/{proxy}").exists()
                   or "\nState:\tZ" in pathlib.Path(f"/proc/{proxy}/status").read_text(),
                   "the end of the proxy")

    @unittest.skipIf(os.geteuid() != 0, "workspaces on disk are root's")
    def test_one_on_disk_has_its_network_again_when_it_is_made_again(self):
        sandbox = self.create_for_here(storage="disk")
        os.kill(self.daemon.keeper(), signal.SIGKILL)
        wait_until(lambda: self.daemon.ask("POST", sandbox.path + "/resume").status == 200,
                   "the sandbox to be made again")
        self.assertTrue(sandbox.info()["restarted"])
        self.assertEqual(self.fetch(sandbox, self.url), "here you are")


if __name__ == "__main__":
    unittest.main()
