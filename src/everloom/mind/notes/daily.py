"""The notes of single days: what they are called, and how one begins. Pure.

Which day it is, is said by whoever holds the workspace's clock.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, tzinfo

DAILY = "daily/"
NAME = re.compile(r"daily/([0-9]{4}-[0-9]{2}-[0-9]{2})\.md")


def daily_name(day: date) -> str:
    """Name the note of a day."""
    return f"{DAILY}{day.isoformat()}.md"


def day_of(name: str) -> date | None:
    """Read the day from a note's name; None when it is no day's note."""
    found = NAME.fullmatch(name)
    try:
        return date.fromisoformat(found[1]) if found else None
    except ValueError:
        return None


def noon_of(day: date, zone: tzinfo) -> datetime:
    """Place a whole day in time: at its noon, which every day has, whatever the clocks do at night."""
    return datetime.combine(day, time(12), tzinfo=zone)


def heading(day: date) -> str:
    """Write the first line of a day's note."""
    return f"# {day.isoformat()}, {day:%A}\n"
