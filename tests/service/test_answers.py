#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Answers in which a header, a status or a hint matters: for pages of another origin, over TLS, for
keys in use, for languages that are not there, and for what is only downloaded."""

import concurrent.futures
import contextlib
import http.client
import os
import ssl
import subprocess
import unittest
from unittest import mock

from daemon import ROOT, Answer, Daemon

ORIGIN = "https://app.example.com"
# Of a language whose program is nowhere.
ABSENT = """
id = "absent"
title = "Absent"
extensions = [".absent"]
interpreters = ["absent-program"]
file_name = "main.absent"
run = ["absent-program", "{file}"]
version = ["absent-program", "--version"]
package = "absent"
"""


class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        cls.daemon.options = ["--cors", ORIGIN]
        languages = cls.daemon.dir / "languages"
        languages.mkdir()
        (languages / "absent.toml").write_text(ABSENT)
        with mock.patch.dict(os.environ, GLOVEBOX_LANGUAGES=str(languages)):
            cls.daemon.start()
        cls.sandbox = cls.daemon.create()

    def test_files_below_a_directory_that_is_called_ports_are_for_pages_too(self):
        for path in ("ports/a.txt", "a.txt"):
            self.sandbox.write(path, b"x")
            answer = self.daemon.ask("GET", f"{self.sandbox.path}/files/{path}",
                                     headers={"Origin": ORIGIN})
            self.assertEqual(answer.status, 200, answer)
            self.assertEqual(answer.headers["Access-Control-Allow-Origin"], ORIGIN, path)

    def test_servers_in_a_sandbox_answer_for_themselves_which_pages_may_use_them(self):
        answer = self.daemon.ask("GET", f"{self.sandbox.path}/ports/9/", headers={"Origin": ORIGIN})
        self.assertIsNone(answer.headers["Access-Control-Allow-Origin"])

    def test_what_may_be_asked_of_the_server_as_a_whole_is_told(self):
        answer = self.daemon.ask("OPTIONS", "*", key=None)
        self.assertEqual(answer.status, 204)
        self.assertIn("PATCH", answer.headers["Allow"])

    def test_a_language_that_is_not_installed_is_501_with_a_hint(self):
        answer = self.daemon.ask("POST", "/v1/run", {"language": "absent", "code": "1"})
        self.assertEqual(answer.status, 501, answer)
        self.assertIn("Absent is not installed: absent-program is missing",
                      answer.json["message"])
        self.assertTrue(answer.json["hint"])

    def test_directories_come_in_the_types_that_are_described(self):
        described = (ROOT / "api/openapi.yaml").read_text()
        route = described.split("\n  /v1/sandboxes/{id}/files/{path}:", 1)[1]
        route = route.split("\n  /v1/", 1)[0]
        self.sandbox.write("folder/a", b"x")
        for kind in ("tar", "tar.gz", "zip"):
            answer = self.daemon.ask("GET", f"{self.sandbox.path}/files/folder?archive={kind}")
            self.assertEqual(answer.status, 200, answer)
            self.assertIn(answer.headers["Content-Type"] + ":", route)

    def test_a_key_in_use_says_when_to_send_it_again(self):
        list(self.daemon.stream("POST", "/v1/templates",
                                {"name": "slow", "start": "sleep 2; touch /tmp/up; sleep 60",
                                 "ready": "test -e /tmp/up"}))
        wish = ("POST", "/v1/sandboxes", {"template": "slow"}, {"Idempotency-Key": "one"})
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            first, second = pool.map(lambda _: self.daemon.ask(*wish), range(2))
        made, refused = sorted((first, second), key=lambda answer: answer.status)
        self.assertEqual(made.status, 201, made)
        self.daemon.ask("DELETE", "/v1/sandboxes/" + made.json["id"])
        self.assertEqual(refused.status, 409, refused)
        self.assertEqual(refused.json["hint"], "send it again in 1 second")


class OverTls(unittest.TestCase):
    def test_a_cookie_with_a_port_token_is_for_this_host_and_for_tls_alone(self):
        daemon = Daemon()
        self.addCleanup(daemon.discard)
        key, certificate = (str(daemon.dir / name) for name in ("key.pem", "cert.pem"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=localhost",
                        "-days", "1", "-keyout", key, "-out", certificate],
                       check=True, capture_output=True)
        daemon.options = ["--certificate", certificate, "--key", key]
        daemon.start()
        context = ssl.create_default_context(cafile=certificate)
        context.check_hostname = False

        def ask(method, path, body=None, key="own", **given):
            with contextlib.closing(http.client.HTTPSConnection(
                    "127.0.0.1", daemon.port, context=context, timeout=30)) as connection:
                text, headers = daemon.head(body, given, key)
                connection.request(method, path, text, headers)
                return Answer(connection.getresponse())

        made = ask("POST", "/v1/sandboxes", {})
        self.assertEqual(made.status, 201, made)
        path = "/v1/sandboxes/" + made.json["id"]
        token = ask("POST", path + "/port-tokens", {"port": 8000}).json["token"]
        opened = ask("GET", f"/?glovebox_token={token}", key=None,
                     Host=f"8000-{made.json['id']}.localhost")
        self.assertEqual(opened.status, 302, opened)
        name, *flags = opened.headers["Set-Cookie"].split("; ")
        self.assertTrue(name.startswith("__Host-"), name)
        self.assertLessEqual({"Secure", "HttpOnly", "Path=/", "SameSite=Lax"}, set(flags))


if __name__ == "__main__":
    unittest.main()
