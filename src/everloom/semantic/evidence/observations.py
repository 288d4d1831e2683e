"""Observations: immutable evidence, tagged with subjects, never stored twice.

Owns `remember` and `add_observations`. Slow work (words, vectors, similar names) is done before the transaction;
everything that must be consistent is read inside it. Deletion and supersession are in `retraction`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple, TypeVar, cast

from everloom.clock import to_micros
from everloom.errors import Rejected
from everloom.kernel.forgetting.tombstones import SECRET, refuse_forgotten
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.search import PLANNED, Document, Prepared
from everloom.kernel.texts import checked, checked_list, checked_name, content_hash
from everloom.kernel.trust.origin import read_origin
from everloom.kernel.trust.resting import rest_on
from everloom.kernel.trust.review import HELD, hold
from everloom.semantic import arguments
from everloom.semantic.arguments import NewObservation, NewSubject, ObservationKind
from everloom.semantic.evidence.identity import (
    Candidates,
    Region,
    check_names,
    found_in,
    labels_in,
    mint,
    prepare_subjects,
)
from everloom.semantic.evidence.records import need_active
from everloom.semantic.results import Added, Remembered
from everloom.semantic.state import group_rows, names_in, news_for, read_state, reshape, signed, tell_news, tick
from everloom.store import Lookup, Row, Unit, look_up

T = TypeVar("T")

_LONGEST_KIND = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class _ObservationDraft(NewObservation):
    """An observation that was checked but not written yet; `names` maps the keys of its subjects to their names."""

    names: Mapping[str, str]
    hash: str

    @property
    def request(self) -> tuple[object, ...]:
        """The draft as a value that is equal for equal requests."""
        own = (*self.names, self.content, self.kind, self.confidence, self.observed_at, self.related_to)
        # A request that was made before there were plans is the same request without one.
        planned = ("planned",) if self.planned else ()
        return (*own, *planned) if self.origin is None else (*own, self.origin, *planned)

    def document(self, at: datetime) -> Document:
        """Make its search document, as far as that is known before the write."""
        happened_at = self.observed_at or at
        return Document(
            kind="observation",
            text=self.content,
            happened_at=happened_at,
            confidence=self.confidence,
            origin=self.origin,
            details=PLANNED if self.planned else "",
        )


@dataclass(frozen=True, slots=True)
class _ReadyDrafts:
    """Drafts whose slow work is done; `subjects` is None while all of them are believed to exist."""

    drafts: tuple[_ObservationDraft, ...]
    wanted: Mapping[str, NewSubject]
    documents: Prepared
    subjects: Candidates | None

    @property
    def asked(self) -> list[Lookup]:
        """What is looked up when they are written; `_DraftAnswers` reads the answers."""
        hashes = [draft.hash for draft in self.drafts]
        return [
            SECRET,
            look_up("semantic.subject_names_by_key", keys=list(self.wanted)),
            look_up("semantic.observation_by_hash", hashes=hashes),
            look_up("semantic.workspace_get"),
        ]


class _DraftAnswers(NamedTuple):
    """What there is already, as far as it concerns the drafts of a write: the rows of each lookup."""

    secrets: Sequence[Row]
    names: Sequence[Row]
    observations: Sequence[Row]
    state: Sequence[Row]


class _NewNames(Exception):
    """Subjects that were believed to exist do not: the write is rolled back, and made again with them prepared."""

    def __init__(self, keys: Sequence[str]) -> None:
        super().__init__()
        self.keys = keys


def prepare_observations(op: Operation, given: Iterable[NewObservation], *, are_known: bool = False) -> _ReadyDrafts:
    """Check observations, and prepare the words and vectors of them and of subjects that may be new.

    With `are_known`, subjects that this process has met are believed to exist; the caller writes by `_write_believing`.
    """
    drafts = tuple(
        _ObservationDraft(
            names=(names := check_names(each.subject_names, most=arguments.MOST_SUBJECTS)),
            subject_names=tuple(names.values()),
            content=(content := checked(each.content, "the content")),
            hash=content_hash(content),
            kind=None if each.kind is None else _check_kind(each.kind),
            confidence=None if each.confidence is None else arguments.share(each.confidence, "the confidence"),
            observed_at=None if each.observed_at is None else arguments.instant(each.observed_at, "observed_at"),
            related_to=arguments.ids(each.related_to, "related_to") if each.related_to else (),
            origin=None if each.origin is None else str(read_origin(each.origin)),
            planned=_check_plan(each),
        )
        for each in given
    )
    wanted: dict[str, NewSubject] = {}
    for draft in drafts:
        for key, name in draft.names.items():
            wanted.setdefault(key, NewSubject(name=name))
    documents = op.index.prepare([draft.document(op.now) for draft in drafts])
    # A guard may act once only, so that a write with guards cannot be made again.
    believed = are_known and not op.guards and op.lately.has_met(_met(op, wanted))
    return _ReadyDrafts(drafts, wanted, documents, None if believed else prepare_subjects(op, wanted))


def _write_believing(op: Operation, ready: _ReadyDrafts, write: Callable[[_ReadyDrafts], T]) -> T:
    """Write drafts; if some of their subjects turn out to be new, prepare them and write again."""
    # Most names exist. To embed them, and to look for similar ones, takes as long as all the rest of a write. One that
    # vanished since somebody met it costs a transaction that only finds out.
    try:
        answer = write(ready)
    except _NewNames as new:
        answer = write(replace(ready, subjects=prepare_subjects(op, ready.wanted, new.keys)))
    op.lately.meet(_met(op, ready.wanted))
    return answer


def _met(op: Operation, keys: Iterable[str]) -> Iterator[tuple[object, ...]]:
    """Name subjects for what a process remembers of them."""
    return ((op.workspace.id, "subject", key) for key in keys)


def _check_plan(given: NewObservation) -> bool:
    """Check whether an observation is a plan: a plan has a date."""
    if given.planned and given.observed_at is None:
        raise Rejected("a plan needs a date", hint="give it as observed_at, or leave out planned")
    return bool(given.planned)


def _check_kind(value: str) -> ObservationKind:
    """Check the kind of an observation: one short word. What other programs remember may have kinds of its own."""
    word = checked_name(value, "the kind")
    if len(word) > _LONGEST_KIND:
        hint = f"use at most {_LONGEST_KIND}, for example fact or preference"
        raise Rejected(f"the kind has {len(word)} characters", hint=hint)
    return cast("ObservationKind", word)


def remember(op: Operation, given: NewObservation, key: str | None) -> Remembered:
    """Store one observation, or keep it for review."""
    believed = prepare_observations(op, [given], are_known=True)
    draft = believed.drafts[0]
    if (waiting := _held(op, draft, given, key)) is not None:
        return reshape(Remembered, waiting)

    def act(ready: _ReadyDrafts, tx: Transaction) -> Remembered:
        known, news = tx.found[: len(_DraftAnswers._fields)], tx.found[len(_DraftAnswers._fields) :]
        (added,) = write_observations(tx, ready, known)
        event = tx.event(id=added.id, subjects_created=list(added.subjects_created), duplicate=added.duplicate)
        told = tell_news(tx, news[0], event) if news else None
        return reshape(Remembered, added, workspace_activity=told)

    def write(ready: _ReadyDrafts) -> Remembered:
        # Asked first, because nothing that is written here is news to the session that writes it.
        asked = [*ready.asked, *([] if op.session is None else [news_for(op.session)])]
        request = {"observation": draft.request}
        return op.write_once("remember", key, request, Remembered, partial(act, ready), asked=asked)

    return _write_believing(op, believed, write)


def add_observations(op: Operation, given: Sequence[NewObservation], key: str | None) -> tuple[Added, ...]:
    """Store many observations, all or none; those whose origin is held are kept for review."""
    every = checked_list(given, "observations", arguments.MOST_OBSERVATIONS)
    for each in every:
        op.told_by(each.origin)
    believed = prepare_observations(op, every, are_known=True)
    drafts = believed.drafts
    waiting = {at: kept for at, draft in enumerate(drafts) if (kept := _held(op, draft, every[at])) is not None}
    if waiting:
        free = [each for at, each in enumerate(every) if at not in waiting]
        stored = iter(add_observations(op, free, key) if free else ())
        return tuple(waiting[at] if at in waiting else next(stored) for at in range(len(every)))

    def act(ready: _ReadyDrafts, tx: Transaction) -> tuple[Added, ...]:
        added = write_observations(tx, ready, tx.found)
        created = [name for each in added for name in each.subjects_created]
        tx.event(ids=[each.id for each in added], subjects_created=created)
        return added

    def write(ready: _ReadyDrafts) -> tuple[Added, ...]:
        request = {"observations": [draft.request for draft in drafts]}
        shape = tuple[Added, ...]
        return op.write_once("add_observations", key, request, shape, partial(act, ready), asked=ready.asked)

    return _write_believing(op, believed, write)


def _held(op: Operation, draft: _ObservationDraft, given: NewObservation, key: str | None = None) -> Added | None:
    """Keep an observation for review if its origin is held."""
    told = op.told_by(draft.origin)
    if not told.is_held:
        return None
    arguments_given = {each.name: getattr(given, each.name) for each in fields(given)}
    waiting = hold(told, "semantic.remember", arguments_given, draft.content, key)
    if waiting is None:
        return None
    names = tuple(draft.names.values())
    return Added(
        id=waiting, content=draft.content, subject_names=names, subjects_created=(), duplicate=False, held=HELD
    )


def write_observations(
    tx: Transaction, ready: _ReadyDrafts, found: Sequence[Sequence[Row]] | None = None
) -> tuple[Added, ...]:
    """Write new observations, and add new subjects and links to those that exist already.

    Names and hashes are looked up inside the transaction, here unless they were `found` when it began: another session
    may have created the same subject or stored the same text since the drafts were prepared. Of equal drafts in one
    request, the first is written and the others are its duplicates.
    """
    unit, drafts, wanted = tx.unit, ready.drafts, ready.wanted
    there = _DraftAnswers(*(unit.together(*ready.asked) if found is None else found))
    refuse_forgotten(unit, [draft.content for draft in drafts], there.secrets)
    # Before anything is written: a link to a superseded understanding rejects the whole request.
    if related := [item for draft in drafts for item in draft.related_to]:
        need_active(unit, list(dict.fromkeys(related)))
    known = found_in(there.names)
    missing = [key for key in wanted if key not in known]
    if missing and ready.subjects is None:
        raise _NewNames(missing)
    similar = {} if ready.subjects is None else ready.subjects.similar
    known |= {} if ready.subjects is None else mint(tx, ready.subjects, missing)
    # A name and its alias in one request are one subject, tagged once.
    regions = [list({known[key].id: known[key] for key in draft.names}.values()) for draft in drafts]
    ids = {row["content_hash"]: row["id"] for row in there.observations}
    # Reversed, so that of equal drafts the first one stays in the dict.
    first = {draft.hash: at for at, draft in reversed(list(enumerate(drafts)))}
    fresh = sorted(at for digest, at in first.items() if digest not in ids)
    ids |= _write_fresh(tx, ready, {at: regions[at] for at in fresh}, there)
    repeated = {at: ids[draft.hash] for at, draft in enumerate(drafts) if at not in fresh}
    # After the fresh ones, because a repeated draft may repeat one that this request has just written.
    tags = group_rows(unit.all("semantic.observation_tags", ids=list(repeated.values()))) if repeated else {}
    tagged = {item: {row["subject_id"] for row in rows} for item, rows in tags.items()}
    changed = [_add_subjects(tx, item, regions[at], tagged[item]) for at, item in repeated.items()]
    _link(unit, [(understanding, ids[draft.hash]) for draft in drafts for understanding in draft.related_to])
    if any(changed):
        tags = group_rows(unit.all("semantic.observation_tags", ids=list(repeated.values())))
    names = [names_in(tags[repeated[at]]) if at in repeated else _names(each) for at, each in enumerate(regions)]
    unreported, answers = set(missing), []
    for at, draft in enumerate(drafts):
        # A subject is reported once, by the draft that first names it.
        minted = [key for key in draft.names if key in unreported]
        unreported.difference_update(minted)
        answers.append(
            Added(
                id=ids[draft.hash],
                content=draft.content,
                subject_names=names[at],
                subjects_created=tuple(wanted[key].name for key in minted),
                duplicate=at in repeated,
                similar_subjects=tuple(each for key in minted for each in similar.get(key, ())),
            )
        )
    return tuple(answers)


def _names(regions: Sequence[Region]) -> tuple[str, ...]:
    return tuple(region.name for region in regions)


def _write_fresh(
    tx: Transaction, ready: _ReadyDrafts, regions: Mapping[int, Sequence[Region]], there: _DraftAnswers
) -> dict[str, int]:
    """Write new observations, given their subjects by their places among the drafts, and return their ids by hash.

    The document comes first, because its id is the observation's. The `since` of a tag is the id of the observation
    itself: a subject is stale while it has a tag that is later than its understanding's `seen_through_id`.
    """
    if not regions:
        return {}
    unit, index, fresh = tx.unit, tx.op.index, list(regions)
    # A subject that was just created has no other name than its own.
    labels = {region.id: (region.name,) for each in regions.values() for region in each}
    labels |= {item: tuple(row["label"] for row in rows) for item, rows in group_rows(there.names, "id").items()}
    documents = {
        at: signed(tx, ready.drafts[at].document(tx.at), (name for each in regions[at] for name in labels[each.id]))
        for at in fresh
    }
    ids = dict(zip(fresh, index.add(unit, index.complete(ready.documents, documents), tx.at), strict=True))
    generation = read_state(unit, there.state).current_generation
    tagged = {at: sorted(region.id for region in regions[at]) for at in fresh}
    rows = (
        {
            "id": ids[at],
            "hash": ready.drafts[at].hash,
            "kind": ready.drafts[at].kind,
            "generation": generation,
            "session": tx.session_id,
            "subject_set": subject_set(tagged[at]),
        }
        for at in fresh
    )
    unit.many("semantic.observation_add", rows)
    tag(unit, ((ids[at], subject, ids[at]) for at in fresh for subject in tagged[at]))
    times = {at: to_micros(document.happened_at) for at, document in documents.items()}
    count_observed(unit, (_observed(ids[at], tagged[at], times[at]) for at in fresh))
    if tx.session_id is not None:
        # The session is an observation's own source, where the chain that `why` follows ends.
        unit.many("kernel.source_add", ({"item": item, "source": tx.session_id} for item in ids.values()))
        unit.send("semantic.session_observed", session=tx.session_id, count=len(fresh), through=max(ids.values()))
    return {ready.drafts[at].hash: ids[at] for at in fresh}


def subject_set(subject_ids: Iterable[int]) -> str:
    """Write a set of subjects so that equal sets are equal texts."""
    # Text and not rows, so that "about exactly these subjects" is one indexed comparison on both engines.
    return ",".join(map(str, sorted(set(subject_ids))))


def tag(unit: Unit, tags: Iterable[tuple[int, int, int]]) -> None:
    """Tag observations with subjects, from (observation, subject, since id) triples."""
    rows = ({"observation": observation, "subject": subject, "since": since} for observation, subject, since in tags)
    unit.many("semantic.observation_tag_add", rows)


class Observed(NamedTuple):
    """Something that is new to some subjects and pairs of subjects, as of an id."""

    through: int
    subjects: Sequence[int]
    pairs: Sequence[tuple[int, int]]
    at: int


def _observed(item: int, subjects: Sequence[int], at: int) -> Observed:
    return Observed(item, subjects, list(combinations(subjects, 2)), at)


def count_observed(unit: Unit, observed: Iterable[Observed], *, each_counts: int = 1) -> None:
    """Mark subjects and pairs as having something new, with one update for each; `observed` is in order of ids."""
    # A batch that tags one subject five hundred times must not update its row five hundred times: PostgreSQL keeps a
    # dead version of the row for each. The last `through` is the largest because ids grow.
    subjects: dict[int, dict[str, Any]] = {}
    pairs: dict[tuple[int, int], dict[str, Any]] = {}
    for through, ids, of_two, at in observed:
        for subject in ids:
            row = subjects.setdefault(subject, {"id": subject, "count": 0, "at": at})
            row |= {"count": row["count"] + each_counts, "through": through, "at": max(row["at"], at)}
        for pair in of_two:
            row = pairs.setdefault(pair, {"a": pair[0], "b": pair[1], "count": 0})
            row |= {"count": row["count"] + each_counts, "through": through}
    unit.many("semantic.subject_observed", subjects.values())
    unit.many("semantic.intersection_touch", pairs.values())


def _add_subjects(tx: Transaction, item: int, regions: Sequence[Region], known: set[int]) -> bool:
    """Add subjects to a stored observation, and to those that it has; False if it has all of them.

    It is new to them and to their pairs with its other subjects. An understanding of the old set of subjects no longer
    covers it, unless it cites it as a source.
    """
    unit, added = tx.unit, {region.id for region in regions} - known
    if not added:
        return False
    known |= added
    since, every = tick(unit), sorted(known)
    tag(unit, ((item, subject, since) for subject in sorted(added)))
    # `through` moves with the set: an earlier understanding of the new set has not seen this observation in it.
    unit.send("semantic.observation_retag", id=item, subject_set=subject_set(every), through=since)
    unit.send("semantic.cover_uncited", observation=item)
    (row,), names = unit.together(
        look_up("semantic.observation_of", ids=[item]), look_up("semantic.subject_name_of", ids=every)
    )
    pairs = [pair for pair in combinations(every, 2) if added.intersection(pair)]
    count_observed(unit, [Observed(since, sorted(added), pairs, row["happened_at"])])
    labels = labels_in(names)
    tx.op.index.relabel(unit, {item: tuple(name for subject in every for name in labels[subject])})
    return True


def _link(unit: Unit, links: Sequence[tuple[int, int]]) -> None:
    """Link understandings to observations that are direct evidence for them."""
    # The link is cleared when the next revision has read it; the source is permanent and inherited.
    rows = ({"understanding": understanding, "observation": observation} for understanding, observation in links)
    unit.many("semantic.linked_add", rows)
    rest_on(unit, links)
