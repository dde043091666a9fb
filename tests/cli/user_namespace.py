# SPDX-License-Identifier: Apache-2.0
"""Runs a command as root of a user namespace with a map of ids, as in a container that has ids of
its own.

    user_namespace.py 'INSIDE OUTSIDE COUNT' USER COMMAND…

The namespace is made by the user with the number USER, whose /proc it also gets anew. Requires root.
"""
import ctypes
import os
import sys

CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID = 0x10000000, 0x00020000, 0x20000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000


def call(function, *arguments):
    if function(*arguments) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), function.__name__)


def inside(user, made, mapped, command):
    libc = ctypes.CDLL(None, use_errno=True)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    call(libc.unshare, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID)
    os.write(made, b"m")
    os.read(mapped, 1)
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    first = os.fork()
    if first == 0:
        call(libc.mount, b"none", b"/", None, MS_REC | MS_PRIVATE, None)
        call(libc.mount, b"proc", b"/proc", b"proc", 0, None)
        os.execvp(command[0], command)
    os._exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]) & 255)


def main():
    id_map, user, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    made, says_made = os.pipe()
    mapped, says_mapped = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(says_mapped)
        inside(user, says_made, mapped, command)
    os.close(says_made)
    if os.read(made, 1) == b"m":
        for name in ("gid_map", "uid_map"):
            with open(f"/proc/{child}/{name}", "w", encoding="ascii") as file:
                file.write(id_map + "\n")
        os.write(says_mapped, b"m")
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 255)


if __name__ == "__main__":
    main()
