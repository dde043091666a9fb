# SPDX-License-Identifier: Apache-2.0
"""When a request may be sent again, and after which time."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Optional

from .errors import APIError, ConnectionFailed, GloveboxError, QuotaError, RateLimited, Unavailable


@dataclass(frozen=True)
class Retry:
    """How often, and how patiently, a client tries again.

    Only what is safe is tried again: a request that the daemon did not accept (429), that never
    reached it, or whose repetition has no effect of its own. Creating sandboxes, running and
    executing code are such requests, because they carry an ``Idempotency-Key``.
    """

    #: Attempts after the first one.
    attempts: int = 4
    #: Seconds before the first of them; each following pause is twice as long.
    first: float = 0.1
    #: The longest pause. If the daemon asks for a longer one, the error is raised.
    longest: float = 20.0

    def pause(
        self, error: GloveboxError, attempt: int, repeatable: bool, sent: bool
    ) -> Optional[float]:
        """Seconds to wait before the next attempt; None if there must be none.

        `attempt` counts from 0; `sent` tells whether the daemon may have seen the request.
        """
        if attempt >= self.attempts or not self._is_safe(error, repeatable, sent):
            return None
        pause = min(self.longest, self.first * 2.0**attempt)
        wanted = error.retry_after if isinstance(error, APIError) else None
        if wanted is not None and wanted > self.longest:
            return None
        # Clients that were refused together must not return together.
        return max(pause, wanted or 0.0) * random.uniform(1.0, 1.25)

    @staticmethod
    def _is_safe(error: GloveboxError, repeatable: bool, sent: bool) -> bool:
        if isinstance(error, QuotaError):
            return False
        if isinstance(error, RateLimited):
            return True
        if isinstance(error, Unavailable):
            return repeatable
        return isinstance(error, ConnectionFailed) and (repeatable or not sent)
