# SPDX-License-Identifier: Apache-2.0
"""What programs see of the machine: as much as their limits let them use."""

import os
import shutil
import unittest

from program import Case, run

READ = r"""
for tool in "nproc" "getconf _NPROCESSORS_ONLN" "getconf _NPROCESSORS_CONF" \
    "grep -c ^processor /proc/cpuinfo" "grep -c ^cpu[0-9] /proc/stat"; do
  echo "$tool: $($tool)"
done
"""


class Machine(Case):
    def test_has_as_many_processors_as_may_be_used(self):
        for cpus, seen in (("0.5", 1), ("1", 1), ("4096", os.cpu_count())):
            answer = run("-l", "bash", "-e", READ, "--cpus", cpus)
            self.assertEqual(answer.status, 0, answer)
            lines = answer.out.decode().splitlines()
            self.assertEqual(len(lines), 5, lines)
            for line in lines:
                self.assertEqual(line.rpartition(": ")[2], str(min(seen, os.cpu_count())), line)

    def test_a_wish_for_more_processors_than_there_are_is_noted(self):
        has = os.cpu_count()
        answer = run("-l", "sh", "-e", "true", "--cpus", str(has + 97), "--json")
        self.assertEqual(answer.verdict["notes"],
                         [f"cpus {has + 97} is more than this machine has: the limit is {has} "
                          f"processor{'' if has == 1 else 's'}"])
        for cpus in ("0.5", str(has)):
            answer = run("-l", "sh", "-e", "true", "--cpus", cpus, "--json")
            self.assertNotIn("notes", answer.verdict, cpus)

    def test_has_as_much_memory_as_may_be_used(self):
        answer = run("-l", "bash", "-e", "grep ^Mem /proc/meminfo", "--memory", "64M")
        self.assertEqual([line.split()[1] for line in answer.out.decode().splitlines()], ["65536"] * 3)

    def test_is_that_of_the_run_after_a_compilation(self):
        code = r"""#include <stdio.h>
int main(void) { char line[99]; FILE *f = fopen("/proc/meminfo", "r"); puts(fgets(line, 99, f)); }"""
        answer = run("-l", "c", "-e", code, "--memory", "64M")
        self.assertEqual(answer.out.split(), [b"MemTotal:", b"65536", b"kB"], answer)
        answer = run("-l", "c", "-e", code, "--memory", "5G")
        self.assertEqual(answer.out.split()[1], b"5242880", answer)

    def test_cannot_be_changed_by_the_program(self):
        script = r"""
for file in /run/masks/* /proc/meminfo /proc/cpuinfo /proc/stat /sys/devices/system/cpu/online; do
  { echo mine > $file; } 2>&- && echo wrote $file
  chmod u+w $file 2>&- && echo changed $file
done
rm -f /run/masks/meminfo 2>&-; mv /run/masks /run/m 2>&-; umount /run/masks /proc/meminfo 2>&-
grep -c MemTotal /run/masks/meminfo /proc/meminfo"""
        answer = run("-l", "bash", "-e", script)
        self.assertEqual(answer.out.split(), [b"/run/masks/meminfo:1", b"/proc/meminfo:1"], answer)

    @unittest.skipUnless(shutil.which("node"), "no node")
    def test_is_what_language_runtimes_take_it_for(self):
        answer = run("-l", "python", "-e", "import os; print(os.cpu_count())")
        self.assertEqual(answer.out, b"1\n", answer)
        node = "const os = require('os'); console.log(os.cpus().length, os.totalmem() >> 20)"
        answer = run("-l", "javascript", "-e", node, "--memory", "300M")
        self.assertEqual(answer.out, b"1 300\n", answer)

    def test_can_be_overruled_by_the_caller(self):
        answer = run("-l", "bash", "-e", "nproc", "--env", "OMP_NUM_THREADS=2")
        self.assertEqual(answer.out, b"%d\n" % min(2, os.cpu_count()), answer)


if __name__ == "__main__":
    unittest.main()
