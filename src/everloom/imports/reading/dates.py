"""Reads times as other programs write them. Pure."""

from __future__ import annotations

from datetime import datetime

from everloom.clock import EARLIEST, LATEST, from_seconds, instant_in


def moment(value: object) -> datetime | None:
    """Read a time: ISO 8601, or seconds since 1970; None if it is neither. One without an offset is in UTC.

    A day alone is its noon, which is the same day nearly everywhere.
    """
    try:
        if isinstance(value, bool) or value is None:
            return None
        if isinstance(value, int | float):
            found = from_seconds(value)
            # Numbers as large as that are not seconds.
            return found if EARLIEST < found < LATEST else None
        text = str(value).strip()
        found = instant_in(text)
        return found.replace(hour=12) if len(text) == len("2026-01-31") else found
    except ValueError:
        return None
