"""Correcting a scene: any of its fields told anew, in its place, with what it said before in its history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from everloom.episodic.being import Being
from everloom.episodic.changes.patching import apply_patch
from everloom.episodic.changes.results import ChangedNodes, changed, check_version, done_before, read_node
from everloom.episodic.changes.settling import document_of, prepare_whole, rewrite, settle
from everloom.episodic.scenes.history import record
from everloom.episodic.scenes.node import check_living
from everloom.errors import Conflict, Rejected
from everloom.kernel.forgetting.tombstones import refuse_forgotten
from everloom.kernel.operation import Transaction
from everloom.kernel.texts import checked

_VERB = "correct_node"
_LONGEST_REASON = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneRequest:
    """What to change about one scene, and by whom: the version that they saw, and a key if they may repeat it."""

    node_id: int
    reason: str | None = None
    expected_version: str | None = None
    key: str | None = None

    def as_asked(self, **more: object) -> dict[str, object]:
        """Say what was asked, by which a repeated request is known again."""
        return {"node": self.node_id, "reason": self.reason, "version": self.expected_version, **more}


def checked_reason(reason: str | None) -> str | None:
    """Check why somebody changes a scene."""
    return None if reason is None or not reason.strip() else checked(reason, "the reason", _LONGEST_REASON).strip()


def correct_node(being: Being, request: SceneRequest, patch: Mapping[str, Any]) -> ChangedNodes:
    """Change fields of a scene; what is not in the patch stays."""
    if not patch:
        raise Rejected("there is nothing to correct", hint="give what is right: an action, a feeling, actors, …")
    op, item = being.op, request.node_id
    reason = checked_reason(request.reason)
    op.must_write()
    asked = request.as_asked(patch=dict(patch))
    if (known := done_before(being, _VERB, request.key, asked)) is not None:
        return changed(being, known, [item])
    with op.read() as unit:
        node = read_node(unit, item)
        whole = apply_patch(node.content, patch, op.today)
        was, wanted = op.index.documents(unit, [item])[item], document_of(op, unit, whole, node)
        refuse_forgotten(unit, [wanted.text, whole.scene.action])
    parts = ("text", "details", "labels", "happened_at")
    is_told_anew = any(getattr(was, name) != getattr(wanted, name) for name in parts)
    # Embedded before the transaction, because a model may be slow.
    ready = prepare_whole(op, [wanted]) if is_told_anew else None

    def write(tx: Transaction) -> int:
        now = read_node(tx.unit, item)
        check_version(now, request.expected_version)
        check_living(now, "correct")
        # What else a patrol may have done to it, such as placing it, is no reason to refuse.
        if now.content != node.content:
            raise Conflict(f"scene {item} has just been changed", hint="read it again, then try once more", current=now)
        if whole == now.content:
            return 0
        rewrite(tx, now, whole, ready)
        settle(being, tx, {item: now}, [item])
        return record(tx, "correct", {item: now}, [item], reason=reason)

    return changed(being, op.write_once(_VERB, request.key, asked, int, write), [item])
