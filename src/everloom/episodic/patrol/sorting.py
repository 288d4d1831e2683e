"""Step ❻ without a model: scenes are sorted into clusters by how alike they are.

New scenes join the cluster that they are most like. Crowded roots give birth to clusters, from all of their scenes at
once. When a fresh sorting of everything would be clearly better than the clusters that there are, it replaces them;
a cluster of which most scenes stay together keeps its id and name. Scenes that somebody pinned or placed stay put.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from everloom.episodic.patrol.steps import NO_MODEL, Change, PatrolRun, StepOutcome
from everloom.episodic.scenes.clusters import Cluster, add_cluster, clusters_of, refresh, short
from everloom.episodic.scenes.geometry import by_centrality, stack_vectors
from everloom.episodic.scenes.grouping import link_groups, match_groups, nearest_groups, worth_of
from everloom.episodic.scenes.likeness import Likeness, likeness_of
from everloom.episodic.scenes.naming import ClusterNames, words_in
from everloom.episodic.scenes.node import Node, nodes_of
from everloom.episodic.scenes.scene import embed_text
from everloom.kernel.operation import Transaction
from everloom.kernel.texts import language_of

# The contract splits what has more than ten active scenes, and leaves at least two on both sides.
CROWDED = 10
LEAST = 2
# Larger than what step ❼ of the same patrol would fold again.
_LEAST_BORN = 3
# How many of the newest active scenes are considered. Each is compared with each: 100 MB, and a second or two.
_AT_ONCE = 5_000
# How many of them are sorted anew to see how far the clusters have drifted, in every patrol that brings something new.
_COMPARED = 2_000
_IN_A_DIGEST = 3
# Joining and giving birth take turns until nothing changes, which is after two or three of them.
_TURNS = 10
# A fresh sorting must be worth this much more than the clusters that there are, as a share of what it is worth itself.
# Less, and clusters would change with every handful of scenes.
_DRIFTED = 0.1


@dataclass(frozen=True, slots=True)
class _SortingGround:
    """What a sorting is decided from: scenes with their likeness, by their place in a list, and the clusters."""

    nodes: Sequence[Node]
    likeness: Likeness
    clusters: Mapping[int, Cluster]
    new: Collection[int]

    @property
    def free(self) -> list[int]:
        """The scenes that may be moved."""
        return [place for place, node in enumerate(self.nodes) if not _stays(node)]

    def root_of(self, cluster: int) -> int:
        """Find the root of a cluster."""
        return self.clusters[cluster].parent_id

    def is_root(self, cluster: int) -> bool:
        """Tell whether a cluster is a root; a cluster that is yet to be born is not."""
        return cluster >= 0 and self.clusters[cluster].is_root


@dataclass(slots=True)
class _Sorting:
    """A sorting as it is decided: the cluster of each scene by place; those to be born have negative numbers."""

    homes: list[int]
    roots: dict[int, int] = field(default_factory=dict)
    drift: float = 0.0
    is_fresh: bool = False

    def groups(self, known: _SortingGround) -> dict[int, list[int]]:
        """List the scenes of each cluster that is not a root."""
        found: dict[int, list[int]] = {}
        for place, home in enumerate(self.homes):
            if not known.is_root(home):
                found.setdefault(home, []).append(place)
        return found

    def loose(self, known: _SortingGround) -> list[int]:
        """List the scenes in a root that may be moved."""
        return [place for place in known.free if known.is_root(self.homes[place])]


def sort_scenes(run: PatrolRun) -> Change:
    """❻ Sort scenes into clusters, without a model."""
    known = _read(run)
    crowded = 0 if known is None else sum(each.active > CROWDED for each in known.clusters.values())
    sorting = _plan(known) if known is not None else None

    def change(tx: Transaction) -> StepOutcome:
        counts = {"crowded": crowded, "born": 0, "moved": 0}
        if known is not None and sorting is not None:
            counts |= _write(tx, known, sorting)
        return StepOutcome(counts=counts, skipped=f"{NO_MODEL}: split by vectors" if crowded else None)

    return change


def _read(run: PatrolRun) -> _SortingGround | None:
    """Read the scenes that are to be sorted; None if there is nothing to sort."""
    with run.op.read() as unit:
        clusters = {cluster.id: cluster for cluster in clusters_of(unit)}
        # Nothing is crowded and there is nothing to join.
        if all(each.is_root and each.active <= CROWDED for each in clusters.values()):
            return None
        ids = sorted(row["id"] for row in unit.all("episodic.active_newest", limit=_AT_ONCE))
        vectors = run.op.embedding.held(unit, ids)
        # Sorted by id, so that equal ones are in the same order in every run and on both engines.
        found = nodes_of(unit, sorted(vectors))
    nodes = [found[item] for item in sorted(found)]
    if len(nodes) < _LEAST_BORN + LEAST:
        return None
    _, rows = stack_vectors({node.id: vectors[node.id] for node in nodes})
    texts = [embed_text(node.scene, node.feeling) for node in nodes]
    likeness = likeness_of(rows, texts, [(*node.themes, *node.scene.actors) for node in nodes])
    return _SortingGround(
        nodes, likeness, clusters, {place for place, node in enumerate(nodes) if node.patrol_id == run.id}
    )


def _stays(node: Node) -> bool:
    """Tell whether somebody wants a scene to stay where it is."""
    return node.pinned or node.placed


def _plan(known: _SortingGround) -> _Sorting:
    """Decide where each scene goes. Touches nothing."""
    sorting = _Sorting([node.cluster_id for node in known.nodes])
    _join(known, sorting, [place for place in sorting.loose(known) if place in known.new])
    _give_birth(known, sorting)
    # A sorting is compared only when there is something new: what fades is no reason to sort anew.
    if known.new or sorting.roots:
        _sort_anew(known, sorting)
    _leave_two(known, sorting)
    return sorting


def _join(known: _SortingGround, sorting: _Sorting, places: Sequence[int]) -> bool:
    """Let scenes join the clusters that they are most like."""
    found = nearest_groups(known.likeness, places, sorting.groups(known))
    for place, home in found.items():
        sorting.homes[place] = home
    return bool(found)


def _give_birth(known: _SortingGround, sorting: _Sorting) -> None:
    """Group the scenes of crowded roots, and let the others of these roots join, until nothing changes."""
    for _ in range(_TURNS):
        direct = Counter(home for home in sorting.homes if known.is_root(home))
        crowded = [place for place in sorting.loose(known) if direct[sorting.homes[place]] > CROWDED]
        groups = _groups_among(known, crowded)
        for group in groups:
            _name_home(known, sorting, group)
        if not groups or not _join(known, sorting, sorting.loose(known)):
            return


def _groups_among(known: _SortingGround, places: Sequence[int]) -> list[list[int]]:
    """Group scenes, and return the groups that are large enough for a cluster."""
    if len(places) < _LEAST_BORN:
        return []
    chosen = np.array(places, np.intp)
    groups = link_groups(known.likeness.among(chosen), known.likeness.cut)
    return [[places[place] for place in group] for group in groups if len(group) >= _LEAST_BORN]


def _name_home(known: _SortingGround, sorting: _Sorting, group: Sequence[int]) -> None:
    """Give a group a cluster that is yet to be born, under the root that most of its scenes are under."""
    fresh = -1 - len(sorting.roots)
    under = Counter(known.root_of(known.nodes[place].cluster_id) for place in group)
    sorting.roots[fresh] = max(under, key=lambda root: (under[root], -root))
    for place in group:
        sorting.homes[place] = fresh


def _sort_anew(known: _SortingGround, sorting: _Sorting) -> None:
    """Sort everything anew and, if that is worth clearly more, replace the clusters by what continues them best."""
    free = set(known.free[-_COMPARED:])
    old = {home: [each for each in group if each in free] for home, group in sorting.groups(known).items()}
    old = {home: group for home, group in old.items() if group}
    fresh = _groups_among(known, sorted(free))
    best = worth_of(known.likeness, fresh)
    sorting.drift = 1 - worth_of(known.likeness, list(old.values())) / best if best > 0 else 0.0
    if not old or sorting.drift <= _DRIFTED:
        return
    sorting.is_fresh = True
    for place in free:
        sorting.homes[place] = known.root_of(known.nodes[place].cluster_id)
    continued = match_groups(fresh, old)
    for number, group in enumerate(fresh):
        if number not in continued:
            _name_home(known, sorting, group)
        for place in group if number in continued else ():
            sorting.homes[place] = continued[number]


def _leave_two(known: _SortingGround, sorting: _Sorting) -> None:
    """Put back what is least like its new cluster where fewer than two scenes would remain in a root."""
    left: dict[int, list[int]] = {}
    for place in known.free:
        was = known.nodes[place].cluster_id
        if known.is_root(was) and not known.is_root(sorting.homes[place]):
            left.setdefault(was, []).append(place)
    groups = sorting.groups(known)
    for root, places in left.items():
        # A new scene that only passes through the root on its way to a cluster splits nothing.
        if all(place in known.new and sorting.homes[place] >= 0 for place in places):
            continue
        remaining = sum(home == root for home in sorting.homes)
        near = {place: _nearness(known, place, groups[sorting.homes[place]]) for place in places}
        for place in sorted(places, key=lambda each: (near[each], each))[: max(0, LEAST - remaining)]:
            groups[sorting.homes[place]].remove(place)
            sorting.homes[place] = root
    for home, group in groups.items():
        if home < 0 and len(group) < _LEAST_BORN:
            for place in group:
                sorting.homes[place] = known.root_of(known.nodes[place].cluster_id)


def _nearness(known: _SortingGround, place: int, group: Sequence[int]) -> float:
    """Compute how alike a scene and the others of its group are on average."""
    rows = known.likeness.rows
    others = [each for each in group if each != place]
    return float(rows[place] @ rows[others].mean(axis=0)) if others else 0.0


def _write(tx: Transaction, known: _SortingGround, sorting: _Sorting) -> dict[str, int]:
    """Create the new clusters and move the scenes that are still where they were."""
    # Scenes may have been recalled, merged, pinned or placed since they were read.
    leaving = [place for place in known.free if sorting.homes[place] != known.nodes[place].cluster_id]
    now = nodes_of(tx.unit, [known.nodes[place].id for place in leaving])
    moving: dict[int, list[int]] = {}
    for place in leaving:
        node = known.nodes[place]
        if _is_same(node, now.get(node.id)):
            moving.setdefault(sorting.homes[place], []).append(place)
    # What is no longer enough for a cluster stays where it is.
    moving = {home: group for home, group in moving.items() if home >= 0 or len(group) >= LEAST}
    born = {home: group for home, group in moving.items() if home < 0}
    fresh = dict(zip(born, _write_births(tx, known, sorting, born), strict=True))
    touched: set[int] = set()
    for home, group in moving.items():
        nodes = [known.nodes[place] for place in group]
        tx.unit.send("episodic.move", ids=[node.id for node in nodes], cluster=fresh.get(home, home))
        touched |= {fresh.get(home, home), *(node.cluster_id for node in nodes)}
    refresh(tx.unit, tx.op.embedding, touched)
    return {
        "born": len(fresh),
        "moved": sum(map(len, moving.values())),
        "redone": int(sorting.is_fresh),
        "drift_percent": round(100 * sorting.drift),
    }


def _is_same(node: Node, now: Node | None) -> bool:
    return now is not None and now.status == "active" and now.cluster_id == node.cluster_id and not _stays(now)


def _write_births(
    tx: Transaction, known: _SortingGround, sorting: _Sorting, born: Mapping[int, Sequence[int]]
) -> Iterable[int]:
    """Create clusters, named by what their scenes share, with the most central scenes as their digest."""
    if not born:
        return
    words = [words_in([node.scene.action, *node.themes, *node.scene.actors]) for node in known.nodes]
    languages = [language_of(node.scene.action) or "en" for node in known.nodes]
    names = ClusterNames(words, languages, (cluster.name for cluster in clusters_of(tx.unit)))
    for home, group in born.items():
        central = by_centrality(list(group), known.likeness.rows[list(group)])
        actions = [known.nodes[place].scene.action for place in central[:_IN_A_DIGEST]]
        name, digest = names.name(group, short(actions[0])), " · ".join(map(short, actions))
        yield add_cluster(tx.unit, sorting.roots[home], name, digest, tx.at)
