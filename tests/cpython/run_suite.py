#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs CPython's own tests inside a sandbox and outside, and compares what came of each module.

    run_suite.py                      all modules, as each of the three
    run_suite.py --some               those of some.txt, as CI does
    run_suite.py test_os test_pty     only these
    run_suite.py --as user            only as one of the three

The same run takes place outside and inside, in a directory of its own:
    user    an ordinary user of the machine, and one of a sandbox with root inside (docs/root.md)
    root    root of the machine, and root of such a sandbox
    guest   an ordinary user of the machine, and the guest of a sandbox without root
A module is `passed`, `failed`, `skipped` or `late`. Exit status 1 when another module differs than
expected-differences.txt names, or one named there does not; 77 when CPython's tests are not
installed, or this is not run by root.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
GLOVEBOX = os.environ.get("GLOVEBOX", str(HERE.parents[1] / "build/release/bin/glovebox"))
# Debian's, to which its tests belong.
PYTHON = "/usr/bin/python3"
USER = "nobody"
BECOME_USER = ["setpriv", f"--reuid={USER}", "--regid=nogroup", "--clear-groups"]
EVERYBODY = ("user", "root", "guest")
LIMIT = 300  # Seconds for each module.
SKIPPED = 77
# Enough for tests that start many threads and processes, write large files and use much memory.
ROOM = ("--time", f"{LIMIT}s", "--memory", "2G", "--disk", "2G", "--pids", "1024", "--output", "64M",
        "--open-files", "4096")
SAID = (("passed", re.compile(r"^(All \d+ tests|\d+ tests?) OK\.$", re.M)),
        ("failed", re.compile(r"^\d+ tests? (failed|altered the execution environment)", re.M)),
        ("skipped", re.compile(r"^\d+ tests? (skipped|omitted)", re.M)))


def all_modules():
    """As regrtest finds them, so without its helpers."""
    listed = subprocess.run([PYTHON, "-m", "test", "--list-tests"], capture_output=True, text=True)
    return listed.stdout.split() if listed.returncode == 0 else []


def names_in(path):
    return [line.split()[0] for line in path.read_text().splitlines()
            if line.strip() and not line.startswith("#")]


def expected():
    """By who runs it and the module: the reason."""
    reasons = {}
    for line in (HERE / "expected-differences.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            who, module, reason = line.split(maxsplit=2)
            for each in EVERYBODY if who == "all" else who.split(","):
                reasons[each, module] = reason
    return reasons


def verdict(done):
    if done is None:
        return "late"
    for name, pattern in reversed(SAID):
        if pattern.search(done.stdout):
            return name
    return f"ended with {done.returncode}"


def test_command(module):
    return [PYTHON, "-X", "utf8", "-m", "test", "--timeout", str(LIMIT), module]


def outside(who, module):
    place = tempfile.mkdtemp(prefix="glovebox-cpython-")
    try:
        command = test_command(module)
        if who != "root":
            shutil.chown(place, USER)
            command = [*BECOME_USER, *command]
        # As in a sandbox: a network with nothing in it, shared memory of its own (what modules name by
        # their process ids meets there), and processes that end with the first, which is the parent
        # of those that lose theirs.
        command = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc",
                   "sh", "-c", 'ip link set lo up && mount -t tmpfs tmpfs /dev/shm && "$@"; exit $?',
                   "sh", *command]
        env = {"PATH": os.environ["PATH"], "HOME": place, "TMPDIR": place, "LANG": "C.UTF-8"}
        return verdict(run(command, env=env, cwd=place))
    finally:
        shutil.rmtree(place, ignore_errors=True)


def inside(who, module):
    command = test_command(module)
    if who == "user":
        # A directory of the user's own, as outside.
        command = ["/bin/sh", "-c", f'mkdir /tmp/own && chown {USER} /tmp/own && cd /tmp/own && '
                   'export HOME=/tmp/own TMPDIR=/tmp/own && exec "$@"', "sh",
                   *BECOME_USER, *command]
    return verdict(run([GLOVEBOX, "run", "--quiet", *ROOM,
                        *(["--user", "root"] if who != "guest" else []), "--", *command]))


def run(command, **how):
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=LIMIT + 60, **how)
    except subprocess.TimeoutExpired:
        return None


def compare(who, module):
    first = outside(who, module), inside(who, module)
    if first[0] == first[1]:
        return first
    # A test of time may fail anywhere once: what differs must differ again.
    return outside(who, module), inside(who, module)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*")
    parser.add_argument("--some", action="store_true")
    parser.add_argument("--as", dest="who", choices=EVERYBODY, action="append")
    arguments = parser.parse_args()
    modules = arguments.modules or (names_in(HERE / "some.txt") if arguments.some else all_modules())
    if os.geteuid() != 0 or not all_modules():
        print("skipped: this needs root, and CPython's tests (apt-packages.txt)")
        return SKIPPED
    reasons = expected()
    failed = False
    for who in arguments.who or EVERYBODY:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = dict(zip(modules, pool.map(lambda module: compare(who, module), modules)))
        same = sum(out == inn for out, inn in results.values())
        print(f"as {who}: {same} of {len(modules)} modules end as they do outside", flush=True)
        for module, (out, inn) in results.items():
            reason = reasons.get((who, module))
            if out == inn and reason:
                failed = True
                print(f"  {module}: {inn}, though a difference is expected: {reason}")
            elif out != inn:
                failed = failed or not reason
                print(f"  {module}: {out} outside, {inn} inside: {reason or 'not expected'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
