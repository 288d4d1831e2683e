"""Where an item comes from and what is known about it: the registry, the document, the chain of sources.

Reads what the kernel stores for items of every kind; anything beyond that is described by the item's faculty.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from everloom.clock import from_micros
from everloom.kernel.forgetting.tombstones import explain_absence
from everloom.kernel.imported import FILE_KIND, IMPORT_KIND, need_source
from everloom.kernel.journal import Signal, access_from, read_detail, signal_from
from everloom.kernel.lifecycle import Access
from everloom.kernel.trust.origin import trust_named
from everloom.kernel.trust.review import describe_held
from everloom.store import Row, Unit

# They bound the recursion and the size of the answer.
DEEPEST = 12
_WIDEST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Everything that the kernel knows about one item; `detail` is for its faculty to add to."""

    id: int
    kind: str
    created_at: datetime
    title: str = ""
    text: str = ""
    labels: tuple[str, ...] = ()
    standing: str | None = None
    confidence: float | None = None
    model_tier: str | None = None
    session: str | None = None
    happened_at: datetime | None = None
    # Where it comes from, and the kind of origin that it is worth as much as: that of its least trusted source.
    origin: str | None = None
    trust: str | None = None
    retired_at: datetime | None = None
    retired_by: int | None = None
    sources: tuple[int, ...] = ()
    access: Access = field(default_factory=Access)
    signals: tuple[Signal, ...] = ()
    detail: dict[str, Any] = field(default_factory=dict)
    # What was left off to keep within the budget of an answer.
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One link in the chain of sources that explains why an item is remembered.

    `is_cut`: the chain goes on below it. `left_off` counts the further sources of this link; `why` of its id, after the
    last one that is shown, goes on.
    """

    id: int
    kind: str
    text: str
    session: str | None
    at: datetime
    origin: str | None = None
    trust: str | None = None
    because: tuple[Reason, ...] = ()
    is_cut: bool = False
    left_off: int = 0


@dataclass(frozen=True, slots=True)
class Preview:
    """The beginning of an item, as lists show it."""

    id: int
    kind: str
    text: str
    is_retired: bool


def previews(unit: Unit, item_ids: Iterable[int]) -> dict[int, Preview]:
    """Read the beginnings of items; those without a text, and those that are gone, are absent."""
    rows = unit.all("words.preview_of", ids=list(dict.fromkeys(item_ids)))
    return {
        row["item_id"]: Preview(row["item_id"], row["kind"], row["title"] or row["text"], row["retired_at"] is not None)
        for row in rows
    }


def session_labels(unit: Unit, session_ids: Iterable[int]) -> dict[int, str]:
    """Read the labels of sessions."""
    return {row["id"]: row["label"] for row in unit.all("kernel.session_labels", ids=list(set(session_ids)))}


def show(unit: Unit, item_id: int) -> Shown:
    """Collect what is known about an item."""
    items, documents = unit.ask("kernel.item_get", id=item_id), unit.ask("words.document_of", ids=[item_id])
    labels = unit.ask("kernel.session_labels", ids=documents.ids("session_id"))
    about = {name: unit.ask(f"kernel.{name}_of", ids=[item_id]) for name in ("access", "source", "signal")}
    item = next(iter(items.get()), None)
    if item is None:
        raise explain_absence(unit, item_id)
    sessions = {row["id"]: str(row["label"]) for row in labels.get()}
    return Shown(
        id=item_id,
        kind=item["kind"],
        created_at=from_micros(item["created_at"]),
        sources=tuple(row["source_id"] for row in about["source"].get()),
        access=next((access_from(row) for row in about["access"].get()), Access()),
        signals=tuple(signal_from(row) for row in about["signal"].get()),
        **next((_document_fields(row, sessions) for row in documents.get()), {}),
        detail=_own_detail(unit, item["kind"], item_id),
    )


def _document_fields(row: Row, sessions: Mapping[int, str]) -> dict[str, Any]:
    """Read the fields of an item that its document's row holds."""
    return {
        "title": row["title"],
        "text": row["text"],
        "labels": tuple(json.loads(row["labels"])),
        "standing": row["standing"],
        "confidence": row["confidence"],
        "model_tier": row["model_tier"],
        "session": sessions.get(row["session_id"]),
        "happened_at": from_micros(row["happened_at"]),
        "origin": row["origin"],
        "trust": trust_named(row["trust"]),
        "retired_at": None if row["retired_at"] is None else from_micros(row["retired_at"]),
        "retired_by": row["retired_by"],
    }


def _own_detail(unit: Unit, kind: str, item_id: int) -> dict[str, Any]:
    """Describe the kernel's own kinds, which have no document."""
    if kind in ("session", "sitting", FILE_KIND):
        (row,) = unit.all("kernel.session_get", id=item_id)
        return {"label": row["label"], "started_at": from_micros(row["started_at"]), "model_tier": row["model_tier"]}
    if kind == IMPORT_KIND:
        source = need_source(unit, item_id)
        return {"label": source.place, "format": source.format, "items": source.items, "changed_at": source.changed_at}
    if kind == "held":
        return describe_held(unit, item_id)
    if kind == "event":
        (row,) = unit.all("kernel.event_get", id=item_id)
        return {"operation": row["operation"], "session_id": row["session_id"], **read_detail(row["detail"])}
    return {}


def why(unit: Unit, item_id: int, after: int = 0) -> Reason:
    """Follow an item's sources down to their origin; a source that occurs twice is followed once.

    Of many sources, the first are followed; `after` goes on after one of them.
    """
    kinds = {row["id"]: row["kind"] for row in unit.all("kernel.item_kinds", ids=[item_id])}
    if not kinds:
        raise explain_absence(unit, item_id)
    return _reason(unit, item_id, {item_id}, DEEPEST, after)


def _reason(unit: Unit, item_id: int, met: set[int], depth: int, after: int = 0) -> Reason:
    """Build one link and, below it, the links it rests on."""
    shown = show(unit, item_id)
    every = [source for source in shown.sources if source not in met and source > after]
    fresh = every[:_WIDEST]
    # Marked before going deeper: a source that several items share is shown once, and a cycle ends.
    met.update(fresh)
    return Reason(
        id=item_id,
        kind=shown.kind,
        text=shown.title or shown.text or str(shown.detail.get("label", "")),
        session=shown.session,
        at=shown.happened_at or shown.created_at,
        origin=shown.origin,
        trust=shown.trust,
        because=tuple(_reason(unit, source, met, depth - 1) for source in fresh) if depth else (),
        is_cut=bool(fresh) and not depth,
        left_off=len(every) - len(fresh) if depth else 0,
    )
