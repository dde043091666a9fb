# SPDX-License-Identifier: Apache-2.0
"""Where IPython's results and displays become frames."""

from __future__ import annotations

import builtins
import sys

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.formatters import DisplayFormatter
from traitlets import Any

from .values import plain_dict
from .widgets import Views, with_text
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

_guest_builtins = vars(builtins)

# Types that have no rich form unless the guest registers one.
_SIMPLE = (int, float, str, bool, complex, bytes, list, tuple, dict, set, frozenset, range)
_SIMPLE_TYPES = frozenset(_SIMPLE)
_PRINTED_BY_REPR = (int, float, str, bool)
# Longer numbers raise an error in repr(), for IPython to show.
_PRINTABLE = 10**4000
# numpy's, which no guest can give another form but by a formatter.
_NUMPY_NUMBERS = (
    "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
)
# Their types, and that which each one inherits from, are all that a formatter can be given for.
_LOOKED_UP = frozenset(_SIMPLE) | {object}


class AgentDisplayFormatter(DisplayFormatter):
    """Adds what a figure or a table shows, as data; and asks no formatter in vain."""

    _mime_printers = None
    _text_formatter = None
    _text_printers = None
    # numpy's types of numbers, and all that they inherit from and a formatter could be given for.
    _numbers = frozenset()
    _looked_up_for_numbers = frozenset()

    def format(self, obj, include=None, exclude=None):
        kind = type(obj)
        simple = kind in _SIMPLE_TYPES
        if simple and include is None and exclude is None and self._only_text():
            text = self.simple_text(obj)
            if text is None:
                text = self._text_formatter(obj)
            return ({"text/plain": text} if text is not None else {}), {}
        if not self._numbers:
            self.learn_numbers()
        data, metadata = super().format(obj, include=include, exclude=exclude)
        if data and not simple and include is None and exclude is None:
            self._add_data(obj, data)
        return data, metadata

    def simple_text(self, obj) -> str | None:
        """The text of a number or string if that is all there is to show of it."""
        kind = type(obj)
        if kind in self._numbers:
            return repr(obj) if self._numbers_have_only_text() else None
        if kind not in _PRINTED_BY_REPR or not self._only_text():
            return None
        text = self._text_formatter
        if kind is bool:
            # IPython finds these two by their identity.
            printer = text.singleton_printers.get(id(obj))
        else:
            printer = text.type_printers.get(kind)
        if self._text_printers[kind] is not printer or not text.pprint:
            return None
        if kind is float:
            return repr(obj) if text.float_format == "%r" else None
        return repr(obj) if kind is str or -_PRINTABLE < obj < _PRINTABLE else None

    def learn_printers(self) -> None:
        """Before the guest registers any: those of now print a simple value as repr() does."""
        text = self.formatters["text/plain"]
        others = [f for f in self.formatters.values() if f is not text]
        others += [self.mimebundle_formatter, self.ipython_display_formatter]
        self._mime_printers = [(f, f.type_printers, f.singleton_printers) for f in others]
        self._text_formatter = text
        self._text_printers = {kind: text.type_printers.get(kind) for kind in _PRINTED_BY_REPR}
        self._text_printers[bool] = text.singleton_printers.get(id(True))

    def learn_numbers(self) -> None:
        """Once numpy is there."""
        numpy = sys.modules.get("numpy")
        found = [getattr(numpy, name, None) for name in _NUMPY_NUMBERS]
        kinds = [kind for kind in found if type(kind) is type]
        self._numbers = frozenset(kinds)
        self._looked_up_for_numbers = frozenset(each for kind in kinds for each in kind.__mro__)

    def _numbers_have_only_text(self) -> bool:
        text = self._text_formatter
        if (
            not self._only_text()
            or not text.pprint
            or text.float_format != "%r"
        ):
            return False
        looked_up = self._looked_up_for_numbers
        for formatter, by_type, _by_identity in self._mime_printers:
            if not looked_up.isdisjoint(by_type) or _names_numpy(formatter):
                return False
        # IPython's own for float64 obeys float_format, as that for float does.
        printers = text.type_printers
        return not _names_numpy(text) and all(
            printers[kind].__module__ == DisplayFormatter.__module__
            for kind in looked_up.intersection(printers)
        )

    def _only_text(self) -> bool:
        """Whether a simple value has no form but text, as long as the guest changes nothing."""
        if self.formatters.get("text/plain") is not self._text_formatter:
            return False
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


def _names_numpy(formatter) -> bool:
    """Whether a formatter waits for one of these types by its name."""
    return any(("numpy", name) in formatter.deferred_printers for name in _NUMPY_NUMBERS)


class AgentDisplayHook(DisplayHook):
    """The main result of a cell."""

    context = Any()
    # A plain attribute instead of a trait: it is set twice in each cell.
    exec_result = None
    # Set while a cell runs whose last act is to show its value.
    value_ends_cell = False
    _data = None

    def __call__(self, result=None):
        text = self.shell.display_formatter.simple_text(result)
        context = self.context
        if (
            text is None
            or "_" in _guest_builtins
            or len(text) > context.store.inline // 4
            or self.shell.logger.log_output
            or self.quiet()
        ):
            super().__call__(result)
            return
        number = self.prompt_count
        self.update_user_ns(result)
        self.fill_exec_result(result)
        context.emit_text(text, number, self.value_ends_cell)
        self.shell.history_manager.output_hist_reprs[number] = text

    def update_user_ns(self, result) -> None:
        """Sets _, __, ___ and _N, but none of the first three that the guest uses for itself."""
        shell = self.shell
        names = shell.user_ns
        outputs = names["_oh"]
        if not self.cache_size or result is outputs:
            return
        if self.do_full_cache and len(outputs) >= self.cache_size:
            self.cull_cache()
        ours = (
            names.get("_", self._) is self._
            and names.get("__", self.__) is self.__
            and names.get("___", self.___) is self.___
        )
        self.___, self.__, self._ = self.__, self._, result
        new = {}
        if ours and "_" not in _guest_builtins:
            new = {"_": result, "__": self.__, "___": self.___}
        if self.do_full_cache:
            number = self.prompt_count
            new[f"_{number}"] = result
            outputs[number] = result
        names.update(new)
        shell.user_ns_hidden.update(new)

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
            # The cell's own: newer versions of IPython already count the next one while it runs.
            "execution_count": self.prompt_count,
        }

    def finish_displayhook(self) -> None:
        data, self._data = self._data, None
        if data is not None:
            self.context.emit(RESULT, data)


class AgentDisplayPublisher(DisplayPublisher):
    """display(), its updates and clear_output()."""

    context = Any()

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self._views = Views()

    def publish(
        self, data, metadata=None, source=None, *, transient=None, update=False, **_kwargs
    ) -> None:
        self._validate_data(data, metadata)
        data = with_text(data)
        message = {"data": self.context.store.bundle(data), "metadata": plain_dict(metadata)}
        display_id = (transient or {}).get("display_id")
        if display_id is None and not update:
            display_id = self._views.add(data)
        if display_id is not None:
            message["display_id"] = str(display_id)
        if update:
            message["update"] = True
        self.context.emit(DISPLAY, message)

    def show_changes(self) -> None:
        """At the end of a cell, as widgets are then."""
        for name, data in self._views.changed():
            self.publish(data, transient={"display_id": name}, update=True)

    def clear_output(self, wait=False) -> None:
        self.context.emit(CLEAR, {"wait": bool(wait)})
