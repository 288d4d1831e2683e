"""The system prompt: the time, the notes as they are, and the lie of the memory. Nothing else, and nothing fetched.

Made once and kept byte for byte, so that a provider can cache it, until a note on it changes, `prompt_minutes` have
passed, or the process is a new one. Every note stands between tags that its text cannot forge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock

from everloom.clock import shown
from everloom.errors import Rejected
from everloom.mind.ground import Ground
from everloom.mind.landscape import (
    DAILY_HEADING,
    DURABLE_HEADING,
    IDENTITY_HEADING,
    LANDSCAPE,
    MEMORY_HEADING,
    NOW,
    STATUS_HEADING,
)
from everloom.mind.notes.daily import daily_name
from everloom.mind.notes.defaults import default_text
from everloom.mind.notes.names import COMPACTION, DURABLE, IDENTITY, STATUS
from everloom.mind.notes.notes import Notes
from everloom.models.text import quoted

# How many characters of a note stand in the prompt: the beginning of a lasting one, the end of a day's.
LONGEST_PAGE = 20_000
LONGEST_STATUS = 10_000
LONGEST_DAY = 4_000


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the notes below it, by name; of those of days the end is kept, of others the beginning."""

    heading: str
    names: tuple[str, ...]
    longest: int
    keeps_end: bool = False


@dataclass(frozen=True, slots=True)
class Built:
    """A prompt, when it was made, and of which state of the notes."""

    text: str
    at: datetime
    signature: tuple[str, ...]


class Prompt:
    """The system prompt of one workspace in one process."""

    def __init__(self, notes: Notes, ground: Ground) -> None:
        self._notes = notes
        self._ground = ground
        self._lock = Lock()
        self._built: Built | None = None

    def text(self) -> str:
        """Say the prompt; the same one as before, if nothing asks for a new one."""
        with self._lock:
            self._notes.sync()
            sections = self._sections()
            signature = self._notes.signature([name for section in sections for name in section.names])
            now = self._ground.clock.now()
            if self._built is None or self._built.signature != signature or self._is_old(self._built, now):
                self._built = Built(self._build(sections, now), now, signature)
            return self._built.text

    def compaction_instructions(self) -> str:
        """Say what to hold on to when the conversation is folded: COMPACTION.md, or what it starts with."""
        try:
            return (self._notes.read(COMPACTION) or default_text(COMPACTION)).strip()
        except Rejected:
            return default_text(COMPACTION).strip()

    def _is_old(self, built: Built, now: datetime) -> bool:
        return not timedelta(0) <= now - built.at < timedelta(minutes=self._ground.policy.prompt_minutes)

    def _sections(self) -> tuple[Section, ...]:
        days = (daily_name(self._ground.yesterday()), daily_name(self._ground.today()))
        return (
            Section(IDENTITY_HEADING, IDENTITY, LONGEST_PAGE),
            Section(DURABLE_HEADING, DURABLE, LONGEST_PAGE),
            Section(DAILY_HEADING, days, LONGEST_DAY, keeps_end=True),
            Section(STATUS_HEADING, (STATUS,), LONGEST_STATUS),
        )

    def _build(self, sections: Sequence[Section], now: datetime) -> str:
        place = self._ground.workspace
        time = f"{NOW}\n\n{shown(now, self._ground.zone)} ({place.time_zone})\nWorkspace: {place.name}"
        written = [self._write(section) for section in sections]
        return "\n\n".join([time, *filter(None, written), f"{MEMORY_HEADING}\n\n{LANDSCAPE}"])

    def _write(self, section: Section) -> str:
        pages = [page(name, body, section) for name in section.names if (body := self._body(name))]
        return "\n\n".join([section.heading, *pages]) if pages else ""

    def _body(self, name: str) -> str | None:
        try:
            return self._notes.read(name)
        except Rejected as error:
            return f"[cannot be read: {error.message}]"


def page(name: str, body: str, section: Section) -> str:
    """Write one note between tags with its name, at most as long as its section allows."""
    return quoted(bounded(body.strip(), section.longest, keeps_end=section.keeps_end), name)


def bounded(body: str, longest: int, *, keeps_end: bool) -> str:
    """Cut a text that is too long, and show where."""
    over = len(body) - longest
    if over <= 0:
        return body
    mark = f"[{over:,} characters are not shown here]"
    return f"{mark}\n{body[-longest:]}" if keeps_end else f"{body[:longest]}\n{mark}"
