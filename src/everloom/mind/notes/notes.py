"""The notes: files that the person and the agent share, with every version kept.

Decides what may be written; `desk.py` writes it, and holds the directory's lock meanwhile: never call it inside a unit
of work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from everloom.errors import Conflict, NotFound, Rejected
from everloom.kernel.texts import storable
from everloom.mind.ground import Ground
from everloom.mind.notes import status
from everloom.mind.notes.daily import daily_name, heading
from everloom.mind.notes.defaults import default_text
from everloom.mind.notes.files import LARGEST, digest
from everloom.mind.notes.names import KNOWN, SOUL, STATUS, note_name
from everloom.mind.notes.sync import Desk, Held
from everloom.mind.notes.versions import Author, Version, version_from

MOST_VERSIONS = 100


class Notes:
    """The notes of one workspace. Use it from any thread, not inside a unit of work."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._desk = Desk(ground)
        # What lies in the directory but cannot be read, as the last `sync` found it.
        self.problems: tuple[str, ...] = ()

    def names(self) -> list[str]:
        """List the notes that there are."""
        with self._desk.alone():
            return sorted(self._desk.shelf.stamps()[0])

    def read(self, name: str) -> str | None:
        """Read a note; None when there is none."""
        with self._desk.alone():
            return self._desk.held(self._named(name)).body or None

    def version(self, name: str) -> Version | None:
        """Read a note with the number to give as `expected`; None when there is none."""
        with self._desk.alone():
            held = self._desk.held(self._named(name))
            return held.version if held.body else None

    def write(
        self, name: str, body: str, *, author: Author = "agent", replace: bool = False, expected: int | None = None
    ) -> Version:
        """Write a note anew.

        An empty body is refused, and so is a cut of more than half unless told `replace`; `expected` is the number of
        the version that the caller read.
        """

        def checked(held: Held) -> str:
            if expected is not None and held.number != expected:
                message = f"{held.name} is at version {held.number}, not {expected}"
                raise Conflict(message, hint="read it again, then write", current=held.version)
            text = whole(held.name, body)
            if not replace and held.body != default_text(held.name):
                refuse_cut(held, text)
            return text

        with self._desk.alone():
            return self._desk.change(self._named(name), author, checked)

    def append(self, name: str, text: str, *, author: Author = "agent") -> Version:
        """Add to the end of a note, making it on first use."""
        with self._desk.alone():
            return self._desk.change(self._named(name), author, lambda held: whole(held.name, joined(held, text)))

    def append_today(self, text: str, *, author: Author = "agent") -> Version:
        """Add to the note of the day it is for the workspace."""
        day = self._ground.today()
        if not text.strip():
            raise Rejected("there is nothing to add", hint="give it some words")

        def dated(held: Held) -> str:
            begun = held if held.body else Held(held.name, heading(day), held.version)
            return whole(held.name, joined(begun, text))

        with self._desk.alone():
            return self._desk.change(daily_name(day), author, dated)

    def edit(self, name: str, change: Callable[[str], str], *, author: Author = "agent") -> Version:
        """Change a note that is there by a function of its body; called again if the person was quicker."""

        def edited(held: Held) -> str:
            if not held.body:
                raise NotFound(f"there is no note {held.name}", hint="write it first")
            return whole(held.name, change(held.body))

        with self._desk.alone():
            return self._desk.change(self._named(name), author, edited)

    def remove(self, name: str, *, author: Author = "agent") -> Version:
        """Take a note's file away; its versions stay, and `restore` brings it back. Those every mind has stay."""
        with self._desk.alone():
            wanted = self._named(name)
            if wanted in KNOWN:
                raise Rejected(f"{wanted} is a note that every mind has", hint="write what holds now instead")
            if not self._desk.held(wanted).body:
                raise NotFound(f"there is no note {wanted}", hint="names() lists what there is")
            return self._desk.change(wanted, author, lambda _: "")

    def rename(self, name: str, to: str, *, author: Author = "agent") -> Version:
        """Give a note another name; what it was stays in the history of the old one."""
        with self._desk.alone():
            old, new = self._named(name), self._named(to)
            body = self._desk.held(old).body
            if not body:
                raise NotFound(f"there is no note {old}", hint="names() lists what there is")
            if old in KNOWN:
                raise Rejected(f"{old} is a note that every mind has", hint="copy what you want to a new note")
            if self._desk.held(new).body:
                raise Conflict(f"there is a note {new} already", hint="choose another name")
            moved = self._desk.change(new, author, lambda held: whole(held.name, body))
            self._desk.change(old, author, lambda _: "")
            return moved

    def history(self, name: str, limit: int = MOST_VERSIONS) -> list[Version]:
        """List a note's versions, newest first; also of one that was removed."""
        with self._desk.alone():
            wanted = self._named(name)
            self._desk.held(wanted)
        with self._ground.store.read(self._ground.workspace.id) as unit:
            return [version_from(wanted, row) for row in unit.all("notes.version_of", name=wanted, limit=limit)]

    def restore(self, name: str, number: int, *, author: Author = "person") -> Version:
        """Make an earlier version the newest one."""
        with self._desk.alone():
            wanted = self._named(name)
            with self._ground.store.read(self._ground.workspace.id) as unit:
                row = unit.one("notes.version_get", name=wanted, number=number)
            if row is None or not row["body"]:
                raise NotFound(f"{wanted} has no version {number} with a text", hint="history lists them")
            body = str(row["body"])
            return self._desk.change(wanted, author, lambda held: whole(held.name, body))

    def status(self) -> dict[str, Any]:
        """Read status.json; a text that is no JSON object is a Conflict, and stays as it is."""
        return status.parsed(self.read(STATUS) or "")

    def update_status(self, updates: object) -> dict[str, Any]:
        """Merge an object into status.json and stamp what changed; the answer is the whole status."""
        fields = status.checked(updates)
        at = self._ground.local().isoformat(timespec="seconds")
        with self._desk.alone():
            version = self._desk.change(STATUS, "agent", lambda held: status.patched(held.body, fields, at))
        return status.parsed(version.body)

    def sync(self) -> list[str]:
        """Pick up what was done to the files and to the soul; the answer names the notes that changed."""
        with self._desk.alone():
            stamps, problems = self._desk.shelf.stamps()
            rows = self._rows()
            changed = []
            for name in sorted({*stamps, *rows, SOUL}):
                known, coming = rows.get(name, ("", None))
                if name != SOUL and self._desk.is_same(name, stamps.get(name), known, coming):
                    continue
                try:
                    held = self._desk.held(name)
                except Rejected as error:
                    problems.append(str(error))
                    continue
                if digest(held.body) != (known if coming is None else coming):
                    changed.append(name)
            self.problems = tuple(problems)
            return changed

    def signature(self, names: Sequence[str]) -> tuple[str, ...]:
        """Tell the state of some notes from any other state, as the last `sync` left them."""
        return tuple(f"{name} {self._desk.hash_of(name)}" for name in names)

    def _rows(self) -> dict[str, tuple[str, str | None]]:
        with self._ground.store.read(self._ground.workspace.id) as unit:
            return {row["name"]: (row["body_hash"], row["next_hash"]) for row in unit.all("notes.note_all")}

    def _named(self, name: str) -> str:
        return note_name(name, self._rows())


def whole(name: str, body: object) -> str:
    """Accept a body for a note: never empty, never too large, and an object where one is due."""
    if not isinstance(body, str) or not body.strip():
        raise Rejected(f"an empty text never overwrites {name}", hint="give the whole text of the note")
    storable(body, name)
    if len(body.encode()) > LARGEST:
        raise Rejected(f"{name} would be larger than {LARGEST:,} bytes", hint="split it into several notes")
    if name == STATUS:
        status.parsed(body)
    return body if body.endswith("\n") else f"{body}\n"


def refuse_cut(held: Held, body: str) -> None:
    """Refuse to lose more than half of a note by accident."""
    before, after = len(held.body), len(body)
    if after * 2 < before:
        message = f"this would cut {held.name} from {before:,} to {after:,} characters"
        raise Rejected(message, hint="append, or give the whole text; say replace: true if the rest shall go")


def joined(held: Held, text: object) -> str:
    """Write a note with something added at its end, on a line of its own."""
    if held.name == STATUS:
        raise Rejected(f"{STATUS} is an object, not a list of lines", hint="change it by update_status")
    if not isinstance(text, str) or not text.strip():
        raise Rejected("there is nothing to add", hint="give it some words")
    gap = "" if not held.body or held.body.endswith("\n") else "\n"
    return f"{held.body}{gap}{text.rstrip()}\n"
