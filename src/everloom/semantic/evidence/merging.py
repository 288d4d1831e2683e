"""Making two subjects one, in one transaction.

Everything of the duplicate moves to the primary. What the surviving understandings have not seen counts as new, so that
the next consolidation reads it.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from everloom.errors import Rejected
from everloom.kernel.search import Prepared
from everloom.semantic import checks
from everloom.semantic.evidence import subjects
from everloom.semantic.evidence.aliases import relabel_subject
from everloom.semantic.evidence.drafts import completed
from everloom.semantic.evidence.observations import set_of
from everloom.semantic.evidence.subjects import Region
from everloom.semantic.ground import Act, Ground, State, state_for_writing, state_of, tick, told
from everloom.semantic.results import MergedSubjects
from everloom.semantic.understanding.understandings import (
    active_of,
    pair_of,
    prepare,
    structural_summary,
    supersede,
    write_structural,
)
from everloom.store import Row, Unit


@dataclass(frozen=True, slots=True)
class Twins:
    """The two subjects and the id as of which the merge happens."""

    primary: Region
    duplicate: Region
    clock: int

    @property
    def duplicate_survives(self) -> bool:
        """Say whether the duplicate's understanding becomes the only one."""
        return self.primary.single_id is None and self.duplicate.single_id is not None


def merge(ground: Ground, primary: str, duplicate: str, expected: int | None, key: str | None) -> MergedSubjects:
    """Move everything of the duplicate to the primary, and leave its name as an alias."""
    version = checks.version(expected)
    request = {"primary": primary, "duplicate": duplicate, "expected_version": version}
    with ground.read() as unit:
        # Tried again, there are no longer two to read.
        if (answer := told(unit, "merge_subjects", key, request, MergedSubjects)) is not None:
            return answer
        one, other = both(unit, primary, duplicate)
        text = note_text(unit, one, other, state_of(unit))
    prepared = prepare(ground, text, structural_summary(text))
    region_document = ground.index.prepare(
        [subjects.document_of(one.name, one.summary or other.summary, ground.clock.now())]
    )
    with ground.act("merge_subjects") as act:
        if (answer := act.told(key, request, MergedSubjects)) is not None:
            return answer
        one, other = both(act.unit, primary, duplicate)
        subjects.expect(act.unit, one, version)
        now = note_text(act.unit, one, other, state_for_writing(act.unit))
        # Somebody wrote between reading and writing: rare, and then made again inside the transaction.
        ready = prepared if now == text else prepare(ground, now, structural_summary(now))
        answered = merged(act, Twins(one, other, tick(act.unit)), now, ready, region_document)
        return act.keep(key, request, MergedSubjects, answered)


def both(unit: Unit, primary: str, duplicate: str) -> tuple[Region, Region]:
    """Find the two subjects, which must be two."""
    one, other = subjects.need_one(unit, primary), subjects.need_one(unit, duplicate)
    if one.id == other.id:
        raise Rejected(f"{primary!r} and {duplicate!r} are one subject already", hint="there is nothing to merge")
    return one, other


def note_text(unit: Unit, one: Region, other: Region, state: State) -> str:
    """Write the structural note of the merged subject: both notes, what related the two, and that they were merged."""
    ids = [item for item in (one.structural_id, other.structural_id) if item is not None]
    texts = {row["id"]: row["text"] for row in unit.all("semantic.understanding_of", ids=ids)}
    parts = [texts.get(one.structural_id or 0), texts.get(other.structural_id or 0)]
    relations = active_of(unit, "relationship", [one, other], State())
    parts += [
        f"How {one.name} and {other.name} were related before they were merged: {row['text']}"
        for row in unit.all("semantic.understanding_of", ids=[row["id"] for row in relations])
    ]
    parts.append(f"Merged with {other.name} in generation {state.current_generation}.")
    return "\n\n".join(part for part in parts if part)


def merged(act: Act, twins: Twins, text: str, prepared: Prepared, region_document: Prepared) -> MergedSubjects:
    """Carry out the merge."""
    unit, one, other = act.unit, twins.primary, twins.duplicate
    relations = [row["id"] for row in active_of(unit, "relationship", [one, other], State())]
    observations = move_observations(unit, twins)
    of_both = [row["id"] for row in unit.all("semantic.understanding_tagged", subject=one.id)]
    understandings = move_understandings(unit, twins)
    move_intersections(unit, twins)
    move_names(unit, twins)
    structural = write_structural(act, one, text, prepared, tuple(relations))
    single = keep_one_single(act, twins)
    keep_one_of_each(act, understandings, set(of_both).intersection(understandings))
    adopt_summary(act, twins, region_document)
    unit.run("semantic.subject_drop", id=other.id)
    unit.run("semantic.subject_recount", ids=[one.id])
    unit.run("semantic.subject_settle", ids=[one.id])
    relabel_subject(unit, one)
    (record,) = subjects.records_of(unit, [one.id])
    act.note(primary=one.name, duplicate=other.name, ids=[one.id, other.id], observations=len(observations))
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


def move_observations(unit: Unit, twins: Twins) -> list[int]:
    """Tag with the primary what is tagged with the duplicate; new is what the surviving understanding has not seen."""
    one, other = twins.primary.id, twins.duplicate.id
    rows = unit.all("semantic.observation_tagged", subject=other)
    affected = [row["id"] for row in rows]
    if twins.duplicate_survives:
        affected += [row["id"] for row in unit.all("semantic.observation_tagged", subject=one)]
        unit.run("semantic.observation_tag_renew", subject=one, since=twins.clock)
    moved = [
        {
            "observation": row["id"],
            "subject": one,
            "since": row["since_id"] if twins.duplicate_survives else twins.clock,
        }
        for row in rows
    ]
    unit.many("semantic.observation_tag_add", moved)
    unit.run("semantic.observation_tag_clear", subject=other)
    tags: dict[int, list[Row]] = {}
    for row in unit.all("semantic.observation_tags", ids=affected):
        tags.setdefault(row["item_id"], []).append(row)
    unit.many(
        "semantic.observation_retag",
        (
            {
                "id": item,
                "subject_set": set_of(row["subject_id"] for row in each),
                "through": max(row["since_id"] for row in each),
            }
            for item, each in tags.items()
        ),
    )
    return [row["id"] for row in rows]


def move_understandings(unit: Unit, twins: Twins) -> list[int]:
    """Tag with the primary every understanding of the duplicate, superseded ones too: their history is now one."""
    ids = [row["id"] for row in unit.all("semantic.understanding_tagged", subject=twins.duplicate.id)]
    unit.many("semantic.understanding_tag_add", ({"understanding": item, "subject": twins.primary.id} for item in ids))
    unit.run("semantic.understanding_tag_clear", subject=twins.duplicate.id)
    tags: dict[int, list[int]] = {item: [] for item in ids}
    for row in unit.all("semantic.understanding_tags", ids=ids):
        tags[row["item_id"]].append(row["subject_id"])
    unit.many(
        "semantic.understanding_reset", ({"id": item, "subject_set": set_of(each)} for item, each in tags.items())
    )
    return ids


def move_intersections(unit: Unit, twins: Twins) -> None:
    """Join what the duplicate shared with others to what the primary shares with them."""
    one, other = twins.primary.id, twins.duplicate.id
    rows = [row for row in unit.all("semantic.intersection_around", subject=other) if row["other"] != one]
    for row in rows:
        third = row["other"]
        old = pair_row(unit, other, third)
        own = pair_row(unit, one, third)
        a, b = sorted((one, third))
        values = {"a": a, "b": b, "count": 0}
        if own is None and old is not None:
            values |= {"understanding": old["understanding_id"], "changed": old["changed_through"]}
            unit.run("semantic.intersection_put", **values, reviewed=old["reviewed_through"])
        elif own is not None:
            pointer = own["understanding_id"] or row["understanding_id"]
            unit.run(
                "semantic.intersection_put",
                **values,
                understanding=pointer,
                changed=twins.clock,
                reviewed=own["reviewed_through"],
            )
    unit.run("semantic.intersection_clear", subject=other)
    for row in rows:
        a, b = sorted((one, row["other"]))
        unit.run("semantic.intersection_resize", a=a, b=b)
        unit.run("semantic.intersection_settle", a=a, b=b)


def pair_row(unit: Unit, one: int, other: int) -> Row | None:
    """Read a pair, whichever comes first."""
    return unit.one("semantic.intersection_get", a=min(one, other), b=max(one, other))


def move_names(unit: Unit, twins: Twins) -> None:
    """Make the duplicate's names aliases, and join the tags."""
    one, other = twins.primary.id, twins.duplicate.id
    tags = [row["tag"] for row in unit.all("semantic.tag_of", ids=[other])]
    known = [row["tag"] for row in unit.all("semantic.tag_of", ids=[one])]
    unit.run("semantic.tag_drop", subject=other)
    unit.run("semantic.tag_drop", subject=one)
    subjects.put_tags(unit, one, [*known, *tags])
    unit.run("semantic.subject_name_move", old=other, new=one)


def keep_one_single(act: Act, twins: Twins) -> int | None:
    """Leave exactly one understanding of the subject: the primary's, or else the duplicate's."""
    unit, one, other = act.unit, twins.primary, twins.duplicate
    survivor = one.single_id if one.single_id is not None else other.single_id
    if one.single_id is not None and other.single_id is not None:
        supersede(act, [other.single_id], one.single_id, was_read=False)
    if survivor is not None:
        unit.run("semantic.subject_point_single", id=one.id, understanding=survivor)
    return survivor


def keep_one_of_each(act: Act, moved: Sequence[int], of_both: Set[int]) -> None:
    """Where there are now two relationships with the same others, keep the primary's, else the duplicate's own.

    What was about both of them and the others is about fewer subjects than it says.
    """
    unit = act.unit
    rows = unit.all("semantic.understanding_of", ids=list(moved))
    sets = {row["subject_set"] for row in rows if row["kind"] == "relationship" and row["superseded_by"] is None}
    for subject_set in sorted(sets):
        same = [
            row["id"]
            for row in unit.all("semantic.understanding_same_subjects", subject_set=subject_set, kind="relationship")
        ]
        survivor = min(same, key=lambda item: (item in moved, item in of_both))
        supersede(act, [item for item in same if item != survivor], survivor, was_read=False)
        if (pair := pair_of(subject_set)) is not None:
            unit.run("semantic.intersection_point", a=pair[0], b=pair[1], understanding=survivor)
            unit.run("semantic.intersection_settle", a=pair[0], b=pair[1])


def adopt_summary(act: Act, twins: Twins, prepared: Prepared) -> None:
    """Give the primary the duplicate's summary if it has none, and retire the duplicate's document."""
    unit, one, other = act.unit, twins.primary, twins.duplicate
    act.ground.index.retire(unit, [other.id], one.id, act.at)
    if one.summary or not other.summary:
        return
    unit.run("semantic.subject_summarise", id=one.id, summary=other.summary)
    document = subjects.whole_document(act, one.name, other.summary, ())
    act.ground.index.remove(unit, [one.id])
    act.ground.index.publish(unit, [one.id], completed(prepared, {0: document}), act.at)
