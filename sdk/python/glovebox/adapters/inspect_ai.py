# SPDX-License-Identifier: Apache-2.0
"""Sandboxes for evaluations with Inspect AI, as the type "glovebox":

    Task(dataset=…, solver=…, sandbox="glovebox")
    Task(dataset=…, solver=…, sandbox=("glovebox", "my-template"))
    Task(…, sandbox=SandboxEnvironmentSpec("glovebox", GloveboxConfig(image="python:3.12", user="root")))

Each sample gets a sandbox of the daemon that GLOVEBOX_URL and GLOVEBOX_API_KEY name.
"""

from __future__ import annotations

import asyncio
import posixpath
import uuid
from typing import Any, Dict, List, Optional, Union, overload

from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentConfigType,
    SandboxEnvironmentLimits,
    SandboxUserUnsupportedError,
    sandboxenv,
)
from pydantic import BaseModel
from typing_extensions import Literal, override

from .. import APIError, AsyncClient, AsyncProcess, AsyncSandbox, Conflict, Gone, NotFound
from .._async.commands import output_of

LIFE = "24h"
STDIN_PIECE = 512 * 1024
MOST_COMMAND = 512 * 1024
FROM_FILE = """
import os, sys
with open(sys.argv[1], "rb") as file:
    command = file.read().split(b"\\0")
os.unlink(sys.argv[1])
os.execvp(command[0], command)
"""


class GloveboxConfig(BaseModel, frozen=True):
    """What the sandbox of a sample is made of."""

    template: Optional[str] = None
    image: Optional[str] = None
    user: Optional[Literal["user", "root"]] = None
    """With "root", commands may run as any user that there is inside."""


@sandboxenv(name="glovebox")
class GloveboxSandboxEnvironment(SandboxEnvironment):
    """A sandbox of a sample."""

    def __init__(self, sandbox: AsyncSandbox, home: str, user: str) -> None:
        super().__init__()
        self.sandbox = sandbox
        self._home = home
        self._user = user

    @classmethod
    async def create(cls, template: Optional[str] = None, **options: Any) -> (
        "GloveboxSandboxEnvironment"
    ):
        """A sandbox with the options of ``AsyncSandbox.create``."""
        sandbox = await AsyncSandbox.create(
            template, client=AsyncClient(), **{"timeout": LIFE, **options}
        )
        said = (await sandbox.commands.run("pwd; id -un", check=True)).stdout.split()
        return cls(sandbox, *said)

    @override
    @classmethod
    async def sample_init(
        cls,
        task_name: str,
        config: Optional[SandboxEnvironmentConfigType],
        metadata: Dict[str, str],
    ) -> Dict[str, SandboxEnvironment]:
        made = config if isinstance(config, GloveboxConfig) else GloveboxConfig(
            template=config if isinstance(config, str) else None
        )
        metadata = {"inspect_task": task_name[:256]}
        return {"default": await cls.create(**made.model_dump(), metadata=metadata)}

    @override
    @classmethod
    def config_deserialize(cls, config: Dict[str, Any]) -> GloveboxConfig:
        return GloveboxConfig.model_validate(config)

    @override
    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: Optional[SandboxEnvironmentConfigType],
        environments: Dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        for each in environments.values():
            await each.as_type(GloveboxSandboxEnvironment).end()

    async def end(self) -> None:
        """Ends the sandbox."""
        try:
            await self.sandbox.kill()
        finally:
            await self.sandbox.client.aclose()

    @override
    async def exec(
        self,
        cmd: List[str],
        input: Union[str, bytes, None] = None,
        cwd: Optional[str] = None,
        env: Optional[Dict[str, str]] = None,
        user: Optional[str] = None,
        timeout: Optional[int] = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        other = None if user == self._user else user
        if other is not None and self._user != "root":
            raise SandboxUserUnsupportedError(
                f"this sandbox runs everything as '{self._user}', not as '{user}'; "
                "GloveboxConfig(user='root') allows several"
            )
        try:
            process = await self.sandbox.commands.start(
                await self._sent(cmd),
                cwd=self._absolute(cwd or "."),
                env=env,
                user=other,
                stdin=input is not None,
                timeout=timeout,
            )
        except APIError as error:
            if "ermission denied" in error.message:
                raise PermissionError(error.message) from error
            if "o such file" in error.message or isinstance(error, NotFound):
                return ExecResult(False, 127, "", error.message)
            raise
        feeding = asyncio.ensure_future(self._feed(process, input))
        try:
            return await self._follow(process)
        finally:
            feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)

    async def _sent(self, cmd: List[str]) -> List[str]:
        """The command; one that no request has room for goes through a file."""
        if sum(len(each.encode("utf-8")) for each in cmd) <= MOST_COMMAND:
            return cmd
        path = f"/tmp/.glovebox-command-{uuid.uuid4().hex}"
        await self.sandbox.files.write(path, "\0".join(cmd))
        return ["python3", "-c", FROM_FILE, path]

    @staticmethod
    async def _feed(process: AsyncProcess, input: Union[str, bytes, None]) -> None:
        if input is None:
            return
        content = input.encode("utf-8") if isinstance(input, str) else input
        try:
            for at in range(0, len(content), STDIN_PIECE):
                await process.send_stdin(content[at : at + STDIN_PIECE])
            await process.close_stdin()
        except (Conflict, Gone, NotFound):
            pass  # It ended without reading everything.

    @staticmethod
    async def _follow(process: AsyncProcess) -> ExecResult[str]:
        most = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
        out: Dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
        try:
            async for event in process.events():
                if event.type in out:
                    kept = out[event.type]
                    kept += output_of(event)
                    if len(kept) > most:
                        raise OutputLimitExceededError(
                            SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR,
                            bytes(kept[:most]).decode("utf-8", "replace"),
                        )
                elif event.type == "ended":
                    if event.reason == "timeout":
                        raise TimeoutError("the command exceeded its time limit")
                    return _result(event.exit_code or 0, out)
        except BaseException:
            await process.kill()
            raise
        raise RuntimeError("the sandbox ended before the command")

    @override
    async def write_file(self, file: str, contents: Union[str, bytes]) -> None:
        with _as_os_errors(file):
            await self.sandbox.files.write(self._absolute(file), contents)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    @override
    async def read_file(self, file: str, text: bool = True) -> Union[str, bytes]:
        path = self._absolute(file)
        with _as_os_errors(file):
            if (await self.sandbox.files.stat(path)).size > (
                SandboxEnvironmentLimits.MAX_READ_FILE_SIZE
            ):
                raise OutputLimitExceededError(
                    SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None
                )
            content = await self.sandbox.files.read(path)
        return content.decode("utf-8") if text else content

    def _absolute(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self._home, path))


def _result(status: int, out: Dict[str, bytearray]) -> ExecResult[str]:
    stdout, stderr = (bytes(out[name]).decode("utf-8", "replace") for name in ("stdout", "stderr"))
    if status == 126 and "ermission denied" in stdout + stderr:
        raise PermissionError(stderr.strip() or stdout.strip())
    return ExecResult(status == 0, status, stdout, stderr)


class _as_os_errors:
    """The daemon's errors of files as those that Python's own functions raise."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: Optional[BaseException], trace: object) -> None:
        if not isinstance(error, APIError):
            return
        message = error.message.lower()
        if isinstance(error, NotFound):
            raise FileNotFoundError(f"no such file: {self._path}") from error
        if "permission denied" in message:
            raise PermissionError(f"{error.message}: {self._path}") from error
        if "directory" in message or "not a regular file" in message:
            raise IsADirectoryError(f"is a directory: {self._path}") from error
