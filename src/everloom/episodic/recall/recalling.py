"""Bringing scenes back: in fragments, by what a message touches, by a feeling, or by cluster.

Whatever is brought back grows stronger: once a call, in one statement.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from everloom.clock import to_micros
from everloom.episodic.ground import Place
from everloom.episodic.scenes.clusters import Cluster, cluster_named, clusters_of, refresh, vectors_of
from everloom.episodic.scenes.node import KIND, Node, nodes_of
from everloom.episodic.scenes.reading import Mended, emotion_of
from everloom.episodic.scenes.scene import AXES, Emotion, fields_of, folded
from everloom.errors import Rejected
from everloom.kernel.journal import count_access
from everloom.kernel.texts import checked
from everloom.store import Unit
from everloom.store.contract import Probe, Reach

RECALLED = 3
LONGEST_CUE = 20_000
LONGEST_ANSWER = 4_000
FIRST_LOOK = 24
WIDENING = 8
OPENING, CLOSING = "<memory-recall>", "</memory-recall>"
SCENES = Reach(kinds=(KIND,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """What `recall` answers: `text` is empty when nothing was touched, and `reason` says why."""

    text: str
    fragments: tuple[str, ...]
    node_ids: tuple[int, ...]
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMemory:
    """What `recall_memory` answers: the clusters, or one cluster with its scenes; `text` says it in words."""

    text: str
    clusters: tuple[Cluster, ...] = ()
    nodes: tuple[Node, ...] = ()


def recall(place: Place, message: str, felt: object = None, limit: int = RECALLED) -> Recall:
    """Bring back fragments of the scenes that a message or a feeling touches."""
    feeling = feeling_of(felt)
    if not message.strip() and feeling is None:
        raise Rejected("there is nothing to recall by", hint="give a message, a feeling, or both")
    cue = checked(message, "the message", LONGEST_CUE) if message.strip() else None
    vectors = None if cue is None else place.ground.embedding.probe(cue, place.info.id)
    if cue is not None and vectors is None:
        return Recall(text="", fragments=(), node_ids=(), reason="no embedder can answer now: go on without it")
    with place.read() as unit:
        if cue is None or vectors is None:
            ids = nearest_in_feeling(unit, feeling, limit)
        else:
            probe = place.ground.embedding.aimed(unit, vectors)
            threshold = place.ground.thresholds(unit, vectors.model).recall
            ids = [] if probe is None else touched(unit, probe, threshold, limit, feeling)
        nodes = nodes_of(unit, ids)
    if not nodes:
        return Recall(text="", fragments=(), node_ids=(), reason="no scene is near enough")
    reactivate(place, ids)
    fragments = shuffled([text for item in ids for text in (nodes[item].scene.action, nodes[item].feeling)], place)
    return Recall(text=f"{OPENING}\n{' / '.join(fragments)}\n{CLOSING}", fragments=fragments, node_ids=tuple(ids))


def feeling_of(given: object) -> Emotion | None:
    """Read a feeling that somebody asks for."""
    if given is None or isinstance(given, Emotion):
        return given
    found = emotion_of(_by_name(given) if isinstance(given, str) else given, Mended())
    if found is None:
        raise Rejected("this is no feeling", hint="give six numbers from -1 to 1, or some of them by name: valence, …")
    return found


def _by_name(text: str) -> dict[str, str]:
    """Read numbers that are written as text, `0.5,-0.2,0,0,0,0.9` or `valence=0.8,trust=0.5`."""
    parts = (part.strip() for part in text.split(",") if part.strip())
    pairs = (part.split("=", 1) if "=" in part else (axis, part) for axis, part in zip(AXES, parts, strict=False))
    return {name.strip(): number for name, number in pairs}


def shuffled(texts: Iterable[str], place: Place) -> tuple[str, ...]:
    """Mix actions and feelings so that the borders between scenes blur; none of them may close the tag."""
    kept = [
        text.replace("<memory-recall", "‹memory-recall").replace("</memory-recall", "‹/memory-recall") for text in texts
    ]
    return fisher_yates([text for text in kept if text], place.ground.chance)


def fisher_yates(items: Sequence[str], chance: random.Random) -> tuple[str, ...]:
    """Shuffle so that every order is equally likely."""
    mixed = list(items)
    for last in range(len(mixed) - 1, 0, -1):
        other = chance.randint(0, last)
        mixed[last], mixed[other] = mixed[other], mixed[last]
    return tuple(mixed)


def nearest_in_feeling(unit: Unit, feeling: Emotion | None, limit: int) -> list[int]:
    """Find the living scenes that felt most alike."""
    if feeling is None:
        return []
    return [row["id"] for row in unit.all("episodic.felt_nearest", limit=limit, **feeling.as_dict())]


def touched(unit: Unit, probe: Probe, threshold: float, limit: int, feeling: Emotion | None) -> list[int]:
    """Find the living scenes over the threshold: nearest first; with a feeling, most alike first."""
    wanted = limit if feeling is None else FIRST_LOOK
    near = [item for item, _ in over(unit, probe, threshold, wanted, living_only=True)]
    if feeling is not None:
        nodes = nodes_of(unit, near)
        near.sort(key=lambda item: distance(nodes[item].emotion, feeling))
    return near[:limit]


def distance(emotion: Emotion | None, feeling: Emotion) -> float:
    """Say how far an emotion is from a feeling; an unknown one is farthest."""
    return float("inf") if emotion is None else emotion.distance(feeling)


def over(unit: Unit, probe: Probe, threshold: float, limit: int, *, living_only: bool) -> list[tuple[int, float]]:
    """Find scenes nearer than the threshold, nearest first; looks further while dead ones are in the way."""
    look = max(limit, FIRST_LOOK)
    while True:
        hits = unit.nearest(probe, look, SCENES)
        near = [(hit.item_id, hit.similarity) for hit in hits if hit.similarity > threshold]
        status = {row["id"]: row["status"] for row in unit.all("episodic.status_of", ids=[item for item, _ in near])}
        found = [
            (item, score) for item, score in near if item in status and not (living_only and status[item] == "dead")
        ]
        if len(found) >= limit or len(near) < len(hits) or len(hits) < look:
            return found[:limit]
        look *= WIDENING


def reactivate(place: Place, ids: Sequence[int]) -> None:
    """Count that scenes came back: +1 to the living, +2 to the dead; a dying one is active again."""
    if not ids:
        return
    with place.write() as unit:
        rows = unit.all("episodic.status_of", ids=list(ids))
        unit.run("episodic.reactivate", ids=sorted(set(ids)), at=to_micros(place.now))
        refresh(unit, place.ground.embedding, [row["cluster_id"] for row in rows if row["status"] == "dying"])
        count_access(unit, ids, place.now)


def recall_memory(
    place: Place, cluster_id: int | None, limit: int, query: str | None, *, no_nodes: bool = False
) -> ClusterMemory:
    """List the clusters, or bring back one cluster's scenes."""
    if not 1 <= limit <= 100:
        raise Rejected(f"cannot answer {limit} scenes", hint="ask for 1 to 100")
    if cluster_id is None:
        return list_clusters(place, query)
    with place.read() as unit:
        cluster_named(unit, cluster_id)
        cluster = next(each for each in clusters_of(unit) if each.id == cluster_id)
        ids = [] if no_nodes else in_cluster(unit, cluster_id, limit, query)
        nodes = nodes_of(unit, ids)
    reactivate(place, ids)
    found = tuple(nodes[item] for item in ids)
    lines = [f"{cluster.name} — {cluster.digest}", *(node_line(node) for node in found)]
    return ClusterMemory(text="\n".join(lines)[:LONGEST_ANSWER], clusters=(cluster,), nodes=found)


def in_cluster(unit: Unit, cluster_id: int, limit: int, query: str | None) -> list[int]:
    """Choose the scenes of a cluster by importance, then by last activation; with a query, those that hold it."""
    depth = limit if query is None else 10_000
    ids = [row["id"] for row in unit.all("episodic.node_in_cluster", cluster=cluster_id, limit=depth)]
    if query is None:
        return ids
    terms = [folded(term) for term in query.split()]
    nodes = nodes_of(unit, ids)
    held = [item for item in ids if any(term in fields_of(nodes[item].told).haystack for term in terms)]
    return held[:limit]


def list_clusters(place: Place, query: str | None) -> ClusterMemory:
    """List the clusters that hold anything, roots first; with a query, the nearest first."""
    vectors = place.ground.embedding.probe(query) if query and query.strip() else None
    with place.read() as unit:
        clusters = [each for each in clusters_of(unit) if each.nodes or each.is_root]
        if vectors is not None and vectors.model == place.ground.embedding.preferred:
            places, rows = vectors_of(unit, place.ground.embedding)
            near = dict(zip(places, (rows @ vectors.general).tolist() if places else [], strict=True))
            clusters.sort(key=lambda each: -near.get(each.id, -1.0))
    lines = [f"- [{each.id}] {each.name} — {each.digest}" for each in clusters]
    return ClusterMemory(text="\n".join(lines)[:LONGEST_ANSWER], clusters=tuple(clusters))


def node_line(node: Node) -> str:
    """Write one scene on a line."""
    state = "" if node.status == "active" else f" [{node.status}]"
    return f"- [{node.id}]{state} {node.text}"
