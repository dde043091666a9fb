# SPDX-License-Identifier: Apache-2.0
"""Requests that cannot be done, each with the status that says why: of the caller's making is a
4xx with a hint, what this daemon does not have is 501, and no answer names a path of the host."""

import json
import re
import unittest

import harness  # noqa: F401: the path to the modules of tests/service
from victims import Victim

BOX = "/v1/sandboxes/{id}"
CONTEXT = BOX + "/contexts/{cid}"
PROCESS = BOX + "/processes/{pid}"
GONE = "/v1/sandboxes/aaaaaaaaaaaa"
LONG = "x" * 300

# (status, method, path, body): what each says is wrong follows from the body. A body of bytes is
# sent as it is.
REST = [
    # Bodies that are none.
    *((400, "POST", "/v1/sandboxes", body) for body in (
        b"{", b"[]", b"null", b'"text"', b"1", b"{}{}", b"{'a': 1}", b"\xff\xfe", b"\xef\xbb\xbf{",
        b'{"timeout":}', b'{"metadata":{"a":"\\ud800"}}', b"[" * 2_000, b'{"a":' * 500,
    )),
    # Fields that are unknown or of another kind.
    *((400, "POST", "/v1/sandboxes", body) for body in (
        {"unknown": 1},
        {"template": 1}, {"template": None, "x": 1}, {"template": LONG}, {"template": ["a"]},
        {"timeout": 0}, {"timeout": "0s"}, {"timeout": -1}, {"timeout": "soon"}, {"timeout": {}},
        {"timeout": True}, {"timeout": "1 fortnight"},
        {"on_timeout": "explode"}, {"on_timeout": 1}, {"auto_resume": "yes"}, {"auto_resume": 1},
        {"env": []}, {"env": {"A": 1}}, {"env": {"": "x"}}, {"env": {"A=B": "x"}},
        {"env": {"A": "a\0b"}},
        {"metadata": []}, {"metadata": {"a": 1}}, {"metadata": {"a": {}}},
        {"limits": 1}, {"limits": {"memroy": 1}}, {"limits": {"memory": "much"}},
        {"limits": {"memory": -1}}, {"limits": {"pids": 0}}, {"limits": {"pids": 1.5}},
        {"limits": {"cpus": "two"}}, {"limits": {"cpus": -1}}, {"limits": {"time": "x"}},
        {"limits": {"open_files": -5}}, {"limits": {"output": "1Z"}}, {"limits": {"disk": []}},
        {"storage": "tape"}, {"storage": 1},
        {"volumes": {}}, {"volumes": [1]}, {"volumes": [{}]}, {"volumes": [{"name": "x"}]},
        {"volumes": [{"name": "x", "path": "/y", "mode": 1}]},
        {"policy": {}},
    )),
    (404, "POST", "/v1/sandboxes", {"template": "no-such-template"}),
    (404, "POST", "/v1/sandboxes", {"template": "../../etc"}),
    # Queries.
    *((400, "GET", "/v1/sandboxes?" + query, None) for query in (
        "limit=0", "limit=1001", "limit=x", "limit=-1", "limit=", "limit=1e3", "state=dead",
        "state=", "unknown=1", "limit=99999999999999999999", "after=x", "after=1x.y",
    )),
    (400, "GET", BOX + "/files?depth=x", None),
    (400, "GET", BOX + "/files?depth=65", None),
    (400, "GET", BOX + "/files?unknown=1", None),
    (400, "GET", BOX + "/files/x?archive=rar", None),
    (400, "GET", BOX + "/files/x?unknown=1", None),
    (400, "PUT", BOX + "/files/x?mode=9", b""),
    (400, "PUT", BOX + "/files/x?mode=77777", b""),
    (400, "PUT", BOX + "/files/", b""),
    (400, "DELETE", BOX + "/files/", None),
    # Names of what there is not.
    *((404, method, path, body) for method, path, body in (
        ("GET", "/v1/nothing", None), ("GET", "/v1", None), ("GET", "/v1/sandboxes/", None),
        ("GET", GONE, None), ("PATCH", GONE, {}), ("DELETE", GONE, None),
        ("POST", GONE + "/pause", {}), ("POST", GONE + "/resume", {}),
        ("POST", GONE + "/snapshot", {}), ("POST", GONE + "/fork", {}), ("GET", GONE + "/usage", None),
        ("GET", GONE + "/contexts", None), ("POST", GONE + "/contexts", {}),
        ("POST", GONE + "/contexts/c/execute", {"code": "1"}), ("GET", GONE + "/processes", None),
        ("POST", GONE + "/contexts/c/input", {}),
        ("POST", BOX + "/contexts/nobody/complete", {"code": "1"}),
        ("POST", BOX + "/contexts/nobody/inspect", {"code": "1"}),
        ("POST", BOX + "/contexts/nobody/input", {}),
        ("POST", GONE + "/processes", {"argv": ["true"]}), ("GET", GONE + "/files", None),
        ("GET", GONE + "/files/x", None), ("PUT", GONE + "/files/x", b""),
        ("POST", GONE + "/port-tokens", {"port": 80}),
        ("POST", BOX + "/contexts/nobody/execute", {"code": "1"}),
        ("DELETE", BOX + "/contexts/nobody", None), ("POST", BOX + "/contexts/nobody/restart", {}),
        ("POST", BOX + "/contexts/nobody/checkpoint", {}),
        ("GET", BOX + "/contexts/nobody/notebook", None),
        ("POST", CONTEXT + "/rollback", {"checkpoint": 99}),
        ("POST", CONTEXT + "/fork", {"checkpoint": 99}),
        ("GET", BOX + "/processes/999999", None), ("DELETE", BOX + "/processes/999999", None),
        ("GET", BOX + "/processes/abc", None), ("POST", BOX + "/processes/-1/stdin", b""),
        ("GET", BOX + "/files/no/such/file", None), ("GET", BOX + "/files?list=no/such", None),
        ("GET", "/v1/volumes/nobody", None), ("DELETE", "/v1/volumes/nobody", None),
        ("GET", "/v1/volumes/nobody/files", None), ("GET", "/v1/templates/nobody", None),
        ("DELETE", "/v1/templates/nobody", None), ("GET", "/v1/tenants/nobody", None),
        ("PATCH", "/v1/tenants/nobody", {}), ("DELETE", "/v1/tenants/nobody", None),
        ("POST", "/v1/keys/0123456789abcdef/rotate", {}),
        ("DELETE", "/v1/keys/0123456789abcdef", None),
        ("POST", "/v1/run", {"language": "klingon", "code": "1"}),
        ("POST", BOX + "/contexts", {"language": "klingon"}),
    )),
    # Methods.
    *((405, method, path, None) for method, path in (
        ("PUT", "/v1/sandboxes"), ("POST", "/healthz"), ("DELETE", "/v1/languages"),
        ("PATCH", CONTEXT), ("PUT", BOX), ("OPTIONS", "/v1/sandboxes"), ("HEAD", "/v1/run"),
    )),
    # Contexts and executions.
    *((400, "POST", BOX + "/contexts", body) for body in (
        {"language": 1}, {"cwd": 1}, {"cwd": "/root"}, {"cwd": "no/such"}, {"cwd": "/etc/passwd"},
        {"cwd": "a\0b"}, {"env": 1}, {"unknown": 1},
    )),
    *((400, "POST", CONTEXT + "/execute", body) for body in (
        {}, {"code": 1}, {"code": None}, {"code": "1", "unknown": 1}, {"code": "1", "limits": 1},
        {"code": "1", "recover": "yes"}, {"code": "1", "store_history": 1}, {"code": "1", "env": []},
        {"code": "1", "limits": {"time": -1}}, {"code": "1", "allow_input": "yes"},
    )),
    *((400, "POST", CONTEXT + "/" + what, body) for what in ("complete", "inspect") for body in (
        {}, {"code": 1}, {"code": "a", "cursor": -1}, {"code": "a", "cursor": 2},
        {"code": "a", "cursor": 2**64}, {"code": "a", "cursor": 0.5}, {"code": "a", "unknown": 1},
    )),
    *((400, "POST", CONTEXT + "/input", body) for body in (
        {"value": 1}, {"value": "x" * 70_000}, {"value": "x", "request": 0}, {"unknown": 1},
    )),
    (409, "POST", CONTEXT + "/input", {"value": "nobody asked"}),
    (400, "POST", CONTEXT + "/fork", {}),
    (404, "POST", CONTEXT + "/rollback", {}),
    *((400, "POST", CONTEXT + "/" + what, body) for what in ("rollback", "fork") for body in (
        {"checkpoint": "one"}, {"checkpoint": -1}, {"checkpoint": 1.5},
    )),
    # One-shot runs.
    *((400, "POST", "/v1/run", body) for body in (
        {}, {"code": "1"}, {"language": "python"}, {"language": "python", "code": 1},
        {"language": "python", "code": "1", "arguments": "x"},
        {"language": "python", "code": "1", "arguments": [1]},
        {"language": "python", "code": "1", "files": {"../../x": ""}},
        {"language": "python", "code": "1", "files": {"/etc/x": ""}},
        {"language": "python", "code": "1", "files": {"a/../../x": ""}},
        {"language": "python", "code": "1", "files": {"x": 1}},
        {"language": "python", "code": "1", "stdin": 1},
        {"language": "python", "code": "1", "unknown": 1},
    )),
    # Processes.
    *((400, "POST", BOX + "/processes", body) for body in (
        {}, {"argv": []}, {"argv": "true"}, {"argv": [1]}, {"argv": [""]}, {"argv": ["a\0b"]},
        {"argv": ["id"], "cwd": "/no/such"}, {"argv": ["id"], "cwd": "/etc/passwd"},
        {"argv": ["/tmp"]}, {"argv": ["echo", "x" * 300_000]}, {"argv": ["id"], "env": 1},
        {"argv": ["id"], "terminal": {"columns": 0}}, {"argv": ["id"], "terminal": {"rows": 1e9}},
        {"argv": ["id"], "timeout": "never"}, {"argv": ["id"], "unknown": 1},
    )),
    (404, "POST", BOX + "/processes", {"argv": ["no-such-program"]}),
    *((400, "POST", PROCESS + "/signal", body) for body in (
        {}, {"signal": "SIGNOTHING"}, {"signal": "99"}, {"signal": 1.5}, {"signal": ""},
    )),
    *((400, "POST", PROCESS + "/resize", body) for body in (
        {"columns": 0}, {"rows": -1}, {"columns": "80"}, {"unknown": 1},
    )),
    # Commands that are waited for.
    *((400, "POST", BOX + "/commands", body) for body in (
        {}, {"argv": []}, {"argv": "true"}, {"argv": ["true"], "shell": "true"}, {"shell": 1},
        {"shell": "a\0b"}, {"argv": ["a\0b"]}, {"argv": ["id"], "cwd": "/no/such"},
        {"argv": ["id"], "cwd": "/etc/passwd"}, {"argv": ["/tmp"]}, {"argv": ["id"], "env": []},
        {"argv": ["id"], "stdin": 1}, {"argv": ["id"], "limits": {"memory": "1M"}},
        {"argv": ["id"], "limits": {"time": "never"}}, {"argv": ["id"], "limits": {"output": -1}},
        {"argv": ["id"], "unknown": 1},
    )),
    (404, "POST", BOX + "/commands", {"argv": ["no-such-program"]}),
    (404, "POST", GONE + "/commands", {"argv": ["true"]}),
    # Judging.
    *((400, "POST", "/v1/judge", body) for body in (
        {}, {"language": "python", "code": "1"}, {"language": "python", "code": "1", "cases": []},
        {"language": "python", "code": "1", "cases": {}},
        {"language": "python", "code": "1", "cases": [1]},
        {"language": "python", "code": "1", "cases": [{}], "compare": "roughly"},
        {"language": "python", "code": "1", "cases": [{}], "compare": "float:x"},
        {"language": "python", "code": "1", "cases": [{}], "jobs": 0},
        {"language": "python", "code": "1", "cases": [{}], "jobs": 65},
        {"language": "python", "code": "1", "cases": [{"points": -1}]},
        {"language": "python", "code": "1", "cases": [{"time": "soon"}]},
        {"language": "python", "code": "1", "cases": [{"memory": "much"}]},
        {"language": "python", "code": "1", "cases": [{"unknown": 1}]},
        {"language": "python", "code": "1", "cases": [{}], "checker": {"language": "python"}},
        {"language": "python", "code": "1", "cases": [{}], "unknown": 1},
    )),
    (404, "POST", "/v1/judge", {"language": "klingon", "code": "1", "cases": [{}]}),
    # Network rules.
    *((400, "POST", "/v1/sandboxes", {"network": network}) for network in (
        1, [], {"unknown": 1}, {"allow": "example.com"}, {"allow": [1]}, {"allow": [""]},
        {"allow": ["http://example.com"]}, {"allow": ["example.com:0"]},
        {"allow": ["example.com:65536"]}, {"allow": ["*.*.com"]}, {"allow": ["10.0.0.0/33"]},
        {"allow": ["1.2.3.4.5"]}, {"deny": ["a b"]}, {"default": "maybe"}, {"precedence": 1},
        {"allow": ["example.com"] * 1_001},
    )),
    (404, "GET", GONE + "/connections", None),
    # Files.
    *((400, "POST", BOX + "/files", body) for body in (
        {}, {"action": "burn", "path": "x"}, {"action": "move", "path": "x"},
        {"action": "make_directory"}, {"action": "make_directory", "path": 1},
    )),
    # Ports.
    *((400, "POST", BOX + "/port-tokens", body) for body in (
        {}, {"port": 0}, {"port": 65536}, {"port": "80"}, {"port": 80, "expires_in": "2d"},
    )),
    *((400, "GET", f"{BOX}/ports/{port}/", None) for port in ("0", "65536", "x", "-1")),
    # The rest.
    *((400, "POST", BOX + "/fork", body) for body in ({"count": 0}, {"count": 101}, {"count": "x"})),
    *((400, "POST", "/v1/volumes", body) for body in (
        {}, {"name": 1}, {"name": "a/b"}, {"name": ".."}, {"name": "x", "size": "big"},
        {"name": "x", "inodes": 0},
    )),
    *((400, "POST", "/v1/keys", body) for body in (
        {"tenant": "default", "scopes": []}, {"tenant": "default", "scopes": ["fly"]},
        {"tenant": "default", "scopes": "run"},
    )),
    *((400, "POST", "/v1/tenants", body) for body in ({"name": "A B"}, {"name": ""}, {"name": 1})),
    (409, "POST", "/v1/tenants", {"name": "default"}),
    (409, "DELETE", "/v1/tenants/default", None),
    *((400, "POST", "/v1/templates", body) for body in (
        {}, {"name": "../x"}, {"name": "x", "unknown": 1}, {"name": "x", "steps": 1},
        {"name": "x", "steps": [{"kind": "dance"}]},
    )),
    (400, "PUT", "/v1/templates/x/archive?format=floppy", b""),
]

# A hint is a piece of a sentence.
HINT = re.compile(r"(?![A-Z][a-z]).*[^.]", re.DOTALL)

# Of E2B's control interface.
E2B = [
    *((400, "POST", "/v2/sandboxes", body) for body in (
        {}, {"templateID": 1}, {"templateID": ""}, {"templateID": "base", "timeout": "x"},
        {"templateID": "base", "timeout": 0}, {"templateID": "base", "timeout": -1},
        {"templateID": "base", "metadata": 1}, {"templateID": "base", "envVars": []},
        {"templateID": "base", "network": 1}, {"templateID": "base", "volumeMounts": {}},
        {"templateID": "base", "timeout": 10**12}, b"{", b"[]",
    )),
    (404, "POST", "/v2/sandboxes", {"templateID": "no-such"}),
    *((404, method, "/sandboxes/aaaaaaaaaaaa" + path, body) for method, path, body in (
        ("GET", "", None), ("DELETE", "", None), ("POST", "/connect", {}), ("POST", "/pause", {}),
        ("POST", "/timeout", {"timeout": 1}), ("GET", "/metrics", None), ("GET", "/logs", None),
        ("POST", "/snapshots", {}), ("POST", "/fork", {}), ("PUT", "/network", {}),
    )),
    (405, "PATCH", "/sandboxes/{e2b}", None),
    (404, "GET", "/sandboxes/{e2b}/nothing", None),
    (400, "POST", "/sandboxes/{e2b}/timeout", {}),
    (400, "POST", "/sandboxes/{e2b}/refreshes", {"duration": 9999}),
    (400, "POST", "/sandboxes/{e2b}/fork", {"count": 0}),
    (400, "GET", "/v2/sandboxes?limit=x", None),
    (400, "GET", "/v2/sandboxes?state=dead", None),
    (400, "GET", "/v2/sandboxes?nextToken=x", None),
    (400, "GET", "/sandboxes/metrics", None),
    (404, "DELETE", "/templates/nobody", None),
    (404, "GET", "/templates/aliases/nobody", None),
]
# Of the code interpreter of a sandbox that was made there.
INTERPRETER = [
    (400, "POST", "/contexts", {"cwd": "/root"}),
    (400, "POST", "/contexts", {"language": "bash", "cwd": "/root"}),
    (400, "POST", "/contexts", {"language": "r", "cwd": "/root"}),
    (400, "POST", "/contexts", {"language": "klingon"}),
    (400, "POST", "/execute", {"code": "1", "language": "klingon"}),
    (404, "POST", "/execute", {"code": "1", "context_id": "x", "contextId": "nobody"}),
    (422, "POST", "/contexts", {"language": 1}),
    (422, "POST", "/execute", {}),
    (404, "DELETE", "/contexts/nobody", None),
]


class BadInputs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.victim = Victim()
        cls.daemon = cls.victim.daemon
        cls.addClassCleanup(cls.daemon.discard)
        cls.e2b = cls.daemon.must(
            201, "POST", "/v2/sandboxes", {"templateID": "base", "timeout": 3600}
        )
        cls.host_paths = [str(cls.daemon.dir), "/sys/fs/cgroup", "/run/glovebox", "/proc/self/fd"]

    def check(self, rows, ask, hints=True):
        self.assertGreater(len(rows), 5)
        wrong = []
        for wanted, method, path, body in rows:
            answer = ask(method, path, body)
            what = f"{method} {path} {str(body)[:120]}: {answer.status} {answer.body[:300]!r}"
            text = answer.body.decode(errors="replace")
            if answer.status != wanted:
                wrong.append(f"not {wanted}: {what}")
            if any(one in text for one in self.host_paths):
                wrong.append(f"tells a path of the host: {what}")
            if hints and 400 <= answer.status < 500 and method != "HEAD":
                told = json.loads(text)
                if not told.get("hint") or told.get("code") != answer.status:
                    wrong.append(f"no hint: {what}")
                elif not HINT.fullmatch(told["hint"]):
                    wrong.append(f"a hint in another style: {what}")
        self.assertFalse(wrong, "\n".join(wrong))

    def test_there_are_enough_of_them(self):
        self.assertGreaterEqual(len(REST) + len(E2B) + len(INTERPRETER), 330)

    def test_of_the_rest_interface(self):
        known = self.victim.known

        def ask(method, path, body):
            path = path.format(**known)
            kind = {"Content-Type": "application/json"} if body is not None else {}
            if isinstance(body, bytes) and ("/files" in path or "/stdin" in path):
                kind = {}
            return self.daemon.ask(method, path, body, kind)

        self.check(REST, ask)

    def test_of_e2bs_control_interface(self):
        def ask(method, path, body):
            return self.daemon.ask(method, path.format(e2b=self.e2b["sandboxID"]), body)

        self.check(E2B, ask)

    def test_of_the_code_interpreter(self):
        headers = {
            "E2b-Sandbox-Id": self.e2b["sandboxID"],
            "E2b-Sandbox-Port": "49999",
            "X-Access-Token": self.e2b["envdAccessToken"],
        }
        self.check(
            INTERPRETER,
            lambda method, path, body: self.daemon.ask(method, path, body, headers, key=None),
            hints=False,  # E2B's own shapes.
        )


if __name__ == "__main__":
    unittest.main()
