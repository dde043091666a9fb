# SPDX-License-Identifier: Apache-2.0
"""A second mount namespace, for a peer that cannot work with the mounts of this host.

The measuring process itself goes there before the clock starts and comes back after it has stopped,
so that no helper program becomes part of what is timed.
"""

import contextlib
import ctypes
import os
import subprocess

CLONE_NEWNS = 0x00020000
libc = ctypes.CDLL(None, use_errno=True)


def enter(namespace):
    if libc.setns(namespace, CLONE_NEWNS) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"setns: {os.strerror(number)}")


def without(path):
    """A descriptor of a copy of our mount namespace in which nothing is mounted at `path`, or None
    when we may not make one."""
    script = f"umount {path} && echo ready && read -r end"
    with subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-c", script],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as keeper:
        if keeper.stdout.readline() != b"ready\n":
            return None
        return os.open(f"/proc/{keeper.pid}/ns/mnt", os.O_RDONLY)


@contextlib.contextmanager
def inside(namespace):
    """Within this context the process is in `namespace`; None leaves it where it is."""
    if namespace is None:
        yield
        return
    home = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    directory = os.open(".", os.O_RDONLY)
    enter(namespace)
    try:
        yield
    finally:
        enter(home)
        os.fchdir(directory)
        os.close(home)
        os.close(directory)
