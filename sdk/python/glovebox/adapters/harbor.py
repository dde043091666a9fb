# SPDX-License-Identifier: Apache-2.0
"""An environment for Harbor, whose tasks have the form of Terminal-Bench's:

    harbor run -p TASK -a oracle -e glovebox.adapters.harbor:GloveboxEnvironment
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, Optional, Union

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import (
    EnvironmentCapabilities,
    EnvironmentResourceCapabilities,
)
from harbor.environments.definition import (
    require_agent_environment_definition,
    should_use_prebuilt_docker_image,
)

from .. import AsyncClient, AsyncSandbox, Limits, Network, NotFound

LONGEST = 24 * 3600  # Seconds of a sandbox, and of a command without a limit of its own.


class GloveboxEnvironment(BaseEnvironment):
    """One sandbox with root inside. A Dockerfile is built once, as a template that the next trial of
    the same task uses again. The network is what the task's policy says, enforced by the daemon.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._client: Optional[AsyncClient] = None
        self._sandbox: Optional[AsyncSandbox] = None

    @staticmethod
    def type() -> str:
        return "glovebox"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(
            disable_internet=True,
            network_allowlist=True,
            network_allowlist_hostnames=True,
            network_allowlist_wildcard_hostnames=True,
            network_allowlist_ipv4_addresses=True,
            network_allowlist_ipv6_addresses=True,
            network_allowlist_ipv4_cidrs=True,
            network_allowlist_ipv6_cidrs=True,
        )

    @classmethod
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        return EnvironmentResourceCapabilities(
            cpu_limit=True, memory_limit=True, fractional_cpus=True
        )

    @property
    def sandbox(self) -> AsyncSandbox:
        """The sandbox, once it has started."""
        if self._sandbox is None:
            raise RuntimeError("the environment has not started")
        return self._sandbox

    def _validate_definition(self) -> None:
        if (self.environment_dir / "docker-compose.yaml").exists():
            raise ValueError("a sandbox has no services of docker-compose.yaml; use a Dockerfile")
        require_agent_environment_definition(
            self.environment_dir, docker_image=self.task_env_config.docker_image
        )

    async def start(self, force_build: bool) -> None:
        self._client = AsyncClient()
        image = self.task_env_config.docker_image
        base: Dict[str, Any]
        if should_use_prebuilt_docker_image(
            self.environment_dir, docker_image=image, force_build=force_build
        ):
            base = {"image": image}
        else:
            base = {"template": await self._template(self._client, force_build)}
        cpus, memory = self._effective_cpus, self._effective_memory_mb
        disk = self._effective_storage_mb
        self._sandbox = await self._client.sandboxes.create(
            **base,
            user="root",
            timeout=LONGEST,
            env=self._startup_env() or None,
            network=self._rules(),
            limits=Limits(
                cpus=None if cpus is None else float(cpus),
                memory=None if memory is None else f"{memory}M",
                disk=None if disk is None else f"{disk}M",
            ),
            metadata={"harbor": self.session_id},
        )
        made = await self.ensure_dirs(self._mount_targets(writable_only=True))
        if made is not None and made.return_code != 0:
            raise RuntimeError(f"cannot create directories for logs: {made.stderr}")
        await self._upload_environment_dir_after_start()

    async def stop(self, delete: bool) -> None:
        sandbox, self._sandbox = self._sandbox, None
        client, self._client = self._client, None
        if sandbox is not None:
            await (sandbox.kill() if delete else sandbox.pause())
        if client is not None:
            await client.aclose()

    async def exec(
        self,
        command: str,
        cwd: Optional[str] = None,
        env: Optional[Dict[str, str]] = None,
        timeout_sec: Optional[int] = None,
        user: Union[str, int, None] = None,
    ) -> ExecResult:
        runs_as = self._resolve_user(user)
        tell = self._output_callback()

        async def stdout(text: str) -> None:
            if tell is not None:
                await tell(text, "stdout")

        async def stderr(text: str) -> None:
            if tell is not None:
                await tell(text, "stderr")

        done = await self.sandbox.commands.run(
            ["bash", "-c", command],
            # By default, where the image's or the Dockerfile's WORKDIR says.
            cwd=cwd or self.task_env_config.workdir,
            env=self._merge_env(env),
            user=None if runs_as is None else str(runs_as),
            timeout=timeout_sec or LONGEST,
            on_stdout=stdout if tell is not None else None,
            on_stderr=stderr if tell is not None else None,
        )
        if done.reason == "timeout":
            raise RuntimeError(f"the command took more than {timeout_sec} s")
        return ExecResult(stdout=done.stdout, stderr=done.stderr, return_code=done.exit_code)

    async def upload_file(self, source_path: Union[Path, str], target_path: str) -> None:
        await self.sandbox.files.upload(source_path, target_path)

    async def upload_dir(self, source_dir: Union[Path, str], target_dir: str) -> None:
        await self.sandbox.files.upload(source_dir, target_dir)

    async def download_file(self, source_path: str, target_path: Union[Path, str]) -> None:
        await self.sandbox.files.download(source_path, target_path)

    async def download_dir(self, source_dir: str, target_dir: Union[Path, str]) -> None:
        await self.sandbox.files.download(source_dir, target_dir)

    async def _template(self, client: AsyncClient, force_build: bool) -> str:
        name = f"harbor-{self.environment_id[:24]}"
        if not force_build:
            try:
                return (await client.templates.get(name)).name
            except NotFound:
                pass
        self.logger.debug("building the template %s of %s", name, self.environment_dir)
        return (await client.templates.build_dockerfile(name, self.environment_dir)).name

    def _rules(self) -> Optional[Network]:
        if self._network_disabled:
            return None
        if self._network_is_public:
            return Network(default="allow")
        return Network(allow=list(self.network_policy.allowed_hosts))
