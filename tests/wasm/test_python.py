# SPDX-License-Identifier: Apache-2.0
"""Python of the wasm tier: one program from start to end."""
from program import run
from wasm_case import INSTALLED, WasmCase


class Python(WasmCase):
    def test_is_a_cpython_with_its_library_and_none_of_the_host(self):
        answer = self.run_python("import json, re, sqlite3, sys, os\n"
                                 "c = sqlite3.connect(':memory:')\n"
                                 "print(sys.platform, c.execute('select 6*7').fetchone()[0],"
                                 " json.dumps({'a': 1}), os.path.exists('/usr/bin/python3'))")
        self.assertEqual(answer.out, b'wasi 42 {"a": 1} False\n', str(answer))

    def test_has_input_arguments_environment_and_an_exit_status(self):
        code = ("import os, sys; print(input(), sys.argv[1:], os.environ['A']); "
                "print('e', file=sys.stderr); sys.exit(5)")
        answer = self.run_python(code, "--env", "A=1", "--quiet", stdin="zwölf\n".encode())
        self.assertEqual((answer.status, answer.out.decode(), answer.err),
                         (5, "zwölf [] 1\n", b"e\n"))

    def test_runs_a_script_with_files_in_and_out(self):
        if not (INSTALLED / "python.cwasm").exists():
            self.skipTest("Python for the wasm tier is not installed")
        script = self.file("sums.py", "import helper, sys\n"
                                      "with open('/workspace/out/sum', 'w') as out:\n"
                                      "    out.write(str(helper.sum(open('data').read())))\n"
                                      "print(sys.argv)\n")
        helper = self.file("helper.py", "import os\nos.mkdir('out')\n"
                                        "def sum(text): return eval(text)\n")
        data = self.file("data", "20+22")
        out = self.dir / "result"
        answer = run("--tier", "wasm", script, "--file", helper, "--file", data, "--out", out,
                     "--json", "--", "a", "b")
        self.assertEqual(answer.verdict["stdout"], "['sums.py', 'a', 'b']\n", str(answer))
        self.assertEqual((out / "out/sum").read_text(), "42")
        self.assertIn("out/sum", [file["path"] for file in answer.verdict["files"]])

    def test_has_no_processes_and_no_network(self):
        answer = self.run_python(
            "def fails(what):\n"
            "    try:\n"
            "        what()\n"
            "    except Exception as error:\n"
            "        return type(error).__name__\n"
            "import os, subprocess\n"
            "print(fails(lambda: subprocess.run(['true'])), hasattr(os, 'fork'),"
            " fails(lambda: os.listdir('/etc')), fails(lambda: open('/proc/self/status')))\n"
            "def connect():\n"
            "    import socket\n"
            "    socket.create_connection(('127.0.0.1', 80))\n"
            "print(fails(connect))\n")
        first, second = answer.out.decode().splitlines()
        self.assertRegex(first, r"^\w+ False (FileNotFoundError|PermissionError|OSError) "
                                r"(FileNotFoundError|PermissionError|OSError)$")
        self.assertNotEqual(first.split()[0], "None")
        self.assertNotEqual(second, "None")

    def test_that_takes_all_memory_ends_out_of_memory(self):
        answer = self.run_python("x = bytearray(300_000_000)", "--memory", "64M", "--json")
        self.assertEqual(answer.verdict["status"], "out_of_memory", str(answer))

    def test_that_never_ends_is_ended_by_the_limit_of_time(self):
        answer = self.run_python("while True: pass", "--time", "500ms", "--json")
        self.assertEqual(answer.verdict["status"], "timeout", str(answer))
