"""Which relations a new memory gets by itself: from what is near it, by the types of the two. Pure.

Filters first and counts then, so that neighbours which cannot be linked do not use up the places of those which can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from everloom.graph.results import Brief

NEAREST = 5
MOST = 3
# Below this cosine two texts merely share a topic; used where nobody has calibrated the model.
LEAST_SIMILARITY = 0.4
CURES = frozenset({"solution", "fix", "configuration", "procedure", "workflow"})
ILLS = frozenset({"problem", "error"})
# From what stands on something to what it may stand on.
FOUNDATIONS: dict[str, frozenset[str]] = {
    "solution": frozenset({"decision", "code_pattern"}),
    "fix": frozenset({"solution", "decision", "code_pattern"}),
    "configuration": frozenset({"decision", "solution"}),
    "workflow": frozenset({"decision", "solution", "configuration"}),
    "code_pattern": frozenset({"solution", "fix"}),
    "procedure": frozenset({"workflow", "solution", "configuration", "fix"}),
    "insight": frozenset({"solution", "fix", "decision", "problem", "error", "workflow", "code_pattern", "procedure"}),
}


@dataclass(frozen=True, slots=True)
class Link:
    """A relation to be drawn; `outgoing` when it begins at the new memory."""

    other: Brief
    type: str
    outgoing: bool
    strength: float


def links_for(new_type: str, tags: Sequence[str], near: Sequence[Brief], least: float | None = None) -> list[Link]:
    """Choose the relations of a new memory among its neighbours, nearest first."""
    threshold = LEAST_SIMILARITY if least is None else least
    found = []
    for other in near:
        if other.type == new_type or not is_close(other, tags, threshold):
            continue
        kind, outgoing = relation_between(new_type, other.type)
        found.append(Link(other, kind, outgoing, strength_of(other)))
    return found[:MOST]


def is_close(other: Brief, tags: Sequence[str], threshold: float) -> bool:
    """Say whether a neighbour is near enough; one that only words found must share a tag."""
    if other.similarity is None:
        return bool(set(tags) & set(other.tags))
    return other.similarity >= threshold


def strength_of(other: Brief) -> float:
    """Turn a similarity into a strength."""
    return round(min(1.0, max(0.0, 0.5 if other.similarity is None else other.similarity)), 2)


def relation_between(new: str, old: str) -> tuple[str, bool]:
    """Name the relation of two types and say whether it begins at the new one."""
    if new in CURES and old in ILLS:
        return "SOLVES", True
    if old in CURES and new in ILLS:
        return "SOLVES", False
    if old in FOUNDATIONS.get(new, frozenset()):
        return "BUILDS_ON", True
    if new in FOUNDATIONS.get(old, frozenset()):
        return "BUILDS_ON", False
    return "RELATED_TO", True
