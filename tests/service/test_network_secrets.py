# SPDX-License-Identifier: Apache-2.0
"""Stored secrets in what the daemon's sandboxes send: over REST and E2B's protocol. The servers and
their authority are the test's own."""

import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "attacks"))

from network import OF_TIER, TIER  # noqa: E402
from reaching_daemon import start_reaching  # noqa: E402
from secure_network import Authority, SecureServer  # noqa: E402
from test_network import sandbox_of_tier  # noqa: E402

VALUE, ANOTHER = "the-first-value-of-it", "the-second-value-of-it"

ASK = """
import os, urllib.request, urllib.error
def ask(port, **headers):
    headers.setdefault("Authorization", "Bearer " + os.environ.get("TOKEN", ""))
    request = urllib.request.Request(f"https://api.example:{port}/", headers=headers)
    try:
        return urllib.request.urlopen(request, timeout=60).read().decode()
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read().decode().strip()}"
    except OSError as error:
        return str(error)
print(ask(%d))
"""


class StoredSecrets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        keys = tempfile.mkdtemp(prefix="glovebox-test-ca.")
        cls.addClassCleanup(shutil.rmtree, keys, ignore_errors=True)
        authority = Authority(keys)
        cls.api = SecureServer(authority.issue("api.example"))
        cls.addClassCleanup(cls.api.close)
        cls.daemon = start_reaching(cls, authority, ("api.example",), options=OF_TIER)
        if not sandbox_of_tier(cls.daemon, TIER or "native"):
            raise unittest.SkipTest(f"the {TIER or 'native'} tier does not work here")
        cls.host = f"api.example:{cls.api.port}"
        cls.secret = cls.daemon.must(201, "POST", "/secrets",
                                     {"name": "api key", "value": VALUE})

    def setUp(self):
        self.api.requests.clear()
        self.set_value(VALUE)

    def set_value(self, value):
        self.daemon.must(200, "POST", f"/secrets/{self.secret['secretID']}", {"value": value})

    def network(self, **more):
        return {"allow": [f"127.0.0.1:{self.api.port}"],
                "secrets": [{"secret": "api key", "env": "TOKEN", "hosts": [self.host]}], **more}

    def create(self, network):
        sandbox = self.daemon.create(network=network)
        self.addCleanup(self.daemon.ask, "DELETE", sandbox.path)
        return sandbox

    def ask(self, sandbox, code=""):
        said = sandbox.must(200, "POST", "/contexts/default/execute",
                            {"code": ASK % self.api.port + code})
        self.assertNotIn(VALUE, str(said))
        return said["stdout"].strip() + said["stderr"]

    def received(self):
        return self.api.headers("Authorization")

    def test_a_context_and_a_command_have_the_placeholder_and_the_server_the_value(self):
        sandbox = self.create(self.network())
        self.assertEqual(self.ask(sandbox), "here you are")
        command = sandbox.must(200, "POST", "/commands",
                               {"argv": ["python3", "-c", ASK % self.api.port]})
        self.assertEqual(command["stdout"], "here you are\n", command)
        self.assertEqual(self.received(), [f"Bearer {VALUE}"] * 2)
        shown = sandbox.must(200, "GET", "")["network"]
        self.assertRegex(shown["secrets"][0]["placeholder"], "^placeholder_[0-9a-f]{40}$")
        self.assertNotIn(VALUE, str(shown) + str(sandbox.must(200, "GET", "/connections")))

    def test_a_header_is_set(self):
        sandbox = self.create({"allow": [f"127.0.0.1:{self.api.port}"], "headers": [
            {"host": self.host, "name": "Authorization", "value": "token {api key}"}]})
        self.assertEqual(self.ask(sandbox), "here you are")
        self.assertEqual(self.received(), [f"token {VALUE}"])

    def test_a_new_value_counts_from_the_next_patch(self):
        sandbox = self.create(self.network())
        self.ask(sandbox)
        self.set_value(ANOTHER)
        self.ask(sandbox)
        sandbox.must(200, "PATCH", "", {"network": self.network()})
        self.ask(sandbox)
        self.assertEqual(self.received(), [f"Bearer {VALUE}"] * 2 + [f"Bearer {ANOTHER}"])

    def test_a_patch_takes_a_secret_away_and_cannot_bring_another_host(self):
        sandbox = self.create(self.network())
        sandbox.must(409, "PATCH", "", {"network": {"secrets": [
            {"secret": "api key", "env": "TOKEN", "hosts": ["other.example"]}]}})
        self.assertEqual(self.ask(sandbox), "here you are")
        sandbox.must(200, "PATCH", "", {"network": {
            "allow": [f"127.0.0.1:{self.api.port}", self.host]}})
        self.ask(sandbox)
        self.assertEqual(self.received()[0], f"Bearer {VALUE}")
        self.assertEqual([value for value in self.received()[1:] if VALUE in value], [])

    def test_a_fork_has_the_secret_with_the_same_placeholder(self):
        sandbox = self.create(self.network())
        (fork,) = sandbox.must(201, "POST", "/fork", {"count": 1})["sandboxes"]
        path = f"/v1/sandboxes/{fork['id']}"
        self.addCleanup(self.daemon.ask, "DELETE", path)
        self.daemon.must(200, "POST", f"{path}/contexts/default/execute",
                         {"code": ASK % self.api.port})
        self.assertEqual(self.received(), [f"Bearer {VALUE}"])

    def test_a_run_has_it(self):
        done = self.daemon.must(200, "POST", "/v1/run", {
            "language": "python", "code": ASK % self.api.port, "network": self.network()})
        self.assertEqual(done["stdout"], "here you are\n", done)
        self.assertEqual(self.received(), [f"Bearer {VALUE}"])
        self.assertNotIn(VALUE, str(done))

    def test_what_is_not_there_or_makes_no_sense_is_refused(self):
        for network in ({"secrets": [{"secret": "none", "env": "X", "hosts": ["a.example"]}]},
                        {"secrets": [{"secret": "api key", "hosts": ["a.example"]}]},
                        {"secrets": [{"secret": "api key", "env": "X", "hosts": []}]},
                        {"secrets": [{"secret": "api key", "env": "X", "hosts": ["10.0.0.0/8"]}]},
                        {"secrets": [{"secret": "api key", "env": "X", "hosts": ["a.example"],
                                      "placeholder": "short"}]},
                        {"headers": [{"host": "a.example", "name": "Host", "value": "x"}]},
                        {"headers": [{"host": "a.example", "name": "X", "value": "a\r\nY: b"}]},
                        {"headers": [{"host": "a.example", "name": "X", "value": "{none}"}]},
                        {"budget": {"rate": 1}, "allow": ["a.example"]}):
            answer = self.daemon.ask("POST", "/v1/sandboxes", {"network": network})
            self.assertEqual(answer.status, 400, (network, answer.json))

    def test_no_file_of_the_daemon_has_the_value(self):
        self.ask(self.create(self.network()))
        for path in pathlib.Path(self.daemon.data).rglob("*"):
            if path.is_file():
                self.assertNotIn(VALUE.encode(), path.read_bytes(), path)

    def test_a_client_of_e2b_sets_headers_with_a_secret(self):
        made = self.daemon.must(201, "POST", "/v2/sandboxes", {
            "templateID": "base", "network": {
                "allowOut": ["api.example"], "denyOut": ["0.0.0.0/0"],
                "rules": {"api.example": [{"transform": {"headers": {
                    "Authorization": "Bearer ${e2b.secrets.api key}"}}}]}}})
        path = f"/v1/sandboxes/{made['sandboxID']}"
        self.addCleanup(self.daemon.ask, "DELETE", path)
        rules = self.daemon.must(200, "GET", path)["network"]
        self.assertEqual(rules["headers"], [{"host": "api.example:443", "name": "Authorization",
                                             "value": "Bearer {api key}"}])


if __name__ == "__main__":
    unittest.main()
