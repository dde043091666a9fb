# SPDX-License-Identifier: Apache-2.0
"""The agent for R: frames on descriptor 3, R itself embedded in this process."""

from __future__ import annotations

import base64
import os
import sys
from typing import Any

sys.path[:0] = [
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "front"),
    os.path.dirname(os.path.abspath(__file__)),
]

import link as frames  # noqa: E402
from library import R, RMissing  # noqa: E402
from link import Blobs, Link, Surroundings  # noqa: E402
from output import Output  # noqa: E402

_FEATURES = ["complete", "inspect", "is_complete", "input", "fetch", "variables"]
_TABLE = "application/vnd.glovebox.table+json"


class Agent:
    def __init__(self) -> None:
        self._link = Link()
        self._output = Output(self._link)
        self._blobs = Blobs()
        self._count = 0
        self._silent = False
        self._r = R(self._write, self._ask, self._emit)
        folder = os.path.dirname(os.path.abspath(__file__))
        for name in ("evaluate.R", "tables.R", "plots.R"):
            self._r.load(os.path.join(folder, name))

    def serve(self) -> None:
        self._link.start()
        self._output.start()
        version = self._r.call("version_text")[0]
        ready = {"language": "r", "version": version, "features": _FEATURES}
        self._link.send(frames.READY, ready)
        while True:
            kind, channel, request = self._link.next()
            if kind == frames.EXECUTE:
                self._link.channel = channel
                self._execute(request)
            else:
                self._link.send(frames.REPLY, self._reply(kind, request), channel)

    def _execute(self, request: dict[str, Any]) -> None:
        self._silent = silent = bool(request.get("silent"))
        if not silent and request.get("store_history", True):
            self._count += 1
        self._link.send(frames.STARTED, {"execution_count": self._count})
        self._link.forget_inputs()
        self._r.forget_interrupt()
        status = "error"
        try:
            surroundings = Surroundings(request)
        except OSError as failure:
            self._error(type(failure).__name__, str(failure))
        else:
            answer = self._r.call("run", str(request.get("code", "")))
            if answer is None:
                self._error("Error", "the evaluation was aborted in a way that R could not report")
            else:
                status = answer[0]
            surroundings.restore()
        self._send(frames.DONE, {"status": status, "execution_count": self._count})

    def _reply(self, kind: int, request: dict[str, Any]) -> dict[str, Any]:
        code = str(request.get("code", ""))
        cursor = request.get("cursor", len(code))
        cursor = cursor if isinstance(cursor, int) and 0 <= cursor <= len(code) else len(code)
        if kind == frames.COMPLETE:
            found = self._r.call("complete", code, cursor) or {"matches": [], "size": [0]}
            start = max(0, cursor - found["size"][0])
            return {"matches": found["matches"], "start": start, "end": cursor}
        if kind == frames.INSPECT:
            text = self._r.call("inspect", code, cursor)
            return {"found": bool(text), "data": {"text/plain": text[0]} if text else {}}
        if kind == frames.IS_COMPLETE:
            status = self._r.call("is_complete", code) or ["unknown"]
            return {"status": status[0], "indent": "    " if status[0] == "incomplete" else ""}
        if kind == frames.VARIABLES:
            found = self._r.call("variables") or {"name": [], "type": [], "value": []}
            rows = zip(found["name"], found["type"], found["value"])
            return {"variables": [{"name": n, "type": t, "value": v} for n, t, v in rows]}
        if kind == frames.FETCH:
            return self._blobs.fetch(request)
        return {"error": "the R agent does not support this request"}

    def _send(self, kind: int, payload: dict[str, Any]) -> None:
        self._output.flush()
        self._link.send(kind, payload)

    def _error(self, name: str, value: str) -> None:
        self._send(frames.ERROR, {"name": name, "value": value, "traceback": [f"{name}: {value}"]})

    def _write(self, data: bytes, is_error: bool) -> None:
        if self._link.is_mine():
            self._output.write(frames.STDERR if is_error else frames.STDOUT, data)
        else:
            os.write(2 if is_error else 1, data)

    def _ask(self, prompt: str) -> bytes | None:
        if not self._link.is_mine():
            return None
        self._send(frames.INPUT_REQUEST, {"prompt": prompt, "password": False})
        while not self._r.interrupt_is_pending():
            answer = self._link.next_input(0.05)
            if answer is not None:
                if answer.get("eof"):
                    return None
                text = str(answer.get("text", "")).split("\n")[0]
                return text.replace("\0", "").encode("utf-8", "replace")
        return b""

    def _emit(self, kind: str, payload: Any) -> None:
        if kind == "error":
            self._send(
                frames.ERROR,
                {
                    "name": payload["name"][0],
                    "value": payload["value"][0],
                    "traceback": payload["traceback"],
                },
            )
        elif self._silent:
            return
        elif kind == "plot":
            data: dict[str, Any] = {}
            with open(payload["png"][0], "rb") as file:
                data["image/png"] = base64.b64encode(file.read()).decode("ascii")
            with open(payload["svg"][0], encoding="utf-8", errors="replace") as file:
                data["image/svg+xml"] = file.read()
            data["text/plain"] = "<plot>"
            self._send(frames.DISPLAY, {"data": self._blobs.bundle(data), "metadata": {}})
        elif kind == "result":
            table = payload.pop("table", None)
            data = {mime: value[0] for mime, value in payload.items()}
            if table is not None:
                data[_TABLE] = _table(table)
            bundle = self._blobs.bundle(data)
            result = {"data": bundle, "metadata": {}, "execution_count": self._count}
            self._send(frames.RESULT, result)


def _table(table: dict[str, Any]) -> dict[str, Any]:
    columns = zip(table["names"], table["types"], table["values"])
    return {
        "columns": [{"name": n, "type": t, "values": v} for n, t, v in columns],
        "rows": table["rows"][0],
        "index": {
            "name": None,
            "type": table["index"]["type"][0],
            "values": table["index"]["values"],
        },
        "truncated": table["truncated"][0],
    }


def main() -> None:
    try:
        agent = Agent()
    except RMissing as missing:
        sys.exit(f"glovebox: {missing}")
    agent.serve()


if __name__ == "__main__":
    main()
