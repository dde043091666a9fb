# SPDX-License-Identifier: Apache-2.0
"""An executor for smolagents' CodeAgent:

    with CodeAgent(tools=[…], model=…, executor=GloveboxExecutor([], logger)) as agent:
        agent.run("…")
"""

from __future__ import annotations

from io import BytesIO
from typing import Any, List

from smolagents.local_python_executor import CodeOutput
from smolagents.remote_executors import RemotePythonExecutor
from smolagents.utils import AgentError

from .. import Sandbox


MISSING = """
import importlib.metadata, importlib.util

def _is_there(name):
    try:
        return bool(importlib.util.find_spec(name.split(".")[0]) or importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return False

print(*[name for name in {names!r} if not _is_there(name)])
"""


class GloveboxExecutor(RemotePythonExecutor):
    """Runs the agent's code in one live interpreter of a sandbox."""

    def __init__(
        self,
        additional_imports: List[str],
        logger: Any,
        allow_pickle: bool = False,
        *,
        timeout: float = 60.0,
        **options: Any,
    ) -> None:
        """`timeout`: seconds for each step; `options`: those of ``Sandbox.create``."""
        super().__init__(additional_imports, logger, allow_pickle)
        self._timeout = timeout
        self.sandbox = Sandbox.create(**{"timeout": "1h", **options})
        self.installed_packages = self.install_packages(additional_imports)

    def install_packages(self, additional_imports: List[str]) -> List[str]:
        """Installs from the daemon's package sources what cannot be imported already."""
        found = self.sandbox.execute(MISSING.format(names=list(additional_imports)))
        wanted = found.check().stdout.split()
        if wanted:
            verdict = self.sandbox.install(*(f"pip:{name}" for name in wanted))
            if not verdict.ok:
                raise AgentError(f"cannot install {', '.join(wanted)}:\n{verdict}", self.logger)
        return additional_imports

    def run_code_raise_errors(self, code: str) -> CodeOutput:
        verdict = self.sandbox.execute(code, time=self._timeout)
        error = verdict.error
        if error is not None and error.name == self.FINAL_ANSWER_EXCEPTION:
            answer = self._deserialize_final_answer(error.value, self.allow_pickle)
            return CodeOutput(output=answer, logs=verdict.stdout, is_final_answer=True)
        if not verdict.ok:
            raise AgentError(
                f"{verdict.stdout}\nThe code ended with {verdict.status}:\n{verdict}", self.logger
            )
        return CodeOutput(output=_value(verdict.result), logs=verdict.stdout, is_final_answer=False)

    def cleanup(self) -> None:
        """Ends the sandbox."""
        self.sandbox.kill()
        self.sandbox.close()


def _value(result: Any) -> Any:
    """What a step returns: a picture as a PIL image, anything else as text."""
    if result is None or not result.main:
        return None
    for content in (result.png, result.jpeg):
        if content is not None:
            import PIL.Image

            return PIL.Image.open(BytesIO(content))
    return result.text
