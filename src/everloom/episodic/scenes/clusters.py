"""Clusters of a Being: the two roots, creating and listing clusters, and keeping their mean vectors up to date.

Works inside the caller's unit of work. Refuses to decide which scenes belong together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from everloom.episodic.scenes.geometry import Floats, mean_of, pack_vector, unpack_vectors
from everloom.errors import NotFound
from everloom.kernel.embedding import Embedding
from everloom.kernel.journal import register
from everloom.store import Unit, value_from

_ROOTS = {
    "Business": "Work: projects, tasks, decisions, tools, customers.",
    "Private": "Life: people, feelings, home, pastimes, health.",
}
# Without a model, a name is a whole action; this much of it fits on a line of a list.
_LONGEST_NAME = 80
# Vectors in memory at once while they are added up: 20 MB at 256 floats each.
_PAGE = 20_000


@dataclass(frozen=True, slots=True)
class Roots:
    """The ids of the two roots."""

    business: int
    private: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A group of scenes that belong together; a root is its own parent."""

    id: int
    parent_id: int
    is_root: bool
    name: str
    digest: str
    nodes: int
    active: int
    dying: int


def roots_of(unit: Unit, at: datetime) -> Roots:
    """Find the two roots, creating them on first use."""
    row = unit.one("episodic.being_get")
    if row is None:
        # A root is its own parent, so that every cluster has one.
        ids = register(unit, ["cluster"] * len(_ROOTS), at)
        for fresh, (name, digest) in zip(ids, _ROOTS.items(), strict=True):
            unit.send("episodic.cluster_add", id=fresh, parent=fresh, is_root=1, name=name, digest=digest)
        unit.send("episodic.being_add", business=ids[0], private=ids[1])
        return Roots(*ids)
    return Roots(row["business_id"], row["private_id"])


def add_cluster(unit: Unit, parent_id: int, name: str, digest: str, at: datetime) -> int:
    """Create a sub-cluster."""
    (fresh,) = register(unit, "cluster", at)
    unit.send("episodic.cluster_add", id=fresh, parent=parent_id, is_root=0, name=short(name), digest=digest)
    return fresh


def short(name: str) -> str:
    """Shorten a name that is a whole sentence."""
    line = " ".join(name.split())
    return line if len(line) <= _LONGEST_NAME else line[: _LONGEST_NAME - 1].rstrip() + "…"


def clusters_of(unit: Unit) -> list[Cluster]:
    """List every cluster with the number of its scenes."""
    return [value_from(Cluster, row) for row in unit.all("episodic.cluster_counts")]


def find_cluster(unit: Unit, cluster_id: int) -> Cluster:
    """Find one cluster."""
    found = next((each for each in clusters_of(unit) if each.id == cluster_id), None)
    if found is None:
        raise NotFound(f"no cluster has the id {cluster_id}", hint="recall_memory without a cluster_id lists them")
    return found


def refresh(unit: Unit, embedding: Embedding, cluster_ids: Iterable[int]) -> None:
    """Recompute the vectors of clusters from their active scenes.

    From all of them, never by adding and subtracting: a change by a killed patrol or another process cannot be missed.
    """
    wanted = sorted(set(cluster_ids))
    if not wanted:
        return
    homes = {
        row["id"]: row["cluster_id"] for row in unit.all("episodic.living_in", ids=wanted) if row["status"] == "active"
    }
    sums = _sum_vectors(unit, embedding, homes)
    model = embedding.preferred_id(unit)
    unit.many(
        "episodic.cluster_vector",
        (
            {"id": each, "model": model, "vector": pack_vector(mean_of(sums[each][None, :])) if each in sums else None}
            for each in wanted
        ),
    )


def _sum_vectors(unit: Unit, embedding: Embedding, homes: dict[int, int]) -> dict[int, Floats]:
    """Add up the vectors of scenes by cluster, a page at a time."""
    sums: dict[int, Floats] = {}
    ids = list(homes)
    for start in range(0, len(ids), _PAGE):
        for item, vector in embedding.held(unit, ids[start : start + _PAGE]).items():
            home = homes[item]
            sums[home] = sums[home] + vector if home in sums else vector
    # Vectors may cancel out, or all belong to empty texts: such a cluster has no direction, and nothing is near it.
    return {home: vector for home, vector in sums.items() if vector.any()}


def cluster_vectors(unit: Unit, embedding: Embedding) -> tuple[list[int], Floats]:
    """Read the vectors of all sub-clusters: ids and rows."""
    # Without the roots: they contain what belongs nowhere yet, so their means are meaningless.
    rows = unit.all("episodic.cluster_vectors", model=embedding.preferred_id(unit))
    ids = [row["id"] for row in rows]
    return ids, unpack_vectors([row["vector"] for row in rows]) if ids else np.empty((0, 0), np.float32)
