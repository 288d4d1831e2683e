"""Notes: scenes that wait for a patrol, things to do, things for some day.

A scene that cannot be read is kept, marked, and read again once somebody has mended it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Any, Literal

from everloom.clock import from_micros, to_micros
from everloom.episodic.ground import Place
from everloom.episodic.scenes.reading import Read, Unreadable, read_scene
from everloom.episodic.scenes.scene import Told
from everloom.errors import Conflict, NotFound, Rejected
from everloom.kernel.journal import answered_before, keep_receipt, register
from everloom.kernel.search import Document
from everloom.kernel.texts import LONGEST_TEXT, UNSTORABLE, checked
from everloom.store import Row, Unit

PARSE_FAILED = "[PARSE_FAILED]"
MOST_OPEN = 200

NoteType = Literal["scene", "note", "someday"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something noted down; `problem` says why a scene could not be read."""

    id: int
    type: NoteType
    content: str
    problem: str | None
    created_at: datetime

    @property
    def text(self) -> str:
        """Write it as the Being sees it."""
        return f"{PARSE_FAILED} {self.content}" if self.problem else self.content


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedScene:
    """A scene that could not be read: where it stood in the request, under which id it is kept, and why."""

    index: int
    id: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesUpdated:
    """What `update_notes` answers. `patrol` says what became of the patrol, if it was time for one."""

    message: str
    scene_ids: tuple[int, ...]
    note_ids: tuple[int, ...]
    rejected: tuple[RejectedScene, ...]
    remarks: tuple[str, ...]
    deleted_ids: tuple[int, ...]
    open_notes: tuple[Note, ...]
    pending_scenes: int
    patrol: str | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """A scene on its way into a note: the text that is kept, and what reading it gave."""

    content: str
    read: Read | Unreadable


def write_down(scene: object, today: date) -> Written:
    """Write a scene as text that can be kept, whatever it is; nothing is lost but what no store can hold."""
    read = read_scene(scene, today)
    content = UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", raw(scene)).removeprefix(PARSE_FAILED).strip()
    if len(content) > LONGEST_TEXT:
        if isinstance(read, Read):
            return Written(json.dumps(as_object(read.told), ensure_ascii=False), read)
        return Written(content[:LONGEST_TEXT], Unreadable(f"{read.reason} (it was cut: {len(content):,} characters)"))
    # What is kept is what will be read again.
    return Written(content or "(empty)", read_scene(content, today))


def raw(scene: object) -> str:
    """Write anything as text."""
    if isinstance(scene, str):
        return scene
    try:
        return json.dumps(scene, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError) as error:
        return f"(cannot be written as JSON: {error})"


def as_object(told: Told) -> dict[str, Any]:
    """Write a scene that was read as the contract's object."""
    emotion = None if told.emotion is None else told.emotion.as_dict()
    own = {"feeling": told.feeling, "themes": list(told.themes), "importance": told.importance, "emotion": emotion}
    return {**told.scene.as_json(), **own}


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesRequest:
    """What `update_notes` was asked."""

    action: str
    scenes: Sequence[object]
    notes: Sequence[object]
    scene_ids: Sequence[int]
    note_type_updates: Sequence[Mapping[str, Any]]

    @classmethod
    def of(
        cls,
        action: str,
        scenes: object,
        notes: object,
        scene_ids: Sequence[int],
        note_type_updates: Sequence[Mapping[str, Any]],
    ) -> NotesRequest:
        """Take what a caller gave: one scene or one note alone is a list of one."""
        return cls(
            action=action,
            scenes=_listed(scenes),
            notes=_listed(notes),
            scene_ids=list(scene_ids),
            note_type_updates=list(note_type_updates),
        )


def _listed(given: Any) -> list[object]:
    return [given] if isinstance(given, str | Mapping) else list(given)


def update_notes(place: Place, request: NotesRequest, idempotency_key: str | None) -> NotesUpdated:
    """Keep scenes and notes, in place of earlier ones if asked to."""
    if request.action not in ("append", "update"):
        raise Rejected(f"there is no action {request.action!r}", hint="say append or update")
    written = [write_down(scene, place.today) for scene in request.scenes]
    noted = [read_note(note) for note in request.notes]
    prepared = place.ground.index.prepare([document_of(content, place.now) for _, content in noted])
    asked = fingerprint_of(request, written, noted)
    with place.write() as unit:
        told = answered_before(unit, idempotency_key, "update_notes", asked)
        if told is not None:
            return answer(unit, Outcome(**told))
        now, session = place.now, place.attend(unit)
        deleted = drop_notes(unit, request.scene_ids) if request.action == "update" else []
        scene_ids = register(unit, ["note"] * len(written), now)
        for item, each in zip(scene_ids, written, strict=True):
            add_note(unit, item, "scene", each.content, problem_of(each.read), session, now)
        note_ids = place.ground.index.add(unit, prepared, now)
        for item, (kind, content) in zip(note_ids, noted, strict=True):
            add_note(unit, item, kind, content, None, session, now)
        for change in request.note_type_updates:
            retype(unit, change, now)
        outcome = outcome_of(scene_ids, written, note_ids, deleted)
        place.log(unit, "update_notes", scenes=list(scene_ids), notes=list(note_ids), deleted=deleted)
        keep_receipt(unit, idempotency_key, "update_notes", asked, asdict(outcome), now)
        return answer(unit, outcome)


def fingerprint_of(
    request: NotesRequest, written: Sequence[Written], noted: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    """Write a request so that the same one reads the same; scenes as they are kept, for they may be anything."""
    return {
        "action": request.action,
        "scenes": [each.content for each in written],
        "notes": [list(each) for each in noted],
        "scene_ids": list(request.scene_ids),
        "types": [[plain(change.get("id")), plain(change.get("type"))] for change in request.note_type_updates],
    }


def plain(value: object) -> str:
    """Write a small value; anything else is refused where it is used."""
    return str(value) if isinstance(value, int | str) else type(value).__name__


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one call wrote, as its receipt keeps it."""

    scene_ids: list[int]
    note_ids: list[int]
    rejected: list[dict[str, Any]]
    remarks: list[str]
    deleted_ids: list[int]


def outcome_of(
    scene_ids: Sequence[int], written: Sequence[Written], note_ids: Sequence[int], deleted: Sequence[int]
) -> Outcome:
    """Tell which scenes were kept well, which were not and why, and what was mended."""
    pairs = list(zip(scene_ids, written, strict=True))
    return Outcome(
        scene_ids=[item for item, each in pairs if isinstance(each.read, Read)],
        note_ids=list(note_ids),
        rejected=[
            {"index": index, "id": item, "reason": each.read.reason}
            for index, (item, each) in enumerate(pairs)
            if isinstance(each.read, Unreadable)
        ],
        remarks=[
            f"scene {item}: {said}" for item, each in pairs if isinstance(each.read, Read) for said in each.read.remarks
        ],
        deleted_ids=list(deleted),
    )


def answer(unit: Unit, outcome: Outcome) -> NotesUpdated:
    """Join what was written with what is open now."""
    rejected = tuple(RejectedScene(**each) for each in outcome.rejected)
    kept = f"{len(outcome.scene_ids)} scenes and {len(outcome.note_ids)} notes kept"
    trouble = f"; {len(rejected)} scenes could not be read and are kept for repair" if rejected else ""
    return NotesUpdated(
        message=f"ok: {kept}{trouble}",
        scene_ids=tuple(outcome.scene_ids),
        note_ids=tuple(outcome.note_ids),
        rejected=rejected,
        remarks=tuple(outcome.remarks),
        deleted_ids=tuple(outcome.deleted_ids),
        open_notes=tuple(note for note in open_notes(unit) if note.type == "note"),
        pending_scenes=pending(unit),
    )


def problem_of(read: Read | Unreadable) -> str | None:
    """Say what is wrong with a scene; None when nothing is."""
    return read.reason if isinstance(read, Unreadable) else None


def read_note(note: object) -> tuple[NoteType, str]:
    """Read a note that is text, or an object with content and type."""
    given = note if isinstance(note, Mapping) else {"content": note}
    kind = given.get("type", "note")
    if kind not in ("note", "someday"):
        raise Rejected(f"there is no type of note {kind!r}", hint="say note or someday")
    return kind, checked(given.get("content"), "the note")


def document_of(content: str, now: datetime) -> Document:
    """Write what search sees of a note."""
    return Document(kind="note", text=content, happened_at=now)


def add_note(
    unit: Unit, item: int, kind: NoteType, content: str, problem: str | None, session: int | None, now: datetime
) -> None:
    """Write one note."""
    unit.run(
        "episodic.note_add",
        id=item,
        kind=kind,
        content=content,
        problem=problem,
        session=session,
        at=to_micros(now),
    )


def retype(unit: Unit, change: Mapping[str, Any], now: datetime) -> None:
    """Make a note one for some day, or the other way round."""
    note, kind = find_note(unit, change.get("id")), change.get("type")
    if kind not in ("note", "someday") or note.type == "scene":
        raise Rejected(f"note {note.id} cannot become {kind!r}", hint="a note or someday can become the other")
    unit.run("episodic.note_change", id=note.id, kind=kind, content=note.content, problem=None, at=to_micros(now))


def drop_notes(unit: Unit, ids: Iterable[int]) -> list[int]:
    """Take back scenes that still wait; ids of anything else are left alone."""
    rows = unit.all("episodic.note_get", ids=list(ids))
    waiting = [row["id"] for row in rows if row["kind"] == "scene" and row["patrol_id"] is None]
    unit.run("episodic.note_drop", ids=waiting)
    return waiting


def find_note(unit: Unit, key: object) -> Note:
    """Find a note that is still open."""
    wanted = int(key) if isinstance(key, int | str) and str(key).isdecimal() and len(str(key)) < 19 else 0
    row = next(iter(unit.all("episodic.note_get", ids=[wanted])), None)
    if row is None:
        raise NotFound(f"no note has the id {key!r}", hint="update_memory with target notes and action get lists them")
    if row["patrol_id"] is not None:
        raise Conflict(f"note {key} has become scene {row['scene_id']}", hint="scenes change by merge_nodes")
    return note_from(row)


def note_from(row: Row) -> Note:
    """Read a note from its row."""
    return Note(
        id=row["id"],
        type=row["kind"],
        content=row["content"],
        problem=row["problem"],
        created_at=from_micros(row["created_at"]),
    )


def pending(unit: Unit) -> int:
    """Count the scene notes that wait for a patrol."""
    (row,) = unit.all("episodic.note_pending")
    return int(row["count"])


def open_notes(unit: Unit) -> tuple[Note, ...]:
    """List what is noted and not taken in by a patrol."""
    return tuple(note_from(row) for row in unit.all("episodic.note_open", limit=MOST_OPEN))
