# SPDX-License-Identifier: Apache-2.0
"""A sandbox that has a secret for one host, and the test's own servers, names and authority."""

import pathlib
import shutil
import sys
import tempfile

from program import Case, run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "attacks"))

from network import NO_PROXY, OF_TIER, NameServer  # noqa: E402
from secure_network import Authority, SecureServer  # noqa: E402

VALUE = "s3cr3t-value-of-the-test-4711"

# What the programs inside share. `api` is the host that the secret is for, `other` one that is
# allowed without it.
INSIDE = """
import http.client, json, os, socket, ssl, sys, urllib.request
TOKEN = os.environ.get("TOKEN", "")
API, OTHER = int(sys.argv[1]), int(sys.argv[2])

def connect(host, port, via_proxy=True):
    if not via_proxy:
        return socket.create_connection((host, port), timeout=60)
    line = socket.create_connection(("127.0.0.1", 3128), timeout=60)
    line.sendall(f"CONNECT {host}:{port} HTTP/1.1\\r\\nHost: {host}:{port}\\r\\n\\r\\n".encode())
    head = b""
    while not head.endswith(b"\\r\\n\\r\\n"):
        byte = line.recv(1)
        if not byte:
            raise OSError("refused")
        head += byte
    if b" 200 " not in head.splitlines()[0]:
        raise OSError(head.splitlines()[0].decode())
    return line

def secure(line, name, check=True, alpn=None):
    context = ssl.create_default_context()
    if not check:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if alpn:
        context.set_alpn_protocols(alpn)
    return context.wrap_socket(line, server_hostname=name)

def say(line, text):
    line.sendall(text if isinstance(text, bytes) else text.encode())
    heard = b""
    try:
        while piece := line.recv(65536):
            heard += piece
    except OSError as error:
        heard += f"<{type(error).__name__}>".encode()
    return heard.decode("latin-1")

def to_api(text, **how):
    return say(secure(connect("api.example", API), "api.example", **how), text)

def get(path="/", host=None, headers="", end="Connection: close\\r\\n"):
    host = host or f"api.example:{API}"
    return f"GET {path} HTTP/1.1\\r\\nHost: {host}\\r\\n{headers}{end}\\r\\n"

AUTH = f"Authorization: Bearer {TOKEN}\\r\\n"

def attempt(work):
    try:
        print(work())
    except Exception as error:
        print(type(error).__name__, error)
"""


class SecretCase(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.keys = pathlib.Path(tempfile.mkdtemp(prefix="glovebox-test-ca."))
        cls.addClassCleanup(shutil.rmtree, cls.keys, ignore_errors=True)
        cls.authority = Authority(cls.keys)
        cls.certificate = cls.authority.issue("api.example", "*.api.example", "127.0.0.1")
        cls.other_certificate = cls.authority.issue("other.example")

    def setUp(self):
        super().setUp()
        self.api = self.serve(self.certificate)
        self.other = self.serve(self.other_certificate)
        self.names = NameServer({name: [["127.0.0.1"]] for name in (
            "api.example", "other.example", "v2.api.example", "xapi.example")})
        self.addCleanup(self.names.close)

    def serve(self, certificate, **how):
        server = SecureServer(certificate, **how)
        self.addCleanup(server.close)
        return server

    def environment(self, **more):
        return {**NO_PROXY, "TOKEN": VALUE, "SSL_CERT_FILE": str(self.authority.certificate),
                "GLOVEBOX_NAME_SERVERS": self.names.address, **more}

    def options(self):
        return ["--secret", f"TOKEN@api.example:{self.api.port}",
                "--allow-net", f"other.example:{self.other.port}",
                "--allow-net", f"127.0.0.1:{self.api.port}",
                "--allow-net", f"127.0.0.1:{self.other.port}"]

    def inside(self, code, *words, options=None, env=None, language="python", prelude=INSIDE):
        """The verdict of a run with a program that knows both ports."""
        answer = run(*OF_TIER, "-l", language, "-e", prelude + code, "--json",
                     *(self.options() if options is None else options), *words,
                     "--", str(self.api.port), str(self.other.port),
                     env=self.environment(**(env or {})))
        # Whatever happened: nothing that anybody is told has the value.
        self.assertNotIn(VALUE, answer.out.decode("utf-8", "replace") + answer.message, code)
        self.assertIn(answer.status, (0, 1), answer)
        return answer.verdict
