# SPDX-License-Identifier: Apache-2.0
"""Nobody without a key gets anything, and nobody gets what belongs to another tenant.

Tenants are made in the daemon's database, as the daemon would: no command and no route makes one.
"""

import contextlib
import hashlib
import http.client
import json
import secrets
import socket
import sqlite3
import time
import unittest

from daemon import Daemon

SCOPES = ("run", "read", "admin", "approve")
METHODS = {"get", "head", "post", "put", "patch", "delete", "options"}
# What else stands in paths.
OTHER_NAMES = {"name": "nobody", "volume": "nobody", "tenant": "nobody", "key": "0123456789abcdef",
               "call": "1", "dry": "none"}
# What each operation with a body needs before it looks for anything.
BODIES = {
    "run": {"language": "python", "code": "1"},
    "execute": {"code": "1"},
    "replyInput": {"value": "forged"},
    "replyTool": {"result": "forged"},
    "completeCode": {"code": "secr", "cursor": 4},
    "inspectCode": {"code": "secret", "cursor": 6},
    "rollbackContext": {"checkpoint": 0},
    "forkContext": {"checkpoint": 0},
    "startProcess": {"argv": ["true"]},
    "runCommand": {"argv": ["true"]},
    "signalProcess": {"signal": "SIGINT"},
    "resizeProcess": {"columns": 80, "rows": 24},
    "createPortToken": {"port": 8000},
    "changeFiles": {"action": "make_directory", "path": "d"},
    "changeVolumeFiles": {"action": "make_directory", "path": "d"},
    "decideApproval": {"decision": "allow", "hash": "forged"},
    "answerReview": {"ok": True},
    "changeSandbox": {"metadata": {"taken": "over"}},
}


def add_key(daemon, tenant, scopes, expires=None, revoked=None):
    """A key in the database of a daemon that does not run."""
    key = "e2b_" + secrets.token_hex(32)
    now = time.time_ns()
    database = sqlite3.connect(daemon.data / "glovebox.db")
    with contextlib.closing(database), database:
        database.execute(
            "INSERT OR IGNORE INTO tenants (name, created) VALUES (?, ?)", (tenant, now)
        )
        database.execute(
            "INSERT INTO api_keys VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                key[4:20],
                tenant,
                hashlib.sha256(key.encode()).digest(),
                json.dumps(scopes),
                key[-4:],
                now,
                expires,
                revoked,
            ),
        )
    return key


class Tenants(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        cls.daemon.start()
        cls.mine = cls.daemon.create(metadata={"secret": "of default"})
        cls.context = cls.mine.context()
        cls.context.execute("secret = 'of default'")
        cls.context.must(201, "POST", "/checkpoint")
        cls.mine.write("secret", b"of default")
        cls.pid = cls.mine.must(
            201, "POST", "/processes", {"argv": ["cat"], "stdin": True}
        )["pid"]
        cls.template = cls.mine.must(201, "POST", "/snapshot", {"name": "mine"})["template"]
        cls.daemon.kill()
        hour = 3600 * 10**9
        cls.other = add_key(cls.daemon, "other", SCOPES)
        cls.expired = add_key(cls.daemon, "default", SCOPES, expires=time.time_ns() - hour)
        cls.revoked = add_key(cls.daemon, "default", SCOPES, revoked=time.time_ns() - hour)
        cls.readers = add_key(cls.daemon, "default", ("read",))
        cls.runners = add_key(cls.daemon, "default", ("run",))
        cls.daemon.start()
        cls.operations = list(cls.described())

    @classmethod
    def described(cls):
        """(id, method, path with our own ids, scope, body) of each operation that needs a key."""
        description = cls.daemon.must(200, "GET", "/openapi.json", key=None)
        for pattern, item in description["paths"].items():
            path = pattern.format(
                id=cls.mine.id, cid=cls.context.id, pid=cls.pid, port=8000, path="secret",
                **OTHER_NAMES,
            )
            for method in METHODS & set(item):
                operation = item[method]
                if operation.get("security") != []:
                    scope = operation["summary"].rsplit("Scope ", 1)[1].rstrip(".")
                    name = operation["operationId"]
                    yield name, method.upper(), path, scope, BODIES.get(name)

    def test_the_description_names_every_kind_of_operation(self):
        self.assertGreater(len(self.operations), 45)
        self.assertEqual({scope for *_, scope, _ in self.operations}, set(SCOPES))

    def test_no_operation_answers_without_a_key_that_is_valid(self):
        almost = self.daemon.key[:-1] + ("0" if self.daemon.key[-1] != "0" else "1")
        bad = {
            "none": {},
            "empty": {"X-API-KEY": ""},
            "almost": {"X-API-KEY": almost},
            "cut": {"X-API-KEY": self.daemon.key[:-1]},
            "longer": {"X-API-KEY": self.daemon.key + "0"},
            "garbage": {"Authorization": "Bearer \xff\xfe'; DROP TABLE tenants; --"},
            "basic": {"Authorization": "Basic " + self.daemon.key},
            "large": {"X-API-KEY": "e2b_" + "a" * 5000},
            "expired": {"X-API-KEY": self.expired},
            "revoked": {"X-API-KEY": self.revoked},
            "query": {},
        }
        for name, method, path, _, body in self.operations:
            for what, headers in bad.items():
                target = path + "?api_key=" + self.daemon.key if what == "query" else path
                answer = self.daemon.ask(method, target, body, headers, key=None)
                if answer.status not in (401, 403):
                    self.fail(f"{name} with {what}: {answer}")
                self.assertNotIn(b"of default", answer.body)
        self.assertEqual(self.mine.info()["metadata"], {"secret": "of default"})

    def test_websockets_need_a_key_before_the_handshake(self):
        for path in (self.context.path + "/execute", f"{self.mine.path}/processes/{self.pid}"):
            connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=60)
            connection.request(
                "GET",
                path,
                headers={
                    "Connection": "Upgrade",
                    "Upgrade": "websocket",
                    "Sec-WebSocket-Version": "13",
                    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
                },
            )
            self.assertIn(connection.getresponse().status, (401, 403))
            connection.close()

    def test_a_key_does_only_what_its_scopes_allow(self):
        for key, has in ((self.readers, "read"), (self.runners, "run")):
            for name, method, path, scope, body in self.operations:
                if scope != has:
                    answer = self.daemon.ask(method, path, body, key=key)
                    self.assertEqual(answer.status, 403, f"{name} with {has}: {answer}")
        self.assertEqual(self.mine.info()["metadata"], {"secret": "of default"})

    def test_ids_of_another_tenant_do_not_exist(self):
        for name, method, path, _, body in self.operations:
            if self.mine.id not in path:
                continue
            answer = self.daemon.ask(method, path, body, key=self.other)
            if name == "installPackages":
                self.assertIn(answer.status, (404, 501))
            else:
                self.assertEqual(answer.status, 404, f"{name}: {answer}")
            self.assertNotIn(b"of default", answer.body)
            if method != "HEAD":
                nobody = path.replace(self.mine.id, self.mine.id[::-1])
                unknown = self.daemon.ask(method, nobody, body, key=self.other)
                self.assertEqual(
                    answer.body.replace(self.mine.id.encode(), b""),
                    unknown.body.replace(self.mine.id[::-1].encode(), b""),
                    f"{name} tells that there is something",
                )
        self.assertEqual(self.context.value("secret"), "of default")
        self.assertEqual(self.mine.read("secret"), b"of default")
        self.assertEqual(self.mine.info()["metadata"], {"secret": "of default"})

    def test_lists_and_templates_hold_nothing_of_another_tenant(self):
        listed = self.daemon.must(200, "GET", "/v1/sandboxes", key=self.other)
        self.assertEqual(listed["sandboxes"], [])
        templates = self.daemon.must(200, "GET", "/v1/templates", key=self.other)["templates"]
        self.assertNotIn(self.template, [one["name"] for one in templates])
        self.daemon.must(404, "POST", "/v1/sandboxes", {"template": self.template}, key=self.other)

    def test_an_idempotency_key_of_another_tenant_means_nothing(self):
        how = {"headers": {"Idempotency-Key": "shared"}}
        ids = []
        for key in (self.daemon.key, self.other):
            made = self.daemon.must(201, "POST", "/v1/sandboxes", {}, key=key, **how)
            ids.append(made["id"])
            self.daemon.must(200, "GET", "/v1/sandboxes/" + made["id"], key=key)
        self.assertNotEqual(*ids)
        for id, key in zip(ids, (self.daemon.key, self.other)):
            self.daemon.must(204, "DELETE", "/v1/sandboxes/" + id, key=key)

    def test_the_unix_socket_needs_no_key(self):
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(self.daemon.unix))
            connection = http.client.HTTPConnection("localhost")
            connection.sock = peer
            connection.request("GET", self.mine.path)
            answer = connection.getresponse()
            self.assertEqual(answer.status, 200)
            self.assertEqual(json.loads(answer.read())["id"], self.mine.id)


if __name__ == "__main__":
    unittest.main()
