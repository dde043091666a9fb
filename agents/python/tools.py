# SPDX-License-Identifier: Apache-2.0
"""The tools of an execution, as functions that its code calls.

`search("x")` and `search(query="x")` block, and return what the tool returned;
`await search.aio(query="x")` does so in a coroutine, many at once under asyncio.gather. They are the
functions of a module `tools`, and names of their own where nothing else has that name. One with
dots in its name is in a module: `from mcp.github import create_issue`, `mcp.github.create_issue()`
and `tools.mcp.github.create_issue()` are the same.
"""

from __future__ import annotations

import asyncio
import builtins
import dataclasses
import datetime
import inspect
import json
import keyword
import numbers
import types
import typing

from .modules import Modules
from .wire import well_formed

__builtins__ = dict(vars(builtins))

# As ToolCall::kMaxArguments (src/context/agent_protocol.h).
ARGUMENTS_LIMIT = 256 << 10
MODULE = "tools"

_ENDED = {"error": {"message": "the execution has ended"}}
_TYPES = {
    "string": str, "integer": int, "number": float, "boolean": bool, "array": list,
    "object": dict, "null": None,
}
_KIND = inspect.Parameter
_builtins_of_guest = vars(builtins)


class ToolError(Exception):
    """What a tool says instead of returning a result."""

    def __init__(self, message: str = "", tool: str = "") -> None:
        super().__init__(message)
        self.tool = tool


ToolError.__module__ = MODULE


class Offer:
    """The tools of one execution, from enter() to leave()."""

    def __init__(self, calls, wire, tools: list) -> None:
        self._calls = calls
        self._wire = wire
        self._names = frozenset(tool["name"] for tool in tools)
        self._injected: dict = {"ToolError": ToolError}
        self._module = _module(MODULE)
        self._module.ToolError = ToolError
        named = {MODULE: self._module}
        for tool in tools:
            *path, name = tool["name"].split(".")
            function = self._function(tool, name)
            module = self._within(path, named)
            setattr(module, name, function)
            setattr(module, function.__name__, function)
            if not path:
                self._injected[function.__name__] = function
        self._injected[MODULE] = self._module
        self._modules = Modules(named)

    def _within(self, path: list, named: dict):
        """The module at the end of a path, which is made where it is missing."""
        module = self._module
        for depth, part in enumerate(path):
            part = part.replace("-", "_")
            name = ".".join(path[: depth + 1]).replace("-", "_")
            if name not in named:
                named[name] = _module(name)
                setattr(module, part, named[name])
                if depth == 0:
                    self._injected[part] = named[name]
            module = named[name]
        return module

    def enter(self) -> None:
        """Names that the guest's own hide, as they do those of built-in functions."""
        self._calls.offered = self._names
        for name in [*self._injected]:
            if name in _builtins_of_guest or keyword.iskeyword(name):
                del self._injected[name]
        _builtins_of_guest.update(self._injected)
        self._modules.enter()

    def leave(self) -> None:
        self._calls.offered = frozenset()
        self._calls.close(_ENDED)
        for name, value in self._injected.items():
            if _builtins_of_guest.get(name) is value:
                del _builtins_of_guest[name]
        self._modules.leave()

    def _function(self, tool: dict, own_name: str):
        name = tool["name"]
        schema = tool.get("parameters") or {}
        signature = _signature(schema)

        def function(*args, **kwargs):
            return _result(name, self._calls.wait(self._start(name, signature, args, kwargs)))

        async def aio(*args, **kwargs):
            loop = asyncio.get_running_loop()
            future = loop.create_future()

            def settle(answer: dict) -> None:
                if not future.done():
                    future.set_result(answer)

            self._start(
                name, signature, args, kwargs,
                lambda answer: loop.call_soon_threadsafe(settle, answer),
            )
            self._calls.call_helper()
            return _result(name, await future)

        function.aio = aio
        for each in (function, aio):
            each.__name__ = each.__qualname__ = own_name.replace("-", "_")
            each.__doc__ = _documentation(tool.get("description", ""), schema)
            each.__module__ = name.rpartition(".")[0].replace("-", "_") or MODULE
            each.__signature__ = signature
            each.__annotations__ = {
                parameter.name: parameter.annotation
                for parameter in signature.parameters.values()
                if parameter.annotation is not _KIND.empty
            }
        return function

    def _start(self, name: str, signature, args, kwargs, notify=None):
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}() {error}") from None
        if self._wire.detached:
            raise ToolError("a process started by the cell cannot call tools", name)
        # A function that the guest has kept calls what the present execution offers.
        if name not in self._calls.offered:
            raise ToolError(f"the execution to which '{name}' was offered has ended", name)
        return self._calls.start(name, _encoded(name, bound), notify)


def _module(name: str) -> types.ModuleType:
    return types.ModuleType(name, "Functions outside that this execution may call.")


def _result(name: str, answer: dict):
    if "error" in answer:
        raise ToolError(str(answer["error"].get("message", "")), name)
    return answer.get("result")


def _encoded(name: str, bound: inspect.BoundArguments) -> bytes:
    arguments = {}
    for parameter, value in bound.arguments.items():
        if bound.signature.parameters[parameter].kind is _KIND.VAR_KEYWORD:
            arguments.update(value)
        else:
            arguments[parameter] = value
    try:
        text = _encode(arguments)
    except (TypeError, ValueError, RecursionError) as error:
        raise type(error)(f"{name}() {error}") from None
    try:
        payload = text.encode()
    except UnicodeEncodeError:
        payload = well_formed(text).encode()
    if len(payload) > ARGUMENTS_LIMIT:
        raise ToolError("the arguments of a tool may have 256 KiB", name)
    return payload


def _to_json(value):
    """What JSON has no type for, and is usual all the same."""
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, (set, frozenset)):
        return list(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    for method in ("tolist", "model_dump"):
        if callable(convert := getattr(value, method, None)):
            return convert()
    raise TypeError(f"got an argument of type {type(value).__name__}, which JSON does not have")


_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_to_json
).encode


def _signature(schema: dict) -> inspect.Signature:
    """What the schema says, in its order; anything goes where it says nothing that Python could."""
    try:
        properties = schema.get("properties") or {}
        required = set(schema.get("required") or ())
        more = bool(schema.get("additionalProperties", not properties))
        parameters = []
        kind = _KIND.POSITIONAL_OR_KEYWORD
        optional_before = False
        for name, described in properties.items():
            if not name.isidentifier() or keyword.iskeyword(name):
                more = True
                continue
            described = described if isinstance(described, dict) else {}
            default = _KIND.empty
            if name not in required:
                default = described.get("default")
                optional_before = True
            elif optional_before:
                # Python has no positional one that is required behind one that is not.
                kind = _KIND.KEYWORD_ONLY
            parameters.append(_KIND(name, kind, default=default, annotation=_annotation(described)))
        if more:
            taken = {parameter.name for parameter in parameters}
            name = "arguments"
            while name in taken:
                name += "_"
            parameters.append(_KIND(name, _KIND.VAR_KEYWORD))
        return inspect.Signature(parameters)
    except Exception:
        return inspect.Signature([_KIND("arguments", _KIND.VAR_KEYWORD)])


def _annotation(schema: dict):
    choices = schema.get("enum")
    if choices and all(isinstance(choice, str) for choice in choices):
        return typing.Literal[tuple(choices)]
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if not kinds or not all(isinstance(kind, str) and kind in _TYPES for kind in kinds):
        return _KIND.empty
    if kinds == ["array"] and isinstance(schema.get("items"), dict):
        items = _annotation(schema["items"])
        return list if items is _KIND.empty else list[items]
    return typing.Union[tuple(_TYPES[kind] for kind in kinds)]


def _documentation(description: str, schema: dict) -> str:
    lines = [description] if description else []
    try:
        for name, described in (schema.get("properties") or {}).items():
            text = described.get("description")
            if isinstance(text, str) and text:
                lines += ["" if len(lines) == 1 else None, f"{name}: {text}"]
    except AttributeError:
        pass
    return "\n".join(line for line in lines if line is not None)
