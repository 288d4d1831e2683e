"""Reflecting: what belongs together, what it means, and what is missing.

Groups of similar memories become insights: written when there is a language model, proposed when there is none. The
model comes in through `Thinker`; memory text reaches it as quoted data, never as instruction.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import TypeVar

from pydantic import BaseModel, Field

from everloom.clock import to_micros
from everloom.errors import ProviderError
from everloom.graph.index.recall import Recalling
from everloom.graph.operations.desk import Desk
from everloom.graph.operations.links import Link
from everloom.graph.operations.memories import Memories
from everloom.graph.pages.clusters import groups
from everloom.graph.pages.daily import Tending
from everloom.graph.pages.episodes import Episode
from everloom.graph.results import Brief, NewMemory, Proposal, Reflected
from everloom.kernel.embedding import Embedding
from everloom.models.ask import Passage, Question, Thinker

ShapeT = TypeVar("ShapeT", bound=BaseModel)

LOOKED_AT = 300
LEAST_GROUP = 3
MOST_INSIGHTS = 5
MOST_SOURCES = 12
# Used where nobody has calibrated the model.
ALIKE = 0.55
SHARED_TAGS = 2

SYSTEM = (
    "You keep the long-term memory of an engineer. You are given several memories that resemble each other, as JSON. "
    "Write one insight that holds across them: a short title, and two to five sentences that say what is common, why "
    "it happens, and what to do next time. Invent nothing."
)


class Insight(BaseModel):
    """What a language model makes of a group of memories."""

    title: str = Field(min_length=1, max_length=200)
    content: str = Field(min_length=1, max_length=4_000)
    tags: list[str] = Field(default_factory=list, max_length=8)


class Reflecting:
    """Reflection on one graph."""

    def __init__(
        self, desk: Desk, memories: Memories, recalling: Recalling, tending: Tending, embedding: Embedding
    ) -> None:
        self._desk = desk
        self._embedding = embedding
        self._memories = memories
        self._recalling = recalling
        self._tending = tending

    def reflect(self, thinker: Thinker | None, *, alike: float | None = None, dry_run: bool = False) -> Reflected:
        """Look for groups among the newest memories, write or propose insights, and note it in the diary."""
        looked_at = [each for each in self._recalling.list(limit=LOOKED_AT) if each.type != "insight"]
        similar = self._similar(looked_at, ALIKE if alike is None else alike)
        by_id = {each.id: each for each in looked_at}
        found = [[by_id[member] for member in group] for group in groups(list(by_id), similar, LEAST_GROUP)]
        related = self._related()
        fresh = [group for group in found if not is_covered(group, related["insights"])]
        insights, notices = self._insights(fresh[:MOST_INSIGHTS], None if dry_run else thinker)
        result = Reflected(
            looked_at=len(looked_at),
            clusters=len(found),
            insights=tuple(insights),
            tag_suggestions=missing_tags(found),
            edge_suggestions=missing_edges(found, similar, related["pairs"]),
            notices=tuple(notices),
        )
        return result if dry_run else self._noted(result)

    def _similar(self, memories: Sequence[Brief], alike: float) -> dict[tuple[str, str], float]:
        """Compare every two memories by their vectors; without vectors, shared tags decide."""
        ground = self._desk.ground
        with ground.store.read(ground.workspace) as unit:
            vectors = self._embedding.held(unit, [each.item for each in memories])
        found: dict[tuple[str, str], float] = {}
        for one, other in combinations(memories, 2):
            ends = vectors.get(one.item), vectors.get(other.item)
            cosine = None if ends[0] is None or ends[1] is None else float(ends[0] @ ends[1])
            if are_alike(one, other, cosine, alike):
                found[(min(one.id, other.id), max(one.id, other.id))] = 0.5 if cosine is None else round(cosine, 4)
        return found

    def _related(self) -> dict[str, set[frozenset[str]]]:
        """Read which memories are joined already, and what each insight builds on."""
        ground = self._desk.ground
        with ground.store.read(ground.workspace) as unit:
            sides = unit.all("graph.relation_all", graph=ground.graph)
            kinds = {row["uuid"]: row["type"] for row in self._desk.catalog.rows(unit)}
        sources: dict[str, set[str]] = {}
        for side in sides:
            if kinds.get(side["uuid"]) == "insight" and side["direction"] == "outgoing":
                sources.setdefault(side["uuid"], set()).add(side["target"])
        return {
            "pairs": {frozenset((side["uuid"], side["target"])) for side in sides},
            "insights": {frozenset(each) for each in sources.values()},
        }

    def _insights(self, found: Sequence[Sequence[Brief]], thinker: Thinker | None) -> tuple[list[Proposal], list[str]]:
        proposals: list[Proposal] = []
        notices: list[str] = []
        for group in found:
            if thinker is None:
                proposals.append(proposal(group))
                continue
            try:
                insight = thinker.answer(question_about(group), Insight)
            except ProviderError as error:
                notices.append(f"no insight for {len(group)} memories: {error.message}")
                proposals.append(proposal(group))
                continue
            proposals.append(self._written(insight, group))
        return proposals, notices

    def _written(self, insight: Insight, group: Sequence[Brief]) -> Proposal:
        tags = tuple(dict.fromkeys([*insight.tags, *common_tags(group)]))[:8]
        new = NewMemory(type="insight", title=insight.title, content=insight.content, tags=tags, importance=0.7)
        links = [Link(each, "BUILDS_ON", outgoing=True, strength=0.7) for each in group[:MOST_SOURCES]]
        stored = self._memories.store(new, links)
        sources = tuple(each.id for each in group[:MOST_SOURCES])
        return Proposal(title=insight.title, content=insight.content, tags=tags, sources=sources, id=stored.id)

    def _noted(self, result: Reflected) -> Reflected:
        written = [each for each in result.insights if each.id is not None]
        summary = (
            f"{result.looked_at} memories, {result.clusters} groups, {len(written)} insights written, "
            f"{len(result.insights) - len(written)} proposed"
        )
        noted = self._tending.episode(Episode(title="Reflection", type="reflection", summary=summary))
        ground = self._desk.ground
        with ground.store.write(ground.workspace) as unit:
            unit.run("graph.graph_reflected", id=ground.graph, at=to_micros(self._desk.now))
        page = self._tending.reflection()
        notices = (*result.notices, *noted.notices, *page.notices)
        return Reflected(
            looked_at=result.looked_at,
            clusters=result.clusters,
            insights=result.insights,
            tag_suggestions=result.tag_suggestions,
            edge_suggestions=result.edge_suggestions,
            episode=noted.path,
            notices=notices,
        )


def are_alike(one: Brief, other: Brief, cosine: float | None, alike: float) -> bool:
    """Say whether two memories belong together."""
    if cosine is not None:
        return cosine >= alike
    return len(set(one.tags) & set(other.tags)) >= SHARED_TAGS


def is_covered(group: Sequence[Brief], insights: set[frozenset[str]]) -> bool:
    """Say whether an insight already builds on all of a group, or on as many as one can."""
    members = {each.id for each in group}
    return any(len(members & sources) >= min(len(members), MOST_SOURCES) for sources in insights)


def proposal(group: Sequence[Brief]) -> Proposal:
    """Propose an insight from titles and tags alone."""
    tags = common_tags(group)
    theme = " + ".join(tags[:2]) or group[0].type.replace("_", " ")
    content = "\n".join([f"{len(group)} memories resemble each other:", *(f"- {each.title}" for each in group)])
    return Proposal(
        title=f"Recurring theme: {theme} ({len(group)} memories)",
        content=content,
        tags=tags,
        sources=tuple(each.id for each in group),
    )


def question_about(group: Sequence[Brief]) -> Question:
    """Ask what holds across a group of memories."""
    rows = [{"type": each.type, "title": each.title, "tags": each.tags, "text": each.preview} for each in group]
    memories = json.dumps(rows[:MOST_SOURCES], ensure_ascii=False, indent=1)
    return Question(purpose="reflect", task=SYSTEM, passages=(Passage(memories),))


def common_tags(group: Sequence[Brief]) -> tuple[str, ...]:
    """Find the tags that at least half of a group has."""
    counts = Counter(tag for each in group for tag in set(each.tags))
    return tuple(tag for tag, count in counts.most_common() if count * 2 >= len(group))


def missing_tags(found: Sequence[Sequence[Brief]]) -> dict[str, tuple[str, ...]]:
    """Suggest to each memory the tags that its group has and it has not."""
    suggestions = {}
    for group in found:
        common = common_tags(group)
        for each in group:
            if absent := tuple(tag for tag in common if tag not in each.tags):
                suggestions[each.id] = absent
    return suggestions


def missing_edges(
    found: Sequence[Sequence[Brief]], similar: dict[tuple[str, str], float], joined: set[frozenset[str]]
) -> tuple[tuple[str, str, float], ...]:
    """Suggest relations between members of a group that have none."""
    open_pairs = [
        (one.id, other.id, similar[key])
        for group in found
        for one, other in combinations(group, 2)
        if (key := (min(one.id, other.id), max(one.id, other.id))) in similar and frozenset(key) not in joined
    ]
    return tuple(sorted(open_pairs, key=lambda each: -each[2])[:20])
