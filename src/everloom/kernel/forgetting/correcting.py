"""Correcting: what is right takes the place of what is wrong, and both can be traced.

Evidence is never overwritten: the corrected item is a new one that names the old as its source. Only with `forget_old`
do the wrong words go, by the same means as in a forgetting.
"""

from __future__ import annotations

from collections.abc import Sequence

from everloom.errors import Rejected
from everloom.kernel.forgetting.cleaning import clean
from everloom.kernel.forgetting.documents import scrub_records, words_left
from everloom.kernel.forgetting.erasing import forget
from everloom.kernel.forgetting.plan import Doomed, ForgetPlan, Traces
from everloom.kernel.forgetting.ports import Correction, Corrector, Eraser
from everloom.kernel.forgetting.results import Corrected, Forgotten
from everloom.kernel.forgetting.selecting import Selection
from everloom.kernel.forgetting.tombstones import explain_absence, refuse_forgotten
from everloom.kernel.journal import judge
from everloom.kernel.operation import Operation
from everloom.kernel.texts import checked, indexed


def correct(
    op: Operation, item: int, new: Correction, correctors: Sequence[Corrector], erasers: Sequence[Eraser]
) -> Corrected:
    """Put a text in place of what an item says."""
    checked(new.text, "the text")
    with op.read() as unit:
        row = unit.one("kernel.item_get", id=item)
        if row is None:
            raise explain_absence(unit, item)
        refuse_forgotten(unit, [new.text])
        claims = (each.claim(unit, [item]) for each in erasers)
        before = next((claim[item] for claim in claims if item in claim), None)
    # One after the other until somebody knows it: the others must not be asked, because asking corrects.
    done = next((found for each in correctors if (found := each.correct(item, new)) is not None), None)
    if done is None or before is None:
        raise Rejected(
            f"{item} is of the kind {row['kind']}, which cannot be corrected by itself",
            hint="correct what was learnt from it, or forget it",
        )
    with op.write("correct") as tx:
        if new.reason and done.id != item:
            # Shown with the old item by `show`, so that whoever finds it learns why it no longer holds.
            judge(tx.unit, item, "questionable", new.reason, tx.at, tx.session_id)
        tx.event(id=done.id, replaced=item, reason=new.reason or "")
    gone = _drop_old(op, before, done.id, erasers) if new.forget_old else None
    return Corrected(id=done.id, kind=done.kind, replaced=item, how=done.how, forgotten=gone)


def _drop_old(op: Operation, before: Doomed, now: int, erasers: Sequence[Eraser]) -> Forgotten:
    """Forget the wrong words: the old item, or, where it was changed in place, what is left of its old text."""
    if now != before.id:
        chosen = Selection(ids=[before.id])
        return forget(op, chosen, forget(op, chosen, None, erasers).confirm, erasers)
    with op.write("forget") as tx:
        terms = set(indexed(before.text))
        tx.unit.run("forgetting.term_prune")
        traces = Traces([before.text], frozenset(terms - words_left(tx.unit, terms)))
        for eraser in erasers:
            eraser.scrub(tx, traces)
        scrub_records(tx.unit, ForgetPlan({before.id: before}), traces)
        tx.event(id=before.id)
    cleaned, remains = clean(op)
    return Forgotten(is_done=True, advice="the wrong words are gone", count=1, cleaned=cleaned, remains=remains)
