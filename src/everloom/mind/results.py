"""The results of the mind's verbs; `str` of some is the text that the agent reads. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from everloom.kernel.answer.encode import SAID, as_data

if TYPE_CHECKING:
    from everloom.mind.conversation import StreamMessage
    from everloom.mind.conversation.compaction import Compaction
    from everloom.mind.initiative.heartbeat import Heartbeat
    from everloom.mind.notes import NoteVersion
    from everloom.mind.notes.excerpts import Excerpt
    from everloom.models.talk import Turn

# The names of block kinds in the output of `array`. Reasoning has none, because it is never stored.
_KINDS = {
    "TextBlock": "text",
    "ToolUse": "tooluse",
    "ToolResult": "toolresult",
    "Compacted": "folded",
    "MediaBlock": "media",
}


@dataclass(frozen=True, slots=True)
class FoundInArchive:
    """The exchanges and facts that a search found, as text with dates and ids."""

    found: str

    def __str__(self) -> str:
        return self.found


@dataclass(frozen=True, slots=True)
class NoteText:
    """The text of a note and its version; None if there is no such note. Without a name, the names of all notes.

    Of a part of a note: the numbers of its first and last line, and how many lines there are. If only the lines with
    some words were asked for, `to_line` is how far the search came, and each line begins with its number.
    """

    name: str | None
    body: str | None = field(metadata=SAID)
    version: int | None = None
    from_line: int | None = None
    to_line: int | None = None
    lines: int | None = None

    def __str__(self) -> str:
        # For the agent, whose notes others may have written, too.
        from everloom.models.text import quoted  # noqa: PLC0415  listing the verbs needs no models

        if self.body is None:
            return f"There is no note {self.name}; read_note without a name lists them."
        if self.name is None:
            return self.body
        text = quoted(self.body, self.name) if self.body else "(no line contains these words)"
        return f"{text}\n{self._part()}" if self.lines else text

    def for_model(self) -> NoteText:
        """Return the same with the text quoted, for a model elsewhere: others may have written the note."""
        from everloom.models.text import quoted  # noqa: PLC0415  listing the verbs needs no models

        return self if self.name is None or not self.body else replace(self, body=quoted(self.body, self.name))

    def _part(self) -> str:
        """Say which lines these are, and how to read on."""
        rest = f"; from_line={self.to_line + 1} reads on" if self.to_line and self.to_line < (self.lines or 0) else ""
        return f"(lines {self.from_line:,} to {self.to_line:,} of {self.lines:,}{rest})"


def note_text(name: str, body: str, version: int | None, excerpt: Callable[[str], Excerpt]) -> NoteText:
    """Show a note, or a part of it."""
    if not body:
        return NoteText(name, None)
    part = excerpt(body)
    if part.is_whole and part.text == body.removesuffix("\n"):
        return NoteText(name, body, version)
    return NoteText(name, part.text, version, part.first, part.last, part.lines)


@dataclass(frozen=True, slots=True)
class NoteWritten:
    """The new version of a note."""

    name: str
    version: int
    at: datetime

    def __str__(self) -> str:
        return f"{self.name} was written (version {self.version})."


@dataclass(frozen=True, slots=True)
class Cancelled:
    """A scheduled message that was cancelled."""

    id: int
    state: str = field(default="cancelled", init=False)

    def __str__(self) -> str:
        return f"Message {self.id} will not be sent."


@dataclass(frozen=True, slots=True)
class ConversationLog:
    """Messages from the log, newest last."""

    messages: tuple[StreamMessage, ...]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class ArrayView:
    """The turns that the model sees, each block with its kind."""

    turns: tuple[Mapping[str, Any], ...]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class CompactionList:
    """Compactions, newest first."""

    compactions: tuple[Compaction, ...]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class HeartbeatList:
    """Heartbeats, newest first."""

    heartbeats: tuple[Heartbeat, ...]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class NoteHistory:
    """The versions of a note, newest first."""

    versions: tuple[NoteVersion, ...]
    note: str | None = None


def view_of(turns: Iterable[Turn]) -> ArrayView:
    """Convert turns to plain data with the kind of each block, without the provider's opaque data."""

    def block_of(block: object) -> dict[str, Any]:
        known = {name: value for name, value in as_data(block).items() if name != "raw"}
        return {"kind": _KINDS[type(block).__name__], **known}

    return ArrayView(tuple({"role": turn.role, "blocks": [block_of(block) for block in turn.blocks]} for turn in turns))


@dataclass(frozen=True, slots=True, kw_only=True)
class FactPruning:
    """A fact that is set aside, and why: because another says the same (`into`), or because it has faded."""

    id: int
    text: str
    why: str
    into: int | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedFacts:
    """The facts that were set aside or, in a dry run, would be; and how many more wait for the next nights."""

    facts: tuple[FactPruning, ...]
    is_done: bool
    waiting: int = 0
    note: str | None = None
