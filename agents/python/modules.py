# SPDX-License-Identifier: Apache-2.0
"""Modules that exist while an execution is offered the tools in them."""

from __future__ import annotations

import builtins
import sys
from importlib.machinery import ModuleSpec

__builtins__ = dict(vars(builtins))


class Modules:
    """Finds modules by their full names, after everything else: a package that the guest has hides
    one of the same name, and may have further ones in it. It is its own loader.
    """

    def __init__(self, named: dict) -> None:
        self._named = named

    def enter(self) -> None:
        sys.meta_path.append(self)

    def leave(self) -> None:
        """Takes back what the execution has imported."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for name, module in self._named.items():
            if sys.modules.get(name) is not module:
                continue
            del sys.modules[name]
            parent, _, part = name.rpartition(".")
            # The parent may be a package of the guest's.
            place = getattr(sys.modules.get(parent), "__dict__", {})
            if place.get(part) is module:
                del place[part]

    def find_spec(self, name, path=None, target=None):
        if name not in self._named:
            return None
        # All are packages: each may have further ones in it.
        return ModuleSpec(name, self, origin="tools", is_package=True)

    def create_module(self, spec):
        return self._named[spec.name]

    def exec_module(self, module) -> None:
        pass
