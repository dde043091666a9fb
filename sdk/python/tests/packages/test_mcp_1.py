# SPDX-License-Identifier: Apache-2.0
"""The tests of test_mcp.py, with the older line of MCP's own package."""

from test_mcp import *  # noqa: F401,F403
