#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `tools/check_prose --proselint` with the proselint of requirements-proselint.txt, from PyPI.

It is installed into a directory outside the sources. Exit status 77 when pip is missing or its index
cannot be reached.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements-proselint.txt"
SKIPPED = 77


def install(build):
    wanted = REQUIREMENTS.read_bytes()
    stamp = build / "installed.txt"
    if stamp.exists() and stamp.read_bytes() == wanted:
        return
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--upgrade",
                           "--target", build, "-r", REQUIREMENTS],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"skipped: pip failed: {done.stderr.strip()[-500:]}")
        sys.exit(SKIPPED)
    stamp.write_bytes(wanted)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()) / "glovebox-proselint",
                        help="directory to install proselint in (default: %(default)s)")
    build = parser.parse_args().build.resolve()
    install(build)
    return subprocess.run(
        [HERE.parents[1] / "tools/check_prose", "--proselint"], check=False,
        env={**os.environ, "PATH": f"{build / 'bin'}:{os.environ['PATH']}",
             "PYTHONPATH": str(build)}).returncode


if __name__ == "__main__":
    sys.exit(main())
