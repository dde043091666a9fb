# SPDX-License-Identifier: Apache-2.0
"""What of a request to an MCP server stands in HTTP headers, too: the arguments that a tool's schema
marks with `x-mcp-header`.
"""

from __future__ import annotations

import base64
import re
from typing import Any, Dict, Iterator, Mapping, Tuple

Paths = Dict[str, Tuple[str, ...]]

MARK = "x-mcp-header"
DEEPEST = 64
LARGEST_INTEGER = (1 << 53) - 1  # Of JavaScript, in which proxies may compare.
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
_PLAIN = re.compile(r"[!-~]([ -~]*[!-~])?")
_TYPES = ("string", "integer", "boolean")
_DATA = ("const", "default", "enum", "examples")


def header_paths(schema: Any) -> Paths:
    """The headers that a tool's input schema asks for, each with the path of its argument. Raises
    ValueError for a mark where none may be: the tool cannot be called as its server wants it.
    """
    found: Paths = {}
    for name, path, kind in _marks(schema, (), True, 0):
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise ValueError("the name of a header is not valid")
        if kind not in _TYPES:
            raise ValueError(f"only {', '.join(_TYPES)} can be in the header '{name}'")
        if name.lower() in (each.lower() for each in found):
            raise ValueError(f"two arguments are in the header '{name}'")
        found[name] = path
    return found


def _marks(
    schema: Any, path: Tuple[str, ...], reachable: bool, depth: int
) -> Iterator[Tuple[Any, Tuple[str, ...], Any]]:
    """Each mark with its path and the type of its value."""
    if depth > DEEPEST:
        raise ValueError(f"its schema is more than {DEEPEST} levels deep")
    if isinstance(schema, list):
        for each in schema:
            yield from _marks(each, path, False, depth + 1)
    if not isinstance(schema, dict):
        return
    if MARK in schema:
        if not reachable or not path:
            raise ValueError("a header is asked for where it is not always the same argument")
        yield schema[MARK], path, schema.get("type")
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            for name, each in value.items():
                yield from _marks(each, (*path, name), reachable, depth + 1)
        elif key not in _DATA and key != MARK:
            yield from _marks(value, path, False, depth + 1)


def mirrored(paths: Paths, arguments: Mapping[str, Any]) -> Dict[str, str]:
    """The headers of a call. An argument that is missing, or has another type, is in none."""
    headers = {}
    for name, path in paths.items():
        value: Any = arguments
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, bool):
            headers[f"Mcp-Param-{name}"] = "true" if value else "false"
        elif isinstance(value, int) and abs(value) <= LARGEST_INTEGER:
            headers[f"Mcp-Param-{name}"] = str(value)
        elif isinstance(value, str):
            headers[f"Mcp-Param-{name}"] = header_value(value)
    return headers


def header_value(text: str) -> str:
    """A text as the value of a header: itself, or in base64 where it could not stand there."""
    encoded = text.startswith("=?base64?") and text.endswith("?=")
    if _PLAIN.fullmatch(text) and not encoded:
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'surrogatepass')).decode()}?="
