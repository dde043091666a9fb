# SPDX-License-Identifier: Apache-2.0
# Written by sdk/python/generate from glovebox/_async/commands.py: change that, and run it again.
"""Commands, processes and terminals in a sandbox."""

from __future__ import annotations

import base64
import json
from typing import (
    TYPE_CHECKING,
    Any,
    Iterator,
    Dict,
    List,
    Mapping,
    Optional,
    Sequence,
    Union,
)

from .._dry_run import DryRunOptions
from .._generated import routes
from .._generated.requests import CommandLimits, CommandRequest, ProcessRequest, TerminalSize
from .._generated.responses import CommandResult, ProcessEvent, ProcessInfo
from .._model import Duration, Size
from .._request import Callback, argv_of
from .._shown import joined
from ..errors import Gone, NotFound, ProtocolError
from ..events import decode, failure_of
from .net import call, end
from .websocket import WebSocket

if TYPE_CHECKING:
    from .client import Client
    from .sandbox import Sandbox

#: A line of shell, or a program with its arguments.
Command = Union[str, Sequence[str]]
# A command may be silent until its limit of time; nothing else comes before its response.
USUAL_TIME_S = 60.0
MARGIN_S = 60.0


class Process:
    """A process of a sandbox, which goes on whether or not anybody listens."""

    def __init__(self, sandbox: "Sandbox", pid: int) -> None:
        self.sandbox = sandbox
        self.pid = pid
        self._client = sandbox.client
        self._place = {"id": sandbox.id, "pid": pid}

    def __repr__(self) -> str:
        return f"Process({self.pid})"

    def info(self) -> ProcessInfo:
        return ProcessInfo.from_json(self._client.ask(routes.ATTACH_PROCESS, self._place))

    def events(self) -> Iterator[ProcessEvent]:
        """Its output and its end, as they come. The first listener gets the output so far, of which
        the daemon keeps at most 1 MiB.
        """
        for value in self._client.lines(routes.ATTACH_PROCESS, self._place):
            if value.get("type") == "failed":
                raise failure_of(value)
            if value.get("type") != "keepalive":
                yield ProcessEvent.from_json(value)

    def wait(
        self, *, on_stdout: Callback[str] = None, on_stderr: Callback[str] = None
    ) -> CommandResult:
        """Waits for its end, and returns what it printed since the last one listened."""
        out: Dict[str, List[bytes]] = {"stdout": [], "stderr": []}
        callbacks = {"stdout": on_stdout, "stderr": on_stderr}
        last: Optional[ProcessEvent] = None
        for event in self.events():
            name = "stdout" if event.type == "terminal" else event.type
            if name in out:
                out[name].append(output_of(event))
                callback = callbacks[name]
                if callback is not None:
                    call(callback, event.text or "")
            last = event
        if last is None or last.type != "ended":
            raise ProtocolError("the stream ended before the process")
        return _result(self.pid, out, last)

    def send_stdin(self, data: Union[str, bytes]) -> None:
        """Writes to its standard input; it must have been started with ``stdin=True``."""
        content = data.encode("utf-8") if isinstance(data, str) else data
        self._client.ask(
            routes.WRITE_STDIN,
            self._place,
            content=content,
            headers={"Content-Type": "application/octet-stream"},
        )

    def close_stdin(self) -> None:
        """Lets it find the end of its input."""
        self._client.ask(routes.CLOSE_STDIN, self._place)

    def signal(self, name: str) -> None:
        """Sends a signal, such as ``"SIGINT"``."""
        self._client.ask(routes.SIGNAL_PROCESS, self._place, body={"signal": name})

    def resize(self, columns: int, rows: int) -> None:
        """Changes the size of its terminal."""
        size = TerminalSize(columns=columns, rows=rows)
        self._client.ask(routes.RESIZE_PROCESS, self._place, body=size, repeatable=True)

    def kill(self) -> bool:
        """Ends it at once. False if it had ended before."""
        try:
            self._client.ask(routes.KILL_PROCESS, self._place)
            return True
        except (NotFound, Gone):
            return False

    def attach(self) -> "Terminal":
        """Opens a WebSocket to it."""
        return Terminal(
            self, self._client.open_socket(routes.ATTACH_PROCESS, self._place)
        )


class Terminal:
    """A process with a terminal. Iterate over it for what it prints."""

    def __init__(self, process: Process, socket: WebSocket) -> None:
        self.process = process
        self._socket = socket
        #: How it ended; None while it runs.
        self.ended: Optional[ProcessEvent] = None

    def read(self) -> bytes:
        """The next bytes that it prints; none at its end."""
        while True:
            message = self._socket.receive()
            if message is None:
                return b""
            if isinstance(message, bytes):
                return message
            value = decode(message)
            if value.get("type") == "failed":
                raise failure_of(value)
            if value.get("type") == "ended":
                self.ended = ProcessEvent.from_json(value)
            elif value.get("type") in ("stdout", "stderr", "terminal"):
                return output_of(ProcessEvent.from_json(value))

    def write(self, data: Union[str, bytes]) -> None:
        """Types into it."""
        self._socket.send(data.encode("utf-8") if isinstance(data, str) else data)

    def resize(self, columns: int, rows: int) -> None:
        self._tell({"resize": {"columns": columns, "rows": rows}})

    def signal(self, name: str) -> None:
        self._tell({"signal": name})

    def end_stdin(self) -> None:
        self._tell({"end_stdin": True})

    def _tell(self, message: Mapping[str, Any]) -> None:
        self._socket.send(json.dumps(message))

    def wait(self) -> int:
        """Reads to its end, and returns the exit status."""
        while self.read():
            pass
        if self.ended is None or self.ended.exit_code is None:
            raise ProtocolError("the WebSocket ended before the process")
        return self.ended.exit_code

    def close(self) -> None:
        """Ends the WebSocket. The process goes on."""
        self._socket.close()

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces()

    def _pieces(self) -> Iterator[bytes]:
        while True:
            piece = self.read()
            if not piece:
                return
            yield piece

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self.process.kill()


class Commands:
    """Commands in a sandbox: ``sandbox.commands``."""

    def __init__(self, sandbox: "Sandbox") -> None:
        self._sandbox = sandbox
        self._client = sandbox.client
        self._place = {"id": sandbox.id}

    def run(
        self,
        command: Command,
        *,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        user: Optional[str] = None,
        stdin: Optional[str] = None,
        timeout: Optional[Duration] = None,
        output: Optional[Size] = None,
        dry_run: Union[None, bool, DryRunOptions] = None,
        on_stdout: Callback[str] = None,
        on_stderr: Callback[str] = None,
        check: bool = False,
    ) -> CommandResult:
        """Runs a command and waits for it. A text is a line of shell.

        `user` runs it, in a sandbox whose own user is root. `timeout` ends it, after a minute by
        default; `output` is how much of each stream is kept.
        With `dry_run`, the result's ``dry_run`` says what the command has changed, and
        ``sandbox.commit`` or ``discard`` decides about it; callbacks get the output at the end.
        With `check`, a status other than 0 raises ``CommandError``.
        """
        if dry_run or (on_stdout is None and on_stderr is None):
            result = self._run_quietly(
                command, cwd, env, user, stdin, timeout, output, dry_run
            )
            for callback, text in ((on_stdout, result.stdout), (on_stderr, result.stderr)):
                if callback is not None and text:
                    call(callback, text)
        else:
            result = self._run_aloud(
                command, cwd, env, user, stdin, timeout, on_stdout, on_stderr
            )
        return result.check() if check else result

    def _run_quietly(
        self,
        command: Command,
        cwd: Optional[str],
        env: Optional[Mapping[str, str]],
        user: Optional[str],
        stdin: Optional[str],
        timeout: Optional[Duration],
        output: Optional[Size],
        dry_run: Union[None, bool, DryRunOptions],
    ) -> CommandResult:
        wish = dry_run if isinstance(dry_run, DryRunOptions) else DryRunOptions()
        limits = None
        if timeout is not None or output is not None:
            limits = CommandLimits(time=timeout, output=output)
        request = CommandRequest(
            shell=command if isinstance(command, str) else None,
            argv=None if isinstance(command, str) else argv_of(command),
            cwd=cwd,
            env=env,
            user=user,
            stdin=stdin,
            limits=limits,
            dry_run=bool(dry_run) or None,
            dry_run_network=wish.network,
            dry_run_timeout=wish.timeout,
        )
        patience = self._client.timeout
        if patience is not None:
            patience = max(patience, seconds_of(timeout) + MARGIN_S)
        return CommandResult.from_json(
            self._client.ask(
                routes.RUN_COMMAND, self._place, body=request, timeout=patience
            )
        )

    def _run_aloud(
        self,
        command: Command,
        cwd: Optional[str],
        env: Optional[Mapping[str, str]],
        user: Optional[str],
        stdin: Optional[str],
        timeout: Optional[Duration],
        on_stdout: Callback[str],
        on_stderr: Callback[str],
    ) -> CommandResult:
        wait = timeout if timeout is not None else USUAL_TIME_S
        process = self.start(
            command, cwd=cwd, env=env, user=user, stdin=stdin is not None, timeout=wait
        )
        try:
            if stdin is not None:
                process.send_stdin(stdin)
                process.close_stdin()
            return process.wait(on_stdout=on_stdout, on_stderr=on_stderr)
        except BaseException:
            process.kill()
            raise

    def start(
        self,
        command: Command,
        *,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        user: Optional[str] = None,
        stdin: bool = False,
        tag: Optional[str] = None,
        timeout: Optional[Duration] = None,
    ) -> Process:
        """Starts a command and returns at once. `stdin`: whether ``send_stdin`` will write to it.
        Without `timeout`, it may run as long as the sandbox does.
        """
        request = ProcessRequest(
            argv=argv_of(command),
            cwd=cwd,
            env=env,
            user=user,
            stdin=stdin or None,
            tag=tag,
            timeout=timeout,
        )
        made = self._client.ask(routes.START_PROCESS, self._place, body=request)
        return Process(self._sandbox, int(made["pid"]))

    def stream(
        self,
        command: Command,
        *,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        user: Optional[str] = None,
        tag: Optional[str] = None,
        timeout: Optional[Duration] = None,
    ) -> Iterator[ProcessEvent]:
        """Starts a command and returns its events as they come; the last one is ``ended``."""
        request = ProcessRequest(
            argv=argv_of(command), cwd=cwd, env=env, user=user, tag=tag, timeout=timeout
        )
        lines = self._client.lines(routes.START_PROCESS, self._place, body=request)
        try:
            for value in lines:
                if value.get("type") == "failed":
                    raise failure_of(value)
                if value.get("type") != "keepalive":
                    yield ProcessEvent.from_json(value)
        finally:
            end(lines)

    def terminal(
        self,
        command: Command = ("bash",),
        *,
        columns: int = 80,
        rows: int = 24,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        user: Optional[str] = None,
        tag: Optional[str] = None,
        timeout: Optional[Duration] = None,
    ) -> Terminal:
        """Starts a command with a terminal. As a context manager, it is killed with the block."""
        request = ProcessRequest(
            argv=argv_of(command),
            cwd=cwd,
            env=env,
            user=user,
            terminal=TerminalSize(columns=columns, rows=rows),
            tag=tag,
            timeout=timeout,
        )
        made = self._client.ask(routes.START_PROCESS, self._place, body=request)
        return Process(self._sandbox, int(made["pid"])).attach()

    def get(self, pid: int) -> Process:
        """Refers to a process by its pid, without asking the daemon."""
        return Process(self._sandbox, pid)

    def list(self) -> List[ProcessInfo]:
        """All processes that were started this way."""
        found = self._client.ask(routes.LIST_PROCESSES, self._place)
        return [ProcessInfo.from_json(each) for each in found["processes"]]


def output_of(event: ProcessEvent) -> bytes:
    """The exact bytes of an event of output."""
    if event.base64:
        return base64.b64decode(event.base64)
    return (event.text or "").encode("utf-8")


def _result(pid: int, out: Mapping[str, List[bytes]], last: ProcessEvent) -> CommandResult:
    values: Dict[str, Any] = {
        "pid": pid,
        "exit_code": last.exit_code,
        "signal": last.signal,
        "reason": last.reason,
        "truncated": {"stdout": False, "stderr": False},
        "bytes": {name: sum(map(len, pieces)) for name, pieces in out.items()},
    }
    for name, pieces in out.items():
        text = joined(pieces)
        values[name] = text["text"]
        if "base64" in text:
            values[f"{name}_base64"] = text["base64"]
    return CommandResult.from_json(values)


def seconds_of(timeout: Optional[Duration]) -> float:
    """A duration in seconds, as the daemon reads it."""
    if timeout is None:
        return USUAL_TIME_S
    if isinstance(timeout, (int, float)):
        return float(timeout)
    if not isinstance(timeout, str):
        return timeout.total_seconds()
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
    for unit in sorted(units, key=len, reverse=True):
        if timeout.endswith(unit):
            try:
                return float(timeout[: -len(unit)]) * units[unit]
            except ValueError:
                break
    return USUAL_TIME_S
