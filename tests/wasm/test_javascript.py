# SPDX-License-Identifier: Apache-2.0
"""JavaScript of the wasm tier: QuickJS, one program from start to end."""
from program import run
from wasm_case import INSTALLED, WasmCase


class JavaScript(WasmCase):
    def setUp(self):
        super().setUp()
        if not (INSTALLED / "qjs.cwasm").exists():
            self.skipTest("JavaScript for the wasm tier is not installed")

    def run_javascript(self, code, *options, **how):
        return run("--tier", "wasm", *options, "-l", "javascript", "-e", code, **how)

    def test_has_its_language_and_nothing_of_the_host(self):
        answer = self.run_javascript(
            "const later = await Promise.resolve([3, 4].map(n => n ** 2)); export {};\n"
            "console.log(later, 2n ** 70n, /(?<y>\\d+)/.exec('in 2026').groups.y,"
            " std.open('/usr/bin/node', 'r'), os.platform)\n"
            "os.setTimeout(() => console.log('in time'), 1)\n")
        self.assertEqual(answer.out, b"9,16 1180591620717411303424 2026 null wasi\nin time\n", str(answer))

    def test_has_input_arguments_files_and_an_exit_status(self):
        script = self.file("sums.js", "const line = std.in.getline();\n"
                                      "const out = std.open('made', 'w'); out.puts(std.loadFile('data')); out.close();\n"
                                      "console.log(line, scriptArgs.slice(1)); std.exit(4);\n")
        out = self.dir / "out"
        answer = run("--tier", "wasm", "--json", "--file", self.file("data", "inside"), "--out", out, script,
                     "--", "a", "b", stdin="zwölf\n".encode())
        self.assertEqual((answer.verdict["stdout"], answer.verdict["exit_code"]), ("zwölf a,b\n", 4), str(answer))
        self.assertEqual((out / "made").read_text(), "inside")

    def test_tells_errors_with_their_place(self):
        answer = self.run_javascript("function broken() { null.x }\nbroken()", "--quiet")
        self.assertEqual(answer.status, 1, str(answer))
        self.assertIn("TypeError", answer.err.decode())
        self.assertIn("main.js:1", answer.err.decode())

    def test_ends_at_the_limits_of_time_and_memory(self):
        verdict = self.run_javascript("for (;;);", "--time", "300ms", "--json").verdict
        self.assertEqual(verdict["status"], "timeout", str(verdict))
        verdict = self.run_javascript("const kept = []; for (;;) kept.push(new Uint8Array(1 << 20).fill(1));",
                                      "--memory", "64M", "--json").verdict
        self.assertNotEqual(verdict["status"], "ok", str(verdict))

    def test_is_deterministic_where_that_is_asked_for(self):
        code = "console.log(Date.now(), Math.random())"
        outputs = {self.run_javascript(code, "--deterministic").out for _ in range(5)}
        self.assertEqual(len(outputs), 1, outputs)
        self.assertTrue(outputs.pop().startswith(b"946684800"))
