"""Reading observations and understandings whole, many at a time, with the names of their subjects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from everloom.clock import from_micros
from everloom.errors import Conflict, NotFound, Rejected
from everloom.kernel.journal import kind_of
from everloom.semantic import checks
from everloom.semantic.evidence.subjects import need
from everloom.semantic.evidence.subjects import records_of as subject_records
from everloom.semantic.ground import Ground
from everloom.semantic.parts import BriefObservation
from everloom.semantic.results import Observation, Subject, Understanding
from everloom.store import Row, Unit

FURTHEST = 10_000


def tags_of(unit: Unit, statement: str, ids: Sequence[int]) -> dict[int, list[Row]]:
    """Read the subjects of items, by item."""
    found: dict[int, list[Row]] = {}
    for row in unit.all(statement, ids=list(ids)):
        found.setdefault(row["item_id"], []).append(row)
    return found


def names_of(rows: Iterable[Row]) -> tuple[str, ...]:
    """Read the names out of tag rows."""
    return tuple(row["name"] for row in rows)


def observations_of(unit: Unit, ids: Iterable[int]) -> dict[int, Observation]:
    """Read observations by id; ids of anything else are absent."""
    wanted = list(ids)
    tags = tags_of(unit, "semantic.observation_tags", wanted)
    return {
        row["id"]: Observation(
            id=row["id"],
            content=row["text"],
            subject_names=names_of(tags.get(row["id"], ())),
            kind=row["kind"],
            confidence=row["confidence"],
            generation=row["generation"],
            observed_at=from_micros(row["happened_at"]),
            created_at=from_micros(row["created_at"]),
            session_id=row["session"],
            model_tier=row["model_tier"],
            superseded_at=None if row["superseded_at"] is None else from_micros(row["superseded_at"]),
            superseded_by=row["superseded_by"],
        )
        for row in unit.all("semantic.observation_of", ids=wanted)
    }


def understandings_of(unit: Unit, ids: Iterable[int]) -> dict[int, Understanding]:
    """Read understandings by id; ids of anything else are absent."""
    wanted = list(ids)
    tags = tags_of(unit, "semantic.understanding_tags", wanted)
    sources: dict[int, list[int]] = {}
    for row in unit.all("semantic.source_observations", ids=wanted):
        sources.setdefault(row["item_id"], []).append(row["source_id"])
    linked = linked_to(unit, wanted)
    return {
        row["id"]: understanding_from(
            row, names_of(tags.get(row["id"], ())), sources.get(row["id"], []), linked.get(row["id"], ())
        )
        for row in unit.all("semantic.understanding_of", ids=wanted)
    }


def understanding_from(
    row: Row, names: tuple[str, ...], sources: Sequence[int], linked: Sequence[BriefObservation]
) -> Understanding:
    """Read one understanding from its row."""
    return Understanding(
        id=row["id"],
        kind=row["kind"],
        subject_names=names,
        content=row["text"],
        summary=row["title"],
        generation=row["generation"],
        version=row["version"],
        seen_through_id=row["seen_through_id"],
        superseded_by=row["superseded_by"],
        reason=row["reason"],
        created_at=from_micros(row["created_at"]),
        updated_at=from_micros(row["updated_at"]),
        session_id=row["session"],
        model_tier=row["model_tier"],
        source_observation_ids=tuple(sources),
        linked_observations=tuple(linked),
    )


def linked_to(unit: Unit, understanding_ids: Iterable[int]) -> dict[int, tuple[BriefObservation, ...]]:
    """Read the evidence that was linked to understandings since they were written."""
    found: dict[int, list[BriefObservation]] = {}
    for row in unit.all("semantic.linked_of", ids=list(understanding_ids)):
        brief = BriefObservation(
            id=row["observation_id"], content=row["text"], kind=row["kind"], observed_at=from_micros(row["happened_at"])
        )
        found.setdefault(row["understanding_id"], []).append(brief)
    return {item: tuple(briefs) for item, briefs in found.items()}


def briefs_of(unit: Unit, ids: Sequence[int]) -> tuple[BriefObservation, ...]:
    """Read observations as lists show them, in the order asked for."""
    rows = {row["id"]: row for row in unit.all("semantic.observation_of", ids=list(ids))}
    return tuple(
        BriefObservation(
            id=each,
            content=rows[each]["text"],
            kind=rows[each]["kind"],
            observed_at=from_micros(rows[each]["happened_at"]),
        )
        for each in ids
        if each in rows
    )


def articled(kind: str) -> str:
    """Write a kind with its article."""
    return f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind}"


def need_active(unit: Unit, ids: Sequence[int]) -> dict[int, Row]:
    """Find understandings that must exist and be current."""
    rows = {row["id"]: row for row in unit.all("semantic.understanding_of", ids=list(ids))}
    for each in ids:
        if each not in rows:
            kind = kind_of(unit, each)
            raise Rejected(f"{each} is {articled(kind)}, not an understanding", hint="give the id of an understanding")
        if rows[each]["superseded_by"] is not None:
            raise superseded(unit, each)
    return rows


def need_observations(unit: Unit, ids: Sequence[int]) -> dict[int, Row]:
    """Find observations that must exist."""
    rows = {row["id"]: row for row in unit.all("semantic.observation_of", ids=list(ids))}
    for each in ids:
        if each not in rows:
            kind = kind_of(unit, each)
            raise Rejected(f"{each} is {articled(kind)}, not an observation", hint="give the id of an observation")
    return rows


def superseded(unit: Unit, understanding_id: int) -> Conflict:
    """Say that an understanding is superseded, and what is current in its place."""
    head = head_of(unit, understanding_id)
    return Conflict(
        f"understanding {understanding_id} is superseded; {head} is current",
        hint=f"read {head}, then use its id",
        current=understandings_of(unit, [head]).get(head),
    )


def head_of(unit: Unit, understanding_id: int) -> int:
    """Follow the chain to the understanding that nothing supersedes."""
    current = understanding_id
    for _ in range(FURTHEST):
        (row,) = unit.all("semantic.understanding_of", ids=[current])
        if row["superseded_by"] is None:
            break
        current = row["superseded_by"]
    return current


def list_observations(
    ground: Ground, subject_names: Sequence[str], after_id: int, limit: int
) -> tuple[Observation, ...]:
    """Read the observations that are tagged with all of the subjects, oldest first."""
    wanted, most = checks.names(subject_names, most=checks.MOST_SUBJECTS), checks.limit(limit, 10_000)
    after = 0 if after_id == 0 else checks.one_id(after_id, "after_id")
    with ground.read() as unit:
        regions = [region.id for region in need(unit, wanted)]
        rows = unit.all("semantic.observation_page", subjects=regions, count=len(regions), after=after, limit=most)
        return tuple(observations_of(unit, [row["id"] for row in rows]).values())


def show(ground: Ground, item_id: int) -> Observation | Understanding | Subject:
    """Show one item of this faculty, whole."""
    wanted = checks.one_id(item_id)
    with ground.read() as unit:
        kind = kind_of(unit, wanted)
        found: Mapping[int, Observation | Understanding | Subject] = {}
        if kind == "observation":
            found = observations_of(unit, [wanted])
        elif kind == "understanding":
            found = understandings_of(unit, [wanted])
        elif kind == "subject":
            found = {each.id: each for each in subject_records(unit, [wanted])}
    if wanted not in found:
        raise NotFound(
            f"{wanted} is {articled(kind)} that semantic memory does not hold", hint="`everloom show` knows every kind"
        )
    return found[wanted]
