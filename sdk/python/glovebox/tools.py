# SPDX-License-Identifier: Apache-2.0
"""Python functions as tools that code in a sandbox, or a model, may call."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
import typing
from typing import Any, Callable, Dict, List, Mapping, Sequence, Tuple, Union

__all__ = ["Tool", "ToolLike", "tool"]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_PLAIN: Mapping[Any, Dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    list: {"type": "array"},
    tuple: {"type": "array"},
    dict: {"type": "object"},
}


@dataclasses.dataclass(frozen=True)
class Tool:
    """A function with its name, its description, and the JSON Schema of its arguments. A name with
    dots, such as ``mcp.github.create_issue``, puts it in a module.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    function: Callable[..., Any]
    #: It waits for something: an asynchronous client calls it in a thread of its own.
    blocking: bool = False

    def __call__(self, /, *arguments: Any, **named: Any) -> Any:
        return self.function(*arguments, **named)

    def schema(self) -> Dict[str, Any]:
        """How the tool is offered to code in a sandbox."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
        }


ToolLike = Union[Tool, Callable[..., Any]]


def tool(function: Callable[..., Any]) -> Tool:
    """Makes a tool of a function. The schema follows from its annotations and defaults, the
    description from its docstring: a paragraph, and a line ``name: text`` for an argument.
    """
    name = getattr(function, "__name__", "")
    if not _NAME.fullmatch(name):
        raise ValueError(f"a tool needs a name of letters, digits, '_' and '-' that begins with a letter, not {name!r}")
    described, of_arguments = _described(inspect.getdoc(function) or "")
    try:
        hints = typing.get_type_hints(function)
    except Exception:  # Names that only a type checker can find.
        hints = {}
    properties: Dict[str, Any] = {}
    required: List[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ValueError(f"tool '{name}': '*{parameter.name}' has no schema")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise ValueError(f"tool '{name}': '{parameter.name}' can only be passed by position")
        schema = schema_of(hints.get(parameter.name, Any))
        if parameter.name in of_arguments:
            schema["description"] = of_arguments[parameter.name]
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        elif isinstance(parameter.default, (str, int, float, bool)):
            schema["default"] = parameter.default
        properties[parameter.name] = schema
    parameters = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return Tool(name, described, parameters, function)


def tools_of(tools: Sequence[ToolLike]) -> Dict[str, Tool]:
    """Tools by their names. Two of one name are refused."""
    found: Dict[str, Tool] = {}
    for each in tools:
        made = each if isinstance(each, Tool) else tool(each)
        if made.name in found:
            raise ValueError(f"two tools have the name '{made.name}'")
        found[made.name] = made
    return found


def schema_of(kind: Any) -> Dict[str, Any]:
    """The JSON Schema of an annotation; {} where it has none."""
    if kind in _PLAIN:
        return dict(_PLAIN[kind])
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if _is_union(origin):
        return _union(arguments)
    if origin in (list, set, frozenset, Sequence) or _is(origin, "Sequence", "Iterable"):
        return {"type": "array", "items": schema_of(arguments[0]) if arguments else {}}
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return {"type": "array", "items": schema_of(arguments[0])}
        return {"type": "array", "prefixItems": [schema_of(each) for each in arguments]}
    if origin is dict or _is(origin, "Mapping"):
        values = schema_of(arguments[1]) if len(arguments) == 2 else {}
        return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {"enum": [each.value for each in kind]}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _object(kind)
    return {}


def _is_union(origin: Any) -> bool:
    # `X | Y` has a type of its own from Python 3.10 on.
    return origin is Union or _is(origin, "UnionType")


def _is(origin: Any, *names: str) -> bool:
    return getattr(origin, "__name__", "") in names


def _union(arguments: Tuple[Any, ...]) -> Dict[str, Any]:
    schemas = [schema_of(each) for each in arguments]
    if {} in schemas:
        return {}
    if all(set(each) == {"type"} for each in schemas):
        return {"type": [each["type"] for each in schemas]}
    return {"anyOf": schemas}


def _object(kind: type) -> Dict[str, Any]:
    hints = typing.get_type_hints(kind)
    fields = dataclasses.fields(kind)
    missing = dataclasses.MISSING
    return {
        "type": "object",
        "properties": {each.name: schema_of(hints.get(each.name, Any)) for each in fields},
        "required": [
            each.name
            for each in fields
            if each.default is missing and each.default_factory is missing
        ],
    }


_ARGUMENT = re.compile(r"^\s*(?::param\s+)?(\w+)\s*(?:\([^)]*\))?\s*:\s*(\S.*)$")
_HEADINGS = ("args:", "arguments:", "parameters:", "returns:", "raises:", "yields:", "example:",
             "examples:")


def _described(text: str) -> Tuple[str, Dict[str, str]]:
    """The description in a docstring, and those of its arguments."""
    lines = text.splitlines()
    body: List[str] = []
    arguments: Dict[str, str] = {}
    section = ""
    last = ""
    for line in lines:
        if line.strip().lower() in _HEADINGS:
            section = line.strip().lower()
            continue
        found = _ARGUMENT.match(line)
        if section in ("args:", "arguments:", "parameters:") or line.lstrip().startswith(":param"):
            if found:
                last = found[1]
                arguments[last] = found[2].strip()
            elif last and line.strip():
                arguments[last] += " " + line.strip()
        elif not section and not line.lstrip().startswith(":"):
            body.append(line)
    return "\n".join(body).strip(), arguments
