#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A root made by debootstrap as a machine: in it, apt installs services and compilers, which then work,
with what pip, npm, cargo, go and Maven fetch, as root and as a user made there. Takes many minutes;
tests/installs/run_installs.py has what CI runs.

Exit status 77 when a registry cannot be reached from here by its own name, or this is not run by root.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import run_installs as installs

sys.path.insert(0, str(installs.ROOT / "tests/service"))
import program  # noqa: E402
from daemon import Daemon  # noqa: E402

program.PATIENCE_S = 1800
CRATES = ("index.crates.io:443", "static.crates.io:443")
MAVEN = ("repo.maven.apache.org:443",)
REGISTRIES = ("https://index.crates.io/config.json",
              "https://repo.maven.apache.org/maven2/junit/junit/maven-metadata.xml")
# For what brings authorities of its own.
TRUST = [f"{name}=/etc/ssl/certs/ca-certificates.crt"
         for name in ("PIP_CERT", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")]
# Authorities that the machine's own administrator has added.
AUTHORITIES = pathlib.Path("/usr/local/share/ca-certificates")
MAKE_USER = "useradd --create-home builder\n"
# Runs the function `work` as each of them, in a directory of its own.
AS_BOTH = """
unset ${!XDG_@}  # Those of root's directories.
cd /root && (work)
export -f work
su --shell /bin/bash builder -c 'cd ~ && work'
"""
APT = """
set -e
export DEBIAN_FRONTEND=noninteractive
quietly() { "$@" >/tmp/log 2>&1 || { tail -5 /tmp/log; exit 1; }; chmod 666 /tmp/log; }
quietly apt-get update
quietly apt-get install -y --no-install-recommends %s
"""
CARGO = """
work() {
  set -e
  cargo init -q --name tried tried && cd tried
  printf '[dependencies]\\nitoa = "=1.0.11"\\n' >> Cargo.toml.new
  sed -i '/^\\[dependencies\\]/d' Cargo.toml && cat Cargo.toml.new >> Cargo.toml
  echo 'fn main() { println!("cargo {}", itoa::Buffer::new().format(42)); }' > src/main.rs
  cargo build -q && ./target/debug/tried
}
"""
MAVEN_PROJECT = """
work() {
  set -e
  mkdir -p tried/src/main/java && cd tried
  cat > pom.xml <<'POM'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>example</groupId><artifactId>tried</artifactId><version>1</version>
<properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target></properties>
<dependencies><dependency><groupId>org.apache.commons</groupId><artifactId>commons-lang3</artifactId>
<version>3.14.0</version></dependency></dependencies></project>
POM
  echo 'class Tried { public static void main(String[] words) {
    System.out.println(org.apache.commons.lang3.StringUtils.reverse("24 nevam")); } }' > src/main/java/Tried.java
  mvn -q -B -Dstyle.color=never package
  java -cp "target/tried-1.jar:$(find ~/.m2 -name 'commons-lang3-3.14.0.jar')" Tried
}
"""
GO = """
work() {
  set -e
  export GOFLAGS=-mod=mod GOSUMDB=off
  mkdir tried && cd tried
  go mod init example.com/a >/dev/null 2>&1
  printf 'package main\\nimport ("fmt"; "golang.org/x/example/hello/reverse")\\n' > main.go
  echo 'func main() { fmt.Println("go", reverse.String("24")) }' >> main.go
  go get golang.org/x/example/hello@v0.0.0-20250915201037-7f05d217867b >/dev/null 2>&1
  go run .
}
"""
NPM = """
work() {
  set -e
  mkdir tried && cd tried
  npm install --no-audit --no-fund --loglevel=error express@4.21.2 >/dev/null
  node -e "console.log('npm', typeof require('express')())"
}
"""
PIP = """
work() {{
  set -e
  python3 -m venv tried
  tried/bin/pip install -q --disable-pip-version-check --only-binary=:all: {names}
  tried/bin/python -c 'import {modules}; print("pip", len([{modules}]))'
}}
""".format(names=" ".join(installs.PACKAGES), modules=", ".join(installs.PACKAGES.values()))


# Where a cargo is that knows today's index of crates; and authorities of the machine's administrator.
DOCKERFILE = f"""FROM debian
COPY security.list /etc/apt/sources.list.d/
COPY authorities /usr/local/share/ca-certificates
RUN update-ca-certificates
ENV {" ".join(TRUST)}
"""


def make_image(case, place):
    """Built by a daemon: from debootstrap, and a Dockerfile on top of that."""
    daemon = Daemon()
    case.addClassCleanup(daemon.discard)
    daemon.options = ["--network", "any"]
    daemon.start()

    def template(*words):
        done = subprocess.run([program.GLOVEBOX, "template", *words, "--url", f"unix:{daemon.unix}"],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stderr)

    recipe = place / "debian.toml"
    recipe.write_text('[base.debootstrap]\nsuite = "bookworm"\npackages = ["ca-certificates"]\n', encoding="ascii")
    template("build", "debian", "-f", recipe,
             *(word for rule in installs.rules_for(installs.DEBIAN) for word in ("--allow-net", rule)))
    context = place / "context"
    (context / "authorities").mkdir(parents=True)
    if AUTHORITIES.is_dir():
        shutil.copytree(AUTHORITIES, context / "authorities", dirs_exist_ok=True)
    (context / "security.list").write_text(
        "deb http://deb.debian.org/debian-security bookworm-security main\n", encoding="ascii")
    (context / "Dockerfile").write_text(DOCKERFILE, encoding="ascii")
    template("build", context, "-t", "machine")
    image = place / "image.tar"
    template("export", "machine", "-o", image)
    return image


class Machine(program.Case):
    @classmethod
    def setUpClass(cls):
        place = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="glovebox-machine-")))
        cls.image = make_image(cls, place)

    def said(self, script, *hosts):
        allowed = (*installs.DEBIAN, *hosts)
        answer = program.glovebox(
            "run", "--image", self.image, "--user", "root",
            *(word for rule in installs.rules_for(allowed) for word in ("--allow-net", rule)),
            "--memory", "6G", "--disk", "4G", "--inodes", "400000", "--pids", "1000", "--cpus", "2",
            "--time", "30m", "--open-files", "4096", "--json", "--", "/bin/bash", "-c", script)
        self.assertEqual(answer.verdict["exit_code"], 0, answer.verdict)
        self.assertLessEqual({made["host"] for made in answer.verdict["connections"]},
                             {host.split(":")[0] for host in allowed})
        return answer.verdict["stdout"]

    def check(self, packages, work, expected, *hosts):
        said = self.said(APT % packages + MAKE_USER + work + AS_BOTH, *hosts)
        # Maven ends with a change of colors even where there are none.
        self.assertEqual(re.sub(r"\x1b\[[0-9;]*m", "", said), 2 * expected)

    def test_apt_installs_services_that_start_and_answer(self):
        self.assertEqual(self.said(installs.APT), "hello\npostgres 42\n")

    def test_apt_names_the_rule_that_refuses_it(self):
        answer = program.glovebox("run", "--image", self.image, "--user", "root", "--allow-net", "other.example",
                                  "--json", "--", "/bin/sh", "-c", "apt-get update 2>&1")
        self.assertIn("403", answer.verdict["stdout"])
        self.assertEqual({(made["host"], made["verdict"], made["rule"]) for made in answer.verdict["connections"]},
                         {("deb.debian.org", "denied", "default")})

    def test_pip_installs_twenty_packages_that_can_be_imported(self):
        self.check("python3-venv", PIP, "pip 20\n", *installs.PYPI)

    def test_npm_installs(self):
        self.check("npm", NPM, "npm function\n", *installs.NPM)

    def test_cargo_builds(self):
        self.check("cargo-web gcc libc6-dev", CARGO, "cargo 42\n", *CRATES)

    def test_go_gets_and_runs(self):
        self.check("golang-go", GO, "go 42\n", *installs.GO)

    def test_maven_packages(self):
        self.check("maven default-jdk-headless", MAVEN_PROJECT, "maven 42\n", *MAVEN)


if __name__ == "__main__":
    if reason := installs.missing(programs=("debootstrap",), urls=installs.REGISTRIES + REGISTRIES):
        print(f"skipped: {reason}")
        sys.exit(installs.SKIPPED)
    unittest.main(verbosity=2)
