"""The system prompt: the time, the notes, and an explanation of how the memory is organised.

Built once and reused byte for byte, so that a provider can cache it, until a note in it changes, `prompt_minutes` have
passed, or the process restarts. Each note is enclosed in tags that its text cannot forge. Refuses to search for
anything in advance, and to prescribe when the agent should do what.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock

from everloom.clock import shown
from everloom.errors import Rejected
from everloom.mind.notes import Notes
from everloom.mind.notes.excerpts import end_of
from everloom.mind.notes.files import COMPACTION, DURABLE, IDENTITY, STATUS, daily_name, default_text
from everloom.mind.ports import MindSetup
from everloom.mind.prompts import prompt_named
from everloom.models.text import quoted

# The most characters of a note in the prompt, which shows its end: what was added last.
LONGEST_PAGE = 20_000
_LONGEST_STATUS = 10_000
LONGEST_DAY = 4_000

LANDSCAPE = prompt_named("landscape") + "\n"


@dataclass(frozen=True, slots=True)
class PromptSection:
    """A heading, the names of its notes, and how many characters of each are shown."""

    heading: str
    names: tuple[str, ...]
    longest: int


@dataclass(frozen=True, slots=True)
class _BuiltPrompt:
    """A prompt, with the time at which it was built and the state of its notes."""

    text: str
    at: datetime
    signature: tuple[str, ...]
    # The notes that it shows from beginning to end; whoever has seen only a part of a note must not replace it.
    whole: tuple[str, ...]


class Prompt:
    """The system prompt of one workspace in one process."""

    def __init__(self, notes: Notes, setup: MindSetup) -> None:
        self._notes = notes
        self._op = setup.op
        self._lasting = timedelta(minutes=setup.policy.prompt_minutes)
        self._lock = Lock()
        self._built: _BuiltPrompt | None = None

    def text(self) -> str:
        """Return the prompt: the cached one, unless a note changed or it is too old."""
        with self._lock:
            # The bytes stay the same while nothing changes: a cached prompt costs a fraction of a new one.
            self._notes.sync()
            sections = self._sections()
            signature = self._notes.signature([name for section in sections for name in section.names])
            now = self._op.now
            if self._built is None or self._built.signature != signature or self._is_old(self._built, now):
                self._built = self._build(sections, now, signature)
            self._notes.mark_seen(self._built.whole)
            return self._built.text

    def compaction_instructions(self) -> str:
        """Return the instructions for a compaction: COMPACTION.md, or its default text if it cannot be read."""
        try:
            return (self._notes.read(COMPACTION) or default_text(COMPACTION)).strip()
        except Rejected:
            return default_text(COMPACTION).strip()

    def _is_old(self, built: _BuiltPrompt, now: datetime) -> bool:
        # After the clock was set back, a prompt may be from the future, which is as wrong as an old one.
        return not timedelta(0) <= now - built.at < self._lasting

    def _sections(self) -> tuple[PromptSection, ...]:
        today = self._op.today
        days = (daily_name(today - timedelta(days=1)), daily_name(today))
        return (
            PromptSection("# Notes: who you are, and with whom", IDENTITY, LONGEST_PAGE),
            PromptSection("# Notes: what is kept", DURABLE, LONGEST_PAGE),
            PromptSection("# Notes: yesterday and today", days, LONGEST_DAY),
            PromptSection("# Notes: the status, each field with the time it changed", (STATUS,), _LONGEST_STATUS),
        )

    def _build(self, sections: Sequence[PromptSection], now: datetime, signature: tuple[str, ...]) -> _BuiltPrompt:
        place = self._op.workspace
        time = f"# Now\n\n{shown(now, self._op.zone)} ({place.time_zone})\nWorkspace: {place.name}"
        bodies = {name: self._notes.show(name) or "" for section in sections for name in section.names}
        written = [_write(section, bodies) for section in sections]
        text = "\n\n".join([time, *filter(None, written), f"# Your memory\n\n{LANDSCAPE}"])
        whole = [name for section in sections for name in section.names if len(bodies[name].strip()) <= section.longest]
        return _BuiltPrompt(text, now, signature, tuple(whole))


def _write(section: PromptSection, bodies: Mapping[str, str]) -> str:
    pages = [page(name, bodies[name], section) for name in section.names if bodies[name]]
    return "\n\n".join([section.heading, *pages]) if pages else ""


def page(name: str, body: str, section: PromptSection) -> str:
    """Enclose one note in tags with its name; of one that is longer than its section allows, its end."""
    return quoted(end_of(body.strip(), section.longest), name)
