# SPDX-License-Identifier: Apache-2.0
"""Tools for the environments of verifiers: each rollout works in a sandbox of its own.

    class Analysis(vf.Task[MyData]):
        @classmethod
        def toolsets(cls, config):
            return [GloveboxToolset(GloveboxToolsetConfig())]

In ``Task.toolsets``, verifiers starts the tools for each rollout. A server that several rollouts
share would give them one sandbox.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional

import verifiers.v1 as vf
from pydantic import Field

from .. import AsyncSandbox, GloveboxError
from ._functions import SandboxFunctions


class GloveboxToolsetConfig(vf.ToolsetConfig):
    daemon: Optional[str] = None
    """The daemon's address; by default what GLOVEBOX_URL says, or this machine's own."""
    api_key_file: Optional[str] = None
    """A file with its key: verifiers keeps variables such as GLOVEBOX_API_KEY from the server."""
    template: Optional[str] = None
    timeout: float = 60.0
    """Seconds for each execution and command."""
    lifetime: str = "1h"
    """When the sandbox ends, should nobody end it before."""
    files: Dict[str, str] = Field(default_factory=dict)
    """Texts by the paths that they have in the sandbox from the beginning."""
    network: List[str] = Field(default_factory=list)
    """Hosts that the sandbox may reach; by default none."""


class GloveboxToolset(vf.Toolset[GloveboxToolsetConfig, vf.State]):
    """Runs code and commands, and reads and writes files, in a sandbox."""

    TOOL_PREFIX = "sandbox"

    async def setup(self) -> None:
        # verifiers ends its servers with SIGTERM, which the HTTP server raises again when it has
        # shut down. Without a handler, that would end the process before the sandbox.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        made = self.config
        options: Dict[str, Any] = {"network": {"allow": made.network}} if made.network else {}
        key = Path(made.api_key_file).read_text().strip() if made.api_key_file else None
        sandbox = await AsyncSandbox.create(
            made.template, timeout=made.lifetime, url=made.daemon, api_key=key, **options
        )
        self._exit_stack.push_async_exit(sandbox)
        for path, content in made.files.items():
            await sandbox.files.write(path, content)
        self._does = SandboxFunctions(sandbox, timeout=made.timeout)

    @vf.tool
    async def run_code(self, code: str, language: str = "python") -> str:
        return await self._does.run_code(code, language)

    @vf.tool
    async def run_command(self, command: str) -> str:
        return await self._does.run_command(command)

    @vf.tool
    async def read_file(self, path: str) -> str:
        try:
            return await self._does.read_file(path)
        except GloveboxError as error:
            return str(error)

    @vf.tool
    async def write_file(self, path: str, content: str) -> str:
        return await self._does.write_file(path, content)

    for each in (run_code, run_command, read_file, write_file):
        each.__doc__ = getattr(SandboxFunctions, each.__name__).__doc__
    del each


if __name__ == "__main__":
    GloveboxToolset.run()
