#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tier `microvm`, from outside: its machines are clones of one that has booted. Exit status 77,
with the reason, where QEMU or the machine's kernel is not installed.

    GLOVEBOX=build/release/bin/glovebox tests/microvm/run_microvm.py [NAME…]
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GLOVEBOX = pathlib.Path(os.environ.get("GLOVEBOX", ROOT / "build/release/bin/glovebox")).resolve()
INSTALLED = GLOVEBOX.parents[1] / "libexec/glovebox/microvm"
SKIPPED = 77
PATIENCE_S = 180
MIB = 1 << 20

WHO = """
cat /proc/sys/kernel/random/boot_id
head -c 16 /dev/urandom | od -An -tx1
cat /proc/sys/kernel/random/uuid
date +%s
hostname
"""


class Machines(unittest.TestCase):
    """The tests of a class share a runtime directory, and with it templates."""

    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory(prefix="gb-microvm.", dir="/run" if os.geteuid() == 0 else None)
        cls.addClassCleanup(place.cleanup)
        cls.runtime = pathlib.Path(place.name, "glovebox")
        cls.runtime.mkdir(mode=0o700)

    def environment(self):
        return {**os.environ, "GLOVEBOX_RUNTIME_DIR": str(self.runtime),
                "XDG_RUNTIME_DIR": str(self.runtime.parent)}

    def start(self, script, *options, stdin=subprocess.DEVNULL):
        return subprocess.Popen(
            [GLOVEBOX, "run", "--tier", "microvm", *options, "-l", "sh", "-e", script],
            env=self.environment(), stdin=stdin, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)

    def verdict(self, script, *options):
        process = self.start(script, "--json", *options)
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertTrue(out.startswith("{"), out + err)
        return json.loads(out)

    def notes(self, verdict):
        return " ".join(verdict.get("notes", []))

    def templates(self):
        return sorted(path for path in (self.runtime / ".machines").glob("[!.]*"))

    def assert_cloned(self, verdict):
        self.assertEqual(verdict["status"], "ok", verdict)
        self.assertNotIn("template", self.notes(verdict))


class Clones(Machines):
    def test_of_one_template_share_no_random_numbers_boot_id_or_clock(self):
        before = time.time()
        said = [self.verdict(WHO)["stdout"].split("\n") for _ in range(3)]
        self.assertEqual(len(self.templates()), 1)
        for part in range(3):
            self.assertEqual(len({lines[part] for lines in said}), len(said), said)
        for lines in said:
            self.assertTrue(before - 1 <= int(lines[3]) <= time.time() + 1, lines)

    def test_started_at_once_wait_for_one_template(self):
        started = [self.start("echo done", "--json", "--memory", "300M") for _ in range(3)]
        for process in started:
            out, err = process.communicate(timeout=PATIENCE_S)
            self.assert_cloned(json.loads(out))
            self.assertEqual(err, "")
        self.assertLessEqual(len(self.templates()), 2)  # Of the other tests' size as well.

    def test_of_like_sizes_have_the_same_template(self):
        for memory in ("511M", "512M"):
            self.assert_cloned(self.verdict("true", "--memory", memory))
        self.assertEqual(len([path for path in self.templates()
                              if (path / "memory").stat().st_size == 640 * MIB]), 1)

    def test_of_one_template_are_what_their_own_order_says(self):
        script = ("grep MemTotal /proc/meminfo; df -B1 --output=size,itotal /workspace | tail -1; "
                  "grep -E '^(CapBnd|NoNewPrivs|Seccomp):' /proc/self/status")
        for memory, disk, inodes in ((511, 16, 900), (512, 64, 5000)):
            verdict = self.verdict(script, "--memory", f"{memory}M", "--disk", f"{disk}M", "--inodes", str(inodes))
            self.assert_cloned(verdict)
            total, size, itotal, bounding, no_new_privs, seccomp = re.findall(
                r"(?<![0-9A-Za-z])[0-9a-f]+(?= |$)", verdict["stdout"], re.MULTILINE)
            self.assertEqual(int(total), memory * 1024)
            self.assertTrue(0 <= int(size) - disk * MIB <= MIB, verdict["stdout"])
            self.assertTrue(0 <= int(itotal) - inodes <= 100, verdict["stdout"])
            self.assertEqual((int(bounding, 16), no_new_privs, seccomp), (0, "1", "2"))

    def test_see_nothing_of_their_template(self):
        shown = self.verdict("ls -a /run /run/*; cat /run/machine/memory | head -c 1")
        self.assertNotIn("machine", shown["stdout"])
        self.assertIn("No such file", shown["stderr"])

    def test_keep_what_they_write_to_themselves(self):
        template = self.templates()[0] if self.templates() else None
        if template is None:
            self.verdict("true")
            (template,) = self.templates()
        before = [(path.name, path.stat().st_mtime_ns, path.read_bytes()[:MIB])
                  for path in sorted(template.iterdir())]
        self.verdict("head -c 50M /dev/urandom > /tmp/much; sync")
        self.assertEqual(before, [(path.name, path.stat().st_mtime_ns, path.read_bytes()[:MIB])
                                  for path in sorted(template.iterdir())])


class Memory(Machines):
    def own_memory_of_qemu(self, run):
        """What QEMU has written to, of what the machine is made of, in bytes."""
        parents = {}
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                name, _, rest = stat.read_text().partition("(")[2].rpartition(")")
                parents[int(stat.parent.name)] = int(rest.split()[1]), name
        own = {run.pid}
        while more := {pid for pid, (parent, _) in parents.items() if parent in own} - own:
            own |= more
        (qemu,) = (pid for pid in own if parents[pid][1].startswith("qemu"))
        text = pathlib.Path(f"/proc/{qemu}/smaps_rollup").read_text()
        return int(re.search(r"(?m)^Private_Dirty: +(\d+) kB", text)[1]) * 1024

    def test_that_programs_free_returns_to_the_host(self):
        run = self.start("head -c 200M /dev/urandom > /tmp/much; echo full; read go; rm /tmp/much;"
                         " echo freed; read go", "--disk", "300M", "--time", "5m",
                         stdin=subprocess.PIPE)
        self.addCleanup(run.communicate)
        self.assertEqual(run.stdout.readline(), "full\n")
        self.assertGreater(self.own_memory_of_qemu(run), 200 * MIB)
        run.stdin.write("go\n")
        run.stdin.flush()
        self.assertEqual(run.stdout.readline(), "freed\n")
        end = time.monotonic() + PATIENCE_S
        while self.own_memory_of_qemu(run) > 100 * MIB:
            self.assertLess(time.monotonic(), end, self.own_memory_of_qemu(run) // MIB)
            time.sleep(0.1)


class Templates(Machines):
    def setUp(self):
        super().setUp()
        shutil.rmtree(self.runtime / ".machines", ignore_errors=True)

    def test_that_others_could_write_are_refused(self):
        self.assert_cloned(self.verdict("true"))
        (template,) = self.templates()
        for path in (template / "memory", template / "state", template):
            mode = path.stat().st_mode & 0o777
            path.chmod(mode | 0o002)
            with self.subTest(path.name):
                verdict = self.verdict("true")
                self.assertEqual(verdict["status"], "ok")
                self.assertIn("the machine booted", self.notes(verdict))
                self.assertIn("not a template of ours alone", self.notes(verdict))
            path.chmod(mode)
        self.assert_cloned(self.verdict("true"))

    def test_that_are_links_or_cut_off_are_refused(self):
        self.assert_cloned(self.verdict("true"))
        (template,) = self.templates()
        memory = template / "memory"
        size = memory.stat().st_size
        os.truncate(memory, size - 4096)
        self.assertIn("not a template of ours alone", self.notes(self.verdict("true")))
        os.truncate(memory, size)
        memory.rename(self.runtime / "memory")
        memory.symlink_to(self.runtime / "memory")
        self.assertIn("not a template of ours alone", self.notes(self.verdict("true")))

    def test_with_a_state_that_cannot_be_loaded_do_not_keep_the_machine_from_booting(self):
        self.assert_cloned(self.verdict("true"))
        (template,) = self.templates()
        (template / "state").write_bytes(b"no state at all" * 1000)
        self.assertEqual(self.verdict("true")["status"], "ok")

    def test_whose_maker_was_killed_leave_nothing_behind(self):
        process = self.start("true", "--json")
        machines = self.runtime / ".machines"
        end = time.monotonic() + PATIENCE_S
        while not list(machines.glob(".build-*/state")):
            self.assertLess(time.monotonic(), end)
            self.assertIsNone(process.poll(), "it was made too quickly to be killed")
        process.send_signal(signal.SIGKILL)
        process.communicate()
        self.assertEqual(self.templates(), [])
        self.assert_cloned(self.verdict("true"))
        self.assertEqual(len(self.templates()), 1)
        self.assertEqual(list(machines.glob(".build-*")), [])


def why_not_here():
    if shutil.which("qemu-system-x86_64") is None:
        return "QEMU is not installed"
    if not (INSTALLED / "kernel").exists():
        return f"the machine's kernel is not installed: run {INSTALLED / 'install'}"
    return None


if __name__ == "__main__":
    if why := why_not_here():
        print(f"skipped: {why}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
