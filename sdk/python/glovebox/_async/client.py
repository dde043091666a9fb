# SPDX-License-Identifier: Apache-2.0
"""The client of a daemon: requests, retries, and what belongs to no sandbox."""

from __future__ import annotations

import uuid
from typing import (
    Any,
    AsyncIterator,
    Callable,
    Dict,
    List,
    Literal,
    Mapping,
    Optional,
    Sequence,
    Union,
)

from .._address import find_address, find_key, tls_context
from .._engine import Engine
from .._generated import routes
from .._generated.requests import (
    ApprovalReply,
    Checker,
    Checks,
    JudgeCase,
    JudgeRequest,
    Limits,
    Network,
    ReviewReply,
    RunRequest,
)
from .._generated.responses import (
    Approval,
    AuditRecord,
    EmergencyStop,
    JudgedCase,
    JudgeReport,
    Verdict,
)
from .._judge import cases_of
from .._model import Duration, Model, Size
from .._request import Callback, json_body, limits_of, user_agent
from .._retry import Retry
from .._route import Route
from ..errors import (
    APIError,
    ConnectionFailed,
    GloveboxError,
    NotFound,
    ProtocolError,
    Timeout,
    TooLarge,
    error_of,
)
from ..events import Event, ToolCall, decode, event_of
from .admin import AsyncKeys, AsyncTenants
from .follow import deliver
from .http import AsyncPool, AsyncResponse, Body, NotSent
from .net import call, end, sleep
from .sandbox import AsyncSandboxes
from .templates import AsyncTemplates
from .volumes import AsyncVolumes
from .websocket import AsyncWebSocket

LINES = "application/x-ndjson"
# Of a review, in characters.
MOST_REASON = 1000


class AsyncClient:
    """A client of one daemon.

    Without arguments it goes to the daemon that ``GLOVEBOX_URL`` and ``GLOVEBOX_API_KEY`` name,
    else to the socket of ``glovebox serve`` on this machine, and if there is none, to the engine of
    this program, which starts then and needs no key (``"embedded:"`` as address). It may be used by several threads or
    tasks at once, and keeps connections open until it is closed.
    """

    def __init__(
        self,
        url: Union[None, str, Engine] = None,
        api_key: Optional[str] = None,
        *,
        timeout: Optional[float] = 120.0,
        connect_timeout: Optional[float] = 10.0,
        retry: Retry = Retry(),
        ca_file: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> None:
        """`api_key`: an empty one sends none, whatever the environment says. `timeout`: seconds to
        wait for the next byte of a response. A stream of events always has one, because the daemon
        sends a sign of life every 5 seconds.
        """
        self.address = find_address(url)
        # The key of the environment is one of a daemon.
        self.api_key = find_key("" if self.address.engine and api_key is None else api_key)
        self.timeout = timeout
        self.retry = retry
        self._headers = {"User-Agent": user_agent(), **(headers or {})}
        if self.api_key is not None:
            self._headers["Authorization"] = f"Bearer {self.api_key}"
        tls = tls_context(ca_file) if self.address.tls else None
        self._pool = AsyncPool(self.address, tls, connect_timeout)
        self.sandboxes = AsyncSandboxes(self)
        self.templates = AsyncTemplates(self)
        self.volumes = AsyncVolumes(self)
        self.keys = AsyncKeys(self)
        self.tenants = AsyncTenants(self)

    @property
    def url(self) -> str:
        return self.address.url

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Ends the connections. Sandboxes go on."""
        await self._pool.aclose()

    # Requests.

    async def send(
        self,
        route: Route,
        parameters: Optional[Mapping[str, object]] = None,
        *,
        query: Optional[Mapping[str, object]] = None,
        body: Union[None, Model, Mapping[str, Any]] = None,
        content: Union[None, Body, Callable[[], Body]] = None,
        headers: Optional[Mapping[str, str]] = None,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
        repeatable: Optional[bool] = None,
    ) -> AsyncResponse:
        """Sends a request of the API, and returns the response if it is a success.

        `body` is sent as JSON, `content` as it is; a function makes the content anew for each
        attempt. `repeatable` says whether sending it twice does no harm; by default, the route does.
        Raises an ``APIError`` for every other status.
        """
        head = {**self._headers, **(headers or {})}
        # A connection to an engine breaks only with the engine and all that it has made: there would
        # be nothing that a key could find again.
        if route.idempotency and (idempotency_key or self.address.engine is None):
            head["Idempotency-Key"] = idempotency_key or str(uuid.uuid4())
        if body is not None:
            content = json_body(body)
            head["Content-Type"] = "application/json"
            if len(content) > route.max_body:
                raise TooLarge(
                    f"the request has {len(content)} bytes, more than the {route.max_body} that "
                    f"{route.method} {route.path} takes",
                    "send less in one request; files go through sandbox.files",
                    status=413,
                    code="too_large",
                )
        if repeatable is None:
            repeatable = route.is_repeatable or "Idempotency-Key" in head
        once = content is not None and not callable(content)
        if once and not isinstance(content, bytes):
            repeatable = False
        target = route.target(parameters or {}, query)
        return await self._attempts(route, target, head, content, timeout, repeatable)

    async def _attempts(
        self,
        route: Route,
        target: str,
        headers: Mapping[str, str],
        content: Union[None, Body, Callable[[], Body]],
        timeout: Optional[float],
        repeatable: bool,
    ) -> AsyncResponse:
        seconds = self.timeout if timeout is None else timeout
        attempt = 0
        while True:
            sent = True
            try:
                piece = content() if callable(content) else content
                response = await self._pool.request(route.method, target, headers, piece, seconds)
                if response.status < 400:
                    return response
                raise await self._error(response, f"{route.method} {route.path}")
            except NotSent as unsent:
                sent, error = False, unsent.error
            except GloveboxError as raised:
                error = raised
            pause = self.retry.pause(error, attempt, repeatable, sent)
            if pause is None:
                raise error
            attempt += 1
            await sleep(pause)

    async def _error(self, response: AsyncResponse, what: str) -> APIError:
        content = await response.read()
        try:
            body = decode(content)
        except ProtocolError:
            body = {"message": content[:1000].decode("utf-8", "replace").strip()}
        return error_of(response.status, response.headers, body, what)

    async def ask(self, route: Route, *arguments: Any, **named: Any) -> Dict[str, Any]:
        """Sends a request as `send` does, and returns the response's JSON; none gives {}."""
        response = await self.send(route, *arguments, **named)
        content = await response.read()
        return dict(decode(content)) if content.strip() else {}

    async def lines(
        self, route: Route, *arguments: Any, headers: Optional[Mapping[str, str]] = None, **named: Any
    ) -> AsyncIterator[Mapping[str, Any]]:
        """Sends a request as `send` does, and returns the objects of its stream as they come."""
        head = {"Accept": LINES, **(headers or {})}
        response = await self.send(route, *arguments, headers=head, **named)
        async with response:
            async for line in response.iter_lines():
                if line.strip():
                    yield decode(line)

    async def follow(
        self, route: Route, *arguments: Any, idempotency_key: Optional[str] = None, **named: Any
    ) -> AsyncIterator[Event]:
        """The events of an execution. If the connection breaks, the request is repeated with its
        key, and the events that were seen are passed over, so that each comes once.
        """
        key = idempotency_key
        if key is None and self.address.engine is None:
            key = str(uuid.uuid4())
        seen = 0
        attempt = 0
        while True:
            passed = 0
            finished = False
            lines = self.lines(route, *arguments, idempotency_key=key, **named)
            try:
                async for value in lines:
                    event = event_of(value)
                    if event.type == "keepalive":
                        continue
                    if event.type == "approval_needed":  # A person is asked anew, or not.
                        yield event
                        continue
                    passed += 1
                    if passed <= seen:
                        continue
                    seen, attempt = passed, 0
                    yield event
                    finished = event.type == "verdict"
                if finished:
                    return
                raise ConnectionFailed("the stream ended without a verdict")
            except (ConnectionFailed, Timeout) as error:
                if finished:
                    return
                broken = ConnectionFailed(error.message, error.hint)
                pause = self.retry.pause(broken, attempt, route.idempotency and key is not None, True)
                if pause is None:
                    raise error
                attempt += 1
            finally:
                await end(lines)
            await sleep(pause)

    async def open_socket(
        self,
        route: Route,
        parameters: Mapping[str, object],
        headers: Optional[Mapping[str, str]] = None,
    ) -> AsyncWebSocket:
        """Opens the WebSocket of a route."""
        target = route.target(parameters)
        head = {**self._headers, **(headers or {})}
        try:
            stream, received, refusal = await self._pool.upgrade(target, head, self.timeout)
        except NotSent as unsent:
            raise unsent.error from None
        if refusal is not None:
            raise await self._error(refusal, f"{route.method} {route.path}")
        assert stream is not None
        return AsyncWebSocket(stream, received, self.timeout)

    # What belongs to no sandbox.

    async def run(
        self,
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
        template: Optional[str] = None,
        image: Optional[str] = None,
        tier: Optional[str] = None,
        min_tier: Optional[str] = None,
        user: Optional[Literal["user", "root"]] = None,
        nested: Optional[bool] = None,
        policy: Optional[Sequence[str]] = None,
        verify: Optional[str] = None,
        checks: Optional[Checks] = None,
        reviewer: Optional[Callable[[Mapping[str, Any]], Any]] = None,
        on_stdout: Callback[str] = None,
        on_stderr: Callback[str] = None,
        on_event: Callback[Event] = None,
        idempotency_key: Optional[str] = None,
    ) -> Verdict:
        """Runs a program in a fresh sandbox, which ends with it, and returns the verdict.

        `checks` have to hold before the verdict is ``ok``. Where they, or a policy, demand a review,
        `reviewer` gets ``criteria``, ``language``, ``code``, ``stdout`` and ``stderr``, and returns
        a ``ReviewReply`` or a bool. The output is what the code wrote: it may address the reviewer.
        """
        request = RunRequest(
            code=code,
            language=language or (None if name else "python"),
            name=name,
            arguments=list(arguments) if arguments is not None else None,
            stdin=stdin,
            files=files,
            env=env,
            limits=limits_of(limits, time, memory),
            template=template,
            image=image,
            tier=tier,
            min_tier=min_tier,
            user=user,
            nested=nested,
            policy=list(policy) if policy is not None else None,
            verify=verify,
            checks=checks,
            network=network,
        )
        verdict: Optional[Verdict] = None
        async for event in self.follow(
            routes.RUN, body=request, idempotency_key=idempotency_key
        ):
            await deliver(event, on_stdout, on_stderr, None, None, on_event)
            asked = event.tool_call
            if asked is not None and reviewer is not None:
                await self._review(asked, reviewer)
            verdict = event.verdict or verdict
        if verdict is None:
            raise ProtocolError("the stream ended without a verdict")
        return verdict

    async def _review(self, asked: ToolCall, reviewer: Callable[[Mapping[str, Any]], Any]) -> None:
        """Answers what a run waits for. A reviewer that fails has not found it right."""
        try:
            found = await call(reviewer, asked.arguments)
            reply = found if isinstance(found, ReviewReply) else ReviewReply(ok=found is True)
        except Exception as error:  # Of the caller's own code.
            reply = ReviewReply(ok=False, reason=f"the reviewer failed: {error}"[:MOST_REASON])
        try:
            await self.ask(routes.ANSWER_REVIEW, {"id": asked.id}, body=reply)
        except NotFound:
            pass  # It was too late, as the verdict says.

    async def judge(
        self,
        code: str,
        cases: Sequence[Union[JudgeCase, "tuple[str, str]"]],
        language: str = "python",
        *,
        name: Optional[str] = None,
        arguments: Optional[Sequence[str]] = None,
        env: Optional[Mapping[str, str]] = None,
        time: Optional[Duration] = None,
        memory: Optional[Size] = None,
        limits: Optional[Limits] = None,
        tier: Optional[str] = None,
        min_tier: Optional[str] = None,
        compare: Optional[str] = None,
        checker: Optional[Checker] = None,
        jobs: Optional[int] = None,
        stop_at_first: Optional[bool] = None,
        on_case: Callback[JudgedCase] = None,
    ) -> JudgeReport:
        """Compiles a program once and judges it by cases, each in a fresh sandbox.

        A case is a ``JudgeCase``, or a pair of its input and the expected output.
        """
        request = JudgeRequest(
            language=language,
            code=code,
            cases=cases_of(cases),
            name=name,
            arguments=list(arguments) if arguments is not None else None,
            env=env,
            limits=limits_of(limits, time, memory),
            tier=tier,
            min_tier=min_tier,
            compare=compare,
            checker=checker,
            jobs=jobs,
            stop_at_first=stop_at_first,
        )
        report: Optional[JudgeReport] = None
        async for value in self.lines(routes.JUDGE, body=request):
            event = event_of(value)
            if event.type == "case" and on_case is not None:
                await call(on_case, JudgedCase.from_json(event.data))
            if event.type == "verdict":
                report = JudgeReport.from_json(event.data)
        if report is not None:
            return report
        raise ProtocolError("the stream ended without a verdict")

    async def languages(self) -> List[Dict[str, Any]]:
        """The languages that the daemon knows, and whether each is ready."""
        return list((await self.ask(routes.LIST_LANGUAGES))["languages"])

    async def info(self) -> Dict[str, Any]:
        """What answers at the address, and whether it is ready."""
        return await self.ask(routes.SELF)

    async def health(self) -> Dict[str, Any]:
        """``status``, and ``ready`` once the daemon's interpreters are warm. Needs no key."""
        return await self.ask(routes.HEALTH)

    async def metrics(self) -> str:
        """The daemon's metrics in Prometheus' text format."""
        return (await (await self.send(routes.METRICS)).read()).decode("utf-8")

    async def openapi(self) -> Dict[str, Any]:
        """The daemon's description of its API."""
        return await self.ask(routes.OPENAPI)

    async def approvals(self) -> List[Approval]:
        """What waits until a person agrees to it, because a policy asks for one; oldest first."""
        found = await self.ask(routes.LIST_APPROVALS)
        return [Approval.from_json(each) for each in found["approvals"]]

    async def decide(
        self,
        approval: Approval,
        decision: Literal["allow", "refuse"],
        *,
        remember: bool = False,
    ) -> None:
        """Agrees to exactly what `approval` shows, or refuses it. Needs the scope approve.

        Raises ``Conflict`` when somebody else decided, or it is over.
        """
        reply = ApprovalReply(decision=decision, hash=approval.hash, remember=remember)
        await self.ask(routes.DECIDE_APPROVAL, {"id": approval.id}, body=reply)

    async def audit_records(
        self,
        *,
        after: int = 0,
        limit: int = 100,
        action: Optional[str] = None,
        sandbox: Optional[str] = None,
    ) -> List[AuditRecord]:
        """Records of what was done, oldest first, from behind the number `after` on. A page may have
        fewer than `limit`. Needs the scope admin.
        """
        query = {"after": str(after), "limit": str(limit), "action": action, "sandbox": sandbox}
        found = await self.ask(routes.LIST_AUDIT, query=query)
        return [AuditRecord.from_json(each) for each in found["records"]]

    async def emergency_stop(
        self, *, tenant: Optional[str] = None, sandbox: Optional[str] = None
    ) -> int:
        """Ends every sandbox and execution of a tenant, of a sandbox, or of everybody, and returns
        how many sandboxes. Needs the scope admin.

        Nothing starts there until lift_emergency_stop().
        """
        scope = {"tenant": tenant, "sandbox": sandbox}
        body = {name: value for name, value in scope.items() if value is not None}
        return int((await self.ask(routes.EMERGENCY_STOP, body=body))["stopped"])

    async def emergency_stops(self) -> List[EmergencyStop]:
        """The stops in effect, oldest first. Needs the scope admin."""
        found = await self.ask(routes.LIST_EMERGENCY_STOPS)
        return [EmergencyStop.from_json(each) for each in found["stops"]]

    async def lift_emergency_stop(
        self, *, tenant: Optional[str] = None, sandbox: Optional[str] = None
    ) -> None:
        """Lets sandboxes and executions of this scope start again. Needs the scope admin."""
        query = {"tenant": tenant, "sandbox": sandbox}
        await self.ask(routes.LIFT_EMERGENCY_STOP, query=query)
