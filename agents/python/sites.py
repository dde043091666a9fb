# SPDX-License-Identifier: Apache-2.0
"""Where a guest's own packages are: a running interpreter must see what pip has installed since."""

from __future__ import annotations

import builtins
import importlib
import os
import site
import sys

__builtins__ = dict(vars(builtins))

_stat = os.stat
_VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"


class UserSite:
    """The directory that pip installs into where the system's own can't be written.

    It is not there when the interpreter starts, and Python looks for it then only.
    """

    def __init__(self) -> None:
        self._path = None
        self._changed = None

    def enter(self) -> None:
        """Once the environment is the context's own."""
        environ = os.environ
        base = environ.get("PYTHONUSERBASE") or f"{environ.get('HOME', '')}/.local"
        # As `site` would say it, which writes to many pages that a fork shares.
        self._path = f"{base}/lib/python{_VERSION}/site-packages"
        self._changed = None
        if environ.get("PYTHONPATH"):
            _follow_environment()
        self.follow()

    def follow(self) -> None:
        """Makes what was installed since the last call importable. Costs one system call."""
        try:
            changed = _stat(self._path).st_mtime_ns
        except (OSError, TypeError, ValueError):
            return
        if changed == self._changed:
            return
        if self._changed is None:
            # Computed once, in a zygote for another home.
            site.USER_BASE = site.USER_SITE = None
        self._changed = changed
        before = set(sys.path)
        # Anew each time: packages may have brought .pth files.
        site.addsitedir(self._path)
        added = [entry for entry in sys.path if entry not in before]
        if added:
            # In front of the system's, where the interpreter itself would have put it.
            kept = [entry for entry in sys.path if entry in before]
            at = next((i for i, e in enumerate(kept) if e.endswith("-packages")), len(kept))
            sys.path[:] = kept[:at] + added + kept[at:]
        importlib.invalidate_caches()


def _follow_environment() -> None:
    """A fork of a zygote got its PYTHONPATH when the interpreter had long read it."""
    wanted = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    added = [entry for entry in wanted if entry and entry not in sys.path]
    if added:
        at = 1 if sys.path[:1] == [""] else 0
        sys.path[at:at] = added
