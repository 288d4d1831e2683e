"""What a note may be called, and which notes every mind has. Pure.

A name is a relative path with forward slashes. Whether there is such a file is not known here.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from everloom.errors import Rejected
from everloom.mind.notes.daily import DAILY, day_of

SOUL = "SOUL.md"
STATUS = "status.json"
COMPACTION = "COMPACTION.md"
IDENTITY = (SOUL, "IDENTITY.md", "USER.md", "TOOLS.md")
DURABLE = ("MEMORY.md", "THREADS.md", "DEV-NOTES.md", "SELF-AWARENESS.md")
KNOWN = (*IDENTITY, *DURABLE, COMPACTION, STATUS)

DEEPEST = 3
LONGEST_PART = 200
FORBIDDEN = frozenset('<>:"|?*\\')


def note_name(name: object, present: Iterable[str] = ()) -> str:
    """Accept a note's name; one that differs from a known or present one by case alone means that one."""
    if not isinstance(name, str):
        raise Rejected(f"a note's name must be text, not {type(name).__name__}", hint="such as MEMORY.md")
    wanted = unicodedata.normalize("NFC", name)
    if problem := problem_of(wanted):
        raise Rejected(f"a note cannot be called {name[:100]!r}: {problem}", hint=advice(wanted))
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
        if found := problem_of_part(part):
            return found
    if name.casefold() == STATUS:
        return None
    if not name.endswith(".md") or parts[-1] == ".md":
        return "it does not end in .md"
    if name.casefold().startswith(DAILY) and day_of(name) is None:
        return "a daily note is called by its day"
    return None


def problem_of_part(part: str) -> str | None:
    """Say what is wrong with one level of a name."""
    if not part or part in (".", ".."):
        return "it is no path inside the notes"
    if part.startswith(".") or part.strip(" ") != part or part.endswith("."):
        return "a level of it begins or ends with a dot or a space"
    if any(char in FORBIDDEN or unicodedata.category(char) in HIDDEN for char in part):
        return "it holds a character that not every system takes"
    return f"a level of it is longer than {LONGEST_PART} bytes" if len(part.encode()) > LONGEST_PART else None


# Control, format, unassigned, private and surrogate characters, and separators of lines.
HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


def advice(name: str) -> str:
    """Say how a note could be called instead."""
    if name.casefold().startswith(DAILY):
        return "such as daily/2026-11-16.md"
    last = name.rstrip("/").rsplit("/", 1)[-1]
    tried = f"{last.split('.')[0]}.md"
    return f"such as {tried}" if problem_of(tried) is None else "such as MEMORY.md or projects/boat.md"
