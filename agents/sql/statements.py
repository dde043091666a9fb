# SPDX-License-Identifier: Apache-2.0
"""Cuts what a user typed into SQL statements and dot commands."""

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

# What may hide a semicolon: comments, strings, and names in three kinds of quotes. An unfinished
# one reaches to the end.
_TOKEN = re.compile(
    r"""--[^\n]*|/\*.*?(?:\*/|\Z)|'[^']*(?:'|\Z)|"[^"]*(?:"|\Z)|`[^`]*(?:`|\Z)"""
    r"""|\[[^\]]*(?:\]|\Z)|;""", re.DOTALL)
_TRIGGER = re.compile(r"\s*create\s+(?:temp\s+|temporary\s+)?trigger\b", re.IGNORECASE)
_COMMENT = re.compile(r"(?:\s+|--[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z))*", re.DOTALL)


@dataclass
class Statement:
    text: str
    line: int


def is_dot_command(text: str) -> bool:
    return text.startswith(".")


def split(code: str) -> Iterator[Statement]:
    position = 0
    line = 1
    while True:
        blank = _COMMENT.match(code, position).end()
        line += code.count("\n", position, blank)
        position = blank
        if position >= len(code):
            return
        if code[position] == ".":
            end = code.find("\n", position)
            end = len(code) if end < 0 else end
        else:
            end = _statement_end(code, position)
        text = code[position:end].strip()
        if text and text != ";":
            yield Statement(text, line)
        line += code.count("\n", position, end)
        position = end


def _statement_end(code: str, start: int) -> int:
    trigger = _TRIGGER.match(code, start) is not None
    for token in _TOKEN.finditer(code, start):
        if token.group() != ";":
            continue
        # The body of a trigger holds semicolons; SQLite itself knows where it ends.
        if not trigger or sqlite3.complete_statement(code[start:token.end()]):
            return token.end()
    return len(code)


def completeness(code: str) -> str:
    last = None
    for last in split(code):
        pass
    if last is None or is_dot_command(last.text) or sqlite3.complete_statement(last.text):
        return "complete"
    return "incomplete"
