# SPDX-License-Identifier: Apache-2.0
"""Sandboxes whose processes are root inside."""

import unittest

from daemon import Case

PACKAGE = r"""
set -e
mkdir -p /tmp/p/DEBIAN /tmp/p/usr/bin
printf 'Package: greet\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b>\nDescription: x\n' >/tmp/p/DEBIAN/control
printf '#!/bin/sh\nuseradd --system greeter\n' >/tmp/p/DEBIAN/postinst
printf '#!/bin/sh\nid -un\n' >/tmp/p/usr/bin/greet
chmod 755 /tmp/p/DEBIAN/postinst /tmp/p/usr/bin/greet
dpkg-deb -b /tmp/p /tmp/p.deb >/dev/null
dpkg -i /tmp/p.deb >/dev/null
setpriv --reuid greeter --regid greeter --clear-groups greet
"""
SERVICE = r"""
cd /srv && echo served >page
setpriv --reuid 65534 --regid 65534 --clear-groups python3 -m http.server 8080 >/dev/null 2>&1 &
python3 -c '
import time, urllib.error, urllib.request
for _ in range(600):
    try:
        print(urllib.request.urlopen("http://127.0.0.1:8080/page").read().decode(), end="")
        break
    except urllib.error.URLError:
        time.sleep(0.05)
'
"""


class Root(Case):
    def command(self, sandbox, script, **more):
        return sandbox.must(200, "POST", "/commands", {"shell": script, **more})

    def test_commands_contexts_and_files_are_roots(self):
        sandbox = self.create(user="root")
        info = sandbox.info()
        self.assertEqual((info["user"], info["walls"]["user"]), ("root", "root"))
        self.assertIn("setuid", info["walls"]["capabilities"])
        self.assertEqual(self.command(sandbox, "id -u; echo $HOME")["stdout"], "0\n/root\n")
        self.assertEqual(sandbox.context().value("__import__('os').getuid()"), "0")
        sandbox.write("mine", b"x")
        self.assertEqual(self.command(sandbox, "stat -c %u mine")["stdout"], "0\n")

    def test_a_debian_package_with_a_user_of_its_own_is_installed(self):
        sandbox = self.create(user="root", limits={"disk": "512M"})
        done = self.command(sandbox, PACKAGE)
        self.assertEqual((done["stdout"], done["exit_code"]), ("greeter\n", 0), done)
        # Another sandbox has nothing of it, and nor has the host.
        self.assertEqual(self.command(self.create(user="root"), "command -v greet")["stdout"], "")

    def test_a_service_of_another_user_serves(self):
        done = self.command(self.create(user="root"), SERVICE)
        self.assertEqual(done["stdout"], "served\n", done)

    def test_a_command_can_be_somebody_elses(self):
        sandbox = self.create(user="root")
        who = "id -u; id -g; echo $HOME; touch /etc/mine 2>&1 || true"
        self.assertEqual(self.command(sandbox, who, user="root")["stdout"], "0\n0\n/root\n")
        guest = self.command(sandbox, who, user="user")["stdout"].splitlines()
        self.assertEqual(guest[:2], ["1000", "1000"])
        self.assertIn("Permission denied", guest[3])
        self.assertEqual(self.command(sandbox, "id -un", user="www-data")["stdout"], "www-data\n")
        self.assertEqual(self.command(sandbox, "id -u; id -g", user="7:9")["stdout"], "7\n9\n")
        unknown = self.command(sandbox, "true", user="nobody-at-all")
        self.assertEqual(unknown["exit_code"], 126, unknown)
        self.assertIn("nobody-at-all", unknown["stderr"])
        refused = self.daemon.ask("POST", sandbox.path + "/commands", {"argv": ["id"], "user": "a\0b"})
        self.assertEqual(refused.status, 400, refused)
        listed = self.daemon.stream("POST", sandbox.path + "/processes", {"argv": ["id", "-un"], "user": "www-data"})
        self.assertIn("www-data\n", [event.get("text") for event in listed])

    def test_commands_of_a_sandbox_without_root_are_its_guests(self):
        sandbox = self.create()
        self.assertEqual(self.command(sandbox, "id -u", user="user")["stdout"], "1000\n")
        for name in ("root", "www-data", "0"):
            with self.subTest(name):
                answer = self.daemon.ask("POST", sandbox.path + "/commands", {"argv": ["id"], "user": name})
                self.assertEqual(answer.status, 400, answer)
                self.assertIn('"user": "root"', answer.json["hint"])

    def test_a_fork_is_roots_as_well(self):
        sandbox = self.create(user="root")
        (made,) = sandbox.must(201, "POST", "/fork", {"count": 1})["sandboxes"]
        self.assertEqual(made["user"], "root")

    def test_a_run_can_be_roots(self):
        asked = {"language": "bash", "code": "id -u; echo x >/etc/mine && echo written"}
        done = self.daemon.must(200, "POST", "/v1/run", {**asked, "user": "root"})
        self.assertEqual(done["stdout"], "0\nwritten\n")
        self.assertEqual(done["walls"]["user"], "root")
        self.assertEqual(self.daemon.must(200, "POST", "/v1/run", asked)["stdout"], "1000\n")

    def test_others_are_refused(self):
        answer = self.daemon.ask("POST", "/v1/sandboxes", {"user": "postgres"})
        self.assertEqual(answer.status, 400)
        answer = self.daemon.ask("POST", "/v1/sandboxes", {"user": "root", "tier": "landlock"})
        self.assertNotEqual(answer.status, 201)


if __name__ == "__main__":
    unittest.main()
