#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the official MCP SDKs for TypeScript, from npm, against `glovebox mcp`: the 1.x and the 2.x line.

They are installed as node/package-lock.json names them into a directory outside the repository, and so
is a Node where the machine's own is too old. Exit status 77 when npm is missing or its registry cannot
be reached.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2b"))
from run_e2b import new_enough_node, npm, skip


def install(build):
    if not shutil.which("npm"):
        skip("npm is not installed")
    build.mkdir(parents=True, exist_ok=True)
    wanted = (HERE / "node/package-lock.json").read_bytes()
    stamp = build / "installed-lock.json"
    if not stamp.exists() or stamp.read_bytes() != wanted:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / "node" / name, build / name)
        npm("ci", build)
        stamp.write_bytes(wanted)
    # Node looks for packages beside the program.
    shutil.copy(HERE / "node/every_tool.mjs", build / "every_tool.mjs")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()) / "glovebox-mcp-node",
                        help="directory to install the SDKs in (default: %(default)s)")
    options = parser.parse_args()
    install(options.build)
    node = new_enough_node(options.build)
    environment = {"GLOVEBOX": "glovebox"} | os.environ
    status = 0
    for line in ("sdk", "client"):
        done = subprocess.run([node, options.build / "every_tool.mjs", line], env=environment,
                              timeout=240)
        status = status or done.returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
