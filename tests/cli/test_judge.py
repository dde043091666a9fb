# SPDX-License-Identifier: Apache-2.0
"""`glovebox judge`: one program against cases."""

import json
import signal
import subprocess
import unittest
import xml.etree.ElementTree

from program import GLOVEBOX, PATIENCE_S, Case, glovebox, languages

SUM = "#include <cstdio>\nint main() { long a, b; scanf(\"%ld %ld\", &a, &b); printf(\"%ld\\n\", a + b); }\n"
# What each case makes of a program that reads its number.
MANY_ENDS = """
import os, sys
case = int(input())
if case == 2: print(7)
elif case == 3:
    while True: pass
elif case == 4: x = b'x' * 10**10
elif case == 5: print('to stderr', file=sys.stderr); raise ValueError('no')
elif case == 6:
    while True: print('y' * 1000)
elif case == 7: os.kill(os.getpid(), 11)
else: print(case)
"""


class Judge(Case):
    def write(self, name, text):
        path = self.dir / name
        path.write_text(text)
        return path

    def cases(self, pairs, settings=None):
        directory = self.dir / "cases"
        directory.mkdir(exist_ok=True)
        for number, (given, expected) in enumerate(pairs, 1):
            (directory / f"c{number}.in").write_text(given)
            (directory / f"c{number}.out").write_text(expected)
        if settings:
            (directory / "cases.toml").write_text(settings)
        return directory

    def judge(self, file, cases, *more):
        answer = glovebox("judge", file, "--cases", cases, "--json", *more)
        return answer, json.loads(answer.out)

    def verdicts(self, file, cases, *more):
        answer, report = self.judge(file, cases, *more)
        return [case["verdict"] for case in report["cases"]], answer, report

    def test_accepts_what_is_right_in_the_order_in_which_people_count(self):
        cases = self.cases([(f"{i} {i}", f"{2 * i}\n") for i in range(1, 13)])
        verdicts, answer, report = self.verdicts(self.write("sum.cpp", SUM), cases)
        self.assertEqual(verdicts, ["AC"] * 12, report)
        self.assertEqual([case["name"] for case in report["cases"]], [f"c{i}" for i in range(1, 13)])
        self.assertEqual((answer.status, report["verdict"], report["points"]), (0, "AC", 12))

    def test_compiles_once(self):
        cases = self.cases([("1 1", "2\n")] * 8)
        _, report = self.judge(self.write("sum.cpp", SUM), cases)
        compile_ms = report["compile_ms"]
        runs_ms = sum(case["usage"]["cpu_ms"] for case in report["cases"])
        self.assertGreater(compile_ms, 0)
        self.assertLess(runs_ms, compile_ms, "eight runs use less than one compilation")

    def test_runs_have_all_that_the_compiler_made(self):
        # One file, several, and one that is too large to be written at once.
        alone = "public class Main { public static void main(String[] a) { System.out.println(42); } }"
        two = ("public class Main { public static void main(String[] a) { "
               "System.out.println(Other.answer()); } } class Other { static int answer() { return 42; } }")
        large = ("#include <cstdio>\nchar kept[1 << 20] = {42};\n"
                 "int main() { std::printf(\"%d\\n\", kept[0]); }")
        cases = self.cases([("", "42\n")] * 2)
        for name, code in (("Main.java", alone), ("Main.java", two), ("large.cpp", large)):
            with self.subTest(code):
                if name.endswith(".java") and not languages()["java"]["ready"]:
                    self.skipTest("java is not installed")
                verdicts, _, report = self.verdicts(self.write(name, code), cases)
                self.assertEqual(verdicts, ["AC"] * 2, report)

    def test_tells_each_way_to_fail(self):
        file = self.write("many.py", MANY_ENDS)
        cases = self.cases([(f"{i}\n", f"{i}\n") for i in range(1, 9)])
        verdicts, answer, report = self.verdicts(
            file, cases, "--time", "2s", "--memory", "64M", "--output", "1M"
        )
        self.assertEqual(verdicts, ["AC", "WA", "TLE", "MLE", "RE", "OLE", "RE", "AC"], report)
        self.assertEqual((answer.status, report["verdict"], report["points"]), (1, "WA", 2))
        messages = [case["message"] for case in report["cases"]]
        self.assertEqual(messages[1], "line 1: expected '2', got '7'")
        self.assertIn("ValueError: no", messages[4])
        self.assertEqual(report["cases"][6]["signal"], signal.SIGSEGV)

    def test_says_what_the_compiler_said(self):
        cases = self.cases([("1 1", "2\n")])
        verdicts, answer, report = self.verdicts(self.write("sum.c", "int main( {"), cases)
        self.assertEqual((verdicts, report["verdict"], answer.status), (["CE"], "CE", 1))
        self.assertIn("error:", report["compiler_output"])

    def test_takes_limits_and_points_of_a_case_from_its_settings(self):
        file = self.write("slow.py", "import time\nx = input()\nwhile time.process_time() < 1: pass\nprint(x)\n")
        cases = self.cases(
            [("1", "1\n"), ("2", "2\n")], '[c1]\ntime = "300ms"\n[c2]\npoints = 2.5\ntime = "20s"\n'
        )
        verdicts, _, report = self.verdicts(file, cases)
        self.assertEqual(verdicts, ["TLE", "AC"], report)
        self.assertEqual((report["points"], report["points_of"]), (2.5, 3.5))

    def test_each_case_has_a_sandbox_of_its_own(self):
        file = self.write(
            "leak.py",
            "import os\nn = input()\nprint(len(os.listdir('/tmp')), sorted(os.listdir('.')))\n"
            "open('/tmp/x' + n, 'w'); open('x' + n, 'w')\n",
        )
        cases = self.cases([(f"{i}", "0 ['leak.py']\n") for i in range(6)])
        verdicts, _, report = self.verdicts(file, cases, "--jobs", "1")
        self.assertEqual(verdicts, ["AC"] * 6, report)

    def test_a_checker_decides_and_explains(self):
        file = self.write("echo.py", "print(input())\n")
        checker = self.write(
            "check.py",
            "import sys\ngiven, said, expected = (open(name).read() for name in sys.argv[1:])\n"
            "print('judged', given.strip(), file=sys.stderr)\n"
            "sys.exit({'1': 0, '2': 1, '3': 9}[given.strip()])\n",
        )
        cases = self.cases([("1", "x"), ("2", "x")])
        verdicts, _, report = self.verdicts(file, cases, "--checker", checker)
        self.assertEqual(verdicts, ["AC", "WA"], report)
        self.assertEqual(report["cases"][1]["message"], "judged 2")
        answer, _ = self.judge(file, self.cases([("3", "x")]), "--checker", checker, "--jobs", "1")
        self.assertEqual(answer.status, 2, answer)
        self.assertIn("the checker failed for case 'c1'", answer.message)

    def test_a_checker_is_given_large_outputs(self):
        file = self.write("large.py", "print('x' * 3_000_000)\n")
        checker = self.write(
            "check.py", "import sys, os\nsys.exit(os.path.getsize(sys.argv[2]) != 3_000_001)\n"
        )
        verdicts, _, report = self.verdicts(file, self.cases([("", "")]), "--checker", checker)
        self.assertEqual(verdicts, ["AC"], report)

    def test_may_stop_at_the_first_that_fails(self):
        file = self.write("many.py", MANY_ENDS)
        cases = self.cases([(f"{i}", f"{i}\n") for i in (1, 2, 8, 8, 8, 8)])
        verdicts, _, report = self.verdicts(file, cases, "--first")
        self.assertEqual(verdicts, ["AC", "WA"] + ["SKIPPED"] * 4, report)

    def test_writes_a_report_for_ci(self):
        file = self.write("many.py", MANY_ENDS + "print('\\x01<&>')\n")
        junit = self.dir / "report.xml"
        self.judge(file, self.cases([("1", "1\n"), ("5", "5\n")]), "--junit", junit)
        suite = xml.etree.ElementTree.parse(junit).getroot()
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("2", "2"))
        kinds = [case.find("failure").get("type") for case in suite.iter("testcase")]
        self.assertEqual(kinds, ["WA", "RE"])
        printed = glovebox("judge", file, "--cases", self.cases([("1", "1\n")]), "--junit", "-")
        suite = xml.etree.ElementTree.fromstring(printed.out)
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("2", "2"), printed)

    def test_refuses_what_it_cannot_judge(self):
        file = self.write("echo.py", "print(input())\n")
        cases = self.cases([("1", "1\n")])
        for words, message in (
            (("--cases", self.dir), "holds no cases"),
            (("--cases", self.dir / "none"), "No such file"),
            (("--cases", cases, "--compare", "fuzzy"), "'fuzzy' is not a comparison"),
            (("--cases", cases, "--jobs", "0"), "--jobs"),
            (("--cases", cases, "--json", "--junit", "-"), "cannot be combined"),
            ((), "--cases is missing"),
        ):
            with self.subTest(words):
                answer = glovebox("judge", file, *words)
                self.assertEqual(answer.status, 2, answer)
                self.assertIn(message, answer.message)
        for settings in ("[c9]\n", "[c1]\npoints = -1\n", "[c1]\nx = 1\n", "[c1]\ntime = 3\n", "[", "c1 = 2\n"):
            with self.subTest(settings):
                answer = glovebox("judge", file, "--cases", self.cases([("1", "1\n")], settings))
                self.assertEqual(answer.status, 2, answer)
                self.assertIn("cases.toml", answer.message)
        (cases / "cases.toml").unlink()
        (cases / "c1.out").unlink()
        self.assertIn("case 'c1' has no expected output", glovebox("judge", file, "--cases", cases).message)

    def test_ends_at_once_when_it_is_interrupted(self):
        file = self.write("first.py", "n = input()\nif n == '1': print(1)\nelse:\n  while True: pass\n")
        cases = self.cases([(f"{i}", f"{i}\n") for i in range(1, 40)])
        process = subprocess.Popen(
            [GLOVEBOX, "judge", file, "--cases", cases, "--time", "60s", "--jobs", "1"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with process:
            self.assertTrue(process.stdout.readline().startswith(b"AC"))
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(PATIENCE_S), -signal.SIGINT)


if __name__ == "__main__":
    unittest.main()
