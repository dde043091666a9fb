#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns api/openapi.yaml into a C++ file that holds it as JSON.

Debian's python3 has no YAML, so the file keeps to a part of it that is read here: blocks by
indentation, one entry a line, flow collections within a line, plain and double-quoted scalars.
What is beyond that is an error, never a guess.
"""
import json
import re
import sys

PLAIN = {"true": True, "false": False, "null": None}
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
# A raw string literal of C++ may be limited to this many bytes.
PIECE = 8000


class Lines:
    def __init__(self, text):
        self.lines = []
        for number, line in enumerate(text.splitlines(), 1):
            bare = line.strip()
            if bare and not bare.startswith("#"):
                self.lines.append((number, len(line) - len(line.lstrip(" ")), bare))
        self.at = 0

    def peek(self):
        return self.lines[self.at] if self.at < len(self.lines) else (0, -1, "")


def fail(number, what):
    sys.exit(f"openapi.yaml:{number}: {what}")


def scalar(text):
    if text.startswith('"'):
        return json.loads(text)
    if text in PLAIN:
        return PLAIN[text]
    if NUMBER.fullmatch(text):
        return json.loads(text)
    return text


class Flow:
    """A value within one line."""

    def __init__(self, text, number):
        self.text, self.number, self.at = text, number, 0

    def whole(self):
        value = self.value(top=True)
        self.space()
        if self.at != len(self.text):
            fail(self.number, f"'{self.text[self.at:]}' is left over")
        return value

    def space(self):
        while self.at < len(self.text) and self.text[self.at] == " ":
            self.at += 1

    def token(self, ends):
        self.space()
        start = self.at
        if self.text[self.at:self.at + 1] == '"':
            _, size = json.JSONDecoder().raw_decode(self.text[self.at:])
            self.at += size
        else:
            found = re.compile(ends).search(self.text, self.at)
            self.at = found.start() if found else len(self.text)
        return self.text[start:self.at].strip()

    def take(self, wanted):
        self.space()
        if not self.text.startswith(wanted, self.at):
            fail(self.number, f"'{wanted}' is wanted before '{self.text[self.at:]}'")
        self.at += len(wanted)

    def ends(self, bracket):
        self.space()
        if self.text.startswith(bracket, self.at):
            self.at += 1
            return True
        return False

    def value(self, top=False):
        self.space()
        opening = self.text[self.at:self.at + 1]
        if opening == "{":
            self.at += 1
            result = {}
            while not self.ends("}"):
                if result:
                    self.take(",")
                key = str(scalar(self.token(r":( |$)")))
                self.take(":")
                result[key] = self.value()
            return result
        if opening == "[":
            self.at += 1
            items = []
            while not self.ends("]"):
                if items:
                    self.take(",")
                items.append(self.value())
            return items
        return scalar(self.token(r"$" if top else r"[,\]}]"))


def split_key(text, number):
    if text.startswith('"'):
        key, size = json.JSONDecoder().raw_decode(text)
        rest = text[size:]
    else:
        found = re.search(r":( |$)", text)
        if not found:
            fail(number, "a key is wanted")
        key, rest = text[:found.start()], text[found.start():]
    if not rest.startswith(":"):
        fail(number, "':' is wanted behind the key")
    return key, rest[1:].strip()


def block(lines, indent):
    result = None
    while lines.peek()[1] == indent:
        number, _, text = lines.peek()
        lines.at += 1
        if text.startswith("- "):
            result = [] if result is None else result
            result.append(Flow(text[2:].strip(), number).whole())
            continue
        result = {} if result is None else result
        key, rest = split_key(text, number)
        if key in result:
            fail(number, f"'{key}' is there twice")
        if rest:
            result[key] = Flow(rest, number).whole()
        else:
            deeper = lines.peek()[1]
            if deeper <= indent:
                fail(number, f"'{key}' has no value")
            result[key] = block(lines, deeper)
    if lines.peek()[1] > indent:
        fail(lines.peek()[0], "unexpected indentation")
    return result


def parse(text):
    lines = Lines(text)
    value = block(lines, 0)
    if lines.peek()[1] != -1:
        fail(lines.peek()[0], "unexpected indentation")
    return value


def main():
    source, target = sys.argv[1:3]
    with open(source, encoding="utf-8") as file:
        text = json.dumps(parse(file.read()), ensure_ascii=True, separators=(",", ":"))
    pieces = [text[i:i + PIECE] for i in range(0, len(text), PIECE)]
    with open(target, "w", encoding="utf-8") as file:
        file.write('#include "doors/rest/openapi.h"\n\nnamespace glovebox::rest {\n\n')
        file.write("std::string_view openapi_text() {\n  static constexpr std::string_view kText =")
        for piece in pieces:
            file.write(f'\n      R"gbapi({piece})gbapi"')
        file.write(";\n  return kText;\n}\n\n}  // namespace glovebox::rest\n")


if __name__ == "__main__":
    main()
