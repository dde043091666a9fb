# SPDX-License-Identifier: Apache-2.0
import unittest

import e2b
from sandboxes import InSandbox


class Commands(InSandbox):
    def commands_that_run(self):
        return [each.args[-1] for each in self.sandbox.commands.list()]

    def test_a_command_has_variables_and_a_directory(self):
        done = self.sandbox.commands.run("echo $NAME; pwd", envs={"NAME": "value"}, cwd="/tmp")
        self.assertEqual((done.stdout, done.exit_code), ("value\n/tmp\n", 0))

    def test_a_command_that_fails_raises_with_its_status(self):
        with self.assertRaises(e2b.CommandExitException) as raised:
            self.sandbox.commands.run("echo no >&2; exit 3")
        self.assertEqual((raised.exception.exit_code, raised.exception.stderr), (3, "no\n"))

    def test_a_command_in_the_background_takes_input(self):
        handle = self.sandbox.commands.run("head -n 1", background=True, stdin=True)
        self.sandbox.commands.send_stdin(handle.pid, "a line\n")
        self.assertEqual(handle.wait().stdout, "a line\n")

    def test_a_command_beyond_its_time_is_ended(self):
        with self.assertRaises(e2b.TimeoutException):
            self.sandbox.commands.run("sleep 1234", timeout=1)
        self.eventually(lambda: "sleep 1234" not in self.commands_that_run())

    def test_a_command_is_listed_joined_and_killed(self):
        started = self.sandbox.commands.run("echo first; sleep 4321", background=True)
        self.assertIn("echo first; sleep 4321", self.commands_that_run())
        joined = self.sandbox.commands.connect(started.pid)
        self.assertTrue(self.sandbox.commands.kill(started.pid))
        with self.assertRaises(e2b.CommandExitException):
            joined.wait()
        self.assertNotIn("echo first; sleep 4321", self.commands_that_run())

    def test_a_terminal_shows_what_is_typed(self):
        shown = []
        terminal = self.sandbox.pty.create(size=e2b.PtySize(rows=24, cols=80))
        self.sandbox.pty.send_stdin(terminal.pid, b"echo $((6 * 7))$COLUMNS; exit\n")
        terminal.wait(on_pty=shown.append)
        self.assertIn(b"\n4280", b"".join(shown).replace(b"\x1b[?2004l\r", b"\n"))


if __name__ == "__main__":
    unittest.main()
