# SPDX-License-Identifier: Apache-2.0
"""Emergency stops: what they end, what they refuse, for whom, and until when."""

import signal
import unittest

from daemon import Daemon, wait_until
from test_tenants import add_key
from traces import named


class EmergencyStop(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.discard)
        self.daemon.start()
        self.daemon.kill()
        self.other = add_key(self.daemon, "other", ["run", "read"])
        self.daemon.start()

    def stop(self, **scope):
        return self.daemon.must(200, "POST", "/v1/emergency-stop", scope or None)["stopped"]

    def resume(self, query="", status=204):
        self.daemon.must(status, "DELETE", "/v1/emergency-stop" + query)

    def refused(self, method, path, body=None, **how):
        answer = self.daemon.ask(method, path, body, **how)
        self.assertEqual(answer.status, 403, answer)
        self.assertIn("emergency stop", answer.json["message"])
        return answer.json["message"]

    def test_all_new_work_is_refused_with_who_and_when_until_it_is_lifted(self):
        sandbox = self.daemon.create()
        one_shot = self.daemon.stream(
            "POST", "/v1/run", {"language": "bash", "code": "echo up; sleep 600"}
        )
        one_shot.until("stdout")
        self.assertEqual(self.stop(), 1)
        self.assertTrue(sandbox.is_gone())
        wait_until(lambda: not named(self.daemon.keeper(), "sleep"), "the end of the run")
        message = self.refused("POST", "/v1/sandboxes", {})
        self.assertRegex(message, r"by key [0-9a-f]+ of tenant default, at \d{4}-")
        self.refused("POST", "/v1/run", {"language": "bash", "code": "true"})
        self.refused("POST", "/v1/sandboxes", {}, key=self.other)
        with self.subTest("it can still be looked at"):
            self.daemon.must(200, "GET", "/v1/sandboxes")
        with self.subTest("it survives a restart"):
            self.daemon.kill()
            self.daemon.start()
            self.refused("POST", "/v1/sandboxes", {})
        stops = self.daemon.must(200, "GET", "/v1/emergency-stop")["stops"]
        self.assertEqual([each["scope"] for each in stops], ["all"])
        self.resume()
        self.daemon.create()
        self.resume(status=404)

    def test_a_tenants_stop_leaves_the_others_alone(self):
        mine = self.daemon.create()
        theirs = self.daemon.must(201, "POST", "/v1/sandboxes", {}, key=self.other)
        self.assertEqual(self.stop(tenant="other"), 1)
        self.assertEqual(
            self.daemon.ask("GET", "/v1/sandboxes/" + theirs["id"], key=self.other).status, 410
        )
        self.refused("POST", "/v1/sandboxes", {}, key=self.other)
        self.assertEqual(mine.context().value("6 * 7"), "42")
        self.resume("?tenant=other")
        self.daemon.must(201, "POST", "/v1/sandboxes", {}, key=self.other)
        self.daemon.must(404, "POST", "/v1/emergency-stop", {"tenant": "nobody"})
        self.daemon.must(404, "POST", "/v1/emergency-stop", {"sandbox": "nothing"})
        self.daemon.must(400, "POST", "/v1/emergency-stop", {"sandbox": "a", "tenant": "b"})

    def test_a_sandbox_on_disk_keeps_its_files_as_evidence(self):
        answer = self.daemon.ask("POST", "/v1/sandboxes", {"storage": "disk"}, key=self.other)
        if answer.status == 501:
            self.skipTest("this machine attaches no disk images")
        self.assertEqual(answer.status, 201, answer)
        path = "/v1/sandboxes/" + answer.json["id"]
        self.daemon.must(200, "PUT", path + "/files/evidence", b"what it did", key=self.other)
        self.assertEqual(self.stop(sandbox=answer.json["id"]), 1)
        self.assertEqual(
            self.daemon.must(200, "GET", path, key=self.other)["state"], "paused"
        )
        self.refused("POST", path + "/resume", key=self.other)
        self.refused("DELETE", path, key=self.other)
        self.daemon.must(201, "POST", "/v1/sandboxes", {}, key=self.other)
        self.resume("?sandbox=" + answer.json["id"])
        self.daemon.must(200, "POST", path + "/resume", key=self.other)
        found = self.daemon.must(200, "GET", path + "/files/evidence", key=self.other)
        self.assertEqual(found.body, b"what it did")

    def test_both_are_recorded(self):
        self.stop(tenant="other")
        self.resume("?tenant=other")
        told = self.daemon.must(200, "GET", "/v1/audit?action=emergency_stop")["records"]
        self.assertEqual(
            [(each["action"], each["subject"]) for each in told],
            [("emergency_stop.stop", "other"), ("emergency_stop.resume", "other")],
        )

    def test_a_signal_stops_everything_and_says_so_until_it_is_lifted(self):
        sandbox = self.daemon.create()
        theirs = self.daemon.must(201, "POST", "/v1/sandboxes", {}, key=self.other)
        one_shot = self.daemon.stream(
            "POST", "/v1/run", {"language": "bash", "code": "echo up; sleep 600"}
        )
        one_shot.until("stdout")
        self.daemon.process.send_signal(signal.SIGUSR1)
        wait_until(sandbox.is_gone, "the stop")
        wait_until(lambda: not named(self.daemon.keeper(), "sleep"), "the end of the run")
        path = "/v1/sandboxes/" + theirs["id"]
        self.assertEqual(self.daemon.ask("GET", path, key=self.other).status, 410)
        self.assertRegex(self.refused("POST", "/v1/sandboxes", {}), r"by the operator.*at \d{4}-")
        self.refused("POST", "/v1/sandboxes", {}, key=self.other)
        (told,) = self.daemon.must(200, "GET", "/v1/audit?action=emergency_stop")["records"]
        self.assertEqual((told["door"], told["details"]["scope"]), ("signal", "all"))
        with self.subTest("a second one changes nothing"):
            self.daemon.process.send_signal(signal.SIGUSR1)
            wait_until(
                lambda: len(
                    self.daemon.must(200, "GET", "/v1/audit?action=emergency_stop")["records"]
                ) == 2,
                "the second record",
            )
            self.refused("POST", "/v1/sandboxes", {})
        self.resume()
        self.daemon.create()

    def test_only_an_administrator_may(self):
        for method in ("GET", "POST", "DELETE"):
            self.daemon.must(403, method, "/v1/emergency-stop", key=self.other)


if __name__ == "__main__":
    unittest.main()
