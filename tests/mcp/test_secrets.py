# SPDX-License-Identifier: Apache-2.0
"""Secrets of `glovebox mcp` and `mcp-wrap`: the host that they are for gets them, and the code does not."""
import http.server
import os
import subprocess
import threading
import unittest

from client import GLOVEBOX, PATIENCE_S, Client

VALUE = "never-told-inside"
FETCH = """
import os, urllib.request
for name in ("no_proxy", "NO_PROXY"):
    os.environ.pop(name, None)
request = urllib.request.Request({url!r}, headers={{"Authorization": "Bearer " + os.environ["TOKEN"]}})
print(os.environ["TOKEN"], urllib.request.urlopen(request).status)
"""


class Secrets(unittest.TestCase):
    def setUp(self):
        self.got = got = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                got.append(self.headers["Authorization"])
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        here = f"127.0.0.1:{server.server_address[1]}"
        self.code = FETCH.format(url=f"http://{here}/")
        self.options = ["--allow-net", here, "--secret", f"TOKEN@http://{here}"]
        os.environ["TOKEN"] = VALUE
        self.addCleanup(os.environ.pop, "TOKEN")

    def check(self, said):
        self.assertEqual(said.split()[-1:], ["204"], said)
        self.assertNotIn(VALUE, said)
        self.assertEqual(self.got, ["Bearer " + VALUE])

    def test_code_of_a_client_does_not_see_them(self):
        with Client(*self.options) as client:
            result = client.call("run_code", code=self.code)
        self.check(result["structuredContent"]["stdout"])

    def test_a_wrapped_server_does_not_see_them(self):
        done = subprocess.run([GLOVEBOX, "mcp-wrap", *self.options, "--", "python3", "-c", self.code],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check(done.stdout)


if __name__ == "__main__":
    unittest.main()
