#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What E2B's door keeps with a sandbox: default contexts and settings, changed by several clients
at once and used when the contexts are gone."""

import concurrent.futures
import json
import unittest

from daemon import Daemon

ROUNDS = 6


class Contexts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.discard)

    def opened(self):
        made = self.daemon.must(201, "POST", "/v2/sandboxes", {"templateID": "base", "timeout": 600})
        id = made["sandboxID"]
        self.addCleanup(self.daemon.ask, "DELETE", "/v1/sandboxes/" + id)
        self.traffic = {"E2b-Sandbox-Id": id, "E2b-Sandbox-Port": "49999",
                        "X-Access-Token": made["envdAccessToken"]}
        return id

    def ask(self, method, path, body=None):
        return self.daemon.ask(method, path, body, self.traffic, key=None)

    def execute(self, code, **where):
        answer = self.ask("POST", "/execute", {"code": code, **where})
        self.assertEqual(answer.status, 200, answer)
        lines = [json.loads(line) for line in answer.body.splitlines()]
        self.assertEqual([line for line in lines if line["type"] == "error"], [])
        return "".join(line["text"] for line in lines if line["type"] == "stdout")

    def set_internet(self, id, allowed):
        answer = self.daemon.ask("PUT", f"/sandboxes/{id}/network",
                                 {"allow_internet_access": allowed})
        self.assertEqual(answer.status, 204, answer)

    def internet(self, id):
        return self.daemon.must(200, "GET", "/sandboxes/" + id)["allowInternetAccess"]

    def made(self, id):
        return self.daemon.must(200, "GET", f"/v1/sandboxes/{id}/contexts")["contexts"]

    def test_settings_that_are_changed_while_a_context_starts_are_kept(self):
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            for round in range(ROUNDS):
                id = self.opened()
                self.set_internet(id, True)
                # It reads what is kept with the sandbox, and writes it when the context is there.
                running = pool.submit(self.execute, "1", language="javascript")
                self.set_internet(id, False)
                while not self.made(id) and not running.done():
                    self.set_internet(id, False)
                running.result()
                self.assertIs(self.internet(id), False)

    def test_each_of_many_clients_that_change_settings_at_once_has_changed_them(self):
        id = self.opened()
        languages = ["python", "javascript", "bash"]
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            running = [pool.submit(self.execute, "", language=each) for each in languages]
            running += [pool.submit(self.set_internet, id, each % 2 == 0) for each in range(20)]
            for each in running:
                each.result()
        self.set_internet(id, False)
        self.assertIs(self.internet(id), False)
        self.assertEqual({each["language"] for each in self.made(id)}, set(languages))
        # What was made is what is used: nothing that one wrote has been lost to another.
        for language in languages:
            self.execute("", language=language)
        self.assertEqual(len(self.made(id)), len(languages))

    def test_a_default_context_that_is_gone_is_made_again_and_only_once(self):
        id = self.opened()
        self.assertEqual(self.execute("x = 1; print(x)"), "1\n")
        (first,) = self.made(id)
        self.daemon.must(204, "DELETE", f"/v1/sandboxes/{id}/contexts/{first['id']}")
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            said = list(pool.map(lambda _: self.execute("print('x' in globals())"), range(4)))
        self.assertEqual(said, ["False\n"] * 4)
        (second,) = self.made(id)
        self.assertNotEqual(first["id"], second["id"])
        # Clients know it by the name that it has always had.
        known = self.ask("GET", "/contexts").json[0]["id"]
        self.assertEqual(self.execute("print('x' in globals())", contextId=known), "False\n")

    def test_a_context_that_never_was_is_not_found(self):
        self.opened()
        answer = self.ask("POST", "/execute", {"code": "1", "contextId": "nobody"})
        self.assertEqual((answer.status, answer.body), (404, b"Context nobody not found"))


if __name__ == "__main__":
    unittest.main()
