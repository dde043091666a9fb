# SPDX-License-Identifier: Apache-2.0
"""`/mcp` of the daemon, with and without sessions."""
import http.client
import itertools
import json
import pathlib
import re
import socket
import subprocess
import tempfile
import time
import unittest

from client import GLOVEBOX, PATIENCE_S, STATELESS, text_of

ACCEPT = "application/json, text/event-stream"


class Http(unittest.TestCase):
    ids = itertools.count(100)

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="glovebox-mcp-")
        cls.daemon = subprocess.Popen(
            [GLOVEBOX, "serve", "--listen", "127.0.0.1:0", "--data", cls.folder.name],
            stdout=subprocess.PIPE, text=True)
        line = cls.daemon.stdout.readline()
        cls.address = re.search(r"127\.0\.0\.1:\d+", line)[0]
        cls.key = (pathlib.Path(cls.folder.name) / "api-key").read_text(encoding="ascii").strip()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.terminate()
        cls.daemon.wait(PATIENCE_S)
        cls.daemon.stdout.close()
        cls.folder.cleanup()

    def send(self, body, method="POST", key=None, **headers):
        """The status, the headers and the messages of an answer."""
        connection = http.client.HTTPConnection(self.address, timeout=PATIENCE_S)
        given = {"Accept": ACCEPT, "Content-Type": "application/json",
                 "Authorization": f"Bearer {key or self.key}"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, "/mcp", body if body is None else json.dumps(body), given)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        if (answer.getheader("Content-Type") or "").startswith("text/event-stream"):
            # An event that only has an id comes first, so that the stream can be resumed.
            messages = [json.loads(line[6:]) for line in text.splitlines()
                        if line.startswith("data: ") and line[6:]]
        else:
            messages = [json.loads(text)] if text else []
        return answer.status, answer, messages

    def stateless(self, method, params=None, headers=None, meta=None, key=None):
        params = dict(params or {})
        params["_meta"] = {"io.modelcontextprotocol/protocolVersion": STATELESS,
                           "io.modelcontextprotocol/clientCapabilities": {}} | (meta or {})
        named = params.get("name") or params.get("uri")
        given = {"MCP_Protocol_Version": STATELESS, "Mcp_Method": method}
        if named:
            given["Mcp_Name"] = named
        given |= headers or {}
        status, _, messages = self.send({"jsonrpc": "2.0", "id": 1, "method": method,
                                         "params": params}, key=key, **given)
        return status, messages

    def admin(self, *words):
        done = subprocess.run([GLOVEBOX, *words, "--url", f"http://{self.address}",
                               "--key", self.key], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def call(self, tool, **arguments):
        status, messages = self.stateless("tools/call", {"name": tool, "arguments": arguments})
        self.assertEqual(status, 200)
        return messages[-1]["result"]

    def test_a_call_without_a_session_names_its_sandbox(self):
        first = self.call("run_code", code="x = 20")
        sandbox = first["structuredContent"]["sandbox"]
        self.assertIn(f"[sandbox: {sandbox}]", text_of(first))
        again = self.call("run_code", code="x + 1", sandbox=sandbox)
        self.assertEqual(again["structuredContent"]["result"], "21")
        other = self.call("run_code", code="x")
        self.assertTrue(other["isError"])
        for each in (sandbox, other["structuredContent"]["sandbox"]):
            self.call("delete_sandbox", sandbox=each)
        self.assertTrue(self.call("run_code", code="x", sandbox=sandbox)["isError"])

    def test_code_waits_for_its_input_between_two_requests_of_one_key(self):
        forms = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
        wish = {"name": "run_code", "arguments": {"code": "'hi ' + input('name? ')"}}
        _, messages = self.stateless("tools/call", wish, meta=forms)
        asked = messages[-1]["result"]
        self.assertEqual(asked["resultType"], "input_required")
        wish |= {"requestState": asked["requestState"],
                 "inputResponses": {"input": {"action": "accept", "content": {"input": "Ada"}}}}
        other = json.loads(self.admin("key", "create", "--json"))["key"]
        _, messages = self.stateless("tools/call", wish, meta=forms, key=other)
        self.assertTrue(messages[-1]["result"]["isError"])
        _, messages = self.stateless("tools/call", wish, meta=forms)
        done = messages[-1]["result"]["structuredContent"]
        self.assertEqual(done["result"], "'hi Ada'")
        self.call("delete_sandbox", sandbox=done["sandbox"])

    def test_a_port_is_listed_with_its_path_at_the_daemon(self):
        started = self.call("run_code", code="import socket\n"
                            "s = socket.create_server(('127.0.0.1', 8000))")
        sandbox = started["structuredContent"]["sandbox"]
        listed = self.call("ports", sandbox=sandbox)["structuredContent"]["ports"]
        self.assertEqual(listed, [{"port": 8000, "path": f"/v1/sandboxes/{sandbox}/ports/8000/"}])
        self.call("delete_sandbox", sandbox=sandbox)

    def test_progress_comes_on_the_stream_of_its_request(self):
        _, messages = self.stateless("tools/call", {
            "name": "run_code", "arguments": {"code": "print('out')", "fresh": True}},
            meta={"progressToken": 5})
        self.assertEqual(messages[0]["method"], "notifications/progress")
        self.assertTrue(messages[0]["params"]["message"].startswith("out"))
        self.assertEqual(text_of(messages[-1]["result"]), "out\n")

    def test_headers_must_agree_with_the_message(self):
        for headers in ({"Mcp_Method": "tools/call"}, {"MCP_Protocol_Version": "2025-11-25"},
                        {"Mcp_Method": ""}):
            status, messages = self.stateless("tools/list", headers=headers)
            self.assertEqual((status, messages[0]["error"]["code"]), (400, -32020), headers)
        status, messages = self.stateless("tools/call", {"name": "list_languages"},
                                          headers={"Mcp_Name": "run_code"})
        self.assertEqual((status, messages[0]["error"]["code"]), (400, -32020))

    def test_an_unknown_method_or_version_has_its_status(self):
        status, messages = self.stateless("nothing/here")
        self.assertEqual((status, messages[0]["error"]["code"]), (404, -32601))
        status, messages = self.stateless(
            "tools/list", headers={"MCP_Protocol_Version": "1900-01-01"},
            meta={"io.modelcontextprotocol/protocolVersion": "1900-01-01"})
        self.assertEqual((status, messages[0]["error"]["code"]), (400, -32022))

    def test_who_has_no_key_learns_nothing(self):
        status, answer, _ = self.send({"jsonrpc": "2.0", "id": 1, "method": "ping"}, key="wrong")
        self.assertEqual((status, answer.getheader("WWW-Authenticate")), (401, "Bearer"))

    def test_a_page_of_another_origin_is_refused(self):
        for origin, host in (("http://evil.example", self.address),
                             ("http://evil.example", "evil.example"),
                             ("http://localhost", "evil.example"),
                             ("http://localhost.evil.example", self.address), ("null", "localhost")):
            status, _, _ = self.send({"jsonrpc": "2.0", "id": 1, "method": "ping"},
                                     Origin=origin, Host=host)
            self.assertEqual(status, 403, (origin, host))
        status, _, _ = self.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25"}}, Origin=f"http://{self.address}")
        self.assertEqual(status, 200)

    def begin(self, version="2025-06-18", **capabilities):
        status, answer, messages = self.send({"jsonrpc": "2.0", "id": 1, "method": "initialize",
                                              "params": {"protocolVersion": version,
                                                         "capabilities": capabilities}})
        self.assertEqual((status, messages[0]["result"]["protocolVersion"]), (200, version))
        session = answer.getheader("Mcp-Session-Id")
        status, _, _ = self.send({"jsonrpc": "2.0", "method": "notifications/initialized"},
                                 Mcp_Session_Id=session)
        self.assertEqual(status, 202)
        return session

    def in_session(self, session, tool, **arguments):
        # An id may not come twice in a session; the call before it may not have ended entirely.
        _, _, messages = self.send({"jsonrpc": "2.0", "id": next(self.ids), "method": "tools/call",
                                    "params": {"name": tool, "arguments": arguments}},
                                   Mcp_Session_Id=session)
        self.assertIn("result", messages[-1])
        return messages[-1]["result"]

    def test_a_session_has_a_sandbox_which_ends_with_it(self):
        session = self.begin()
        first = self.in_session(session, "run_code", code="y = 1")
        self.assertNotIn("[sandbox", text_of(first))
        self.assertEqual(self.in_session(session, "run_code", code="y")["structuredContent"]["result"],
                         "1")
        status, _, _ = self.send(None, method="DELETE", Mcp_Session_Id=session)
        self.assertEqual(status, 204)
        status, _, _ = self.send({"jsonrpc": "2.0", "id": 3, "method": "ping"},
                                 Mcp_Session_Id=session)
        self.assertEqual(status, 404)
        gone = self.call("run_code", code="1", sandbox=first["structuredContent"]["sandbox"])
        self.assertTrue(gone["isError"])

    def test_without_a_session_the_older_revisions_get_nowhere(self):
        status, _, _ = self.send({"jsonrpc": "2.0", "id": 3, "method": "tools/list"})
        self.assertEqual(status, 400)
        status, _, _ = self.send(None, method="GET")
        self.assertEqual(status, 405)

    def test_a_session_and_its_outputs_belong_to_one_tenant(self):
        self.admin("tenant", "create", "other")
        other = json.loads(self.admin("key", "create", "--tenant", "other", "--json"))["key"]
        session = self.begin()
        long = self.in_session(session, "run_code", code="print('x' * 20_000)")
        uri = long["structuredContent"]["more"][0]
        status, _, _ = self.send({"jsonrpc": "2.0", "id": 3, "method": "ping"}, key=other,
                                 Mcp_Session_Id=session)
        self.assertEqual(status, 404)
        status, messages = self.stateless("resources/read", {"uri": uri}, key=other)
        self.assertEqual((status, messages[0]["error"]["code"]), (400, -32602))
        status, messages = self.stateless("resources/read", {"uri": uri})
        self.assertEqual((status, messages[0]["result"]["cacheScope"]), (200, "private"))
        self.send(None, method="DELETE", Mcp_Session_Id=session)

    def test_closing_the_stream_interrupts_the_code(self):
        sandbox = self.call("create_sandbox")["structuredContent"]["sandbox"]
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "run_code", "arguments": {"code": "z = 1\nprint('on', flush=True)\n"
                                                      "while True: pass", "sandbox": sandbox},
            "_meta": {"io.modelcontextprotocol/protocolVersion": STATELESS, "progressToken": 1,
                      "io.modelcontextprotocol/clientCapabilities": {}}}})
        connection = http.client.HTTPConnection(self.address, timeout=PATIENCE_S)
        connection.request("POST", "/mcp", body, {
            "Accept": ACCEPT, "Authorization": f"Bearer {self.key}",
            "MCP-Protocol-Version": STATELESS, "Mcp-Method": "tools/call", "Mcp-Name": "run_code"})
        answer = connection.getresponse()
        self.assertIn(b"event", answer.readline())
        answer.close()
        connection.close()
        # It waits for its turn in the same interpreter.
        self.assertEqual(self.call("run_code", code="z", sandbox=sandbox)["structuredContent"]
                         ["result"], "1")
        self.call("delete_sandbox", sandbox=sandbox)

    def events(self, answer):
        """The events of a stream as they come: (id, data)."""
        number = data = None
        for line in map(bytes.decode, answer):
            if line.startswith("id: "):
                number = line[4:].strip()
            elif line.startswith("data: "):
                data = line[6:].strip()
            elif line == "\n" and data is not None:
                yield number, json.loads(data) if data else None
                number = data = None

    def open(self, method, body=None, key=None, **headers):
        connection = http.client.HTTPConnection(self.address, timeout=PATIENCE_S)
        given = {"Accept": ACCEPT, "Authorization": f"Bearer {key or self.key}"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, "/mcp", body and json.dumps(body), given)
        self.addCleanup(connection.close)
        return connection, connection.getresponse()

    def long_call(self, session, code):
        """A call that tells its progress, under way."""
        return self.open("POST", {
            "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
                "name": "run_code", "arguments": {"code": code}, "_meta": {"progressToken": 1}}},
            Mcp_Session_Id=session)

    def cut(self, connection):
        """As a network does it that fails: without a word, and with what was not read."""
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()

    PATIENT = ("import os, time\nprint('first', flush=True)\n"
               "while not os.path.exists('go'): time.sleep(0.02)\n"
               "print('second', flush=True)\n6 * 7")

    def test_a_client_that_lost_its_connection_gets_the_rest_exactly_once(self):
        for version in ("2025-11-25", "2025-06-18"):
            with self.subTest(version=version):
                session = self.begin(version)
                self.in_session(session, "run_command", command="rm -f go")
                connection, answer = self.long_call(session, self.PATIENT)
                last, said = next(each for each in self.events(answer) if each[1])
                self.assertEqual(said["params"]["message"], "first\n")
                answer.close()
                self.cut(connection)
                # It ends while nobody listens.
                self.in_session(session, "write_file", path="go", content="")
                for _ in range(2):
                    _, resumed = self.open("GET", Mcp_Session_Id=session, Last_Event_ID=last)
                    self.assertEqual(resumed.status, 200)
                    rest = list(self.events(resumed))
                    self.assertEqual(len({each[0] for each in rest}), len(rest))
                    results = [each for _, each in rest if "result" in each]
                    self.assertEqual([each["id"] for each in results], [7])
                    self.assertEqual(results[0]["result"]["structuredContent"]["result"], "42")
                    told = "".join(each["params"]["message"] for _, each in rest
                                   if "method" in each)
                    self.assertNotIn("first", told)
                # From the last event there is nothing more to get.
                _, resumed = self.open("GET", Mcp_Session_Id=session, Last_Event_ID=rest[-1][0])
                self.assertEqual((resumed.status, resumed.read()), (200, b""))
                self.send(None, method="DELETE", Mcp_Session_Id=session)

    def test_a_resumed_stream_goes_on_live_and_belongs_to_its_newest_reader(self):
        session = self.begin("2025-11-25")
        connection, answer = self.long_call(session, self.PATIENT)
        last, _ = next(self.events(answer))
        _, before = self.open("GET", Mcp_Session_Id=session, Last_Event_ID=last)
        _, resumed = self.open("GET", Mcp_Session_Id=session, Last_Event_ID=last)
        with self.assertRaises(http.client.IncompleteRead):
            before.read()
        self.in_session(session, "write_file", path="go", content="")
        self.assertEqual([each["id"] for _, each in self.events(resumed) if "result" in each], [7])
        with self.assertRaises(http.client.IncompleteRead):
            answer.read()
        connection.close()
        self.send(None, method="DELETE", Mcp_Session_Id=session)

    def test_a_silent_call_can_be_resumed_too(self):
        session = self.begin("2025-11-25")
        connection, answer = self.open("POST", {
            "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
                "name": "run_code", "arguments": {"code": self.PATIENT}}}, Mcp_Session_Id=session)
        last, nothing = next(self.events(answer))
        self.assertIsNone(nothing)
        answer.close()
        self.cut(connection)
        _, resumed = self.open("GET", Mcp_Session_Id=session, Last_Event_ID=last)
        self.in_session(session, "write_file", path="go", content="")
        self.assertEqual([each["id"] for _, each in self.events(resumed)], [7])
        self.send(None, method="DELETE", Mcp_Session_Id=session)

    def test_a_question_of_the_code_survives_a_lost_connection(self):
        session = self.begin("2025-11-25", elicitation={})
        connection, answer = self.long_call(session, "print('x', flush=True)\n'hi ' + input('name? ')")
        stream = self.events(answer)
        last, _ = next(stream)
        answer.close()
        self.cut(connection)
        _, resumed = self.open("GET", Mcp_Session_Id=session, Last_Event_ID=last)
        stream = self.events(resumed)
        question = next(each for _, each in stream if each.get("method") == "elicitation/create")
        status, _, _ = self.send({"jsonrpc": "2.0", "id": question["id"], "result": {
            "action": "accept", "content": {"input": "Ada"}}}, Mcp_Session_Id=session)
        self.assertEqual(status, 202)
        done = next(each for _, each in stream if "result" in each)
        self.assertEqual(done["result"]["structuredContent"]["result"], "'hi Ada'")
        self.send(None, method="DELETE", Mcp_Session_Id=session)

    def test_only_the_session_and_its_key_resume_a_stream(self):
        session, stranger = self.begin("2025-11-25"), self.begin("2025-11-25")
        connection, answer = self.long_call(session, self.PATIENT)
        last, _ = next(self.events(answer))
        self.admin("tenant", "create", "reader")
        other = json.loads(self.admin("key", "create", "--tenant", "reader", "--json"))["key"]
        for wanted, key, status in ((session, other, 404), (stranger, None, 400), ("x", None, 404)):
            status_got, _, _ = self.send(None, method="GET", key=key, Mcp_Session_Id=wanted,
                                         Last_Event_ID=last)
            self.assertEqual(status_got, status, (wanted, key))
        for wrong in ("", "x", "1-9999", "77-1"):
            self.assertEqual(self.send(None, method="GET", Mcp_Session_Id=session,
                                       Last_Event_ID=wrong)[0], 400, wrong)
        self.assertEqual(self.send(None, method="GET", Last_Event_ID=last)[0], 400)
        # The end of the session ends its streams.
        _, resumed = self.open("GET", Mcp_Session_Id=session, Last_Event_ID=last)
        self.send(None, method="DELETE", Mcp_Session_Id=session)
        with self.assertRaises(http.client.IncompleteRead):
            resumed.read()
        connection.close()
        self.send(None, method="DELETE", Mcp_Session_Id=stranger)

    def test_what_is_no_longer_kept_is_told_with_what_to_do(self):
        session = self.begin("2025-11-25")
        _, answer = self.long_call(session, "print('x', flush=True)\n1")
        last, _ = next(self.events(answer))
        answer.read()
        for number in range(6):  # Each keeps a result of about a megabyte.
            _, answer = self.long_call(session, "from IPython.display import display\n"
                                       "print('on', flush=True)\n"
                                       "display({'image/png': 'A' * 1_000_000}, raw=True)")
            text = answer.read()
            self.assertGreater(len(text), 1_000_000, (number, answer.status, text))
        status, _, messages = self.send(None, method="GET", Mcp_Session_Id=session,
                                        Last_Event_ID=last)
        self.assertEqual(status, 410)
        self.assertIn("send the request again", messages[0]["error"]["message"])
        self.send(None, method="DELETE", Mcp_Session_Id=session)

    def test_a_task_outlives_its_connection_and_is_its_keys_alone(self):
        meta = {"io.modelcontextprotocol/clientCapabilities": {
            "elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}}

        def ask(method, task, key=None, **more):
            status, messages = self.stateless(method, {"taskId": task} | more,
                                              headers={"Mcp_Name": task}, meta=meta, key=key)
            return status, messages[-1]

        def settled(task, wanted):
            end = time.monotonic() + PATIENCE_S
            while time.monotonic() < end:
                state = ask("tasks/get", task)[1]["result"]
                if state["status"] == wanted:
                    return state
            raise AssertionError(state)

        code = "name = input('name? ')\n'hello ' + name"
        _, messages = self.stateless(
            "tools/call", {"name": "run_code", "arguments": {"code": code}}, meta=meta)
        task = messages[-1]["result"]["taskId"]
        key, = settled(task, "input_required")["inputRequests"]
        other = json.loads(self.admin("key", "create", "--json"))["key"]
        for method in ("tasks/get", "tasks/cancel"):
            status, answer = ask(method, task, key=other)
            self.assertEqual((status, answer["error"]["code"]), (400, -32602))
        ask("tasks/update", task, inputResponses={
            key: {"action": "accept", "content": {"input": "Ada"}}})
        data = settled(task, "completed")["result"]["structuredContent"]
        self.assertEqual(data["result"], "'hello Ada'")
        self.assertEqual(self.call("run_code", code="name", sandbox=data["sandbox"])
                         ["structuredContent"]["result"], "'Ada'")
        # The header has to name the task.
        status, messages = self.stateless("tasks/get", {"taskId": task}, meta=meta,
                                          headers={"Mcp_Name": "another"})
        self.assertEqual((status, messages[-1]["error"]["code"]), (400, -32020))

    def test_the_stream_of_a_session_tells_what_it_has_subscribed_to(self):
        session, older = self.begin("2025-11-25"), self.begin("2025-06-18")
        streams = [self.open("GET", Mcp_Session_Id=each)[1] for each in (session, older)]
        code = "import time\nprint('one', flush=True)\nwhile True: time.sleep(0.1)"
        _, _, messages = self.send(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
                "name": "run_code", "arguments": {"code": code}, "task": {}}},
            Mcp_Session_Id=session)
        task = messages[-1]["result"]["task"]["taskId"]
        uri = f"glovebox://task/{task}"
        for each, stream in zip((session, older), streams):
            _, _, messages = self.send(
                {"jsonrpc": "2.0", "id": 2, "method": "resources/subscribe",
                 "params": {"uri": uri}}, Mcp_Session_Id=each)
            self.assertEqual(messages[-1]["result"], {})
            _, told = next(self.events(stream))
            self.assertEqual((told["method"], told["params"]),
                             ("notifications/resources/updated", {"uri": uri}))
        # Who opens the stream again has perhaps missed something.
        _, again = self.open("GET", Mcp_Session_Id=session)
        self.assertEqual(next(self.events(again))[1]["params"], {"uri": uri})
        other = json.loads(self.admin("key", "create", "--json"))["key"]
        self.assertEqual(self.send(None, "GET", other, Mcp_Session_Id=session)[0], 404)
        self.send({"jsonrpc": "2.0", "id": 3, "method": "tasks/cancel",
                   "params": {"taskId": task}}, Mcp_Session_Id=session)
        for each, stream in zip((session, older), streams):
            self.send(None, method="DELETE", Mcp_Session_Id=each)
            self.assertEqual([data for _, data in self.events(stream)], [])


if __name__ == "__main__":
    unittest.main()
