# SPDX-License-Identifier: Apache-2.0
"""The Python agent: `python3 agent.py` serves descriptor 3.

A zygote imports this file instead, calls `prepare(modules)` once, and `serve(fd)` in each fork.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import types

_HERE = os.path.dirname(os.path.abspath(__file__))
_PACKAGE = "glovebox_agent"


def _load(name: str):
    """The other files belong to a package of a name of their own: a guest's `import values` must
    find the guest's file, not ours."""
    if _PACKAGE not in sys.modules:
        package = types.ModuleType(_PACKAGE)
        package.__path__ = [_HERE]
        sys.modules[_PACKAGE] = package
    return importlib.import_module(f"{_PACKAGE}.{name}")


_loop = _load("loop")
_warm = None

# The native module's `checkpoint` (agents/python/native/module.cc), where that is built.
checkpoint = None
# Called in each new context, for random sources that only their library knows.
renewals = []


def prepare(modules=()) -> None:
    """Makes the shell, imports the modules named and warms what a first cell would touch."""
    global _warm
    _warm = _loop.Context()
    roots = _load("warmup").warm(_warm, modules)
    _restore_path()
    _load("rehearsal").rehearse(_warm, _self, roots)
    _load("settle").settle()


def serve(fd: int = 3):
    """Serves frames until the channel ends. Doesn't return."""
    if sys.modules.get("agent") is _self:
        del sys.modules["agent"]
    context = _warm or _loop.Context()
    context.serve(fd, _self)


def _find_checkpoint():
    """Requires: our directory is in the path."""
    try:
        import _glovebox
    except ImportError:
        return None
    return _glovebox.checkpoint


def _restore_path() -> None:
    """Guests import from their working directory first, and never from here."""
    sys.path[:] = [""] + [p for p in sys.path if p not in ("", _HERE, os.path.realpath(_HERE))]


_self = sys.modules[__name__]

if __name__ == "__main__":
    checkpoint = _find_checkpoint()
    _restore_path()
    serve(3)
