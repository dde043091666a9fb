# SPDX-License-Identifier: Apache-2.0
"""A sandbox as the runtime of a rollout of verifiers, in which the agent's program runs:

    async with glovebox_runtime(GloveboxRuntimeConfig(user="root")) as runtime:
        trace = await agent.run(task, runtime=runtime)

verifiers chooses its runtimes from a list of its own, so one of another kind is lent to a run.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, AsyncIterator, Dict, List, Literal, Optional, Set
from urllib.parse import urlsplit

from pydantic import Field
from pydantic_config import BaseConfig
from verifiers.v1.errors import SandboxError
from verifiers.v1.runtimes.base import BaseRuntimeInfo, ProgramResult, Runtime, register

from .. import AsyncSandbox, GloveboxError, Network, Sandbox

LONGEST = "24h"
OUTPUT = "16M"
# A sandbox gets a way out only when it is made, before anybody knows the ports: this one leads nowhere.
NOWHERE = "127.0.0.1:1"
LOOPBACK = ("127.0.0.1", "localhost")
# Servers of the host are reached by the sandbox's proxy. Programs look for them on their own loopback.
RELAY = """
import asyncio, os, sys, urllib.parse
proxy = urllib.parse.urlsplit(os.environ["http_proxy"])

async def pump(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()

def serve(port):
    async def connected(reader, writer):
        inner, outer = await asyncio.open_connection(proxy.hostname, proxy.port)
        outer.write(b"CONNECT 127.0.0.1:%d HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\n\\r\\n" % (port, port))
        head = await inner.readuntil(b"\\r\\n\\r\\n")
        if head.split()[1] == b"200":
            await asyncio.gather(pump(reader, outer), pump(inner, writer))
        writer.close()
    return asyncio.start_server(connected, "127.0.0.1", port)

async def main():
    servers = [await serve(int(port)) for port in sys.argv[1:]]
    print("ready", flush=True)
    await asyncio.gather(*(each.serve_forever() for each in servers))

asyncio.run(main())
"""


class GloveboxRuntimeConfig(BaseConfig):
    type: Literal["glovebox"] = "glovebox"
    template: Optional[str] = None
    image: Optional[str] = None
    user: Optional[Literal["user", "root"]] = None
    lifetime: str = "24h"
    """When the sandbox ends, should nobody end it before."""
    network: List[str] = Field(default_factory=list)
    """Hosts that programs may reach, besides the model and the tools of the rollout."""
    daemon: Optional[str] = None
    """The daemon's address; by default what GLOVEBOX_URL says, or this machine's own. It allows
    sandboxes this machine's own addresses: `glovebox serve --network any`."""
    api_key_file: Optional[str] = None


class GloveboxRuntimeInfo(GloveboxRuntimeConfig, BaseRuntimeInfo):
    """What traces say of it."""


class GloveboxRuntime(Runtime):
    """Programs and files of a sandbox. It has no live processes, and publishes no ports."""

    config: GloveboxRuntimeConfig
    info: GloveboxRuntimeInfo

    def __init__(self, config: GloveboxRuntimeConfig, name: Optional[str] = None) -> None:
        super().__init__(name)
        self.config = config
        self.info = GloveboxRuntimeInfo(**config.model_dump())
        key = config.api_key_file
        self._daemon: Dict[str, Any] = {
            "url": config.daemon, "api_key": Path(key).read_text().strip() if key else None
        }
        self._sandbox: Optional[AsyncSandbox] = None
        self._relayed: Set[int] = set()

    @property
    def sandbox(self) -> AsyncSandbox:
        if self._sandbox is None:
            raise SandboxError(f"the runtime '{self.name}' is not started")
        return self._sandbox

    async def start(self) -> None:
        made = self.config
        try:
            self._sandbox = await AsyncSandbox.create(
                made.template,
                image=made.image,
                user=made.user,
                timeout=made.lifetime,
                network=self._network(),
                metadata={"verifiers": self.name},
                **self._daemon,
            )
        except GloveboxError as error:
            raise SandboxError(f"no sandbox: {error}") from error
        self.info.id = self._sandbox.id

    async def teardown(self) -> None:
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            await sandbox.kill()
            await sandbox.aclose()

    def cleanup(self) -> None:
        if self._sandbox is not None and self.info.id is not None:
            with contextlib.suppress(GloveboxError):
                Sandbox.connect(self.info.id, **self._daemon).kill()

    async def run(self, argv: List[str], env: Dict[str, str]) -> ProgramResult:
        try:
            done = await self.sandbox.commands.run(
                argv, env=self.process_env(env), timeout=LONGEST, output=OUTPUT
            )
        except GloveboxError as error:
            raise SandboxError(f"cannot run '{argv[0]}': {error}") from error
        return ProgramResult(done.exit_code, done.stdout, done.stderr)

    async def run_background(self, argv: List[str], env: Dict[str, str], log: str) -> None:
        command = ["sh", "-c", 'log=$1; shift; exec "$@" > "$log" 2>&1', "sh", log, *argv]
        try:
            await self.sandbox.commands.start(command, env=self.process_env(env))
        except GloveboxError as error:
            raise SandboxError(f"cannot start '{argv[0]}': {error}") from error

    async def _read(self, path: str, max_bytes: Optional[int] = None) -> bytes:
        try:
            return await self.sandbox.files.read(path, end=max_bytes)
        except GloveboxError as error:
            raise SandboxError(f"read {path!r}: {error}") from error

    async def write(self, path: str, data: bytes) -> None:
        try:
            await self.sandbox.files.write(path, data)
        except GloveboxError as error:
            raise SandboxError(f"write {path!r}: {error}") from error

    async def expose(self, port: int) -> str:
        raise SandboxError("this runtime publishes no ports: run the server of the tools outside")

    async def prepare_execution(self, routes: Optional[List[str]]) -> None:
        """The model and the tools, which verifiers serves on this machine, are reached from inside
        by the addresses that they have outside."""
        parts = [urlsplit(each) for each in routes or []]
        ports = {each.port for each in parts if each.hostname in LOOPBACK and each.port}
        new = sorted(ports - self._relayed)
        if not new:
            return
        self._relayed.update(new)
        try:
            await self.sandbox.update(network=self._network())
            relay = await self.sandbox.commands.start(
                ["python3", "-c", RELAY, *(str(each) for each in new)]
            )
            async for event in relay.events():
                if event.type == "stdout":
                    return
        except GloveboxError as error:
            raise SandboxError(f"the model cannot be reached from inside: {error}") from error
        raise SandboxError("the model cannot be reached from inside: the relay has ended")

    def _network(self) -> Network:
        own = [f"127.0.0.1:{port}" for port in sorted(self._relayed)]
        return Network(allow=[*self.config.network, *(own or [NOWHERE])])


@contextlib.asynccontextmanager
async def glovebox_runtime(
    config: Optional[GloveboxRuntimeConfig] = None,
) -> AsyncIterator[GloveboxRuntime]:
    """A runtime that ends with the block."""
    runtime = GloveboxRuntime(config or GloveboxRuntimeConfig())
    register(runtime)
    try:
        await runtime.start()
        yield runtime
    finally:
        await runtime.stop()
