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
from inside import USERS, AdviceToRoot, main


class Containers(AdviceToRoot, unittest.TestCase):
    engine = Docker()
    place = "a Docker container"

    def test_in_a_container_job_of_github_doctor_says_where_the_flags_go(self):
        found = self.findings(("-e", "GITHUB_ACTIONS=true"), "root")
        self.assertEqual(found["place"]["detail"], "GitHub Actions, a Docker container, as root")
        self.assertIn("'options:' of the job's container: --security-opt",
                      found["place"]["hint"])

    def test_a_privileged_container_has_the_native_tier(self):
        for user in USERS:
            with self.subTest(user=user):
                empty = self.engine.ask("run", "--rm", "--network", "none", "--privileged", "-u",
                                        USERS[user], IMAGE, "/usr/bin/sh", "-c", "exit 0")
                if b"unable to apply caps" in empty.stderr:
                    # This machine itself lacks capabilities that Docker would give.
                    continue
                self.check(("--privileged",), user, "native")


if __name__ == "__main__":
    sys.exit(main([Containers]))
