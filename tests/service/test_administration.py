# SPDX-License-Identifier: Apache-2.0
"""Tenants, quotas and keys over REST: who may rule, and that what they say holds at once."""

import unittest

from daemon import Case, wait_until


class Administration(Case):
    def tenant(self, name, **quotas):
        self.daemon.must(201, "POST", "/v1/tenants", {"name": name, "quotas": quotas})
        self.addCleanup(self.daemon.ask, "DELETE", f"/v1/tenants/{name}")

    def key(self, **wishes):
        made = self.daemon.must(201, "POST", "/v1/keys", {"scopes": ["run", "read"], **wishes})
        self.addCleanup(self.daemon.ask, "DELETE", f"/v1/keys/{made['id']}")
        return made

    def status(self, key, path="/v1/sandboxes"):
        return self.daemon.ask("GET", path, key=key).status

    def sandbox_of(self, key):
        answer = self.daemon.ask("POST", "/v1/sandboxes", {}, key=key)
        if answer.status == 201:
            path = "/v1/sandboxes/" + answer.json["id"]
            self.addCleanup(self.daemon.ask, "DELETE", path, key=key)
        return answer

    def test_a_scoped_key_cannot_administer(self):
        self.tenant("ruled")
        target = self.key()
        for scopes in (["read"], ["run"], ["read", "run"]):
            key = self.key(scopes=scopes)["key"]
            for method, path, body in (
                ("GET", "/v1/tenants", None),
                ("POST", "/v1/tenants", {"name": "mine"}),
                ("GET", "/v1/tenants/ruled", None),
                ("PATCH", "/v1/tenants/ruled", {"quotas": {}}),
                ("DELETE", "/v1/tenants/ruled", None),
                ("GET", "/v1/keys", None),
                ("POST", "/v1/keys", {"scopes": ["admin"]}),
                ("POST", f"/v1/keys/{target['id']}/rotate", None),
                ("DELETE", f"/v1/keys/{target['id']}", None),
            ):
                answer = self.daemon.ask(method, path, body, key=key)
                self.assertEqual(answer.status, 403, (method, path, str(answer)))
        self.assertEqual(self.status(target["key"]), 200)

    def test_a_key_is_told_once_and_listed_without_its_secret(self):
        made = self.key(scopes=["read"], expires_in="1h")
        self.assertEqual(self.status(made["key"]), 200)
        answer = self.daemon.ask("GET", "/v1/keys")
        self.assertNotIn(made["key"][20:60].encode(), answer.body)
        (listed,) = [key for key in answer.json["keys"] if key["id"] == made["id"]]
        self.assertEqual((listed["state"], listed["scopes"]), ("valid", ["read"]))
        self.assertTrue(made["key"].endswith(listed["last_four"]))
        self.assertIsNotNone(listed["last_used"])
        self.assertIsNotNone(listed["expires"])
        self.assertNotIn("hash", listed)

    def test_a_revoked_key_and_an_expired_one_are_refused(self):
        revoked = self.key()
        self.assertEqual(self.status(revoked["key"]), 200)
        self.daemon.must(204, "DELETE", f"/v1/keys/{revoked['id']}")
        self.assertEqual(self.status(revoked["key"]), 401)
        expiring = self.key(expires_in="1s")
        wait_until(lambda: self.status(expiring["key"]) == 401, "its end")
        states = {key["id"]: key["state"] for key in self.daemon.must(200, "GET", "/v1/keys")["keys"]}
        self.assertEqual(states[revoked["id"]], "revoked")
        self.assertEqual(states[expiring["id"]], "expired")

    def test_a_rotated_key_works_on_for_the_overlap(self):
        old = self.key()
        new = self.daemon.must(201, "POST", f"/v1/keys/{old['id']}/rotate", {"overlap": "1s"})
        self.addCleanup(self.daemon.ask, "DELETE", f"/v1/keys/{new['id']}")
        self.assertEqual(new["scopes"], old["scopes"])
        self.assertEqual(self.status(new["key"]), 200)
        wait_until(lambda: self.status(old["key"]) == 401, "the end of the old one")
        self.assertEqual(self.status(new["key"]), 200)
        refused = self.daemon.ask("POST", f"/v1/keys/{new['id']}/rotate", {"overlap": "2000h"})
        self.assertEqual(refused.status, 400)

    def test_quotas_that_change_hold_at_once(self):
        self.tenant("bounded", sandboxes=1)
        key = self.key(tenant="bounded")["key"]
        self.assertEqual(self.sandbox_of(key).status, 201)
        refused = self.sandbox_of(key)
        self.assertEqual(refused.status, 429, str(refused))
        self.assertIn("retry-after", refused.headers)
        changed = self.daemon.must(
            200, "PATCH", "/v1/tenants/bounded", {"quotas": {"sandboxes": None}}
        )
        self.assertIsNone(changed["quotas"]["sandboxes"])
        self.assertEqual(changed["used"]["sandboxes"], 1)
        self.assertEqual(self.sandbox_of(key).status, 201)
        self.daemon.must(
            200, "PATCH", "/v1/tenants/bounded", {"quotas": {"requests_per_second": 0, "burst": 1}}
        )
        wait_until(lambda: self.status(key) == 429, "the rate")
        self.daemon.must(
            200, "PATCH", "/v1/tenants/bounded", {"quotas": {"requests_per_second": None}}
        )
        self.assertEqual(self.status(key), 200)

    def test_what_a_change_does_not_name_stays(self):
        self.tenant("partly", memory="2G", cpus=1.5)
        changed = self.daemon.must(200, "PATCH", "/v1/tenants/partly", {"quotas": {"cpus": 3}})
        self.assertEqual((changed["quotas"]["memory"], changed["quotas"]["cpus"]), (2 << 30, 3))

    def test_a_tenant_is_removed_with_its_keys_but_not_with_sandboxes(self):
        self.tenant("leaving")
        key = self.key(tenant="leaving")["key"]
        path = "/v1/sandboxes/" + self.sandbox_of(key).json["id"]
        self.assertEqual(self.daemon.ask("DELETE", "/v1/tenants/leaving").status, 409)
        self.assertEqual(self.daemon.ask("DELETE", path, key=key).status, 204)
        # Its record ends a moment after the sandbox.
        wait_until(
            lambda: self.daemon.ask("DELETE", "/v1/tenants/leaving").status == 204, "its removal"
        )
        self.assertEqual(self.status(key), 401)
        self.assertEqual(self.daemon.ask("GET", "/v1/tenants/leaving").status, 404)
        self.assertEqual(self.daemon.ask("DELETE", "/v1/tenants/default").status, 409)

    def test_wrong_wishes_are_refused(self):
        self.tenant("taken")
        for status, method, path, body in (
            (409, "POST", "/v1/tenants", {"name": "taken"}),
            (400, "POST", "/v1/tenants", {"name": "Not A Name"}),
            (400, "POST", "/v1/tenants", {"name": "x", "quotas": {"sandboxes": -1}}),
            (400, "POST", "/v1/tenants", {"name": "x", "quotas": {"cpu": 1}}),
            (400, "POST", "/v1/keys", {"scopes": []}),
            (400, "POST", "/v1/keys", {"scopes": ["everything"]}),
            (404, "POST", "/v1/keys", {"scopes": ["run"], "tenant": "nobody"}),
            (404, "GET", "/v1/keys?tenant=nobody", None),
            (404, "DELETE", "/v1/keys/0123456789abcdef", None),
            (404, "PATCH", "/v1/tenants/nobody", {"quotas": {}}),
        ):
            answer = self.daemon.ask(method, path, body)
            self.assertEqual(answer.status, status, (method, path, body, str(answer)))

    def test_an_administrator_of_another_tenant_rules_the_daemon_but_sees_no_sandbox(self):
        self.tenant("operators")
        self.create()
        key = self.key(tenant="operators", scopes=["admin", "read"])["key"]
        self.assertEqual(self.status(key, "/v1/tenants"), 200)
        self.assertEqual(self.daemon.ask("GET", "/v1/sandboxes", key=key).json["sandboxes"], [])


if __name__ == "__main__":
    unittest.main()
