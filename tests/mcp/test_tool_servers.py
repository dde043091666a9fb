# SPDX-License-Identifier: Apache-2.0
"""`/mcp/python/sse` and `/mcp/container/sse` of the daemon: the transport of revision 2024-11-05."""
import base64
import http.client
import json
import pathlib
import sys
import unittest

from client import PATIENCE_S

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "service"))
from daemon import Daemon, wait_until


class Stream:
    """A client that opens the stream and keeps its events in order."""

    def __init__(self, test, path, key=None, **headers):
        self.port = test.daemon.port
        self.key = key or test.daemon.key
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        test.addCleanup(self.close)
        self.connection.request("GET", path, headers={
            "Authorization": f"Bearer {self.key}", "Accept": "text/event-stream"} | headers)
        self.answer = self.connection.getresponse()
        self.status = self.answer.status
        if self.status == 200:
            self.endpoint = self.event("endpoint")
            self.last_id = 0

    def close(self):
        self.answer.close()
        self.connection.close()

    def event(self, wanted="message"):
        """The data of the next event, or None at the end of the stream."""
        name = None
        for line in iter(self.answer.readline, b""):
            text = line.decode().rstrip("\n")
            if text.startswith("event: "):
                name = text[7:]
            elif text.startswith("data: "):
                assert name == wanted, text
                return text[6:]
        return None

    def post(self, message, key=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        connection.request("POST", self.endpoint, json.dumps(message), {
            "Authorization": f"Bearer {key or self.key}", "Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status

    def send(self, method, **params):
        self.last_id += 1
        status = self.post({"jsonrpc": "2.0", "id": self.last_id, "method": method,
                            "params": params})
        assert status == 202, status
        return self.last_id

    def request(self, method, **params):
        self.send(method, **params)
        return json.loads(self.event())

    def begin(self):
        result = self.request("initialize", protocolVersion="2024-11-05", capabilities={},
                              clientInfo={"name": "test", "version": "1"})["result"]
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    def call(self, tool, **arguments):
        result = self.request("tools/call", name=tool, arguments=arguments)["result"]
        content, = result["content"]
        return content["text"], result.get("isError", False)


class ToolServers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        cls.daemon.start()

    def stream(self, server, **options):
        stream = Stream(self, f"/mcp/{server}/sse", **options)
        self.assertEqual(stream.status, 200)
        return stream

    def new_key(self, tenant="default"):
        return self.daemon.must(201, "POST", "/v1/keys", {
            "tenant": tenant, "scopes": ["run", "read"]})

    def sandboxes(self):
        listed = self.daemon.must(200, "GET", "/v1/sandboxes")["sandboxes"]
        return {each["id"] for each in listed}

    def test_python_keeps_variables_in_one_session_and_returns_one_text(self):
        stream = self.stream("python")
        first = stream.begin()
        self.assertEqual((first["serverInfo"]["name"], first["protocolVersion"]),
                         ("python", "2024-11-05"))
        self.assertIn("Python", first["instructions"])
        tools = stream.request("tools/list")["result"]["tools"]
        self.assertEqual([(each["name"], each["annotations"]["include_in_prompt"])
                          for each in tools],
                         [("python", False), ("cleanup_session", False)])
        self.assertEqual(stream.call("python", code="x = 41"), ("(no output)", False))
        self.assertEqual(stream.call("python", code="print('said')\nx + 1"), ("said\n42", False))
        text, failed = stream.call("python", code="1 / 0")
        self.assertIn("ZeroDivisionError", text)
        self.assertTrue(failed)
        other = self.stream("python")
        other.begin()
        self.assertTrue(other.call("python", code="x")[1])

    def test_container_runs_commands_with_their_surroundings(self):
        stream = self.stream("container")
        self.assertEqual(stream.begin()["serverInfo"]["name"], "container")
        tools = stream.request("tools/list")["result"]["tools"]
        self.assertEqual([each["name"] for each in tools if each["annotations"].get(
            "include_in_prompt", True)], ["exec"])
        stream.call("exec", cmd=["sh", "-c", "mkdir d && echo kept > d/f"])
        self.assertEqual(
            stream.call("exec", cmd=["sh", "-c", "cat f; echo $COLOUR"], workdir="d",
                        env={"COLOUR": "blue"}, session_name="main"),
            ("kept\nblue\n", False))
        self.assertEqual(stream.call("exec", cmd=["sh", "-c", "exit 3"]), ("exit status 3", True))
        self.assertIn("cmd", stream.call("exec", cmd=[])[0])
        self.assertIn("env", stream.call("exec", cmd=["true"], env={"A=B": "c"})[0])
        self.assertIn("time limit", stream.call("exec", cmd=["sleep", "60"], timeout=0.2)[0])

    def test_sessions_of_one_id_share_a_sandbox_and_the_last_one_ends_it(self):
        before = self.sandboxes()
        python = self.stream("python", **{"x-session-id": "request-1"})
        container = self.stream("container", **{"x-session-id": "request-1"})
        for each in (python, container):
            each.begin()
        python.call("python", code="open('made', 'w').write('by python')")
        self.assertEqual(container.call("exec", cmd=["cat", "made"]), ("by python", False))
        self.assertEqual(len(self.sandboxes() - before), 1)
        python.close()
        self.assertEqual(container.call("exec", cmd=["cat", "made"]), ("by python", False))
        container.close()
        wait_until(lambda: not self.sandboxes() - before, "the end of the sandbox", PATIENCE_S)

    def test_cleanup_session_deletes_the_sandbox(self):
        stream = self.stream("python")
        stream.begin()
        stream.call("python", code="x = 1")
        self.assertFalse(stream.call("cleanup_session")[1])
        self.assertIn("NameError", stream.call("python", code="x")[0])

    def test_a_canceled_call_gets_no_response(self):
        stream = self.stream("python")
        stream.begin()
        stream.call("python", code="y = 1")
        number = stream.send("tools/call", name="python", arguments={"code": "while True: pass"})
        self.assertEqual(stream.request("ping")["result"], {})
        self.assertEqual(stream.post({"jsonrpc": "2.0", "method": "notifications/cancelled",
                                      "params": {"requestId": number}}), 202)
        self.assertEqual(stream.call("python", code="y"), ("1", False))

    def test_a_revoked_key_closes_its_streams_and_deletes_its_sandboxes(self):
        before = self.sandboxes()
        made = self.new_key()
        stream = self.stream("python", key=made["key"])
        stream.begin()
        stream.call("python", code="x = 1")
        self.assertEqual(len(self.sandboxes() - before), 1)
        self.daemon.must(204, "DELETE", f"/v1/keys/{made['id']}")
        self.assertIsNone(stream.event())
        wait_until(lambda: not self.sandboxes() - before, "the end of the sandbox", PATIENCE_S)
        self.assertEqual(stream.post({"jsonrpc": "2.0", "id": 9, "method": "ping"}), 401)

    def test_a_session_belongs_to_the_key_that_opened_it(self):
        other = self.new_key()["key"]
        stream = self.stream("python")
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        self.assertEqual(stream.post(ping, key=other), 404)
        self.assertEqual(stream.post(ping, key="wrong"), 401)
        self.assertEqual(stream.post(ping), 202)
        self.assertTrue(stream.endpoint.startswith("/mcp/python/sse?session_id="))
        stream.endpoint = "/mcp/container/sse?session_id=guessed"
        self.assertEqual(stream.post(ping), 404)

    def test_a_key_in_the_url_is_enough(self):
        basic = base64.b64encode(f"any:{self.daemon.key}".encode()).decode()
        self.stream("python", Authorization=f"Basic {basic}")
        for wrong in (f"Basic {base64.b64encode(b'any:wrong').decode()}", "Basic !", "Basic ", ""):
            self.assertEqual(Stream(self, "/mcp/python/sse", Authorization=wrong).status, 401, wrong)

    def test_what_is_no_message_of_this_transport_is_refused(self):
        stream = self.stream("python")
        self.assertEqual(stream.post([]), 400)
        self.assertEqual(stream.post({"jsonrpc": "2.0", "id": 1, "method": "server/discover"}), 400)
        stream.begin()
        self.assertEqual(stream.request("tools/call", name="exec", arguments={})["error"]["code"],
                         -32602)

    def test_a_tenant_can_open_so_many_streams_and_no_more(self):
        self.daemon.must(201, "POST", "/v1/tenants", {"name": "crowd"})
        key = self.new_key("crowd")["key"]
        statuses = [Stream(self, "/mcp/python/sse", key=key).status for _ in range(257)]
        self.assertEqual((set(statuses[:256]), statuses[256]), ({200}, 429))


if __name__ == "__main__":
    unittest.main()
