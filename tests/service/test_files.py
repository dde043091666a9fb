# SPDX-License-Identifier: Apache-2.0
"""Files of a sandbox, and what runs in it beside contexts: processes, terminals, ports."""

import hashlib
import io
import json
import os
import tarfile
import unittest
import zipfile

from daemon import EVENTS, Case, wait_until
from websocket import WebSocket

LARGE = 50_000_000


class Files(Case):
    def test_a_large_file_goes_in_and_comes_out_whole_and_in_ranges(self):
        sandbox = self.create()
        content = os.urandom(1_000_000) * (LARGE // 1_000_000)
        entry = sandbox.write("large", content)
        self.assertEqual((entry["type"], entry["size"]), ("file", LARGE))
        wanted = hashlib.sha256(content).hexdigest()
        self.assertEqual(hashlib.sha256(sandbox.read("large")).hexdigest(), wanted)
        code = "import hashlib; print(hashlib.sha256(open('large', 'rb').read()).hexdigest())"
        self.assertEqual(sandbox.context().execute(code)["stdout"].strip(), wanted)
        for given, first, last in (
            ("bytes=0-0", 0, 0),
            ("bytes=999-200999", 999, 200_999),
            ("bytes=-7", LARGE - 7, LARGE - 1),
            (f"bytes={LARGE - 3}-", LARGE - 3, LARGE - 1),
        ):
            with self.subTest(given):
                part = sandbox.must(206, "GET", "/files/large", None, {"Range": given})
                self.assertEqual(part.body, content[first : last + 1])
                self.assertEqual(part.headers["content-range"], f"bytes {first}-{last}/{LARGE}")
        sandbox.must(416, "GET", "/files/large", None, {"Range": f"bytes={LARGE}-"})
        head = sandbox.must(200, "HEAD", "/files/large")
        self.assertEqual(int(head.headers["content-length"]), LARGE)

    def test_an_unchanged_file_is_not_sent_again(self):
        sandbox = self.create()
        sandbox.write("f", b"one")
        tag = sandbox.must(200, "GET", "/files/f").headers["etag"]
        sandbox.must(304, "GET", "/files/f", None, {"If-None-Match": tag})
        sandbox.write("f", b"other")
        again = sandbox.must(200, "GET", "/files/f", None, {"If-None-Match": tag})
        self.assertEqual(again.body, b"other")

    def test_more_than_the_disk_holds_is_refused_and_the_sandbox_goes_on(self):
        sandbox = self.create(limits={"disk": "16M"})
        answer = self.daemon.ask("PUT", sandbox.path + "/files/big", bytes(32 << 20))
        self.assertIn(answer.status, (413, 429, 507), str(answer))
        sandbox.must(204, "DELETE", "/files/big")
        sandbox.write("small", b"fits")
        self.assertEqual(sandbox.read("small"), b"fits")

    def test_entries_are_listed_moved_and_removed(self):
        sandbox = self.create()
        sandbox.must(201, "POST", "/files", {"action": "make_directory", "path": "d/e"})
        sandbox.write("d/a%20b", b"1", mode="0600")
        listed = sandbox.must(200, "GET", "/files?list=d")["entries"]
        self.assertEqual([os.path.basename(one["path"]) for one in listed], ["a b", "e"])
        self.assertEqual([one["mode"] for one in listed if one["type"] == "file"], ["0600"])
        sandbox.must(200, "POST", "/files", {"action": "move", "path": "d/a b", "to": "d/e/c"})
        deep = sandbox.must(200, "GET", "/files?list=d&depth=2")["entries"]
        self.assertEqual([os.path.basename(one["path"]) for one in deep], ["e", "c"])
        sandbox.write("d/e/c", b"2", append=1)
        self.assertEqual(sandbox.read("d/e/c"), b"12")
        sandbox.must(204, "DELETE", "/files/d")
        sandbox.must(404, "GET", "/files/d/e/c")

    def test_a_directory_comes_out_as_an_archive_and_goes_in_again(self):
        sandbox, other = self.create(), self.create()
        sandbox.write("tree/x/data", b"data" * 10_000)
        sandbox.write("tree/run", b"#!/bin/sh\n", mode="0755")
        for kind in ("tar", "tar.gz", "zip"):
            with self.subTest(kind):
                packed = sandbox.must(200, "GET", f"/files/tree?archive={kind}").body
                if kind == "zip":
                    names = zipfile.ZipFile(io.BytesIO(packed)).namelist()
                else:
                    names = tarfile.open(fileobj=io.BytesIO(packed)).getnames()
                self.assertTrue(any(name.endswith("x/data") for name in names), names)
                place = kind.replace(".", "-")
                other.must(204, "PUT", f"/files/{place}?unpack=1", packed)
                found = [
                    one["path"]
                    for one in other.must(200, "GET", f"/files?list={place}&depth=9")["entries"]
                    if one["path"].endswith("/run") or one["path"].endswith("x/data")
                ]
                self.assertEqual(len(found), 2, found)
                data = next(path for path in found if path.endswith("data"))
                self.assertEqual(other.read(data), b"data" * 10_000)

    def test_changes_are_told_as_they_happen(self):
        sandbox = self.create()
        sandbox.write("w/old", b"")
        for accept in (None, EVENTS):
            how = {"accept": accept} if accept else {}
            changes = self.daemon.stream("GET", sandbox.path + "/files/watch?path=w", **how)
            changes.until("started")
            sandbox.write("w/new", b"content")
            event = changes.until("write")
            self.assertTrue(event["path"].endswith("new"), event)
            sandbox.must(204, "DELETE", "/files/w/new")
            self.assertTrue(changes.until("remove")["path"].endswith("new"))
            changes.close()

    def test_paths_and_links_reach_nothing_of_the_host(self):
        sandbox = self.create()
        (self.daemon.dir / "secret").write_text("of the host")
        outside = str(self.daemon.dir / "secret")
        sandbox.context("bash").execute(f"ln -s {outside} link; ln -s / root")
        up = "..%2f" * 8
        for path in ("link", "/" + outside, "root" + outside, up + outside[1:], "../" * 8 + "etc"):
            with self.subTest(path):
                answer = self.daemon.ask("GET", f"{sandbox.path}/files/{path}")
                self.assertIn(answer.status, (400, 403, 404), str(answer))
                self.assertNotIn(b"of the host", answer.body)


class Processes(Case):
    def test_a_command_says_what_it_says_and_how_it_ended(self):
        sandbox = self.create(env={"OUTER": "1"})
        body = {
            "argv": ["bash", "-c", "echo out $OUTER $INNER; echo err >&2; pwd; exit 3"],
            "env": {"INNER": "2"},
            "cwd": "/tmp",
        }
        said = list(self.daemon.stream("POST", sandbox.path + "/processes", body))
        self.assertEqual((said[0]["type"], said[-1]["type"]), ("started", "ended"))
        out = "".join(one["text"] for one in said if one["type"] == "stdout")
        err = "".join(one["text"] for one in said if one["type"] == "stderr")
        self.assertEqual((out, err), ("out 1 2\n/tmp\n", "err\n"))
        self.assertEqual(said[-1]["exit_code"], 3)

    def test_standard_input_is_written_and_ended(self):
        sandbox = self.create()
        events = self.daemon.stream(
            "POST", sandbox.path + "/processes", {"argv": ["tr", "a-z", "A-Z"], "stdin": True}
        )
        pid = events.until("started")["pid"]
        sandbox.must(204, "POST", f"/processes/{pid}/stdin", b"loud\n")
        sandbox.must(204, "DELETE", f"/processes/{pid}/stdin")
        self.assertEqual(events.until("stdout")["text"], "LOUD\n")
        self.assertEqual(events.until("ended")["exit_code"], 0)

    def test_a_process_is_listed_signaled_and_killed(self):
        sandbox = self.create()
        waiting = "while :; do read -t 0.05 <> <(:); done"
        argv = ["bash", "-c", f"trap 'echo caught' USR1; echo up; {waiting}"]
        events = self.daemon.stream(
            "POST", sandbox.path + "/processes", {"argv": argv, "tag": "mine"}
        )
        pid = events.until("started")["pid"]
        events.until("stdout")
        (listed,) = sandbox.must(200, "GET", "/processes")["processes"]
        self.assertEqual((listed["pid"], listed["tag"], listed["alive"]), (pid, "mine", True))
        sandbox.must(204, "POST", f"/processes/{pid}/signal", {"signal": "SIGUSR1"})
        self.assertEqual(events.until("stdout")["text"], "caught\n")
        sandbox.must(204, "DELETE", f"/processes/{pid}")
        self.assertEqual(events.until("ended")["signal"], 9)

    def test_a_process_ends_at_its_time(self):
        events = self.daemon.stream(
            "POST",
            self.create().path + "/processes",
            {"argv": ["sleep", "600"], "timeout": "300ms"},
        )
        self.assertIsNotNone(events.until("ended")["signal"])

    def test_a_terminal_can_be_used_and_resized_over_a_websocket(self):
        sandbox = self.create()
        pid = sandbox.must(
            201,
            "POST",
            "/processes",
            {"argv": ["bash", "--norc"], "terminal": {"columns": 91, "rows": 33}, "stdin": True},
        )["pid"]
        with WebSocket(self.daemon, f"{sandbox.path}/processes/{pid}") as socket:
            self.assertEqual(socket.status, 101)
            self.say(socket, b"stty size; tty\n", b"33 91")
            socket.send(json.dumps({"resize": {"columns": 120, "rows": 50}}))
            self.say(socket, b"stty size\n", b"50 120")
            socket.send(b"exit 5\n")
            ended = next(m for m in iter(socket.receive, None) if "ended" in str(m))
            self.assertEqual(json.loads(ended)["exit_code"], 5)

    def say(self, socket, line, wanted):
        socket.send(line)
        seen = b""
        while wanted not in seen:
            message = socket.receive()
            self.assertIsNotNone(message, seen)
            seen += message if isinstance(message, bytes) else b""

    def test_code_can_be_executed_and_interrupted_over_a_websocket(self):
        context = self.create().context()
        with WebSocket(self.daemon, context.path + "/execute") as socket:
            messages = (json.loads(message) for message in iter(socket.receive, None))
            code = "print('over a socket', flush=True)\nwhile True: pass"
            socket.send(json.dumps({"code": code}))
            said = next(one for one in messages if one["type"] == "stdout")
            self.assertEqual(said["text"], "over a socket\n")
            socket.send(json.dumps({"interrupt": True}))
            verdict = next(one for one in messages if one["type"] == "verdict")
            self.assertEqual(verdict["status"], "canceled")
            socket.send(json.dumps({"code": "print(5)"}))
            verdict = next(one for one in messages if one["type"] == "verdict")
            self.assertEqual(verdict["stdout"], "5\n")


SERVER = """
import http.server, json
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        body = self.rfile.read(int(self.headers.get('content-length', 0))).decode()
        text = json.dumps([self.command, self.path, body, dict(self.headers)]).encode()
        self.send_response(200)
        self.send_header('content-length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = answer
http.server.HTTPServer(('127.0.0.1', 8000), Handler).serve_forever()
"""


class Ports(Case):
    def test_what_listens_inside_is_reached_and_does_not_see_the_key(self):
        sandbox = self.create()
        self.assertEqual(sandbox.must(502, "GET", "/ports/8000/")["code"], 502)
        sandbox.must(201, "POST", "/processes", {"argv": ["python3", "-c", SERVER]})
        path = sandbox.path + "/ports/8000/a/b?q=1"
        wait_until(lambda: self.daemon.ask("GET", path).status == 200, "the server")
        for method, body in (("GET", None), ("POST", b"sent"), ("PUT", b"x"), ("DELETE", None)):
            with self.subTest(method):
                answer = self.daemon.ask(method, path, body, {"X-Own": "1"})
                command, seen, content, headers = json.loads(answer.body)
                self.assertEqual((command, seen), (method, "/a/b?q=1"))
                self.assertEqual(content, (body or b"").decode())
                self.assertIn(("x-own", "1"), [(k.lower(), v) for k, v in headers.items()])
                self.assertNotIn(self.daemon.key, json.dumps(headers))
        bearer = {"Authorization": "Bearer " + self.daemon.key}
        answer = self.daemon.ask("GET", path, None, bearer, key=None)
        self.assertEqual(answer.status, 200)
        self.assertNotIn(self.daemon.key.encode(), answer.body)


if __name__ == "__main__":
    unittest.main()
