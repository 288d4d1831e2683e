"""Clusters of a Being: the two roots, births and ends, and mean vectors that follow every change.

Works inside a unit of work that somebody else began. Which scenes belong together is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from everloom.episodic.scenes.geometry import Floats, mean_of, packed, unpacked
from everloom.errors import NotFound
from everloom.kernel.embedding import Embedding
from everloom.kernel.journal import register
from everloom.store import Row, Unit

ROOTS = {
    "Business": "Work: projects, tasks, decisions, tools, customers.",
    "Private": "Life: people, feelings, home, pastimes, health.",
}
LONGEST_NAME = 80
PAGE = 20_000


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
    """Find the two roots, making them on first use."""
    row = unit.one("episodic.being_get")
    if row is None:
        ids = register(unit, ["cluster"] * len(ROOTS), at)
        for fresh, (name, digest) in zip(ids, ROOTS.items(), strict=True):
            unit.run("episodic.cluster_add", id=fresh, parent=fresh, is_root=1, name=name, digest=digest)
        unit.run("episodic.being_add", business=ids[0], private=ids[1])
        return Roots(*ids)
    return Roots(row["business_id"], row["private_id"])


def add_cluster(unit: Unit, parent_id: int, name: str, digest: str, at: datetime) -> int:
    """Make a sub-cluster."""
    (fresh,) = register(unit, "cluster", at)
    unit.run("episodic.cluster_add", id=fresh, parent=parent_id, is_root=0, name=short(name), digest=digest)
    return fresh


def short(name: str) -> str:
    """Cut a name that is a whole sentence."""
    line = " ".join(name.split())
    return line if len(line) <= LONGEST_NAME else line[: LONGEST_NAME - 1].rstrip() + "…"


def clusters_of(unit: Unit) -> list[Cluster]:
    """List every cluster with how many scenes it holds."""
    return [cluster_from(row) for row in unit.all("episodic.cluster_counts")]


def cluster_from(row: Row) -> Cluster:
    """Read a cluster from its row."""
    return Cluster(
        id=row["id"],
        parent_id=row["parent_id"],
        is_root=bool(row["is_root"]),
        name=row["name"],
        digest=row["digest"],
        nodes=row["nodes"],
        active=row["active"],
        dying=row["dying"],
    )


def cluster_named(unit: Unit, cluster_id: int) -> Row:
    """Find one cluster."""
    row = unit.one("episodic.cluster_get", id=cluster_id)
    if row is None:
        raise NotFound(f"no cluster has the id {cluster_id}", hint="recall_memory without a cluster lists them")
    return row


def refresh(unit: Unit, embedding: Embedding, cluster_ids: Iterable[int]) -> int:
    """Make the vectors of clusters anew from their active scenes; say how many were touched."""
    wanted = sorted(set(cluster_ids))
    if not wanted:
        return 0
    homes = {
        row["id"]: row["cluster_id"] for row in unit.all("episodic.living_in", ids=wanted) if row["status"] == "active"
    }
    sums = summed(unit, embedding, homes)
    model = embedding.preferred_id(unit)
    unit.many(
        "episodic.cluster_vector",
        (
            {"id": each, "model": model, "vector": packed(mean_of(sums[each][None, :])) if each in sums else None}
            for each in wanted
        ),
    )
    return len(wanted)


def summed(unit: Unit, embedding: Embedding, homes: dict[int, int]) -> dict[int, Floats]:
    """Add up the vectors of scenes by cluster, a page at a time."""
    sums: dict[int, Floats] = {}
    ids = list(homes)
    for start in range(0, len(ids), PAGE):
        for item, vector in embedding.held(unit, ids[start : start + PAGE]).items():
            home = homes[item]
            sums[home] = sums[home] + vector if home in sums else vector
    return {home: vector for home, vector in sums.items() if vector.any()}


def vectors_of(unit: Unit, embedding: Embedding) -> tuple[list[int], Floats]:
    """Read the vectors of all sub-clusters: ids and rows."""
    rows = unit.all("episodic.cluster_vectors", model=embedding.preferred_id(unit))
    ids = [row["id"] for row in rows]
    return ids, unpacked([row["vector"] for row in rows]) if ids else np.empty((0, 0), np.float32)


def drop_clusters(unit: Unit, cluster_ids: Sequence[int]) -> None:
    """End sub-clusters that hold nothing any more; a root is never dropped."""
    unit.run("episodic.cluster_drop", ids=list(cluster_ids))
