"""What a note may be called, which notes every mind has, what they begin with, and the notes of single days.

A name is a relative path with forward slashes. Whether there is such a file, and which day it is, is not known here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from datetime import date, datetime, time, tzinfo
from functools import cache
from importlib import resources

from everloom.errors import Rejected

SOUL = "SOUL.md"
STATUS = "status.json"
COMPACTION = "COMPACTION.md"
IDENTITY = (SOUL, "IDENTITY.md", "USER.md", "TOOLS.md")
DURABLE = ("MEMORY.md", "THREADS.md", "DEV-NOTES.md", "SELF-AWARENESS.md")
KNOWN = (*IDENTITY, *DURABLE, COMPACTION, STATUS)

DEEPEST = 3
_LONGEST_PART = 200
_FORBIDDEN = frozenset('<>:"|?*\\')
# Control, format, unassigned, private and surrogate characters, and separators of lines.
_HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_DAILY = "daily/"
_DAILY_NAME = re.compile(r"daily/([0-9]{4}-[0-9]{2}-[0-9]{2})\.md")


def note_name(name: object, present: Iterable[str] = ()) -> str:
    """Accept a note's name; one that differs from a known or present one by case alone means that one."""
    if not isinstance(name, str):
        raise Rejected(f"a note's name must be text, not {type(name).__name__}", hint="such as MEMORY.md")
    wanted = unicodedata.normalize("NFC", name)
    if problem := problem_of(wanted):
        raise Rejected(f"a note cannot be called {name[:100]!r}: {problem}", hint=_advice(wanted))
    here = tuple(present)
    if wanted in here or wanted in KNOWN:
        return wanted
    return next((each for each in (*KNOWN, *here) if each.casefold() == wanted.casefold()), wanted)


def problem_of(name: str) -> str | None:
    """Say what is wrong with a name; None when nothing is."""
    parts = name.split("/")
    if len(parts) > DEEPEST:
        return f"it lies more than {DEEPEST} levels deep"
    for part in parts:
        if found := _problem_of_part(part):
            return found
    if name.casefold() == STATUS:
        return None
    if not name.endswith(".md") or parts[-1] == ".md":
        return "it does not end in .md"
    if name.casefold().startswith(_DAILY) and day_of(name) is None:
        return "a daily note is called by its day"
    return None


def _problem_of_part(part: str) -> str | None:
    """Say what is wrong with one level of a name."""
    if not part or part in (".", ".."):
        return "it is no path inside the notes"
    if part.startswith(".") or part.strip(" ") != part or part.endswith("."):
        return "a level of it begins or ends with a dot or a space"
    if any(char in _FORBIDDEN or unicodedata.category(char) in _HIDDEN for char in part):
        return "it holds a character that not every system takes"
    return f"a level of it is longer than {_LONGEST_PART} bytes" if len(part.encode()) > _LONGEST_PART else None


def _advice(name: str) -> str:
    """Say how a note could be called instead."""
    if name.casefold().startswith(_DAILY):
        return "such as daily/2026-11-16.md"
    last = name.rstrip("/").rsplit("/", 1)[-1]
    tried = f"{last.split('.')[0]}.md"
    return f"such as {tried}" if problem_of(tried) is None else "such as MEMORY.md or projects/boat.md"


@cache
def default_text(name: str) -> str:
    """Read the text that a note starts with: values and motives, nothing of when to do what. Empty when it has none."""
    file = resources.files("everloom.mind.notes") / "defaults" / name
    return file.read_text(encoding="utf-8") if "/" not in name and name.endswith(".md") and file.is_file() else ""


def daily_name(day: date) -> str:
    """Name the note of a day."""
    return f"{_DAILY}{day.isoformat()}.md"


def day_of(name: str) -> date | None:
    """Read the day from a note's name; None when it is no day's note."""
    found = _DAILY_NAME.fullmatch(name)
    try:
        return date.fromisoformat(found[1]) if found else None
    except ValueError:
        return None


def noon_of(day: date, zone: tzinfo) -> datetime:
    """Place a whole day in time: at its noon, which every day has, whatever the clocks do at night."""
    return datetime.combine(day, time(12), tzinfo=zone)


def daily_heading(day: date) -> str:
    """Write the first line of a day's note."""
    return f"# {day.isoformat()}, {day:%A}\n"
