"""Keeping everything in step with scenes that were changed by hand: words, vectors, and the clusters' means and names.

Works inside the caller's unit of work. Refuses to decide what changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from everloom.episodic.being import Being
from everloom.episodic.scenes.clusters import refresh, short
from everloom.episodic.scenes.geometry import by_centrality, stack_vectors
from everloom.episodic.scenes.node import Node, nodes_of, scene_columns, scene_document
from everloom.episodic.scenes.scene import SceneContent, lifespan
from everloom.kernel.embedding import Embedding
from everloom.kernel.operation import Operation, Transaction
from everloom.kernel.search import Document, Prepared
from everloom.kernel.trust.origin import least_trusted
from everloom.store import Unit

# How the digest of a cluster joins the actions of its most central scenes, and how many it takes.
_BETWEEN = " · "
_IN_A_DIGEST = 3
# Of a large cluster, its most important scenes are enough to find a name.
_LOOKED_AT = 200


def document_of(op: Operation, unit: Unit, content: SceneContent, node: Node) -> Document:
    """Make the search document of a scene that is told anew; without a date it stays where it was in time."""
    made = scene_document(content, node.created_at if content.scene.day is None else op.now)
    known = op.index.documents(unit, [node.id])[node.id]
    # It stays what it was told as, and is worth no more than whoever tells it anew.
    rank = None if op.index.origin is None else op.index.origin.kind.rank
    return replace(made, session_id=known.session_id, origin=known.origin, trust=least_trusted([known.trust, rank]))


def prepare_whole(op: Operation, documents: Iterable[Document]) -> Prepared:
    """Prepare documents with their vectors, however slow the embedder is. Call it outside a transaction."""
    ready = op.index.prepare(documents)
    if not ready.documents or (ready.made is not None and ready.made.model == op.embedding.preferred):
        return ready
    made = op.embedding.make([each.situated for each in ready.documents])
    return Prepared(ready.documents, ready.words, made or ready.made)


def rewrite(tx: Transaction, node: Node, content: SceneContent, ready: Prepared | None) -> None:
    """Tell a scene anew, with its words and its vector; `ready` is its document, if that differs."""
    unit = tx.unit
    unit.send("episodic.scene_rewrite", id=node.id, **scene_columns(content))
    if content.importance != node.importance:
        weight = {"importance": content.importance, "lifespan": lifespan(content.importance)}
        unit.send("episodic.life_weigh", id=node.id, **weight)
    if ready is None:
        return
    tx.op.index.revise(unit, node.id, Prepared(ready.documents, ready.words, None), tx.at)
    if ready.made is not None:
        tx.op.embedding.make_whole(unit, [node.id], ready.made, tx.at)


def cover(tx: Transaction, nodes: Iterable[Node]) -> None:
    """Let search rank scenes that live on in others below those, and all others by themselves."""
    index, unit = tx.op.index, tx.unit
    for node in nodes:
        index.uncover(unit, [node.id])
        covers = [*node.split_into, *([] if node.absorbed_into is None else [node.absorbed_into])]
        if node.death == "undone":
            covers += _instead_of(unit, node)
        for each in covers:
            index.cover(unit, each, [node.id])


def _instead_of(unit: Unit, node: Node) -> list[int]:
    """Find the scenes that live in place of one whose making was undone: its whole, or what it was merged from."""
    if node.split_from is not None:
        return [node.split_from]
    sources = [row["source_id"] for row in unit.all("kernel.source_of", ids=[node.id])]
    return list(nodes_of(unit, sources))


def settle(being: Being, tx: Transaction, before: Mapping[int, Node], scenes: Iterable[int]) -> None:
    """Bring the means, names and digests of clusters up to date after scenes were changed."""
    after = nodes_of(tx.unit, list(scenes))
    touched = {each.cluster_id for nodes in (before, after) for each in nodes.values()}
    refresh(tx.unit, being.op.embedding, touched)
    # A name and a digest without a model are words of scenes: they must not tell what no scene there says any more.
    gone: dict[int, set[str]] = {}
    for item, old in before.items():
        new = after[item]
        if (new.death, new.cluster_id, new.scene.action) != (old.death, old.cluster_id, old.scene.action):
            gone.setdefault(old.cluster_id, set()).add(short(old.scene.action))
    for row in tx.unit.all("episodic.cluster_of", ids=sorted(touched)):
        stale = gone.get(row["id"], set())
        is_misnamed, told = row["name"] in stale, row["digest"].split(_BETWEEN)
        if row["is_root"] or not (is_misnamed or stale.intersection(told) or not row["digest"]):
            continue
        actions = _central_actions(tx.unit, being.op.embedding, row["id"])
        if actions:
            name = actions[0] if is_misnamed else row["name"]
            digest = row["digest"] if row["digest"] and not stale.intersection(told) else _BETWEEN.join(actions)
            tx.unit.send("episodic.cluster_rename", id=row["id"], name=name, digest=digest)


def _central_actions(unit: Unit, embedding: Embedding, cluster: int) -> list[str]:
    """List the actions of the living scenes in the middle of a cluster."""
    ids = [row["id"] for row in unit.all("episodic.node_in_cluster", cluster=cluster, limit=_LOOKED_AT)]
    living = [item for item, node in nodes_of(unit, ids).items() if node.status != "dead"]
    vectors = {item: each for item, each in embedding.held(unit, living).items() if each.any()}
    chosen = by_centrality(*stack_vectors(dict(sorted(vectors.items())))) if vectors else living
    nodes = nodes_of(unit, chosen[:_IN_A_DIGEST])
    return [short(nodes[item].scene.action) for item in chosen[:_IN_A_DIGEST]]
