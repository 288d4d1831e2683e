"""Where the person is asked. One place decides it, so that all questions go the same way."""

from __future__ import annotations

from everloom.store import Unit

# A channel, and an address on it.
Place = tuple[str, str]


def person_place(unit: Unit, name: str) -> Place | None:
    """Find where the person wrote last, under a name or none: during a turn, where its question came from."""
    row = unit.one("hands.place_last", person=name)
    return None if row is None else (row["channel"], row["address"])
