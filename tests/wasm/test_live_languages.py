# SPDX-License-Identifier: Apache-2.0
"""Live JavaScript, SQL and Ruby in the tier wasm, where each is a fork of a warm interpreter."""
from program import glovebox
from wasm_case import INSTALLED, WasmCase


class LiveCase(WasmCase):
    language = ""
    interpreter = ""

    def repl(self, *cells, options=()):
        if not (INSTALLED / self.interpreter).exists():
            self.skipTest(f"{self.language} for the wasm tier is not installed")
        return glovebox("repl", "--tier", "wasm", "-l", self.language, *options,
                        stdin="\n\n".join(cells).encode() + b"\n")

    def shows(self, expected, *cells):
        answer = self.repl(*cells)
        self.assertEqual((answer.status, answer.out.decode()), (0, expected), str(answer))


class JavaScript(LiveCase):
    language, interpreter = "javascript", "qjs.cwasm"

    def test_keeps_what_cells_declare_and_lets_them_declare_it_again(self):
        self.shows("42\n1 7\n", "let x = 41; const [y] = [1]; class Seven { get value() { return 7 } }",
                   "console.log(x + 1)", "const x = y; class Unused {}", "console.log(x, new Seven().value)")

    def test_sets_what_let_declares_without_a_value(self):
        self.shows("undefined\n", "let x = 1", "let x", "console.log(x)")

    def test_reads_its_code_as_a_language_and_not_as_words(self):
        """What looks like a declaration in a text, a template, a regular expression or a comment is none."""
        code = ("const a = 'let x', b = `let ${[1].map((let_) => { const c = `}${let_}`; return c })} const`, "
                "c = /[/`]let \\/ '/.test(\"x\") // class Z {\n"
                "/* const d = ` */ const e = 4 / 2 / 1\nconsole.log(a, b, c, e)")
        self.shows("let x let }1 const false 2\n", code)

    def test_waits_for_promises_and_timers(self):
        self.shows("later 3\n", "const later = await new Promise((done) => setTimeout(done, 1, 'later'))",
                   "console.log(later, await (async () => 3)())")

    def test_survives_a_rejected_promise_and_a_timer_that_throws(self):
        answer = self.repl("var x = 1; void Promise.reject(new Error('nobody'))",
                           "setTimeout(() => { throw new Error('thrown') }, 0); await os.sleepAsync(5)", "console.log(x)")
        self.assertEqual((answer.status, answer.out), (0, b"1\n"), str(answer))
        self.assertIn(b"Uncaught Error: thrown", answer.err)
        self.assertNotIn(b"agent.mjs", answer.err)

    def test_says_where_an_error_was(self):
        answer = self.repl("function f() { null.x }", "f()")
        self.assertEqual(answer.status, 1, str(answer))
        self.assertRegex(answer.err, rb"TypeError: .*\n +at f \(<cell>:1:\d+\)\n")
        self.assertNotIn(b"agent", answer.err)

    def test_shows_values_as_node_does(self):
        self.shows("{ a: [ 1, 'two', null ], b: Map(1) { 'k' => Set(1) { 2n } } }\n",
                   "({a: [1, 'two', null], b: new Map([['k', new Set([2n])]])})")
        self.shows("{ self: [Circular], 'a b': [Getter] }\n", "const o = {get 'a b'() { throw 1 }}",
                   "var s = {}; s.self = s; void Object.defineProperty(s, 'a b', Object.getOwnPropertyDescriptor(o, 'a b'))", "s")
        self.shows("{ a: 1 }\n", "{a: 1}")

    def test_shows_texts_of_any_size_and_in_any_script(self):
        for size in (1, (1 << 20) - 90, 3 << 20):  # More than one message holds, and about as much.
            answer = self.repl(f"'é😀'.repeat({size // 2})")
            self.assertEqual((answer.status, answer.out.decode().count("é😀")), (0, size // 2), answer.message[:1000])

    def test_has_the_files_of_its_workspace_and_no_others(self):
        self.shows("text true null\n", "const f = std.open('a', 'w'); f.puts('text'); void f.close()",
                   "console.log(std.loadFile('/workspace/a'), os.getcwd()[0] === '/workspace', std.loadFile('/etc/passwd'))")

    def test_is_ended_by_the_limit_of_time(self):
        for loop in ("for (;;);", "await new Promise(() => 0)", "const f = () => Promise.resolve().then(f); await f()"):
            with self.subTest(loop):
                answer = self.repl(loop, options=("--time", "300ms"))
                self.assertNotEqual(answer.status, 0, str(answer))
                self.assertNotIn("internal", answer.message)


class Sql(LiveCase):
    language, interpreter = "sql", "python.cwasm"

    def test_keeps_its_tables_between_executions(self):
        self.shows("sum(x)\n------\n    42\n", "create table t (x); insert into t values (40), (2);", "select sum(x) from t;")

    def test_says_what_is_wrong(self):
        answer = self.repl("select * from nowhere")
        self.assertEqual(answer.status, 1, str(answer))
        self.assertIn(b"no such table: nowhere", answer.err)

    def test_reads_and_writes_files_of_its_workspace_and_no_others(self):
        self.shows("kept\n", ".open kept.db", "create table kept (x);", ".open", ".open /workspace/kept.db", ".tables")
        answer = self.repl("attach '/etc/passwd' as p; select * from p.x")
        self.assertEqual(answer.status, 1, str(answer))

    def test_is_ended_by_the_limit_of_time(self):
        answer = self.repl("with recursive c(n) as (select 1 union all select n + 1 from c) select max(n) from c",
                           options=("--time", "300ms"))
        self.assertNotEqual(answer.status, 0, str(answer))


class Ruby(LiveCase):
    language, interpreter = "ruby", "ruby.cwasm"

    def test_keeps_variables_and_methods_between_executions(self):
        self.shows("42\n", "x = 41\ndef more(n) = n + 1\nnil", "puts more(x)")

    def test_says_where_an_error_was_and_nothing_of_itself(self):
        answer = self.repl("def f = 1 / 0", "f")
        self.assertEqual(answer.status, 1, str(answer))
        self.assertRegex(answer.err, rb"cell 1:1:in `f'")
        self.assertNotRegex(answer.err, rb"\b(session|ruby)\.rb")

    def test_writes_both_streams(self):
        answer = self.repl("puts 'out'; warn 'err'")
        self.assertEqual((answer.out, answer.err), (b"out\n", b"err\n"), str(answer))

    def test_has_its_library_and_the_files_of_its_workspace_and_no_others(self):
        self.shows('["{\\"a\\":1}", "/workspace", false]\n', "require 'json'; File.write('a', JSON.generate({a: 1})); nil",
                   "[File.read('/workspace/a'), Dir.pwd, File.exist?('/etc/passwd')]")

    def test_is_ended_by_the_limit_of_time(self):
        answer = self.repl("loop {}", options=("--time", "300ms"))
        self.assertNotEqual(answer.status, 0, str(answer))
