"""What was taken in from elsewhere: from which place, how far each file was read, and what each record became.

Everything here runs inside the caller's unit of work, so that what was read and how far are written together. Foreign
names are kept as hashes. Refuses to know formats, and what the items are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Literal

from everloom.clock import from_micros, to_micros
from everloom.errors import NotFound
from everloom.kernel.forgetting.plan import Traces
from everloom.kernel.forgetting.ports import Eraser
from everloom.kernel.journal import register, session_from
from everloom.kernel.operation import Transaction
from everloom.kernel.texts import checked_name
from everloom.store import Row, Unit

IMPORT_KIND = "import"
# The kind of a session whose documents are the passages of a file; nobody held it, so it is not among the sessions.
FILE_KIND = "file"
# Whether the item of a record is here, was forgotten, or was lifted out of oblivion.
Fate = Literal["here", "forgotten", "gone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSource:
    """A place that something was taken in from, and how much of that there still is."""

    id: int
    format: str
    place: str
    started_at: datetime
    changed_at: datetime
    items: int
    undone_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PartState:
    """How far a file was read: its size and time then, the hash of its beginning, and whether its end was reached."""

    position: int
    size: int
    stamp: int
    head: str
    is_done: bool


@dataclass(frozen=True, slots=True)
class BecameItem:
    """What a record became: an item, and whether there was none before."""

    record: str
    item: int
    is_own: bool = True


def digest(*names: str) -> str:
    """Hash the name of a place, a file or a record, so that nothing of it can be read."""
    return blake2b("\x00".join(names).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def open_source(unit: Unit, format_name: str, place: str, at: datetime) -> int:
    """Return the id of a source, recording it if it is new."""
    key = digest(format_name, place)
    row = unit.one("imports.source_by_place", place_key=key)
    if row is not None:
        unit.send("imports.source_touch", id=row["id"], place=place, at=to_micros(at))
        return int(row["id"])
    (fresh,) = register(unit, IMPORT_KIND, at)
    unit.send("imports.source_add", id=fresh, format=format_name, place=place, place_key=key, at=to_micros(at))
    return fresh


def need_source(unit: Unit, source_id: int) -> ImportSource:
    """Read a source."""
    row = unit.one("imports.source_of", id=source_id)
    if row is None:
        raise NotFound(f"there is no import {source_id}", hint="`everloom imports` lists them")
    return _source_from(row)


def list_sources(unit: Unit, limit: int) -> list[ImportSource]:
    """List sources, the latest first."""
    return [_source_from(row) for row in unit.all("imports.source_recent", limit=limit)]


def items_of_source(unit: Unit, source_id: int, after: int, limit: int) -> list[int]:
    """List the items that there are because of a source, oldest first."""
    return [row["id"] for row in unit.all("imports.item_of_source", source=source_id, after=after, limit=limit)]


def part_state(unit: Unit, part: str) -> PartState | None:
    """Return how far a file was read; None if it is new."""
    row = unit.one("imports.part_get", part=part)
    if row is None:
        return None
    return PartState(row["position"], row["size"], row["stamp"], row["head"], bool(row["is_done"]))


def put_part(unit: Unit, part: str, state: PartState) -> None:
    """Record how far a file was read."""
    unit.send(
        "imports.part_put",
        part=part,
        position=state.position,
        size=state.size,
        stamp=state.stamp,
        head=state.head,
        is_done=int(state.is_done),
    )


def fates_of(unit: Unit, records: Sequence[str]) -> Mapping[str, Fate]:
    """Look up what became of records; those that were never taken in are absent."""
    return {row["record_key"]: _fate(row) for row in unit.all("imports.item_known", keys=list(records))}


def note_items(unit: Unit, source_id: int, part: str, became: Sequence[BecameItem]) -> None:
    """Record which items records became; the chain that `why` follows from one that is new ends at its source."""
    unit.many("kernel.source_add", ({"item": each.item, "source": source_id} for each in became if each.is_own))
    unit.many(
        "imports.item_put",
        (
            {"record": each.record, "item": each.item, "source": source_id, "part": part, "is_own": int(each.is_own)}
            for each in became
        ),
    )


def note_approval(unit: Unit, held_id: int, item_id: int, *, is_own: bool) -> None:
    """Record which item became of a record that waited for review, if it came from an import."""
    unit.send("imports.item_approved", held=held_id, item=item_id, is_own=int(is_own))


def records_of_part(unit: Unit, part: str) -> dict[str, int]:
    """Read which current documents came from a file, by record."""
    return {row["record_key"]: row["item_id"] for row in unit.all("imports.item_of_part", part=part)}


def release(unit: Unit, records: Mapping[str, int]) -> None:
    """Give up the names of records that are no longer in their file; their items still belong to the source."""
    unit.many(
        "imports.item_rename",
        ({"record": record, "fresh": digest(record, str(item))} for record, item in records.items()),
    )


def attend_past(unit: Unit, label: str, begin: datetime, end: datetime, *, kind: str = "session") -> int:
    """Return the id of a session that was held in the past, recording it if it is new."""
    wanted = checked_name(label, "the session's id")
    row = unit.one("kernel.session_by_label", label=wanted)
    if row is None:
        (fresh,) = register(unit, kind, begin)
        unit.send("kernel.session_add", id=fresh, label=wanted, model_tier=None, at=to_micros(begin))
    else:
        fresh = session_from(row).id
    unit.send("imports.session_span", id=fresh, begin=to_micros(begin), end=to_micros(end))
    return fresh


class ImportEraser(Eraser):
    """Takes forgotten words out of the places that something came from."""

    def scrub(self, tx: Transaction, traces: Traces) -> None:
        """Empty the places that tell what is forgotten; their hashes stay, and tell nothing."""
        for row in _telling(tx.unit.all("imports.source_places"), traces):
            tx.unit.send("imports.source_blank", id=row["id"])


def _telling(rows: Iterable[Row], traces: Traces) -> Iterator[Row]:
    return (row for row in rows if traces.in_text(row["place"]))


def _fate(row: Row) -> Fate:
    if row["present_id"] is not None:
        return "here"
    return "forgotten" if row["buried"] else "gone"


def _source_from(row: Row) -> ImportSource:
    return ImportSource(
        id=row["id"],
        format=row["format"],
        place=row["place"],
        started_at=from_micros(row["started_at"]),
        changed_at=from_micros(row["changed_at"]),
        items=row["items"],
        undone_at=None if row["undone_at"] is None else from_micros(row["undone_at"]),
    )
