# SPDX-License-Identifier: Apache-2.0
"""Commands that are waited for, and why processes end."""

import unittest

from daemon import EVENTS, Case

GREEDY = "x = []\nwhile True: x.append(bytearray(1 << 20))"


class Commands(Case):
    def box(self, **wishes):
        made = self.daemon.must(201, "POST", "/v1/sandboxes", {"timeout": "5m", **wishes})
        path = "/v1/sandboxes/" + made["id"]
        self.addCleanup(self.daemon.ask, "DELETE", path)
        return path

    def run_in(self, path, **body):
        return self.daemon.must(200, "POST", path + "/commands", body)

    def test_a_command_is_waited_for_with_its_streams_and_end(self):
        box = self.box()
        done = self.run_in(box, shell="read line; echo got $line; echo bad >&2; exit 3",
                           stdin="this\n")
        self.assertEqual((done["stdout"], done["stderr"]), ("got this\n", "bad\n"))
        self.assertEqual((done["exit_code"], done["signal"], done["reason"]), (3, None, "error"))
        done = self.run_in(box, argv=["sh", "-c", "pwd; echo $A"], cwd="/tmp", env={"A": "b"})
        self.assertEqual((done["stdout"], done["reason"]), ("/tmp\nb\n", "ok"))

    def test_much_input_goes_through_while_the_command_prints(self):
        text = "x" * 700_000
        done = self.run_in(self.box(), argv=["cat"], stdin=text)
        self.assertEqual(done["stdout"], text)

    def test_output_is_bounded_and_says_so(self):
        done = self.run_in(self.box(), shell="yes | head -c 100000", limits={"output": "1K"})
        self.assertTrue(done["truncated"]["stdout"])
        self.assertEqual(done["bytes"]["stdout"], 100_000)
        self.assertLess(len(done["stdout"]), 2_000)

    def test_the_reason_of_an_end_is_told(self):
        box = self.box(limits={"memory": "128M"})
        slow = self.run_in(box, shell="sleep 60", limits={"time": "200ms"})
        self.assertEqual((slow["reason"], slow["exit_code"]), ("timeout", 137))
        killed = self.run_in(box, shell="kill -SEGV $$")
        self.assertEqual((killed["reason"], killed["signal"]), ("signaled", 11))
        itself = self.run_in(box, shell="kill -KILL $$")
        self.assertEqual((itself["reason"], itself["signal"]), ("signaled", 9))
        greedy = self.run_in(box, argv=["python3", "-c", GREEDY])
        self.assertEqual((greedy["reason"], greedy["signal"]), ("out_of_memory", 9))

    def test_a_process_beside_tells_the_reason_too(self):
        box = self.box(limits={"memory": "128M"})
        request = {"argv": ["python3", "-c", GREEDY]}
        answer = self.daemon.ask("POST", box + "/processes", request, {"Accept": EVENTS})
        self.assertEqual(answer.status, 200)
        self.assertIn(b'"reason":"out_of_memory"', answer.body)

    def test_the_root_says_what_this_is(self):
        said = self.daemon.must(200, "GET", "/", key=None)
        self.assertEqual((said["name"], said["openapi"]), ("glovebox", "/openapi.json"))
        page = self.daemon.ask("GET", "/", headers={"Accept": "text/html,*/*"}, key=None)
        self.assertIn(b"<h1>Glovebox</h1>", page.body)

    def test_mistakes_are_told(self):
        box = self.box()
        for body in ({}, {"argv": ["a"], "shell": "a"}, {"argv": []}, {"shell": ""},
                     {"shell": "a", "limits": {"memory": "1G"}},
                     {"shell": "a", "limits": {"time": "0s"}}, {"shell": "a", "stdin": True}):
            self.daemon.must(400, "POST", box + "/commands", body)
        self.daemon.must(404, "POST", "/v1/sandboxes/none/commands", {"shell": "a"})


if __name__ == "__main__":
    unittest.main()
