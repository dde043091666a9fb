# SPDX-License-Identifier: Apache-2.0
"""What the daemon says of its own routes, and requests made up from that."""

import json
import random
import urllib.parse

METHODS = ("get", "head", "post", "put", "patch", "delete", "options")

# What stands where a name, an id or a path is wanted.
NASTY_TEXTS = (
    "",
    ".",
    "..",
    "../../../../etc/passwd",
    "/etc/passwd",
    "//etc/shadow",
    "..\\..\\windows",
    "a\0b",
    "a\r\nX-Injected: 1\r\n\r\n",
    "'; DROP TABLE sandboxes; --",
    "%s%s%s%n",
    "{{7*7}}",
    "$(id)`id`",
    "\u202e\ufeff\u0000\uffff",
    "é" * 200,
    "\U0001f4a9",
    "A" * 300,
    "A" * 5_000,
    "-1",
    "18446744073709551616",
    "NaN",
    "true",
    "null",
    "[]",
)
# The same for what stands in a path, in its own spelling.
NASTY_SEGMENTS = (
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "..%2f..%2f..%2fetc%2fshadow",
    "%252e%252e%252f",
    "..%c0%af..%c0%afetc",
    "%00",
    "a%00b",
    "%ff%fe",
    "%",
    "%zz",
    "%0d%0aX-Injected:%201",
    ".%2e/..;/",
    "%u002e",
    "a%2fb%2fc",
    "~",
    "*",
)
NASTY_NUMBERS = (0, -1, 1, 2**31, -(2**31), 2**53, 2**63, 2**64, -(2**64), 1e308, 0.5, -0.0)
NASTY_BODIES = (
    b"",
    b" ",
    b"{",
    b"[]",
    b"null",
    b'"text"',
    b"{}{}",
    b'{"a":1,"a":2}',
    b"{'a': 1}",
    b"\xff\xfe\x00",
    b'{"code":"\xff\xfe"}',
    b'{"code":"\\ud800"}',
    b'{"code":"\\u0000"}',
    b'{"code":1e999999}',
    b'{"code":' + b"9" * 5_000 + b"}",
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b'{"a":' * 500 + b"1" + b"}" * 500,
    b'{"' + b"k" * 200_000 + b'":1}',
    b'{"code":"' + b"x" * 2_000_000 + b'"}',
    b"\x1f\x8b\x08\x00" + b"\0" * 50,
    b"\xef\xbb\xbf{}",
    b"PK\x03\x04" + b"\0" * 100,
    b"--boundary\r\nContent-Disposition: form-data\r\n\r\n",
)
NASTY_TYPES = (
    "application/json; charset=utf-16",
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=" + "b" * 100,
    "application/connect+json",
    "",
    "\xff",
)


class Operation:
    """One method of one path."""

    def __init__(self, description, pattern, method, item):
        self.whole = description
        self.pattern = pattern
        self.method = method.upper()
        self.item = item[method]
        self.name = self.item["operationId"]
        self.is_open = self.item.get("security") == []
        described = item.get("parameters", []) + self.item.get("parameters", [])
        self.parameters = [self.resolve(one) for one in described]

    @property
    def scope(self):
        return self.item["summary"].rsplit("Scope ", 1)[1].rstrip(".")

    def resolve(self, schema):
        while "$ref" in schema:
            found = self.whole
            for part in schema["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            schema = found
        return schema

    @property
    def documented(self):
        return {int(one) for one in self.item["responses"] if one.isdigit()}

    @property
    def body_schema(self):
        """None: it takes none. False: one that is no JSON."""
        content = self.item.get("requestBody", {}).get("content")
        if content is None:
            return None
        return content["application/json"]["schema"] if "application/json" in content else False

    @property
    def in_path(self):
        return [one["name"] for one in self.parameters if one["in"] == "path"]

    @property
    def query(self):
        return [one for one in self.parameters if one["in"] == "query"]


def operations(description):
    for pattern, item in description["paths"].items():
        for method in METHODS:
            if method in item:
                yield Operation(description, pattern, method, item)


class Maker:
    """Requests for operations. `known` has what there is for parameters of paths, by name."""

    def __init__(self, chance: random.Random, known):
        self.chance = chance
        self.known = known

    def path(self, operation):
        chosen = {}
        for name in operation.in_path:
            value = self.known.get(name, "mine")
            kind = self.chance.random()
            if kind < 0.75:
                chosen[name] = value
            elif kind < 0.88:
                chosen[name] = self.chance.choice(NASTY_SEGMENTS)
            else:
                chosen[name] = urllib.parse.quote(self.text(), safe="")
        query = []
        for one in operation.query:
            if self.chance.random() < 0.4:
                value = self.value(operation, one.get("schema", {}), 0.4)
                query.append((one["name"].replace("NAME", self.text()[:50]), value))
        if self.chance.random() < 0.1:
            query.append((self.text()[:100], self.text()))
        path = operation.pattern.format(**chosen)
        if not query:
            return path
        pairs = (self.spelled(name) + "=" + self.spelled(value) for name, value in query)
        return path + "?" + "&".join(pairs)

    def spelled(self, value):
        if self.chance.random() < 0.1:
            return self.chance.choice(NASTY_SEGMENTS)
        text = value if isinstance(value, str) else json.dumps(value)
        return urllib.parse.quote(text.encode("utf-8", "surrogatepass"), safe="")

    def body(self, operation):
        """(bytes, content type), or nothing."""
        schema = operation.body_schema
        kind = self.chance.random()
        if schema is None and kind < 0.7:
            return None, None
        if not schema or kind < 0.25:
            content = self.chance.choice(NASTY_BODIES)
        else:
            wrongness = self.chance.choice((0.0, 0.1, 0.3))
            made = self.value(operation, schema, wrongness)
            content = json.dumps(made, ensure_ascii=self.chance.random() < 0.5)
            content = content.encode("utf-8", "replace")
        if self.chance.random() < 0.1:
            content = self.broken(content)
        is_plain = self.chance.random() < 0.9
        return content, "application/json" if is_plain else self.chance.choice(NASTY_TYPES)

    def broken(self, content):
        content = bytearray(content)
        for _ in range(self.chance.randrange(1, 4)):
            if content:
                content[self.chance.randrange(len(content))] = self.chance.randrange(256)
        return bytes(content[: self.chance.randrange(len(content) + 1)])

    def text(self):
        if self.chance.random() < 0.5:
            return self.chance.choice(NASTY_TEXTS)
        size = self.chance.randrange(9)
        return "".join(chr(self.chance.randrange(1, 0xD000)) for _ in range(size))

    def anything(self, depth=0):
        kind = self.chance.randrange(7 if depth < 3 else 5)
        if kind == 0:
            return self.text()
        if kind == 1:
            return self.chance.choice(NASTY_NUMBERS)
        if kind == 2:
            return self.chance.random() < 0.5
        if kind in (3, 4):
            return None
        if kind == 5:
            return [self.anything(depth + 1) for _ in range(self.chance.randrange(4))]
        return {self.text()[:40]: self.anything(depth + 1) for _ in range(self.chance.randrange(4))}

    def value(self, operation, schema, wrongness, depth=0):
        schema = operation.resolve(schema)
        if self.chance.random() < wrongness:
            return self.anything()
        if "enum" in schema:
            return self.chance.choice(schema["enum"])
        kind = schema.get("type", "object")
        kind = self.chance.choice(kind) if isinstance(kind, list) else kind
        if kind == "object":
            return self.object(operation, schema, wrongness, depth)
        if kind == "array":
            items = schema.get("items", {"type": "string"})
            many = max(schema.get("minItems", 0), self.chance.randrange(3))
            return [self.value(operation, items, wrongness, depth + 1) for _ in range(many)]
        if kind in ("integer", "number"):
            least = schema.get("minimum", 0)
            # Small ones: each may stand for a sandbox or a second.
            return self.chance.choice((least, least + 1, least + 2, schema.get("maximum", 3) + 1))
        if kind == "boolean":
            return self.chance.random() < 0.5
        if kind == "null":
            return None
        return self.chance.choice((*schema.get("examples", ()), schema.get("default", "1"), "1s"))

    def object(self, operation, schema, wrongness, depth):
        made = {}
        for name, inner in schema.get("properties", {}).items():
            if name in schema.get("required", ()) or self.chance.random() < 0.4:
                made[name] = self.value(operation, inner, wrongness, depth + 1)
        more = schema.get("additionalProperties")
        if isinstance(more, dict):
            for _ in range(self.chance.randrange(3)):
                made[self.text()[:60]] = self.value(operation, more, wrongness, depth + 1)
        elif self.chance.random() < wrongness:
            made[self.text()[:60]] = self.anything()
        return made
