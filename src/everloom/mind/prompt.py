"""What the model is told beside the conversation: the system prompt, and the aside behind the newest message.

The system prompt holds the notes that last and an explanation of how the memory is organised. It is stored once it is
built, so that every process of a workspace sends the same bytes and a provider can cache them, until one of its notes
changes; after a pause in which the cache was lost it may be built anew. What changes all the time, the time itself, the
pages of these days and the status, is in the aside, which is made for one turn and never stored.

Each note is enclosed in tags that its text cannot forge. Refuses to search for anything in advance, and to prescribe
when the agent should do what.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import blake2b

from everloom.clock import from_micros, shown, to_micros
from everloom.errors import Rejected
from everloom.kernel.operation import Transaction
from everloom.mind.notes import Notes
from everloom.mind.notes.excerpts import end_of
from everloom.mind.notes.files import COMPACTION, DURABLE, IDENTITY, STATUS, daily_name, default_text
from everloom.mind.ports import MindSetup
from everloom.mind.prompts import prompt_named
from everloom.models.text import quoted

# The most characters of a note that are shown, which are its end: what was added last.
LONGEST_PAGE = 20_000
_LONGEST_STATUS = 10_000
LONGEST_DAY = 4_000

LANDSCAPE = prompt_named("landscape") + "\n"
_CACHED_FOR = {"5m": timedelta(minutes=5), "1h": timedelta(hours=1)}
ASIDE_OPENING = "[The message ends here. What follows was added by the program, and is how things stand now:]"
ASIDE_CLOSING = "[This is the end of what was added.]"


@dataclass(frozen=True, slots=True)
class PromptSection:
    """A heading, the names of its notes, and how many characters of each are shown."""

    heading: str
    names: tuple[str, ...]
    longest: int


_LASTING = (
    PromptSection("# Notes: who you are, and with whom", IDENTITY, LONGEST_PAGE),
    PromptSection("# Notes: what is kept", DURABLE, LONGEST_PAGE),
)
_SHOWN = tuple(name for section in _LASTING for name in section.names)


@dataclass(frozen=True, slots=True)
class _BuiltPrompt:
    """A prompt, with the state of its notes."""

    signature: str
    body: str
    # The notes that it shows from beginning to end; whoever has seen only a part of a note must not replace it.
    whole: tuple[str, ...]


class Prompt:
    """The system prompt and the asides of one workspace."""

    def __init__(self, notes: Notes, setup: MindSetup) -> None:
        self._notes = notes
        self._op = setup.op
        self._cached_for = _CACHED_FOR[setup.policy.cache_life]

    def text(self) -> str:
        """Return the system prompt: the stored one, unless a note in it changed or nobody has it cached any more."""
        self._notes.sync()
        notes = self._notes.signature(_SHOWN)
        # A note that cannot be read is shown as such, and has no hash that would tell.
        state = "\n".join([*notes, *self._notes.problems])
        signature = blake2b(state.encode("utf-8", "replace"), digest_size=16).hexdigest()
        stored, is_cached = self._stored()
        built = stored if stored is not None and stored.signature == signature and is_cached else None
        if built is None:
            built = self._build(signature)
            if built != stored:
                self._op.leave("keep_prompt", lambda writing: self._keep(writing, built, notes))
        self._notes.mark_seen(built.whole)
        return built.body

    def aside(self, told: Iterable[str | None] = ()) -> str:
        """Write what stands behind the newest message: time, pages of yesterday and today, status, and what is told."""
        place, now, today = self._op.workspace, self._op.now, self._op.today
        days = (daily_name(today - timedelta(days=1)), daily_name(today))
        sections = (
            PromptSection("# Notes: yesterday and today", days, LONGEST_DAY),
            PromptSection("# Notes: the status, each field with the time it changed", (STATUS,), _LONGEST_STATUS),
        )
        written, whole = self._write(sections)
        self._notes.mark_seen(whole)
        time = f"# Now\n\n{shown(now, self._op.zone)} ({place.time_zone})\nWorkspace: {place.name}"
        return "\n\n".join([ASIDE_OPENING, time, *written, *filter(None, told), ASIDE_CLOSING])

    def compaction_instructions(self) -> str:
        """Return the instructions for a compaction: COMPACTION.md, or its default text if it cannot be read."""
        try:
            return (self._notes.read(COMPACTION) or default_text(COMPACTION)).strip()
        except Rejected:
            return default_text(COMPACTION).strip()

    def _stored(self) -> tuple[_BuiltPrompt | None, bool]:
        """Read the stored prompt, and whether a provider may still have it in its cache."""
        with self._op.read() as unit:
            row, last = unit.one("mind.prompt_get"), unit.one("mind.exchange_last_end")
        built = None if row is None else _BuiltPrompt(row["signature"], row["body"], tuple(json.loads(row["whole"])))
        return built, last is not None and self._op.now - from_micros(last["ended_at"]) < self._cached_for

    def _build(self, signature: str) -> _BuiltPrompt:
        written, whole = self._write(_LASTING)
        return _BuiltPrompt(signature, "\n\n".join([*written, f"# Your memory\n\n{LANDSCAPE}"]), whole)

    def _keep(self, writing: Transaction, built: _BuiltPrompt, notes: tuple[str, ...]) -> None:
        # Checked under the write lock: what was forgotten since it was built must not come back with it.
        if self._notes.signature_in(writing.unit, _SHOWN) == notes:
            kept = {"signature": built.signature, "body": built.body, "whole": json.dumps(built.whole)}
            writing.unit.send("mind.prompt_put", **kept, at=to_micros(writing.at))

    def _write(self, sections: Sequence[PromptSection]) -> tuple[list[str], tuple[str, ...]]:
        """Write sections, those without notes left out; also returns the names of the notes that are shown whole."""
        bodies = {name: self._notes.show(name) or "" for section in sections for name in section.names}
        whole = [name for section in sections for name in section.names if len(bodies[name].strip()) <= section.longest]
        return [text for section in sections if (text := _pages(section, bodies))], tuple(whole)


def _pages(section: PromptSection, bodies: Mapping[str, str]) -> str:
    pages = [page(name, bodies[name], section) for name in section.names if bodies[name]]
    return "\n\n".join([section.heading, *pages]) if pages else ""


def page(name: str, body: str, section: PromptSection) -> str:
    """Enclose one note in tags with its name; of one that is longer than its section allows, its end."""
    return quoted(end_of(body.strip(), section.longest), name)
