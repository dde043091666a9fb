# SPDX-License-Identifier: Apache-2.0
"""Templates from debootstrap, from a mirror of the test's own. tests/installs builds a whole one."""

import json
import os
import shutil
import unittest
from unittest import mock

from daemon import Daemon, wait_until
from tenant import Tenant
from test_network import NO_PROXY, sandbox_with_native_tier
from network import NameServer, WebServer  # tests/attacks, which test_network knows


@unittest.skipUnless(shutil.which("debootstrap", path="/usr/sbin:/usr/bin"), "debootstrap is not installed")
class FromDebootstrap(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.web = WebServer()
        cls.addClassCleanup(cls.web.close)
        cls.mirror = f"mirror.example:{cls.web.port}"
        cls.rules = [cls.mirror, f"127.0.0.1:{cls.web.port}"]
        names = NameServer({"mirror.example": [["127.0.0.1"]]})
        cls.addClassCleanup(names.close)
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        cls.daemon.options = ["--network", "any"]
        with mock.patch.dict(os.environ, NO_PROXY | {"GLOVEBOX_NAME_SERVERS": names.address}):
            cls.daemon.start()
        if not sandbox_with_native_tier(cls.daemon):
            raise unittest.SkipTest("the native tier does not work here")
        cls.key = cls.daemon.must(201, "POST", "/v1/keys", {"scopes": ["run", "read"]})["key"]

    def setUp(self):
        self.web.requests.clear()

    def build_fails(self, *rules, key=None):
        """The events of a build by who is no administrator. It leaves neither a template nor a piece of one."""
        answer = self.daemon.ask("POST", "/v1/templates", {
            "name": "debian", "network": {"allow": rules},
            "base": {"debootstrap": {"suite": "bookworm", "mirror": f"http://{self.mirror}/debian"}}},
            {"Accept": "application/x-ndjson"}, key=key or self.key)
        events = [json.loads(line) for line in answer.body.splitlines()] if answer.status == 200 else [answer.json]
        self.assertEqual(self.daemon.ask("GET", "/v1/templates/debian").status, 404)
        wait_until(lambda: [piece.name for piece in (self.daemon.data / "templates").iterdir()] == [".memory"],
                   "all pieces are gone")
        return events

    def log(self, events):
        return "".join(event["text"] for event in events if event["type"] == "log")

    def test_without_a_rule_the_hint_names_the_one_that_is_missing(self):
        *_, failed = self.build_fails()
        self.assertIn("no network to reach the mirror", failed["message"])
        self.assertIn(f"--allow-net, or 'network' over HTTP: {self.mirror}", failed["hint"])

    def test_a_mirror_that_no_rule_allows_is_not_asked_and_named(self):
        *said, failed = self.build_fails("other.example")
        self.assertEqual(self.web.requests, [])
        self.assertIn(f"network: {self.mirror} was refused: ", self.log(said))
        self.assertIn("debootstrap failed: E: Failed getting release file", failed["message"])
        self.assertIn(f"the rules of this build refused {self.mirror}", failed["hint"])

    def test_what_a_mirror_sends_without_a_signature_is_not_installed(self):
        *_, failed = self.build_fails(*self.rules)
        self.assertIn("/debian/dists/bookworm/InRelease", [path for _, path, _, _ in self.web.requests])
        self.assertIn("debootstrap failed: E: ", failed["message"])
        self.assertIn("check that the mirror has the suite", failed["hint"])

    @unittest.skipIf(os.geteuid() != 0, "an ordinary user's daemon has no disk images")
    def test_its_disk_counts_for_the_tenant_while_it_is_there(self):
        tenant = Tenant(self.daemon, "deb-room", disk=4 << 30)
        used = []
        with mock.patch.object(self.web, "told", lambda: used.append(tenant.disk())):
            *_, failed = self.build_fails(*self.rules, key=tenant.key)
        self.assertIn("debootstrap failed: E: ", failed["message"])
        # One GiB is what any build takes. Beside it there is room for 2, neither for 8 nor for 4.
        self.assertEqual({bytes >> 30 for bytes in used}, {3}, used)
        self.assertEqual(tenant.disk(), 0)

    @unittest.skipIf(os.geteuid() != 0, "an ordinary user's daemon has no disk images")
    def test_a_tenant_without_room_for_its_disk_fetches_nothing(self):
        tenant = Tenant(self.daemon, "deb-no-room", disk=1500 << 20)
        *_, failed = self.build_fails(*self.rules, key=tenant.key)
        self.assertIn("would exceed the tenant's disk quota", failed["message"])
        self.assertEqual((self.web.requests, tenant.disk()), ([], 0))


if __name__ == "__main__":
    unittest.main()
