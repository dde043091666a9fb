# SPDX-License-Identifier: Apache-2.0
"""Runs cells that await, so that Ctrl-C ends the cell and not only the wait for it."""

from __future__ import annotations

import builtins
import signal

from IPython.core import async_helpers

__builtins__ = dict(vars(builtins))

_set_wakeup_fd = signal.set_wakeup_fd


class AwaitRunner:
    """IPython's `loop_runner` of a context. Main thread only.

    An interrupt that comes while the event loop waits is raised there, outside the cell's
    coroutine. Left alone, that coroutine would resume in the next cell that awaits. It is cancelled
    instead and run to its end, so that its `finally` blocks run now.
    """

    def __init__(self, shell) -> None:
        # Its wire is another one after a fork.
        self._shell = shell

    def __call__(self, coroutine):
        loop = async_helpers.get_asyncio_loop()
        task = None
        with _Wakeup(loop):
            while True:
                try:
                    if task is None:
                        with self._shell.context.wire.shield():
                            task = loop.create_task(coroutine)
                    return loop.run_until_complete(task)
                except KeyboardInterrupt:
                    if task is None:
                        coroutine.close()
                        raise
                    if task.done():
                        raise
                    self._shell.cell_interrupted = True
                    task.cancel()

    def __str__(self) -> str:
        """The name that %autoawait shows."""
        return "asyncio"


class _Wakeup:
    """Lets a signal that comes just before the loop begins to wait end that wait."""

    def __init__(self, loop) -> None:
        # What asyncio itself sets for loop.add_signal_handler(); loops of others may have none.
        self._socket = getattr(loop, "_csock", None)

    def __enter__(self) -> None:
        if self._socket is not None:
            self._before = _set_wakeup_fd(self._socket.fileno(), warn_on_full_buffer=False)

    def __exit__(self, *_error) -> None:
        if self._socket is not None:
            try:
                _set_wakeup_fd(self._before)
            except (OSError, ValueError):
                _set_wakeup_fd(-1)
