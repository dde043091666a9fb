# SPDX-License-Identifier: Apache-2.0
"""Where IPython's results and displays become frames."""

from __future__ import annotations

import builtins

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.formatters import DisplayFormatter
from traitlets import Any

from .values import plain_dict
from .wire import CLEAR, DISPLAY, RESULT

try:
    from .charts import chart_of
except ImportError:
    chart_of = None
try:
    from .tables import table_of
except ImportError:
    table_of = None

__builtins__ = dict(vars(builtins))

CHART = "application/vnd.glovebox.chart+json"
TABLE = "application/vnd.glovebox.table+json"

# Types that have no rich form unless the guest registers one.
_SIMPLE = (int, float, str, bool, complex, bytes, list, tuple, dict, set, frozenset, range)
_SIMPLE_TYPES = frozenset(_SIMPLE)
# Longer numbers raise an error in repr(), for IPython to show.
_PRINTABLE = 10**4000
# Their types, and that which each one inherits from, are all that a formatter can be given for.
_LOOKED_UP = frozenset(_SIMPLE) | {object}


class AgentDisplayFormatter(DisplayFormatter):
    """Adds what a figure or a table shows, as data; and asks no formatter in vain."""

    _mime_printers = None
    _text_formatter = None
    _text_printers = None

    def format(self, obj, include=None, exclude=None):
        kind = type(obj)
        simple = kind in _SIMPLE_TYPES
        if simple and include is None and exclude is None and self._only_text():
            printer = self._text_printers.get(kind, self)
            if printer is self._text_formatter.type_printers.get(kind) and (
                kind is str or -_PRINTABLE < obj < _PRINTABLE
            ):
                return {"text/plain": repr(obj)}, {}
            text = self._text_formatter(obj)
            return ({"text/plain": text} if text is not None else {}), {}
        data, metadata = super().format(obj, include=include, exclude=exclude)
        if data and not simple and include is None and exclude is None:
            self._add_data(obj, data)
        return data, metadata

    def _only_text(self) -> bool:
        """Whether a simple value has no form but text, as long as the guest changes nothing."""
        text = self.formatters.get("text/plain")
        if self._mime_printers is None or text is not self._text_formatter:
            others = [f for f in self.formatters.values() if f is not text]
            others += [self.mimebundle_formatter, self.ipython_display_formatter]
            self._mime_printers = [(f, f.type_printers, f.singleton_printers) for f in others]
            self._text_formatter = text
            # Those that print a value as repr() does.
            self._text_printers = {kind: text.type_printers.get(kind) for kind in (int, str)}
        if len(self._mime_printers) != len(self.formatters) + 1:
            return False
        for formatter, by_type, by_identity in self._mime_printers:
            if by_identity or not _LOOKED_UP.isdisjoint(by_type):
                return False
        return True

    def _add_data(self, obj, data: dict) -> None:
        if chart_of is not None:
            chart = chart_of(obj)
            if chart is not None:
                data[CHART] = chart
                return
        if table_of is not None:
            table = table_of(obj)
            if table is not None:
                data[TABLE] = table


class AgentDisplayHook(DisplayHook):
    """The main result of a cell."""

    context = Any()
    # A plain attribute instead of a trait: it is set twice in each cell.
    exec_result = None
    _data = None

    def quiet(self) -> bool:
        history = self.shell.history_manager.input_hist_parsed
        # Only a cell with a semicolon needs a tokenizer to see whether it ends in one.
        if history and ";" not in history[-1]:
            return False
        return super().quiet()

    def start_displayhook(self) -> None:
        self._data = None

    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict, md_dict=None) -> None:
        context = self.context
        self._data = {
            "data": context.store.bundle(format_dict),
            "metadata": plain_dict(md_dict),
            "execution_count": self.shell.execution_count,
        }

    def finish_displayhook(self) -> None:
        data, self._data = self._data, None
        if data is not None:
            self.context.emit(RESULT, data)


class AgentDisplayPublisher(DisplayPublisher):
    """display(), its updates and clear_output()."""

    context = Any()

    def publish(
        self, data, metadata=None, source=None, *, transient=None, update=False, **_kwargs
    ) -> None:
        self._validate_data(data, metadata)
        message = {
            "data": self.context.store.bundle(data),
            "metadata": plain_dict(metadata),
        }
        display_id = (transient or {}).get("display_id")
        if display_id is not None:
            message["display_id"] = str(display_id)
        if update:
            message["update"] = True
        self.context.emit(DISPLAY, message)

    def clear_output(self, wait=False) -> None:
        self.context.emit(CLEAR, {"wait": bool(wait)})
