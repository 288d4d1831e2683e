"""Stores a batch of records: turns and passages as documents in their session, facts as observations.

One transaction stores a batch together with what each record became and how far its file was read. What is known is
left out before anything slow is done, and again under the write lock. Refuses to know formats and files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from everloom.errors import Rejected
from everloom.imports.reading.lines import ENCODING
from everloom.imports.records import ForeignFact, ForeignNote, ForeignTurn, Record
from everloom.kernel.forgetting.tombstones import recognised, text_key
from everloom.kernel.imported import (
    FILE_KIND,
    BecameItem,
    Fate,
    PartState,
    attend_past,
    digest,
    fates_of,
    note_items,
    open_source,
    put_part,
    records_of_part,
    release,
)
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.search import Document
from everloom.kernel.texts import UNSTORABLE, checked_name
from everloom.kernel.trust.noticed import noticing
from everloom.kernel.trust.origin import OriginKind
from everloom.kernel.trust.review import hold
from everloom.kernel.trust.screen import label_of
from everloom.store import Unit

if TYPE_CHECKING:
    from everloom.semantic.arguments import ObservationKind
    from everloom.semantic.results import Learnt

FORGOTTEN = "forgotten earlier; `everloom forget --lift ID` lets it come back"
SECRET = "it holds a secret, and `review.secrets` refuses those"
# A longer text is stored in parts, which are neighbours: a vector of more would mean nothing in particular.
_LONGEST_PART = 6_000
# Of a text that is longer than what any verb takes, only so much is kept.
LONGEST_TEXT = 200_000
REST = f"the rest of a text of more than {LONGEST_TEXT:,} characters"
# Years in which nobody can have said anything: their days are not the same everywhere, or nowhere at all.
_EARLIEST, _LATEST = 1900, 2999


@dataclass(frozen=True, slots=True)
class Place:
    """Where records come from: the format, the path that was named, and the file at hand, as a hash."""

    format: str
    path: str
    part: str


@dataclass(slots=True)
class StoredBatch:
    """What became of the records of one batch; `skipped` has a reason for each that was left out."""

    source: int | None = None
    taken: int = 0
    known: int = 0
    held: int = 0
    secrets: int = 0
    skipped: list[str] = field(default_factory=list)
    sessions: set[str] = field(default_factory=set)
    # Every record by its hash, stored now or earlier.
    records: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _RecordDraft:
    """A record, or a part of one, that is to be stored, under its hash."""

    record: Record
    digest: str


def store_batch(op: Operation, place: Place, records: Sequence[Record], reached: PartState | None) -> StoredBatch:
    """Store records and how far their file was read, all or none; those that are known are counted."""
    told = op.at_most(f"{OriginKind.IMPORT}:{place.format}")
    stored = StoredBatch()
    with told.read() as unit:
        drafts = list(_fresh(unit, _drafts(told, place, records, stored), stored))
    if told.is_held and drafts:
        _hold(told, place, drafts, stored)
        drafts = []
    facts = [each for each in drafts if isinstance(each.record, ForeignFact)]
    if facts:
        _store_facts(told, place, facts, stored)
    _store_documents(told, place, [each for each in drafts if each not in facts] if facts else drafts, reached, stored)
    return stored


def retire_missing(op: Operation, part: str, present: set[str]) -> int:
    """Retire the passages of a file that are no longer in it; return how many."""
    with op.read() as unit:
        if records_of_part(unit, part).keys() <= present:
            return 0
    with replace(op, session=None).write("import") as tx:
        gone = {record: item for record, item in records_of_part(tx.unit, part).items() if record not in present}
        op.index.retire(tx.unit, [*gone.values()], None, tx.at)
        release(tx.unit, gone)
        tx.event(retired=sorted(gone.values()))
    return len(gone)


def preview_batch(op: Operation, place: Place, records: Sequence[Record]) -> StoredBatch:
    """Count what `store_batch` would do, without writing anything."""
    stored = StoredBatch()
    with op.read() as unit:
        drafts = list(_fresh(unit, _drafts(op, place, records, stored), stored))
        gone = recognised(unit, [text_key(_document(op, each.record).text) for each in drafts])
    for each in drafts:
        if text_key(_document(op, each.record).text) in gone:
            stored.skipped.append(FORGOTTEN)
        else:
            stored.taken += 1
            if isinstance(each.record, ForeignTurn):
                stored.sessions.add(each.record.session)
    return stored


def _drafts(op: Operation, place: Place, records: Sequence[Record], stored: StoredBatch) -> Iterator[_RecordDraft]:
    """Screen records, and divide long ones into parts."""
    seen: set[str] = set()
    for record in records:
        if (problem := _problem(record)) is not None:
            stored.skipped.append(problem)
            continue
        with noticing() as found:
            text = op.screen.kept(record.text, "text")
        if found:
            stored.secrets += 1
            if op.screen.on_secret == "refuse":
                stored.skipped.append(SECRET)
                continue
        if len(text) > LONGEST_TEXT:
            stored.skipped.append(REST)
        for number, part in enumerate(parts_of(text[:LONGEST_TEXT]), 1):
            key = digest(place.format, record.key, *([str(number)] if number > 1 else []))
            if key not in seen:
                seen.add(key)
                yield _RecordDraft(replace(record, text=part), key)


def _problem(record: Record) -> str | None:
    """Say why a record cannot be stored: one must not keep others of its batch away."""
    if not record.text.strip():
        return "an empty text"
    if not _EARLIEST <= record.at.year <= _LATEST:
        return "a time that cannot be true"
    texts, names = _told(record)
    if any(UNSTORABLE.search(text) for text in (record.text, *texts)):
        return ENCODING
    try:
        for name in names:
            checked_name(name, "a name")
    except Rejected:
        return "a name that cannot be stored"
    return None


def _told(record: Record) -> tuple[Sequence[str], Sequence[str]]:
    """Return what a record tells beside its text, and the names that it uses."""
    match record:
        case ForeignTurn():
            return (record.speaker, record.title), (record.session,)
        case ForeignNote():
            return (record.title, *record.labels), (record.file,)
        case ForeignFact():
            return (), (*record.subjects, *([record.kind] if record.kind else []))


def parts_of(text: str, longest: int = _LONGEST_PART) -> Iterator[str]:
    """Divide a text where a paragraph, a line or a word ends."""
    rest = text.strip()
    while len(rest) > longest:
        cuts = (rest.rfind(mark, longest // 2, longest) for mark in ("\n\n", "\n", ". ", " "))
        at = next((cut + 1 for cut in cuts if cut > 0), longest)
        if part := rest[:at].strip():
            yield part
        rest = rest[at:].strip()
    if rest:
        yield rest


def _fresh(unit: Unit, drafts: Iterator[_RecordDraft], stored: StoredBatch) -> Iterator[_RecordDraft]:
    """Leave out what is known or was forgotten."""
    waiting = list(drafts)
    stored.records.update(each.digest for each in waiting)
    fates = fates_of(unit, [each.digest for each in waiting])
    for each in waiting:
        if _is_fresh(fates.get(each.digest), stored):
            yield each


def _is_fresh(fate: Fate | None, stored: StoredBatch) -> bool:
    if fate == "here":
        stored.known += 1
    elif fate == "forgotten":
        stored.skipped.append(FORGOTTEN)
    return fate not in ("here", "forgotten")


def _store_documents(
    op: Operation, place: Place, drafts: Sequence[_RecordDraft], reached: PartState | None, stored: StoredBatch
) -> None:
    """Store turns and passages in one transaction, with how far their file was read."""
    if not drafts and reached is None:
        return
    prepared = op.index.prepare([_document(op, each.record) for each in drafts])
    # Without the session of whoever imports: what was said elsewhere belongs to its own.
    with replace(op, session=None).write("import") as tx:
        # Others may have taken in the same, or forgotten it, since it was looked up.
        fates = fates_of(tx.unit, [each.digest for each in drafts])
        gone = recognised(tx.unit, [text_key(each.text) for each in prepared.documents])
        kept: dict[int, Document] = {}
        for at, draft in enumerate(drafts):
            if not _is_fresh(fates.get(draft.digest), stored):
                continue
            if text_key(prepared.documents[at].text) in gone:
                stored.skipped.append(FORGOTTEN)
                continue
            kept[at] = prepared.documents[at]
        if kept:
            placed = _in_sessions(tx, drafts, kept, stored)
            ids = op.index.add(tx.unit, op.index.complete(prepared, placed), tx.at)
            _note(tx, place, [BecameItem(drafts[at].digest, item) for at, item in zip(kept, ids, strict=True)], stored)
            stored.taken += len(ids)
        if reached is not None:
            put_part(tx.unit, place.part, reached)


def _in_sessions(
    tx: Transaction, drafts: Sequence[_RecordDraft], kept: dict[int, Document], stored: StoredBatch
) -> dict[int, Document]:
    """Put documents into the sessions that they were said in, which begin and end with them."""
    labels: dict[int, tuple[str, str]] = {}
    for at in kept:
        record = drafts[at].record
        if isinstance(record, ForeignTurn):
            stored.sessions.add(record.session)
            labels[at] = (label_of(record.session) or "", "session")
        elif isinstance(record, ForeignNote):
            labels[at] = (record.file, FILE_KIND)
    ids: dict[tuple[str, str], int] = {}
    for label, kind in dict.fromkeys(labels.values()):
        times = [kept[at].happened_at for at, each in labels.items() if each == (label, kind)]
        ids[label, kind] = attend_past(tx.unit, label, min(times), max(times), kind=kind)
    return {at: replace(each, session_id=ids[labels[at]]) if at in labels else each for at, each in kept.items()}


def _note(tx: Transaction, place: Place, became: Sequence[BecameItem], stored: StoredBatch) -> None:
    """Record what records became, and the source that they came from."""
    source = open_source(tx.unit, place.format, place.path, tx.at)
    note_items(tx.unit, source, place.part, became)
    tx.event(source=source, count=len(became))
    stored.source = source


def _document(op: Operation, record: Record) -> Document:
    """Make the search document of a record."""
    match record:
        case ForeignTurn():
            # Who spoke and when are labels, so that a question about them finds it; the conversation's title is found
            # by its words, but does not blur what was said.
            day = f"{op.local(record.at):%d %B %Y}"
            return Document(
                kind="turn",
                text=f"{record.speaker}: {record.text}",
                labels=(record.speaker, day),
                details=record.title,
                happened_at=record.at,
            )
        case ForeignNote():
            return Document(
                kind="note", title=record.title, text=record.text, labels=record.labels, happened_at=record.at
            )
        case ForeignFact():
            return Document(kind="observation", text=record.text, happened_at=record.at)


def _hold(op: Operation, place: Place, drafts: Sequence[_RecordDraft], stored: StoredBatch) -> None:
    """Keep records for a person's review, one by one, in the sessions that they were said in."""
    became = []
    for each in drafts:
        record = each.record
        session = record.session if isinstance(record, ForeignTurn) else None
        if isinstance(record, ForeignFact):
            given = {
                "subject_names": list(record.subjects),
                "content": record.text,
                "observed_at": record.at,
                "kind": record.kind,
            }
            waiting = hold(replace(op, session=None), "semantic.remember", given, record.text)
        else:
            document = _document(op, record)
            waiting = hold(replace(op, session=label_of(session)), "add", {"documents": [document]}, document.whole)
        if waiting is not None:
            became.append(BecameItem(each.digest, waiting))
    with replace(op, session=None).write("import") as tx:
        _note(tx, place, became, stored)
    stored.held += len(became)


def _store_facts(op: Operation, place: Place, drafts: Sequence[_RecordDraft], stored: StoredBatch) -> None:
    """Store facts as observations, with what each became, in one transaction."""
    from everloom.semantic import Lesson, NewObservation  # noqa: PLC0415  most formats hold none
    from everloom.semantic.evidence import learn  # noqa: PLC0415

    lessons = [
        Lesson(
            observation=NewObservation(
                subject_names=each.record.subjects,
                content=each.record.text,
                # The word of the other program, which may be none of ours.
                kind=cast("ObservationKind | None", each.record.kind),
                observed_at=each.record.at,
            )
        )
        for each in drafts
        if isinstance(each.record, ForeignFact)
    ]

    def also(tx: Transaction, learnt: Sequence[Learnt]) -> None:
        became = []
        for draft, each in zip(drafts, learnt, strict=True):
            if each.added is None:
                stored.skipped.append(FORGOTTEN)
                continue
            became.append(BecameItem(draft.digest, each.added.id, not each.added.duplicate))
            stored.known += each.added.duplicate
            stored.taken += not each.added.duplicate
        _note(tx, place, became, stored)

    learn(replace(op, session=None), lessons, [], also, name="import_facts")
