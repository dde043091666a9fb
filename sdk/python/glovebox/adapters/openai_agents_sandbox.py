# SPDX-License-Identifier: Apache-2.0
"""Sandboxes for the sandbox agents of the OpenAI Agents SDK:

    run = RunConfig(sandbox=SandboxRunConfig(client=GloveboxSandboxClient()))
    await Runner.run(SandboxAgent(name="analyst", model=…), "Draw the sales.", run_config=run)
"""

from __future__ import annotations

import base64
import io
import shlex
import uuid
from pathlib import Path
from typing import Any, Dict, List, Literal, Optional, Tuple, Union
from urllib.parse import urlsplit

from agents.sandbox.errors import (
    ExecTimeoutError,
    ExecTransportError,
    ExposedPortUnavailableError,
    WorkspaceArchiveReadError,
    WorkspaceArchiveWriteError,
    WorkspaceReadNotFoundError,
    WorkspaceStartError,
)
from agents.sandbox.manifest import Manifest
from agents.sandbox.session.base_sandbox_session import BaseSandboxSession
from agents.sandbox.session.dependencies import Dependencies
from agents.sandbox.session.manager import Instrumentation
from agents.sandbox.session.runtime_helpers import (
    RESOLVE_WORKSPACE_PATH_HELPER,
    RuntimeHelperScript,
)
from agents.sandbox.session.sandbox_client import BaseSandboxClient, BaseSandboxClientOptions
from agents.sandbox.session.sandbox_session import SandboxSession
from agents.sandbox.session.sandbox_session_state import SandboxSessionState
from agents.sandbox.session.tar_workspace import shell_tar_exclude_args
from agents.sandbox.session.workspace_payloads import coerce_write_payload
from agents.sandbox.snapshot import SnapshotBase, SnapshotSpec, resolve_snapshot
from agents.sandbox.types import ExecResult, ExposedPortEndpoint, User
from agents.sandbox.util.tar_utils import UnsafeTarMemberError, validate_tar_bytes
from agents.sandbox.workspace_paths import sandbox_path_str

from .. import AsyncSandbox, GloveboxError, Gone, NotFound

LONGEST = 24 * 60 * 60.0  # Of a command for which the agent names no time.
OUTPUT = "16M"


class GloveboxSandboxClientOptions(BaseSandboxClientOptions):
    """What a sandbox is made with. `network`: hosts that it may reach, by default none. `user`
    "root" lets agents run as the users of their manifests."""

    type: Literal["glovebox"] = "glovebox"
    template: Optional[str] = None
    lifetime: str = "1h"
    network: Tuple[str, ...] = ()
    user: Optional[Literal["user", "root"]] = None
    pause_on_exit: bool = False
    """Keeps the sandbox, paused, so that its state can be resumed."""
    exposed_ports: Tuple[int, ...] = ()
    domain: str = "localhost"
    """Below which the daemon has names for ports: what `glovebox serve --domain` says."""


class GloveboxSandboxSessionState(SandboxSessionState):
    type: Literal["glovebox"] = "glovebox"
    sandbox_id: str
    options: GloveboxSandboxClientOptions


class GloveboxSandboxSession(BaseSandboxSession):
    """The workspace is a directory of the sandbox."""

    state: GloveboxSandboxSessionState

    def __init__(self, state: GloveboxSandboxSessionState, sandbox: AsyncSandbox) -> None:
        self.state = state
        self.sandbox = sandbox

    async def _validate_path_access(
        self, path: Union[Path, str], *, for_write: bool = False
    ) -> Path:
        return await self._validate_remote_path_access(path, for_write=for_write)

    def _runtime_helpers(self) -> Tuple[RuntimeHelperScript, ...]:
        return (RESOLVE_WORKSPACE_PATH_HELPER,)

    def _current_runtime_helper_cache_key(self) -> Optional[object]:
        return self.state.sandbox_id

    async def _prepare_backend_workspace(self) -> None:
        root = self.state.manifest.root
        try:
            done = await self.sandbox.commands.run(["mkdir", "-p", "--", root], cwd="/")
        except GloveboxError as error:
            raise WorkspaceStartError(path=Path(root), cause=error) from error
        if done.exit_code != 0:
            raise WorkspaceStartError(path=Path(root), context={"stderr": done.stderr})

    async def _shutdown_backend(self) -> None:
        try:
            if self.state.options.pause_on_exit:
                await self.sandbox.pause()
            else:
                await self.sandbox.kill()
        finally:
            await self.sandbox.aclose()

    async def running(self) -> bool:
        try:
            return await self.sandbox.is_running()
        except GloveboxError:
            return False

    async def _exec_internal(
        self, *command: Union[str, Path], timeout: Optional[float] = None
    ) -> ExecResult:
        argv, user = _without_sudo([str(each) for each in command])
        try:
            done = await self.sandbox.commands.run(
                argv,
                cwd=self.state.manifest.root,
                env=await self.state.manifest.environment.resolve(),
                user=user,
                timeout=LONGEST if timeout is None else max(timeout, 0.001),
                output=OUTPUT,
            )
        except (NotFound, Gone) as error:
            raise ExecTransportError(command=command, cause=error, retryable=False) from error
        except GloveboxError as error:
            raise ExecTransportError(command=command, cause=error) from error
        if done.reason == "timeout":
            raise ExecTimeoutError(command=command, timeout_s=timeout)
        return ExecResult(
            stdout=_bytes(done.stdout, done.stdout_base64),
            stderr=_bytes(done.stderr, done.stderr_base64),
            exit_code=done.exit_code,
        )

    async def read(self, path: Path, *, user: Union[str, User, None] = None) -> io.IOBase:
        if user is not None:
            await self._check_read_with_exec(path, user=user)
        place = await self._validate_path_access(path)
        try:
            return io.BytesIO(await self.sandbox.files.read(sandbox_path_str(place)))
        except NotFound as error:
            raise WorkspaceReadNotFoundError(path=path, cause=error) from error
        except GloveboxError as error:
            raise WorkspaceArchiveReadError(path=path, cause=error) from error

    async def write(
        self, path: Path, data: io.IOBase, *, user: Union[str, User, None] = None
    ) -> None:
        if user is not None:
            await self._check_write_with_exec(path, user=user)
        place = await self._validate_path_access(path, for_write=True)
        content = coerce_write_payload(path=path, data=data).stream.read()
        try:
            await self.sandbox.files.write(sandbox_path_str(place), content)
        except GloveboxError as error:
            raise WorkspaceArchiveWriteError(path=path, cause=error) from error

    async def _resolve_exposed_port(self, port: int) -> ExposedPortEndpoint:
        """An endpoint with a token of its own, in its query."""
        try:
            token = await self.sandbox.ports.token(port)
        except GloveboxError as error:
            raise ExposedPortUnavailableError(
                port=port,
                exposed_ports=self.state.exposed_ports,
                reason="backend_unavailable",
                cause=error,
            ) from error
        page = urlsplit(self.sandbox.ports.page(token, self.state.options.domain))
        tls = page.scheme == "https"
        return ExposedPortEndpoint(
            host=str(page.hostname), port=page.port or (443 if tls else 80), tls=tls, query=page.query
        )

    async def persist_workspace(self) -> io.IOBase:
        root = Path(self.state.manifest.root)
        archive = f"/tmp/workspace-{uuid.uuid4().hex}.tar"
        left_out = " ".join(shell_tar_exclude_args(self._persist_workspace_skip_relpaths()))
        pack = f"tar -C {shlex.quote(str(root))} {left_out} -cf {archive} ."
        try:
            done = await self.sandbox.commands.run(pack, cwd="/", timeout=LONGEST)
            if done.exit_code != 0:
                raise WorkspaceArchiveReadError(path=root, context={"stderr": done.stderr})
            try:
                return io.BytesIO(await self.sandbox.files.read(archive))
            finally:
                await self.sandbox.files.remove(archive)
        except GloveboxError as error:
            raise WorkspaceArchiveReadError(path=root, cause=error) from error

    async def hydrate_workspace(self, data: io.IOBase) -> None:
        root = Path(self.state.manifest.root)
        raw = coerce_write_payload(path=root, data=data).stream.read()
        try:
            validate_tar_bytes(raw, allow_external_symlink_targets=False)
            await self.sandbox.files.unpack(str(root), raw)
        except (UnsafeTarMemberError, GloveboxError) as error:
            raise WorkspaceArchiveWriteError(path=root, cause=error) from error


class GloveboxSandboxClient(BaseSandboxClient[GloveboxSandboxClientOptions]):
    """Makes sandboxes of the daemon at `url`, by default that of GLOVEBOX_URL or this machine."""

    backend_id = "glovebox"
    supports_default_options = True

    def __init__(
        self,
        *,
        url: Optional[str] = None,
        api_key: Optional[str] = None,
        instrumentation: Optional[Instrumentation] = None,
        dependencies: Optional[Dependencies] = None,
    ) -> None:
        self._daemon: Dict[str, Any] = {"url": url, "api_key": api_key}
        self._instrumentation = instrumentation or Instrumentation()
        self._dependencies = dependencies

    async def create(
        self,
        *,
        snapshot: Union[SnapshotSpec, SnapshotBase, None] = None,
        manifest: Optional[Manifest] = None,
        options: Optional[GloveboxSandboxClientOptions] = None,
    ) -> SandboxSession:
        options = options or GloveboxSandboxClientOptions()
        manifest = self._validate_manifest_for_create(manifest or Manifest())
        sandbox = await self._made(options)
        session = uuid.uuid4()
        state = GloveboxSandboxSessionState(
            session_id=session,
            snapshot=resolve_snapshot(snapshot, str(session)),
            manifest=manifest,
            exposed_ports=options.exposed_ports,
            sandbox_id=sandbox.id,
            options=options,
        )
        return self._session(state, sandbox)

    async def delete(self, session: SandboxSession) -> SandboxSession:
        """Also one that was left paused."""
        state = session.state
        if not isinstance(state, GloveboxSandboxSessionState):
            raise TypeError("this is not a session of Glovebox")
        try:
            sandbox = await AsyncSandbox.connect(state.sandbox_id, **self._daemon)
        except (NotFound, Gone):
            return session
        async with sandbox:
            return session

    async def resume(self, state: SandboxSessionState) -> SandboxSession:
        if not isinstance(state, GloveboxSandboxSessionState):
            raise TypeError("this is not the state of a session of Glovebox")
        state.assert_path_grants_rebound()
        try:
            sandbox = await AsyncSandbox.connect(state.sandbox_id, **self._daemon)
            await sandbox.resume()
            preserved = True
        except (NotFound, Gone):
            sandbox = await self._made(state.options)
            state.sandbox_id = sandbox.id
            state.workspace_root_ready = preserved = False
        session = self._session(state, sandbox)
        session._inner._set_start_state_preserved(preserved)
        return session

    def deserialize_session_state(self, payload: Dict[str, object]) -> SandboxSessionState:
        return self._deserialize_session_state_payload(payload, GloveboxSandboxSessionState)

    async def _made(self, options: GloveboxSandboxClientOptions) -> AsyncSandbox:
        more: Dict[str, Any] = {"network": {"allow": list(options.network)}} if options.network else {}
        return await AsyncSandbox.create(
            options.template,
            timeout=options.lifetime,
            user=options.user,
            metadata={"openai_agents": "sandbox"},
            **more,
            **self._daemon,
        )

    def _session(self, state: GloveboxSandboxSessionState, sandbox: AsyncSandbox) -> SandboxSession:
        inner = GloveboxSandboxSession(state, sandbox)
        return self._wrap_session(inner, instrumentation=self._instrumentation)


def _without_sudo(argv: List[str]) -> Tuple[List[str], Optional[str]]:
    """A command, and the user for whom the base class has put `sudo` before it."""
    if len(argv) > 4 and argv[:2] == ["sudo", "-u"] and argv[3] == "--":
        return argv[4:], argv[2]
    return argv, None


def _bytes(text: str, encoded: Optional[str]) -> bytes:
    return text.encode("utf-8") if encoded is None else base64.b64decode(encoded)
