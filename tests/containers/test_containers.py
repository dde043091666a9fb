#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""glovebox in containers of a real Docker, as root and as a user: what works with what is left, and
whether the flags that doctor names give the rest.

Starts a dockerd of its own, without a network, in a directory of its own. The image is made here
from programs of this machine. Exit status 77, with the reason, where dockerd does not start.

    GLOVEBOX=build/release/bin/glovebox tests/containers/test_containers.py
    tests/containers/test_containers.py --probe      # only whether containers start here
"""
import json
import os
import pathlib
import re
import sys
import unittest

from dockerd import IMAGE, Docker

ROOT = pathlib.Path(__file__).resolve().parents[2]
GLOVEBOX = pathlib.Path(os.environ.get("GLOVEBOX", ROOT / "build/release/bin/glovebox")).resolve()
SKIPPED = 77
USERS = {"root": "0:0", "user": "1000:1000"}

UNFILTERED = ("--security-opt", "seccomp=unconfined")
UNCOVERED = ("--security-opt", "systempaths=unconfined")
# On hosts with AppArmor its profile refuses mounts, whatever the filter lets through.
HAS_APPARMOR = pathlib.Path("/sys/kernel/security/apparmor").exists()
UNPROFILED = ("--security-opt", "apparmor=unconfined") if HAS_APPARMOR else ()


docker = Docker()


class Containers(unittest.TestCase):
    def glovebox(self, flags, user, *words):
        """What glovebox says in a container with these flags."""
        programs = GLOVEBOX.parent.parent
        mounts = [word for part in ("bin", "libexec")
                  for word in ("-v", f"{programs / part}:/glovebox/{part}:ro")]
        return docker.ask("run", "--rm", "--network", "none", *mounts, *flags, "-u", USERS[user],
                          IMAGE, "/glovebox/bin/glovebox", *words)

    def run_in(self, flags, user, *options):
        done = self.glovebox(flags, user, "run", "--json", *options, "-l", "sh", "-e",
                             "echo $((6*7))")
        return done, json.loads(done.stdout) if done.stdout.startswith(b"{") else {}

    def findings(self, flags, user):
        done = self.glovebox(flags, user, "doctor", "--json")
        self.assertTrue(done.stdout, done.stderr)
        return {each["what"]: each for each in json.loads(done.stdout)["findings"]}

    def check(self, flags, user, tier):
        """The strongest tier that there is with these flags, and that it is used."""
        done, verdict = self.run_in(flags, user, "--min-tier", "landlock")
        self.assertEqual((verdict.get("stdout"), verdict.get("tier")), ("42\n", tier), done)
        self.assertEqual(verdict["walls"]["seccomp"], "default", done)
        self.assertGreater(verdict["walls"]["landlock"], 0, done)
        if tier == "native":
            self.assertTrue(verdict["walls"]["net_ns"], done)

    def test_a_default_container_has_the_landlock_tier_and_doctor_says_what_gives_more(self):
        for user in USERS:
            with self.subTest(user=user):
                self.check((), user, "landlock")
                # Nobody gets less than was asked for without having said so.
                done, said = self.run_in((), user)
                self.assertEqual((done.returncode, said.get("schema")), (125, "glovebox.error/1"))
                self.assertIn("--min-tier landlock", said["hint"])
                found = self.findings((), user)
                self.assertFalse(found["tier native"]["ok"], found)
                self.assertTrue(found["tier landlock"]["ok"], found)
                self.assertIn("a Docker container", found["place"]["detail"])

    def advised(self, flags, user):
        """The options of docker that doctor's advice names, in a container with these flags."""
        hint = self.findings(flags, user)["place"]["hint"]
        found = re.findall(r"(--security-opt|--cap-add|--volume|--cgroupns) (\S+?)(?=[ ,;]|$)", hint)
        return [word for option in found for word in option]

    def test_the_flags_that_doctor_names_give_the_native_tier(self):
        for user in USERS:
            with self.subTest(user=user):
                words = [word for word in self.advised((), user)
                         if word not in ("--volume", "/sys/fs/cgroup:/sys/fs/cgroup:rw")]
                self.assertIn("seccomp=unconfined", words)
                self.assertEqual("apparmor=unconfined" in words, HAS_APPARMOR)
                self.check(words, user, "native")
                found = self.findings(words, user)
                self.assertTrue(found["tier native"]["ok"], found)
                self.assertNotIn("--security-opt", found["place"]["hint"])

    def test_all_that_doctor_names_for_root_limits_all_processes_together(self):
        words = self.advised((), "root")
        self.assertIn("--volume", words)
        _, verdict = self.run_in(words, "root")
        self.assertEqual(verdict.get("tier"), "native", verdict)
        self.assertTrue(verdict["limits"]["memory"]["enforced"], verdict)
        self.assertTrue(verdict["walls"]["cgroup"].startswith("v"), verdict)
        found = self.findings(words, "root")
        self.assertTrue(found["place"]["ok"], found)
        self.assertEqual(found["place"]["hint"], "")

    def test_with_part_of_the_flags_doctor_names_the_rest(self):
        for user in USERS:
            with self.subTest(user=user):
                flags = (*UNFILTERED, *UNPROFILED)
                self.check(flags, user, "landlock")
                found = self.findings(flags, user)
                self.assertIn("systempaths=unconfined", found["place"]["hint"])
                self.assertNotIn("seccomp=unconfined", found["place"]["hint"])
                self.assertEqual(found["tier native"]["hint"], "see 'place'")
        # Root in a container maps no ids for its guests without this.
        flags = (*UNFILTERED, *UNCOVERED, *UNPROFILED)
        self.check(flags, "root", "landlock")
        self.assertIn("--cap-add SYS_ADMIN", self.findings(flags, "root")["place"]["hint"])
        self.check(flags, "user", "native")

    def test_in_a_container_job_of_github_doctor_says_where_the_flags_go(self):
        found = self.findings(("-e", "GITHUB_ACTIONS=true"), "root")
        self.assertEqual(found["place"]["detail"], "GitHub Actions, a Docker container, as root")
        self.assertIn("'options:' of the job's container: --security-opt",
                      found["place"]["hint"])

    def test_a_privileged_container_has_the_native_tier(self):
        for user in USERS:
            with self.subTest(user=user):
                empty = docker.ask("run", "--rm", "--network", "none", "--privileged", "-u",
                                   USERS[user], IMAGE, "/usr/bin/sh", "-c", "exit 0")
                if b"unable to apply caps" in empty.stderr:
                    # This machine itself lacks capabilities that Docker would give.
                    continue
                self.check(("--privileged",), user, "native")


def main():
    why = docker.start()
    try:
        if why is not None:
            print(f"skipped: {why}")
            return SKIPPED
        if sys.argv[1:] == ["--probe"]:
            return 0
        return 0 if unittest.main(exit=False).result.wasSuccessful() else 1
    finally:
        docker.discard()


if __name__ == "__main__":
    sys.exit(main())
