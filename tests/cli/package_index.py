# SPDX-License-Identifier: Apache-2.0
"""An index of packages on a Unix socket, as `--package-index` takes it."""

import http.server
import os
import socketserver
import tempfile
import threading
import urllib.parse


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
        self.socket_path = str(path)
        super().__init__(str(path), type("Served", (Index,), {"directory_of_wheels": directory}))
        os.chmod(path, 0o666)


def serve_index(case, directory):
    """A server of the files in `directory`, until the test case has ended."""
    # Short: the path of a Unix socket ends at 107 bytes.
    place = tempfile.TemporaryDirectory(prefix="gb-index-", dir="/tmp")
    case.addCleanup(place.cleanup)
    os.chmod(place.name, 0o755)
    server = Server(os.path.join(place.name, "index.sock"), directory)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    case.addCleanup(server.server_close)
    case.addCleanup(server.shutdown)
    return server
