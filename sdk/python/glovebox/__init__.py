# SPDX-License-Identifier: Apache-2.0
"""Glovebox for Python: runs untrusted code in sandboxes, and hosts live interpreters in them.

    import glovebox

    print(glovebox.run("print(6 * 7)").stdout)      # one run, without a daemon

    with glovebox.Sandbox.create() as sandbox:      # of a daemon, if there is one
        sandbox.execute("x = 41")
        print(sandbox.execute("x + 1").text)

Every class has an asynchronous twin whose name begins with ``Async``.
"""

from . import errors, models
from ._async.client import AsyncClient
from ._async.commands import AsyncProcess, AsyncTerminal
from ._async.context import AsyncContext
from ._async.files import AsyncFiles
from ._async.local import AsyncServer, judge_async, run_async
from ._async.sandbox import AsyncSandbox
from ._async.volumes import AsyncVolume
from ._async.websocket import AsyncWebSocket
from ._dry_run import DryRunOptions
from ._engine import Engine
from ._generated.requests import (
    Checker, Checks, JudgeCase, Limits, Network, Quotas, ReviewReply, ToolLimits, VolumeMount,
)
from ._generated.responses import CommandResult, DryRun, JudgeReport, Result, Verdict
from ._generated.words import EndReason, JudgeVerdict, SandboxState, Status
from ._program import find_program
from ._retry import Retry
from ._sync.client import Client
from ._sync.commands import Process, Terminal
from ._sync.context import Context
from ._sync.files import Files
from ._sync.local import Server, judge, run
from ._sync.sandbox import Sandbox
from ._sync.volumes import Volume
from ._sync.websocket import WebSocket
from ._version import __version__
from .errors import (
    APIError,
    AuthError,
    BadGateway,
    CommandError,
    Conflict,
    ConnectionFailed,
    ExecutionError,
    Forbidden,
    GloveboxError,
    Gone,
    InternalError,
    InvalidRequest,
    LoginFailed,
    McpError,
    NotFound,
    ProgramError,
    ProgramNotFound,
    ProtocolError,
    QuotaError,
    RateLimited,
    Timeout,
    TooLarge,
    Unavailable,
    Unsupported,
)
from .events import Event, InputRequest, ToolCall
from .mcp import McpServer
from .oauth import McpLogin
from .tools import Tool, tool

__all__ = [
    "APIError", "AsyncClient", "AsyncContext", "AsyncFiles", "AsyncProcess", "AsyncSandbox",
    "AsyncServer", "AsyncTerminal", "AsyncVolume", "AsyncWebSocket", "AuthError", "BadGateway",
    "Checker", "Checks", "Client", "CommandError", "CommandResult", "Conflict", "ConnectionFailed", "Context",
    "DryRun", "DryRunOptions", "EndReason", "Engine", "Event", "ExecutionError", "Files", "Forbidden", "GloveboxError", "Gone",
    "InputRequest", "InternalError", "InvalidRequest", "JudgeCase", "JudgeReport", "JudgeVerdict",
    "Limits", "LoginFailed", "McpError", "McpLogin", "McpServer", "Network", "NotFound", "Process", "ProgramError", "ProgramNotFound", "ProtocolError",
    "QuotaError", "Quotas", "RateLimited", "Result", "Retry", "ReviewReply", "Sandbox", "SandboxState", "Server",
    "Status", "Terminal", "Timeout", "TooLarge", "Tool", "ToolCall", "ToolLimits", "Unavailable", "Unsupported",
    "Verdict", "Volume", "VolumeMount", "WebSocket", "__version__", "errors", "find_program",
    "judge", "judge_async", "models", "run", "run_async", "tool",
]
