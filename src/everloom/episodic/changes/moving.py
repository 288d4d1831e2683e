"""Moving a scene to another cluster: one that exists, a root, or a new one with a name.

Who moves a scene has placed it: patrols leave it there until its place is given back to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from everloom.episodic.being import Being
from everloom.episodic.changes.correcting import SceneRequest, checked_reason
from everloom.episodic.changes.results import ChangedNodes, changed, check_version, read_node
from everloom.episodic.changes.settling import settle
from everloom.episodic.scenes.clusters import Cluster, add_cluster, clusters_of, find_cluster, roots_of, short
from everloom.episodic.scenes.history import record
from everloom.episodic.scenes.node import Node, check_living
from everloom.episodic.scenes.scene import fold_text
from everloom.errors import Rejected
from everloom.kernel.operation import Transaction
from everloom.kernel.texts import checked
from everloom.store import Unit

Root = Literal["Business", "Private"]
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveRequest(SceneRequest):
    """Where a scene shall go: into a cluster, into a new one by its name, or into a root; nowhere gives it back."""

    cluster_id: int | None = None
    name: str | None = None
    root: Root | None = None


def move_node(being: Being, request: MoveRequest) -> ChangedNodes:
    """Put a scene into a cluster, and leave it there; without a place, let patrols place it again."""
    if request.cluster_id is not None and (request.name is not None or request.root is not None):
        raise Rejected("a scene can be in one cluster only", hint="give the cluster's id, or a name and a root")
    item, reason = request.node_id, checked_reason(request.reason)
    name = None if request.name is None else short(checked(request.name, "the name", _LONGEST_NAME))
    if name == "":
        raise Rejected("a cluster needs a name", hint="name it in two to five words")

    def write(tx: Transaction) -> int:
        node = read_node(tx.unit, item)
        check_version(node, request.expected_version)
        check_living(node, "move")
        is_given_back = request.cluster_id is None and name is None and request.root is None
        home = node.cluster_id if is_given_back else _destination(tx, node, request, name)
        if (home, not is_given_back) == (node.cluster_id, node.placed):
            return 0
        tx.unit.send("episodic.place", id=item, cluster=home, placed=int(not is_given_back))
        settle(being, tx, {item: node}, [item])
        return record(tx, "move", {item: node}, [item], reason=reason)

    asked = request.as_asked(cluster=request.cluster_id, name=request.name, root=request.root)
    return changed(being, being.op.write_once("move_node", request.key, asked, int, write), [item])


def _destination(tx: Transaction, node: Node, request: MoveRequest, name: str | None) -> int:
    """Find the cluster that is meant; a name that its root does not know yet makes a new one."""
    unit = tx.unit
    if request.cluster_id is not None:
        return find_cluster(unit, request.cluster_id).id
    roots = roots_of(unit, tx.at)
    here = {"Business": roots.business, "Private": roots.private}
    root = _root_of(unit, node) if request.root is None else here[request.root]
    if name is None:
        return root
    known = next((each.id for each in clusters_of(unit) if _is_called(each, root, name)), None)
    return add_cluster(unit, root, name, "", tx.at) if known is None else known


def _root_of(unit: Unit, node: Node) -> int:
    cluster = find_cluster(unit, node.cluster_id)
    return cluster.id if cluster.is_root else cluster.parent_id


def _is_called(cluster: Cluster, root: int, name: str) -> bool:
    return not cluster.is_root and cluster.parent_id == root and fold_text(cluster.name) == fold_text(name)
