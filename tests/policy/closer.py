# SPDX-License-Identifier: Apache-2.0
"""Inside a sandbox: tries each way of closed.json to change what is closed, and prints which ones did."""
import contextlib
import ctypes
import json
import mmap
import os
import shutil
import subprocess

TOP = os.getcwd()
HOOK = ".git/hooks/pre-commit"
libc = ctypes.CDLL(None, use_errno=True)


def run(*argv, **more):
    subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   check=True, timeout=60, **more)


def call(name, *arguments):
    if getattr(libc, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), name)


def put(path, mode="w"):
    with open(path, mode) as file:
        file.write("x")


def build(name):
    """A directory that looks like a repository with a hook."""
    os.makedirs(name + "/hooks", exist_ok=True)
    put(name + "/hooks/pre-commit")


def state():
    """What is closed, as whoever comes by the usual path finds it."""
    found = [sorted(os.listdir(path)) if os.path.isdir(path) else None for path in (".git/hooks", "deep/a/b")]
    return [*found, open(".env").read() if os.path.isfile(".env") else None, os.path.islink(".git")]


def tries(code):
    before = state()
    with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
        exec(code, dict(globals()))
    os.chdir(TOP)
    after = state()
    return after != before


WAYS = json.load(open("closed.json"))
print(json.dumps([state(), [way for way in WAYS if tries(way)]]))
