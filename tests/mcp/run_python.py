#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the official MCP SDKs for Python, from PyPI, against `glovebox mcp` and the daemon's tool
servers: the 1.x and the 2.x line.

Each SDK is installed as python/*.txt names it into a directory outside the repository. Exit status 77
when pip is missing or its index cannot be reached.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent), str(HERE.parent / "service")]
from daemon import shared_daemon
from from_pypi import install


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()) / "glovebox-mcp-python",
                        help="directory to install the SDKs in (default: %(default)s)")
    options = parser.parse_args()
    daemon = shared_daemon()
    status = 0
    for line in ("v1", "v2"):
        build = options.build / line
        install(HERE / f"python/requirements-{line}.txt", build)
        for program in ("every_tool.py", "approvals.py", "tool_servers.py"):
            done = subprocess.run(
                [sys.executable, HERE / "python" / program],
                env=os.environ | {"PYTHONPATH": str(build),
                                  "TOOL_SERVERS": f"any:{daemon.key}@127.0.0.1:{daemon.port}"})
            status = status or done.returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
