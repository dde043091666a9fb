#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""glovebox in containers of a real Docker, as root and as a user: what works with what is left, and
whether the flags that doctor names give the rest.

Starts a dockerd of its own, without a network, in a directory of its own. The image is made here
from programs of this machine. Exit status 77, with the reason, where dockerd does not start.

    GLOVEBOX=build/release/bin/glovebox tests/containers/test_containers.py
    tests/containers/test_containers.py --probe      # only whether containers start here
"""
import io
import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GLOVEBOX = pathlib.Path(os.environ.get("GLOVEBOX", ROOT / "build/release/bin/glovebox")).resolve()
SKIPPED = 77
PATIENCE_S = 60
# Where Debian has programs that only root uses.
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
IMAGE = "glovebox-containers:test"
USERS = {"root": "0:0", "user": "1000:1000"}

UNFILTERED = ("--security-opt", "seccomp=unconfined")
UNCOVERED = ("--security-opt", "systempaths=unconfined")
# On hosts with AppArmor its profile refuses mounts, whatever the filter lets through.
HAS_APPARMOR = pathlib.Path("/sys/kernel/security/apparmor").exists()
UNPROFILED = ("--security-opt", "apparmor=unconfined") if HAS_APPARMOR else ()


class Docker:
    """A daemon of our own, in a directory of its own."""

    def __init__(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="gb-docker."))
        self.process = None

    def start(self):
        """None, or why it does not start."""
        program = shutil.which("dockerd", path=PATH)
        if os.geteuid() != 0 or program is None or shutil.which("docker", path=PATH) is None:
            return "needs root and dockerd (Debian's docker.io)"
        with open(self.dir / "log", "wb") as log:
            self.process = subprocess.Popen(
                [program, "--host", f"unix://{self.dir}/s", "--data-root", self.dir / "data",
                 "--exec-root", self.dir / "exec", "--pidfile", self.dir / "pid", "--bridge=none",
                 "--iptables=false", "--ip-forward=false"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, "PATH": PATH})
        end = time.monotonic() + PATIENCE_S
        while self.ask("version").returncode != 0:
            if self.process.poll() is not None or time.monotonic() > end:
                lines = (self.dir / "log").read_text(errors="replace").strip().splitlines()
                return f"dockerd does not start: {' '.join(lines[-1:])}"
            select.select([], [], [], 0.1)
        made = self.ask("import", "-", IMAGE, input=small_root())
        if made.returncode != 0:
            return f"docker makes no image: {made.stderr.decode(errors='replace')}"
        began = self.ask("run", "--rm", "--network", "none", IMAGE, "/usr/bin/sh", "-c", "exit 0")
        return None if began.returncode == 0 else (
            f"docker starts no container: {began.stderr.decode(errors='replace')}")

    def ask(self, *words, **how):
        return subprocess.run(
            ["docker", "-H", f"unix://{self.dir}/s", *words], env={**os.environ, "PATH": PATH},
            capture_output=True, check=False, timeout=PATIENCE_S, **how)

    def discard(self):
        if self.process is not None:
            self.process.terminate()
            self.process.wait(PATIENCE_S)
        shutil.rmtree(self.dir, ignore_errors=True)


def small_root():
    """A root file system with a shell, as a tar archive."""
    programs = {"/usr/bin/dash", "/usr/bin/cat", "/usr/bin/id"}
    paths = set(programs)
    for program in programs:
        listed = subprocess.run(["ldd", program], capture_output=True, check=True, text=True).stdout
        paths.update(re.findall(r"(/\S+) \(0x", listed))
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", dereference=True) as tar:
        for name in ("bin", "sbin", "lib", "lib64"):
            tar.addfile(link(name, f"usr/{name}"))
        for name in ("usr", "usr/sbin", "tmp", "run", "proc", "dev", "sys", "etc"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            tar.addfile(folder)
        for path in sorted(paths):
            tar.add(path, path.removeprefix("/") if path.startswith("/usr/") else "usr" + path)
        tar.addfile(link("usr/bin/sh", "dash"))
    return archive.getvalue()


def link(name, target):
    made = tarfile.TarInfo(name)
    made.type, made.linkname = tarfile.SYMTYPE, target
    return made


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
                self.assertIn("a container of Docker", found["place"]["detail"])

    def test_the_flags_that_doctor_names_give_the_native_tier(self):
        for user in USERS:
            with self.subTest(user=user):
                hint = self.findings((), user)["place"]["hint"]
                flags = re.findall(r"(--security-opt|--cap-add) (\S+?)(?=[ ,;]|$)", hint)
                words = [word for flag in flags for word in flag
                         if HAS_APPARMOR or flag[1] != "apparmor=unconfined"]
                self.assertIn("seccomp=unconfined", words)
                self.check(words, user, "native")
                found = self.findings(words, user)
                self.assertTrue(found["tier native"]["ok"], found)
                self.assertNotIn("place", found)

    def test_part_of_the_flags_is_not_enough_and_doctor_still_names_all(self):
        for user in USERS:
            with self.subTest(user=user):
                flags = (*UNFILTERED, *UNPROFILED)
                self.check(flags, user, "landlock")
                found = self.findings(flags, user)
                self.assertIn("systempaths=unconfined", found["place"]["hint"])
                self.assertEqual(found["tier native"]["hint"], "see 'place'")
        # Root in a container maps no ids for its guests without this.
        flags = (*UNFILTERED, *UNCOVERED, *UNPROFILED)
        self.check(flags, "root", "landlock")
        self.check(flags, "user", "native")

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
