"""What subjects share: the neighbours of one, the intersection of two, and pairs that may be the same.

Two subjects that both have an understanding are compared by it; otherwise both are compared by name and summary.
Names that are spelled alike make a pair in any case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from everloom.errors import Rejected
from everloom.kernel.operation import Operation
from everloom.semantic import arguments
from everloom.semantic.evidence.identity import (
    MOST_COMPARED,
    Region,
    Vector,
    need_one,
    regions_of,
    similarities,
    spelled_pairs,
    vectors_of,
)
from everloom.semantic.evidence.records import ancestors_of, briefs_of, understandings_of
from everloom.semantic.evidence.subjects import subjects_of
from everloom.semantic.parts import (
    BriefSubject,
    OtherUnderstanding,
    RelationshipUnderstanding,
    SubjectHead,
    SubjectNeighbor,
)
from everloom.semantic.results import Intersection, Neighborhood, SubjectPair
from everloom.semantic.state import brief_understanding, note_call, reshape
from everloom.store import Unit

# Two subjects that share more than this are already known to be related.
_SMALL_INTERSECTION = 2
_MOST_UNDERSTANDINGS = 200
# Rows that are compared with all others in one multiplication: a bound on memory.
_SLAB = 512


def open_around(op: Operation, subject_name: str, limit: int) -> Neighborhood:
    """List the subjects that share something with this one, most shared first."""
    most = arguments.limit(limit)
    with op.read() as unit:
        region = need_one(unit, subject_name)
        (record,) = subjects_of(unit, [region.id])
        neighbors = _neighbors_of(unit, region, most)
    return Neighborhood(
        subject=reshape(SubjectHead, record), neighbors=neighbors, workspace_activity=note_call(op, "open_around")
    )


def _neighbors_of(unit: Unit, region: Region, limit: int) -> tuple[SubjectNeighbor, ...]:
    """Find a subject's neighbours, with the size of each intersection."""
    sizes: dict[int, int] = {
        row["subject_id"]: row["count"] for row in unit.all("semantic.understanding_shared", subject=region.id)
    }
    pointers: dict[int, int] = {}
    for row in unit.all("semantic.intersection_around", subject=region.id):
        sizes[row["other"]] = sizes.get(row["other"], 0) + row["observation_count"]
        if row["understanding_id"] is not None:
            pointers[row["other"]] = row["understanding_id"]
    # Largest first; among equals the oldest, so that the order does not change between calls.
    largest = sorted(((size, other) for other, size in sizes.items() if size), key=lambda pair: (-pair[0], pair[1]))
    others = [other for _, other in largest[:limit]]
    regions = regions_of(unit, others)
    similarity = similarities(unit, [region, *regions.values()])
    written = [pointers[other] for other in others if other in pointers]
    texts = {row["id"]: row for row in unit.all("semantic.understanding_of", ids=written)}
    return tuple(
        SubjectNeighbor(
            subject=reshape(BriefSubject, regions[other]),
            intersection_size=sizes[other],
            similarity_score=similarity(region, regions[other]),
            intersection_understanding=brief_understanding(texts.get(pointers.get(other, 0))),
        )
        for other in others
    )


def open_intersection(op: Operation, subject_a: str, subject_b: str, limit: int) -> Intersection:
    """Show what two subjects share."""
    most = arguments.limit(limit, 10_000)
    with op.read() as unit:
        one, other = need_one(unit, subject_a), need_one(unit, subject_b)
        if one.id == other.id:
            hint = "name two different ones, or use recall to see what is known about one"
            raise Rejected(f"{subject_a!r} and {subject_b!r} are the same subject", hint=hint)
        ids = [one.id, other.id]
        shared = unit.all("semantic.observation_tagged_all", subjects=ids, count=2, limit=most)
        texts = unit.all("semantic.understanding_tagged_all", subjects=ids, count=2, limit=_MOST_UNDERSTANDINGS)
        found = understandings_of(unit, [row["id"] for row in texts])
        pair = unit.one("semantic.intersection_get", a=min(ids), b=max(ids))
        own = None if pair is None else found.pop(pair["understanding_id"] or 0, None)
        relationship = None
        if own is not None:
            chain = tuple(ancestors_of(unit, own.id)[1:])
            relationship = reshape(RelationshipUnderstanding, own, supersedes=chain)
        observations = briefs_of(unit, [row["id"] for row in shared])
    return Intersection(
        subject_a=reshape(BriefSubject, one),
        subject_b=reshape(BriefSubject, other),
        relationship_understanding=relationship,
        other_understandings=tuple(reshape(OtherUnderstanding, each) for each in found.values()),
        observations=observations,
        intersection_size=len(texts) + (0 if pair is None else pair["observation_count"]),
        workspace_activity=note_call(op, "open_intersection", [] if own is None else [own.id]),
    )


def find_similar(op: Operation, limit: int, min_score: float) -> tuple[SubjectPair, ...]:
    """List pairs of subjects that are similar and share little, most similar first."""
    most, least = arguments.limit(limit), arguments.share(min_score, "min_score")
    with op.read() as unit:
        rows = unit.all("semantic.subject_ids", limit=MOST_COMPARED)
        understood = {row["id"]: row["single_understanding_id"] for row in rows}
        spelled = {pair: score for pair, score in spelled_pairs(unit, list(understood)).items() if score >= least}
        # As in `remember`: where both scores exist, spelling overrides meaning.
        scores = {**_similar_pairs(unit, understood, least), **spelled}
        ids = sorted({item for pair in scores for item in pair})
        sizes = {
            (row["subject_a"], row["subject_b"]): row["observation_count"]
            for row in unit.all("semantic.intersection_sizes", ids=ids)
        }
        regions = regions_of(unit, ids)
    pairs = [
        SubjectPair(
            subject_a=regions[a].name,
            subject_b=regions[b].name,
            similarity_score=round(score, 4),
            intersection_size=sizes.get((a, b), 0),
        )
        for (a, b), score in scores.items()
        if sizes.get((a, b), 0) <= _SMALL_INTERSECTION
    ]
    return tuple(sorted(pairs, key=lambda pair: (-pair.similarity_score, pair.subject_a, pair.subject_b))[:most])


def _similar_pairs(unit: Unit, understood: Mapping[int, int | None], least: float) -> dict[tuple[int, int], float]:
    """Compare every subject with every other: understandings with understandings, names with names."""
    named = _alike(vectors_of(unit, understood), list(understood), least)
    owners = {item: subject for subject, item in understood.items() if item is not None}
    texts = vectors_of(unit, owners)
    comparable = {subject for item, subject in owners.items() if item in texts}
    # Names decide only where one of the two has no understanding; otherwise their understandings do.
    found = {pair: score for pair, score in named.items() if not comparable.issuperset(pair)}
    for (one, other), score in _alike(texts, sorted(owners), least).items():
        a, b = sorted((owners[one], owners[other]))
        found[a, b] = score
    return found


def _alike(vectors: Mapping[int, Vector], ids: Sequence[int], least: float) -> dict[tuple[int, int], float]:
    """Find every pair of items with at least this cosine, a slab of rows at a time."""
    known = [item for item in ids if item in vectors]
    if len(known) < 2:
        return {}
    matrix = np.stack([vectors[item] for item in known])
    found: dict[tuple[int, int], float] = {}
    for start in range(0, len(known), _SLAB):
        scores = matrix[start : start + _SLAB] @ matrix.T
        for row, column in zip(*np.nonzero(scores >= least), strict=True):
            one, other = known[start + int(row)], known[int(column)]
            # The product has every pair twice and each item with itself; one of the two orders is enough.
            if one < other:
                found[one, other] = float(scores[row, column])
    return found
