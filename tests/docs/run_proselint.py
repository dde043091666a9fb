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
sys.path.append(str(HERE.parent))
from from_pypi import install


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()) / "glovebox-proselint",
                        help="directory to install proselint in (default: %(default)s)")
    build = parser.parse_args().build.resolve()
    install(REQUIREMENTS, build)
    return subprocess.run(
        [HERE.parents[1] / "tools/check_prose", "--proselint"], check=False,
        env={**os.environ, "PATH": f"{build / 'bin'}:{os.environ['PATH']}",
             "PYTHONPATH": str(build)}).returncode


if __name__ == "__main__":
    sys.exit(main())
