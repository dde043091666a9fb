# SPDX-License-Identifier: Apache-2.0
"""A code executor for Google's Agent Development Kit:

    with GloveboxCodeExecutor() as executor:
        agent = LlmAgent(name="analyst", model=…, code_executor=executor)
"""

from __future__ import annotations

import base64
import binascii
import re
import threading
from typing import Any, Dict, Optional, Union

from google.adk.agents.invocation_context import InvocationContext
from google.adk.code_executors.base_code_executor import BaseCodeExecutor
from google.adk.code_executors.code_execution_utils import (
    CodeExecutionInput,
    CodeExecutionResult,
    File,
)
from pydantic import Field, PrivateAttr

from .. import Gone, NotFound, Sandbox, Verdict

_COLOR = re.compile(r"\x1b\[[0-9;]*m")


class GloveboxCodeExecutor(BaseCodeExecutor):
    """Executes Python in a sandbox of each session, whose variables and files stay from block to
    block. Data files of the conversation are in its workspace; plots become artifacts.
    """

    stateful: bool = True
    optimize_data_file: bool = True
    timeout_seconds: Optional[int] = 60
    template: Optional[str] = None
    #: Those of ``Sandbox.create``.
    options: Dict[str, Any] = Field(default_factory=dict)
    #: When there are more sessions, the sandbox of the one that was used least recently ends.
    most_sandboxes: int = 32

    _sandboxes: Dict[str, Sandbox] = PrivateAttr(default_factory=dict)
    _plots: int = PrivateAttr(default=0)
    # ADK calls an executor from threads: one for each session at a time.
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    def __enter__(self) -> "GloveboxCodeExecutor":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends all sandboxes."""
        with self._lock:
            left, self._sandboxes = list(self._sandboxes.values()), {}
        for sandbox in left:
            _end(sandbox)

    def execute_code(
        self, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        session = code_execution_input.execution_id
        if session is None:
            with self._create() as sandbox:
                return self._execute(sandbox, code_execution_input)
        try:
            return self._execute(self._sandbox_of(session), code_execution_input)
        except (Gone, NotFound):
            # Its time is over. The session goes on in another one, without variables.
            with self._lock:
                ended = self._sandboxes.pop(session, None)
            if ended is not None:
                ended.close()
            return self._execute(self._sandbox_of(session), code_execution_input)

    def _create(self) -> Sandbox:
        return Sandbox.create(self.template, **{"timeout": "1h", **self.options})

    def _sandbox_of(self, session: str) -> Sandbox:
        with self._lock:
            found = self._sandboxes.pop(session, None)
        found = found if found is not None else self._create()
        with self._lock:
            self._sandboxes[session] = found
            excess = None
            if len(self._sandboxes) > self.most_sandboxes:
                excess = self._sandboxes.pop(next(iter(self._sandboxes)))
        if excess is not None:
            _end(excess)
        return found

    def _execute(self, sandbox: Sandbox, given: CodeExecutionInput) -> CodeExecutionResult:
        for file in given.input_files:
            sandbox.files.write(file.name, _bytes_of(file.content))
        verdict = sandbox.execute(given.code, time=self.timeout_seconds)
        value = verdict.text
        return CodeExecutionResult(
            stdout=verdict.stdout + (f"{value}\n" if value is not None else ""),
            # ADK takes any text here for a failure, and asks the model to try again.
            stderr="" if verdict.ok else _failure(verdict, self.timeout_seconds),
            output_files=[self._plot(each.png) for each in verdict.results if each.png is not None],
            exit_code=0 if verdict.ok else verdict.exit_code or 1,
        )

    def _plot(self, png: bytes) -> File:
        with self._lock:
            self._plots += 1
            return File(name=f"plot_{self._plots}.png", content=png, mime_type="image/png")


def _failure(verdict: Verdict, seconds: Optional[int]) -> str:
    if verdict.status == "timeout":
        return f"{verdict.stderr}the code took more than {seconds} s"
    if verdict.error is not None:
        return verdict.stderr + _COLOR.sub("", verdict.error.traceback)
    return f"{verdict.stderr}the code ended with {verdict.status}"


def _bytes_of(content: Union[str, bytes]) -> bytes:
    """A file as it is. ADK passes one as Base64 or as it is, and says nowhere which."""
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        return content if isinstance(content, bytes) else content.encode()


def _end(sandbox: Sandbox) -> None:
    sandbox.kill()
    sandbox.close()
