# SPDX-License-Identifier: Apache-2.0
"""What glovebox says in a container: of its tiers, and what doctor advises."""
import json
import os
import pathlib
import re

from dockerd import IMAGE

ROOT = pathlib.Path(__file__).resolve().parents[2]
GLOVEBOX = pathlib.Path(os.environ.get("GLOVEBOX", ROOT / "build/release/bin/glovebox")).resolve()
USERS = {"root": "0:0", "user": "1000:1000"}

UNFILTERED = ("--security-opt", "seccomp=unconfined")
# On hosts with AppArmor its profile refuses mounts, whatever the filter lets through.
HAS_APPARMOR = pathlib.Path("/sys/kernel/security/apparmor").exists()
UNPROFILED = ("--security-opt", "apparmor=unconfined") if HAS_APPARMOR else ()


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

    def check_default(self, user, place):
        """A container without options has the landlock tier, and only when it is asked for."""
        self.check((), user, "landlock")
        # Nobody gets less than was asked for without having said so.
        done, said = self.run_in((), user)
        self.assertEqual((done.returncode, said.get("schema")), (125, "glovebox.error/1"))
        self.assertRegex(said["hint"], "--min-tier landlock|glovebox doctor")
        found = self.findings((), user)
        self.assertFalse(found["tier native"]["ok"], found)
        self.assertTrue(found["tier landlock"]["ok"], found)
        self.assertIn("--min-tier landlock", found["place"]["hint"])
        self.assertIn(place, found["place"]["detail"])

    def check_advice(self, user):
        """The flags that doctor names, without the volume, give the tier `native`."""
        words = [word for word in self.advised((), user)
                 if word not in ("--volume", "/sys/fs/cgroup:/sys/fs/cgroup:rw")]
        self.assertIn("seccomp=unconfined", words)
        self.assertEqual("apparmor=unconfined" in words, HAS_APPARMOR)
        self.check(words, user, "native")
        found = self.findings(words, user)
        self.assertTrue(found["tier native"]["ok"], found)
        self.assertNotIn("--security-opt", found["place"]["hint"])

    def advised(self, flags, user):
        """The engine's options that doctor's advice names, in a container with these flags."""
        hint = self.findings(flags, user)["place"]["hint"]
        found = re.findall(r"(--security-opt|--cap-add|--volume|--cgroupns) (\S+?)(?=[ ,;]|$)", hint)
        return [word for option in found for word in option]
