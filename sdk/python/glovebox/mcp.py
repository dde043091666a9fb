# SPDX-License-Identifier: Apache-2.0
"""Servers of the Model Context Protocol, whose tools code in a sandbox may call:

    with McpServer.start(["npx", "-y", "some-server"], env={"TOKEN": token}) as github:
        sandbox.execute("from mcp.github import create_issue\\n…", mcp={"github": github})

The server runs or is reached here, in this program: what it needs, such as a token, never enters the
sandbox. Only arguments come out and results go in.
"""

from __future__ import annotations

import dataclasses
import logging
import math
import re
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from ._mcp_headers import Paths, header_paths, mirrored
from ._mcp_transport import STATELESS, Headers, Http, Program, ServerEnded, StatusError, Transport
from ._version import __version__
from .errors import McpError, ProtocolError, Timeout
from .tools import Tool

__all__ = ["McpServer"]

# Those that begin with `initialize`, the newest first: a server that knows it not answers with one
# that it knows.
REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
ABOUT = {"name": "glovebox", "version": __version__}
META = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientInfo": ABOUT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
PROBE_SECONDS = 10.0
HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_REVISION = -32020, -32021, -32022
LONGEST_FRESH_MS = 3_600_000
MOST_TOOLS = 1000
MOST_PAGES = 100
MOST_ROUNDS = 10  # Of one call, which a server has continued by asking for it again.
ROUND_SECONDS = 0.1
MOST_LETTERS = 64  # Of a name in code.

_log = logging.getLogger("glovebox")


@dataclasses.dataclass(frozen=True)
class _Listing:
    """The tools by the server's own names, what of their arguments is in headers, and how long that
    may be believed."""

    tools: Mapping[str, Tool]
    headers: Mapping[str, Paths]
    until: float


class McpServer:
    """A server that is connected. Its methods may be called by several threads.

    It speaks the revision 2026-07-28, which has no sessions, and those from 2024-11-05 to 2025-11-25,
    which begin with ``initialize``. Servers cannot ask this client for anything: for neither input of
    a person, nor a model, nor files.
    """

    def __init__(self, connect: Callable[[], Transport], probe: float) -> None:
        """``start`` and ``connect`` are the usual ways. Calls `connect` a second time for a server
        that ends at the question whether it knows the newest revision."""
        self._connect = connect
        self._probe = probe
        self._listing: Optional[_Listing] = None
        self._changes = 0
        self.name = ""
        self.version = ""
        #: What the server says about its use.
        self.instructions = ""
        self._attach()
        try:
            self._greet()
        except BaseException:
            self._transport.close()
            raise

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        *,
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None,
        timeout: float = 60.0,
        probe: float = PROBE_SECONDS,
    ) -> "McpServer":
        """Starts a server as a program that speaks over its standard input and output, with the
        variables of `env` besides those of this program. `timeout`: seconds for each answer.
        `probe`: how long the server may take to say whether it knows revision 2026-07-28, as some
        that do not stay silent; with 0, it is not asked, and an older revision is spoken.
        """
        return cls(lambda: Program(command, env, cwd, timeout), probe)

    @classmethod
    def connect(
        cls,
        url: str,
        *,
        headers: Optional[Headers] = None,
        timeout: float = 60.0,
        probe: float = PROBE_SECONDS,
    ) -> "McpServer":
        """Connects to a server by streamable HTTP. `headers` go with every request, such as
        ``{"Authorization": "Bearer …"}``; never to another address that the server names. A function
        is asked for them before each request, so that a token can be renewed.
        """
        return cls(lambda: Http(url, headers or {}, timeout), probe)

    def __enter__(self) -> "McpServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"McpServer({self.name!r})"

    @property
    def revision(self) -> str:
        """The revision of the protocol that is spoken."""
        return self._transport.revision

    def close(self) -> None:
        """Ends the connection, and the program that ``start`` has started."""
        self._transport.close()

    def tools(self, *names: str) -> List[Tool]:
        """All tools of the server, or those of these names. In code, characters that no name of a
        function may have become ``_``. Raises ``ValueError`` for one that the server does not have.
        """
        found = self._listed().tools
        for name in names:
            if name not in found:
                raise ValueError(f"the MCP server '{self.name}' has no tool '{name}'")
        return [found[name] for name in names or found]

    def call(self, name: str, arguments: Optional[Mapping[str, Any]] = None) -> Any:
        """Calls a tool by the server's own name of it. Returns its structured result where it has
        one, its text where it has only text, and otherwise the list of its contents. Raises
        ``McpError`` for what the tool says is an error.
        """
        asked: Dict[str, Any] = {"name": name, "arguments": dict(arguments or {})}
        try:
            result = self._called(asked)
        except McpError as error:
            if error.status != HEADER_MISMATCH:
                raise
            self._listing = None  # The tool has changed, or has never been asked for.
            self._listed()
            result = self._called(asked)
        content = result.get("content")
        content = content if isinstance(content, list) else []
        texts = [
            each.get("text", "")
            for each in content
            if isinstance(each, dict) and each.get("type") == "text"
        ]
        text = "\n".join(each for each in texts if isinstance(each, str))
        if result.get("isError"):
            raise McpError(text or f"the tool '{name}' failed")
        if result.get("structuredContent") is not None:
            return result["structuredContent"]
        return text if len(texts) == len(content) else content

    def _called(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """The result of a call, which is made again while the server has only a state to return."""
        asked = dict(asked)
        for _ in range(MOST_ROUNDS):
            result = self._transport.ask("tools/call", asked)
            kind = result.get("resultType", "complete")
            if kind == "complete":
                return result
            if kind != "input_required":
                raise ProtocolError(f"the MCP server returns a '{str(kind)[:40]}' for a result")
            if result.get("inputRequests"):
                raise McpError(f"the tool '{asked['name']}' asks for input, which nobody gives here")
            asked["requestState"] = result.get("requestState")
            time.sleep(ROUND_SECONDS)
        raise McpError(f"the tool '{asked['name']}' has no result after {MOST_ROUNDS} rounds")

    def _attach(self) -> None:
        self._transport = self._connect()
        self._transport.on_notification = self._notified
        self._transport.greet = self._initialize
        self._transport.mirrored = self._mirrored

    def _greet(self) -> None:
        """Asks first by the newest revision, as every server of it answers that."""
        late = False
        try:
            if self._probe > 0 and self._discover(min(self._transport.timeout, self._probe)):
                return
        except Timeout:
            late = True
        except ServerEnded:
            self._start_again()
        try:
            self._initialize()
        except McpError as error:
            # A server that takes long to start knows only now what it was asked first.
            if not late or not self._discover(self._transport.timeout):
                raise error
        except ServerEnded:
            if not late:
                raise
            self._start_again()
            self._initialize()

    def _start_again(self) -> None:
        self._transport.close()
        self._attach()

    def _discover(self, seconds: float) -> bool:
        """Whether the server knows the revision without sessions, which is spoken from now on."""
        transport = self._transport
        transport.revision, transport.meta = STATELESS, META
        try:
            told = transport.ask("server/discover", {}, seconds)
        except StatusError as error:
            if 400 <= error.status < 500:
                return False
            raise
        except McpError as error:
            if error.status in (HEADER_MISMATCH, MISSING_CAPABILITY):
                raise
            data = error.data if isinstance(error.data, dict) else {}
            if error.status != UNSUPPORTED_REVISION or _any(data.get("supported"), REVISIONS):
                return False
            raise _unknown(data.get("supported")) from error
        if not _any(told.get("supportedVersions"), (STATELESS,)):
            return False
        meta = told.get("_meta")
        about = meta.get("io.modelcontextprotocol/serverInfo") if isinstance(meta, dict) else None
        self._introduce(about, told.get("instructions"))
        return True

    def _initialize(self) -> None:
        self._transport.revision, self._transport.meta = "", {}
        told = self._transport.ask(
            "initialize",
            {"protocolVersion": REVISIONS[0], "capabilities": {}, "clientInfo": ABOUT},
        )
        revision = told.get("protocolVersion")
        if revision not in REVISIONS:
            raise _unknown([revision])
        self._introduce(told.get("serverInfo"), told.get("instructions"))
        self._transport.revision = str(revision)
        self._transport.tell("notifications/initialized")

    def _introduce(self, about: Any, instructions: Any) -> None:
        about = about if isinstance(about, dict) else {}
        self.name, self.version = str(about.get("name", "")), str(about.get("version", ""))
        self.instructions = str(instructions or "")

    def _notified(self, method: str) -> None:
        if method == "notifications/tools/list_changed":
            self._changes += 1
            self._listing = None

    def _mirrored(self, message: Mapping[str, Any]) -> Dict[str, str]:
        listing = self._listing
        if listing is None or message["method"] != "tools/call":
            return {}
        params = message["params"]
        return mirrored(listing.headers.get(params["name"], {}), params["arguments"])

    def _listed(self) -> _Listing:
        listing, changes = self._listing, self._changes
        if listing is None or time.monotonic() >= listing.until:
            listing = self._list()
            if changes == self._changes:
                self._listing = listing
        return listing

    def _list(self) -> _Listing:
        found: Dict[str, Tool] = {}
        headers: Dict[str, Paths] = {}
        stateless = self._transport.stateless
        in_headers = stateless and self._transport.has_headers
        until = math.inf  # Where the server says when it changes.
        asked: Dict[str, Any] = {}
        for _ in range(MOST_PAGES):
            now = time.monotonic()
            page = self._transport.ask("tools/list", asked)
            listed = page.get("tools")
            for each in listed if isinstance(listed, list) else []:
                if isinstance(each, dict) and isinstance(each.get("name"), str):
                    try:
                        paths = header_paths(each.get("inputSchema")) if in_headers else {}
                    except ValueError as error:
                        _log.warning("MCP server %r, tool %r: %s", self.name, each["name"], error)
                        continue
                    found[each["name"]] = self._tool(each)
                    headers[each["name"]] = paths
            if stateless:
                until = min(until, now + _seconds(page.get("ttlMs")))
            if len(found) > MOST_TOOLS:
                break
            if not page.get("nextCursor"):
                return _Listing(found, headers, until)
            asked = {"cursor": page["nextCursor"]}
        raise ProtocolError(f"the MCP server '{self.name}' has more than {MOST_TOOLS} tools")

    def _tool(self, told: Mapping[str, Any]) -> Tool:
        schema = told.get("inputSchema")
        return Tool(
            name_in_code(told["name"]),
            str(told.get("description") or told.get("title") or ""),
            schema if isinstance(schema, dict) else {},
            self._caller(told["name"]),
            blocking=True,
        )

    def _caller(self, name: str) -> Callable[..., Any]:
        return lambda **arguments: self.call(name, arguments)


def _any(listed: Any, known: Sequence[str]) -> bool:
    return isinstance(listed, list) and any(each in listed for each in known)


def _seconds(fresh: Any) -> float:
    """How long a list may be believed whose server says so in milliseconds."""
    if not isinstance(fresh, (int, float)) or not fresh > 0:
        return 0
    return min(fresh, LONGEST_FRESH_MS) / 1000


def _unknown(listed: Any) -> ProtocolError:
    told = ", ".join(str(each)[:40] for each in listed[:10]) if isinstance(listed, list) else ""
    known = ", ".join((STATELESS, *REVISIONS))
    return ProtocolError(f"the MCP server speaks revision '{told}'", f"this client knows {known}")


def name_in_code(name: str) -> str:
    """A name that code can call, of any name: ``repo/search`` is ``repo_search``."""
    made = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return (made if made[:1].isalpha() else f"t_{made}")[:MOST_LETTERS]


McpTools = Union[McpServer, Sequence[Tool]]
#: Called with a prompt, and with the options that the code gives.
Complete = Callable[..., Any]

_COMPLETE: Mapping[str, Any] = {
    "type": "object",
    "properties": {"prompt": {"description": "What to ask: a text, or a list of messages."}},
    "required": ["prompt"],
    "additionalProperties": True,
}


def tools_of_servers(servers: Mapping[str, McpTools]) -> List[Tool]:
    """The tools of each server, in a module ``mcp.NAME``. Asks a server for them the first time."""
    tools = []
    for module, server in servers.items():
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", module):
            raise ValueError(
                f"invalid name of an MCP server: '{module}'; use a letter, then letters, digits, "
                "'_' and '-'"
            )
        for each in server.tools() if isinstance(server, McpServer) else server:
            tools.append(dataclasses.replace(each, name=f"mcp.{module}.{each.name}"))
    return tools


def model_tool(complete: Complete) -> Tool:
    """``llm.complete``, which takes a prompt and whatever options there are."""
    return Tool("llm.complete", "Asks a language model.", _COMPLETE, complete)
