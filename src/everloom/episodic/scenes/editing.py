"""Manual operations on scenes: show one, merge several, pin and unpin.

A patrol does the rest. Nothing is ever overwritten: merged scenes stay, absorbed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from everloom.episodic.being import Being
from everloom.episodic.scenes.clusters import refresh
from everloom.episodic.scenes.history import record
from everloom.episodic.scenes.node import Node, absorb, add_documents, add_nodes, check_living, nodes_of, scene_document
from everloom.episodic.scenes.scene import LONGEST, merge_contents
from everloom.errors import Conflict, NotFound, Rejected
from everloom.kernel.journal import pin
from everloom.kernel.operation import Transaction
from everloom.kernel.search import Prepared
from everloom.kernel.texts import checked
from everloom.store import Unit

_MOST_MERGED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedNodes:
    """The result of `merge_nodes`: the new scene, and the ids of those that it absorbed."""

    node: Node
    absorbed_ids: tuple[int, ...]


def show_node(being: Being, node_id: int) -> Node:
    """Show a scene with every field."""
    with being.op.read() as unit:
        return _existing(unit, [node_id])[node_id]


def merge_nodes(
    being: Being, node_ids: Sequence[int], summary: str, feeling: str | None, key: str | None
) -> MergedNodes:
    """Merge several scenes into a new one; the originals stay, absorbed."""
    ids = list(dict.fromkeys(node_ids))
    if not 2 <= len(ids) <= _MOST_MERGED:
        raise Rejected(f"cannot merge {len(ids)} scenes", hint=f"name 2 to {_MOST_MERGED} different ones")
    action = checked(summary, "the summary", LONGEST["action"]).strip()
    felt = checked(feeling, "the feeling", LONGEST["feeling"]).strip() if feeling else ""
    op = being.op
    with op.read() as unit:
        told = {item: node.content for item, node in _existing(unit, ids).items()}
    first, *others = (told[item] for item in ids)
    whole = merge_contents(first, others, action, felt)
    # Embedded before the transaction, because a model may be slow. Whether the scenes may be merged is checked inside
    # it: a repeated call finds them absorbed by the first one, and must get that result instead of an error.
    ready = op.index.prepare([scene_document(whole, op.now)])
    made = ready.made or op.embedding.make([ready.documents[0].situated])

    def write(tx: Transaction) -> int:
        nodes = _mergeable(tx.unit, ids)
        # That a patrol has placed or aged one of them is no reason to refuse.
        if {item: node.content for item, node in nodes.items()} != told:
            raise Conflict("one of the scenes has just been changed", hint="read them again, then try once more")
        document = replace(ready.documents[0], session_id=tx.session_id)
        (fresh,) = add_documents(tx, Prepared((document,), ready.words, made))
        # Where somebody has put one of them, or else where the first one is.
        home = next((node for node in nodes.values() if node.placed), nodes[ids[0]])
        add_nodes(tx.unit, [(fresh, whole, home.cluster_id)], tx.at, patrol_id=None, fresh=False)
        tx.unit.send("episodic.place", id=fresh, cluster=home.cluster_id, placed=int(home.placed))
        absorb(tx, fresh, ids)
        refresh(tx.unit, op.embedding, {node.cluster_id for node in nodes.values()})
        record(tx, "merge", nodes, [fresh, *ids])
        return fresh

    asked = {"node_ids": ids, "summary": summary, "feeling": feeling}
    fresh = op.write_once("merge_nodes", key, asked, int, write)
    return MergedNodes(node=show_node(being, fresh), absorbed_ids=tuple(ids))


def pin_node(being: Being, node_id: int, *, pinned: bool, key: str | None = None) -> Node:
    """Pin a scene so that it neither ages nor dies, or unpin it; pinning a dying or faded scene makes it active."""

    def act(tx: Transaction) -> Node:
        unit = tx.unit
        node = _existing(unit, [node_id])[node_id]
        if pinned:
            check_living(node, "pin")
        pin(unit, node_id, pinned)
        if pinned and unit.run("episodic.awaken", id=node_id):
            refresh(unit, being.op.embedding, [node.cluster_id])
        tx.event(id=node_id)
        return nodes_of(unit, [node_id])[node_id]

    return being.op.write_once("pin_node" if pinned else "unpin_node", key, {"id": node_id}, Node, act)


def _existing(unit: Unit, ids: Sequence[int]) -> dict[int, Node]:
    """Read scenes that must exist."""
    nodes = nodes_of(unit, ids)
    if missing := [item for item in ids if item not in nodes]:
        raise NotFound(f"no scene has the id {missing[0]}", hint="search_memory shows the ids of scenes")
    return nodes


def _mergeable(unit: Unit, ids: Sequence[int]) -> dict[int, Node]:
    """Read scenes that must be neither pinned nor absorbed."""
    nodes = _existing(unit, ids)
    for node in nodes.values():
        if node.pinned:
            raise Conflict(
                f"scene {node.id} is pinned",
                hint="unpin it first with unpin_node: a pinned scene is never merged into another",
            )
        check_living(node, "merge")
    return nodes
