# SPDX-License-Identifier: Apache-2.0
"""Serves SQL (SQLite): one database lives between executions."""

import json
import os
import re
import sqlite3
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import frames  # noqa: E402
import statements  # noqa: E402
import tables  # noqa: E402
from database import CommandError, Database  # noqa: E402
from keywords import KEYWORDS  # noqa: E402


class Agent:
    def __init__(self, descriptor: int, kind: type[Database] = Database) -> None:
        self._frames = frames.Frames(descriptor)
        inline = os.environ.get("GLOVEBOX_INLINE", "")
        self._inline = int(inline) if re.fullmatch("[0-9]{1,10}", inline) else 8 << 20
        self._channel = 0
        self._count = 0
        self._held: tuple[tables.Table, str] | None = None
        self._silent = False
        self._running = False
        self._database = kind(self._write, self._hold)

    def warm_up(self) -> None:
        """Does what the first execution would otherwise be the first to do; leaves nothing."""
        self._database.run("select 1")
        tables.bundle(*self._held, self._inline)
        self._held = None

    def serve(self) -> None:
        self._frames.send(frames.READY, 0, {
            "language": "sql", "version": sqlite3.sqlite_version,
            "features": ["complete", "is_complete", "variables"]})
        while (message := self._frames.receive()) is not None:
            kind, channel, payload = message
            if kind == frames.END:
                return
            try:
                request = json.loads(payload)
            except (ValueError, RecursionError):
                request = None
            request = request if isinstance(request, dict) else {}
            if kind == frames.EXECUTE:
                self._channel = channel
                self._execute(request)
            elif kind != frames.INPUT:
                self._frames.send(frames.REPLY, channel, self._answer(kind, request))

    def interrupt(self, *_: object) -> None:
        # It counts from the started frame on.
        if self._running:
            self._database.interrupted = True

    def _write(self, text: str) -> None:
        self._flush(frames.DISPLAY)
        if text:
            self._frames.send(frames.STDOUT, self._channel, text.encode(errors="replace"))

    def _hold(self, table: tables.Table) -> None:
        """The last table of an execution is its result, and which is the last shows later."""
        self._flush(frames.DISPLAY)
        self._held = table, self._database.mode

    def _flush(self, kind: int) -> None:
        held, self._held = self._held, None
        if held is None or self._silent:
            return
        message = {"data": tables.bundle(*held, self._inline), "metadata": {}}
        if kind == frames.RESULT:
            message["execution_count"] = self._count
        self._frames.send(kind, self._channel, message)

    def _execute(self, request: dict) -> None:
        self._silent = bool(request.get("silent"))
        self._count += not self._silent
        self._database.interrupted = False
        self._running = True
        self._frames.send(frames.STARTED, self._channel, {"execution_count": self._count})
        code = request.get("code")
        if not isinstance(code, str):
            self._running = False
            self._fail("Refused", "the frame has no code", [])
            return
        home = os.getcwd() if request.get("cwd") else None
        line = 1
        try:
            if home is not None:
                os.chdir(str(request["cwd"]))
            for statement in statements.split(code):
                line = statement.line
                self._database.run(statement.text)
                if self._database.interrupted:
                    raise sqlite3.OperationalError("interrupted")
            self._flush(frames.RESULT)
        except (sqlite3.Error, sqlite3.Warning, CommandError, OSError, ValueError, MemoryError,
                OverflowError) as problem:
            self._running = False
            self._flush(frames.DISPLAY)
            if self._database.interrupted:
                self._fail("Interrupt", "interrupted", [])
            else:
                self._fail(type(problem).__name__, str(problem), [f"line {line}: {problem}"])
            return
        finally:
            self._running = False
            if home is not None:
                os.chdir(home)
        self._frames.send(frames.DONE, self._channel,
                          {"status": "ok", "execution_count": self._count})

    def _fail(self, name: str, value: str, traceback: list[str]) -> None:
        self._frames.send(frames.ERROR, self._channel,
                          {"name": name, "value": value, "traceback": traceback})
        self._frames.send(frames.DONE, self._channel,
                          {"status": "error", "execution_count": self._count})

    def _answer(self, kind: int, request: dict) -> dict:
        code = request.get("code")
        code = code if isinstance(code, str) else ""
        self._database.interrupted = False
        try:
            if kind == frames.COMPLETE:
                return self._complete(code, request.get("cursor"))
            if kind == frames.IS_COMPLETE:
                return {"status": statements.completeness(code), "indent": ""}
            if kind == frames.VARIABLES:
                return {"variables": [{"name": name, "type": of_type, "value": (sql or "")[:200]}
                                      for name, of_type, sql in self._database.objects()]}
        except sqlite3.Error as problem:
            return {"error": str(problem)}
        return {"error": "this agent does not support this request"}

    def _complete(self, code: str, cursor: object) -> dict:
        end = cursor if isinstance(cursor, int) and 0 <= cursor <= len(code) else len(code)
        word = re.search(r"\w*\Z", code[:end]).group()
        names = [name for name, *_ in self._database.objects()] + self._database.column_names()
        keywords = [keyword if word.isupper() else keyword.lower() for keyword in KEYWORDS]
        matches = sorted({name for name in names + keywords
                          if word and name.lower().startswith(word.lower())})
        return {"matches": matches[:1000], "start": end - len(word), "end": end}


def main() -> None:
    import fcntl  # WASI has none, and there others start the agent (agents/wasm/sql.py).
    import signal

    channel = fcntl.fcntl(3, fcntl.F_DUPFD_CLOEXEC, 100)
    os.close(3)
    agent = Agent(channel)
    signal.signal(signal.SIGINT, agent.interrupt)
    agent.serve()


if __name__ == "__main__":
    main()
