# SPDX-License-Identifier: Apache-2.0
"""What a dry run may be told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Optional

from ._model import Duration


@dataclass(frozen=True)
class DryRunOptions:
    """In place of ``dry_run=True``, for other than the usual rules."""

    network: Optional[Literal["closed", "open"]] = None
    """``open`` lets the code reach what the network rules allow, although nobody can take that
    back."""
    timeout: Optional[Duration] = None
    """How long it waits for a decision before it is discarded; 5 minutes by default."""
