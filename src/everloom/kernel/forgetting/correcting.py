"""Correcting: what is right takes the place of what is wrong, and both can be traced.

Evidence is never overwritten: the corrected item is a new one that names the old as its source. Only with `forget_old`
do the wrong words go, by the same means as in a forgetting. All of that is one transaction: that of the faculty that
makes the correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace

from everloom.errors import Conflict, Rejected
from everloom.kernel.forgetting.cleaning import clean
from everloom.kernel.forgetting.documents import scrub_records, words_left
from everloom.kernel.forgetting.erasing import carry_out, finish, make_plan, report
from everloom.kernel.forgetting.plan import Doomed, ForgetPlan, Traces
from everloom.kernel.forgetting.ports import Correction, Corrector, Eraser, SaysThatAlready
from everloom.kernel.forgetting.results import Corrected
from everloom.kernel.forgetting.tombstones import explain_absence, refuse_forgotten
from everloom.kernel.journal import judge, kind_of
from everloom.kernel.once import Once
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.texts import checked, indexed
from everloom.store import Row, Unit


def correct(
    op: Operation,
    item: int,
    new: Correction,
    parts: tuple[Sequence[Corrector], Sequence[Eraser]],
    key: str | None = None,
) -> Corrected:
    """Put a text in place of what an item says; under the same key once, with the first answer again."""
    checked(new.text, "the text")
    op.must_write()
    once = Once("correct", key, {"id": item, **asdict(new)})
    if (known := once.answered(op, Corrected)) is not None:
        return known
    is_repeated = once.was_begun(op) is not None
    try:
        done = _corrected(op, item, new, parts, once)
    except SaysThatAlready:
        # Another process has completed what an earlier attempt began; or two attempts ran at the same time.
        if (known := once.answered(op, Corrected)) is not None:
            return known
        if not is_repeated or new.forget_old:
            raise
        with op.read() as unit:
            done = _said(unit, item, item)
    return done if key is None else once.settle(op, done)


def _said(unit: Unit, item: int, now: int) -> Corrected:
    """Make the answer of a correction that is done, as far as the store knows it."""
    return Corrected(id=now, kind=kind_of(unit, now), replaced=item, how="it was corrected")


def _corrected(
    op: Operation, item: int, new: Correction, parts: tuple[Sequence[Corrector], Sequence[Eraser]], once: Once
) -> Corrected:
    correctors, erasers = parts
    with op.read() as unit:
        row = unit.one("kernel.item_get", id=item)
        if row is None:
            raise explain_absence(unit, item)
        refuse_forgotten(unit, [new.text])
        before = _claimed(unit, item, row, erasers)
        goes = new.forget_old and any(before.kind in each.replaces for each in correctors)
        would_go = make_plan(unit, [item], erasers) if goes else ForgetPlan({})
    once.begin(op)
    record = _Record(before, new, would_go, erasers, once)
    with ExitStack() as held:
        for eraser in erasers:
            held.enter_context(eraser.alone(would_go))
        # One after the other until somebody knows it: the others must not be asked, because asking corrects.
        done = next(
            (found for each in correctors if (found := each.correct(item, new, record.write)) is not None), None
        )
        if done is None:
            raise _refused(item, row)
        remains = finish(erasers) if new.forget_old else ()
    gone = report(record.gone, remains, *clean(op)) if new.forget_old else None
    return Corrected(id=done.id, kind=done.kind, replaced=item, how=done.how, forgotten=gone)


def _claimed(unit: Unit, item: int, row: Row, erasers: Sequence[Eraser]) -> Doomed:
    claims = (each.claim(unit, [item]) for each in erasers)
    before = next((claim[item] for claim in claims if item in claim), None)
    if before is None:
        raise _refused(item, row)
    return before


def _refused(item: int, row: Row) -> Rejected:
    return Rejected(
        f"{item} is of the kind {row['kind']}, which cannot be corrected by itself",
        hint="correct what was learnt from it, or forget it",
    )


@dataclass(slots=True)
class _Record:
    """What the kernel adds to a correction, in its transaction: the reason, the event, and the forgetting if wanted."""

    before: Doomed
    new: Correction
    would_go: ForgetPlan
    erasers: Sequence[Eraser]
    once: Once
    gone: ForgetPlan = field(default_factory=lambda: ForgetPlan({}))

    def write(self, tx: Transaction, now: int) -> None:
        """Write it; `now` is the item that says what is right."""
        old, reason = self.before.id, self.new.reason
        if reason and now != old and not self.new.forget_old:
            # Shown with the old item by `show`, so that whoever finds it learns why it no longer holds.
            judge(tx.unit, old, "questionable", reason, tx.at, tx.session_id)
        replace(tx, name="correct").event(id=now, replaced=old, reason=reason or "")
        if self.new.forget_old:
            forgetting = replace(tx, name="forget")
            self.gone = self._scrub(forgetting) if now == old else self._forget(forgetting, now)
        self.once.keep(tx.unit, _said(tx.unit, old, now), tx.at)

    def _forget(self, tx: Transaction, now: int) -> ForgetPlan:
        """Forget the item with the wrong words, which another one has replaced."""
        # The new one says what it says by itself: it must not go along as something that was made from the old.
        tx.unit.send("kernel.source_unlink", item=now, source=self.before.id)
        plan = make_plan(tx.unit, [self.before.id], self.erasers)
        if not plan.doomed.keys() <= self.would_go.doomed.keys():
            raise Conflict(f"what rests on {self.before.id} has just changed", hint="try again")
        carry_out(tx, plan, self.erasers)
        return plan

    def _scrub(self, tx: Transaction) -> ForgetPlan:
        """Forget what is left of the wrong words of an item that was changed in its place."""
        terms = set(indexed(self.before.text))
        tx.unit.send("forgetting.term_prune")
        traces = Traces([self.before.text], frozenset(terms - words_left(tx.unit, terms)))
        for eraser in self.erasers:
            eraser.scrub(tx, traces)
        plan = ForgetPlan({self.before.id: self.before})
        scrub_records(tx.unit, plan, traces)
        tx.event(id=self.before.id)
        return plan
