#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""glovebox in containers of a real Docker, as root and as a user: what works with what is left, and
whether the flags that doctor names give the rest.

Starts a dockerd of its own, without a network, in a directory of its own. The image is made here
from programs of this machine. Exit status 77, with the reason, where dockerd does not start.

    GLOVEBOX=build/release/bin/glovebox tests/containers/test_containers.py
    tests/containers/test_containers.py --probe      # only whether containers start here
"""
import sys
import unittest

from dockerd import IMAGE, Docker
from inside import UNFILTERED, UNPROFILED, USERS, Inside

SKIPPED = 77
UNCOVERED = ("--security-opt", "systempaths=unconfined")


docker = Docker()


class Containers(Inside, unittest.TestCase):
    engine = docker

    def test_a_default_container_has_the_landlock_tier_and_doctor_says_what_gives_more(self):
        for user in USERS:
            with self.subTest(user=user):
                self.check_default(user, "a Docker container")

    def test_the_flags_that_doctor_names_give_the_native_tier(self):
        for user in USERS:
            with self.subTest(user=user):
                self.check_advice(user)

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
