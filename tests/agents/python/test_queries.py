# SPDX-License-Identifier: Apache-2.0
import unittest

from harness import Agent


class Queries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.agent = Agent()
        cls.addClassCleanup(cls.agent.close)

    def test_completion_finds_attributes_in_code_points(self):
        self.agent.run("import os")
        reply = self.agent.ask("complete", code="'é😀'; os.getcw", cursor=14)
        self.assertIn("os.getcwd", [("os." + m).replace("os.os.", "os.") for m in reply["matches"]])
        self.assertEqual(reply["end"], 14)

    def test_completion_of_nothing_is_empty(self):
        reply = self.agent.ask("complete", code="zzzqqq.", cursor=7)
        self.assertEqual(reply, {"matches": [], "start": 7, "end": 7})

    def test_inspection_shows_the_documentation(self):
        reply = self.agent.ask("inspect", code="len(", cursor=3)
        self.assertTrue(reply["found"])
        self.assertIn("Return the number of items", reply["data"]["text/plain"])

    def test_what_is_not_there_is_not_found(self):
        self.assertFalse(self.agent.ask("inspect", code="zzzqqq", cursor=3)["found"])

    def test_completeness_of_code(self):
        for code, status, indent in (
            ("1", "complete", ""),
            ("for x in y:", "incomplete", "    "),
            ("a = )", "invalid", ""),
        ):
            with self.subTest(code):
                reply = self.agent.ask("is_complete", code=code)
                self.assertEqual(reply, {"status": status, "indent": indent})

    def test_variables_have_name_type_and_short_value(self):
        with Agent() as agent:
            agent.run(
                "a = 1\nb = 'x' * 10**6\nc = list(range(10**6))\n_hidden = 1\n"
                "class E:\n    def __repr__(self): raise OSError\ne = E()"
            )
            rows = {r["name"]: r for r in agent.ask("variables")["variables"]}
        self.assertEqual(rows["a"], {"name": "a", "type": "int", "value": "1"})
        self.assertEqual(sorted(rows), ["E", "a", "b", "c", "e"])
        self.assertEqual(max(len(r["value"]) for r in rows.values()), 200)
        self.assertTrue(rows["e"]["type"] == "E" and rows["e"]["value"])

    def test_at_most_a_thousand_variables_are_told(self):
        with Agent() as agent:
            agent.run("globals().update({f'v{i}': i for i in range(1500)})")
            self.assertEqual(len(agent.ask("variables")["variables"]), 1000)

    def test_a_question_that_hangs_can_be_interrupted(self):
        self.agent.run(
            "class Slow:\n    def __dir__(self):\n        print('ready')\n"
            "        while True: pass\ns = Slow()"
        )
        channel = self.agent.send("complete", code="s.", cursor=2)
        self.agent.until("stdout")
        self.agent.interrupt()
        self.agent.until("reply", channel)
        self.assertEqual(self.agent.run("1").plain, "1")

    def test_malformed_questions_get_an_error(self):
        self.assertIn("error", self.agent.ask("complete", code="a", cursor="x"))
        self.assertIn("error", self.agent.ask("fetch", ref="r99"))
        self.assertIn("error", self.agent.ask("checkpoint", id=1))


if __name__ == "__main__":
    unittest.main()
