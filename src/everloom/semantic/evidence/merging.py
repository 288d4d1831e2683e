"""Merging two subjects, in one transaction.

Everything about the duplicate moves to the primary. Whatever the surviving understandings have not seen counts as new,
so that the next consolidation reads it.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from everloom.errors import Rejected
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.search import Prepared
from everloom.semantic import arguments
from everloom.semantic.evidence.identity import Region, check_names, find, need_one, put_tags, subject_document
from everloom.semantic.evidence.observations import subject_set, tag
from everloom.semantic.evidence.subjects import expect_subject, relabel_subject, subjects_of
from everloom.semantic.results import MergedSubjects
from everloom.semantic.state import SemanticState, group_rows, signed, state_for_writing, state_of, tick
from everloom.semantic.understanding.understandings import (
    active_of,
    pair_of,
    point_pair,
    prepare_text,
    structural_summary,
    supersede,
    write_structural,
)
from everloom.store import Unit


@dataclass(frozen=True, slots=True)
class _Twins:
    """The two subjects, and the id that marks the moment of the merge."""

    primary: Region
    duplicate: Region
    clock: int

    @property
    def duplicate_survives(self) -> bool:
        """Whether the duplicate's understanding becomes the only one."""
        return self.primary.single_id is None and self.duplicate.single_id is not None


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The texts that a merge writes: the structural note, and the subject's document with its future summary."""

    note: str
    note_document: Prepared
    subject_document: Prepared


def merge(op: Operation, primary: str, duplicate: str, expected: int | None, key: str | None) -> MergedSubjects:
    """Move everything about the duplicate to the primary, and keep its name as an alias."""
    wanted, version = check_names([primary, duplicate]), arguments.version(expected)
    with op.read() as unit:
        known = find(unit, wanted)
        two = list({known[name].id: known[name] for name in wanted if name in known}.values())
        # A repeated call finds one subject: there is nothing to prepare, and the stored receipt answers it.
        note = _note_text(unit, two[0], two[1], state_of(unit)) if len(two) == 2 else ""
    ready = _prepare(op, two[0], two[1], note) if note else None

    def act(tx: Transaction) -> MergedSubjects:
        one, other = need_one(tx.unit, primary), need_one(tx.unit, duplicate)
        if one.id == other.id:
            raise Rejected(f"{primary!r} and {duplicate!r} are already one subject", hint="there is nothing to merge")
        expect_subject(tx.unit, one, version)
        now = _note_text(tx.unit, one, other, state_for_writing(tx.unit))
        # If somebody wrote between reading and writing, the texts are prepared again inside the transaction. Embedding
        # under the write lock is what we avoid elsewhere, but this is rare and the note would otherwise lose a change.
        texts = ready if ready is not None and ready.note == now else _prepare(op, one, other, now)
        return _merge(tx, _Twins(one, other, tick(tx.unit)), texts)

    request = {"primary": primary, "duplicate": duplicate, "expected_version": version}
    return op.write_once("merge_subjects", key, request, MergedSubjects, act)


def _prepare(op: Operation, one: Region, other: Region, note: str) -> _Prepared:
    document = subject_document(one.name, one.summary or other.summary, op.now)
    return _Prepared(note, prepare_text(op, note, structural_summary(note)), op.index.prepare([document]))


def _note_text(unit: Unit, one: Region, other: Region, state: SemanticState) -> str:
    """Compose the structural note of the merged subject: both notes, how the two were related, and the merge itself."""
    ids = [item for item in (one.structural_id, other.structural_id) if item is not None]
    texts = {row["id"]: row["text"] for row in unit.all("semantic.understanding_of", ids=ids)}
    parts = [texts.get(one.structural_id or 0), texts.get(other.structural_id or 0)]
    relations = active_of(unit, "relationship", [one, other])
    parts += [
        f"How {one.name} and {other.name} were related before they were merged: {row['text']}"
        for row in unit.all("semantic.understanding_of", ids=[row["id"] for row in relations])
    ]
    parts.append(f"Merged with {other.name} in generation {state.current_generation}.")
    return "\n\n".join(part for part in parts if part)


def _merge(tx: Transaction, twins: _Twins, texts: _Prepared) -> MergedSubjects:
    """Carry out the merge.

    Tags move first, because all later steps depend on which subjects an item is now about. The duplicate's row is
    deleted last, when nothing points to it any more.
    """
    unit, one, other = tx.unit, twins.primary, twins.duplicate
    # Read before the tags move: afterwards no understanding is about exactly these two.
    relations = [row["id"] for row in active_of(unit, "relationship", [one, other])]
    observations = _move_observations(unit, twins)
    of_one = {row["id"] for row in unit.all("semantic.understanding_tagged", subject=one.id)}
    understandings = _move_understandings(unit, twins)
    _move_intersections(unit, twins)
    _move_names(unit, twins)
    structural, _ = write_structural(tx, one, texts.note, texts.note_document, tuple(relations))
    single = _keep_one_single(tx, twins)
    _keep_one_of_each(tx, understandings, of_one.intersection(understandings))
    _adopt_summary(tx, twins, texts.subject_document)
    unit.send("semantic.subject_drop", id=other.id)
    unit.send("semantic.subject_recount", ids=[one.id])
    unit.send("semantic.subject_settle", ids=[one.id])
    relabel_subject(tx, one)
    (record,) = subjects_of(unit, [one.id])
    tx.event(primary=one.name, duplicate=other.name, ids=[one.id, other.id], observations=len(observations))
    return MergedSubjects(
        primary=record.name,
        duplicate=other.name,
        merged=True,
        observations_moved=len(observations),
        understandings_moved=len(understandings),
        single_subject_understanding_id=single,
        structural_understanding_id=structural,
        aliases=record.aliases,
        version=record.version,
    )


def _move_observations(unit: Unit, twins: _Twins) -> list[int]:
    """Tag the duplicate's observations with the primary; those that the surviving understanding has not seen are new.

    Tags of the subject whose understanding survives therefore keep their `since` ids, and the others start now.
    """
    one, other = twins.primary.id, twins.duplicate.id
    rows = unit.all("semantic.observation_tagged", subject=other)
    affected = [row["id"] for row in rows]
    # The duplicate's understanding survives: it has seen the duplicate's evidence and none of the primary's.
    if twins.duplicate_survives:
        affected += [row["id"] for row in unit.all("semantic.observation_tagged", subject=one)]
        unit.send("semantic.observation_tag_renew", subject=one, since=twins.clock)
    # An observation that was tagged with both keeps the primary's tag: the statement ignores an existing one.
    tag(unit, ((row["id"], one, row["since_id"] if twins.duplicate_survives else twins.clock) for row in rows))
    unit.send("semantic.observation_tag_clear", subject=other)
    retagged = (
        {
            "id": item,
            "subject_set": subject_set(row["subject_id"] for row in tags),
            "through": max(row["since_id"] for row in tags),
        }
        for item, tags in group_rows(unit.all("semantic.observation_tags", ids=affected)).items()
    )
    unit.many("semantic.observation_retag", retagged)
    return [row["id"] for row in rows]


def _move_understandings(unit: Unit, twins: _Twins) -> list[int]:
    """Tag the duplicate's understandings with the primary, superseded ones included: they share one history now."""
    ids = [row["id"] for row in unit.all("semantic.understanding_tagged", subject=twins.duplicate.id)]
    unit.many("semantic.understanding_tag_add", ({"understanding": item, "subject": twins.primary.id} for item in ids))
    unit.send("semantic.understanding_tag_clear", subject=twins.duplicate.id)
    tags = group_rows(unit.all("semantic.understanding_tags", ids=ids))
    unit.many(
        "semantic.understanding_reset",
        ({"id": item, "subject_set": subject_set(row["subject_id"] for row in tags.get(item, ()))} for item in ids),
    )
    return ids


def _move_intersections(unit: Unit, twins: _Twins) -> None:
    """Combine the duplicate's intersections with those of the primary."""
    one, other = twins.primary.id, twins.duplicate.id
    thirds = [row["other"] for row in unit.all("semantic.intersection_around", subject=other) if row["other"] != one]
    for third in thirds:
        (a, b), (c, d) = sorted((one, third)), sorted((other, third))
        own = unit.one("semantic.intersection_get", a=a, b=b)
        (old,) = unit.all("semantic.intersection_get", a=c, b=d)
        kept = old if own is None else own
        text, reviewed = kept["understanding_id"] or old["understanding_id"], kept["reviewed_through"]
        # Two intersections that become one have changed for whoever wrote about either; one that merely moves has not.
        changed = old["changed_through"] if own is None else twins.clock
        values = {"understanding": text, "changed": changed, "reviewed": reviewed}
        unit.send("semantic.intersection_put", a=a, b=b, count=0, **values)
    unit.send("semantic.intersection_clear", subject=other)
    # Sizes are counted and not added up, because an observation that was tagged with all three would count twice.
    for third in thirds:
        a, b = sorted((one, third))
        unit.send("semantic.intersection_resize", a=a, b=b)
        unit.send("semantic.intersection_settle", a=a, b=b)


def _move_names(unit: Unit, twins: _Twins) -> None:
    """Turn the duplicate's names into aliases, and combine the tags."""
    one, other = twins.primary.id, twins.duplicate.id
    tags = [row["tag"] for subject in (one, other) for row in unit.all("semantic.tag_of", ids=[subject])]
    for subject in (one, other):
        unit.send("semantic.tag_drop", subject=subject)
    put_tags(unit, one, tags)
    unit.send("semantic.subject_name_move", old=other, new=one)


def _keep_one_single(tx: Transaction, twins: _Twins) -> int | None:
    """Keep exactly one understanding of the subject: the primary's, or else the duplicate's."""
    one, other = twins.primary, twins.duplicate
    survivor = one.single_id if one.single_id is not None else other.single_id
    if one.single_id is not None and other.single_id is not None:
        supersede(tx, [other.single_id], one.single_id, was_read=False)
    if survivor is not None:
        tx.unit.send("semantic.subject_point_single", id=one.id, understanding=survivor)
    return survivor


def _keep_one_of_each(tx: Transaction, moved: Sequence[int], of_both: Set[int]) -> None:
    """Of several relationships with the same other subjects, keep the primary's, or else the duplicate's own.

    One that was about both twins is the last choice: its text describes more subjects than it is now about.
    """
    unit = tx.unit
    rows = unit.all("semantic.understanding_of", ids=list(moved))
    sets = {row["subject_set"] for row in rows if row["kind"] == "relationship" and row["superseded_by"] is None}
    for each in sorted(sets):
        rivals = unit.all("semantic.understanding_same_subjects", subject_set=each, kind="relationship")
        same = [row["id"] for row in rivals]
        # False sorts before True: first those that were the primary's all along, then those of the duplicate alone.
        survivor = min(same, key=lambda item: (item in moved, item in of_both))
        supersede(tx, [item for item in same if item != survivor], survivor, was_read=False)
        if (pair := pair_of(each)) is not None:
            point_pair(unit, pair, survivor)


def _adopt_summary(tx: Transaction, twins: _Twins, prepared: Prepared) -> None:
    """Give the primary the duplicate's summary if it has none, and retire the duplicate's document."""
    unit, index, one, other = tx.unit, tx.op.index, twins.primary, twins.duplicate
    index.retire(unit, [other.id], one.id, tx.at)
    if one.summary or not other.summary:
        return
    unit.send("semantic.subject_summarise", id=one.id, summary=other.summary)
    # Without labels: `relabel_subject` writes them at the end, when all names have moved.
    document = signed(tx, subject_document(one.name, other.summary, tx.at), ())
    index.remove(unit, [one.id])
    index.publish(unit, [one.id], index.complete(prepared, {0: document}), tx.at)
