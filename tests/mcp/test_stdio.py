# SPDX-License-Identifier: Apache-2.0
"""`glovebox mcp` on standard input and output, spoken to by hand."""
import base64
import json
import pathlib
import signal
import tempfile
import unittest

from client import Client, STATELESS, text_of


class Tools(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = Client()
        cls.call = staticmethod(cls.client.call)

    @classmethod
    def tearDownClass(cls):
        assert cls.client.close() == 0

    def test_variables_stay_between_calls(self):
        self.call("run_code", code="kept = 41")
        result = self.call("run_code", code="print('hi')\nkept + 1")
        self.assertEqual(text_of(result), "hi\n\n42")
        data = result["structuredContent"]
        self.assertEqual((data["status"], data["stdout"], data["result"]), ("ok", "hi\n", "42"))
        self.assertNotIn("isError", result)

    def test_an_exception_is_an_error_with_its_traceback(self):
        result = self.call("run_code", code="1/0")
        self.assertTrue(result["isError"])
        self.assertIn("ZeroDivisionError: division by zero", text_of(result))
        self.assertNotIn("\x1b", text_of(result))
        self.assertEqual(result["structuredContent"]["error"]["name"], "ZeroDivisionError")

    def test_a_plot_is_an_image(self):
        result = self.call("run_code", code="from IPython.display import Image, display\n"
                           "import base64\ndisplay(Image(base64.b64decode("
                           "'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADh"
                           "gGAWjR9awAAAABJRU5ErkJggg==')))")
        image = next(each for each in result["content"] if each["type"] == "image")
        self.assertEqual(image["mimeType"], "image/png")
        self.assertTrue(base64.b64decode(image["data"]).startswith(b"\x89PNG"))

    def test_interpreters_are_told_apart_by_their_handles(self):
        new = self.call("run_code", code="apart = 1", context="new")["structuredContent"]["context"]
        self.assertTrue(self.call("run_code", code="apart")["isError"])
        result = self.call("run_code", code="apart", context=new)
        self.assertEqual(result["structuredContent"]["result"], "1")

    def test_a_fresh_sandbox_knows_nothing(self):
        self.call("write_file", path="mine.txt", content="x")
        result = self.call("run_code", code="import os; print(os.listdir())", fresh=True)
        self.assertEqual(result["structuredContent"]["status"], "ok")
        self.assertNotIn("mine.txt", text_of(result))

    def test_a_language_without_an_interpreter_is_compiled_and_run(self):
        result = self.call("run_code", language="c",
                           code='#include <stdio.h>\nint main() { puts("from C"); }')
        self.assertEqual(text_of(result), "from C\n")

    def test_a_time_limit_ends_the_call_and_not_the_interpreter(self):
        self.call("run_code", code="before = 7")
        result = self.call("run_code", code="while True: pass", timeout=0.5)
        self.assertEqual(result["structuredContent"]["status"], "timeout")
        self.assertIn("larger timeout", text_of(result))
        self.assertEqual(self.call("run_code", code="before")["structuredContent"]["result"], "7")

    def test_a_command_sees_the_files_and_its_exit_status_is_told(self):
        self.call("run_code", code="open('made.txt', 'w').write('by python')")
        result = self.call("run_command", command="cat made.txt; echo oops >&2; exit 3")
        self.assertTrue(result["isError"])
        data = result["structuredContent"]
        self.assertEqual((data["stdout"], data["stderr"], data["exit_code"], data["status"]),
                         ("by python", "oops\n", 3, "error"))

    def test_files_are_written_edited_listed_and_searched(self):
        self.call("write_file", path="d/a.py", content="one = 1\ntwo = 1\n")
        twice = self.call("edit_file", path="d/a.py", old="= 1", new="= 2")
        self.assertTrue(twice["isError"])
        self.assertIn("occurs 2 times", text_of(twice))
        self.call("edit_file", path="d/a.py", old="two = 1", new="two = 2")
        self.assertEqual(self.call("read_file", path="d/a.py")["structuredContent"]["text"],
                         "one = 1\ntwo = 2\n")
        listed = self.call("list_files", path="d")["structuredContent"]["entries"]
        self.assertEqual([(each["type"], each["size"]) for each in listed], [("file", 16)])
        found = self.call("search_files", pattern="two *=", glob="*.py")["structuredContent"]
        self.assertEqual(found, found | {"matches": [{"path": "d/a.py", "line": 2,
                                                      "text": "two = 2"}], "truncated": False})
        self.assertTrue(self.call("search_files", pattern="(")["isError"])

    def test_bytes_go_both_ways(self):
        raw = bytes(range(256))
        self.call("write_file", path="raw", content=base64.b64encode(raw).decode(), base64=True)
        data = self.call("read_file", path="raw")["structuredContent"]
        self.assertEqual(base64.b64decode(data["base64"]), raw)

    def test_a_long_file_comes_in_pages_of_whole_characters(self):
        whole = "ä" * 50_000
        self.call("write_file", path="long.txt", content=whole)
        offset, read = 0, ""
        while offset is not None:
            data = self.call("read_file", path="long.txt", offset=offset,
                             limit=30_001)["structuredContent"]
            read += data["text"]
            offset = data.get("next_offset")
        self.assertEqual(read, whole)

    def test_a_long_output_is_cut_and_kept_whole_as_a_resource(self):
        result = self.call("run_code", code="print('x' * 30_000 + 'end')")
        self.assertIn("bytes are left out here", text_of(result))
        self.assertLess(len(text_of(result)), 20_000)
        link = next(each for each in result["content"] if each["type"] == "resource_link")
        self.assertEqual(result["structuredContent"]["more"], [link["uri"]])
        listed = self.client.request("resources/list")["result"]["resources"]
        self.assertIn(link["uri"], [each["uri"] for each in listed])
        read = self.client.request("resources/read", {"uri": link["uri"]})["result"]["contents"]
        self.assertEqual(read[0]["text"], "x" * 30_000 + "end\n")
        last = self.client.request("resources/read", {"uri": link["uri"] + "?offset=30000"})
        self.assertEqual(last["result"]["contents"][0]["text"], "end\n")
        by_tool = self.call("read_file", path=link["uri"], offset=30_000)
        self.assertEqual(by_tool["structuredContent"]["text"], "end\n")

    def test_memory_and_files_go_back_to_a_checkpoint(self):
        new = self.call("run_code", code="x = 'old'", context="new")["structuredContent"]["context"]
        self.call("write_file", path="state", content="old")
        number = self.call("checkpoint", context=new)["structuredContent"]["checkpoint"]
        self.call("run_code", code="x = 'new'", context=new)
        self.call("write_file", path="state", content="new")
        fork = self.call("fork", context=new, checkpoint=number)["structuredContent"]["context"]
        self.assertEqual(self.call("run_code", code="x", context=fork)["structuredContent"]["result"],
                         "'old'")
        self.assertEqual(self.call("rollback", context=new)["structuredContent"]["checkpoint"],
                         number)
        self.assertEqual(self.call("run_code", code="x, open('state').read()", context=new)
                         ["structuredContent"]["result"], "('old', 'old')")

    def test_an_interpreter_that_ended_says_how_to_go_on(self):
        new = self.call("run_code", code="1", context="new")["structuredContent"]["context"]
        self.call("run_code", code="import os; os._exit(3)", context=new)
        ended = self.call("run_code", code="1", context=new)
        self.assertTrue(ended["isError"])
        self.assertIn("call restart", text_of(ended))
        self.call("restart", context=new)
        self.assertEqual(self.call("run_code", code="1", context=new)["structuredContent"]["status"],
                         "ok")

    def test_sandboxes_are_apart_and_can_be_deleted(self):
        own = self.call("create_sandbox")["structuredContent"]["sandbox"]
        self.call("write_file", path="here", content="1", sandbox=own)
        self.assertTrue(self.call("read_file", path="here")["isError"])
        self.call("delete_sandbox", sandbox=own)
        self.assertTrue(self.call("read_file", path="here", sandbox=own)["isError"])

    def test_a_wrong_argument_is_named(self):
        for arguments, problem in (({"cod": "1"}, "'code' is missing"),
                                   ({"code": "1", "langauge": "c"}, "unknown argument 'langauge'"),
                                   ({"code": 1}, "'code' must be a string"),
                                   ({"code": "1", "timeout": -1}, "'timeout' must be a number"),
                                   ({"code": "1", "language": "cobal"}, "cobal")):
            result = self.call("run_code", **arguments)
            self.assertTrue(result["isError"], arguments)
            self.assertIn(problem, text_of(result))

    def test_there_is_no_network(self):
        result = self.call("run_command", command="cat /proc/net/dev | wc -l")
        self.assertEqual(result["structuredContent"]["stdout"].strip(), "3")  # Two lines of title.

    def test_list_languages_names_what_is_ready(self):
        languages = self.call("list_languages")["structuredContent"]["languages"]
        self.assertIn("python", [each["id"] for each in languages])

    def test_what_is_printed_comes_as_progress(self):
        number = self.client.send("tools/call", {"name": "run_code", "arguments": {
            "code": "print('first', flush=True)\nimport time\n"
                    "while not __import__('os').path.exists('seen'): time.sleep(0.02)"}},
            progressToken="t")
        while not any(each["method"] == "notifications/progress" for each in self.client.notes):
            self.client.notes.append(self.client.take())
        note = self.client.notes.pop()["params"]
        self.assertEqual((note["progressToken"], note["message"]), ("t", "first\n"))
        # Which also shows that one call does not wait for another.
        self.call("write_file", path="seen", content="")
        self.assertNotIn("isError", self.client.wait(number)["result"])

    def test_a_canceled_call_ends_and_gets_no_response(self):
        number = self.client.send("tools/call", {"name": "run_code", "arguments": {
            "code": "open('started', 'w')\nwhile True: pass", "context": "new"}})
        while self.call("read_file", path="started").get("isError"):
            pass
        self.assertEqual(self.client.request("ping")["result"], {})
        self.client.notify("notifications/cancelled", {"requestId": number})
        # The slot of the id is free again once the call has ended.
        while True:
            self.client.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}))
            again = self.client.wait(number)
            if "result" in again:
                break
        self.assertEqual(again["result"], {})


SERVER = """
import http.server, threading
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(418)
        self.send_header("X-Seen", self.headers["X-Given"])
        self.end_headers()
        self.wfile.write(self.path.encode() + b" " + body)
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        if self.path == "/slow":
            self.wfile.write(b"begun")
            self.wfile.flush()
            threading.Event().wait()
        self.wfile.write(b"x" * 3_000_000)
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
server.server_port
"""


class Ports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = Client()
        cls.addClassCleanup(cls.client.close)
        cls.call = staticmethod(cls.client.call)
        started = cls.call("run_code", code=SERVER)
        cls.port = int(started["structuredContent"]["result"])

    def test_what_listens_is_listed(self):
        listed = self.call("ports")
        self.assertEqual(listed["structuredContent"]["ports"], [{"port": self.port}])
        self.assertIn("Only this tool", text_of(listed))

    def test_a_request_reaches_the_server_and_brings_its_response(self):
        done = self.call("ports", port=self.port, method="POST", path="/a b?c=ä", body="bödy",
                         headers=["X-Given: 7"])
        data = done["structuredContent"]
        self.assertEqual((data["status"], data["body"]), (418, "/a%20b?c=%C3%A4 bödy"))
        self.assertIn("X-Seen: 7\n", data["head"])

    def test_a_large_response_is_bounded_and_kept(self):
        done = self.call("ports", port=self.port)
        self.assertLess(len(text_of(done)), 20_000)
        link = next(each for each in done["content"] if each["type"] == "resource_link")
        self.assertLessEqual(link["size"], 1 << 20)

    def test_a_response_without_end_is_cut_by_the_time_limit(self):
        done = self.call("ports", port=self.port, path="/slow", timeout=1)
        self.assertTrue(done["isError"])
        self.assertEqual(done["structuredContent"]["body"], "begun")

    def test_a_wrong_request_is_named(self):
        for arguments, problem in (({"port": 1}, "nothing is listening"),
                                   ({"path": "/"}, "needs the argument 'port'"),
                                   ({"port": 0}, "from 1 to 65535"),
                                   ({"port": self.port, "path": "x"}, "begin with '/'"),
                                   ({"port": self.port, "method": "GET /"}, "capital letters"),
                                   ({"port": self.port, "headers": ["x"]}, "must be lines"),
                                   ({"port": self.port, "headers": ["a: b\r\nc: d"]},
                                    "must be lines"),
                                   ({"port": self.port, "body": "\0"}, "NUL"),
                                   ({"port": self.port, "body": "x" * 70_000}, "65536")):
            done = self.call("ports", **arguments)
            self.assertTrue(done.get("isError"), arguments)
            self.assertIn(problem, text_of(done))

    def test_what_speaks_no_http_is_told(self):
        started = self.call("run_code", code="import socket, threading\n"
                            "silent = socket.create_server(('127.0.0.1', 0))\n"
                            "def answer():\n    while True:\n        one = silent.accept()[0]\n"
                            "        one.sendall(b'220 mail\\r\\n'); one.close()\n"
                            "threading.Thread(target=answer, daemon=True).start()\n"
                            "silent.getsockname()[1]", context="new")
        done = self.call("ports", port=int(started["structuredContent"]["result"]))
        self.assertTrue(done["isError"])
        self.assertIn("did not send an HTTP response", text_of(done))
        self.call("restart", context=started["structuredContent"]["context"])


class Revisions(unittest.TestCase):
    def test_one_with_initialize_is_agreed_on(self):
        for version in ("2025-11-25", "2025-06-18"):
            with Client(version=version, as_shipped=True) as client:
                self.assertEqual(client.first["protocolVersion"], version)
                self.assertEqual(client.first["serverInfo"]["name"], "glovebox")
                self.assertIn("pandas", client.first["instructions"])
                tools = client.request("tools/list")["result"]
                self.assertNotIn("resultType", tools)

    def test_an_unknown_one_gets_the_newest_with_initialize(self):
        with Client(version="1999-01-01") as client:
            self.assertEqual(client.first["protocolVersion"], "2025-11-25")

    def test_the_stateless_one_needs_no_handshake(self):
        with Client(version=STATELESS) as client:
            found = client.request("server/discover")["result"]
            self.assertEqual(found["supportedVersions"][0], STATELESS)
            self.assertEqual(found["resultType"], "complete")
            self.assertIn("tools", found["capabilities"])
            listed = client.request("tools/list")["result"]
            self.assertEqual((listed["resultType"], listed["cacheScope"]), ("complete", "public"))
            self.assertIsInstance(listed["ttlMs"], int)
            result = client.call("run_code", code="1+1")
            self.assertEqual(result["structuredContent"]["result"], "2")
            self.assertEqual(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
                             "glovebox")
            for gone in ("ping", "initialize", "logging/setLevel"):
                self.assertEqual(client.request(gone)["error"]["code"], -32601, gone)

    def test_what_was_asked_before_the_end_of_input_is_answered(self):
        with Client() as client:
            client.write('{"jsonrpc":"2.0","id":"last","method":"tools/call",'
                         '"params":{"name":"run_code","arguments":{"code":"6*7"}}}')
            self.assertEqual(client.close(), 0)
            lines = list(iter(client.arrived.get, None))
        self.assertIn("42", [line["result"]["structuredContent"]["result"]
                             for line in lines if line.get("id") == "last"])

    def test_the_stateless_one_refuses_what_it_does_not_speak(self):
        with Client(version=None) as client:
            wrong = client.request("tools/list", **{
                "io.modelcontextprotocol/protocolVersion": "1900-01-01",
                "io.modelcontextprotocol/clientCapabilities": {}})["error"]
            self.assertEqual(wrong["code"], -32022)
            self.assertIn(STATELESS, wrong["data"]["supported"])
            bare = client.request("tools/list", **{
                "io.modelcontextprotocol/protocolVersion": STATELESS})["error"]
            self.assertEqual(bare["code"], -32602)
            self.assertEqual(client.request("tools/list")["error"]["code"], -32600)


class Hostile(unittest.TestCase):
    def test_what_is_no_message_is_refused_and_the_next_one_answered(self):
        with Client() as client:
            for text, code in (("{", -32700), ("[]", -32600), ("7", -32600),
                               ('{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
                               ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
                               ('{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
                               ('{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
                               ('{"jsonrpc":"2.0","id":1,"method":"nothing"}', -32601),
                               ('{"a":' * 100 + "1" + "}" * 100, -32700),
                               ('{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700)):
                client.write(text)
                self.assertEqual(client.take()["error"]["code"], code, text)
            self.assertEqual(client.request("ping")["result"], {})

    def test_a_line_without_end_is_refused_once(self):
        with Client() as client:
            client.process.stdin.write(b"x" * (17 << 20) + b"\n")
            self.assertEqual(client.take()["error"]["code"], -32600)
            self.assertEqual(client.request("ping")["result"], {})

    def test_more_calls_at_once_than_allowed_are_refused(self):
        with Client() as client:
            numbers = [client.send("tools/call", {"name": "run_code", "arguments": {
                "code": "import os, time\nwhile not os.path.exists('go'): time.sleep(0.05)"}})
                for _ in range(64)]
            full = client.request("ping")
            self.assertEqual(full["error"]["code"], -32600)
            self.assertIn("64", full["error"]["message"])
            client.notify("notifications/cancelled", {"requestId": numbers[-1]})
            while "error" in client.request("tools/call", {"name": "write_file", "arguments": {
                    "path": "go", "content": ""}}):
                pass
            for number in numbers[:-1]:
                self.assertIn("result", client.wait(number))

    def test_a_path_cannot_leave_the_sandbox(self):
        with tempfile.NamedTemporaryFile() as outside, Client() as client:
            outside.write(b"secret")
            outside.flush()
            for path in (outside.name, "../../.." + outside.name, "/proc/1/root" + outside.name):
                self.assertTrue(client.call("read_file", path=path).get("isError"), path)
            client.call("run_command", command=f"ln -s {outside.name} link")
            self.assertTrue(client.call("read_file", path="link").get("isError"))


class Process(unittest.TestCase):
    def test_files_and_variables_are_there_from_the_start(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "in.txt").write_text("given")
            with Client("--file", f"{folder}:data", "--env", "COLOUR=blue") as client:
                result = client.call("run_command", command="cat data/in.txt; echo $COLOUR")
                self.assertEqual(text_of(result), "givenblue\n")

    def test_the_limits_hold(self):
        with Client("--memory", "256M", "--time", "1s") as client:
            result = client.call("run_code", code="x = bytearray(1 << 30)")
            self.assertEqual(result["structuredContent"]["status"], "out_of_memory")
            result = client.call("run_command", command="while :; do :; done")
            self.assertEqual(result["structuredContent"]["status"], "timeout")

    def test_a_signal_ends_it_with_what_is_under_way(self):
        client = Client()
        client.call("run_code", code="1")
        client.send("tools/call", {"name": "run_code", "arguments": {"code": "while True: pass"}})
        client.process.send_signal(signal.SIGTERM)
        self.assertEqual(client.process.wait(120), 0)
        client.close()

    def test_nothing_is_left_behind(self):
        with tempfile.TemporaryDirectory() as folder:
            import os
            os.environ["TMPDIR"] = folder
            try:
                with Client() as client:
                    client.call("run_code", code="1")
                    self.assertTrue(os.listdir(folder))
            finally:
                del os.environ["TMPDIR"]
            self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    unittest.main()
