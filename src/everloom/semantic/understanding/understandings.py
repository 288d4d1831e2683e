"""Understandings: syntheses that are revised by superseding, never by overwriting.

Owns what a new understanding replaces, what it inherits, which pointers follow it and which evidence it covers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import cast, get_args

from everloom.clock import to_micros
from everloom.errors import Conflict, Rejected
from everloom.kernel.search import Document, Prepared, Standing
from everloom.kernel.texts import checked
from everloom.semantic import checks
from everloom.semantic.evidence import subjects
from everloom.semantic.evidence.drafts import completed
from everloom.semantic.evidence.observations import set_of
from everloom.semantic.evidence.subjects import Region
from everloom.semantic.ground import Act, Ground, State, clock_id, state_for_writing
from everloom.semantic.parts import UnderstandingKind
from everloom.semantic.recall.records import need_active, need_observations, understandings_of
from everloom.semantic.recall.sessions import activity
from everloom.semantic.results import CreatedUnderstanding, StructuralUnderstanding, Understanding, UpdatedUnderstanding
from everloom.store import Row, Unit

DOCUMENT_KINDS = ("soul", "protocol", "orientation")
COVERING_KINDS = ("single_subject", "relationship")
STRUCTURAL_SUMMARY = 160
LONGEST_HISTORY = 1_000
# How many subjects an understanding of each kind is about.
SIZES: Mapping[str, tuple[int, int]] = {
    "single_subject": (1, 1),
    "relationship": (2, checks.MOST_SUBJECTS),
    "structural": (1, 1),
    **dict.fromkeys(DOCUMENT_KINDS, (0, checks.MOST_SUBJECTS)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewUnderstanding:
    """An understanding to be written."""

    subject_names: tuple[str, ...]
    content: str
    summary: str
    kind: UnderstandingKind | None = None
    source_observation_ids: tuple[int, ...] = ()
    reason: str | None = None
    seen_through_id: int | None = None
    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A change to an understanding; subjects that are not named stay."""

    understanding_id: int
    new_content: str
    new_summary: str
    subject_names: tuple[str, ...] | None = None
    reason: str | None = None
    source_observation_ids: tuple[int, ...] = ()
    seen_through_id: int | None = None
    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis:
    """Everything about an understanding that is about to be written."""

    kind: UnderstandingKind
    regions: tuple[Region, ...]
    content: str
    summary: str
    prepared: Prepared
    replaces: tuple[int, ...] = ()
    version: int = 1
    sources: tuple[int, ...] = ()
    reason: str | None = None
    seen_through_id: int | None = None

    @property
    def subject_set(self) -> str:
        """Write its subjects as a set."""
        return set_of(region.id for region in self.regions)


def prepare(ground: Ground, content: str, summary: str) -> Prepared:
    """Make the words and the vector of an understanding."""
    return ground.index.prepare([document_of(content, summary, ground)])


def document_of(content: str, summary: str, ground: Ground) -> Document:
    """Write an understanding as search sees it, as far as that is known before it is written."""
    return Document(
        kind="understanding", title=summary, text=content, happened_at=ground.clock.now(), standing=Standing.SYNTHESIS
    )


def kind_for(kind: object, count: int) -> UnderstandingKind:
    """Choose the kind by the number of subjects, or check the kind that was given against it."""
    if kind is None:
        kind = "single_subject" if count == 1 else "relationship"
    if kind not in SIZES:
        known = ", ".join(each for each in get_args(UnderstandingKind) if each in SIZES)
        hint = "describe_session writes the note of a session" if kind == "session" else f"choose from {known}"
        raise Rejected(f"an understanding cannot be written as {kind!r}", hint=hint)
    least, most = SIZES[cast("str", kind)]
    if not least <= count <= most:
        raise Rejected(f"a {kind} understanding cannot be about {count} subjects", hint=f"name {least} to {most}")
    return cast("UnderstandingKind", kind)


def create(ground: Ground, given: NewUnderstanding, key: str | None) -> CreatedUnderstanding:
    """Write a new understanding; it supersedes the active one of the same kind and subjects."""
    content, summary = checked(given.content, "the content"), checks.summary(given.summary)
    names = checks.names(given.subject_names, most=checks.MOST_SUBJECTS, least=0)
    kind = kind_for(given.kind, len(names))
    sources = checks.ids(given.source_observation_ids, "source_observation_ids")
    reason, version = checks.optional(given.reason, "the reason"), checks.version(given.expected_version)
    prepared = prepare(ground, content, summary)
    request = {"given": (list(names), content, summary, kind, sources, reason, version, given.seen_through_id)}
    with ground.act("create_understanding") as act:
        if (answer := act.told(key, request, CreatedUnderstanding)) is not None:
            return answer
        regions = tuple(subjects.need(act.unit, names))
        kind = kind_for(given.kind, len(regions))
        replaced = active_of(act.unit, kind, regions, state_for_writing(act.unit))
        expect_active(act.unit, replaced, version)
        synthesis = Synthesis(
            kind=kind,
            regions=regions,
            content=content,
            summary=summary,
            prepared=prepared,
            replaces=tuple(row["id"] for row in replaced),
            version=1 + max((row["version"] for row in replaced), default=0),
            sources=sources,
            reason=reason,
            seen_through_id=given.seen_through_id,
        )
        fresh = write(act, synthesis)
        act.note(id=fresh, kind=kind, subjects=[region.name for region in regions], superseded=list(synthesis.replaces))
        created = CreatedUnderstanding(
            id=fresh,
            subject_names=tuple(region.name for region in regions),
            kind=kind,
            created_at=act.at,
            version=synthesis.version,
            superseded=synthesis.replaces,
        )
        return act.keep(key, request, CreatedUnderstanding, created)


def active_of(unit: Unit, kind: str, regions: Sequence[Region], state: State) -> list[Row]:
    """Find what an understanding of this kind on exactly these subjects takes the place of."""
    if kind in DOCUMENT_KINDS:
        pointers = {"soul": state.soul_id, "protocol": state.protocol_id, "orientation": state.orientation_id}
        current = pointers[kind]
        return [] if current is None else unit.all("semantic.understanding_of", ids=[current])
    subject_set = set_of(region.id for region in regions)
    return unit.all("semantic.understanding_same_subjects", subject_set=subject_set, kind=kind)


def expect_active(unit: Unit, rows: Sequence[Row], version: int | None) -> None:
    """Refuse to take the place of another version than the caller knows; 0 stands for none."""
    current = max((row["version"] for row in rows), default=0)
    if version is not None and version != current:
        raise Conflict(
            f"the active understanding is at version {current}, not {version}",
            hint="somebody wrote it since you looked; read it again, then decide",
            current=understandings_of(unit, [row["id"] for row in rows]).get(rows[-1]["id"]) if rows else None,
        )


def update(ground: Ground, given: Revision, key: str | None) -> UpdatedUnderstanding:
    """Revise an understanding: a new row supersedes it."""
    old_id = checks.one_id(given.understanding_id, "understanding_id")
    content, summary = (
        checked(given.new_content, "the new content"),
        checks.summary(given.new_summary, "the new summary"),
    )
    reason, version = checks.optional(given.reason, "the reason"), checks.version(given.expected_version)
    names = None
    if given.subject_names is not None:
        names = checks.names(given.subject_names, most=checks.MOST_SUBJECTS, least=0)
    sources = checks.ids(given.source_observation_ids, "source_observation_ids")
    prepared = prepare(ground, content, summary)
    request = {"given": (old_id, content, summary, names, sources, reason, version, given.seen_through_id)}
    with ground.act("update_understanding") as act:
        if (answer := act.told(key, request, UpdatedUnderstanding)) is not None:
            return answer
        old = need_active(act.unit, [old_id])[old_id]
        expect_active(act.unit, [old], version)
        regions = regions_for(act.unit, old, names)
        kind = revised_kind(old["kind"], len(regions))
        rivals = [row for row in active_of(act.unit, kind, regions, state_for_writing(act.unit)) if row["id"] != old_id]
        synthesis = Synthesis(
            kind=kind,
            regions=regions,
            content=content,
            summary=summary,
            prepared=prepared,
            replaces=(old_id, *(row["id"] for row in rivals)),
            version=1 + max(row["version"] for row in (old, *rivals)),
            sources=sources,
            reason=reason,
            seen_through_id=given.seen_through_id,
        )
        fresh = write(act, synthesis)
        act.note(old=old_id, new=fresh, reason=reason)
        updated = UpdatedUnderstanding(
            old_understanding_id=old_id,
            new_understanding_id=fresh,
            subject_names=tuple(region.name for region in regions),
            version=synthesis.version,
            workspace_activity=activity(act),
        )
        return act.keep(key, request, UpdatedUnderstanding, updated)


def regions_for(unit: Unit, old: Row, names: Mapping[str, str] | None) -> tuple[Region, ...]:
    """Find the subjects of a revision: those that are named, or those of the old one."""
    if names is not None:
        return tuple(subjects.need(unit, names))
    ids = [int(each) for each in old["subject_set"].split(",") if each]
    return tuple(subjects.region_from(row) for row in unit.all("semantic.subject_of", ids=ids))


def revised_kind(kind: UnderstandingKind, count: int) -> UnderstandingKind:
    """Keep the kind, except that one subject or several decide between the two ordinary ones."""
    return kind_for(None if kind in COVERING_KINDS else kind, count)


def set_structural(
    ground: Ground, subject_name: str, content: str, expected: int | None, key: str | None
) -> StructuralUnderstanding:
    """Write or replace the note on a subject's identity and structure."""
    text, version = checked(content, "the content"), checks.version(expected)
    summary = structural_summary(text)
    prepared = prepare(ground, text, summary)
    request = {"subject_name": subject_name, "content": text, "expected_version": version}
    with ground.act("set_structural_understanding") as act:
        if (answer := act.told(key, request, StructuralUnderstanding)) is not None:
            return answer
        region = subjects.need_one(act.unit, subject_name)
        subjects.expect(act.unit, region, version)
        fresh = write_structural(act, region, text, prepared)
        act.note(id=fresh, subject=region.name)
        answered = StructuralUnderstanding(
            subject_name=region.name, understanding_id=fresh, created_at=act.at, version=region.version + 1
        )
        return act.keep(key, request, StructuralUnderstanding, answered)


def structural_summary(text: str) -> str:
    """Take the beginning of a note as its summary."""
    return " ".join(text.split())[:STRUCTURAL_SUMMARY]


def write_structural(
    act: Act, region: Region, text: str, prepared: Prepared, also_replaces: tuple[int, ...] = ()
) -> int:
    """Write a subject's structural note in place of the one it has."""
    rows = active_of(act.unit, "structural", [region], State())
    replaced = tuple(dict.fromkeys([*(row["id"] for row in rows), *also_replaces]))
    synthesis = Synthesis(
        kind="structural",
        regions=(region,),
        content=text,
        summary=structural_summary(text),
        prepared=prepared,
        replaces=replaced,
        version=1 + max((row["version"] for row in rows), default=0),
    )
    return write(act, synthesis)


def write(act: Act, synthesis: Synthesis) -> int:
    """Write an understanding; everything that pointed at what it replaces points at it."""
    unit, regions = act.unit, synthesis.regions
    need_observations(unit, synthesis.sources)
    seen = checked_seen(unit, synthesis.seen_through_id)
    labels = subjects.labels_of(unit, [region.id for region in regions])
    document = replace(
        document_of(synthesis.content, synthesis.summary, act.ground),
        happened_at=act.at,
        labels=tuple(name for region in regions for name in labels[region.id]),
        session_id=act.session_id,
        model_tier=act.model_tier,
    )
    (fresh,) = act.ground.index.add(unit, completed(synthesis.prepared, {0: document}), act.at)
    seen = fresh if seen is None else seen
    unit.run(
        "semantic.understanding_add",
        id=fresh,
        kind=synthesis.kind,
        generation=state_for_writing(unit).current_generation,
        version=synthesis.version,
        seen_through=seen,
        reason=synthesis.reason,
        subject_set=synthesis.subject_set,
        at=to_micros(act.at),
    )
    unit.many("semantic.understanding_tag_add", ({"understanding": fresh, "subject": region.id} for region in regions))
    unit.many("kernel.source_add", ({"item": fresh, "source": source} for source in synthesis.sources))
    supersede(act, synthesis.replaces, fresh)
    point(unit, synthesis, fresh)
    if synthesis.kind in COVERING_KINDS:
        cover(act, fresh, synthesis.subject_set, seen)
    return fresh


def checked_seen(unit: Unit, seen_through_id: int | None) -> int | None:
    """Accept how far the writer has read."""
    if seen_through_id is None:
        return None
    seen, latest = checks.one_id(seen_through_id, "seen_through_id"), clock_id(unit)
    if seen > latest:
        raise Rejected(
            f"nothing has the id {seen} yet", hint=f"the latest is {latest}: give the as_of_id that you read"
        )
    return seen


def supersede(act: Act, old: Sequence[int], new: int, *, was_read: bool = True) -> None:
    """Take understandings out of the present; their successor keeps what they rest on.

    What was linked to them has been read by whoever revised them; after a merge it has not, and stays linked.
    """
    if not old:
        return
    unit, ids = act.unit, list(old)
    for row in unit.all("semantic.understanding_of", ids=ids):
        unpoint_intersection(unit, row)
    unit.run("semantic.subject_unpoint", old=ids)
    unit.run("semantic.understanding_supersede", old=ids, new=new)
    unit.run("semantic.source_inherit", old=ids, new=new)
    if not was_read:
        unit.run("semantic.linked_move", old=ids, new=new)
    unit.run("semantic.linked_clear", ids=ids)
    act.ground.index.retire(unit, ids, new, act.at)
    affected = unit.all("semantic.understanding_tags", ids=ids)
    unit.run("semantic.subject_settle", ids=sorted({row["subject_id"] for row in affected}))


def pair_of(subject_set: str) -> tuple[int, int] | None:
    """Read a set of subjects as a pair, if it is one."""
    ids = [int(each) for each in subject_set.split(",") if each]
    return (ids[0], ids[1]) if len(ids) == 2 else None


def unpoint_intersection(unit: Unit, row: Row) -> None:
    """Take a relationship off the pair that it was about."""
    pair = pair_of(row["subject_set"]) if row["kind"] == "relationship" else None
    if pair is not None:
        unit.run("semantic.intersection_unpoint", a=pair[0], b=pair[1], old=row["id"])
        unit.run("semantic.intersection_settle", a=pair[0], b=pair[1])


def point(unit: Unit, synthesis: Synthesis, fresh: int) -> None:
    """Let subject, pair or workspace point at the understanding that is now theirs."""
    kind, ids = synthesis.kind, [region.id for region in synthesis.regions]
    if kind in DOCUMENT_KINDS:
        unit.run("semantic.workspace_point", kind=kind, id=fresh)
    elif kind == "structural":
        unit.run("semantic.subject_point_structural", id=ids[0], understanding=fresh)
        unit.run("semantic.subject_touch", ids=ids)
    elif kind == "single_subject":
        unit.run("semantic.subject_point_single", id=ids[0], understanding=fresh)
        unit.run("semantic.subject_touch", ids=ids)
        unit.run("semantic.subject_settle", ids=ids)
    elif (pair := pair_of(synthesis.subject_set)) is not None:
        unit.run("semantic.intersection_point", a=pair[0], b=pair[1], understanding=fresh)
        unit.run("semantic.intersection_settle", a=pair[0], b=pair[1])


def cover(act: Act, fresh: int, subject_set: str, seen: int) -> None:
    """Cover the evidence that an understanding has seen: what has the same subjects, and what it rests on."""
    unit = act.unit
    same = [row["id"] for row in unit.all("semantic.observation_same_subjects", subject_set=subject_set, through=seen)]
    cited = [row["source_id"] for row in unit.all("semantic.source_observations", ids=[fresh])]
    act.ground.index.cover(unit, fresh, dict.fromkeys([*same, *cited]))


def get(ground: Ground, subject_names: Sequence[str], limit: int) -> tuple[Understanding, ...]:
    """Show the active understandings that are about all of these subjects, newest first."""
    wanted, most = checks.names(subject_names, most=checks.MOST_SUBJECTS), checks.limit(limit)
    with ground.read() as unit:
        regions = [region.id for region in subjects.need(unit, wanted)]
        rows = unit.all("semantic.understanding_tagged_all", subjects=regions, count=len(regions), limit=most)
        ids = [row["id"] for row in rows]
        found = understandings_of(unit, ids)
    return tuple(found[item] for item in ids)


def history(ground: Ground, understanding_id: int) -> tuple[Understanding, ...]:
    """Walk from an understanding back to everything that it supersedes, newest first."""
    start = checks.one_id(understanding_id, "understanding_id")
    with ground.read() as unit:
        if not unit.all("semantic.understanding_of", ids=[start]):
            need_active(unit, [start])
        ids, layer = [start], [start]
        while layer and len(ids) < LONGEST_HISTORY:
            layer = [row["id"] for row in unit.all("semantic.understanding_predecessors", ids=layer)]
            ids += layer
        found = understandings_of(unit, ids)
    return tuple(found[item] for item in sorted(set(ids), reverse=True))


def pairs_of(regions: Sequence[Region]) -> list[tuple[int, int]]:
    """List the pairs of some subjects, the smaller id first."""
    return list(combinations(sorted(region.id for region in regions), 2))
