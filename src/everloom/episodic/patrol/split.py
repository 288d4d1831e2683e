"""Step ❻: a cluster with too many active scenes gives birth to sub-clusters; a root too, for that is how they begin.

A model names the topics; without one the vectors are cut, and the most central action is the name. However it is
decided, both sides of every split keep at least two scenes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from everloom.episodic.patrol.judgement import Splitting, to_split
from everloom.episodic.patrol.steps import NO_MODEL, Bout, Carry, Done
from everloom.episodic.scenes.clusters import Cluster, add_cluster, clusters_of, refresh, short
from everloom.episodic.scenes.geometry import Floats, by_centrality, coherence, leaves, stacked
from everloom.episodic.scenes.node import Node, nodes_of
from everloom.errors import ProviderError
from everloom.kernel.texts import UNSTORABLE
from everloom.store import Unit

TOO_MANY = 10
LEAST = 2
# Larger than what ❼ would fold again at once.
LEAST_BY_VECTORS = 3
# The newest scenes of a crowded cluster; the others have their turn in later patrols.
AT_ONCE = 2_000
MOST_SHOWN = 60
IN_A_DIGEST = 3


@dataclass(frozen=True, slots=True)
class Group:
    """Scenes that leave a cluster together; the name is the first member's action when there is none."""

    members: tuple[int, ...]
    name: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Birth:
    """What is to be born of one cluster."""

    cluster: Cluster
    groups: tuple[Group, ...]


def plan_by_vectors(cluster: Cluster, vectors: Mapping[int, Floats], active: int, threshold: float) -> Birth | None:
    """Decide which groups leave a cluster, from their vectors alone. Touches nothing.

    A root lets go what holds together; of a sub-cluster, all but the largest part leaves. At least one part does.
    """
    ids, rows = stacked(vectors)
    parts = leaves(rows, TOO_MANY, LEAST_BY_VECTORS) if len(ids) >= 2 * LEAST_BY_VECTORS else []
    if len(parts) < 2:
        return None
    if cluster.is_root:
        ranked = sorted(parts, key=lambda part: -coherence(rows[part]))
        going = [part for part in ranked if coherence(rows[part]) >= threshold] or ranked[:1]
    else:
        going = sorted(parts, key=len)[:-1]
    groups = [Group(tuple(by_centrality([ids[place] for place in part], rows[part]))) for part in going]
    return Birth(cluster, kept_back(groups, active))


def plan_by_model(cluster: Cluster, ids: Sequence[int], active: int, answer: Splitting) -> tuple[Birth, list[str]]:
    """Decide what of a model's answer to believe. Touches nothing."""
    free, groups, remarks = set(ids), [], []
    for part in answer.parts:
        members = [item for item in dict.fromkeys(part.node_ids) if item in free]
        if ignored := len(set(part.node_ids)) - len(members):
            remarks.append(f"ignored {ignored} ids in a part of cluster {cluster.id}: not there, or in another part")
        if len(members) < LEAST:
            remarks.append(f"ignored a part of cluster {cluster.id} with {len(members)} scenes: {LEAST} is the least")
            continue
        free -= set(members)
        groups.append(Group(tuple(members), clean(part.name), clean(part.digest)))
    kept = kept_back(groups, active)
    if len(kept) < len(groups):
        remarks.append(f"kept a part in cluster {cluster.id}, so that {LEAST} scenes remain")
    return Birth(cluster, kept), remarks


def kept_back(groups: Sequence[Group], active: int) -> tuple[Group, ...]:
    """Keep back the last groups until enough scenes remain in the cluster."""
    kept = list(groups)
    while kept and active - sum(len(group.members) for group in kept) < LEAST:
        kept.pop()
    return tuple(kept)


def clean(text: str) -> str:
    """Make a model's text one that can be kept on one line."""
    return " ".join(UNSTORABLE.sub("", text).split())[:500]


def split(bout: Bout) -> Carry:
    """❻ Let crowded clusters give birth."""
    births: list[Birth] = []
    remarks: list[str] = []
    with bout.ground.store.read(bout.info.id) as unit:
        crowded = [cluster for cluster in clusters_of(unit) if cluster.active > TOO_MANY]
    for cluster in crowded:
        birth = asked(bout, cluster, remarks) if bout.thinker is not None else None
        if birth is None:
            birth = cut(bout, cluster)
        if birth is not None and birth.groups:
            births.append(birth)
    reason = f"{NO_MODEL}: split by vectors" if bout.thinker is None and crowded else None

    def carry(unit: Unit) -> Done:
        born, moved = carry_out(unit, bout, births)
        return Done(
            counts={"crowded": len(crowded), "born": born, "moved": moved}, skipped=reason, remarks=tuple(remarks)
        )

    return carry


def asked(bout: Bout, cluster: Cluster, remarks: list[str]) -> Birth | None:
    """Ask the model for topics; None when it fails, so that the vectors decide."""
    with bout.ground.store.read(bout.info.id) as unit:
        ids = active_in(unit, cluster.id)[-MOST_SHOWN:]
        nodes = nodes_of(unit, ids)
    try:
        answer = bout.ask(to_split(nodes.values()), Splitting)
    except ProviderError as error:
        remarks.append(f"cluster {cluster.id}: {error.message}; split by vectors instead")
        return None
    birth, ignored = plan_by_model(cluster, ids, cluster.active, answer)
    remarks += ignored
    return birth


def cut(bout: Bout, cluster: Cluster) -> Birth | None:
    """Let the vectors decide."""
    with bout.ground.store.read(bout.info.id) as unit:
        vectors = bout.ground.embedding.held(unit, active_in(unit, cluster.id)[-AT_ONCE:])
        threshold = bout.ground.thresholds(unit).cluster
    return plan_by_vectors(cluster, dict(sorted(vectors.items())), cluster.active, threshold)


def active_in(unit: Unit, cluster_id: int) -> list[int]:
    """List the active scenes of a cluster, oldest first."""
    rows = unit.all("episodic.living_in", ids=[cluster_id])
    return sorted(row["id"] for row in rows if row["status"] == "active")


def carry_out(unit: Unit, bout: Bout, births: Iterable[Birth]) -> tuple[int, int]:
    """Make the new clusters and move what is still active and still there; both sides keep at least two."""
    born = moved = 0
    touched: set[int] = set()
    for birth in births:
        here = set(active_in(unit, birth.cluster.id))
        left = len(here)
        for group in birth.groups:
            members = [item for item in group.members if item in here]
            if len(members) < LEAST or left - len(members) < LEAST:
                continue
            touched |= {birth.cluster.id, give_birth(unit, bout, birth.cluster, group, members)}
            left -= len(members)
            here -= set(members)
            born, moved = born + 1, moved + len(members)
    refresh(unit, bout.ground.embedding, touched)
    return born, moved


def give_birth(unit: Unit, bout: Bout, cluster: Cluster, group: Group, members: Sequence[int]) -> int:
    """Make one sub-cluster and move its scenes; they have the same root as before."""
    central = nodes_of(unit, members[:IN_A_DIGEST])
    actions = list(map(partial(action_of, central), members[:IN_A_DIGEST]))
    parent = cluster.id if cluster.is_root else cluster.parent_id
    name, digest = group.name or actions[0], group.digest or " · ".join(map(short, actions))
    fresh = add_cluster(unit, parent, name, digest, bout.ground.clock.now())
    unit.run("episodic.move", ids=list(members), cluster=fresh)
    return fresh


def action_of(nodes: Mapping[int, Node], item: int) -> str:
    """Read the action of one scene."""
    return nodes[item].scene.action
