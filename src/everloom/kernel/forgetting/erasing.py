"""Forgetting from selection to clean files: plan, preview, confirmation, one transaction, then the engine's cleaning.

The plan is made twice: once for the preview, and once under the write lock, where it must still be the one that was
confirmed. Refuses to know faculties: each has an `Eraser`, and they are asked in turn until nothing more follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from everloom.errors import Conflict, EverloomError, Forbidden, Rejected
from everloom.kernel.forgetting.cleaning import clean
from everloom.kernel.forgetting.documents import drop_items, scrub_records, words_left
from everloom.kernel.forgetting.names import SESSION
from everloom.kernel.forgetting.plan import Doomed, ForgetPlan, Traces, opening
from everloom.kernel.forgetting.ports import Eraser
from everloom.kernel.forgetting.results import Forgotten, ForgottenItem, SparedItem
from everloom.kernel.forgetting.selecting import MOST, Selection, checked_selection, find_hits, select
from everloom.kernel.forgetting.tombstones import bury, explain_absence
from everloom.kernel.once import Once
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.texts import indexed
from everloom.store import Unit
from everloom.store.contract import EVERYTHING

# A preview is for reading; what is left off is counted, and the token stands for all of it.
_SHOWN = 50
_MENTIONS = 10
_LOOKED_AT = 20
_PREVIEW = "nothing is forgotten yet: call again with this token as confirm, once the person agrees"
_DONE = "forgotten for good"


def forget(
    op: Operation,
    wanted: Selection,
    confirm: str | None,
    erasers: Sequence[Eraser],
    within: tuple[str, str] = ("", ""),
    key: str | None = None,
) -> Forgotten:
    """Show what would be forgotten, or forget it if `confirm` is the token of exactly that.

    `within` names the task, and the holder of its lease, that forgets as a part of itself and goes on afterwards. A key
    counts for what is confirmed; a preview writes nothing.
    """
    once = Once("forget", key if confirm is not None else None, {"wanted": wanted, "confirm": confirm})
    if (known := once.answered(op, Forgotten)) is not None:
        return known
    chosen = checked_selection(wanted)
    hits = find_hits(op, chosen)
    with op.read() as unit:
        plan = make_plan(unit, select(unit, chosen, hits, erasers), erasers)
        preview = _preview(unit, plan)
    if confirm is None:
        return preview
    if confirm != plan.token:
        raise _changed(preview)
    with ExitStack() as held:
        for eraser in erasers:
            held.enter_context(eraser.alone(plan))
        with op.write("forget") as tx:
            now = make_plan(tx.unit, select(tx.unit, chosen, hits, erasers), erasers)
            if now.token != confirm:
                raise _changed(_preview(tx.unit, now))
            carry_out(tx, now, erasers, within)
            # After the words are gone: a receipt holds none of them. What could not be cleaned is known later.
            once.keep(tx.unit, report(now, (), (), ()), tx.at)
        if plan.of(SESSION):
            # Whatever else this call writes must not bring back the label of its own session.
            op = replace(op, session=None)
        remains = finish(erasers)
    done = report(now, remains, *clean(op))
    return done if once.key is None else once.settle(op, done)


def finish(erasers: Sequence[Eraser]) -> tuple[str, ...]:
    """Change the files, once the transaction is committed; return what remains."""
    # The transaction is the forgetting; a process that dies after it leaves files to the next one that opens them.
    return tuple(note for eraser in erasers for note in _finish(eraser))


def _finish(eraser: Eraser) -> tuple[str, ...]:
    """Let a faculty change its files; what fails now is reported, and completed by the next who opens them."""
    try:
        return eraser.finish()
    except (EverloomError, OSError) as error:
        return (f"files that could not be changed yet: {error}",)


def _changed(preview: Forgotten) -> Conflict:
    return Conflict(
        "this is not what was confirmed: what would be forgotten has changed since the preview",
        hint="look at it again: without confirm, what would go now is shown with its token",
        current=preview,
    )


def make_plan(unit: Unit, ids: Sequence[int], erasers: Sequence[Eraser]) -> ForgetPlan:
    """Find everything that goes with some items, until nothing more follows."""
    doomed: dict[int, Doomed] = {}
    reasons: dict[int, str] = {}
    fresh: Sequence[int] = list(ids)
    while True:
        doomed |= _claim(unit, fresh, erasers)
        plan = ForgetPlan(doomed, reasons)
        follows = [each.consequences(unit, plan) for each in erasers]
        taken = {item: why for each in follows for item, why in each.taken.items() if item not in doomed}
        if not taken:
            spared = {each.id: each for one in follows for each in one.spared if each.id not in doomed}
            return ForgetPlan(doomed, reasons, tuple(spared[item] for item in sorted(spared)))
        if len(doomed) + len(taken) > 2 * MOST:
            raise Rejected(f"more than {2 * MOST:,} items would go", hint="choose less at a time")
        reasons |= taken
        fresh = sorted(taken)


def _claim(unit: Unit, ids: Sequence[int], erasers: Sequence[Eraser]) -> Mapping[int, Doomed]:
    """Let each faculty describe its own; what nobody knows cannot be forgotten by itself."""
    claimed: dict[int, Doomed] = {}
    for eraser in erasers:
        claimed |= eraser.claim(unit, [item for item in ids if item not in claimed])
    for item in ids:
        if item not in claimed:
            row = unit.one("kernel.item_get", id=item)
            if row is None:
                raise explain_absence(unit, item)
            raise Rejected(
                f"{item} is a record of the kind {row['kind']}, which cannot be forgotten by itself",
                hint="forget what it is about; its words go along",
            )
    return claimed


def carry_out(tx: Transaction, plan: ForgetPlan, erasers: Sequence[Eraser], within: tuple[str, str] = ("", "")) -> None:
    """Delete the rows, then every trace of their words, and leave tombstones."""
    unit = tx.unit
    # In a conversation, the person has agreed between the preview and this.
    if within == ("", ""):
        _must_own(tx, plan)
    # A consolidation, a patrol or a turn that is under way may have read it already.
    unit.send("forgetting.lease_fence", task=within[0], holder=within[1])
    # Rows that refer to documents go before them: faculties first, the kernel last.
    for eraser in erasers:
        eraser.erase(tx, plan)
    drop_items(tx, plan)
    # Only now can be seen which words nobody else uses.
    terms = {word for each in plan.doomed.values() for word in indexed(each.text)}
    texts = [each.text for each in plan.doomed.values()]
    names = [name for each in plan.doomed.values() for name in each.names]
    traces = Traces(texts, frozenset(terms - words_left(unit, terms)), names)
    for eraser in erasers:
        eraser.scrub(tx, traces)
    scrub_records(unit, plan, traces)
    kinds = [each.kind for each in plan.doomed.values()]
    event = tx.event(ids=plan.ids, kinds={kind: kinds.count(kind) for kind in sorted(set(kinds))})
    bury(unit, plan.doomed.values(), event, tx.at)


def _must_own(tx: Transaction, plan: ForgetPlan) -> None:
    """Refuse to erase what is trusted more than the caller, if the caller is bound to an origin."""
    caller = tx.op.caller
    if caller is None:
        return
    rows = tx.unit.all("words.document_of", ids=list(plan.doomed))
    above = [row["item_id"] for row in rows if row["trust"] is not None and row["trust"] < caller.kind.rank]
    if above:
        hint = "a person can forget it on the page, or with `everloom forget` in a terminal"
        raise Forbidden(f"{above[0]} is trusted more than this caller, whose origin is {caller}", hint=hint)


def _preview(unit: Unit, plan: ForgetPlan) -> Forgotten:
    shown = _items(plan, with_words=True)
    return Forgotten(
        is_done=False,
        advice=_PREVIEW,
        confirm=plan.token,
        items=shown[:_SHOWN],
        spared=tuple(
            SparedItem(id=each.id, kind=each.kind, text=opening(each.text), change=each.change)
            for each in plan.spared[:_SHOWN]
        ),
        mentions=_mentions(unit, plan),
        left_off=max(0, len(shown) - _SHOWN) + max(0, len(plan.spared) - _SHOWN),
        count=len(shown),
    )


def report(plan: ForgetPlan, remains: tuple[str, ...], cleaned: tuple[str, ...], more: tuple[str, ...]) -> Forgotten:
    """Say what was done."""
    gone = _items(plan, with_words=False)
    return Forgotten(
        is_done=True,
        advice=_DONE,
        items=gone[:_SHOWN],
        left_off=max(0, len(gone) - _SHOWN),
        count=len(gone),
        cleaned=cleaned,
        remains=(*remains, *more),
    )


def _items(plan: ForgetPlan, *, with_words: bool) -> tuple[ForgottenItem, ...]:
    # What was chosen first, then what goes along.
    order = sorted(plan.doomed.values(), key=lambda each: (each.id in plan.reasons, each.id))
    return tuple(
        ForgottenItem(
            id=each.id,
            kind=each.kind,
            text=opening(each.text) if with_words else None,
            because=plan.reasons.get(each.id) if with_words else None,
        )
        for each in order
    )


def _mentions(unit: Unit, plan: ForgetPlan) -> tuple[ForgottenItem, ...]:
    """Find other documents that share words in a row with what goes."""
    found: dict[int, ForgottenItem] = {}
    known = {*plan.doomed, *(each.id for each in plan.spared)}
    for each in list(plan.doomed.values())[:_LOOKED_AT]:
        terms = dict.fromkeys(indexed(each.text), 1.0)
        if not terms:
            continue
        near = [item for item in unit.word_candidates(terms, _LOOKED_AT, EVERYTHING).get() if item not in known]
        traces = Traces([each.text], frozenset())
        for row in unit.all("words.document_of", ids=near):
            if traces.in_text(f"{row['title']} {row['text']}"):
                found[row["item_id"]] = ForgottenItem(id=row["item_id"], kind=row["kind"], text=opening(row["text"]))
    return tuple(found[item] for item in sorted(found))[:_MENTIONS]
