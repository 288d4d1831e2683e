"""The desk: where a note's file, its versions and the soul are brought together, and where a note is changed.

A version is committed before the file is replaced, and what the person wrote meanwhile becomes a version first, so no
edit is lost wherever a process dies. What may be written is decided by whoever asks for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import RLock

from everloom.clock import to_micros
from everloom.errors import Conflict, Rejected
from everloom.mind.ground import Ground
from everloom.mind.notes.agreement import Side, Step, same, side, step
from everloom.mind.notes.defaults import default_text
from everloom.mind.notes.files import Found, Shelf, Stamp, digest
from everloom.mind.notes.names import KNOWN, SOUL
from everloom.mind.notes.versions import Author, Draft, Kept, Mark, Version, add, document_of, kept

TRIES = 5
# A file written so short a time ago may change again without a new stamp.
UNSETTLED_NS = 100_000_000
EDITED = "edited in SOUL.md"


@dataclass(frozen=True, slots=True)
class Held:
    """A note as file and table agree on it; `version` is None before there ever was one."""

    name: str
    body: str
    version: Version | None

    @property
    def number(self) -> int:
        """Say which version it is; 0 before there ever was one."""
        return 0 if self.version is None else self.version.number


class Desk:
    """The notes of one workspace as they lie open; everything but `alone` and `hash_of` is done inside `alone`."""

    def __init__(self, ground: Ground) -> None:
        self.shelf = Shelf(ground.notes)
        self._ground = ground
        self._thread = RLock()
        self._is_ready = False
        self._stamps: dict[str, Stamp | None] = {}
        self._hashes: dict[str, str] = {}

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the directory for a block, made ready on first use."""
        with self._thread:
            if not self.shelf.is_there:
                # A directory that is gone is no deletion of everything: what the table has is written again.
                with self._ground.store.write(self._ground.workspace.id) as unit:
                    unit.run("notes.note_reset")
                self._stamps.clear()
                self._is_ready = False
            self.shelf.prepare()
            with self.shelf.locked():
                if not self._is_ready:
                    self._begin()
                    self._is_ready = True
                yield

    def _begin(self) -> None:
        self.shelf.tidy()
        with self._ground.store.read(self._ground.workspace.id) as unit:
            coming = {row["name"]: row["next_hash"] for row in unit.all("notes.note_all")}
        unfinished = [name for name, hashed in coming.items() if hashed is not None]
        for name in (*(name for name in KNOWN if name not in coming), *unfinished):
            # One that cannot be read is told by `sync`; the others are none the worse for it.
            with suppress(Rejected):
                held = self.held(name)
                if held.version is None and (text := default_text(name)):
                    self._put(held, text, "agent")

    def held(self, name: str) -> Held:
        """Take a note as it is now, after bringing together what file, table and soul say of it."""
        if name != SOUL:
            return self._held_file(name)
        with suppress(Conflict):
            return self._held_soul()
        # Somebody wrote the soul at the same moment: look again.
        return self._held_soul()

    def _held_file(self, name: str) -> Held:
        found, row = self.shelf.look(name), self._kept(name)
        file = digest(found.body) if found else ""
        if row is None:
            version = self._add(name, found.body, "person", Mark(file)) if found and file else None
        else:
            version = self._agree(row, found, file)
        body = version.body if version else ""
        self._remember(name, found, body)
        return Held(name, body, version)

    def _agree(self, row: Kept, found: Found | None, file: str) -> Version:
        match step(file, row.known, row.coming):
            case Step.ADOPT:
                return self._add(row.newest.name, found.body if found else "", "person", Mark(file))
            case Step.FINISH:
                self.shelf.put(row.newest.name, row.newest.body)
                self._mark(row.id, digest(row.newest.body))
            case Step.SETTLE:
                self._mark(row.id, file)
        return row.newest

    def _held_soul(self) -> Held:
        """Bring the soul and its note together; where both changed, the newer wins and the other is in the history."""
        found, row = self.shelf.look(SOUL), self._kept(SOUL)
        file = found.body if found else ""
        if row is not None and row.coming is not None and step(digest(file), row.known, row.coming) is not Step.ADOPT:
            file = self._held_file(SOUL).body
        soul = self._ground.soul.read()
        chosen, prose = side(file, row.newest.body if row else "", soul), f"{soul.strip()}\n"
        if chosen is Side.SOUL or (chosen is Side.NEWER and not self._is_newer(found)):
            return self._put(self._held_file(SOUL), prose, "agent")
        if chosen is Side.NEWER:
            self._add(SOUL, prose, "agent", Mark(digest(prose)))
        if chosen is not Side.AGREED:
            self._tell_soul(file)
        return self._held_file(SOUL)

    def _is_newer(self, found: Found | None) -> bool:
        written = self._ground.soul.written_at()
        return written is None or (found is not None and found.stamp.at > written)

    def _tell_soul(self, body: str) -> None:
        before = self._ground.soul.read()
        if not same(before, body):
            self._ground.soul.supersede(body.strip(), instead_of=before, reason=EDITED)

    def change(self, name: str, author: Author, make: Callable[[Held], str]) -> Version:
        """Write what `make` makes of a note as it is now; the soul hears it first, so that it is never behind."""
        for _ in range(TRIES):
            held = self.held(name)
            body = make(held)
            if held.version is not None and body == held.body:
                return held.version
            if name == SOUL:
                self._tell_soul(body)
            if (written := self._put(held, body, author)).version is not None and written.body == body:
                return written.version
        raise Conflict(f"{name} is being edited at this moment", hint="try again")

    def _put(self, held: Held, body: str, author: Author) -> Held:
        """Commit a version, then replace the file, unless the person was there in between: then theirs is adopted."""
        known = digest(held.body)
        if held.version is not None and body == held.body:
            return held
        version = self._add(held.name, body, author, Mark(known, digest(body)))
        found, row = self.shelf.look(held.name), self._kept(held.name)
        if row is None or (digest(found.body) if found else "") != known:
            return self.held(held.name)
        self.shelf.put(held.name, body)
        self._mark(row.id, digest(body))
        self._remember(held.name, self.shelf.look(held.name), body)
        return Held(held.name, body, version)

    def _kept(self, name: str) -> Kept | None:
        with self._ground.store.read(self._ground.workspace.id) as unit:
            return kept(unit, name)

    def _add(self, name: str, body: str, author: Author, mark: Mark) -> Version:
        ground, now = self._ground, self._ground.clock.now()
        # A text that came with the program is nobody's memory, and the soul is found as itself.
        is_worth_finding = bool(body.strip()) and body != default_text(name) and name != SOUL
        documents = [document_of(name, body, now, ground.zone)] if is_worth_finding else []
        prepared = ground.index.prepare(documents) if documents else None
        with ground.store.write(ground.workspace.id) as unit:
            return add(unit, ground.index, Draft(name, body, author, now, prepared), mark)

    def _mark(self, note: int, known: str) -> None:
        at = to_micros(self._ground.clock.now())
        with self._ground.store.write(self._ground.workspace.id) as unit:
            unit.run("notes.note_mark", id=note, known=known, coming=None, at=at)

    def _remember(self, name: str, found: Found | None, body: str) -> None:
        """Trust a file's stamp from now on, unless it is so fresh that a second change could hide behind it."""
        self._hashes[name] = digest(body)
        self._stamps.pop(name, None)
        if found is None or time.time_ns() - found.stamp.mtime_ns > UNSETTLED_NS:
            self._stamps[name] = None if found is None else found.stamp

    def is_same(self, name: str, stamp: Stamp | None, known: str, coming: str | None) -> bool:
        """Say whether a note is certainly as it was when it was last held."""
        is_known = coming is None and self._hashes.get(name) == known
        return is_known and name in self._stamps and self._stamps[name] == stamp

    def hash_of(self, name: str) -> str:
        """Tell what a note held when it was last looked at."""
        return self._hashes.get(name, "")
