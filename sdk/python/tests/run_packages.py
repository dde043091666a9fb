#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the package with packages from PyPI: type checkers, and the frameworks of its adapters.

Each check needs what packages/CHECK.txt names. What can share an environment does, outside the
repository; a file with the line "# alone: WHY" has one of its own, or with others that say the same. One with "# long: WHY" is left out
with --shared and --alone, which ./dev test runs. Exit status 77 when pip is missing or its index cannot
be reached.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.append(str(ROOT / "tests"))
from from_pypi import pip, prepare
from parts import part_of_today

CHECKS = sorted(path.stem for path in (HERE / "packages").glob("*.txt"))


def requirements(check):
    return (HERE / f"packages/{check}.txt").read_text(encoding="utf-8")


def is_marked(check, mark):
    return re.search(rf"^# {mark}: .", requirements(check), re.MULTILINE) is not None


def interpreter(check):
    """The Python for a check; None where this machine has none that is new enough for a line such
    as "# python>=3.12"."""
    needs = re.search(r"^# python>=3\.(\d+)$", requirements(check), re.MULTILINE)
    oldest = int(needs[1]) if needs else 0
    if sys.version_info >= (3, oldest):
        return sys.executable
    found = [shutil.which(f"python3.{minor}") for minor in range(oldest, oldest + 4)]
    found += [python for minor in range(oldest, oldest + 4)
              for python in pathlib.Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python3")]
    # Some machines have only a stand-in for a version that is not installed.
    return next((each for each in found if each
                 and subprocess.run([each, "-c", ""], capture_output=True).returncode == 0), None)


def install(base, checks, build):
    """A virtual environment with what the checks need, and its Python."""
    build.mkdir(parents=True, exist_ok=True)
    wanted = build.with_suffix(".txt")
    lines = {line for check in checks for line in requirements(check).splitlines()}
    wanted.write_text("".join(f"{line}\n" for line in sorted(lines)), encoding="utf-8")
    python = build / "bin/python"
    # Most of it is never imported, and what is becomes bytecode then.
    prepare(wanted, build, [base, "-m", "venv", build],
            pip("install", "--upgrade", "--no-compile", "-r", wanted, python=python))
    return python


def environments(checks):
    """Names of environments, each with its checks."""
    shared, alone = [], {}
    for check in checks:
        same = alone.setdefault(requirements(check), []) if is_marked(check, "alone") else shared
        same.append(check)
    return ({"shared": shared} if shared else {}) | {same[0]: same for same in alone.values()}


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

    daemon = Daemon()
    daemon.options = ["--network", "any"]
    daemon.start()
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
    parser.add_argument("--alone", action="store_true",
                        help="only the checks with an environment of their own")
    parser.add_argument("--shared", action="store_true", help="only the others")
    parser.add_argument("--parts", type=int, default=1, metavar="N",
                        help="run one of N parts of the checks, every day another one; all of them "
                             "if GLOVEBOX_ALL_PARTS is set")
    options = parser.parse_args()
    unknown = set(options.checks) - set(CHECKS)
    if unknown:
        parser.error(f"unknown check '{unknown.pop()}'; there are {', '.join(CHECKS)}")
    failed = []
    chosen = options.checks or CHECKS
    if options.alone or options.shared:
        chosen = [check for check in chosen if not is_marked(check, "long")
                  and is_marked(check, "alone") == options.alone]
    for name, checks in environments(part_of_today(chosen, options.parts)).items():
        base = interpreter(checks[0])
        if base is None:
            print(f"== {name}: skipped, it needs a newer Python", flush=True)
            continue
        started = time.monotonic()
        python = install(base, checks, options.build / name)
        print(f"== {name}: installed in {time.monotonic() - started:.0f} s", flush=True)
        for check in checks:
            print(f"== {check}", flush=True)
            status = check_types(python) if check == "types" else check_framework(check, python)
            if status:
                failed.append(check)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
