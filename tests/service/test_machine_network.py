# SPDX-License-Identifier: Apache-2.0
"""The network of a living sandbox of the tier microvm, whose processors are emulated: little is done
here. tests/microvm/run_network.py has what a machine reaches."""

import os
import unittest
from unittest import mock

from daemon import Context, Sandbox, wait_until
from test_network import NetworkCase

TO_DISK = {"to_disk": True}

# Bash starts sooner in a machine than Python does. It prints the status of what the proxy answers.
ASK = """
ask() {
  exec 3<>/dev/tcp/127.0.0.1/3128 || return
  printf 'GET http://%s/ HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n' "$1" "$1" >&3
  read -r _ status _ <&3
  echo "$status"
}
"""


class InAMachine(NetworkCase):
    reach = "any"

    def start_with(self, options):
        if self.daemon.process.poll() is None:
            self.daemon.stop()
        self.daemon.options = options
        with mock.patch.dict(os.environ, self.environment):
            self.daemon.start()

    def create_machine(self, **network):
        made = self.daemon.ask("POST", "/v1/sandboxes", {"tier": "microvm", "network": network})
        if made.status == 501:
            self.skipTest(made.json["message"])
        self.assertEqual(made.status, 201, made)
        sandbox = Sandbox(self.daemon, made.json["id"])
        self.addCleanup(self.daemon.ask, "DELETE", sandbox.path)
        return sandbox

    def ask(self, context):
        said = context.execute(f"ask {self.here}")
        return said["stdout"].strip() or said["stderr"]

    def verdicts(self, sandbox, most):
        return wait_until(lambda: len(told := [each["verdict"] for each in
                                               self.connections(sandbox)["connections"]]) == most
                          and told, "the records")

    def test_new_rules_hold_at_once_and_saved_machines_have_them_again(self):
        sandbox = self.create_machine(allow=[self.here])
        context = sandbox.context("bash")
        context.execute(ASK + "x=5")
        self.assertEqual(self.ask(context), "200")
        sandbox.must(200, "PATCH", "", {"network": {"allow": ["example.com"]}})
        self.assertEqual(self.ask(context), "403")
        sandbox.must(200, "PATCH", "", {"network": {"allow": [self.here]}})
        self.assertEqual(self.ask(context), "200")
        self.assertEqual(self.verdicts(sandbox, 3), ["allowed", "denied", "allowed"])

        (made,) = sandbox.must(201, "POST", "/fork", {"memory": True})["sandboxes"]
        fork = Context(Sandbox(self.daemon, made["id"]), context.id)
        self.addCleanup(self.daemon.ask, "DELETE", fork.sandbox.path)
        self.assertEqual(self.ask(fork), "200")
        self.assertEqual(self.verdicts(fork.sandbox, 1), ["allowed"])
        self.assertEqual(fork.execute("echo $x")["stdout"], "5\n")

        fork.sandbox.must(204, "POST", "/pause", TO_DISK)
        fork.sandbox.must(200, "POST", "/resume")
        self.assertEqual(self.ask(fork), "200")
        fork.sandbox.must(204, "POST", "/pause", TO_DISK)
        sandbox.must(204, "DELETE", "")
        self.addCleanup(self.start_with, ["--network", self.reach])
        self.start_with([])
        fork.sandbox.must(200, "POST", "/resume")
        self.assertIn("Connection refused", self.ask(fork))
        self.assertEqual(fork.execute("echo $x")["stdout"], "5\n")

    def test_one_that_trusts_a_certificate_of_its_own_is_not_saved(self):
        self.daemon.must(201, "POST", "/secrets", {"name": "token", "value": "value-of-the-token"})
        sandbox = self.create_machine(secrets=[{"secret": "token", "hosts": ["secret.example"]}])
        refused = sandbox.must(501, "POST", "/pause", TO_DISK)
        self.assertIn("certificate", refused["message"])
        self.assertEqual(sandbox.context("bash").execute("echo lives")["stdout"], "lives\n")


if __name__ == "__main__":
    unittest.main()
