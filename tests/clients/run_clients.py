#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ten programs and libraries that people connect with, in a sandbox with network rules: each version of
HTTP that it speaks, and WebSockets, by the proxy that the variables name and without knowing one.

Exit status 77 when PyPI or npm's registry cannot be reached. Go's and Rust's are left out where the
language is not installed.
"""
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / path) for path in ("tools", "tests", "tests/cli", "tests/attacks")]
import from_pypi  # noqa: E402
import npm_packages  # noqa: E402
import program  # noqa: E402
from network import NO_PROXY, NameServer  # noqa: E402
from secure_network import Authority  # noqa: E402

BUILD = ROOT / "build/client-stacks"
UNDICI = "undici@6.21.1"
SKIPPED = 77
HOST = "stack.example"
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
# Variables: PLACE (HOST:PORT), CA (a file). Each says what the server does: HTTP/1.1, HTTP/2.0 or hello.
PYTHON = {
    "requests": {"http1": """
import os, requests
print(requests.get(f"https://{os.environ['PLACE']}/", verify=os.environ["CA"]).text)"""},
    "urllib3": {"http1": """
import os, urllib3
proxy = os.environ.get("https_proxy")
pool = (urllib3.ProxyManager(proxy, ca_certs=os.environ["CA"]) if proxy
        else urllib3.PoolManager(ca_certs=os.environ["CA"]))
print(pool.request("GET", f"https://{os.environ['PLACE']}/").data.decode())"""},
    "aiohttp": {"http1": """
import aiohttp, asyncio, os, ssl
async def main():
    context = ssl.create_default_context(cafile=os.environ["CA"])
    async with aiohttp.ClientSession(trust_env=True) as session:
        async with session.get(f"https://{os.environ['PLACE']}/", ssl=context) as answer:
            print(await answer.text())
asyncio.run(main())""", "websocket": """
import aiohttp, asyncio, os, ssl
async def main():
    context = ssl.create_default_context(cafile=os.environ["CA"])
    async with aiohttp.ClientSession(trust_env=True) as session:
        async with session.ws_connect(f"wss://{os.environ['PLACE']}/ws", ssl=context) as socket:
            await socket.send_str("hello")
            print((await socket.receive()).data)
asyncio.run(main())"""},
}
# Node's own fetch asks no proxy, so undici's is given one, as its documentation says.
NODE = {
    "fetch": {"http1": """
fetch(`https://${process.env.PLACE}/`).then(answer => answer.text()).then(console.log)"""},
    "undici": {"http1": """
import { EnvHttpProxyAgent, request } from 'undici'
const answer = await request(`https://${process.env.PLACE}/`, { dispatcher: new EnvHttpProxyAgent() })
console.log(await answer.body.text())""", "http2": """
import { EnvHttpProxyAgent, request } from 'undici'
const dispatcher = new EnvHttpProxyAgent({ allowH2: true })
const answer = await request(`https://${process.env.PLACE}/`, { dispatcher })
console.log(await answer.body.text())
process.exit(0)""", "websocket": """
import { EnvHttpProxyAgent, WebSocket } from 'undici'
const socket = new WebSocket(`wss://${process.env.PLACE}/ws`, { dispatcher: new EnvHttpProxyAgent() })
socket.onopen = () => socket.send('hello')
socket.onmessage = event => { console.log(event.data); process.exit(0) }
socket.onerror = event => { console.error(event.error); process.exit(1) }"""},
}
S_CLIENT = """
words="-quiet -verify_return_error -CAfile $CA -servername ${PLACE%:*} -connect $PLACE"
[ -z "$https_proxy" ] || words="$words -proxy ${https_proxy#http://}"
"""
SHELL = {
    "curl": {
        "http1": 'curl -sS --http1.1 --cacert "$CA" "https://$PLACE/"',
        "http2": 'curl -sS --http2 --cacert "$CA" "https://$PLACE/"'},
    "openssl": {
        "http1": S_CLIENT + r"""
printf 'GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$PLACE" |
  openssl s_client $words 2>/dev/null | grep -ao 'HTTP/1\.1$'""",
        # What it says after the handshake is HTTP/2's to begin with: the server's settings.
        "http2": S_CLIENT + r"""
{ printf 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0'; } |
  timeout 20 openssl s_client -ign_eof -alpn h2 $words 2>/dev/null | head -c 5 | tail -c 2 | od -An -tx1 |
  grep -q ' 04' && echo HTTP/2.0""",
        "websocket": S_CLIENT + r"""
{ printf 'GET /ws HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' "$PLACE"
  printf 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n'
  printf '\201\205\0\0\0\0hello\210\200\0\0\0\0'; } |
  openssl s_client $words 2>/dev/null | grep -ao hello"""},
}
JAVA = ("http1", "http2", "websocket")
COMPILED = {"go": ("http1", "http2"), "reqwest": ("http1", "http2")}
EXPECTED = {"http1": "HTTP/1.1", "http2": "HTTP/2.0", "websocket": "hello"}


def compiled(name, sources, command):
    """A program that is made once, of these sources."""
    made = BUILD / name
    if shutil.which(command[0]) is None:
        raise unittest.SkipTest(f"{command[0]} is not installed")
    newest = max(path.stat().st_mtime for path in sources)
    if not made.exists() or made.stat().st_mtime < newest:
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              env={**os.environ, "CGO_ENABLED": "0"})
        if done.returncode != 0:
            raise unittest.SkipTest(f"{name}: {done.stderr.strip()[-500:]}")
    return made


@functools.cache
def go_client():
    return compiled("go", [HERE / "go/client.go"],
                    ["go", "build", "-C", HERE / "go", "-o", BUILD / "go", "."])


@functools.cache
def rust_client():
    made = compiled("cargo/release/client", [HERE / "rust/src/main.rs", HERE / "rust/Cargo.toml"],
                    ["cargo", "build", "--release", "--quiet", "--manifest-path",
                     HERE / "rust/Cargo.toml", "--target-dir", BUILD / "cargo"])
    return made


def install():
    BUILD.mkdir(parents=True, exist_ok=True)
    from_pypi.install(HERE / "requirements.txt", BUILD / "python")
    if not (BUILD / "node_modules").exists():
        npm_packages.npm("install", BUILD, "--prefix", str(BUILD), UNDICI)


class Clients(program.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        keys = tempfile.TemporaryDirectory(prefix="glovebox-test-ca.")
        cls.addClassCleanup(keys.cleanup)
        authority = Authority(keys.name)
        cls.authority = authority.certificate
        server = subprocess.Popen(["node", HERE / "server.mjs", authority.issue(HOST)],
                                  stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(server.stdout.close)
        cls.addClassCleanup(server.wait)
        cls.addClassCleanup(server.terminate)
        cls.place = f"{HOST}:{server.stdout.readline().strip()}"
        cls.names = NameServer({HOST: [["127.0.0.1"]]})
        cls.addClassCleanup(cls.names.close)

    def outcome(self, words, files, knows_proxy, allowed):
        rules = [self.place, self.place.replace(HOST, "127.0.0.1")] if allowed else ["other.example"]
        answer = program.run(
            *(word for rule in rules for word in ("--allow-net", rule)),
            *(word for name in PROXIES for word in ("--env", f"{name}=") if not knows_proxy),
            "--env", f"PLACE={self.place}", "--env", "CA=/workspace/ca.pem",
            "--env", "NODE_EXTRA_CA_CERTS=/workspace/ca.pem", "--env", "PYTHONPATH=/workspace/python",
            *(word for source, name in [(self.authority, "ca.pem"), *files]
              for word in ("--file", f"{source}:{name}")),
            "--memory", "3G", "--pids", "400", "--time", "90s", "--json", *words,
            env={**NO_PROXY, "GLOVEBOX_NAME_SERVERS": self.names.address})
        return answer.verdict

    def check(self, kind, words, files=(), ways=(True, False)):
        """Both ways lead there, and neither does where no rule allows it."""
        for knows_proxy in ways:
            with self.subTest(kind=kind, knows_proxy=knows_proxy):
                verdict = self.outcome(words, files, knows_proxy, True)
                self.assertEqual(verdict["stdout"].strip(), EXPECTED[kind], verdict)
                self.assertTrue(verdict["connections"])
                for made in verdict["connections"]:
                    self.assertEqual((made["host"], made["verdict"]), (HOST, "allowed"), made)
        verdict = self.outcome(words, files, ways[0], False)
        self.assertNotIn(EXPECTED[kind], verdict["stdout"])
        self.assertEqual({made["verdict"] for made in verdict["connections"]}, {"denied"}, verdict)

    def code(self, language, code):
        return ["-l", language, "-e", code]


def add(name, kind, check):
    setattr(Clients, f"test_{name}_speaks_{kind}", check)


for stack, kinds in PYTHON.items():
    for spoken, script in kinds.items():
        add(stack, spoken, lambda self, kind=spoken, script=script: self.check(
            kind, self.code("python", script), [(BUILD / "python", "python")]))
for stack, kinds in NODE.items():
    for spoken, script in kinds.items():
        add(stack, spoken, lambda self, kind=spoken, script=script, stack=stack: self.check(
            kind, self.code("javascript", script),
            [(BUILD / "node_modules", "node_modules")] if stack == "undici" else [],
            # Its proxies are for HTTP/1.1 alone.
            (True, False) if stack == "undici" and kind != "http2" else (False,)))
for stack, kinds in SHELL.items():
    for spoken, script in kinds.items():
        add(stack, spoken, lambda self, kind=spoken, script=script: self.check(
            kind, self.code("bash", script)))
for spoken in JAVA:
    add("java", spoken, lambda self, kind=spoken: self.check(
        kind, [str(HERE / "Client.java"), "--", kind, self.place, "/workspace/ca.pem"]))
for stack, kinds in COMPILED.items():
    for spoken in kinds:
        add(stack, spoken, lambda self, kind=spoken, stack=stack: self.check(
            kind, self.code("bash", f'./client {kind} "$PLACE" "$CA"'),
            [(go_client() if stack == "go" else rust_client(), "client")]))


if __name__ == "__main__":
    missing = [name for name in ("node", "curl", "openssl", "java")
               if shutil.which(name) is None]
    if missing:
        print(f"skipped: not installed: {', '.join(missing)}")
        sys.exit(SKIPPED)
    install()
    unittest.main()
