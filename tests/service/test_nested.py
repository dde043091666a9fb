# SPDX-License-Identifier: Apache-2.0
"""Sandboxes that may contain sandboxes of their own, where the operator allows them."""

import os
import unittest

from daemon import Case, Daemon

WRAP = "bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev sh -c 'echo $$'"


class NotAllowed(Case):
    def test_a_daemon_refuses_them_unless_it_was_started_to_allow_them(self):
        for path, body in (("/v1/sandboxes", {}), ("/v1/run", {"language": "bash", "code": "true"})):
            answer = self.daemon.ask("POST", path, {**body, "nested": True})
            self.assertEqual(answer.status, 403, str(answer))
            self.assertIn("--allow-nested", answer.json["hint"])
        self.assertFalse(self.create(nested=False).info()["nested"])

    def test_a_template_that_asks_for_it_is_refused_when_it_is_used(self):
        list(self.daemon.stream("POST", "/v1/templates", {"name": "boxes", "nested": True}))
        for path, body in (("/v1/sandboxes", {}), ("/v1/run", {"language": "bash", "code": "true"})):
            answer = self.daemon.ask("POST", path, {**body, "template": "boxes"})
            self.assertEqual(answer.status, 403, str(answer))
        self.create(template="boxes", user="root")


@unittest.skipUnless(os.geteuid() == 0, "a cgroup that limits memory")
class Allowed(Case):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        cls.daemon.options = ["--allow-nested"]
        cls.daemon.start()

    def command(self, sandbox, script):
        return sandbox.must(200, "POST", "/commands", {"shell": script})

    def test_commands_and_contexts_build_sandboxes(self):
        sandbox = self.create(nested=True)
        info = sandbox.info()
        self.assertEqual((info["nested"], info["walls"]["seccomp"]), (True, "nested"))
        self.assertRegex(self.command(sandbox, WRAP)["stdout"], r"^\d\n$")
        wrapped = f"import subprocess; print(subprocess.run({WRAP!r}, shell=True).returncode)"
        self.assertIn("0", sandbox.context().execute(wrapped)["stdout"])

    def test_others_of_the_same_daemon_do_not(self):
        done = self.command(self.create(), WRAP)
        self.assertNotEqual(done["exit_code"], 0, done)

    def test_a_run_builds_one(self):
        said = self.daemon.must(200, "POST", "/v1/run",
                                {"language": "bash", "code": WRAP, "nested": True})
        self.assertEqual(said["walls"]["seccomp"], "nested", said)
        self.assertRegex(said["stdout"], r"^\d\n$")

    def test_a_template_asks_for_it_for_its_sandboxes_its_runs_and_what_is_built_on_it(self):
        for recipe in ({"name": "boxes", "nested": True}, {"name": "more", "base": "boxes"}):
            built = list(self.daemon.stream("POST", "/v1/templates", recipe))[-1]
            self.assertEqual((built["type"], built["template"]["nested"]), ("built", True), built)
            sandbox = self.create(template=recipe["name"])
            self.assertTrue(sandbox.info()["nested"])
            self.assertRegex(self.command(sandbox, WRAP)["stdout"], r"^\d\n$")
        said = self.daemon.must(200, "POST", "/v1/run",
                                {"language": "bash", "code": WRAP, "template": "boxes"})
        self.assertEqual(said["walls"]["seccomp"], "nested", said)
        rooted = self.create(template="boxes", user="root").info()
        self.assertEqual((rooted["nested"], rooted["user"]), (False, "root"))

    def test_a_fork_is_as_its_original(self):
        sandbox = self.create(nested=True)
        forks = sandbox.must(201, "POST", "/fork", {"count": 1})
        self.assertTrue(forks["sandboxes"][0]["nested"], forks)


if __name__ == "__main__":
    unittest.main()
