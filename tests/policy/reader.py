# SPDX-License-Identifier: Apache-2.0
"""Inside a sandbox: tries each way of reads.json to read what is hidden, and prints which ones did."""
import contextlib
import ctypes
import json
import mmap
import os
import shutil
import stat
import subprocess
import tempfile

TOP = os.getcwd()
TMP = tempfile.gettempdir()
libc = ctypes.CDLL(None, use_errno=True)


def run(*argv):
    subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   check=True, timeout=60)


def call(name, *arguments):
    if getattr(libc, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), name)


def text(path):
    """Of a file; a pipe would have to be waited for."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with open(fd) as file:
        return file.read() if stat.S_ISREG(os.fstat(fd).st_mode) else ""


def copied(copy):
    to = os.open(TMP + "/sent", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    copy(to, os.open(SECRET, os.O_RDONLY), 0, 99)
    return text(TMP + "/sent")


def spliced():
    out, into = os.pipe()
    os.splice(os.open(SECRET, os.O_RDONLY), into, 99)
    return os.read(out, 99).decode()


def by_handle(path):
    handle = (ctypes.c_uint8 * 136)()
    ctypes.c_uint32.from_buffer(handle).value = 128
    mount = ctypes.c_int()
    call("name_to_handle_at", -100, path.encode(), handle, ctypes.byref(mount), 0)
    fd = libc.open_by_handle_at(os.open(TOP, os.O_PATH), handle, os.O_RDONLY)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "open_by_handle_at")
    return os.read(fd, 99).decode()


def tries(way):
    for path in (TMP, "src/"):
        for name in set(os.listdir(path)) - {"given.py"}:
            with contextlib.suppress(OSError):
                whole = os.path.join(path, name)
                shutil.rmtree(whole) if os.path.isdir(whole) and not os.path.islink(whole) else os.remove(whole)
    names = dict(globals(), got="")
    with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
        exec(way["code"], names)
    os.chdir(TOP)
    # What moved it is undone, so that the next way finds it again.
    with contextlib.suppress(OSError):
        if "hidden" in text("src/given.py"):
            call("renameat2", -100, SECRET.encode(), -100, b"src/given.py", 2)
    with contextlib.suppress(OSError):
        os.rename("src/moved", SECRET if os.path.isfile("src/moved") else VAULT)
    return "hidden" in names["got"]


# Names from outside: the policy's analysis would see constant ones, and refuse the program.
SECRET, VAULT, KEY, cases = json.loads(os.environ["READS"])
print(json.dumps([text("src/given.py"), [way["name"] for way in cases if tries(way)]]))
