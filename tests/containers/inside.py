# SPDX-License-Identifier: Apache-2.0
"""What glovebox says in a container: of its tiers, and what doctor advises; the tests of it that
every engine has."""
import json
import os
import pathlib
import re
import sys
import unittest

from dockerd import IMAGE

ROOT = pathlib.Path(__file__).resolve().parents[2]
GLOVEBOX = pathlib.Path(os.environ.get("GLOVEBOX", ROOT / "build/release/bin/glovebox")).resolve()
USERS = {"root": "0:0", "user": "1000:1000"}

UNFILTERED = ("--security-opt", "seccomp=unconfined")
# On hosts with AppArmor its profile refuses mounts, whatever the filter lets through.
HAS_APPARMOR = pathlib.Path("/sys/kernel/security/apparmor").exists()
UNPROFILED = ("--security-opt", "apparmor=unconfined") if HAS_APPARMOR else ()
# The options of a cgroup that root can write to.
FOR_LIMITS = ("--volume", "--cgroupns")
SKIPPED = 77


class Inside:
    """For the tests of one engine, which is `engine`."""

    engine = None

    def glovebox(self, flags, user, *words):
        """What glovebox says in a container with these flags."""
        programs = GLOVEBOX.parent.parent
        mounts = [word for part in ("bin", "libexec")
                  for word in ("-v", f"{programs / part}:/glovebox/{part}:ro")]
        return self.engine.ask("run", "--rm", "--network", "none", *mounts, *flags, "-u",
                               USERS[user], IMAGE, "/glovebox/bin/glovebox", *words)

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

    def advised(self, flags, user):
        """The engine's options that doctor's advice names, in a container with these flags."""
        hint = self.findings(flags, user)["place"]["hint"]
        found = re.findall(r"(--security-opt|--cap-add|--volume|--cgroupns) (\S+?)(?=[ ,;]|$)", hint)
        return [tuple(option) for option in found]

    def advised_for_native(self, user):
        return [option for option in self.advised((), user) if option[0] not in FOR_LIMITS]


class Advice(Inside):
    """Tests of what doctor advises, for any engine."""

    place = None
    users = USERS

    def test_a_default_container_has_the_landlock_tier_and_doctor_says_what_gives_more(self):
        for user in self.users:
            with self.subTest(user=user):
                self.check_default(user)

    def check_default(self, user):
        """A container without options has the landlock tier, and only when it is asked for."""
        self.check((), user, "landlock")
        # Nobody gets less than was asked for without having said so.
        done, said = self.run_in((), user)
        self.assertEqual((done.returncode, said.get("schema")), (125, "glovebox.error/1"))
        self.assertRegex(said["hint"], "--min-tier landlock|glovebox doctor")
        found = self.findings((), user)
        self.assertFalse(found["tier native"]["ok"], found)
        self.assertEqual(found["tier native"]["hint"], "see 'place'")
        self.assertTrue(found["tier landlock"]["ok"], found)
        self.assertIn("--min-tier landlock", found["place"]["hint"])
        self.assertIn(self.place, found["place"]["detail"])
        self.assertEqual(found["cgroup"]["hint"], "see 'place'")
        for what, finding in found.items():
            # Doctor does not send people to doctor, nor to what an ordinary machine would need.
            self.assertTrue(finding["hint"] or finding["ok"], what)
            self.assertNotRegex(finding["hint"], r"glovebox doctor|sysctl|run as root|/\.\./", what)

    def test_the_flags_that_doctor_names_give_the_native_tier(self):
        for user in self.users:
            with self.subTest(user=user):
                options = self.advised_for_native(user)
                self.assertEqual(("--security-opt", "apparmor=unconfined") in options, HAS_APPARMOR)
                flags = words(options)
                self.check(flags, user, "native")
                found = self.findings(flags, user)
                self.assertTrue(found["tier native"]["ok"], found)
                self.assertNotIn("--security-opt", found["place"]["hint"])

    def test_without_any_one_of_these_flags_the_tier_is_not_native_and_doctor_names_that_one(self):
        for user in self.users:
            options = self.advised_for_native(user)
            for absent in options:
                with self.subTest(user=user, absent=absent):
                    flags = words(each for each in options if each != absent)
                    self.check(flags, user, "landlock")
                    self.assertEqual([each for each in self.advised(flags, user)
                                      if each[0] not in FOR_LIMITS], [absent])


class AdviceToRoot(Advice):
    """The same, of an engine whose containers have the host's root."""

    def test_all_that_doctor_names_for_root_limits_all_processes_together(self):
        flags = words(self.advised((), "root"))
        self.assertIn("--volume", flags)
        self.check_limits(flags)
        found = self.findings(flags, "root")
        self.assertTrue(found["place"]["ok"], found)
        self.assertEqual(found["place"]["hint"], "")
        _, verdict = self.run_in(words(self.advised_for_native("root")), "root")
        self.assertEqual(verdict["walls"]["cgroup"], "none", verdict)

    def check_limits(self, flags):
        """With these flags a cgroup limits root's guests."""
        _, verdict = self.run_in(flags, "root")
        self.assertEqual(verdict.get("tier"), "native", verdict)
        self.assertTrue(verdict["limits"]["memory"]["enforced"], verdict)
        self.assertTrue(verdict["walls"]["cgroup"].startswith("v"), verdict)


def words(options):
    return tuple(word for option in options for word in option)


def main(engines):
    """Runs the tests of each class with its engine. The exit status is 77 where none of them
    starts; with --probe, only that is tried."""
    try:
        why = {tests: tests.engine.start() for tests in engines}
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
        for tests in engines:
            tests.engine.discard()
