# SPDX-License-Identifier: Apache-2.0
"""Kinds of records: whatever can happen is provoked here, and found in the journal by its action."""

import hashlib
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


# Each call once, with arguments that no kernel would take; and their errors.
REFUSED = """
import ctypes, errno, json
libc = ctypes.CDLL(None, use_errno=True)
told = {}
for name, number, *words in (
        ("mount", 165), ("umount2", 166), ("pivot_root", 155), ("unshare", 272, 0x10000000),
        ("clone", 56, 0x10010400), ("ptrace", 101, 9999), ("bpf", 321, 99),
        ("perf_event_open", 298), ("process_vm_readv", 310), ("keyctl", 250, 99),
        ("add_key", 248), ("userfaultfd", 323, -1), ("io_uring_setup", 425), ("kexec_load", 246),
        ("init_module", 175), ("open_by_handle_at", 304), ("fanotify_init", 300),
        ("clock_settime", 227, 99), ("sethostname", 170), ("reboot", 169), ("setns", 308)):
    result = libc.syscall(number, *(words + [0] * (6 - len(words))))
    told[name] = errno.errorcode[ctypes.get_errno()] if result == -1 else result
print(json.dumps(told))
"""
FLOOD = """
import ctypes, errno, os, subprocess, threading
libc = ctypes.CDLL(None, use_errno=True)
def refuse():
    for _ in range(500):
        assert libc.syscall(165, 0, 0, 0, 0, 0) == -1 and ctypes.get_errno() == errno.EPERM
threads = [threading.Thread(target=refuse) for _ in range(8)]
for each in threads: each.start()
for each in threads: each.join()
for _ in range(300):
    try: os.execv("/workspace/nothing", ["x" * 3000] * 64)
    except OSError as error: assert error.errno == errno.ENOENT
print("done")
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

    def plain_answers(self):
        """What a sandbox answers that nobody watches."""
        run = subprocess.run([GLOVEBOX, "run", "-l", "python", "-e", REFUSED],
                             capture_output=True, text=True, check=True)
        return json.loads(run.stdout)

    def assert_watched(self, told, answers):
        named = {each["subject"]: each for each in told}
        # The filter of a zygote has setns for itself: of its forks, nobody is told.
        self.assertLessEqual(set(answers) - {"setns"}, set(named))
        self.assertEqual({each["result"] for each in told}, {"refused"})
        self.assertIn("python", named["mount"]["details"]["by"])

    def test_refused_system_calls_are_named_and_refused_with_the_same_errors(self):
        plain = self.plain_answers()
        self.assertEqual((plain["mount"], plain["keyctl"]), ("EPERM", "ENOSYS"), plain)
        with self.subTest("a run"):
            verdict = self.run_code(REFUSED)
            self.assertEqual(json.loads(verdict["stdout"]), plain)
            self.assert_watched(self.found("call.refused", verdict["id"]), plain)
        sandbox = self.daemon.create()
        with self.subTest("a context"):
            verdict = sandbox.must(200, "POST", "/contexts/default/execute", {"code": REFUSED})
            self.assertEqual(json.loads(verdict["stdout"]), plain)
            self.assert_watched(self.found("call.refused", sandbox.id), plain)
        sandbox = self.daemon.create()
        with self.subTest("a command"):
            done = sandbox.must(200, "POST", "/commands", {"argv": ["python3", "-c", REFUSED]})
            self.assertEqual(json.loads(done["stdout"]), plain)
            self.assert_watched(self.found("call.refused", sandbox.id), plain)

    def test_programs_that_code_starts_are_named_with_the_hash_of_their_arguments(self):
        sandbox = self.daemon.create()
        code = "import os, subprocess\n" \
               "subprocess.run(['/usr/bin/env', 'echo', 'a secret'])\n" \
               "os.spawnv(os.P_WAIT, '/workspace/nothing', ['nothing'])\n" \
               "f = os.memfd_create('hidden', 0); os.write(f, open('/usr/bin/true', 'rb').read())\n" \
               "if os.fork() == 0: os.execve(f, ['hidden'], {})\n" \
               "print(os.wait()[1])"
        sandbox.must(200, "POST", "/contexts/default/execute", {"code": code})
        told = wait_until(
            lambda: len(all := self.records("program.start", sandbox.id)) >= 4 and all, "them")
        by_path = {each["subject"]: each for each in told}
        words = b"/usr/bin/env\0echo\0a secret\0"
        self.assertEqual(by_path["/usr/bin/env"]["details"]["command_sha256"],
                         hashlib.sha256(words).hexdigest())
        self.assertEqual(by_path["/usr/bin/env"]["result"], "asked")
        self.assertTrue(any(path.endswith("/echo") for path in by_path), "by env")
        self.assertEqual(by_path["/workspace/nothing"]["result"], "missing")
        self.assertTrue(any("memfd:hidden" in path for path in by_path), by_path)
        self.assertNotIn("a secret", json.dumps(told))
        self.assertEqual({each["tenant"] for each in told}, {"default"})

    def test_a_flood_of_either_is_answered_and_only_counted(self):
        sandbox = self.daemon.create()
        verdict = sandbox.must(200, "POST", "/contexts/default/execute", {"code": FLOOD})
        self.assertEqual(verdict["stdout"], "done\n", verdict)
        sandbox.kill()
        refused = wait_until(
            lambda: len(all := self.records("call.refused", sandbox.id)) == 2 and all, "both")
        self.assertEqual([each["details"].get("more", 1) for each in refused], [1, 3999])
        told = self.records("program.start", sandbox.id)
        self.assertLess(len(told), 80)
        self.assertEqual(len(told) - 1 + told[-1]["details"]["more"], 300)

    def test_where_nobody_can_watch_the_journal_says_so(self):
        answer = self.daemon.ask("POST", "/v1/sandboxes", {"tier": "gvisor"})
        if answer.status != 201:
            self.skipTest("no tier here has another kernel for its guests")
        (told,) = self.found("watch.none", answer.json["id"])
        self.assertEqual((told["subject"], told["result"]), ("gvisor", "unknown"))

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
        self.found("program.start", sandbox.id)
        for form, kind_of in (
            ("ocsf", lambda event: event["api"]["operation"]),
            ("otlp", lambda event: event["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]
                ["attributes"][0]["value"]["stringValue"].removeprefix("glovebox.")),
        ):
            exported = subprocess.run(
                [GLOVEBOX, "audit", "export", "--format", form, "--data", str(self.daemon.data)],
                capture_output=True, text=True, check=True).stdout
            kinds = {kind_of(json.loads(line)) for line in exported.splitlines()}
            self.assertLessEqual({"sandbox.create", "process.start", "process.end", "program.start"}, kinds, form)


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        cls.daemon.options = ["--audit-files"]
        cls.daemon.start()

    def executed(self, sandbox, code, **wishes):
        verdict = sandbox.must(200, "POST", "/contexts/default/execute", {"code": code, **wishes})
        told = self.daemon.must(
            200, "GET", f"/v1/audit?action=files.change&sandbox={sandbox.id}")["records"]
        return verdict, told

    def test_an_execution_in_a_context_says_which_files_it_changed(self):
        sandbox = self.daemon.create()
        sandbox.write("there", b"before")
        sandbox.write("doomed", b"before")
        verdict, told = self.executed(sandbox, "1 + 1")
        self.assertEqual((verdict["files"], told), ([], []))
        verdict, told = self.executed(
            sandbox, "import os\nopen('new', 'w').write('abc')\nopen('there', 'a').write('!')\n"
                     "os.remove('doomed')")
        changes = {each["path"]: (each["change"], each["size"]) for each in verdict["files"]}
        self.assertEqual(changes, {"new": ("created", 3), "there": ("modified", 7),
                                   "doomed": ("deleted", 0)})
        self.assertEqual(told[-1]["details"]["files"], verdict["files"])
        self.assertEqual(told[-1]["context"], "default")
        verdict, again = self.executed(sandbox, "1 + 1")
        self.assertEqual(verdict["files"], [], "each change once")
        self.assertEqual(len(again), len(told))


if __name__ == "__main__":
    unittest.main()
