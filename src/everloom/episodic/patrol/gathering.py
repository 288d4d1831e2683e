"""Step ❼: sub-clusters that have become too small are folded into a sibling that is near, else into their root."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from everloom.episodic.patrol.steps import Bout, Carry, Done
from everloom.episodic.scenes.clusters import Cluster, clusters_of, drop_clusters, refresh, vectors_of
from everloom.episodic.scenes.geometry import Floats
from everloom.store import Unit

SMALL = 2
# A sibling with more would be crowded at once, and split again.
ROOMY = 8
BLOCK = 256


@dataclass(frozen=True, slots=True)
class Fold:
    """A cluster that ends, and where its scenes go; None when it has none."""

    cluster: int
    into: int | None


def plan_folds(clusters: Sequence[Cluster], places: Sequence[int], rows: Floats, threshold: float) -> list[Fold]:
    """Decide which clusters end and where their scenes go. Touches nothing."""
    parents = {cluster.parent_id for cluster in clusters if not cluster.is_root}
    small = [each for each in clusters if not each.is_root and each.active <= SMALL and each.id not in parents]
    crowd = {cluster.id: cluster.active for cluster in clusters}
    gone: set[int] = set()
    folds = []
    near = nearest_first(small, clusters, places, rows, threshold)
    for cluster in small:
        # A cluster that took another one in meanwhile is no longer small.
        if crowd[cluster.id] > SMALL:
            continue
        into = None if not cluster.nodes else sibling(near.get(cluster.id, ()), crowd, gone, cluster)
        folds.append(Fold(cluster.id, into))
        gone.add(cluster.id)
        if into is not None:
            crowd[into] += crowd[cluster.id]
    return folds


def sibling(candidates: Sequence[int], crowd: Mapping[int, int], gone: set[int], cluster: Cluster) -> int:
    """Choose the nearest sibling that has room, else the parent."""
    roomy = (each for each in candidates if each not in gone and crowd[each] <= ROOMY)
    return next(roomy, cluster.parent_id)


def nearest_first(
    small: Sequence[Cluster], clusters: Sequence[Cluster], places: Sequence[int], rows: Floats, threshold: float
) -> dict[int, list[int]]:
    """List for each small cluster the siblings that are near enough, nearest first."""
    parent = {cluster.id: cluster.parent_id for cluster in clusters}
    position = {place: number for number, place in enumerate(places)}
    asking = [cluster for cluster in small if cluster.id in position and cluster.nodes]
    found = {}
    for start in range(0, len(asking), BLOCK):
        block = asking[start : start + BLOCK]
        similar = rows[[position[cluster.id] for cluster in block]] @ rows.T
        for cluster, line in zip(block, similar, strict=True):
            found[cluster.id] = list(ordered(line, places, parent, cluster, threshold))
    return found


def ordered(
    line: Floats, places: Sequence[int], parent: Mapping[int, int], cluster: Cluster, threshold: float
) -> Iterator[int]:
    """Name the siblings over the threshold, nearest first."""
    over = np.flatnonzero(line > threshold)
    for number in over[np.argsort(-line[over], kind="stable")]:
        place = places[number]
        if place != cluster.id and parent.get(place) == cluster.parent_id:
            yield place


def gather(bout: Bout) -> Carry:
    """❼ Fold what has become too small."""

    def carry(unit: Unit) -> Done:
        clusters = clusters_of(unit)
        folds = plan_folds(clusters, *vectors_of(unit, bout.ground.embedding), bout.ground.thresholds(unit).cluster)
        moves = [(fold.cluster, fold.into) for fold in folds if fold.into is not None]
        for cluster, into in moves:
            unit.run("episodic.move_all", cluster=cluster, into=into)
        drop_clusters(unit, [fold.cluster for fold in folds])
        ended = {fold.cluster for fold in folds}
        refresh(unit, bout.ground.embedding, {into for _, into in moves} - ended)
        return Done(counts={"folded": len(moves), "empty": len(folds) - len(moves)})

    return carry
