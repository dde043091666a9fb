# SPDX-License-Identifier: Apache-2.0
"""Judging by the daemon."""

import json
import pathlib
import secrets
import time
import unittest

from daemon import LINES, Case

SUM = "print(sum(map(int, input().split())))"
PATIENCE_S = 60


def processes_with(mark):
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark in path.read_text(errors="replace"):
                found.append(path)
        except OSError:
            pass  # It has ended.
    return found


def soon(holds):
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


CASES = [{"name": "small", "input": "1 2", "expected": "3\n"},
         {"name": "large", "input": "10 20 30", "expected": "60\n", "points": 4}]


class Judge(Case):
    def judge(self, code, language="python", cases=None, **more):
        body = {"language": language, "code": code, "cases": cases or CASES, **more}
        return self.daemon.must(200, "POST", "/v1/judge", body)

    def verdicts(self, code, language="python", **more):
        report = self.judge(code, language, **more)
        return report["verdict"], [case["verdict"] for case in report["cases"]]

    def test_a_right_program_earns_all_points(self):
        report = self.judge(SUM, jobs=2)
        self.assertEqual((report["verdict"], report["points"], report["points_of"]), ("AC", 5, 5))
        self.assertEqual([case["name"] for case in report["cases"]], ["small", "large"])
        self.assertGreater(report["cases"][0]["usage"]["wall_ms"], 0)

    def test_each_way_to_fail_has_its_verdict(self):
        self.assertEqual(self.verdicts("print(3)"), ("WA", ["AC", "WA"]))
        self.assertEqual(self.verdicts("exit(4)"), ("RE", ["RE", "RE"]))
        limits = {"time": "1s", "memory": "96M", "output": "1M"}
        self.assertEqual(self.verdicts("while True: pass", limits=limits, stop_at_first=True),
                         ("TLE", ["TLE", "SKIPPED"]))
        greedy = "x = []\nwhile True: x.append(bytearray(1 << 20))"
        self.assertEqual(self.verdicts(greedy, limits=limits)[0], "MLE")
        self.assertEqual(self.verdicts("while True: print('x' * 1000)", limits=limits)[0], "OLE")
        report = self.judge("int main( {", "c")
        self.assertEqual(report["verdict"], "CE")
        self.assertIn("error", report["compiler_output"])

    def test_a_compiled_program_is_compiled_once(self):
        code = ("#include <stdio.h>\nint main() { long s = 0, x; while (scanf(\"%ld\", &x) == 1) "
                "s += x; printf(\"%ld\\n\", s); }")
        report = self.judge(code, "c")
        self.assertEqual(report["verdict"], "AC")
        self.assertGreater(report["compile_ms"], 0)

    def test_outputs_are_compared_as_asked(self):
        cases = [{"input": "", "expected": "0.3333"}]
        self.assertEqual(self.verdicts("print(1 / 3)", cases=cases)[0], "WA")
        self.assertEqual(self.verdicts("print(1 / 3)", cases=cases, compare="float:1e-3")[0], "AC")

    def test_a_checker_decides(self):
        checker = {"language": "python", "code":
                   "import sys\nsys.exit(0 if open(sys.argv[2]).read().strip() == 'yes' else 1)"}
        cases = [{"input": "1"}]
        self.assertEqual(self.verdicts("print('yes')", cases=cases, checker=checker)[0], "AC")
        self.assertEqual(self.verdicts("print('no')", cases=cases, checker=checker)[0], "WA")

    def test_each_case_is_told_in_its_order_when_it_has_ended(self):
        body = {"language": "python", "code": SUM, "cases": CASES, "jobs": 2}
        answer = self.daemon.ask("POST", "/v1/judge", body, {"Accept": LINES})
        events = [json.loads(line) for line in answer.body.splitlines()]
        told = [event for event in events if event["type"] != "keepalive"]
        self.assertEqual([(event["type"], event.get("name")) for event in told],
                         [("case", "small"), ("case", "large"), ("verdict", None)])
        self.assertEqual(told[-1]["verdict"], "AC")

    def test_a_limit_of_a_case_counts_in_place_of_the_submissions(self):
        cases = [{"input": "", "expected": "", "time": "500ms"}]
        self.assertEqual(self.verdicts("while True: pass", cases=cases)[0], "TLE")

    def test_a_client_that_hangs_up_ends_what_runs(self):
        mark = "judged-" + secrets.token_hex(8)
        body = {"language": "python", "code": "import time; time.sleep(600)", "arguments": [mark],
                "cases": CASES, "limits": {"time": "10m"}}
        stream = self.daemon.stream("POST", "/v1/judge", body)
        self.assertTrue(soon(lambda: processes_with(mark)))
        stream.close()
        self.assertTrue(soon(lambda: not processes_with(mark)))

    def test_mistakes_are_told(self):
        whole = {"language": "python", "code": SUM, "cases": CASES}
        for wrong in ({"cases": []}, {"cases": [{"points": -1}]}, {"cases": [{"wrong": 1}]},
                      {"compare": "nearly"}, {"jobs": 0}, {"language": "klingon"},
                      {"checker": {"language": "python"}},
                      {"checker": {"language": "c", "code": "int main( {"}}):
            answer = self.daemon.ask("POST", "/v1/judge", {**whole, **wrong})
            self.assertIn(answer.status, (400, 404), wrong)
            self.assertNotIn(b"/proc/", answer.body)


if __name__ == "__main__":
    unittest.main()
