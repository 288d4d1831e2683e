"""What the verbs of the mind answer: values that every surface writes, some with words for the agent. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from everloom.kernel.encode import as_data

if TYPE_CHECKING:
    from everloom.mind.conversation import StreamMessage
    from everloom.mind.conversation.compaction import Compaction
    from everloom.mind.initiative.heartbeat import Heartbeat
    from everloom.mind.notes import NoteVersion
    from everloom.models.talk import Turn

# How readers of the array know a block; reasoning is never kept.
_KINDS = {"TextBlock": "text", "ToolUse": "tooluse", "ToolResult": "toolresult", "Compacted": "folded"}


@dataclass(frozen=True, slots=True)
class FoundInArchive:
    """What past conversations and facts say about something, in words, with dates and ids."""

    found: str

    def __str__(self) -> str:
        return self.found


@dataclass(frozen=True, slots=True)
class NoteText:
    """A note's text; None when there is no such note. Without a name, the names of all."""

    name: str | None
    body: str | None

    def __str__(self) -> str:
        return f"There is no note {self.name}; read_note without a name lists them." if self.body is None else self.body


@dataclass(frozen=True, slots=True)
class NoteWritten:
    """Which version a note is at."""

    name: str
    version: int
    at: datetime

    def __str__(self) -> str:
        return f"{self.name} is written (version {self.version})."


@dataclass(frozen=True, slots=True)
class Cancelled:
    """A message that will not be sent."""

    id: int
    state: str = field(default="cancelled", init=False)

    def __str__(self) -> str:
        return f"Message {self.id} will not be sent."


@dataclass(frozen=True, slots=True)
class ConversationLog:
    """Messages of the log, newest last."""

    messages: tuple[StreamMessage, ...]


@dataclass(frozen=True, slots=True)
class ArrayView:
    """The turns that a model sees, each block with its kind."""

    turns: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class CompactionList:
    """Compactions, newest first."""

    compactions: tuple[Compaction, ...]


@dataclass(frozen=True, slots=True)
class HeartbeatList:
    """Heartbeats, newest first."""

    heartbeats: tuple[Heartbeat, ...]


@dataclass(frozen=True, slots=True)
class NoteHistory:
    """The versions of a note, newest first."""

    versions: tuple[NoteVersion, ...]


def view_of(turns: Iterable[Turn]) -> ArrayView:
    """Write turns with the kind of each block; what only a provider understands is left out."""

    def block_of(block: object) -> dict[str, Any]:
        known = {name: value for name, value in as_data(block).items() if name != "raw"}
        return {"kind": _KINDS[type(block).__name__], **known}

    return ArrayView(tuple({"role": turn.role, "blocks": [block_of(block) for block in turn.blocks]} for turn in turns))
