# SPDX-License-Identifier: Apache-2.0
"""glovebox policy and glovebox run --policy, with real analyses in real sandboxes."""
import json
import os
import pathlib
import pty
import subprocess
import tempfile
import tomllib
import unittest

HERE = pathlib.Path(__file__).resolve().parent
GLOVEBOX = os.environ["GLOVEBOX"]
POLICIES = HERE.parents[1] / "policies"
MOST_FALSE_ALARMS = 0.02


def glovebox(*arguments, **more):
    return subprocess.run([GLOVEBOX, *arguments], capture_output=True, text=True, timeout=300, **more)


def cases(name):
    return tomllib.loads((HERE / name).read_text())["case"]


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return str(path)


class TableTest(Folder):
    """The decisions of `untrusted` about every program of dodges.toml and harmless.toml."""

    def decisions(self, name):
        self.file("untrusted.toml", (POLICIES / "untrusted.toml").read_text())
        examples = [f'[[example]]\nlanguage = "{case["language"]}"\ncode = {json.dumps(case["code"])}\n'
                    + (f'file = "{case["file"]}"\n' if "file" in case else "") + 'expect = "allow"\n'
                    for case in cases(name)]
        self.file("untrusted.examples.toml", "".join(examples))
        result = glovebox("policy", "test", "--json", str(self.folder / "untrusted.toml"))
        self.assertIn(result.returncode, (0, 1), result.stderr)
        found = json.loads(result.stdout)["examples"]
        return list(zip(cases(name), (each["assessment"] for each in found), strict=True))

    def test_every_dodge_is_asked_about_or_refused(self):
        passed = [case["code"] for case, found in self.decisions("dodges.toml")
                  if found["decision"] == "allow"]
        self.assertEqual(passed, [])

    def test_harmless_programs_pass(self):
        decisions = self.decisions("harmless.toml")
        stopped = [(case["code"], found["findings"]) for case, found in decisions
                   if found["decision"] != "allow"]
        self.assertLessEqual(len(stopped), MOST_FALSE_ALARMS * len(decisions), stopped)


class ShippedTest(unittest.TestCase):
    def test_each_shipped_policy_decides_its_examples_as_expected(self):
        for path in sorted(POLICIES.glob("*.examples.toml")):
            name = path.name.removesuffix(".examples.toml")
            with self.subTest(policy=name):
                result = glovebox("policy", "test", name)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_list_names_them_and_show_prints_the_file(self):
        listed = glovebox("policy", "list").stdout
        for path in POLICIES.glob("*.examples.toml"):
            name = path.name.removesuffix(".examples.toml")
            self.assertIn(name, listed)
            self.assertEqual(glovebox("policy", "show", name).stdout,
                             (POLICIES / f"{name}.toml").read_text())


class CheckTest(Folder):
    def check(self, policy, code, name="code.py", *options):
        return glovebox("policy", "check", self.file("p.toml", policy), self.file(name, code), *options)

    def test_a_finding_has_its_place_and_the_exit_status_is_the_decision(self):
        policy = "[python.calls]\nrefuse = ['os.system']\nask = ['eval']\n"
        refused = self.check(policy, "import os\nif 1:\n    os.system('id')\n")
        self.assertEqual(refused.returncode, 126)
        self.assertIn("code.py:3:5: refuse: B605 (high) 'os.system'", refused.stdout)
        self.assertIn("decision: refuse", refused.stdout)
        self.assertEqual(self.check(policy, "eval('1')").returncode, 1)
        self.assertEqual(self.check(policy, "print(1)").returncode, 0)

    def test_the_ending_of_a_file_says_whether_it_has_elements(self):
        for name, status in (("page.tsx", 0), ("page.ts", 126)):
            with self.subTest(name):
                path = self.file(name, "const page = () => <b>{1}</b>;\n")
                self.assertEqual(glovebox("policy", "check", "untrusted", path).returncode, status)

    def test_json_has_the_same(self):
        result = self.check("[commands]\nrefuse = ['rm -r /']\n", "echo 1\nsudo rm -fr //\n", "x.sh",
                            "--json")
        found = json.loads(result.stdout)
        self.assertEqual(result.returncode, 126)
        self.assertEqual(found["decision"], "refuse")
        self.assertEqual((found["findings"][0]["line"], found["findings"][0]["column"]), (2, 1))

    def test_a_program_that_overwhelms_the_analysis_never_passes(self):
        for code in ("(" * 200_000, "-" * 100_000 + "1", "x = " + "[" * 900 + "]" * 900,
                     "a.b" + ".c" * 50_000, "\0", "f'{" * 200 + "1"):
            with self.subTest(code=code[:20]):
                self.assertEqual(self.check("", code).returncode, 1)

    def test_names_that_are_computed_from_each_other_are_followed(self):
        names = [f"n{number}" for number in range(14)]
        code = "import os\n" + "".join(f"{one} = str({other}) + len({third}) + {one}({other})\n"
                                      for one in names for other in names[:4] for third in names[4:8])
        policy = "[python.calls]\nask = ['eval']\nrefuse = ['os.system']\n"
        self.assertEqual(self.check(policy, code).returncode, 0)
        self.assertEqual(self.check(policy, code + "n1 = os.system\nn2 = n1\nn2('id')\n").returncode, 126)

    def test_an_attribute_in_the_middle_of_a_chain_is_one(self):
        policy = "[python.attributes]\nrefuse = ['__self__']\n"
        self.assertEqual(self.check(policy, "print.__self__.x\n").returncode, 126)
        self.assertEqual(self.check(policy, "print.x\n").returncode, 0)

    def test_a_policy_that_only_demands_a_tier_reads_no_program(self):
        result = glovebox("run", "--policy", self.file("p.toml", "min_tier = 'native'\n"), "-l", "awk",
                          "-e", "BEGIN { print 1 }")
        self.assertEqual((result.returncode, result.stdout), (0, "1\n"), result.stderr)

    def test_control_characters_of_the_code_do_not_reach_the_terminal(self):
        result = self.check("[python.calls]\nask = ['eval']\n", "eval('\x1b]0;x\x07')\n")
        self.assertEqual(result.returncode, 1)
        self.assertNotIn("\x1b", result.stdout)

    def test_a_wrong_policy_is_an_error_with_its_place(self):
        result = self.check("[comands]\n", "print(1)")
        self.assertEqual(result.returncode, 2)
        self.assertIn("p.toml:1:2: unknown key 'comands'", result.stderr)
        self.assertIn("did you mean 'commands'?", result.stderr)

    def test_an_unknown_name_names_the_shipped_ones(self):
        result = glovebox("policy", "check", "untrustd", self.file("a.py", "1"))
        self.assertEqual(result.returncode, 2)
        self.assertIn("did you mean 'untrusted'?", result.stderr)

    def test_a_call_of_a_tool_is_decided_without_a_program(self):
        policy = self.file("calls.toml", "[tools]\nallow = ['pay amount<=100']\nask = ['pay']\n"
                                         "refuse = ['rm*']\n")
        for tool, arguments, status, said in (
                ("pay", '{"amount": 7}', 0, "allow"), ("pay", '{"amount": 700}', 1, "'pay'"),
                ("rm_all", "{}", 126, "tool matches 'rm*'")):
            found = glovebox("policy", "check", policy, "--tool", tool, "--arguments", arguments)
            self.assertEqual((found.returncode, found.stderr), (status, ""))
            self.assertIn(said, found.stdout)
        found = glovebox("policy", "check", policy, "--tool", "rm_all", "--json")
        self.assertEqual(json.loads(found.stdout)["findings"][0]["subject"], "rm_all")
        for wrong in ([], ["--tool", "pay", "--arguments", "{"], ["--arguments", "{}"],
                      ["x.py", "--tool", "pay"]):
            found = glovebox("policy", "check", policy, *wrong)
            self.assertNotIn(found.returncode, (0, 1, 126), wrong)
            self.assertTrue(found.stderr, wrong)

    def test_an_example_may_be_a_call(self):
        policy = self.file("calls.toml", "[tools]\nask = ['pay']\n")
        self.file("calls.examples.toml",
                  "[[example]]\ntool = 'pay'\narguments = '{\"a\": 1}'\nexpect = 'ask'\nrule = 'tool'\n"
                  "[[example]]\ntool = 'search'\nexpect = 'allow'\n")
        found = glovebox("policy", "test", policy)
        self.assertEqual((found.returncode, found.stdout.splitlines()[-1]),
                         (0, "2 examples, 0 wrong"), found.stdout)

    def test_examples_that_are_decided_otherwise_are_shown(self):
        policy = self.file("q.toml", "[python.calls]\nask = ['eval']\n")
        self.file("q.examples.toml", "[[example]]\nname = 'n'\nlanguage = 'python'\n"
                                     "code = 'eval(1)'\nexpect = 'allow'\n")
        result = glovebox("policy", "test", policy)
        self.assertEqual(result.returncode, 1)
        self.assertIn("WRONG  n: expected allow, decided ask", result.stdout)


class RunTest(Folder):
    ASKS = "[python.calls]\nask = ['eval']\nrefuse = ['exec']\n"

    def run_code(self, code, *options, **more):
        return glovebox("run", "--policy", self.file("p.toml", self.ASKS), "-l", "python", "-e", code,
                        *options, **{"stdin": subprocess.DEVNULL, **more})

    def test_what_the_policy_allows_runs(self):
        result = self.run_code("print(42)")
        self.assertEqual((result.returncode, result.stdout), (0, "42\n"))

    def test_what_it_refuses_does_not_run_and_the_status_is_126(self):
        result = self.run_code("print('ran')\nexec('1')")
        self.assertEqual((result.returncode, result.stdout), (126, ""))
        self.assertIn("B102 at code:2:1", result.stderr)

    def test_without_a_terminal_what_it_asks_about_is_refused(self):
        result = self.run_code("print('ran', eval('1'))")
        self.assertEqual((result.returncode, result.stdout), (126, ""))
        self.assertIn("there is no terminal", result.stderr)

    def test_events_name_the_question(self):
        result = self.run_code("print('ran', eval('1'))", "--events")
        events = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([event["type"] for event in events], ["approval_needed", "failed"])
        self.assertEqual(events[0]["findings"][0]["rule"], "B307")
        self.assertEqual(len(events[0]["hash"]), 64)
        self.assertEqual(events[1]["error"], "refused")

    def test_the_strictest_of_several_policies_decides(self):
        result = self.run_code("eval('1')", "--policy", "untrusted")
        self.assertEqual(result.returncode, 126)
        self.assertIn("the policy refuses", result.stderr)

    def answered(self, reply):
        ours, theirs = pty.openpty()
        try:
            process = subprocess.Popen(
                [GLOVEBOX, "run", "--policy", self.file("p.toml", self.ASKS), "-l", "python", "-e",
                 "print('ran', eval('1'))"], stdin=theirs, stdout=subprocess.PIPE, stderr=theirs,
                text=True)
            os.close(theirs)
            shown = b""
            while b"[y/N] " not in shown:
                shown += os.read(ours, 4096)
            os.write(ours, reply)
            output, _ = process.communicate(timeout=300)
            return process.returncode, output
        finally:
            os.close(ours)

    def test_a_person_at_the_terminal_decides(self):
        self.assertEqual(self.answered(b"y\n"), (0, "ran 1\n"))
        self.assertEqual(self.answered(b"\n"), (126, ""))


if __name__ == "__main__":
    unittest.main()
