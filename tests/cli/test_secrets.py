# SPDX-License-Identifier: Apache-2.0
"""Secrets at the edge, and budgets: what the real server receives."""

import base64
import time
import unittest

from program import run
from secret_case import VALUE, SecretCase

from network import Upstream


class AtTheEdge(SecretCase):
    def test_the_server_gets_the_value_and_the_program_a_placeholder(self):
        verdict = self.inside("print(TOKEN); print(to_api(get(headers=AUTH)))")
        placeholder, answer = verdict["stdout"].split("\n", 1)
        self.assertRegex(placeholder, r"^placeholder_[0-9a-f]{40}$")
        self.assertIn("here you are", answer, verdict)
        self.assertEqual(self.api.headers("Authorization"), [f"Bearer {VALUE}"])
        (made,) = verdict["connections"]
        # The name is allowed by the secret, the private address by its own rule.
        self.assertEqual((made["host"], made["verdict"], made["rule"]),
                         ("api.example", "allowed", f"allow 127.0.0.1:{self.api.port}"))

    def test_each_run_has_another_placeholder(self):
        self.assertNotEqual(self.inside("print(TOKEN)")["stdout"],
                            self.inside("print(TOKEN)")["stdout"])

    def test_programs_that_know_no_proxy_are_served_as_well(self):
        verdict = self.inside("print(say(secure(connect('api.example', API, False), 'api.example'),"
                              " get(headers=AUTH)))")
        self.assertIn("here you are", verdict["stdout"], verdict)
        self.assertEqual(self.api.headers("Authorization"), [f"Bearer {VALUE}"])

    def test_a_connection_carries_many_requests_in_every_framing(self):
        self.inside("""
line = http.client.HTTPSConnection("127.0.0.1", 3128, timeout=60)
line.set_tunnel("api.example", API)
def ask(method, path, body=None, **headers):
    line.request(method, path, body, {"X-Key": TOKEN, **headers})
    answer = line.getresponse()
    print(answer.status, answer.read().decode())
    return line.sock
first = ask("GET", "/")
ask("POST", "/", b"x" * 300_000)
ask("PUT", "/", (b"y" * 1000 for _ in range(200)))
ask("HEAD", "/")
ask("GET", "/chunked")
ask("GET", "/")
assert line.sock is first
ask("GET", "/close")
""")
        self.assertEqual(self.api.headers("X-Key"), [VALUE] * 7)
        self.assertEqual([body for *_, body in self.api.requests],
                         [b"", b"x" * 300_000, b"y" * 200_000, b"", b"", b"", b""])
        self.assertEqual(self.api.connections, 1)

    def test_basic_authentication_is_filled_in_too(self):
        verdict = self.inside("""
import base64
user = base64.b64encode(f"user:{TOKEN}".encode()).decode()
print(to_api(get(headers=f"Authorization: basic {user}\\r\\n")))
""")
        self.assertIn("here you are", verdict["stdout"])
        expected = base64.b64encode(f"user:{VALUE}".encode()).decode()
        self.assertEqual(self.api.headers("Authorization"), [f"Basic {expected}"])

    def test_a_header_is_set_whatever_the_program_sends(self):
        where = f"api.example:{self.api.port}"
        verdict = self.inside(
            "attempt(lambda: to_api(get(headers='authorization: mine\\r\\nAuthorization: mine\\r\\n"
            "Connection: authorization, close\\r\\n', end='')))\nprint('TOKEN' in os.environ)",
            options=["--secret", "TOKEN", "--inject-header",
                     f"{where}: Authorization: Bearer {{TOKEN}}",
                     "--allow-net", f"127.0.0.1:{self.api.port}"])
        self.assertIn("False", verdict["stdout"], verdict)
        self.assertEqual(self.api.headers("Authorization"), [f"Bearer {VALUE}"])

    def test_a_file_may_hold_the_value(self):
        secret = self.file("token@home", VALUE + "\n")
        self.inside("print(to_api(get(headers=AUTH)))", options=[
            "--secret", f"TOKEN=file:{secret}@api.example:{self.api.port}",
            "--allow-net", f"127.0.0.1:{self.api.port}"])
        self.assertEqual(self.api.headers("Authorization"), [f"Bearer {VALUE}"])

    def test_plain_http_must_be_asked_for(self):
        plain = self.serve(None, tls=False)
        code = f"""
def plain(host):
    line = socket.create_connection(("127.0.0.1", 3128), timeout=60)
    return say(line, f"GET http://{{host}}/ HTTP/1.1\\r\\nHost: {{host}}\\r\\n{{AUTH}}\\r\\n")
print(plain("127.0.0.1:{plain.port}"))
"""
        here = f"127.0.0.1:{plain.port}"
        self.inside(code, options=["--secret", f"TOKEN@http://{here}"])
        self.assertEqual(plain.headers("Authorization"), [f"Bearer {VALUE}"])
        plain.requests.clear()
        self.inside(code, options=["--secret", f"TOKEN@{here}"])
        self.assertNotIn(VALUE, plain.everything())

    def test_a_host_may_be_an_address(self):
        verdict = self.inside("""
print(say(secure(connect("127.0.0.1", API), "127.0.0.1"), get(host=f"127.0.0.1:{API}",
                                                              headers=AUTH)))
""", options=["--secret", f"TOKEN@127.0.0.1:{self.api.port}"])
        self.assertIn("here you are", verdict["stdout"])
        self.assertEqual(self.api.headers("Authorization"), [f"Bearer {VALUE}"])

    def test_a_proxy_of_this_host_is_no_obstacle(self):
        upstream = Upstream(self.api.port)
        self.addCleanup(upstream.close)
        verdict = self.inside("print(to_api(get(headers=AUTH)))",
                              env={"HTTPS_PROXY": f"http://127.0.0.1:{upstream.port}"})
        self.assertIn("here you are", verdict["stdout"], verdict)
        self.assertEqual(self.api.headers("Authorization"), [f"Bearer {VALUE}"])
        self.assertNotIn(VALUE, "".join(upstream.heads))

    def test_an_upgrade_becomes_a_line_of_its_own(self):
        verdict = self.inside("""
line = secure(connect("api.example", API), "api.example")
print(say(line, get("/upgrade", headers=AUTH, end="Connection: Upgrade\\r\\nUpgrade: websocket\\r\\n")
          + "hello\\n"))
""")
        self.assertIn("echo:hello", verdict["stdout"], verdict)
        self.assertEqual(self.api.headers("Authorization"), [f"Bearer {VALUE}"])

    def test_an_answer_that_comes_early_arrives(self):
        verdict = self.inside("""
print(to_api("POST /early HTTP/1.1\\r\\nHost: api.example:%d\\r\\nContent-Length: 100000\\r\\n\\r\\n"
             % API + "x" * 100000))
""")
        self.assertIn("413", verdict["stdout"], verdict)

    def test_half_an_early_answer_leaves_nobody_waiting(self):
        # It has more to send, but waits for its answer first.
        verdict = self.inside("""
line = secure(connect("api.example", API), "api.example")
line.sendall(("POST /half HTTP/1.1\\r\\nHost: api.example:%d\\r\\nContent-Length: 100000\\r\\n\\r\\n"
              % API).encode())
print(line.recv(100).decode())
print("over", say(line, "x" * 1000))
""")
        self.assertIn("413", verdict["stdout"], verdict)
        self.assertIn("over", verdict["stdout"], verdict)

    def test_continue_is_passed_on(self):
        verdict = self.inside("""
line = secure(connect("api.example", API), "api.example")
line.sendall(("POST / HTTP/1.1\\r\\nHost: api.example:%d\\r\\nContent-Length: 5\\r\\n"
              "Expect: 100-continue\\r\\nConnection: close\\r\\n\\r\\n" % API).encode())
print(line.recv(25).decode())
print(say(line, "hello"))
""")
        self.assertIn("100 Continue", verdict["stdout"], verdict)
        self.assertIn("here you are", verdict["stdout"])


class Budgets(SecretCase):
    def test_connections_beyond_the_budget_are_refused_and_recorded(self):
        verdict = self.inside("""
for _ in range(3):
    attempt(lambda: to_api(get()))
""", options=[*self.options(), "--net-connections", "2"])
        self.assertEqual(len(self.api.requests), 2)
        (denied,) = [made for made in verdict["connections"] if made["verdict"] == "denied"]
        self.assertEqual((denied["rule"], denied["reason"]),
                         ("budget", "the sandbox has made too many connections"))

    def test_bytes_beyond_the_budget_end_the_connection_and_say_so(self):
        for option, reason in (("--net-sent", "sent"), ("--net-received", "received")):
            verdict = self.inside("attempt(lambda: to_api(get(headers='X: ' + 'x' * 3000 + "
                                  "'\\r\\n', path='/echo')))",
                                  options=[*self.options(), option, "1K"])
            self.assertEqual(verdict["connections"][0]["reason"],
                             f"the sandbox has {reason} too many bytes")

    def test_a_rate_is_kept(self):
        begin = time.monotonic()
        verdict = self.inside("print(to_api(2 * get(headers='X: ' + 'x' * 20000 + '\\r\\n', end='')"
                              " + get()))",
                              options=[*self.options(), "--net-rate", "10K"])
        self.assertEqual(verdict["exit_code"], 0, verdict)
        # The last request waits for 40,000 bytes at 10,240 a second. Load can only make it longer.
        self.assertGreater(time.monotonic() - begin, 3.9)


class Options(SecretCase):
    def refuse(self, *words):
        answer = run("-l", "python", "-e", "0", *words, env=self.environment())
        self.assertEqual(answer.status, 2, answer)
        return answer.message

    def test_what_makes_no_sense_is_refused(self):
        for words, message in (
                (["--secret", "TOKEN"], "is for no host"),
                (["--secret", "NOT_SET_HERE@api.example"], "is not set"),
                (["--secret", "TOKEN@10.0.0.0/8"], "a block of addresses does not name a host"),
                (["--secret", "TOKEN@a.example", "--secret", "TOKEN@b.example"], "given twice"),
                (["--secret", "1X@a.example"], "not that of an environment variable"),
                (["--inject-header", "a.example: Host: b"], "says how a request is sent"),
                (["--inject-header", "a.example: X: {NONE}"], "no --secret 'NONE'"),
                (["--inject-header", "a.example: X: {"], "'{' without '}'"),
                (["--inject-header", "X: y"], "needs a host, a header and a value"),
                (["--net-connections", "1"], "requires --allow-net"),
                (["--allow-net", "a.example", "--net-rate", "1"], "below 1024")):
            self.assertIn(message, self.refuse(*words))


if __name__ == "__main__":
    unittest.main()
