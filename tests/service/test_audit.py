# SPDX-License-Identifier: Apache-2.0
"""The audit journal of a daemon: what is in it, who sees it, and what happens where it cannot be written."""

import contextlib
import hashlib
import json
import os
import subprocess
import unittest

from daemon import GLOVEBOX, Daemon, wait_until
from test_tenants import add_key

SECRET = "correct horse battery staple"


def offline(daemon, *words):
    """`glovebox audit`, on the data directory."""
    return subprocess.run(
        [GLOVEBOX, "audit", *words, "--data", str(daemon.data)],
        capture_output=True,
        text=True,
        check=False,
    )


class Case(unittest.TestCase):
    OPTIONS = []

    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.discard)
        self.daemon.options = list(self.OPTIONS)
        self.daemon.start()

    def records(self, query="", **how):
        return self.daemon.must(200, "GET", "/v1/audit?limit=1000" + query, **how)["records"]

    def actions(self, query="", **how):
        return [each["action"] for each in self.records(query, **how)]

    def text(self):
        return "".join(
            path.read_text().rstrip("\0")
            for path in sorted((self.daemon.data / "audit").glob("*.jsonl"))
        )

    def assert_intact(self):
        checked = offline(self.daemon, "verify")
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)


class Records(Case):
    def test_an_execution_has_its_start_and_its_end_before_the_answer(self):
        sandbox = self.daemon.create()
        code = "print(6 * 7)"
        sandbox.must(
            200, "POST", "/contexts/default/execute", {"code": code, "env": {"TOKEN": SECRET}}
        )
        start, end = self.records(f"&action=execute&sandbox={sandbox.id}")
        self.assertEqual(start["action"], "execute.start")
        self.assertEqual(
            start["details"]["code_sha256"], hashlib.sha256(code.encode()).hexdigest()
        )
        self.assertEqual(start["door"], "rest")
        self.assertEqual(start["tenant"], "default")
        self.assertTrue(start["key"])
        self.assertEqual(end["action"], "execute.end")
        self.assertEqual(end["result"], "ok")
        self.assertEqual(end["details"]["start"], start["seq"])
        self.assertEqual(end["details"]["exit_code"], 0)
        self.assertNotIn(code, self.text(), "only its hash")

    def test_every_change_is_recorded_and_nothing_that_only_looks(self):
        sandbox = self.daemon.create(metadata={"note": SECRET})
        before = len(self.records())
        sandbox.info()
        sandbox.must(200, "GET", "/usage")
        self.daemon.must(200, "GET", "/v1/sandboxes")
        self.assertEqual(len(self.records()), before)
        context = sandbox.context()
        sandbox.write("f", SECRET.encode())
        started = sandbox.must(201, "POST", "/processes", {"argv": ["sleep", "600"]})
        sandbox.must(204, "POST", f"/processes/{started['pid']}/signal", {"signal": "SIGKILL"})
        sandbox.must(204, "DELETE", f"/contexts/{context.id}")
        sandbox.must(200, "PATCH", "", {"timeout": 120})
        sandbox.must(204, "POST", "/pause")
        sandbox.must(200, "POST", "/resume")
        sandbox.kill()
        made = self.daemon.must(201, "POST", "/v1/keys", {"scopes": ["read"]})
        self.daemon.must(204, "DELETE", "/v1/keys/" + made["id"])
        self.daemon.must(201, "POST", "/v1/tenants", {"name": "acme"})
        self.daemon.must(204, "DELETE", "/v1/tenants/acme")
        self.daemon.must(200, "POST", "/v1/run", {"language": "bash", "code": f"echo {SECRET}"})
        told = self.actions()
        for action in (
            "sandbox.create",
            "context.create",
            "files.open",
            "process.start",
            "process.signal",
            "context.delete",
            "sandbox.change",
            "sandbox.pause",
            "sandbox.resume",
            "sandbox.kill",
            "key.create",
            "key.revoke",
            "tenant.create",
            "tenant.remove",
            "run.start",
            "run.end",
        ):
            self.assertIn(action, told)
        text = self.text()
        self.assertNotIn(SECRET, text)
        self.assertNotIn(self.daemon.key, text)
        self.assertNotIn(made["key"], text)
        self.assert_intact()

    def test_a_tool_that_code_calls_is_recorded_before_the_client_has_the_call(self):
        sandbox = self.daemon.create()
        context = sandbox.context()
        tools = [{"name": "lookup", "description": "", "parameters": {"type": "object"}},
                 {"name": "mcp.words.lookup"}]
        events = context.start("lookup(word='x')\nmcp.words.lookup()", tools=tools)
        call = events.until("tool_call")
        told = self.records(f"&action=tool&sandbox={sandbox.id}")
        self.assertEqual([each["subject"] for each in told], ["lookup"])
        context.must(204, "POST", f"/tools/{call['id']}", {"result": SECRET})
        call = events.until("tool_call")
        told = self.records(f"&action=tool.call&sandbox={sandbox.id}")
        self.assertEqual({each["subject"] for each in told}, {"lookup", "mcp.words.lookup"})
        context.must(204, "POST", f"/tools/{call['id']}", {"result": SECRET})
        self.assertEqual(events.until("verdict")["status"], "ok")
        self.assertNotIn(SECRET, self.text())

    def test_the_end_of_a_sandbox_that_nobody_asked_for_is_recorded(self):
        sandbox = self.daemon.create(timeout=1)
        end = wait_until(
            lambda: self.records(f"&action=sandbox.end&sandbox={sandbox.id}"), "its end"
        )
        self.assertEqual(end[0]["result"], "expired")

    def test_each_door_is_named(self):
        made = self.daemon.must(201, "POST", "/sandboxes", {"templateID": "base"})
        told = self.records(f"&sandbox={made['sandboxID']}")
        self.assertEqual({each["door"] for each in told}, {"e2b"})


class Refusals(Case):
    def test_what_is_refused_is_recorded_and_a_flood_of_it_is_only_counted(self):
        reader = self.daemon.must(201, "POST", "/v1/keys", {"scopes": ["read"]})
        for _ in range(150):
            self.daemon.must(403, "POST", "/v1/sandboxes", {}, key=reader["key"])
        told = [each for each in self.records() if each.get("key") == reader["id"]]
        self.assertTrue(told)
        self.assertLess(len(told), 150)
        self.assertEqual({each["decision"] for each in told}, {"refused"})
        wrong = "e2b_" + "0" * 64
        self.daemon.must(401, "GET", "/v1/sandboxes", key=wrong)
        self.assertIn("authenticate", self.actions())
        self.assertNotIn(wrong, self.text())

        def counted():
            self.daemon.must(403, "POST", "/v1/sandboxes", {}, key=reader["key"])
            return [
                each["details"]["suppressed_before"]
                for each in self.records()
                if each["details"].get("suppressed_before")
            ]

        self.assertGreater(wait_until(counted, "a record with the count")[0], 0)


class Readers(Case):
    def test_another_tenants_administrator_sees_its_own_records_alone(self):
        self.daemon.kill()
        other = add_key(self.daemon, "other", ["run", "read", "admin"])
        runner = add_key(self.daemon, "other", ["run", "read"])
        self.daemon.start()
        mine = self.daemon.create()
        theirs = self.daemon.must(201, "POST", "/v1/sandboxes", {}, key=other)
        seen = self.records(key=other)
        self.assertEqual({each["tenant"] for each in seen}, {"other"})
        self.assertIn(theirs["id"], {each.get("sandbox") for each in seen})
        self.assertEqual(self.records(f"&sandbox={mine.id}", key=other), [])
        self.daemon.must(403, "GET", "/v1/audit", key=runner)
        everything = {each.get("sandbox") for each in self.records()}
        self.assertLessEqual({mine.id, theirs["id"]}, everything)

    def test_pages_are_all_records_in_order(self):
        for _ in range(5):
            self.daemon.create().kill()
        seen, after = [], "0"
        while after:
            page = self.daemon.must(200, "GET", f"/v1/audit?limit=3&after={after}")
            seen += [each["seq"] for each in page["records"]]
            after = page.get("next")
        self.assertEqual(seen, sorted(seen))
        self.assertEqual(seen, [*range(1, seen[-1] + 1)])
        newest = self.daemon.must(200, "GET", "/v1/audit?newest=2&action=sandbox.kill")["records"]
        self.assertEqual(len(newest), 2)
        for query in ("limit=0", "limit=x", "after=-1", "newest=5000", "other=1"):
            self.daemon.must(400, "GET", "/v1/audit?" + query)


class Commands(Case):
    def glovebox(self, *words):
        done = subprocess.run(
            [GLOVEBOX, *words, "--url", f"http://127.0.0.1:{self.daemon.port}"],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "GLOVEBOX_API_KEY": self.daemon.key},
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_records_are_searched_and_exported(self):
        sandbox = self.daemon.create()
        sandbox.kill()
        found = self.glovebox("audit", "search", "--sandbox", sandbox.id)
        self.assertEqual(len(found.splitlines()), 3, found)
        self.assertIn("sandbox.kill", found)
        newest = self.glovebox("audit", "tail", "-n", "1", "--action", "sandbox", "--json")
        self.assertEqual(json.loads(newest)["action"], "sandbox.kill")
        exported = offline(self.daemon, "export", "--format", "ocsf").stdout.splitlines()
        events = [json.loads(line) for line in exported]
        self.assertEqual({each["class_uid"] for each in events}, {6003})
        self.assertIn("sandbox.kill", {each["api"]["operation"] for each in events})
        lines = offline(self.daemon, "export").stdout.splitlines()
        self.assertEqual(json.loads(lines[0])["action"], "audit.open")
        logs = [log for line in offline(self.daemon, "export", "--format", "otlp").stdout.splitlines()
                for log in json.loads(line)["resourceLogs"][0]["scopeLogs"][0]["logRecords"]]
        self.assertEqual([log["body"]["stringValue"] for log in logs][:len(lines)], lines)

    def test_a_head_that_was_kept_tells_when_the_journal_was_set_back(self):
        self.daemon.create().kill()
        self.daemon.stop()
        journal = self.daemon.data / "audit"
        before = {path.name: path.read_bytes() for path in journal.iterdir()}
        self.daemon.start()
        self.daemon.create().kill()
        self.daemon.stop()
        head = offline(self.daemon, "head").stdout.strip()
        self.assertEqual(offline(self.daemon, "verify", "--head", head).returncode, 0)
        for name, content in before.items():
            (journal / name).write_bytes(content)
        self.assert_intact()
        found = offline(self.daemon, "verify", "--head", head)
        self.assertEqual(found.returncode, 1)
        self.assertIn("set back", found.stdout)

    def test_a_daemon_does_not_go_on_with_a_journal_that_was_changed(self):
        self.daemon.create().kill()
        self.daemon.stop()
        segment = self.daemon.data / "audit/00000000000000000001.jsonl"
        text = segment.read_bytes()
        segment.write_bytes(text.replace(b"sandbox.kill", b"sandbox.find", 1))
        found = offline(self.daemon, "verify", "--json")
        self.assertEqual(found.returncode, 1)
        problem = json.loads(found.stdout)["problems"][0]
        self.assertIn("changed", problem["problem"])
        line = text[: problem["offset"]].count(b"\n") + 1
        self.assertEqual(problem["line"], line)
        self.assertIn(b"sandbox.kill", text.splitlines()[line - 1])
        with self.assertRaisesRegex(AssertionError, "journal was changed"):
            self.daemon.start()
        self.daemon.process.wait()
        self.daemon.process.stdout.close()
        segment.write_bytes(text)
        self.daemon.start()
        self.assert_intact()

    def test_a_killed_daemon_goes_on_with_its_journal(self):
        for _ in range(3):
            self.daemon.create()
            self.daemon.kill()
            self.daemon.start()
        self.assert_intact()


class FullDisk(Case):
    @unittest.skipUnless(os.geteuid() == 0, "only root can mount a disk that is full soon")
    def test_nothing_is_executed_that_cannot_be_recorded(self):
        self.daemon.stop()
        journal = self.daemon.data / "audit"
        owner = journal.stat()
        kept = {path.name: path.read_bytes() for path in journal.iterdir()}
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size=2m,mode=0700,uid={owner.st_uid}", "none", journal],
            check=True,
        )
        self.addCleanup(subprocess.run, ["umount", "-l", journal], check=True)
        for name, content in kept.items():
            (journal / name).write_bytes(content)
            os.chown(journal / name, owner.st_uid, owner.st_gid)
            (journal / name).chmod(0o600)
        self.daemon.start()
        sandbox = self.daemon.create()
        with contextlib.suppress(OSError), open(journal / "filler", "wb", buffering=0) as filler:
            while filler.write(b"x" * 4096):
                pass

        def execute():
            return self.daemon.ask(
                "POST", sandbox.path + "/contexts/default/execute", {"code": "1"}
            )

        refused = wait_until(lambda: (a := execute()).status != 200 and a, "the refusal")
        self.assertEqual(refused.status, 503, refused)
        self.assertIn("audit journal has no room", refused.json["message"])
        self.assertIn("free space", refused.json["hint"])
        wait_until(
            lambda: self.daemon.ask("POST", "/v1/sandboxes", {}).status == 503, "the next refusal"
        )
        with self.subTest("what frees something is still done, and recorded"):
            sandbox.kill()
            self.assertTrue(self.actions(f"&action=sandbox.kill&sandbox={sandbox.id}"))
        (journal / "filler").unlink()
        self.daemon.create().kill()
        self.assert_intact()


class InFull(Case):
    OPTIONS = ["--audit-code", "--audit", "relaxed"]

    def test_code_is_recorded_in_full_where_the_operator_wants_it(self):
        sandbox = self.daemon.create()
        code = "print('in full')"
        sandbox.must(200, "POST", "/contexts/default/execute", {"code": code})
        start = self.records(f"&action=execute.start&sandbox={sandbox.id}")[0]
        self.assertEqual(start["details"]["code"], code)


class Durability(Case):
    def test_each_mode_says_so_and_executes(self):
        for mode in ("requests", "durable", "relaxed"):
            self.daemon.stop()
            self.daemon.options = ["--audit", mode]
            self.daemon.start()
            self.assertEqual(self.records("&action=audit.open")[-1]["details"]["mode"], mode)
            sandbox = self.daemon.create()
            sandbox.must(200, "POST", "/contexts/default/execute", {"code": "1 + 1"})
            self.assertEqual(len(self.records(f"&action=execute&sandbox={sandbox.id}")), 2, mode)
            self.assert_intact()


class Off(Case):
    OPTIONS = ["--audit", "off"]

    def test_without_a_journal_nothing_is_kept(self):
        self.daemon.create().kill()
        self.assertFalse((self.daemon.data / "audit").exists())
        self.assertEqual(self.daemon.ask("GET", "/v1/audit").status, 501)


if __name__ == "__main__":
    unittest.main()
