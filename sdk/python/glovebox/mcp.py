# SPDX-License-Identifier: Apache-2.0
"""Servers of the Model Context Protocol, whose tools code in a sandbox may call:

    with McpServer.start(["npx", "-y", "some-server"], env={"TOKEN": token}) as github:
        sandbox.execute("from mcp.github import create_issue\\n…", mcp={"github": github})

The server runs or is reached here, in this program: what it needs, such as a token, never enters the
sandbox. Only arguments come out and results go in.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from ._mcp_transport import Http, Program, Transport
from ._version import __version__
from .errors import McpError, ProtocolError
from .tools import Tool

__all__ = ["McpServer"]

# The newest first: a server that knows it not answers with one that it knows.
REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
MOST_TOOLS = 1000
MOST_PAGES = 100
MOST_LETTERS = 64  # Of a name in code.


class McpServer:
    """A server that is connected. Its methods may be called by several threads.

    It speaks the revisions 2024-11-05 to 2025-11-25 that begin with ``initialize``. Servers cannot
    ask this client for anything: for neither input of a person, nor a model, nor files.
    """

    def __init__(self, transport: Transport) -> None:
        """``start`` and ``connect`` are the usual ways."""
        self._transport = transport
        self._tools: Optional[Dict[str, Tool]] = None  # By the server's own names.
        self._changes = 0
        transport.on_notification = self._notified
        transport.greet = self._greet
        self.name = ""
        self.version = ""
        #: What the server says about its use.
        self.instructions = ""
        try:
            self._greet()
        except BaseException:
            transport.close()
            raise

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        *,
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None,
        timeout: float = 60.0,
    ) -> "McpServer":
        """Starts a server as a program that speaks over its standard input and output, with the
        variables of `env` besides those of this program. `timeout`: seconds for each answer.
        """
        return cls(Program(command, env, cwd, timeout))

    @classmethod
    def connect(
        cls, url: str, *, headers: Optional[Mapping[str, str]] = None, timeout: float = 60.0
    ) -> "McpServer":
        """Connects to a server by streamable HTTP. `headers` go with every request, such as
        ``{"Authorization": "Bearer …"}``; never to another address that the server names.
        """
        return cls(Http(url, headers or {}, timeout))

    def __enter__(self) -> "McpServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"McpServer({self.name!r})"

    def close(self) -> None:
        """Ends the connection, and the program that ``start`` has started."""
        self._transport.close()

    def tools(self, *names: str) -> List[Tool]:
        """All tools of the server, or those of these names. In code, characters that no name of a
        function may have become ``_``. Raises ``ValueError`` for one that the server does not have.
        """
        found, changes = self._tools, self._changes
        if found is None:
            found = self._list()
            if changes == self._changes:
                self._tools = found
        for name in names:
            if name not in found:
                raise ValueError(f"the MCP server '{self.name}' has no tool '{name}'")
        return [found[name] for name in names or found]

    def call(self, name: str, arguments: Optional[Mapping[str, Any]] = None) -> Any:
        """Calls a tool by the server's own name of it. Returns its structured result where it has
        one, its text where it has only text, and otherwise the list of its contents. Raises
        ``McpError`` for what the tool says is an error.
        """
        asked = {"name": name, "arguments": dict(arguments or {})}
        result = self._transport.ask("tools/call", asked)
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

    def _greet(self) -> None:
        told = self._transport.ask(
            "initialize",
            {
                "protocolVersion": REVISIONS[0],
                "capabilities": {},
                "clientInfo": {"name": "glovebox", "version": __version__},
            },
        )
        revision = told.get("protocolVersion")
        if revision not in REVISIONS:
            raise ProtocolError(
                f"the MCP server speaks revision '{str(revision)[:40]}'",
                "this client knows " + ", ".join(REVISIONS),
            )
        about = told.get("serverInfo")
        about = about if isinstance(about, dict) else {}
        self.name, self.version = str(about.get("name", "")), str(about.get("version", ""))
        self.instructions = str(told.get("instructions") or "")
        self._transport.revision = str(revision)
        self._transport.tell("notifications/initialized")

    def _notified(self, method: str) -> None:
        if method == "notifications/tools/list_changed":
            self._changes += 1
            self._tools = None

    def _list(self) -> Dict[str, Tool]:
        found: Dict[str, Tool] = {}
        asked: Dict[str, Any] = {}
        for _ in range(MOST_PAGES):
            page = self._transport.ask("tools/list", asked)
            listed = page.get("tools")
            for each in listed if isinstance(listed, list) else []:
                if isinstance(each, dict) and isinstance(each.get("name"), str):
                    found[each["name"]] = self._tool(each)
            if len(found) > MOST_TOOLS:
                break
            if not page.get("nextCursor"):
                return found
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
