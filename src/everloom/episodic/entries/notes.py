"""Notes: scenes that wait for a patrol, things to do, things for some day.

A scene that cannot be read is stored and marked, and read again once somebody has corrected it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, datetime, timedelta
from typing import Any, Literal

from everloom.clock import to_micros
from everloom.episodic.being import Being
from everloom.episodic.scenes.parser import ParsedScene, UnreadableScene, parse_scene
from everloom.errors import Conflict, EverloomError, NotFound, Rejected
from everloom.kernel.forgetting.tombstones import refuse_forgotten
from everloom.kernel.journal import register
from everloom.kernel.operation import Transaction
from everloom.kernel.search import Document
from everloom.kernel.texts import LONGEST_TEXT, UNSTORABLE, checked, checked_name
from everloom.kernel.trust.review import HELD, hold
from everloom.store import Row, Unit, value_from

_PARSE_FAILED = "[PARSE_FAILED]"
# A refusal tells the first reasons; the answer has them all.
_MOST_REASONS = 3
# All of them go into a prompt, so there must be a limit; the oldest come first, because they have waited longest.
_MOST_OPEN = 200

# As long as clients are told to cache a context: until then, a session finds its notes where they were.
_SAME_READING = timedelta(hours=1)

_NoteType = Literal["scene", "note", "someday"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BeingNote:
    """A note; `problem` is the reason why a scene could not be read."""

    id: int
    type: _NoteType
    content: str
    problem: str | None
    created_at: datetime
    # When it was first shown in a context, or marked as read; None while nobody has read it.
    read_at: datetime | None = None

    @property
    def text(self) -> str:
        """The text as the Being sees it."""
        return f"{_PARSE_FAILED} {self.content}" if self.problem else self.content


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedScene:
    """A scene that could not be read: its position in the request, the id of its note, and the reason."""

    index: int
    id: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesWritten:
    """What one call wrote, as its receipt stores it; it does not change with the notes."""

    scene_ids: tuple[int, ...]
    note_ids: tuple[int, ...]
    rejected: tuple[RejectedScene, ...]
    remarks: tuple[str, ...]
    deleted_ids: tuple[int, ...]
    # Notes that were marked as read or unread.
    marked_ids: tuple[int, ...] = ()


_NOTHING_WRITTEN = NotesWritten(scene_ids=(), note_ids=(), rejected=(), remarks=(), deleted_ids=())


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesUpdated(NotesWritten):
    """The result of `update_notes`; if a patrol was due, `patrol` says what became of it, and `job` is its job."""

    message: str
    open_notes: tuple[BeingNote, ...]
    pending_scenes: int
    patrol: str | None = None
    job: int | None = None
    # Said of what waits for review: nothing of it is among the notes yet.
    held: str | None = None

    @property
    def refusal(self) -> EverloomError | None:
        """Why not all scenes could be read; what could not is kept as it was written."""
        if not self.rejected:
            return None
        why = "; ".join(f"{each.id}: {each.reason}" for each in self.rejected[:_MOST_REASONS])
        hint = "correct each: update_memory, target notes, action update, key: its id"
        return Conflict(f"{len(self.rejected)} scenes could not be read ({why})", hint=hint)


@dataclass(frozen=True, slots=True)
class NotesRequest:
    """The arguments of `update_notes`."""

    action: str
    scenes: Sequence[object]
    notes: Sequence[object]
    scene_ids: Sequence[int]
    note_type_updates: Sequence[Mapping[str, Any]]
    read_ids: Sequence[int] = ()
    unread_ids: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class SceneNote:
    """A scene to be written as a note: the text to store, and the result of parsing it."""

    content: str
    read: ParsedScene | UnreadableScene

    @property
    def problem(self) -> str | None:
        """What is wrong with the scene; None when nothing is."""
        return self.read.reason if isinstance(self.read, UnreadableScene) else None


def write_down(scene: object, today: date) -> SceneNote:
    """Convert a scene of any form to text that can be stored; only unstorable characters and overlong text are lost."""
    read = parse_scene(scene, today)
    content = UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", _as_text(scene)).removeprefix(_PARSE_FAILED).strip()
    if len(content) > LONGEST_TEXT:
        # Written out again, a scene has only the known fields, cut to their bounds; cutting its JSON would break it.
        if isinstance(read, ParsedScene):
            return SceneNote(json.dumps(read.content.as_json(), ensure_ascii=False), read)
        reason = f"{read.reason} (it was cut: {len(content):,} characters)"
        return SceneNote(content[:LONGEST_TEXT], UnreadableScene(reason))
    # Parsed again from the stored text, because that is what the patrol will parse.
    return SceneNote(content or "(empty)", parse_scene(content, today))


def _as_text(scene: object) -> str:
    if isinstance(scene, str):
        return scene
    try:
        return json.dumps(scene, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError) as error:
        return f"(cannot be written as JSON: {error})"


def update_notes(being: Being, request: NotesRequest, key: str | None) -> NotesUpdated:
    """Store scenes and notes, in place of earlier ones if requested; what has a held origin is kept for review."""
    if request.action not in ("append", "update"):
        raise Rejected(f"there is no action {request.action!r}", hint="use append or update")
    op = being.op
    text = "\n".join(map(_as_text, (*_as_list(request.scenes), *_as_list(request.notes))))
    # Not `asdict`, which goes into scenes of any depth; what is too deep to be stored is told like any other bad scene.
    given = {each.name: getattr(request, each.name) for each in fields(request)}
    if (waiting := hold(op, "episodic.update_notes", given, text, key)) is not None:
        with op.read() as unit:
            return replace(_answer(unit, _NOTHING_WRITTEN), message=f"held as {waiting}", held=HELD)
    scenes = [write_down(scene, op.today) for scene in _as_list(request.scenes)]
    notes = [_parse_note(note) for note in _as_list(request.notes)]
    prepared = op.index.prepare([note_document(content, op.now) for _, content in notes])

    def write(tx: Transaction) -> NotesWritten:
        refuse_forgotten(tx.unit, [*(each.content for each in scenes), *(content for _, content in notes)])
        deleted = _drop_scenes(tx.unit, request.scene_ids) if request.action == "update" else []
        # The note of a scene is registered but is not a document: it can be found once a patrol has made it a scene.
        scene_ids = register(tx.unit, ["note"] * len(scenes), tx.at)
        for item, scene in zip(scene_ids, scenes, strict=True):
            add_note(tx, item, "scene", scene.content, scene.problem)
        note_ids = op.index.add(tx.unit, prepared, tx.at)
        for item, (kind, content) in zip(note_ids, notes, strict=True):
            add_note(tx, item, kind, content)
        for change in request.note_type_updates:
            _change_type(tx, change)
        read, unread = (_readable(tx.unit, ids) for ids in (request.read_ids, request.unread_ids))
        tx.unit.send("episodic.note_read", ids=read, at=to_micros(tx.at))
        tx.unit.send("episodic.note_unread", ids=unread)
        tx.event(scenes=list(scene_ids), notes=list(note_ids), deleted=deleted)
        written = _sum_up(list(zip(scene_ids, scenes, strict=True)), note_ids, deleted)
        return replace(written, marked_ids=(*read, *unread))

    # Scenes are compared as they are stored, because they may have any form.
    asked = {
        "action": request.action,
        "scenes": [each.content for each in scenes],
        "notes": notes,
        "scene_ids": list(request.scene_ids),
        "types": [[_short(change.get("id")), _short(change.get("type"))] for change in request.note_type_updates],
    }
    marks = {"read": list(request.read_ids), "unread": list(request.unread_ids)}
    asked |= {name: ids for name, ids in marks.items() if ids}
    written = op.write_once("update_notes", key, asked, NotesWritten, write)
    with op.read() as unit:
        return _answer(unit, written)


def _as_list(given: Any) -> list[object]:
    """Wrap a single scene or note in a list."""
    return [given] if isinstance(given, str | Mapping) else list(given)


def _short(value: object) -> str:
    """Write a simple value as text; anything else is rejected where it is used."""
    return str(value) if isinstance(value, int | str) else type(value).__name__


def _sum_up(scenes: Sequence[tuple[int, SceneNote]], note_ids: Sequence[int], deleted: Sequence[int]) -> NotesWritten:
    """Report which scenes could be read, which could not and why, and what was repaired."""
    parsed = [(item, scene.read) for item, scene in scenes if isinstance(scene.read, ParsedScene)]
    return NotesWritten(
        scene_ids=tuple(item for item, _ in parsed),
        note_ids=tuple(note_ids),
        rejected=tuple(
            RejectedScene(index=index, id=item, reason=scene.problem)
            for index, (item, scene) in enumerate(scenes)
            if scene.problem is not None
        ),
        remarks=tuple(f"scene {item}: {remark}" for item, read in parsed for remark in read.remarks),
        deleted_ids=tuple(deleted),
    )


def _answer(unit: Unit, written: NotesWritten) -> NotesUpdated:
    """Combine what was written with what is open now."""
    kept = f"{len(written.scene_ids)} scenes and {len(written.note_ids)} notes stored"
    trouble = f"; {len(written.rejected)} scenes could not be read and wait for correction" if written.rejected else ""
    kept += f"; {len(written.marked_ids)} notes marked" if written.marked_ids else ""
    return NotesUpdated(
        **{each.name: getattr(written, each.name) for each in fields(written)},
        message=f"ok: {kept}{trouble}",
        open_notes=tuple(note for note in open_notes(unit) if note.type == "note"),
        pending_scenes=pending(unit),
    )


def _parse_note(note: object) -> tuple[_NoteType, str]:
    """Read a note that is text, or an object with content and type."""
    given = note if isinstance(note, Mapping) else {"content": note}
    kind = given.get("type", "note")
    if kind not in ("note", "someday"):
        raise Rejected(f"there is no note type {kind!r}", hint="use note or someday")
    return kind, checked(given.get("content"), "the note")


def note_document(content: str, now: datetime) -> Document:
    """Make a note's search document."""
    return Document(kind="note", text=content, happened_at=now)


def add_note(tx: Transaction, item: int, kind: _NoteType, content: str, problem: str | None = None) -> None:
    """Write one note."""
    values = {"id": item, "kind": kind, "content": content, "problem": problem, "at": to_micros(tx.at)}
    tx.unit.send("episodic.note_add", session=tx.session_id, origin=str(tx.op.origin), **values)


def change_note(
    tx: Transaction, note: BeingNote, content: str, *, kind: _NoteType | None = None, problem: str | None = None
) -> None:
    """Replace the content of one note."""
    values = {"kind": kind or note.type, "content": content, "problem": problem, "at": to_micros(tx.at)}
    tx.unit.send("episodic.note_change", id=note.id, **values)


def _change_type(tx: Transaction, change: Mapping[str, Any]) -> None:
    """Change the type of a note between note and someday."""
    note, kind = find_note(tx.unit, change.get("id")), change.get("type")
    if kind not in ("note", "someday") or note.type == "scene":
        raise Rejected(
            f"note {note.id} cannot become {kind!r}", hint="only note and someday can be changed into each other"
        )
    change_note(tx, note, note.content, kind=kind)


@dataclass(frozen=True, slots=True)
class SeenNotes:
    """The notes that a context showed, and when they were read for it."""

    ids: Sequence[int]
    at: datetime


def mark_seen(tx: Transaction, seen: SeenNotes) -> None:
    """Record that the session was shown notes, unless they have changed since or were read before."""
    if seen.ids:
        tx.unit.send("episodic.note_seen", ids=list(seen.ids), at=to_micros(seen.at), session=tx.session_id)


def _readable(unit: Unit, ids: Sequence[int]) -> list[int]:
    """Check that these are notes that can be read or unread: things to do, not scenes."""
    found = [find_note(unit, item) for item in ids]
    if scenes := [note.id for note in found if note.type == "scene"]:
        raise Rejected(f"note {scenes[0]} is a scene that waits for a patrol", hint="only notes are read or unread")
    return [note.id for note in found]


def _drop_scenes(unit: Unit, ids: Iterable[int]) -> list[int]:
    """Delete scenes that are still waiting; other ids are left alone."""
    rows = unit.all("episodic.note_get", ids=list(ids))
    waiting = [row["id"] for row in rows if row["kind"] == "scene" and row["patrol_id"] is None]
    unit.send("episodic.note_drop", ids=waiting)
    return waiting


def find_note(unit: Unit, key: object) -> BeingNote:
    """Find a note that is still open."""
    # Ids have at most 18 digits; a longer number would not fit into a column of either engine.
    wanted = int(key) if isinstance(key, int | str) and str(key).isdecimal() and len(str(key)) < 19 else 0
    row = next(iter(unit.all("episodic.note_get", ids=[wanted])), None)
    if row is None:
        raise NotFound(f"no note has the id {key!r}", hint="update_memory with target notes and action get lists them")
    if row["patrol_id"] is not None:
        raise Conflict(f"note {key} has become scene {row['scene_id']}", hint="change the scene with correct_node")
    return _note_from(row)


def open_notes(unit: Unit) -> tuple[BeingNote, ...]:
    """List the notes that no patrol has taken in."""
    return tuple(_note_from(row) for row in unit.all("episodic.note_open", limit=_MOST_OPEN))


@dataclass(frozen=True, slots=True)
class ShownNotes:
    """The notes that a context shows: what nobody has read leads."""

    unread: tuple[BeingNote, ...]
    read: tuple[BeingNote, ...]
    unreadable: tuple[BeingNote, ...]


def notes_to_show(unit: Unit, session: str | None, now: datetime) -> ShownNotes:
    """List the notes for a context; what a session was shown lately is still unread for it, so that it stays put."""
    label = None if session is None else checked_name(session, "the session's id")
    known = None if label is None else unit.one("kernel.session_by_label", label=label)
    rows = unit.all("episodic.note_shown", limit=_MOST_OPEN)
    since = to_micros(now - _SAME_READING)
    ours = {row["id"] for row in rows if known is not None and row["read_in"] == known["id"] and row["read_at"] > since}
    notes = [_note_from(row) for row in rows]
    plain = [note for note in notes if note.type == "note"]
    return ShownNotes(
        unread=tuple(sorted((n for n in plain if n.read_at is None or n.id in ours), key=lambda note: note.id)),
        read=tuple(note for note in plain if note.read_at is not None and note.id not in ours),
        unreadable=tuple(note for note in notes if note.problem),
    )


def pending(unit: Unit) -> int:
    """Count the scene notes that are waiting for a patrol."""
    (row,) = unit.all("episodic.note_pending")
    return int(row["count"])


def _note_from(row: Row) -> BeingNote:
    return value_from(BeingNote, row, type=row["kind"])
