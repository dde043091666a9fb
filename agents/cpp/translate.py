# SPDX-License-Identifier: Apache-2.0
"""From cells to translation units that share their state.

Each cell becomes a shared object. What earlier cells declared stands before it as a header would:
variables and functions as `inline`, so that the language itself promises one entity in the whole
process; the dynamic linker keeps that promise, also for the flag that a variable is initialised.
Statements run as initialisers between the variables, so everything happens in the order written.

A name that is declared again opens a namespace inside the one before: the new meaning hides the old
one, and what was written against the old one keeps it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import source
from source import Item


@dataclass
class _Part:
    text: str
    level: int  # 0: outside of all namespaces
    index: int  # the item's place in its cell


@dataclass
class Unit:
    """One cell's translation unit, and what is to be kept of it when it ran."""

    text: str
    level: int
    parts: list[_Part]
    names: list[tuple[int, str]]  # with the item's place
    variables: set[str] = field(default_factory=set)


class History:
    def __init__(self) -> None:
        self._parts: list[_Part] = []
        self._level = 1
        self._variables: set[str] = set()
        # Also names whose initialisation failed: their symbols exist and count as initialised.
        self._taken: set[str] = set()

    def names(self) -> list[str]:
        return sorted(self._variables)

    def unit(self, code: str, number: int) -> Unit:
        """Translates a cell. Raises source.Unfinished."""
        items = source.split(code)
        known = set(self._variables)
        for at, item in enumerate(items):
            source.classify(item, known, at == len(items) - 1)
            if item.kind == source.VARIABLE:
                known.update(item.names)
        names = [(at, name) for at, item in enumerate(items) for name in item.names]
        level = self._level + any(name in self._taken for _, name in names)
        kept: list[_Part] = []
        own: list[_Part] = []
        for at, item in enumerate(items):
            line = f'\n#line {item.line} "cell {number}"\n'
            outside = item.kind == source.DIRECTIVE or _belongs_to_std(item.text)
            declaration, action = _translate(item, line, number, at)
            if declaration:
                part = _Part(declaration, 0 if outside else level, at)
                later = _reference(item, line) if item.kind == source.VARIABLE else None
                kept.append(part if later is None else _Part(later, part.level, at))
                if item.kind == source.VARIABLE:
                    own.append(_mark(number, at, level))
                own.append(part)
            if action:
                own.append(_mark(number, at, level))
                own.append(_Part(action, level, at))
        text = _render(self._parts + own) + _entry()
        variables = known - self._variables
        return Unit(text, level, kept, names, variables)

    def keep(self, unit: Unit, reached: int) -> None:
        """Takes over what the unit declared before the item that failed; all of it for -1."""
        self._level = unit.level
        self._taken.update(name for _, name in unit.names)
        self._parts += [part for part in unit.parts if reached < 0 or part.index < reached]
        lost = {name for at, name in unit.names if 0 <= reached <= at}
        self._variables |= unit.variables - lost


def _belongs_to_std(text: str) -> bool:
    """A specialisation of a standard template can stand in no namespace of ours."""
    return bool(
        re.match(r"namespace\s+std\b", text)
        or re.match(r"template\s*<[^;{]*?>\s*(?:struct|class)\s+std::", text, re.DOTALL)
    )


def _mark(number: int, at: int, level: int) -> _Part:
    text = f"\nstatic const int glovebox_mark_{number}_{at} = (::glovebox::reached_item = {at}, 0);"
    return _Part(text, level, at)


def _translate(item: Item, line: str, number: int, at: int) -> tuple[str, str]:
    """What later cells need of the item, and what happens in its own cell alone."""
    if item.kind == source.DIRECTIVE:
        return f"{line}{item.text}\n", ""
    if item.kind == source.TYPE:
        return line + _with_inline_members(item.text), ""
    if item.kind == source.FUNCTION:
        if re.match(rf"{source._SPECIFIERS}(?:int|auto|void)\s+main\s*\(", item.text):
            return _main_function(item.text, line, number, at)
        return _inline(item.text, line), ""
    if item.kind == source.VARIABLE:
        text = item.text if item.text.endswith(";") else item.text + ";"
        binding = re.search(r"^(.*?auto)\s*(&{0,2})\s*\[([\w\s,]+)\]", text)
        if binding:
            return _bindings(text, binding, line, number, at), ""
        # Nothing at top level can be captured, and a capture default is not allowed there.
        # "used": later cells refer to it, also when this one does not.
        variable = _inline(re.sub(r"=\s*\[[&=]\]", "= []", text), line)
        return f"\n__attribute__((used)){variable}", ""
    name = f"glovebox_action_{number}_{at}"
    if item.kind == source.EXPRESSION:
        body = f"::glovebox::result_of([]() -> decltype(auto) {{ return ({line}{item.text}\n); }});"
    else:
        body = f"{line}{item.text}\n;"
    return "", f"\nstatic const int {name} = ([]() -> void {{ {body} }}(), 0);"


def _reference(item: Item, line: str) -> str | None:
    """The variable as later cells may declare it, so that they need not compile its initialiser.

    None where the type is not plain to see, or the value counts as a constant: there the whole
    definition is repeated, which means the same.
    """
    text = item.text.rstrip("; \n")
    plain = source.blank(text)
    fixed = re.match(r"(?:\w+\s+)*?(?:const|constexpr|thread_local|static)\b", plain)
    if len(item.names) != 1 or fixed:
        return None
    declared = source._declared(plain)
    if declared is None or "&" in plain[: declared[1]] or "::" in declared[0]:
        return None
    name, after = declared[0], declared[1]
    head, rest = plain[:after], plain[after:].lstrip()
    if re.match(r"auto\s", head):
        value = text[text.index("=", after) + 1 :] if rest.startswith("=") else ""
        if not value.strip() or "[" in value or value.lstrip().startswith("{"):
            return None
        return f"\nextern ::std::decay_t<decltype({line}{value}\n)> {name};"
    if rest[:1] not in ("", "=", "{", "("):
        return None
    # A template's name without arguments: they are deduced from the initialiser.
    complete = re.match(r"std::(?:\w*string\w*|regex)\s", head)
    deduced = re.match(r"std::\w+\s", head) and not complete
    user_type = re.match(r"[A-Z_a-z]\w*\s", head) and not declared[3]
    return None if deduced or user_type else f"\nextern {line}{text[:after]};"


def _inline(text: str, line: str) -> str:
    attributes = re.match(r"(?:\[\[[^\]]*\]\]\s*)*", text).group()  # type: ignore[union-attr]
    rest = re.sub(r"^((?:\w+\s+)*?)static\s+", r"\1", text[len(attributes) :])
    is_prototype = rest.endswith(";") and re.match(r"[^={]*\)\s*(?:const|noexcept|\s)*;$", rest)
    inline = "" if re.match(r"(?:\w+\s+)*?inline\b", rest) or is_prototype else "inline "
    return f"\n{attributes}{inline}{line}{rest}"


def _bindings(text: str, binding: re.Match[str], line: str, number: int, at: int) -> str:
    """Structured bindings can't be inline: a variable for the whole and references to its parts."""
    whole = f"glovebox_whole_{number}_{at}"
    names = [name.strip() for name in binding.group(3).split(",")]
    head = f"\ninline {line}{binding.group(1)}{binding.group(2)} {whole}{text[binding.end() :]}"
    pattern = f"auto& [{', '.join(names)}] = whole;"
    references = [
        f"\ninline auto& {name} = [](auto& whole) -> auto& {{ {pattern} return {name}; }}({whole});"
        for name in names
    ]
    return head + "".join(references)


def _main_function(text: str, line: str, number: int, at: int) -> tuple[str, str]:
    """A whole program as a cell: its main gets another name, and is called."""
    name = f"program_{number}_{at}"
    renamed = re.sub(r"\bmain\s*\(", f"{name}(", text, count=1)
    # Only main itself may end without a return.
    returns = "" if re.match(r"void\b", text) else "return 0;"
    definition = _inline(renamed[: renamed.rindex("}")] + f"\n{returns}}}", line)
    parameters = text[text.index("(") + 1 : text.index(")")].strip()
    if parameters in ("", "void"):
        call = f"{name}();"
    else:
        arguments = 'char program[] = "cell"; char* arguments[] = {program, nullptr};'
        call = f"{arguments} {name}(1, arguments);"
    action = f"\nstatic const int glovebox_action_{number}_{at} = ([]() -> void {{ {call} }}(), 0);"
    return "", definition + action


def _with_inline_members(text: str) -> str:
    """Functions and variables of a namespace are made inline as those outside of one."""
    head = re.match(r"(?:inline\s+)?namespace\s+[\w:]*\s*\{", text)
    if head is None:
        return text
    inside = text[head.end() : text.rindex("}")]
    out = [head.group()]
    known: set[str] = set()
    for item in source.split(inside):
        source.classify(item, known, False)
        if item.kind == source.TYPE:
            out.append(_with_inline_members(item.text))
        elif item.kind in (source.FUNCTION, source.VARIABLE):
            known.update(item.names)
            out.append(_inline(item.text, ""))
        else:
            out.append(item.text)
    return "\n".join(out) + "\n}"


def _render(parts: list[_Part]) -> str:
    out, depth, deepest = [], 0, 0
    for part in parts:
        if part.level == 0:
            out.append("\n" + "}" * depth)
            depth = 0
        while depth < part.level:
            depth += 1
            out.append(f"\nnamespace cell_{depth} {{ ")
        deepest = max(deepest, depth)
        out.append(part.text)
    out.append("\n" + "}" * depth)
    return "".join(out)


def _entry() -> str:
    """What the agent calls: the initialisers, which the compiler's output names for us."""
    return """
#line 1 "entry"
static const int glovebox_has_initialiser = (::glovebox::cell_count + 0);
extern "C" {
extern const ::glovebox::Initialiser __start_glovebox_init[] __attribute__((visibility("hidden")));
extern const ::glovebox::Initialiser __stop_glovebox_init[] __attribute__((visibility("hidden")));
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));
__attribute__((visibility("default"))) int glovebox_run(::glovebox::Say say) {
  return ::glovebox::run(__start_glovebox_init, __stop_glovebox_init,
                         {reinterpret_cast<std::uintptr_t>(__ehdr_start),
                          reinterpret_cast<std::uintptr_t>(etext)}, say);
}
}
"""


def tidy(diagnostics: str) -> str:
    """Compiler messages and type names without the namespaces that we put around cells."""
    return re.sub(r"\bcell_\d+::", "", diagnostics)
