# SPDX-License-Identifier: Apache-2.0
# Written by sdk/python/generate from api/openapi.yaml: change that, and run it again.
"""The words that fields of the API may have."""

from .._model import OpenEnum

__all__ = [
    "EndReason", "JudgeVerdict", "SandboxState", "Status",
]


class EndReason(OpenEnum):
    """Why a process ended, in the words of a verdict's status. canceled: a client killed it."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    SIGNALED = "signaled"
    CANCELED = "canceled"


class JudgeVerdict(OpenEnum):
    """The first of the cases' that is not AC."""

    AC = "AC"
    WA = "WA"
    TLE = "TLE"
    MLE = "MLE"
    OLE = "OLE"
    RE = "RE"
    CE = "CE"
    SKIPPED = "SKIPPED"


class SandboxState(OpenEnum):
    """Words of the API."""

    RUNNING = "running"
    PAUSED = "paused"


class Status(OpenEnum):
    """Words of the API."""

    OK = "ok"
    ERROR = "error"
    COMPILE_ERROR = "compile_error"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    PIDS_LIMIT = "pids_limit"
    DISK_FULL = "disk_full"
    SIGNALED = "signaled"
    CANCELED = "canceled"
    REFUSED = "refused"
    UNVERIFIED = "unverified"
    FAILED = "failed"
