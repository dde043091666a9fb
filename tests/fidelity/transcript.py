# SPDX-License-Identifier: Apache-2.0
"""What one cell gave, in a form both interpreters can be brought to, and the cells themselves."""

from __future__ import annotations

import ast
import dataclasses
import pathlib
import re

MARKER = re.compile(r"^# %% (?P<name>[\w-]+)(?P<options>.*)$")


@dataclasses.dataclass
class Cell:
    """One cell. `inputs` answer its input() calls; at the text `interrupt_at` on stdout it is sent
    SIGINT; `until` is text that must have come before the cell counts as over, for output that a
    program wrote to descriptor 1 reaches a Jupyter client whenever its kernel gets to it."""

    name: str
    code: str
    inputs: list[str] = dataclasses.field(default_factory=list)
    interrupt_at: str = ""
    until: str = ""


@dataclasses.dataclass
class Transcript:
    """Outputs in their order, each a dict whose "type" is stream, display, result, error, clear
    or input; how the execution ended; and where the frames were not as agents/README.md says."""

    outputs: list[dict] = dataclasses.field(default_factory=list)
    status: str = ""
    execution_count: int | None = None
    violations: list[str] = dataclasses.field(default_factory=list)

    def stream(self, name: str, text: str) -> None:
        last = self.outputs[-1] if self.outputs else None
        if last and last["type"] == "stream" and last["name"] == name:
            last["text"] += text
        elif text:
            self.outputs.append({"type": "stream", "name": name, "text": text})

    def text_of(self, name: str) -> str:
        return "".join(each["text"] for each in self.outputs
                       if each["type"] == "stream" and each["name"] == name)


class CellFailure(Exception):
    """The interpreter did not answer as it must; the text says what was missed."""


def read_cells(path: pathlib.Path) -> list[Cell]:
    """The cells of a file: each begins with `# %% name`, and options as keyword arguments."""
    cells: list[Cell] = []
    lines: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        found = MARKER.match(line)
        if found:
            call = ast.parse(f"f({found['options']})", mode="eval").body
            options = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
            lines = []
            cells.append(Cell(found["name"], "", **options))
        elif cells:
            lines.append(line)
            cells[-1].code = "\n".join(lines).strip("\n")
    names = [cell.name for cell in cells]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise ValueError(f"{path}: cells of one name: {sorted(repeated)}")
    return cells
