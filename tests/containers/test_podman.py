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

from inside import UNFILTERED, UNPROFILED, USERS, Inside
from podman import Podman

SKIPPED = 77
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

rootful = Podman()
rootless = Podman(rootless=True)


class OfRoot(Inside, unittest.TestCase):
    engine = rootful

    def test_a_default_container_has_the_landlock_tier_and_doctor_says_what_gives_more(self):
        for user in USERS:
            with self.subTest(user=user):
                self.check_default(user, "a Podman container")

    def test_the_flags_that_doctor_names_give_the_native_tier(self):
        for user in USERS:
            with self.subTest(user=user):
                self.check_advice(user)

    def test_with_part_of_the_flags_doctor_names_the_rest(self):
        for user in USERS:
            with self.subTest(user=user):
                flags = (*UNFILTERED, *UNPROFILED)
                self.check(flags, user, "landlock")
                found = self.findings(flags, user)
                self.assertIn("unmask=ALL", found["place"]["hint"])
                self.assertNotIn("seccomp=unconfined", found["place"]["hint"])
                self.assertEqual(found["tier native"]["hint"], "see 'place'")

    def test_the_options_give_the_tiers_of_the_page(self):
        for flags, tier in TABLE:
            for user in USERS:
                with self.subTest(flags=flags, user=user):
                    self.check((*flags, *UNPROFILED), user,
                               "landlock" if user == "root" and flags == WITHOUT_ADMIN else tier)

    def test_a_writable_cgroup_limits_all_processes_together(self):
        for flags in ((*UNMASKED, *ADMIN, *UNPROFILED, *CGROUPS), PRIVILEGED):
            with self.subTest(flags=flags):
                _, verdict = self.run_in(flags, "root")
                self.assertEqual(verdict.get("tier"), "native", verdict)
                self.assertTrue(verdict["limits"]["memory"]["enforced"], verdict)
                self.assertTrue(verdict["walls"]["cgroup"].startswith("v"), verdict)


class Rootless(Inside, unittest.TestCase):
    engine = rootless

    def test_a_default_container_has_the_landlock_tier_and_doctor_says_what_gives_more(self):
        for user in USERS:
            with self.subTest(user=user):
                self.check_default(user, "a Podman container")

    def test_the_flags_that_doctor_names_give_the_native_tier(self):
        for user in USERS:
            with self.subTest(user=user):
                self.check_advice(user)

    def test_the_options_give_the_tiers_of_the_page(self):
        for flags, tier in TABLE:
            for user in USERS:
                with self.subTest(flags=flags, user=user):
                    self.check((*flags, *UNPROFILED), user,
                               "landlock" if user == "root" and flags == WITHOUT_ADMIN else tier)

    def test_root_of_a_container_without_capabilities_has_the_landlock_tier(self):
        self.check(("--cap-drop", "ALL"), "root", "landlock")


def main():
    engines = {OfRoot: rootful, Rootless: rootless}
    try:
        why = {tests: engine.start() for tests, engine in engines.items()}
        for tests, reason in why.items():
            if reason is not None:
                print(f"skipped: {tests.__name__}: {reason}")
                tests.__unittest_skip__, tests.__unittest_skip_why__ = True, reason
        if all(why.values()):
            return SKIPPED
        if sys.argv[1:] == ["--probe"]:
            return 0
        return 0 if unittest.main(exit=False).result.wasSuccessful() else 1
    finally:
        for engine in engines.values():
            engine.discard()


if __name__ == "__main__":
    sys.exit(main())
