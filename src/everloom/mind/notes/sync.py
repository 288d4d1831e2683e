"""Synchronises a note's file with its versions in the store and with the soul, and changes notes.

A version is committed before the file is replaced, and a person's edit is stored as a version before anything else, so
that no edit is lost wherever a process dies. Refuses to decide what may be written; the caller does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from threading import RLock
from typing import Literal

from everloom.clock import from_micros, to_micros
from everloom.errors import Conflict, Rejected, StoreBusy
from everloom.kernel.forgetting.tombstones import Tombstone, recognised, text_key
from everloom.kernel.journal import register
from everloom.kernel.once import UNKEYED, Once
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.search import Document, Prepared
from everloom.kernel.texts import LONGEST_TEXT
from everloom.kernel.trust.origin import AGENT
from everloom.mind.notes.agreement import SoulSide, SyncStep, choose_side, choose_step, is_same
from everloom.mind.notes.files import (
    KNOWN,
    SOUL,
    STATUS,
    FileStamp,
    FileText,
    NoteFiles,
    day_of,
    default_text,
    digest,
    noon_of,
)
from everloom.mind.notes.status import restamp_edited
from everloom.mind.ports import MindSetup
from everloom.store import Row, Unit
from everloom.store.claims import check_original, claim
from everloom.store.files import check_space, make_private

Author = Literal["agent", "person"]
# What else belongs into the transaction that stores a version; it is given the number of that version.
Also = Callable[[Transaction, int], None]


def nothing_else(_writing: Transaction, _number: int) -> None:
    """Add nothing to a transaction."""


_TRIES = 5
# A file that was written this recently may change again without a new stamp, because file systems store time in steps.
_FRESH_NS = 100_000_000
_EDITED = "edited in SOUL.md"


@dataclass(frozen=True, slots=True)
class NoteVersion:
    """One version of a note; an empty body means that it was removed."""

    name: str
    number: int
    body: str
    author: Author
    at: datetime


@dataclass(frozen=True, slots=True)
class _NoteRecord:
    """The row of a note: its newest version, the last known hash of its file, and the hash of a write in progress."""

    id: int
    known: str
    coming: str | None
    newest: NoteVersion


@dataclass(frozen=True, slots=True)
class OpenNote:
    """A note after its file and its row agree; `version` is None if there never was one.

    `state` is the hash of its file. It is not that of the body if the person's file holds a secret, which is not kept.
    """

    name: str
    body: str
    version: NoteVersion | None
    state: str

    @property
    def number(self) -> int:
        """Return the number of its version; 0 if there never was one."""
        return 0 if self.version is None else self.version.number


@dataclass(frozen=True, slots=True)
class _WrittenVersion:
    """What a receipt keeps of a change: which version it made. The text is in that version, once."""

    name: str
    number: int


class NoteSync:
    """The synchronised notes of one workspace; call everything except `alone` and `hash_of` inside `alone`."""

    def __init__(self, setup: MindSetup) -> None:
        self.files = NoteFiles(setup.notes)
        self._op = self._usual = setup.op
        self._soul = setup.soul
        self._owner = setup.owner
        self._former = setup.former_notes
        self._thread = RLock()
        self._is_ready = False
        self._stamps: dict[str, FileStamp | None] = {}
        self._hashes: dict[str, str] = {}

    @contextmanager
    def alone(self, op: Operation | None = None) -> Iterator[None]:
        """Lock the directory for a block, and prepare it on first use; `op` replaces the operation for the block."""
        chosen = op or self._usual
        chosen.must_write()
        if not self._thread.acquire(timeout=-1 if chosen.patience is None else chosen.patience):
            raise StoreBusy("another thread is writing notes", hint="try again in a moment")
        try:
            self._op = chosen
            with self._locked():
                yield
        finally:
            self._op = self._usual
            self._thread.release()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the directory against other processes, and prepare it on first use."""
        if self._owner is not None:
            check_original(self._owner)
        self._adopt()
        if not self.files.is_there:
            # A missing directory does not mean that every note was deleted: they are written again from the store.
            with self._op.write("reset_notes") as writing:
                writing.unit.send("notes.note_reset")
            self._stamps.clear()
            self._is_ready = False
        self.files.prepare()
        if self._owner is not None:
            claim(self.files.root, self._owner, "notes")
        # The file lock excludes other processes, but not other threads of this one; the thread lock does that.
        with self.files.locked(self._op.patience):
            if not self._is_ready:
                self._begin()
                self._is_ready = True
            yield

    def _adopt(self) -> None:
        """Move the directory that earlier versions named after the workspace, in one step, if it is this one's."""
        former = self._former
        # Notes that the store does not know are another's: of a removed workspace of that name, or of another store.
        if former is None or self.files.is_there or not former.is_dir() or not self.hashes():
            return
        make_private(self.files.root.parent)
        # Another process may have moved it just now. A directory on another disk stays; the notes are written anew.
        with suppress(OSError):
            former.rename(self.files.root)

    def _begin(self) -> None:
        self.files.tidy()
        with self._op.read() as unit:
            forgotten = [(row["id"], row["name"]) for row in unit.all("notes.note_forgotten")]
        self.remove_forgotten(forgotten)
        hashes = self.hashes()
        unfinished = [name for name, (_, coming) in hashes.items() if coming is not None]
        for name in (*(name for name in KNOWN if name not in hashes), *unfinished):
            # `sync` reports a note that cannot be read; it must not keep the others from being prepared.
            with suppress(Rejected):
                note = self.open(name)
                if note.version is None and (text := default_text(name)):
                    self._put(note, text, "agent")

    def names(self) -> list[str]:
        """List what can be read without writing: the files or, where there are none yet, what would be written."""
        if (lying := self._lying()) is not None:
            return sorted(lying.stamps()[0])
        with self._op.read() as unit:
            kept = [row["name"] for row in unit.all("notes.note_all") if _find_text(unit, row["name"])]
        return sorted({*kept, SOUL, *(name for name in KNOWN if default_text(name))})

    def peek(self, name: str) -> str:
        """Read a note as it is, without bringing anything into agreement; empty if there is none."""
        if (lying := self._lying()) is not None:
            found = lying.look(name)
            return found.body if found else ""
        if name == SOUL:
            return f"{self._soul.read().strip()}\n"
        with self._op.read() as unit:
            return _find_text(unit, name) or default_text(name)

    def _lying(self) -> NoteFiles | None:
        """Find the files where they are now, perhaps where earlier versions put them; None if there are none yet."""
        former = self._former
        if not self.files.is_there and former is not None and former.is_dir() and self.hashes():
            return NoteFiles(former)
        if self.files.is_there and self._owner is not None:
            claim(self.files.root, self._owner, "notes", may_write=False)
        return self.files if self.files.is_there else None

    def open(self, name: str) -> OpenNote:
        """Read a note after bringing its file, its row and the soul into agreement."""
        if name != SOUL:
            return self._open_file(name)
        with suppress(Conflict):
            return self._open_soul()
        # The soul was written at the same moment; try once more with its new text.
        return self._open_soul()

    def remove_forgotten(self, notes: Sequence[tuple[int, str]]) -> None:
        """Remove the files of notes that were forgotten, then what the store still knows of them."""
        for item, name in notes:
            self.files.put(name, "")
            self._hashes.pop(name, None)
            self._stamps.pop(name, None)
            with self._op.write("forget_note") as writing:
                for statement in ("notes.version_purge", "notes.note_drop", "kernel.item_drop"):
                    writing.unit.send(statement, ids=[item])

    def hashes(self) -> dict[str, tuple[str, str | None]]:
        """Read for every note the last known hash of its file, and the hash of a write in progress."""
        with self._op.read() as unit:
            return {row["name"]: (row["body_hash"], row["next_hash"]) for row in unit.all("notes.note_all")}

    def _open_file(self, name: str) -> OpenNote:
        found, record = self.files.look(name), self._record(name)
        file = digest(found.body) if found else ""
        if record is None:
            version = self._add(name, self._kept(found), "person", (file, None)) if found and file else None
        else:
            version, file = self._agree(record, found, file)
            if name == STATUS and found is not None and version.body == found.body and version != record.newest:
                return self._stamped(OpenNote(name, version.body, version, file), record.newest.body)
        self._trust(name, found, file)
        return OpenNote(name, version.body if version else "", version, file)

    def _stamped(self, edited: OpenNote, before: str) -> OpenNote:
        """Stamp the fields of the status that a person has changed by hand."""
        at = self._op.local().isoformat(timespec="seconds")
        # Written over a file that holds a secret, it would lose it: such a one is not brought here.
        return self._put(edited, restamp_edited(before, edited.body, at), "person")

    def _agree(self, record: _NoteRecord, found: FileText | None, file: str) -> tuple[NoteVersion, str]:
        """Bring the row of a note and its file into agreement; returns the newest version, and the file's hash."""
        newest = record.newest
        match choose_step(file, record.known, record.coming):
            case SyncStep.ADOPT:
                return self._add(newest.name, self._kept(found), "person", (file, None)), file
            case SyncStep.FINISH:
                self.files.put(newest.name, newest.body)
                file = digest(newest.body)
                self._mark(record.id, file)
            case SyncStep.CONFIRM:
                self._mark(record.id, file)
        return newest, file

    def _kept(self, found: FileText | None) -> str:
        """Return what is kept of a person's file: everything but secrets, which stay in the file alone."""
        return self._op.screen.kept(found.body, "the note") if found else ""

    def _open_soul(self) -> OpenNote:
        """Bring the soul and SOUL.md into agreement; if both changed, the newer wins, the other is in the history."""
        found, record = self.files.look(SOUL), self._record(SOUL)
        file = self._kept(found)
        there = digest(found.body) if found else ""
        coming = None if record is None else choose_step(there, record.known, record.coming)
        if coming in (SyncStep.FINISH, SyncStep.CONFIRM):
            # An interrupted write of ours is completed first, so that it is not taken for a person's edit.
            file = self._open_file(SOUL).body
        soul = self._soul.read()
        chosen, prose = choose_side(file, record.newest.body if record else "", soul), f"{soul.strip()}\n"
        if chosen is SoulSide.SOUL or (chosen is SoulSide.NEWER and not self._is_newer(found)):
            return self._put(self._open_file(SOUL), prose, "agent")
        if chosen is SoulSide.NEWER:
            # The losing text is stored as a version first, so that it can be restored.
            self._add(SOUL, prose, "agent", (digest(prose), None))
        if chosen is not SoulSide.AGREED:
            self._tell_soul(file)
        return self._open_file(SOUL)

    def _is_newer(self, found: FileText | None) -> bool:
        written = self._soul.written_at()
        return written is None or (found is not None and found.stamp.at > written)

    def _tell_soul(self, body: str) -> None:
        before = self._soul.read()
        if not is_same(before, body):
            with self._op.read() as unit:
                if gone := recognised(unit, [text_key(body)]):
                    raise _forgotten(SOUL, next(iter(gone.values())))
            self._soul.supersede(body.strip(), instead_of=before, reason=_EDITED)

    def change(
        self,
        name: str,
        author: Author,
        make: Callable[[OpenNote], str],
        also: Also = nothing_else,
        once: Once = UNKEYED,
    ) -> NoteVersion:
        """Replace a note with the result of `make`, which is given the current note; `also` writes with the version.

        Under the key of `once` it happens once: the answer is kept with the version, after which the file is written
        by whoever opens the note next.
        """
        if (known := once.answered(self._op, _WrittenVersion)) is not None:
            self.open(known.name)
            return self._version_at(known)
        is_kept = False

        def kept(writing: Transaction, number: int) -> None:
            nonlocal is_kept
            is_kept = True
            also(writing, number)
            once.keep(writing.unit, _WrittenVersion(name, number), writing.at)

        version = self._changed(name, author, make, kept, once)
        if not is_kept:
            # The note said that already: nothing was written, and repeating it later must not write it either.
            once.settle(self._op, _WrittenVersion(name, version.number))
        return version

    def _version_at(self, place: _WrittenVersion) -> NoteVersion:
        with self._op.read() as unit:
            row = unit.one("notes.version_get", name=place.name, number=place.number)
        if row is None:
            raise Conflict(f"version {place.number} of {place.name} was forgotten", hint="use a new idempotency key")
        return version_from(place.name, row)

    def _changed(
        self, name: str, author: Author, make: Callable[[OpenNote], str], also: Also, once: Once
    ) -> NoteVersion:
        # The person may save the file between our read and our write; then their text is adopted, and we start again.
        for _ in range(_TRIES):
            note = self.open(name)
            body = make(note)
            # Before the version is committed: afterwards it would have to be written, today or by the next process.
            self.files.check_room(name)
            if note.version is not None and body == note.body:
                return note.version
            check_space(self.files.root, len(body.encode()))
            if name == SOUL:
                if note.version is not None and once.was_begun(self._op) == digest(note.body):
                    return note.version
                # The soul is written first. If the process dies after this, the file is older than the soul, and the
                # next synchronisation updates it. The other way round, the old soul would overwrite the new text.
                once.begin(self._op, digest(body))
                self._tell_soul(body)
            if (put := self._put(note, body, author, also)).version is not None and put.body == body:
                return put.version
        raise Conflict(f"{name} is being edited right now", hint="try again")

    def _put(self, note: OpenNote, body: str, author: Author, also: Also = nothing_else) -> OpenNote:
        """Commit a version, then replace the file, unless the person saved it in between: then their text is adopted.

        The version is first: if the process dies after the commit, the next one finds the hash of the write in progress
        and completes it. The other way round, the file would look like a person's edit.
        """
        known = note.state
        if note.version is not None and body == note.body:
            return note
        if author == "agent" and note.body and known != digest(note.body):
            # Writing the note would write the marks over the secrets, and the person may have them nowhere else.
            hint = "write another note, or ask the person to move the secret out of this one"
            raise Rejected(f"{note.name} holds a secret of the person's, which you do not see", hint=hint)
        version = self._add(note.name, body, author, (known, digest(body)), also)
        found, record = self.files.look(note.name), self._record(note.name)
        if record is None or (digest(found.body) if found else "") != known:
            return self.open(note.name)
        # A save by the person between the read above and this write would be overwritten. No lock can prevent that,
        # because editors take none.
        self.files.put(note.name, body)
        self._mark(record.id, digest(body))
        self._trust(note.name, self.files.look(note.name), digest(body))
        return OpenNote(note.name, body, version, digest(body))

    def _record(self, name: str) -> _NoteRecord | None:
        with self._op.read() as unit:
            return _find_record(unit, name)

    def _add(
        self, name: str, body: str, author: Author, hashes: tuple[str, str | None], also: Also = nothing_else
    ) -> NoteVersion:
        """Store a version, with the hashes of the current file and of the text that is about to be written to it."""
        # A default text is nobody's memory, and the soul belongs to another faculty.
        is_worth_finding = bool(body.strip()) and body != default_text(name) and name != SOUL
        prepared = self._op.index.prepare([self._document_of(name, body, author)]) if is_worth_finding else None
        with self._op.write("write_note") as writing:
            unit, at = writing.unit, to_micros(writing.at)
            if body.strip() and (gone := recognised(unit, [text_key(body)])):
                raise _forgotten(name, next(iter(gone.values())))
            found = _find_record(unit, name)
            if found is None:
                (note,) = register(unit, "note", writing.at)
                unit.send("notes.note_add", id=note, name=name, at=at)
            else:
                note = found.id
            number = 1 if found is None else found.newest.number + 1
            unit.send("notes.version_add", id=note, number=number, body=body, author=author, at=at)
            unit.send("notes.note_mark", id=note, known=hashes[0], coming=hashes[1], at=at)
            self._publish(writing, note, prepared)
            writing.event(id=note, name=name, version=number, author=author)
            also(writing, number)
        return NoteVersion(name, number, body, author, writing.at)

    def _document_of(self, name: str, body: str, author: Author) -> Document:
        """Build the search document of a note: its beginning if it is very long; a daily note is dated by its day."""
        day = day_of(name)
        happened = self._op.now if day is None else noon_of(day, self._op.zone)
        known = self._op.origin
        origin = str(known) if known.kind.rank > AGENT.kind.rank else author
        return Document(kind="note", title=name, text=body[:LONGEST_TEXT], happened_at=happened, origin=origin)

    def _publish(self, writing: Transaction, note: int, prepared: Prepared | None) -> None:
        """Update the search document of a note; None removes it."""
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
            writing.unit.send("notes.note_mark", id=note, known=known, coming=None, at=to_micros(writing.at))

    def _trust(self, name: str, found: FileText | None, state: str) -> None:
        """Remember a file's stamp, unless it is so recent that a second change might not alter it."""
        self._hashes[name] = state
        self._stamps.pop(name, None)
        if found is None or time.time_ns() - found.stamp.mtime_ns > _FRESH_NS:
            self._stamps[name] = None if found is None else found.stamp

    def is_as_before(self, name: str, stamp: FileStamp | None, known: str, coming: str | None) -> bool:
        """Check whether a note is certainly unchanged since it was last opened."""
        is_known = coming is None and self._hashes.get(name) == known
        return is_known and name in self._stamps and self._stamps[name] == stamp

    def read_names(self) -> list[str]:
        """List the notes that were read so far, also those that are gone."""
        return list(self._hashes)

    def hash_of(self, name: str) -> str:
        """Return the hash of a note's text when it was last read."""
        return self._hashes.get(name, "")


def _forgotten(name: str, tombstone: Tombstone) -> Rejected:
    return Rejected(
        f"{name} has a text that was forgotten on {tombstone.at:%Y-%m-%d}",
        hint=f"delete the file, or allow the text with `everloom forget --lift {tombstone.id}`",
    )


def version_from(name: str, row: Row) -> NoteVersion:
    """Convert a row to a version."""
    return NoteVersion(name, row["number"], row["body"], row["author"], from_micros(row["at"]))


def _find_record(unit: Unit, name: str) -> _NoteRecord | None:
    row = unit.one("notes.note_by_name", name=name)
    return None if row is None else _NoteRecord(row["id"], row["body_hash"], row["next_hash"], version_from(name, row))


def _find_text(unit: Unit, name: str) -> str:
    record = _find_record(unit, name)
    return "" if record is None else record.newest.body
