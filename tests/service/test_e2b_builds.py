# SPDX-License-Identifier: Apache-2.0
"""Builds of templates over E2B's protocol, of which a client hears also from the next daemon."""

import unittest

import images
from daemon import Daemon, wait_until


class BuildsOutliveTheDaemon(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon().start()
        self.addCleanup(self.daemon.discard)

    def begin(self, name):
        return self.daemon.must(202, "POST", "/v3/templates", {"name": name})["buildID"]

    def start(self, name, id, command, status=202):
        steps = [{"type": "RUN", "args": [command]}]
        return self.daemon.ask("POST", f"/v2/templates/{name}/builds/{id}",
                               {"fromImage": "e2bdev/base", "steps": steps})

    def state(self, name, id):
        # As the SDK asks that has read some lines already.
        return self.daemon.must(200, "GET", f"/templates/{name}/builds/{id}/status?logsOffset=1")

    def test_what_was_under_way_has_failed_and_what_was_done_is_ready(self):
        done, failed, left, waiting = (self.begin(n) for n in ("done", "failed", "left", "waiting"))
        for name, id, command in (("done", done, "true"), ("failed", failed, "exit 3")):
            self.assertEqual(self.start(name, id, command).status, 202)
            wait_until(lambda: self.state(name, id)["status"] in ("ready", "error"), "its end")
        self.assertEqual(self.start("left", left, "echo began; sleep 600").status, 202)
        wait_until(lambda: any("began" in line["message"]
                               for line in self.state("left", left)["logEntries"]), "its begin")
        before = self.state("failed", failed)["reason"]
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(self.state("done", done)["status"], "ready")
        self.daemon.create(template="done", tier="native").kill()
        self.assertEqual(self.state("failed", failed)["reason"], before)
        for name, id in (("left", left), ("waiting", waiting)):
            answer = self.state(name, id)
            self.assertEqual((answer["status"], answer["logEntries"]), ("error", []))
            self.assertIn("the daemon stopped", answer["reason"]["message"])
            self.assertEqual(self.daemon.ask("GET", f"/v1/templates/{name}").status, 404)
            again = self.start(name, id, "true")
            self.assertEqual(again.status, 409)
            self.assertIn("build it again", again.json["message"])
        # And it can be.
        id = self.begin("left")
        self.assertEqual(self.start("left", id, "true").status, 202)
        wait_until(lambda: self.state("left", id)["status"] == "ready", "the second try")

    def test_a_file_that_was_sent_ahead_is_copied_by_a_build_of_the_next_daemon(self):
        files = images.tar_of([("a.txt", b"sent ahead\n")])
        path = f"/templates/copied/files/{'ab' * 32}"
        self.assertFalse(self.daemon.must(201, "GET", path)["present"])
        self.daemon.must(200, "PUT", path, files)
        id = self.begin("copied")
        self.daemon.kill()
        self.daemon.start()
        self.assertTrue(self.daemon.must(201, "GET", path)["present"])
        id = self.begin("copied")
        steps = [{"type": "COPY", "args": ["a.txt", "a.txt", "", ""], "filesHash": "ab" * 32}]
        self.daemon.must(202, "POST", f"/v2/templates/copied/builds/{id}",
                         {"fromImage": "e2bdev/base", "steps": steps})
        wait_until(lambda: self.state("copied", id)["status"] in ("ready", "error"), "its end")
        self.assertEqual(self.state("copied", id)["status"], "ready", self.state("copied", id))
        sandbox = self.daemon.create(template="copied", tier="native")
        self.addCleanup(self.daemon.ask, "DELETE", sandbox.path)
        shown = sandbox.must(200, "POST", "/commands", {"argv": ["cat", "a.txt"]})
        self.assertEqual(shown["stdout"], "sent ahead\n")

    def test_it_is_another_ones_no_more_than_before(self):
        id = self.begin("mine")
        self.daemon.must(201, "POST", "/v1/tenants", {"name": "other"})
        key = self.daemon.must(201, "POST", "/v1/keys", {"tenant": "other",
                                                        "scopes": ["run", "read"]})["key"]
        path = f"/templates/mine/builds/{id}/status"
        for _ in range(2):
            self.assertEqual(self.daemon.ask("GET", path, key=key).status, 404)
            self.assertEqual(self.daemon.ask("GET", path.replace("mine", "yours")).status, 404)
            self.assertEqual(self.daemon.ask("GET", path).status, 200)
            self.daemon.kill()
            self.daemon.start()


if __name__ == "__main__":
    unittest.main()
