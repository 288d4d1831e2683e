"""status.json as a table: each field with its value and the time of its last change. Reads what a form sets. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from everloom.clock import instant_in
from everloom.errors import Conflict, Rejected
from everloom.mind.notes.status import RESERVED, STAMPS, leaves, parse_status

# As many as are shown; the file itself is bounded.
_MOST_FIELDS = 500


@dataclass(frozen=True, slots=True)
class StatusField:
    """One field of the status; `changed` is when, if that is known."""

    path: str
    value: str
    changed: datetime | None


@dataclass(frozen=True, slots=True)
class StatusTable:
    """The status as a table, or why it cannot be read as one."""

    fields: tuple[StatusField, ...]
    trouble: str | None = None


def shown_status(body: str) -> StatusTable:
    """Read the fields of a status; one that is broken says so."""
    try:
        found = parse_status(body)
    except Conflict as error:
        return StatusTable((), error.message)
    stamps = found.get(STAMPS)
    known: dict[str, Any] = stamps if isinstance(stamps, dict) else {}
    own = {key: value for key, value in found.items() if key not in RESERVED}
    return StatusTable(
        tuple(StatusField(path, value, _instant(known.get(path))) for path, value in list(leaves(own))[:_MOST_FIELDS])
    )


def _instant(stamp: object) -> datetime | None:
    """Read a stamp; a person may have edited it, too."""
    try:
        return instant_in(str(stamp))
    except ValueError:
        return None


def update_of(path: str, value: str, *, is_removed: bool) -> dict[str, Any]:
    """Read what a form sets: one field by its dotted path, as JSON if the value is some, as text otherwise."""
    if not path.strip():
        raise Rejected("a field needs a name", hint="such as mood, or water.glasses for a field below another")
    return _nested(path.strip(), None if is_removed else _value_of(value))


def _nested(path: str, value: object) -> dict[str, Any]:
    """Make the object that sets the field at a dotted path."""
    first, _, rest = path.partition(".")
    return {first: _nested(rest, value) if rest else value}


def _value_of(text: str) -> object:
    """Read a value as JSON if it is some; anything else is text."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    # An empty field of a form would remove the field of the status: that has a box of its own.
    return text if found is None else found
