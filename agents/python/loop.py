# SPDX-License-Identifier: Apache-2.0
"""One context: frames in, evaluations, frames out."""

from __future__ import annotations

import atexit
import builtins
import collections
import getpass
import os
import sys
import traceback

from . import checkpoints, fresh, queries
from .calls import Calls
from .shell import AgentShell, CellCompiler
from .sites import UserSite
from .streams import Streams
from .tools import Offer
from .values import ValueStore
from .wire import (
    CHECKPOINT,
    COMPLETE,
    DISPLAY,
    DONE,
    END,
    ERROR,
    EXECUTE,
    EXIT_CHANNEL_LOST,
    FETCH,
    INPUT,
    INPUT_REQUEST,
    INSPECT,
    IS_COMPLETE,
    NOTE,
    READY,
    RENEW,
    REPLY,
    RESULT,
    STARTED,
    TOOL_RESULT,
    VARIABLES,
    Wire,
    pack_json,
    pack_string,
    take_over_sigint,
    unpack_json,
)

__builtins__ = dict(vars(builtins))

INLINE_DEFAULT = 8 << 20
ERROR_TEXT_LIMIT = 1 << 20
TRACEBACK_LINES_LIMIT = 10_000
# Below this depth not even an error can be shown.
LEAST_RECURSION = 200
RECURSION_DEFAULT = 1000
FEATURES = ("complete", "inspect", "is_complete", "input", "fetch", "variables", "tools", "renew")

_exit = os._exit
_getpid = os.getpid
_gettrace = sys.gettrace
_settrace = sys.settrace
_getprofile = sys.getprofile
_setprofile = sys.setprofile
_getrecursionlimit = sys.getrecursionlimit
_setrecursionlimit = sys.setrecursionlimit


class NoWire:
    """Takes the place of the channel while a zygote runs its warm-up cells."""

    interruptible = False

    def send(self, kind: int, channel: int, payload: bytes) -> None:
        pass

    write = hold = send


class Context:
    def __init__(self) -> None:
        self.wire = NoWire()
        self.streams = Streams(self.wire)
        self.store = ValueStore(INLINE_DEFAULT)
        self.channel = 0
        self.sites = UserSite()
        self.shell = AgentShell.instance(context=self, compiler_class=CellCompiler)
        self.calls = Calls(self)
        self._queue = collections.deque()
        self._error_sent = False
        # Forks of a zygote and copies for checkpoints; all others are the guest's.
        self._fork_is_ours = True
        self._agent = None
        os.register_at_fork(after_in_child=self._after_fork)

    # Frames out

    def emit(self, kind: int, message: dict) -> None:
        payload = pack_json(message)
        self.streams.flush()
        self.wire.send(kind, self.channel, payload)

    def emit_text(self, text: str, number: int, hold: bool) -> None:
        """A result that is text only; it may be held back for the frame that comes next."""
        payload = b'{"data":{"text/plain":%s},"metadata":{},"execution_count":%d}' % (
            pack_string(text),
            number,
        )
        self.streams.flush()
        if hold:
            self.wire.hold(RESULT, self.channel, payload)
        else:
            self.wire.send(RESULT, self.channel, payload)

    def emit_error(self, kind, value, lines) -> None:
        if isinstance(lines, str):
            lines = lines.splitlines()
        self._error_sent = True
        self.emit(
            ERROR,
            {
                "name": _text(lambda: kind.__name__),
                "value": _text(lambda: str(value)),
                "traceback": [_text(lambda: str(line)) for line in lines[:TRACEBACK_LINES_LIMIT]],
            },
        )

    def note(self, text: str) -> None:
        self.emit(NOTE, {"text": text})

    # Life

    def serve(self, fd: int, agent) -> None:
        """Serves frames until the channel ends. Doesn't return."""
        self.enter(fd, agent)
        self._fork_is_ours = False
        while True:
            try:
                self.serve_one()
            except KeyboardInterrupt:
                # It came after the execution that it was meant for had ended.
                self.wire.forbid_interrupts()

    def enter(self, fd: int, agent) -> None:
        """Takes the channel, and says so."""
        self._agent = agent
        self.wire = Wire(fd)
        take_over_sigint(self.wire)
        self._install()
        fresh.renew(agent.renewals)
        features = list(FEATURES)
        if agent.checkpoint is not None:
            features.append("checkpoint")
        version = ".".join(map(str, sys.version_info[:3]))
        self.emit(READY, {"language": "python", "version": version, "features": features})

    def leave(self, wire) -> None:
        """Goes back to the wire that was there before a channel."""
        self.wire = self.streams.wire = wire

    def _install(self) -> None:
        inline = os.environ.get("GLOVEBOX_INLINE", "")
        if inline.isdecimal():
            self.store.inline = int(inline)
        self.shell.init_environment()
        self.sites.enter()
        # A guest that parses its arguments has none; ours aren't its business.
        sys.argv[:] = [""]
        CellCompiler.directory = f"/tmp/glovebox_{_getpid()}"
        self.streams.wire = self.wire
        sys.stdout = self.streams.stdout
        sys.stderr = self.streams.stderr
        getpass.getpass = self.ask_secret

    def _after_fork(self) -> None:
        """In a process that the guest forked: it may print, but not speak for the context."""
        if self._fork_is_ours:
            return
        self.wire.detach()
        self.streams.after_fork()

    def serve_one(self) -> None:
        kind, channel, payload = self._queue.popleft() if self._queue else self.wire.read()
        if kind == EXECUTE:
            self._execute(channel, payload)
        elif kind == END:
            self.end()
        elif kind == CHECKPOINT:
            self._checkpoint(channel)
        elif kind == RENEW:
            fresh.renew(self._agent.renewals, used=True)
            self.wire.send(REPLY, channel, b"{}")
        elif kind not in (INPUT, TOOL_RESULT):
            self._answer(kind, channel, payload)

    def end(self) -> None:
        """Ends as the guest's own program would: with its exit handlers."""
        self.wire.allow_interrupts()
        try:
            atexit._run_exitfuncs()
        except BaseException:
            pass
        self.wire.forbid_interrupts()
        self.streams.flush()
        _exit(0)

    # Requests

    def _execute(self, channel: int, payload: bytes) -> None:
        self.channel = self.streams.channel = channel
        wire = self.wire
        shell = self.shell
        self._error_sent = False
        try:
            request = unpack_json(payload)
            code = request["code"]
            if not isinstance(code, str):
                raise TypeError("code is not a string")
        except Exception as error:
            self._fail(error)
            self._done("error")
            return
        silent = bool(request.get("silent", False))
        store_history = bool(request.get("store_history", True)) and not silent
        number = shell.execution_count
        wire.send(STARTED, channel, b'{"execution_count":%d}' % number)
        saved = None
        offer = None
        failure = None
        success = False
        builtins_of_guest["input"] = self.ask_line
        try:
            if request.get("tools"):
                offer = Offer(self.calls, wire, request["tools"])
                offer.enter()
            wire.allow_interrupts()
            if "env" in request or "cwd" in request:
                saved = fresh.enter(request.get("env") or {}, request.get("cwd"))
            self.sites.follow()
            if _guest_trace[0] is not None:
                _settrace(_guest_trace[0])
            result = shell.run_cell(code, store_history=store_history, silent=silent)
            success = result.success
            failure = result.error_before_exec or result.error_in_exec
            wire.forbid_interrupts()
        except BaseException as error:
            wire.forbid_interrupts()
            failure = error
        if failure is not None and store_history and shell.execution_count == number:
            # An interrupt can end IPython's own code, too; the cell was counted all the same.
            shell.execution_count = number + 1
        self._regain()
        if wire.detached:
            self._end_child(success, failure)
        if not success and not self._error_sent and not self._is_handled(failure):
            self._fail(failure)
        if saved:
            fresh.leave(saved)
        if offer is not None:
            offer.leave()
        if shell.payload_manager._payload:
            self._show_payloads()
        fresh.collect_again()
        self._done("ok" if success else "error")
        if not success and request.get("stop_on_error"):
            self._abort_queued()
        if shell.exit_asked:
            self.note("the code asked to end this context")
            self.end()

    def _regain(self) -> None:
        """Takes back what a cell may have bent and the loop can't do without."""
        trace = _gettrace()
        _guest_trace[0] = trace
        if trace is not None:
            _settrace(None)
        if _getprofile() is not None:
            _setprofile(None)
        if _getrecursionlimit() < LEAST_RECURSION:
            _setrecursionlimit(RECURSION_DEFAULT)
        if not self.wire.detached and not self.wire.intact():
            _exit(EXIT_CHANNEL_LOST)

    def _end_child(self, success: bool, failure) -> None:
        """A process forked by the cell came to the end of the cell: its parent goes on, not it."""
        status = 0 if success else 1
        if isinstance(failure, SystemExit):
            status = failure.code if isinstance(failure.code, int) else int(bool(failure.code))
        _exit(status & 0xFF)

    def _is_handled(self, failure) -> bool:
        """Whether the guest has a handler of its own for it (set_custom_exc), which has told it."""
        kinds = self.shell.custom_exceptions
        try:
            return bool(kinds) and isinstance(failure, kinds)
        except BaseException:
            return False

    def _fail(self, error) -> None:
        """Shows an error without the help of IPython, which may be what is broken."""
        try:
            lines = traceback.format_exception(error) if error is not None else []
        except BaseException:
            lines = []
        if type(error).__name__ == "UsageError":
            # IPython has told it on stderr.
            return
        self.emit_error(type(error), error, "".join(lines))

    def _done(self, status: str) -> None:
        self.streams.flush()
        count = self.shell.execution_count - 1
        self.wire.send(
            DONE, self.channel, b'{"status":"%s","execution_count":%d}' % (status.encode(), count)
        )

    def _abort_queued(self) -> None:
        """Like a notebook's "run all": what was asked for before the error was seen is dropped."""
        while (message := self.wire.read(block=False)) is not None:
            self._queue.append(message)
        kept = collections.deque()
        current = self.channel
        for message in self._queue:
            if message[0] == EXECUTE:
                self.channel = message[1]
                self._done("aborted")
            else:
                kept.append(message)
        self.channel = current
        self._queue = kept

    def _show_payloads(self) -> None:
        manager = self.shell.payload_manager
        payloads = manager.read_payload()
        manager.clear_payload()
        for payload in payloads:
            if payload.get("source") == "page":
                data = self.store.bundle(payload.get("data") or {})
                self.emit(DISPLAY, {"data": data, "metadata": {}})
            elif payload.get("source") == "set_next_input":
                text = _text(lambda: str(payload.get("text")))
                self.note(f"suggested next input:\n{text}")

    def _answer(self, kind: int, channel: int, payload: bytes) -> None:
        try:
            self.wire.allow_interrupts()
            request = unpack_json(payload)
            if kind == FETCH:
                reply = self.store.fetch(request)
            else:
                reply = queries.answer(self.shell, kind, request)
            encoded = pack_json(reply)
            self.wire.forbid_interrupts()
        except BaseException as error:
            self.wire.forbid_interrupts()
            encoded = pack_json({"error": _describe(error)})
        self._regain()
        self.streams.flush()
        self.wire.send(REPLY, channel, encoded)

    def _checkpoint(self, channel: int) -> None:
        copy = self._agent.checkpoint
        error = "this agent does not support checkpoints"
        if copy is not None:
            self.streams.flush()
            self.streams.dismiss_helper()
            self.calls.dismiss_helper()
            self._fork_is_ours = True
            try:
                return checkpoints.make(copy, self.wire, channel, self._become_another)
            except Exception as failure:
                error = _describe(failure)
            finally:
                self._fork_is_ours = False
        self.wire.send(REPLY, channel, pack_json({"error": error}))

    def _become_another(self) -> None:
        self.wire.renew()
        fresh.renew(self._agent.renewals, used=True)

    def query_all(self, code: str, cursor: int) -> None:
        """Asks each question once, for a zygote to be warm in them."""
        for kind in (COMPLETE, INSPECT, IS_COMPLETE, VARIABLES):
            queries.answer(self.shell, kind, {"code": code, "cursor": cursor})

    # input()

    def ask_line(self, prompt="", /) -> str:
        """What `input` is to the guest."""
        return self._ask(str(prompt), False)

    def ask_secret(self, prompt="", stream=None) -> str:
        """What `getpass.getpass` is to the guest."""
        return self._ask(str(prompt), True)

    def _ask(self, prompt: str, password: bool) -> str:
        wire = self.wire
        if wire.detached:
            raise EOFError("a process started by the cell cannot read input")
        if not wire.is_main_thread():
            raise RuntimeError("input is only possible in the main thread")
        question = {"prompt": prompt, "password": password}
        try:
            request = self.calls.ask_line(lambda: self.emit(INPUT_REQUEST, question))
        except KeyboardInterrupt:
            raise KeyboardInterrupt("Interrupted by user") from None
        if request.get("eof"):
            raise EOFError
        return str(request.get("text", ""))

    def postpone(self, message) -> None:
        """What comes while a cell waits for something else."""
        if message[0] == END and self.wire.is_main_thread():
            self.end()
        self._queue.append(message)


# The guest's builtins, where each cell finds `input`.
builtins_of_guest = vars(builtins)
# The trace function that a cell left, if any; it is suspended while the agent's own code runs.
_guest_trace = [None]


def _describe(error: BaseException) -> str:
    return _text(lambda: f"{type(error).__name__}: {error}")


def _text(make) -> str:
    """The text, or what can be said if the guest's own code fails to give one."""
    try:
        text = make()
    except BaseException as error:
        return f"<{type(error).__name__} in the guest's text>"
    if len(text) > ERROR_TEXT_LIMIT:
        return text[:ERROR_TEXT_LIMIT] + f"... ({len(text)} characters)"
    return text
