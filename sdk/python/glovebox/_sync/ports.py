# SPDX-License-Identifier: Apache-2.0
# Written by sdk/python/generate from glovebox/_async/ports.py: change that, and run it again.
"""Servers inside a sandbox, reached from outside."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Dict, Mapping, NamedTuple, Optional

from .._generated import routes
from .._generated.requests import PortTokenRequest
from .._model import Duration, time_of
from .http import Response, Body
from .websocket import WebSocket

if TYPE_CHECKING:
    from .sandbox import Sandbox

_OF_METHOD = {
    "GET": routes.GET_PORT,
    "HEAD": routes.HEAD_PORT,
    "POST": routes.POST_PORT,
    "PUT": routes.PUT_PORT,
    "PATCH": routes.PATCH_PORT,
    "DELETE": routes.DELETE_PORT,
    "OPTIONS": routes.OPTIONS_PORT,
}


class PortToken(NamedTuple):
    """A secret that opens one port, for clients that have no API key."""

    token: str
    port: int
    expires: datetime


class Ports:
    """Ports of a sandbox: ``sandbox.ports``."""

    def __init__(self, sandbox: "Sandbox") -> None:
        self._sandbox = sandbox
        self._client = sandbox.client

    def url(self, port: int, path: str = "/") -> str:
        """The address of a server inside, for any HTTP client that sends ``headers()``."""
        place = {"id": self._sandbox.id, "port": port, "path": path.lstrip("/")}
        return self._client.url + routes.GET_PORT.target(place)

    def headers(self) -> Dict[str, str]:
        """What a request must carry; the server inside does not see it."""
        key = self._client.api_key
        return {} if key is None else {"X-API-KEY": key}

    def token(self, port: int, *, expires_in: Optional[Duration] = None) -> PortToken:
        """Creates a token for one port. It is valid for an hour unless `expires_in` says otherwise."""
        made = self._client.ask(
            routes.CREATE_PORT_TOKEN,
            {"id": self._sandbox.id},
            body=PortTokenRequest(port=port, expires_in=expires_in),
        )
        return PortToken(str(made["token"]), int(made["port"]), time_of(made["expires"]))

    def page(self, token: PortToken, domain: str = "localhost") -> str:
        """An address for browsers: the port has a host name of its own below `domain`."""
        address = self._client.address
        scheme = "https" if address.tls else "http"
        name = f"{token.port}-{self._sandbox.id}.{domain}:{address.port}"
        return f"{scheme}://{name}/?glovebox_token={token.token}"

    def request(
        self,
        port: int,
        path: str = "/",
        *,
        method: str = "GET",
        content: Optional[Body] = None,
        headers: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
    ) -> Response:
        """Sends a request to a server inside. `path` may have a query. Raises ``BadGateway`` if
        nothing listens on the port, and an ``APIError`` for every status from 400 on.
        """
        path, _, query = path.partition("?")
        route = _OF_METHOD[method.upper()]
        if query:
            route = route._replace(path=route.path + "?" + query.replace("{", "%7B"))
        place = {"id": self._sandbox.id, "port": port, "path": path.lstrip("/")}
        return self._client.send(
            route, place, content=content, headers=headers, timeout=timeout
        )

    def connect(
        self, port: int, path: str = "/", *, headers: Optional[Mapping[str, str]] = None
    ) -> WebSocket:
        """Opens a WebSocket of a server inside."""
        place = {"id": self._sandbox.id, "port": port, "path": path.lstrip("/")}
        return self._client.open_socket(routes.GET_PORT, place, headers)
