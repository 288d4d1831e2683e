"""Makes results again from JSON, by the types that verbs are declared to return: the inverse of `answer/whole.py`.

What an answer leaves out is null, empty or its default; what it has in addition is ignored, so that a newer server does
not break an older client. Pure; refuses to know any verb.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import date, datetime
from enum import Enum
from functools import cache, cached_property
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from everloom.kernel.answer.budget import Listed
from everloom.kernel.answer.whole import CLASS
from everloom.wiring.faculties import FACULTIES
from everloom.wiring.wire.annotations import hints_of, returned_by

Reader = Callable[[Any], Any]


class Undecodable(Exception):
    """An answer does not have the shape of its type."""


def result_from(kind: Any, answer: Mapping[str, Any]) -> Any:
    """Make the result of a verb that returns `kind` from a whole answer."""
    try:
        value = reader_of(kind)(answer.get("result"))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise Undecodable(f"{getattr(kind, '__name__', kind)}: {error}") from error
    note = answer.get("note")
    if isinstance(note, str) and isinstance(value, list | tuple):
        return Listed.of(value, note)
    return value


@cache
def reader_of(kind: Any) -> Reader:
    """Return the function that reads a value of a type."""
    if kind in _SCALARS:
        return _SCALARS[kind]
    if isinstance(kind, type):
        if dataclasses.is_dataclass(kind):
            return _RecordShape(kind)
        if issubclass(kind, Enum):
            return kind
    return _reader_of_composed(get_origin(kind), get_args(kind))


def _reader_of_composed(origin: Any, members: tuple[Any, ...]) -> Reader:
    if origin in {Union, UnionType}:
        return _reader_of_union(members)
    if not isinstance(origin, type):
        # A literal is its own value, and so is whatever else is plain data.
        return _plain
    if issubclass(origin, Mapping):
        inner = reader_of(members[1])
        # Inside a mapping everything is data: what a user stored there must not be taken for a record.
        each = _plain if inner is _result else inner
        return lambda data: {key: each(value) for key, value in data.items()}
    if issubclass(origin, tuple) and Ellipsis not in members:
        readers = [reader_of(member) for member in members]
        return lambda data: tuple(read(value) for read, value in zip(readers, data, strict=True))
    if issubclass(origin, Sequence | Set):
        # A declared Sequence is a list, unless it was shortened and carries a note.
        made: Any = origin if origin in {tuple, frozenset, set} else list
        of = reader_of(members[0])
        return lambda data: made([of(value) for value in _listed(data)])
    return _plain


def _reader_of_union(members: tuple[Any, ...]) -> Reader:
    kinds = [each for each in members if each is not NoneType]
    readers = [reader_of(each) for each in kinds]
    if len(readers) == 1:
        (only,) = readers
        return lambda data: None if data is None else only(data)
    records = {each.__name__: reader for each, reader in zip(kinds, readers, strict=True) if isinstance(each, type)}

    def read(data: Any) -> Any:
        if data is None:
            return None
        if isinstance(data, Mapping) and data.get(CLASS) in records:
            return records[data[CLASS]](data)
        # Of the others a list is told from a record by its shape.
        wanted = (list, tuple, Sequence) if isinstance(data, list) else ()
        found = next((r for each, r in zip(kinds, readers, strict=True) if get_origin(each) in wanted), None)
        return data if found is None else found(data)

    return read


class _RecordShape:
    """Reads a dataclass; its fields are resolved on first use, because a class may contain itself."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    @cached_property
    def _fields(self) -> dict[str, tuple[Reader, Any]]:
        hints = hints_of(self._kind)
        return {
            each.name: (reader_of(hints[each.name]), _left_out(each, hints[each.name]))
            for each in dataclasses.fields(self._kind)
            if each.init
        }

    def __call__(self, data: Any) -> Any:
        made = {name: read(data[name]) if name in data else empty for name, (read, empty) in self._fields.items()}
        if missing := [name for name, value in made.items() if value is dataclasses.MISSING]:
            raise KeyError(f"{self._kind.__name__} without {', '.join(missing)}")
        return self._kind(**made)


def _left_out(field: dataclasses.Field[Any], hint: Any) -> Any:
    """Say what a field is that an answer leaves out; `MISSING` if it must not."""
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    origin = get_origin(hint)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {}
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return ()
    return None if NoneType in get_args(hint) or hint in {Any, object} else dataclasses.MISSING


def _plain(data: Any) -> Any:
    return data


def _listed(data: Any) -> list[Any]:
    if not isinstance(data, list):
        raise TypeError(f"expected a list, not {type(data).__name__}")
    return data


def _number(data: Any) -> float:
    # JSON has no infinity and no "not a number".
    return float("nan") if data is None else float(data)


def _result(data: Any) -> Any:
    """Read the result of some verb, which names its class."""
    kind = _records().get(data.get(CLASS, "")) if isinstance(data, Mapping) else None
    return data if kind is None else reader_of(kind)(data)


@cache
def _records() -> dict[str, type]:
    """List the classes of all records that verbs return, by name; nothing else is ever made from an answer."""
    found: dict[str, type] = {}
    waiting = [returned_by(verb.method) for faculty in FACULTIES.values() for verb in faculty.verbs]
    while waiting:
        kind = waiting.pop()
        waiting += get_args(kind)
        if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind.__name__ not in found:
            found[kind.__name__] = kind
            waiting += hints_of(kind).values()
    return found


def _exactly(kind: type) -> Reader:
    def read(data: Any) -> Any:
        if type(data) is not kind:
            raise TypeError(f"expected {kind.__name__}, not {type(data).__name__}")
        return data

    return read


_SCALARS: dict[Any, Reader] = {
    str: _exactly(str),
    int: _exactly(int),
    bool: _exactly(bool),
    float: _number,
    NoneType: _plain,
    datetime: datetime.fromisoformat,
    date: date.fromisoformat,
    Any: _plain,
    object: _result,
    Literal: _plain,
}
