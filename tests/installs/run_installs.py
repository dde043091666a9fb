#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Package managers as people use them, in a sandbox that may reach their registries and nothing else: as
the guest, and as root with a file system that it can change.

Exit status 77 when a registry cannot be reached from here by its own name, or this is not run by root.
With --probe it only says that.
"""
import ipaddress
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import unittest
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
sys.path.insert(0, str(ROOT / "tests/service"))
import program  # noqa: E402
from daemon import Daemon  # noqa: E402

program.PATIENCE_S = 300  # More than the --time of each sandbox.
SKIPPED = 77
DEBIAN = ("deb.debian.org",)
PYPI = ("pypi.org:443", "files.pythonhosted.org:443")
NPM = ("registry.npmjs.org:443",)
GO = ("proxy.golang.org:443",)
REGISTRIES = ("http://deb.debian.org/debian/dists/bookworm/Release", "https://pypi.org/simple/six/",
              "https://registry.npmjs.org/ms",
              "https://proxy.golang.org/golang.org/x/example/hello/@v/list")
# By what their modules are called; all of them are wheels, so that none has to be compiled.
PACKAGES = {
    "requests": "requests", "flask": "flask", "numpy": "numpy", "pandas": "pandas",
    "pyyaml": "yaml", "click": "click", "rich": "rich", "jinja2": "jinja2", "pydantic": "pydantic",
    "httpx": "httpx", "fastapi": "fastapi", "sqlalchemy": "sqlalchemy", "cryptography": "cryptography",
    "pillow": "PIL", "lxml": "lxml", "beautifulsoup4": "bs4", "tqdm": "tqdm", "pytest": "pytest",
    "networkx": "networkx", "sympy": "sympy"}
APT = """
set -e
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends redis-server postgresql jq >log 2>&1 || {
  tail -5 log; exit 1; }
redis-server --daemonize yes --dir /tmp >/dev/null
for _ in $(seq 100); do redis-cli ping 2>/dev/null | grep -q PONG && break; sleep 0.1; done
redis-cli set greeting hello >/dev/null
echo "{\\"redis\\": \\"$(redis-cli get greeting)\\"}" | jq -r .redis
cd /
[ -d /etc/postgresql/15/main ] || pg_createcluster 15 main >/dev/null
pg_ctlcluster 15 main start
su postgres -c "psql -qtAc \\"select 'postgres ' || 6 * 7\\""
"""
GO_PROGRAM = """package main

import (
\t"fmt"
\t"golang.org/x/example/hello/reverse"
)

func main() { fmt.Println(reverse.String("seludom")) }
"""


def rules_for(hosts):
    """The hosts; and by address what they are here, where that is not public."""
    rules = set(hosts) or {"other.example"}
    for host in hosts:
        for found in socket.getaddrinfo(host.split(":")[0], 443, type=socket.SOCK_STREAM):
            address = found[4][0]
            if not ipaddress.ip_address(address).is_global:
                rules.add(f"[{address}]" if ":" in address else address)
    return rules


class Installs(program.Case):
    def inside(self, script, hosts, user, *options):
        answer = program.run(
            "--user", user, *(word for rule in rules_for(hosts) for word in ("--allow-net", rule)),
            "--memory", "4G", "--disk", "3G", "--inodes", "300000", "--pids", "500", "--cpus", "2",
            "--time", "280s", "--open-files", "4096", "--json", *options, "-l", "bash", "-e", script)
        return answer.verdict

    def said(self, script, hosts, user, *options):
        verdict = self.inside(script, hosts, user, *options)
        self.assertEqual(verdict["exit_code"], 0, verdict)
        self.assertLessEqual({made["host"] for made in verdict["connections"]},
                             {host.split(":")[0] for host in hosts})
        return verdict["stdout"]

    def check_both(self, script, hosts, expected, *options):
        for user in ("user", "root"):
            with self.subTest(user=user):
                self.assertEqual(self.said(script, hosts, user, *options), expected)

    def test_apt_installs_services_that_start_and_answer(self):
        self.assertEqual(self.said(APT, DEBIAN, "root"), "hello\npostgres 42\n")

    def test_what_no_rule_allows_is_named_by_apt(self):
        verdict = self.inside("apt-get update 2>&1 || true", (), "root")
        self.assertIn("deb.debian.org", verdict["stdout"])
        self.assertIn("403", verdict["stdout"])
        self.assertEqual({(made["host"], made["verdict"], made["rule"])
                          for made in verdict["connections"]}, {("deb.debian.org", "denied", "default")})

    def test_pip_installs_twenty_packages_that_can_be_imported(self):
        imports = ", ".join(PACKAGES.values())
        self.check_both(
            f"python3 -m pip install -q --disable-pip-version-check --no-cache-dir --only-binary=:all: "
            f"--target packages {' '.join(PACKAGES)} >log 2>&1 || {{ tail -5 log; exit 1; }}\n"
            f"PYTHONPATH=packages python3 -c 'import {imports}; print(len([{imports}]))'",
            PYPI, "20\n")

    def test_npm_installs(self):
        self.check_both(
            "npm install --no-audit --no-fund --loglevel=error express@4.21.2 >log 2>&1 || { tail -5 log; exit 1; }\n"
            "node -e \"console.log(typeof require('express')())\"", NPM, "function\n")

    def test_go_gets_modules(self):
        source = self.file("main.go", GO_PROGRAM)
        self.check_both(
            "export HOME=$PWD GOFLAGS=-mod=mod GOTOOLCHAIN=local GOSUMDB=off\n"
            "{ go mod init example.com/a && go get golang.org/x/example/hello; } >log 2>&1 || { tail -5 log; exit 1; }\n"
            "go run .", GO, "modules\n", "--file", f"{source}:main.go")


class FromDebootstrap(unittest.TestCase):
    def test_a_root_is_fetched_and_installed_in_sandboxes_and_has_a_working_apt(self):
        daemon = Daemon()
        self.addCleanup(daemon.discard)
        daemon.options = ["--network", "any"]
        daemon.start()
        rules = [word for rule in rules_for(DEBIAN) for word in ("--allow-net", rule)]
        done = subprocess.run(
            [program.GLOVEBOX, "template", "build", "debian", "--debootstrap", "bookworm", *rules,
             "--url", f"unix:{daemon.unix}"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        root = daemon.create(template="debian", user="root", network={"allow": sorted(rules_for(DEBIAN))},
                             limits={"memory": "2G", "disk": "1G"})
        # Nothing of the sandbox that installed it: neither its name servers nor what it left half done.
        said = root.must(200, "POST", "/commands", {"shell": """
            set -e
            dpkg --audit
            ls -d /debootstrap 2>/dev/null || stat -c %U /etc/shadow
            grep -c ^guest /etc/passwd
            apt-get update -qq && apt-get install -y -qq --no-install-recommends jq >log 2>&1 || { tail -5 log; exit 1; }
            echo '{"a": "installed"}' | jq -r .a""", "limits": {"time": "280s"}})
        self.assertEqual(said["stdout"], "root\n1\ninstalled\n", said)


def missing(programs=("apt-get", "npm", "node", "go", "debootstrap"), urls=REGISTRIES):
    if os.geteuid() != 0:
        return "needs root"
    for name in programs:
        if shutil.which(name) is None:
            return f"{name} is not installed"
    for url in urls:
        try:
            urllib.request.urlopen(url, timeout=20).close()
        except (urllib.error.URLError, TimeoutError) as problem:
            return f"{url}: {problem}"
    return ""


if __name__ == "__main__":
    if reason := missing():
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    if sys.argv[1:] != ["--probe"]:
        unittest.main()
