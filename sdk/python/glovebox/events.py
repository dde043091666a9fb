# SPDX-License-Identifier: Apache-2.0
"""What happens while code runs, as objects."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Union

from ._generated.responses import ConnectionRecord, GuestError, Result, Verdict
from .errors import GloveboxError, ProgramError, ProtocolError

__all__ = ["Event", "InputRequest", "ToolCall"]


@dataclass(frozen=True)
class InputRequest:
    """Code waits for a line of input."""

    request: int
    prompt: str
    password: bool


@dataclass(frozen=True)
class ToolCall:
    """Code has called a tool, and waits for its result."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Event:
    """One event of an execution. ``type`` says which; the properties of other types are None."""

    type: str
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Of ``stdout``, ``stderr`` and ``note``."""
        return str(self.data.get("text", ""))

    @property
    def bytes(self) -> bytes:
        """The exact output of ``stdout`` and ``stderr``."""
        encoded = self.data.get("base64")
        return base64.b64decode(encoded) if encoded else self.text.encode("utf-8")

    @property
    def result(self) -> Optional[Result]:
        return Result.from_json(self.data) if self.type == "result" else None

    @property
    def error(self) -> Optional[GuestError]:
        """What the code raised."""
        return GuestError.from_json(self.data) if self.type == "error" else None

    @property
    def input_request(self) -> Optional[InputRequest]:
        if self.type != "input_request":
            return None
        return InputRequest(
            int(self.data["request"]),
            str(self.data.get("prompt", "")),
            bool(self.data.get("password")),
        )

    @property
    def tool_call(self) -> Optional[ToolCall]:
        if self.type != "tool_call":
            return None
        return ToolCall(
            str(self.data["id"]), str(self.data["name"]), dict(self.data.get("arguments") or {})
        )

    @property
    def connection(self) -> Optional[ConnectionRecord]:
        """A connection that the code made, or tried to make, out of the sandbox."""
        return ConnectionRecord.from_json(self.data) if self.type == "connection" else None

    @property
    def verdict(self) -> Optional[Verdict]:
        return Verdict.from_json(self.data) if self.type == "verdict" else None


def decode(line: Union[str, bytes]) -> Mapping[str, Any]:
    """One line of a stream as an object."""
    try:
        # Bytes are UTF-8; json would look for other encodings first.
        value = json.loads(line if isinstance(line, str) else line.decode("utf-8", "surrogatepass"))
    except ValueError as error:
        raise ProtocolError(f"a line that is not JSON: {line[:80]!r}") from error
    if not isinstance(value, dict):
        raise ProtocolError(f"a line that is not an object: {line[:80]!r}")
    return value


def event_of(value: Mapping[str, Any]) -> Event:
    """An event; the daemon's or the program's failure is raised."""
    kind = str(value.get("type", ""))
    if kind == "failed":
        raise failure_of(value)
    return Event(kind, value)


def failure_of(value: Mapping[str, Any]) -> GloveboxError:
    """The error object with which a stream ends when Glovebox could not do it."""
    from .errors import error_of

    status = value.get("code")
    if isinstance(status, int) and status >= 400:
        return error_of(status, {}, value, "the request failed")
    return ProgramError(str(value.get("message", "it failed")), str(value.get("hint", "")))
