# SPDX-License-Identifier: Apache-2.0
"""Programs that are compiled to a module in one sandbox and run in another."""
import pathlib
import signal
import sys
import textwrap

from program import glovebox, run
from wasm_case import WasmCase, printing

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "service"))
from daemon import Daemon  # noqa: E402

COUNTING = {
    "c": ("main.c", """
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        int main(int count, char** words) {
          char line[64];
          fgets(line, sizeof line, stdin);
          printf("%zu %s\\n", strlen(line), words[count - 1]);
          return 7;
        }"""),
    "cpp": ("main.cc", """
        #include <cstdlib>
        #include <iostream>
        #include <map>
        #include <string>
        int main(int count, char** words) {
          std::map<std::string, std::string> lines;
          std::getline(std::cin, lines["one"]);
          std::cout << lines["one"].size() + 1 << " " << words[count - 1] << std::endl;
          return 7;
        }"""),
    "rust": ("main.rs", """
        fn main() {
            let mut line = String::new();
            std::io::stdin().read_line(&mut line).unwrap();
            println!("{} {}", line.len(), std::env::args().last().unwrap());
            std::process::exit(7);
        }"""),
}

# What a compiler is that somebody has taken over: a shell that runs the program.
TAKEN_OVER = """
id = "taken"
extensions = [".taken"]
file_name = "main.taken"
run = ["sh", "{file}"]
[wasm]
compile = ["sh", "{file}"]
run = ["{dir}/{stem}.wasm"]
"""


class Compiled(WasmCase):
    def need_compiler(self, language):
        told = glovebox("languages", language, "--json", "--no-versions").verdict
        if not told["tiers"]["wasm"]["ready"]:
            self.skipTest(told["tiers"]["wasm"]["hint"])

    def test_have_arguments_input_and_an_exit_status(self):
        for language, (name, code) in COUNTING.items():
            with self.subTest(language):
                self.need_compiler(language)
                answer = run("--tier", "wasm", "--json", self.file(name, textwrap.dedent(code)), "--", "last",
                             stdin=b"line\n")
                verdict = answer.verdict
                self.assertEqual((verdict["stdout"], verdict["exit_code"], verdict["tier"]),
                                 ("5 last\n", 7, "wasm"), str(answer))
                self.assertEqual((verdict["language"], verdict["walls"]["seccomp"]), (language, "wasm"))
                self.assertIn("compile_us", verdict["timings"])
                self.assertIn("compiled in another sandbox, of the tier native", verdict["notes"])

    def test_see_their_files_and_nothing_of_the_compiler(self):
        self.need_compiler("c")
        header = self.file("value.h", "#define VALUE 41\n")
        out = self.dir / "out"
        answer = run("--tier", "wasm", "--json", "--file", header, "--out", out, "-l", "c", "-e", textwrap.dedent("""
            #include <dirent.h>
            #include <stdio.h>
            #include "value.h"
            int main(void) {
              DIR* here = opendir(".");
              for (struct dirent* each; (each = readdir(here));) puts(each->d_name);
              fprintf(fopen("made", "w"), "%d", VALUE + 1);
              printf("%p\\n", (void*)fopen("/usr/include/stdio.h", "r"));
            }"""))
        names = answer.verdict["stdout"].split()
        self.assertEqual(sorted(set(names) - {".", ".."}), ["0", "main.wasm", "value.h"], str(answer))
        self.assertEqual((out / "made").read_text(), "42")
        self.assertEqual([file["path"] for file in answer.verdict["files"]], ["made"])

    def test_that_do_not_compile_end_with_the_complaint(self):
        self.need_compiler("c")
        verdict = run("--tier", "wasm", "--json", "-l", "c", "-e", "int main(void) { return undeclared; }").verdict
        self.assertEqual((verdict["status"], verdict["tier"]), ("compile_error", "native"))
        self.assertIn("error: use of undeclared identifier", verdict["stderr"])

    def test_recurse_deeply_and_trap_at_the_end_of_the_stack(self):
        self.need_compiler("c")
        code = textwrap.dedent("""
            #include <stdio.h>
            #include <stdlib.h>
            int deeper(volatile int* left) { volatile int here = *left - 1; return here ? deeper(&here) + 1 : 0; }
            int main(int count, char** words) {
              volatile int depth = atoi(words[1]);
              printf("%d\\n", deeper(&depth));
            }""")
        deep = run("--tier", "wasm", "--json", "-l", "c", "-e", code, "--", "10000")
        self.assertEqual(deep.verdict["stdout"], "9999\n", str(deep))
        too_deep = run("--tier", "wasm", "--json", "-l", "c", "-e", code, "--", "100000000")
        self.assertEqual(too_deep.verdict["signal"], signal.SIGSEGV, str(too_deep))

    def test_are_copied_out_as_modules_where_that_is_all_that_is_asked_for(self):
        self.need_compiler("c")
        out = self.dir / "out"
        answer = run("--tier", "wasm", "--compile-only", "--out", out, "-l", "c", "-e", "int main(void) { return 9; }")
        self.assert_status(answer, 0)
        self.assert_status(run(out / "main.wasm"), 9)

    def test_are_deterministic_where_that_is_asked_for(self):
        self.need_compiler("c")
        code = ("#include <stdio.h>\n#include <time.h>\n#include <unistd.h>\n"
                "int main(void) { unsigned n; getentropy(&n, 4); printf(\"%ld %u\\n\", (long)time(0), n); }")
        outputs = {run("--deterministic", "-l", "c", "-e", code).out for _ in range(3)}
        self.assertEqual(len(outputs), 1)
        self.assertTrue(outputs.pop().startswith(b"946684800 "))

    def test_name_the_packages_of_a_compiler_that_is_missing(self):
        self.file("x.toml", 'id = "x"\nfile_name = "main.x"\nrun = ["sh", "{file}"]\n[wasm]\n'
                            'compile = ["no-such-compiler"]\nrun = ["{dir}/x.wasm"]\n'
                            'package = "x-compiler"\nextra_packages = ["x-wasm"]\n')
        env = {"GLOVEBOX_LANGUAGES": str(self.dir)}
        answer = run("--tier", "wasm", "-l", "x", "-e", "", env=env)
        self.assert_status(answer, 125)
        self.assertIn("no-such-compiler is missing\n  hint: apt-get install x-compiler x-wasm", answer.message)
        self.assert_status(run("-l", "x", "-e", "exit 3", env=env), 3)
        text = glovebox("languages", "x", env=env).out.decode()
        self.assertRegex(text, r"(?m)^  in tier wasm +missing no-such-compiler: apt-get install x-compiler x-wasm$")


class FromAHostileCompiler(WasmCase):
    def setUp(self):
        super().setUp()
        self.file("languages/taken.toml", TAKEN_OVER)

    def made_by(self, script, *options):
        return run("--tier", "wasm", "--json", *options, "-l", "taken", "-e", script,
                   env={"GLOVEBOX_LANGUAGES": str(self.dir / "languages")})

    def test_only_a_regular_file_of_the_name_is_taken(self):
        for script in ("true", "ln -s /etc/passwd main.wasm", "mkfifo main.wasm", "mkdir main.wasm",
                       "echo x > other.wasm", "mkdir a; echo x > a/main.wasm"):
            with self.subTest(script):
                verdict = self.made_by(script).verdict
                self.assertEqual(verdict["status"], "compile_error", str(verdict))
                self.assertIn("'main.wasm' was not made", verdict["notes"])

    def test_no_more_is_taken_than_fits(self):
        for script in ("truncate -s 1G main.wasm", "head -c 70000000 /dev/zero > main.wasm",
                       "head -c 70000000 /dev/urandom > main.wasm"):
            with self.subTest(script):
                verdict = self.made_by(script).verdict
                self.assertEqual(verdict["status"], "compile_error", str(verdict))

    def test_what_is_no_module_is_refused_by_the_runner(self):
        verdict = self.made_by("cp /bin/true main.wasm").verdict
        self.assertEqual((verdict["status"], verdict["exit_code"]), ("error", 126))
        self.assertIn("this is not a WebAssembly module", verdict["stderr"])

    def test_a_module_runs_behind_the_walls_of_its_tier(self):
        text = printing("x").replace("'", "")
        verdict = self.made_by(f"cat > main.wasm <<'END'\n{text}\nEND\n").verdict
        self.assertEqual((verdict["stdout"], verdict["walls"]["seccomp"]), ("x", "wasm"), str(verdict))

    def test_it_has_neither_the_input_nor_the_network_of_the_program(self):
        verdict = self.made_by("cat > /tmp/in; test -s /tmp/in || echo none >&2; exit 1").verdict
        self.assertEqual(verdict["stderr"], "none\n")


class OfTheDaemon(WasmCase):
    def test_a_run_compiles_as_well(self):
        told = glovebox("languages", "c", "--json", "--no-versions").verdict
        if not told["tiers"]["wasm"]["ready"]:
            self.skipTest(told["tiers"]["wasm"]["hint"])
        daemon = Daemon().start()
        self.addCleanup(daemon.discard)
        request = {"tier": "wasm", "language": "c", "code": "#include <stdio.h>\nint main(void) { puts(\"made\"); }"}
        verdict = daemon.must(200, "POST", "/v1/run", request)
        self.assertEqual((verdict["stdout"], verdict["tier"]), ("made\n", "wasm"), str(verdict))
        verdict = daemon.must(200, "POST", "/v1/run", {**request, "code": "int main(void) { return x; }"})
        self.assertEqual(verdict["status"], "compile_error", str(verdict))
