# SPDX-License-Identifier: Apache-2.0
"""What the generated models are made of: dataclasses that read and write the daemon's JSON."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import enum
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    ClassVar,
    Dict,
    List,
    Mapping,
    Optional,
    Tuple,
    Type,
    TypeVar,
    Union,
)

#: Seconds, a text such as ``"30s"`` or ``"5m"``, or a ``timedelta``.
Duration = Union[int, float, str, datetime.timedelta]
#: Bytes, or a text such as ``"512M"``.
Size = Union[int, str]

M = TypeVar("M", bound="Model")
T = TypeVar("T")
Convert = Callable[[Any], Any]

_UNREAD = "_unread"  # The attribute with the data of fields that nobody has looked at.
_PLAIN = (str, int, float, bool)  # What most values are, and ``json`` writes as they are.


class Model:
    """An object of the API. Fields that this version does not know are ignored."""

    _convert: ClassVar[Mapping[str, Convert]] = {}

    @classmethod
    def from_json(cls: Type[M], data: Mapping[str, Any]) -> M:
        """Reads an object of the daemon. Raises ``ValueError`` if a required field is missing. What
        a required field consists of is read when somebody looks at it: of most answers, that is
        little, and who waits for the first result does not wait for the rest.
        """
        if type(data) is not dict and not isinstance(data, collections.abc.Mapping):
            raise ValueError(f"expected an object for {cls.__name__}, got {type(data).__name__}")
        made = cls.__new__(cls)
        values = made.__dict__
        unread: Dict[str, Any] = {}
        for name, required, convert in _fields(cls):
            if name in data:
                value = data[name]
                if convert is None or value is None:
                    values[name] = value
                elif required:
                    unread[name] = value
                else:
                    values[name] = convert(value)
            elif required:
                raise ValueError(f"{cls.__name__} without '{name}'")
        if unread:
            values[_UNREAD] = unread
        return made

    if not TYPE_CHECKING:  # Type checkers know the fields, and no others.

        def __getattr__(self, name: str) -> Any:
            unread = self.__dict__.get(_UNREAD)
            if unread is None or name not in unread:
                raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
            # Converted before it is kept: several threads may look at once.
            value = self.__dict__[name] = self._convert[name](unread[name])
            return value

    def to_json(self) -> Dict[str, Any]:
        """The object for the daemon, without the fields that are None."""
        return {
            name: encode(value)
            for name, _, _ in _fields(type(self))
            if (value := getattr(self, name)) is not None
        }


Field = Tuple[str, bool, Optional[Convert]]
_FIELDS: Dict[type, Tuple[Field, ...]] = {}


def _fields(model: Type[Model]) -> Tuple[Field, ...]:
    """Of each field its name, whether it is required, and how it is read. Looked up once, as every
    answer of the daemon is read by them."""
    found = _FIELDS.get(model)
    if found is None:
        found = _FIELDS[model] = tuple(
            (each.name, each.default is dataclasses.MISSING, model._convert.get(each.name))
            for each in dataclasses.fields(model)  # type: ignore[arg-type]
        )
    return found


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
    if value is None or type(value) in _PLAIN:
        return value
    if isinstance(value, Model):
        return value.to_json()
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc).isoformat().replace("+00:00", "Z")
    if isinstance(value, collections.abc.Mapping):
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
