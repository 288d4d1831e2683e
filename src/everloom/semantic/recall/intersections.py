"""What subjects share: the neighbours of one, the intersection of two, and pairs that may be the same.

Two subjects that both have an understanding are compared by it; otherwise both are compared by name and summary.
Names that are spelled alike make a pair in any case.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

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
# How many of the most similar pairs are looked at together.
_PAGE = 64

_Scored = tuple[int, int, float]


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
        names = {item: region.name for item, region in regions_of(unit, understood).items()}
        # As in `remember`: where both scores exist, spelling overrides meaning.
        spelled = {pair: score for pair, score in spelled_pairs(unit, list(understood)).items() if score >= least}
        meant = _similar_pairs(unit, understood, least).without(spelled)
        found: list[SubjectPair] = []
        for pairs in meant.joined(_ScoredPairs.of(spelled)).in_order(names):
            found += _sharing_little(unit, pairs, names)
            if len(found) >= most:
                break
    return tuple(found[:most])


def _sharing_little(unit: Unit, pairs: Sequence[_Scored], names: Mapping[int, str]) -> Iterator[SubjectPair]:
    """Leave out the pairs that are known to be related."""
    ids = sorted({item for a, b, _ in pairs for item in (a, b)})
    rows = unit.all("semantic.intersection_sizes", ids=ids)
    sizes = {(row["subject_a"], row["subject_b"]): row["observation_count"] for row in rows}
    for a, b, score in pairs:
        shared = sizes.get((a, b), 0)
        if shared <= _SMALL_INTERSECTION:
            yield SubjectPair(subject_a=names[a], subject_b=names[b], similarity_score=score, intersection_size=shared)


@dataclass(frozen=True, slots=True)
class _ScoredPairs:
    """Pairs of items, the smaller id first, and the score of each: three columns, because there may be millions."""

    one: npt.NDArray[np.int64]
    other: npt.NDArray[np.int64]
    score: npt.NDArray[np.float64]

    @classmethod
    def of(cls, scores: Mapping[tuple[int, int], float]) -> _ScoredPairs:
        ids = np.array(list(scores), np.int64).reshape(-1, 2)
        return cls(ids[:, 0], ids[:, 1], np.array(list(scores.values()), np.float64))

    def joined(self, more: _ScoredPairs) -> _ScoredPairs:
        """Return these and others."""
        return _ScoredPairs(
            np.concatenate([self.one, more.one]),
            np.concatenate([self.other, more.other]),
            np.concatenate([self.score, more.score]),
        )

    def where(self, chosen: npt.NDArray[np.bool_]) -> _ScoredPairs:
        """Return some of them."""
        return _ScoredPairs(self.one[chosen], self.other[chosen], self.score[chosen])

    def without(self, pairs: Collection[tuple[int, int]]) -> _ScoredPairs:
        """Return all but these pairs."""
        if not pairs or not len(self.one):
            return self
        known, least = np.array(list(pairs), np.int64), int(self.one.max()) + 1
        # One number for a pair: both ids are far below the square root of what fits.
        return self.where(~np.isin(self.other * least + self.one, known[:, 1] * least + known[:, 0]))

    def in_order(self, names: Mapping[int, str]) -> Iterator[list[_Scored]]:
        """List them most similar first, then by name, some at a time."""
        ids = np.array(sorted(names), np.int64)
        ranked = {name: rank for rank, name in enumerate(sorted(set(names.values())))}
        rank = np.array([ranked[names[int(item)]] for item in ids], np.int64)
        score = np.round(self.score, 4)
        first, second = (rank[np.searchsorted(ids, each)] for each in (self.one, self.other))
        order = np.lexsort((second, first, -score))
        for start in range(0, len(order), _PAGE):
            some = order[start : start + _PAGE]
            yield list(zip(self.one[some].tolist(), self.other[some].tolist(), score[some].tolist(), strict=True))


def _similar_pairs(unit: Unit, understood: Mapping[int, int | None], least: float) -> _ScoredPairs:
    """Compare every subject with every other: understandings with understandings, names with names."""
    named = _alike(vectors_of(unit, understood), sorted(understood), least)
    owners = {item: subject for subject, item in understood.items() if item is not None}
    texts = vectors_of(unit, owners)
    comparable = np.array(sorted(subject for item, subject in owners.items() if item in texts), np.int64)
    # Names decide only where one of the two has no understanding; otherwise their understandings do.
    both = np.isin(named.one, comparable) & np.isin(named.other, comparable)
    written = _alike(texts, sorted(owners), least)
    ids = np.array(sorted(owners), np.int64)
    subjects = np.array([owners[int(item)] for item in ids], np.int64)
    one, other = (subjects[np.searchsorted(ids, each)] for each in (written.one, written.other))
    told = _ScoredPairs(np.minimum(one, other), np.maximum(one, other), written.score)
    return named.where(~both).joined(told)


def _alike(vectors: Mapping[int, Vector], ids: Sequence[int], least: float) -> _ScoredPairs:
    """Find every pair of items with at least this cosine, a slab of rows at a time; the ids are in order."""
    known = [item for item in ids if item in vectors]
    found = _ScoredPairs.of({})
    if len(known) < 2:
        return found
    matrix, places = np.stack([vectors[item] for item in known]), np.array(known, np.int64)
    slabs = [found]
    for start in range(0, len(known), _SLAB):
        # Only with those that come later: the whole product has every pair twice, and each item with itself.
        scores = matrix[start : start + _SLAB] @ matrix[start:].T
        rows, columns = np.nonzero(np.triu(scores >= least, k=1))
        slabs.append(_ScoredPairs(places[start + rows], places[start + columns], scores[rows, columns].astype(float)))
    return reduce(_ScoredPairs.joined, slabs)
