# SPDX-License-Identifier: Apache-2.0
"""`glovebox replay`: what the journal keeps of a run with --audit-inputs, and running it again."""

import json
import subprocess
import unittest

from daemon import GLOVEBOX, Daemon


class WithInputs(unittest.TestCase):
    OPTIONS = ["--audit-inputs"]

    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.discard)
        self.daemon.options = list(self.OPTIONS)
        self.daemon.start()

    def ran(self, code, language="python", **more):
        return self.daemon.must(200, "POST", "/v1/run", {"language": language, "code": code, **more})

    def replay(self, *words):
        return subprocess.run([GLOVEBOX, "replay", *words, "--url", f"unix:{self.daemon.unix}"],
                              capture_output=True, text=True, check=False)


class Replay(WithInputs):
    def test_what_depends_on_nothing_is_the_same_again(self):
        code = ("import os, sys; print(input(), sys.argv[1:], open('d/f').read(), os.environ['A']); "
                "open('made', 'w').write('x'); sys.exit(3)")
        verdict = self.ran(code, stdin="line\n", arguments=["a", "-b"], files={"d/f": "file"},
                           env={"A": "1"}, limits={"memory": "64M", "time": "5s"})
        self.assertEqual((verdict["stdout"], verdict["exit_code"]), ("line ['a', '-b'] file 1\n", 3))
        again = self.replay(verdict["id"])
        self.assertEqual((again.returncode, again.stderr), (0, ""), again)
        self.assertRegex(again.stdout, r"^recorded \S+, python: the same again\n$")
        shown = json.loads(self.replay(verdict["id"], "--json").stdout)
        self.assertEqual((shown["schema"], shown["same"], shown["differences"]), ("glovebox.replay/1", True, []))
        self.assertEqual(shown["verdict"]["stdout"], verdict["stdout"])
        self.assertEqual(shown["verdict"]["limits"]["memory"]["value"], 64 << 20)

    def test_what_is_different_is_named_with_its_line(self):
        verdict = self.ran("import os; print('first'); print(os.urandom(8).hex()); open(os.urandom(4).hex(), 'w')")
        again = self.replay(verdict["id"])
        self.assertEqual(again.returncode, 1, again)
        self.assertIn("stdout differs in line 2\n  - " + verdict["stdout"].splitlines()[1], again.stdout)
        self.assertIn("the files that it changed differ", again.stdout)
        self.assertNotIn("stderr", again.stdout)
        shown = json.loads(self.replay(verdict["id"], "--json").stdout)
        self.assertEqual(shown["differences"], ["stdout", "files"])

    def test_much_output_and_long_names_are_the_same_again(self):
        code = "open('n' * 250 + 'x', 'w'); import os; os.mkdir('d' * 200); open('d' * 200 + '/' + 'f' * 200, 'w')"
        verdict = self.ran(code + "; [open(f'{i:03}', 'w') for i in range(150)]; print('y' * 200_000)")
        self.assertEqual(verdict["status"], "ok", verdict)
        again = self.replay(verdict["id"])
        self.assertEqual(again.returncode, 0, again)

    def test_another_end_is_a_difference(self):
        # The second run finds what the first one did not.
        verdict = self.ran("import os, time; t = int(time.time() * 1000) % 2**32; os._exit(t % 100 + 1)")
        for _ in range(5):
            again = self.replay(verdict["id"])
            if again.returncode != 0:
                break
        self.assertRegex(again.stdout, rf"exit_code was {verdict['exit_code']} and is \d+\n")

    def test_a_replay_can_itself_be_replayed(self):
        verdict = self.ran("print('x' * 100_000)")
        shown = json.loads(self.replay(verdict["id"], "--json").stdout)
        self.assertNotEqual(shown["verdict"]["id"], verdict["id"])
        self.assertEqual(self.replay(shown["verdict"]["id"]).returncode, 0)

    def test_too_much_and_unknown_are_told(self):
        verdict = self.ran("print(len(input()))", stdin="x" * 300_000)
        again = self.replay(verdict["id"])
        self.assertEqual(again.returncode, 125, again)
        self.assertIn("more than 256 KiB", again.stderr)
        unknown = self.replay("none-such")
        self.assertEqual(unknown.returncode, 2, unknown)
        self.assertIn("--audit-inputs", unknown.stderr)

    def test_the_record_is_part_of_the_chain_and_other_tenants_do_not_see_it(self):
        self.daemon.must(201, "POST", "/v1/tenants", {"name": "other"})
        other = self.daemon.must(201, "POST", "/v1/keys", {"tenant": "other", "scopes": ["admin", "run"]})["key"]
        verdict = self.ran("print(1)", env={"MARK": "of-this-run"})
        done = subprocess.run([GLOVEBOX, "audit", "verify", "--data", str(self.daemon.data)],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done)
        records = self.daemon.must(200, "GET", "/v1/audit?limit=1000", key=other)["records"]
        self.assertNotIn("of-this-run", json.dumps(records))
        hidden = subprocess.run([GLOVEBOX, "replay", verdict["id"], "--url", f"unix:{self.daemon.unix}",
                                 "--key", other], capture_output=True, text=True, check=False)
        self.assertEqual(hidden.returncode, 2, hidden)


class Cells(WithInputs):
    def execute(self, sandbox, code, context="default", **more):
        return self.daemon.must(200, "POST", f"/v1/sandboxes/{sandbox}/contexts/{context}/execute",
                                {"code": code, **more})

    def sandbox(self, **wishes):
        return self.daemon.must(201, "POST", "/v1/sandboxes", wishes)["id"]

    def live(self):
        return {each["id"] for each in self.daemon.must(200, "GET", "/v1/sandboxes")["sandboxes"]}

    def test_cells_that_build_on_each_other_are_the_same_again(self):
        sandbox = self.sandbox(env={"A": "1"}, limits={"memory": "128M"})
        self.execute(sandbox, "import os; x = int(os.environ['A']) + 40")
        self.execute(sandbox, "open('f', 'w').write(str(x)); x")
        self.execute(sandbox, "print(open('f').read(), B); 1 / 0", env={"B": "2"})
        before = self.live()
        again = self.replay(f"{sandbox}/default")
        self.assertEqual((again.returncode, again.stderr), (0, ""), again)
        self.assertRegex(again.stdout, rf"^recorded \S+, 3 cells of {sandbox}/default: the same again\n$")
        shown = json.loads(self.replay(f"{sandbox}/default", "--json").stdout)
        self.assertEqual((shown["schema"], shown["same"], len(shown["cells"])), ("glovebox.replay-cells/1", True, 3))
        self.assertEqual(shown["cells"][1]["verdict"]["results"][0]["data"]["text/plain"], "41")
        self.assertEqual(self.live(), before)

    def test_a_cell_that_is_different_is_named_with_its_line(self):
        sandbox = self.sandbox()
        self.execute(sandbox, "x = 1")
        self.execute(sandbox, "import os\nprint('first'); print(os.urandom(8).hex())")
        self.execute(sandbox, "os.urandom(8)")
        again = self.replay(f"{sandbox}/default")
        self.assertEqual(again.returncode, 1, again)
        self.assertIn("cell 2: stdout differs in line 2\n  - ", again.stdout)
        self.assertIn("cell 3: results differs", again.stdout)
        self.assertNotIn("cell 1", again.stdout)
        first = self.replay(f"{sandbox}/default:1")
        self.assertEqual(first.returncode, 0, first)
        self.assertIn(", 1 cell of ", first.stdout)

    def test_other_contexts_languages_and_restarts_are_theirs(self):
        sandbox = self.sandbox()
        made = self.daemon.must(201, "POST", f"/v1/sandboxes/{sandbox}/contexts", {"language": "bash"})["id"]
        self.execute(sandbox, "x=3; echo $x", made)
        self.execute(sandbox, "print('other')")
        self.daemon.must(204, "POST", f"/v1/sandboxes/{sandbox}/contexts/{made}/restart")
        self.execute(sandbox, "echo \"[$x]\"", made)
        again = self.replay(f"{sandbox}/{made}")
        self.assertEqual(again.returncode, 0, again)
        self.assertIn("2 cells of", again.stdout)
        self.assertIn("not repeated: execute.start, 1 times", again.stdout)

    def test_a_deleted_sandbox_is_replayed_and_an_unknown_one_is_told(self):
        sandbox = self.sandbox()
        self.execute(sandbox, "print(6 * 7)")
        self.daemon.must(204, "DELETE", f"/v1/sandboxes/{sandbox}")
        self.assertEqual(self.replay(f"{sandbox}/default").returncode, 0)
        for wrong, status in ((f"{sandbox}/none", 2), ("none/default", 2), (f"{sandbox}/default:0", 2), ("/x", 2)):
            with self.subTest(wrong):
                again = self.replay(wrong)
                self.assertEqual(again.returncode, status, again)


class WithoutInputs(unittest.TestCase):
    def test_nothing_of_a_run_is_recorded_that_was_not_asked_for(self):
        daemon = Daemon()
        self.addCleanup(daemon.discard)
        daemon.start()
        verdict = daemon.must(200, "POST", "/v1/run", {"language": "python", "code": "print(input())",
                                                       "stdin": "of-the-client", "env": {"A": "of-the-client"}})
        self.assertEqual(verdict["stdout"], "of-the-client\n")
        text = "".join(path.read_text() for path in (daemon.data / "audit").glob("*.jsonl"))
        self.assertNotIn("of-the-client", text)
        self.assertIn('"action":"run.end"', text)


if __name__ == "__main__":
    unittest.main()
