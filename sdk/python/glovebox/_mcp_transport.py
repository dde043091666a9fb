# SPDX-License-Identifier: Apache-2.0
"""How messages get to an MCP server and back: over the standard input and output of a program, or
by streamable HTTP. What a server sends is bounded, and whoever waits for it does so for a time.
"""

from __future__ import annotations

import http.client
import json
import os
import queue
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Sequence, Tuple, Union

from ._mcp_headers import header_value
from .errors import ConnectionFailed, GloveboxError, McpError, ProtocolError, Timeout

# The revision without sessions: each request says in `_meta` what others say once, in the beginning.
STATELESS = "2026-07-28"
LONGEST_MESSAGE = 16 << 20
LONGEST_REFUSAL = 64 << 10
MOST_UNSENT = 256  # Messages.
SECONDS_TO_END = 2.0
_METHOD_NOT_FOUND = -32601

Message = Dict[str, Any]
#: Asked before each request where it is a function, for a token that expires.
Headers = Union[Mapping[str, str], Callable[[], Mapping[str, str]]]


class ServerEnded(ConnectionFailed):
    """The program that is the server has ended."""


class StatusError(ConnectionFailed):
    """A server answers a request with a status of HTTP alone."""

    def __init__(self, message: str, hint: str, status: int, body: bytes) -> None:
        super().__init__(message, hint)
        self.status = status
        self.body = body


class Transport:
    """Asks a server. Safe for several threads."""

    has_headers = False

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self.revision = ""
        #: Goes with every request.
        self.meta: Message = {}
        #: What of a request stands in headers, too.
        self.mirrored: Callable[[Message], Mapping[str, str]] = lambda request: {}
        self.on_notification: Callable[[str], None] = lambda method: None
        #: Begins a session anew.
        self.greet: Callable[[], None] = lambda: None
        self._lock = threading.Lock()
        self._last = 0

    @property
    def stateless(self) -> bool:
        return self.revision == STATELESS

    def ask(
        self, method: str, params: Mapping[str, Any], seconds: Optional[float] = None
    ) -> Message:
        """The result of a request. Raises McpError for an error that the server returns, and other
        subclasses of GloveboxError where there is no answer within `seconds`, `timeout` by default.
        """
        with self._lock:
            self._last += 1
            number = self._last
        asked = {**params, "_meta": self.meta} if self.meta else dict(params)
        answer = self._exchange(
            {"jsonrpc": "2.0", "id": number, "method": method, "params": asked},
            self.timeout if seconds is None else seconds,
        )
        error = answer.get("error")
        if isinstance(error, dict):
            code = error.get("code")
            raise McpError(
                f"the MCP server refuses '{method}': {error.get('message', '')}",
                status=code if isinstance(code, int) else 0,
                data=error.get("data"),
            )
        result = answer.get("result")
        if not isinstance(result, dict):
            raise ProtocolError(f"the MCP server's answer to '{method}' has no result")
        return result

    def tell(self, method: str, params: Optional[Mapping[str, Any]] = None) -> None:
        """Sends a notification."""
        note: Message = {"jsonrpc": "2.0", "method": method}
        self._send({**note, "params": dict(params)} if params else note)

    def close(self) -> None:
        raise NotImplementedError

    def _exchange(self, request: Message, seconds: float) -> Message:
        raise NotImplementedError

    def _send(self, message: Message) -> None:
        raise NotImplementedError

    def _take(self, message: Message) -> None:
        """Takes what the server says of its own accord. It gets an answer, so that it waits for
        nothing that this client does not do."""
        method = message.get("method")
        if not isinstance(method, str):
            return
        if "id" not in message:
            self.on_notification(method)
            return
        if self.stateless:
            return  # In this revision, servers ask nothing and clients answer nothing.
        answer: Message = {"jsonrpc": "2.0", "id": message["id"]}
        if method == "ping":
            answer["result"] = {}
        else:
            answer["error"] = {"code": _METHOD_NOT_FOUND, "message": f"no method '{method[:100]}'"}
        self._send(answer)


class Program(Transport):
    """A server that this program has started: one message a line."""

    def __init__(
        self,
        command: Sequence[str],
        env: Optional[Mapping[str, str]],
        cwd: Optional[str],
        timeout: float,
    ) -> None:
        super().__init__(timeout)
        self._waiting: "Dict[int, queue.SimpleQueue[Optional[Message]]]" = {}
        self._unsent: "queue.Queue[Optional[bytes]]" = queue.Queue(MOST_UNSENT)
        self._closed = False
        try:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, **env} if env is not None else None,
                cwd=cwd,
            )
        except OSError as error:
            raise ConnectionFailed(
                f"cannot start the MCP server '{command[0]}': {error.strerror}"
            ) from error
        # Neither waits for the other, so that a server that does not read can still be heard.
        self._threads = [
            threading.Thread(target=work, name="glovebox-mcp", daemon=True)
            for work in (self._read, self._write)
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """The server's input ends; a server that stays all the same is killed."""
        process = self._process
        try:
            self._unsent.put(None, timeout=SECONDS_TO_END)
        except queue.Full:
            pass  # It does not read, so it would not notice.
        for insist in (process.terminate, process.kill):
            try:
                process.wait(SECONDS_TO_END)
                break
            except subprocess.TimeoutExpired:
                insist()
        process.wait()
        for thread in self._threads:
            thread.join(SECONDS_TO_END)

    def _exchange(self, request: Message, seconds: float) -> Message:
        number = request["id"]
        waiting: "queue.SimpleQueue[Optional[Message]]" = queue.SimpleQueue()
        with self._lock:
            self._waiting[number] = waiting
            closed = self._closed
        try:
            answer = None
            if not closed:
                self._send(request)
                answer = waiting.get(timeout=seconds)
        except queue.Empty:
            self.tell("notifications/cancelled", {"requestId": number, "reason": "timeout"})
            raise _late(request, seconds) from None
        finally:
            with self._lock:
                del self._waiting[number]
        if answer is None:
            raise ServerEnded("the MCP server has ended")
        return answer

    def _send(self, message: Message) -> None:
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        try:
            self._unsent.put(line, timeout=self.timeout)
        except queue.Full:
            raise _late(message, self.timeout) from None

    def _write(self) -> None:
        into = self._process.stdin
        assert into is not None
        try:
            with into:
                for line in iter(self._unsent.get, None):
                    into.write(line)
                    into.flush()
        except OSError:
            pass  # It has ended, which the reader notices.

    def _read(self) -> None:
        out = self._process.stdout
        assert out is not None
        try:
            while True:
                line = out.readline(LONGEST_MESSAGE + 1)
                if not line or len(line) > LONGEST_MESSAGE:
                    break
                self._dispatch(_parsed(line))
        except (OSError, ValueError, GloveboxError):
            pass
        finally:
            with self._lock:
                self._closed = True
                waiting = list(self._waiting.values())
            for each in waiting:
                each.put(None)
            # The writer ends, too, if it waits for something to write.
            try:
                self._unsent.put_nowait(None)
            except queue.Full:
                pass
            out.close()

    def _dispatch(self, message: Optional[Message]) -> None:
        if message is None:
            return  # Some servers print on standard output what is meant for a person.
        if "method" in message:
            self._take(message)
            return
        with self._lock:
            waiting = self._waiting.get(message.get("id"))  # type: ignore[arg-type]
        if waiting is not None:
            waiting.put(message)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The headers have a token, which must not follow to another address."""

    def redirect_request(
        self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: Any
    ) -> None:
        return None


def no_redirects() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_NoRedirects)


class Http(Transport):
    """A server that is reached by streamable HTTP: a request's answer is JSON, or a stream of
    events with the answer among them."""

    has_headers = True

    def __init__(self, url: str, headers: Headers, timeout: float) -> None:
        super().__init__(timeout)
        if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
            raise ValueError(f"invalid address of an MCP server: '{url}'; use http:// or https://")
        self._url = url
        self._headers = headers if callable(headers) else dict(headers)
        self._session: Optional[str] = None
        # Of headers that can say more: whether others are worth a try when the server takes none.
        self._refused: Callable[[Mapping[str, str]], bool] = getattr(
            headers, "refused", lambda refused: False
        )
        self._opener = no_redirects()

    def close(self) -> None:
        if self._session is not None:
            try:
                self._open("DELETE", None, self.timeout).close()
            except GloveboxError:
                pass  # A server may keep its sessions for itself.

    def _exchange(self, request: Message, seconds: float) -> Message:
        session = self._session
        try:
            return self._once(request, seconds)
        except _SessionEnded:
            with self._lock:
                first = self._session == session
                if first:
                    self._session = None
            if first:
                self.greet()
            return self._once(request, seconds)

    def _once(self, request: Message, seconds: float) -> Message:
        try:
            response = self._open("POST", request, seconds)
        except StatusError as error:
            refusal = _parsed(error.body) if error.status not in (401, 403) else None
            if refusal is not None and isinstance(refusal.get("error"), dict):
                return refusal
            raise
        with response:
            if request["method"] == "initialize":
                self._session = response.headers.get("Mcp-Session-Id")
            for message in _messages(response, time.monotonic() + seconds):
                if "method" in message:
                    self._take(message)
                elif message.get("id") == request["id"]:
                    return message
        raise ProtocolError(f"the MCP server did not answer '{request['method']}'")

    def _send(self, message: Message) -> None:
        self._open("POST", message, self.timeout).close()

    def _open(
        self, method: str, message: Optional[Message], seconds: float, again: bool = True
    ) -> Any:
        body = None if message is None else json.dumps(message).encode()
        headers = self._headers_of(message)
        asked = urllib.request.Request(self._url, body, headers, method=method)
        try:
            return self._opener.open(asked, timeout=seconds)
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 401 and again and self._refused(headers):
                    return self._open(method, message, seconds, again=False)
                if error.code == 404 and self._session is not None:
                    raise _SessionEnded("the MCP server has ended the session") from None
                raise _status_error(self._url, error) from None
        except TimeoutError as error:
            raise _late(message or {}, seconds) from error
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                raise _late(message or {}, seconds) from error
            raise ConnectionFailed(f"cannot reach the MCP server at {self._url}: {reason}") from error

    def _headers_of(self, message: Optional[Message]) -> Dict[str, str]:
        given = self._headers() if callable(self._headers) else self._headers
        headers = {**given, "Accept": "application/json, text/event-stream"}
        if message is not None:
            headers["Content-Type"] = "application/json"
        if self._session is not None:
            headers["Mcp-Session-Id"] = self._session
        if self.revision:
            headers["MCP-Protocol-Version"] = self.revision
        if self.stateless and message is not None:
            headers["Mcp-Method"] = message["method"]
            name = message.get("params", {}).get("name")
            if name is not None:
                headers["Mcp-Name"] = header_value(name)
            headers.update(self.mirrored(message))
        return headers


def _status_error(url: str, error: urllib.error.HTTPError) -> StatusError:
    try:
        body = error.read(LONGEST_REFUSAL)
    except (OSError, http.client.HTTPException):
        body = b""
    hint = ""
    if error.code == 401:
        hint = "give its token: headers={'Authorization': 'Bearer …'}; or sign in: headers=McpLogin(url)"
    return StatusError(f"the MCP server at {url} returns status {error.code}", hint, error.code, body)


class _SessionEnded(ConnectionFailed):
    """The server does not know the session any more."""


def _messages(response: Any, deadline: float) -> Iterator[Message]:
    """What a response consists of."""
    try:
        if response.headers.get_content_type() != "text/event-stream":
            body = response.read(LONGEST_MESSAGE + 1)
            parsed = _parsed(body) if body and len(body) <= LONGEST_MESSAGE else None
            if parsed is None:
                raise ProtocolError("the MCP server's answer is not a message of JSON-RPC")
            yield parsed
            return
        for data in _events(response, deadline):
            parsed = _parsed(data)
            if parsed is not None:
                yield parsed
    except TimeoutError as error:
        raise Timeout("the MCP server sent nothing in time") from error
    except (OSError, http.client.HTTPException) as error:
        raise ConnectionFailed(f"the connection to the MCP server broke: {error}") from error


def _events(response: Any, deadline: float) -> Iterator[bytes]:
    """The data of the events of a stream."""
    data: Tuple[bytes, ...] = ()
    size = 0
    while True:
        line = response.readline(LONGEST_MESSAGE + 1)
        size += len(line)
        if size > LONGEST_MESSAGE:
            raise ProtocolError("a message of the MCP server is larger than 16 MiB")
        if time.monotonic() > deadline:
            raise Timeout("the MCP server did not answer in time")
        text = line.rstrip(b"\r\n")
        if text.startswith(b"data:"):
            value = text[len(b"data:"):]
            data += (value[1:] if value.startswith(b" ") else value,)
        if not text:
            if data:
                yield b"\n".join(data)
            data, size = (), 0
        if not line:
            return


def _parsed(text: bytes) -> Optional[Message]:
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def _late(request: Mapping[str, Any], seconds: float) -> Timeout:
    return Timeout(
        f"the MCP server did not answer '{request.get('method', '')}' within {seconds:g} s",
        "raise its timeout",
    )
