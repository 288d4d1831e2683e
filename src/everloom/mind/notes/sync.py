"""Where a note's file, its versions in the table and the soul are brought together, and where a note is changed.

A version is committed before the file is replaced, and what the person wrote in the meantime becomes a version first,
so no edit is lost wherever a process dies. What may be written is decided by whoever asks for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from threading import RLock
from typing import Literal

from everloom.clock import from_micros, to_micros
from everloom.errors import Conflict, Rejected
from everloom.kernel.journal import register
from everloom.kernel.operation import Transaction
from everloom.kernel.search import Document, Prepared
from everloom.kernel.texts import LONGEST_TEXT
from everloom.mind.notes.agreement import SoulSide, SyncStep, choose_side, choose_step, is_same
from everloom.mind.notes.files import KNOWN, SOUL, FileStamp, FileText, NoteFiles, day_of, default_text, digest, noon_of
from everloom.mind.ports import MindSetup
from everloom.store import Row, Unit

Author = Literal["agent", "person"]

_TRIES = 5
# A file written so short a time ago may change again without a new stamp: file systems count time in steps.
_FRESH_NS = 100_000_000
_EDITED = "edited in SOUL.md"


@dataclass(frozen=True, slots=True)
class NoteVersion:
    """One state of a note; an empty body says that it was removed."""

    name: str
    number: int
    body: str
    author: Author
    at: datetime


@dataclass(frozen=True, slots=True)
class _NoteRecord:
    """What the table knows of a note: the newest version, the hash its file had, and the one on its way there."""

    id: int
    known: str
    coming: str | None
    newest: NoteVersion


@dataclass(frozen=True, slots=True)
class OpenNote:
    """A note as file and table agree on it; `version` is None before there ever was one."""

    name: str
    body: str
    version: NoteVersion | None

    @property
    def number(self) -> int:
        """Say which version it is; 0 before there ever was one."""
        return 0 if self.version is None else self.version.number


class NoteSync:
    """The notes of one workspace; everything but `alone` and `hash_of` is done inside `alone`."""

    def __init__(self, setup: MindSetup) -> None:
        self.files = NoteFiles(setup.notes)
        self._op = setup.op
        self._soul = setup.soul
        self._thread = RLock()
        self._is_ready = False
        self._stamps: dict[str, FileStamp | None] = {}
        self._hashes: dict[str, str] = {}

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the directory for a block, made ready on first use."""
        with self._thread:
            if not self.files.is_there:
                # A directory that is gone is no deletion of everything: what the table has is written again.
                with self._op.write("reset_notes") as writing:
                    writing.unit.run("notes.note_reset")
                self._stamps.clear()
                self._is_ready = False
            self.files.prepare()
            # Between processes by a file lock, between threads by ours: a file lock does not hold off its own process.
            with self.files.locked():
                if not self._is_ready:
                    self._begin()
                    self._is_ready = True
                yield

    def _begin(self) -> None:
        self.files.tidy()
        hashes = self.hashes()
        unfinished = [name for name, (_, coming) in hashes.items() if coming is not None]
        for name in (*(name for name in KNOWN if name not in hashes), *unfinished):
            # One that cannot be read is told by `sync`; the others are none the worse for it.
            with suppress(Rejected):
                note = self.open(name)
                if note.version is None and (text := default_text(name)):
                    self._put(note, text, "agent")

    def open(self, name: str) -> OpenNote:
        """Take a note as it is now, after bringing together what file, table and soul say of it."""
        if name != SOUL:
            return self._open_file(name)
        with suppress(Conflict):
            return self._open_soul()
        # Somebody wrote the soul at the same moment: look again.
        return self._open_soul()

    def hashes(self) -> dict[str, tuple[str, str | None]]:
        """Read of every note the hash that its file had, and the one on its way there."""
        with self._op.read() as unit:
            return {row["name"]: (row["body_hash"], row["next_hash"]) for row in unit.all("notes.note_all")}

    def _open_file(self, name: str) -> OpenNote:
        found, record = self.files.look(name), self._record(name)
        file = digest(found.body) if found else ""
        if record is None:
            version = self._add(name, found.body, "person", file) if found and file else None
        else:
            version = self._agree(record, found, file)
        body = version.body if version else ""
        self._trust(name, found, body)
        return OpenNote(name, body, version)

    def _agree(self, record: _NoteRecord, found: FileText | None, file: str) -> NoteVersion:
        newest = record.newest
        match choose_step(file, record.known, record.coming):
            case SyncStep.ADOPT:
                return self._add(newest.name, found.body if found else "", "person", file)
            case SyncStep.FINISH:
                self.files.put(newest.name, newest.body)
                self._mark(record.id, digest(newest.body))
            case SyncStep.CONFIRM:
                self._mark(record.id, file)
        return newest

    def _open_soul(self) -> OpenNote:
        """Bring the soul and its note together; where both changed, the newer wins and the other is in the history."""
        found, record = self.files.look(SOUL), self._record(SOUL)
        file = found.body if found else ""
        coming = None if record is None else choose_step(digest(file), record.known, record.coming)
        if coming in (SyncStep.FINISH, SyncStep.CONFIRM):
            # A write of our own that was cut short is finished first; it is no edit by hand.
            file = self._open_file(SOUL).body
        soul = self._soul.read()
        chosen, prose = choose_side(file, record.newest.body if record else "", soul), f"{soul.strip()}\n"
        if chosen is SoulSide.SOUL or (chosen is SoulSide.NEWER and not self._is_newer(found)):
            return self._put(self._open_file(SOUL), prose, "agent")
        if chosen is SoulSide.NEWER:
            # The one that gives way becomes a version first, so that it can be restored.
            self._add(SOUL, prose, "agent", digest(prose))
        if chosen is not SoulSide.AGREED:
            self._tell_soul(file)
        return self._open_file(SOUL)

    def _is_newer(self, found: FileText | None) -> bool:
        written = self._soul.written_at()
        return written is None or (found is not None and found.stamp.at > written)

    def _tell_soul(self, body: str) -> None:
        before = self._soul.read()
        if not is_same(before, body):
            self._soul.supersede(body.strip(), instead_of=before, reason=_EDITED)

    def change(self, name: str, author: Author, make: Callable[[OpenNote], str]) -> NoteVersion:
        """Write what `make` makes of a note as it is now; the soul hears it first, so that it is never behind."""
        # The person may save the file between our look and our write; then theirs is adopted and we begin again.
        for _ in range(_TRIES):
            note = self.open(name)
            body = make(note)
            if note.version is not None and body == note.body:
                return note.version
            if name == SOUL:
                # If we die after this, the file is older than the soul, and the next look writes it anew.
                self._tell_soul(body)
            if (put := self._put(note, body, author)).version is not None and put.body == body:
                return put.version
        raise Conflict(f"{name} is being edited right now", hint="try again")

    def _put(self, note: OpenNote, body: str, author: Author) -> OpenNote:
        """Commit a version, then replace the file, unless the person was there in between: then theirs is adopted.

        Table first: whoever dies after the commit leaves the hash that is on its way, and the next one finishes it. The
        other way round, the file would look like an edit by hand.
        """
        known = digest(note.body)
        if note.version is not None and body == note.body:
            return note
        version = self._add(note.name, body, author, known, digest(body))
        found, record = self.files.look(note.name), self._record(note.name)
        if record is None or (digest(found.body) if found else "") != known:
            return self.open(note.name)
        # Between the look above and this a person's save would be overwritten: an instant that no lock can close.
        self.files.put(note.name, body)
        self._mark(record.id, digest(body))
        self._trust(note.name, self.files.look(note.name), body)
        return OpenNote(note.name, body, version)

    def _record(self, name: str) -> _NoteRecord | None:
        with self._op.read() as unit:
            return _find_record(unit, name)

    def _add(self, name: str, body: str, author: Author, known: str, coming: str | None = None) -> NoteVersion:
        """Write a version; `known` is the hash of what the file holds, `coming` of what will be put there."""
        # A text that came with the program is nobody's memory, and the soul is found as itself.
        is_worth_finding = bool(body.strip()) and body != default_text(name) and name != SOUL
        prepared = self._op.index.prepare([self._document_of(name, body)]) if is_worth_finding else None
        with self._op.write("write_note") as writing:
            unit, at = writing.unit, to_micros(writing.at)
            found = _find_record(unit, name)
            if found is None:
                (note,) = register(unit, "note", writing.at)
                unit.run("notes.note_add", id=note, name=name, at=at)
            else:
                note = found.id
            number = 1 if found is None else found.newest.number + 1
            unit.run("notes.version_add", id=note, number=number, body=body, author=author, at=at)
            unit.run("notes.note_mark", id=note, known=known, coming=coming, at=at)
            self._publish(writing, note, prepared)
            writing.event(id=note, name=name, version=number, author=author)
        return NoteVersion(name, number, body, author, writing.at)

    def _document_of(self, name: str, body: str) -> Document:
        """Write what search sees of a note: its beginning, if it is very long; a day's note is dated by its day."""
        day = day_of(name)
        happened = self._op.now if day is None else noon_of(day, self._op.zone)
        return Document(kind="note", title=name, text=body[:LONGEST_TEXT], happened_at=happened)

    def _publish(self, writing: Transaction, note: int, prepared: Prepared | None) -> None:
        """Let search see a note as it is now; None lets it see none."""
        index, unit = self._op.index, writing.unit
        is_seen = bool(index.documents(unit, [note]))
        if prepared is None:
            if is_seen:
                index.remove(unit, [note])
        elif is_seen:
            index.revise(unit, note, prepared, writing.at)
        else:
            index.publish(unit, [note], prepared, writing.at)

    def _mark(self, note: int, known: str) -> None:
        with self._op.write("mark_note") as writing:
            writing.unit.run("notes.note_mark", id=note, known=known, coming=None, at=to_micros(writing.at))

    def _trust(self, name: str, found: FileText | None, body: str) -> None:
        """Trust a file's stamp from now on, unless it is so fresh that a second change could hide behind it."""
        self._hashes[name] = digest(body)
        self._stamps.pop(name, None)
        if found is None or time.time_ns() - found.stamp.mtime_ns > _FRESH_NS:
            self._stamps[name] = None if found is None else found.stamp

    def is_as_before(self, name: str, stamp: FileStamp | None, known: str, coming: str | None) -> bool:
        """Say whether a note is certainly as it was when it was last opened."""
        is_known = coming is None and self._hashes.get(name) == known
        return is_known and name in self._stamps and self._stamps[name] == stamp

    def hash_of(self, name: str) -> str:
        """Tell what a note held when it was last looked at."""
        return self._hashes.get(name, "")


def version_from(name: str, row: Row) -> NoteVersion:
    """Read a version from its row."""
    return NoteVersion(name, row["number"], row["body"], row["author"], from_micros(row["at"]))


def _find_record(unit: Unit, name: str) -> _NoteRecord | None:
    row = unit.one("notes.note_by_name", name=name)
    return None if row is None else _NoteRecord(row["id"], row["body_hash"], row["next_hash"], version_from(name, row))
