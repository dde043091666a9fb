# SPDX-License-Identifier: Apache-2.0
"""Runs of the daemon that find a sandbox with a runner that waits for them."""
import itertools
import pathlib
import sys

from wasm_case import ARGUMENTS, COPYING, ENDLESS, ENVIRONMENT, INSTALLED, TRAPS, WasmCase, module, opening, printing

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "service"))
from daemon import Daemon, wait_until  # noqa: E402
from traces import named  # noqa: E402

# Exits with 0 where `made` is not there yet, and makes it.
MAKING = module("""
  (local.set $e (call $path_open (i32.const 3) (i32.const 1) (i32.const 256) (i32.const 4)
    (i32.const 5) (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 16)))
  (call $proc_exit (local.get $e))""", ("path_open",), data="made")
# Compiling it takes a hundred times as long as starting a runner.
LARGE = module("", more="".join(
    f"(func $f{i} (param i32) (result i32) {'(i32.add (i32.mul (local.get 0) (i32.const 3)) ' * 40}"
    f"(i32.const {i}){')' * 40})" for i in range(1500)))
TIMES = itertools.count(20)


class Ready(WasmCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon().start()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.discard()
        super().tearDownClass()

    def run_once(self, code, key="own", **wishes):
        return self.daemon.must(200, "POST", "/v1/run", {"language": "wasm", "code": code} | wishes, key=key)

    @staticmethod
    def was_ready(verdict):
        return "claim_us" in verdict["timings"]

    def run_ready(self, code, key="own", **wishes):
        """The verdict of a run that found a runner waiting."""
        found = []

        def is_ready():
            found[:] = [self.run_once(code, key, **wishes)]
            return self.was_ready(found[0])
        wait_until(is_ready, "a run that finds a runner waiting")
        return found[0]

    def test_say_the_same_as_any_other_run(self):
        for code, wishes in ((ARGUMENTS, {"arguments": ["one", "zwei"]}),
                             (ENVIRONMENT, {"env": {"GIVEN": "with spaces"}}),
                             (COPYING, {"stdin": "a line\n" * 20_000}),
                             (COPYING, {"stdin": "more than waits\n" * 150_000}),
                             (module("(call $proc_exit (i32.const 0))"), {}),
                             (TRAPS["SIGABRT"], {}), (TRAPS["SIGSEGV"], {}),
                             (module("(call $proc_exit (i32.const 7))"), {}),
                             (module("", more="(import \"env\" \"missing\" (func))"), {}),
                             ("(module nonsense", {}), ("", {}),
                             (printing("to the other", to=2), {})):
            with self.subTest(code[-200:], **{name: str(wish)[:40] for name, wish in wishes.items()}):
                # Nobody has asked for this limit: nothing waits for it.
                wishes["limits"] = {"time": f"{next(TIMES)}s"}
                first = self.run_once(code, **wishes)
                self.assertFalse(self.was_ready(first))
                # The second one is compiled there, and then the module is loaded as it was compiled.
                for _ in range(3):
                    ready = self.run_ready(code, **wishes)
                    for field in ("status", "exit_code", "signal", "stdout", "stderr", "files", "tier", "walls"):
                        self.assertEqual(ready[field], first[field], field)

    def test_have_their_own_arguments_environment_and_files(self):
        self.run_ready(ARGUMENTS)
        verdict = self.run_ready(ARGUMENTS, arguments=["mine"])
        self.assertTrue(verdict["stdout"].endswith("\0mine\0"), verdict)
        self.run_ready(ENVIRONMENT, env={"FIRST": "1"})
        verdict = self.run_ready(ENVIRONMENT, env={"SECOND": "2"})
        self.assertIn("SECOND=2", verdict["stdout"])
        self.assertNotIn("FIRST", verdict["stdout"])
        self.run_ready(opening("given"), files={"given": "x"})
        self.assertNotEqual(self.run_ready(opening("given"))["exit_code"], 0)

    def test_find_nothing_of_each_other(self):
        ids = set()
        for _ in range(5):
            verdict = self.run_ready(MAKING)
            self.assertEqual(verdict["exit_code"], 0, verdict)  # Only where it was not there (O_EXCL).
            self.assertEqual([file["path"] for file in verdict["files"]], ["made"])
            ids.add(verdict["id"])
        self.assertEqual(len(ids), 5)

    def test_are_not_compiled_again(self):
        compiled = self.run_ready(LARGE)["usage"]["cpu_ms"]
        loaded = []

        def is_loaded():
            loaded[:] = [self.run_ready(LARGE)["usage"]["cpu_ms"]]
            return loaded[0] < compiled / 3
        wait_until(is_loaded, "a run that is charged for no compilation")
        # Of another tenant, it is.
        self.daemon.must(201, "POST", "/v1/tenants", {"name": "another"})
        key = self.daemon.must(201, "POST", "/v1/keys", {"tenant": "another", "scopes": ["run", "read"]})["key"]
        self.assertGreater(self.run_ready(LARGE, key=key)["usage"]["cpu_ms"], 2 * loaded[0])

    def test_end_at_their_limit_of_time(self):
        limits = {"time": "300ms"}
        verdict = self.run_ready(ENDLESS, limits=limits)
        self.assertEqual((verdict["status"], verdict["limits"]["time"]["hit"]), ("timeout", True))

    def test_where_the_program_cannot_be_written_there_is_no_verdict(self):
        for _ in range(3):
            self.run_ready(ARGUMENTS)
            wait_until(lambda: named(self.daemon.keeper(), "glovebox-wasm"), "a runner that waits")
            answer = self.daemon.must(400, "POST", "/v1/run", {
                "language": "wasm", "code": ARGUMENTS, "files": {"main.wasm/in-its-place": ""}})
            self.assertIn("copy in main.wasm", answer["message"])

    def test_end_at_an_emergency_stop(self):
        self.run_ready(ARGUMENTS)
        wait_until(lambda: named(self.daemon.keeper(), "glovebox-wasm"), "a runner that waits")
        self.daemon.must(200, "POST", "/v1/emergency-stop", {})
        self.addCleanup(self.daemon.must, 204, "DELETE", "/v1/emergency-stop")
        # By themselves, they would end when nobody has asked for a minute.
        wait_until(lambda: not named(self.daemon.keeper(), "glovebox-wasm"), "the end of all that waits", 30)

    def test_are_those_of_interpreters_as_well(self):
        for file, language, code, said in (
                ("python", "python", "import sys; print(sys.argv[1:])", "['a']\n"),
                ("qjs", "javascript", "console.log(scriptArgs[1] + 2)", "a2\n"),
                ("ruby", "ruby", "puts ARGV.first + '2'", "a2\n"),
                ("sqlite3", "sql", ".mode list\nselect 40 + 2 as n;", "n\n42\n")):
            with self.subTest(language):
                if not (INSTALLED / f"{file}.cwasm").exists():
                    self.skipTest(f"{language} for the wasm tier is not installed")
                arguments = {} if language == "sql" else {"arguments": ["a"]}
                verdict = self.run_ready(code, language=language, tier="wasm", **arguments)
                self.assertEqual(verdict["stdout"], said, verdict)
