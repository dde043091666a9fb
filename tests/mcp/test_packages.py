# SPDX-License-Identifier: Apache-2.0
"""`glovebox mcp --package-index`: packages from an index on a socket of the caller's."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from client import GLOVEBOX, Client, text_of

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from package_files import wheel  # noqa: E402
from package_index import serve_index  # noqa: E402


class Index(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="glovebox-mcp-")
        self.addCleanup(place.cleanup)
        self.files = pathlib.Path(place.name)
        wheel(self.files, "gbgamma", "1.0", {"gbgamma.py": "NAME = 'gamma'\n"}, ["gbdelta"])
        wheel(self.files, "gbdelta", "1.0", {"gbdelta.py": "NAME = 'delta'\n"})
        self.server = serve_index(self, self.files)
        self.option = f"pip:{self.server.socket_path}"

    def test_the_client_installs_from_the_socket(self):
        with Client("--package-index", self.option) as client:
            self.assertIn("install_packages",
                          [tool["name"] for tool in client.request("tools/list")["result"]["tools"]])
            # An interpreter that lives already sees them.
            client.call("run_code", code="kept = 1")
            done = client.call("install_packages", packages=["pip:gbgamma"])
            self.assertEqual(done["structuredContent"]["status"], "ok", text_of(done))
            found = client.call("run_code", code="import gbgamma, gbdelta\n"
                                "gbgamma.NAME + gbdelta.NAME, kept")
            self.assertEqual(found["structuredContent"]["result"], "('gammadelta', 1)")
            # A further sandbox has a relay of its own.
            other = client.call("create_sandbox")["structuredContent"]["sandbox"]
            done = client.call("install_packages", packages=["pip:gbdelta"], sandbox=other)
            self.assertEqual(done["structuredContent"]["status"], "ok", text_of(done))
        self.assertIn("/simple/gbgamma/", self.server.asked)

    def test_what_is_named_at_the_start_is_there(self):
        with Client("--package-index", self.option, "--packages", "pip:gbdelta") as client:
            found = client.call("run_code", code="import gbdelta; gbdelta.NAME")
            self.assertEqual(found["structuredContent"]["result"], "'delta'", text_of(found))

    def test_a_manager_without_an_index_is_refused_at_once(self):
        with Client("--package-index", self.option) as client:
            done = client.call("install_packages", packages=["npm:left-pad"])
            self.assertTrue(done["isError"])
            self.assertIn("no package source for npm", text_of(done))

    def test_what_is_no_socket_is_told_before_anything_starts(self):
        done = subprocess.run([GLOVEBOX, "mcp", "--package-index", f"pip:{self.files}"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("not a Unix socket", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "only root's guests are another user")
    def test_a_socket_that_no_guest_may_use_is_refused_with_the_fix(self):
        os.chmod(self.server.socket_path, 0o600)
        done = subprocess.run([GLOVEBOX, "mcp", "--package-index", self.option],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("chmod 0666", done.stderr)


if __name__ == "__main__":
    unittest.main()
