# SPDX-License-Identifier: Apache-2.0
"""LangChain's own suite for sandboxes of Deep Agents, as it comes with `langchain-tests`."""

import pytest
from langchain_tests.integration_tests import SandboxIntegrationTests

from glovebox import Sandbox
from glovebox.adapters.deepagents import GloveboxSandbox


class TestGloveboxSandbox(SandboxIntegrationTests):
    @pytest.fixture(scope="class")
    def sandbox(self):
        with Sandbox.create(timeout="1h") as sandbox:
            yield GloveboxSandbox(sandbox)
