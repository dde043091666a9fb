#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the package with packages from PyPI: type checkers, and the frameworks of its adapters.

Each check installs what packages/CHECK.txt names into a directory outside the repository. Exit
status 77 when pip is missing or its index cannot be reached.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.append(str(ROOT / "tests"))
from from_pypi import pip, prepare

CHECKS = sorted(path.stem for path in (HERE / "packages").glob("*.txt"))


def interpreter(requirements):
    """The Python for a check; None where this machine has none that is new enough for a line such
    as "# python>=3.12"."""
    needs = re.search(r"^# python>=3\.(\d+)$", requirements.read_text(), re.MULTILINE)
    oldest = int(needs[1]) if needs else 0
    if sys.version_info >= (3, oldest):
        return sys.executable
    found = filter(None, (shutil.which(f"python3.{minor}") for minor in range(oldest, oldest + 4)))
    # Some machines have only a stand-in for a version that is not installed.
    return next((each for each in found
                 if subprocess.run([each, "-c", ""], capture_output=True).returncode == 0), None)


def install(check, build):
    """A virtual environment with what the check needs, and its Python; None without one."""
    requirements = HERE / f"packages/{check}.txt"
    base = interpreter(requirements)
    if base is None:
        return None
    python = build / check / "bin/python"
    prepare(requirements, build / check, [base, "-m", "venv", build / check],
            pip("install", "--upgrade", "-r", requirements, python=python))
    return python


def check_types(python):
    """mypy --strict and pyright. The adapters need their frameworks, so they are left out."""
    failed = 0
    for command in ([python, "-m", "mypy", "--strict", "--exclude", "adapters/", "glovebox"],
                    [python, "-m", "pyright"]):
        done = subprocess.run(command, cwd=HERE.parent, check=False)
        failed |= done.returncode != 0
    return failed


def check_framework(check, python):
    """The tests of an adapter, against a daemon of their own."""
    sys.path.insert(0, str(ROOT / "tests/service"))
    from daemon import GLOVEBOX, Daemon

    daemon = Daemon().start()
    try:
        environment = {
            **os.environ, "PYTHONPATH": str(HERE.parent), "GLOVEBOX_BIN": GLOVEBOX,
            "GLOVEBOX_URL": f"http://127.0.0.1:{daemon.port}", "GLOVEBOX_API_KEY": daemon.key}
        return subprocess.run(
            [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto",
             HERE / f"packages/test_{check}.py"],
            env=environment, cwd=HERE / "packages", check=False).returncode
    finally:
        daemon.discard()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()) / "glovebox-sdk-python",
                        help="directory to install packages in (default: %(default)s)")
    parser.add_argument("checks", nargs="*", metavar="CHECK",
                        help=f"{', '.join(CHECKS)} (default: all)")
    options = parser.parse_args()
    unknown = set(options.checks) - set(CHECKS)
    if unknown:
        parser.error(f"unknown check '{unknown.pop()}'; there are {', '.join(CHECKS)}")
    failed = []
    for check in options.checks or CHECKS:
        python = install(check, options.build)
        if python is None:
            print(f"== {check}: skipped, it needs a newer Python", flush=True)
            continue
        print(f"== {check}", flush=True)
        status = check_types(python) if check == "types" else check_framework(check, python)
        if status:
            failed.append(check)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
