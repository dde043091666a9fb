# SPDX-License-Identifier: Apache-2.0
"""A pandas DataFrame or Series as plain columns.

Values are the guest's and may be of any type, so each becomes a JSON value here, and rows,
columns and bytes are bounded. Nothing here imports pandas: only the guest can have made a frame.
"""

from __future__ import annotations

import json
import math
import sys

ROWS_LIMIT = 10_000
COLUMNS_LIMIT = 200
BYTES_LIMIT = 4 << 20
TEXT_LIMIT = 10_000
# A part of a MultiIndex label and the next one.
JOINT = " / "


def table_of(value) -> dict | None:
    """The table of a DataFrame or Series, or None for anything else. Raises nothing but the
    guest's own KeyboardInterrupt."""
    try:
        return _table_of(value)
    except KeyboardInterrupt:
        raise
    except BaseException:  # the values are guest code and may raise SystemExit as well
        return None


def data_of(table: dict) -> dict:
    """The table as {column: [values]}, E2B's `data`. Of columns with one name the last wins."""
    return {column["name"]: column["values"] for column in table["columns"]}


def _table_of(value) -> dict | None:
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return None
    if issubclass(type(value), pandas.Series):
        names, whole = [value.name], [value]
    elif issubclass(type(value), pandas.DataFrame):
        names = list(value.columns[:COLUMNS_LIMIT])
        whole = [value.iloc[:, place] for place in range(len(names))]
    else:
        return None
    rows = len(value)
    index = value.index
    total = 1 if len(value.shape) == 1 else value.shape[1]

    convert = _Converter(pandas)
    kept = min(rows, ROWS_LIMIT)
    share = BYTES_LIMIT // (len(whole) + 1)
    index_values = convert.column(index[:kept].tolist(), share)
    columns = []
    for name, series in zip(names, whole):
        values = convert.column(series.iloc[:kept].tolist(), share)
        columns.append({"name": convert.name(name), "type": str(series.dtype), "values": values})
    # A row is told whole or not at all.
    kept = min([len(index_values), *(len(column["values"]) for column in columns)])
    for column in columns:
        del column["values"][kept:]
    many = index.nlevels > 1
    return {
        "columns": columns,
        "rows": rows,
        "index": {
            "name": convert.name(tuple(index.names) if many else index.name),
            "type": "multi" if many else str(index.dtype),
            "values": index_values[:kept],
        },
        "truncated": kept < rows or len(columns) < total or convert.cut,
    }


class _Converter:
    """Turns the guest's values into JSON values and remembers whether one had to be cut."""

    def __init__(self, pandas) -> None:
        self.missing = (pandas.NaT, pandas.NA)
        self.cut = False

    def column(self, values: list, share: int) -> list:
        """As many of the values as fit into `share` bytes, about."""
        converted = []
        for value in values:
            plain = self.value(value)
            share -= _size(plain) + len(", ")
            if share < 0:
                break
            converted.append(plain)
        return converted

    def name(self, value) -> str | None:
        """A column's or index' name. A MultiIndex' parts are joined, its empty parts left out."""
        if type(value) is tuple:
            parts = [self.text(part) for part in value if part is not None]
            return JOINT.join(part for part in parts if part) or None
        return None if value is None else self.text(value)

    def value(self, value):
        kind = type(value)
        if value is None or any(value is each for each in self.missing):
            return None
        if kind is bool or kind is int and abs(value) < 1 << 1023:
            return value
        if kind is float:
            return value if math.isfinite(value) else None
        if kind is tuple or kind is list:
            if len(value) <= ROWS_LIMIT and all(type(each) in _SIMPLE for each in value):
                return [self.value(each) for each in value]
        if hasattr(kind, "item") and kind.__module__ == "numpy" and not hasattr(value, "__len__"):
            plain = value.item()
            return self.text(value) if type(plain) is kind else self.value(plain)
        return self.text(value)

    def text(self, value) -> str:
        """How a value reads; dates, times and durations in ISO 8601."""
        kind = type(value)
        if issubclass(kind, str):
            text = str.__str__(value)
        elif hasattr(kind, "isoformat"):
            text = value.isoformat()
        else:
            text = str(value)
        self.cut |= len(text) > TEXT_LIMIT
        # A lone surrogate would make the message unencodable.
        return text[:TEXT_LIMIT].encode("utf-8", "replace").decode("utf-8")


_SIMPLE = frozenset({type(None), bool, int, float, str})


def _size(value) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8"))
