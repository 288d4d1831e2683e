"""Checks the arguments of a call against the types that its verb declares. Pure.

Every way to call a verb ends here. A surface that reads JSON has converted it to these types before
(`wiring/arguments.py`); a Python program may pass anything.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from everloom.errors import Rejected

if TYPE_CHECKING:
    from everloom.kernel.verbs import Parameter

_LONGEST_VALUE = 60
_NAMES = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    datetime: "a datetime",
    NoneType: "None",
}


class _Fault(NamedTuple):
    """What does not fit: where it is, what is expected there, and what to do."""

    place: str
    expected: str
    value: Any
    hint: str | None = None


_Check = Callable[[Any, str], _Fault | None]


def check_shapes(verb: str, parameters: Sequence[Parameter], given: Sequence[tuple[Parameter, Any]]) -> None:
    """Refuse arguments that are missing, or not of their declared type."""
    for each, value in given:
        fault = _checker(each.type)(value, each.name)
        if fault is not None:
            is_short = isinstance(fault.value, str | float)
            told = repr(fault.value)[:_LONGEST_VALUE] if is_short else type(fault.value).__name__
            hint = fault.hint or (f"{each.name}: {each.says.text}" if each.says.text else f"give {fault.expected}")
            raise Rejected(f"{fault.place} must be {fault.expected}, not {told}", hint=hint)
    names = {each.name for each, _ in given}
    if missing := [each.name for each in parameters if each.is_required and each.name not in names]:
        raise Rejected(f"{verb} needs {', '.join(missing)}", hint=_signature(parameters))


def check_names(verb: str, parameters: Sequence[Parameter], positional: int, named: Collection[str]) -> None:
    """Refuse arguments that the verb does not have."""
    places = [each.name for each in parameters if each.is_positional]
    if positional > len(places):
        most = f"at most {len(places)} arguments without their names" if places else "its arguments by name only"
        raise Rejected(f"{verb} takes {most}", hint=_signature(parameters))
    known = {each.name for each in parameters}
    if unknown := [name for name in named if name not in known]:
        raise Rejected(f"{verb} takes no {', '.join(unknown)[:200]}", hint=_signature(parameters))
    if twice := [name for name in places[:positional] if name in named]:
        raise Rejected(f"{verb} got {', '.join(twice)} twice", hint="give it once")


def _signature(parameters: Sequence[Parameter]) -> str:
    return f"its arguments are {', '.join(each.name for each in parameters) or 'none'}"


@cache
def _checker(kind: Any) -> _Check:
    """Make the function that finds what does not fit a type; the forms of types that verbs use are few."""
    origin, members = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _checker(members[0])
    if origin in {Union, UnionType}:
        return _one_type_of(members)
    if origin is Literal:
        return _one_value_of(members)
    if isinstance(origin, type) and issubclass(origin, Collection):
        return _collection_of(origin, members)
    if dataclasses.is_dataclass(kind):
        return _record_of(kind)
    # `Any` is a class, too.
    return _instance_of(kind) if isinstance(kind, type) and kind is not Any else _fits_anything


def _collection_of(origin: type[Any], members: Sequence[Any]) -> _Check:
    if issubclass(origin, Mapping):
        return _mapping_of(*members)
    return _tuple_of(members) if origin is tuple and Ellipsis not in members else _list_of(members[0])


def _fits_anything(_value: Any, _place: str) -> None:
    return None


def _instance_of(kind: Any) -> _Check:
    def check(value: Any, place: str) -> _Fault | None:
        fits = isinstance(value, (int, float) if kind is float else kind)
        # A boolean is a number to Python, and nobody means one by it.
        fits = fits and (kind is bool or not isinstance(value, bool))
        return None if fits and (kind is not float or _is_finite(value)) else _Fault(place, _named(kind), value)

    return check


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _one_value_of(values: Sequence[Any]) -> _Check:
    def check(value: Any, place: str) -> _Fault | None:
        if isinstance(value, str) and value in values:
            return None
        return _Fault(place, f"one of {', '.join(values)}", value, "use one of these words")

    return check


def _one_type_of(kinds: Sequence[Any]) -> _Check:
    # None first: most arguments that may be left out are.
    is_optional = NoneType in kinds
    checks = [_checker(kind) for kind in kinds if kind is not NoneType]

    def check(value: Any, place: str) -> _Fault | None:
        if value is None and is_optional:
            return None
        faults: list[_Fault] = []
        for each in checks:
            if (fault := each(value, place)) is None:
                return None
            faults.append(fault)
        # If the value is a list and a list may be given, what is wrong is inside of it.
        inside = [each for each in faults if each.place != place]
        return inside[0] if inside else faults[0]._replace(expected=" or ".join(each.expected for each in faults))

    return check


def _list_of(kind: Any) -> _Check:
    each_fits = _checker(kind)

    def check(value: Any, place: str) -> _Fault | None:
        # A text is no list of its letters, and what can be read only once cannot be checked.
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Collection):
            hint = "write it in brackets, even if it is a single item"
            return _Fault(place, "a list", value, hint)
        faults = (each_fits(each, f"{place}[{at}]") for at, each in enumerate(value))
        return next((fault for fault in faults if fault is not None), None)

    return check


def _tuple_of(kinds: Sequence[Any]) -> _Check:
    checks = [_checker(kind) for kind in kinds]

    def check(value: Any, place: str) -> _Fault | None:
        if not isinstance(value, tuple | list) or len(value) != len(checks):
            return _Fault(place, f"a tuple of {len(checks)}", value)
        faults = (fits(each, f"{place}[{at}]") for at, (fits, each) in enumerate(zip(checks, value, strict=True)))
        return next((fault for fault in faults if fault is not None), None)

    return check


def _mapping_of(key: Any, kind: Any) -> _Check:
    key_fits, each_fits = _checker(key), _checker(kind)

    def check(value: Any, place: str) -> _Fault | None:
        if not isinstance(value, Mapping):
            return _Fault(place, "a mapping", value)
        for name, each in value.items():
            fault = key_fits(name, f"a key of {place}") or each_fits(each, f"{place}[{str(name)[:_LONGEST_VALUE]!r}]")
            if fault is not None:
                return fault
        return None

    return check


def _record_of(kind: Any) -> _Check:
    hints = get_type_hints(kind, include_extras=True)
    checks = {each.name: _checker(hints[each.name]) for each in dataclasses.fields(kind)}
    needed = [each.name for each in dataclasses.fields(kind) if each.default is each.default_factory]
    hint = f"make each with {kind.__name__}({', '.join(f'{name}=…' for name in needed)})"

    def check(value: Any, place: str) -> _Fault | None:
        if not isinstance(value, kind):
            return _Fault(place, f"a {kind.__name__}", value, hint)
        faults = (fits(getattr(value, name), f"{place}.{name}") for name, fits in checks.items())
        return next((fault for fault in faults if fault is not None), None)

    return check


def _named(kind: Any) -> str:
    return _NAMES.get(kind, f"a {getattr(kind, '__name__', kind)}")
