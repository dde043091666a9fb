# SPDX-License-Identifier: Apache-2.0
"""An interpreter for DSPy's modules that run code:

    dspy.RLM("question -> answer", interpreter_factory=GloveboxInterpreter)

The tools of a module are called from inside, which needs a daemon that knows tools
(docs/python.md).
"""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Optional

from dspy.primitives.code_interpreter import (
    CodeExecutionError,
    CodeInterpreterError,
    FinalOutput,
)

from .. import Context, GloveboxError, Sandbox, Tool, Verdict, tool
from ..mcp import name_in_code

# SUBMIT ends the code by an exception that says what was submitted.
SETUP = """
class _Submitted(BaseException):
    pass

def SUBMIT(*values, **named):
    import json
    names = {names!r}
    if len(values) > len(names):
        if names or len(values) > 1:
            raise TypeError(f"SUBMIT takes the fields {{', '.join(names)}}")
        raise _Submitted(json.dumps(values[0]))
    raise _Submitted(json.dumps({{**dict(zip(names, values)), **named}}))
"""
# A name such as `__name__` belongs to the interpreter: the tool has another one in the API.
ALIAS = """
def {name}(*arguments, **named):
    return {offered}(*arguments, **named)
"""
VARIABLES = "import json as _json\nglobals().update(_json.loads({text!r}))\ndel _json"


class GloveboxInterpreter:
    """One live interpreter of a sandbox, which keeps its variables."""

    def __init__(
        self,
        tools: Optional[Dict[str, Callable[..., Any]]] = None,
        output_fields: Optional[List[Dict[str, Any]]] = None,
        *,
        timeout: float = 60.0,
        **options: Any,
    ) -> None:
        """`timeout`: seconds for each execution; `options`: those of ``Sandbox.create``."""
        self._tools: Dict[str, Callable[..., Any]] = dict(tools or {})
        self.output_fields = output_fields
        self._timeout = timeout
        self._options = {"timeout": "1h", **options}
        self._sandbox: Optional[Sandbox] = None
        self._context: Optional[Context] = None
        self._ready_for: Any = None

    @property
    def tools(self) -> Dict[str, Callable[..., Any]]:
        return self._tools

    def start(self) -> None:
        if self._sandbox is None:
            try:
                self._sandbox = Sandbox.create(**self._options)
                self._context = self._sandbox.contexts.create("python")
            except GloveboxError as error:
                raise CodeInterpreterError(str(error)) from error

    def execute(self, code: str, variables: Optional[Dict[str, Any]] = None) -> Any:
        self.start()
        names = [str(each["name"]) for each in self.output_fields or []]
        others = {each: name_in_code(each) for each in self._tools if each.startswith("_")}
        if (names, others) != self._ready_for:
            aliases = (ALIAS.format(name=name, offered=each) for name, each in others.items())
            self._run(SETUP.format(names=names) + "".join(aliases))
            self._ready_for = (names, others)
        if variables:
            try:
                text = json.dumps(variables)
            except TypeError as error:
                raise CodeInterpreterError(f"a variable is not JSON: {error}") from error
            self._run(VARIABLES.format(text=text))
        verdict = self._run(code, fails=True)
        if verdict.error is not None and verdict.error.name == "_Submitted":
            return FinalOutput(json.loads(verdict.error.value))
        if not verdict.ok:
            if verdict.error is not None and verdict.error.name == "SyntaxError":
                raise SyntaxError(verdict.error.value)
            raise CodeExecutionError(str(verdict))
        return verdict.stdout.rstrip("\n") or verdict.text

    def _run(self, code: str, fails: bool = False) -> Verdict:
        assert self._context is not None
        try:
            verdict = self._context.execute(code, time=self._timeout, tools=self._offered())
        except GloveboxError as error:
            raise CodeInterpreterError(str(error)) from error
        if not fails and not verdict.ok:
            raise CodeInterpreterError(str(verdict))
        return verdict

    def _offered(self) -> List[Any]:
        offered = []
        for name, function in self._tools.items():
            made = tool(getattr(function, "func", function))
            offered.append(Tool(name_in_code(name), made.description, made.parameters, function))
        return offered

    def shutdown(self) -> None:
        sandbox, self._sandbox, self._context, self._ready_for = self._sandbox, None, None, None
        if sandbox is not None:
            sandbox.kill()
            sandbox.close()
