#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs Claude Code and Codex, as npm has them, through `glovebox agent` against scripted vendors.

Both are fetched with `npm pack` and built into a template on top of this machine's own programs, or
with --debootstrap by the whole recipe examples/templates/agent.toml. Then each checks itself, and
works on a checkout: its model has it make a file. Exit status 77 when npm is missing or its registry
cannot be reached.
"""
import argparse
import functools
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / path) for path in (
    "tools", "tests/cli", "tests/service", "tests/attacks", "tests/coding_agents")]
import npm_packages  # noqa: E402
import program  # noqa: E402
from reaching_daemon import start_reaching  # noqa: E402
from secure_network import Authority  # noqa: E402
from vendors import Vendors  # noqa: E402

CLAUDE_KEY, CODEX_KEY = "sk-ant-the-real-key-of-the-test", "sk-the-real-key-of-the-test"
HOSTS = {"claude": "api.anthropic.com", "codex": "api.openai.com"}
# npm installs of each for which machine it is; here these are named.
MACHINES = {"x86_64": "x64", "aarch64": "arm64"}
DEBOOTSTRAP = "--debootstrap" in sys.argv
MIRROR = "deb.debian.org"  # As the recipe has it.


def fetch(directory):
    """The archives of both, and of what is their program on this machine."""
    machine = MACHINES.get(os.uname().machine)
    if machine is None:
        raise npm_packages.Unavailable(f"no agents for {os.uname().machine}")

    def npm(*words):
        try:
            return subprocess.run(["npm", *words], cwd=directory, check=True, capture_output=True,
                                  text=True, timeout=600).stdout.split()
        except (OSError, subprocess.SubprocessError) as problem:
            raise npm_packages.Unavailable(f"npm {words[0]}: {problem}") from problem

    claude, = npm("view", "@anthropic-ai/claude-code", "version")
    codex, = npm("view", "@openai/codex", "version")
    npm("pack", "--silent", f"@anthropic-ai/claude-code@{claude}",
        f"@anthropic-ai/claude-code-linux-{machine}@{claude}", f"@openai/codex@{codex}",
        f"@openai/codex@{codex}-linux-{machine}")


class Clients(program.Case):
    @classmethod
    def setUpClass(cls):
        cls.work = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.work.chmod(0o755)
        archives = cls.work / "archives"
        archives.mkdir()
        fetch(archives)
        authority = Authority(cls.work)
        cls.vendors = Vendors(authority.issue(*HOSTS.values()))
        cls.addClassCleanup(cls.vendors.close)
        cls.daemon = start_reaching(cls, authority, HOSTS.values(), [MIRROR] if DEBOOTSTRAP else [])
        cls.env = {"GLOVEBOX_URL": f"unix:{cls.daemon.unix}", "GLOVEBOX_API_KEY": "",
                   "ANTHROPIC_API_KEY": CLAUDE_KEY, "OPENAI_API_KEY": CODEX_KEY}
        recipe = ROOT / "examples/templates/agent.toml"
        # Where the mirror has no public address.
        rules = [] if not DEBOOTSTRAP else [f"--allow-net={place}" for place in (MIRROR, socket.gethostbyname(MIRROR))]
        if not DEBOOTSTRAP:
            text = recipe.read_text()
            start, end = text.index("[base.debootstrap]"), text.index("[limits]")
            recipe = cls.work / "agent.toml"
            recipe.write_text(text[:start] + text[end:])
        built = subprocess.run(
            [program.GLOVEBOX, "template", "build", "agent", "-f", recipe, "--package-source",
             "archives", *rules], cwd=cls.work, env={**os.environ, **cls.env}, capture_output=True,
            text=True, timeout=900, check=False)
        if built.returncode != 0:
            raise AssertionError(built.stderr)

    def setUp(self):
        super().setUp()
        self.vendors.keys.clear()
        self.vendors.results.clear()
        self.repository = self.dir / "project"
        self.repository.mkdir()
        (self.repository / "README").write_text("A project.\n")
        for words in (["init", "-q"], ["add", "-A"],
                      ["-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-qm", "1"]):
            subprocess.run(["git", *words], cwd=self.repository, check=True)

    def agent(self, *words, status=0):
        answer = program.glovebox("agent", *words, env=self.env, cwd=self.repository)
        self.assert_status(answer, status)
        for key in (CLAUDE_KEY, CODEX_KEY):
            self.assertNotIn(key, str(answer))
        return answer

    def profile(self, name):
        """The shipped one, for a vendor at another port, whose address is not public."""
        host = HOSTS[name]
        text = (ROOT / f"examples/agents/{name}.toml").read_text()
        text = text.replace(f'"{host}"', f'"{host}:{self.vendors.port}"')
        text = text.replace(f'"{host}:443"', f'"127.0.0.1:{self.vendors.port}"')
        return str(self.file(f"{name}.toml", text))

    def assert_worked(self, path, key):
        self.assertEqual((self.repository / "made.txt").read_text(), "made by a tool\n")
        self.assertEqual({shown for where, shown in self.vendors.keys if where == path}, {key})
        self.assertTrue(self.vendors.results)
        self.assertNotIn(key, json.dumps(self.vendors.results))

    def test_both_start_and_check_themselves_without_a_network(self):
        inside = functools.partial(self.agent, "--discard", "--command")
        self.assertRegex(inside("claude --version").out, rb"\(Claude Code\)")
        self.assertRegex(inside("codex --version").out, rb"codex-cli \d")
        self.assertIn(b"Search: OK", inside("claude doctor < /dev/null").out)
        doctor = inside("codex doctor --summary || true").out.decode()
        for check in ("install", "search", "git", "state", "config"):
            self.assertRegex(doctor, rf"✓ {check} ")

    def test_claude_works_on_a_checkout(self):
        self.agent(self.profile("claude"), "--apply",
                   "--env", f"ANTHROPIC_BASE_URL=https://{HOSTS['claude']}:{self.vendors.port}",
                   "--", "-p", "make a file", "--allowedTools", "Bash")
        self.assert_worked("/v1/messages", CLAUDE_KEY)

    def test_codex_works_on_a_checkout(self):
        url = f"https://{HOSTS['codex']}:{self.vendors.port}/v1"
        self.agent(self.profile("codex"), "--apply",
                   "--", "-c", f'openai_base_url="{url}"', "exec", "make a file")
        self.assert_worked("/v1/responses", CODEX_KEY)

    def test_codex_serves_as_an_environment_of_another_codex(self):
        """As environments.toml names a program: JSON-RPC over the streams of `sandbox exec`."""
        id = program.glovebox("sandbox", "create", "--template", "agent",
                              env=self.env).out.decode().strip()
        self.addCleanup(program.glovebox, "sandbox", "kill", id, env=self.env)
        process = subprocess.Popen(
            [program.GLOVEBOX, "sandbox", "exec", id, "--", "codex", "exec-server", "--listen",
             "stdio"], env={**os.environ, **self.env}, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def say(**message):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()

        say(id=1, method="initialize", params={"clientName": "test"})
        hello = json.loads(process.stdout.readline())
        self.assertEqual(hello["result"]["environmentInfo"]["cwd"], "file:///workspace")
        say(method="initialized", params={})
        say(id=2, method="process/start", params={
            "processId": "p", "argv": ["echo", "inside"], "cwd": "file:///workspace", "env": {},
            "tty": False, "arg0": None})
        said = [json.loads(process.stdout.readline()) for _ in range(3)]
        self.assertIn("aW5zaWRlCg==", json.dumps(said))
        process.stdin.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--debootstrap", action="store_true",
                        help="build the whole recipe, with Debian's packages")
    _, rest = parser.parse_known_args()
    try:
        result = unittest.main(argv=[sys.argv[0], *rest], exit=False, verbosity=2).result
    except npm_packages.Unavailable as problem:
        npm_packages.skip(problem)
    for _, text in result.errors:
        if "npm_packages.Unavailable" in text:
            npm_packages.skip(text.strip().splitlines()[-1])
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
