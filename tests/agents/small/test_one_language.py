# SPDX-License-Identifier: Apache-2.0
"""What single small languages promise beyond that which holds for all."""

import tempfile
import time
import unittest
from pathlib import Path

import harness
from harness import DISPLAY, STARTED, STDOUT, Agent, Execution
from languages import LANGUAGES


class OneLanguage:
    name: str

    def setUp(self) -> None:
        language = next(language for language in LANGUAGES if language.name == self.name)
        if language.missing:
            self.skipTest(language.missing)
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        self.agent = self.enterContext(Agent(list(language.command), directory.name))

    def run_code(self, code: str, **options: object) -> Execution:
        return self.agent.run(code, **options)

    def text(self, code: str) -> str:
        return self.run_code(code).result["text/plain"]


class BashTest(OneLanguage, unittest.TestCase):
    name = "bash"

    def test_functions_aliases_options_and_directory_persist(self) -> None:
        self.run_code("f() { echo f$1; }; alias g='echo alias'; shopt -s extglob; cd /usr")
        self.assertEqual(self.run_code("f 1; g; shopt -q extglob && pwd").stdout,
                         "f1\nalias\n/usr\n")

    def test_only_the_last_command_decides(self) -> None:
        self.assertEqual(self.run_code("false; true").done["status"], "ok")
        self.assertEqual(self.run_code("true; false").done["status"], "error")

    def test_a_background_job_outlives_its_execution_and_an_interrupt(self) -> None:
        # Bash has a job ignore SIGINT only after it forked it.
        self.run_code("sleep 1000 & job=$!; until [[ $(</proc/$job/comm) == sleep ]]; do :; done")
        execution = self.run_code(
            "sleep 1000",
            on_event=lambda kind, _: kind == STARTED and self.agent.interrupt())
        self.assertEqual(execution.error["name"], "Interrupt")
        self.assertEqual(self.run_code("kill $job && echo ended").stdout, "ended\n")

    def test_interrupts_in_a_row_end_the_execution(self) -> None:
        for number in range(40):
            def interrupt(kind, _, number=number):
                if kind == STARTED:
                    for _ in range(1 + number % 4):
                        self.agent.interrupt()
                        # The moments between them are the test's input.
                        time.sleep(0.0003 * (number % 7))
            execution = self.run_code("sleep 1000", on_event=interrupt)
            self.assertEqual(execution.error["name"], "Interrupt")

    def test_tracing_shows_the_guests_commands_only(self) -> None:
        self.run_code("set -x")
        execution = self.run_code("echo one")
        self.assertEqual(execution.stderr.strip().lstrip("+ "), "echo one")

    def test_errexit_persists_and_ends_bash_at_the_first_failure(self) -> None:
        self.run_code("set -e; x=1")
        self.assertEqual(self.run_code("false; echo not reached").stdout, "")
        self.assertEqual(self.run_code("echo ${x-gone}").stdout, "gone\n")

    def test_programs_do_not_inherit_the_agents_channels(self) -> None:
        kinds = self.run_code("readlink /proc/self/fd/*").stdout
        self.assertNotIn("socket:", kinds)
        # Standard output and standard error, and no pipe of the agent's own.
        self.assertEqual(len({line for line in kinds.splitlines() if "pipe:" in line}), 2)

    def test_completion_asks_the_living_shell(self) -> None:
        self.run_code("glovebox_function() { :; }; glovebox_variable=1")
        for code, match in (("glovebox_f", "glovebox_function"),
                            ("echo $glovebox_v", "$glovebox_variable")):
            reply = self.agent.ask(harness.COMPLETE, {"code": code, "cursor": len(code)})
            self.assertEqual(reply["matches"], [match])


class SqlTest(OneLanguage, unittest.TestCase):
    name = "sql"

    def test_a_table_comes_as_text_html_and_columns(self) -> None:
        data = self.run_code("select 1 as a, 'x<' as b union all select 2.5, null;").result
        self.assertEqual(data["text/plain"].splitlines()[0].split(), ["a", "b"])
        self.assertIn("<td>x&lt;</td>", data["text/html"])
        table = data["application/vnd.glovebox.table+json"]
        self.assertEqual(table, {"columns": [
            {"name": "a", "type": "real", "values": [1, 2.5]},
            {"name": "b", "type": "text", "values": ["x<", None]}], "rows": 2, "truncated": False})

    def test_of_several_tables_the_last_is_the_result(self) -> None:
        execution = self.run_code("select 1; select ';' -- no; end\n; select 3")
        self.assertEqual(len(execution.frames(DISPLAY)), 2)
        self.assertIn("3", execution.result["text/plain"].splitlines()[-1])

    def test_a_long_table_is_cut_and_says_so(self) -> None:
        data = self.run_code("with recursive r(i) as (select 1 union all select i + 1 from r "
                             "where i < 5000) select i from r").result
        table = data["application/vnd.glovebox.table+json"]
        self.assertTrue(table["truncated"])
        self.assertEqual(table["rows"], len(table["columns"][0]["values"]))

    def test_a_csv_file_is_imported_with_types(self) -> None:
        (self.directory / "f.csv").write_text('id,price,name\n1,2.5,"a, b"\n10,3,c\n')
        execution = self.run_code(".import f.csv t\nselect max(id), sum(price), min(name) from t")
        table = execution.result["application/vnd.glovebox.table+json"]
        self.assertEqual([column["values"][0] for column in table["columns"]], [10, 5.5, "a, b"])

    def test_a_file_keeps_what_was_committed(self) -> None:
        self.run_code(".open data.db\ncreate table kept (x); insert into kept values (7);")
        self.run_code(".open")
        self.assertEqual(self.run_code(".tables").stdout, "")
        self.assertEqual(self.run_code(".open data.db\n.tables").stdout, "kept\n")

    def test_a_triggers_body_is_one_statement(self) -> None:
        execution = self.run_code(
            "create table t (x); create trigger r after insert on t begin "
            "update t set x = x + 1; delete from t where x > 5; end; "
            "insert into t values (1); select x from t;")
        self.assertEqual(execution.result["text/plain"].splitlines()[-1].strip(), "2")


class RubyTest(OneLanguage, unittest.TestCase):
    name = "ruby"

    def test_an_object_shows_itself_as_html(self) -> None:
        data = self.run_code("class H; def to_html = '<i>'; end\nH.new").result
        self.assertEqual(data["text/html"], "<i>")

    def test_output_and_errors_keep_their_common_order(self) -> None:
        execution = self.run_code("5.times { |i| puts i; warn i }")
        written = b"".join(value for kind, value in execution.events if isinstance(value, bytes))
        self.assertEqual(written, b"".join(b"%d\n%d\n" % (i, i) for i in range(5)))

    def test_a_backtrace_names_the_guests_lines_only(self) -> None:
        lines = self.run_code("def f\n  raise 'x'\nend\nf").error["traceback"]
        self.assertIn("cell 1:2", lines[0])
        self.assertFalse([line for line in lines if "agent.rb" in line or "internal" in line])


class PerlTest(OneLanguage, unittest.TestCase):
    name = "perl"

    def test_lexical_variables_persist_also_under_strict(self) -> None:
        self.run_code("use strict; my ($x, @a, %h) = (3); @a = (1, 2); $h{k} = 5;")
        self.assertEqual(self.text("use strict; use warnings; $x + @a + $h{k}"), "10")

    def test_a_variable_is_declared_anew_from_its_old_value(self) -> None:
        self.run_code("my @a = (1, 2);")
        self.run_code("my @a = map { $_ * 2 } @a;")
        self.assertEqual(self.text('"@a"'), "2 4")

    def test_variables_of_code_that_died_persist_and_those_of_blocks_do_not(self) -> None:
        self.run_code("my $kept = 1; { my $inner = 2; } die 'x'")
        self.assertEqual(self.text("$kept"), "1")
        self.assertIsNone(self.run_code("$inner").result)

    def test_only_a_value_is_a_result(self) -> None:
        for code in ("print ''", "my $y = 1;", "for (1) { 2 }", "if (1) { 2 }", "sub f { 1 }"):
            with self.subTest(code):
                self.assertIsNone(self.run_code(code).result)


class PhpTest(OneLanguage, unittest.TestCase):
    name = "php"

    def test_functions_reach_variables_by_global(self) -> None:
        self.run_code("$x = 5; function f() { global $x; return $x * 2; }")
        self.assertEqual(self.text("f()"), "10")

    def test_a_function_declared_again_is_an_error_and_not_the_end(self) -> None:
        self.run_code("$x = 5; function f() { return 1; }")
        self.assertIn("already declared", self.run_code("function f() {}").error["value"])
        self.assertEqual(self.text("$x"), "5")

    def test_the_end_of_php_is_told_before_it(self) -> None:
        execution = self.run_code("echo 'last'; exit(3);")
        self.assertEqual(execution.stdout, "last")
        self.assertEqual(len(execution.frames(harness.NOTE)), 1)
        # PHP does not say the status to what it calls at its end.
        self.assertEqual(self.agent.process.wait(harness.PATIENCE), 3)


class LuaTest(OneLanguage, unittest.TestCase):
    name = "lua"

    def test_several_values_are_shown_as_in_the_interactive_mode(self) -> None:
        self.assertEqual(self.text("1, nil, 'x'"), "1\tnil\tx")

    def test_an_error_has_a_traceback_of_the_guests_frames(self) -> None:
        lines = self.run_code("function f() error('deep') end\nf()").error["traceback"]
        self.assertEqual(lines[0], "cell 1:1: deep")
        self.assertFalse([line for line in lines if "driver" in line or "xpcall" in line])

    def test_a_guest_that_empties_its_globals_is_still_served(self) -> None:
        self.run_code("for name in pairs(_G) do if name ~= '_G' then _G[name] = nil end end x = 1")
        self.assertEqual(self.text("x + 1"), "2")

    def test_an_interrupt_while_a_value_is_shown_ends_the_execution(self) -> None:
        self.run_code("kept = 42; large = ('x'):rep(7000000)")
        ends = []
        for moment in range(40):
            channel = self.agent.begin("return large")
            time.sleep(moment * 1e-3)
            self.agent.interrupt()
            ends.append(self.agent.finish(channel).done["status"])
        self.assertIn("error", ends)
        self.assertEqual(self.text("kept"), "42")

    def test_a_second_interrupt_ends_what_caught_the_first_and_says_so(self) -> None:
        interrupts = []

        def interrupt(kind: int, value: object) -> None:
            if kind == STDOUT:
                interrupts.append(value)
                self.agent.interrupt()

        execution = self.run_code(
            "pcall(function() print('in') while true do end end) print('out') while true do end",
            on_event=interrupt)
        self.assertEqual(interrupts, [b"in\n", b"out\n"])
        self.assertEqual(execution.error["name"], "Signalled")
        self.assertEqual(self.text("1"), "1")


if __name__ == "__main__":
    unittest.main()
