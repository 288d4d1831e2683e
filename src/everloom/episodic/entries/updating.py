"""`update_memory`: ten targets, each read, added to, changed and deleted by the same four actions.

Changing and deleting need a key, and the answer shows what was there before and what is there now.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import get_args

from everloom.clock import to_micros
from everloom.episodic.entries import soul
from everloom.episodic.entries.entry import (
    KINDS,
    Entry,
    diary_key,
    drop_entry,
    entries_of,
    find_entry,
    joined,
    put_entry,
    recent_diary,
    titled,
)
from everloom.episodic.entries.notes import Note, add_note, document_of, find_note, open_notes, problem_of, write_down
from everloom.episodic.ground import Place
from everloom.episodic.verbs import Action, Target
from everloom.errors import NotFound, Rejected
from everloom.kernel.journal import answered_before, keep_receipt
from everloom.kernel.texts import checked, checked_name
from everloom.store import Unit

TARGETS: tuple[Target, ...] = get_args(Target)
ACTIONS: tuple[Action, ...] = get_args(Action)

RULE = re.compile(r"\[(?P<category>[^\]]+)\]\s*(?P<title>[^:]+):\s*(?P<body>.+)", re.DOTALL)
SWITCHES = {"enabled": True, "disabled": False}
PREFERENCE_KEY = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRequest:
    """What `update_memory` was asked."""

    target: Target
    action: Action
    content: str | None = None
    key: str | None = None
    location: str | None = None
    to: str | None = None

    @property
    def text(self) -> str:
        """Take the content that an action needs."""
        return checked(self.content, "the content")

    @property
    def named(self) -> str:
        """Take the key that an action needs."""
        if self.key is None or not self.key.strip():
            hint = f"get {self.target} first: it shows the keys"
            raise Rejected(f"{self.action} on {self.target} needs a key", hint=hint)
        return checked_name(self.key, "the key")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUpdated:
    """What `update_memory` answers: what was read, or what was there before and what is there now."""

    target: Target
    action: Action
    message: str
    entries: tuple[Entry, ...] = ()
    before: Entry | None = None
    after: Entry | None = None


def update_memory(place: Place, request: MemoryRequest) -> MemoryUpdated:
    """Read or change one of the ten targets."""
    if request.target not in TARGETS:
        raise Rejected(f"there is no target {request.target!r}", hint=f"say one of {', '.join(TARGETS)}")
    if request.action not in ACTIONS:
        raise Rejected(f"there is no action {request.action!r}", hint=f"say one of {', '.join(ACTIONS)}")
    if request.target == "souls":
        return ROOMS["souls"](place, request)
    return ROOMS.get(request.target, update_entries)(place, request)


def told(request: MemoryRequest, before: Entry | None, after: Entry | None) -> MemoryUpdated:
    """Say what was there before and what is there now."""
    key = (after or before or Entry(target="", key="", content="")).key
    verb = {"append": "added", "update": "updated", "delete": "deleted"}[request.action]
    return MemoryUpdated(
        target=request.target,
        action=request.action,
        message=f"ok: {verb} {request.target} {key!r}",
        before=before,
        after=after,
    )


def listed(request: MemoryRequest, entries: tuple[Entry, ...]) -> MemoryUpdated:
    """Show what was read."""
    count = f"{len(entries)} of {request.target}"
    return MemoryUpdated(target=request.target, action=request.action, message=count, entries=entries)


def update_entries(place: Place, request: MemoryRequest) -> MemoryUpdated:
    """Serve every target that is kept under keys."""
    if request.action == "get":
        with place.read() as unit:
            return listed(request, found(unit, place, request))
    if request.target == "diary" and request.action == "delete":
        raise Rejected("a diary page cannot be deleted", hint="update it instead")
    with place.write() as unit:
        before, after = changed(unit, place, request)
        place.log(unit, "update_memory", target=request.target, action=request.action, key=after.key)
        return told(request, before, None if request.action == "delete" else after)


def found(unit: Unit, place: Place, request: MemoryRequest) -> tuple[Entry, ...]:
    """Read one entry, or all of a target; of the diary, the last days."""
    if request.key is not None:
        return (existing(unit, request.target, request.named),)
    if request.target == "diary":
        return recent_diary(unit, place.now, place.info.zone)
    return entries_of(unit, request.target)


def changed(unit: Unit, place: Place, request: MemoryRequest) -> tuple[Entry | None, Entry]:
    """Carry out an action on one entry; for a deletion the second is what was deleted."""
    if request.action == "append":
        entry = new_entry(place, request)
        before = find_entry(unit, request.target, entry.key)
        if before is not None and request.target in ("knowledge", "relationship", "diary"):
            entry = replace(
                entry, content=joined(before.content, entry.content), detail={**before.detail, **entry.detail}
            )
        return before, put_entry(unit, place.ground, entry, place.now)
    before = existing(unit, request.target, request.named)
    if request.action == "delete":
        drop_entry(unit, place.ground, before)
        return before, before
    return before, put_entry(unit, place.ground, edited(before, request), place.now)


def new_entry(place: Place, request: MemoryRequest) -> Entry:
    """Read the entry that is to be added; each target has its own default key."""
    text, target = request.text, request.target
    if target == "partner_rules":
        return rule(text)
    default = diary_key(place.now, place.info.zone) if target == "diary" else titled(text)
    if target == "preferences":
        default = default[:PREFERENCE_KEY].strip()
    key = request.named if request.key else checked_name(default, "the key")
    detail: Mapping[str, object] = {} if request.location is None else {"location": request.location}
    return Entry(target=target, key=key, title=key if request.key else default, content=text, detail=detail)


def rule(text: str) -> Entry:
    """Read a rule from "[category] title: body"."""
    parts = RULE.fullmatch(text.strip())
    if parts is None:
        raise Rejected("this is no rule", hint="write [category] title: body")
    title = checked_name(parts["title"], "the rule's title")
    detail = {"category": parts["category"].strip(), "enabled": True}
    return Entry(target="partner_rules", key=title, title=title, content=parts["body"].strip(), detail=detail)


def edited(before: Entry, request: MemoryRequest) -> Entry:
    """Write an entry anew under its key; a rule can also be enabled and disabled."""
    text = request.text
    location = {} if request.location is None else {"location": request.location}
    if before.target == "partner_rules":
        if text.strip() in SWITCHES:
            return replace(before, detail={**before.detail, "enabled": SWITCHES[text.strip()]})
        if RULE.fullmatch(text.strip()):
            anew = rule(text)
            return replace(before, content=anew.content, title=anew.title, detail={**before.detail, **anew.detail})
    return replace(before, content=text, detail={**before.detail, **location})


def existing(unit: Unit, target: str, key: str) -> Entry:
    """Find an entry that must be there."""
    entry = find_entry(unit, target, key)
    if entry is None:
        keys = ", ".join(repr(each.key) for each in entries_of(unit, target)[:10]) or "there are none yet"
        raise NotFound(f"nothing in {target} has the key {key!r}", hint=f"the keys: {keys}")
    return entry


def update_souls(place: Place, request: MemoryRequest) -> MemoryUpdated:
    """Read the parts of the one soul, or write one of them anew into its prose."""
    prose = place.soul.read()
    parts = soul.parts_of(prose)
    if request.action == "get":
        if request.key is None:
            names = list(soul.PARTS)
        else:
            names = [part_named(request.named)]
        shown = [Entry(target="souls", key=name, content=parts.get(name, "")) for name in names]
        whole = [Entry(target="souls", key="prose", content=prose)] if request.key is None and prose else []
        return listed(request, tuple(each for each in [*shown, *whole] if each.content or request.key))
    if request.action != "update":
        raise Rejected(f"{request.action} does not exist for souls", hint=f"update one of {', '.join(soul.PARTS)}")
    name = part_named(request.named)
    place.soul.supersede(soul.with_part(prose, name, request.text), instead_of=prose, reason=f"{name} was edited")
    with place.write() as unit:
        place.log(unit, "update_memory", target="souls", action="update", key=name)
    before = Entry(target="souls", key=name, content=parts.get(name, ""))
    return told(request, before, replace(before, content=soul.parts_of(place.soul.read()).get(name, "")))


def part_named(key: str) -> str:
    """Accept the name of a part of the soul."""
    name = key.strip().lower().replace(" ", "_")
    if name not in soul.PARTS:
        raise NotFound(f"the soul has no part {key!r}", hint=f"its parts are {', '.join(soul.PARTS)}")
    return name


def update_open_notes(place: Place, request: MemoryRequest) -> MemoryUpdated:
    """Read, add, mend and delete notes; a scene that could not be read is read again after its edit."""
    if request.action == "get":
        with place.read() as unit:
            notes = open_notes(unit) if request.key is None else (find_note(unit, request.named),)
        return listed(request, tuple(map(as_entry, notes)))
    if request.action == "append":
        prepared = place.ground.index.prepare([document_of(request.text, place.now)])
        with place.write() as unit:
            (fresh,) = place.ground.index.add(unit, prepared, place.now)
            add_note(unit, fresh, "note", request.text, None, place.attend(unit), place.now)
            place.log(unit, "update_memory", target="notes", action="append", key=fresh)
            return told(request, None, as_entry(find_note(unit, fresh)))
    with place.write() as unit:
        before = find_note(unit, request.named)
        after = None if request.action == "delete" else mended(unit, place, before, request.text)
        if after is None:
            unit.run("episodic.note_drop", ids=[before.id])
            if before.type != "scene":
                place.ground.index.remove(unit, [before.id])
        place.log(unit, "update_memory", target="notes", action=request.action, key=before.id)
        return told(request, as_entry(before), None if after is None else as_entry(after))


def mended(unit: Unit, place: Place, before: Note, text: str) -> Note:
    """Write a note anew."""
    content, problem = text, None
    if before.type == "scene":
        written = write_down(text, place.today)
        content, problem = written.content, problem_of(written.read)
    else:
        place.ground.index.revise(
            unit, before.id, place.ground.index.prepare([document_of(text, place.now)]), place.now
        )
    unit.run(
        "episodic.note_change",
        id=before.id,
        kind=before.type,
        content=content,
        problem=problem,
        at=to_micros(place.now),
    )
    return find_note(unit, before.id)


def as_entry(note: Note) -> Entry:
    """Show a note like every other target."""
    detail = {"problem": note.problem} if note.problem else {}
    return Entry(
        target="notes",
        key=str(note.id),
        title=note.type,
        content=note.text,
        id=note.id,
        detail=detail,
        created_at=note.created_at,
    )


def update_messages(place: Place, request: MemoryRequest) -> MemoryUpdated:
    """Read messages of other Beings, send one, and edit or delete one's own copy."""
    if request.action != "append":
        return update_entries(place, request)
    to = request.to or request.key
    if not to or place.party is None:
        raise Rejected("a party message needs a Being to go to", hint="name it with `to`")
    with place.write() as unit:
        key = f"{to}:{unit.ids(1)[0]}"
        detail = {"from": place.info.name, "to": to, "is_sent": True}
        sent = Entry(target="party_message", key=key, title=f"to {to}", content=request.text, detail=detail)
    # First there, then here: a message that is shown as sent has arrived; the same key arrives once.
    place.party.deliver(to, place.info.name, sent.content, f"party {place.info.id} {key}")
    with place.write() as unit:
        after = put_entry(unit, place.ground, sent, place.now)
        place.log(unit, "update_memory", target="party_message", action="append", key=key)
        return told(request, None, after)


def update_relation(place: Place, entity_name: str, relation_type: str, content: str | None, action: str) -> Entry:
    """Write down who somebody or something is, or forget it."""
    key = checked_name(entity_name, "the entity's name")
    if action not in ("upsert", "delete"):
        raise Rejected(f"there is no action {action!r}", hint="say upsert or delete")
    with place.write() as unit:
        known = find_entry(unit, "relationship", key)
        place.log(unit, "update_relation", entity=key, action=action)
        if action == "delete":
            if known is None:
                raise NotFound(f"no relationship with {key!r} is kept", hint="update_memory lists them")
            drop_entry(unit, place.ground, known)
            return known
        text = checked(content, "the content") if content is not None else "" if known is None else known.content
        detail = {"relation_type": checked_name(relation_type, "the type of relation")}
        entry = Entry(target="relationship", key=key, title=key, content=text or key, detail=detail)
        return put_entry(unit, place.ground, entry, place.now)


def receive(place: Place, sender: str, text: str, key: str) -> None:
    """Keep a message that another Being sent; the same key is kept once."""
    asked = {"sender": sender, "text": text}
    with place.write() as unit:
        if answered_before(unit, key, "receive", asked) is not None:
            return
        entry_key = f"{sender}:{unit.ids(1)[0]}"
        detail = {"from": sender, "to": place.info.name, "is_sent": False}
        entry = Entry(
            target="party_message",
            key=entry_key,
            title=f"from {sender}",
            content=checked(text, "the message"),
            detail=detail,
        )
        put_entry(unit, place.ground, entry, place.now)
        place.log(unit, "receive", sender=sender, key=entry_key)
        keep_receipt(unit, key, "receive", asked, {"key": entry_key}, place.now)


Room = Callable[[Place, MemoryRequest], MemoryUpdated]
ROOMS: dict[str, Room] = {
    "souls": update_souls,
    "notes": update_open_notes,
    "party_message": update_messages,
}
assert set(KINDS) | {"souls", "notes"} == set(TARGETS)
