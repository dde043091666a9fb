# SPDX-License-Identifier: Apache-2.0
"""Sandboxes run as the user that their template's image names."""

import json
import os
import subprocess
import unittest

import images
from daemon import Daemon
from test_network import sandbox_with_native_tier

PASSWD = b"""root:x:0:0:root:/root:/bin/bash
app:x:1234:1235::/home/app:/bin/bash
node:x:1000:1000::/home/node:/bin/bash
"""
GROUP = b"root:x:0:\nstaff:x:1235:\nextra:x:77:app,other\nnode:x:1000:\n"
WHO = "id -u; id -G; echo $HOME $USER; pwd"


def perl():
    """Debian's perl-base, of this host: what live bash needs."""
    listed = subprocess.run(["dpkg", "-L", "perl-base"], capture_output=True, text=True, check=True).stdout.split()
    files = sorted(path for path in listed if path.startswith(("/usr/lib/", "/usr/bin/perl")) and os.path.isfile(path))
    there = dict(images.small_root(["/usr/bin/stat"]))
    entries = dict(images.small_root(["/usr/bin/perl"]))
    for path in files:
        with open(path, "rb") as file:
            entries.setdefault(path.lstrip("/"), file.read())
    return [(name, content) for name, content in entries.items() if name not in there]


@unittest.skipUnless(os.geteuid() == 0, "needs root, which has ids for other users")
class TheUserOfAnImage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.discard)
        if not sandbox_with_native_tier(cls.daemon):
            raise unittest.SkipTest("the native tier does not work here")
        cls.layer = images.tar_of([*images.small_root(["/usr/bin/stat"]), *perl(), ("etc/passwd", PASSWD),
                                   ("etc/group", GROUP), ("etc/system", b"of root\n")])
        for name, user in (("app", "app"), ("node", "node"), ("number", "77:78"), ("root", "root"),
                           ("nobody-here", "nobody-here")):
            cls.make(name, User=user)

    @classmethod
    def make(cls, name, **says):
        answer = cls.daemon.ask("PUT", f"/v1/templates/{name}/archive?format=docker",
                                images.docker_save([cls.layer], says=says), {"Content-Type": "application/x-tar"})
        events = [json.loads(line) for line in answer.body.splitlines()]
        assert events[-1]["type"] == "built", events

    def create(self, template, **wishes):
        sandbox = self.daemon.create(template=template, **wishes)
        self.addCleanup(self.daemon.ask, "DELETE", sandbox.path)
        return sandbox

    def said(self, sandbox, script, **more):
        return sandbox.must(200, "POST", "/commands", {"argv": ["bash", "-c", script], **more})["stdout"]

    def test_it_has_its_numbers_groups_and_home(self):
        sandbox = self.create("app")
        self.assertEqual(self.said(sandbox, WHO), "1234\n1235 77\n/home/app app\n/workspace\n")
        self.assertEqual(sandbox.must(200, "GET")["user"], "root")
        # As many images have it: a user with the number that a guest would have.
        self.assertEqual(self.said(self.create("node"), WHO), "1000\n1000\n/home/node node\n/workspace\n")
        self.assertEqual(self.said(self.create("number"), "id -u; id -g; echo $HOME"), "77\n78\n/\n")

    def test_the_workspace_and_its_home_are_its_own_and_the_rest_is_roots(self):
        sandbox = self.create("app")
        self.assertEqual(self.said(sandbox, "echo a > b; echo c > ~/d; stat -c %U . b ~ ~/d"), "app\n" * 4)
        self.assertEqual(self.said(sandbox, "echo x > /etc/system || cat /etc/system"), "of root\n")
        self.assertEqual(self.said(sandbox, "echo x > /etc/system; cat /etc/system; id -u", user="root"), "x\n0\n")
        self.assertEqual(self.said(sandbox, "id -u; echo $HOME $USER", user="node"), "1000\n/home/node node\n")

    def test_files_from_outside_belong_to_it(self):
        sandbox = self.create("app")
        sandbox.must(200, "PUT", "/files/deep/down.txt", b"bytes")
        self.assertEqual(self.said(sandbox, "stat -c '%U %G' deep deep/down.txt; echo more >> deep/down.txt; "
                                            "cat deep/down.txt"), "app staff\n" * 2 + "bytesmore\n")

    def test_a_request_can_ask_for_the_guest_or_for_root(self):
        guest = self.create("app", user="user")
        self.assertEqual(self.said(guest, "id -u; echo $HOME"), "1000\n/workspace\n")
        self.assertEqual(guest.must(200, "GET")["user"], "user")
        self.assertEqual(self.said(self.create("app", user="root"), "id -u; echo $HOME"), "0\n/root\n")
        # An image that names root, or nobody, wants no more than before.
        self.assertEqual(self.said(self.create("root"), "id -u"), "1000\n")

    def test_what_the_template_starts_is_started_by_it(self):
        answer = self.daemon.ask("POST", "/v1/templates", {
            "name": "starts", "base": "app", "start": "id -u > started", "ready": "[ -s started ]"})
        self.assertEqual(json.loads(answer.body.splitlines()[-1])["type"], "built", answer)
        self.assertEqual(self.said(self.create("starts"), "cat started; stat -c %U started"), "1234\napp\n")

    def test_forks_and_snapshots_run_as_it(self):
        sandbox = self.create("app")
        self.said(sandbox, "echo kept > kept")
        snapshot = sandbox.must(201, "POST", "/snapshot", {"name": "of-app"})["template"]
        fork = sandbox.must(201, "POST", "/fork", {})["sandboxes"][0]["id"]
        self.addCleanup(self.daemon.ask, "DELETE", f"/v1/sandboxes/{fork}")
        script = {"argv": ["bash", "-c", "id -u; stat -c %U kept; echo more >> kept; cat kept"]}
        for path in (f"/v1/sandboxes/{fork}", self.create(snapshot).path):
            self.assertEqual(self.daemon.must(200, "POST", f"{path}/commands", script)["stdout"],
                             "1234\napp\nkept\nmore\n")

    def test_a_context_is_its_process(self):
        sandbox = self.create("app")
        context = sandbox.must(201, "POST", "/contexts", {"language": "bash"})["id"]
        verdict = sandbox.must(200, "POST", f"/contexts/{context}/execute", {"code": "id -u; echo $HOME > here; cat here"})
        self.assertEqual((verdict["status"], verdict["stdout"]), ("ok", "1234\n/home/app\n"), verdict)

    def test_a_run_is_its_process(self):
        def run(**more):
            return self.daemon.must(200, "POST", "/v1/run", {
                "language": "bash", "code": "id -u; echo $HOME; echo x > made && stat -c %U made", "template": "app",
                **more})["stdout"]

        self.assertEqual(run(), "1234\n/home/app\napp\n")
        self.assertEqual(run(user="user").splitlines()[0], "1000")
        self.assertEqual(run(user="root").splitlines()[0], "0")

    def test_a_name_that_the_image_does_not_have_is_an_error(self):
        answer = self.daemon.ask("POST", "/v1/sandboxes", {"template": "nobody-here"})
        self.assertEqual(answer.status, 400, answer)
        self.assertIn("no user 'nobody-here' in /etc/passwd", answer.json["message"])
        self.assertIn('"user": "user"', answer.json["hint"])

    def test_policies_that_say_which_programs_may_start_keep_the_guest(self):
        sandbox = self.create("app", policy=["grader"])
        self.assertEqual(sandbox.must(200, "GET")["user"], "user")


if __name__ == "__main__":
    unittest.main()
