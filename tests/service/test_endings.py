# SPDX-License-Identifier: Apache-2.0
"""What is told of a sandbox that has ended: 410 with the reason, a line in the log, a count."""

import os
import re
import signal
import unittest

from daemon import Daemon, wait_until
from traces import name_of, named, outermost, parents, start_time
from websocket import WebSocket

STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


class Endings(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.discard)
        self.daemon.start()

    def log(self, name="serve.log"):
        return (self.daemon.dir / name).read_text().splitlines()

    def inside(self, sandbox, name):
        """The pid on the host of something in the sandbox that bears `name` now."""
        code = f"import ctypes, time; ctypes.CDLL(None).prctl(15, b'{name}'); time.sleep(600)"
        sandbox.must(201, "POST", "/processes", {"argv": ["python3", "-c", code]})
        return wait_until(lambda: named(self.daemon.keeper(), name), "its start")[0]

    def gone(self, sandbox):
        """The body of the 410 for a sandbox, once it is one."""
        answer = wait_until(
            lambda: (a := self.daemon.ask("GET", sandbox.path)).status == 410 and a, "the end"
        )
        self.assertEqual(answer.json["error"], "gone")
        self.assertEqual(answer.json["code"], 410)
        self.assertRegex(answer.json["ended_at"], f"^{STAMP}$")
        self.assertTrue(answer.json["hint"])
        return answer.json

    def assert_told(self, sandbox, level, reason):
        line = rf"^{STAMP} {level} sandbox {sandbox.id} of tenant default ended: {reason}, at {STAMP}$"
        wait_until(lambda: any(re.match(line, each) for each in self.log()), f"the line {line}")
        told = [each for each in self.log() if sandbox.id in each]
        self.assertEqual(len(told), 1, told)

    def test_every_operation_on_one_that_was_deleted_is_gone(self):
        sandbox = self.daemon.create()
        context = sandbox.context()
        sandbox.kill()
        self.assertEqual(self.gone(sandbox)["reason"], "deleted")
        for method, path, body in (
            ("DELETE", "", None),
            ("PATCH", "", {"timeout": "1m"}),
            ("POST", "/pause", None),
            ("POST", "/resume", None),
            ("POST", "/fork", None),
            ("POST", "/snapshot", {"name": "late"}),
            ("GET", "/usage", None),
            ("POST", "/contexts", {}),
            ("GET", "/contexts", None),
            ("POST", f"/contexts/{context.id}/execute", {"code": "1"}),
            ("POST", f"/contexts/{context.id}/interrupt", None),
            ("POST", "/commands", {"shell": "true"}),
            ("POST", "/processes", {"argv": ["true"]}),
            ("GET", "/files/a", None),
            ("PUT", "/files/a", b"a"),
            ("GET", "/ports/8000/", None),
            ("POST", "/port-tokens", {"port": 8000}),
        ):
            answer = self.daemon.ask(method, sandbox.path + path, body)
            self.assertEqual(answer.status, 410, f"{method} {path}: {answer}")
            self.assertEqual(answer.json["reason"], "deleted", path)
        self.assert_told(sandbox, "info", "deleted")

    def test_a_websocket_to_one_that_was_deleted_is_refused_as_gone(self):
        sandbox = self.daemon.create()
        context = sandbox.context()
        pid = sandbox.must(201, "POST", "/processes", {"argv": ["sleep", "600"]})["pid"]
        sockets = (f"/contexts/{context.id}/execute", f"/processes/{pid}", "/ports/8000/")
        sandbox.kill()
        self.gone(sandbox)
        for path in sockets:
            socket = WebSocket(self.daemon, sandbox.path + path)
            self.addCleanup(socket.socket.close)
            self.assertEqual(socket.status, 410, path)
        missing = WebSocket(self.daemon, "/v1/sandboxes/missing/contexts/default/execute")
        self.addCleanup(missing.socket.close)
        self.assertEqual(missing.status, 404)

    def test_a_process_of_one_that_was_deleted_is_gone_and_one_that_never_was_is_not_there(self):
        sandbox = self.daemon.create()
        pid = sandbox.must(201, "POST", "/processes", {"argv": ["sleep", "600"]})["pid"]
        requests = (("GET", "", None), ("DELETE", "", None), ("POST", "/signal", {"signal": "SIGTERM"}),
                    ("POST", "/stdin", b"late"))
        for method, path, body in requests[1:]:
            sandbox.must(404, method, f"/processes/99999{path}", body)
        sandbox.kill()
        self.gone(sandbox)
        for method, path, body in requests:
            told = sandbox.must(410, method, f"/processes/{pid}{path}", body)
            self.assertEqual((told["error"], told["reason"]), ("gone", "deleted"), path)

    def test_a_context_that_was_deleted_is_gone_and_one_that_never_was_is_not_there(self):
        sandbox = self.daemon.create()
        context = sandbox.context()
        context.must(204, "DELETE")
        told = context.must(410, "POST", "/execute", {"code": "1"})
        self.assertEqual((told["error"], told["reason"]), ("gone", "deleted"))
        self.assertIn(context.id, told["message"])
        sandbox.must(404, "POST", "/contexts/c999/execute", {"code": "1"})
        sandbox.must(404, "GET", "/files/missing")

    def test_one_whose_time_is_over_has_expired(self):
        sandbox = self.daemon.create(timeout="300ms")
        self.assertEqual(self.gone(sandbox)["reason"], "expired")
        self.assert_told(sandbox, "info", "expired")

    def test_one_whose_warden_died_has_crashed(self):
        sandbox = self.daemon.create()
        inside = self.inside(sandbox, "end-crash")
        warden = outermost(inside, self.daemon.keeper())
        self.assertEqual(name_of(warden), "glovebox-warden")
        os.kill(warden, signal.SIGKILL)
        self.assertEqual(self.gone(sandbox)["reason"], "crashed")
        self.assert_told(sandbox, "warning", "crashed")

    def test_one_that_survived_an_out_of_memory_kill_and_crashed_later_has_crashed(self):
        sandbox = self.daemon.create(limits={"memory": "64M"})
        warden = outermost(self.inside(sandbox, "end-later"), self.daemon.keeper())
        done = sandbox.must(200, "POST", "/commands",
                            {"argv": ["python3", "-c", "b'x' * (256 << 20)"]})
        self.assertEqual(done["reason"], "out_of_memory", done)
        self.assertEqual(sandbox.info()["state"], "running")
        # The keeper looks several times a second; these tell that it has.
        for _ in range(2):
            self.gone(self.daemon.create(timeout="500ms"))
        os.kill(warden, signal.SIGKILL)
        self.assertEqual(self.gone(sandbox)["reason"], "crashed")

    def test_an_emergency_stop_is_a_reason(self):
        sandbox = self.daemon.create()
        self.daemon.must(200, "POST", "/v1/emergency-stop")
        self.assertEqual(self.gone(sandbox)["reason"], "emergency_stop")

    def test_the_death_of_the_keeper_is_a_reason(self):
        sandbox = self.daemon.create()
        os.kill(self.daemon.keeper(), signal.SIGKILL)
        self.assertEqual(self.gone(sandbox)["reason"], "keeper_ended")
        self.assert_told(sandbox, "warning", "keeper_ended")

    def test_what_ends_while_no_daemon_is_there_is_told_by_the_next_one(self):
        stopped = self.daemon.create()
        self.daemon.stop()
        self.daemon.start()
        self.assertEqual(self.gone(stopped)["reason"], "keeper_ended")
        expired = self.daemon.create(timeout="15s")
        inside = self.inside(expired, "end-expire")
        lives = self.daemon.create()
        self.daemon.kill()
        # The keeper ends it by itself.
        wait_until(lambda: name_of(inside) != "end-expire", "its end")
        self.daemon.start()
        self.assertEqual(self.gone(expired)["reason"], "expired")
        self.assert_told(expired, "info", "expired")
        self.assertEqual(lives.info()["state"], "running")

    def test_only_its_tenant_learns_of_it_and_e2b_clients_get_their_404(self):
        self.daemon.must(201, "POST", "/v1/tenants", {"name": "other"})
        key = self.daemon.must(
            201, "POST", "/v1/keys", {"tenant": "other", "scopes": ["read", "run", "admin"]}
        )["key"]
        sandbox = self.daemon.create()
        sandbox.kill()
        self.gone(sandbox)
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/files/a")):
            answer = self.daemon.ask(method, sandbox.path + path, key=key)
            self.assertEqual(answer.status, 404, str(answer))
        made = self.daemon.must(201, "POST", "/sandboxes", {"templateID": "base"})
        self.daemon.must(204, "DELETE", f"/sandboxes/{made['sandboxID']}")
        for method, path, body in (("GET", "", None), ("DELETE", "", None),
                                   ("POST", "/timeout", {"timeout": 10})):
            answer = self.daemon.ask(method, f"/sandboxes/{made['sandboxID']}{path}", body)
            self.assertEqual(answer.status, 404, str(answer))


if __name__ == "__main__":
    unittest.main()
