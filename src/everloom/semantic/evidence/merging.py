"""Making two subjects one, in one transaction.

Everything of the duplicate moves to the primary. What the surviving understandings have not seen counts as new, so that
the next consolidation reads it.
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
    """The two subjects and the id as of which the merge happens."""

    primary: Region
    duplicate: Region
    clock: int

    @property
    def duplicate_survives(self) -> bool:
        """Say whether the duplicate's understanding becomes the only one."""
        return self.primary.single_id is None and self.duplicate.single_id is not None


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The texts that a merge writes: the structural note, and the subject with the summary that it will have."""

    note: str
    note_document: Prepared
    subject_document: Prepared


def merge(op: Operation, primary: str, duplicate: str, expected: int | None, key: str | None) -> MergedSubjects:
    """Move everything of the duplicate to the primary, and leave its name as an alias."""
    wanted, version = check_names([primary, duplicate]), arguments.version(expected)
    with op.read() as unit:
        known = find(unit, wanted)
        two = list({known[name].id: known[name] for name in wanted if name in known}.values())
        # A call that is repeated finds one subject: then there is nothing to prepare, and its receipt answers it.
        note = _note_text(unit, two[0], two[1], state_of(unit)) if len(two) == 2 else ""
    ready = _prepare(op, two[0], two[1], note) if note else None

    def act(tx: Transaction) -> MergedSubjects:
        one, other = need_one(tx.unit, primary), need_one(tx.unit, duplicate)
        if one.id == other.id:
            raise Rejected(f"{primary!r} and {duplicate!r} are already one subject", hint="there is nothing to merge")
        expect_subject(tx.unit, one, version)
        now = _note_text(tx.unit, one, other, state_for_writing(tx.unit))
        # Somebody wrote between reading and writing: rare, and then prepared again inside the transaction.
        texts = ready if ready is not None and ready.note == now else _prepare(op, one, other, now)
        return _merge(tx, _Twins(one, other, tick(tx.unit)), texts)

    request = {"primary": primary, "duplicate": duplicate, "expected_version": version}
    return op.write_once("merge_subjects", key, request, MergedSubjects, act)


def _prepare(op: Operation, one: Region, other: Region, note: str) -> _Prepared:
    document = subject_document(one.name, one.summary or other.summary, op.now)
    return _Prepared(note, prepare_text(op, note, structural_summary(note)), op.index.prepare([document]))


def _note_text(unit: Unit, one: Region, other: Region, state: SemanticState) -> str:
    """Write the structural note of the merged subject: both notes, what related the two, and that they were merged."""
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

    The tags move first, because everything after them is decided by which subjects an item is now about. The
    duplicate's row goes last, when nothing points at it any more.
    """
    unit, one, other = tx.unit, twins.primary, twins.duplicate
    relations = [row["id"] for row in active_of(unit, "relationship", [one, other])]
    observations = _move_observations(unit, twins)
    of_one = {row["id"] for row in unit.all("semantic.understanding_tagged", subject=one.id)}
    understandings = _move_understandings(unit, twins)
    _move_intersections(unit, twins)
    _move_names(unit, twins)
    structural = write_structural(tx, one, texts.note, texts.note_document, tuple(relations))
    single = _keep_one_single(tx, twins)
    _keep_one_of_each(tx, understandings, of_one.intersection(understandings))
    _adopt_summary(tx, twins, texts.subject_document)
    unit.run("semantic.subject_drop", id=other.id)
    unit.run("semantic.subject_recount", ids=[one.id])
    unit.run("semantic.subject_settle", ids=[one.id])
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
    """Tag with the primary what is tagged with the duplicate; new is what the surviving understanding has not seen.

    So the tags of the one whose understanding survives keep their ids, and those of the other become as of now.
    """
    one, other = twins.primary.id, twins.duplicate.id
    rows = unit.all("semantic.observation_tagged", subject=other)
    affected = [row["id"] for row in rows]
    # The surviving understanding is the duplicate's: it has seen the duplicate's evidence and none of the primary's.
    if twins.duplicate_survives:
        affected += [row["id"] for row in unit.all("semantic.observation_tagged", subject=one)]
        unit.run("semantic.observation_tag_renew", subject=one, since=twins.clock)
    # What was tagged with both keeps the primary's tag: the statement ignores a tag that is there.
    tag(unit, ((row["id"], one, row["since_id"] if twins.duplicate_survives else twins.clock) for row in rows))
    unit.run("semantic.observation_tag_clear", subject=other)
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
    """Tag with the primary every understanding of the duplicate, superseded ones too: their history is now one."""
    ids = [row["id"] for row in unit.all("semantic.understanding_tagged", subject=twins.duplicate.id)]
    unit.many("semantic.understanding_tag_add", ({"understanding": item, "subject": twins.primary.id} for item in ids))
    unit.run("semantic.understanding_tag_clear", subject=twins.duplicate.id)
    tags = group_rows(unit.all("semantic.understanding_tags", ids=ids))
    unit.many(
        "semantic.understanding_reset",
        ({"id": item, "subject_set": subject_set(row["subject_id"] for row in tags.get(item, ()))} for item in ids),
    )
    return ids


def _move_intersections(unit: Unit, twins: _Twins) -> None:
    """Join what the duplicate shared with others to what the primary shares with them."""
    one, other = twins.primary.id, twins.duplicate.id
    thirds = [row["other"] for row in unit.all("semantic.intersection_around", subject=other) if row["other"] != one]
    for third in thirds:
        (a, b), (c, d) = sorted((one, third)), sorted((other, third))
        own = unit.one("semantic.intersection_get", a=a, b=b)
        (old,) = unit.all("semantic.intersection_get", a=c, b=d)
        kept = old if own is None else own
        text, reviewed = kept["understanding_id"] or old["understanding_id"], kept["reviewed_through"]
        # Two intersections that become one have changed for whoever wrote about either; one that only moves has not.
        changed = old["changed_through"] if own is None else twins.clock
        values = {"understanding": text, "changed": changed, "reviewed": reviewed}
        unit.run("semantic.intersection_put", a=a, b=b, count=0, **values)
    unit.run("semantic.intersection_clear", subject=other)
    for third in thirds:
        a, b = sorted((one, third))
        unit.run("semantic.intersection_resize", a=a, b=b)
        unit.run("semantic.intersection_settle", a=a, b=b)


def _move_names(unit: Unit, twins: _Twins) -> None:
    """Make the duplicate's names aliases, and join the tags."""
    one, other = twins.primary.id, twins.duplicate.id
    tags = [row["tag"] for subject in (one, other) for row in unit.all("semantic.tag_of", ids=[subject])]
    for subject in (one, other):
        unit.run("semantic.tag_drop", subject=subject)
    put_tags(unit, one, tags)
    unit.run("semantic.subject_name_move", old=other, new=one)


def _keep_one_single(tx: Transaction, twins: _Twins) -> int | None:
    """Leave exactly one understanding of the subject: the primary's, or else the duplicate's."""
    one, other = twins.primary, twins.duplicate
    survivor = one.single_id if one.single_id is not None else other.single_id
    if one.single_id is not None and other.single_id is not None:
        supersede(tx, [other.single_id], one.single_id, was_read=False)
    if survivor is not None:
        tx.unit.run("semantic.subject_point_single", id=one.id, understanding=survivor)
    return survivor


def _keep_one_of_each(tx: Transaction, moved: Sequence[int], of_both: Set[int]) -> None:
    """Where there are now two relationships with the same others, keep the primary's, else the duplicate's own.

    What was about both of them and the others is about fewer subjects than it says.
    """
    unit = tx.unit
    rows = unit.all("semantic.understanding_of", ids=list(moved))
    sets = {row["subject_set"] for row in rows if row["kind"] == "relationship" and row["superseded_by"] is None}
    for each in sorted(sets):
        rivals = unit.all("semantic.understanding_same_subjects", subject_set=each, kind="relationship")
        same = [row["id"] for row in rivals]
        # False sorts before True: first what was the primary's all along, then what was the duplicate's alone.
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
    unit.run("semantic.subject_summarise", id=one.id, summary=other.summary)
    document = signed(tx, subject_document(one.name, other.summary, tx.at), ())
    index.remove(unit, [one.id])
    index.publish(unit, [one.id], index.complete(prepared, {0: document}), tx.at)
