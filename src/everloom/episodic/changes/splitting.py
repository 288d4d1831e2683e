"""Splitting a scene into several: each part is a scene of its own, and the whole stays, dead, pointing at them.

A part says what differs and takes everything else from the whole, also its life: it is as old, as strong, as pinned and
in the same cluster. Nothing is rejuvenated by being divided, and nothing is lost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from everloom.clock import to_micros
from everloom.episodic.being import Being
from everloom.episodic.changes.correcting import SceneRequest, checked_reason
from everloom.episodic.changes.patching import apply_patch
from everloom.episodic.changes.results import ChangedNodes, changed, check_version, done_before, read_node
from everloom.episodic.changes.settling import cover, document_of, prepare_whole, settle
from everloom.episodic.scenes.history import record
from everloom.episodic.scenes.node import Node, add_documents, add_nodes, check_living, nodes_of
from everloom.episodic.scenes.scene import SceneContent, lifespan
from everloom.errors import Conflict, Rejected
from everloom.kernel.forgetting.tombstones import refuse_forgotten
from everloom.kernel.journal import pin
from everloom.kernel.operation import Transaction
from everloom.kernel.search import Prepared
from everloom.kernel.trust.resting import rest_on

_VERB = "split_node"
_FEWEST, _MOST = 2, 20


def split_node(
    being: Being, request: SceneRequest, parts: Sequence[Mapping[str, Any] | str], *, is_preview: bool = False
) -> ChangedNodes:
    """Divide a scene into parts, each told by what differs from the whole."""
    if not _FEWEST <= len(parts) <= _MOST:
        raise Rejected(f"cannot split a scene into {len(parts)}", hint=f"tell {_FEWEST} to {_MOST} parts")
    op, item, reason = being.op, request.node_id, checked_reason(request.reason)
    asked = request.as_asked(parts=list(parts))
    if not is_preview and (known := done_before(being, _VERB, request.key, asked)) is not None:
        return changed(being, known, [item])
    with op.read() as unit:
        node = read_node(unit, item)
        check_version(node, request.expected_version)
        check_living(node, "split")
        told = [_told(node.content, each, being) for each in parts]
        refuse_forgotten(unit, [each.scene.action for each in told])
        documents = [document_of(op, unit, each, node) for each in told]
    if len({each.scene.action for each in told}) < len(told):
        raise Rejected("two parts tell the same action", hint="tell in each what happened in it alone")
    if is_preview:
        return ChangedNodes(
            nodes=(node,), remarks=tuple(f"a part: {each.scene.action}" for each in told), is_preview=True
        )
    op.must_write()
    ready = prepare_whole(op, documents)

    def write(tx: Transaction) -> int:
        now = read_node(tx.unit, item)
        check_version(now, request.expected_version)
        check_living(now, "split")
        # What else a patrol may have done to it, such as placing it, is no reason to refuse.
        if now.content != node.content:
            raise Conflict(f"scene {item} has just been changed", hint="read it again, then try once more", current=now)
        ids = _add_parts(tx, now, told, ready)
        tx.unit.send("episodic.life_end", id=item, status="dead", death="split", absorbed_into=None)
        if now.pinned:
            for each in ids:
                pin(tx.unit, each, True)
            pin(tx.unit, item, False)
        cover(tx, nodes_of(tx.unit, [item]).values())
        settle(being, tx, {item: now}, [item, *ids])
        return record(tx, "split", {item: now}, [item, *ids], reason=reason)

    return changed(being, op.write_once(_VERB, request.key, asked, int, write), [item])


def _told(whole: SceneContent, part: Mapping[str, Any] | str, being: Being) -> SceneContent:
    """Tell a part: what it does not say, it has from the whole."""
    patch = _read(part) if isinstance(part, str) else dict(part)
    if not str(patch.get("action") or "").strip():
        raise Rejected("a part has no action", hint="describe in a sentence what happened in it")
    return apply_patch(whole, patch, being.op.today)


def _read(text: str) -> dict[str, Any]:
    """Read a part that is written as text: its action, or its fields as JSON."""
    if not text.lstrip().startswith("{"):
        return {"action": text}
    try:
        found: dict[str, Any] = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Rejected("a part is not JSON", hint='write {"action": "…"}, or only the action') from error
    return found


def _add_parts(tx: Transaction, whole: Node, told: Sequence[SceneContent], ready: Prepared) -> list[int]:
    """Write the parts with the life of the whole."""
    unit = tx.unit
    documents = tuple(replace(each, session_id=tx.session_id or each.session_id) for each in ready.documents)
    ids = list(add_documents(tx, Prepared(documents, ready.words, ready.made)))
    placed = [(item, content, whole.cluster_id) for item, content in zip(ids, told, strict=True)]
    add_nodes(unit, placed, tx.at, patrol_id=whole.patrol_id, fresh=False)
    for item, content in zip(ids, told, strict=True):
        unit.send("episodic.life_copy", id=item, **_life(whole, content))
    rest_on(unit, ((item, whole.id) for item in ids))
    return ids


def _life(whole: Node, content: SceneContent) -> dict[str, Any]:
    """Return the life of a part; one that is important enough is not dying, whatever the whole was."""
    is_strong = whole.session_count - whole.reactivation_count < lifespan(content.importance)
    is_dying = whole.status == "dying" and not is_strong
    status = "active" if whole.status == "dying" and is_strong else whole.status
    return {
        "session_count": whole.session_count,
        "reactivation_count": whole.reactivation_count,
        "last_activated": to_micros(whole.last_activated),
        "status": status,
        "death": whole.death,
        "dying_since": whole.dying_since if is_dying else None,
        "placed": int(whole.placed),
        "split_from": whole.id,
    }
