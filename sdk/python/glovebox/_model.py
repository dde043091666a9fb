# SPDX-License-Identifier: Apache-2.0
"""What the generated models are made of: dataclasses that read and write the daemon's JSON."""

from __future__ import annotations

import dataclasses
import datetime
import enum
from typing import Any, Callable, ClassVar, Dict, List, Mapping, Type, TypeVar, Union

#: Seconds, a text such as ``"30s"`` or ``"5m"``, or a ``timedelta``.
Duration = Union[int, float, str, datetime.timedelta]
#: Bytes, or a text such as ``"512M"``.
Size = Union[int, str]

M = TypeVar("M", bound="Model")
T = TypeVar("T")
Convert = Callable[[Any], Any]


class Model:
    """An object of the API. Fields that this version does not know are ignored."""

    _convert: ClassVar[Mapping[str, Convert]] = {}

    @classmethod
    def from_json(cls: Type[M], data: Mapping[str, Any]) -> M:
        """Reads an object of the daemon. Raises ``ValueError`` if a required field is missing."""
        if not isinstance(data, Mapping):
            raise ValueError(f"expected an object for {cls.__name__}, got {type(data).__name__}")
        values: Dict[str, Any] = {}
        for field in dataclasses.fields(cls):  # type: ignore[arg-type]
            if field.name in data:
                value = data[field.name]
                convert = cls._convert.get(field.name)
                values[field.name] = value if convert is None or value is None else convert(value)
            elif field.default is dataclasses.MISSING:
                raise ValueError(f"{cls.__name__} without '{field.name}'")
        return cls(**values)

    def to_json(self) -> Dict[str, Any]:
        """The object for the daemon, without the fields that are None."""
        return {
            field.name: encode(value)
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
            if (value := getattr(self, field.name)) is not None
        }


class OpenEnum(str, enum.Enum):
    """Words of the API. A word that this version does not know becomes a member of its own."""

    @classmethod
    def _missing_(cls, value: object) -> "OpenEnum":
        if not isinstance(value, str):
            raise ValueError(f"{value!r} is not a valid {cls.__name__}")
        member = str.__new__(cls, value)
        member._name_ = value.upper()
        member._value_ = value
        return member

    def __str__(self) -> str:
        return str(self.value)


def encode(value: Any) -> Any:
    """Turns models, enums, durations and containers of them into what ``json`` can write."""
    if isinstance(value, Model):
        return value.to_json()
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc).isoformat().replace("+00:00", "Z")
    if isinstance(value, Mapping):
        return {str(key): encode(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [encode(each) for each in value]
    return value


def time_of(text: str) -> datetime.datetime:
    """A point in time of the API, which is always UTC."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def list_of(convert: Callable[[Any], T]) -> Callable[[Any], List[T]]:
    return lambda values: [convert(value) for value in values]


def map_of(convert: Callable[[Any], T]) -> Callable[[Any], Dict[str, T]]:
    return lambda values: {key: convert(value) for key, value in values.items()}
