"""What subjects share: the neighbourhood of one, the intersection of two, and pairs that may be one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from everloom.errors import Rejected
from everloom.semantic import checks
from everloom.semantic.evidence import subjects
from everloom.semantic.evidence.similarity import MOST_COMPARED, Vectors, alike, between, vectors_of
from everloom.semantic.evidence.subjects import Region
from everloom.semantic.ground import Ground
from everloom.semantic.parts import (
    BriefSubject,
    BriefUnderstanding,
    Neighbor,
    OtherUnderstanding,
    RelationshipUnderstanding,
    SubjectHead,
)
from everloom.semantic.recall.records import briefs_of, understandings_of
from everloom.semantic.recall.sessions import noted
from everloom.semantic.results import Intersection, Neighborhood, SubjectPair, Understanding
from everloom.store import Row, Unit

# Two subjects that share more than this are related and known to be.
SMALL_INTERSECTION = 2
MOST_UNDERSTANDINGS = 200


def open_around(ground: Ground, subject_name: str, limit: int) -> Neighborhood:
    """List the subjects that share something with this one, the most shared first."""
    most = checks.limit(limit)
    with ground.read() as unit:
        region = subjects.need_one(unit, subject_name)
        (record,) = subjects.records_of(unit, [region.id])
        neighbors = neighbors_of(unit, region, most)
    return Neighborhood(
        subject=SubjectHead(name=record.name, summary=record.summary, tags=record.tags),
        neighbors=neighbors,
        workspace_activity=noted(ground, "open_around"),
    )


def neighbors_of(unit: Unit, region: Region, limit: int) -> tuple[Neighbor, ...]:
    """Find and measure the neighbours of a subject."""
    sizes: dict[int, int] = {
        row["subject_id"]: row["count"] for row in unit.all("semantic.understanding_shared", subject=region.id)
    }
    pointers: dict[int, int] = {}
    for row in unit.all("semantic.intersection_around", subject=region.id):
        sizes[row["other"]] = sizes.get(row["other"], 0) + row["observation_count"]
        if row["understanding_id"] is not None:
            pointers[row["other"]] = row["understanding_id"]
    largest = sorted(((size, other) for other, size in sizes.items() if size), key=lambda pair: (-pair[0], pair[1]))
    others = [other for _, other in largest[:limit]]
    regions = regions_of(unit, others)
    vectors = vectors_for(unit, [region, *regions.values()])
    texts = {row["id"]: row for row in unit.all("semantic.understanding_of", ids=list(pointers.values()))}
    return tuple(
        Neighbor(
            subject=BriefSubject(name=regions[other].name, summary=regions[other].summary),
            intersection_size=sizes[other],
            similarity_score=between(vectors, ends_of(region), ends_of(regions[other])),
            intersection_understanding=brief(texts.get(pointers.get(other, 0))),
        )
        for other in others
    )


def brief(row: Row | None) -> BriefUnderstanding | None:
    """Point at an understanding, if there is one."""
    return None if row is None else subjects.brief(row)


def regions_of(unit: Unit, ids: Sequence[int]) -> dict[int, Region]:
    """Read subjects by id."""
    return {row["id"]: subjects.region_from(row) for row in unit.all("semantic.subject_of", ids=list(ids))}


def ends_of(region: Region) -> tuple[int, int | None]:
    """Say by what a subject can be compared: its own document and its understanding."""
    return (region.id, region.single_id)


def vectors_for(unit: Unit, regions: Sequence[Region]) -> Vectors:
    """Read the vectors by which subjects are compared."""
    return vectors_of(unit, [item for region in regions for item in ends_of(region) if item is not None])


def open_intersection(ground: Ground, subject_a: str, subject_b: str, limit: int) -> Intersection:
    """Open what two subjects share."""
    most = checks.limit(limit, 10_000)
    with ground.read() as unit:
        one, other = subjects.need_one(unit, subject_a), subjects.need_one(unit, subject_b)
        if one.id == other.id:
            raise Rejected(f"{subject_a!r} and {subject_b!r} are one subject", hint="name two; recall tells of one")
        ids = [one.id, other.id]
        seen = unit.all("semantic.observation_tagged_all", subjects=ids, count=2, limit=most)
        texts = unit.all("semantic.understanding_tagged_all", subjects=ids, count=2, limit=MOST_UNDERSTANDINGS)
        found = understandings_of(unit, [row["id"] for row in texts])
        pair = unit.one("semantic.intersection_get", a=min(ids), b=max(ids))
        own = None if pair is None else found.get(pair["understanding_id"] or 0)
        answer = Intersection(
            subject_a=BriefSubject(name=one.name, summary=one.summary),
            subject_b=BriefSubject(name=other.name, summary=other.summary),
            relationship_understanding=None if own is None else relationship(unit, own),
            other_understandings=tuple(
                OtherUnderstanding(id=each.id, summary=each.summary, kind=each.kind)
                for each in found.values()
                if own is None or each.id != own.id
            ),
            observations=briefs_of(unit, [row["id"] for row in seen]),
            intersection_size=len(texts) + (0 if pair is None else pair["observation_count"]),
        )
    used = [] if own is None else [own.id]
    return replace(answer, workspace_activity=noted(ground, "open_intersection", used))


def relationship(unit: Unit, record: Understanding) -> RelationshipUnderstanding:
    """Show a relationship with the chain that it came from."""
    chain, layer = [], [record.id]
    while layer:
        layer = [row["id"] for row in unit.all("semantic.understanding_predecessors", ids=layer)]
        chain += layer
    return RelationshipUnderstanding(
        id=record.id,
        content=record.content,
        summary=record.summary,
        generation=record.generation,
        version=record.version,
        model_tier=record.model_tier,
        session_id=record.session_id,
        created_at=record.created_at,
        source_observation_ids=record.source_observation_ids,
        supersedes=tuple(chain),
        linked_observations=record.linked_observations,
    )


def find_similar(ground: Ground, limit: int, min_score: float) -> tuple[SubjectPair, ...]:
    """List pairs that are alike and share little, the most alike first."""
    most, least = checks.limit(limit), checks.share(min_score, "min_score")
    with ground.read() as unit:
        rows = unit.all("semantic.subject_ids", limit=MOST_COMPARED)
        understood = {row["id"]: row["single_understanding_id"] for row in rows}
        scores = similar_pairs(unit, understood, least)
        sizes = sizes_of(unit, scores)
        names = {
            item: region.name for item, region in regions_of(unit, sorted({i for pair in scores for i in pair})).items()
        }
    pairs = [
        SubjectPair(
            subject_a=names[a],
            subject_b=names[b],
            similarity_score=round(score, 4),
            intersection_size=sizes.get((a, b), 0),
        )
        for (a, b), score in scores.items()
        if sizes.get((a, b), 0) <= SMALL_INTERSECTION
    ]
    return tuple(sorted(pairs, key=lambda pair: (-pair.similarity_score, pair.subject_a, pair.subject_b))[:most])


def similar_pairs(unit: Unit, understood: Mapping[int, int | None], least: float) -> dict[tuple[int, int], float]:
    """Compare every subject with every other, like with like."""
    named = alike(vectors_of(unit, understood), list(understood), least)
    owners = {item: subject for subject, item in understood.items() if item is not None}
    texts = vectors_of(unit, owners)
    comparable = {subject for item, subject in owners.items() if item in texts.rows}
    found = {pair: score for pair, score in named.items() if not comparable.issuperset(pair)}
    for (one, other), score in alike(texts, sorted(owners), least).items():
        a, b = sorted((owners[one], owners[other]))
        found[a, b] = score
    return found


def sizes_of(unit: Unit, pairs: Mapping[tuple[int, int], float]) -> dict[tuple[int, int], int]:
    """Count what the pairs share."""
    ids = sorted({item for pair in pairs for item in pair})
    rows = unit.all("semantic.intersection_sizes", ids=ids)
    return {(row["subject_a"], row["subject_b"]): row["observation_count"] for row in rows}
