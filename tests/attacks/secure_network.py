# SPDX-License-Identifier: Apache-2.0
"""HTTPS of the test's own: an authority that nobody else trusts, and a server that remembers what it
really received."""

import http.server
import json
import os
import pathlib
import shutil
import socket
import ssl
import struct
import subprocess
import threading


class Authority:
    """Makes certificates with openssl(1) in a directory of the test."""

    def __init__(self, directory, name="Test Authority"):
        self.directory = pathlib.Path(directory)
        self.key = self.directory / f"{name}.key"
        self.certificate = self.directory / f"{name}.crt"
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                     "-nodes", "-keyout", self.key, "-out", self.certificate, "-days", "2",
                     "-subj", f"/CN={name}")

    def openssl(self, *words):
        subprocess.run(["openssl", *map(str, words)], cwd=self.directory, check=True,
                       capture_output=True)

    def issue(self, *names, days=2):
        """A file with the key and the certificate of a server that has these names."""
        stem = f"{self.directory}/{names[0].replace('*', 'any')}-{days}"
        kinds = [("IP:" if name[0].isdigit() else "DNS:") + name for name in names]
        extensions = pathlib.Path(f"{stem}.ext")
        extensions.write_text(f"subjectAltName={','.join(kinds)}\n")
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                     "-keyout", f"{stem}.key", "-out", f"{stem}.csr", "-subj", "/CN=server")
        self.openssl("x509", "-req", "-in", f"{stem}.csr", "-CA", self.certificate, "-CAkey",
                     self.key, "-CAcreateserial", "-days", days, "-out", f"{stem}.crt",
                     "-extfile", extensions)
        whole = pathlib.Path(f"{stem}.pem")
        whole.write_text(pathlib.Path(f"{stem}.key").read_text()
                         + pathlib.Path(f"{stem}.crt").read_text())
        return whole


class SecureServer:
    """An HTTPS server on 127.0.0.1. `requests` has (method, path, [(name, value)], body) of each
    request. Its paths: /echo returns the headers, /redirect?URL leads there, /chunked and /close
    are bodies in other framings, /early answers before the body has come, /half cuts such an answer
    off behind its head once 1,000 bytes of the body are there, /upgrade becomes a line that echoes,
    /git/ is `git http-backend`, and everything else says 'here you are'. `pages` maps
    more paths to their bodies, which need an Authorization header, as git does."""

    def __init__(self, certificate, repositories=None, pages=None, tls=True):
        served = self
        self.requests = []
        self.connections = 0
        self.repositories = repositories

        class Handler(http.server.BaseHTTPRequestHandler):
            # What is written leaves at once: /early ends the connection with a reset, which drops what waits.
            disable_nagle_algorithm = True
            protocol_version = "HTTP/1.1"
            timeout = 60

            def setup(self):
                served.connections += 1
                super().setup()

            def body(self):
                if self.headers.get("Transfer-Encoding") != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length", 0)))
                body = b""
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return body

            def answer(self, status, body, **headers):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def remember(self, body):
                served.requests.append((self.command, self.path, list(self.headers.items()), body))

            def do_GET(self):
                if self.path == "/early":
                    self.remember(b"")
                    self.answer(413, b"too much", Connection="close")
                    self.close_connection = True
                    return
                if self.path == "/half":
                    self.send_response(413)
                    self.send_header("Content-Length", "8")
                    self.end_headers()
                    self.rfile.read(1000)  # Now the client has had the head.
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                               struct.pack("ii", 1, 0))
                    os.close(self.connection.detach())
                    self.close_connection = True
                    return
                body = self.body()
                self.remember(body)
                if self.path == "/echo":
                    self.answer(200, json.dumps(list(self.headers.items())).encode())
                elif self.path.startswith("/redirect?"):
                    self.answer(302, b"", Location=self.path.split("?", 1)[1])
                elif self.path == "/chunked":
                    self.send_response(200)
                    self.send_header("Transfer-Encoding", "chunked")
                    self.end_headers()
                    self.wfile.write(b"5\r\nhere \r\n7\r\nyou are\r\n0\r\n\r\n")
                elif self.path == "/close":
                    self.send_response(200)
                    self.send_header("Connection", "close")
                    self.end_headers()
                    self.wfile.write(b"here you are")
                    self.close_connection = True
                elif self.path == "/upgrade" and self.headers.get("Upgrade") == "websocket":
                    self.send_response(101)
                    self.send_header("Connection", "Upgrade")
                    self.send_header("Upgrade", "websocket")
                    self.end_headers()
                    self.wfile.flush()
                    self.wfile.write(b"echo:" + self.rfile.readline())
                    self.close_connection = True
                elif self.path.startswith("/git/") or self.path in (pages or {}):
                    if "Authorization" not in self.headers:
                        self.answer(401, b"", WWW_Authenticate="Basic realm=test")
                    elif self.path.startswith("/git/"):
                        self.git(body)
                    else:
                        self.answer(200, pages[self.path], Content_Type="text/html")
                else:
                    self.answer(200, b"here you are")

            do_POST = do_PUT = do_HEAD = do_OPTIONS = do_GET

            def git(self, body):
                path, _, query = self.path.removeprefix("/git").partition("?")
                done = subprocess.run(
                    ["git", "http-backend"], input=body, capture_output=True, check=False,
                    env={**os.environ, "GIT_PROJECT_ROOT": str(served.repositories),
                         "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
                         "REQUEST_METHOD": self.command, "REMOTE_USER": "test",
                         "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                         "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                         "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory",
                         "GIT_CONFIG_VALUE_0": "*"})
                head, _, answer = done.stdout.partition(b"\r\n\r\n")
                headers = dict(line.decode().split(": ", 1) for line in head.split(b"\r\n"))
                self.answer(int(headers.pop("Status", "200").split()[0]), answer, **headers)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):
                pass  # A guest may end a connection as it likes.

            def finish_request(self, request, address):
                if not tls:
                    super().finish_request(request, address)
                    return
                with context.wrap_socket(request, server_side=True) as secure:
                    super().finish_request(secure, address)

        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            context.set_alpn_protocols(["h2", "http/1.1"])
        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()

    def headers(self, name):
        """The values of this header in all requests."""
        return [value for _, _, headers, _ in self.requests
                for key, value in headers if key.lower() == name.lower()]

    def everything(self):
        return repr(self.requests)

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def can_make_certificates():
    return shutil.which("openssl") is not None
