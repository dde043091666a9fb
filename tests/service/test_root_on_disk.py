# SPDX-License-Identifier: Apache-2.0
"""Sandboxes whose root is written on disk, and what is made from them."""

import os
import signal

from daemon import Sandbox, wait_until
from test_root import PACKAGE
from test_volumes import OnDisk

MIB = 1 << 20
# Where a root guest changes something, each in another layer or directory.
PLACES = ["/etc/own", "/etc/ssl/own", "/usr/share/own", "/usr/local/bin/own", "/var/lib/own", "/opt/own",
          "/root/own", "/home/own", "own"]


class RootOnDisk(OnDisk):
    def on_disk(self, **wishes):
        limits = {"disk": "256M", "inodes": 20_000}
        return self.create(**{"user": "root", "storage": "disk", "limits": limits, **wishes})

    def command(self, sandbox, script):
        done = sandbox.must(200, "POST", "/commands", {"shell": script})
        self.assertEqual((done["exit_code"], done["stderr"]), (0, ""), done)
        return done["stdout"]

    def fork(self, sandbox, count=1):
        made = sandbox.must(201, "POST", "/fork", {"count": count})["sandboxes"]
        forks = [Sandbox(self.daemon, info["id"]) for info in made]
        for each in forks:
            self.addCleanup(self.daemon.ask, "DELETE", each.path)
        return forks

    def test_a_fork_has_the_packages_of_its_root_and_goes_its_own_way(self):
        sandbox = self.on_disk()
        self.command(sandbox, PACKAGE)
        forks = self.fork(sandbox) + self.fork(sandbox, count=2)
        for fork in forks:
            self.assertEqual(self.command(fork, "greet; dpkg -s greet | grep ^Status"),
                             "root\nStatus: install ok installed\n")
        self.command(forks[0], "dpkg -r greet >/dev/null; ! command -v greet")
        for other in (sandbox, *forks[1:]):
            self.assertEqual(self.command(other, "greet"), "root\n")

    def test_a_fork_has_what_was_written_and_removed_anywhere_in_the_root(self):
        sandbox = self.on_disk()
        self.command(sandbox, "\n".join(f"echo first >{place}" for place in PLACES) + """
            rm /etc/debian_version /usr/bin/env
            rm -r /usr/share/base-files /var/backups
            chown 33:44 /opt/own
            rm /etc/hosts && echo '127.0.0.1 mine' >/etc/hosts""")
        (fork,) = self.fork(sandbox)
        (second,) = self.fork(fork)
        for copy in (fork, second):
            self.assertEqual(self.command(copy, "cat " + " ".join(PLACES)), "first\n" * len(PLACES))
            gone = "! ls -d /etc/debian_version /usr/bin/env /usr/share/base-files 2>/dev/null"
            self.command(copy, gone)
            self.assertEqual(self.command(copy, "stat -c %u:%g /opt/own; cat /etc/hosts"),
                             "33:44\n127.0.0.1 mine\n")
        self.command(second, "\n".join(f"echo second >{place}" for place in PLACES))
        self.assertEqual(self.command(fork, "cat " + " ".join(PLACES)), "first\n" * len(PLACES))
        self.assertEqual(self.command(second, "cat " + " ".join(PLACES)), "second\n" * len(PLACES))

    def test_one_limit_holds_for_root_and_workspace_and_for_each_fork(self):
        fill = "head -c 40M /dev/zero >{} 2>/dev/null && echo all || echo full"
        sandbox = self.on_disk(limits={"disk": "64M", "inodes": 5000})
        self.assertEqual(self.command(sandbox, fill.format("/usr/share/fill")), "all\n")
        (fork,) = self.fork(sandbox)
        for each in (sandbox, fork):
            self.assertEqual(self.command(each, fill.format("fill")), "full\n")
            self.assertEqual(self.command(each, fill.format("/opt/fill")), "full\n")
            self.command(each, "rm -f /opt/fill fill /usr/share/fill; head -c 40M /dev/zero >fill")

    def test_a_sandbox_says_whether_its_copies_share(self):
        in_memory = self.create(user="root")
        on_disk = self.on_disk()
        (fork,) = self.fork(on_disk)
        self.assertEqual(in_memory.info()["copies"], "full")
        if (self.daemon.data / "pool.img").exists():
            self.assertEqual([each.info()["copies"] for each in (on_disk, fork)], ["shared"] * 2)

    def test_forks_take_no_space_for_what_did_not_change(self):
        pool = self.daemon.data / "pool.img"
        if not pool.exists():
            self.skipTest("no pool: " + "install btrfs-progs")
        sandbox = self.on_disk()
        self.command(sandbox, "head -c 100M /dev/urandom >/usr/share/large; sync /usr/share/large")
        self.fork(sandbox)
        before = pool.stat().st_blocks * 512
        self.fork(sandbox, count=4)
        self.assertLess(pool.stat().st_blocks * 512 - before, 100 * MIB)

    def test_a_root_on_disk_outlives_the_keeper(self):
        sandbox = self.on_disk()
        self.command(sandbox, PACKAGE + "sync")
        self.traces.gather()
        os.kill(self.daemon.keeper(), signal.SIGKILL)
        self.daemon.kill()
        self.daemon.start()
        wait_until(lambda: sandbox.info()["state"] == "paused", "the end of the keeper's sandboxes")
        sandbox.must(200, "POST", "/resume")
        self.assertEqual(self.command(sandbox, "greet"), "root\n")

    def test_a_snapshot_of_a_root_is_for_root_guests(self):
        sandbox = self.on_disk()
        self.command(sandbox, "echo kept >/etc/own; echo mine >own")
        template = sandbox.must(201, "POST", "/snapshot", {"name": "with-root"})["template"]
        sandbox.kill()
        made = self.create(template=template, user="root")
        self.assertEqual(self.command(made, "cat /etc/own own"), "kept\nmine\n")
        refused = self.daemon.ask("POST", "/v1/sandboxes", {"template": template})
        self.assertEqual(refused.status, 400, refused)
        self.assertIn("root", refused.json["hint"])

    def test_a_set_user_id_program_works_wherever_it_is(self):
        sandbox = self.on_disk()
        self.command(sandbox, "for at in /usr/bin /opt .; do cp /usr/bin/id $at/own-id; chmod u+s $at/own-id; done")
        for copy in (sandbox, *self.fork(sandbox)):
            who = "setpriv --reuid 1000 --clear-groups {} -u"
            self.assertEqual(self.command(copy, who.format("/usr/bin/own-id")), "0\n")
            self.assertEqual(self.command(copy, who.format("/opt/own-id")), "0\n")

    def test_the_disk_itself_is_out_of_sight(self):
        sandbox = self.on_disk()
        self.assertEqual(self.command(sandbox, "ls -A /run/layers"), "")
        self.command(sandbox, "! umount /run/layers 2>/dev/null; ! rmdir /run/layers 2>/dev/null")
