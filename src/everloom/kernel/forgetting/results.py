"""The answers of `forget`, `forgotten`, `lift` and `correct`. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgottenItem:
    """An item that goes: its first words, and why it goes although nobody chose it."""

    id: int
    kind: str
    text: str | None = None
    because: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SparedItem:
    """An item that stays, and what becomes of it."""

    id: int
    kind: str
    text: str
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """The result of `forget`: a preview with the token that confirms it, or what was done.

    `mentions` are other items that say the same in the same words; they stay unless they are chosen, too. `remains` are
    places that could not be cleaned.
    """

    is_done: bool
    advice: str
    confirm: str | None = None
    items: tuple[ForgottenItem, ...] = ()
    spared: tuple[SparedItem, ...] = ()
    mentions: tuple[ForgottenItem, ...] = ()
    left_off: int = 0
    count: int = 0
    cleaned: tuple[str, ...] = ()
    remains: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TombstoneRecord:
    """A tombstone: what kind of thing was forgotten, when and in which session; never what it said."""

    id: int
    kind: str
    at: datetime
    session: str | None = None
    is_clean: bool = True
    lifted_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TombstoneList:
    """The newest tombstones, and how many there are."""

    count: int
    tombstones: tuple[TombstoneRecord, ...] = ()
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """The result of `correct`: the item that says what is right, and the one that it replaced."""

    id: int
    kind: str
    replaced: int
    how: str
    forgotten: Forgotten | None = None
