# SPDX-License-Identifier: Apache-2.0
"""Dry runs in contexts: what they show, that they change nothing, and that nothing is mixed with them."""

import json
import select
import unittest

from daemon import Daemon, wait_until
from test_network import FETCH, NetworkCase

EMPTY = {"added": [], "modified": [], "deleted": [], "truncated": False}
LONG = "10m"


class DryRuns(unittest.TestCase):
    """One daemon for all tests of a class, and a context for each test."""

    OPTIONS = []

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        cls.daemon.options = list(cls.OPTIONS)
        cls.daemon.start()

    def setUp(self):
        self.sandbox = self.daemon.create()
        self.addCleanup(self.daemon.ask, "DELETE", self.sandbox.path)
        self.context = self.sandbox.context()

    def dry(self, code, context=None, **wishes):
        verdict = (context or self.context).execute(code, dry_run=True, **wishes)
        self.assertIn("dry_run", verdict, verdict)
        return verdict["dry_run"]

    def decide(self, run, decision, status=204):
        return self.sandbox.must(status, "POST", f"/dry-runs/{run['id']}/{decision}")

    def undecided(self):
        return self.sandbox.must(200, "GET", "/dry-runs")["dry_runs"]

    def names(self, kind):
        return [each["name"] for each in kind]

    def paths(self, kind):
        return [each["path"] for each in kind]

    def value_of_processes(self, word):
        return self.context.execute(
            "import os\n"
            "def words(pid):\n"
            "    try: return open(f'/proc/{pid}/cmdline').read()\n"
            "    except OSError: return ''\n"
            f"print(sum('{word}' in words(pid) for pid in os.listdir('/proc') if pid.isdigit()))"
        )["stdout"].strip()


class ShownTest(DryRuns):
    def test_the_answer_is_that_of_an_execution_and_what_it_changed(self):
        verdict = self.context.execute("print('out'); 6 * 7", dry_run=True)
        self.assertEqual((verdict["status"], verdict["stdout"]), ("ok", "out\n"))
        self.assertEqual(verdict["results"][0]["data"]["text/plain"], "42")
        run = verdict["dry_run"]
        self.assertEqual(run["files"], EMPTY)
        self.assertEqual((run["context"], run["hosts"], run["processes"]), (self.context.id, [], []))
        self.assertEqual(self.undecided(), [run])
        self.decide(run, "discard")

    def test_files_are_told_by_kind_with_their_sizes_and_diffs(self):
        self.context.execute(
            "import os\nopen('old', 'w').write('one\\ntwo\\n'); open('gone', 'w').write('x')\n"
            "os.mkdir('d'); open('d/kept', 'w').write('k'); os.symlink('old', 'link'); os.chmod('gone', 0o600)"
        )
        run = self.dry(
            "open('old', 'w').write('one\\n2\\n'); os.remove('gone')\n"
            "os.mkdir('e'); open('e/new', 'w').write('fresh\\n'); os.remove('link'); os.symlink('d', 'link')\n"
            "os.chmod('d/kept', 0o755)"
        )
        files = run["files"]
        self.assertEqual(self.paths(files["added"]), ["e", "e/new"])
        self.assertEqual(self.paths(files["modified"]), ["d/kept", "link", "old"])
        self.assertEqual(self.paths(files["deleted"]), ["gone"])
        kept, link, old = files["modified"]
        self.assertEqual((old["size_before"], old["size"]), (8, 6))
        self.assertEqual(old["diff"], "--- a/old\n+++ b/old\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n")
        self.assertEqual((kept["mode_before"] & 0o111, kept["mode"]), (0, 0o755))
        self.assertNotIn("diff", kept)
        self.assertEqual(link["type"], "symlink")
        self.assertIn("-old\n", link["diff"])
        self.assertIn("+fresh\n", files["added"][1]["diff"])
        self.assertEqual((files["deleted"][0]["size"], files["added"][0]["type"]), (1, "directory"))
        self.decide(run, "discard")

    def test_no_diff_of_what_is_large_or_no_text(self):
        run = self.dry("open('zero', 'wb').write(b'a\\0b'); open('large', 'w').write('x\\n' * 50000)\n"
                       "open('many', 'w').write('y\\n' * 1000)")
        shown = {each["path"]: "diff" in each for each in run["files"]["added"]}
        self.assertEqual(shown, {"zero": False, "large": False, "many": True})
        self.decide(run, "discard")

    def test_variables_are_told_with_their_values_before_and_now(self):
        self.context.execute("same = 1; changed = [1]; removed = 'r'")
        run = self.dry("changed.append(2); del removed; added = {'a': 1}")
        variables = run["variables"]
        self.assertEqual(self.names(variables["added"]), ["added"])
        self.assertEqual(self.names(variables["removed"]), ["removed"])
        (changed,) = variables["changed"]
        self.assertEqual((changed["name"], changed["value_before"], changed["value"]), ("changed", "[1]", "[1, 2]"))
        self.assertEqual(variables["removed"][0]["value"], "'r'")
        self.decide(run, "discard")

    def test_processes_that_it_left_behind_are_told_and_end_when_it_is_discarded(self):
        run = self.dry(
            "import subprocess\n"
            "left = subprocess.Popen(['sleep', '98765'], start_new_session=True)\n"
            "subprocess.run(['true'])"
        )
        (process,) = run["processes"]
        self.assertEqual(process["command"], "sleep 98765")
        self.assertGreater(process["pid"], 1)
        self.decide(run, "discard")
        self.assertEqual(self.value_of_processes("98765"), "0")

    def test_a_program_that_starts_others_as_fast_as_it_can_ends_too(self):
        run = self.dry(
            "import os, sys, subprocess\n"
            "code = 'import os, time\\nwhile True:\\n  if os.fork(): os.setsid() if os.getpid() != os.getsid(0) else 0; "
            "time.sleep(0.001); os._exit(0)'\n"
            "subprocess.Popen([sys.executable, '-c', code, '55555'], start_new_session=True)\n"
        )
        self.decide(run, "discard")
        self.assertEqual(self.value_of_processes("55555"), "0")

    def test_tools_are_told_and_not_called(self):
        events = self.context.start(
            "try: deploy(version=3)\nexcept Exception as error: print(error)",
            dry_run=True, tools=[{"name": "deploy"}],
        )
        seen = list(events)
        self.assertNotIn("tool_call", [each["type"] for each in seen])
        verdict = seen[-1]
        self.assertIn("this is a dry run", verdict["stdout"])
        (call,) = verdict["dry_run"]["tool_calls"]
        self.assertEqual((call["name"], json.loads(call["arguments"])), ("deploy", {"version": 3}))
        self.decide(verdict["dry_run"], "discard")

    def test_code_that_fails_is_shown_as_far_as_it_came(self):
        verdict = self.context.execute("open('half', 'w').write('h')\n1 / 0", dry_run=True)
        self.assertEqual(verdict["error"]["name"], "ZeroDivisionError")
        self.assertEqual(self.paths(verdict["dry_run"]["files"]["added"]), ["half"])
        self.decide(verdict["dry_run"], "discard")
        self.assertEqual(self.sandbox.must(200, "GET", "/files")["entries"], [])


class DecidedTest(DryRuns):
    CHANGE = "x = 2; open('f', 'w').write('new')"

    def setUp(self):
        super().setUp()
        self.context.execute("x = 1; open('f', 'w').write('old')")

    def state(self):
        return self.context.value("x"), self.sandbox.read("f")

    def test_a_discarded_one_has_never_been(self):
        self.decide(self.dry(self.CHANGE), "discard")
        self.assertEqual(self.state(), ("1", b"old"))
        self.assertEqual(self.undecided(), [])

    def test_a_committed_one_is_as_if_it_had_been_executed(self):
        self.decide(self.dry(self.CHANGE), "commit")
        self.assertEqual(self.state(), ("2", b"new"))

    def test_one_after_the_other_each_shows_its_own_changes(self):
        self.decide(self.dry(self.CHANGE), "commit")
        run = self.dry("y = 3")
        self.assertEqual((self.names(run["variables"]["added"]), run["files"]), (["y"], EMPTY))
        self.decide(run, "discard")
        run = self.dry("x = 4; open('g', 'w').write('g')")
        self.assertEqual(self.paths(run["files"]["added"]), ["g"])
        self.decide(run, "discard")
        self.assertEqual(self.state(), ("2", b"new"))

    def test_one_that_ended_its_interpreter_can_be_discarded(self):
        verdict = self.context.execute("open('f', 'w').write('new')\nimport os; os._exit(3)", dry_run=True)
        run = verdict["dry_run"]
        self.assertNotIn("variables", run)
        self.assertEqual(self.paths(run["files"]["modified"]), ["f"])
        self.decide(run, "discard")
        self.assertEqual(self.state(), ("1", b"old"))

    def test_a_decision_is_made_once_and_about_this_one(self):
        run = self.dry(self.CHANGE)
        for wrong in ("d999", "x", "..%2f"):
            self.sandbox.must(404, "POST", f"/dry-runs/{wrong}/commit")
        self.decide(run, "commit")
        for decision in ("commit", "discard"):
            self.assertEqual(self.decide(run, decision, 404)["error"], "not_found")
        self.assertEqual(self.state(), ("2", b"new"))

    def test_checkpoints_of_before_stay_and_its_own_is_nobodys(self):
        number = self.context.must(201, "POST", "/checkpoint")["checkpoint"]
        self.context.execute("x = 5")
        self.decide(self.dry("x = 6"), "commit")
        self.assertEqual(self.context.must(200, "POST", "/rollback", {})["checkpoint"], number)
        self.assertEqual(self.context.value("x"), "1")

    def test_the_notebook_has_the_cells_that_were_kept(self):
        self.decide(self.dry("'discarded'"), "discard")
        self.decide(self.dry("'committed'"), "commit")
        cells = json.loads(self.context.must(200, "GET", "/notebook").body)["cells"]
        self.assertEqual(["".join(each["source"]) for each in cells[1:]], ["'committed'"])

    def test_files_that_change_after_they_were_shown_are_not_committed_unseen(self):
        # What is left behind writes when this process has ended, which a client may do at any time.
        self.context.execute("import os; os.mkfifo('/tmp/end')")
        process = self.sandbox.must(201, "POST", "/processes", {"argv": ["tee", "/tmp/end"], "stdin": True})["pid"]
        code = "end = open('/tmp/end'); print('on', flush=True); end.read(); open('late', 'w').write('l')"
        run = self.dry(
            "import subprocess, sys\n"
            f"left = subprocess.Popen([sys.executable, '-c', {code!r}], start_new_session=True, stdout=-1)\n"
            "left.stdout.readline()"
        )
        self.assertEqual(run["files"], EMPTY)
        self.sandbox.must(204, "DELETE", f"/processes/{process}")
        wait_until(lambda: self.daemon.ask("GET", self.sandbox.path + "/files/late").status == 200, "it has written")
        refused = self.decide(run, "commit", 409)
        self.assertIn("have changed", refused["message"])
        (shown,) = self.undecided()
        self.assertEqual(self.paths(shown["files"]["added"]), ["late"])
        self.decide(run, "commit")
        self.assertEqual(self.sandbox.read("late"), b"l")


class NothingIsMixedTest(DryRuns):
    def test_whatever_else_would_change_the_sandbox_gets_409_until_it_is_decided(self):
        other = self.sandbox.context()
        process = self.sandbox.must(201, "POST", "/processes", {"argv": ["cat"], "stdin": True})["pid"]
        run = self.dry("x = 1")
        refused = [
            ("POST", f"/contexts/{self.context.id}/execute", {"code": "1"}),
            ("POST", f"/contexts/{self.context.id}/execute", {"code": "1", "dry_run": True}),
            ("POST", f"/contexts/{other.id}/execute", {"code": "1"}),
            ("POST", f"/contexts/{self.context.id}/restart"),
            ("POST", f"/contexts/{self.context.id}/checkpoint"),
            ("POST", f"/contexts/{self.context.id}/rollback", {}),
            ("DELETE", f"/contexts/{self.context.id}"),
            ("POST", "/contexts", {"language": "python"}),
            ("POST", "/processes", {"argv": ["true"]}),
            ("POST", "/commands", {"argv": ["true"]}),
            ("PUT", "/files/f", b"x"),
            ("DELETE", "/files/f"),
            ("POST", "/snapshot", {}),
            ("POST", "/fork", {}),
        ]
        for method, path, *body in refused:
            with self.subTest(path=path, method=method):
                answer = self.sandbox.must(409, method, path, *body)
                self.assertIn(run["id"], answer["message"])
                self.assertIn("commit or discard", answer["hint"])
        self.sandbox.must(200, "GET", "/files")
        self.sandbox.must(200, "GET", "/processes")
        self.sandbox.must(200, "POST", f"/contexts/{self.context.id}/inspect", {"code": "x"})
        self.decide(run, "commit")
        self.assertEqual(other.value("1 + 1"), "2")
        self.sandbox.must(204, "DELETE", f"/processes/{process}")

    def test_it_does_not_begin_beside_another_execution(self):
        other = self.sandbox.context()
        events = other.start("print('on', flush=True)\nwhile True: pass")
        events.until("stdout")
        refused = self.context.must(409, "POST", "/execute", {"code": "1", "dry_run": True})
        self.assertIn("something else executes", refused["message"])
        other.must(204, "POST", "/interrupt")
        list(events)
        self.decide(self.dry("1"), "discard")

    def test_a_sandbox_whose_changes_could_not_all_be_taken_back_has_none(self):
        volume = self.daemon.ask("POST", "/v1/volumes", {"name": "v", "size": "8M"})
        for wishes in ({"user": "root"}, {"volumes": [{"name": "v", "path": "/data"}]}):
            if "volumes" in wishes and volume.status == 501:
                continue  # There are no disk images here.
            answer = self.daemon.ask("POST", "/v1/sandboxes", wishes)
            self.assertEqual(answer.status, 201, answer)
            path = f"/v1/sandboxes/{answer.json['id']}"
            with self.subTest(wishes=wishes):
                refused = self.daemon.must(501, "POST", path + "/contexts/default/execute",
                                           {"code": "1", "dry_run": True})
                self.assertIn("could not be taken back", refused["message"])
            self.daemon.must(204, "DELETE", path)

    def test_other_languages_say_that_they_cannot(self):
        bash = self.sandbox.context("bash")
        refused = bash.must(501, "POST", "/execute", {"code": "true", "dry_run": True})
        self.assertIn("cannot be copied", refused["message"])
        self.assertEqual(bash.execute("echo on")["stdout"], "on\n")

    def test_wishes_that_contradict_each_other_are_refused(self):
        for wishes in ({"recover": True}, {"dry_run_timeout": "2h"}, {"dry_run_timeout": 0},
                       {"dry_run_network": "ajar"}):
            self.context.must(400, "POST", "/execute", {"code": "1", "dry_run": True, **wishes})
        for wishes in ({"dry_run_timeout": "1m"}, {"dry_run_network": "open"}):
            self.context.must(400, "POST", "/execute", {"code": "1", **wishes})
        self.assertEqual(self.undecided(), [])


class TimeTest(DryRuns):
    def test_an_undecided_one_is_discarded_when_its_time_is_over(self):
        self.context.execute("x = 1")
        run = self.dry("x = 2; open('f', 'w').write('f')", dry_run_timeout="300ms")
        wait_until(lambda: not self.undecided(), "the dry run is discarded")
        self.decide(run, "commit", 404)
        self.assertEqual(self.context.value("x"), "1")
        self.assertEqual(self.sandbox.must(200, "GET", "/files")["entries"], [])
        found = wait_until(
            lambda: self.daemon.must(200, "GET", f"/v1/audit?action=dry_run.expire&sandbox={self.sandbox.id}")["records"],
            "the journal tells of it",
        )
        self.assertEqual([each["subject"] for each in found], [run["id"]])

    def test_a_pause_keeps_it_and_what_is_over_by_then_goes_with_the_resumption(self):
        self.context.execute("x = 1")
        run = self.dry("x = 2", dry_run_timeout=LONG)
        self.sandbox.must(204, "POST", "/pause")
        self.sandbox.must(200, "POST", "/resume")
        self.decide(run, "commit")
        self.assertEqual(self.context.value("x"), "2")
        run = self.dry("x = 3", dry_run_timeout="200ms")
        self.sandbox.must(204, "POST", "/pause")
        select.select([], [], [], 0.3)  # The time that is meant to pass.
        self.sandbox.must(200, "POST", "/resume")
        wait_until(lambda: not self.undecided(), "the dry run is discarded")
        self.assertEqual(self.context.value("x"), "2")

    def test_it_waits_on_while_the_daemon_is_another_one(self):
        self.context.execute("x = 1")
        run = self.dry("x = 2", dry_run_timeout=LONG)
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(self.undecided(), [run])
        self.decide(run, "discard")
        self.assertEqual(self.context.value("x"), "1")

    def test_the_end_of_the_sandbox_is_the_end_of_it(self):
        self.dry("x = 2", dry_run_timeout=LONG)
        self.sandbox.must(204, "DELETE")
        self.sandbox.must(410, "GET", "/dry-runs")


class JournalTest(DryRuns):
    def records(self, query):
        return self.daemon.must(200, "GET", f"/v1/audit?limit=1000&sandbox={self.sandbox.id}{query}")["records"]

    def test_its_start_its_end_and_who_decided_are_recorded(self):
        run = self.dry("secret = 'hunter2'; open('f', 'w').write('hunter2')")
        self.decide(run, "commit")
        start, end = self.records("&action=execute")[-2:]
        self.assertEqual((start["action"], start["details"]["dry_run"]), ("execute.start", True))
        self.assertFalse(start["details"]["network_open"])
        self.assertEqual(end["details"]["dry_run"], {"id": run["id"], "added": 1, "modified": 0, "deleted": 0})
        (decided,) = self.records("&action=dry_run")
        self.assertEqual((decided["action"], decided["subject"]), ("dry_run.commit", run["id"]))
        self.assertTrue(decided["key"])
        text = "".join(path.read_text() for path in (self.daemon.data / "audit").glob("*.jsonl"))
        self.assertNotIn("hunter2", text)


class HostileTest(DryRuns):
    def test_what_the_code_says_of_itself_is_data(self):
        run = self.dry(
            "class Odd:\n    def __repr__(self): return '\\x1b[2J\"},{' * 10**5\n"
            "globals()['a\\n\"b'] = Odd(); open('n\\n+++ x', 'w').write('\\x1b[31m')"
        )
        names = self.names(run["variables"]["added"])
        self.assertIn('a\n"b', names)
        self.assertTrue(all(len(each["value"]) <= 1100 for each in run["variables"]["added"]))
        (added,) = run["files"]["added"]
        self.assertEqual(added["path"], "n\n+++ x")
        self.assertEqual(added["diff"].count("\n+++ "), 1)
        self.decide(run, "discard")

    def test_a_write_that_leaves_no_trace_in_the_times_of_a_file_is_seen_and_taken_back(self):
        self.context.execute("open('f', 'wb').write(b'a' * 5000)")
        write = (
            "import mmap, os\nfd = os.open('f', os.O_RDWR)\nm = mmap.mmap(fd, 5000)\nm[0:1]\n"
            "before = os.stat('f').st_ctime_ns\nm[0:1] = b'b'\nm.close(); os.close(fd)\n"
            "print(before == os.stat('f').st_ctime_ns)"
        )
        for decision, first in (("discard", b"a"), ("commit", b"b")):
            verdict = self.context.execute(write, dry_run=True)
            self.assertEqual(self.paths(verdict["dry_run"]["files"]["modified"]), ["f"], verdict["stdout"])
            self.decide(verdict["dry_run"], decision)
            self.assertEqual(self.sandbox.read("f")[:1], first)

    def test_more_than_anybody_reads_is_cut_and_said_so(self):
        run = self.dry(
            "for i in range(3000): globals()[f'v{i}'] = 'x' * 500; open(f'f{i}', 'w').write('y\\n' * 200)"
        )
        self.assertLessEqual(len(run["files"]["added"]), 1000)
        self.assertLessEqual(len(run["variables"]["added"]), 300)
        self.assertTrue(run["files"]["truncated"] and run["variables"]["truncated"])
        self.assertLess(len(json.dumps(run)), 2 << 20)
        self.decide(run, "discard")
        self.assertEqual(self.sandbox.must(200, "GET", "/files")["entries"], [])

    def test_a_value_whose_representation_never_ends_holds_up_nothing_for_long(self):
        verdict = self.context.execute(
            "class Endless:\n    def __repr__(self):\n        while True: pass\nx = Endless()", dry_run=True
        )
        self.assertNotIn("variables", verdict["dry_run"])
        self.decide(verdict["dry_run"], "discard")
        self.assertEqual(self.context.value("1 + 1"), "2")


class NetworkTest(NetworkCase):
    reach = "any"

    def setUp(self):
        super().setUp()
        self.sandbox = self.create_for_here()

    def dry_fetch(self, **wishes):
        verdict = self.sandbox.must(
            200, "POST", "/contexts/default/execute",
            {"code": FETCH + f"print(fetch({self.url!r}))", "dry_run": True, **wishes},
        )
        return verdict["stdout"], verdict["dry_run"]

    def discard(self, run):
        self.sandbox.must(204, "POST", f"/dry-runs/{run['id']}/discard")

    def test_nothing_goes_out_and_the_host_is_told(self):
        said, run = self.dry_fetch()
        self.assertIn("403", said)
        self.assertEqual(self.web.requests, [])
        self.assertEqual(run["hosts"], [{"host": "127.0.0.1", "port": self.web.port, "verdict": "denied"}])
        self.discard(run)
        self.assertNotIn("403", self.fetch(self.sandbox, self.url))
        self.assertEqual(len(self.web.requests), 1)

    def test_it_is_open_to_whoever_says_so(self):
        said, run = self.dry_fetch(dry_run_network="open")
        self.assertNotIn("403", said)
        self.assertEqual([each["verdict"] for each in run["hosts"]], ["allowed"])
        self.discard(run)

    def test_a_connection_of_before_is_cut(self):
        execute = "/contexts/default/execute"
        self.sandbox.must(
            200, "POST", execute,
            {"code": "import socket, os, urllib.parse\n"
                     "proxy = urllib.parse.urlsplit(os.environ['http_proxy'])\n"
                     "kept = socket.create_connection((proxy.hostname, proxy.port))\n"
                     f"kept.sendall(b'CONNECT {self.here} HTTP/1.1\\r\\nHost: {self.here}\\r\\n\\r\\n'); print(kept.recv(100))"})
        verdict = self.sandbox.must(
            200, "POST", execute,
            {"code": "kept.settimeout(30)\ntry: print(kept.recv(100))\nexcept OSError as e: print(type(e).__name__)",
             "dry_run": True})
        self.assertIn(verdict["stdout"].strip(), ("b''", "ConnectionResetError"))
        self.assertEqual(self.web.requests, [])
        self.discard(verdict["dry_run"])

    def test_the_rules_stay_as_they_are_while_it_is_undecided(self):
        _, run = self.dry_fetch()
        refused = self.sandbox.must(409, "PATCH", "", {"network": {"allow": ["example.com:443"]}})
        self.assertIn(run["id"], refused["message"])
        self.discard(run)


if __name__ == "__main__":
    unittest.main()
