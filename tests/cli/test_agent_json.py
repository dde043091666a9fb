#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""glovebox agent for programs: --json and --events."""
import json
import unittest

from test_agent import Case


class ForPrograms(Case):
    SCRIPT = ("echo out; echo err >&2; sed -i s/two/TWO/ a.txt; rm src/main.c; printf '\\0' > new; "
              "mkdir .github; echo > .github/x; ln -s /etc/passwd out")

    def result(self, script, *options, status=0):
        answer = self.agent(script, "--json", *options, status=status)
        self.assertEqual(answer.out.count(b"\n"), 1)
        return json.loads(answer.out)

    def test_the_result_is_one_document(self):
        made = self.result(self.SCRIPT, "--apply")
        self.assertEqual((made["schema"], made["agent"], made["outcome"], made["kept"]),
                         ("glovebox.agent/1", "command", "applied", False))
        self.assertEqual((made["checkout"], made["copied"]), (str(self.repository), 3))
        self.assertEqual((made["branch"], made["commit"]), (None, None))
        command = made["command"]
        self.assertEqual((command["exit_code"], command["stdout"], command["stderr"]),
                         (0, "out\n", "err\n"))
        self.assertNotIn("schema", command)
        changes = {each["path"]: each for each in made["changes"]}
        self.assertEqual({path: each["change"] for path, each in changes.items()},
                         {"a.txt": "modified", "new": "added", "src/main.c": "deleted"})
        self.assertEqual((changes["a.txt"]["lines_added"], changes["a.txt"]["lines_removed"]), (1, 1))
        self.assertTrue(changes["new"]["binary"])
        self.assertEqual({each["path"] for each in made["left_behind"]}, {".github/x", "out"})
        self.assertEqual(self.read("a.txt"), "one\nTWO\nthree\n")
        self.assertEqual(self.sandboxes(), [])

    def test_a_commit_is_named(self):
        made = self.result("echo 1 > new", "--branch", "agent/fix")
        self.assertEqual((made["outcome"], made["branch"]), ("committed", "agent/fix"))
        self.assertEqual(self.git("rev-parse", "agent/fix").strip(), made["commit"])

    def test_without_a_wish_the_changes_stay_in_the_sandbox(self):
        made = self.result("echo 1 > new")
        self.assertEqual((made["outcome"], made["kept"]), ("kept", True))
        self.assertEqual(self.sandboxes(), [made["sandbox"]])
        self.assertFalse((self.repository / "new").exists())
        self.assertEqual(self.result("true")["outcome"], "unchanged")
        self.assertEqual(self.result("echo 1 > new", "--discard")["outcome"], "discarded")
        self.assertEqual(self.result("echo 1 > new", "--diff", "p.patch")["outcome"], "written")

    def test_an_agent_that_fails_has_its_status_in_the_result(self):
        made = self.result("echo 1 > new; exit 7", "--apply", status=7)
        self.assertEqual((made["command"]["exit_code"], made["outcome"]), (7, "kept"))

    def test_events_come_as_they_happen_and_the_last_one_is_the_result(self):
        answer = self.agent("echo out; echo 1 > new", "--events", "--discard")
        events = [json.loads(line) for line in answer.out.splitlines()]
        kinds = [each["type"] for each in events]
        self.assertEqual((kinds[0], kinds[-2:]), ("started", ["ended", "finished"]))
        self.assertIn({"type": "stdout", "text": "out\n"}, events)
        self.assertEqual((events[-1]["schema"], events[-1]["outcome"]), ("glovebox.agent/1", "discarded"))
        self.assertEqual(events[-1]["command"]["stdout"], "out\n")

    def test_what_would_mix_with_the_json_is_refused(self):
        self.agent("true", "--json", "--diff", "-", status=2)
        self.agent("true", "--json", "--events", status=2)


if __name__ == "__main__":
    unittest.main()
