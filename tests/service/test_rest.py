# SPDX-License-Identifier: Apache-2.0
"""What the REST interface does with real sandboxes: their life, contexts, snapshots, limits."""

import concurrent.futures
import json
import re
import unittest

from daemon import EVENTS, Case, wait_until
from traces import named

PAIR = "sys.stdout.write('out\\n'); sys.stderr.write('err\\n'); 6 * 7"


class Life(Case):
    def test_a_sandbox_is_made_found_listed_changed_and_ended(self):
        made = self.daemon.must(
            201,
            "POST",
            "/v1/sandboxes",
            {
                "timeout": "1m",
                "metadata": {"who": "life"},
                "env": {"A": "b"},
                "limits": {"memory": "256M", "pids": 64},
            },
        )
        self.assertEqual((made["state"], made["template"]), ("running", "default"))
        self.assertEqual(made["limits"]["memory"], 256 << 20)
        path = "/v1/sandboxes/" + made["id"]
        self.assertEqual(self.daemon.must(200, "GET", path), made)
        changed = self.daemon.must(
            200, "PATCH", path, {"timeout": "1h", "metadata": {"who": "changed"}}
        )
        self.assertGreater(changed["expires"], made["expires"])
        self.assertEqual(self.daemon.must(200, "GET", path), changed)
        found = self.daemon.must(200, "GET", "/v1/sandboxes?metadata.who=changed")
        self.assertEqual([one["id"] for one in found["sandboxes"]], [made["id"]])
        self.daemon.must(204, "DELETE", path)
        for method in ("GET", "DELETE"):
            self.assertEqual(self.daemon.must(410, method, path)["error"], "gone")
        self.assertEqual(self.daemon.must(404, "GET", path + "x")["error"], "not_found")

    def test_pages_of_a_list_hold_each_match_once_newest_first(self):
        made = [self.create(metadata={"page": "yes", "n": str(n)}).id for n in range(7)]
        self.create(metadata={"page": "no"})
        seen, after = [], ""
        for _ in range(4):
            page = self.daemon.must(
                200, "GET", f"/v1/sandboxes?limit=3&metadata.page=yes&after={after}"
            )
            self.assertLessEqual(len(page["sandboxes"]), 3)
            seen += page["sandboxes"]
            after = page["next"]
            if after is None:
                break
        self.assertIsNone(after)
        self.assertCountEqual([one["id"] for one in seen], made)
        times = [one["created"] for one in seen]
        self.assertEqual(times, sorted(times, reverse=True))

    def test_a_list_can_be_asked_for_one_state(self):
        awake, asleep = (self.create(metadata={"state": "test"}) for _ in range(2))
        asleep.must(204, "POST", "/pause")
        for state, wanted in (("running", awake), ("paused", asleep)):
            page = self.daemon.must(200, "GET", f"/v1/sandboxes?metadata.state=test&state={state}")
            self.assertEqual([one["id"] for one in page["sandboxes"]], [wanted.id])

    def test_the_same_key_makes_one_sandbox(self):
        how = {"headers": {"Idempotency-Key": "make-once"}}
        first, again = (self.daemon.must(201, "POST", "/v1/sandboxes", {}, **how) for _ in "ab")
        self.assertEqual(first["id"], again["id"])
        for other in ({"on_timeout": "pause"}, {"tier": "native"}, {"storage": "disk"},
                      {"metadata": {"a": "b"}}, {"timeout": "1m"}):
            with self.subTest(other):
                self.daemon.must(409, "POST", "/v1/sandboxes", other, **how)

    def test_a_key_whose_sandbox_has_ended_makes_no_other(self):
        how = {"headers": {"Idempotency-Key": "made-and-ended"}}
        made = self.daemon.must(201, "POST", "/v1/sandboxes", {}, **how)
        self.daemon.must(204, "DELETE", "/v1/sandboxes/" + made["id"])
        told = self.daemon.must(409, "POST", "/v1/sandboxes", {}, **how)
        self.assertIn(f"sandbox '{made['id']}', created with this idempotency key, has ended", told["message"])
        self.assertIn("new key", told["hint"])

    def test_mistakes_are_told_apart(self):
        sandbox = self.create()
        for status, method, path, body in (
            (400, "POST", "/v1/sandboxes", {"timeout": -1}),
            (400, "POST", "/v1/sandboxes", {"color": "red"}),
            (400, "POST", "/v1/sandboxes", {"limits": {"memory": "many"}}),
            (404, "POST", "/v1/sandboxes", {"template": "nowhere"}),
            (400, "PATCH", sandbox.path, {"on_timeout": "explode"}),
            (404, "GET", sandbox.path + "/files/missing", None),
            (404, "POST", sandbox.path + "/contexts/none/execute", {"code": "1"}),
            (404, "POST", sandbox.path + "/processes/99999/signal", {"signal": "SIGINT"}),
            (404, "GET", "/v1/nothing", None),
            (405, "DELETE", "/v1/run", None),
        ):
            with self.subTest(method=method, path=path, body=body):
                told = self.daemon.must(status, method, path, body)
                self.assertEqual(told["code"], status)
                self.assertTrue(told["message"])

    def test_usage_grows_with_what_is_used(self):
        sandbox = self.create()
        before = sandbox.must(200, "GET", "/usage")
        sandbox.write("block", bytes(8 << 20))
        sandbox.context().execute("sum(range(3_000_000))")
        after = sandbox.must(200, "GET", "/usage")
        self.assertGreater(after["cpu_ms"], before["cpu_ms"])
        self.assertGreaterEqual(after["disk"] - before["disk"], 8 << 20)
        self.assertLessEqual(after["memory"], after["memory_limit"])

    def test_a_sandbox_ends_at_its_time(self):
        sandbox = self.create(timeout="300ms")
        wait_until(sandbox.is_gone, "the end of the sandbox")

    def test_a_sandbox_can_pause_at_its_time_and_goes_on_with_its_variables(self):
        sandbox = self.create(timeout="1s", on_timeout="pause")
        context = sandbox.context()
        context.execute("kept = 41")
        wait_until(lambda: sandbox.info()["state"] == "paused", "the pause")
        self.assertEqual(
            context.must(409, "POST", "/execute", {"code": "kept"})["error"], "conflict"
        )
        self.assertEqual(sandbox.must(200, "POST", "/resume")["state"], "running")
        self.assertEqual(context.value("kept + 1"), "42")

    def test_a_paused_sandbox_resumes_by_itself_where_it_was_asked_for(self):
        sandbox = self.create(auto_resume=True)
        context = sandbox.context()
        sandbox.write("note", b"text")
        for use in (lambda: context.value("1 + 1"), lambda: sandbox.read("note").decode()):
            sandbox.must(204, "POST", "/pause")
            self.assertEqual(sandbox.info()["state"], "paused")
            self.assertIn(use(), ("2", "text"))
            self.assertEqual(sandbox.info()["state"], "running")

    def test_what_is_paused_uses_no_processor(self):
        sandbox = self.create()
        started = sandbox.must(
            201, "POST", "/processes", {"argv": ["python3", "-c", "while True: pass"]}
        )
        self.assertTrue(started["pid"])

        def used():
            return sandbox.must(200, "GET", "/usage")["cpu_ms"]

        begun = used()
        wait_until(lambda: used() > begun + 50, "that it runs")
        sandbox.must(204, "POST", "/pause")
        frozen = used()
        # Something else that takes as long as the process needed above.
        self.create().context().execute("sum(range(3_000_000))")
        self.assertLess(used() - frozen, 20)

    def test_a_sandbox_made_from_a_snapshot_has_its_files_and_a_fork_too(self):
        sandbox = self.create()
        sandbox.write("deep/er/file", b"content", mode="0755")
        name = sandbox.must(201, "POST", "/snapshot", {"name": "with-file"})["template"]
        self.assertEqual(name, "with-file")
        sandbox.write("deep/er/file", b"changed")
        templates = self.daemon.must(200, "GET", "/v1/templates")["templates"]
        self.assertIn(name, [one["name"] for one in templates])
        copy = self.create(template=name)
        self.assertEqual(copy.read("deep/er/file"), b"content")
        self.assertEqual(copy.must(200, "GET", "/files/deep/er/file?stat=1")["mode"], "0755")
        forks = sandbox.must(201, "POST", "/fork", {"count": 2})["sandboxes"]
        self.assertEqual(len({sandbox.id, *(one["id"] for one in forks)}), 3)
        for one in forks:
            path = f"/v1/sandboxes/{one['id']}"
            self.addCleanup(self.daemon.ask, "DELETE", path)
            body = self.daemon.must(200, "GET", path + "/files/deep/er/file").body
            self.assertEqual(body, b"changed")


class Contexts(Case):
    def test_each_language_keeps_its_variables(self):
        sandbox = self.create()
        for language, setting, showing in (
            ("python", "a = 20", "print(a + 1)"),
            ("javascript", "var a = 20", "console.log(a + 1)"),
            ("bash", "a=20", "echo $((a + 1))"),
        ):
            with self.subTest(language):
                context = sandbox.context(language)
                self.assertEqual(context.execute(setting)["status"], "ok")
                shown = context.execute(showing)
                self.assertEqual((shown["status"], shown["stdout"]), ("ok", "21\n"))
        listed = sandbox.must(200, "GET", "/contexts")["contexts"]
        self.assertEqual(
            [one["language"] for one in listed][-3:], ["python", "javascript", "bash"]
        )
        for one in listed:
            sandbox.must(204, "DELETE", f"/contexts/{one['id']}")
        self.assertEqual(sandbox.must(200, "GET", "/contexts")["contexts"], [])

    def test_the_verdict_and_both_streams_say_the_same(self):
        context = self.create().context()
        code = "import sys; " + PAIR
        verdict = context.execute(code)
        self.assertEqual((verdict["stdout"], verdict["stderr"]), ("out\n", "err\n"))
        self.assertEqual(verdict["results"][0]["data"]["text/plain"], "42")
        for accept in (None, EVENTS):
            with self.subTest(accept):
                how = {"accept": accept} if accept else {}
                events = list(context.start(code, **how))
                self.assertEqual((events[0]["type"], events[-1]["type"]), ("started", "verdict"))
                kinds = {event["type"]: event for event in events}
                self.assertEqual(kinds["stdout"]["text"], "out\n")
                self.assertEqual(kinds["stderr"]["text"], "err\n")
                self.assertEqual(kinds["result"]["data"]["text/plain"], "42")
                self.assertEqual(kinds["verdict"]["stdout"], "out\n")

    def test_output_arrives_while_the_code_runs(self):
        context = self.create().context()
        events = context.start("print('early', flush=True); import time; time.sleep(600)")
        self.assertEqual(events.until("stdout")["text"].strip(), "early")
        context.must(204, "POST", "/interrupt")
        self.assertEqual(events.until("verdict")["status"], "canceled")
        self.assertEqual(context.value("1 + 1"), "2")

    def test_the_beginning_is_told_while_the_code_says_nothing(self):
        context = self.create().context()
        events = context.start("import time; time.sleep(600)")
        self.assertEqual(events.until("started")["execution_count"], 1)
        context.must(204, "POST", "/interrupt")
        self.assertEqual(events.until("verdict")["status"], "canceled")

    def test_an_error_is_told_with_its_name_and_lines(self):
        verdict = self.create().context().execute("def f():\n  return 1 / 0\nf()")
        self.assertEqual(verdict["status"], "error")
        self.assertEqual(verdict["error"]["name"], "ZeroDivisionError")
        self.assertIn("line 2", re.sub(r"\x1b\[[0-9;]*m", "", json.dumps(verdict["error"])))

    def test_limits_of_one_execution_hold_and_leave_the_context(self):
        context = self.create().context()
        verdict = context.execute("while True: pass", limits={"time": "300ms"})
        self.assertEqual(verdict["status"], "timeout")
        self.assertEqual(context.value("'still ' + 'here'"), "still here")
        many = context.execute("print('x' * 100_000)", limits={"output": 1000})
        self.assertLessEqual(len(many["stdout"]), 1100)

    def test_memory_beyond_the_limit_is_out_of_memory(self):
        context = self.create(limits={"memory": "128M"}).context()
        verdict = context.execute("b = b'x' * (400 << 20)")
        self.assertIn(verdict["status"], ("out_of_memory", "error"))
        if verdict["status"] == "error":
            self.assertEqual(verdict["error"]["name"], "MemoryError")

    def test_a_rollback_brings_variables_back_and_a_fork_has_its_own(self):
        context = self.create().context()
        context.execute("a = [1]")
        number = context.must(201, "POST", "/checkpoint")["checkpoint"]
        context.execute("a.append(2)")
        forked = context.must(201, "POST", "/fork", {"checkpoint": number})
        back = context.must(200, "POST", "/rollback", {"checkpoint": number})
        self.assertEqual(back, {"schema": "glovebox.checkpoint/1", "checkpoint": number})
        self.assertEqual(context.value("a"), "[1]")
        context.execute("a.append(4)")
        newest = context.must(201, "POST", "/checkpoint")["checkpoint"]
        context.execute("a.append(5)")
        self.assertEqual(context.must(200, "POST", "/rollback", {})["checkpoint"], newest)
        self.assertEqual(context.value("a"), "[1, 4]")
        context.must(200, "POST", "/rollback", {"checkpoint": number})
        other = type(context)(context.sandbox, forked["id"])
        other.execute("a.append(3)")
        self.assertEqual((other.value("a"), context.value("a")), ("[1, 3]", "[1]"))
        self.assertEqual(
            context.must(404, "POST", "/rollback", {"checkpoint": 999})["error"], "not_found"
        )

    def test_a_restart_forgets_variables(self):
        context = self.create().context()
        context.execute("a = 1")
        context.must(204, "POST", "/restart")
        self.assertEqual(context.execute("a")["error"]["name"], "NameError")

    def test_a_notebook_holds_what_was_executed(self):
        context = self.create().context()
        context.execute("print('shown')")
        context.execute("1 + 1")
        notebook = json.loads(context.must(200, "GET", "/notebook").body)
        self.assertEqual(notebook["nbformat"], 4)
        first, second = notebook["cells"]
        self.assertEqual("".join(first["source"]), "print('shown')")
        self.assertEqual("".join(first["outputs"][0]["text"]), "shown\n")
        self.assertEqual("".join(second["outputs"][0]["data"]["text/plain"]), "2")
        page = context.must(200, "GET", "/notebook.html").body.decode()
        self.assertIn("shown", page)
        self.assertNotIn("<script", page)

    def test_the_same_key_executes_once_and_both_get_the_whole(self):
        context = self.create().context()
        context.execute("count = 0")
        code = "count += 1; print('a'); import time; time.sleep(0.3); print('b')"
        key = {"Idempotency-Key": "once"}
        with concurrent.futures.ThreadPoolExecutor(3) as threads:
            asked = [threads.submit(context.execute, code, key) for _ in range(3)]
            verdicts = [one.result() for one in asked]
        verdicts.append(context.execute(code, key))
        for verdict in verdicts:
            self.assertEqual((verdict["status"], verdict["stdout"]), ("ok", "a\nb\n"))
        self.assertEqual(context.value("count"), "1")

    def test_a_key_is_remembered_over_many_executions_without_one(self):
        context = self.create().context()
        context.execute("count = 0")
        context.execute("count += 1", {"Idempotency-Key": "kept"})
        for _ in range(40):
            context.execute("pass")
        context.execute("count += 1", {"Idempotency-Key": "kept"})
        self.assertEqual(context.value("count"), "1")

    def test_executions_of_one_context_wait_for_their_turn(self):
        context = self.create().context()
        context.execute("order = []; active = 0")
        code = "active += 1; order.append(active); import time; time.sleep(0.02); active -= 1"
        with concurrent.futures.ThreadPoolExecutor(6) as threads:
            done = list(threads.map(lambda _: context.execute(code)["status"], range(12)))
        self.assertEqual(done, ["ok"] * 12)
        self.assertEqual(context.value("order"), str([1] * 12))


class Run(Case):
    def run_code(self, **request):
        return self.daemon.must(200, "POST", "/v1/run", request)

    def test_code_runs_with_its_files_arguments_input_and_environment(self):
        verdict = self.run_code(
            language="python",
            code="import os, sys\nprint(open('f').read(), sys.argv[1], input(), os.environ['E'])",
            files={"f": "file"},
            arguments=["argument"],
            stdin="input\n",
            env={"E": "environment"},
        )
        self.assertEqual(verdict["stdout"], "file argument input environment\n")
        self.assertEqual((verdict["status"], verdict["exit_code"]), ("ok", 0))

    def test_verdicts_tell_how_code_ended(self):
        for status, code, wishes in (
            ("error", "import sys; sys.exit(3)", {}),
            ("timeout", "while True: pass", {"limits": {"time": "300ms"}}),
        ):
            with self.subTest(status):
                verdict = self.run_code(language="python", code=code, **wishes)
                self.assertEqual(verdict["status"], status)

    def test_events_come_as_they_happen(self):
        events = self.daemon.stream(
            "POST", "/v1/run", {"language": "bash", "code": "echo one; read -t 0.2; echo two"}
        )
        said = list(events)
        self.assertEqual(said[-1]["type"], "verdict")
        self.assertEqual("".join(e["text"] for e in said if e["type"] == "stdout"), "one\ntwo\n")

    def test_the_same_key_runs_once(self):
        how = {"headers": {"Idempotency-Key": "run-once"}}
        body = {"language": "python", "code": "import uuid; print(uuid.uuid4())"}
        first, again = (self.daemon.must(200, "POST", "/v1/run", body, **how) for _ in "ab")
        self.assertEqual(first["stdout"], again["stdout"])

    def test_code_ends_when_its_client_goes(self):
        events = self.daemon.stream(
            "POST", "/v1/run", {"language": "bash", "code": "echo up; sleep 30"}
        )
        events.until("stdout")
        keeper = self.daemon.keeper()
        wait_until(lambda: named(keeper, "sleep"), "the guest's sleep")
        events.close()
        wait_until(lambda: not named(keeper, "sleep"), "the end of the run")


class EmergencyStop(Case):
    def test_it_ends_every_sandbox_and_every_run_and_new_ones_can_be_made_once_it_is_lifted(self):
        sandboxes = [self.create() for _ in range(3)]
        context = sandboxes[0].context()
        running = context.start("import time; print('up', flush=True); time.sleep(600)")
        running.until("stdout")
        one_shot = self.daemon.stream(
            "POST", "/v1/run", {"language": "bash", "code": "echo up; sleep 600"}
        )
        one_shot.until("stdout")
        self.assertGreaterEqual(
            self.daemon.must(200, "POST", "/v1/emergency-stop")["stopped"], 3
        )
        for sandbox in sandboxes:
            self.assertTrue(sandbox.is_gone())
        self.assertIn([*running][-1]["type"], ("failed", "verdict"))
        self.daemon.must(403, "POST", "/v1/sandboxes", {})
        self.daemon.must(204, "DELETE", "/v1/emergency-stop")
        self.assertEqual(self.create().context().value("1"), "1")
        with self.subTest("one-shot runs end too"):
            wait_until(
                lambda: not named(self.daemon.keeper(), "sleep"), "the end of the run", 5
            )


if __name__ == "__main__":
    unittest.main()
