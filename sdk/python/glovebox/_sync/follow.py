# SPDX-License-Identifier: Apache-2.0
# Written by sdk/python/generate from glovebox/_async/follow.py: change that, and run it again.
"""How the events of an execution reach those who want to know of them."""

from __future__ import annotations

from .._generated.responses import GuestError, Result
from .._request import Callback
from ..events import Event
from .net import call


def deliver(
    event: Event,
    on_stdout: Callback[str],
    on_stderr: Callback[str],
    on_result: Callback[Result],
    on_error: Callback[GuestError],
    on_event: Callback[Event],
) -> None:
    """Calls what was given for this event."""
    if on_event is not None:
        call(on_event, event)
    if event.type == "stdout" and on_stdout is not None:
        call(on_stdout, event.text)
    elif event.type == "stderr" and on_stderr is not None:
        call(on_stderr, event.text)
    elif event.type == "result" and on_result is not None:
        call(on_result, event.result)
    elif event.type == "error" and on_error is not None:
        call(on_error, event.error)
