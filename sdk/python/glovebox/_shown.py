# SPDX-License-Identifier: Apache-2.0
"""What results can do beyond holding their fields: show themselves, and be checked."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, TypeVar

from .errors import CommandError, ExecutionError

if TYPE_CHECKING:
    from ._generated.responses import CommandResult, GuestError, JudgedCase, Result, Verdict
    from ._generated.words import JudgeVerdict, Status

V = TypeVar("V", bound="VerdictMixin")
C = TypeVar("C", bound="CommandMixin")


class ResultMixin:
    """A value or a display of a cell, in one or more MIME types. Shows itself in Jupyter."""

    data: Mapping[str, Any]
    metadata: Optional[Mapping[str, Any]]

    def __getitem__(self, mime: str) -> Any:
        return self.data[mime]

    def __contains__(self, mime: object) -> bool:
        return mime in self.data

    def _text(self, mime: str) -> Optional[str]:
        value = self.data.get(mime)
        return "".join(value) if isinstance(value, list) else value

    def _bytes(self, mime: str) -> Optional[bytes]:
        value = self._text(mime)
        return None if value is None else base64.b64decode(value)

    @property
    def text(self) -> Optional[str]:
        """``text/plain``."""
        return self._text("text/plain")

    @property
    def html(self) -> Optional[str]:
        return self._text("text/html")

    @property
    def markdown(self) -> Optional[str]:
        return self._text("text/markdown")

    @property
    def latex(self) -> Optional[str]:
        return self._text("text/latex")

    @property
    def svg(self) -> Optional[str]:
        return self._text("image/svg+xml")

    @property
    def json(self) -> Any:
        """``application/json``, decoded."""
        return self.data.get("application/json")

    @property
    def png(self) -> Optional[bytes]:
        """The picture's bytes, not their base64."""
        return self._bytes("image/png")

    @property
    def jpeg(self) -> Optional[bytes]:
        """The picture's bytes, not their base64."""
        return self._bytes("image/jpeg")

    @property
    def formats(self) -> List[str]:
        """The MIME types, as the cell gave them."""
        return list(self.data)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        bundle = {
            mime: value
            for mime, value in self.data.items()
            if (not include or mime in include) and not (exclude and mime in exclude)
        }
        return bundle, dict(self.metadata or {})

    def __str__(self) -> str:
        return self.text if self.text is not None else f"<{', '.join(self.data)}>"


class VerdictMixin:
    """How code ended. Shows its main result, or its output, in Jupyter."""

    status: "Status"
    exit_code: int
    stdout: str
    stderr: str
    stdout_base64: Optional[str]
    stderr_base64: Optional[str]
    results: List["Result"]
    error: Optional["GuestError"]

    @property
    def ok(self) -> bool:
        """Exit status 0, no uncaught error, and every check that was demanded has passed."""
        return self.status == "ok"

    @property
    def result(self) -> Optional["Result"]:
        """The value of the code itself; otherwise the last thing that it displayed."""
        main = [each for each in self.results if each.main]
        found = main or self.results
        return found[-1] if found else None

    @property
    def text(self) -> Optional[str]:
        """The value of the code as text, or None if it has no value."""
        result = self.result
        return result.text if result is not None else None

    @property
    def stdout_bytes(self) -> bytes:
        """What the code wrote, even where it is not UTF-8."""
        return _exact(self.stdout, self.stdout_base64)

    @property
    def stderr_bytes(self) -> bytes:
        return _exact(self.stderr, self.stderr_base64)

    def check(self: V) -> V:
        """The verdict itself if the code succeeded. Raises ``ExecutionError`` if it did not."""
        if not self.ok:
            raise ExecutionError(self)  # type: ignore[arg-type]
        return self

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        if self.result is not None:
            return self.result._repr_mimebundle_(include, exclude)
        return {"text/plain": str(self)}

    def __str__(self) -> str:
        parts = [self.stdout, self.stderr]
        parts += [each.text or "" for each in self.results if each.main]
        if self.error is not None:
            parts.append(self.error.traceback or f"{self.error.name}: {self.error.value}")
        text = "\n".join(part.rstrip("\n") for part in parts if part)
        return text or f"<{self.status}, exit status {self.exit_code}>"


class CommandMixin:
    """How a command ended, and what it printed."""

    exit_code: int
    stdout: str
    stderr: str
    stdout_base64: Optional[str]
    stderr_base64: Optional[str]

    @property
    def ok(self) -> bool:
        return self.exit_code == 0

    @property
    def stdout_bytes(self) -> bytes:
        return _exact(self.stdout, self.stdout_base64)

    @property
    def stderr_bytes(self) -> bytes:
        return _exact(self.stderr, self.stderr_base64)

    def check(self: C) -> C:
        """The result itself if the command succeeded. Raises ``CommandError`` if it did not."""
        if not self.ok:
            raise CommandError(self)  # type: ignore[arg-type]
        return self


class JudgeMixin:
    """The report on a submission."""

    verdict: "JudgeVerdict"
    cases: List["JudgedCase"]

    @property
    def accepted(self) -> bool:
        return self.verdict == "AC"

    def __getitem__(self, name: str) -> "JudgedCase":
        """The case with this name."""
        for case in self.cases:
            if case.name == name:
                return case
        raise KeyError(name)


def _exact(text: str, encoded: Optional[str]) -> bytes:
    return base64.b64decode(encoded) if encoded else text.encode("utf-8", "surrogatepass")


def joined(pieces: List[bytes]) -> Dict[str, str]:
    """The fields of a stream's text: with its bytes in base64 where they are not UTF-8."""
    content = b"".join(pieces)
    try:
        return {"text": content.decode("utf-8")}
    except UnicodeDecodeError:
        return {
            "text": content.decode("utf-8", "replace"),
            "base64": base64.b64encode(content).decode("ascii"),
        }
