# SPDX-License-Identifier: Apache-2.0
"""A walk over every operation that the daemon describes, of its own interface and of E2B's: nobody
gets in without a key, a key does what its scope says, and what is another tenant's is told apart
from what does not exist neither by the answer nor by its time."""

import statistics
import time
import unittest

from harness import chance_of
from described import operations
from test_tenants import BODIES, SCOPES, add_key
from victims import Victim

# Of E2B's control interface: what an id or a key leads to.
E2B = (
    ("GET", "/sandboxes/{id}", None),
    ("DELETE", "/sandboxes/{id}", None),
    ("POST", "/sandboxes/{id}/connect", {"timeout": 60}),
    ("POST", "/sandboxes/{id}/resume", {"timeout": 60}),
    ("POST", "/sandboxes/{id}/timeout", {"timeout": 60}),
    ("POST", "/sandboxes/{id}/refreshes", {"duration": 60}),
    ("POST", "/sandboxes/{id}/pause", None),
    ("POST", "/sandboxes/{id}/fork", {}),
    ("POST", "/sandboxes/{id}/snapshots", {}),
    ("PUT", "/sandboxes/{id}/network", {}),
    ("GET", "/sandboxes/{id}/metrics", None),
    ("GET", "/sandboxes/{id}/logs", None),
    ("GET", "/v2/sandboxes/{id}/logs", None),
    ("DELETE", "/templates/{name}", None),
    ("GET", "/templates/aliases/{name}", None),
    ("GET", "/sandboxes", None),
    ("GET", "/v2/sandboxes", None),
    ("POST", "/sandboxes", {"templateID": "base"}),
    ("GET", "/templates", None),
    ("GET", "/snapshots", None),
    ("GET", "/sandboxes/metrics?sandbox_ids={id}", None),
)
# Of what a sandbox made there serves itself.
TRAFFIC = (
    (49983, "GET", "/files?path=/home/user/secret", None),
    (49983, "GET", "/envs", None),
    (49983, "GET", "/metrics", None),
    (49983, "POST", "/filesystem.Filesystem/ListDir", {"path": "/home/user"}),
    (49983, "POST", "/process.Process/List", {}),
    (49999, "POST", "/execute", {"code": "open('secret').read()"}),
    (49999, "GET", "/contexts", None),
)
SAMPLES = 60


class Tenancy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.victim = Victim()
        cls.addClassCleanup(cls.victim.daemon.discard)
        daemon = cls.daemon = cls.victim.daemon
        cls.template = cls.victim.sandbox.must(201, "POST", "/snapshot", {"name": "mine"})
        cls.traffic = daemon.must(201, "POST", "/sandboxes", {"templateID": "base", "secure": True})
        daemon.kill()
        cls.other = add_key(daemon, "other", SCOPES)
        cls.by_scope = {one: add_key(daemon, "default", (one,)) for one in SCOPES}
        daemon.start()
        description = daemon.must(200, "GET", "/openapi.json", key=None)
        cls.operations = [one for one in operations(description) if not one.is_open]
        # Both are there before anything is measured.
        cls.others = daemon.must(
            201, "POST", "/sandboxes", {"templateID": "base", "secure": True}, key=cls.other
        )

    def known(self, operation=None):
        return {**self.victim.known, "name": "mine"}

    def path(self, operation, **changed):
        """With something that is there for each parameter; of one that we do not know, a name."""
        values = {name: "mine" for name in operation.in_path} | self.known() | changed
        return operation.pattern.format(**values)

    def ask(self, operation, key, path=None):
        path = path or self.path(operation)
        return self.daemon.ask(operation.method, path, BODIES.get(operation.name), key=key)

    def test_no_operation_answers_without_a_key_or_with_a_wrong_one(self):
        chance = chance_of("keys")
        wrong = ["e2b_" + chance.randbytes(32).hex(), self.daemon.key[:-1] + "x", "", "x" * 4_000]
        for operation in self.operations:
            for key in (None, *wrong):
                answer = self.ask(operation, key)
                self.assertIn(answer.status, (401, 403), f"{operation.name} with {key!r}: {answer}")
        for method, pattern, body in E2B:
            for key in (None, *wrong):
                answer = self.daemon.ask(method, pattern.format(**self.known()), body, key=key)
                self.assertEqual(answer.status, 401, f"{method} {pattern} with {key!r}: {answer}")
        self.assertEqual(self.victim.sandbox.read("secret"), b"content")

    def test_a_key_of_another_scope_is_refused_by_each_operation(self):
        for operation in self.operations:
            for scope, key in self.by_scope.items():
                if scope != operation.scope:
                    answer = self.ask(operation, key)
                    self.assertEqual(
                        answer.status, 403, f"{operation.name} with {scope} alone: {answer}"
                    )
        self.assertEqual(self.victim.sandbox.read("secret"), b"content")

    def test_what_is_another_tenants_is_as_what_does_not_exist(self):
        real = self.known()
        fake = {"id": real["id"][::-1], "name": "enim"}
        for operation in self.operations:
            if not set(operation.in_path) & set(fake):
                continue
            paths = (self.path(operation), self.path(operation, **fake))
            asked = [self.ask(operation, self.other, path) for path in paths]
            self.assert_alike(operation.name, asked, real, fake)
        for method, pattern, body in E2B:
            if "{" not in pattern:
                continue
            asked = [
                self.daemon.ask(method, pattern.format(**ids), body, key=self.other)
                for ids in (real, {**real, **fake})
            ]
            self.assert_alike(pattern, asked, real, fake)
        self.assertEqual(self.victim.sandbox.read("secret"), b"content")

    def assert_alike(self, name, asked, real, fake):
        bodies = [one.body.decode() for one in asked]
        for old, new in ((real["id"], fake["id"]), ("mine", fake["name"])):
            bodies[0] = bodies[0].replace(old, new)
        self.assertEqual(asked[0].status, asked[1].status, f"{name}: {asked[0]}")
        self.assertEqual(bodies[0], bodies[1], f"{name} tells that there is something")
        self.assertNotIn(asked[0].status, (500, 403), f"{name}: {asked[0]}")

    def test_lists_show_nothing_of_another_tenant(self):
        for operation in self.operations:
            if "{" in operation.pattern or operation.method != "GET":
                continue
            answer = self.ask(operation, self.other)
            for ours in (self.victim.sandbox.id, self.traffic["sandboxID"], '"mine"'):
                self.assertNotIn(ours.encode(), answer.body, operation.name)
        for path in ("/sandboxes", "/v2/sandboxes", "/templates", "/snapshots"):
            body = self.daemon.must(200, "GET", path, key=self.other)
            for ours in (self.victim.sandbox.id, self.traffic["sandboxID"], "mine"):
                self.assertNotIn(ours, str(body), path)

    def test_the_time_of_an_answer_does_not_tell_either(self):
        real, fake = self.victim.sandbox.path, self.victim.sandbox.path[:-4] + "zzzz"
        times = {real: [], fake: []}
        # Alternating, so that both have the machine's same mood.
        for _ in range(SAMPLES):
            for path, taken in times.items():
                begun = time.perf_counter()
                self.assertEqual(self.daemon.ask("GET", path, key=self.other).status, 404)
                taken.append(time.perf_counter() - begun)
        a, b = (statistics.median(taken) for taken in times.values())
        spread = statistics.quantiles(times[fake], n=4)
        noise = max(spread[2] - spread[0], 200e-6)
        self.assertLess(abs(a - b), 3 * noise, f"{a * 1e6:.0f} and {b * 1e6:.0f} us")

    def watch(self, sandbox):
        headers = {"E2b-Sandbox-Id": sandbox["sandboxID"], "E2b-Sandbox-Port": "49983",
                   "X-Access-Token": sandbox["envdAccessToken"]}
        path = "/filesystem.Filesystem/CreateWatcher"
        return self.daemon.ask("POST", path, {"path": "/home/user"}, headers, key=None)

    def test_the_watchers_of_one_tenant_leave_room_for_another_ones(self):
        greedy = [
            self.daemon.must(201, "POST", "/sandboxes", {"templateID": "base", "secure": True})
            for _ in range(5)
        ]
        taken = 0
        for sandbox in greedy:
            for _ in range(17):
                answer = self.watch(sandbox)
                if answer.status != 200:
                    break
                taken += 1
            self.assertEqual(answer.status, 429, str(answer))
        self.assertEqual(taken, 64)
        self.assertEqual(self.watch(self.others).status, 200)
        for sandbox in greedy:
            self.daemon.must(204, "DELETE", "/sandboxes/" + sandbox["sandboxID"])

    def test_tokens_and_signatures_of_one_sandbox_open_no_other(self):
        mine, theirs = self.traffic, self.others
        token = mine["envdAccessToken"]
        self.assertTrue(token and theirs["envdAccessToken"])
        nearly = token[:-1] + ("1" if token.endswith("0") else "0")
        for port, method, path, body in TRAFFIC:
            for token in (None, "", theirs["envdAccessToken"], nearly):
                headers = {"E2b-Sandbox-Id": mine["sandboxID"], "E2b-Sandbox-Port": str(port)}
                if token is not None:
                    headers["X-Access-Token"] = token
                for key in (None, self.other):
                    answer = self.daemon.ask(method, path, body, headers, key=key)
                    self.assertIn(answer.status, (401, 403, 502), f"{path} with {token}: {answer}")
                    self.assertNotIn(b"content", answer.body)
        for signature in ("v1_" + "A" * 43, "v1_", "", "x" * 5_000):
            path = f"/files?path=secret&signature={signature}"
            for headers in ({}, {"E2b-Sandbox-Id": mine["sandboxID"], "E2b-Sandbox-Port": "49983"}):
                answer = self.daemon.ask("GET", path, None, headers, key=None)
                self.assertIn(answer.status, (400, 401, 403, 404, 502), str(answer))


if __name__ == "__main__":
    unittest.main()
