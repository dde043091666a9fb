# SPDX-License-Identifier: Apache-2.0
"""Has a process make a system call, as whoever has taken it over would."""

import ctypes
import os
import platform
import signal

PTRACE_GETREGS, PTRACE_SETREGS, PTRACE_ATTACH, PTRACE_DETACH, PTRACE_SYSCALL = 12, 13, 16, 17, 24
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
LIBC.ptrace.restype = ctypes.c_long


class Registers(ctypes.Structure):
    """user_regs_struct of x86-64."""

    _fields_ = [(name, ctypes.c_ulonglong) for name in (
        "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss "
        "fs_base gs_base ds es fs gs").split()]


def why_not_here():
    """Why this machine cannot do it; empty where it can."""
    if os.geteuid() != 0:
        return "needs root"
    return "" if platform.machine() == "x86_64" else "needs x86-64"


def ptrace(request, pid, data=None):
    if LIBC.ptrace(request, pid, None, data) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def call_in(pid, number, *arguments):
    """What the call answers, made by a process in place of its next one, which it makes then; or the
    signal of which the process dies."""
    ptrace(PTRACE_ATTACH, pid)
    os.waitpid(pid, 0)
    ptrace(PTRACE_SYSCALL, pid)
    os.waitpid(pid, 0)  # It is about to make a call.
    own, ours = Registers(), Registers()
    ptrace(PTRACE_GETREGS, pid, ctypes.byref(own))
    ctypes.memmove(ctypes.byref(ours), ctypes.byref(own), ctypes.sizeof(own))
    ours.orig_rax = number
    for register, value in zip(("rdi", "rsi", "rdx", "r10", "r8", "r9"), arguments):
        setattr(ours, register, value)
    ptrace(PTRACE_SETREGS, pid, ctypes.byref(ours))
    ptrace(PTRACE_SYSCALL, pid)
    os.waitpid(pid, 0)
    ptrace(PTRACE_GETREGS, pid, ctypes.byref(ours))
    own.rip -= 2  # Back to the instruction.
    own.rax = own.orig_rax
    ptrace(PTRACE_SETREGS, pid, ctypes.byref(own))
    ptrace(PTRACE_SYSCALL, pid)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status))
    stop = signal.Signals(os.WSTOPSIG(status))
    if stop == signal.SIGTRAP:  # It is about to make its own call.
        ptrace(PTRACE_DETACH, pid)
        return ctypes.c_longlong(ours.rax).value
    ptrace(PTRACE_DETACH, pid, stop)
    return stop
