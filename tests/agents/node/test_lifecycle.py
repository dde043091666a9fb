# SPDX-License-Identifier: Apache-2.0
"""Interrupts, the end of a context, and guests that break what the agent stands on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from harness import (AGENT, CHECKPOINT, DONE, END, EXECUTE, INPUT_REQUEST, NODE, NOTE, STDOUT, Agent)  # noqa: E402


@unittest.skipUnless(NODE, "node is not installed")
class Interrupts(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.agent = Agent()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.agent.__exit__()

    def interrupted(self, code: str) -> None:
        """Runs code that prints a line once it is where it is to be interrupted."""
        self.agent.execute("let kept = 'kept'")
        channel = self.agent.send(EXECUTE, {"code": code})
        self.agent.until(STDOUT)
        execution = self.agent.interrupt_until_done(channel)
        self.assertEqual((execution.status, execution.error["name"]), ("error", "KeyboardInterrupt"))
        self.assertEqual(self.agent.execute("kept").text, "'kept'")

    def test_an_endless_loop_can_be_interrupted(self) -> None:
        self.interrupted("console.log('in'); while (true);")

    def test_a_loop_that_catches_everything_can_be_interrupted(self) -> None:
        self.interrupted("console.log('in'); for (;;) try { throw 1 } catch {}")

    def test_a_loop_that_prints_can_be_interrupted(self) -> None:
        channel = self.agent.send(EXECUTE, {"code": "for (;;) console.log('again')"})
        self.agent.until(STDOUT)
        self.assertEqual(self.agent.interrupt_until_done(channel).status, "error")
        self.assertEqual(self.agent.execute("console.log('well')").stdout, "well\n")

    def test_a_loop_after_an_await_can_be_interrupted(self) -> None:
        self.interrupted("await null; console.log('in'); while (true);")

    def test_a_loop_of_awaits_can_be_interrupted(self) -> None:
        self.interrupted("console.log('in'); for (;;) await null")

    def test_an_await_without_end_can_be_interrupted(self) -> None:
        self.interrupted("console.log('in'); await new Promise(() => {})")

    def test_a_loop_in_a_timer_can_be_interrupted(self) -> None:
        self.interrupted("setTimeout(() => { console.log('in'); while (true); }, 1); await new Promise(() => {})")

    def test_a_regular_expression_without_end_can_be_interrupted(self) -> None:
        self.interrupted("console.log('in'); /^(a+)+$/.test('a'.repeat(60) + 'b')")

    def test_a_prompt_can_be_interrupted(self) -> None:
        channel = self.agent.send(EXECUTE, {"code": "prompt('? ')"})
        self.agent.until(INPUT_REQUEST)
        self.assertEqual(self.agent.interrupt_until_done(channel).error["name"], "KeyboardInterrupt")
        self.assertEqual(self.agent.execute("1").text, "1")

    def test_a_pending_input_can_be_interrupted(self) -> None:
        channel = self.agent.send(EXECUTE, {"code": "await input('? ')"})
        self.agent.until(INPUT_REQUEST)
        self.assertEqual(self.agent.interrupt_until_done(channel).error["name"], "KeyboardInterrupt")
        self.assertEqual(self.agent.execute("1").text, "1")

    def test_an_interrupt_between_executions_does_nothing(self) -> None:
        with Agent() as agent:
            agent.execute("process.on('SIGINT', () => setImmediate(() => console.log('came'))); 0")
            os.kill(agent.process.pid, signal.SIGINT)
            agent.until(STDOUT)
            self.assertEqual(agent.execute("'alive'").text, "'alive'")

    def test_a_guest_that_removes_listeners_stays_interruptible(self) -> None:
        self.interrupted("process.removeAllListeners(); process.removeAllListeners('SIGINT'); console.log('in'); while (true);")


@unittest.skipUnless(NODE, "node is not installed")
class Lifecycle(unittest.TestCase):
    def test_the_end_of_the_socket_ends_the_agent(self) -> None:
        with Agent() as agent:
            agent.socket.close()
            self.assertEqual(agent.process.wait(60), 0)

    def test_end_ends_the_agent_with_what_runs_aborted(self) -> None:
        with Agent() as agent:
            running = agent.send(EXECUTE, {"code": "await new Promise(() => {})"})
            waiting = agent.send(EXECUTE, {"code": "1"})
            agent.send(END)
            self.assertEqual(agent.collect(running).status, "aborted")
            self.assertEqual(agent.collect(waiting).status, "aborted")
            self.assertEqual(agent.process.wait(60), 0)

    def test_process_exit_ends_the_context_in_order(self) -> None:
        with Agent() as agent:
            agent.execute("process.on('exit', () => console.log('bye'))")
            execution = agent.execute("console.log('before'); process.exit(7)")
            self.assertEqual(execution.stdout, "before\nbye\n")
            self.assertIn("process.exit(7)", execution.of(NOTE)[0].json["text"])
            self.assertEqual(execution.status, "aborted")
            self.assertEqual(agent.process.wait(60), 7)
            self.assertEqual(agent.process.stderr.read(), b"")

    def test_a_checkpoint_is_refused(self) -> None:
        with Agent() as agent:
            self.assertIn("error", agent.ask(CHECKPOINT, id=1))
            self.assertNotIn("checkpoint", agent.ready.json["features"])

    def test_programs_write_to_descriptors_one_and_two(self) -> None:
        with Agent() as agent:
            agent.execute("require('child_process').spawnSync('echo', ['from a child'], {stdio: 'inherit'}); process.exit()")
            self.assertEqual(agent.process.stdout.read(), b"from a child\n")

    def test_without_its_flag_the_agent_says_what_is_missing(self) -> None:
        done = subprocess.run([NODE, str(AGENT)], capture_output=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"--expose-internals", done.stderr)

    def test_a_frame_that_is_too_long_ends_the_agent(self) -> None:
        with Agent() as agent:
            agent.socket.sendall(b"\xff\xff\xff\xff\x01\x01\x00\x00\x00")
            self.assertEqual(agent.process.wait(60), 1)

    def test_a_payload_that_is_no_json_is_an_empty_request(self) -> None:
        with Agent() as agent:
            agent.socket.sendall(b"\x03\x00\x00\x00\x01\x05\x00\x00\x00{{{")
            self.assertEqual(agent.collect(5).status, "ok")


@unittest.skipUnless(NODE, "node is not installed")
class HostileGuests(unittest.TestCase):
    def survives(self, *cells: str) -> None:
        with Agent() as agent:
            for cell in cells:
                agent.execute(cell)
            execution = agent.execute("console.log('out'); 6 * 7")
            self.assertEqual((execution.stdout, execution.text), ("out\n", "42"))

    def test_names_of_globals_may_be_taken_by_the_guest(self) -> None:
        self.survives("class Map {}; class Set {}; class Buffer {}; class Promise {}; class Reflect {}; class Atomics {}; let JSON = 1;"
                      "const Symbol = 2, Number = 3, Error = 4, setImmediate = 5, process = 6, URL = 7, console2 = 8; 0")

    def test_globals_may_be_deleted(self) -> None:
        self.survives("for (const name of ['Buffer', 'JSON', 'Promise', 'Atomics', 'Map', 'Set', 'setImmediate', 'Reflect', 'Error',"
                      "'Number', 'Symbol', 'process', 'module', 'require']) delete globalThis[name]; 0")

    def test_what_the_parser_needs_may_be_broken_and_ends_nothing(self) -> None:
        with Agent() as agent:
            agent.execute("const names = ['push', 'map', 'shift', 'forEach', 'some', 'join', 'filter'], kept = {};"
                          "for (const name of names) kept[name] = Array.prototype[name];"
                          "process.on('SIGUSR2', () => { for (const name of names) Array.prototype[name] = kept[name]; console.log('mended') });"
                          "for (const name of names) Array.prototype[name] = () => { throw 'replaced' }; 0")
            self.assertEqual(agent.execute("1").status, "error")
            os.kill(agent.process.pid, signal.SIGUSR2)
            agent.until(STDOUT)
            self.assertEqual(agent.execute("console.log('parsed')").status, "ok")

    def test_methods_may_be_added_to_arrays_and_strings(self) -> None:
        self.survives("Array.prototype.last = function () { return this.at(-1) }; String.prototype.shout = function () { return this }; 0")

    def test_methods_of_modules_may_be_replaced(self) -> None:
        self.survives("const fs = require('fs'), vm = require('vm'), util = require('util'), module = require('module');"
                      "fs.writeSync = fs.readSync = vm.Script = util.inspect = Buffer.from = JSON.stringify = JSON.parse = null;"
                      "Promise.prototype.then = null; process.cwd = null; module.syncBuiltinESMExports(); 0")

    def test_streams_of_the_process_may_be_replaced_and_restored(self) -> None:
        self.survives("const real = process.stdout; process.stdout = {write() {}}; process.stdout = real; process.stdout.end(); 0")

    def test_descriptors_one_and_two_may_be_closed(self) -> None:
        self.survives("require('fs').closeSync(1); require('fs').closeSync(2); 0")

    def test_the_helper_of_generated_code_cannot_be_replaced(self) -> None:
        self.survives("globalThis.__glovebox = null; delete globalThis.__glovebox; 0", "import fs from 'fs'; fs.statSync('/')")

    def test_a_prototype_of_objects_may_be_polluted(self) -> None:
        self.survives("Object.prototype.silent = true; Object.prototype.get = () => 1; Object.prototype.env = {X: 1}; 0")

    def test_the_working_directory_may_be_removed(self) -> None:
        self.survives("const gone = require('fs').mkdtempSync('/tmp/gone'); process.chdir(gone); require('fs').rmdirSync(gone); 0")


if __name__ == "__main__":
    unittest.main()
