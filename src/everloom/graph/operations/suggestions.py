"""Suggests relations for a new memory, and tags for an existing one, from similar memories. Changes nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from everloom.errors import NotFound
from everloom.graph.index.catalog import OpenGraph, describe, living_tags
from everloom.graph.index.recall import LIVING, find_near
from everloom.graph.results import Memory, MemoryBrief, SuggestedTags, TagCount
from everloom.kernel.lifecycle import Vigour

# The contract considers the five nearest memories, and links at most three.
_NEAREST = 5
_MOST = 3
# Below this cosine two texts merely share a topic. Used for models that have no calibrated threshold.
_LEAST_SIMILARITY = 0.4
_CURES = frozenset({"solution", "fix", "configuration", "procedure", "workflow"})
_ILLS = frozenset({"problem", "error"})
# For each type, the types that it may build on.
_FOUNDATIONS: dict[str, frozenset[str]] = {
    "solution": frozenset({"decision", "code_pattern"}),
    "fix": frozenset({"solution", "decision", "code_pattern"}),
    "configuration": frozenset({"decision", "solution"}),
    "workflow": frozenset({"decision", "solution", "configuration"}),
    "code_pattern": frozenset({"solution", "fix"}),
    "procedure": frozenset({"workflow", "solution", "configuration", "fix"}),
    "insight": frozenset({"solution", "fix", "decision", "problem", "error", "workflow", "code_pattern", "procedure"}),
}
_WORD = re.compile(r"[\w-]+")
_MOST_SUGGESTED = 5

_Tagged = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class ChosenLink:
    """A relation to create; `outgoing` if it starts at the new memory."""

    other: MemoryBrief
    type: str
    outgoing: bool
    strength: float


def links_for(graph: OpenGraph, memory: Memory) -> list[ChosenLink]:
    """Find memories similar to a new one, and choose its relations."""
    found = find_near(graph, " ".join([memory.title, *memory.tags]), _NEAREST, LIVING).memories
    with graph.op.read() as unit:
        rows = unit.all("graph.note_without_id", ids=[each.item for each in found])
    # A file that was never written here stays untouched until somebody asks for a change of it.
    untouched = {row["memory_id"] for row in rows}
    near = [each for each in found if each.item not in untouched]
    return choose_links(memory.type, memory.tags, near, graph.op.embedding.chain.traits.recall_threshold)


def list_tags(graph: OpenGraph, beside: str | None = None) -> list[TagCount]:
    """Count the tags of memories that are not archived, or only those that occur with one tag."""
    tagged = living_tags(graph)
    return _count_tags([[other for other in tags if other != beside] for tags in tagged if beside in (None, *tags)])


def tags_for(graph: OpenGraph, identity: str) -> SuggestedTags:
    """Suggest tags that a memory lacks."""
    with graph.op.read() as unit:
        row = graph.find(unit, identity)
        (own,) = describe(graph, unit, [row])
    if own.status == Vigour.ARCHIVED.value:
        raise NotFound(f"{row['title']!r} is archived", hint="read it with get first, which makes it active again")
    text = f"{own.title} {own.preview}"
    near = find_near(graph, text, 2 * _NEAREST + 1, LIVING).memories
    votes = [(each.tags, each.similarity or 0.5) for each in near if each.id != own.id]
    common = {each.tag for each in _count_tags(living_tags(graph))}
    return SuggestedTags(id=own.id, suggested=tuple(suggest_tags(own.tags, text, votes, common)))


def choose_links(
    new_type: str, tags: Sequence[str], near: Sequence[MemoryBrief], least: float | None = None
) -> list[ChosenLink]:
    """Choose the relations of a new memory among its neighbours, nearest first.

    Filters before it counts, so that neighbours that cannot be linked do not take the place of others.
    """
    threshold = _LEAST_SIMILARITY if least is None else least
    found = []
    for other in near:
        if other.type == new_type or not _is_close(other, tags, threshold):
            continue
        kind, outgoing = _relation_between(new_type, other.type)
        strength = 0.5 if other.similarity is None else round(min(1.0, max(0.0, other.similarity)), 2)
        found.append(ChosenLink(other, kind, outgoing, strength))
    return found[:_MOST]


def _is_close(other: MemoryBrief, tags: Sequence[str], threshold: float) -> bool:
    """Check whether a neighbour is similar enough; one that was found only by words must share a tag."""
    if other.similarity is None:
        return bool(set(tags) & set(other.tags))
    return other.similarity >= threshold


def _relation_between(new: str, old: str) -> tuple[str, bool]:
    """Choose the relation between two types, and whether it starts at the new memory."""
    if new in _CURES and old in _ILLS:
        return "SOLVES", True
    if old in _CURES and new in _ILLS:
        return "SOLVES", False
    if old in _FOUNDATIONS.get(new, frozenset()):
        return "BUILDS_ON", True
    if new in _FOUNDATIONS.get(old, frozenset()):
        return "BUILDS_ON", False
    return "RELATED_TO", True


def _count_tags(tagged: _Tagged) -> list[TagCount]:
    """Count each tag, most frequent first."""
    return _ranked(Counter(tag for tags in tagged for tag in set(tags)))


def _ranked(counts: Mapping[str, int]) -> list[TagCount]:
    return [TagCount(tag, count) for tag, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))]


def tag_pairs(tagged: _Tagged) -> list[tuple[tuple[str, str], list[int]]]:
    """Find pairs of tags that occur together, most frequent first, each with the positions of its memories."""
    found: dict[tuple[str, str], list[int]] = {}
    for place, tags in enumerate(tagged):
        for pair in combinations(sorted(set(tags)), 2):
            found.setdefault(pair, []).append(place)
    return sorted(found.items(), key=lambda each: (-len(each[1]), each[0]))


def tags_across(tagged: _Tagged, projects: Iterable[str]) -> list[tuple[str, list[TagCount]]]:
    """Find the tags that at least two projects share, most projects first."""
    known = set(projects)
    spans: dict[str, Counter[str]] = {}
    for tags in tagged:
        for project in known.intersection(tags):
            for tag in set(tags) - known:
                spans.setdefault(tag, Counter())[project] += 1
    wide = [(tag, counts) for tag, counts in spans.items() if len(counts) > 1]
    wide.sort(key=lambda each: (-len(each[1]), -each[1].total(), each[0]))
    return [(tag, _ranked(counts)) for tag, counts in wide]


def suggest_tags(
    own: Sequence[str],
    text: str,
    near: Iterable[tuple[Sequence[str], float]],
    common: Iterable[str],
) -> list[str]:
    """Suggest tags for a memory: those of its neighbours, and known tags that occur in its text."""
    votes: Counter[str] = Counter()
    weights: dict[str, float] = {}
    for tags, similarity in near:
        for tag in tags:
            votes[tag] += 1
            weights[tag] = weights.get(tag, 0.0) + similarity
    words = {word.lower() for word in _WORD.findall(text)}
    for tag in common:
        if tag.lower() in words:
            weights[tag] = weights.get(tag, 0.0) + 1.0
            votes[tag] += 2
    # A tag of a single neighbour may be a coincidence, so two votes are needed; a tag that occurs in the text has two.
    fit = [tag for tag in weights if tag not in own and votes[tag] >= 2]
    return sorted(fit, key=lambda tag: (-weights[tag], tag))[:_MOST_SUGGESTED]
