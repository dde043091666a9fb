# SPDX-License-Identifier: Apache-2.0
"""Packages in live interpreters: there from the start, or installed by cells, without a network."""

import http.server
import os
import shutil
import socketserver
import subprocess
import tempfile
import threading
import unittest
import urllib.parse

from program import glovebox
from package_files import npm_archive, wheel
from test_packages import PackageCase


class Index(http.server.SimpleHTTPRequestHandler):
    """A simple repository (PEP 503) of the wheels in a directory, and a registry of one package."""

    directory_of_wheels = None
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = urllib.parse.urlsplit(self.path).path
        self.server.asked.append(path)
        files = self.directory_of_wheels
        if path.startswith("/simple/"):
            project = path.split("/")[2]
            links = "".join(f'<a href="/files/{each.name}">{each.name}</a>'
                            for each in sorted(files.glob("*.whl"))
                            if each.name.split("-")[0] == project)
            self.answer(f"<!DOCTYPE html><html><body>{links}</body></html>".encode(), "text/html",
                        200 if links else 404)
        elif path.startswith("/files/") and (files / os.path.basename(path)).exists():
            self.answer((files / os.path.basename(path)).read_bytes(), "application/octet-stream")
        elif path == "/gb-gamma":
            host = self.headers["Host"]
            self.answer(
                (f'{{"name":"gb-gamma","dist-tags":{{"latest":"1.0.0"}},"versions":{{"1.0.0":'
                 f'{{"name":"gb-gamma","version":"1.0.0","dist":{{"tarball":'
                 f'"http://{host}/files/gb-gamma-1.0.0.tgz"}}}}}}}}').encode(), "application/json")
        else:
            self.answer(b"nothing here", "text/plain", 404)

    def answer(self, body, kind, status=200):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self):
        return "guest"

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, path, directory):
        self.asked = []
        super().__init__(str(path), type("Served", (Index,), {"directory_of_wheels": directory}))
        os.chmod(path, 0o666)


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
        # Short: the path of a Unix socket ends at 107 bytes.
        self.place = tempfile.TemporaryDirectory(prefix="gb-index-", dir="/tmp")
        self.addCleanup(self.place.cleanup)
        os.chmod(self.place.name, 0o755)
        self.socket = os.path.join(self.place.name, "index.sock")
        self.server = Server(self.socket, self.source)
        thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

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
