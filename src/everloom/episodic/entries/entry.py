"""Entries under a key: preferences, knowledge, relationships, tools, map, diary, rules, messages.

Every entry is also a document, so that search finds it. Which actions a target has is decided in `updating.py`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from everloom.clock import to_micros
from everloom.errors import Conflict
from everloom.kernel.forgetting.tombstones import refuse_forgotten
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.search import Document
from everloom.store import Row, Unit, value_from
from everloom.store.contract import Value

# The kind of document for the entries of each target.
KINDS = {
    "preferences": "preference",
    "knowledge": "knowledge",
    "relationship": "relationship",
    "partner_tools": "tool",
    "partner_map": "map",
    "diary": "diary",
    "partner_rules": "rule",
    "party_message": "party",
}
# The contract shows a week of the diary.
_DIARY_DAYS = 7
# 48 bits: two versions of one entry that are alike by chance would take millions of changes.
_VERSION_LENGTH = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEntry:
    """One entry; `detail` contains what only some targets have. Parts of the soul have no id."""

    target: str
    key: str
    content: str
    title: str = ""
    id: int | None = None
    detail: Mapping[str, object] = field(default_factory=dict)
    created_at: datetime | None = None
    updated_at: datetime | None = None
    # Of an entry that is stored: whoever changes it can say which version they saw.
    version: str = ""


def find_entry(unit: Unit, target: str, key: str) -> MemoryEntry | None:
    """Find an entry by its key."""
    row = unit.one("episodic.entry_get", target=target, key=key)
    return None if row is None else _entry_from(row)


def entries_of(unit: Unit, target: str, from_key: str = "") -> tuple[MemoryEntry, ...]:
    """List the entries of a target, by key."""
    return tuple(_entry_from(row) for row in unit.all("episodic.entry_all", target=target, from_key=from_key))


def put_entry(tx: Transaction, entry: MemoryEntry) -> MemoryEntry:
    """Write an entry and its document, replacing the one under the same key.

    The document is prepared here, inside the transaction: `prepare` calls an embedder only if it is fast.
    """
    unit, index = tx.unit, tx.op.index
    refuse_forgotten(unit, [entry.content])
    known = find_entry(unit, entry.target, entry.key)
    prepared = index.prepare([_document(entry, tx.at)])
    values: dict[str, Value] = {
        "title": entry.title,
        "content": entry.content,
        "detail": json.dumps(dict(entry.detail), ensure_ascii=False),
        "at": to_micros(tx.at),
    }
    if known is None or known.id is None:
        (fresh,) = index.add(unit, prepared, tx.at)
        unit.send("episodic.entry_add", id=fresh, target=entry.target, key=entry.key, **values)
    else:
        index.revise(unit, known.id, prepared, tx.at)
        unit.send("episodic.entry_change", id=known.id, **values)
    (row,) = unit.all("episodic.entry_get", target=entry.target, key=entry.key)
    return _entry_from(row)


def drop_entry(tx: Transaction, entry: MemoryEntry) -> None:
    """Delete an entry and its document."""
    if entry.id is not None:
        tx.unit.send("episodic.entry_drop", id=entry.id)
        tx.op.index.remove(tx.unit, [entry.id])


def join_texts(before: str, more: str) -> str:
    """Append a text to another after a blank line."""
    return f"{before}\n\n{more}" if before else more


def diary_key(op: Operation, at: datetime) -> str:
    """Write the local day of an instant as the key of its diary page."""
    return op.local(at).date().isoformat()


def recent_diary(unit: Unit, op: Operation) -> tuple[MemoryEntry, ...]:
    """Read the diary of the last week."""
    return entries_of(unit, "diary", diary_key(op, op.now - timedelta(days=_DIARY_DAYS - 1)))


def write_diary(tx: Transaction, key: str, text: str, detail: Mapping[str, object] | None = None) -> MemoryEntry:
    """Append to a day's diary page; what is said about it is kept and added to."""
    known = find_entry(tx.unit, "diary", key)
    content = join_texts("" if known is None else known.content, text)
    said = {**({} if known is None else known.detail), **(detail or {})}
    return put_entry(tx, MemoryEntry(target="diary", key=key, title=key, content=content, detail=said))


def _entry_from(row: Row) -> MemoryEntry:
    return versioned(value_from(MemoryEntry, row, key=row["entry_key"], detail=json.loads(row["detail"]), version=""))


def versioned(entry: MemoryEntry) -> MemoryEntry:
    """Return an entry with its version, a hash of what can be changed."""
    said = json.dumps([entry.title, entry.content, dict(entry.detail)], ensure_ascii=False, sort_keys=True)
    return replace(entry, version=hashlib.sha256(said.encode()).hexdigest()[:_VERSION_LENGTH])


def check_entry_version(entry: MemoryEntry | None, expected: str | None) -> None:
    """Refuse to change an entry that is not at the version the caller saw."""
    if expected is None or (entry is not None and entry.version == expected):
        return
    state = "is not there" if entry is None else f"is at version {entry.version}, not {expected}"
    name = "the entry" if entry is None else f"{entry.key!r} of {entry.target}"
    raise Conflict(f"{name} {state}", hint="read it again before you change it", current=entry)


def _document(entry: MemoryEntry, now: datetime) -> Document:
    """Make an entry's search document."""
    # A default key is the beginning of the content: as a title it would count the same words twice.
    title = entry.title or entry.key
    return Document(
        kind=KINDS[entry.target],
        title="" if entry.content.startswith(title) else title,
        text=entry.content,
        happened_at=entry.created_at or now,
    )
