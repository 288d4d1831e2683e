"""Reads and writes notes, and decides what may be written.

`sync.py` does the writing under the directory's lock. Do not call this inside a unit of work: whoever holds the lock
may be waiting for the store.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn, Protocol, TypeVar

from everloom.errors import Conflict, NotFound, Rejected, StoreError
from everloom.kernel.calls.bounds import LARGEST_NUMBER
from everloom.kernel.once import UNKEYED, Once
from everloom.kernel.texts import storable
from everloom.mind.notes.files import (
    KNOWN,
    LARGEST,
    SOUL,
    STATUS,
    daily_heading,
    daily_name,
    default_text,
    note_name,
)
from everloom.mind.notes.status import VERSION, check_updates, parse_status, patch_status
from everloom.mind.notes.sync import Also, Author, NoteSync, NoteVersion, OpenNote, nothing_else, version_from
from everloom.mind.ports import MindSetup
from everloom.models.text import unmarked
from everloom.store import Unit, value_from

_MOST_VERSIONS = 100
_FILE = "file"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class VersionMark:
    """Who wrote a version of a note and when, and how long it is; a version of no characters removed the note."""

    number: int
    author: Author
    at: datetime
    characters: int


class NoteHold(Protocol):
    """Holds back what the agent would write into some notes, until the person has approved it."""

    def covers(self, name: str) -> bool:
        """Say whether a note changes only with approval."""
        ...

    def ask(self, note: OpenNote, body: str) -> NoReturn:
        """Ask the person whether a note may have this text, and raise."""
        ...


class Notes:
    """The notes of one workspace. Use it from any thread, not inside a unit of work."""

    def __init__(self, setup: MindSetup, hold: NoteHold | None = None) -> None:
        self._op = setup.op
        self._sync = NoteSync(setup)
        self._hold = hold
        # The files that the last `sync` could not read, with the reason.
        self.problems: tuple[str, ...] = ()

    def _in_agreement(self, read: Callable[[], T], otherwise: Callable[[], T]) -> T:
        """Read after bringing files and versions into agreement; where nothing may or can be written, as they are."""
        if not self._op.is_read_only:
            with suppress(StoreError), self._sync.alone(self._op.in_passing()):
                return read()
        return otherwise()

    def names(self) -> list[str]:
        """List the names of all notes."""
        return self._in_agreement(lambda: sorted(self._sync.files.stamps()[0]), self._sync.names)

    def read(self, name: str) -> str | None:
        """Read a note; None if there is none."""
        return self.look(name)[0] or None

    def look(self, name: str, is_seen: Callable[[str], bool] = lambda _: True) -> tuple[str, int | None]:
        """Read a note with the number of its version, which is not known where nothing can be written.

        Whoever has seen a note may replace its text; `is_seen` says whether the caller sees all of it.
        """
        wanted = self._named(name)

        def opened() -> tuple[str, int | None]:
            note = self._sync.open(wanted)
            if is_seen(note.body):
                self._saw(wanted, note.state)
            return note.body, note.number

        return self._in_agreement(opened, lambda: (self._sync.peek(wanted), None))

    def size(self, name: str) -> int:
        """Return the number of bytes of a note."""
        return len(self._peek(self._named(name)).encode())

    def _peek(self, name: str) -> str:
        """Read a note without counting as somebody who has seen it."""
        return self._in_agreement(lambda: self._sync.open(name).body, lambda: self._sync.peek(name))

    def show(self, name: str) -> str | None:
        """Read a note for the prompt; if it cannot be read, return the reason in its place."""
        try:
            return self._peek(self._named(name)) or None
        except Rejected as error:
            return f"[cannot be read: {error.message}]"

    def as_shown(self, text: str) -> str:
        """Take our marks off a text in which the agent repeats lines of a note as they were quoted to it.

        Only if every line carries a mark, and one of them is a line of a note without it: a quotation that a person or
        the agent wrote stays as it is.
        """
        bare = unmarked(text)
        if bare is None:
            return text
        lines = {line for line in bare.splitlines() if line.strip()}
        for name in self.names():
            with suppress(Rejected):
                body = set(self._peek(name).splitlines())
                if any(line in body and f"> {line}" not in body for line in lines):
                    return bare
        return text

    def version(self, name: str) -> NoteVersion | None:
        """Read a note with its version number, which `write` takes as `expected`; None if there is none."""
        with self._sync.alone():
            note = self._sync.open(self._named(name))
        self._saw(note.name, note.state)
        return note.version if note.body else None

    def write(
        self,
        name: str,
        body: str,
        *,
        author: Author = "agent",
        replace: bool = False,
        expected: int | None = None,
        also: Also = nothing_else,
        once: Once = UNKEYED,
    ) -> NoteVersion:
        """Replace the text of a note; `also` writes in the transaction that stores the version.

        An empty body is refused, and so is a text less than half as long as the note unless `replace` is true.
        `expected` is the number of the version that the caller read; without it, the caller must have seen the note as
        it is now.
        """

        def checked(note: OpenNote) -> str:
            self._check_version(note, expected)
            text = _whole(note.name, body)
            if not replace and note.body != default_text(note.name):
                _refuse_cut(note, text)
            return text

        return self._changed(name, author, checked, also, once)

    def create(self, name: str, body: str, *, author: Author = "agent", once: Once = UNKEYED) -> NoteVersion:
        """Write a note that does not exist yet; Conflict if it does."""

        def fresh(note: OpenNote) -> str:
            if note.body:
                raise Conflict(f"there is already a note {note.name}", hint="change it, or choose another name")
            return _whole(note.name, body)

        return self._changed(name, author, fresh, once=once)

    def append(
        self, name: str, text: str, *, author: Author = "agent", heading: str = "", once: Once = UNKEYED
    ) -> NoteVersion:
        """Add to the end of a note; if there is none, create it with the heading."""

        def joined(note: OpenNote) -> str:
            return _whole(note.name, _join(note, text, heading))

        return self._changed(name, author, joined, once=once)

    def append_today(self, text: str, *, author: Author = "agent", once: Once = UNKEYED) -> NoteVersion:
        """Add to the note of the day it is for the workspace."""
        day = self._op.today
        return self.append(daily_name(day), text, author=author, heading=daily_heading(day), once=once)

    def put(self, name: str, body: str, *, expected: int, once: Once = UNKEYED) -> NoteVersion:
        """Write what the agent proposed and the person approved, if the note is still at that version.

        An empty body removes it.
        """

        def checked(note: OpenNote) -> str:
            if note.number != expected:
                message = f"{note.name} is at version {note.number}; the change was made for version {expected}"
                raise Conflict(message, hint="nothing was written; propose it again", current=note.version)
            return body

        return self._changed(name, "agent", checked, once=once)

    def edit(self, name: str, change: Callable[[str], str], *, once: Once = UNKEYED) -> NoteVersion:
        """Apply a function to the body of an existing note; it is called again if the person saved in between."""

        def edited(note: OpenNote) -> str:
            if not note.body:
                raise NotFound(f"there is no note {note.name}", hint="write it first")
            return _whole(note.name, change(note.body))

        return self._changed(name, "agent", edited, once=once)

    def remove(self, name: str) -> NoteVersion:
        """Remove a note's file; its versions stay, and `restore` brings it back. Standard notes cannot be removed."""
        with self._sync.alone():
            wanted = self._named(name)
            if wanted in KNOWN:
                raise Rejected(
                    f"{wanted} is a standard note and cannot be deleted", hint="write what is true now instead"
                )
            if not self._sync.open(wanted).body:
                raise NotFound(f"there is no note {wanted}", hint="names() lists the notes")
            return self._change(wanted, "agent", lambda _: "")

    def rename(self, name: str, to: str, *, is_resumed: bool = False) -> NoteVersion:
        """Rename a note; its history stays under the old name. One that was interrupted is completed."""
        with self._sync.alone():
            old, new = self._named(name), self._named(to)
            body = self._sync.open(old).body
            if not body:
                raise NotFound(f"there is no note {old}", hint="names() lists the notes")
            if old in KNOWN:
                raise Rejected(
                    f"{old} is a standard note and cannot be renamed", hint="copy what you need to a new note"
                )
            there = self._sync.open(new).body
            if there and not (is_resumed and there == body):
                raise Conflict(f"there is already a note {new}", hint="choose another name")
            if self._hold is not None and (self._hold.covers(old) or self._hold.covers(new)):
                # Both or neither, and two changes cannot be approved as one.
                hint = "write the new note and delete the old one; the person approves each"
                raise Rejected(f"{old} cannot be renamed to {new} without approval", hint=hint)
            # The new note is written first: a crash in between leaves the text twice, not nowhere.
            moved = self._change(new, "agent", lambda note: _whole(note.name, body))
            self._change(old, "agent", lambda _: "")
            return moved

    def history(self, name: str, limit: int = _MOST_VERSIONS, before: int | None = None) -> list[NoteVersion]:
        """List the versions of a note, newest first, even if it was removed; with `before`, those before a version."""
        wanted = self._named(name)
        self._in_agreement(lambda: self._sync.open(wanted).body, str)
        with self._op.read() as unit:
            start = LARGEST_NUMBER if before is None else before
            rows = unit.all("notes.version_of", name=wanted, before=start, limit=limit)
        return [version_from(wanted, row) for row in rows]

    def versions(self, name: str, limit: int = 20, before: int | None = None) -> list[VersionMark]:
        """List who wrote versions of a note and when, newest first, without their texts; nothing is written."""
        start = LARGEST_NUMBER if before is None else before
        wanted = self._named(name)
        with self._op.read() as unit:
            rows = unit.all("notes.version_marks", name=wanted, before=start, limit=max(1, limit))
        return [value_from(VersionMark, row) for row in rows]

    def version_at(self, name: str, number: int) -> NoteVersion:
        """Read one version of a note, also of one that was removed; nothing is written."""
        wanted = self._named(name)
        with self._op.read() as unit:
            row = unit.one("notes.version_get", name=wanted, number=number)
        if row is None:
            raise NotFound(f"{wanted} has no version {number}", hint="history lists the versions")
        return version_from(wanted, row)

    def restore(self, name: str, number: int, *, expected: int | None = None, once: Once = UNKEYED) -> NoteVersion:
        """Make an earlier version the newest one; Conflict if the note is no longer at the version `expected`."""
        with self._sync.alone():
            earlier = self.version_at(name, number)
            if not earlier.body:
                raise NotFound(f"{earlier.name} has no version {number} to restore", hint="history lists the versions")

            def restored(note: OpenNote) -> str:
                if expected is not None:
                    self._check_version(note, expected)
                return _whole(note.name, earlier.body)

            return self._sync.change(earlier.name, "person", restored, once=once)

    def status(self) -> dict[str, Any]:
        """Read status.json with its version; Conflict if it is not a JSON object, and it is not changed."""
        body, version = self.look(STATUS)
        known = {} if version is None or not body else {VERSION: version}
        return {**parse_status(body), **known}

    def update_status(
        self, updates: object, *, expected: int | None = None, author: Author = "agent", once: Once = UNKEYED
    ) -> dict[str, Any]:
        """Merge an object into status.json, and stamp the changed fields; returns the whole status and its version.

        Fields that are not given stay, so two callers who change different fields need no version.
        """
        fields = check_updates(updates)
        at = self._op.local().isoformat(timespec="seconds")

        def patched(note: OpenNote) -> str:
            if expected is not None:
                self._check_version(note, expected)
            return patch_status(note.body, fields, at)

        with self._sync.alone():
            version = self._change(STATUS, author, patched, once=once)
        return {**parse_status(version.body), VERSION: version.number}

    def sync(self) -> list[str]:
        """Adopt changes of the files and of the soul; returns the names of the notes that changed."""
        with self._sync.alone():
            stamps, problems = self._sync.files.stamps()
            rows = self._sync.hashes()
            changed = []
            # Also those that this process has read and that were forgotten since, with file and row.
            for name in sorted({*stamps, *rows, *self._sync.read_names(), SOUL}):
                known, coming = rows.get(name, ("", None))
                # The soul may change without its file, so SOUL.md is always opened.
                if name != SOUL and self._sync.is_as_before(name, stamps.get(name), known, coming):
                    continue
                try:
                    note = self._sync.open(name)
                except Rejected as error:
                    problems.append(str(error))
                    continue
                if note.state != (known if coming is None else coming):
                    changed.append(name)
            self.problems = tuple(dict.fromkeys(problems))
            return changed

    def signature(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return a value that changes whenever one of these notes does, as of the last `sync`."""
        return tuple(f"{name} {self._sync.hash_of(name)}" for name in names)

    def signature_in(self, unit: Unit, names: Sequence[str]) -> tuple[str, ...]:
        """Return the same value as the store has it; none that `signature` returns while a note is on its way."""
        rows = {row["name"]: row for row in unit.all("notes.note_all")}
        if any(rows[name]["next_hash"] is not None for name in names if name in rows):
            return ()
        return tuple(f"{name} {rows[name]['body_hash'] if name in rows else ''}" for name in names)

    def mark_seen(self, names: Sequence[str]) -> None:
        """Record that the caller has these notes before it as they were at the last `sync`, in the prompt."""
        for name in names:
            self._saw(name, self._sync.hash_of(name))

    def _saw(self, name: str, state: str) -> None:
        self._op.saw("note", name, {_FILE: state})

    def _has_seen(self, note: OpenNote) -> bool:
        return (self._op.seen_of("note", note.name) or {}).get(_FILE) == note.state

    def _check_version(self, note: OpenNote, expected: int | None) -> None:
        """Refuse to replace a text that the caller has not seen as it is now."""
        if expected is not None and note.number != expected:
            message = f"{note.name} is at version {note.number}, not {expected}"
            raise Conflict(message, hint="read it again before you write", current=note.version)
        if expected is None and not _is_replaceable(note) and not self._has_seen(note):
            message = f"{note.name} is at version {note.number}, which you have not read"
            hint = f"read it and write again, pass expected_version {note.number}, or append"
            raise Conflict(message, hint=hint, current=note.version)

    def _changed(
        self,
        name: str,
        author: Author,
        make: Callable[[OpenNote], str],
        also: Also = nothing_else,
        once: Once = UNKEYED,
    ) -> NoteVersion:
        """Change a note; a caller that had seen the whole of it has seen the new text as well."""
        has_seen = True

        def watched(note: OpenNote) -> str:
            nonlocal has_seen
            has_seen = _is_replaceable(note) or self._has_seen(note)
            return make(note)

        with self._sync.alone():
            wanted = self._named(name)
            version = self._change(wanted, author, watched, also, once)
            if has_seen:
                self._saw(wanted, self._sync.hash_of(wanted))
        return version

    def _change(
        self,
        name: str,
        author: Author,
        make: Callable[[OpenNote], str],
        also: Also = nothing_else,
        once: Once = UNKEYED,
    ) -> NoteVersion:
        def held(note: OpenNote) -> str:
            body = make(note)
            if author == "agent" and body != note.body and self._hold is not None and self._hold.covers(note.name):
                self._hold.ask(note, body)
            return body

        return self._sync.change(name, author, held, also, once)

    def _named(self, name: str) -> str:
        return self._sync.files.own_name(note_name(name, self._sync.hashes()))


def _is_replaceable(note: OpenNote) -> bool:
    """Check whether nobody's words are in a note: it is new, empty, or as it was made."""
    is_made = note.name == SOUL and note.number == 1 and note.version is not None and note.version.author == "agent"
    return not note.body.strip() or note.body == default_text(note.name) or is_made


def _whole(name: str, body: object) -> str:
    """Check a note's body: not empty, not too large, and valid JSON for the status."""
    if not isinstance(body, str) or not body.strip():
        raise Rejected(f"{name} cannot be overwritten with an empty text", hint="give the whole text of the note")
    storable(body, name)
    if len(body.encode()) > LARGEST:
        raise Rejected(f"{name} would be larger than {LARGEST:,} bytes", hint="split it into several notes")
    if name == STATUS:
        parse_status(body)
    return body if body.endswith("\n") else f"{body}\n"


def _refuse_cut(note: OpenNote, body: str) -> None:
    """Refuse a text less than half as long as the note, which is probably a mistake."""
    before, after = len(note.body), len(body)
    if after * 2 < before:
        message = f"this would shorten {note.name} from {before:,} to {after:,} characters"
        raise Rejected(message, hint="append instead, or give the whole text; replace: true allows the cut")


def _join(note: OpenNote, text: object, heading: str) -> str:
    """Add a text to the end of a note, on a new line."""
    if note.name == STATUS:
        raise Rejected(f"{STATUS} is an object, not a list of lines", hint="change it with update_status")
    if not isinstance(text, str) or not text.strip():
        raise Rejected("there is nothing to add", hint="give a text that is not empty")
    before = note.body or heading
    gap = "" if not before or before.endswith("\n") else "\n"
    return f"{before}{gap}{text.rstrip()}\n"
