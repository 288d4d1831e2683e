"""Steps ❻ and ❼: clusters that have grown too large are split into sub-clusters, and small ones are folded.

A model names the topics of a split. If it fails, the vectors decide, and the most central action becomes the name;
`sorting.py` is for those who have no model. Either way, both sides of a split keep at least two scenes. A root is
split, too, because that is how sub-clusters begin; it is never folded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel, Field

from everloom.episodic.calibration import thresholds_of
from everloom.episodic.patrol.sorting import sort_scenes
from everloom.episodic.patrol.steps import Change, PatrolRun, StepOutcome, clean_text, passage_of
from everloom.episodic.scenes.clusters import Cluster, add_cluster, cluster_vectors, clusters_of, refresh, short
from everloom.episodic.scenes.geometry import Floats, by_centrality, coherence, leaves, stack_vectors
from everloom.episodic.scenes.node import nodes_of
from everloom.errors import ProviderError
from everloom.kernel.operation import Transaction
from everloom.models.ask import Question
from everloom.models.shape import ModelAnswer
from everloom.store import Unit

# The contract splits a cluster with more than ten active scenes, and leaves at least two on both sides.
_TOO_MANY = 10
_LEAST = 2
# Larger than what step ❼ of the same patrol would fold again.
_LEAST_BY_VECTORS = 3
# How many of the newest scenes of a crowded cluster are considered; the others have their turn in later patrols.
_AT_ONCE = 2_000
_MOST_SHOWN = 60
_IN_A_DIGEST = 3
_LONGEST_TEXT = 500
# The contract folds a sub-cluster with two active scenes or fewer.
_SMALL = 2
# A sibling with more scenes than this would be crowded after a fold, and split again by the next patrol.
_ROOMY = 8
# How many small clusters are compared with all others at once.
_BLOCK = 256


class ProposedPart(BaseModel):
    """A topic inside a cluster."""

    name: str = Field(description="two to five words")
    digest: str = Field(description="one sentence")
    node_ids: list[int]


class SplitAnswer(ModelAnswer):
    """The topics that a cluster should be split into; scenes that belong to none stay."""

    parts: list[ProposedPart] = Field(default=[])


@dataclass(frozen=True, slots=True)
class _SubCluster:
    """Scenes that leave a cluster together; without a name, it gets the first member's action."""

    members: tuple[int, ...]
    name: str = ""
    digest: str = ""


def split(run: PatrolRun) -> Change:
    """❻ Split crowded clusters: by the topics that a model names or, without one, by how alike scenes are."""
    if run.thinker is None:
        return sort_scenes(run)
    splits: list[tuple[Cluster, Sequence[_SubCluster]]] = []
    remarks: list[str] = []
    with run.op.read() as unit:
        crowded = [cluster for cluster in clusters_of(unit) if cluster.active > _TOO_MANY]
    for cluster in crowded:
        asked = _ask(run, cluster, remarks)
        splits.append((cluster, _cut(run, cluster) if asked is None else asked))

    def change(tx: Transaction) -> StepOutcome:
        born, moved = _write_splits(tx, splits)
        counts = {"crowded": len(crowded), "born": born, "moved": moved}
        return StepOutcome(counts=counts, remarks=tuple(remarks))

    return change


def _plan_by_vectors(cluster: Cluster, vectors: Mapping[int, Floats], threshold: float) -> Sequence[_SubCluster]:
    """Decide which groups leave a cluster, from their vectors alone. Touches nothing.

    Coherent groups leave a root; of a sub-cluster, all parts but the largest leave. At least one part always leaves.
    """
    ids, rows = stack_vectors(vectors)
    parts = leaves(rows, _TOO_MANY, _LEAST_BY_VECTORS) if len(ids) >= 2 * _LEAST_BY_VECTORS else []
    if len(parts) < 2:
        return ()
    if cluster.is_root:
        ranked = sorted(parts, key=lambda part: -coherence(rows[part]))
        going = [part for part in ranked if coherence(rows[part]) >= threshold] or ranked[:1]
    else:
        going = sorted(parts, key=len)[:-1]
    groups = [_SubCluster(tuple(by_centrality([ids[place] for place in part], rows[part]))) for part in going]
    return _keep_back(groups, cluster.active)


def plan_by_model(
    cluster: Cluster, ids: Sequence[int], answer: SplitAnswer, remarks: list[str]
) -> Sequence[_SubCluster]:
    """Decide which parts of a model's answer to accept, and add a remark on the rest. Touches nothing else."""
    free, groups = set(ids), []
    for part in answer.parts:
        members = [item for item in dict.fromkeys(part.node_ids) if item in free]
        if ignored := len(set(part.node_ids)) - len(members):
            remarks.append(f"ignored {ignored} ids in a part of cluster {cluster.id}: unknown, or in another part")
        if len(members) < _LEAST:
            remarks.append(f"ignored a part of cluster {cluster.id} with {len(members)} scenes: it takes {_LEAST}")
            continue
        free -= set(members)
        groups.append(_SubCluster(tuple(members), _one_line(part.name), _one_line(part.digest)))
    kept = _keep_back(groups, cluster.active)
    if len(kept) < len(groups):
        remarks.append(f"kept a part in cluster {cluster.id}, so that {_LEAST} scenes remain")
    return kept


def _one_line(text: str) -> str:
    return " ".join(clean_text(text, len(text)).split())[:_LONGEST_TEXT]


def _keep_back(groups: Sequence[_SubCluster], active: int) -> tuple[_SubCluster, ...]:
    """Drop the last groups until enough scenes remain in the cluster."""
    kept = list(groups)
    while kept and active - sum(len(group.members) for group in kept) < _LEAST:
        kept.pop()
    return tuple(kept)


def _ask(run: PatrolRun, cluster: Cluster, remarks: list[str]) -> Sequence[_SubCluster] | None:
    """Ask the model for topics; None when it fails, and the vectors decide."""
    with run.op.read() as unit:
        ids = _movable_in(unit, cluster.id)[-_MOST_SHOWN:]
        nodes = nodes_of(unit, ids).values()
    question = Question(
        purpose="episodic.split",
        task=(
            "A cluster of a memory has grown too large. Name the topics in it and which scenes belong to each, at "
            "least two scenes a topic. Leave at least two scenes unnamed: they stay. Use only ids from the list."
        ),
        passages=passage_of({"id": node.id, "action": node.scene.action, "themes": node.themes} for node in nodes),
    )
    try:
        answer = run.ask(question, SplitAnswer)
    except ProviderError as error:
        remarks.append(f"cluster {cluster.id}: {error.message}; split by vectors instead")
        return None
    return plan_by_model(cluster, ids, answer, remarks)


def _cut(run: PatrolRun, cluster: Cluster) -> Sequence[_SubCluster]:
    """Split by vectors."""
    # Sorted by id, so that equal similarities are ordered alike in every run and on both engines.
    with run.op.read() as unit:
        vectors = run.op.embedding.held(unit, _movable_in(unit, cluster.id)[-_AT_ONCE:])
        threshold = thresholds_of(run.being, unit).cluster
    return _plan_by_vectors(cluster, dict(sorted(vectors.items())), threshold)


def _movable_in(unit: Unit, cluster_id: int) -> list[int]:
    """List the active scenes of a cluster that nobody has placed there, oldest first."""
    rows = unit.all("episodic.living_in", ids=[cluster_id])
    return sorted(row["id"] for row in rows if row["status"] == "active" and not row["placed"])


def _write_splits(tx: Transaction, splits: Iterable[tuple[Cluster, Sequence[_SubCluster]]]) -> tuple[int, int]:
    """Create the new clusters and move their scenes; both sides keep at least two."""
    # Checked again, because scenes may have been recalled, merged or pinned while the model was asked.
    born = moved = 0
    touched: set[int] = set()
    for cluster, groups in splits:
        here = set(_movable_in(tx.unit, cluster.id))
        for group in groups:
            members = [item for item in group.members if item in here]
            if len(members) < _LEAST or len(here) - len(members) < _LEAST:
                continue
            touched |= {cluster.id, _give_birth(tx, cluster, group, members)}
            here -= set(members)
            born, moved = born + 1, moved + len(members)
    refresh(tx.unit, tx.op.embedding, touched)
    return born, moved


def _give_birth(tx: Transaction, cluster: Cluster, group: _SubCluster, members: Sequence[int]) -> int:
    """Create one sub-cluster and move its scenes to it."""
    # Sub-clusters are siblings under their root and never nested: ❼ could not fold a cluster that has children.
    central = nodes_of(tx.unit, members[:_IN_A_DIGEST])
    actions = [central[item].scene.action for item in members[:_IN_A_DIGEST]]
    parent = cluster.id if cluster.is_root else cluster.parent_id
    name, digest = group.name or actions[0], group.digest or " · ".join(map(short, actions))
    fresh = add_cluster(tx.unit, parent, name, digest, tx.at)
    tx.unit.send("episodic.move", ids=list(members), cluster=fresh)
    return fresh


def gather(run: PatrolRun) -> Change:
    """❼ Fold sub-clusters that have become too small into a similar sibling, or else into their root."""

    def change(tx: Transaction) -> StepOutcome:
        unit, embedding = tx.unit, tx.op.embedding
        clusters, vectors = clusters_of(unit), cluster_vectors(unit, embedding)
        chosen = {row["id"] for row in unit.all("episodic.placed_clusters")}
        folds = _plan_folds(clusters, *vectors, thresholds_of(run.being, unit).cluster, chosen)
        moves = {cluster: into for cluster, into in folds.items() if into is not None}
        for cluster, into in moves.items():
            unit.send("episodic.move_all", cluster=cluster, into=into)
        # Dropped only after all moves: a scene's cluster must exist at any time.
        unit.send("episodic.cluster_drop", ids=list(folds))
        refresh(unit, embedding, set(moves.values()) - folds.keys())
        return StepOutcome(counts={"folded": len(moves), "empty": len(folds) - len(moves)})

    return change


def _plan_folds(
    clusters: Sequence[Cluster], places: Sequence[int], rows: Floats, threshold: float, chosen: Collection[int] = ()
) -> dict[int, int | None]:
    """Decide which clusters to drop and where their scenes go (None if there are none). Touches nothing."""
    # A cluster that is itself a parent stays: its children would lose their place. So does one that somebody chose.
    staying = {cluster.parent_id for cluster in clusters if not cluster.is_root} | set(chosen)
    small = [each for each in clusters if not each.is_root and each.active <= _SMALL and each.id not in staying]
    crowd = {cluster.id: cluster.active for cluster in clusters}
    near = _siblings(small, clusters, places, rows, threshold)
    folds: dict[int, int | None] = {}
    for cluster in small:
        # A cluster that has taken in another one in this loop is no longer small.
        if crowd[cluster.id] > _SMALL:
            continue
        into = None
        if cluster.nodes:
            roomy = (each for each in near.get(cluster.id, ()) if each not in folds and crowd[each] <= _ROOMY)
            into = next(roomy, cluster.parent_id)
            crowd[into] += crowd[cluster.id]
        folds[cluster.id] = into
    return folds


def _siblings(
    small: Sequence[Cluster], clusters: Sequence[Cluster], places: Sequence[int], rows: Floats, threshold: float
) -> dict[int, list[int]]:
    """List the siblings of each small cluster that are similar enough, most similar first."""
    parent = {cluster.id: cluster.parent_id for cluster in clusters}
    position = {place: number for number, place in enumerate(places)}
    asking = [cluster for cluster in small if cluster.id in position and cluster.nodes]
    found = {}
    for start in range(0, len(asking), _BLOCK):
        block = asking[start : start + _BLOCK]
        similar = rows[[position[cluster.id] for cluster in block]] @ rows.T
        for cluster, line in zip(block, similar, strict=True):
            over = np.flatnonzero(line > threshold)
            nearest = (places[number] for number in over[np.argsort(-line[over], kind="stable")])
            found[cluster.id] = [
                each for each in nearest if each != cluster.id and parent.get(each) == cluster.parent_id
            ]
    return found
