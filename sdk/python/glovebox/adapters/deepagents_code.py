# SPDX-License-Identifier: Apache-2.0
"""Sandboxes for the command line of LangChain's Deep Agents, `deepagents-code --sandbox glovebox`,
which finds the provider by the package's entry point.
"""

from __future__ import annotations

from typing import Any, Optional

from deepagents_code.integrations.sandbox_provider import (
    SandboxNotFoundError,
    SandboxProvider,
    SandboxProviderMetadata,
)

from .. import Gone, NotFound, Sandbox
from .deepagents import GloveboxSandbox

LIFE = "24h"


class GloveboxProvider(SandboxProvider):
    """Makes and ends sandboxes of the daemon that GLOVEBOX_URL names, or this machine's own. What
    the parameters of its configuration say is given to ``Sandbox.create``; a snapshot's name is that
    of a template.
    """

    @property
    def metadata(self) -> SandboxProviderMetadata:
        return SandboxProviderMetadata(
            name="glovebox", working_dir="/workspace", supports_snapshot_name=True
        )

    def get_or_create(
        self, *, sandbox_id: Optional[str] = None, snapshot: Optional[str] = None, **kwargs: Any
    ) -> GloveboxSandbox:
        if sandbox_id is None:
            return GloveboxSandbox(Sandbox.create(snapshot, **{"timeout": LIFE, **kwargs}))
        return GloveboxSandbox(self._found(sandbox_id))

    def delete(self, *, sandbox_id: str, **kwargs: Any) -> None:
        with self._found(sandbox_id):
            pass  # It ends with the block.

    @staticmethod
    def _found(sandbox_id: str) -> Sandbox:
        try:
            return Sandbox.connect(sandbox_id)
        except (NotFound, Gone) as error:
            raise SandboxNotFoundError(str(error)) from error
