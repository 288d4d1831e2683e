"""The kernel's own part in a forgetting: documents of no faculty, and what the kernel keeps about every item.

An imported document has nothing but its text; others may repeat that in their context, and are made without it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from everloom.kernel.forgetting.plan import Doomed, ForgetPlan, Traces, blanked, numbers_in
from everloom.kernel.forgetting.ports import Eraser
from everloom.kernel.forgetting.tombstones import text_key
from everloom.kernel.journal import FORGOTTEN
from everloom.kernel.operation import Transaction
from everloom.store import Unit

_NUMBER = re.compile(r"\d{1,18}")
_PAGE = 2_000
# Shorter than this, a text may stand in another's context by chance.
_LEAST_REPEATED = 12


class DocumentEraser(Eraser):
    """Forgets documents that belong to no faculty; asked last."""

    def claim(self, unit: Unit, ids: Collection[int]) -> Mapping[int, Doomed]:
        """Describe documents."""
        return {
            row["item_id"]: Doomed(
                id=row["item_id"],
                kind=row["kind"],
                text=" ".join(part for part in (row["title"], row["text"], row["details"]) if part),
                state=str(row["retired_at"]),
                keys=(text_key(row["text"]),),
            )
            for row in unit.all("words.document_of", ids=list(ids))
        }

    def erase(self, tx: Transaction, plan: ForgetPlan) -> None:
        """Take the texts of documents out of the context of others."""
        unit, index, doomed = tx.unit, tx.op.index, set(plan.ids)
        texts = [each.text for each in index.documents(unit, plan.ids).values()]
        for text in texts:
            if len(text) < _LEAST_REPEATED:
                continue
            rows = unit.all("forgetting.context_holding", pattern=_containing(text))
            for item, other in index.documents(unit, [row["id"] for row in rows if row["id"] not in doomed]).items():
                context = " ".join(other.context.replace(text, " ").split())
                index.revise(unit, item, index.prepare([replace(other, context=context)]), tx.at)


def _containing(text: str) -> str:
    escaped = text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{escaped}%"


def drop_items(tx: Transaction, plan: ForgetPlan) -> None:
    """Delete what the kernel keeps about items: documents, sources, accesses, verdicts, and the items themselves."""
    unit, ids = tx.unit, plan.ids
    tx.op.index.remove(unit, ids)
    verdicts = [row["id"] for row in unit.all("forgetting.signal_ids", ids=ids)]
    unit.send("forgetting.unretire", ids=ids)
    for name in ("source_drop", "access_drop", "signal_drop"):
        unit.send(f"kernel.{name}", ids=ids)
    unit.send("kernel.item_drop", ids=[*(item for item in ids if not plan.doomed[item].lingers), *verdicts])
    unit.send("forgetting.term_prune")


def scrub_records(unit: Unit, plan: ForgetPlan, traces: Traces) -> None:
    """Take the words out of events, receipts, reports and errors; that something was done stays on record."""
    ids = set(plan.ids)
    _scrub_events(unit, ids, traces)
    for row in unit.all("forgetting.receipt_all"):
        answer = _read(row["answer"])
        if traces.in_text(row["idempotency_key"]):
            # The key itself tells it. Whoever repeats the call is stopped by the tombstone.
            unit.send("forgetting.receipt_drop", key=row["idempotency_key"])
        elif ids & numbers_in(answer, named_as_id=True) or traces.in_data(answer):
            unit.send("forgetting.receipt_blank", key=row["idempotency_key"], answer=json.dumps({FORGOTTEN: True}))
    for row in unit.all("forgetting.lease_texts"):
        if (told := _told(row["last_report"], row["last_error"], traces)) is not None:
            unit.send("forgetting.lease_blank", task=row["task"], error=None, report=told[0])
    for row in unit.all("forgetting.job_texts"):
        if (told := _told(row["report"], row["error"], traces)) is not None:
            unit.send(
                "forgetting.job_blank", id=row["id"], error=None if row["error"] is None else FORGOTTEN, report=told[0]
            )
    for row in unit.all("forgetting.usage_errors"):
        if traces.in_text(row["error"]):
            unit.send("forgetting.usage_blank", id=row["id"], error=FORGOTTEN)


def _told(report: str | None, error: str | None, traces: Traces) -> tuple[str | None] | None:
    """Return a report without its words if it, or its error, tells what is forgotten; None if neither does."""
    known = None if report is None else _read(report)
    if not (traces.in_data(known) or traces.in_text(error or "")):
        return None
    return (None if known is None else json.dumps(blanked(known)),)


def _scrub_events(unit: Unit, ids: set[int], traces: Traces) -> None:
    # An event is later than what it is about. One that wrote several items may be about others as well: only its words
    # go, never the ids.
    after = min(ids) - 1
    while rows := unit.all("forgetting.event_page", after=after, limit=_PAGE):
        after = rows[-1]["id"]
        blank = []
        for row in rows:
            detail = _read(row["detail"])
            if _has_text(detail) and (ids & numbers_in(detail) or traces.in_data(detail)):
                blank.append({"id": row["id"], "detail": json.dumps(blanked(detail), sort_keys=True)})
        unit.many("forgetting.event_blank", blank)


# A bit that changed must not keep anything from being forgotten: what is no longer JSON is looked through as the text
# that it is, and blanked if it may be about what goes.
def _read(text: str) -> object:
    """Read JSON; of what is damaged, keep the text and its numbers."""
    try:
        return json.loads(text)
    except ValueError:
        return {"damaged": text, "ids": [int(number) for number in _NUMBER.findall(text)]}


def _has_text(detail: object) -> bool:
    match detail:
        case str():
            return bool(detail)
        case Mapping():
            return any(_has_text(each) for each in detail.values())
        case list() | tuple():
            return any(_has_text(each) for each in detail)
    return False


def words_left(unit: Unit, terms: Iterable[str]) -> set[str]:
    """Find which words are still held by some document."""
    return {*unit.count_holding([*terms]).get()}
