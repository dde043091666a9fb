# SPDX-License-Identifier: Apache-2.0
"""Questions about code and variables."""

from __future__ import annotations

import builtins
import reprlib
import sys
import types
import warnings

from IPython.core.completer import provisionalcompleter, rectify_completions
from IPython.utils.tokenutil import token_at_cursor

from .values import plain
from .wire import COMPLETE, INSPECT, IS_COMPLETE, VARIABLES

__builtins__ = dict(vars(builtins))

MATCHES_LIMIT = 10_000
VARIABLES_LIMIT = 1_000
VALUE_LIMIT = 200

_ABSENT = object()
# The whole repr of a container of millions would take seconds for two hundred characters.
_bounded = reprlib.Repr()
_bounded.maxlevel = 6
_bounded.maxlist = _bounded.maxtuple = _bounded.maxset = _bounded.maxfrozenset = 100
_bounded.maxdict = _bounded.maxdeque = _bounded.maxarray = 100
_bounded.maxstring = _bounded.maxlong = _bounded.maxother = 400


def answer(shell, kind: int, request: dict) -> dict:
    if kind == VARIABLES:
        return variables(shell)
    code = str(request.get("code", ""))
    if kind == IS_COMPLETE:
        status, indent = shell.check_complete(code)
        return {"status": status, "indent": indent}
    cursor = min(max(0, int(request.get("cursor", len(code)))), len(code))
    if kind == COMPLETE:
        return complete(shell, code, cursor)
    if kind == INSPECT:
        return inspect(shell, code, cursor, 1 if request.get("detail") else 0)
    return {"error": f"no such request: {kind}"}


def complete(shell, code: str, cursor: int) -> dict:
    with provisionalcompleter(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = shell.Completer.completions(code, cursor)
        found = list(rectify_completions(code, found))
    if not found:
        return {"matches": [], "start": cursor, "end": cursor}
    return {
        "matches": [c.text for c in found[:MATCHES_LIMIT]],
        "start": found[0].start,
        "end": found[0].end,
    }


def inspect(shell, code: str, cursor: int, detail: int) -> dict:
    name = token_at_cursor(code, cursor)
    try:
        data = shell.object_inspect_mime(name, detail_level=detail)
    except KeyError:
        return {"found": False, "data": {}}
    if not shell.enable_html_pager:
        data.pop("text/html", None)
    return {"found": True, "data": plain(data)}


def variables(shell) -> dict:
    hidden = shell.user_ns_hidden
    rows = []
    for name, value in list(shell.user_ns.items()):
        if type(name) is not str or name.startswith("_"):
            continue
        if value is hidden.get(name, _ABSENT):
            continue
        if len(rows) == VARIABLES_LIMIT:
            break
        row = {"name": name, "type": type(value).__name__, "value": _short(value)}
        if size := _size(value):
            row["size"] = size
        rows.append(row)
    return {"variables": rows}


def _size(value) -> str | None:
    """The shape of what has one, else how long it is."""
    try:
        if isinstance(value, type):
            return None
        shape = getattr(value, "shape", None)
        if type(shape) is tuple and len(shape) <= 32 and all(type(n) is int for n in shape):
            return " × ".join(map(str, shape)) or "1"
        return str(len(value)) if hasattr(type(value), "__len__") else None
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


def _is_frame(value) -> bool:
    frame = getattr(sys.modules.get("pandas"), "DataFrame", None)
    return isinstance(frame, type) and isinstance(value, frame)


def _short(value) -> str:
    try:
        if isinstance(value, types.ModuleType):
            text = value.__name__
        elif _is_frame(value):
            columns = value.dtypes.iloc[:20].items()
            text = ", ".join(f"{name}: {dtype}" for name, dtype in columns)
        else:
            text = " ".join(_bounded.repr(value).split("\n"))
        text = text if isinstance(text, str) else ""
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        text = f"<{type(error).__name__} in its repr>"
    return text if len(text) <= VALUE_LIMIT else text[: VALUE_LIMIT - 1] + "…"
