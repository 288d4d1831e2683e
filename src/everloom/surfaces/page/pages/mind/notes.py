"""The notes that person and agent share: a list, each rendered, an editor, versions with their differences.

A form carries a mark of the text that its page showed. If the note is another by the time it is sent, nothing is
written, and both texts are shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from hashlib import blake2b
from typing import TYPE_CHECKING

from starlette.responses import Response

from everloom.errors import Conflict, EverloomError, NotFound, meaning_of
from everloom.kernel.trust.noticed import noticing
from everloom.mind.notes.files import KNOWN, LARGEST, STATUS, note_name
from everloom.surfaces.page.diff import words_diff
from everloom.surfaces.page.html import LONGEST_SHOWN
from everloom.surfaces.page.pages.mind.status import shown_status, update_of
from everloom.surfaces.page.paths import WORKSPACE, form, look
from everloom.surfaces.page.visit import Visit

if TYPE_CHECKING:
    from everloom.mind.notes import Notes, NoteVersion

_NOTES = f"{WORKSPACE}notes"
_VERSIONS = 20
_NAMES = 200


def notes(visit: Visit) -> Response:
    """Show one note, one of its versions, or the list of all."""
    name = visit.asked("name") or _name_of_item(visit)
    if not name:
        return _listed(visit)
    name = note_name(name)
    if visit.asked("version"):
        return _version(visit, name, visit.asked_number("version", 0))
    return _edited(visit, name) if visit.asked("edit") else _note(visit, name)


def _name_of_item(visit: Visit) -> str:
    """Find the name of a note by the id that other pages know it by."""
    item = visit.asked_number("id", 0)
    if not item:
        return ""
    known = visit.workspace.show(item)
    if known.kind != "note":
        raise NotFound(f"item {item} is no note", hint="look at it by its id")
    return known.title or str(known.detail.get("name", ""))


def _listed(visit: Visit) -> Response:
    folder, begin = visit.asked("folder"), visit.asked_number("from", 0)
    names = sorted({*visit.workspace.mind.notes.names(), STATUS})
    within = [each for each in names if each.rpartition("/")[0] == folder]
    # The newest day first; whatever else has a date in its name follows from that, too.
    ordered = sorted(within, reverse=True) if folder == "daily" else sorted(within, key=_by_place)
    return visit.page(
        "notes.html",
        title=folder or "Notes",
        folder=folder,
        folders=sorted(Counter(each.rpartition("/")[0] for each in names if "/" in each).items()),
        names=ordered[begin : begin + _NAMES],
        begin=begin,
        rest=begin + _NAMES if len(ordered) > begin + _NAMES else None,
    )


def _by_place(name: str) -> tuple[int, str]:
    return (KNOWN.index(name), "") if name in KNOWN else (len(KNOWN), name)


def _note(visit: Visit, name: str, error: EverloomError | None = None, typed: str = "") -> Response:
    kept = visit.workspace.mind.notes
    body, _ = kept.look(name)
    versions = kept.versions(name, _VERSIONS + 1, visit.asked_number("before", 0) or None)
    # The status has no text before its first field, and the form that sets one is on its page.
    if not body and not versions and name != STATUS:
        raise NotFound(f"there is no note {name[:200]}", hint="the list of notes shows the names")
    begin = visit.asked_number("from", 0, most=max(0, len(body) - 1))
    return visit.page(
        "note.html",
        200 if error is None else meaning_of(error).http_status,
        title=name,
        name=name,
        body=body[begin : begin + LONGEST_SHOWN],
        begin=begin,
        rest=begin + LONGEST_SHOWN if len(body) > begin + LONGEST_SHOWN else None,
        length=len(body),
        status=shown_status(body) if name == STATUS else None,
        mark=_mark_of(body),
        versions=versions[:_VERSIONS],
        older=versions[_VERSIONS - 1].number if len(versions) > _VERSIONS else None,
        is_known=name in KNOWN,
        error=error,
        typed=typed,
    )


def _edited(
    visit: Visit, name: str, error: EverloomError | None = None, typed: str | None = None, is_new: bool = False
) -> Response:
    body = "" if is_new else visit.workspace.mind.notes.look(name)[0]
    return visit.page(
        "note_edit.html",
        200 if error is None else meaning_of(error).http_status,
        title=f"Edit {name}" if not is_new else "A new note",
        name=name,
        is_new=is_new,
        text=body if typed is None else typed,
        mark=_mark_of(body),
        # What somebody else wrote in the meantime, beside what was typed here.
        theirs=body[:LONGEST_SHOWN] if isinstance(error, Conflict) and not is_new else None,
        differs=words_diff(body, typed) if isinstance(error, Conflict) and typed is not None and not is_new else None,
        may_cut=visit.request.method == "POST",
        most=LARGEST,
        error=error,
    )


def _version(visit: Visit, name: str, number: int) -> Response:
    kept = visit.workspace.mind.notes
    version = kept.version_at(name, number)
    against = visit.asked_number("against", 0) or number - 1
    other = kept.version_at(name, against) if against and against != number else None
    newest = kept.versions(name, 1)[0].number
    return visit.page(
        "note_version.html",
        title=f"{name}, version {number}",
        name=name,
        chosen=version,
        against=against if other else None,
        newest=newest,
        difference=_difference(version, other),
        mark=_mark_of(kept.look(name)[0]),
    )


def _difference(version: NoteVersion, other: NoteVersion | None) -> object:
    if other is None:
        return None
    older, newer = sorted((version, other), key=lambda each: each.number)
    return words_diff(older.body, newer.body)


def _mark_of(body: str) -> str:
    """Make the mark by which a text is recognised; the number of its version is not known while nothing is written."""
    return blake2b(body.encode("utf-8", "replace"), digest_size=12).hexdigest()


def _checked_number(visit: Visit, kept: Notes, name: str) -> int:
    """Return the number of the version that the page showed; Conflict if the note is another by now."""
    now = kept.version(name)
    if _mark_of(now.body if now else "") != visit.form.text("mark"):
        number = now.number if now else 0
        raise Conflict(
            f"{name} was changed in the meantime; it is at version {number}",
            hint="both texts are below; nothing was written",
            current=now,
        )
    return now.number if now else 0


def new(visit: Visit) -> Response:
    """Show an empty note."""
    return _edited(visit, visit.asked("name"), is_new=True)


def create(visit: Visit) -> Response:
    """Write a note that does not exist yet."""
    name, text = visit.form.text("name").strip(), visit.form.text("text")
    name = name if name.endswith((".md", ".json")) or not name else f"{name}.md"
    return _written(
        visit,
        lambda kept, body: kept.create(name, body, author="person"),
        lambda error: _edited(visit, name, error, text, is_new=True),
    )


def write(visit: Visit) -> Response:
    """Replace the text of a note."""
    name, text = visit.form.text("name"), visit.form.text("text")

    def replaced(kept: Notes, body: str) -> NoteVersion:
        expected = _checked_number(visit, kept, name)
        return kept.write(name, body, author="person", replace=visit.form.is_on("cut"), expected=expected)

    return _written(visit, replaced, lambda error: _edited(visit, name, error, text))


def append(visit: Visit) -> Response:
    """Add to the end of a note."""
    name, text = visit.form.text("name"), visit.form.text("text")
    return _written(
        visit,
        lambda kept, body: kept.append(name, body, author="person"),
        lambda error: _note(visit, name, error, text),
    )


def _written(
    visit: Visit,
    act: Callable[[Notes, str], NoteVersion],
    otherwise: Callable[[EverloomError], Response],
) -> Response:
    """Write a note as a person; if that is refused, show the form again with what was typed."""
    try:
        mind = visit.acting("write a note").mind
        with noticing() as secrets:
            # Not the verbs: they record the agent as the author. What they do about secrets is done here.
            body = mind.op.screen.arguments({"text": visit.form.text("text")})["text"]
            version = act(mind.notes, body)
    except EverloomError as error:
        return otherwise(error)
    kept = f" A secret was recognised in it: {secrets[0]}." if secrets else ""
    return visit.go(visit.url("notes", name=version.name), f"{version.name} is at version {version.number}.{kept}")


def update(visit: Visit) -> Response:
    """Set or remove one field of the status."""
    sent = visit.form
    try:
        mind = visit.acting("update the status").mind
        updates = update_of(sent.text("field"), sent.text("value"), is_removed=sent.is_on("remove"))
        kept = mind.op.screen.arguments({"updates": updates})["updates"]
        mind.notes.update_status(kept, expected=_checked_number(visit, mind.notes, STATUS), author="person")
    except EverloomError as error:
        return _note(visit, STATUS, error, sent.text("value"))
    return visit.go(visit.url("notes", name=STATUS), "The status is updated.")


def restore(visit: Visit) -> Response:
    """Make an earlier version the newest."""
    name, number = visit.form.text("name"), visit.form.number("version") or 0
    kept = visit.acting("restore a note").mind.notes
    try:
        version = kept.restore(name, number, expected=_checked_number(visit, kept, name))
    except Conflict as error:
        return _note(visit, name, error)
    said = f"Version {number} of {name} is the newest again, as version {version.number}."
    return visit.go(visit.url("notes", name=name), said)


PATHS = (
    look(_NOTES, notes),
    look(f"{_NOTES}/new", new),
    form(f"{_NOTES}/new", create),
    form(f"{_NOTES}/write", write),
    form(f"{_NOTES}/append", append),
    form(f"{_NOTES}/status", update),
    form(f"{_NOTES}/restore", restore),
)
