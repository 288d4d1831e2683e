"""Merging scenes by hand, pinning them, and showing one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from everloom.episodic.ground import Place
from everloom.episodic.scenes.clusters import refresh
from everloom.episodic.scenes.merging import merged
from everloom.episodic.scenes.node import Node, add_nodes, document_of, nodes_of
from everloom.episodic.scenes.reading import LONGEST
from everloom.errors import Conflict, NotFound, Rejected
from everloom.kernel.journal import answered_before, keep_receipt, pin
from everloom.kernel.search.index import Prepared
from everloom.kernel.texts import checked
from everloom.store import Unit

MOST_MERGED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What `merge_nodes` answers: the new scene, and those that live on in it."""

    node: Node
    absorbed_ids: tuple[int, ...]


def merge_nodes(place: Place, node_ids: Sequence[int], summary: str, feeling: str | None, key: str | None) -> Merged:
    """Make one scene of several; the originals stay, absorbed."""
    ids = list(dict.fromkeys(node_ids))
    if not 2 <= len(ids) <= MOST_MERGED:
        raise Rejected(f"cannot merge {len(ids)} scenes", hint=f"name 2 to {MOST_MERGED} different ones")
    action = checked(summary, "the summary", LONGEST["action"]).strip()
    felt = checked(feeling, "the feeling", LONGEST["feeling"]).strip() if feeling else ""
    asked = {"node_ids": ids, "summary": summary, "feeling": feeling}
    with place.read() as unit:
        if (told := told_before(unit, key, asked)) is not None:
            return told
        nodes = mergeable(unit, ids)
    first, *others = (nodes[item].told for item in ids)
    whole = merged(first, others, action, felt)
    ground = place.ground
    ready = ground.index.prepare([document_of(whole, place.now)])
    made = ready.made or ground.embedding.make([ready.documents[0].situated])
    with place.write() as unit:
        if (told := told_before(unit, key, asked)) is not None:
            return told
        if mergeable(unit, ids) != nodes:
            raise Conflict("one of the scenes changed at the same moment", hint="look at them and try again")
        session = place.attend(unit)
        document = replace(ready.documents[0], session_id=session)
        (fresh,) = ground.index.add(unit, Prepared((document,), ready.words, None), place.now)
        if made is not None:
            ground.embedding.make_whole(unit, [fresh], made, place.now)
        cluster = nodes[ids[0]].cluster_id
        add_nodes(unit, [(fresh, whole, cluster)], place.now, patrol_id=None, fresh=False)
        unit.many("episodic.absorb", ({"id": item, "into": fresh} for item in ids))
        unit.many("kernel.source_add", ({"item": fresh, "source": item} for item in ids))
        ground.index.cover(unit, fresh, ids)
        refresh(unit, ground.embedding, {cluster, *(node.cluster_id for node in nodes.values())})
        place.log(unit, "merge_nodes", id=fresh, absorbed=ids)
        keep_receipt(unit, key, "merge_nodes", asked, {"id": fresh}, place.now)
        return Merged(node=nodes_of(unit, [fresh])[fresh], absorbed_ids=tuple(ids))


def told_before(unit: Unit, key: str | None, asked: Mapping[str, Any]) -> Merged | None:
    """Find the answer that the same request got under the same key."""
    before = answered_before(unit, key, "merge_nodes", asked)
    if before is None:
        return None
    return Merged(node=nodes_of(unit, [before["id"]])[before["id"]], absorbed_ids=tuple(asked["node_ids"]))


def mergeable(unit: Unit, ids: Sequence[int]) -> dict[int, Node]:
    """Read scenes that may be merged; refuse the rest by name."""
    nodes = nodes_of(unit, ids)
    if missing := [item for item in ids if item not in nodes]:
        raise NotFound(f"no scene has the id {missing[0]}", hint="search_memory prints the ids of scenes")
    for node in nodes.values():
        if node.pinned:
            raise Conflict(f"scene {node.id} is pinned", hint="unpin_node first: a pinned scene is never absorbed")
        if node.death == "absorbed":
            raise Conflict(f"scene {node.id} was absorbed", hint=f"merge {node.absorbed_into}, in which it lives on")
    return nodes


def show_node(place: Place, node_id: int) -> Node:
    """Show a scene with every field."""
    with place.read() as unit:
        return existing(unit, node_id)


def existing(unit: Unit, node_id: int) -> Node:
    """Find a scene that must be there."""
    node = nodes_of(unit, [node_id]).get(node_id)
    if node is None:
        raise NotFound(f"no scene has the id {node_id}", hint="search_memory prints the ids of scenes")
    return node


def pin_node(place: Place, node_id: int, pinned: bool) -> Node:
    """Hold a scene against ageing and dying, or let it go; one that was on its way out is active again."""
    with place.write() as unit:
        node = existing(unit, node_id)
        if pinned and node.death == "absorbed":
            raise Conflict(f"scene {node_id} was absorbed", hint=f"pin {node.absorbed_into}, in which it lives on")
        pin(unit, node_id, pinned, place.now)
        if pinned and unit.run("episodic.awaken", id=node_id):
            refresh(unit, place.ground.embedding, [node.cluster_id])
        place.log(unit, "pin_node" if pinned else "unpin_node", id=node_id)
        return nodes_of(unit, [node_id])[node_id]
