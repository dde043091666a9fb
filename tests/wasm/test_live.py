# SPDX-License-Identifier: Apache-2.0
"""Live Python in the tier wasm: forks of a warm interpreter (glovebox repl)."""
from program import glovebox
from wasm_case import INSTALLED, WasmCase


class Live(WasmCase):
    def repl(self, *cells, options=()):
        if not (INSTALLED / "python.cwasm").exists():
            self.skipTest("Python for the wasm tier is not installed")
        return glovebox("repl", "--tier", "wasm", *options, stdin="\n".join(cells).encode() + b"\n")

    def test_keeps_variables_between_executions(self):
        answer = self.repl("x = 41", "", "print(x + 1)", "", "import sys", "print(sys.platform, sys.argv)")
        self.assertEqual((answer.status, answer.out), (0, b"42\nwasi ['']\n"), str(answer))

    def test_says_where_an_error_was(self):
        answer = self.repl("def f(): return 1 / 0", "", "f()")
        self.assertEqual(answer.status, 1, str(answer))
        self.assertRegex(answer.err, rb"in f\n +def f\(\): return 1 / 0\n(.*\n)*ZeroDivisionError")

    def test_writes_both_streams(self):
        answer = self.repl("import sys", "print('out'); print('err', file=sys.stderr)")
        self.assertEqual((answer.out, answer.err), (b"out\n", b"err\n"), str(answer))

    def test_shows_values_of_any_size(self):
        for size in (1, (1 << 20) - 90, 3 << 20):  # More than one message holds, and about as much.
            answer = self.repl(f"'x' * {size}")
            self.assertEqual((answer.status, answer.out.count(b"x"), len(answer.out) - size), (0, size, 3), answer.message)

    def test_shows_values_that_have_more_than_a_text(self):
        answer = self.repl("class Shown:\n    def _repr_html_(self): return '<b>'\n    def __repr__(self): return 'bold'",
                           "", "Shown()")
        self.assertEqual((answer.status, answer.out), (0, b"bold\n"), str(answer))

    def test_has_the_files_of_its_workspace_and_no_others(self):
        answer = self.repl("open('a', 'w').write('text')", "import os",
                           "print(open('/workspace/a').read(), os.getcwd(), os.path.exists('/etc/passwd'))")
        self.assertEqual(answer.out, b"text /workspace False\n", str(answer))

    def test_that_never_ends_is_ended_by_the_limit_of_time(self):
        answer = self.repl("while True: pass", options=("--time", "300ms"))
        self.assertNotEqual(answer.status, 0, str(answer))

    def test_runs_no_other_language(self):
        answer = glovebox("repl", "-l", "bash", "--tier", "wasm", stdin=b"1\n")
        self.assertNotEqual(answer.status, 0)
        self.assertIn("the wasm tier has no live interpreter for 'bash'", answer.message)
        self.assertIn("use one of: javascript, python, ruby, sql; or the native tier", answer.message)
