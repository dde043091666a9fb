# SPDX-License-Identifier: Apache-2.0
"""Sandboxes without a daemon: the ``glovebox`` program itself, or a daemon for this program alone."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from typing import List, Mapping, Optional, Sequence, Union

from .._generated.requests import Checker, JudgeCase, Limits, Network
from .._generated.responses import JudgeReport, Verdict
from .._http1 import LineSplitter
from .._judge import cases_of
from .._model import Duration, Size
from .._program import Arguments, find_program
from .._request import Callback, limits_of
from ..errors import GloveboxError, ProgramError
from ..events import Event, decode, event_of, failure_of
from .client import AsyncClient
from .follow import deliver
from .net import AsyncChild

MOST_LINE = 256 * 1024 * 1024
PATIENCE_S = 30.0


async def run_async(
    code: str,
    language: Optional[str] = None,
    *,
    name: Optional[str] = None,
    arguments: Optional[Sequence[str]] = None,
    stdin: Optional[str] = None,
    files: Optional[Mapping[str, str]] = None,
    env: Optional[Mapping[str, str]] = None,
    time: Optional[Duration] = None,
    memory: Optional[Size] = None,
    limits: Optional[Limits] = None,
    network: Optional[Network] = None,
    tier: Optional[str] = None,
    min_tier: Optional[str] = None,
    user: Optional[str] = None,
    policy: Optional[Sequence[str]] = None,
    verify: Optional[str] = None,
    on_stdout: Callback[str] = None,
    on_stderr: Callback[str] = None,
    on_event: Callback[Event] = None,
) -> Verdict:
    """Runs a program in a fresh sandbox on this machine, without a daemon, and returns the verdict.

    The language is Python unless `language` or the ending of `name` says otherwise. `files` are
    copied in; `time` and `memory` are the most usual of `limits`; without `network`, there is none.
    """
    with Arguments("run", "--events") as given:
        given.option("language", language or (None if name else "python"))
        given.code(code, name)
        given.stdin(stdin)
        given.files(files)
        given.env(env)
        given.limits(limits_of(limits, time, memory))
        given.network(network)
        given.option("tier", tier)
        given.option("min-tier", min_tier)
        given.option("user", user)
        for each in policy or ():
            given.option("policy", each)
        given.option("verify", verify)
        if arguments:
            given.words += ["--", *arguments]
        child = await AsyncChild.start([find_program(), *given.words])
        verdict: Optional[Verdict] = None
        splitter = LineSplitter(MOST_LINE)
        try:
            while True:
                data = await child.receive()
                for line in splitter.feed(data) if data else splitter.end():
                    event = event_of(decode(line))
                    await deliver(event, on_stdout, on_stderr, None, None, on_event)
                    verdict = event.verdict or verdict
                if not data:
                    break
            status = await child.wait()
            if verdict is None:
                raise _failed(status, await child.stderr())
            return verdict
        finally:
            await child.stop(PATIENCE_S)


async def judge_async(
    code: str,
    cases: "Sequence[Union[JudgeCase, tuple[str, str]]]",
    language: str = "python",
    *,
    env: Optional[Mapping[str, str]] = None,
    time: Optional[Duration] = None,
    memory: Optional[Size] = None,
    limits: Optional[Limits] = None,
    tier: Optional[str] = None,
    min_tier: Optional[str] = None,
    compare: Optional[str] = None,
    checker: Optional[Checker] = None,
    jobs: Optional[int] = None,
    stop_at_first: bool = False,
) -> JudgeReport:
    """Compiles a program once and judges it by cases on this machine, without a daemon.

    A case is a ``JudgeCase``, or a pair of its input and the expected output.
    """
    with Arguments("judge", "--json", f"--language={language}") as given:
        path = given.folder("code") / "code"
        path.write_text(code, encoding="utf-8")
        given.words.append(str(path))
        given.cases(cases_of(cases))
        given.checker(checker)
        given.env(env)
        given.limits(limits_of(limits, time, memory))
        given.option("tier", tier)
        given.option("min-tier", min_tier)
        given.option("compare", compare)
        given.option("jobs", jobs)
        if stop_at_first:
            given.words.append("--first")
        child = await AsyncChild.start([find_program(), *given.words])
        out: List[bytes] = []
        try:
            while True:
                data = await child.receive()
                if not data:
                    break
                out.append(data)
            status = await child.wait()
            said = await child.stderr()
        finally:
            await child.stop(PATIENCE_S)
        if not b"".join(out).strip():
            raise _failed(status, said)
        report = decode(b"".join(out))
        if report.get("schema") == "glovebox.error/1":
            raise failure_of(report)
        return JudgeReport.from_json(report)


def _failed(status: int, said: bytes) -> GloveboxError:
    """Why the program printed no verdict: what it says on standard error."""
    lines = said.decode("utf-8", "replace").strip().splitlines()
    hints = [line.strip()[len("hint: "):] for line in lines if line.strip().startswith("hint: ")]
    words = [line for line in lines if not line.strip().startswith("hint: ")]
    message = words[-1] if words else f"the program ended with status {status}"
    if message.startswith("glovebox: "):
        message = message[len("glovebox: "):]
    return ProgramError(message, hints[-1] if hints else "", status=status)


class AsyncServer:
    """A daemon for this program alone. As a context manager, it gives a client and ends with the
    block, with all of its sandboxes:

        async with AsyncServer() as client:
            sandbox = await client.sandboxes.create()
    """

    def __init__(self, *options: str, data: "Union[str, os.PathLike[str], None]" = None) -> None:
        """`options`: further ones of ``glovebox serve``. `data`: a directory to keep; by default,
        everything goes when the daemon ends.
        """
        self._options = options
        self._data = None if data is None else os.fspath(data)
        self._folder: Optional[str] = None
        self._child: Optional[AsyncChild] = None
        self.client: Optional[AsyncClient] = None

    async def start(self) -> AsyncClient:
        """Starts it and returns a client once it accepts requests."""
        self._folder = tempfile.mkdtemp(prefix="glovebox-")
        socket = os.path.join(self._folder, "api.sock")
        data = self._data or os.path.join(self._folder, "data")
        arguments = [find_program(), "serve", "--listen", "", "--unix", socket, "--data", data]
        log_path = os.path.join(self._folder, "log")
        try:
            with open(log_path, "wb") as log:
                self._child = await AsyncChild.start(
                    [*arguments, *self._options], log=log.fileno()
                )
            atexit.register(self._child.terminate)
            # Its first line says that it listens; none says that it could not.
            if not await self._child.receive():
                with open(log_path, "rb") as log:
                    said = log.read()
                raise _failed(await self._child.wait(), said)
        except BaseException:
            await self.stop()
            raise
        self.client = AsyncClient(f"unix:{socket}", "")
        return self.client

    async def stop(self) -> None:
        """Ends it, with all of its sandboxes."""
        if self.client is not None:
            await self.client.aclose()
            self.client = None
        if self._child is not None:
            await self._child.stop(PATIENCE_S)
            atexit.unregister(self._child.terminate)
            self._child = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    async def __aenter__(self) -> AsyncClient:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
