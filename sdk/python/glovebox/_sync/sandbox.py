# SPDX-License-Identifier: Apache-2.0
# Written by sdk/python/generate from glovebox/_async/sandbox.py: change that, and run it again.
"""Sandboxes: their life, and the way to everything in them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Iterator,
    Dict,
    List,
    Literal,
    Mapping,
    Optional,
    Sequence,
    Union,
)

from .._engine import Engine
from .._generated import routes
from .._generated.requests import Limits, Network, SandboxChange, SandboxRequest, VolumeMount
from .._generated.responses import Connections, DryRun, SandboxInfo, SandboxUsage, Verdict
from .._model import Duration
from .._request import Callback, limits_of
from ..errors import Gone, NotFound, ProtocolError
from ..events import Event, decode
from .commands import Commands
from .context import Context, Contexts
from .files import Files, body_of
from .follow import deliver
from .ports import Ports

if TYPE_CHECKING:
    from .client import Client


class Sandbox:
    """A sandbox of a daemon. As a context manager, it is ended with the block."""

    def __init__(self, client: "Client", id: str, *, owns_client: bool = False) -> None:
        """Refers to a sandbox that exists; ``create`` and ``connect`` are the usual ways."""
        self.client = client
        self.id = id
        self._owns_client = owns_client
        self._of_language: Dict[str, Context] = {}
        self.contexts = Contexts(self)
        self.files = Files(
            client,
            {"id": id},
            routes.LIST_FILES,
            routes.CHANGE_FILES,
            routes.READ_FILE,
            routes.HEAD_FILE,
            routes.WRITE_FILE,
            routes.REMOVE_FILE,
            routes.WATCH_FILES,
        )
        self.commands = Commands(self)
        self.ports = Ports(self)

    def __repr__(self) -> str:
        return f"Sandbox({self.id!r})"

    @classmethod
    def create(
        cls,
        template: Optional[str] = None,
        *,
        image: Optional[str] = None,
        client: "Optional[Client]" = None,
        url: Union[None, str, Engine] = None,
        api_key: Optional[str] = None,
        timeout: Optional[Duration] = None,
        on_timeout: Optional[Literal["kill", "pause"]] = None,
        auto_resume: Optional[bool] = None,
        limits: Optional[Limits] = None,
        network: Optional[Network] = None,
        env: Optional[Mapping[str, str]] = None,
        metadata: Optional[Mapping[str, str]] = None,
        tier: Optional[str] = None,
        min_tier: Optional[str] = None,
        user: Optional[Literal["user", "root"]] = None,
        nested: Optional[bool] = None,
        policy: Optional[Sequence[str]] = None,
        storage: Optional[Literal["memory", "disk"]] = None,
        volumes: Optional[Sequence[VolumeMount]] = None,
        idempotency_key: Optional[str] = None,
    ) -> "Sandbox":
        """Creates a sandbox.

        `image`: of a container registry, in place of a template; the daemon pulls it once.
        `timeout`: when it ends or pauses, as `on_timeout` says; the daemon's default is 5 minutes.
        `limits.time` limits each execution. `user`: who its processes are inside; `nested`:
        whether tools in it can build sandboxes of their own; `policy`: names of policies that check
        what runs in it. Without `client`, a client is made of `url` and `api_key`, and closed with
        the sandbox.
        """
        request = SandboxRequest(
            template=template,
            image=image,
            timeout=timeout,
            on_timeout=on_timeout,
            auto_resume=auto_resume,
            limits=limits,
            network=network,
            env=env,
            metadata=metadata,
            tier=tier,
            min_tier=min_tier,
            user=user,
            nested=nested,
            policy=list(policy) if policy is not None else None,
            storage=storage,
            volumes=list(volumes) if volumes is not None else None,
        )
        used = client if client is not None else _new_client(url, api_key)
        try:
            made = used.ask(
                routes.CREATE_SANDBOX, body=request, idempotency_key=idempotency_key
            )
        except BaseException:
            if client is None:
                used.close()
            raise
        return cls(used, str(made["id"]), owns_client=client is None)

    @classmethod
    def connect(
        cls,
        id: str,
        *,
        client: "Optional[Client]" = None,
        url: Union[None, str, Engine] = None,
        api_key: Optional[str] = None,
    ) -> "Sandbox":
        """A sandbox that exists. Raises ``NotFound`` or ``Gone`` if it does not."""
        used = client if client is not None else _new_client(url, api_key)
        sandbox = cls(used, id, owns_client=client is None)
        try:
            sandbox.info()
        except BaseException:
            sandbox.close()
            raise
        return sandbox

    @classmethod
    def import_archive(
        cls,
        local: "Union[str, os.PathLike[str]]",
        *,
        client: "Optional[Client]" = None,
        url: Union[None, str, Engine] = None,
        api_key: Optional[str] = None,
    ) -> "Sandbox":
        """Creates a sandbox from an archive that ``export`` has written."""
        used = client if client is not None else _new_client(url, api_key)
        try:
            with Path(local).open("rb") as file:
                response = used.send(
                    routes.IMPORT_SANDBOX,
                    content=body_of(file),
                    headers={"Content-Type": "application/vnd.glovebox.sandbox"},
                )
                made = decode(response.read())
        except BaseException:
            if client is None:
                used.close()
            raise
        return cls(used, str(made["id"]), owns_client=client is None)

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.kill()
        finally:
            self.close()

    def close(self) -> None:
        """Ends the client if it was made for this sandbox. The sandbox goes on."""
        if self._owns_client:
            self.client.close()

    # Its life.

    def info(self) -> SandboxInfo:
        return SandboxInfo.from_json(self.client.ask(routes.GET_SANDBOX, {"id": self.id}))

    def is_running(self) -> bool:
        """Whether it runs; False if it is paused or has ended."""
        try:
            return (self.info()).state == "running"
        except (NotFound, Gone):
            return False

    def update(
        self,
        *,
        timeout: Optional[Duration] = None,
        on_timeout: Optional[Literal["kill", "pause"]] = None,
        auto_resume: Optional[bool] = None,
        metadata: Optional[Mapping[str, str]] = None,
        network: Optional[Network] = None,
    ) -> SandboxInfo:
        """Changes what is given. A new `timeout` counts from now."""
        change = SandboxChange(
            timeout=timeout,
            on_timeout=on_timeout,
            auto_resume=auto_resume,
            metadata=metadata,
            network=network,
        )
        changed = self.client.ask(
            routes.CHANGE_SANDBOX, {"id": self.id}, body=change, repeatable=True
        )
        return SandboxInfo.from_json(changed)

    def set_timeout(self, timeout: Duration) -> SandboxInfo:
        """When it ends, counted from now."""
        return self.update(timeout=timeout)

    def pause(self, to_disk: bool = False) -> None:
        """Stops its processes and keeps their memory.

        `to_disk` writes the memory to disk and frees it; the tier must be gvisor or microvm.
        """
        body = {"to_disk": True} if to_disk else None
        self.client.ask(routes.PAUSE_SANDBOX, {"id": self.id}, body=body)

    def resume(self) -> SandboxInfo:
        return SandboxInfo.from_json(
            self.client.ask(routes.RESUME_SANDBOX, {"id": self.id})
        )

    def snapshot(self, name: Optional[str] = None) -> str:
        """Saves its files as a template, and returns the template's name."""
        made = self.client.ask(
            routes.SNAPSHOT_SANDBOX, {"id": self.id}, body={"name": name} if name else {}
        )
        return str(made["template"])

    def fork(
        self, count: int = 1, *, timeout: Optional[Duration] = None, memory: bool = False
    ) -> "List[Sandbox]":
        """Creates sandboxes with the same files. Processes of clients are not copied.

        `memory` copies contexts with their variables, too; the tier must be gvisor or microvm.
        """
        body: Dict[str, Any] = {"count": count}
        if memory:
            body["memory"] = True
        if timeout is not None:
            body["timeout"] = timeout
        made = self.client.ask(routes.FORK_SANDBOX, {"id": self.id}, body=body)
        return [Sandbox(self.client, str(each["id"])) for each in made["sandboxes"]]

    def export(self, local: "Union[str, os.PathLike[str]]") -> None:
        """Writes it to an archive: with its memory if it was paused to disk, else with its files
        alone.
        """
        response = self.client.send(routes.EXPORT_SANDBOX, {"id": self.id})
        with Path(local).open("wb") as file:
            with response:
                for piece in response.iter_bytes():
                    file.write(piece)

    def kill(self) -> bool:
        """Ends it and deletes everything in it. False if it had ended before."""
        try:
            self.client.ask(routes.KILL_SANDBOX, {"id": self.id})
            return True
        except (NotFound, Gone):
            return False

    def usage(self) -> SandboxUsage:
        """What it uses at the moment."""
        return SandboxUsage.from_json(self.client.ask(routes.GET_USAGE, {"id": self.id}))

    def connections(self) -> Connections:
        """The connections that it made, or tried to make, by its network rules."""
        return Connections.from_json(
            self.client.ask(routes.GET_CONNECTIONS, {"id": self.id})
        )

    # What runs in it.

    def execute(self, code: str, language: str = "python", **options: Any) -> Verdict:
        """Executes code in a live interpreter of this sandbox, one for each language, which keeps
        its variables. The options are those of ``Context.execute``.
        """
        return (self._context_of(language)).execute(code, **options)

    def dry_runs(self) -> List[DryRun]:
        """The dry runs that wait for a decision: one at most."""
        listed = self.client.ask(routes.LIST_DRY_RUNS, {"id": self.id})
        return [DryRun.from_json(each) for each in listed["dry_runs"]]

    def commit(self, dry_run: Union[str, DryRun]) -> None:
        """Keeps what a dry run has changed. Raises ``Conflict`` if files have changed since it was
        shown, and ``NotFound`` if it was decided, or discarded because its time was over.
        """
        self.client.ask(routes.COMMIT_DRY_RUN, self._dry_run(dry_run))

    def discard(self, dry_run: Union[str, DryRun]) -> None:
        """Takes back what a dry run has changed: variables and files are as they were."""
        self.client.ask(routes.DISCARD_DRY_RUN, self._dry_run(dry_run))

    def _dry_run(self, dry_run: Union[str, DryRun]) -> Dict[str, str]:
        return {"id": self.id, "dry": dry_run if isinstance(dry_run, str) else dry_run.id}

    def _context_of(self, language: str) -> Context:
        found = self._of_language.get(language)
        if found is None:
            if language == "python":
                found = self.contexts.get("default")
            else:
                found = self.contexts.create(language)
            self._of_language[language] = found
        return found

    def install(
        self,
        *packages: str,
        time: Optional[Duration] = None,
        limits: Optional[Limits] = None,
        on_stdout: Callback[str] = None,
        on_stderr: Callback[str] = None,
        on_event: Callback[Event] = None,
    ) -> Verdict:
        """Installs packages, such as ``"pip:requests==2.32.3"`` or ``"npm:lodash"``, from the
        daemon's package sources. Returns the verdict of pip and npm.
        """
        body: Dict[str, Any] = {"packages": list(packages)}
        wanted = limits_of(limits, time, None)
        if wanted is not None:
            body["limits"] = wanted
        verdict: Optional[Verdict] = None
        for event in self.client.follow(
            routes.INSTALL_PACKAGES, {"id": self.id}, body=body
        ):
            deliver(event, on_stdout, on_stderr, None, None, on_event)
            verdict = event.verdict or verdict
        if verdict is None:
            raise ProtocolError("the stream ended without a verdict")
        return verdict


class Sandboxes:
    """The sandboxes of a tenant: ``client.sandboxes``."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def create(self, template: Optional[str] = None, **options: Any) -> Sandbox:
        """Creates a sandbox, with the options of ``Sandbox.create``."""
        return Sandbox.create(template, client=self._client, **options)

    def connect(self, id: str) -> Sandbox:
        """A sandbox that exists. Raises ``NotFound`` or ``Gone`` if it does not."""
        return Sandbox.connect(id, client=self._client)

    def list(
        self,
        *,
        state: Optional[Literal["running", "paused"]] = None,
        metadata: Optional[Mapping[str, str]] = None,
        page_size: Optional[int] = None,
    ) -> Iterator[SandboxInfo]:
        """The sandboxes, newest first, page by page as they are needed."""
        query: Dict[str, object] = {
            f"metadata.{name}": value for name, value in (metadata or {}).items()
        }
        query.update({"state": state, "limit": page_size})
        while True:
            page = self._client.ask(routes.LIST_SANDBOXES, query=query)
            for each in page["sandboxes"]:
                yield SandboxInfo.from_json(each)
            if not page["next"]:
                return
            query["after"] = page["next"]


def _new_client(url: Union[None, str, Engine], api_key: Optional[str]) -> "Client":
    from .client import Client

    return Client(url, api_key)
