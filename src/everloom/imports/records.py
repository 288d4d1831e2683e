"""What every format is read as: turns of conversations, passages of notes, facts; and the files they are read from.

Plain values. Refuses to know formats, and what becomes of a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTurn:
    """Something that somebody said; `key` names it in the program it comes from, `session` is its conversation."""

    key: str
    speaker: str
    text: str
    at: datetime
    session: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignNote:
    """A part of a note; `file` is the note it belongs to, with the passages around it."""

    key: str
    title: str
    text: str
    at: datetime
    file: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignFact:
    """A statement about subjects."""

    key: str
    subjects: tuple[str, ...]
    text: str
    at: datetime
    kind: str | None = None


Record = ForeignTurn | ForeignNote | ForeignFact


@dataclass(frozen=True, slots=True)
class Step:
    """One step of reading: what was found, what was left out and why, and where to go on after it."""

    position: int
    records: tuple[Record, ...] = ()
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One file, or one member of an archive; `key` is the same for the same file, `stamp` changes with it."""

    name: str
    key: str
    size: int
    stamp: int
    open: Callable[[], BinaryIO]
    # Reads it through once, where damage could otherwise show only after half of it was taken in.
    check: Callable[[], None] = lambda: None


class ForeignFormat(Protocol):
    """A format of another program.

    Of one that grows, reading goes on where it ended; the files of others are read again as a whole when they change.
    """

    @property
    def name(self) -> str:
        """What people call it by."""
        ...

    @property
    def about(self) -> str:
        """What it is, and where it is found, on one line."""
        ...

    @property
    def grows(self) -> bool:
        """Whether a file of it only ever gets longer."""
        ...

    @property
    def retires(self) -> bool:
        """Whether what is no longer in a file no longer holds."""
        ...

    def fits(self, path: Path) -> bool:
        """Say whether a path holds this format."""
        ...

    def parts(self, path: Path) -> Iterable[Part | str]:
        """List the files to read, each with a way to open it; a text says why something is left out."""
        ...

    def read(self, part: Part, start: int) -> Iterator[Step]:
        """Read a file from a position on."""
        ...
