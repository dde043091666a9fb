# SPDX-License-Identifier: Apache-2.0
"""Signing in to MCP servers: OAuth 2.1 as the Model Context Protocol has it, for a person at a
browser on this machine. The tokens stay in this program; nothing of them enters a sandbox.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import http.server
import json
import os
import pathlib
import re
import secrets
import socketserver
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import webbrowser
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

from ._mcp_transport import no_redirects
from .errors import ConnectionFailed, GloveboxError, LoginFailed, ProtocolError, Timeout

__all__ = ["McpLogin"]

LONGEST_ANSWER = 256 << 10
MOST_VISITS = 64  # Of the page that a browser comes back to.
#: A token is renewed so many seconds before it expires.
AHEAD = 60.0
FOR_EVER = 1e18
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_PARAMETER = re.compile(r'(\w+)\s*=\s*(?:"([^"]*)"|([^\s,"]+))')
_DONE = b"<!doctype html><title>Glovebox</title><p>You can close this page."

Json = Dict[str, Any]


class McpLogin:
    """A sign-in to one MCP server, passed as its ``headers``:

        McpServer.connect(url, headers=McpLogin(url))

    The first request finds the server's authorization server, registers this program there unless
    `client_id` names it, and opens a page where a person agrees. Later requests use the token and
    renew it before it expires. With `store`, a file that only this user can read, the next run of
    the program needs nobody. Several threads may use it; one of them signs in.
    """

    def __init__(
        self,
        url: str,
        *,
        open_page: Callable[[str], object] = webbrowser.open,
        scopes: Optional[List[str]] = None,
        client_id: Optional[str] = None,
        client_secret: Optional[str] = None,
        client_name: str = "Glovebox",
        store: Union[None, str, "os.PathLike[str]"] = None,
        timeout: float = 300.0,
    ) -> None:
        """`open_page` is called with the address that the person is to visit. `timeout`: seconds
        for the person; every request of this program takes at most 30."""
        self._url = checked_address(url, "the MCP server")
        self._open_page = open_page
        self._scopes = scopes
        self._own_client = {"client_id": client_id or "", "client_secret": client_secret or ""}
        self._client_name = client_name
        self._store = None if store is None else pathlib.Path(store).expanduser()
        self._timeout = timeout
        self._lock = threading.Lock()
        #: What is stored: the tokens, the client that they are for, and where they are renewed.
        self._held: Json = self._load()

    def __call__(self) -> Mapping[str, str]:
        """The headers of a request. Raises LoginFailed, Timeout or ConnectionFailed."""
        with self._lock:
            if self._held and time.time() >= self._held["expires"] - AHEAD:
                self._renew()
            if not self._held:
                self._sign_in()
            return {"Authorization": f"Bearer {self._held['access_token']}"}

    def refused(self, headers: Mapping[str, str]) -> bool:
        """The server does not take the token of these headers. Whether another one is worth a try."""
        with self._lock:
            if self._held and headers.get("Authorization") == f"Bearer {self._held['access_token']}":
                self._renew()
            return True

    def forget(self) -> None:
        """The next request signs in anew."""
        with self._lock:
            self._keep({})

    # The tokens.

    def _renew(self) -> None:
        """By the refresh token, or not at all: then a person has to sign in."""
        held = self._held
        if not held.get("refresh_token"):
            self._keep({})
            return
        form = {"grant_type": "refresh_token", "refresh_token": held["refresh_token"]}
        try:
            self._take_tokens(held["client"], held["token_endpoint"], form)
        except LoginFailed:
            self._keep({})

    def _take_tokens(self, client: Json, endpoint: str, form: Mapping[str, str]) -> None:
        body = {**form, "client_id": client["client_id"], "resource": self._url}
        headers = {}
        if client.get("client_secret"):
            words = (client["client_id"], client["client_secret"])
            pair = ":".join(urllib.parse.quote_plus(each) for each in words)
            headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        answer = _asked(endpoint, urllib.parse.urlencode(body).encode(), headers)
        token = answer.get("access_token")
        if not _is_word(token) or str(answer.get("token_type", "")).lower() != "bearer":
            raise ProtocolError("the authorization server's answer has no bearer token")
        seconds = answer.get("expires_in")
        # Of one whose end is not known, the server says when it is over.
        expires = time.time() + seconds if isinstance(seconds, (int, float)) else FOR_EVER
        self._keep({
            "url": self._url,
            "client": client,
            "token_endpoint": endpoint,
            "access_token": token,
            "refresh_token": answer.get("refresh_token") or form.get("refresh_token"),
            "expires": expires,
        })

    def _load(self) -> Json:
        try:
            held = json.loads(self._store.read_bytes()) if self._store is not None else {}
            right = held.get("url") == self._url and isinstance(held["client"]["client_id"], str) \
                and _is_word(held["access_token"]) and isinstance(held["expires"], (int, float))
            checked_address(held["token_endpoint"], "the authorization server")
            return dict(held) if right else {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, GloveboxError):
            return {}

    def _keep(self, held: Json) -> None:
        self._held = held
        if self._store is None:
            return
        self._store.parent.mkdir(parents=True, exist_ok=True)
        # mkstemp makes a file that only its owner can read, and the rename replaces a link.
        descriptor, name = tempfile.mkstemp(dir=self._store.parent, prefix=self._store.name)
        try:
            with open(descriptor, "w", encoding="utf-8") as file:
                json.dump(held, file)
            os.replace(name, self._store)
        except BaseException:
            os.unlink(name)
            raise

    # The sign-in.

    def _sign_in(self) -> None:
        scope, issuer = self._guards()
        place = _metadata(issuer)
        if "S256" not in (place.get("code_challenge_methods_supported") or []):
            raise LoginFailed(f"the authorization server {issuer} does not support PKCE with S256")
        page = checked_address(place.get("authorization_endpoint"), "the authorization page")
        endpoint = checked_address(place.get("token_endpoint"), "the token endpoint")
        verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
        digest = hashlib.sha256(verifier.encode()).digest()
        with _Listener(state) as listener:
            client = self._own_client if self._own_client["client_id"] else self._register(
                place, issuer, listener.address)
            query = {
                "response_type": "code", "client_id": client["client_id"], "state": state,
                "redirect_uri": listener.address, "resource": self._url,
                "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
                "code_challenge_method": "S256", **({"scope": scope} if scope else {})}
            address = page + ("&" if "?" in page else "?") + urllib.parse.urlencode(query)
            if self._open_page(address) is False:
                raise LoginFailed(
                    "there is no browser to sign in with",
                    "pass open_page=print, and visit the address that it prints on this machine")
            said = listener.wait(self._timeout)
        # RFC 9207: an answer that another server has sent is not for this one.
        named = said.get("iss")
        must = place.get("authorization_response_iss_parameter_supported")
        if (named or must) and named != place["issuer"]:
            raise LoginFailed("the answer to the sign-in comes from another authorization server")
        if "error" in said or not said.get("code"):
            raise LoginFailed(f"the sign-in was refused: {_shown(said.get('error', 'no code'))}")
        self._take_tokens(client, endpoint, {
            "grant_type": "authorization_code", "code": said["code"],
            "redirect_uri": listener.address, "code_verifier": verifier})

    def _guards(self) -> Tuple[str, str]:
        """What the server wants to be asked for, and the authorization server that it names."""
        challenge = _challenge(self._url)
        found = challenge.get("resource_metadata")
        origin, name = _origin(self._url), "oauth-protected-resource"
        places = [found] if found else [_well_known(self._url, name), _well_known(origin, name)]
        if any(_origin(place) != origin for place in places):
            raise LoginFailed("the MCP server names a description of itself at another address")
        guarded = _first(places)
        if guarded is None:
            return " ".join(self._scopes or []), origin  # As before RFC 9728: it is its own.
        resource = str(guarded.get("resource", ""))
        if not (self._url + "/").startswith(resource.rstrip("/") + "/") or _origin(resource) != origin:
            raise LoginFailed(f"the MCP server describes another one: {_shown(resource)}")
        issuers = guarded.get("authorization_servers")
        if not isinstance(issuers, list) or not issuers:
            raise LoginFailed("the MCP server names no authorization server")
        scopes = self._scopes
        if scopes is None:
            wanted = challenge.get("scope") or guarded.get("scopes_supported") or []
            scopes = wanted.split() if isinstance(wanted, str) else [str(each) for each in wanted]
        return " ".join(scopes), checked_address(issuers[0], "the authorization server")

    def _register(self, place: Json, issuer: str, redirect: str) -> Json:
        if not place.get("registration_endpoint"):
            raise LoginFailed(
                f"the authorization server {issuer} registers no programs",
                "register this one there by hand, and pass its client_id")
        endpoint = checked_address(place["registration_endpoint"], "the registration endpoint")
        wanted = {
            "client_name": self._client_name, "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
            "token_endpoint_auth_method": "none"}
        made = _asked(endpoint, json.dumps(wanted).encode(), {"Content-Type": "application/json"})
        if not isinstance(made.get("client_id"), str):
            raise ProtocolError("the authorization server's registration has no client_id")
        return {"client_id": made["client_id"], "client_secret": str(made.get("client_secret") or "")}


class _Listener:
    """Where the browser comes back to: an address of this machine alone, for one answer."""

    def __init__(self, state: str) -> None:
        said: Json = {}
        self._said = said

        class Page(http.server.BaseHTTPRequestHandler):
            timeout = 5  # Seconds for a request, so that nobody holds up the others.

            def do_GET(self) -> None:
                parts = urllib.parse.urlsplit(self.path)
                fields = _fields(parts.query)
                # Anybody on this machine can come here: only who knows the state is heard.
                right = parts.path == "/callback" and hmac.compare_digest(
                    fields.get("state", "").encode(), state.encode())
                self.send_response(200 if right else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Referrer-Policy", "no-referrer")
                self.end_headers()
                self.wfile.write(_DONE if right else b"")
                if right:
                    said.update(fields)

            def log_message(self, format: str, *args: object) -> None:
                pass

        # HTTPServer would ask for the name of this address, which may take a while.
        self._server = socketserver.TCPServer(("127.0.0.1", 0), Page)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}/callback"

    def wait(self, seconds: float) -> Json:
        end = time.monotonic() + seconds
        for _ in range(MOST_VISITS):
            self._server.timeout = max(end - time.monotonic(), 0)
            self._server.handle_request()
            if self._said:
                return self._said
            if time.monotonic() >= end:
                break
        raise Timeout(f"nobody signed in within {seconds:g} s", "raise the timeout of McpLogin")

    def __enter__(self) -> "_Listener":
        return self

    def __exit__(self, *_: object) -> None:
        self._server.server_close()


def _fields(query: str) -> Dict[str, str]:
    try:
        return dict(urllib.parse.parse_qsl(query, max_num_fields=32))
    except ValueError:
        return {}


def checked_address(address: object, what: str) -> str:
    """An address that secrets may go to: https, or a server of this machine."""
    parts = urllib.parse.urlsplit(address) if isinstance(address, str) else None
    local = parts is not None and parts.scheme == "http" and parts.hostname in _LOOPBACK
    if parts is None or not parts.hostname or not (parts.scheme == "https" or local) \
            or parts.username is not None or parts.fragment or not _is_word(address):
        raise LoginFailed(f"invalid address of {what}: '{_shown(address)}'", "it must use https://")
    return str(address)


def _challenge(url: str) -> Dict[str, str]:
    """What the server says to who has no token."""
    try:
        with no_redirects().open(urllib.request.Request(url, b"{}", {
                "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}),
                timeout=30):
            return {}
    except urllib.error.HTTPError as error:
        with error:
            said = ", ".join(error.headers.get_all("WWW-Authenticate") or [])[:8192]
            return {name.lower(): text or word for name, text, word in _PARAMETER.findall(said)}
    except (OSError, http.client.HTTPException) as error:
        raise ConnectionFailed(f"cannot reach the MCP server at {url}: {error}") from error


def _well_known(url: str, name: str) -> str:
    """Where a description of an address is: its path comes behind the name."""
    return f"{_origin(url)}/.well-known/{name}{urllib.parse.urlsplit(url).path.rstrip('/')}"


def _metadata(issuer: str) -> Json:
    """What an authorization server says of itself."""
    found = _first([
        _well_known(issuer, "oauth-authorization-server"),
        _well_known(issuer, "openid-configuration"),
        issuer.rstrip("/") + "/.well-known/openid-configuration"])
    # RFC 8414: one that speaks for another is not believed.
    if found is None or str(found.get("issuer")).rstrip("/") != issuer.rstrip("/"):
        raise LoginFailed(f"there is no description of the authorization server {issuer}")
    return found


def _first(places: List[str]) -> Optional[Json]:
    for place in places:
        try:
            return _asked(place, None, {})
        except LoginFailed:
            continue  # There is none at this address.
    return None


def _asked(url: str, body: Optional[bytes], headers: Mapping[str, str]) -> Json:
    """The JSON object that a server answers. LoginFailed where it refuses."""
    request = urllib.request.Request(url, body, {"Accept": "application/json", **headers})
    try:
        with no_redirects().open(request, timeout=30) as response:
            content = response.read(LONGEST_ANSWER + 1)
    except urllib.error.HTTPError as error:
        with error:
            said = error.read(LONGEST_ANSWER)
        if error.code >= 500 or error.code == 429:
            raise ConnectionFailed(f"{_origin(url)} returns status {error.code}") from None
        raise LoginFailed(f"{_origin(url)} refuses with status {error.code}: {_shown(_reason(said))}") from None
    except (OSError, http.client.HTTPException) as error:
        raise ConnectionFailed(f"cannot reach {_origin(url)}: {error}") from error
    try:
        value = json.loads(content) if len(content) <= LONGEST_ANSWER else None
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ProtocolError(f"{_origin(url)} returns no JSON object")
    return value


def _reason(body: bytes) -> str:
    try:
        said = json.loads(body)
        return str(said.get("error_description") or said.get("error"))
    except (ValueError, AttributeError):
        return body[:200].decode("utf-8", "replace")


def _origin(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _is_word(value: object) -> bool:
    """What can stand in a header or a command line, whatever reads it."""
    return isinstance(value, str) and re.fullmatch(r"[!-~]{1,65536}", value) is not None


def _shown(value: object) -> str:
    """Words of a server, for a person at a terminal."""
    return "".join(each if each.isprintable() else "?" for each in str(value)[:200])
