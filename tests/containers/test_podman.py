#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""glovebox in containers of a real Podman, of root's and of an ordinary user's (rootless): what works
with what is left, and whether the flags that doctor names give the rest.

The image is made here from programs of this machine. Exit status 77, with the reason, where neither
kind starts.

    GLOVEBOX=build/release/bin/glovebox tests/containers/test_podman.py
    tests/containers/test_podman.py --probe      # only whether containers start here
"""
import sys
import unittest

from inside import UNFILTERED, UNPROFILED, USERS, Advice, AdviceToRoot, main
from podman import Podman

UNMASKED = ("--security-opt", "unmask=ALL")
ADMIN = ("--cap-add", "SYS_ADMIN")
CGROUPS = ("--volume", "/sys/fs/cgroup:/sys/fs/cgroup:rw")
PRIVILEGED = ("--privileged",)
WITHOUT_ADMIN = (*UNFILTERED, *UNMASKED)
# docs/containers.md, but for root without SYS_ADMIN.
TABLE = (
    ((), "landlock"),
    (WITHOUT_ADMIN, "native"),
    ((*UNMASKED, *ADMIN), "native"),
    ((*UNMASKED, *ADMIN, *CGROUPS), "native"),
    (PRIVILEGED, "native"),
)


class OfRoot(AdviceToRoot, unittest.TestCase):
    engine = Podman()
    place = "a Podman container"

    def test_the_options_give_the_tiers_of_the_page(self):
        for flags, tier in TABLE:
            for user in USERS:
                with self.subTest(flags=flags, user=user):
                    self.check((*flags, *UNPROFILED), user,
                               "landlock" if user == "root" and flags == WITHOUT_ADMIN else tier)

    def test_a_privileged_container_limits_all_processes_together(self):
        self.check_limits(PRIVILEGED)

    def test_for_a_user_of_a_container_with_sys_admin_doctor_names_only_the_mask(self):
        self.assertEqual(self.advised((*ADMIN, *UNPROFILED), "user"), [UNMASKED])


class Rootless(Advice, unittest.TestCase):
    engine = Podman(rootless=True)
    place = "a Podman container"

    def test_the_options_give_the_tiers_of_the_page(self):
        for flags, tier in TABLE:
            for user in USERS:
                with self.subTest(flags=flags, user=user):
                    self.check((*flags, *UNPROFILED), user,
                               "landlock" if user == "root" and flags == WITHOUT_ADMIN else tier)

    def test_root_of_a_container_without_capabilities_has_the_landlock_tier(self):
        self.check(("--cap-drop", "ALL"), "root", "landlock")

    def test_for_root_doctor_names_no_volume_that_would_limit_nothing(self):
        hint = self.findings((), "root")["place"]["hint"]
        self.assertIn("--memory and --pids-limit", hint)
        self.assertNotIn("--volume", hint)


if __name__ == "__main__":
    sys.exit(main([OfRoot, Rootless]))
