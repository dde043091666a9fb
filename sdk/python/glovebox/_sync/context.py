# SPDX-License-Identifier: Apache-2.0
# Written by sdk/python/generate from glovebox/_async/context.py: change that, and run it again.
"""Live interpreters, which keep their variables from one execution to the next."""

from __future__ import annotations

import functools
from typing import (
    TYPE_CHECKING,
    Any,
    Iterator,
    Awaitable,
    Callable,
    Container,
    Dict,
    List,
    Mapping,
    Optional,
    Sequence,
    Union,
)

from .._generated import routes
from .._generated.requests import (
    CompletionRequest,
    ExecuteRequest,
    InputReply,
    InspectionRequest,
    Limits,
    ToolLimits,
)
from .._generated.responses import (
    Completion,
    ContextInfo,
    DryRun,
    GuestError,
    Inspection,
    Result,
    Verdict,
)
from .._dry_run import DryRunOptions
from .._model import Duration, Size, encode
from .._request import Callback, json_body, limits_of, with_tools
from ..errors import Conflict, Gone, InvalidRequest, NotFound, ProtocolError, TooLarge
from ..events import Event, InputRequest, ToolCall
from ..mcp import Complete, McpTools, model_tool, tools_of_servers
from ..tools import Tool, ToolLike, tools_of
from .follow import deliver
from .net import Jobs, call, end, in_thread
from .session import Session

if TYPE_CHECKING:
    from .sandbox import Sandbox

#: Returns the line for a prompt; None is the end of input.
OnInput = Optional[Callable[[InputRequest], Union[None, str, Awaitable[Optional[str]]]]]
NOBODY = (None,) * 6
# Limits end an execution, and its response says so. Sockets wait no longer than 24 days.
AS_LONG_AS_IT_TAKES_S = 2_000_000.0


def _body(
    code: str,
    env: Optional[Mapping[str, str]],
    limits: Optional[Limits],
    recover: Optional[bool],
    store_history: Optional[bool],
    allow_input: bool,
    dry_run: Union[None, bool, DryRunOptions],
    tools: List[Tool],
    tool_limits: Optional[ToolLimits],
) -> Dict[str, Any]:
    """The request of an execution."""
    wish = dry_run if isinstance(dry_run, DryRunOptions) else DryRunOptions()
    request = ExecuteRequest(
        code=code,
        env=env,
        limits=limits,
        recover=recover,
        store_history=store_history,
        allow_input=allow_input or None,
        dry_run=bool(dry_run) or None,
        dry_run_network=wish.network,
        dry_run_timeout=wish.timeout,
        tool_limits=tool_limits if tools else None,
    )
    return with_tools(request, tools)


class Context:
    """A live interpreter of a sandbox. As a context manager, it is ended with the block."""

    def __init__(self, sandbox: "Sandbox", id: str, info: Optional[ContextInfo] = None) -> None:
        self.sandbox = sandbox
        self.id = id
        self.language = info.language if info is not None else "python"
        self._client = sandbox.client
        self._place = {"id": sandbox.id, "cid": id}

    def __repr__(self) -> str:
        return f"Context({self.id!r}, {self.language!r})"

    def __enter__(self) -> "Context":
        return self

    def __exit__(self, *_: object) -> None:
        self.delete()

    def execute(
        self,
        code: str,
        *,
        env: Optional[Mapping[str, str]] = None,
        time: Optional[Duration] = None,
        memory: Optional[Size] = None,
        limits: Optional[Limits] = None,
        recover: Optional[bool] = None,
        store_history: Optional[bool] = None,
        dry_run: Union[None, bool, DryRunOptions] = None,
        on_stdout: Callback[str] = None,
        on_stderr: Callback[str] = None,
        on_result: Callback[Result] = None,
        on_error: Callback[GuestError] = None,
        on_event: Callback[Event] = None,
        on_input: OnInput = None,
        tools: Optional[Sequence[ToolLike]] = None,
        mcp: Optional[Mapping[str, McpTools]] = None,
        llm: Optional[Complete] = None,
        tool_limits: Optional[ToolLimits] = None,
        idempotency_key: Optional[str] = None,
    ) -> Verdict:
        """Executes code and returns the verdict. That the code fails is not an exception:
        ``execute(…).check()`` makes it one.

        `time` limits this execution. `recover` restores the state before it if the code ends the
        interpreter. `on_input` gives the lines that ``input()`` asks for; without it, code finds
        the end of input. `tools` are functions that the code may call: they run here, in this
        program, and only their results go inside. The synchronous client calls them one after the
        other, the asynchronous one beside each other. With ``mcp={"github": server}``, the tools
        of an `McpServer`, or those that its ``tools`` has returned, are in a module: ``from
        mcp.github import create_issue``. `llm` is called as ``llm.complete(prompt, …)``.
        `tool_limits` bounds all these calls.

        With `dry_run`, the verdict's ``dry_run`` says what the code has changed, and ``commit`` or
        ``discard`` decides about it; tools are not called.
        """
        offered = self._offered(tools, mcp, llm)
        body = _body(
            code,
            env,
            limits_of(limits, time, memory),
            recover,
            store_history,
            on_input is not None,
            dry_run,
            list(offered.values()),
            tool_limits,
        )
        told = (on_stdout, on_stderr, on_result, on_error, on_event, on_input)
        if self._client.address.engine is not None and not offered and told == NOBODY:
            # Nobody hears of events, and no network between here and the engine cuts a connection
            # for being silent: the verdict alone is sooner there.
            return Verdict.from_json(
                self._client.ask(
                    routes.EXECUTE,
                    self._place,
                    body=body,
                    idempotency_key=idempotency_key,
                    timeout=AS_LONG_AS_IT_TAKES_S,
                )
            )
        verdict: Optional[Verdict] = None
        events = self._events(body, idempotency_key)
        answered = self._answering(events, offered)
        try:
            for event in answered:
                deliver(event, on_stdout, on_stderr, on_result, on_error, on_event)
                if event.input_request is not None and on_input is not None:
                    self._reply(event.input_request, on_input)
                verdict = event.verdict or verdict
        finally:
            end(answered)
        if verdict is None:
            raise ProtocolError("the stream ended without a verdict")
        return verdict

    def stream(
        self,
        code: str,
        *,
        env: Optional[Mapping[str, str]] = None,
        time: Optional[Duration] = None,
        memory: Optional[Size] = None,
        limits: Optional[Limits] = None,
        recover: Optional[bool] = None,
        store_history: Optional[bool] = None,
        allow_input: bool = False,
        dry_run: Union[None, bool, DryRunOptions] = None,
        tools: Optional[Sequence[ToolLike]] = None,
        mcp: Optional[Mapping[str, McpTools]] = None,
        llm: Optional[Complete] = None,
        tool_limits: Optional[ToolLimits] = None,
        idempotency_key: Optional[str] = None,
    ) -> Iterator[Event]:
        """Executes code and returns its events as they come; the last one is the verdict. Requests
        for input and for `tools` are answered by ``reply`` and ``answer``; calls of `mcp` and `llm`
        are answered here, as the loop goes on. To leave the loop early ends the execution.
        """
        own = self._offered(None, mcp, llm)
        by_hand = tools_of(tools or [])
        body = _body(
            code,
            env,
            limits_of(limits, time, memory),
            recover,
            store_history,
            allow_input,
            dry_run,
            list(tools_of([*by_hand.values(), *own.values()]).values()),
            tool_limits,
        )
        events = self._events(body, idempotency_key)
        answered = self._answering(events, own, by_hand)
        try:
            for event in answered:
                yield event
        finally:
            end(answered)

    def _answering(
        self,
        events: Iterator[Event],
        offered: Mapping[str, Tool],
        by_hand: Container[str] = (),
    ) -> Iterator[Event]:
        """Passes events on, and answers the calls of all tools but those `by_hand`."""
        jobs = Jobs()
        try:
            for event in events:
                yield event
                if event.tool_call is not None and event.tool_call.name not in by_hand:
                    jobs.start(self._use(offered, event.tool_call))
            jobs.finish()
        finally:
            jobs.cancel()
            end(events)

    def _events(
        self, body: Mapping[str, Any], idempotency_key: Optional[str]
    ) -> Iterator[Event]:
        events = self._client.follow(
            routes.EXECUTE,
            self._place,
            body=body,
            idempotency_key=idempotency_key,
        )
        try:
            for event in events:
                yield event
        finally:
            end(events)

    def _offered(
        self,
        tools: Optional[Sequence[ToolLike]],
        mcp: Optional[Mapping[str, McpTools]],
        llm: Optional[Complete],
    ) -> Dict[str, Tool]:
        """All that the code may call."""
        offered = list(tools or [])
        if mcp:
            offered += in_thread(tools_of_servers, mcp)
        if llm is not None:
            offered.append(model_tool(llm))
        return tools_of(offered)

    def _reply(self, asked: InputRequest, on_input: OnInput) -> None:
        assert on_input is not None
        value = call(on_input, asked)
        try:
            self.reply(value, asked.request)
        except (Conflict, Gone, NotFound):
            pass  # The execution has ended meanwhile: its verdict says how.

    def _use(self, offered: Mapping[str, Tool], asked: ToolCall) -> bool:
        """Calls a tool and sends its result, or why there is none. Whether the code got it."""
        tool = offered.get(asked.name)
        answer: Dict[str, Any]
        if tool is None:
            answer = {"error": {"message": f"there is no tool '{asked.name}'"}}
        else:
            made = functools.partial(tool, **asked.arguments)
            try:
                result = (in_thread(made) if tool.blocking else call(made))
                answer = {"result": encode(result)}
                json_body(answer)  # What is not JSON is the tool's error, too.
            except Exception as error:  # What a tool raises goes to the code that called it.
                answer = {"error": {"message": f"{type(error).__name__}: {error}"}}
        try:
            try:
                self._answer(asked.id, answer)
            except (InvalidRequest, TooLarge) as error:
                why = f"the result of '{asked.name}' was refused: {error.message}"
                self._answer(asked.id, {"error": {"message": why}})
            return True
        except (Conflict, Gone, NotFound):
            return False  # The execution has ended meanwhile: its verdict says how.

    def answer(self, id: str, result: Any = None, *, error: Optional[str] = None) -> None:
        """Answers a tool call of ``stream`` with its result, or with an error."""
        self._answer(
            id, {"result": encode(result)} if error is None else {"error": {"message": error}}
        )

    def _answer(self, id: str, answer: Mapping[str, Any]) -> None:
        self._client.ask(routes.REPLY_TOOL, {**self._place, "call": id}, body=answer)

    def reply(self, value: Optional[str], request: Optional[int] = None) -> None:
        """Gives a line to code that waits for input; None is the end of input."""
        body = InputReply(value=value, request=request)
        self._client.ask(routes.REPLY_INPUT, self._place, body=body)

    def interrupt(self) -> None:
        """Interrupts the running execution, as Ctrl-C does."""
        self._client.ask(routes.INTERRUPT_CONTEXT, self._place)

    def restart(self) -> None:
        """Starts over without variables."""
        self._client.ask(routes.RESTART_CONTEXT, self._place)

    def checkpoint(self) -> int:
        """Keeps the state, variables and files, and returns the checkpoint's number."""
        made = self._client.ask(routes.CHECKPOINT_CONTEXT, self._place)
        return int(made["checkpoint"])

    def rollback(self, checkpoint: Optional[int] = None) -> int:
        """Goes back to a checkpoint, the newest one by default, and returns its number."""
        body = {} if checkpoint is None else {"checkpoint": checkpoint}
        gone = self._client.ask(routes.ROLLBACK_CONTEXT, self._place, body=body)
        return int(gone["checkpoint"])

    def commit(self, dry_run: Union[str, DryRun]) -> None:
        """Keeps what a dry run has changed. Raises ``Conflict`` if files have changed since it was
        shown, and ``NotFound`` if it was decided, or discarded because its time was over.
        """
        self.sandbox.commit(dry_run)

    def discard(self, dry_run: Union[str, DryRun]) -> None:
        """Takes back what a dry run has changed: variables and files are as they were."""
        self.sandbox.discard(dry_run)

    def fork(self, checkpoint: Optional[int] = None) -> "Context":
        """A new context with the state of a checkpoint; by default, of one that is made now."""
        number = checkpoint if checkpoint is not None else self.checkpoint()
        made = self._client.ask(
            routes.FORK_CONTEXT, self._place, body={"checkpoint": number}
        )
        return Context(self.sandbox, str(made["id"]), ContextInfo.from_json(made))

    def complete(self, code: str, cursor: Optional[int] = None) -> Completion:
        """What may follow at the cursor, which counts code points; its default is the end."""
        request = CompletionRequest(code=code, cursor=cursor)
        return Completion.from_json(
            self._client.ask(
                routes.COMPLETE_CODE, self._place, body=request, repeatable=True
            )
        )

    def inspect(
        self, code: str, cursor: Optional[int] = None, *, detail: Optional[int] = None
    ) -> Inspection:
        """Describes the name at the cursor; with `detail` 1, also by its source."""
        request = InspectionRequest(code=code, cursor=cursor, detail=detail)
        return Inspection.from_json(
            self._client.ask(routes.INSPECT_CODE, self._place, body=request, repeatable=True)
        )

    def notebook(self) -> Dict[str, Any]:
        """The cells so far as a Jupyter notebook (nbformat 4)."""
        return self._client.ask(routes.GET_NOTEBOOK, self._place)

    def notebook_html(self) -> str:
        """The cells so far as a page without scripts."""
        response = self._client.send(routes.GET_NOTEBOOK_PAGE, self._place)
        return (response.read()).decode("utf-8")

    def session(self) -> Session:
        """Opens a WebSocket for many executions, one after the other: the fastest way."""
        socket = self._client.open_socket(routes.EXECUTE_BY_SOCKET, self._place)
        return Session(socket, self)

    def delete(self) -> bool:
        """Ends the interpreter. False if it had ended before."""
        try:
            self._client.ask(routes.DELETE_CONTEXT, self._place)
            return True
        except (NotFound, Gone):
            return False


class Contexts:
    """The live interpreters of a sandbox: ``sandbox.contexts``."""

    def __init__(self, sandbox: "Sandbox") -> None:
        self._sandbox = sandbox
        self._place = {"id": sandbox.id}

    def create(
        self,
        language: str = "python",
        *,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
    ) -> Context:
        """Starts an interpreter."""
        body: Dict[str, Any] = {"language": language}
        if cwd is not None:
            body["cwd"] = cwd
        if env is not None:
            body["env"] = env
        made = self._sandbox.client.ask(routes.CREATE_CONTEXT, self._place, body=body)
        return Context(self._sandbox, str(made["id"]), ContextInfo.from_json(made))

    def get(self, id: str) -> Context:
        """Refers to a context by its id, without asking the daemon."""
        return Context(self._sandbox, id)

    def list(self) -> List[ContextInfo]:
        """All of them, oldest first."""
        found = self._sandbox.client.ask(routes.LIST_CONTEXTS, self._place)
        return [ContextInfo.from_json(each) for each in found["contexts"]]
