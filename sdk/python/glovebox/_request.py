# SPDX-License-Identifier: Apache-2.0
"""How arguments become a request."""

from __future__ import annotations

import dataclasses
import json
import shlex
from typing import Any, Awaitable, Callable, Dict, List, Mapping, Optional, Sequence, TypeVar, Union

from ._generated.requests import ExecuteRequest, Limits
from ._model import Duration, Model, Size, encode
from ._version import __version__
from .tools import Tool

T = TypeVar("T")
#: A function for what happens; with the asynchronous classes it may be a coroutine function.
Callback = Optional[Callable[[T], Union[None, Awaitable[None]]]]


def user_agent() -> str:
    return f"glovebox-python/{__version__}"


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def json_body(body: Union[Model, Mapping[str, Any]]) -> bytes:
    return _ENCODER.encode(encode(body)).encode("utf-8", "surrogatepass")


def limits_of(
    limits: Optional[Limits], time: Optional[Duration], memory: Optional[Size]
) -> Optional[Limits]:
    """Limits with the two that have arguments of their own."""
    if time is None and memory is None:
        return limits
    base = limits or Limits()
    return dataclasses.replace(
        base,
        time=time if time is not None else base.time,
        memory=memory if memory is not None else base.memory,
    )


def with_tools(request: ExecuteRequest, tools: Sequence[Tool]) -> Dict[str, Any]:
    """The body of a request, with what the code may call."""
    body: Dict[str, Any] = request.to_json()
    if tools:
        body["tools"] = [tool.schema() for tool in tools]
    return body


def argv_of(command: Union[str, Sequence[str]]) -> List[str]:
    """A program with its arguments; a text is a line of shell."""
    return ["/bin/sh", "-c", command] if isinstance(command, str) else [str(each) for each in command]


def shown(command: Union[str, Sequence[str]]) -> str:
    return command if isinstance(command, str) else " ".join(shlex.quote(each) for each in command)
