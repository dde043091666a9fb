# SPDX-License-Identifier: Apache-2.0
"""Dry runs of run_code and run_command: what they change waits for the client's user, or for a later call."""
import unittest

from client import Client, STATELESS, text_of

BEFORE = "price = 10\nopen('report', 'w').write('old\\n')"
CHANGE = "price = 12\nopen('report', 'w').write('new\\n')\nprint('tried')"
STATE = "price, open('report').read()"
OLD, NEW = "(10, 'old\\n')", "(12, 'new\\n')"


def value_of(done):
    return done["structuredContent"]["result"]


class WithoutForms(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = Client()
        cls.addClassCleanup(cls.client.close)

    def setUp(self):
        self.client.call("run_code", code=BEFORE)

    def test_the_result_says_what_changes_and_a_later_call_undoes_or_keeps_it(self):
        for keep, after in ((False, OLD), (True, NEW)):
            tried = self.client.call("run_code", code=CHANGE, dry_run=True)
            data = tried["structuredContent"]
            self.assertEqual((data["status"], data["stdout"]), ("ok", "tried\n"))
            for line in ("modified file report", "changed variable price", "-old", "+new"):
                self.assertIn(line, data["changes"])
            self.assertIn("finish_dry_run", text_of(tried))
            waits = self.client.call("run_command", command="true")
            self.assertTrue(waits["isError"], waits)
            done = self.client.call("finish_dry_run", keep=keep, dry_run=data["dry_run"]["id"])
            self.assertEqual(done["structuredContent"]["kept"], keep)
            self.assertEqual(value_of(self.client.call("run_code", code=STATE)), after)

    def test_a_command_has_one_too(self):
        for keep, after in ((False, OLD), (True, "(10, 'new\\n')")):
            tried = self.client.call("run_command", command="echo new > report; echo tried; exit 3",
                                     dry_run=True)
            data = tried["structuredContent"]
            self.assertEqual((data["exit_code"], data["stdout"]), (3, "tried\n"))
            for line in ("modified file report", "-old", "+new"):
                self.assertIn(line, data["changes"])
            done = self.client.call("finish_dry_run", keep=keep, dry_run=data["dry_run"]["id"])
            self.assertEqual(done["structuredContent"]["kept"], keep)
            self.assertEqual(value_of(self.client.call("run_code", code=STATE)), after)

    def test_the_one_that_waits_needs_no_name(self):
        self.client.call("run_code", code=CHANGE, dry_run=True)
        self.assertFalse(self.client.call("finish_dry_run", keep=False).get("isError"))
        self.assertEqual(value_of(self.client.call("run_code", code=STATE)), OLD)
        again = self.client.call("finish_dry_run", keep=False)
        self.assertIn("nothing to undo", text_of(again))

    def test_what_does_not_wait_cannot_be_finished(self):
        for arguments in ({"keep": True}, {"keep": True, "dry_run": "none"}, {}, {"keep": 1}):
            self.assertTrue(self.client.call("finish_dry_run", **arguments)["isError"], arguments)

    def test_what_keeps_nothing_has_no_dry_run(self):
        for arguments in ({"code": "1", "fresh": True}, {"code": "int main(){}", "language": "c"}):
            failed = self.client.call("run_code", dry_run=True, **arguments)
            self.assertTrue(failed["isError"], arguments)
            self.assertIn("dry run", text_of(failed))


class WithForms(unittest.TestCase):
    def test_the_clients_user_decides(self):
        for answer, kept, after in (
                ({"action": "accept", "content": {"keep": True}}, True, NEW),
                ({"action": "accept", "content": {"keep": "yes"}}, False, OLD),
                ({"action": "decline"}, False, OLD)):
            asked = []

            def respond(request):
                asked.append(request["params"])
                return answer

            with Client(capabilities={"elicitation": {}}, respond=respond) as client:
                client.call("run_code", code=BEFORE)
                done = client.call("run_code", code=CHANGE, dry_run=True)
                self.assertEqual(done["structuredContent"]["dry_run"]["kept"], kept, answer)
                self.assertEqual(done["structuredContent"]["stdout"], "tried\n")
                self.assertEqual(value_of(client.call("run_code", code=STATE)), after)
            self.assertEqual(len(asked), 1)
            self.assertIn("modified file report", asked[0]["message"])
            self.assertEqual(list(asked[0]["requestedSchema"]["properties"]), ["keep"])

    def test_who_closes_the_form_decides_later(self):
        with Client(capabilities={"elicitation": {}}, respond=lambda _: {"action": "cancel"}) as client:
            client.call("run_code", code=BEFORE)
            waits = client.call("run_code", code=CHANGE, dry_run=True)["structuredContent"]["dry_run"]
            self.assertIn("expires", waits)
            self.assertFalse(client.call("finish_dry_run", keep=True, dry_run=waits["id"]).get("isError"))
            self.assertEqual(value_of(client.call("run_code", code=STATE)), NEW)

    def test_without_sessions_the_response_asks(self):
        with Client(version=STATELESS, capabilities={"elicitation": {}}) as client:
            client.call("run_code", code=BEFORE)
            arguments = {"code": CHANGE, "dry_run": True}
            asked = client.call("run_code", **arguments)
            self.assertEqual(asked["resultType"], "input_required")
            self.assertIn("changed variable price",
                          asked["inputRequests"]["dry_run"]["params"]["message"])
            done = client.request("tools/call", {
                "name": "run_code", "arguments": arguments, "requestState": asked["requestState"],
                "inputResponses": {"dry_run": {"action": "accept", "content": {"keep": True}}}})["result"]
            self.assertTrue(done["structuredContent"]["dry_run"]["kept"])
            self.assertEqual(value_of(client.call("run_code", code=STATE)), NEW)


if __name__ == "__main__":
    unittest.main()
