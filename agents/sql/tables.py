# SPDX-License-Identifier: Apache-2.0
"""Rows of a query as text, as HTML and as columns."""

import csv
import html
import io
import json
import math
from dataclasses import dataclass

MAX_ROWS = 1000
MAX_CELL = 500
MODES = ("table", "csv", "json", "line", "list", "markdown")
TABLE_TYPE = "application/vnd.glovebox.table+json"


@dataclass
class Table:
    names: list[str]
    rows: list[tuple]
    truncated: bool  # The query has more rows than these.


def _text(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"x'{value[:MAX_CELL // 2].hex()}'" + ("..." if len(value) > MAX_CELL // 2 else "")
    text = str(value)
    return text if len(text) <= MAX_CELL else text[:MAX_CELL] + "..."


def _line(value: object) -> str:
    return _text(value).replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r") \
        if isinstance(value, str) and ("\n" in value or "\r" in value) else _text(value)


def _plain_table(table: Table) -> str:
    names = [_line(name) for name in table.names]
    cells = [[_line(value) for value in row] for row in table.rows]
    widths = [max([len(name), *(len(row[index]) for row in cells)])
              for index, name in enumerate(names)]
    right = [bool(table.rows) and all(isinstance(row[index], (int, float, type(None)))
                                      for row in table.rows)
             for index in range(len(table.names))]

    def line(values: list[str]) -> str:
        return "  ".join(value.rjust(width) if to_right else value.ljust(width)
                         for value, width, to_right in zip(values, widths, right)).rstrip()

    return "\n".join([line(names), "  ".join("-" * width for width in widths),
                      *(line(row) for row in cells)])


def plain(table: Table, mode: str) -> str:
    if mode in ("csv", "list"):
        out = io.StringIO()
        writer = csv.writer(out, delimiter="," if mode == "csv" else "|", lineterminator="\n")
        writer.writerow(table.names)
        writer.writerows([["" if value is None else _text(value) for value in row]
                          for row in table.rows])
        text = out.getvalue().rstrip("\n")
    elif mode == "json":
        text = json.dumps([dict(zip(table.names, map(json_value, row))) for row in table.rows],
                          ensure_ascii=False)
    elif mode == "line":
        width = max(map(len, table.names))
        text = "\n\n".join("\n".join(f"{name.rjust(width)} = {_text(value)}"
                                     for name, value in zip(table.names, row))
                           for row in table.rows)
    elif mode == "markdown":
        rows = [table.names, ["---"] * len(table.names),
                *([_line(value).replace("|", "\\|") for value in row] for row in table.rows)]
        text = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    else:
        text = _plain_table(table)
    return text + (f"\n... (only the first {len(table.rows)} rows)" if table.truncated else "")


def rich(table: Table) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in table.names)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_text(value))}</td>" for value in row) + "</tr>"
        for row in table.rows)
    note = f"<p>only the first {len(table.rows)} rows</p>" if table.truncated else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


def json_value(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, bytes):
        return _text(value)
    return value


def _type(values: list[object]) -> str:
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and kinds:
        return "real" if float in kinds else "integer"
    if len(kinds) != 1:
        return "mixed" if kinds else "null"
    return {str: "text", bytes: "blob"}[kinds.pop()]


def columns(table: Table) -> dict:
    found = []
    for index, name in enumerate(table.names):
        values = [row[index] for row in table.rows]
        found.append({"name": name, "type": _type(values),
                      "values": [json_value(value) for value in values]})
    return {"columns": found, "rows": len(table.rows), "truncated": table.truncated}


def bundle(table: Table, mode: str, limit: int) -> dict:
    """MIME values; those over `limit` bytes are left out, or cut where they are text."""
    text = plain(table, mode)
    data = {"text/plain": text if len(text) <= limit // 4 else text[:limit // 4] + "\n... (truncated)"}
    page = rich(table)
    if len(page) <= limit // 4:
        data["text/html"] = page
    whole = columns(table)
    if len(json.dumps(whole)) <= limit:
        data[TABLE_TYPE] = whole
    return data
