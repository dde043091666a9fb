# SPDX-License-Identifier: Apache-2.0
"""MIME bundles as JSON values, and the store of those values that are too large to send."""

from __future__ import annotations

import base64
import builtins
import collections
import collections.abc
import datetime
import math
import numbers

from .wire import pack_json, well_formed

__builtins__ = dict(vars(builtins))

STORE_LIMIT = 64 << 20
FETCH_LIMIT = 4 << 20
# A message may have 64 MiB: more than this in one bundle goes by reference, each value alone
# being allowed or not.
BUNDLE_LIMIT = 32 << 20
# Below a reference is no shorter than the value.
SMALLEST_REFERENCE = 256
DEPTH_LIMIT = 100

BINARY_TYPES = frozenset(
    {"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "application/pdf"}
)

_base64 = base64.b64encode


class ValueStore:
    """The newest large values, for fetch."""

    def __init__(self, inline: int) -> None:
        self.inline = inline
        self._values: collections.OrderedDict[str, bytes] = collections.OrderedDict()
        self._size = 0
        self._count = 0

    def keep(self, data: bytes) -> dict:
        """Takes a value and answers what stands in its place."""
        self._count += 1
        ref = f"r{self._count}"
        if len(data) <= STORE_LIMIT:
            self._values[ref] = data
            self._size += len(data)
            while self._size > STORE_LIMIT:
                self._size -= len(self._values.popitem(last=False)[1])
        return {"ref": ref, "size": len(data)}

    def fetch(self, request: dict) -> dict:
        data = self._values.get(str(request.get("ref")))
        if data is None:
            return {"error": "no such value, or it was dropped to make room for newer ones"}
        offset = max(0, int(request.get("offset", 0)))
        size = min(max(0, int(request.get("size", 1 << 20))), FETCH_LIMIT)
        piece = data[offset : offset + size]
        return {"base64": _base64(piece).decode(), "size": len(data)}

    def bundle(self, data: dict) -> dict:
        """A MIME bundle with plain values, the large ones replaced."""
        if len(data) == 1:
            text = data.get("text/plain")
            # Nearly every result.
            if type(text) is str and len(text) <= self.inline // 4:
                return data
        result = {}
        sizes = {}
        for mime, value in data.items():
            mime = mime if type(mime) is str else str(mime)
            value, encoded = _mime_value(mime, value)
            sizes[mime] = len(encoded)
            if sizes[mime] > self.inline and sizes[mime] > SMALLEST_REFERENCE:
                value = self.keep(encoded)
                sizes[mime] = SMALLEST_REFERENCE
            result[mime] = value
        while sum(sizes.values()) > BUNDLE_LIMIT:
            largest = max(sizes, key=sizes.get)
            if sizes[largest] <= SMALLEST_REFERENCE:
                break
            result[largest] = self.keep(_mime_value(largest, result[largest])[1])
            sizes[largest] = SMALLEST_REFERENCE
        return result


def _mime_value(mime: str, value) -> tuple[object, bytes]:
    """The value as JSON will carry it, and its bytes as the store would keep them."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        encoded = _base64(bytes(value))
        return encoded.decode(), encoded
    if isinstance(value, str):
        text = str.__str__(value)
        if mime in BINARY_TYPES and ("\n" in text or "\r" in text):
            text = text.replace("\n", "").replace("\r", "")
        try:
            return text, text.encode()
        except UnicodeEncodeError:
            text = well_formed(text)
            return text, text.encode()
    value = plain(value)
    return value, pack_json(value)


def plain_dict(value) -> dict:
    """Metadata, which is empty most of the time."""
    return plain(value) if value else {}


def plain(value):
    """The value in types that JSON has, converted as Jupyter does it."""
    try:
        if _is_plain(value, 0):
            return value
    except RecursionError:
        pass
    return _clean(value, 0)


def _is_plain(value, depth: int) -> bool:
    kind = type(value)
    if kind in (str, int, bool) or value is None:
        return True
    if kind is float:
        return math.isfinite(value)
    if depth > DEPTH_LIMIT:
        return False
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or not _is_plain(item, depth + 1):
                return False
        return True
    if kind is list:
        for item in value:
            if not _is_plain(item, depth + 1):
                return False
        return True
    return False


def _clean(value, depth: int):
    if depth > DEPTH_LIMIT:
        raise ValueError("nested too deeply for JSON")
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        value = float(value)
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, (bytes, bytearray)):
        return _base64(bytes(value)).decode()
    if isinstance(value, dict):
        result = {}
        for key, item in value.items():
            result[_key(key)] = _clean(item, depth + 1)
        if len(result) != len(value):
            raise ValueError("different keys map to the same JSON key")
        return result
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            value = value.astimezone()
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, collections.abc.Iterable):
        return [_clean(item, depth + 1) for item in value]
    raise TypeError(f"{type(value).__name__} can't be shown as JSON")


def _key(key) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    if key is None:
        return "null"
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(key)
