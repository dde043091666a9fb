# SPDX-License-Identifier: Apache-2.0
"""How a route of the API becomes the target of a request."""

from __future__ import annotations

import urllib.parse
from typing import Any, Mapping, NamedTuple, Optional


class Route(NamedTuple):
    """One operation of ``api/openapi.yaml``."""

    operation: str
    method: str
    path: str
    #: Bytes that a JSON body may have.
    max_body: int
    #: Whether a repeated request with the same ``Idempotency-Key`` is carried out once.
    idempotency: bool

    def target(
        self, parameters: Mapping[str, object], query: Optional[Mapping[str, object]] = None
    ) -> str:
        """The path and query of a request. Every placeholder must have a parameter."""
        path = self.path
        for name, value in parameters.items():
            # A path keeps its slashes; an absolute one begins with two.
            safe = "/" if name == "path" else ""
            text = str(value)
            # Most are names of ours, in which there is nothing to quote.
            plain = text.isascii() and text.isalnum()
            path = path.replace(
                "{" + name + "}", text if plain else urllib.parse.quote(text, safe=safe)
            )
        if not query:
            return path
        given = {name: query_text(value) for name, value in query.items()
                 if value is not None}
        return path + ("?" + urllib.parse.urlencode(given) if given else "")

    @property
    def is_repeatable(self) -> bool:
        """Whether sending the request twice has the effect of sending it once."""
        return self.method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS")


def query_text(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value)
