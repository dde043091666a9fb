# SPDX-License-Identifier: Apache-2.0
"""What clients and guests can make the daemon store is counted, bounded and forgotten again."""

import json
import pathlib
import sqlite3
import subprocess
import unittest

from daemon import GLOVEBOX, Case, Daemon, wait_until
from tenant import Tenant, files_below

MIB = 1 << 20


class Bytes(Case):
    def tenant(self, name, **quotas):
        tenant = Tenant(self.daemon, name, **quotas)

        def end():
            for sandbox in tenant.must(200, "GET", "/v1/sandboxes")["sandboxes"]:
                tenant.ask("DELETE", "/v1/sandboxes/" + sandbox["id"])

        self.addCleanup(end)
        return tenant

    @property
    def snapshots(self):
        return self.daemon.data / "snapshots"

    def test_a_snapshot_past_the_quota_is_refused_and_leaves_nothing(self):
        tenant = self.tenant("small", disk="80M")
        sandbox = tenant.sandbox(limits={"disk": "64M"})
        tenant.run(sandbox, "head -c 10M /dev/urandom > data")
        used = tenant.disk()
        kept = tenant.must(201, "POST", sandbox + "/snapshot", {"name": "kept"})["template"]
        self.assertGreaterEqual(tenant.disk() - used, 10 * MIB)
        self.assertLess(tenant.disk() - used, 11 * MIB)
        files = files_below(self.snapshots)
        full = tenant.disk()
        for path, body in (("/snapshot", {"name": "more"}), ("/fork", {"count": 1})):
            refused = tenant.ask("POST", sandbox + path, body)
            self.assertEqual(refused.status, 409, str(refused))
            self.assertIn("disk quota", refused.json["message"])
            self.assertIn("remove", refused.json["hint"])
            self.assertEqual(files_below(self.snapshots), files)
            self.assertEqual(tenant.disk(), full)
        self.assertEqual(tenant.ask("GET", "/v1/templates/more").status, 404)
        tenant.must(204, "DELETE", f"/v1/templates/{kept}")
        self.assertEqual(tenant.disk(), used)
        tenant.must(201, "POST", sandbox + "/snapshot", {"name": "more"})
        tenant.must(204, "DELETE", "/v1/templates/more")

    def test_names_of_snapshots_are_names_of_templates(self):
        tenant = self.tenant("named")
        sandbox = tenant.sandbox()
        for name in (".", "..", "/", "x\ny", "../../tmp/x", "a\u202eb", "-x", "x" * 129):
            refused = tenant.ask("POST", sandbox + "/snapshot", {"name": name})
            self.assertEqual(refused.status, 400, (name, str(refused)))
        tenant.must(201, "POST", sandbox + "/snapshot", {"name": "a.b_c-1"})
        tenant.must(204, "DELETE", "/v1/templates/a.b_c-1")

    def test_an_import_is_counted_while_it_comes_in(self):
        # A build's own sandbox takes 1 GiB of the quota.
        tenant = self.tenant("importing", disk="1040M")
        before = tenant.disk()
        refused = tenant.ask("PUT", "/v1/templates/large/archive?format=rootfs",
                             bytes(64 * MIB))
        self.assertEqual(refused.status, 409, str(refused))
        self.assertEqual(tenant.disk(), before)
        none = self.tenant("nothing", disk="100M")
        connection = self.daemon.connect()
        self.addCleanup(connection.close)
        # Refused before the first byte: it is never sent.
        connection.putrequest("PUT", "/v1/templates/large/archive?format=rootfs")
        connection.putheader("X-API-KEY", none.key)
        connection.putheader("Content-Length", str(1 << 30))
        connection.endheaders()
        self.assertEqual(connection.getresponse().status, 429)

    def test_an_image_without_files_is_no_template(self):
        tenant = self.tenant("empty")
        for body in (b"", bytes(10240)):
            answer = tenant.ask("PUT", "/v1/templates/empty/archive?format=rootfs", body)
            last = json.loads(answer.body.splitlines()[-1])
            self.assertEqual((last["type"], last["code"]), ("failed", 400), str(answer))
        self.assertEqual(tenant.ask("GET", "/v1/templates/empty").status, 404)

    def test_uploads_of_one_tenant_take_its_own_disk_and_nobody_elses_places(self):
        greedy = self.tenant("greedy", disk="64M")
        other = self.tenant("modest")
        before = greedy.disk()
        for i in range(300):
            greedy.must(200, "PUT", f"/templates/zz/files/{i:064x}", b"x")
        other.must(200, "PUT", f"/templates/zz/files/{1:064x}", b"x")
        self.assertLessEqual(greedy.disk() - before, 64 * 4096)
        # Its oldest have made room for its newest.
        present = [greedy.must(201, "GET", f"/templates/zz/files/{i:064x}")["present"]
                   for i in (0, 299)]
        self.assertEqual(present, [False, True])
        refused = greedy.ask("PUT", f"/templates/zz/files/{999:064x}", bytes(70 * MIB))
        self.assertEqual(refused.status, 409, str(refused))
        for _ in range(300):
            greedy.must(202, "POST", "/v3/templates", {"name": "zz"})
        other.must(202, "POST", "/v3/templates", {"name": "zz"})

    def test_a_large_answer_is_given_again_with_its_key(self):
        tenant = self.tenant("repeating")
        request = {"code": "print('x' * 900_000); print('\\x01' * 90_000)", "language": "python",
                   "limits": {"output": "4M"}}
        headers = {"Idempotency-Key": "once", "Accept": "application/json"}
        first = tenant.must(200, "POST", "/v1/run", request, headers=headers)
        self.assertEqual(len(first["stdout"]), 990_002)
        again = tenant.must(200, "POST", "/v1/run", request, headers=headers)
        self.assertEqual(again, first)
        self.assertEqual(len(files_below(self.daemon.data / "answers")), 1)
        self.assertGreaterEqual(tenant.disk(), 990_000)
        changed = tenant.ask("POST", "/v1/run", {**request, "code": "1"}, headers=headers)
        self.assertEqual(changed.status, 409)

    def test_an_answer_that_found_no_room_is_said_to_be_lost_and_is_not_done_twice(self):
        tenant = self.tenant("roomless", disk="2M")
        request = {"code": "print('x' * 3_000_000)", "language": "python",
                   "limits": {"output": "4M", "disk": "1M"}}
        headers = {"Idempotency-Key": "once", "Accept": "application/json"}
        self.assertEqual(len(tenant.must(200, "POST", "/v1/run", request, headers=headers)
                             ["stdout"]), 3_000_001)
        again = tenant.ask("POST", "/v1/run", request, headers=headers)
        self.assertEqual(again.status, 409, str(again))
        self.assertIn("completed", again.json["message"])
        self.assertIn("new key", again.json["hint"])

    def test_bodies_with_millions_of_values_are_refused_before_they_are_built(self):
        def memory():
            status = pathlib.Path(f"/proc/{self.daemon.process.pid}/status").read_text()
            return int(status.split("VmHWM:")[1].split()[0])

        pathlib.Path(f"/proc/{self.daemon.process.pid}/clear_refs").write_text("5")
        before = memory()
        bodies = [
            b'{"code":"1","language":"python","arguments":[' + b'"",' * 2_500_000 + b'""]}',
            b'{"code":"1","language":"python","arguments":[' + b"0," * 3_900_000 + b"0]}",
        ]
        for body in bodies:
            for path in ("/v1/run", "/v2/templates/x/builds/y"):
                answer = self.daemon.ask("POST", path, body, {"Content-Type": "application/json"})
                self.assertIn(answer.status, (400, 413, 429), str(answer))
        self.assertLess(memory() - before, 64 * 1024)

    def test_a_field_that_is_there_twice_is_refused(self):
        for path in ("/v1/sandboxes", "/sandboxes"):
            answer = self.daemon.ask("POST", path, b'{"timeout": 60, "timeout": 61}',
                                     {"Content-Type": "application/json"})
            self.assertEqual(answer.status, 400, str(answer))
            self.assertIn("duplicate", answer.json["message"])


class Forgetting(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.discard)

    def is_on_disk(self, text):
        wanted = text.encode()
        return any(wanted in path.read_bytes() for path in self.daemon.data.glob("glovebox.db*"))

    def rows(self):
        database = sqlite3.connect(f"file:{self.daemon.data}/glovebox.db?mode=ro", uri=True)
        try:
            return [json.loads(json.dumps(row)) for row in
                    database.execute("SELECT id, env, extra, ended_at FROM sandboxes")]
        finally:
            database.close()

    def test_what_a_sandbox_was_given_goes_with_it_and_its_record_later(self):
        self.daemon.options = ["--keep-records", "3s"]
        self.daemon.start()
        sandbox = self.daemon.create(env={"API_KEY": "variable-of-a-tenant"})
        wait_until(lambda: [row for row in self.rows() if "variable-of-a-tenant" in row[1]],
                   "its record")
        sandbox.kill()
        wait_until(lambda: all("variable-of-a-tenant" not in row[1] and row[2] == "{}"
                               for row in self.rows()), "its variables' end")
        wait_until(lambda: self.rows() == [], "its record's end")

    def test_secrets_are_encrypted_and_their_key_is_replaced_while_the_daemon_runs(self):
        self.daemon.start()
        value = "the-value-of-a-secret"
        secret = self.daemon.must(201, "POST", "/secrets", {"name": "mine", "value": value})
        self.assertTrue(self.is_on_disk("mine"))
        self.assertFalse(self.is_on_disk(value))
        key = self.daemon.data / "secrets.key"
        self.assertEqual(key.stat().st_mode & 0o777, 0o600)
        before = key.read_text()
        done = subprocess.run([GLOVEBOX, "secret", "rotate-key", "--data", str(self.daemon.data)],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 secrets", done.stdout)
        self.assertNotEqual(key.read_text(), before)
        self.assertEqual(len(key.read_text().splitlines()), 1)
        self.daemon.must(201, "POST", "/secrets", {"name": "later", "value": value})
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon.start()
        self.assertEqual(
            {each["name"] for each in self.daemon.must(200, "GET", "/secrets")}, {"mine", "later"})
        self.assertFalse(self.is_on_disk(value))
        self.assertIsNotNone(secret)

    def test_what_is_stored_counts_after_a_restart_as_before(self):
        self.daemon.start()
        tenant = Tenant(self.daemon, "lasting", disk="200M")
        sandbox = tenant.sandbox(limits={"disk": "16M"})
        tenant.run(sandbox, "head -c 5M /dev/urandom > data")
        tenant.must(201, "POST", sandbox + "/snapshot", {"name": "kept"})
        tenant.must(204, "DELETE", sandbox)
        used = tenant.disk()
        self.assertGreaterEqual(used, 5 * MIB)
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(tenant.disk(), used)


if __name__ == "__main__":
    unittest.main()
