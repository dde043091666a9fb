# SPDX-License-Identifier: Apache-2.0
"""Inspect's own checks of sandbox environments, as they come with `inspect_ai`."""

import pytest
from inspect_ai.util._sandbox.self_check import *  # noqa: F401,F403

from glovebox.adapters.inspect_ai import GloveboxSandboxEnvironment

# A guest never becomes another user, and there is no root inside.
NEEDS_ROOT = {"test_exec_as_user"}


@pytest.fixture
async def sandbox_env(request):
    if request.node.originalname in NEEDS_ROOT:
        request.node.add_marker(pytest.mark.xfail(reason="needs root inside", strict=True))
    environment = await GloveboxSandboxEnvironment.create()
    try:
        yield environment
    finally:
        await environment.end()
