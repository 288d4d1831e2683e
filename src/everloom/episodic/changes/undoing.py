"""Undoing a change of scenes: what it set is put back, as far as nobody has set it to something else since.

An undo is a change itself, and can be undone. A scene that the undone change made is kept, dead, because what is in the
history of others must not vanish; the scenes that it was made from live again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from everloom.episodic.being import Being
from everloom.episodic.changes.correcting import SceneRequest, checked_reason
from everloom.episodic.changes.patching import FIELDS
from everloom.episodic.changes.results import ChangedNodes, changed, check_version, done_before, read_node
from everloom.episodic.changes.settling import cover, document_of, prepare_whole, rewrite, settle
from everloom.episodic.scenes.history import SceneChange, changes_of, content_of, record, state_of
from everloom.episodic.scenes.node import Node, nodes_of
from everloom.episodic.scenes.scene import SceneContent
from everloom.errors import Conflict, NotFound
from everloom.kernel.journal import pin
from everloom.kernel.operation import Transaction
from everloom.kernel.search import Prepared
from everloom.store import Unit

_VERB = "undo_change"
_ENDS = ("absorbed", "split", "undone")


@dataclass(frozen=True, slots=True)
class _PutBack:
    """What undoing sets on one scene: the fields that differ; nothing for one that the change made, which ends."""

    now: Node
    target: Mapping[str, Any]
    is_ending: bool

    @property
    def content(self) -> SceneContent:
        """What the scene tells then."""
        told = {name: self.target[name] for name in FIELDS if name in self.target}
        return content_of({**state_of(self.now), **told}) if told else self.now.content


def undo_change(
    being: Being, request: SceneRequest, change_id: int | None = None, *, is_preview: bool = False
) -> ChangedNodes:
    """Put back what a change of a scene set: the newest that still holds, or the one with an id."""
    op, item, reason = being.op, request.node_id, checked_reason(request.reason)
    asked = request.as_asked(change=change_id)
    if not is_preview:
        op.must_write()
        if (known := done_before(being, _VERB, request.key, asked)) is not None:
            return changed(being, known, [item])
    with op.read() as unit:
        check_version(read_node(unit, item), request.expected_version)
        chosen = _chosen(unit, item, change_id)
        plan = _planned(unit, chosen)
        if is_preview:
            return _preview(plan, chosen)
        told = [each for each in plan if not each.is_ending and each.content != each.now.content]
        documents = [document_of(op, unit, each.content, each.now) for each in told]
    ready = prepare_whole(op, documents)
    places = {each.now.id: place for place, each in enumerate(told)}

    def write(tx: Transaction) -> int:
        check_version(read_node(tx.unit, item), request.expected_version)
        # Made again under the lock: it must be what was prepared.
        again = _chosen(tx.unit, item, change_id)
        found = _planned(tx.unit, again)
        if [each.content for each in found] != [each.content for each in plan]:
            raise Conflict(f"scene {item} has just been changed", hint="read it again, then try once more")
        before = {each.now.id: each.now for each in found}
        for each in found:
            place = places.get(each.now.id)
            one = None if place is None else op.index.complete(ready, {place: ready.documents[place]})
            _put_back(tx, each, one)
        cover(tx, nodes_of(tx.unit, list(before)).values())
        settle(being, tx, before, before)
        undo = record(tx, "undo", before, before, reason=reason)
        tx.unit.send("episodic.change_undo", id=again[0].id, by=undo)
        # Whoever takes an undo back wants what it had undone.
        for row in tx.unit.all("episodic.change_undone", by=again[0].id):
            tx.unit.send("episodic.change_undo", id=row["id"], by=None)
        return undo

    return changed(being, op.write_once(_VERB, request.key, asked, int, write), [item])


def _chosen(unit: Unit, item: int, change_id: int | None) -> list[SceneChange]:
    """Find the change to undo, scene by scene."""
    chosen = change_id
    if chosen is None:
        holding = [row for row in unit.all("episodic.change_later", ids=[item], after=0) if not row["lost"]]
        if not holding:
            raise NotFound(f"there is nothing to undo about scene {item}", hint="node_history shows what was changed")
        chosen = holding[0]["id"]
    found = changes_of(unit, [chosen])
    if not any(each.scene_id == item for each in found):
        raise NotFound(f"scene {item} has no change {chosen}", hint="node_history shows the ids of its changes")
    if (by := found[0].undone_by) is not None:
        raise Conflict(f"change {chosen} was undone by change {by}", hint=f"undo change {by} to bring it back")
    return found


def _planned(unit: Unit, chosen: Sequence[SceneChange]) -> tuple[_PutBack, ...]:
    """Decide what is put back on each scene; Conflict if something was changed since."""
    if any(each.is_lost for each in chosen):
        raise Conflict(
            f"words of change {chosen[0].id} were forgotten", hint="it cannot be undone; correct the scene instead"
        )
    nodes = nodes_of(unit, [each.scene_id for each in chosen])
    made = [each.scene_id for each in chosen if each.is_new]
    later = unit.all("episodic.change_later", ids=made, after=chosen[0].id) if made else []
    if later:
        raise Conflict(
            f"scene {later[0]['scene_id']} was changed afterwards",
            hint=f"undo change {later[0]['id']} of scene {later[0]['scene_id']} first",
        )
    return tuple(_put_back_of(unit, each, nodes[each.scene_id]) for each in chosen)


def _put_back_of(unit: Unit, change: SceneChange, now: Node) -> _PutBack:
    if change.is_new:
        if now.death in _ENDS:
            raise Conflict(f"scene {now.id} was {now.death} afterwards", hint="undo that change first")
        return _PutBack(now, {"death": "undone"}, is_ending=True)
    state = state_of(now)
    for each in change.fields:
        if state[each.field] != each.after:
            later = unit.all("episodic.change_later", ids=[now.id], after=change.id)
            hint = (
                f"undo change {later[0]['id']} first" if later else "a patrol did it; correct or move the scene instead"
            )
            raise Conflict(f"{each.field} of scene {now.id} was changed again since", hint=hint, current=now)
    target = {each.field: each.before for each in change.fields}
    home = target.get("cluster_id")
    if home is not None and not unit.all("episodic.cluster_of", ids=[home]):
        raise Conflict(f"cluster {home} is no longer there", hint="move_node puts the scene into another one")
    return _PutBack(now, target, is_ending=False)


def _put_back(tx: Transaction, each: _PutBack, ready: Prepared | None) -> None:
    """Set one scene to what it was."""
    unit, now, target = tx.unit, each.now, each.target
    if each.content != now.content:
        rewrite(tx, now, each.content, ready)
    if "death" in target or "absorbed_into" in target:
        death = target.get("death", now.death)
        status = "active" if death is None else "dead"
        into = target.get("absorbed_into", now.absorbed_into) if death == "absorbed" else None
        unit.send("episodic.life_end", id=now.id, status=status, death=death, absorbed_into=into)
    if "cluster_id" in target or "placed" in target:
        home, placed = target.get("cluster_id", now.cluster_id), target.get("placed", now.placed)
        unit.send("episodic.place", id=now.id, cluster=home, placed=int(placed))
    if "pinned" in target:
        pin(unit, now.id, bool(target["pinned"]))
    if each.is_ending and now.pinned:
        pin(unit, now.id, False)


def _preview(plan: Sequence[_PutBack], chosen: Sequence[SceneChange]) -> ChangedNodes:
    """Say what undoing would do, in words."""
    remarks = [f"change {chosen[0].id} ({chosen[0].act}) would be undone"]
    for each in plan:
        if each.is_ending:
            remarks.append(f"scene {each.now.id} would end: the change made it")
        else:
            remarks += [_said(each.now.id, name, value) for name, value in each.target.items()]
    return ChangedNodes(nodes=tuple(each.now for each in plan), remarks=tuple(remarks), is_preview=True)


def _said(item: int, name: str, value: object) -> str:
    if name == "death" and value is None:
        return f"scene {item} would live again"
    return f"scene {item}: {name} would be {json.dumps(value, ensure_ascii=False)}"
