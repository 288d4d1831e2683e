"""What a Being keeps under a key: preferences, knowledge, relationships, tools, map, diary, rules, messages.

Every entry is also a document, so that search finds it. Which verbs a target has is decided in `updating.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from everloom.clock import from_micros, to_micros
from everloom.episodic.ground import Ground
from everloom.kernel.search import Document
from everloom.store import Row, Unit

# The kind of document that an entry of each target is.
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
DIARY_DAYS = 7
LONGEST_TITLE = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing under a key; `detail` holds what only some targets have. Soul fields have no id."""

    target: str
    key: str
    content: str
    title: str = ""
    id: int | None = None
    detail: Mapping[str, object] = field(default_factory=dict)
    created_at: datetime | None = None
    updated_at: datetime | None = None


def entry_from(row: Row) -> Entry:
    """Read an entry from its row."""
    return Entry(
        id=row["id"],
        target=row["target"],
        key=row["entry_key"],
        title=row["title"],
        content=row["content"],
        detail=json.loads(row["detail"]),
        created_at=from_micros(row["created_at"]),
        updated_at=from_micros(row["updated_at"]),
    )


def find_entry(unit: Unit, target: str, key: str) -> Entry | None:
    """Find an entry by its key."""
    row = unit.one("episodic.entry_get", target=target, key=key)
    return None if row is None else entry_from(row)


def entries_of(unit: Unit, target: str, from_key: str = "") -> tuple[Entry, ...]:
    """List the entries of a target, by key."""
    return tuple(entry_from(row) for row in unit.all("episodic.entry_all", target=target, from_key=from_key))


def put_entry(unit: Unit, ground: Ground, entry: Entry, now: datetime) -> Entry:
    """Write an entry and its document, in place of the one under the same key.

    The document is prepared here, inside the transaction: only an embedder that takes no time is asked at once.
    """
    known = find_entry(unit, entry.target, entry.key)
    prepared = ground.index.prepare([document_of(entry, now)])
    values = {
        "title": entry.title,
        "content": entry.content,
        "detail": json.dumps(dict(entry.detail), ensure_ascii=False),
    }
    if known is None or known.id is None:
        (fresh,) = ground.index.add(unit, prepared, now)
        unit.run("episodic.entry_add", id=fresh, target=entry.target, key=entry.key, at=to_micros(now), **values)
    else:
        ground.index.revise(unit, known.id, prepared, now)
        unit.run("episodic.entry_change", id=known.id, at=to_micros(now), **values)
    (row,) = unit.all("episodic.entry_get", target=entry.target, key=entry.key)
    return entry_from(row)


def document_of(entry: Entry, now: datetime) -> Document:
    """Write what search sees of an entry."""
    title = entry.title or entry.key
    return Document(
        kind=KINDS[entry.target],
        title="" if entry.content.startswith(title) else title,
        text=entry.content,
        happened_at=now if entry.created_at is None else entry.created_at,
    )


def drop_entry(unit: Unit, ground: Ground, entry: Entry) -> None:
    """Erase an entry and its document."""
    if entry.id is not None:
        unit.run("episodic.entry_drop", id=entry.id)
        ground.index.remove(unit, [entry.id])


def joined(before: str, more: str) -> str:
    """Add a text to another after a blank line."""
    return f"{before}\n\n{more}" if before else more


def titled(content: str) -> str:
    """Make a title of the beginning of a text."""
    return " ".join(content.split())[:LONGEST_TITLE].strip()


def diary_key(at: datetime, zone: ZoneInfo) -> str:
    """Write the day of an instant as the key of its diary page."""
    return at.astimezone(zone).date().isoformat()


def recent_diary(unit: Unit, now: datetime, zone: ZoneInfo) -> tuple[Entry, ...]:
    """Read the diary of the last days."""
    return entries_of(unit, "diary", diary_key(now - timedelta(days=DIARY_DAYS - 1), zone))


def write_diary(unit: Unit, ground: Ground, key: str, text: str, now: datetime) -> Entry:
    """Add to a day's diary page; what is written there already stays."""
    known = find_entry(unit, "diary", key)
    content = joined("" if known is None else known.content, text)
    return put_entry(unit, ground, Entry(target="diary", key=key, title=key, content=content), now)
