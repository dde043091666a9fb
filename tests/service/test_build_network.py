# SPDX-License-Identifier: Apache-2.0
"""What commands of template builds reach. The server is the test's own, on 127.0.0.1 of the host."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import urllib.parse
from unittest import mock

import images
from daemon import GLOVEBOX, Daemon
from test_network import NO_PROXY, sandbox_with_native_tier

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "attacks"))

from network import WebServer  # noqa: E402

# By bash alone, which a small root has as well: through the proxy, in plain HTTP.
FETCH = (r"""exec 3<>/dev/tcp/127.0.0.1/3128 && printf "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" """
         r""">&3 && answer=$(cat <&3) && echo "$answer" && [[ $answer == *"here you are"* ]]""")


class BuildNetworkCase(unittest.TestCase):
    reach = None

    @classmethod
    def setUpClass(cls):
        cls.web = WebServer()
        cls.addClassCleanup(cls.web.close)
        cls.here = f"127.0.0.1:{cls.web.port}"
        cls.fetch = FETCH % (f"http://{cls.here}/", cls.here)
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        cls.daemon.options = ["--network", cls.reach] if cls.reach else []
        with mock.patch.dict(os.environ, NO_PROXY):
            cls.daemon.start()
        if not sandbox_with_native_tier(cls.daemon):
            raise unittest.SkipTest("the native tier does not work here")

    def setUp(self):
        self.web.requests.clear()

    def lines(self, answer):
        # What is wrong before the first step is the answer itself, and what fails later an event.
        if answer.status != 200:
            return [{**answer.json, "type": "failed"}]
        return [json.loads(line) for line in answer.body.splitlines() if line]

    def build(self, name, dockerfile, network=None):
        query = {"format": "dockerfile"}
        if network is not None:
            query["network"] = json.dumps(network)
        return self.lines(self.daemon.ask(
            "PUT", f"/v1/templates/{name}/archive?{urllib.parse.urlencode(query)}",
            images.tar_of([("Dockerfile", dockerfile.encode())]), {"Content-Type": "application/x-tar"}))

    def cook(self, **recipe):
        return self.lines(self.daemon.ask("POST", "/v1/templates", recipe,
                                          {"Accept": "application/x-ndjson"}))

    def assert_built(self, events):
        self.assertEqual(events[-1]["type"], "built", events)
        return events

    def assert_failed(self, events, message="", hint=""):
        self.assertEqual(events[-1]["type"], "failed", events)
        self.assertIn(message, events[-1]["message"])
        self.assertIn(hint, events[-1].get("hint", ""))
        return events

    def log(self, events):
        return "".join(event["text"] for event in events if event["type"] == "log")

    def said(self, template, script):
        sandbox = self.daemon.create(template=template, tier="native")
        self.addCleanup(self.daemon.ask, "DELETE", sandbox.path)
        return sandbox.must(200, "POST", "/commands", {"argv": ["bash", "-c", script]})["stdout"]

    def dockerfile(self, base="default", kept="got"):
        return (f'FROM {base}\nSHELL ["/bin/bash", "-c"]\n'
                f"RUN ({self.fetch}) > {kept} && echo fetched\nRUN cat {kept}\n")


class AsTheOperatorAllowsAny(BuildNetworkCase):
    reach = "any"

    def test_run_reaches_what_a_rule_names_and_nothing_else(self):
        events = self.assert_built(self.build("fetched", self.dockerfile(), {"allow": [self.here]}))
        self.assertIn("here you are", self.log(events))
        self.assertEqual(len(self.web.requests), 1)
        self.assertIn("here you are", self.said("fetched", "cat got"))
        refused = self.assert_failed(
            self.build("refused", self.dockerfile(), {"allow": ["127.0.0.1:1", "example.com"]}),
            "line 3: ", f"the rules of this build refused {self.here} (loopback addresses); ")
        self.assertIn(f"network: {self.here} was refused: ", self.log(refused))
        self.assertEqual(len(self.web.requests), 1)
        self.assertEqual(self.daemon.ask("GET", "/v1/templates/refused").status, 404)

    def test_without_a_rule_there_is_no_network_and_the_hint_says_how_to_get_one(self):
        for network in (None, {}, {"deny": ["example.com"]}):
            events = self.assert_failed(
                self.build("closed", self.dockerfile(), network), "line 3: ",
                "a build has no network unless rules are given with --allow-net")
            self.assertIn("Connection refused", self.log(events))
        self.assertEqual(self.web.requests, [])

    def test_a_step_is_taken_over_only_with_the_rules_that_it_was_built_with(self):
        def cached(network):
            events = self.assert_built(self.build("kept", self.dockerfile(), network))
            return [event["message"].endswith("(cached)") for event in events if event["type"] == "progress"]

        rules = {"allow": [self.here, "example.com"]}
        self.assertEqual(cached(rules), [False, False, False, False])
        self.assertEqual(cached(rules), [False, False, True, True])
        self.assertEqual(len(self.web.requests), 1)
        self.assertEqual(cached({"allow": [self.here, "example.org"]}), [False, False, False, False])
        self.assertEqual(len(self.web.requests), 2)
        self.assert_failed(self.build("kept", self.dockerfile()), "line 3: ")

    def test_a_root_of_its_own_keeps_what_was_fetched_and_nothing_of_the_proxy(self):
        self.assert_built(self.lines(self.daemon.ask(
            "PUT", "/v1/templates/small/archive?format=rootfs", images.tar_of(images.small_root()),
            {"Content-Type": "application/x-tar"})))
        self.assert_built(self.build("owned", self.dockerfile("small", "/usr/got"), {"allow": [self.here]}))
        self.assertIn("here you are", self.said("owned", "cat /usr/got"))
        self.assertEqual(self.said("owned", "echo $HTTP_PROXY$http_proxy"), "\n")
        self.assertEqual(self.daemon.must(200, "GET", "/v1/templates/owned")["env"], {})

    def test_commands_of_a_recipe_have_its_network(self):
        recipe = {"commands": [f"({self.fetch}) > got"], "network": {"allow": [self.here]}}
        self.assert_built(self.cook(name="cooked", **recipe))
        self.assertIn("here you are", self.said("cooked", "cat got"))
        self.assertTrue(self.cook(name="again", **recipe)[-1]["cached"])
        recipe["network"] = {"allow": ["127.0.0.1:1"]}
        self.assert_failed(self.cook(name="other", **recipe), "the command", f"refused {self.here}")
        self.assertEqual(len(self.web.requests), 1)

    def test_rules_that_a_build_cannot_have_are_refused_before_it_begins(self):
        for network, message in (
                ({"allow": ["a/b"]}, "network.allow[0]"),
                ({"reach": "all"}, "unknown field 'network.reach'"),
                ({"secrets": [{"secret": "KEY", "hosts": ["example.com"]}]}, "a build gets no secrets")):
            self.assert_failed(self.build("wrong", "FROM default", network), message)
            self.assert_failed(self.cook(name="wrong", network=network), message)

    def test_the_command_passes_rules_on(self):
        with tempfile.TemporaryDirectory() as directory:
            def build(*words, **files):
                for name, text in files.items():
                    pathlib.Path(directory, name).write_text(text, encoding="utf-8")
                return subprocess.run(
                    [GLOVEBOX, "template", "build", *words, "--url", f"unix:{self.daemon.unix}"],
                    capture_output=True, text=True, check=False)

            done = build(directory, "-t", "typed", "--allow-net", self.here, Dockerfile=self.dockerfile())
            self.assertEqual(done.returncode, 0, done.stderr)
            recipe = os.path.join(directory, "recipe")
            text = f"commands = ['''{self.fetch}''']\n"
            done = build("cooked", "-f", recipe, "--allow-net", self.here, recipe=text)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = build("cooked", "-f", recipe, recipe=text + f"[network]\nallow = ['{self.here}']\n")
            self.assertEqual(done.returncode, 0, done.stderr)
            done = build("image", "--from-rootfs", "root.tar", "--allow-net", "example.com")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("need a Dockerfile, a recipe, --from-registry or --debootstrap", done.stderr)


class AsTheOperatorAllowsPublic(BuildNetworkCase):
    reach = "public"

    def test_a_rule_for_other_addresses_is_refused(self):
        self.assert_failed(self.build("private", "FROM default\nRUN true", {"allow": [self.here]}),
                           f"network rule '{self.here}'", "--network any")

    def test_a_rule_for_everything_lets_nobody_reach_this_machine(self):
        events = self.assert_failed(self.build("open", self.dockerfile(), {"default": "allow"}))
        self.assertIn(f"network: {self.here} was refused", self.log(events))
        self.assertEqual(self.web.requests, [])


class AsTheOperatorAllowsNone(BuildNetworkCase):
    def test_rules_are_refused_and_the_hint_names_the_operator(self):
        rules = {"allow": ["example.com"]}
        for events in (self.build("none", "FROM default\nRUN true", rules),
                       self.cook(name="none", commands=["true"], network=rules)):
            self.assert_failed(events, "lets no sandbox reach the network", "--network public")
        self.assert_built(self.build("closed", "FROM default\nRUN true", {"deny": ["example.com"]}))


if __name__ == "__main__":
    unittest.main()
