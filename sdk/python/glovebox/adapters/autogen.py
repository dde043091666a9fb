# SPDX-License-Identifier: Apache-2.0
"""A code executor for AutoGen:

    async with GloveboxCodeExecutor() as executor:
        agent = CodeExecutorAgent("executor", code_executor=executor)
"""

from __future__ import annotations

import asyncio
from typing import Any, Dict, List, Optional

from autogen_core import CancellationToken, Component
from autogen_core.code_executor import CodeBlock, CodeExecutor, CodeResult
from pydantic import BaseModel
from typing_extensions import Self

from .. import AsyncContext, AsyncSandbox, Verdict

LANGUAGES = {"": "python", "py": "python", "sh": "bash", "shell": "bash", "js": "javascript"}


class GloveboxCodeExecutorConfig(BaseModel):
    """What a saved executor keeps."""

    template: Optional[str] = None
    timeout: float = 60.0


class GloveboxCodeExecutor(CodeExecutor, Component[GloveboxCodeExecutorConfig]):
    """Executes blocks of code in live interpreters of one sandbox, which keep their variables from
    block to block until `restart`.
    """

    component_config_schema = GloveboxCodeExecutorConfig
    component_provider_override = "glovebox.adapters.autogen.GloveboxCodeExecutor"

    def __init__(
        self, template: Optional[str] = None, *, timeout: float = 60.0, **options: Any
    ) -> None:
        """`timeout`: seconds for each block; `options`: those of ``AsyncSandbox.create``."""
        self._template = template
        self._timeout = timeout
        self._options = {"timeout": "1h", **options}
        self._sandbox: Optional[AsyncSandbox] = None
        self._contexts: Dict[str, AsyncContext] = {}

    async def start(self) -> None:
        if self._sandbox is None:
            self._sandbox = await AsyncSandbox.create(self._template, **self._options)

    async def stop(self) -> None:
        sandbox, self._sandbox = self._sandbox, None
        self._contexts = {}
        if sandbox is not None:
            await sandbox.kill()
            await sandbox.aclose()

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    async def execute_code_blocks(
        self, code_blocks: List[CodeBlock], cancellation_token: CancellationToken
    ) -> CodeResult:
        if self._sandbox is None:
            raise ValueError("start the executor first, or use it with 'async with'")
        outputs = []
        for block in code_blocks:
            work = asyncio.ensure_future(self._execute(self._sandbox, block))
            cancellation_token.link_future(work)
            verdict = await work
            outputs.append(str(verdict) if verdict.stdout or verdict.results or not verdict.ok
                           else "")
            if verdict.status == "timeout":
                raise asyncio.TimeoutError(f"the code took more than {self._timeout:g} s")
            if not verdict.ok:
                return CodeResult(exit_code=verdict.exit_code or 1, output="\n".join(outputs))
        return CodeResult(exit_code=0, output="\n".join(outputs))

    async def _execute(self, sandbox: AsyncSandbox, block: CodeBlock) -> Verdict:
        name = block.language.strip().lower()
        language = LANGUAGES.get(name, name)
        if language not in self._contexts:
            self._contexts[language] = await sandbox.contexts.create(language)
        return await self._contexts[language].execute(block.code, time=self._timeout)

    def _to_config(self) -> GloveboxCodeExecutorConfig:
        return GloveboxCodeExecutorConfig(template=self._template, timeout=self._timeout)

    @classmethod
    def _from_config(cls, config: GloveboxCodeExecutorConfig) -> Self:
        return cls(config.template, timeout=config.timeout)
