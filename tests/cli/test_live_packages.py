# SPDX-License-Identifier: Apache-2.0
"""Packages in live interpreters: there from the start, or installed by cells, without a network."""

import os
import shutil
import subprocess
import tempfile
import unittest

from program import glovebox
from package_files import npm_archive, wheel
from package_index import serve_index
from test_packages import PackageCase


class LiveCase(PackageCase):
    def setUp(self):
        super().setUp()
        self.need("python")
        if subprocess.run(["/usr/bin/python3", "-c", "import IPython, pip"], capture_output=True,
                          check=False).returncode != 0:
            self.skipTest("python3-ipython or python3-pip is not installed")

    def repl(self, text, *options, language="python"):
        return glovebox("repl", "-l", language, *options, stdin=text.encode(), cwd=self.dir,
                        env={**os.environ, "XDG_CACHE_HOME": str(self.cache)})


class TestDirectories(LiveCase):
    def test_what_a_cell_installs_is_there_in_the_same_and_in_the_next_cell(self):
        wheel(self.source, "gbalpha", "1.0", {"gbalpha.py": "print('alpha')\n"})
        wheel(self.source, "gbbeta", "1.0", {"gbbeta.py": "print('beta')\n"})
        answer = self.repl(
            "try:\n    import gbalpha\nexcept ImportError:\n    print('not yet')\n\n"
            "%pip install -q gbalpha\nimport gbalpha\n\n!pip install -q gbbeta\n\nimport gbbeta\n",
            "--package-source", self.source)
        self.assert_status(answer, 0)
        for word in (b"not yet", b"alpha\n", b"beta\n"):
            self.assertIn(word, answer.out)

    def test_what_is_asked_for_by_name_is_there_from_the_start(self):
        wheel(self.source, "gbalpha", "1.0", {"gbalpha.py": "print('alpha')\n"})
        answer = self.repl("import gbalpha\n", "--packages", "pip:gbalpha", "--package-source",
                           self.source)
        self.assert_status(answer, 0)
        self.assertEqual(answer.out, b"alpha\n")

    def test_what_one_session_installs_no_other_has(self):
        wheel(self.source, "gbalpha", "1.0", {"gbalpha.py": "print('alpha')\n"})
        first = self.repl("%pip install -q gbalpha\nimport gbalpha\n", "--package-source",
                          self.source)
        self.assertIn(b"alpha\n", first.out)
        second = self.repl("import gbalpha\n", "--package-source", self.source)
        self.assert_status(second, 1)
        self.assertIn("ModuleNotFoundError", second.message)

    @unittest.skipUnless(shutil.which("npm"), "npm is not installed")
    def test_npm_installs_into_a_live_node(self):
        self.need("javascript")
        npm_archive(self.source, "gb-alpha", "1.0.0", {"index.js": "exports.n = 41\n"})
        answer = self.repl(
            "require('child_process').execSync('npm install gb-alpha').length > 0\n\n"
            "require('gb-alpha').n + 1\n\nimport alpha from 'gb-alpha'; alpha.n + 2\n",
            "--package-source", self.source, language="javascript")
        self.assert_status(answer, 0)
        self.assertEqual(answer.out, b"true\n42\n43\n")

    def test_without_a_source_names_are_refused_with_the_fix(self):
        answer = self.repl("1\n", "--packages", "pip:gbalpha")
        self.assert_status(answer, 126)
        self.assertIn("--package-source", answer.message)


class TestIndexes(LiveCase):
    def setUp(self):
        super().setUp()
        self.server = serve_index(self, self.source)
        self.socket = self.server.socket_path

    def test_pip_takes_from_the_callers_socket(self):
        wheel(self.source, "gbgamma", "1.0", {"gbgamma.py": "print('gamma')\n"}, ["gbdelta"])
        wheel(self.source, "gbdelta", "1.0", {"gbdelta.py": "print('delta')\n"})
        answer = self.repl("%pip install -q gbgamma\n\nimport gbgamma, gbdelta\n",
                           "--package-index", f"pip:{self.socket}")
        self.assert_status(answer, 0)
        self.assertIn(b"gamma\ndelta\n", answer.out)
        self.assertIn("/simple/gbgamma/", self.server.asked)

    @unittest.skipUnless(shutil.which("npm"), "npm is not installed")
    def test_npm_takes_from_the_callers_socket_what_the_directories_lack(self):
        self.need("javascript")
        npm_archive(self.source, "gb-gamma", "1.0.0", {"index.js": "exports.n = 41\n"})
        with tempfile.TemporaryDirectory(dir=self.dir) as other:
            os.chmod(other, 0o755)
            for sources in ([], ["--package-source", other]):
                with self.subTest(sources=sources):
                    answer = self.repl(
                        "require('child_process').execSync('npm install gb-gamma').length > 0\n\n"
                        "require('gb-gamma').n + 1\n",
                        "--package-index", f"npm:{self.socket}", *sources, language="javascript")
                    self.assert_status(answer, 0)
                    self.assertEqual(answer.out, b"true\n42\n")

    def test_an_index_that_has_gone_is_told_to_the_guest(self):
        # One that still waits would keep the socket alive.
        self.server.shutdown()
        self.server.server_close()
        answer = self.repl("import urllib.request, urllib.error\ntry:\n"
                           "    urllib.request.urlopen('http://127.0.0.1:18717/simple/x/')\n"
                           "except urllib.error.HTTPError as error:\n"
                           "    print(error.code, error.read().decode())\n",
                           "--package-index", f"pip:{self.socket}")
        self.assert_status(answer, 0)
        self.assertIn(b"502 the package index's socket is not responding", answer.out)

    def test_neither_socket_nor_relay_is_seen_by_a_session_without_them(self):
        code = ("import os, socket\nprint(os.path.exists('/opt/glovebox/package-index'))\n"
                "s = socket.socket()\nprint(s.connect_ex(('127.0.0.1', 18717)) != 0)\n")
        with_index = self.repl(code, "--package-index", f"pip:{self.socket}")
        self.assertEqual(with_index.out, b"True\nFalse\n", str(with_index))
        self.assertEqual(self.repl(code).out, b"False\nTrue\n")

    def test_the_landlock_tier_refuses_an_index_with_the_fix(self):
        answer = self.repl("1\n", "--package-index", f"pip:{self.socket}", "--tier", "landlock")
        self.assert_status(answer, 125)
        self.assertIn("--tier native", answer.message)

    def test_what_is_no_socket_is_wrong_usage(self):
        answer = self.repl("1\n", "--package-index", f"pip:{self.dir}")
        self.assert_status(answer, 2)


if __name__ == "__main__":
    unittest.main()
