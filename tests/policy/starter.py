# SPDX-License-Identifier: Apache-2.0
"""Inside a sandbox: tries each way of starts.json to start a program, and prints which ones did."""
import ctypes
import json
import os
import shutil
import struct
import subprocess

RM = "/usr/bin/rm"
LOADER = "/lib64/ld-linux-x86-64.so.2"
SHELL = os.path.realpath("/bin/sh")
MARK = "coreutils"
ENVIRONMENT = dict(os.environ, LC_ALL="C")
# Writes the mark and exits: write(1, mark, 10), exit(0).
CODE = bytes.fromhex("b801000000bf01000000488d3510000000ba0a0000000f05b83c00000031ff0f05") + b"coreutils\n"
# A 64-bit program for Linux: the header, one segment, the code.
BASE, HEADERS = 0x400000, 64 + 56
TINY = (b"\x7fELF\x02\x01\x01".ljust(16, b"\0") +
        struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, BASE + HEADERS, 64, 0, 0, 64, 56, 1, 0, 0, 0) +
        struct.pack("<IIQQQQQQ", 1, 5, 0, BASE, BASE, HEADERS + len(CODE), HEADERS + len(CODE), 0x1000) +
        CODE)
libc = ctypes.CDLL(None, use_errno=True)
EXECVEAT, EMPTY_PATH = 322, 0x1000


def run(*argv, **more):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, env=ENVIRONMENT, timeout=60, **more).stdout.decode()


def forked(act):
    """What a child prints that calls `act`, which does not return if it can start a program."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(into, 1)
        try:
            act()
        finally:
            os._exit(1)
    os.close(into)
    with os.fdopen(out) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return text


def execveat(descriptor, *argv):
    words = (ctypes.c_char_p * (len(argv) + 1))(*[each.encode() for each in argv], None)
    none = (ctypes.c_char_p * 1)(None)
    libc.syscall(EXECVEAT, descriptor, b"", words, none, EMPTY_PATH)


def write(path, data):
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())
    os.chmod(path, 0o755)
    return path


def copy(source, target):
    shutil.copyfile(source, target)
    os.chmod(target, 0o755)
    return target


def tries(case, number):
    os.makedirs(f"case{number}")
    os.chdir(f"case{number}")
    names = dict(globals())
    try:
        exec(case["code"], names)
    except Exception:
        return False
    finally:
        os.chdir("/workspace" if os.path.isdir("/workspace/case0") else "..")
    return MARK in names.get("said", "")


with open("starts.json") as file:
    cases = json.load(file)
print(json.dumps([tries(case, number) for number, case in enumerate(cases)]))
