# SPDX-License-Identifier: Apache-2.0
"""Modules: what they are given, how they end, and what they cannot reach."""
import os
import pathlib
import re
import signal
import subprocess

from program import GLOVEBOX, run
from wasm_case import (ARGUMENTS, COPYING, ENDLESS, ENVIRONMENT, EXITING, FLOODING, GREEDY,
                       RECURSION, TRAPS, WasmCase, opening, printing)

# (module (memory (export "memory") 1) (func (export "_start"))), in the binary format.
NOTHING = bytes.fromhex("0061736d01000000010401600000030201000503010001071302066d656d6f72790200065f73"
                        "74617274000" "00a040102000b")


class Modules(WasmCase):
    def test_run_in_the_text_and_in_the_binary_format_without_naming_the_tier(self):
        text = run(self.file("hello.wat", printing("hello")), "--json").verdict
        self.assertEqual((text["status"], text["stdout"], text["tier"], text["language"]),
                         ("ok", "hello", "wasm", "wasm"))
        for name in ("nothing.wasm", "named-otherwise"):
            self.assertEqual(run(self.file(name, NOTHING), "--json").verdict["tier"], "wasm")

    def test_have_two_streams_of_output(self):
        said = self.verdict_of(printing("wrong", to=2))
        self.assertEqual((said["stdout"], said["stderr"]), ("", "wrong"))

    def test_read_standard_input_to_its_end(self):
        sent = bytes(range(256)) * 1000
        self.assertEqual(self.run_module(COPYING, stdin=sent).out, sent)

    def test_get_arguments_and_environment_and_nothing_of_ours(self):
        got = self.run_module(ARGUMENTS, "--", "one", "two words", "--deterministic=1")
        self.assertEqual(got.out, b"/workspace/main.wat\0one\0two words\0--deterministic=1\0")
        env = dict(each.split("=", 1) for each in self.run_module(
            ENVIRONMENT, "--env", "A=1", env={"SECRET": "x"}).out.decode().strip("\0").split("\0"))
        self.assertEqual(env["A"], "1")
        self.assertNotIn("SECRET", env)

    def test_end_with_their_exit_status(self):
        self.assert_status(self.run_module(EXITING), 7)

    def test_that_trap_end_by_the_signal_that_a_program_would_get(self):
        for name, text in TRAPS.items():
            with self.subTest(name):
                verdict = self.verdict_of(text)
                self.assertEqual((verdict["status"], verdict["signal"]),
                                 ("signaled", getattr(signal, name)), verdict)
                self.assertIn("glovebox-wasm: trap: ", verdict["stderr"])

    def test_that_recurse_without_end_end_and_nothing_else_does(self):
        verdict = self.verdict_of(RECURSION)
        self.assertEqual((verdict["status"], verdict["signal"]), ("signaled", signal.SIGSEGV))

    def test_that_never_end_are_ended_by_the_limits_of_time(self):
        verdict = self.verdict_of(ENDLESS, "--time", "300ms")
        self.assertEqual((verdict["status"], verdict["limits"]["time"]["hit"]), ("timeout", True))
        verdict = self.verdict_of(ENDLESS, "--cpu-time", "300ms")
        self.assertEqual(verdict["status"], "timeout")
        self.assertTrue(verdict["limits"]["cpu_time"]["hit"])

    def test_that_take_all_memory_end_out_of_memory(self):
        verdict = self.verdict_of(GREEDY, "--memory", "64M")
        self.assertEqual(verdict["status"], "out_of_memory", verdict)

    def test_that_flood_are_cut_and_counted(self):
        verdict = self.verdict_of(FLOODING, "--time", "300ms", "--output", "64K")
        self.assertLessEqual(len(verdict["stdout"]), 80_000)
        self.assertTrue(verdict["truncated"]["stdout"])
        self.assertGreater(verdict["bytes"]["stdout"], 1 << 20)

    def test_that_are_none_or_want_what_is_not_there_say_so(self):
        library = '(module (memory (export "memory") 1) (func (export "other")))'
        socket = ('(module (import "env" "socket" (func (param i32) (result i32)))'
                  ' (func (export "_start")))')
        for text, message in ((b"\x7fELF", "this is not a WebAssembly module"),
                              (b"\0asm\1\0\0\0\xff", "compile the module: "),
                              ("(module", "read the WebAssembly text: "),
                              (library, "the module has no function _start"),
                              (socket, "unknown import: `env::socket`")):
            with self.subTest(message):
                answer = self.run_module(text)
                self.assert_status(answer, 126)
                self.assertIn(message, answer.message)

    def test_open_files_below_the_workspace_and_the_temporary_directory_only(self):
        there = self.file("there", "x")
        self.assert_status(self.run_module(opening("there"), "--file", str(there)), 0)
        for path in ("/etc/passwd", "../etc/passwd", "../opt/glovebox/wasm/glovebox-wasm",
                     "../../proc/self/environ", "there/../../etc/passwd"):
            with self.subTest(path):
                self.assertNotEqual(self.run_module(opening(path), "--file", str(there)).status, 0)

    def test_follow_no_link_out(self):
        for target in ("/etc/passwd", "../etc/passwd"):
            with self.subTest(target):
                self.assertNotEqual(self.run_module(opening("link", link=target)).status, 0)
        # Nor one that somebody else has made.
        (self.dir / "copied").mkdir()
        (self.dir / "copied/link").symlink_to("../etc/passwd")
        self.assertNotEqual(
            self.run_module(opening("link"), "--file", f"{self.dir}/copied:.").status, 0)

    def test_stand_behind_every_wall_of_the_native_tier(self):
        walls = self.verdict_of(printing("x"))["walls"]
        native = run("--tier", "native", "--json", "-l", "sh", "-e", "true").verdict["walls"]
        self.assertEqual(walls, {**native, "seccomp": "wasm"})


class Runner(WasmCase):
    """The process that runs the module, looked at while the module waits for its input."""

    def setUp(self):
        super().setUp()
        program = subprocess.Popen(
            [GLOVEBOX, "run", "--tier", "wasm", self.file("main.wat", COPYING)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(program.communicate)
        program.stdin.write(b"x")
        program.stdin.flush()
        self.assertEqual(program.stdout.read(1), b"x")
        self.process = next(iter(self.runners_below(program.pid)))

    @staticmethod
    def runners_below(pid):
        """Directories of /proc of the runners that descend from a process."""
        parents, found = {}, []
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                name, rest = re.fullmatch(r"\d+ \((.*)\) (.*)", stat.read_text(), re.DOTALL).groups()
            except OSError:
                continue
            parents[int(stat.parent.name)] = int(rest.split()[1])
            if name == "glovebox-wasm":
                found.append(stat.parent)
        for directory in found:
            ancestor = int(directory.name)
            while ancestor > 1 and ancestor != pid:
                ancestor = parents.get(ancestor, 0)
            if ancestor == pid:
                yield directory

    def test_has_no_power_and_has_put_its_filters_on_top_of_the_sandbox_s(self):
        status = dict(line.split(":\t", 1) for line in
                      (self.process / "status").read_text().splitlines())
        self.assertEqual((int(status["CapEff"], 16), int(status["CapBnd"], 16)), (0, 0))
        self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))
        # The sandbox's, the runner's list, no programs, no new code.
        self.assertEqual(int(status["Seccomp_filters"]), 4)
        self.assertNotEqual(int(status["Uid"].split()[0]), os.getuid() or -1)

    def test_has_no_memory_that_can_be_both_written_and_executed(self):
        maps = (self.process / "maps").read_text()
        self.assertNotRegex(maps, r"(?m)^\S+ .w.x?x")
        self.assertNotRegex(maps, r"(?m)^\S+ .wx")

    def test_has_one_thread(self):
        self.assertEqual(len(list((self.process / "task").iterdir())), 1)

    def test_holds_no_descriptor_of_the_host(self):
        for link in (self.process / "fd").iterdir():
            target = os.readlink(link)
            self.assertRegex(target, r"^(pipe:|socket:|anon_inode:|/memfd:|/workspace|/tmp|/dev/null|/$)",
                             target)


