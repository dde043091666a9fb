# SPDX-License-Identifier: Apache-2.0
"""Short cuts through IPython for cells of plain Python. They give what the long way would."""

from __future__ import annotations

import builtins
import fnmatch
import re

from IPython.core.autocall import IPyAutocall
from IPython.core.history import HistoryManager
from IPython.core.macro import Macro

__builtins__ = dict(vars(builtins))

# With none of these, no line of a cell is IPython's own syntax.
_SPECIAL = re.compile(r"[%!?\f\r\v\x1c-\x1e\x85\u2028\u2029]|^\s*(?:[,;/]|>>>|\.\.\.|In )", re.M)
_FIRST_NAME = re.compile(r"[^\W\d]\w*")
_EXIT = re.compile(r"(exit|quit)(\s*\(.*\))?$")


class PlainCells:
    """Tells whether a cell needs no translation, by its characters and by what is registered."""

    def __init__(self, shell) -> None:
        self._shell = shell
        self._manager = shell.input_transformer_manager
        self._registered = self._registry()
        self._magics = shell.magics_manager.magics["line"]

    def _registry(self) -> list:
        manager = self._manager
        prefilter = self._shell.prefilter_manager
        return [
            *manager.cleanup_transforms,
            *manager.line_transforms,
            *manager.token_transformers,
            *self._shell.input_transformers_post,
            *prefilter._checkers,
            *prefilter._transformers,
        ]

    def transformed(self, cell: str) -> str | None:
        """The cell as IPython would hand it to the compiler, or None if only IPython knows."""
        shell = self._shell
        if not cell or cell[0].isspace() or _SPECIAL.search(cell) is not None:
            return None
        if self._registry() != self._registered:
            return None
        lines = cell.count("\n") + 1 - cell.endswith("\n")
        if lines == 1:
            # Such a cell may call a magic or an alias without a sign of it.
            if shell.autocall or shell.input_transformer_manager is not self._manager:
                return None
            name = _FIRST_NAME.match(cell)
            if name is not None:
                word = name.group()
                if word in self._magics or isinstance(
                    shell.user_ns.get(word), (IPyAutocall, Macro)
                ):
                    return None
            if cell != cell.rstrip() and cell != cell.rstrip() + "\n":
                return None
        return cell if cell.endswith("\n") else cell + "\n"


class MemoryHistory(HistoryManager):
    """The history of one session: no database, so no cell waits for one."""

    enabled = False
    # Plain attributes instead of traits: four of them change with each cell.
    _i00 = _i = _ii = _iii = ""

    def store_inputs(self, line_num, source, source_raw=None) -> None:
        if source_raw is None:
            source_raw = source
        source = source.rstrip("\n")
        source_raw = source_raw.rstrip("\n")
        # The command to leave is no one's history.
        if _EXIT.match(source_raw.strip()):
            return
        self.input_hist_parsed.append(source)
        self.input_hist_raw.append(source_raw)
        self._iii, self._ii, self._i, self._i00 = self._ii, self._i, self._i00, source_raw
        names = {"_i": self._i, "_ii": self._ii, "_iii": self._iii, f"_i{line_num}": self._i00}
        shell = self.shell
        if shell is not None:
            shell.user_ns.update(names)
            shell.user_ns_hidden.update(names)

    def store_output(self, line_num) -> None:
        pass

    def get_tail(self, n=10, raw=True, output=False, include_latest=False):
        lines = list(self._get_range_session(1, None, raw, output))
        if not include_latest:
            # That is the cell that asks.
            del lines[-1:]
        return lines[-n:] if n > 0 else []

    def search(
        self, pattern="*", raw=True, search_raw=True, output=False, n=None, unique=False
    ):
        """The lines that the pattern fits as a whole; of equal ones the last where `unique`."""
        searched = self.input_hist_raw if search_raw else self.input_hist_parsed
        found = [
            line
            for line in self._get_range_session(1, None, raw, output)
            if fnmatch.fnmatchcase(searched[line[1]], pattern)
        ]
        if unique:
            found = sorted({line[2]: line for line in found}.values(), key=lambda line: line[1])
        return found if n is None else found[-n:] if n > 0 else []
