# SPDX-License-Identifier: Apache-2.0
"""--deterministic: the same program with the same input does the same, every time.

GLOVEBOX_DETERMINISTIC_RUNS makes the comparison longer.
"""
import hashlib
import os

from program import run
from wasm_case import ENDLESS, INSTALLED, WasmCase

RUNS = int(os.environ.get("GLOVEBOX_DETERMINISTIC_RUNS", "20"))

# All that usually differs: hashes, addresses, random numbers, clocks, numbers and times of files.
CURIOUS = """
import datetime, hashlib, os, random, shutil, sys, tempfile, time, uuid
print(hash("x"), id(object()), random.random(), os.urandom(16).hex(), uuid.uuid4())
print(time.time(), time.monotonic(), time.perf_counter(), time.process_time(), datetime.datetime.now())
for name in ("b", "a", "c"):
    open(name, "w").write(name)
shutil.copyfile("a", "d")
print(os.listdir("."), [os.stat(name) for name in os.listdir(".")], os.stat("/workspace"))
print([(each.name, each.inode()) for each in os.scandir(".")], sorted(os.environ.items()))
print(set("abcdefgh"), sys.stdin.read())
"""

WAITING = "before = time.time(); time.sleep(3600); print(round(time.time() - before))"

COUNTING = """
count = 0
while True:
    count += 1
    if count % 10000 == 0:
        print(count, flush=True)
"""


class Deterministic(WasmCase):
    def setUp(self):
        super().setUp()
        if not (INSTALLED / "python.cwasm").exists():
            self.skipTest("Python for the wasm tier is not installed")

    def output(self, code, *options, stdin=b""):
        return run("--deterministic", *options, "-l", "python", "-e", code, "--json",
                   stdin=stdin).verdict

    def test_runs_have_one_output_however_many_there_are(self):
        outputs = set()
        for _ in range(RUNS):
            verdict = self.output(CURIOUS + WAITING, stdin=b"input")
            self.assertEqual(verdict["status"], "ok", verdict["stderr"])
            outputs.add(hashlib.sha256(verdict["stdout"].encode()).hexdigest())
        self.assertEqual(len(outputs), 1)

    def test_plain_runs_differ(self):
        """Or the test above could not fail."""
        outputs = {self.run_python(CURIOUS).out for _ in range(2)}
        self.assertEqual(len(outputs), 2)

    def test_time_passes_by_asking_and_by_waiting_alone(self):
        verdict = self.output("import time\nwhile time.time() % 10 < 9: time.sleep(0.5)\n"
                              "print(time.strftime('%Y-%m-%d'))")
        self.assertEqual(verdict["stdout"], "2000-01-01\n")
        self.assertLess(verdict["usage"]["wall_ms"], 9000)

    def test_another_input_is_another_output(self):
        self.assertNotEqual(self.output("print(input())", stdin=b"1\n")["stdout"],
                            self.output("print(input())", stdin=b"2\n")["stdout"])

    def test_a_run_out_of_time_ends_at_the_same_instruction(self):
        ends = {(each["status"], each["stdout"]) for each in
                (self.output(COUNTING, "--time", "5s") for _ in range(3))}
        self.assertEqual(len(ends), 1)
        self.assertEqual(ends.pop()[0], "timeout")

    def test_a_module_out_of_time_says_so(self):
        verdict = self.verdict_of(ENDLESS, "--deterministic", "--time", "300ms")
        self.assertEqual((verdict["status"], verdict["limits"]["time"]["hit"]), ("timeout", True))

    def test_files_are_still_told_apart(self):
        verdict = self.output("import os\nopen('a', 'w'); open('b', 'w')\n"
                              "print(os.path.samefile('a', 'b'), os.path.samefile('a', './a'))")
        self.assertEqual(verdict["stdout"], "False True\n")
