# SPDX-License-Identifier: Apache-2.0
"""`glovebox mcp-wrap`: a server of somebody else's, in a sandbox."""
import json
import pathlib
import subprocess
import tempfile
import unittest

from client import GLOVEBOX, PATIENCE_S

SERVER = """
import json, os, socket, sys
for line in sys.stdin:
    asked = json.loads(line)["params"]["path"]
    try:
        result = open(asked).read()
    except OSError as error:
        result = error.strerror
    print(json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}), flush=True)
print("over", file=sys.stderr)
sys.exit(7)
"""


class Wrap(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.script = pathlib.Path(folder.name) / "server.py"
        self.script.write_text(SERVER)
        self.secret = pathlib.Path(folder.name) / "secret"
        self.secret.write_text("of the host")

    def start(self, *options):
        process = subprocess.Popen(
            [GLOVEBOX, "mcp-wrap", "--file", self.script, *options, "--", "python3", "server.py"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        return process

    @staticmethod
    def ask(process, path):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "read",
                                        "params": {"path": str(path)}}) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())["result"]

    def test_messages_pass_one_by_one_and_the_walls_hold(self):
        process = self.start()
        self.assertEqual(self.ask(process, "server.py"), SERVER)
        self.assertEqual(self.ask(process, self.secret), "No such file or directory")
        devices = self.ask(process, "/proc/net/dev").splitlines()[2:]
        self.assertEqual([line.split(":")[0].strip() for line in devices], ["lo"])
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual((out, err, process.returncode), ("", "over\n", 7))

    def test_a_signal_ends_it(self):
        process = self.start()
        self.ask(process, "server.py")
        process.terminate()
        # Before its input ends, at which the server would end by itself.
        self.assertNotEqual(process.wait(timeout=PATIENCE_S), 7)
        process.communicate()

    def test_the_command_is_named(self):
        done = subprocess.run([GLOVEBOX, "mcp-wrap"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no server given", done.stderr)


if __name__ == "__main__":
    unittest.main()
