# SPDX-License-Identifier: Apache-2.0
"""Tools for models, without any framework: schemas for OpenAI and Anthropic, and what runs the
calls that come back.

    toolbox = Toolbox(sandbox)
    message = anthropic.messages.create(tools=toolbox.anthropic(), …)
    results = [toolbox.anthropic_result(block) for block in message.content
               if block.type == "tool_use"]
"""

from __future__ import annotations

import base64
import json
from typing import Any, Dict, List, Mapping

from .. import GloveboxError, Sandbox, Tool, Verdict, tool

MOST_TEXT = 100_000


class Toolbox:
    """What a model may do in a sandbox: run code, run commands, and read and write files."""

    def __init__(self, sandbox: Sandbox, *, timeout: float = 60.0) -> None:
        """`timeout`: seconds for each execution and command."""
        self._sandbox = sandbox
        self._timeout = timeout
        functions = (self.run_code, self.run_command, self.read_file, self.write_file)
        self.tools: Dict[str, Tool] = {made.name: made for made in map(tool, functions)}

    def run_code(self, code: str, language: str = "python") -> Verdict:
        """Runs code in a live interpreter, which keeps its variables from call to call. Returns
        what it prints, its value, and pictures.

        Args:
            code: The code to run.
            language: The interpreter, such as python, javascript or bash.
        """
        return self._sandbox.execute(code, language, time=self._timeout)

    def run_command(self, command: str) -> str:
        """Runs a line of shell and returns its output and exit status.

        Args:
            command: The line of shell.
        """
        done = self._sandbox.commands.run(command, timeout=self._timeout)
        status = "" if done.ok else f"\n[{done.reason}, exit status {done.exit_code}]"
        return done.stdout + done.stderr + status

    def read_file(self, path: str) -> str:
        """Returns the text of a file.

        Args:
            path: Relative to the workspace, or absolute.
        """
        return self._sandbox.files.read_text(path, errors="replace")

    def write_file(self, path: str, content: str) -> str:
        """Writes a text to a file and creates its directories.

        Args:
            path: Relative to the workspace, or absolute.
            content: The whole text.
        """
        return f"wrote {self._sandbox.files.write(path, content).size} bytes to {path}"

    def openai(self, *, responses: bool = True) -> List[Dict[str, Any]]:
        """The tools for OpenAI's Responses API; with `responses` false, for Chat Completions."""
        plain = [{**each.schema(), "type": "function"} for each in self.tools.values()]
        if responses:
            return plain
        return [{"type": "function", "function": each.schema()} for each in self.tools.values()]

    def anthropic(self) -> List[Dict[str, Any]]:
        """The tools for Anthropic's Messages API."""
        return [
            {"name": each.name, "description": each.description,
             "input_schema": dict(each.parameters)}
            for each in self.tools.values()
        ]

    def openai_result(self, call: Any) -> Dict[str, Any]:
        """Runs a `function_call` item of a response, or a tool call of a chat completion, and
        returns the item or message that answers it.
        """
        function = _field(call, "function")
        source = function if function is not None else call
        text, _, _ = self._call(
            str(_field(source, "name")), json.loads(_field(source, "arguments") or "{}")
        )
        if function is not None:
            return {"role": "tool", "tool_call_id": _field(call, "id"), "content": text}
        return {"type": "function_call_output", "call_id": _field(call, "call_id"), "output": text}

    def anthropic_result(self, block: Any) -> Dict[str, Any]:
        """Runs a `tool_use` block and returns the `tool_result` block for it, with pictures."""
        text, pictures, failed = self._call(str(_field(block, "name")), _field(block, "input") or {})
        content: List[Dict[str, Any]] = [{"type": "text", "text": text}]
        content += [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png",
                                         "data": base64.b64encode(each).decode("ascii")}}
            for each in pictures
        ]
        return {"type": "tool_result", "tool_use_id": _field(block, "id"), "content": content,
                "is_error": failed}

    def _call(self, name: str, arguments: Mapping[str, Any]) -> "tuple[str, List[bytes], bool]":
        """The text and the pictures for the model, and whether the call failed."""
        wanted = self.tools.get(name)
        if wanted is None:
            return f"there is no tool '{name}'", [], True
        try:
            found = wanted(**arguments)
        except (GloveboxError, TypeError) as error:
            return str(error), [], True
        if isinstance(found, Verdict):
            pictures = [each.png for each in found.results if each.png is not None]
            return _cut(str(found)), pictures, not found.ok
        return _cut(str(found)), [], False


def _field(value: Any, name: str) -> Any:
    """A field of an object or of a dictionary."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _cut(text: str, most: int = MOST_TEXT) -> str:
    """The head and the tail of a text that is too long for a model."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"

