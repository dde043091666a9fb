# SPDX-License-Identifier: Apache-2.0
"""Adapters for agent frameworks. Each module imports its framework; this one imports none."""
