# SPDX-License-Identifier: Apache-2.0
"""The two programs that a sandbox of the tier gvisor consists of: who starts them, and their walls."""

import os
import pathlib
import subprocess
import sys
import unittest

from program import GLOVEBOX, ROOT, Case, glovebox, run

sys.path.append(str(ROOT / "tests/conformance"))
import unknown_runsc  # noqa: E402

KNOWN = "runsc version 0.0~20240729.0"
NAMESPACES = ("ipc", "mnt", "net", "pid", "user", "uts")
READ_ANY_FILE, CHROOT, TRACE = 1 << 2, 1 << 18, 1 << 19


def is_known():
    if os.geteuid() != 0 or unknown_runsc.installed() is None:
        return False
    said = subprocess.run([unknown_runsc.installed(), "--version"], capture_output=True, text=True, check=False)
    return said.stdout.startswith(KNOWN)


@unittest.skipUnless(is_known(), "root, and runsc of bookworm-backports")
class Gvisor(Case):
    def started(self, **env):
        """The processes of a living sandbox, by the names that they were started with."""
        process = subprocess.Popen([GLOVEBOX, "run", "-q", "--no-pool", "--tier", "gvisor", "-l", "bash", "-e",
                                    "echo stands; read -r line"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env={**os.environ, **env})
        self.addCleanup(process.communicate, b"\n")
        self.assertEqual(process.stdout.readline(), b"stands\n")
        return self.below(process.pid)

    def below(self, pid):
        found = {}
        for child in self.children_of(pid):
            command = pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            name = pathlib.Path(os.fsdecode(command[0])).name
            if name.startswith("runsc"):
                found |= {name: child, **self.below(child)}
        return found

    @staticmethod
    def children_of(pid):
        return [int(child) for task in os.listdir(f"/proc/{pid}/task")
                for child in pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text().split()]

    def status(self, pid, key):
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
        return next(line.split()[1] for line in lines if line.startswith(f"{key}:"))

    def test_a_known_build_is_executed_once_for_each_of_its_programs(self):
        self.assertEqual(sorted(self.started()), ["runsc-gofer", "runsc-sandbox"])

    def test_another_build_starts_the_sandbox_itself(self):
        other = {"GLOVEBOX_RUNSC": str(unknown_runsc.copy_to(self.dir))}
        self.assertEqual(sorted(self.started(**other)), ["runsc", "runsc-gofer", "runsc-sandbox"])

    def test_the_doctor_says_who_starts_a_sandbox(self):
        other = {"GLOVEBOX_RUNSC": str(unknown_runsc.copy_to(self.dir))}
        for env, said in (({}, "Glovebox starts its programs itself"), (other, "'runsc run' starts sandboxes")):
            with self.subTest(said):
                findings = glovebox("doctor", "--json", env=env).verdict["findings"]
                self.assertIn(said, next(each["detail"] for each in findings if each["what"] == "tier gvisor"))

    def test_both_programs_are_behind_walls_of_their_own(self):
        programs = self.started()
        for name, capabilities in (("runsc-sandbox", READ_ANY_FILE | TRACE), ("runsc-gofer", READ_ANY_FILE | CHROOT)):
            pid = programs[name]
            with self.subTest(name):
                for namespace in NAMESPACES:
                    self.assertNotEqual(os.readlink(f"/proc/{pid}/ns/{namespace}"),
                                        os.readlink(f"/proc/self/ns/{namespace}"), namespace)
                for kind in ("CapPrm", "CapEff", "CapBnd"):
                    self.assertEqual(int(self.status(pid, kind), 16), capabilities, kind)
                for kind in ("CapInh", "CapAmb"):
                    self.assertEqual(int(self.status(pid, kind), 16), 0, kind)
                self.assertEqual((self.status(pid, "NoNewPrivs"), self.status(pid, "Seccomp")), ("1", "2"))
                # Its own, and the one that it starts with.
                self.assertEqual(self.status(pid, "Seccomp_filters"), "2")
                self.assertEqual(pathlib.Path(f"/proc/{pid}/oom_score_adj").read_text(), "1000\n")
                self.assertEqual(pathlib.Path(f"/proc/{pid}/environ").read_bytes(), b"GOGC=300\0")
                self.assertIn("/glovebox-", pathlib.Path(f"/proc/{pid}/cgroup").read_text())
                mounts = pathlib.Path(f"/proc/{pid}/mountinfo").read_text().splitlines()
                writable = [mount for mount in mounts if "ro" not in mount.split()[5].split(",")]
                self.assertEqual(writable, [])

    def test_the_root_of_the_guests_is_not_on_the_disk(self):
        files = self.started()["runsc-gofer"]
        words = pathlib.Path(f"/proc/{files}/cmdline").read_bytes().decode().split("\0")
        bundle = next(word.removeprefix("--bundle=") for word in words if word.startswith("--bundle="))
        self.assertEqual(os.listdir(bundle), ["control"])
        mounts = pathlib.Path(f"/proc/{files}/mountinfo").read_text().splitlines()
        kinds = {mount.split()[4]: mount.split(" - ")[1].split()[0] for mount in mounts}
        self.assertEqual(kinds["/"], "tmpfs")

    def test_the_kernel_sees_two_files_of_the_host_and_no_process(self):
        kernel = self.started()["runsc-sandbox"]
        root = pathlib.Path(f"/proc/{kernel}/root")
        seen = sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())
        self.assertEqual(seen, ["proc/cpuinfo", "proc/sys/vm/mmap_min_addr"])

    def test_an_early_failure_leaves_the_start_to_runsc_and_is_noted(self):
        # It is called what the known build is, and cannot be executed by its descriptor.
        script = self.dir / "runsc"
        script.write_text(f"#!/bin/sh\n# {unknown_runsc.name_of(unknown_runsc.installed())}\n"
                          f'exec {unknown_runsc.installed()} "$@"\n')
        script.chmod(0o755)
        answer = run("--no-pool", "--tier", "gvisor", "--json", "-l", "bash", "-e", "echo stands",
                     env={"GLOVEBOX_RUNSC": str(script)})
        self.assertEqual(answer.verdict["stdout"], "stands\n", answer)
        self.assertIn("gVisor was started by 'runsc run'", answer.message + str(answer.verdict), answer)
