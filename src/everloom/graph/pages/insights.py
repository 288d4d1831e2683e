"""Reflection: groups similar memories, derives insights, and suggests missing tags and relations.

With a language model, insights are written and stored; without one, they are only proposed. The model receives the text
of memories as quoted data, never as instructions.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import combinations

from pydantic import Field

from everloom.clock import to_micros
from everloom.errors import ProviderError
from everloom.graph.index.catalog import OpenGraph
from everloom.graph.index.inputs import hash_memories, is_made_from, note_inputs
from everloom.graph.index.links import links_around
from everloom.graph.index.recall import LIVING, list_memories
from everloom.graph.operations.memories import MemoryFields, new_memory, store_linked
from everloom.graph.operations.suggestions import ChosenLink
from everloom.graph.pages.episodes import Episode, add_episode
from everloom.graph.pages.reflection import write_reflection
from everloom.graph.results import InsightProposal, MemoryBrief, Reflected
from everloom.kernel.once import UNKEYED
from everloom.kernel.trust.resting import rest_on
from everloom.models.ask import Passage, Question, Thinker
from everloom.models.shape import ModelAnswer

# Every pair is compared: 300 memories already make 45,000 pairs.
_LOOKED_AT = 300
_LEAST_GROUP = 3
_MOST_INSIGHTS = 5
_MOST_SOURCES = 12
# The cosine from which two memories count as similar. Used for models that have no calibrated threshold.
_ALIKE = 0.55
_SHARED_TAGS = 2
_SAME_AS_BEFORE = "no memory has changed since the last reflection, so this one is not recorded"

_TASK = (
    "You keep the long-term memory of an engineer. You are given several memories that resemble each other, as JSON. "
    "Write one insight that holds across them: a short title, and two to five sentences that say what is common, why "
    "it happens, and what to do next time. Invent nothing."
)

_Pair = tuple[str, str]


class InsightReply(ModelAnswer):
    """The insight that a language model writes for a group of memories."""

    title: str = Field(min_length=1, max_length=200)
    content: str = Field(min_length=1, max_length=4_000)
    tags: list[str] = Field(default_factory=list, max_length=8)


def reflect(graph: OpenGraph, *, dry_run: bool = False) -> Reflected:
    """Find groups among the newest memories, store or propose insights, and record it in the diary.

    Who repeats it after a crash stores no insight twice, because a group that has one is left alone.
    """
    asked, graph = graph.once, replace(graph, once=UNKEYED)
    looked_at = [each for each in list_memories(graph, LIVING, _LOOKED_AT) if each.type != "insight"]
    similar = _similar(graph, looked_at)
    by_id = {each.id: each for each in looked_at}
    found = [[by_id[member] for member in group] for group in groups(list(by_id), similar, _LEAST_GROUP)]
    joined, covered = _joined(graph, looked_at)
    fresh = [group for group in found if not _is_covered(group, covered)]
    insights, notices = _insights(graph, fresh[:_MOST_INSIGHTS], None if dry_run else graph.thinker())
    result = Reflected(
        looked_at=len(looked_at),
        clusters=len(found),
        insights=tuple(insights),
        tag_suggestions=_missing_tags(found),
        edge_suggestions=_missing_edges(found, similar, joined),
        notices=tuple(notices),
    )
    return result if dry_run else _noted(replace(graph, once=asked.part("diary")), result)


def _similar(graph: OpenGraph, memories: Sequence[MemoryBrief]) -> dict[_Pair, float]:
    """Compare every pair of memories by their vectors, or by shared tags if one has no vector."""
    embedding = graph.op.embedding
    calibrated = embedding.chain.traits.cluster_threshold
    alike = _ALIKE if calibrated is None else calibrated
    with graph.op.read() as unit:
        vectors = embedding.held(unit, [each.item for each in memories])
    found: dict[_Pair, float] = {}
    for one, other in combinations(memories, 2):
        ends = vectors.get(one.item), vectors.get(other.item)
        cosine = None if ends[0] is None or ends[1] is None else float(ends[0] @ ends[1])
        is_alike = len(set(one.tags) & set(other.tags)) >= _SHARED_TAGS if cosine is None else cosine >= alike
        if is_alike:
            found[_pair(one, other)] = 0.5 if cosine is None else round(cosine, 4)
    return found


def _pair(one: MemoryBrief, other: MemoryBrief) -> _Pair:
    return min(one.id, other.id), max(one.id, other.id)


def _joined(graph: OpenGraph, memories: Sequence[MemoryBrief]) -> tuple[set[frozenset[str]], list[set[str]]]:
    """Find which of some memories are already related, and what each insight builds on that builds on any of them."""
    uuids = {each.item: each.id for each in memories}
    with graph.op.read() as unit:
        sides = unit.all("graph.relation_of", ids=list(uuids))
        seen = links_around(graph, unit, list(uuids))
        insights = unit.all("graph.insight_on", graph=graph.id, uuids=list(uuids.values()))
        reasons = unit.all("graph.relation_of", ids=[row["id"] for row in insights])
    sources: dict[int, set[str]] = {}
    for side in reasons:
        if side["direction"] == "outgoing":
            sources.setdefault(side["memory_id"], set()).add(side["target"])
    pairs = {frozenset((uuids[side["memory_id"]], side["target"])) for side in sides}
    return pairs | {each.pair for each in seen}, list(sources.values())


def _insights(
    graph: OpenGraph, found: Sequence[Sequence[MemoryBrief]], thinker: Thinker | None
) -> tuple[list[InsightProposal], list[str]]:
    proposals: list[InsightProposal] = []
    notices: list[str] = []
    for group in found:
        try:
            reply = None if thinker is None else thinker.answer(_question_about(group), InsightReply)
        except ProviderError as error:
            notices.append(f"no insight for {len(group)} memories: {error.message}")
            reply = None
        proposals.append(_propose(group) if reply is None else _store_insight(graph, reply, group))
    return proposals, notices


def _store_insight(graph: OpenGraph, reply: InsightReply, group: Sequence[MemoryBrief]) -> InsightProposal:
    tags = tuple(dict.fromkeys([*reply.tags, *_common_tags(group)]))[:8]
    fields = MemoryFields(type="insight", title=reply.title, content=reply.content, tags=tags, importance=0.7)
    links = [ChosenLink(each, "BUILDS_ON", outgoing=True, strength=0.7) for each in group[:_MOST_SOURCES]]
    stored = store_linked(graph, new_memory(fields, graph.op.now), links)
    with graph.op.write("graph.insight") as tx:
        rest_on(tx.unit, ((stored.item, graph.find(tx.unit, each.id)["id"]) for each in group[:_MOST_SOURCES]))
    sources = tuple(each.id for each in group[:_MOST_SOURCES])
    return InsightProposal(title=reply.title, content=reply.content, tags=tags, sources=sources, id=stored.id)


def _noted(graph: OpenGraph, result: Reflected) -> Reflected:
    written = [each for each in result.insights if each.id is not None]
    summary = (
        f"{result.looked_at} memories, {result.clusters} groups, {len(written)} insights written, "
        f"{len(result.insights) - len(written)} proposed"
    )
    with graph.op.read() as unit:
        inputs = hash_memories(unit.all("graph.memory_all", graph=graph.id), with_use=False)
    if not written and is_made_from(graph, "reflect", inputs):
        return replace(result, notices=(*result.notices, _SAME_AS_BEFORE))
    noted = add_episode(graph, Episode(title="Reflection", type="reflection", summary=summary))
    with graph.op.write("graph.reflect") as transaction:
        transaction.unit.send("graph.graph_reflected", id=graph.id, at=to_micros(transaction.at))
        note_inputs(transaction.unit, graph.id, "reflect", inputs)
    page = write_reflection(graph)
    return replace(result, episode=noted.path, notices=(*result.notices, *noted.notices, *page.notices))


def _is_covered(group: Sequence[MemoryBrief], insights: Sequence[AbstractSet[str]]) -> bool:
    """Check whether an insight already builds on a whole group, or on as many of it as an insight can."""
    members = {each.id for each in group}
    return any(len(members & sources) >= min(len(members), _MOST_SOURCES) for sources in insights)


def _propose(group: Sequence[MemoryBrief]) -> InsightProposal:
    """Propose an insight from titles and tags only."""
    tags = _common_tags(group)
    theme = " + ".join(tags[:2]) or group[0].type.replace("_", " ")
    content = "\n".join([f"{len(group)} memories resemble each other:", *(f"- {each.title}" for each in group)])
    title, sources = f"Recurring theme: {theme} ({len(group)} memories)", tuple(each.id for each in group)
    return InsightProposal(title=title, content=content, tags=tags, sources=sources)


def _question_about(group: Sequence[MemoryBrief]) -> Question:
    """Build the question about a group of memories."""
    rows = [{"type": each.type, "title": each.title, "tags": each.tags, "text": each.preview} for each in group]
    memories = json.dumps(rows[:_MOST_SOURCES], ensure_ascii=False, indent=1)
    return Question(purpose="reflect", task=_TASK, passages=(Passage(memories),))


def _common_tags(group: Sequence[MemoryBrief]) -> tuple[str, ...]:
    """Find the tags that at least half of a group has."""
    counts = Counter(tag for each in group for tag in set(each.tags))
    return tuple(tag for tag, count in counts.most_common() if count * 2 >= len(group))


def _missing_tags(found: Sequence[Sequence[MemoryBrief]]) -> dict[str, tuple[str, ...]]:
    """Suggest to each memory the common tags of its group that it lacks."""
    suggestions = {}
    for group in found:
        common = _common_tags(group)
        for each in group:
            if absent := tuple(tag for tag in common if tag not in each.tags):
                suggestions[each.id] = absent
    return suggestions


def _missing_edges(
    found: Sequence[Sequence[MemoryBrief]], similar: Mapping[_Pair, float], joined: AbstractSet[frozenset[str]]
) -> tuple[tuple[str, str, float], ...]:
    """Suggest relations between similar members of a group that have none."""
    open_pairs = [
        (one.id, other.id, similar[key])
        for group in found
        for one, other in combinations(group, 2)
        if (key := _pair(one, other)) in similar and frozenset(key) not in joined
    ]
    return tuple(sorted(open_pairs, key=lambda each: -each[2])[:20])


def groups(members: Sequence[str], pairs: Iterable[_Pair], least: int) -> list[list[str]]:
    """Group members that are similar, directly or through others; largest group first, members in order."""
    # Union-find: each member points to another of its group, up to the root, and each search halves the path.
    parent = {member: member for member in members}

    def root(member: str) -> str:
        while parent[member] != member:
            parent[member] = parent[parent[member]]
            member = parent[member]
        return member

    for one, other in pairs:
        if one in parent and other in parent:
            parent[root(one)] = root(other)
    found: dict[str, list[str]] = {}
    for member in members:
        found.setdefault(root(member), []).append(member)
    return sorted((group for group in found.values() if len(group) >= least), key=len, reverse=True)
