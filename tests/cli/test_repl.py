# SPDX-License-Identifier: Apache-2.0
"""`glovebox repl`, by a pipe and at a pseudo-terminal."""

import contextlib
import json
import os
import pty
import re
import select
import signal
import stat
import subprocess
import time
import unittest

from program import GLOVEBOX, Case, glovebox

PNG = ("import base64\nfrom IPython.display import Image, display\n"
       "display(Image(base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4"
       "nGNgYPj/HwADAgH/p9TMPQAAAABJRU5ErkJggg==')))\n")


class ReplCase(Case):
    def setUp(self):
        super().setUp()
        self.need("python")
        if subprocess.run(["/usr/bin/python3", "-c", "import IPython"], capture_output=True,
                          check=False).returncode != 0:
            self.skipTest("python3-ipython is not installed")

    def repl(self, text, *options, language="python"):
        return glovebox("repl", "-l", language, *options, stdin=text.encode(), cwd=self.dir)


class TestPiped(ReplCase):
    def test_cells_share_their_variables(self):
        answer = self.repl("x = 6\n\nprint('so')\nx * 7\n")
        self.assert_status(answer, 0)
        self.assertEqual(answer.out, b"so\n42\n")

    def test_a_definition_with_blank_lines_stays_whole(self):
        answer = self.repl("def f():\n    a = 1\n\n    return a + 1\n\nf()\n")
        self.assertEqual(answer.out, b"2\n", str(answer))

    def test_an_open_bracket_keeps_the_cell_open(self):
        answer = self.repl("x = [1,\n\n2]\n\nsum(x)\n")
        self.assertEqual(answer.out, b"3\n", str(answer))

    def test_markers_cut_cells_where_they_are_used(self):
        answer = self.repl("# %% one\nx = 1\n\nx\n# %% two\nx + 1\n")
        self.assertEqual(answer.out, b"1\n2\n", str(answer))

    def test_an_error_is_shown_without_colours_and_the_rest_runs(self):
        answer = self.repl("1 / 0\n\nprint('later')\n")
        self.assert_status(answer, 1)
        self.assertEqual(answer.out, b"later\n")
        self.assertIn("ZeroDivisionError", answer.message)
        self.assertNotIn(b"\x1b", answer.err)

    def test_a_plot_becomes_a_file_and_none_is_overwritten(self):
        self.file("plot-1.png", "mine")
        answer = self.repl(PNG)
        self.assert_status(answer, 0)
        self.assertIn(b"[plot-2.png: image/png", answer.out)
        self.assertTrue((self.dir / "plot-2.png").read_bytes().startswith(b"\x89PNG"))
        self.assertEqual((self.dir / "plot-1.png").read_text(), "mine")

    def test_plots_go_where_save_says(self):
        answer = self.repl(PNG, "--save", self.dir / "plots")
        self.assert_status(answer, 0)
        self.assertTrue((self.dir / "plots/plot-1.png").exists())

    def test_input_finds_the_end_of_input(self):
        answer = self.repl("input()\n\nprint('later')\n")
        self.assertEqual(answer.out, b"later\n", str(answer))
        self.assert_status(answer, 1)

    def test_a_cell_over_its_time_ends_with_124_and_the_state_survives(self):
        answer = self.repl("x = 1\n\nimport time; time.sleep(60)\n\nx\n", "--time", "500ms")
        self.assert_status(answer, 124)
        self.assertEqual(answer.out, b"1\n")

    def test_an_interpreter_that_dies_is_replaced_and_files_are_kept(self):
        answer = self.repl("open('kept', 'w').write('here')\nimport os\nos._exit(3)\n\n"
                           "open('kept').read()\n")
        self.assert_status(answer, 1)
        self.assertEqual(answer.out, b"'here'\n")
        self.assertIn("exit status 3", answer.message)
        self.assertIn("variables are lost, files are kept", answer.message)

    def test_cells_behind_one_that_ends_the_interpreter_are_missed(self):
        answer = self.repl("print('before')\n\nimport os; os._exit(0)\n\nprint('after')\n")
        self.assertEqual(answer.status, 1)
        self.assertEqual(answer.out, b"before\n")
        self.assertIn("1 cell was not run", answer.message)
        self.assertEqual(self.repl("import os; os._exit(0)\n").status, 0)

    def test_exit_ends_it(self):
        answer = self.repl("print('before')\n\nexit()\n\nprint('after')\n")
        self.assert_status(answer, 0)
        self.assertEqual(answer.out, b"before\n")

    def test_other_languages_keep_state_too(self):
        self.need("bash")
        answer = self.repl("x=5\n\necho $((x + 1))\n", language="bash")
        self.assert_status(answer, 0)
        self.assertEqual(answer.out, b"6\n")


SET = "x = '{0}'; n = open('x', 'w').write('{0}')\n\n"
SHOW = "print(x, open('x').read())\n\n"
CRASH = "import os; os._exit(3)\n\n"


class TestCheckpoints(ReplCase):
    def test_a_rollback_brings_variables_and_files_back(self):
        answer = self.repl(SET.format("before") + ":checkpoint\n" + SET.format("after") +
                           "made = open('made', 'w').close()\n\n" + SHOW + ":rollback\n" + SHOW +
                           "import os; (os.listdir('.'), 'made' in globals())\n")
        self.assert_status(answer, 0)
        self.assertEqual(answer.out, b"after after\nbefore before\n(['x'], False)\n")

    def test_each_checkpoint_can_be_gone_to_by_its_number(self):
        answer = self.repl(SET.format("one") + ":checkpoint\n" + SET.format("two") +
                           ":checkpoint\n" + SET.format("three") + ":rollback 1\n" + SHOW +
                           ":rollback 2\n" + SHOW + ":rollback 1\n" + SHOW + ":rollback 9\n")
        self.assertEqual(answer.out, b"one one\ntwo two\none one\n", str(answer))
        self.assertIn("no checkpoint 9", answer.message)

    def test_a_checkpoint_outlives_a_crash(self):
        answer = self.repl(SET.format("before") + ":checkpoint\n" + SET.format("after") + CRASH +
                           ":rollback\n" + SHOW)
        self.assert_status(answer, 1)
        self.assertEqual(answer.out, b"before before\n")
        self.assertIn("':rollback' goes back to checkpoint 1", answer.message)

    def test_memory_over_the_limit_takes_the_interpreter_and_not_its_checkpoint(self):
        answer = self.repl(SET.format("before") + ":checkpoint\n" + "x = bytearray(1 << 30)\n\n" +
                           ":rollback\n" + SHOW, "--memory", "256M")
        self.assert_status(answer, 137)
        self.assertEqual(answer.out, b"before before\n", str(answer))

    def test_another_cell_after_a_crash_gets_a_new_interpreter_with_the_files(self):
        answer = self.repl(SET.format("before") + ":checkpoint\n" + CRASH +
                           "('x' in globals(), open('x').read())\n\n:rollback\n")
        self.assertEqual(answer.out, b"(False, 'before')\n", str(answer))
        self.assertIn("variables are lost, files are kept", answer.message)
        self.assertIn("there is no checkpoint", answer.message)

    def test_what_was_installed_since_is_gone_and_what_was_started_is_killed(self):
        answer = self.repl(
            ":checkpoint\n"
            "import pathlib, site, subprocess\n"
            "place = pathlib.Path(site.getusersitepackages())\n"
            "place.mkdir(parents=True)\n"
            "n = (place / 'since.py').write_text('')\n\n"
            "import since; child = subprocess.Popen(['sleep', '600'])\n\n"
            ":rollback\n"
            "import since\n\n"
            "import pathlib, time\n"
            "def sleeps():\n"
            "    return [p for p in pathlib.Path('/proc').glob('[0-9]*/comm')\n"
            "            if p.read_text() == 'sleep\\n']\n"
            "end = time.monotonic() + 20\n"
            "while sleeps() and time.monotonic() < end: time.sleep(0.02)\n"
            "sleeps()\n")
        self.assertIn("ModuleNotFoundError", answer.message)
        self.assertEqual(answer.out, b"[]\n", str(answer))

    def test_many_restarts_leave_room_for_checkpoints(self):
        fill = "n = open('x', 'wb').write(os.urandom(20 << 20))\n\n"
        answer = self.repl(("import os\n\n" + fill + ":checkpoint\n:restart\n") * 6 +
                           "print('done')\n", "--disk", "64M")
        self.assert_status(answer, 0)


class TestCommands(ReplCase):
    def test_a_session_exports_as_a_notebook_and_as_a_page(self):
        answer = self.repl("print('hello')\n6 * 7\n\n:export s.ipynb\n:export s.html\n")
        self.assert_status(answer, 0)
        cells = json.loads((self.dir / "s.ipynb").read_text())["cells"]
        self.assertEqual(len(cells), 1)
        self.assertEqual(cells[0]["outputs"][0]["text"], ["hello\n"])
        self.assertIn("42", (self.dir / "s.html").read_text())

    def test_what_was_shown_is_saved_by_number_and_never_over_a_file(self):
        answer = self.repl(PNG + "\n6 * 7\n\n:save 1 a.png\n:save a.txt\n:save 1 a.png\n")
        self.assert_status(answer, 1)
        self.assertTrue((self.dir / "a.png").read_bytes().startswith(b"\x89PNG"))
        self.assertEqual((self.dir / "a.txt").read_text(), "42")
        self.assertIn("existing files are not overwritten", answer.message)

    def test_a_value_too_large_for_the_record_is_fetched_when_it_is_saved(self):
        answer = self.repl("from IPython.display import display\n"
                           "display({'text/html': 'x' * 20_000_000,"
                           " 'application/json': ['y' * 18_000_000]}, raw=True)\n\n"
                           ":save 1 a.html\n:save b.json\n:export s.ipynb\n")
        self.assert_status(answer, 0)
        self.assertIn("saves the value that was too large", answer.message)
        self.assertEqual((self.dir / "a.html").read_text(), "x" * 20_000_000)
        self.assertEqual(json.loads((self.dir / "b.json").read_text()), ["y" * 18_000_000])
        shown = (self.dir / "s.ipynb").read_text()
        self.assertLess(len(shown), 10_000)
        self.assertIn("too large to keep", shown)

    def test_deep_values_are_not_blown_up_on_the_screen(self):
        answer = self.repl("v = 1\nfor _ in range(40):\n    v = [v, v] if _ < 5 else [v]\n\n"
                           "display({'application/json': v}, raw=True)\n"
                           "display({'application/json': {'a': [1]}}, raw=True)\n")
        self.assert_status(answer, 0)
        self.assertIn(b'{\n  "a": [\n    1\n  ]\n}', answer.out)
        self.assertLess(len(answer.out), 2_000)

    def test_variables_are_listed(self):
        answer = self.repl("import pandas as pd; speed = 12; word = 'a\\nb'\n"
                           "frame = pd.DataFrame({'year': [1], 'town': ['Ulm']})\n\n:vars\n")
        self.assertEqual(answer.out.decode().splitlines(), [
            "name   type       size   value",
            "pd     module            pandas",
            "speed  int               12",
            "word   str        3      'a\\nb'",
            "frame  DataFrame  1 × 2  year: int64, town: object",
        ], str(answer))

    def test_a_variable_that_lies_about_its_size_is_still_listed(self):
        answer = self.repl("class Odd:\n    shape = (1, 'x')\n    def __len__(self): return 1 / 0\n"
                           "    def __repr__(self): return '\\x1b[31mred\\n' * 2\n\nodd = Odd()\n\n:vars\n")
        self.assertIn(b"odd ", answer.out, str(answer))
        self.assertNotIn(b"\x1b", answer.out)
        self.assertEqual(len(answer.out.splitlines()), 3, str(answer))

    def test_an_install_without_a_source_names_the_options_that_give_one(self):
        for cell in ("%pip install gb-absent", "!pip install gb-absent"):
            with self.subTest(cell=cell):
                answer = self.repl(cell + "\n")
                self.assertIn("no source of packages", answer.message)
                self.assertIn("--package-source DIR", answer.message)
                said = answer.out.decode() + answer.message
                for misleading in ("externally-managed", "certificate", "Retrying", "restart"):
                    self.assertNotIn(misleading, said)

    def test_an_install_past_the_network_rules_names_the_hosts_of_pypi(self):
        answer = self.repl("!pip install gb-absent\n", "--allow-net", "absent.example")
        self.assertIn("--allow-net pypi.org", answer.message)
        self.assertNotIn("externally-managed", answer.out.decode() + answer.message)

    def test_what_is_installed_needs_no_source(self):
        answer = self.repl("%pip install pip\n")
        self.assert_status(answer, 0)
        self.assertIn("already satisfied", answer.out.decode())
        self.assertNotIn("hint", answer.out.decode() + answer.message)

    def test_restart_forgets_variables_and_keeps_files(self):
        answer = self.repl("x = 1\nopen('f', 'w').write('y')\n\n:restart\n\n"
                           "('x' in globals(), open('f').read())\n")
        self.assertEqual(answer.out.splitlines()[-1], b"(False, 'y')", str(answer))

    def test_another_language_says_that_it_cannot_be_copied(self):
        self.need("bash")
        answer = self.repl(":checkpoint\n", language="bash")
        self.assert_status(answer, 1)
        self.assertIn("cannot be copied", answer.message)

    def test_the_landlock_tier_says_that_it_cannot_copy(self):
        answer = self.repl(":checkpoint\n", "--tier", "landlock")
        self.assert_status(answer, 1)
        self.assertIn("cannot be copied", answer.message)
        self.assertIn("native tier", answer.message)

    def test_a_rollback_without_a_checkpoint_names_the_fix(self):
        answer = self.repl(":rollback\n")
        self.assert_status(answer, 1)
        self.assertIn(":checkpoint", answer.message)

    def test_an_unknown_command_names_the_nearest(self):
        answer = self.repl(":exprt x.ipynb\n")
        self.assert_status(answer, 1)
        self.assertIn("':export'", answer.message)


class TestWrongUse(Case):
    def test_a_language_without_an_agent_is_refused_with_the_fix(self):
        answer = glovebox("repl", "-l", "awk")
        self.assert_status(answer, 125)
        self.assertIn("glovebox run -l awk", answer.message)

    def test_an_unknown_kernel_is_answered_with_those_that_there_are(self):
        answer = glovebox("repl", "-l", "jupyter:no-such")
        self.assert_status(answer, 2)
        self.assertIn("no-such", answer.message)

    def test_a_kernel_name_is_no_path(self):
        self.assert_status(glovebox("repl", "-l", "jupyter:../../etc"), 2)


class Terminal:
    """glovebox repl at a pseudo-terminal."""

    def __init__(self, directory, *options, environment=None):
        self.seen = self.everything = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(directory)
            whole = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8",
                     "XDG_STATE_HOME": str(directory / "state")}
            whole.pop("NO_COLOR", None)
            whole.update(environment or {})
            os.execve(GLOVEBOX, [GLOVEBOX, "repl", *options], whole)

    def type(self, text):
        os.write(self.fd, text.encode())

    def expect(self, pattern, patience=60):
        """Reads until the pattern is in what was not matched yet."""
        deadline = time.monotonic() + patience
        while True:
            found = re.search(pattern, self.seen)
            if found:
                self.seen = self.seen[found.end():]
                return found
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise AssertionError(f"no {pattern!r} in {self.seen!r}")
            try:
                got = os.read(self.fd, 65536)
            except OSError:
                got = b""
            if not got:
                raise AssertionError(f"ended without {pattern!r}: {self.seen!r}")
            self.seen += got.decode("utf-8", "replace")
            self.everything += got.decode("utf-8", "replace")

    def prompt(self, number):
        # Its colour ends before what is typed.
        self.expect(re.escape(f"In [{number}]:\x1b[0m "))

    def finish(self):
        self.type("\x04")
        deadline = time.monotonic() + 60
        while True:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise AssertionError(f"it does not end: {self.seen!r}")
            try:
                got = os.read(self.fd, 65536)
            except OSError:
                break
            if not got:
                break
            self.seen += got.decode("utf-8", "replace")
        return self.close()

    def close(self):
        if self.pid:
            os.close(self.fd)
            ended = os.pidfd_open(self.pid)
            if not select.select([ended], [], [], 60)[0]:
                os.kill(self.pid, signal.SIGKILL)
            os.close(ended)
            _, status = os.waitpid(self.pid, 0)
            self.pid = 0
            return os.waitstatus_to_exitcode(status)
        return None


def descendants(pid):
    """The pids below one, as the host numbers them."""
    found = []
    # Threads and processes may end while they are looked at.
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as children:
                    for child in map(int, children.read().split()):
                        found += [child, *descendants(child)]
    return found


class TestTerminal(ReplCase):
    def open(self, *options):
        terminal = Terminal(self.dir, *options)

        def end():
            if terminal.pid:
                os.kill(terminal.pid, signal.SIGKILL)
                terminal.close()
        self.addCleanup(end)
        terminal.prompt(1)
        return terminal

    def test_results_have_numbers_and_the_end_of_input_ends_it(self):
        terminal = self.open()
        terminal.type("6 * 7\r")
        terminal.expect(r"Out\[1\]: (\x1b\[0m)?42\r\n")
        terminal.prompt(2)
        self.assertEqual(terminal.finish(), 0)

    def test_a_block_goes_on_until_an_empty_line(self):
        terminal = self.open()
        terminal.type("for i in range(2):\r")
        terminal.expect(r"\.\.\.:\x1b\[0m ")
        terminal.type("print('i', i)\r")
        terminal.expect(r"\.\.\.:\x1b\[0m ")
        terminal.type("\x15\r")
        terminal.expect(r"i 0\r\ni 1\r\n")

    def test_code_has_colours_while_it_is_typed(self):
        terminal = self.open()
        terminal.type("x = 'a' if 1 else 2")
        terminal.expect(re.escape("x = \x1b[33m'a'\x1b[0m \x1b[35mif\x1b[0m \x1b[36m1\x1b[0m "
                                  "\x1b[35melse\x1b[0m \x1b[36m2\x1b[0m\x1b8"))
        # A word that grows is no keyword any more; what is entered is what was typed.
        terminal.type("\x15fo")
        terminal.type("r")
        terminal.expect(re.escape("\x1b[35mfor\x1b[0m\x1b8"))
        terminal.type("k")
        terminal.expect(re.escape("\x1b[0mfork\x1b[0m\x1b8"))
        terminal.type("\x15'世界' + 'x'\x1b[D\x1b[Dy\r")
        terminal.expect(r"Out\[1\]: (\x1b\[0m)?'世界yx'\r\n")

    def test_a_string_goes_on_over_lines(self):
        terminal = self.open()
        terminal.type("s = \"\"\"one\r")
        terminal.expect(r"\.\.\.:\x1b\[0m ")
        terminal.type("if")
        terminal.expect(re.escape("\x1b[33mif\x1b[0m\x1b8"))
        terminal.type("\"\"\"; s\r\r")
        terminal.expect(r"Out\[1\]: (\x1b\[0m)?'one\\nif'")

    def test_who_wants_no_colours_gets_none(self):
        for more in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            terminal = Terminal(self.dir, environment=more)
            terminal.expect(r"In \[1\]: ")
            terminal.type("'a' if 1 else 2\r")
            terminal.expect(r"Out\[1\]: 'a'\r\n")
            terminal.expect(r"In \[2\]: ")
            self.assertNotIn("\x1b[3", terminal.everything)
            self.assertEqual(terminal.finish(), 0)

    def test_what_is_pasted_is_one_cell(self):
        terminal = self.open()
        terminal.type("\x1b[200~def f():\r    a = 20\r\r    return a + 2\r\rf() * 2\x1b[201~\r")
        terminal.expect(r"Out\[1\]: (\x1b\[0m)?44\r\n")

    def test_tab_completes(self):
        terminal = self.open()
        terminal.type("a_long_name = 17\r")
        terminal.prompt(2)
        terminal.type("a_lo\t + 1\r")
        terminal.expect(r"Out\[2\]: (\x1b\[0m)?18\r\n")

    def test_undo_takes_the_last_cell_back_and_no_other(self):
        terminal = self.open()
        cells = ("x = 1; n = open('f', 'w').write('one')", "x = 2; n = open('f', 'w').write('two')")
        for number, cell in enumerate(cells, 2):
            terminal.type(cell + "\r")
            terminal.prompt(number)
        terminal.type(":undo\r")
        terminal.expect("the last cell is taken back")
        terminal.prompt(2)
        terminal.type(":undo\r")
        terminal.expect("there is no cell that can be taken back")
        terminal.prompt(2)
        terminal.type("x, open('f').read()\r")
        terminal.expect(r"Out\[2\]: (\x1b\[0m)?\(1, 'one'\)")

    def test_undo_takes_back_a_cell_that_killed_the_interpreter(self):
        terminal = self.open()
        terminal.type("x = 1\r")
        terminal.prompt(2)
        terminal.type("x = bytearray(1 << 32)\r")
        terminal.expect("':undo' takes the cell back")
        terminal.type(":undo\r")
        terminal.expect("the last cell is taken back")
        terminal.type("x + 41\r")
        terminal.expect(r"Out\[2\]: (\x1b\[0m)?42")

    def test_checkpoints_are_counted_without_those_for_undo(self):
        terminal = self.open()
        terminal.type("x = 1\r")
        terminal.prompt(2)
        terminal.type(":checkpoint\r")
        terminal.expect("checkpoint 1; ':rollback 1'")

    def test_an_interrupt_ends_the_cell_and_keeps_the_state(self):
        terminal = self.open()
        terminal.type("x = 5\r")
        terminal.prompt(2)
        terminal.type("print('sleep' + 'ing'); import time; time.sleep(60)\r")
        terminal.expect("sleeping\r\n")
        terminal.type("\x03")
        terminal.expect("KeyboardInterrupt")
        terminal.prompt(3)
        terminal.type("x + 1\r")
        terminal.expect(r"Out\[3\]: (\x1b\[0m)?6\r\n")

    def test_an_interrupt_at_the_prompt_clears_the_line(self):
        terminal = self.open()
        terminal.type("1 / 0")
        terminal.expect("/ 0")
        terminal.type("\x03")
        terminal.prompt(1)
        terminal.type("2 + 3\r")
        terminal.expect(r"Out\[1\]: (\x1b\[0m)?5\r\n")

    def test_numbers_go_on_from_the_checkpoint(self):
        terminal = self.open()
        terminal.type("x = 1\r")
        terminal.prompt(2)
        terminal.type(":checkpoint\r")
        terminal.expect("checkpoint 1;")
        terminal.prompt(2)
        terminal.type("x = 2\r")
        terminal.prompt(3)
        terminal.type(":rollback\r")
        terminal.prompt(2)
        terminal.type("x\r")
        terminal.expect(r"Out\[2\]: (\x1b\[0m)?1\r\n")
        terminal.prompt(3)
        self.assertEqual(terminal.finish(), 0)

    def test_a_checkpoint_does_not_outlive_glovebox(self):
        terminal = self.open()
        terminal.type(":checkpoint\r")
        terminal.expect("checkpoint 1;")
        terminal.prompt(1)
        inside = [os.pidfd_open(pid) for pid in descendants(terminal.pid)]
        # The warden, the interpreter and its copy.
        self.assertGreaterEqual(len(inside), 3)
        os.kill(terminal.pid, signal.SIGKILL)
        terminal.close()
        for process in inside:
            self.assertTrue(select.select([process], [], [], 60)[0], "one lives on")
            os.close(process)

    def test_input_is_answered_at_the_terminal(self):
        terminal = self.open()
        terminal.type("n = input('na' + 'me? ')\r")
        terminal.expect(r"name\? ")
        terminal.type("Ada\r")
        terminal.prompt(2)
        terminal.type("n * 2\r")
        terminal.expect("'AdaAda'")

    def test_tracebacks_are_coloured_but_the_guest_cannot_drive_the_terminal(self):
        terminal = self.open()
        terminal.type("print('\\x1b]0;title\\x07' 'be' + 'fore'); 1 / 0\r")
        shown = terminal.expect(r"(?s)(.*)before\r\n")[1]
        self.assertNotIn("\x1b]0;", shown)
        terminal.expect(r"\x1b\[[0-9;]*mZeroDivisionError")

    def test_history_is_kept_whole_and_private(self):
        terminal = self.open()
        terminal.type("41 + 1\r")
        terminal.prompt(2)
        self.assertEqual(terminal.finish(), 0)
        history = self.dir / "state/glovebox/history-python"
        self.assertEqual(stat.S_IMODE(history.stat().st_mode), 0o600)
        terminal = self.open()
        terminal.type("\x1b[A\r")
        terminal.expect(r"Out\[1\]: (\x1b\[0m)?42\r\n")


if __name__ == "__main__":
    unittest.main()
