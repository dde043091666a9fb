# SPDX-License-Identifier: Apache-2.0
"""Policies of a daemon and of sandboxes, and the people whom they ask."""

import concurrent.futures
import json
import pathlib
import re
import subprocess
import tempfile
import unittest

from approving import Approving
from daemon import GLOVEBOX, LINES, Daemon, wait_until
from tenant import Tenant
from websocket import WebSocket

POLICY = """
[python.calls]
refuse = ["os.system"]
ask = ["eval"]
[commands]
refuse = ["rm -r /"]
ask = ["touch"]
"""
# Of an approval: what nobody decides about fails its test long before.
LONG = "10m"
MOST_WAITING = 16


def start_daemon(case, *options):
    daemon = Daemon()
    case.addClassCleanup(daemon.discard)
    policy = daemon.dir / "policy.toml"
    policy.write_text(POLICY)
    policy.chmod(0o644)
    daemon.options = ["--policy", str(policy), *options]
    return daemon.start()


class Asked(Approving, unittest.TestCase):
    """One daemon with a policy, whose questions wait for long."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = start_daemon(cls, "--approval-time", LONG)

    def start(self, code, **wishes):
        """The events of a run that is asked about, and the question."""
        events = self.daemon.stream("POST", "/v1/run", {"language": "python", "code": code, **wishes})
        self.addCleanup(events.close)
        return events, events.until("approval_needed")

    def run_code(self, code):
        return self.daemon.ask("POST", "/v1/run", {"language": "python", "code": code})

    def end(self, events):
        return list(events)[-1]


class RefusedTest(Asked):
    def refused(self, answer, reason):
        self.assertEqual(answer.status, 403, answer)
        self.assertEqual(answer.json["error"], "refused")
        self.assertIn(reason, answer.json["message"])
        self.assertTrue(answer.json["hint"])

    def test_a_run_is_refused_with_the_place_of_the_finding(self):
        self.refused(self.run_code("import os\nos.system('id')"), "B605 at code:2:1")
        self.assertEqual(self.run_code("print(6 * 7)").json["stdout"], "42\n")

    def test_a_cell_is_refused_and_its_context_goes_on(self):
        context = self.daemon.create().context()
        context.execute("x = 1")
        self.refused(self.daemon.ask("POST", context.path + "/execute",
                                     {"code": "x = 2\nimport os\nos.system('id')"}), "B605")
        self.assertEqual(context.value("x"), "1")

    def test_a_name_of_an_earlier_cell_is_known_also_in_a_fork_of_its_context(self):
        context = self.daemon.create().context()
        context.execute("import os as innocent")
        context.execute("%%bash\necho this is no Python")
        number = context.must(201, "POST", "/checkpoint")["checkpoint"]
        fork = context.must(201, "POST", "/fork", {"checkpoint": number})["id"]
        for path in (context.path, f"{context.sandbox.path}/contexts/{fork}"):
            self.refused(self.daemon.ask("POST", path + "/execute",
                                         {"code": "x = 1\ninnocent.system('id')"}), "B605 at code:2:1")

    def test_a_cell_that_overtakes_another_does_not_escape_its_names(self):
        context = self.daemon.create().context()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for number in range(4):
                first = pool.submit(context.execute, f"import os as o{number}")
                cells = [pool.submit(self.daemon.ask, "POST", context.path + "/execute",
                                     {"code": f"o{number}.system('echo escaped')"}) for _ in range(3)]
                first.result()
                for cell in cells:
                    # Either it was analysed after the other, or it ran before.
                    answer = cell.result()
                    self.assertTrue(answer.status == 403 or answer.json["error"]["name"] == "NameError",
                                    answer)
                    self.assertFalse(answer.status == 200 and answer.json["stdout"], answer)

    def test_a_cell_over_a_websocket_is_no_way_around(self):
        context = self.daemon.create().context()
        with WebSocket(self.daemon, context.path + "/execute") as socket:
            socket.send(json.dumps({"code": "import os\nos.system('id')"}))
            self.assertIn("B605", socket.receive())

    def test_commands_and_processes_are_refused_by_their_words(self):
        sandbox = self.daemon.create()
        for argv in (["rm", "-rf", "/"], ["sh", "-c", "true; rm -r -f //"],
                     ["env", "X=1", "bash", "-c", "r='rm'; $r -fr /"]):
            for route in ("/commands", "/processes"):
                with self.subTest(argv=argv, route=route):
                    self.refused(self.daemon.ask("POST", sandbox.path + route, {"argv": argv}), "code:1:")
        self.assertEqual(sandbox.must(200, "POST", "/commands", {"argv": ["echo", "rm -rf /"]})["stdout"],
                         "rm -rf /\n")

    def test_a_judged_program_and_its_checker_are_checked(self):
        bad, good = "import os\nos.system('id')", "print(1)"
        for program, checker in ((bad, None), (good, bad)):
            body = {"language": "python", "code": program, "cases": [{"expected": "1\n"}]}
            if checker:
                body["checker"] = {"language": "python", "code": checker}
            self.refused(self.daemon.ask("POST", "/v1/judge", body), "B605")

    def test_commands_that_build_a_template_are_checked(self):
        for recipe in ({"commands": ["rm -rf /"]}, {"start": "rm -rf /"}):
            self.assertIn("policy", json.dumps(self.built({"name": "bad", **recipe})))
        self.daemon.must(404, "GET", "/v1/templates/bad")

    def built(self, recipe):
        answer = self.daemon.ask("POST", "/v1/templates", recipe, headers={"Accept": LINES})
        return json.loads(answer.body.splitlines()[-1])

    def test_what_is_typed_later_cannot_be_analysed_and_is_asked_about(self):
        sandbox = self.daemon.create()
        for wish in ({"stdin": True}, {"terminal": {"columns": 80, "rows": 24}}):
            with self.subTest(**wish), concurrent.futures.ThreadPoolExecutor() as pool:
                process = pool.submit(self.daemon.ask, "POST", sandbox.path + "/processes",
                                      {"argv": ["cat"], **wish})
                question = wait_until(self.waiting, "the question")[0]
                self.assertEqual((question["kind"], question["sandbox"]), ("command", sandbox.id))
                self.decide(question, "refuse")
                self.assertEqual(process.result().status, 403)


class AnalysisTest(Asked):
    def test_a_finding_has_the_same_place_as_on_the_command_line(self):
        python = "é = '😀' + '\\\\' + \"'\" + '\\N{BULLET}'\nimport os; os.system(é)\n"
        for language, code in (("python", python), ("bash", "echo é '\\'\nif :; then rm -fr //; fi\n")):
            with self.subTest(code=code):
                checked = subprocess.run(
                    [GLOVEBOX, "policy", "check", "--json", "-l", language,
                     str(self.daemon.dir / "policy.toml"), "-"],
                    input=code, capture_output=True, text=True, check=False)
                finding = json.loads(checked.stdout)["findings"][0]
                answer = self.daemon.ask("POST", "/v1/run", {"language": language, "code": code})
                self.assertEqual(answer.status, 403, answer)
                self.assertIn(f"{finding['line']}:{finding['column']}", answer.json["message"])

    def test_a_program_that_takes_too_much_to_analyse_is_asked_about(self):
        for code in ("(" * 200_000, "x = " + "[" * 900 + "]" * 900, "a.b" + ".c" * 50_000):
            with self.subTest(code=code[:20]):
                _, question = self.start(code)
                self.assertEqual(question["findings"][0]["rule"], "unparsed")
                self.refuse_all()

    def test_a_program_that_was_allowed_runs(self):
        answer = self.run_code("print('é😀', 6 * 7)")
        self.assertEqual(answer.json["stdout"], "é😀 42\n", answer)


class ApprovalTest(Asked):
    def test_what_a_person_agrees_to_runs(self):
        events, question = self.start("print(eval('6 * 7'))")
        listed = self.waiting()
        self.assertEqual([each["id"] for each in listed], [question["id"]])
        self.assertEqual(listed[0]["code"], "print(eval('6 * 7'))")
        self.assertEqual(listed[0]["findings"], question["findings"])
        self.decide(listed[0], "allow")
        verdict = self.end(events)
        self.assertEqual((verdict["type"], verdict["stdout"]), ("verdict", "42\n"))
        self.assertEqual(self.waiting(), [])

    def test_what_a_person_refuses_does_not_run(self):
        events, question = self.start("eval('1')")
        self.decide(question, "refuse")
        failed = self.end(events)
        self.assertEqual((failed["type"], failed["code"]), ("failed", 403))
        self.assertIn("a person refused", failed["message"])

    def test_an_answer_to_another_hash_decides_nothing(self):
        events, question = self.start("print(eval('1'))")
        self.decide({**question, "hash": "0" * 64}, "allow", status=409)
        self.decide(question, "allow")
        self.assertEqual(self.end(events)["type"], "verdict")

    def test_of_people_who_decide_at_once_one_decides(self):
        events, question = self.start("print(eval('1'))")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            statuses = [answer.status for answer in pool.map(
                lambda _: self.decide(question, "allow", status=None), range(8))]
        self.assertEqual(sorted(statuses), [204] + 7 * [409])
        self.assertEqual(self.end(events)["type"], "verdict")

    def test_an_answer_cannot_be_used_again(self):
        events, question = self.start("print(eval('1'))")
        self.decide(question, "allow")
        self.end(events)
        self.decide(question, "allow", status=409)
        again, other = self.start("print(eval('1'))")
        self.assertEqual(other["hash"], question["hash"])
        self.assertNotEqual(other["id"], question["id"])
        self.decide({**question, "id": other["id"]}, "refuse")
        self.assertEqual(self.end(again)["type"], "failed")

    def test_remembering_is_about_exactly_this_program_and_what_it_gets(self):
        events, question = self.start("print(eval('2'))")
        self.decide(question, "allow", remember=True)
        self.end(events)
        self.assertEqual(self.run_code("print(eval('2'))").json["stdout"], "2\n")
        for change in ({"code": "print(eval('2')) "}, {"stdin": "x"}, {"env": {"A": "1"}},
                       {"arguments": ["x"]}, {"files": {"a": "b"}}, {"user": "root"}):
            with self.subTest(**change):
                events, other = self.start(**{"code": "print(eval('2'))", **change})
                self.assertNotEqual(other["hash"], question["hash"])
                self.decide(other, "refuse")
                self.end(events)

    def test_another_tenant_neither_sees_nor_decides(self):
        other = Tenant(self.daemon, "strangers")
        key = self.daemon.must(201, "POST", "/v1/keys",
                               {"tenant": "strangers", "scopes": ["read", "approve"]})["key"]
        events, question = self.start("eval('1')")
        self.assertEqual(other.must(200, "GET", "/v1/approvals")["approvals"], [])
        reply = {"decision": "allow", "hash": question["hash"]}
        answer = self.daemon.ask("POST", f"/v1/approvals/{question['id']}", reply, key=key)
        self.assertEqual(answer.status, 404, answer)
        self.decide(question, "refuse")
        self.end(events)

    def test_the_key_that_runs_it_cannot_agree_to_it(self):
        key = self.daemon.must(201, "POST", "/v1/keys", {"scopes": ["run", "read"]})["key"]
        events, question = self.start("eval('1')")
        reply = {"decision": "allow", "hash": question["hash"]}
        answer = self.daemon.ask("POST", f"/v1/approvals/{question['id']}", reply, key=key)
        self.assertEqual(answer.status, 403, answer)
        self.assertIn("'approve'", answer.json["message"])
        self.decide(question, "refuse")
        self.end(events)

    def test_who_leaves_takes_the_question_with_them(self):
        events, _ = self.start("eval('1')")
        events.close()
        wait_until(lambda: not self.waiting(), "nothing waits")

    def test_a_tenant_has_so_many_questions_and_no_more(self):
        asked = [self.start(f"eval('{number}')") for number in range(MOST_WAITING)]
        answer = self.run_code("eval('one more')")
        self.assertEqual(answer.status, 429, answer)
        self.decide(asked[0][1], "refuse")
        self.end(asked[0][0])
        events, _ = self.start("eval('one more')")
        events.close()

    def test_a_command_line_lists_shows_and_decides(self):
        def approve(*words):
            return subprocess.run([GLOVEBOX, "approve", *words, "--url", f"unix:{self.daemon.unix}"],
                                  capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
        events, question = self.start("print(eval('3'))  # \x1b]0;x\x07")
        self.assertIn(question["id"], approve().stdout)
        unsure = approve(question["id"])
        self.assertEqual(unsure.returncode, 2, unsure)
        self.assertIn("--yes or --refuse", unsure.stderr)
        done = approve(question["id"], "--yes")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("B307", done.stderr)
        self.assertNotIn("\x1b", done.stderr)
        self.assertEqual(self.end(events)["stdout"], "3\n")


class KilledTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = start_daemon(cls, "--approval-time", LONG)

    def test_what_waits_when_the_daemon_dies_has_not_run(self):
        context = self.daemon.create().context()
        context.execute("x = 1")
        events = context.start("x = eval('2')")
        self.addCleanup(events.close)
        question = events.until("approval_needed")
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(self.daemon.must(200, "GET", "/v1/approvals")["approvals"], [])
        self.daemon.must(404, "POST", f"/v1/approvals/{question['id']}",
                         {"decision": "allow", "hash": question["hash"]})
        self.assertEqual(context.value("x"), "1")


class InTimeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = start_daemon(cls, "--approval-time", "1s")

    def test_what_nobody_decides_in_time_does_not_run(self):
        answer = self.daemon.ask("POST", "/v1/run", {"language": "python", "code": "eval('1')"})
        self.assertEqual(answer.status, 403, answer)
        self.assertIn("in time", answer.json["message"])


class OfASandboxTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        cls.daemon.start()

    BAD = "import os\nos.system('true')"

    def test_it_holds_in_that_sandbox_its_forks_and_after_a_restart(self):
        checked = self.daemon.create(policy=["untrusted"])
        free = self.daemon.create()
        self.assertEqual(checked.info()["policy"], ["untrusted"])
        fork = checked.must(201, "POST", "/fork", {})["sandboxes"][0]["id"]
        contexts = {}
        for name, path in (("checked", checked.path), ("free", free.path), ("fork", f"/v1/sandboxes/{fork}")):
            made = self.daemon.must(201, "POST", path + "/contexts", {"language": "python"})
            contexts[name] = f"{path}/contexts/{made['id']}"
        for _ in range(2):
            statuses = {name: self.daemon.ask("POST", path + "/execute", {"code": self.BAD}).status
                        for name, path in contexts.items()}
            self.assertEqual(statuses, {"checked": 403, "free": 200, "fork": 403})
            self.daemon.kill()
            self.daemon.start()

    def test_a_run_may_ask_for_one(self):
        body = {"language": "python", "code": self.BAD}
        self.daemon.must(200, "POST", "/v1/run", body)
        self.daemon.must(403, "POST", "/v1/run", {**body, "policy": ["untrusted"]})

    def test_an_unknown_name_is_refused_and_the_known_ones_are_listed(self):
        problem = self.daemon.must(400, "POST", "/v1/sandboxes", {"policy": ["untrustd"]})
        self.assertIn("'untrustd'", problem["message"])
        self.assertIn("untrusted", problem["hint"])


class OfATenantTest(unittest.TestCase):
    """Policies of one tenant, beside one for all."""

    CALLS = "import os\nos.system('true')"
    NAMES = "import socket"

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        words = []
        for option, text in (("--policy ", '[python.calls]\nrefuse = ["os.system"]\n'),
                             ("--tenant-policy held=", '[python.modules]\nrefuse = ["socket"]\n'),
                             ("--tenant-policy held=", '[commands]\nrefuse = ["rm"]\n')):
            policy = cls.daemon.dir / f"{len(words)}.toml"
            policy.write_text(text)
            policy.chmod(0o644)
            words += f"{option}{policy}".split()
        cls.daemon.options = words
        cls.daemon.start()
        cls.held, cls.free = (Tenant(cls.daemon, name) for name in ("held", "free"))

    def run_of(self, tenant, code, **more):
        return tenant.ask("POST", "/v1/run", {"language": "python", "code": code, **more})

    def test_they_hold_for_that_tenant_beside_those_for_all(self):
        self.assertEqual([self.run_of(tenant, code).status for tenant in (self.held, self.free)
                          for code in (self.CALLS, self.NAMES, "print(1)")],
                         [403, 403, 200, 403, 200, 200])

    def test_they_hold_in_its_sandboxes_whatever_policy_these_ask_for(self):
        for tenant, status in ((self.held, 403), (self.free, 200)):
            path = tenant.sandbox(policy=["coding-agent"])
            made = tenant.must(201, "POST", path + "/contexts", {"language": "python"})["id"]
            for code, expected in ((self.NAMES, status), ("print(1)", 200)):
                answer = tenant.ask("POST", f"{path}/contexts/{made}/execute", {"code": code})
                self.assertEqual(answer.status, expected, answer)

    def test_they_are_walls_for_that_tenant_alone(self):
        code, env = CommandsTest.CODE, {"PROGRAM": "rm"}
        self.assertEqual([self.run_of(tenant, code, env=env).json["stdout"]
                          for tenant in (self.held, self.free)], ["refused\n", "0\n"])
        self.assertEqual([tenant.must(200, "GET", tenant.sandbox())["walls"].get("exec") == "rules"
                          for tenant in (self.held, self.free)], [True, False])

    def test_a_tenant_that_does_not_exist_is_told_of_at_the_start(self):
        daemon = Daemon()
        self.addCleanup(daemon.discard)
        daemon.options = ["--tenant-policy", "default=untrusted", "--tenant-policy", "lab=untrusted"]
        daemon.start()
        said = (daemon.dir / "serve.log").read_text()
        self.assertIn("'lab'", said)
        self.assertNotIn("'default'", said)
        # It holds once there is one.
        lab = Tenant(daemon, "lab")
        self.assertEqual(self.run_of(lab, self.CALLS).status, 403)


class OfATemplateTest(unittest.TestCase):
    """Policies that a recipe names hold wherever its template goes."""

    BAD = OfASandboxTest.BAD

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        cls.daemon.start()
        cls.build("strict", policy=["untrusted"])

    @classmethod
    def build(cls, name, **recipe):
        (*_, last) = cls.daemon.stream("POST", "/v1/templates", {"name": name, **recipe})
        if last["type"] != "built":
            raise AssertionError(last)
        return last["template"]

    def from_dockerfile(self, name, text):
        directory = self.daemon.dir / name
        directory.mkdir()
        (directory / "Dockerfile").write_text(text)
        made = subprocess.run(
            [GLOVEBOX, "template", "build", directory, "-t", name, "--url", f"unix:{self.daemon.unix}"],
            capture_output=True, check=False, timeout=120)
        self.assertEqual(made.returncode, 0, made)

    def statuses(self, template):
        """Of the same program in a sandbox of it, and in a run."""
        sandbox = self.daemon.create(template=template)
        executed = self.daemon.ask(
            "POST", f"{sandbox.path}/contexts/{sandbox.context().id}/execute", {"code": self.BAD})
        sandbox.kill()
        body = {"language": "python", "code": self.BAD, "template": template}
        return executed.status, self.daemon.ask("POST", "/v1/run", body).status

    def test_they_hold_in_its_sandboxes_and_runs(self):
        self.build("free")
        self.assertEqual(self.statuses("free"), (200, 200))
        self.assertEqual(self.statuses("strict"), (403, 403))

    def test_they_are_shown_and_add_up_with_those_of_a_request(self):
        self.assertEqual(self.daemon.must(200, "GET", "/v1/templates/strict")["policy"], ["untrusted"])
        sandbox = self.daemon.create(template="strict", policy=["grader"])
        self.assertEqual(sandbox.info()["policy"], ["grader", "untrusted"])

    def test_they_hold_in_templates_that_are_built_on_it(self):
        self.build("more", base="strict", commands=["true"], policy=["coding-agent"])
        self.assertEqual(self.daemon.must(200, "GET", "/v1/templates/more")["policy"],
                         ["coding-agent", "untrusted"])
        self.from_dockerfile("image", "FROM default AS other\nFROM strict\nRUN true\n")
        for template in ("more", "image"):
            self.assertEqual(self.statuses(template), (403, 403), template)

    def test_they_hold_in_snapshots_also_when_it_is_replaced(self):
        self.build("fleeting", policy=["untrusted"])
        sandbox = self.daemon.create(template="fleeting")
        before = sandbox.context()
        sandbox.must(201, "POST", "/snapshot", {"name": "kept"})
        self.build("fleeting")
        self.assertEqual(self.statuses("fleeting"), (200, 200))
        self.assertEqual(self.statuses("kept"), (403, 403))
        executed = self.daemon.ask("POST", f"{sandbox.path}/contexts/{before.id}/execute",
                                   {"code": self.BAD})
        self.assertEqual(executed.status, 403)

    def test_an_unknown_name_builds_nothing(self):
        answer = self.daemon.ask("POST", "/v1/templates", {"name": "typo", "policy": ["untrustd"]})
        self.assertIn("untrustd", str(answer))
        self.assertEqual(self.daemon.ask("GET", "/v1/templates/typo").status, 404)


class CommandsTest(unittest.TestCase):
    """What only shows when a program runs: the kernel refuses what the policy does."""

    # Nothing that an analysis could find: the name comes from outside.
    CODE = """
import os, subprocess
try:
    print(subprocess.run([os.environ["PROGRAM"], "--version"], capture_output=True).returncode)
except PermissionError as error:
    print("refused")
"""

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        policy = cls.daemon.dir / "policy.toml"
        policy.write_text("[commands]\nrefuse = ['rm']\n")
        policy.chmod(0o644)
        cls.daemon.options = ["--policy", str(policy)]
        cls.daemon.start()

    def outputs(self, path, **more):
        return [self.daemon.must(200, "POST", path, {"code": self.CODE, "env": {"PROGRAM": program},
                                                     **more})["stdout"]
                for program in ("rm", "ls")]

    def test_a_run_starts_no_refused_program(self):
        self.assertEqual(self.outputs("/v1/run", language="python"), ["refused\n", "0\n"])

    def test_a_judged_program_starts_none_either(self):
        body = {"language": "python", "code": self.CODE, "env": {"PROGRAM": "rm"},
                "cases": [{"input": "", "expected": "refused\n"}]}
        self.assertEqual(self.daemon.must(200, "POST", "/v1/judge", body)["verdict"], "AC")

    def test_a_sandbox_and_its_forks_start_none_either(self):
        sandbox = self.daemon.create()
        self.assertEqual(sandbox.info()["walls"]["exec"], "rules")
        fork = sandbox.must(201, "POST", "/fork", {})["sandboxes"][0]["id"]
        for path in (sandbox.path, f"/v1/sandboxes/{fork}"):
            made = self.daemon.must(201, "POST", path + "/contexts", {"language": "python"})
            self.assertEqual(self.outputs(f"{path}/contexts/{made['id']}/execute"),
                             ["refused\n", "0\n"])


class TierTest(unittest.TestCase):
    """A policy that demands a tier which is stronger than the usual one."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        policy = cls.daemon.dir / "strong.toml"
        policy.write_text('min_tier = "gvisor"\n')
        policy.chmod(0o644)
        cls.daemon.options = ["--policy", str(policy)]
        cls.daemon.start()

    def test_sandboxes_get_the_tier_or_none(self):
        for path, body in [("/v1/run", {"language": "sh", "code": "true"}), ("/v1/sandboxes", {})]:
            answer = self.daemon.ask("POST", path, body)
            if answer.status in (200, 201):
                self.assertEqual(answer.json["tier"], "gvisor")
            else:
                self.assertEqual(answer.status, 501, answer)
                self.assertIn("runsc", answer.json["message"])

    def test_a_request_for_a_weaker_tier_is_refused(self):
        for path, body in [("/v1/run", {"language": "sh", "code": "true"}), ("/v1/sandboxes", {})]:
            answer = self.daemon.must(403, "POST", path, {**body, "tier": "native"})
            self.assertIn("requires tier 'gvisor'", answer["message"])


class UsualTierTest(unittest.TestCase):
    """An operator who says of which tier sandboxes are whose request does not."""

    def serve(self, *options):
        daemon = Daemon()
        self.addCleanup(daemon.discard)
        daemon.options = ["--tier", "landlock", *options]
        daemon.start()
        return daemon

    def tiers(self, daemon, **wishes):
        return [daemon.must(status, "POST", path, {**body, **wishes})["tier"]
                for status, path, body in [(200, "/v1/run", {"language": "sh", "code": "true"}),
                                           (201, "/v1/sandboxes", {})]]

    def test_it_is_that_of_all_who_name_none(self):
        daemon = self.serve()
        self.assertEqual(self.tiers(daemon), ["landlock"] * 2)
        self.assertEqual(self.tiers(daemon, tier="native"), ["native"] * 2)
        self.assertEqual(self.tiers(daemon, min_tier="native"), ["native"] * 2)

    def test_a_policy_that_demands_a_stronger_one_comes_first(self):
        policy = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "strong.toml"
        policy.write_text('min_tier = "native"\n', encoding="ascii")
        self.assertEqual(self.tiers(self.serve("--policy", str(policy))), ["native"] * 2)

    def test_a_daemon_does_not_start_with_an_unknown_one(self):
        ended = subprocess.run([GLOVEBOX, "serve", "--tier", "gviser"], capture_output=True,
                               text=True, check=False, timeout=60)
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("--tier: unknown tier 'gviser'", ended.stderr)


class UnknownTierTest(unittest.TestCase):
    def test_a_daemon_does_not_start_with_it(self):
        daemon = Daemon()
        self.addCleanup(daemon.discard)
        policy = daemon.dir / "wrong.toml"
        policy.write_text('min_tier = "gviser"\n')
        policy.chmod(0o644)
        ended = subprocess.run([GLOVEBOX, "serve", "--policy", str(policy)], capture_output=True,
                               text=True, check=False, timeout=60)
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("unknown tier 'gviser'", ended.stderr)

if __name__ == "__main__":
    unittest.main()
