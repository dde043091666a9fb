# SPDX-License-Identifier: Apache-2.0
# Written by sdk/python/generate from api/openapi.yaml: change that, and run it again.
"""What responses consist of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, List, Literal, Mapping, Optional

from .._model import Convert, Model, Size, list_of, map_of, time_of
from .._shown import CommandMixin, JudgeMixin, ResultMixin, VerdictMixin
from .requests import Quotas
from .words import EndReason, JudgeVerdict, SandboxState, Status

__all__ = [
    "ApiKey", "Approval", "AuditRecord", "CaseUsage", "CommandResult", "Completion",
    "ConnectionRecord", "Connections", "ContextInfo", "DryRun", "DryRunFile", "DryRunFiles",
    "DryRunHost", "DryRunProcess", "DryRunToolCall", "DryRunVariable", "DryRunVariables",
    "EmergencyStop", "FileChange", "FileEntry", "FileEvent", "Finding", "GuestError", "ImageConfig",
    "Inspection", "JudgeReport", "JudgedCase", "LimitState", "MountedVolume", "NewApiKey",
    "PerStream", "PerStreamBytes", "PerStreamTruncated", "ProcessEvent", "ProcessInfo", "Result",
    "RunUsage", "SandboxInfo", "SandboxUsage", "TemplateEvent", "TemplateInfo", "TenantInfo",
    "TenantUsed", "Verdict", "VerdictCheck", "VolumeInfo",
]


@dataclass(frozen=True)
class Finding(Model):
    """The schema ``Finding``."""

    rule: str
    severity: Literal["low", "medium", "high"]
    action: Literal["note", "ask", "refuse"]
    line: int
    column: int
    subject: str
    """What was found; chosen by the program's author."""
    reason: str
    policy: str


@dataclass(frozen=True)
class DryRunFile(Model):
    """The schema ``DryRunFile``."""

    path: str
    """Relative to the workspace."""
    type: Literal["file", "directory", "symlink", "other"]
    size: int
    """Bytes; of a deleted file, those that it had."""
    size_before: Optional[int] = None
    mode: Optional[int] = None
    """Permission bits, where they changed."""
    mode_before: Optional[int] = None
    diff: Optional[str] = None
    """A unified diff, of texts of at most 64 KiB and as far as there is room."""


@dataclass(frozen=True)
class DryRunFiles(Model):
    """Of the workspace; not of /tmp."""

    added: List[DryRunFile]
    modified: List[DryRunFile]
    deleted: List[DryRunFile]
    truncated: bool

    _convert: ClassVar[Mapping[str, Convert]] = {
        "added": list_of(DryRunFile.from_json),
        "modified": list_of(DryRunFile.from_json),
        "deleted": list_of(DryRunFile.from_json),
    }


@dataclass(frozen=True)
class DryRunProcess(Model):
    """The schema ``DryRunProcesse``."""

    pid: int
    command: str


@dataclass(frozen=True)
class DryRunHost(Model):
    """The schema ``DryRunHost``."""

    host: str
    port: int
    verdict: Literal["allowed", "denied", "failed"]


@dataclass(frozen=True)
class DryRunToolCall(Model):
    """The schema ``DryRunToolCall``."""

    name: str
    arguments: str
    """JSON, cut to 1 KiB."""


@dataclass(frozen=True)
class DryRunVariable(Model):
    """The schema ``DryRunVariable``."""

    name: str
    type: str
    value: str
    """The beginning of its representation."""
    type_before: Optional[str] = None
    """Of a changed one."""
    value_before: Optional[str] = None


@dataclass(frozen=True)
class DryRunVariables(Model):
    """Absent where the interpreter did not say."""

    added: List[DryRunVariable]
    changed: List[DryRunVariable]
    removed: List[DryRunVariable]
    truncated: bool

    _convert: ClassVar[Mapping[str, Convert]] = {
        "added": list_of(DryRunVariable.from_json),
        "changed": list_of(DryRunVariable.from_json),
        "removed": list_of(DryRunVariable.from_json),
    }


@dataclass(frozen=True)
class DryRun(Model):
    """What a dry run of code or of a command has changed. Names, values, commands and contents are
    its own, cut to bounds.
    """

    id: str
    expires: datetime
    """When it is discarded."""
    files: DryRunFiles
    """Of the workspace; not of /tmp."""
    processes: List[DryRunProcess]
    """Processes that it started and left behind."""
    hosts: List[DryRunHost]
    """What it tried to reach, in a sandbox with network rules."""
    tool_calls: List[DryRunToolCall]
    """Tools that it tried to call; none was called."""
    context: Optional[str] = None
    """Where the code was executed; absent for a command."""
    variables: Optional[DryRunVariables] = None
    """Absent where the interpreter did not say."""
    committed: Optional[bool] = None
    """Of glovebox run, which decides at once."""

    _convert: ClassVar[Mapping[str, Convert]] = {
        "expires": time_of,
        "files": DryRunFiles.from_json,
        "processes": list_of(DryRunProcess.from_json),
        "hosts": list_of(DryRunHost.from_json),
        "tool_calls": list_of(DryRunToolCall.from_json),
        "variables": DryRunVariables.from_json,
    }


@dataclass(frozen=True)
class Approval(Model):
    """The schema ``Approval``."""

    id: str
    sandbox: Optional[str]
    """null: a run, in a sandbox of its own."""
    kind: Literal["execution", "run", "judge", "command", "packages", "template", "tool_call"]
    """tool_call: the code calls a tool; 'code' is its name and its arguments."""
    language: str
    code: str
    """At most its first 64 KiB."""
    risk: int
    findings: List[Finding]
    grants: List[str]
    """What it would be granted."""
    dry_run: Optional[DryRun]
    """What a dry run of it has changed, which an approval commits; null: there was none."""
    no_dry_run: Optional[str]
    """Why there was no dry run although a policy wants one."""
    hash: str
    """Of all that would run, with what, of what it would be granted, and of what a dry run of it
    has changed.
    """
    asked: datetime
    expires: datetime

    _convert: ClassVar[Mapping[str, Convert]] = {
        "findings": list_of(Finding.from_json),
        "dry_run": DryRun.from_json,
        "asked": time_of,
        "expires": time_of,
    }


@dataclass(frozen=True)
class AuditRecord(Model):
    """What happened once. docs/audit.md lists the actions and their details."""

    seq: Optional[int] = None
    """The number of the record, of all tenants' records."""
    time: Optional[datetime] = None
    action: Optional[str] = None
    tenant: Optional[str] = None
    key: Optional[str] = None
    """The id of the API key; absent for another proof, such as the Unix socket or a sandbox's
    token.
    """
    door: Optional[str] = None
    """rest, e2b or mcp."""
    sandbox: Optional[str] = None
    context: Optional[str] = None
    subject: Optional[str] = None
    """What else it is about: the name of a template, for example."""
    decision: Optional[Literal["allowed", "refused"]] = None
    result: Optional[str] = None
    """ok, the name of an error, or the status of an execution."""
    details: Optional[Mapping[str, Any]] = None
    hash: Optional[str] = None

    _convert: ClassVar[Mapping[str, Convert]] = {
        "time": time_of,
    }


@dataclass(frozen=True)
class EmergencyStop(Model):
    """The schema ``EmergencyStop``."""

    scope: Optional[Literal["all", "tenant", "sandbox"]] = None
    name: Optional[str] = None
    """Of the tenant, or the sandbox's id; absent for all."""
    by_tenant: Optional[str] = None
    """Who stopped it."""
    by_key: Optional[str] = None
    """The id of the API key; null for the Unix socket."""
    at: Optional[datetime] = None

    _convert: ClassVar[Mapping[str, Convert]] = {
        "at": time_of,
    }


@dataclass(frozen=True)
class TenantUsed(Model):
    """The schema ``TenantUsed``."""

    sandboxes: Optional[int] = None
    memory: Optional[int] = None
    cpus: Optional[float] = None
    disk: Optional[int] = None


@dataclass(frozen=True)
class TenantInfo(Model):
    """The schema ``Tenant``."""

    name: str
    created: datetime
    quotas: Quotas
    used: TenantUsed

    _convert: ClassVar[Mapping[str, Convert]] = {
        "created": time_of,
        "quotas": Quotas.from_json,
        "used": TenantUsed.from_json,
    }


@dataclass(frozen=True)
class ApiKey(Model):
    """The schema ``ApiKey``."""

    id: str
    """The first digits of the key; not a secret."""
    tenant: str
    scopes: List[str]
    last_four: str
    state: Literal["valid", "expired", "revoked"]
    created: datetime
    expires: Optional[datetime]
    last_used: Optional[datetime]
    """Since the daemon started."""
    revoked: Optional[datetime] = None

    _convert: ClassVar[Mapping[str, Convert]] = {
        "created": time_of,
        "expires": time_of,
        "last_used": time_of,
        "revoked": time_of,
    }


@dataclass(frozen=True)
class NewApiKey(Model):
    """The schema ``NewApiKey``."""

    id: str
    """The first digits of the key; not a secret."""
    tenant: str
    scopes: List[str]
    last_four: str
    state: Literal["valid", "expired", "revoked"]
    created: datetime
    expires: Optional[datetime]
    last_used: Optional[datetime]
    """Since the daemon started."""
    key: str
    revoked: Optional[datetime] = None

    _convert: ClassVar[Mapping[str, Convert]] = {
        "created": time_of,
        "expires": time_of,
        "last_used": time_of,
        "revoked": time_of,
    }


@dataclass(frozen=True)
class VolumeInfo(Model):
    """The schema ``Volume``."""

    id: str
    name: str
    size: int
    """Capacity in bytes."""
    inodes: int
    created: datetime

    _convert: ClassVar[Mapping[str, Convert]] = {
        "created": time_of,
    }


@dataclass(frozen=True)
class MountedVolume(Model):
    """The schema ``SandboxVolume``."""

    id: str
    path: str
    read_only: bool


@dataclass(frozen=True)
class SandboxInfo(Model):
    """The schema ``Sandbox``."""

    id: str
    template: str
    tier: str
    state: SandboxState
    created: datetime
    expires: datetime
    on_timeout: Optional[Literal["kill", "pause"]] = None
    auto_resume: Optional[bool] = None
    user: Optional[Literal["user", "root"]] = None
    nested: Optional[bool] = None
    policy: Optional[List[str]] = None
    """The policies that it was made with."""
    limits: Optional[Mapping[str, Any]] = None
    env: Optional[Mapping[str, str]] = None
    metadata: Optional[Mapping[str, Any]] = None
    network: Optional[Mapping[str, Any]] = None
    storage: Optional[Literal["memory", "disk"]] = None
    copies: Optional[Literal["shared", "full"]] = None
    """What snapshots and forks of its workspace are. shared: they take milliseconds however much it
    holds, and no space but for what changes later. full: every byte that it holds is copied.
    """
    volumes: Optional[List[MountedVolume]] = None
    restarted: Optional[bool] = None
    """Its processes were lost after it was created; its workspace on disk was kept."""
    saved: Optional[bool] = None
    """It is paused and its memory is on disk."""
    walls: Optional[Mapping[str, Any]] = None

    _convert: ClassVar[Mapping[str, Convert]] = {
        "state": SandboxState,
        "created": time_of,
        "expires": time_of,
        "volumes": list_of(MountedVolume.from_json),
    }


@dataclass(frozen=True)
class ImageConfig(Model):
    """What the template's image or Dockerfile says of how it is run; what it does not say is empty.
    """

    user: str
    """A name or a number, also with ':GROUP'; empty is root."""
    workdir: str
    """Where commands begin; empty is the workspace."""
    entrypoint: List[str]
    cmd: List[str]
    exposed_ports: List[str]
    """As "80/tcp"; every port can be reached."""
    volumes: List[str]
    """Paths; no volumes are made for them."""
    labels: Mapping[str, str]
    stop_signal: str
    """Kept for an exported image; sandboxes are killed."""


@dataclass(frozen=True)
class TemplateInfo(Model):
    """The schema ``Template``."""

    name: str
    builtin: bool
    """Built in; cannot be removed."""
    source: str
    """host, registry, debootstrap, oci, docker, rootfs, recipe, dockerfile or snapshot."""
    base: Optional[str] = None
    """The template that it is based on."""
    content: Optional[str] = None
    """SHA-256 of everything it was built from."""
    created: Optional[datetime] = None
    size: Optional[int] = None
    """Size on disk in bytes."""
    home: Optional[str] = None
    user: Optional[str] = None
    own_root: Optional[bool] = None
    """Has its own root file system instead of the host's /usr."""
    packages: Optional[List[str]] = None
    env: Optional[Mapping[str, str]] = None
    image: Optional[ImageConfig] = None
    start: Optional[str] = None
    ready: Optional[str] = None
    preload: Optional[List[str]] = None
    limits: Optional[Mapping[str, Any]] = None
    nested: Optional[bool] = None
    """Its sandboxes are `nested`, but those with `user: root`."""
    policy: Optional[List[str]] = None
    """The policies that check what runs in its sandboxes; of its base, too."""

    _convert: ClassVar[Mapping[str, Convert]] = {
        "created": time_of,
        "image": ImageConfig.from_json,
    }


@dataclass(frozen=True)
class TemplateEvent(Model):
    """progress with step, steps and message; log with text; keepalive; finally built with template
    and cached, or failed with error.
    """

    type: Literal["progress", "log", "keepalive", "built", "failed"]
    step: Optional[int] = None
    steps: Optional[int] = None
    message: Optional[str] = None
    text: Optional[str] = None
    template: Optional[TemplateInfo] = None
    cached: Optional[bool] = None
    code: Optional[int] = None
    error: Optional[str] = None
    hint: Optional[str] = None

    _convert: ClassVar[Mapping[str, Convert]] = {
        "template": TemplateInfo.from_json,
    }


@dataclass(frozen=True)
class SandboxUsage(Model):
    """The schema ``Usage``."""

    at: Optional[datetime] = None
    cpus: Optional[float] = None
    cpu_ms: Optional[float] = None
    """Processor time so far."""
    memory: Optional[int] = None
    memory_limit: Optional[int] = None
    disk: Optional[int] = None
    disk_limit: Optional[int] = None
    pids: Optional[int] = None

    _convert: ClassVar[Mapping[str, Convert]] = {
        "at": time_of,
    }


@dataclass(frozen=True)
class ConnectionRecord(Model):
    """The schema ``ConnectionRecord``."""

    host: Optional[str] = None
    port: Optional[int] = None
    verdict: Optional[Literal["allowed", "denied", "failed"]] = None
    rule: Optional[str] = None
    """What decided."""
    address: Optional[str] = None
    """The address that the proxy connected to."""
    via: Optional[Literal["direct", "upstream"]] = None
    sent: Optional[int] = None
    received: Optional[int] = None
    reason: Optional[str] = None


@dataclass(frozen=True)
class Connections(Model):
    """The schema ``Connections``."""

    connections: Optional[List[ConnectionRecord]] = None
    more_connections: Optional[int] = None
    """Connections after the first 1,000."""

    _convert: ClassVar[Mapping[str, Convert]] = {
        "connections": list_of(ConnectionRecord.from_json),
    }


@dataclass(frozen=True)
class CaseUsage(Model):
    """The schema ``JudgeReportCaseUsage``."""

    wall_ms: Optional[float] = None
    cpu_ms: Optional[float] = None
    memory_peak: Optional[int] = None


@dataclass(frozen=True)
class JudgedCase(Model):
    """The schema ``JudgeReportCase``."""

    name: str
    verdict: JudgeVerdict
    points: float
    points_of: float
    message: str
    exit_code: int
    signal: Optional[int]
    usage: CaseUsage

    _convert: ClassVar[Mapping[str, Convert]] = {
        "verdict": JudgeVerdict,
        "usage": CaseUsage.from_json,
    }


@dataclass(frozen=True)
class JudgeReport(JudgeMixin, Model):
    """The schema ``JudgeReport``."""

    verdict: JudgeVerdict
    """The first of the cases' that is not AC."""
    points: float
    points_of: float
    compile_ms: float
    compiler_output: str
    cases: List[JudgedCase]

    _convert: ClassVar[Mapping[str, Convert]] = {
        "verdict": JudgeVerdict,
        "cases": list_of(JudgedCase.from_json),
    }


@dataclass(frozen=True)
class Completion(Model):
    """The schema ``Completion``."""

    matches: List[str]
    start: int
    """In Unicode code points, as end."""
    end: int


@dataclass(frozen=True)
class Inspection(Model):
    """The schema ``Inspection``."""

    found: bool
    data: Mapping[str, str]
    """By MIME type, at most 1 MiB each; empty unless found."""


@dataclass(frozen=True)
class PerStream(Model):
    """The schema ``OfStreams``."""

    stdout: int
    stderr: int


@dataclass(frozen=True)
class Result(ResultMixin, Model):
    """The schema ``Result``."""

    main: bool
    """The value of the code itself, not something it displayed."""
    data: Mapping[str, Any]
    """MIME type to value."""
    metadata: Optional[Mapping[str, Any]] = None
    display_id: Optional[str] = None
    update: Optional[bool] = None
    """Replaces what was shown under this display_id."""


@dataclass(frozen=True)
class GuestError(Model):
    """The schema ``VerdictError``."""

    name: str
    value: str
    traceback: str


@dataclass(frozen=True)
class FileChange(Model):
    """The schema ``VerdictFile``."""

    path: str
    """Relative to the workspace; absolute where root changed its root."""
    size: int
    change: Literal["created", "modified", "deleted"]


@dataclass(frozen=True)
class LimitState(Model):
    """The schema ``VerdictLimit``."""

    value: float
    enforced: bool
    hit: bool


@dataclass(frozen=True)
class RunUsage(Model):
    """The schema ``VerdictUsage``."""

    wall_ms: Optional[float] = None
    cpu_ms: Optional[float] = None
    memory_peak: Optional[int] = None
    """Bytes."""
    pids_peak: Optional[int] = None
    disk_bytes: Optional[int] = None


@dataclass(frozen=True)
class VerdictCheck(Model):
    """The schema ``VerdictCheck``."""

    check: Literal["command", "file", "output_schema", "review"]
    passed: bool
    what: Optional[str] = None
    """The command, the file or the criteria."""
    reason: Optional[str] = None
    """Why it did not pass."""


@dataclass(frozen=True)
class Verdict(VerdictMixin, Model):
    """How the code ended, what it used, and which walls and limits held."""

    id: str
    language: str
    tier: str
    status: Status
    exit_code: int
    signal: Optional[int]
    stdout: str
    stderr: str
    truncated: PerStream
    """Whether the limit on output cut the stream."""
    bytes: PerStream
    """How much the code wrote."""
    results: List[Result]
    error: Optional[GuestError]
    files: List[FileChange]
    walls: Mapping[str, Any]
    limits: Mapping[str, LimitState]
    usage: RunUsage
    timings: Mapping[str, int]
    """Microseconds, by step."""
    limit: Optional[Literal["time", "cpu_time"]] = None
    """Which limit ended the code, where the status leaves it open."""
    stdout_base64: Optional[str] = None
    """The bytes, where they are not UTF-8."""
    stderr_base64: Optional[str] = None
    """The bytes, where they are not UTF-8."""
    execution_count: Optional[int] = None
    """Of a context."""
    files_truncated: Optional[bool] = None
    """More files changed than are listed."""
    notes: Optional[List[str]] = None
    connections: Optional[List[ConnectionRecord]] = None
    """Of a sandbox with network rules, as they ended."""
    more_connections: Optional[int] = None
    """Connections after the first 1,000."""
    verification: Optional[Verdict] = None
    checks: Optional[List[VerdictCheck]] = None
    """What became of the checks that the request or a policy demands."""
    dry_run: Optional[DryRun] = None

    _convert: ClassVar[Mapping[str, Convert]] = {
        "status": Status,
        "truncated": PerStream.from_json,
        "bytes": PerStream.from_json,
        "results": list_of(Result.from_json),
        "error": GuestError.from_json,
        "files": list_of(FileChange.from_json),
        "limits": map_of(LimitState.from_json),
        "usage": RunUsage.from_json,
        "connections": list_of(ConnectionRecord.from_json),
        "verification": lambda value: Verdict.from_json(value),
        "checks": list_of(VerdictCheck.from_json),
        "dry_run": DryRun.from_json,
    }


@dataclass(frozen=True)
class ContextInfo(Model):
    """The schema ``Context``."""

    id: str
    language: str
    cwd: str
    alive: bool
    busy: bool


@dataclass(frozen=True)
class PerStreamTruncated(Model):
    """The schema ``CommandResultTruncated``."""

    stdout: Optional[bool] = None
    stderr: Optional[bool] = None


@dataclass(frozen=True)
class PerStreamBytes(Model):
    """The schema ``CommandResultBytes``."""

    stdout: Optional[int] = None
    stderr: Optional[int] = None


@dataclass(frozen=True)
class CommandResult(CommandMixin, Model):
    """The schema ``CommandResult``."""

    pid: int
    exit_code: int
    """128 plus the signal's number if a signal ended it."""
    signal: Optional[int]
    reason: EndReason
    stdout: str
    stderr: str
    truncated: PerStreamTruncated
    bytes: PerStreamBytes
    stdout_base64: Optional[str] = None
    """If the bytes are not UTF-8."""
    stderr_base64: Optional[str] = None
    """If the bytes are not UTF-8."""
    dry_run: Optional[DryRun] = None

    _convert: ClassVar[Mapping[str, Convert]] = {
        "reason": EndReason,
        "truncated": PerStreamTruncated.from_json,
        "bytes": PerStreamBytes.from_json,
        "dry_run": DryRun.from_json,
    }


@dataclass(frozen=True)
class ProcessInfo(Model):
    """The schema ``Process``."""

    pid: int
    argv: List[str]
    alive: bool
    cwd: Optional[str] = None
    env: Optional[Mapping[str, str]] = None
    tag: Optional[str] = None
    terminal: Optional[bool] = None


@dataclass(frozen=True)
class ProcessEvent(Model):
    """started with pid; stdout, stderr and terminal with text, and base64 if the bytes are not
    text; keepalive; finally ended with exit_code, signal and reason.
    """

    type: Literal["started", "stdout", "stderr", "terminal", "keepalive", "ended", "failed"]
    pid: Optional[int] = None
    text: Optional[str] = None
    base64: Optional[str] = None
    exit_code: Optional[int] = None
    signal: Optional[int] = None
    reason: Optional[EndReason] = None

    _convert: ClassVar[Mapping[str, Convert]] = {
        "reason": EndReason,
    }


@dataclass(frozen=True)
class FileEntry(Model):
    """The schema ``FileEntry``."""

    path: str
    type: Literal["file", "directory", "symlink", "other"]
    size: int
    mode: str
    modified: datetime
    owner: Optional[str] = None
    group: Optional[str] = None
    target: Optional[str] = None
    target_type: Optional[Literal["file", "directory", "symlink", "other"]] = None

    _convert: ClassVar[Mapping[str, Convert]] = {
        "modified": time_of,
    }


@dataclass(frozen=True)
class FileEvent(Model):
    """The schema ``FileEvent``."""

    type: Literal["started", "create", "write", "remove", "rename", "chmod", "keepalive", "failed"]
    path: Optional[str] = None
