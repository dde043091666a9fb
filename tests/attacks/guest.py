# SPDX-License-Identifier: Apache-2.0
# What every Python attack starts with; the runner puts it in front of the case's code.
import ctypes
import errno
import os
import sys

libc = ctypes.CDLL(None, use_errno=True)


def syscall(number, *args):
    words = [a if isinstance(a, bytes) else ctypes.cast(a, ctypes.c_void_p)
             if isinstance(a, ctypes.Array) else ctypes.c_long(a) for a in args]
    ctypes.set_errno(0)
    answer = libc.syscall(ctypes.c_long(number), *words)
    if answer == -1:
        raise OSError(ctypes.get_errno(), "syscall %d" % number)
    return answer


def change_mode(path, mode):
    """As chmod(2), which a user's landlock tier refuses, for a file of one's own."""
    fd = os.open(path, os.O_RDONLY)
    os.fchmod(fd, mode)
    os.close(fd)


def report(name, answer):
    # Past sys.stdout: in a context that goes another way than a flood of a case's own to the
    # descriptor, which may arrive first.
    sys.stdout.flush()
    os.write(1, f"ATTEMPT {name} {answer}\n".encode("utf-8", "replace"))


def attempt(name, action, *args):
    """Reports the errno's name, the string that the action answers, or 'done'."""
    try:
        answer = action(*args)
    except OSError as error:
        answer = errno.errorcode.get(error.errno, str(error.errno))
    except Exception as error:
        answer = type(error).__name__
    report(name, answer if isinstance(answer, str) else "done")


def read(path):
    with open(path, "rb") as file:
        text = file.read(65536)
    print(text.decode("utf-8", "replace"))
    return "done" if text.strip(b"0\n \t") else "empty"


def open_to_write(path):
    # Opening is proof enough; writing would harm the host of a control run.
    os.close(os.open(path, os.O_WRONLY))
