"""Many scenes at once, to look at: lists, the clusters on a map, emotions over time.

Each reads a bounded number of rows however large the memory is, by index, and says so if that is not all. Refuses to
change anything, and to count as recalling.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from math import fsum
from typing import Literal

from everloom.clock import from_micros
from everloom.episodic.being import Being
from everloom.episodic.scenes.clusters import Cluster
from everloom.episodic.scenes.geometry import project, unpack_vectors
from everloom.episodic.scenes.node import Node, nodes_of
from everloom.episodic.scenes.scene import AXES, Emotion
from everloom.errors import NotFound
from everloom.kernel.texts import checked_limit
from everloom.store import Row, Unit
from everloom.store.contract import FOREVER

# Clusters are chosen by the scenes that were active last: so many are looked at.
_LOOKED_AT = 1_000
# A cluster's scenes are counted up to here; a patrol splits one with more than ten.
_MOST_COUNTED = 2_000
# The ids of scenes are cut into so many stretches, and of each so many scenes are read.
_STRETCHES, _IN_A_STRETCH = 40, 50
# Up to so many days, a period is a day, and then a week.
_LONGEST_BY_DAY, _LONGEST_BY_WEEK = 21, 400


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedCluster:
    """A cluster and its place on the map, from -1 to 1; None for a root, or one that has no vector yet."""

    cluster: Cluster
    x: float | None
    y: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMap:
    """The clusters that were active last; near ones are alike. `is_whole` if there are no others."""

    clusters: tuple[PlacedCluster, ...]
    is_whole: bool
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneList:
    """Scenes, newest first, and the cluster if they are of one; `next_before` continues the list."""

    nodes: tuple[Node, ...]
    cluster: Cluster | None = None
    next_before: int | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FeltPeriod:
    """The mean emotion of the scenes that happened in a period."""

    begins: date
    scenes: int
    emotion: Emotion


@dataclass(frozen=True, slots=True, kw_only=True)
class EmotionHistory:
    """Emotions over time, oldest first; of a long memory, those of a sample of its scenes."""

    grain: Literal["day", "week", "month"]
    periods: tuple[FeltPeriod, ...]
    is_whole: bool
    note: str | None = None


def map_clusters(being: Being, limit: int) -> ClusterMap:
    """Place the clusters that were active last on a map by their mean vectors."""
    checked_limit(limit, 200, "clusters")
    with being.op.read() as unit:
        roots = unit.one("episodic.being_get")
        if roots is None:
            return ClusterMap(clusters=(), is_whole=True)
        recent = [row["cluster_id"] for row in unit.all("episodic.cluster_recent", limit=_LOOKED_AT)]
        # Then those in which nothing lives, newest first.
        others = [row["id"] for row in unit.all("episodic.cluster_newest", limit=limit + 3)]
        known = list(dict.fromkeys([roots["business_id"], roots["private_id"], *recent, *others]))
        rows = {row["id"]: row for row in unit.all("episodic.cluster_of", ids=known[: limit + 2])}
        chosen = [_counted(unit, rows[item]) for item in known[: limit + 2] if item in rows]
        model = being.op.embedding.preferred_id(unit)
    placed = [
        each.id for each in chosen if not each.is_root and rows[each.id]["vector"] and _is_of(rows[each.id], model)
    ]
    spots = project(unpack_vectors([rows[item]["vector"] for item in placed])).tolist() if placed else []
    places = dict(zip(placed, spots, strict=True))
    clusters = (_placed(each, places.get(each.id)) for each in chosen)
    return ClusterMap(clusters=tuple(clusters), is_whole=len(known) <= limit + 2)


def _is_of(row: Row, model: int) -> bool:
    return bool(row["vector_model"] == model)


def _placed(cluster: Cluster, spot: list[float] | None) -> PlacedCluster:
    x, y = (None, None) if spot is None else spot
    return PlacedCluster(cluster=cluster, x=x, y=y)


def _counted(unit: Unit, row: Row) -> Cluster:
    """Describe a cluster with the number of its scenes, as far as they are counted."""
    rows = unit.all("episodic.cluster_size", cluster=row["id"], limit=_MOST_COUNTED)
    by_status = {each["status"]: each["count"] for each in rows}
    return Cluster(
        id=row["id"],
        parent_id=row["parent_id"],
        is_root=bool(row["is_root"]),
        name=row["name"],
        digest=row["digest"],
        nodes=sum(by_status.values()),
        active=by_status.get("active", 0),
        dying=by_status.get("dying", 0),
    )


def list_scenes(being: Being, cluster_id: int | None, before: int | None, limit: int) -> SceneList:
    """List scenes, newest first: all of them, or those of a cluster."""
    checked_limit(limit, 500, "scenes")
    start = FOREVER if before is None else before
    with being.op.read() as unit:
        if cluster_id is None:
            cluster, found = None, [row["id"] for row in unit.all("episodic.scene_newest", before=start, limit=limit)]
        else:
            rows = unit.all("episodic.cluster_of", ids=[cluster_id])
            if not rows:
                raise NotFound(f"no cluster has the id {cluster_id}", hint="map_clusters and recall_memory list them")
            cluster = _counted(unit, rows[0])
            inside = unit.all("episodic.scene_inside", cluster=cluster_id, limit=_MOST_COUNTED)
            found = sorted((row["id"] for row in inside if row["id"] < start), reverse=True)[:limit]
        nodes = nodes_of(unit, found)
    ranked = tuple(nodes[item] for item in found if item in nodes)
    return SceneList(nodes=ranked, cluster=cluster, next_before=found[-1] if len(found) == limit else None)


def emotions_over_time(being: Being) -> EmotionHistory:
    """Compute how scenes felt, period by period."""
    with being.op.read() as unit:
        (bounds,) = unit.all("episodic.scene_bounds")
        if bounds["first"] is None:
            return EmotionHistory(grain="day", periods=(), is_whole=True)
        first, last = int(bounds["first"]), int(bounds["last"]) + 1
        step = max(1, -(-(last - first) // _STRETCHES))
        read = [
            unit.all("episodic.scene_felt", low=low, high=min(low + step, last), limit=_IN_A_STRETCH)
            for low in range(first, last, step)
        ]
    felt = [
        (being.op.local(from_micros(row["happened_at"])).date(), Emotion(*(row[axis] for axis in AXES)))
        for rows in read
        for row in rows
        if row["valence"] is not None
    ]
    is_whole = all(len(rows) < _IN_A_STRETCH for rows in read)
    days = [day for day, _ in felt]
    grain = _grain((max(days) - min(days)).days) if days else "day"
    periods: dict[date, list[Emotion]] = defaultdict(list)
    for day, emotion in felt:
        periods[_begin_of(day, grain)].append(emotion)
    means = (FeltPeriod(begins=day, scenes=len(all_), emotion=_mean(all_)) for day, all_ in sorted(periods.items()))
    return EmotionHistory(grain=grain, periods=tuple(means), is_whole=is_whole)


def _grain(days: int) -> Literal["day", "week", "month"]:
    return "day" if days <= _LONGEST_BY_DAY else "week" if days <= _LONGEST_BY_WEEK else "month"


def _begin_of(day: date, grain: Literal["day", "week", "month"]) -> date:
    if grain == "month":
        return day.replace(day=1)
    return day - timedelta(days=day.weekday()) if grain == "week" else day


def _mean(emotions: Iterable[Emotion]) -> Emotion:
    known = list(emotions)
    return Emotion(*(round(fsum(getattr(each, axis) for each in known) / len(known), 6) for axis in AXES))
