# SPDX-License-Identifier: Apache-2.0
"""C++ text of a cell, cut into top-level items, and what each of them is.

No parser of C++: it knows comments, strings, brackets and the shape of declarations. C++ itself
says that what looks like a declaration is one, which makes the guess a good one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DIRECTIVE, TYPE, FUNCTION, VARIABLE, STATEMENT, EXPRESSION = range(6)


@dataclass
class Item:
    text: str
    line: int
    kind: int = STATEMENT
    names: tuple[str, ...] = ()


_SKIP = re.compile(
    r"""//[^\n]*|/\*.*?\*/|(?:u8|[uUL])?R"([^()\\\s]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|"""
    r"""(?<![\w])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL,
)
_CONTINUES = re.compile(r"\s*(?:[;.,)\]?=+\-*<>&|:\[(]|/(?![/*])|(?:else|catch)\b)")
_WORD = re.compile(r"[A-Za-z_]\w*")
_OPEN, _CLOSE = "([{", ")]}"


class Unfinished(Exception):
    """A bracket, a string or a comment is still open at the end."""


def blank(code: str) -> str:
    """The same text with comments and the insides of strings blanked; lines stay."""

    def cover(match: re.Match[str]) -> str:
        text = match.group()
        filler = re.sub(r"[^\n]", " ", text)
        return filler if text[0] == "/" else '"' + filler[1:-1] + '"'

    return _SKIP.sub(cover, code)


def split(code: str) -> list[Item]:
    """Top-level items in order. Raises Unfinished."""
    plain = blank(code)
    if "/*" in plain or 'R"' in plain:
        raise Unfinished
    items: list[Item] = []
    start = at = depth = 0

    def add(end: int) -> None:
        nonlocal start
        text = code[start:end]
        if plain[start:end].strip(" \t\r\n;"):
            skipped = len(text) - len(text.lstrip())
            items.append(Item(text.strip(), code.count("\n", 0, start + skipped) + 1))
        start = end

    while at < len(plain):
        char = plain[at]
        if char == "#" and depth == 0 and not plain[start:at].strip():
            while True:  # To the end of the line, over continued ones.
                end = plain.find("\n", at)
                end = len(plain) if end < 0 else end
                at = end
                if end == len(plain) or plain[end - 1] != "\\":
                    break
                at += 1
            start = code.rfind("\n", 0, at) + 1 if not plain[start:at].strip() else start
            add(at)
            continue
        at += 1
        if char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
        if depth > 0:
            continue
        depth = 0
        if char == ";" or (char == "}" and _ends_at_brace(plain, start, at)):
            add(at)
    add(len(plain))
    if depth > 0:
        raise Unfinished
    return items


def _ends_at_brace(plain: str, start: int, at: int) -> bool:
    head = plain[start:at].lstrip()
    if re.match(r"(?:struct|class|union|enum)\b", head) and not re.search(r"\)\s*\{", head[:200]):
        return False  # Up to the semicolon.
    if re.match(r"do\b", head) and re.match(r"\s*while\b", plain[at:]):
        return False
    if re.match(r"(?:if|for|while|switch|try|namespace|template|\{)", head) or _is_function(head):
        return not re.match(r"\s*(?:else|catch)\b", plain[at:])
    return not _CONTINUES.match(plain, at)


_FUNCTION_TAIL = re.compile(
    r"\)\s*(?:const\b|noexcept\b(?:\s*\([^()]*\))?|override\b|final\b|&&?|requires\b[^{]*|"
    r"->\s*[^{;=]+|:\s*[^;]*?|\s)*\{"
)


def _is_function(plain: str) -> bool:
    """Whether the text, up to its first brace, heads a function definition."""
    declared = _declared(plain)
    if declared is None or not plain[declared[1] :].lstrip().startswith("("):
        return False
    return bool(_FUNCTION_TAIL.match(plain, _after_brackets(plain, declared[1]) - 1))


def _after_brackets(text: str, at: int) -> int:
    """The place after the brackets that begin at or after `at`."""
    depth = 0
    while at < len(text):
        depth += (text[at] in _OPEN) - (text[at] in _CLOSE)
        at += 1
        if depth == 0 and text[at - 1] in _CLOSE:
            break
    return at


_SPECIFIERS = (
    r"(?:(?:const|static|constexpr|consteval|constinit|inline|thread_local|volatile|virtual|explicit|"
    r"extern|friend|typename|struct|class|enum|register)\b\s*|\[\[[^\]]*\]\]\s*)*"
)
_BUILTIN = (
    r"(?:(?:unsigned|signed|long|short|int|char|double|float|bool|void|wchar_t|char8_t|char16_t|"
    r"char32_t|auto)\b\s*)+"
)
_NOT_TYPES = frozenset(
    "return throw delete new goto else case co_return co_await co_yield sizeof not using if for "
    "while do switch try break continue default typedef namespace template operator this".split()
)


def _angles(text: str, at: int) -> int | None:
    """The place after balanced angle brackets that begin at `at`, or None."""
    depth = 0
    while at < len(text):
        char = text[at]
        if char == "<":
            depth += 1
        elif char == ">":
            depth -= 1
            if depth == 0:
                return at + 1
        elif char in "([":
            at = _after_brackets(text, at)
            continue
        elif char in ";{}=":
            return None
        at += 1
    return None


def _type_end(text: str) -> tuple[int, bool] | None:
    """Where the type that the text begins with ends, and whether it is a built-in one."""
    at = re.match(_SPECIFIERS, text).end()  # type: ignore[union-attr]
    builtin = re.match(_BUILTIN, text[at:])
    if builtin:
        return at + builtin.end(), True
    decltype = re.match(r"decltype\s*\(", text[at:])
    if decltype:
        return _after_brackets(text, at), True
    while True:
        word = re.compile(r"(?:::\s*)?([A-Za-z_]\w*)\s*").match(text, at)
        if word is None or word.group(1) in _NOT_TYPES:
            return None
        at = word.end()
        if text[at : at + 1] == "<" and text[at : at + 2] not in ("<<", "<="):
            after = _angles(text, at)
            if after is None:
                return None
            at = after
        if not re.compile(r"\s*::\s*[A-Za-z_]").match(text, at):
            return at, False
        at = text.index("::", at)


def _declared(text: str) -> tuple[str, int, bool, bool] | None:
    """Name, place after it, whether a pointer or reference, whether of a built-in type."""
    found = _type_end(text)
    if found is None:
        return None
    at, builtin = found
    operators = re.compile(r"(?:\s|\*|&|const\b|volatile\b|constexpr\b)*").match(text, at)
    at = operators.end()  # type: ignore[union-attr]
    name = re.compile(
        r"(?:[A-Za-z_]\w*(?:<[^<>;]*>)?::)*(?:operator\s*(?:\(\)|\[\]|[^\s\w(]+|\w+)|~?[A-Za-z_]\w*)"
    ).match(text, at)
    # Between a type and a name there is a space or an operator.
    if name is None or not re.search(r"[\s*&>)]", text[at - 1 : at]):
        return None
    if name.group() in _NOT_TYPES or name.group() in ("and", "or", "xor", "bitand", "bitor", "in"):
        return None
    if not re.compile(r"\s*(?:=(?!=)|;|\{|\(|\[|,|:(?!:)|$)").match(text, name.end()):
        return None
    indirect = any(c in operators.group() for c in "*&")  # type: ignore[union-attr]
    return name.group(), name.end(), indirect, builtin


def classify(item: Item, known: set[str], is_last: bool) -> None:
    """Fills in the item's kind and the names that it declares. `known`: variables so far."""
    text = blank(item.text)
    text = re.sub(r"^\s+", "", text)
    if text.startswith("#"):
        item.kind = DIRECTIVE
        return
    typed = re.match(
        r"(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?:\[\[.*?\]\]\s*)?(\w+)", text
    )
    if re.match(
        r"(?:using|typedef|template|namespace|static_assert|extern|inline\s+namespace)\b", text
    ):
        item.kind = TYPE
        alias = re.match(r"using\s+(\w+)\s*=", text)
        concept = re.match(
            r"template\s*<.*?>\s*(?:concept|struct|class|using)\s+(\w+)", text, re.DOTALL
        )
        typedef = re.match(r"typedef\b.*?(\w+)\s*;$", text, re.DOTALL)
        item.names = tuple(m.group(1) for m in (alias, concept, typedef) if m)
        function = None if item.names else _template_function(text)
        if function:
            item.names = (function,)
        return
    if typed and re.match(r"\s*(?:final\s*)?(?::[^:=(][^{;(]*)?(?:\{|;)", text[typed.end() :]):
        item.kind = TYPE
        # A forward declaration may be repeated.
        item.names = (typed.group(1),) if "{" in text else ()
        return
    bindings = re.match(rf"{_SPECIFIERS}auto\s*&{{0,2}}\s*\[([\w\s,]+)\]\s*[=({{]", text)
    if bindings:
        item.kind = VARIABLE
        item.names = tuple(name.strip() for name in bindings.group(1).split(","))
        return
    declared = _declared(text)
    if declared is not None:
        name, after, indirect, builtin = declared
        product = indirect and not builtin and text[after:].strip() in ("", ";")
        if not (product and _WORD.match(text).group() in known):  # type: ignore[union-attr]
            if _is_function(text) or _is_prototype(text, after, known):
                item.kind = FUNCTION
                end = _after_brackets(text, text.index("(", after))
                # A declaration and its definition have one name; so have overloads none in common.
                key = re.sub(r"\s+", " ", name + text[text.index("(", after) : end])
                item.names = (key,) if text.endswith("}") else ()
                return
            item.kind = VARIABLE
            item.names = _declarators(text, name, after)
            return
    if re.match(r"(?:if|for|while|do|switch|try|\{|return|throw|delete)", text):
        is_word = re.match(r"\w*", text).group() in (  # type: ignore[union-attr]
            "if", "for", "while", "do", "switch", "try", "return", "throw", "delete", "",
        )  # fmt: skip
        if is_word:
            item.kind = STATEMENT
            return
    item.kind = EXPRESSION if is_last and not text.rstrip().endswith(";") else STATEMENT


def _template_function(text: str) -> str | None:
    if not text.startswith("template"):
        return None
    at = _angles(text, text.find("<")) or len(text)
    body = text[at:].lstrip()
    declared = _declared(body)
    if declared is None or not body[declared[1] :].lstrip().startswith("("):
        return None
    end = _after_brackets(body, body.index("(", declared[1]))
    return re.sub(r"\s+", " ", text[:at] + declared[0] + body[declared[1] : end])


def _is_prototype(text: str, after: int, known: set[str]) -> bool:
    rest = text[after:].lstrip()
    if not rest.startswith("("):
        return False
    end = _after_brackets(rest, 0)
    if not re.match(r"\s*(?:const|noexcept|->[^;]*|\s)*;?\s*$", rest[end:]):
        return False
    inside = rest[1 : end - 1].strip()
    if not inside:
        return True
    found = _type_end(inside)
    if found is None or inside.split(",")[0].strip() in known:
        return False
    return found[1] and not re.match(r"\s*[({]", inside[found[0] :]) or _declared(inside) is not None


def _declarators(text: str, first: str, after: int) -> tuple[str, ...]:
    names, depth, at = [first], 0, after
    while at < len(text):
        depth += (text[at] in _OPEN) - (text[at] in _CLOSE)
        if text[at] == "," and depth == 0:
            name = re.compile(r"[\s*&]*([A-Za-z_]\w*)\s*[=;{\[(,]").match(text, at + 1)
            if name:
                names.append(name.group(1))
        at += 1
    return tuple(names)
