# SPDX-License-Identifier: Apache-2.0
"""Where a daemon is: the address, the key, and where both come from."""

from __future__ import annotations

import os
import ssl
import urllib.parse
from dataclasses import dataclass
from typing import Mapping, Optional

from .errors import GloveboxError


@dataclass(frozen=True)
class Address:
    """A daemon's address. Of a Unix socket, `host` and `port` are only for the Host header."""

    host: str
    port: int
    tls: bool = False
    path: Optional[str] = None

    @property
    def netloc(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = self.path is not None or self.port == (443 if self.tls else 80)
        return host if usual else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The address as a URL. That of a Unix socket is of no use to other HTTP clients."""
        if self.path is not None:
            return f"unix:{self.path}"
        return f"{'https' if self.tls else 'http'}://{self.netloc}"


def default_socket() -> str:
    """The socket of ``glovebox serve`` on this machine, as the command-line clients find it."""
    if os.geteuid() == 0:
        return "/var/lib/glovebox/api.sock"
    return os.path.join(os.environ.get("HOME") or "/tmp", ".glovebox", "api.sock")


def parse_address(url: str) -> Address:
    """Reads ``http://HOST:PORT``, ``https://HOST:PORT`` or ``unix:PATH``."""
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
        "write http://HOST:PORT, https://HOST:PORT or unix:PATH",
    )


def find_address(url: Optional[str], environment: Mapping[str, str] = os.environ) -> Address:
    """The address that was given, else that of GLOVEBOX_URL, else the usual socket."""
    return parse_address(url or environment.get("GLOVEBOX_URL") or f"unix:{default_socket()}")


def find_key(key: Optional[str], environment: Mapping[str, str] = os.environ) -> Optional[str]:
    """The key that was given, else that of GLOVEBOX_API_KEY. An empty one stands for none."""
    found = (environment.get("GLOVEBOX_API_KEY") if key is None else key) or None
    if found is not None and not all("!" <= character <= "~" for character in found):
        raise GloveboxError("invalid API key", "remove spaces and line breaks from the key")
    return found


def tls_context(authorities: Optional[str]) -> ssl.SSLContext:
    """How certificates are checked: by the system's authorities, or by those of a PEM file."""
    return ssl.create_default_context(cafile=authorities)
