# SPDX-License-Identifier: Apache-2.0
"""The agent for C++: frames on descriptor 3; each cell is compiled and loaded into this process."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

sys.path[:0] = [
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "front"),
    os.path.dirname(os.path.abspath(__file__)),
]

import link as frames  # noqa: E402
import source  # noqa: E402
from compiler import CompilationError, Compiler  # noqa: E402
from link import Blobs, Link, Surroundings  # noqa: E402
from translate import History, tidy  # noqa: E402

_FEATURES = ["is_complete", "fetch"]
_RESULT, _ERROR_NAME, _ERROR_VALUE = range(3)


class Agent:
    def __init__(self) -> None:
        self._link = Link()
        self._blobs = Blobs()
        self._history = History()
        self._compiler = Compiler(sys.argv[1] if len(sys.argv) > 1 else None)
        self._count = 0
        self._number = 0
        self._compiling = False
        signal.signal(signal.SIGINT, self._on_interrupt)

    def serve(self) -> None:
        self._link.start()
        ready = {"language": "cpp", "version": self._compiler.version(), "features": _FEATURES}
        self._link.send(frames.READY, ready)
        while True:
            kind, channel, request = self._link.next()
            if kind == frames.EXECUTE:
                self._link.channel = channel
                self._execute(request)
            else:
                self._link.send(frames.REPLY, self._reply(kind, request), channel)

    def _execute(self, request: dict[str, Any]) -> None:
        silent = bool(request.get("silent"))
        if not silent and request.get("store_history", True):
            self._count += 1
        self._link.send(frames.STARTED, {"execution_count": self._count})
        status = "error"
        try:
            surroundings = Surroundings(request)
        except OSError as failure:
            self._error(type(failure).__name__, str(failure))
        else:
            if self._evaluate(str(request.get("code", "")), silent):
                status = "ok"
            surroundings.restore()
        self._link.send(frames.DONE, {"status": status, "execution_count": self._count})

    def _evaluate(self, code: str, silent: bool) -> bool:
        self._number += 1
        try:
            self._compiling = True
            unit = self._history.unit(code, self._number)
            library = self._compiler.load(unit.text, self._number)
        except source.Unfinished:
            value = "unterminated bracket, string or comment at the end of the code"
            self._error("CompilationError", value)
            return False
        except CompilationError as failure:
            lines = tidy(str(failure)).splitlines()
            first = next((line for line in lines if "error" in line), "the code does not compile")
            self._error("CompilationError", first, lines[:200])
            return False
        except KeyboardInterrupt:
            self._error("Interrupted", "the compiler was interrupted")
            return False
        finally:
            self._compiling = False
        said = {_RESULT: "", _ERROR_NAME: "", _ERROR_VALUE: ""}
        results: list[str] = []

        def say(kind: int, data: bytes) -> None:
            said[kind] = data.decode("utf-8", "replace")
            if kind == _RESULT:
                results.append(said[kind])

        reached = self._compiler.run(library, say)
        self._history.keep(unit, reached)
        if reached >= 0:
            name, value = tidy(said[_ERROR_NAME]), said[_ERROR_VALUE]
            self._error(name, value)
            if any(part.index >= reached for part in unit.parts):
                text = "declarations from the failed statement onwards are not kept"
                self._link.send(frames.NOTE, {"text": text})
            return False
        if results and not silent:
            data = self._blobs.bundle({"text/plain": tidy(results[0])})
            result = {"data": data, "metadata": {}, "execution_count": self._count}
            self._link.send(frames.RESULT, result)
        return True

    def _reply(self, kind: int, request: dict[str, Any]) -> dict[str, Any]:
        if kind == frames.IS_COMPLETE:
            try:
                source.split(str(request.get("code", "")))
            except source.Unfinished:
                return {"status": "incomplete", "indent": "    "}
            return {"status": "unknown", "indent": ""}
        if kind == frames.FETCH:
            return self._blobs.fetch(request)
        return {"error": "the C++ agent does not support this request"}

    def _error(self, name: str, value: str, lines: list[str] | None = None) -> None:
        traceback = lines or [f"{name}: {value}" if value else name]
        payload = {"name": name, "value": value, "traceback": traceback}
        self._link.send(frames.ERROR, payload)

    def _on_interrupt(self, _signal: int, _frame: object) -> None:
        # While guest code runs its header's own handler stands in place of this one.
        if self._compiling:
            raise KeyboardInterrupt


def main() -> None:
    Agent().serve()


if __name__ == "__main__":
    main()
