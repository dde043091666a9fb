# SPDX-License-Identifier: Apache-2.0
"""Where a daemon is: the address, the key, and where both come from."""

from __future__ import annotations

import os
import ssl
import urllib.parse
from dataclasses import dataclass
from typing import Mapping, Optional, Union

from ._engine import Engine, find_library, shared
from .errors import GloveboxError


#: The address of the engine of this program.
EMBEDDED = "embedded:"


@dataclass(frozen=True)
class Address:
    """A daemon's address. Of a Unix socket and of an engine, `host` and `port` are only for the Host
    header.
    """

    host: str
    port: int
    tls: bool = False
    path: Optional[str] = None
    #: Of this program alone, instead of a daemon at an address.
    engine: Optional[Engine] = None

    @property
    def netloc(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = self.is_local or self.port == (443 if self.tls else 80)
        return host if usual else f"{host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether it is a Unix socket or an engine."""
        return self.path is not None or self.engine is not None

    @property
    def url(self) -> str:
        """The address as a URL. That of a Unix socket is of no use to other HTTP clients."""
        if self.engine is not None:
            return EMBEDDED
        if self.path is not None:
            return f"unix:{self.path}"
        return f"{'https' if self.tls else 'http'}://{self.netloc}"


def default_socket() -> str:
    """The socket of ``glovebox serve`` on this machine, as the command-line clients find it."""
    if os.geteuid() == 0:
        return "/var/lib/glovebox/api.sock"
    return os.path.join(os.environ.get("HOME") or "/tmp", ".glovebox", "api.sock")


def parse_address(url: str) -> Address:
    """Reads ``http://HOST:PORT``, ``https://HOST:PORT``, ``unix:PATH`` or ``embedded:``."""
    if url == EMBEDDED:
        return of_engine(shared)
    if url.startswith("unix:"):
        path = url[len("unix:"):]
        path = path[2:] if path.startswith("///") else path
        if not path:
            raise _invalid(url)
        return Address("localhost", 80, path=path)
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
    except ValueError:
        raise _invalid(url) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
        raise _invalid(url)
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise _invalid(url)
    tls = parts.scheme == "https"
    return Address(parts.hostname, port if port is not None else (443 if tls else 80), tls)


def _invalid(url: str) -> GloveboxError:
    return GloveboxError(
        f"invalid daemon address '{url}'",
        "write http://HOST:PORT, https://HOST:PORT, unix:PATH or embedded:",
    )


def of_engine(engine: Engine) -> Address:
    return Address("localhost", 80, engine=engine)


def find_address(
    url: Union[None, str, Engine], environment: Mapping[str, str] = os.environ
) -> Address:
    """The address that was given, else that of GLOVEBOX_URL, else the usual socket if it is there,
    else the engine of this program if its library is.
    """
    if isinstance(url, Engine):
        return of_engine(url)
    named = url or environment.get("GLOVEBOX_URL")
    if named:
        return parse_address(named)
    usual = default_socket()
    if not os.path.exists(usual) and find_library() is not None:
        return of_engine(shared)
    return parse_address(f"unix:{usual}")


def find_key(key: Optional[str], environment: Mapping[str, str] = os.environ) -> Optional[str]:
    """The key that was given, else that of GLOVEBOX_API_KEY. An empty one stands for none."""
    found = (environment.get("GLOVEBOX_API_KEY") if key is None else key) or None
    if found is not None and not all("!" <= character <= "~" for character in found):
        raise GloveboxError("invalid API key", "remove spaces and line breaks from the key")
    return found


def tls_context(authorities: Optional[str]) -> ssl.SSLContext:
    """How certificates are checked: by the system's authorities, or by those of a PEM file."""
    return ssl.create_default_context(cafile=authorities)
