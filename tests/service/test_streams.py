# SPDX-License-Identifier: Apache-2.0
"""Event streams of processes: whoever follows one costs a connection, and no thread anywhere."""

import json
import pathlib
import socket
import unittest

from daemon import LINES, Case, Daemon
from tenant import Tenant

FOLLOWERS = 200
# Beside the followers': handlers that were started for requests, and what goes on by itself.
FEW_THREADS = 40
SSE = "text/event-stream"


def threads(pid):
    return len(list(pathlib.Path(f"/proc/{pid}/task").iterdir()))


class Streams(Case):
    def process(self, sandbox, command):
        return sandbox.must(201, "POST", "/processes", {"argv": ["sh", "-c", command],
                                                        "stdin": True})["pid"]

    def follow(self, sandbox, pid, **how):
        return self.daemon.stream("GET", f"{sandbox.path}/processes/{pid}", **how)

    def write(self, sandbox, pid, text):
        sandbox.must(204, "POST", f"/processes/{pid}/stdin", text.encode())

    def test_followers_hold_no_thread_and_all_of_them_are_told(self):
        sandbox = self.create(timeout="10m")
        pid = self.process(sandbox, "read line; echo got $line; exit 3")
        ours = (self.daemon.process.pid, self.daemon.keeper())
        before = {each: threads(each) for each in ours}
        followers = [self.follow(sandbox, pid) for _ in range(FOLLOWERS)]
        for follower in followers:
            self.assertEqual(follower.until("started")["pid"], pid)
        for each in ours:
            self.assertLess(threads(each), before[each] + FEW_THREADS)
        self.assertEqual(sandbox.context().value("6 * 7"), "42")
        self.write(sandbox, pid, "this\n")
        for follower in followers:
            self.assertEqual(follower.until("stdout")["text"], "got this\n")
            self.assertEqual(follower.until("ended")["exit_code"], 3)
            self.assertEqual([event for event in follower if event["type"] != "keepalive"], [])

    def test_a_stream_that_starts_a_process_has_all_that_it_says(self):
        sandbox = self.create()
        events = self.daemon.stream(
            "POST", sandbox.path + "/processes",
            {"argv": ["sh", "-c", "for i in $(seq 20000); do echo line $i; done; echo end >&2"]})
        text, last = {"stdout": "", "stderr": ""}, None
        for event in events:
            if event["type"] in text:
                text[event["type"]] += event["text"]
            last = event
        self.assertEqual(text["stdout"], "".join(f"line {i}\n" for i in range(1, 20001)))
        self.assertEqual(text["stderr"], "end\n")
        self.assertEqual((last["type"], last["exit_code"]), ("ended", 0))

    def test_a_stream_of_server_sent_events_is_one(self):
        sandbox = self.create()
        answer = sandbox.daemon.ask("POST", sandbox.path + "/processes", {"argv": ["echo", "a"]},
                                    {"Accept": SSE})
        self.assertEqual(answer.headers["content-type"], "text/event-stream; charset=utf-8")
        events = [json.loads(line[6:]) for line in answer.body.decode().split("\n\n") if line]
        self.assertEqual([event["type"] for event in events], ["started", "stdout", "ended"])

    def test_a_stream_says_that_its_sandbox_has_ended(self):
        sandbox = self.create()
        follower = self.follow(sandbox, self.process(sandbox, "read line"))
        follower.until("started")
        sandbox.must(204, "DELETE")
        rest = [event for event in follower if event["type"] != "keepalive"]
        self.assertIn(rest[-1]["type"], ("failed", "ended"), rest)

    def test_a_stream_ends_when_its_key_is_revoked(self):
        tenant = Tenant(self.daemon, "streams-key")
        sandbox = tenant.sandbox(timeout="10m")
        pid = tenant.must(201, "POST", sandbox + "/processes", {"argv": ["sleep", "600"]})["pid"]
        follower = self.daemon.stream("GET", f"{sandbox}/processes/{pid}",
                                      headers={"X-API-KEY": tenant.key})
        follower.until("started")
        keys = self.daemon.must(200, "GET", "/v1/keys")["keys"]
        for key in keys:
            if key["tenant"] == tenant.name:
                self.daemon.must(204, "DELETE", f"/v1/keys/{key['id']}")
        rest = [event for event in follower if event["type"] != "keepalive"]
        self.assertEqual([event["type"] for event in rest], ["failed"])
        self.assertEqual(rest[0]["code"], 403)

    def test_a_process_is_followed_again_after_its_daemon_was_killed(self):
        daemon = Daemon().start()
        self.addCleanup(daemon.discard)
        sandbox = daemon.create(timeout="10m")
        pid = self.process(sandbox, "read line; echo got $line")
        first = daemon.stream("GET", f"{sandbox.path}/processes/{pid}")
        first.until("started")
        daemon.kill()
        daemon.start()
        second = daemon.stream("GET", f"{sandbox.path}/processes/{pid}")
        second.until("started")
        sandbox.must(204, "POST", f"/processes/{pid}/stdin", b"that\n")
        self.assertEqual(second.until("stdout")["text"], "got that\n")
        self.assertEqual(second.until("ended")["exit_code"], 0)

    def test_one_who_does_not_read_holds_up_the_process_until_they_go_and_nothing_else(self):
        sandbox = self.create(timeout="10m")
        pid = self.process(sandbox, "read line; yes | head -c 8000000; read line; echo end")
        silent = socket.create_connection(("127.0.0.1", self.daemon.port))
        self.addCleanup(silent.close)
        silent.sendall((f"GET {sandbox.path}/processes/{pid} HTTP/1.1\r\nHost: a\r\n"
                        f"X-API-KEY: {self.daemon.key}\r\nAccept: {LINES}\r\n\r\n").encode())
        self.assertIn(b"200", silent.recv(64))
        follower = self.follow(sandbox, pid)
        self.write(sandbox, pid, "go\n")
        self.assertEqual(sandbox.context().value("6 * 7"), "42")
        silent.close()
        heard = 0
        while heard < 8000000:
            heard += len(follower.until("stdout")["text"])
        self.write(sandbox, pid, "go\n")
        self.assertEqual(follower.until("stdout")["text"], "end\n")
        self.assertEqual(follower.until("ended")["exit_code"], 0)


if __name__ == "__main__":
    unittest.main()
