# SPDX-License-Identifier: Apache-2.0
"""What widgets find in place of a Jupyter kernel. Nobody here can show them: they show their text."""

from __future__ import annotations

import builtins
import sys

__builtins__ = dict(vars(builtins))

VIEW = "application/vnd.jupyter.widget-view+json"
LONGEST = 10_000


class CommManager:
    """Takes the handlers of messages from a front end, which never come."""

    def register_target(self, name, handler):
        pass

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
        widget = sys.modules["ipywidgets"].Widget.widgets[view["model_id"]]
        text = repr(widget)[:LONGEST]
    except Exception:  # Whatever the guest has made of it.
        text = "a widget"
    return {**data, "text/plain": text}
