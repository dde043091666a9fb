# SPDX-License-Identifier: Apache-2.0
"""Sandboxes of the daemon in the tier wasm."""
import pathlib
import sys

from wasm_case import INSTALLED, WasmCase

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "service"))
from daemon import Daemon  # noqa: E402


class Sandboxes(WasmCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon().start() if (INSTALLED / "python.cwasm").exists() else None

    @classmethod
    def tearDownClass(cls):
        if cls.daemon:
            cls.daemon.discard()
        super().tearDownClass()

    def setUp(self):
        super().setUp()
        if not self.daemon:
            self.skipTest("Python for the wasm tier is not installed")

    def box(self, **wishes):
        box = self.daemon.create(tier="wasm", **wishes)
        self.addCleanup(box.kill)
        return box

    def test_keep_variables_and_files_and_say_which_tier_they_are_of(self):
        box = self.box()
        info = box.info()
        self.assertEqual((info["tier"], info["walls"]["seccomp"]), ("wasm", "wasm"))
        context = box.context()
        context.execute("x = 41; open('made', 'w').write('inside')")
        self.assertEqual(context.value("x + 1"), "42")
        self.assertEqual(box.read("made"), b"inside")
        box.write("given", b"outside")
        self.assertEqual(context.value("open('given').read()"), "outside")

    def test_are_apart_from_each_other(self):
        one, other = self.box(), self.box()
        one.context().execute("x = 1; open('/tmp/x', 'w').close()")
        self.assertEqual(other.context().value("('x' in globals(), __import__('os').listdir('/tmp'))"), "(False, [])")

    def test_run_modules_and_python_as_commands_and_no_programs_of_the_machine(self):
        box = self.box()
        done = box.must(200, "POST", "/commands", {"argv": ["python3", "-c", "print(6 * 7)"]})
        self.assertEqual((done["exit_code"], done["stdout"]), (0, "42\n"))
        done = box.must(200, "POST", "/commands", {"argv": ["/bin/sh", "-c", "id"]})
        self.assertEqual(done["exit_code"], 126)
        self.assertIn("this is not a WebAssembly module", done["stderr"])

    def test_end_an_endless_loop_and_start_again(self):
        context = self.box().context()
        self.assertEqual(context.execute("while True: pass", limits={"time": "300ms"})["status"], "timeout")
        context.must(204, "POST", "/restart")
        self.assertEqual(context.value("1 + 1"), "2")

    def test_find_the_end_of_input_where_nobody_answers(self):
        context = self.box().context()
        self.assertEqual(context.execute("input('? ')")["error"]["name"], "EOFError")

    def test_have_contexts_in_several_languages_side_by_side(self):
        if not all((INSTALLED / name).exists() for name in ("qjs.cwasm", "ruby.cwasm")):
            self.skipTest("JavaScript or Ruby for the wasm tier is not installed")
        box = self.box()
        contexts = {language: box.context(language) for language in ("python", "javascript", "ruby", "sql")}
        self.assertEqual([contexts["python"].execute("open('shared', 'w').write('seen')")["status"],
                          contexts["javascript"].execute("console.log(std.loadFile('shared'))")["stdout"],
                          contexts["ruby"].execute("puts File.read('shared')")["stdout"]],
                         ["ok", "seen\n", "seen\n"])
        result = contexts["sql"].execute("select 6 * 7 as answer")["results"][0]["data"]["text/plain"]
        self.assertEqual(result, "answer\n------\n    42")
        for language, code in (("javascript", "for (;;);"), ("ruby", "loop {}")):
            with self.subTest(language):
                ended = contexts[language].execute(code, limits={"time": "300ms"})
                self.assertEqual((ended["status"], ended["walls"]["seccomp"]), ("timeout", "wasm"))
                contexts[language].must(204, "POST", "/restart")
        self.assertEqual(contexts["javascript"].execute("console.log(typeof x)")["stdout"], "undefined\n")
        self.assertEqual(contexts["python"].value("1 + 1"), "2")

    def test_ask_for_input_and_complete_in_javascript(self):
        if not (INSTALLED / "qjs.cwasm").exists():
            self.skipTest("JavaScript for the wasm tier is not installed")
        context = self.box().context("javascript")
        self.assertEqual(context.execute("console.log(prompt('? '))")["stdout"], "null\n")
        context.execute("let answer = {of: 'all'}")
        self.assertEqual(context.must(200, "POST", "/complete", {"code": "ans", "cursor": 3})["matches"], ["answer"])
        found = context.must(200, "POST", "/inspect", {"code": "answer.of", "cursor": 8})
        self.assertEqual(found["data"]["text/plain"], "answer.of: string\n'all'")

    def test_draw_no_random_numbers_twice(self):
        if not all((INSTALLED / name).exists() for name in ("qjs.cwasm", "ruby.cwasm")):
            self.skipTest("JavaScript or Ruby for the wasm tier is not installed")
        box = self.box()
        for language, code in (("python", "import random; random.random()"), ("javascript", "Math.random()"),
                               ("ruby", "rand"), ("sql", "select random()")):
            with self.subTest(language):
                drawn = {box.context(language).execute(code)["results"][0]["data"]["text/plain"] for _ in range(3)}
                self.assertEqual(len(drawn), 3, drawn)

    def test_refuse_what_they_cannot_have(self):
        for wishes in ({"user": "root"}, {"nested": True}, {"limits": {"disk": "64M"}}):
            with self.subTest(wishes):
                answer = self.daemon.ask("POST", "/v1/sandboxes", {"tier": "wasm", **wishes})
                self.assertGreaterEqual(answer.status, 400, str(answer))
        answer = self.daemon.ask("POST", f"/v1/sandboxes/{self.box().id}/contexts", {"language": "bash"})
        self.assertEqual(answer.status, 501, str(answer))
