"""Rows as values and values as rows, by the names that columns and fields share.

Knows the two ways in which every table writes what SQL has no type of its own for: an instant as microseconds, a claim
as 0 or 1. What is written in any other way, JSON say, is for whoever knows the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from everloom.clock import from_micros, to_micros

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from everloom.store.contract import Row, Value

T = TypeVar("T", bound="DataclassInstance")

# By the annotation as it is written: all modules postpone the evaluation of theirs.
_READ: Mapping[str, Callable[[Any], Any]] = {
    "bool": bool,
    "datetime": from_micros,
    "datetime | None": lambda micros: from_micros(micros) if micros else None,
}


def value_from(shape: type[T], row: Row, **given: object) -> T:
    """Make a dataclass of a row: each field that is not given is the column of its name."""
    own = {name: read(row[name]) if read else row[name] for name, read in _plan(shape) if name not in given}
    return shape(**own, **given)


@cache
def _plan(shape: type[DataclassInstance]) -> tuple[tuple[str, Callable[[Any], Any] | None], ...]:
    return tuple((each.name, _READ.get(str(each.type))) for each in fields(shape))


def columns_of(value: DataclassInstance, *names: str) -> dict[str, Value]:
    """Write some fields of a dataclass as the columns of their names."""
    return {name: _written(getattr(value, name)) for name in names}


def _written(value: Any) -> Any:
    if isinstance(value, datetime):
        return to_micros(value)
    return int(value) if isinstance(value, bool) else value
