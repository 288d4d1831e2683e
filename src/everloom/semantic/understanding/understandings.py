"""Understandings: syntheses that are superseded by a revision, never overwritten.

Owns what a new understanding replaces and inherits, which pointers move to it and which evidence it covers. The note on
a session is the exception: it is rewritten in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple, cast, get_args

from everloom.clock import to_micros
from everloom.errors import Rejected
from everloom.kernel.journal import Session
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.search import Document, Prepared, Standing
from everloom.kernel.texts import checked
from everloom.kernel.trust.resting import lower_trust, rest_on, trust_like_session
from everloom.semantic import arguments
from everloom.semantic.arguments import UnderstandingKind, WrittenKind
from everloom.semantic.evidence.identity import Region, check_names, labels_of, need, need_ids, need_one, region_from
from everloom.semantic.evidence.observations import subject_set
from everloom.semantic.evidence.reading import read_through
from everloom.semantic.evidence.records import (
    ancestors_of,
    need_active,
    need_items,
    understanding_at,
    understandings_of,
)
from everloom.semantic.results import (
    CreatedUnderstanding,
    DescribedSession,
    StructuralUnderstanding,
    Understanding,
    UpdatedUnderstanding,
)
from everloom.semantic.state import activity, clock_id, expect_version, session_named, signed, state_for_writing, tick
from everloom.store import Row, Unit, look_up

_DOCUMENT_KINDS = ("soul", "protocol", "orientation")
# Only these restate what the evidence says, so that search may rank the evidence below them. A structural note or a
# soul covers nothing.
_COVERING_KINDS = ("single_subject", "relationship")
# A structural note has no summary of its own; lists show its beginning, about two lines.
_STRUCTURAL_SUMMARY = 160
# How many subjects an understanding of each kind is about.
_SIZES: Mapping[str, tuple[int, int]] = {
    "single_subject": (1, 1),
    "relationship": (2, arguments.MOST_SUBJECTS),
    "structural": (1, 1),
    **dict.fromkeys(_DOCUMENT_KINDS, (0, arguments.MOST_SUBJECTS)),
}


@dataclass(frozen=True, slots=True)
class NewText:
    """The text of an understanding as the caller gives it; without subject names, its subjects stay the same."""

    content: str
    summary: str
    subject_names: Sequence[str] | None
    source_observation_ids: Sequence[int] | None
    reason: str | None
    seen_through_id: int | None
    expected_version: int | None
    dismissed_observation_ids: Sequence[int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis:
    """An understanding that is about to be written."""

    kind: UnderstandingKind = "single_subject"
    regions: tuple[Region, ...] = ()
    content: str
    summary: str
    prepared: Prepared
    replaces: tuple[int, ...] = ()
    version: int = 1
    sources: tuple[int, ...] = ()
    dismissed: tuple[int, ...] = ()
    reason: str | None = None
    seen_through_id: int | None = None

    @property
    def subject_set(self) -> str:
        """Its subjects, written as a set."""
        return subject_set(region.id for region in self.regions)


def _text_document(content: str, summary: str, at: datetime) -> Document:
    """Make an understanding's search document, as far as that is known before the write."""
    return Document(kind="understanding", title=summary, text=content, happened_at=at, standing=Standing.SYNTHESIS)


def prepare_text(op: Operation, content: str, summary: str) -> Prepared:
    """Prepare the words and the vector of an understanding."""
    return op.index.prepare([_text_document(content, summary, op.now)])


def _kind_for(kind: object, count: int) -> UnderstandingKind:
    """Choose the kind by the number of subjects, or check that the given kind fits that number."""
    if kind is None:
        kind = "single_subject" if count == 1 else "relationship"
    if kind not in _SIZES:
        known = ", ".join(get_args(WrittenKind))
        hint = "use describe_session for the note on a session" if kind == "session" else f"choose from {known}"
        raise Rejected(f"an understanding cannot be written as {kind!r}", hint=hint)
    least, most = _SIZES[cast("str", kind)]
    if not least <= count <= most:
        raise Rejected(f"a {kind} understanding cannot be about {count} subjects", hint=f"name {least} to {most}")
    return cast("UnderstandingKind", kind)


class _CheckedText(NamedTuple):
    """A text that was checked, with its words and vector; `request` is equal for equal requests."""

    names: Mapping[str, str] | None
    synthesis: Synthesis
    version: int | None
    request: tuple[object, ...]


def _check(op: Operation, given: NewText, prefix: str = "") -> _CheckedText:
    content = checked(given.content, f"the {prefix}content")
    summary = arguments.summary(given.summary, f"the {prefix}summary")
    named = given.subject_names
    names = None if named is None else check_names(named, most=arguments.MOST_SUBJECTS, least=0)
    version = arguments.version(given.expected_version)
    sources = arguments.ids(given.source_observation_ids, "source_observation_ids")
    dismissed = arguments.ids(given.dismissed_observation_ids, "dismissed_observation_ids")
    reason, seen = arguments.optional(given.reason, "the reason"), given.seen_through_id
    text = Synthesis(content=content, summary=summary, prepared=prepare_text(op, content, summary))
    keys = None if names is None else list(names)
    request = (keys, content, summary, sources, dismissed, reason, version, seen)
    whole = replace(text, sources=sources, dismissed=dismissed, reason=reason, seen_through_id=seen)
    return _CheckedText(names, whole, version, request)


def create(op: Operation, kind: WrittenKind | None, given: NewText, key: str | None) -> CreatedUnderstanding:
    """Write a new understanding; it supersedes the active one of the same kind and subjects."""
    text = _check(op, given)
    # Checked twice: here to reject a wrong call before it takes the write lock, and below because two of the names may
    # turn out to be one subject.
    _kind_for(kind, len(text.names or ()))

    def act(tx: Transaction) -> CreatedUnderstanding:
        regions = tuple(need(tx.unit, text.names or {}))
        chosen = _kind_for(kind, len(regions))
        replaced = active_of(tx.unit, chosen, regions)
        _expect_active(tx.unit, replaced, text.version)
        fresh, version = _replace(tx, text.synthesis, chosen, regions, replaced)
        old = tuple(row["id"] for row in replaced)
        names = tuple(region.name for region in regions)
        tx.event(id=fresh, kind=chosen, subjects=list(names), superseded=list(old))
        return CreatedUnderstanding(
            id=fresh, subject_names=names, kind=chosen, created_at=tx.at, version=version, superseded=old
        )

    return op.write_once("create_understanding", key, {"given": (kind, text.request)}, CreatedUnderstanding, act)


def update(
    op: Operation,
    understanding_id: int,
    given: NewText,
    key: str | None,
    also: Callable[[Transaction, int], None] = lambda _tx, _fresh: None,
) -> UpdatedUnderstanding:
    """Revise an understanding: a new row supersedes it; `also` writes in the same transaction."""
    old_id = arguments.one_id(understanding_id, "understanding_id")
    text = _check(op, given, "new ")

    def act(tx: Transaction) -> UpdatedUnderstanding:
        old = need_active(tx.unit, [old_id])[old_id]
        _expect_active(tx.unit, [old], text.version)
        regions = _regions_of(tx.unit, old) if text.names is None else tuple(need(tx.unit, text.names))
        # The kind stays, except that the number of subjects decides between the two ordinary ones.
        kind = _kind_for(None if old["kind"] in _COVERING_KINDS else old["kind"], len(regions))
        # With other subjects it may meet an understanding that already exists for them: then it replaces both.
        rivals = [row for row in active_of(tx.unit, kind, regions) if row["id"] != old_id]
        fresh, version = _replace(tx, text.synthesis, kind, regions, [old, *rivals])
        tx.event(old=old_id, new=fresh, reason=text.synthesis.reason)
        also(tx, fresh)
        return UpdatedUnderstanding(
            old_understanding_id=old_id,
            new_understanding_id=fresh,
            subject_names=tuple(region.name for region in regions),
            version=version,
            workspace_activity=activity(tx),
        )

    return op.write_once("update_understanding", key, {"given": (old_id, text.request)}, UpdatedUnderstanding, act)


def _regions_of(unit: Unit, row: Row) -> tuple[Region, ...]:
    return tuple(region_from(each) for each in unit.all("semantic.subject_of", ids=ids_in(row["subject_set"])))


def _replace(
    tx: Transaction, synthesis: Synthesis, kind: UnderstandingKind, regions: tuple[Region, ...], old: Sequence[Row]
) -> tuple[int, int]:
    """Write a text in place of others, and return its id and version."""
    ids, version = tuple(row["id"] for row in old), 1 + max((row["version"] for row in old), default=0)
    replaces = (*ids, *synthesis.replaces)
    whole = replace(synthesis, kind=kind, regions=regions, replaces=replaces, version=version)
    return write_understanding(tx, whole), version


def active_of(unit: Unit, kind: str, regions: Sequence[Region]) -> list[Row]:
    """Find the active understandings of this kind about exactly these subjects."""
    if kind in _DOCUMENT_KINDS:
        current = getattr(state_for_writing(unit), f"{kind}_id")
        return [] if current is None else unit.all("semantic.understanding_of", ids=[current])
    subjects = subject_set(region.id for region in regions)
    return unit.all("semantic.understanding_same_subjects", subject_set=subjects, kind=kind)


def _expect_active(unit: Unit, rows: Sequence[Row], version: int | None) -> None:
    """Reject replacing a version that the caller does not know; 0 means that there is none."""
    current, latest = max((row["version"] for row in rows), default=0), rows[-1]["id"] if rows else None
    expect_version(version, current, "the active understanding", lambda: understanding_at(unit, latest))


def set_structural(
    op: Operation, subject_name: str, content: str, expected: int | None, key: str | None
) -> StructuralUnderstanding:
    """Write or replace the note on a subject's identity and structure; versions are those of the note."""
    text, version = checked(content, "the content"), arguments.version(expected)
    prepared = prepare_text(op, text, structural_summary(text))

    def act(tx: Transaction) -> StructuralUnderstanding:
        region = need_one(tx.unit, subject_name)
        _expect_active(tx.unit, active_of(tx.unit, "structural", [region]), version)
        fresh, number = write_structural(tx, region, text, prepared)
        tx.event(id=fresh, subject=region.name)
        return StructuralUnderstanding(
            subject_name=region.name, understanding_id=fresh, created_at=tx.at, version=number
        )

    request = {"subject_name": subject_name, "content": text, "expected_version": version}
    return op.write_once("set_structural_understanding", key, request, StructuralUnderstanding, act)


def structural_summary(text: str) -> str:
    """Use the beginning of a note as its summary."""
    return " ".join(text.split())[:_STRUCTURAL_SUMMARY]


def write_structural(
    tx: Transaction, region: Region, text: str, prepared: Prepared, also_replaces: tuple[int, ...] = ()
) -> tuple[int, int]:
    """Write or replace a subject's structural note, and return its id and version."""
    rows = active_of(tx.unit, "structural", [region])
    summary = structural_summary(text)
    synthesis = Synthesis(content=text, summary=summary, prepared=prepared, replaces=also_replaces)
    return _replace(tx, synthesis, "structural", (region,), rows)


def write_understanding(tx: Transaction, synthesis: Synthesis) -> int:
    """Write an understanding, and move all pointers to it from those that it replaces.

    It has seen the evidence up to `seen_through_id` or, if the writer gives none, up to what the writer has read (see
    `read_through`). Later evidence makes its subjects stale, whenever it was observed. The old understandings are
    superseded before the pointers move, because superseding clears every pointer that still leads to them.
    """
    unit, regions = tx.unit, synthesis.regions
    need_items(unit, "observation", (*synthesis.sources, *synthesis.dismissed))
    seen = check_seen(unit, synthesis.seen_through_id)
    labels = labels_of(unit, [region.id for region in regions])
    document = _text_document(synthesis.content, synthesis.summary, tx.at)
    document = signed(tx, document, (name for region in regions for name in labels[region.id]))
    index = tx.op.index
    (fresh,) = index.add(unit, index.complete(synthesis.prepared, {0: document}), tx.at)
    if seen is None:
        seen = read_through(tx, regions, fresh) if synthesis.kind in _COVERING_KINDS else fresh
    unit.send(
        "semantic.understanding_add",
        id=fresh,
        kind=synthesis.kind,
        generation=state_for_writing(unit).current_generation,
        version=synthesis.version,
        seen_through=seen,
        reason=synthesis.reason,
        subject_set=synthesis.subject_set,
        at=to_micros(tx.at),
    )
    unit.many("semantic.understanding_tag_add", ({"understanding": fresh, "subject": region.id} for region in regions))
    rest_on(unit, ((fresh, source) for source in synthesis.sources))
    supersede(tx, synthesis.replaces, fresh)
    # After the sources of its predecessors are inherited: it cites those, too.
    unit.send("semantic.observation_place", understanding=fresh)
    unit.send("semantic.observation_dismiss", ids=list(synthesis.dismissed))
    point(unit, synthesis.kind, synthesis.subject_set, fresh)
    cover(tx, fresh, synthesis.kind, synthesis.subject_set, seen)
    return fresh


def check_seen(unit: Unit, seen_through_id: int | None) -> int | None:
    """Check the id up to which the writer has read."""
    if seen_through_id is None:
        return None
    # An id from the future would settle evidence that does not exist yet, and nobody would ever read it.
    seen, latest = arguments.one_id(seen_through_id, "seen_through_id"), clock_id(unit)
    if seen > latest:
        raise Rejected(
            f"no item has the id {seen} yet", hint=f"the latest is {latest}: give the as_of_id that you read"
        )
    return seen


def supersede(tx: Transaction, old: Sequence[int], new: int, *, was_read: bool = True) -> None:
    """Retire understandings; their successor inherits their sources.

    Whoever revises an understanding has read the observations that were linked to it. After a merge nobody has
    (`was_read` is false), and they stay linked to the successor.
    """
    if not old:
        return
    unit, ids = tx.unit, list(old)
    for row in unit.all("semantic.understanding_of", ids=ids):
        pair = pair_of(row["subject_set"]) if row["kind"] == "relationship" else None
        if pair is not None:
            unit.send("semantic.intersection_unpoint", a=pair[0], b=pair[1], old=row["id"])
            unit.send("semantic.intersection_settle", a=pair[0], b=pair[1])
    unit.send("semantic.subject_unpoint", old=ids)
    # This is the chain that `get_understanding_history` follows; nothing is ever deleted from it.
    unit.send("semantic.understanding_supersede", old=ids, new=new)
    unit.send("semantic.source_inherit", old=ids, new=new)
    lower_trust(unit, [new])
    if not was_read:
        unit.send("semantic.linked_move", old=ids, new=new)
    unit.send("semantic.linked_clear", ids=ids)
    tx.op.index.retire(unit, ids, new, tx.at)
    # A subject that lost its understanding falls back to what was reviewed, and may be waiting again.
    affected = unit.all("semantic.understanding_tags", ids=ids)
    unit.send("semantic.subject_settle", ids=sorted({row["subject_id"] for row in affected}))


def ids_in(subject_set: str) -> list[int]:
    """Read the ids out of a written set of subjects."""
    return [int(each) for each in subject_set.split(",") if each]


def pair_of(subject_set: str) -> tuple[int, int] | None:
    """Read a written set of subjects as a pair, if it has two."""
    ids = ids_in(subject_set)
    return (ids[0], ids[1]) if len(ids) == 2 else None


def point_pair(unit: Unit, pair: tuple[int, int], understanding: int) -> None:
    """Point the intersection of two subjects to the understanding of their relationship."""
    unit.send("semantic.intersection_point", a=pair[0], b=pair[1], understanding=understanding)
    unit.send("semantic.intersection_settle", a=pair[0], b=pair[1])


def point(unit: Unit, kind: str, subject_set: str, understanding: int) -> None:
    """Point the subject, the pair or the workspace to the understanding in force."""
    ids = ids_in(subject_set)
    if kind in _DOCUMENT_KINDS:
        unit.send("semantic.workspace_point", kind=kind, id=understanding)
    elif kind == "structural":
        unit.send("semantic.subject_point_structural", id=ids[0], understanding=understanding)
        unit.send("semantic.subject_touch", ids=ids)
    elif kind == "single_subject":
        unit.send("semantic.subject_point_single", id=ids[0], understanding=understanding)
        unit.send("semantic.subject_touch", ids=ids)
        unit.send("semantic.subject_settle", ids=ids)
    elif (pair := pair_of(subject_set)) is not None:
        point_pair(unit, pair, understanding)


def cover(tx: Transaction, understanding: int, kind: str, subject_set: str, seen: int) -> None:
    """Cover the evidence that an understanding has seen: observations of the same subjects, and its sources."""
    if kind not in _COVERING_KINDS:
        return
    unit = tx.unit
    # An observation that only shares a subject with it is not covered: it says something that this text does not.
    same, cited = unit.together(
        look_up("semantic.observation_same_subjects", subject_set=subject_set, through=seen),
        look_up("semantic.source_observations", ids=[understanding]),
    )
    evidence = [*(row["id"] for row in same), *(row["source_id"] for row in cited)]
    tx.op.index.cover(unit, understanding, dict.fromkeys(evidence))


def describe_session(
    op: Operation, summary: str, content: str | None, session_id: str | None, expected: int | None, key: str | None
) -> DescribedSession:
    """Write or replace a session's note."""
    label = session_id if session_id is not None else op.session
    if label is None:
        raise Rejected("there is no session to describe", hint="name one, or open the workspace with a session label")
    title, version = arguments.summary(summary), arguments.version(expected)
    text = title if content is None else checked(content, "the content")
    prepared = prepare_text(op, text, title)

    def act(tx: Transaction) -> DescribedSession:
        session = session_named(tx.unit, label)
        note = _note_of(tx.unit, session, version)
        document = signed(tx, _text_document(text, title, tx.at), [session.label])
        ready = op.index.complete(prepared, {0: document})
        # The only understanding that is rewritten in place: its history would be drafts of the same afternoon.
        if note is None:
            (item,) = op.index.add(tx.unit, ready, tx.at)
        else:
            item = note["id"]
            op.index.revise(tx.unit, item, ready, tx.at)
        _put_note(tx, item, session, is_new=note is None)
        trust_like_session(tx.unit, item, session.id)
        tx.event(id=item, session=session.label, summary=title)
        return DescribedSession(
            session_id=session.label,
            understanding_id=item,
            summary=title,
            version=1 if note is None else note["version"] + 1,
            started_at=session.started_at,
        )

    request = {"summary": title, "content": text, "session_id": label, "expected_version": version}
    return op.write_once("describe_session", key, request, DescribedSession, act)


def _note_of(unit: Unit, session: Session, version: int | None) -> Row | None:
    """Find a session's note, which must be at the expected version."""
    unit.send("semantic.session_ensure", session=session.id)
    (state,) = unit.all("semantic.session_get", session=session.id)
    pointer = state["understanding_id"]
    note = None if pointer is None else next(iter(unit.all("semantic.understanding_of", ids=[pointer])), None)
    current, what = 0 if note is None else note["version"], f"the note of session {session.label!r}"
    expect_version(version, current, what, lambda: understanding_at(unit, pointer))
    return note


def _put_note(tx: Transaction, item: int, session: Session, *, is_new: bool) -> None:
    """Write the note's row; it has seen everything that happened so far."""
    # A tick and not the note's own id: a rewritten note keeps its old id, which is earlier than what it now describes.
    unit, generation, through = tx.unit, state_for_writing(tx.unit).current_generation, tick(tx.unit)
    values = {"id": item, "generation": generation, "seen_through": through, "at": to_micros(tx.at)}
    if is_new:
        unit.send("semantic.understanding_add", **values, kind="session", version=1, reason=None, subject_set="")
        unit.send("kernel.source_add", item=item, source=session.id)
    else:
        unit.send("semantic.understanding_rewrite", **values)
    unit.send("semantic.session_described", session=session.id, understanding=item, through=through)


def get_understandings(op: Operation, subject_names: Sequence[str], limit: int) -> tuple[Understanding, ...]:
    """Show the active understandings about all of these subjects: about them alone first, then the newest."""
    most = arguments.limit(limit)
    with op.read() as unit:
        subjects = need_ids(unit, subject_names)
        rows = unit.all("semantic.understanding_tagged_all", subjects=subjects, count=len(subjects), limit=most)
        found = understandings_of(unit, [row["id"] for row in rows])
    # A short answer ends early, and what is about these subjects alone is what was asked for.
    return tuple(sorted((found[row["id"]] for row in rows), key=lambda each: len(each.subject_names)))


def get_history(op: Operation, understanding_id: int) -> tuple[Understanding, ...]:
    """Show an understanding and everything it superseded, newest first."""
    start = arguments.one_id(understanding_id, "understanding_id")
    with op.read() as unit:
        # Called only for its error, which tells a wrong kind from an unknown id.
        if not unit.all("semantic.understanding_of", ids=[start]):
            need_active(unit, [start])
        found = understandings_of(unit, ancestors_of(unit, start))
    return tuple(found[item] for item in sorted(found, reverse=True))
