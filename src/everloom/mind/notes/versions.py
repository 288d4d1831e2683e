"""What the table keeps of a note: its item, what is known of its file, every version, what search sees of it.

Everything here happens inside a unit of work that somebody else began. Touches no file.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Literal

from everloom.clock import from_micros, to_micros
from everloom.kernel.journal import append_event, register
from everloom.kernel.search import Document, Index, Prepared
from everloom.kernel.texts import LONGEST_TEXT
from everloom.mind.notes.daily import day_of, noon_of
from everloom.store import Row, Unit

Author = Literal["agent", "person"]


@dataclass(frozen=True, slots=True)
class Version:
    """One state of a note; an empty body says that it was removed."""

    name: str
    number: int
    body: str
    author: Author
    at: datetime


@dataclass(frozen=True, slots=True)
class Kept:
    """What the table knows of a note: the newest version, the hash its file had, and the one on its way there."""

    id: int
    known: str
    coming: str | None
    newest: Version


@dataclass(frozen=True, slots=True)
class Mark:
    """What a note's file holds, and what will be put there."""

    known: str
    coming: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A version on its way into the table, with the document that search shall see; None when it shall see none."""

    name: str
    body: str
    author: Author
    at: datetime
    prepared: Prepared | None


def kept(unit: Unit, name: str) -> Kept | None:
    """Find a note by name."""
    row = unit.one("notes.note_by_name", name=name)
    if row is None:
        return None
    return Kept(row["id"], row["body_hash"], row["next_hash"], version_from(name, row))


def version_from(name: str, row: Row) -> Version:
    """Read a version from its row."""
    return Version(name, row["number"], row["body"], row["author"], from_micros(row["at"]))


def add(unit: Unit, index: Index, draft: Draft, mark: Mark) -> Version:
    """Write a new version, making the note on first sight."""
    found = kept(unit, draft.name)
    at = to_micros(draft.at)
    if found is None:
        (note,) = register(unit, "note", draft.at)
        unit.run("notes.note_add", id=note, name=draft.name, at=at)
    else:
        note = found.id
    number = 1 if found is None else found.newest.number + 1
    unit.run("notes.version_add", id=note, number=number, body=draft.body, author=draft.author, at=at)
    unit.run("notes.note_mark", id=note, known=mark.known, coming=mark.coming, at=at)
    publish(unit, index, note, draft)
    detail = {"id": note, "name": draft.name, "version": number, "author": draft.author}
    append_event(unit, "write_note", detail, draft.at, None)
    return Version(draft.name, number, draft.body, draft.author, draft.at)


def publish(unit: Unit, index: Index, note: int, draft: Draft) -> None:
    """Let search see a note as it is now."""
    is_seen = bool(unit.all("words.of_documents", ids=[note]))
    if draft.prepared is None:
        if is_seen:
            index.remove(unit, [note])
    elif is_seen:
        index.revise(unit, note, draft.prepared, draft.at)
    else:
        index.publish(unit, [note], draft.prepared, draft.at)


def document_of(name: str, body: str, at: datetime, zone: tzinfo) -> Document:
    """Write what search sees of a note: its beginning, if it is very long; a day's note is dated by its day."""
    day = day_of(name)
    happened = at if day is None else noon_of(day, zone)
    return Document(kind="note", title=name, text=body[:LONGEST_TEXT], happened_at=happened)
