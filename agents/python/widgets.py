# SPDX-License-Identifier: Apache-2.0
"""What widgets find in place of a Jupyter kernel. Nobody here can show them: they show their text."""

from __future__ import annotations

import builtins
import sys

__builtins__ = dict(vars(builtins))

VIEW = "application/vnd.jupyter.widget-view+json"
LONGEST = 10_000
_VERSION = "jupyter.widget.version"


class VersionComm:
    """A front end that has the right version."""

    def on_msg(self, callback) -> None:
        self._callback = callback

    def send(self, *_args, **_kwargs) -> None:
        self._callback({"content": {"data": {"validated": True}}})


class CommManager:
    """Takes the handlers of messages from a front end, which never come."""

    def register_target(self, name, handler):
        # Until a front end has said its version, ipywidgets 6 complains of each widget that is shown.
        if name == _VERSION:
            handler(VersionComm(), None)

    def unregister_target(self, name, handler):
        pass


class Kernel:
    """As much of one as `import ipywidgets` asks for. It has no session: comms stay closed."""

    comm_manager = CommManager()


def with_text(data):
    """A bundle in which a widget's view has a text beside it, as ipywidgets adds one from 7 on."""
    view = data.get(VIEW)
    if not isinstance(view, dict) or "text/plain" in data:
        return data
    try:
        text = repr(_widget_of(view))[:LONGEST]
    except Exception:  # Whatever the guest has made of it.
        text = "a widget"
    return {**data, "text/plain": text}


def _widget_of(view: dict):
    module = sys.modules.get("ipywidgets.widgets.widget")
    # Widget.widgets is deprecated from 8 on, and says so.
    widgets = getattr(module, "_instances", None)
    if widgets is None:
        widgets = sys.modules["ipywidgets"].Widget.widgets
    return widgets[view["model_id"]]


class Views:
    """The widgets that a cell has shown. A front end would draw them again and again, as those of
    tqdm.notebook ask for; here the text at the end of the cell takes the place of the first one."""

    def __init__(self) -> None:
        self._shown = {}

    def add(self, data: dict) -> str | None:
        """The name by which what is shown of a widget can be replaced; None of anything else."""
        view = data.get(VIEW)
        if not isinstance(view, dict):
            return None
        try:
            widget = _widget_of(view)
            name = f"widget-{view['model_id']}"
        except Exception:
            return None
        self._shown[name] = (widget, data)
        return name

    def changed(self) -> list:
        """What replaces that which has another text now, by name."""
        found = []
        shown, self._shown = self._shown, {}
        for name, (widget, data) in shown.items():
            try:
                bundle = getattr(widget, "_repr_mimebundle_", dict)()
                text = bundle.get("text/plain") or repr(widget)[:LONGEST]
            except Exception:
                continue
            if isinstance(text, str) and text != data.get("text/plain"):
                found.append((name, {**data, "text/plain": text}))
        return found
