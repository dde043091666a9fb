# SPDX-License-Identifier: Apache-2.0
"""Calls of tools that are under way, and who reads their results off the channel.

The main thread reads for itself while it waits, for a result or for a line of input, and no cell
that does only this pays for a thread. Once a coroutine or another thread calls a tool, a helper
reads until the end of the execution, and the main thread waits as everybody else does.
"""

from __future__ import annotations

import _thread
import builtins
import collections
import time

from .wire import INPUT, TOOL_CALL, TOOL_RESULT, unpack_json

__builtins__ = dict(vars(builtins))

# What may be open outside (RequestBox::kMaxOpenCalls); more wait here for their turn.
OPEN_LIMIT = 64

_allocate_lock = _thread.allocate_lock
_start_thread = _thread.start_new_thread
_sleep = time.sleep


class Waiter:
    """One message that somebody waits for."""

    def __init__(self) -> None:
        self.message: dict | None = None
        self._arrived = _allocate_lock()
        self._arrived.acquire()

    def give(self, message: dict) -> None:
        self.message = message
        self._arrived.release()

    def wait(self) -> None:
        while self.message is None:
            self._arrived.acquire()


class Call(Waiter):
    def __init__(self, number: int, payload: bytes, notify) -> None:
        super().__init__()
        self.number = number
        self.payload = payload
        self._notify = notify

    def give(self, message: dict) -> None:
        super().give(message)
        if self._notify is not None:
            try:
                self._notify(message)
            except RuntimeError:
                # The event loop that waited for it is closed.
                pass


class Helper:
    def __init__(self) -> None:
        self.stopped = False
        self.lives = True


class Calls:
    """Of one context. Safe to use from several threads."""

    def __init__(self, context) -> None:
        self._context = context
        self.offered: frozenset[str] = frozenset()  # The tools of the present execution.
        self._number = 0
        self._open: dict[int, Call] = {}
        self._queued: collections.deque[Call] = collections.deque()
        self._asking: Waiter | None = None
        self._helper: Helper | None = None
        self._lock = _allocate_lock()  # Of all this.
        # Held by whoever takes messages off the wire.
        self._reading = _allocate_lock()

    def start(self, tool: str, arguments: bytes, notify=None) -> Call:
        """Makes a call, or puts it in line. `notify` is told of the result by the thread that has
        read it."""
        with self._context.wire.shield():
            with self._lock:
                self._number += 1
                head = b'{"call":%d,"name":"%s","arguments":' % (self._number, tool.encode())
                call = Call(self._number, head + arguments + b"}", notify)
                goes = len(self._open) < OPEN_LIMIT
                if goes:
                    self._open[call.number] = call
                else:
                    self._queued.append(call)
            if goes:
                self._send(call)
        return call

    def wait(self, call: Waiter) -> dict:
        """Blocks until the message is there. In the main thread, Ctrl-C gets through."""
        wire = self._context.wire
        if not wire.is_main_thread():
            self.call_helper()
        while call.message is None:
            if self._has_helper():
                call.wait()
            else:
                with wire.shield():
                    self._take_messages()
                if call.message is None:
                    wire.wait_readable()
        return call.message

    def ask_line(self, ask) -> dict:
        """Calls `ask`, which requests input, and returns the answer. Main thread only."""
        # Before the request goes out: a helper may read the answer at once.
        asking = self._asking = Waiter()
        try:
            ask()
            return self.wait(asking)
        finally:
            self._asking = None

    def call_helper(self) -> None:
        """Makes sure that results are read while nobody blocks for them."""
        with self._context.wire.shield(), self._lock:
            if not self._has_helper():
                helper = Helper()
                _start_thread(self._help, (helper,))
                self._helper = helper

    def close(self, why: dict) -> None:
        """At the end of an execution: who still waits is told why it was in vain."""
        if self._helper is not None:
            self._helper.stopped = True
        with self._reading:
            pass  # From here on, the helper takes nothing.
        with self._lock:
            left = [*self._open.values(), *self._queued]
            self._open.clear()
            self._queued.clear()
        for call in left:
            call.give(why)

    def dismiss_helper(self) -> None:
        """Waits until the helper is gone: a copy of this process must have one thread."""
        while self._helper is not None and self._helper.lives:
            _sleep(0.001)

    def _has_helper(self) -> bool:
        return self._helper is not None and not self._helper.stopped

    def _send(self, call: Call) -> None:
        self._context.streams.flush()
        self._context.wire.send(TOOL_CALL, self._context.channel, call.payload)

    def _help(self, helper: Helper) -> None:
        wire = self._context.wire
        try:
            while not helper.stopped:
                if wire.wait_readable() and not helper.stopped:
                    self._take_messages(helper)
        finally:
            helper.lives = False

    def _take_messages(self, helper: Helper | None = None) -> None:
        """Takes what has come."""
        with self._reading:
            while helper is None or not helper.stopped:
                message = self._context.wire.read(block=False)
                if message is None:
                    return
                self._dispatch(message)

    def _dispatch(self, message) -> None:
        kind = message[0]
        if kind == TOOL_RESULT:
            answer = unpack_json(message[2])
            with self._lock:
                call = self._open.pop(answer.get("call"), None)
                following = self._queued.popleft() if call and self._queued else None
                if following is not None:
                    self._open[following.number] = following
            if call is not None:
                call.give(answer)
            if following is not None:
                self._send(following)
        elif kind == INPUT:
            asking, self._asking = self._asking, None
            if asking is not None:
                asking.give(unpack_json(message[2]))
        else:
            self._context.postpone(message)
