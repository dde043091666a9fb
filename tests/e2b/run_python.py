#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs E2B's own SDK for Python, from PyPI, against a daemon of ours.

The SDK is installed as python/requirements.txt names it into a directory outside the repository.
Exit status 77 when pip is missing or its index cannot be reached.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from from_pypi import install  # noqa: E402
import calls  # noqa: E402
from served import of_tier, served  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--glovebox", default=os.environ.get("GLOVEBOX", "glovebox"))
    parser.add_argument("--build", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()) / "glovebox-e2b-python",
                        help="directory to install the SDK in (default: %(default)s)")
    parser.add_argument("--tier", help="isolation tier of all sandboxes (default: the daemon's)")
    parser.add_argument("tests", nargs="*", help="test cases (default: all)")
    options = parser.parse_args()
    install(HERE / "python/requirements.txt", options.build)
    with tempfile.TemporaryDirectory(prefix="glovebox-e2b-calls-") as place:
        returned = pathlib.Path(place) / "returned"
        if options.tests:
            return run(options, of_tier(options.tier), returned, ["-v", *options.tests])
        status = run(options, of_tier(options.tier), returned,
                     ["discover", "-v", "-s", HERE / "python"])
        if options.tier or os.geteuid() != 0:  # An ordinary user has no ids for several users, and no volumes.
            return status
        status = run(options, ["--e2b-root"], returned,
                     ["discover", "-v", "-s", HERE / "python/root"]) or status
        surface = subprocess.run([*recorded(), "--surface"], check=True, stdout=subprocess.PIPE,
                                 text=True, env=environment(options)).stdout
        return calls.report(surface.splitlines(), returned) or status


def recorded():
    return [sys.executable, HERE / "python/recorded.py"]


def environment(options):
    return os.environ | {"PYTHONPATH": f"{options.build}:{HERE / 'python'}"}


def run(options, of_daemon, returned, which):
    with served(options.glovebox, *of_daemon) as daemon:
        return subprocess.run([*recorded(), returned, *which],
                              env=environment(options) | daemon).returncode


if __name__ == "__main__":
    sys.exit(main())
