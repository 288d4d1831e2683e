"""Refuses calls that are too large, and values that no store can hold: nobody else should wait for one call. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from everloom.clock import checked_instant
from everloom.errors import Rejected
from everloom.kernel.texts import UNSTORABLE

if TYPE_CHECKING:
    from everloom.kernel.verbs import Parameter, Says

# What one call may bring in all its texts and lists together, however they are nested: what takes about a second.
MOST_CHARACTERS = 2_000_000
MOST_VALUES = 50_000
# The largest whole number of both engines.
LARGEST_NUMBER = 2**63 - 1
# Python refuses to write whole numbers of a few thousand digits.
_LONGEST_NUMBER = 1_024
_LISTS = (list, tuple, set, frozenset, dict)


def check_bounds(given: Sequence[tuple[Parameter, Any]]) -> None:
    """Refuse a text, a list or a whole call that is too large, and values that nobody can store or show."""
    for each, value in given:
        if isinstance(value, str) and len(value) > each.says.longest:
            raise _too_large(f"{each.name} has {len(value):,} characters", f"{each.says.longest:,}")
        if isinstance(value, _LISTS) and len(value) > each.says.entries:
            raise _too_large(f"{each.name} has {len(value):,} entries", f"{each.says.entries:,}")
        _check_numbers(each, value)
        _check_characters(each, value)
    values = characters = 0
    # Without recursion, because a value may be nested as deeply as it likes.
    held = [value for _, value in given]
    while held:
        value = held.pop()
        _check_plain(value)
        values, characters = values + 1, characters + (len(value) if isinstance(value, str) else 0)
        held += _inside(value)
        if values + len(held) > MOST_VALUES:
            raise _too_large("its lists have too many entries", f"{MOST_VALUES:,} in one call")
        if characters > MOST_CHARACTERS:
            raise _too_large("its texts are too long", f"{MOST_CHARACTERS:,} characters in one call")


def _check_plain(value: Any) -> None:
    """Refuse a time that not every time zone can show, and a number that cannot be written, however deep it is."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise Rejected(f"the time {value.isoformat()} has no time zone", hint="add an offset such as +00:00")
        checked_instant(value)
    elif isinstance(value, int) and value.bit_length() > _LONGEST_NUMBER:
        raise Rejected("a whole number has too many digits", hint=f"give at most {_LONGEST_NUMBER} bits, or a text")


def _check_numbers(each: Parameter, value: Any) -> None:
    """Refuse a whole number that no store can hold, and one outside its declared range."""
    numbers = value if isinstance(value, list | tuple) else (value,)
    # The numbers first: they are nearly always small, and asking for the declared type costs more.
    if any(isinstance(number, int) and abs(number) > LARGEST_NUMBER for number in numbers) and (
        int in each.kinds or each.list_kind is int
    ):
        hint = f"use a number from {-LARGEST_NUMBER} to {LARGEST_NUMBER}"
        raise Rejected(f"{each.name} is a number that cannot be stored", hint=hint)
    if isinstance(value, int | float) and not _is_within(value, each.says):
        raise Rejected(f"{each.name} cannot be {value!r}", hint=f"give a number {_range_of(each.says)}")


def _is_within(value: float, says: Says) -> bool:
    """Say whether a number is in the declared range; what is not a number never is."""
    return (says.least is None or value >= says.least) and (says.most is None or value <= says.most)


def _range_of(says: Says) -> str:
    """Write the declared range."""
    least = "" if says.least is None else f"from {says.least:,}"
    most = "" if says.most is None else f"up to {says.most:,}"
    return f"{least} {most}".strip()


def _check_characters(each: Parameter, value: Any) -> None:
    """Refuse a text that no store can hold or look for, on either engine."""
    texts = value if isinstance(value, list | tuple) and each.list_kind is str else (value,)
    if any(isinstance(text, str) and UNSTORABLE.search(text) for text in texts):
        hint = "leave out NUL characters and halves of surrogate pairs"
        raise Rejected(f"{each.name} has characters that cannot be stored", hint=hint)


def _inside(value: Any) -> Iterable[Any]:
    """List what a value holds."""
    if isinstance(value, dict):
        return (*value, *value.values())
    if isinstance(value, _LISTS):
        return cast("Iterable[Any]", value)
    return (getattr(value, each.name) for each in fields(value)) if is_dataclass(value) else ()


def _too_large(what: str, most: str) -> Rejected:
    return Rejected(f"{what}: at most {most}", hint="divide it among several calls; nothing was written")
