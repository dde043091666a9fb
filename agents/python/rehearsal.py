# SPDX-License-Identifier: Apache-2.0
"""Serves a channel of our own in the zygote, as each fork will serve its own.

What CPython writes into code objects, type caches and free lists while it runs is then written
already, and a fork that does the same writes to none of the pages that it shares.
"""

from __future__ import annotations

import builtins
import getpass
import os
import signal
import socket
import sys

from . import fresh, warmup
from .wire import EXECUTE, frames, pack_json

__builtins__ = dict(vars(builtins))

ROUNDS = 8
CELLS = ("x = 1", "x + 1", "print('x')", "1 + 1")


def rehearse(context, agent, roots) -> None:
    shell = context.shell
    before = dict(shell.user_ns)
    environment = dict(os.environ)
    streams = sys.stdout, sys.stderr
    wire = context.wire
    ask_secret = getpass.getpass
    handler = signal.getsignal(signal.SIGINT)
    fresh.prepare()
    for number in range(ROUNDS):
        cells = [cells[0] for cells in warmup.cells_of(roots, number)]
        _serve_once(context, agent, (*cells, *CELLS))
        _act_as_child()
    context.leave(wire)
    signal.signal(signal.SIGINT, handler)
    sys.stdout, sys.stderr = streams
    getpass.getpass = ask_secret
    os.environ.clear()
    os.environ.update(environment)
    warmup.forget(shell, before)
    fresh.collect_again()


def _act_as_child() -> None:
    """Runs what Python's library runs in a forked process: all locks are new, and free. It does no
    harm while there is one thread."""
    for module, prepare, act in (
        ("threading", None, "_after_fork"),
        ("logging", "_acquireLock", "_after_at_fork_child_reinit_locks"),
    ):
        found = sys.modules.get(module)
        if hasattr(found, act) and (prepare is None or hasattr(found, prepare)):
            if prepare is not None:
                getattr(found, prepare)()
            getattr(found, act)()


def _serve_once(context, agent, cells) -> None:
    ours, theirs = socket.socketpair()
    with ours:
        context.enter(theirs.detach(), agent)
        for cell in cells:
            ours.sendall(frames(EXECUTE, 1, pack_json({"code": cell})))
            context.serve_one()
            # No more than a socket's buffer holds: nobody else reads.
            ours.recv(1 << 20)
        context.streams.dismiss_helper()
        context.wire.detach()
