# SPDX-License-Identifier: Apache-2.0
# Written by sdk/python/generate from api/openapi.yaml: change that, and run it again.
"""What requests consist of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, List, Literal, Mapping, Optional, Union

from .._model import Convert, Duration, Model, Size, list_of

__all__ = [
    "ApiKeyRequest", "ApprovalReply", "Checker", "Checks", "CommandLimits", "CommandRequest",
    "CompletionRequest", "ExecuteRequest", "HeaderRule", "InputReply", "InspectionRequest",
    "JudgeCase", "JudgeRequest", "KeyRotation", "Limits", "Network", "NetworkBudget",
    "PortTokenRequest", "ProcessRequest", "Quotas", "ReviewReply", "RunRequest", "SandboxChange",
    "SandboxRequest", "SecretUse", "TemplateFile", "TemplateRecipe", "TenantChange",
    "TenantRequest", "TerminalSize", "ToolLimits", "ToolReply", "ToolReplyError", "ToolSchema",
    "VolumeMount",
]


@dataclass(frozen=True)
class Limits(Model):
    """The schema ``Limits``."""

    time: Optional[Duration] = None
    cpu_time: Optional[Duration] = None
    memory: Optional[Size] = None
    cpus: Optional[float] = None
    pids: Optional[int] = None
    disk: Optional[Size] = None
    inodes: Optional[int] = None
    open_files: Optional[int] = None
    output: Optional[Size] = None


@dataclass(frozen=True)
class SecretUse(Model):
    """Programs find a placeholder in a variable; in headers of requests to these hosts, the secret
    takes its place. 400 for a secret that the tenant has not stored.
    """

    secret: str
    """The name or id of a stored secret."""
    hosts: List[str]
    """HOST, *.HOST or an address, with :PORT if it is not 443; http://HOST without TLS. They are
    allowed without another rule.
    """
    env: Optional[str] = None
    """The variable; by default the secret's name."""
    placeholder: Optional[str] = None
    """By default a random one."""


@dataclass(frozen=True)
class HeaderRule(Model):
    """Requests to the host get this header, in place of any of that name."""

    host: str
    """As in secrets."""
    name: str
    value: str
    """{NAME} stands for the value of a stored secret, {{ and }} for braces. Stored and shown as it
    is.
    """


@dataclass(frozen=True)
class NetworkBudget(Model):
    """What the sandbox may use of the network in all."""

    connections: Optional[int] = None
    sent: Optional[int] = None
    """Bytes."""
    received: Optional[int] = None
    """Bytes."""
    rate: Optional[int] = None
    """Bytes a second, in each direction."""


@dataclass(frozen=True)
class Network(Model):
    """Where the sandbox may connect to, through a proxy (docs/network.md). 403 where the operator
    forbids such rules (glovebox serve --network).
    """

    allow: Optional[List[str]] = None
    """HOST, *.HOST, an IPv4 or IPv6 address or ADDRESS/LENGTH, each with :PORT if needed (IPv6:
    [ADDRESS]:PORT). Addresses that are not public are reached only by rules of addresses.
    """
    deny: Optional[List[str]] = None
    """The same."""
    default: Optional[Literal["deny", "allow"]] = None
    """For what no rule matches."""
    precedence: Optional[Literal["deny", "allow"]] = None
    """Which rule wins where both lists have one."""
    secrets: Optional[List[SecretUse]] = None
    headers: Optional[List[HeaderRule]] = None
    budget: Optional[NetworkBudget] = None

    _convert: ClassVar[Mapping[str, Convert]] = {
        "secrets": list_of(SecretUse.from_json),
        "headers": list_of(HeaderRule.from_json),
        "budget": NetworkBudget.from_json,
    }


@dataclass(frozen=True)
class VolumeMount(Model):
    """The schema ``VolumeMount``."""

    name: str
    """The volume's name or id."""
    path: str
    """Absolute path inside the sandbox."""
    read_only: Optional[bool] = None


@dataclass(frozen=True)
class SandboxRequest(Model):
    """The schema ``SandboxRequest``."""

    template: Optional[str] = None
    image: Optional[str] = None
    """Image of a container registry, in place of a template. It is pulled once, as a template of
    the tenant's, where the operator lets sandboxes out.
    """
    timeout: Optional[Duration] = None
    on_timeout: Optional[Literal["kill", "pause"]] = None
    auto_resume: Optional[bool] = None
    limits: Optional[Limits] = None
    network: Optional[Network] = None
    env: Optional[Mapping[str, str]] = None
    metadata: Optional[Mapping[str, str]] = None
    tier: Optional[str] = None
    min_tier: Optional[str] = None
    user: Optional[Literal["user", "root"]] = None
    """Who its processes are inside. `root` has a file system that it can change, and needs the
    native tier. Without it, the user that the template's image names, or `user`.
    """
    nested: Optional[bool] = None
    """Tools inside can build sandboxes of their own, such as bubblewrap's. Needs the native tier,
    and the operator's `--allow-nested` (else 403); not together with `user: root`.
    """
    storage: Optional[Literal["memory", "disk"]] = None
    """Where the workspace is stored; on disk it survives restarts of the daemon, the keeper and the
    machine.
    """
    volumes: Optional[List[VolumeMount]] = None
    policy: Optional[List[str]] = None
    """Names of policies that check what runs in it, beside the daemon's own; the strictest decides.
    """

    _convert: ClassVar[Mapping[str, Convert]] = {
        "limits": Limits.from_json,
        "network": Network.from_json,
        "volumes": list_of(VolumeMount.from_json),
    }


@dataclass(frozen=True)
class ApprovalReply(Model):
    """The schema ``ApprovalReply``."""

    decision: Literal["allow", "refuse"]
    hash: str
    """The hash of what was looked at."""
    remember: Optional[bool] = None
    """Do not ask about the same hash again, as long as the daemon runs."""


@dataclass(frozen=True)
class Quotas(Model):
    """null or absent means no limit."""

    sandboxes: Optional[int] = None
    memory: Optional[Size] = None
    """Total of all sandboxes."""
    cpus: Optional[float] = None
    disk: Optional[Size] = None
    executions: Optional[int] = None
    """Concurrent executions."""
    requests_per_second: Optional[float] = None
    burst: Optional[float] = None
    """Burst size of requests above the rate."""


@dataclass(frozen=True)
class PortTokenRequest(Model):
    """The schema ``PortTokenRequest``."""

    port: int
    expires_in: Optional[Duration] = None
    """One hour by default, at most 24 hours."""


@dataclass(frozen=True)
class TenantRequest(Model):
    """The schema ``TenantRequest``."""

    name: str
    quotas: Optional[Quotas] = None

    _convert: ClassVar[Mapping[str, Convert]] = {
        "quotas": Quotas.from_json,
    }


@dataclass(frozen=True)
class TenantChange(Model):
    """The schema ``TenantChange``."""

    quotas: Optional[Quotas] = None

    _convert: ClassVar[Mapping[str, Convert]] = {
        "quotas": Quotas.from_json,
    }


@dataclass(frozen=True)
class ApiKeyRequest(Model):
    """The schema ``ApiKeyRequest``."""

    scopes: List[Literal["run", "read", "admin", "approve"]]
    tenant: Optional[str] = None
    expires_in: Optional[Duration] = None


@dataclass(frozen=True)
class KeyRotation(Model):
    """The schema ``KeyRotation``."""

    overlap: Optional[Duration] = None
    """How long the old key keeps working: one hour by default, at most 30 days."""


@dataclass(frozen=True)
class SandboxChange(Model):
    """The schema ``SandboxChange``."""

    timeout: Optional[Duration] = None
    on_timeout: Optional[Literal["kill", "pause"]] = None
    auto_resume: Optional[bool] = None
    metadata: Optional[Mapping[str, str]] = None
    network: Optional[Network] = None

    _convert: ClassVar[Mapping[str, Convert]] = {
        "network": Network.from_json,
    }


@dataclass(frozen=True)
class TemplateFile(Model):
    """The schema ``TemplateFile``."""

    path: str
    """Relative to the workspace, or an absolute path inside it."""
    content: Optional[str] = None
    base64: Optional[str] = None
    """Instead of content, for binary data."""
    mode: Optional[str] = None


@dataclass(frozen=True)
class TemplateRecipe(Model):
    """The schema ``TemplateRecipe``."""

    name: str
    """Letters, digits, '.', '_' and '-'."""
    base: Optional[Union[str, Mapping[str, Any]]] = None
    """A template name, or an object with one of registry (an image of a container registry, with
    login: username, and password or the name of a secret), debootstrap (suite, mirror, packages),
    oci (a path), docker (a path) or rootfs (a path).
    """
    home: Optional[str] = None
    """Path of the workspace: /workspace or /home/NAME; by default the base's."""
    user: Optional[str] = None
    """The guest's user name; by default the base's."""
    packages: Optional[List[str]] = None
    """pip:NAME, pip:NAME==VERSION, npm:NAME, npm:NAME@VERSION."""
    package_sources: Optional[List[str]] = None
    """Directories on the daemon's host that contain package files."""
    files: Optional[List[TemplateFile]] = None
    commands: Optional[List[str]] = None
    """Run in order by bash in a sandbox of the template; the files they leave in the workspace are
    kept.
    """
    network: Optional[Network] = None
    """What the commands, the pull of an image and debootstrap may connect to. Without secrets and
    headers (501). Sandboxes of the template do not inherit it.
    """
    env: Optional[Mapping[str, str]] = None
    start: Optional[str] = None
    """A bash command to start with each sandbox."""
    ready: Optional[str] = None
    """A bash command: a sandbox is handed out once it succeeds, or after one minute."""
    preload: Optional[List[str]] = None
    """Python modules to import in advance for contexts."""
    limits: Optional[Limits] = None
    nested: Optional[bool] = None
    """Its sandboxes and runs are `nested`, but those with `user: root`; also if its base is."""
    policy: Optional[List[str]] = None
    """Names of policies that check what runs in its sandboxes, beside those of its base."""

    _convert: ClassVar[Mapping[str, Convert]] = {
        "files": list_of(TemplateFile.from_json),
        "network": Network.from_json,
        "limits": Limits.from_json,
    }


@dataclass(frozen=True)
class Checks(Model):
    """What has to hold before a run that ended with `ok` counts as that, beside what policies
    demand. Where something does not, the status is `unverified`.
    """

    commands: Optional[List[str]] = None
    """Shell commands in the same sandbox that exit with 0."""
    files: Optional[List[str]] = None
    """Files in the workspace that the run made or changed."""
    output_schema: Optional[Mapping[str, Any]] = None
    """JSON Schema (draft 4, 6 or 7) that standard output conforms to. References lead only into
    itself.
    """
    review: Optional[str] = None
    """What a second model has to find true. The stream has an event `tool_call` of the tool
    `review`; its answer decides, and where nobody answers in time the run has not passed.
    """


@dataclass(frozen=True)
class RunRequest(Model):
    """The schema ``RunRequest``."""

    code: str
    template: Optional[str] = None
    """Template whose root, packages, environment and files the code finds. A snapshot with a
    workspace on disk cannot be used.
    """
    image: Optional[str] = None
    """Image of a container registry, in place of a template. It is pulled once, as a template of
    the tenant's, where the operator lets sandboxes out.
    """
    language: Optional[str] = None
    """Required unless the name identifies it."""
    name: Optional[str] = None
    """Name of the file that contains the code."""
    arguments: Optional[List[str]] = None
    stdin: Optional[str] = None
    files: Optional[Mapping[str, str]] = None
    """Files to copy in: name to content."""
    env: Optional[Mapping[str, str]] = None
    limits: Optional[Limits] = None
    tier: Optional[str] = None
    min_tier: Optional[str] = None
    user: Optional[Literal["user", "root"]] = None
    """Who its processes are inside. `root` has a file system that it can change, and needs the
    native tier. Without it, the user that the template's image names, or `user`.
    """
    nested: Optional[bool] = None
    """Tools inside can build sandboxes of their own, such as bubblewrap's. Needs the native tier,
    and the operator's `--allow-nested` (else 403); not together with `user: root`.
    """
    verify: Optional[str] = None
    """A command that verifies the result."""
    checks: Optional[Checks] = None
    network: Optional[Network] = None
    replay_network: Optional[str] = None
    """Id of an earlier run, whose recorded answers (`glovebox serve --audit-network`) come in place
    of the network's: nothing is connected to, and what has no answer is refused. Needs the scope
    `admin`.
    """
    policy: Optional[List[str]] = None
    """Names of policies that check what runs in it, beside the daemon's own; the strictest decides.
    """

    _convert: ClassVar[Mapping[str, Convert]] = {
        "limits": Limits.from_json,
        "checks": Checks.from_json,
        "network": Network.from_json,
    }


@dataclass(frozen=True)
class ReviewReply(Model):
    """The schema ``ReviewReply``."""

    ok: bool
    """Whether all of the criteria hold."""
    reason: Optional[str] = None
    """Why, for the verdict."""


@dataclass(frozen=True)
class JudgeCase(Model):
    """The schema ``JudgeCase``."""

    name: Optional[str] = None
    """Its number by default."""
    input: Optional[str] = None
    expected: Optional[str] = None
    points: Optional[float] = None
    time: Optional[Duration] = None
    memory: Optional[Size] = None


@dataclass(frozen=True)
class Checker(Model):
    """A program that decides instead. It is called with the names of the input, the output and the
    expected output; exit status 0 accepts, 1 and 2 reject.
    """

    language: str
    code: str
    name: Optional[str] = None


@dataclass(frozen=True)
class JudgeRequest(Model):
    """The schema ``JudgeRequest``."""

    language: str
    code: str
    cases: List[JudgeCase]
    name: Optional[str] = None
    """Name of the file that contains the code."""
    arguments: Optional[List[str]] = None
    env: Optional[Mapping[str, str]] = None
    limits: Optional[Limits] = None
    tier: Optional[str] = None
    min_tier: Optional[str] = None
    policy: Optional[List[str]] = None
    """Names of policies that check what runs in it, beside the daemon's own; the strictest decides.
    """
    compare: Optional[str] = None
    """lines, exact, tokens, or float:TOLERANCE."""
    checker: Optional[Checker] = None
    """A program that decides instead. It is called with the names of the input, the output and the
    expected output; exit status 0 accepts, 1 and 2 reject.
    """
    jobs: Optional[int] = None
    """Cases at once, as far as the tenant's quota allows."""
    stop_at_first: Optional[bool] = None
    """Skips the cases behind the first that is not accepted."""

    _convert: ClassVar[Mapping[str, Convert]] = {
        "cases": list_of(JudgeCase.from_json),
        "limits": Limits.from_json,
        "checker": Checker.from_json,
    }


@dataclass(frozen=True)
class ToolSchema(Model):
    """The schema ``Tool``."""

    name: str
    """The function's name. What precedes its last dot is the module in which code finds it."""
    description: Optional[str] = None
    parameters: Optional[Mapping[str, Any]] = None
    """A JSON schema of an object. The order of its properties is that of positional arguments."""


@dataclass(frozen=True)
class ToolLimits(Model):
    """The schema ``ExecuteRequestToolLimits``."""

    calls: Optional[int] = None
    """Calls in this execution; further ones raise an error."""
    wait: Optional[Duration] = None
    """How long calls may be open, all in all, before that counts towards the limit time; 1 hour by
    default, at most 30 days.
    """


@dataclass(frozen=True)
class ExecuteRequest(Model):
    """The schema ``ExecuteRequest``."""

    code: str
    env: Optional[Mapping[str, str]] = None
    limits: Optional[Limits] = None
    recover: Optional[bool] = None
    """Restores the previous state if the code ends the interpreter."""
    store_history: Optional[bool] = None
    allow_input: Optional[bool] = None
    """Code that asks for input waits for a reply, and an input_request event tells the client.
    Otherwise it finds the end of input.
    """
    tools: Optional[List[ToolSchema]] = None
    """What the code may call; nothing else. Each call is a tool_call event, and waits for a reply.
    """
    tool_limits: Optional[ToolLimits] = None
    dry_run: Optional[bool] = None
    """The verdict says what the code has changed, and the changes wait until they are committed or
    discarded. Until then nothing else may change the sandbox. Python in the native tier; not with
    recover.
    """
    dry_run_network: Optional[Literal["closed", "open"]] = None
    """open lets a dry run reach what the network rules allow, although nobody can take that back.
    """
    dry_run_timeout: Optional[Duration] = None
    """How long an undecided dry run waits before it is discarded; 5 minutes by default, at most 1
    hour.
    """

    _convert: ClassVar[Mapping[str, Convert]] = {
        "limits": Limits.from_json,
        "tools": list_of(ToolSchema.from_json),
        "tool_limits": ToolLimits.from_json,
    }


@dataclass(frozen=True)
class ToolReplyError(Model):
    """The schema ``ToolReplyError``."""

    message: str


@dataclass(frozen=True)
class ToolReply(Model):
    """Either a result, or an error, which is raised in the code."""

    result: Any = None
    """Any JSON value, at most 1 MiB and 32 levels deep."""
    error: Optional[ToolReplyError] = None

    _convert: ClassVar[Mapping[str, Convert]] = {
        "error": ToolReplyError.from_json,
    }


@dataclass(frozen=True)
class InputReply(Model):
    """The schema ``InputReply``."""

    value: Optional[str] = None
    """A line of text without its line break, at most 64 KiB; null or absent for the end of input.
    """
    request: Optional[int] = None
    """The request's number, from its event. The reply is refused unless that one is open."""


@dataclass(frozen=True)
class CompletionRequest(Model):
    """The schema ``CompletionRequest``."""

    code: str
    cursor: Optional[int] = None
    """Unicode code points before the cursor; by default all of the code's."""


@dataclass(frozen=True)
class InspectionRequest(Model):
    """The schema ``InspectionRequest``."""

    code: str
    cursor: Optional[int] = None
    """Unicode code points before the cursor; by default all of the code's."""
    detail: Optional[int] = None
    """1 asks for more, such as the source, where the language has it."""


@dataclass(frozen=True)
class TerminalSize(Model):
    """The schema ``Terminal``."""

    columns: Optional[int] = None
    rows: Optional[int] = None


@dataclass(frozen=True)
class ProcessRequest(Model):
    """The schema ``ProcessRequest``."""

    argv: List[str]
    cwd: Optional[str] = None
    env: Optional[Mapping[str, str]] = None
    user: Optional[str] = None
    """Who runs it: `user`, `root`, or another user of the sandbox's root. Only where the sandbox's
    own user is root can it be somebody else; by default, it is the sandbox's own.
    """
    terminal: Optional[TerminalSize] = None
    stdin: Optional[bool] = None
    """Whether the process gets a standard input to write to."""
    tag: Optional[str] = None
    timeout: Optional[Duration] = None

    _convert: ClassVar[Mapping[str, Convert]] = {
        "terminal": TerminalSize.from_json,
    }


@dataclass(frozen=True)
class CommandLimits(Model):
    """The schema ``CommandRequestLimits``."""

    time: Optional[Duration] = None
    output: Optional[Size] = None


@dataclass(frozen=True)
class CommandRequest(Model):
    """Exactly one of argv and shell."""

    argv: Optional[List[str]] = None
    shell: Optional[str] = None
    """A line for /bin/sh."""
    cwd: Optional[str] = None
    env: Optional[Mapping[str, str]] = None
    user: Optional[str] = None
    """Who runs it: `user`, `root`, or another user of the sandbox's root. Only where the sandbox's
    own user is root can it be somebody else; by default, it is the sandbox's own.
    """
    stdin: Optional[str] = None
    limits: Optional[CommandLimits] = None
    dry_run: Optional[bool] = None
    """The result says what the command has changed, and the changes wait until they are committed
    or discarded. Until then nothing else may change the sandbox. In the native tier.
    """
    dry_run_network: Optional[Literal["closed", "open"]] = None
    """open lets a dry run reach what the network rules allow, although nobody can take that back.
    """
    dry_run_timeout: Optional[Duration] = None
    """How long an undecided dry run waits before it is discarded; 5 minutes by default, at most 1
    hour.
    """

    _convert: ClassVar[Mapping[str, Convert]] = {
        "limits": CommandLimits.from_json,
    }
