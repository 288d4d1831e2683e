"""`update_memory`: ten targets with the same four actions: get, append, update, delete.

Updating and deleting need a key, and the result shows the entry before and after.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import get_args

from everloom.episodic.being import Being
from everloom.episodic.entries import soul
from everloom.episodic.entries.entry import (
    KINDS,
    MemoryEntry,
    check_entry_version,
    diary_key,
    drop_entry,
    entries_of,
    find_entry,
    join_texts,
    put_entry,
    recent_diary,
    versioned,
)
from everloom.episodic.entries.notes import (
    BeingNote,
    add_note,
    change_note,
    find_note,
    note_document,
    open_notes,
    write_down,
)
from everloom.episodic.verbs import Action, Target
from everloom.errors import Conflict, Forbidden, NotFound, Rejected
from everloom.kernel.journal import answered_before
from everloom.kernel.once import Once
from everloom.kernel.operation import Transaction
from everloom.kernel.texts import checked, checked_name
from everloom.store import Unit

TARGETS: tuple[Target, ...] = get_args(Target)
ACTIONS: tuple[Action, ...] = get_args(Action)

_RULE = re.compile(r"\[(?P<category>[^\]]+)\]\s*(?P<title>[^:]+):\s*(?P<body>.+)", re.DOTALL)
_SWITCHES = {"enabled": True, "disabled": False}
# Without a key, an entry gets the beginning of its content as its key: this many characters of a preference, and a
# little more of any other entry.
_PREFERENCE_KEY, _OTHER_KEY = 50, 80


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRequest:
    """The arguments of `update_memory`."""

    target: Target
    action: Action
    content: str | None = None
    key: str | None = None
    location: str | None = None
    to: str | None = None
    expected_version: str | None = None
    idempotency_key: str | None = None

    @property
    def asked(self) -> Mapping[str, object]:
        """What is asked for, by which a repeated request is known."""
        named = ("target", "action", "content", "key", "location", "to")
        version = {} if self.expected_version is None else {"expected_version": self.expected_version}
        return {**{name: getattr(self, name) for name in named}, **version}

    @property
    def text(self) -> str:
        """The content, which the action needs."""
        return checked(self.content, "the content")

    @property
    def named(self) -> str:
        """The key, which the action needs."""
        if self.key is None or not self.key.strip():
            hint = f"use action get on {self.target} to see the keys"
            raise Rejected(f"{self.action} on {self.target} needs a key", hint=hint)
        return checked_name(self.key, "the key")

    @property
    def place(self) -> Mapping[str, object]:
        """The location, as a detail of an entry."""
        return {} if self.location is None else {"location": self.location}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUpdated:
    """The result of `update_memory`: the entries that were read, or the entry before and after."""

    target: Target
    action: Action
    message: str
    entries: tuple[MemoryEntry, ...] = ()
    before: MemoryEntry | None = None
    after: MemoryEntry | None = None
    note: str | None = None


def update_memory(being: Being, request: MemoryRequest) -> MemoryUpdated:
    """Read or change one of the ten targets."""
    if request.target not in TARGETS:
        raise Rejected(f"there is no target {request.target!r}", hint=f"choose from {', '.join(TARGETS)}")
    if request.action not in ACTIONS:
        raise Rejected(f"there is no action {request.action!r}", hint=f"choose from {', '.join(ACTIONS)}")
    if request.expected_version is not None and request.action not in ("update", "delete"):
        hint = "leave out expected_version: what is added changes nothing that others wrote"
        raise Rejected(f"{request.action} takes no version", hint=hint)
    return _SPECIAL.get(request.target, _update_entries)(being, request)


def _show_change(request: MemoryRequest, before: MemoryEntry | None, after: MemoryEntry | None) -> MemoryUpdated:
    """Make the result of a change."""
    key = next((each.key for each in (after, before) if each), "")
    verb = {"append": "added", "update": "updated", "delete": "deleted"}[request.action]
    message = f"ok: {verb} {request.target} {key!r}"
    return MemoryUpdated(target=request.target, action=request.action, message=message, before=before, after=after)


def _show_entries(request: MemoryRequest, entries: tuple[MemoryEntry, ...]) -> MemoryUpdated:
    """Make the result of a get."""
    count = f"{len(entries)} of {request.target}"
    return MemoryUpdated(target=request.target, action=request.action, message=count, entries=entries)


def _event(tx: Transaction, request: MemoryRequest, key: str | int) -> None:
    tx.event(target=request.target, action=request.action, key=key)


def _write_once(being: Being, request: MemoryRequest, act: Callable[[Transaction], MemoryUpdated]) -> MemoryUpdated:
    """Write in one transaction; under the same idempotency key once, with the first answer again."""
    return being.op.write_once("update_memory", request.idempotency_key, request.asked, MemoryUpdated, act)


def _update_entries(being: Being, request: MemoryRequest) -> MemoryUpdated:
    """Handle the targets that are stored under keys."""
    if request.action == "get":
        with being.op.read() as unit:
            return _show_entries(request, _read_entries(unit, being, request))
    if request.target == "diary" and request.action == "delete":
        raise Rejected("a diary page cannot be deleted", hint="update it instead")

    def act(tx: Transaction) -> MemoryUpdated:
        before, after = _change_entry(tx, being, request)
        _event(tx, request, after.key)
        return _show_change(request, before, None if request.action == "delete" else after)

    return _write_once(being, request, act)


def _read_entries(unit: Unit, being: Being, request: MemoryRequest) -> tuple[MemoryEntry, ...]:
    """Read one entry, or all entries of a target; of the diary, the last week."""
    if request.key is not None:
        return (_existing(unit, request.target, request.named),)
    if request.target == "diary":
        return recent_diary(unit, being.op)
    return entries_of(unit, request.target)


def _change_entry(tx: Transaction, being: Being, request: MemoryRequest) -> tuple[MemoryEntry | None, MemoryEntry]:
    """Carry out an action, and return the entry before and after; after a deletion, the deleted one again."""
    if request.action == "append":
        entry = _new_entry(being, request)
        before = find_entry(tx.unit, request.target, entry.key)
        # These accumulate; for the other targets, a new text under the same key replaces the old one.
        if before is not None:
            joins = request.target in ("knowledge", "relationship", "diary")
            content = join_texts(before.content, entry.content) if joins else entry.content
            # What is not given again, such as a location, stays.
            entry = replace(entry, content=content, detail={**before.detail, **entry.detail})
        return before, put_entry(tx, entry)
    before = _existing(tx.unit, request.target, request.named)
    check_entry_version(before, request.expected_version)
    if request.action == "delete":
        drop_entry(tx, before)
        return before, before
    return before, put_entry(tx, _edit_entry(before, request))


def _new_entry(being: Being, request: MemoryRequest) -> MemoryEntry:
    """Make the entry to be added; each target has its own default key."""
    text, target = request.text, request.target
    if target == "partner_rules":
        return _parse_rule(text)
    if target == "diary":
        default = diary_key(being.op, being.op.now)
    else:
        default = " ".join(text.split())[: _PREFERENCE_KEY if target == "preferences" else _OTHER_KEY].strip()
    key = request.named if request.key else checked_name(default, "the key")
    return MemoryEntry(
        target=target, key=key, title=key if request.key else default, content=text, detail=request.place
    )


def _parse_rule(text: str) -> MemoryEntry:
    """Parse a rule from "[category] title: body"."""
    parts = _RULE.fullmatch(text.strip())
    if parts is None:
        raise Rejected("this is not a rule", hint="write it as [category] title: body")
    title = checked_name(parts["title"], "the rule's title")
    detail = {"category": parts["category"].strip(), "enabled": True}
    return MemoryEntry(target="partner_rules", key=title, title=title, content=parts["body"].strip(), detail=detail)


def _edit_entry(before: MemoryEntry, request: MemoryRequest) -> MemoryEntry:
    """Replace the content of an entry; a rule can also be enabled or disabled."""
    text = request.text
    if before.target == "partner_rules":
        if text.strip() in _SWITCHES:
            return replace(before, detail={**before.detail, "enabled": _SWITCHES[text.strip()]})
        if _RULE.fullmatch(text.strip()):
            rule = _parse_rule(text)
            return replace(before, content=rule.content, title=rule.title, detail={**before.detail, **rule.detail})
    return replace(before, content=text, detail={**before.detail, **request.place})


def _existing(unit: Unit, target: str, key: str) -> MemoryEntry:
    """Find an entry that must exist."""
    entry = find_entry(unit, target, key)
    if entry is None:
        keys = ", ".join(repr(each.key) for each in entries_of(unit, target)[:10])
        hint = f"its keys are {keys}" if keys else "it has no entries yet"
        raise NotFound(f"nothing in {target} has the key {key!r}", hint=hint)
    return entry


@dataclass(frozen=True, slots=True)
class RelationRequest:
    """The arguments of `update_relation`."""

    entity_name: str
    relation_type: str
    content: str | None
    action: str
    expected_version: str | None = None


def update_relation(being: Being, request: RelationRequest, idempotency_key: str | None = None) -> MemoryEntry:
    """Record who somebody or something is, or forget it."""
    key = checked_name(request.entity_name, "the entity's name")
    if request.action not in ("upsert", "delete"):
        raise Rejected(f"there is no action {request.action!r}", hint="use upsert or delete")

    def act(tx: Transaction) -> MemoryEntry:
        known = find_entry(tx.unit, "relationship", key)
        check_entry_version(known, request.expected_version)
        tx.event(entity=key, action=request.action)
        if request.action == "delete":
            if known is None:
                raise NotFound(f"there is no relationship with {key!r}", hint="update_memory lists relationships")
            drop_entry(tx, known)
            return known
        return put_entry(tx, _related(request, key, known))

    return being.op.write_once("update_relation", idempotency_key, asdict(request), MemoryEntry, act)


def _related(request: RelationRequest, key: str, known: MemoryEntry | None) -> MemoryEntry:
    """Make the entry of a relationship; what is not given stays as it was."""
    before = "" if known is None else known.content
    text = checked(request.content, "the content") if request.content is not None else before
    kept = {} if known is None else known.detail
    detail = {**kept, "relation_type": checked_name(request.relation_type, "the type of relation")}
    return MemoryEntry(target="relationship", key=key, title=key, content=text or key, detail=detail)


def _update_soul(being: Being, request: MemoryRequest) -> MemoryUpdated:
    """Read the parts of the soul, or replace one of them in its prose."""
    prose = being.soul.read()
    parts = soul.parts_of(prose)
    if request.action == "get":
        if request.key is not None:
            return _show_entries(request, (_soul_part(_part_name(request.named), parts),))
        shown = [_soul_part(name, parts) for name in soul.PARTS]
        whole = MemoryEntry(target="souls", key="prose", content=prose)
        return _show_entries(request, tuple(each for each in [*shown, whole] if each.content))
    if request.action != "update":
        raise Rejected(f"{request.action} does not exist for souls", hint=f"update one of {', '.join(soul.PARTS)}")
    name = _part_name(request.named)
    once = Once("update_memory", request.idempotency_key, request.asked)
    return once.do(being.op, MemoryUpdated, lambda: _rewrite_soul(being, request, name))


def _rewrite_soul(being: Being, request: MemoryRequest, name: str) -> MemoryUpdated:
    prose = being.soul.read()
    before, wanted = _soul_part(name, soul.parts_of(prose)), soul.with_part(prose, name, request.text)
    if wanted != prose:
        check_entry_version(before, request.expected_version)
    # Prose and event are two transactions, because the soul belongs to another faculty, which also keeps its history.
    # If somebody else has written the soul since it was read, the first raises a Conflict and nothing happens.
    being.soul.supersede(wanted, instead_of=prose, reason=f"{name} was edited")
    with being.op.write("update_memory") as tx:
        _event(tx, request, name)
    return _show_change(request, before, _soul_part(name, soul.parts_of(being.soul.read())))


def _soul_part(name: str, parts: Mapping[str, str]) -> MemoryEntry:
    return versioned(MemoryEntry(target="souls", key=name, content=parts.get(name, "")))


def _part_name(key: str) -> str:
    """Check the name of a part of the soul."""
    name = key.strip().lower().replace(" ", "_")
    if name not in soul.PARTS:
        raise NotFound(f"the soul has no part {key!r}", hint=f"its parts are {', '.join(soul.PARTS)}")
    return name


def _update_open_notes(being: Being, request: MemoryRequest) -> MemoryUpdated:
    """Read, add, correct and delete notes; a scene that could not be read is parsed again after its edit."""
    op = being.op
    if request.action == "get":
        with op.read() as unit:
            notes = open_notes(unit) if request.key is None else (find_note(unit, request.named),)
        return _show_entries(request, tuple(map(_note_entry, notes)))
    prepared = op.index.prepare([note_document(request.text, op.now)]) if request.action == "append" else None

    def act(tx: Transaction) -> MemoryUpdated:
        if prepared is not None:
            (fresh,) = op.index.add(tx.unit, prepared, tx.at)
            add_note(tx, fresh, "note", request.text)
            _event(tx, request, fresh)
            return _show_change(request, None, _note_entry(find_note(tx.unit, fresh)))
        before = find_note(tx.unit, request.named)
        check_entry_version(_note_entry(before), request.expected_version)
        _event(tx, request, before.id)
        if request.action == "update":
            _edit_note(tx, before, request.text)
            return _show_change(request, _note_entry(before), _note_entry(find_note(tx.unit, before.id)))
        tx.unit.send("episodic.note_drop", ids=[before.id])
        # The note of a scene has no document until a patrol takes it in.
        if before.type != "scene":
            op.index.remove(tx.unit, [before.id])
        return _show_change(request, _note_entry(before), None)

    return _write_once(being, request, act)


def _edit_note(tx: Transaction, before: BeingNote, text: str) -> None:
    """Replace the content of a note, and its document if it has one."""
    if before.type == "scene":
        written = write_down(text, tx.op.today)
        change_note(tx, before, written.content, problem=written.problem)
    else:
        tx.op.index.revise(tx.unit, before.id, tx.op.index.prepare([note_document(text, tx.at)]), tx.at)
        change_note(tx, before, text)


def _note_entry(note: BeingNote) -> MemoryEntry:
    """Show a note in the form of an entry."""
    entry = MemoryEntry(
        target="notes",
        key=str(note.id),
        title=note.type,
        content=note.text,
        id=note.id,
        detail={"problem": note.problem} if note.problem else {},
        created_at=note.created_at,
    )
    # After its version was made: reading a note does not change it.
    read = {} if note.read_at is None else {"read_at": note.read_at.isoformat(timespec="seconds")}
    return replace(versioned(entry), detail={**entry.detail, **read})


def _update_messages(being: Being, request: MemoryRequest) -> MemoryUpdated:
    """Read messages from other Beings, send one, and edit or delete one's own copy."""
    if request.action != "append":
        return _update_entries(being, request)
    op, to = being.op, request.to or request.key
    if not to or being.party is None:
        raise Rejected("a party message needs a recipient", hint="name the Being with `to`")
    with op.read() as unit:
        is_sent = answered_before(unit, request.idempotency_key, "update_memory", request.asked) is not None
    waiting = None if is_sent else _put_out(being, request, to)

    def act(tx: Transaction) -> MemoryUpdated:
        if waiting is None:
            raise Conflict("the first answer to this call has expired", hint="use a new idempotency key")
        after = put_entry(tx, replace(waiting, detail=_message_detail(op.workspace.name, to, is_sent=True)))
        _event(tx, request, waiting.key)
        return _show_change(request, None, after)

    # Two workspaces are never written in one transaction. The message is first here, as one that is waiting, then
    # there, and then here as one that has arrived. Whoever calls again after a crash in between sends the same message.
    if waiting is not None:
        _deliver(being, request, to, waiting)
    return _write_once(being, request, act)


def _deliver(being: Being, request: MemoryRequest, to: str, waiting: MemoryEntry) -> None:
    """Deliver a message under the key of the call or, without one, of the copy that is waiting; it arrives once."""
    assert being.party is not None
    key = waiting.key if request.idempotency_key is None else f"key {request.idempotency_key}"
    try:
        being.party.deliver(to, waiting.content, f"party {being.op.workspace.id} {key}")
    except (NotFound, Forbidden, Rejected):
        with being.op.write("update_memory") as tx:
            drop_entry(tx, waiting)
        raise


def _put_out(being: Being, request: MemoryRequest, to: str) -> MemoryEntry:
    """Write down a message that is to be delivered, or find the one that an earlier call did not get to deliver."""
    with being.op.write("update_memory") as tx:
        for each in entries_of(tx.unit, "party_message"):
            if each.detail.get("is_waiting") and each.detail.get("to") == to and each.content == request.text:
                return each
        sent = _message(tx, request.text, sender=being.op.workspace.name, to=to, is_sent=True)
        return put_entry(tx, replace(sent, detail={**sent.detail, "is_waiting": True}))


def receive(being: Being, sender: str, text: str, key: str) -> None:
    """Store a message that another Being sent, once for each key."""

    def write(tx: Transaction) -> str:
        entry = _message(tx, checked(text, "the message"), sender=sender, to=tx.op.workspace.name, is_sent=False)
        put_entry(tx, entry)
        tx.event(sender=sender, key=entry.key)
        return entry.key

    being.op.write_once("receive", key, {"sender": sender, "text": text}, str, write)


def _message(tx: Transaction, text: str, *, sender: str, to: str, is_sent: bool) -> MemoryEntry:
    """Make the entry of a message; its key begins with the other Being's name."""
    other, title = (to, f"to {to}") if is_sent else (sender, f"from {sender}")
    key = f"{other}:{tx.unit.ids(1)[0]}"
    detail = _message_detail(sender, to, is_sent=is_sent)
    return MemoryEntry(target="party_message", key=key, title=title, content=text, detail=detail)


def _message_detail(sender: str, to: str, *, is_sent: bool) -> Mapping[str, object]:
    return {"from": sender, "to": to, "is_sent": is_sent}


_SPECIAL: dict[str, Callable[[Being, MemoryRequest], MemoryUpdated]] = {
    "souls": _update_soul,
    "notes": _update_open_notes,
    "party_message": _update_messages,
}
assert set(KINDS) | {"souls", "notes"} == set(TARGETS)
