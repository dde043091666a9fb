# SPDX-License-Identifier: Apache-2.0
"""The keeper as a server: one that hangs, callers that go away, and two daemons that want one."""

import contextlib
import json
import os
import pathlib
import resource
import signal
import socket
import subprocess
import threading
import time
import unittest

from daemon import GLOVEBOX, PATIENCE_S, Daemon, wait_until
from traces import Traces, has_ended, name_of, named, outermost, parents

# Within which a keeper that does not respond is found out and told.
TOLD_S = 45
# How long a keeper waits for the lock of one that was killed.
WAITED_FOR_A_DEAD_ONE_S = 10


def threads_of(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def all_stopped(pid):
    for stat in pathlib.Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # A thread that has ended.
            if stat.read_text().rpartition(")")[2].split()[0] != "T":
                return False
    return True


def half_closed(port):
    """Connections to it whose clients have gone and that it still has (proc_net(5): CLOSE_WAIT)."""
    lines = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(line[1].endswith(f":{port:04X}") and line[3] == "08" for line in lines)


class OwnDaemon(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.discard)
        self.daemon.start()
        self.keeper = self.daemon.keeper()
        # A loaded machine takes its time for the first interpreter; no request is to wait for that.
        wait_until(self.is_ready, "that it is warm", 180)

    def is_ready(self):
        return self.daemon.must(200, "GET", "/healthz")["ready"]

    @contextlib.contextmanager
    def stopped(self, pid):
        os.kill(pid, signal.SIGSTOP)
        # The signal wakes one thread, which then stops the others: until then, they go on.
        wait_until(lambda: all_stopped(pid), "that it stands still")
        try:
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def post(self, path, body):
        """A request whose answer nobody has read yet."""
        connection = socket.create_connection(("127.0.0.1", self.daemon.port))
        self.addCleanup(connection.close)
        text = json.dumps(body)
        connection.sendall(
            (
                f"POST {path} HTTP/1.1\r\nHost: localhost\r\nX-API-KEY: {self.daemon.key}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}"
            ).encode()
        )
        return connection


class Hanging(OwnDaemon):
    def test_it_is_told_in_time_and_all_goes_on_afterwards(self):
        sandbox = self.daemon.create()
        context = sandbox.context()
        context.execute("kept = 1")
        stream = context.start("import time; print('begun', flush=True); time.sleep(600)")
        stream.until("stdout")
        with self.stopped(self.keeper):
            began = time.monotonic()
            for method, path, body in (
                ("POST", "/v1/sandboxes", {}),
                ("POST", context.path + "/execute", {"code": "1"}),
                ("GET", sandbox.path + "/contexts", None),
                ("DELETE", sandbox.path, None),
            ):
                answer = self.daemon.ask(method, path, body)
                self.assertEqual(answer.status, 503, f"{method} {path}: {answer}")
                self.assertTrue(answer.json.get("hint"), str(answer))
            self.assertLess(time.monotonic() - began, TOLD_S)
            self.assertFalse(self.is_ready())
            # What was under way learns of it as well.
            self.assertEqual([*stream][-1]["type"], "failed")
        wait_until(self.is_ready, "that it responds again")
        self.assertEqual(self.daemon.keeper(), self.keeper)
        self.assertEqual(self.daemon.create().context().value("2"), "2")

    def test_the_daemon_ends_in_time_and_leaves_nothing(self):
        traces = Traces(self.daemon)
        self.daemon.create().context().execute("1")
        traces.gather()
        with self.stopped(self.keeper):
            self.assertEqual(self.daemon.stop(), 0)
            wait_until(lambda: not list(traces.left()), "the end of everything")

    def test_a_daemon_that_starts_then_says_so(self):
        self.daemon.kill()
        with self.stopped(self.keeper):
            failed = subprocess.run(
                [GLOVEBOX, "serve", "--listen", "127.0.0.1:0", "--data", str(self.daemon.data)],
                capture_output=True,
                timeout=PATIENCE_S,
            )
        self.assertNotEqual(failed.returncode, 0)
        self.assertIn(b"does not respond", failed.stderr)
        self.assertEqual(self.daemon.keeper(), self.keeper)

    def test_one_sandbox_that_hangs_delays_no_other_one_s_end(self):
        # Of a size that no waiting one has: made for this call, with a warden of its own.
        hangs = self.daemon.create(timeout="10m", on_timeout="pause", limits={"disk": "20M"})
        code = "import ctypes, time; ctypes.CDLL(None).prctl(15, b'svc-hangs'); time.sleep(600)"
        hangs.must(201, "POST", "/processes", {"argv": ["python3", "-c", code]})
        inside = wait_until(lambda: named(self.keeper, "svc-hangs"), "its start")[0]
        warden = outermost(inside, self.keeper)
        with self.stopped(warden):
            # Waits for the warden, and keeps whoever wants to pause the sandbox waiting.
            asked = threading.Thread(target=self.daemon.ask, args=("GET", hangs.path + "/usage"))
            asked.start()
            hangs.must(200, "PATCH", "", {"timeout": "1s"})
            ends = [self.daemon.create(timeout="3s") for _ in range(2)]
            for sandbox in ends:
                wait_until(sandbox.is_gone, "the end of another one", 15)
        asked.join(2 * PATIENCE_S)


class Waiting(OwnDaemon):
    def test_executions_whose_clients_have_gone_hold_nothing(self):
        context = self.daemon.create().context()
        running = context.start("import time; print('begun', flush=True); time.sleep(600)")
        running.until("stdout")
        before = threads_of(self.keeper)
        waiting = [self.post(context.path + "/execute", {"code": "x = 1"}) for _ in range(100)]
        wait_until(lambda: threads_of(self.keeper) >= before + 100, "that they wait")
        for connection in waiting:
            connection.close()
        # All of them: one that still waited would have its turn after the interrupt.
        wait_until(lambda: half_closed(self.daemon.port) == 0, "that their going is noticed")
        # Idle connections of the daemon's stay for a while; calls do not.
        wait_until(lambda: threads_of(self.keeper) < before + 50, "that they are let go")
        context.must(204, "POST", "/interrupt")
        self.assertEqual([*running][-1]["type"], "verdict")
        self.assertEqual(context.value("'x' in dir()"), "False")

    def test_no_memory_for_a_call_is_told_and_ends_nothing(self):
        sandbox = self.daemon.create()
        context = sandbox.context()
        context.execute("kept = 1")
        before = resource.prlimit(self.keeper, resource.RLIMIT_DATA)
        status = pathlib.Path(f"/proc/{self.keeper}/status").read_text()
        size = int(status.split("VmData:")[1].split()[0]) * 1024
        resource.prlimit(self.keeper, resource.RLIMIT_DATA, (size + (1 << 20), before[1]))
        answers = []
        try:
            code = "#" + "x" * (4 << 20)
            for _ in range(3):
                answers.append(self.daemon.ask("POST", context.path + "/execute", {"code": code}))
                answers.append(
                    self.daemon.ask("POST", sandbox.path + "/processes", {"argv": ["true"]})
                )
        finally:
            resource.prlimit(self.keeper, resource.RLIMIT_DATA, before)
        self.assertEqual(self.daemon.keeper(), self.keeper, [str(each) for each in answers])
        told = [str(each) for each in answers]
        self.assertTrue(any(each.status in (429, 503) for each in answers), told)
        wait_until(
            lambda: self.daemon.ask("POST", context.path + "/execute", {"code": "1"}).status == 200,
            "an answer again",
        )
        self.assertEqual(context.value("kept"), "1")


class Directory(OwnDaemon):
    def serve(self, *options):
        return subprocess.run(
            [GLOVEBOX, "serve", *options], capture_output=True, timeout=3 * PATIENCE_S, check=False
        )

    def test_it_serves_one_daemon_at_a_time(self):
        sandbox = self.daemon.create()
        second = self.serve(
            "--data", str(self.daemon.data), "--listen", "127.0.0.1:0", "--unix", ""
        )
        self.assertNotEqual(second.returncode, 0)
        self.assertIn(b"another daemon", second.stderr)
        self.assertEqual(sandbox.context().value("1 + 1"), "2")

    def test_a_start_that_fails_leaves_no_keeper(self):
        for broken in ("port", "database"):
            with self.subTest(broken):
                other = Daemon()
                self.addCleanup(other.discard)
                port = 0
                other.data.mkdir(mode=0o700)
                if broken == "port":
                    port = self.daemon.port
                else:
                    (other.data / "glovebox.db").write_bytes(b"no database at all" * 1000)
                failed = self.serve(
                    "--data", str(other.data), "--listen", f"127.0.0.1:{port}", "--unix", ""
                )
                self.assertNotEqual(failed.returncode, 0)
                self.assertIsNone(other.keeper(), "its keeper is still there")

    def test_a_second_one_gives_up_at_once_and_does_not_follow_the_first(self):
        command = [f"/proc/{self.keeper}/exe", "keeper", "--data", str(self.daemon.data)]
        begun = time.monotonic()
        second = subprocess.run(command, capture_output=True, timeout=PATIENCE_S)
        self.assertNotEqual(second.returncode, 0)
        self.assertIn(b"another keeper", second.stderr)
        self.assertLess(time.monotonic() - begun, WAITED_FOR_A_DEAD_ONE_S)

    def test_what_died_with_a_realm_is_cleared_away_though_nobody_asks(self):
        realm = wait_until(self.realm, "a realm with a zygote")
        os.kill(realm, signal.SIGKILL)
        # The last process of a PID namespace goes when all others have been waited for.
        wait_until(lambda: has_ended(realm), "the end of the realm")
        wait_until(self.realm, "another realm")

    def realm(self):
        """The warden whose child is the zygote: the first python of the pool."""
        above = parents()
        wardens = [pid for pid, parent in above.items()
                   if parent == self.keeper and name_of(pid) == "glovebox-warden"]
        return next((pid for pid in wardens if any(
            parent == pid and name_of(child).startswith("python") and child in above.values()
            for child, parent in above.items())), None)

    def test_the_log_of_keepers_is_bounded_and_kept_once(self):
        other = Daemon()
        self.addCleanup(other.discard)
        other.data.mkdir(mode=0o700)
        log, before = other.data / "keeper.log", other.data / "keeper.log.1"
        for text in (b"first", b"second"):
            log.write_bytes(text * 1_000_000)
            other.start()
            self.assertEqual(log.stat().st_size, 0)
            self.assertEqual(before.read_bytes()[:6], (text * 2)[:6])
            other.stop()
        log.write_bytes(b"short\n")
        other.start()
        self.assertEqual(log.read_bytes(), b"short\n")

    def test_a_daemon_that_was_killed_leaves_it_free(self):
        for _ in range(3):
            self.daemon.kill()
            self.daemon.start()
        self.assertEqual(self.daemon.keeper(), self.keeper)


if __name__ == "__main__":
    unittest.main()
