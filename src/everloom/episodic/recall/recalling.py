"""Recalling scenes: in fragments by a message or a feeling, or by cluster.

Whatever is recalled grows stronger: once per call, in one statement. What does not fit a message is not recalled.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from everloom.clock import to_micros
from everloom.episodic.being import Being
from everloom.episodic.calibration import thresholds_of
from everloom.episodic.recall.feeling import Alike, Felt, find_alike, parse_feeling
from everloom.episodic.scenes.clusters import Cluster, cluster_vectors, clusters_of, find_cluster, refresh
from everloom.episodic.scenes.node import KIND, Node, nodes_of
from everloom.episodic.scenes.scene import fold_text
from everloom.errors import Rejected
from everloom.kernel.answer.budget import affordable, checked_tokens, cost, cut_item, more, room_for
from everloom.kernel.answer.encode import BY_ID, SAID
from everloom.kernel.journal import count_access
from everloom.kernel.operation import Transaction
from everloom.kernel.search import ALONE, NOTHING_FITS, Hit, Scope
from everloom.kernel.texts import checked_limit
from everloom.kernel.verbs import ANSWER_TOKENS
from everloom.models.text import RECALL_CLOSING, RECALL_OPENING, estimate, marked, trimmed, without_recall_tags
from everloom.store import Ids, Unit

SCENES = Scope(kinds=frozenset({KIND}))
# The contract recalls three scenes.
_RECALLED = 3
# How many scenes that fit a message are compared with a feeling.
_COMPARED = 24
# A line of a list gets this part of the answer's budget at most; the fields around the lines take so many tokens.
LINE = 0.25
# Not every client that recalls scenes can show one, and each can ask for more.
SHOW_SCENE = "show {id} or a larger max_tokens"
FRAME_TOKENS = 80
_CUT_SHORT = "fragments are cut; ask with a larger max_tokens"
# How many scenes of a cluster a query is matched with.
_DEEPEST = 10_000
# Of the scenes that answer a query, so many at most.
_MOST_FITTING = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """The result of `recall`; when nothing was recalled, `text` is empty and `reason` says why."""

    text: str
    fragments: tuple[str, ...] = field(metadata=SAID)
    node_ids: tuple[int, ...] = field(metadata=SAID)
    reason: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMemory:
    """The result of `recall_memory`: the clusters, or one cluster with its scenes; `text` is the same for people."""

    text: str
    clusters: tuple[Cluster, ...] = field(default=(), metadata=SAID)
    nodes: tuple[Node, ...] = field(default=(), metadata={**BY_ID, **SAID})
    note: str | None = None


@dataclass(frozen=True, slots=True)
class ClusterRequest:
    """What `recall_memory` is asked for; without a cluster, the list of them."""

    cluster_id: int | None
    limit: int = 5
    query: str | None = None
    fits_only: bool = False


def recall(being: Being, message: str, felt: object = None, max_tokens: int = ANSWER_TOKENS) -> Recall:
    """Recall fragments of the scenes that a message or a feeling brings up."""
    tokens = checked_tokens(max_tokens)
    feeling = parse_feeling(felt)
    if not message.strip() and feeling is None:
        raise Rejected("there is neither a message nor a feeling", hint="give a message, a feeling, or both")
    if feeling and not message.strip():
        found = find_alike(being, feeling, _RECALLED)
    else:
        found = Alike(_find_touched(being, message, feeling), "no scene fits")
    ids = found.ids
    with being.op.read() as unit:
        nodes = nodes_of(unit, ids)
    if not nodes:
        return Recall(text="", fragments=(), node_ids=(), reason=found.reason)
    reactivate(being, ids)
    whole = mix_fragments(
        (text for item in ids for text in (nodes[item].scene.action, nodes[item].feeling)), being.chance
    )
    # Each is told twice, as a fragment and in the text.
    longest = room_for([estimate(each) for each in whole], (tokens - FRAME_TOKENS) // 2)
    fragments = tuple(each if estimate(each) <= longest else f"{trimmed(each, longest).rstrip()}…" for each in whole)
    told = marked(" / ".join(fragments))
    return Recall(
        text=f"{RECALL_OPENING}\n{told}\n{RECALL_CLOSING}",
        fragments=fragments,
        node_ids=tuple(ids),
        note=None if fragments == whole else _CUT_SHORT,
    )


def _find_touched(being: Being, message: str, feeling: Felt | None) -> list[int]:
    """Find the living scenes that fit a message, best first; with a feeling, the most alike first."""
    wanted = _RECALLED if feeling is None else _COMPARED
    found = being.op.search(message, limit=wanted, within=SCENES, where=_living, recipe=ALONE, fits_only=True)
    with being.op.read() as unit:
        threshold = thresholds_of(being, unit).recall
        ids = [hit.id for hit in found.hits if _is_touched(hit, threshold)]
        emotions = {} if feeling is None else {item: node.emotion for item, node in nodes_of(unit, ids).items()}
    if feeling is not None:
        # A scene without a known emotion comes last.
        ids.sort(key=lambda item: feeling.difference(emotions[item]))
    return ids[:_RECALLED]


def _is_touched(hit: Hit, threshold: float) -> bool:
    """Check whether a scene that fits shares a word with the message, or else is nearer than the threshold."""
    # The threshold is the contract's, for vectors; a scene that has the message's own words does not depend on them.
    shares_words = bool(hit.matched_words or hit.words_around)
    return shares_words or hit.similarity is None or hit.similarity > threshold


def _living(unit: Unit, ids: Ids) -> Callable[[], AbstractSet[int]]:
    rows = unit.ask("episodic.status_of", ids=ids)
    return lambda: {row["id"] for row in rows.get() if row["status"] != "dead"}


def mix_fragments(texts: Iterable[str], chance: random.Random) -> tuple[str, ...]:
    """Shuffle actions and feelings so that the borders between scenes blur."""
    mixed = [harmless for text in texts if (harmless := without_recall_tags(text))]
    # The contract's Fisher-Yates: every order is equally likely.
    chance.shuffle(mixed)
    return tuple(mixed)


def reactivate(being: Being, ids: Sequence[int]) -> None:
    """Count that scenes were recalled: +1 for living ones, +2 for dead ones; a dying one becomes active again."""
    if ids:
        being.op.leave("recall", lambda tx: _note_recall(being, tx, ids))


def _note_recall(being: Being, tx: Transaction, ids: Sequence[int]) -> None:
    # Read before the update, which changes the status: a scene that was dying becomes part of its cluster's mean.
    rows = tx.unit.all("episodic.status_of", ids=list(ids))
    tx.unit.send("episodic.reactivate", ids=sorted(set(ids)), at=to_micros(tx.at))
    refresh(tx.unit, being.op.embedding, [row["cluster_id"] for row in rows if row["status"] == "dying"])
    count_access(tx.unit, ids, tx.at)


def recall_memory(
    being: Being, asked: ClusterRequest, *, no_nodes: bool = False, max_tokens: int = ANSWER_TOKENS
) -> ClusterMemory:
    """List the clusters, or recall one cluster's scenes; only those that are shown count as recalled."""
    tokens = checked_tokens(max_tokens)
    checked_limit(asked.limit, 100, "scenes")
    if asked.cluster_id is None:
        return _list_clusters(being, asked, tokens)
    with being.op.read() as unit:
        cluster = find_cluster(unit, asked.cluster_id)
        nodes = [] if no_nodes else _nodes_in(unit, asked)
    fitting = _fitting_scenes(being, asked, among=[node.id for node in nodes])
    nodes = [node for node in nodes if fitting is None or node.id in fitting][: asked.limit]
    head = f"{cluster.name} — {cluster.digest}"
    lines = [cut_item(node.line, node.id, round(tokens * LINE), SHOW_SCENE) for node in nodes]
    shown = affordable(lines, tokens - FRAME_TOKENS - 2 * cost(head))
    reactivate(being, [node.id for node in nodes[: len(shown)]])
    return ClusterMemory(
        text="\n".join([head, *shown]),
        clusters=(cluster,),
        nodes=tuple(nodes[: len(shown)]),
        note=_unfit(fitting) or more(len(nodes) - len(shown), "scenes"),
    )


def _nodes_in(unit: Unit, asked: ClusterRequest) -> list[Node]:
    """Choose the scenes of a cluster by importance, then by last activation; with a query, all that match."""
    depth = asked.limit if asked.query is None else _DEEPEST
    ids = [row["id"] for row in unit.all("episodic.node_in_cluster", cluster=asked.cluster_id, limit=depth)]
    nodes = nodes_of(unit, ids)
    terms = None if asked.query is None else [fold_text(term) for term in asked.query.split()]
    ranked = (nodes[item] for item in ids)
    return [node for node in ranked if terms is None or any(term in node.content.haystack for term in terms)]


def _fitting_scenes(being: Being, asked: ClusterRequest, **how: Any) -> frozenset[int] | None:
    """Find the scenes that answer the query, if only they are wanted; else None."""
    if not asked.fits_only or not asked.query or not asked.query.strip():
        return None
    found = being.op.search(asked.query, limit=_MOST_FITTING, within=SCENES, recipe=ALONE, fits_only=True, **how)
    # What a hit stands for answers, too.
    return frozenset(item for hit in found.hits for item in (hit.id, *hit.also))


def _unfit(fitting: AbstractSet[int] | None) -> str | None:
    return NOTHING_FITS if fitting is not None and not fitting else None


def _list_clusters(being: Being, asked: ClusterRequest, tokens: int) -> ClusterMemory:
    """List the roots and all clusters with scenes; with a query, the most similar first."""
    embedding, query = being.op.embedding, asked.query
    cue = embedding.probe(query) if query and query.strip() else None
    fitting = _fitting_scenes(being, asked, where=_living)
    with being.op.read() as unit:
        clusters = [each for each in clusters_of(unit) if each.nodes or each.is_root]
        if fitting is not None:
            homes = {node.cluster_id for node in nodes_of(unit, sorted(fitting)).values()}
            clusters = [each for each in clusters if each.id in homes]
        if cue is not None and cue.model == embedding.preferred:
            ids, rows = cluster_vectors(unit, embedding)
            near = dict(zip(ids, (rows @ cue.general).tolist() if ids else [], strict=True))
            clusters.sort(key=lambda each: -near.get(each.id, -1.0))
    lines = [f"- [{each.id}] {each.name} — {each.digest}" for each in clusters]
    shown = affordable(list(zip(lines, clusters, strict=True)), tokens - FRAME_TOKENS, least=1)
    return ClusterMemory(
        text="\n".join(line for line, _ in shown),
        clusters=tuple(cluster for _, cluster in shown),
        note=_unfit(fitting) or more(len(clusters) - len(shown), "clusters"),
    )
