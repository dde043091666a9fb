# SPDX-License-Identifier: Apache-2.0
"""Kinds of records: whatever can happen is provoked here, and found in the journal by its action."""

import json
import subprocess
import unittest

from daemon import GLOVEBOX, Daemon, wait_until

POLICY = """
[python.calls]
refuse = ["os.system"]
ask = ["eval"]
"""
# Nobody has to be there: the connection is denied or fails, and that is told.
CONNECT = """
import os, urllib.request
for name in ("no_proxy", "NO_PROXY"):
    os.environ.pop(name, None)
for host in ("127.0.0.1:9", "denied.example"):
    try:
        urllib.request.build_opener(urllib.request.ProxyHandler(
            {"http": os.environ["http_proxy"]})).open(f"http://{host}/", timeout=60)
    except OSError as error:
        print(type(error).__name__)
"""


class Kinds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        policy = cls.daemon.dir / "policy.toml"
        policy.write_text(POLICY)
        policy.chmod(0o644)
        cls.daemon.options = ["--network", "any", "--policy", str(policy)]
        cls.daemon.start()

    def records(self, action, sandbox=""):
        return self.daemon.must(
            200, "GET", f"/v1/audit?limit=1000&action={action}&sandbox={sandbox}")["records"]

    def found(self, action, sandbox=""):
        """Those of which only the keeper knows come a moment later."""
        return wait_until(lambda: self.records(action, sandbox), f"a record '{action}'")

    def run_code(self, code, language="python", **wishes):
        return self.daemon.must(
            200, "POST", "/v1/run", {"language": language, "code": code, **wishes})

    def test_the_end_of_a_process_is_recorded_whether_or_not_somebody_follows_it(self):
        sandbox = self.daemon.create()
        started = sandbox.must(201, "POST", "/processes", {"argv": ["sh", "-c", "exit 7"]})
        killed = sandbox.must(201, "POST", "/processes", {"argv": ["sleep", "600"]})
        sandbox.must(204, "POST", f"/processes/{killed['pid']}/signal", {"signal": "SIGKILL"})
        followed = sandbox.must(200, "POST", "/commands", {"argv": ["true"]})
        self.assertEqual(followed["exit_code"], 0)
        ends = wait_until(
            lambda: len(told := self.records("process.end", sandbox.id)) == 3 and told, "three ends")
        by_pid = {each["details"]["pid"]: each for each in ends}
        self.assertEqual(len(by_pid), 3, "each once")
        self.assertEqual(by_pid[started["pid"]]["details"]["exit_code"], 7)
        self.assertEqual(by_pid[started["pid"]]["subject"], "sh")
        self.assertEqual(by_pid[started["pid"]]["result"], "error")
        self.assertEqual(by_pid[killed["pid"]]["details"]["signal"], 9)
        self.assertEqual({each["tenant"] for each in ends}, {"default"})
        self.assertEqual(len(self.records("process.start", sandbox.id)), 3)

    def test_the_files_that_a_run_changed_are_named_and_those_beyond_counted(self):
        verdict = self.run_code("for i in $(seq 60); do echo x > f$i; done", "bash")
        (told,) = self.records("files.change", verdict["id"])
        self.assertEqual(told["details"]["count"], 60)
        self.assertEqual(len(told["details"]["files"]), 50)
        self.assertIn({"path": "f1", "change": "created", "size": 2}, told["details"]["files"])
        (end,) = self.records("run.end", verdict["id"]) or [None]
        self.assertEqual(told["details"]["start"], end["details"]["start"])

    def test_changes_of_files_by_a_client_are_named(self):
        sandbox = self.daemon.create()
        sandbox.write("notes.txt", b"never in the journal")
        sandbox.must(204, "DELETE", "/files/notes.txt")
        (written,) = self.records("files.write", sandbox.id)
        self.assertEqual(written["details"]["path"], "notes.txt")
        self.assertTrue(written["key"])
        (removed,) = self.records("files.remove", sandbox.id)
        self.assertEqual(removed["details"]["path"], "notes.txt")

    def test_a_limit_that_is_hit_is_found_by_that(self):
        verdict = self.run_code("x = b'x' * (600 << 20)", limits={"memory": "128M"})
        self.assertEqual(verdict["status"], "out_of_memory", verdict)
        (end,) = self.records("run.end", verdict["id"])
        hits = self.records("limit.hit", verdict["id"])
        self.assertEqual([each["subject"] for each in hits], end["details"]["limits_hit"])
        self.assertIn("memory", end["details"]["limits_hit"])

    def test_connections_of_runs_and_of_sandboxes_are_recorded_however_they_end(self):
        network = {"allow": ["127.0.0.1:9"]}
        answer = self.daemon.ask("POST", "/v1/run", {
            "language": "python", "code": CONNECT, "network": network})
        if answer.status == 501:
            self.skipTest("no tier here has network rules")
        self.assertEqual(answer.status, 200, answer)
        verdict = answer.json
        self.assertEqual(len(verdict["connections"]), 2, verdict)
        of_run = self.records("connection", verdict["id"])
        self.assertEqual(len(of_run), len(verdict["connections"]))
        self.assertIn("denied", {each["result"] for each in of_run})
        for timeout, end in ((600, "deleted"), (5, "expired")):
            with self.subTest(end):
                sandbox = self.daemon.create(network=network, timeout=timeout)
                sandbox.must(200, "POST", "/contexts/default/execute", {"code": CONNECT})
                wait_until(lambda: len(sandbox.must(200, "GET", "/connections")["connections"]) == 2,
                           "both connections")
                if end == "deleted":
                    sandbox.kill()
                (ended,) = self.found("sandbox.end", sandbox.id)
                self.assertEqual(ended["result"], end)
                told = wait_until(
                    lambda: len(told := self.records("connection", sandbox.id)) == 2 and told,
                    "their records")
                self.assertIn("denied.example:80", {each["subject"] for each in told})

    def test_decisions_approvals_tools_and_acts_of_administrators_have_their_kinds(self):
        self.daemon.must(403, "POST", "/v1/run", {"language": "python", "code": "import os\nos.system('x')"})
        events = self.daemon.stream("POST", "/v1/run", {"language": "python", "code": "eval('1')"})
        question = events.until("approval_needed")
        self.daemon.must(204, "POST", f"/v1/approvals/{question['id']}",
                         {"decision": "allow", "hash": question["hash"]})
        events.until("verdict")
        self.assertEqual(self.found("approval.allow")[0]["subject"], question["id"])
        self.assertTrue([each for each in self.records("run.end") if each["result"] == "refused"])
        context = self.daemon.create().context()
        events = context.start("lookup()", tools=[{"name": "lookup"}])
        call = events.until("tool_call")
        context.must(204, "POST", f"/tools/{call['id']}", {"result": 1})
        events.until("verdict")
        self.assertEqual(self.found("tool.call")[0]["subject"], "lookup")
        self.assertTrue(self.found("tool.reply"))
        key = self.daemon.must(201, "POST", "/v1/keys", {"scopes": ["read"]})
        self.daemon.must(403, "POST", "/v1/sandboxes", {}, key=key["key"])
        self.assertIn("refused", {each["decision"] for each in self.found("admit")})
        self.assertTrue(self.found("key.create"))

    def test_every_kind_can_be_exported(self):
        sandbox = self.daemon.create()
        sandbox.must(201, "POST", "/processes", {"argv": ["true"]})
        self.found("process.end", sandbox.id)
        for form, kind_of in (
            ("ocsf", lambda event: event["api"]["operation"]),
            ("otlp", lambda event: event["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]
                ["attributes"][0]["value"]["stringValue"].removeprefix("glovebox.")),
        ):
            exported = subprocess.run(
                [GLOVEBOX, "audit", "export", "--format", form, "--data", str(self.daemon.data)],
                capture_output=True, text=True, check=True).stdout
            kinds = {kind_of(json.loads(line)) for line in exported.splitlines()}
            self.assertLessEqual({"sandbox.create", "process.start", "process.end"}, kinds, form)


if __name__ == "__main__":
    unittest.main()
