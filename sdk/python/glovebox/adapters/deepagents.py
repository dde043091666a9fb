# SPDX-License-Identifier: Apache-2.0
"""A sandbox as the backend of LangChain's Deep Agents:

    from deepagents import create_deep_agent
    from glovebox import Sandbox
    from glovebox.adapters.deepagents import GloveboxSandbox

    with Sandbox.create(timeout="1h") as sandbox:
        agent = create_deep_agent(model=…, backend=GloveboxSandbox(sandbox))
"""

from __future__ import annotations

from typing import Callable, List, Literal, Optional, Tuple, Union

from deepagents.backends.protocol import (
    ExecuteResponse,
    FileDownloadResponse,
    FileUploadResponse,
)
from deepagents.backends.sandbox import BaseSandbox

from .. import APIError, Forbidden, NotFound, Sandbox

FileError = Union[
    Literal["file_not_found", "permission_denied", "is_directory", "invalid_path"], str
]


# One stream, so that the lines keep their order; and models write `python` for what Debian calls
# python3.
PRELUDE = """exec 2>&1
command -v python > /dev/null || python() { python3 "$@"; }
"""


class GloveboxSandbox(BaseSandbox):
    """Files and commands of a sandbox. Glovebox's own file routes move the contents; everything
    else is derived from `execute`, as the base class does it.
    """

    def __init__(
        self, sandbox: Sandbox, *, timeout: int = 30 * 60, output: Union[int, str] = "16M"
    ) -> None:
        """`timeout`: seconds for a command unless the caller sets its own; `output`: how much of
        what a command prints is kept.
        """
        self._sandbox = sandbox
        self._timeout = timeout
        self._output = output

    @property
    def id(self) -> str:
        return self._sandbox.id

    def execute(self, command: str, *, timeout: Optional[int] = None) -> ExecuteResponse:
        done = self._sandbox.commands.run(
            ["/bin/sh", "-c", PRELUDE + command],
            timeout=timeout or self._timeout,
            output=self._output,
        )
        output = done.stdout
        if done.reason == "timeout":
            output += f"\n[the command was ended after {timeout or self._timeout} s]"
        return ExecuteResponse(
            output=output, exit_code=done.exit_code, truncated=bool(done.truncated.stdout)
        )

    def upload_files(self, files: List[Tuple[str, bytes]]) -> List[FileUploadResponse]:
        return [
            FileUploadResponse(path=path, error=self._attempt(path, lambda: self._write(path, data)))
            for path, data in files
        ]

    def download_files(self, paths: List[str]) -> List[FileDownloadResponse]:
        return [self._download(path) for path in paths]

    def _write(self, path: str, content: bytes) -> None:
        self._sandbox.files.write(path, content)

    def _download(self, path: str) -> FileDownloadResponse:
        found: List[bytes] = []
        error = self._attempt(path, lambda: found.append(self._sandbox.files.read(path)))
        return FileDownloadResponse(path=path, content=found[0] if found else None, error=error)

    def _attempt(self, path: str, work: Callable[[], None]) -> Optional[FileError]:
        """What went wrong, in the framework's words; None if nothing did."""
        if not path.startswith("/"):
            return "invalid_path"
        try:
            work()
        except NotFound:
            return "file_not_found"
        except Forbidden:
            return "permission_denied"
        except APIError as error:
            text = error.message.lower()
            if "directory" in text:
                return "is_directory"
            return "permission_denied" if "permission" in text else error.message
        return None
