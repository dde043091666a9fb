# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, as classes.

``GloveboxError`` is the base of them all. An ``APIError`` is the daemon's own answer: ``message``
says what is wrong, ``hint`` how to fix it, ``code`` is one word for programs, and ``status`` the
HTTP status. That code in a sandbox fails is not an error but a verdict; ``verdict.check()`` turns it
into an ``ExecutionError`` for those who want that.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Type

from ._model import time_of

if TYPE_CHECKING:
    from ._generated.responses import CommandResult, Verdict

__all__ = [
    "APIError", "AuthError", "BadGateway", "CommandError", "Conflict", "ConnectionFailed",
    "ExecutionError", "Forbidden", "GloveboxError", "Gone", "InternalError", "InvalidRequest",
    "McpError", "NotFound", "ProgramError", "ProgramNotFound", "ProtocolError", "QuotaError", "RateLimited",
    "Timeout", "TooLarge", "Unavailable", "Unsupported",
]


class GloveboxError(Exception):
    """Glovebox could not do what was asked."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} (hint: {self.hint})" if self.hint else self.message


class ConnectionFailed(GloveboxError):
    """The daemon cannot be reached, or the connection to it broke."""


class Timeout(GloveboxError):
    """The daemon sent nothing for as long as the client waits."""


class ProtocolError(GloveboxError):
    """What answered does not speak HTTP, or not Glovebox's API."""


class LoginFailed(GloveboxError):
    """Nobody is signed in to an MCP server: a person or a server did not agree, or what a server says
    of itself cannot be trusted."""


class McpError(GloveboxError):
    """An MCP server has refused a request, or its tool says that it has failed. `status` is the code
    of JSON-RPC, and 0 where the tool has failed."""

    def __init__(self, message: str, hint: str = "", status: int = 0, data: Any = None) -> None:
        super().__init__(message, hint)
        self.status = status
        self.data = data


class ProgramNotFound(GloveboxError):
    """There is no ``glovebox`` program to run."""


class ProgramError(GloveboxError):
    """The ``glovebox`` program could not do what was asked."""

    def __init__(self, message: str, hint: str = "", code: str = "", status: int = 0) -> None:
        super().__init__(message, hint)
        self.code = code
        self.status = status


class APIError(GloveboxError):
    """The daemon refused or failed."""

    def __init__(
        self,
        message: str,
        hint: str = "",
        *,
        status: int,
        code: str = "",
        retry_after: Optional[float] = None,
        request_id: Optional[str] = None,
        body: Optional[Mapping[str, Any]] = None,
    ) -> None:
        super().__init__(message, hint)
        self.status = status
        self.code = code
        #: Seconds after which the request may succeed.
        self.retry_after = retry_after
        self.request_id = request_id
        #: The whole error object, for fields that have no attribute here.
        self.body = dict(body or {})


class InvalidRequest(APIError):
    """400, 408, 415 and the like: the request itself is wrong."""


class AuthError(APIError):
    """401: no API key, or not a valid one."""


class Forbidden(APIError):
    """403: the key lacks a scope, or the operator forbids it."""


class NotFound(APIError):
    """404: no such thing, or it belongs to another tenant."""


class Conflict(APIError):
    """409: not in its present state, such as a name that is taken."""


class Gone(APIError):
    """410: it existed and has ended. ``reason`` and ``ended_at`` say why and when."""

    @property
    def reason(self) -> str:
        return str(self.body.get("reason", "unknown"))

    @property
    def ended_at(self) -> Optional[datetime.datetime]:
        text = self.body.get("ended_at")
        return time_of(text) if text else None


class TooLarge(APIError):
    """413: the body is larger than the route takes."""


class RateLimited(APIError):
    """429: too much at a time. ``retry_after`` says when to try again."""


class QuotaError(RateLimited):
    """429: a quota of the tenant is used up. Something must end first, so it is not tried again."""


class InternalError(APIError):
    """500: a fault of the daemon."""


class Unsupported(APIError):
    """501: this daemon cannot do that."""


class BadGateway(APIError):
    """502: nothing listens on that port of the sandbox."""


class Unavailable(APIError):
    """503: the daemon cannot do it now. ``retry_after`` says when to try again."""


class ExecutionError(GloveboxError):
    """Code in a sandbox did not succeed; ``verdict`` has everything about it."""

    def __init__(self, verdict: "Verdict") -> None:
        if verdict.error is not None:
            message = f"{verdict.error.name}: {verdict.error.value}"
        else:
            message = f"the code ended with {verdict.status}, exit status {verdict.exit_code}"
            last = verdict.stderr.strip().rsplit("\n", 1)[-1]
            message += f": {last}" if last else ""
        super().__init__(message)
        self.verdict = verdict


class CommandError(GloveboxError):
    """A command did not succeed; ``result`` has everything about it."""

    def __init__(self, result: "CommandResult") -> None:
        last = result.stderr.strip().rsplit("\n", 1)[-1]
        super().__init__(
            f"the command ended with exit status {result.exit_code}" + (f": {last}" if last else "")
        )
        self.result = result


_BY_STATUS: Dict[int, Type[APIError]] = {
    401: AuthError,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    413: TooLarge,
    429: RateLimited,
    500: InternalError,
    501: Unsupported,
    502: BadGateway,
    503: Unavailable,
}


def error_of(
    status: int, headers: Mapping[str, str], body: Mapping[str, Any], what: str
) -> APIError:
    """The error that a response is; `what` names the request where the body says nothing."""
    kind = _BY_STATUS.get(status, InternalError if status >= 500 else InvalidRequest)
    code = str(body.get("error", ""))
    message = str(body.get("message", ""))
    # The daemon has one word for both; waiting helps against a rate, but not against a quota.
    if kind is RateLimited and "quota of" in message and "per second" not in message:
        kind = QuotaError
    hint = str(body.get("hint", ""))
    if status == 401:
        hint = (
            "pass api_key=…, or set GLOVEBOX_API_KEY; the daemon's first key is in the file "
            "api-key in its data directory"
        )
    return kind(
        message or f"{what}: the daemon returned status {status}",
        hint,
        status=status,
        code=code,
        retry_after=_seconds(headers.get("retry-after")),
        request_id=headers.get("x-request-id"),
        body=body,
    )


def _seconds(text: Optional[str]) -> Optional[float]:
    try:
        return None if text is None else max(0.0, float(text))
    except ValueError:
        return None
