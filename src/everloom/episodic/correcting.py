"""Episodic memory's part in a correction: scenes, waiting notes and entries.

The corrected scene is a new one that absorbs the old. If the old words shall go, the scene is rewritten in its place.
"""

from __future__ import annotations

from dataclasses import replace

from everloom.clock import to_micros
from everloom.episodic.being import Being
from everloom.episodic.entries.entry import find_entry, put_entry
from everloom.episodic.entries.notes import change_note, find_note, note_document, write_down
from everloom.episodic.scenes.clusters import refresh
from everloom.episodic.scenes.history import blank_history, record
from everloom.episodic.scenes.node import (
    Node,
    absorb,
    add_documents,
    add_nodes,
    check_living,
    nodes_of,
    scene_columns,
    scene_document,
)
from everloom.episodic.scenes.scene import LONGEST, SceneContent
from everloom.errors import Conflict
from everloom.kernel.forgetting.ports import Also, Correction, Replacement
from everloom.kernel.journal import pin
from everloom.kernel.operation import Transaction
from everloom.kernel.search import Prepared
from everloom.kernel.texts import checked
from everloom.store import Row


class EpisodicCorrector:
    """Corrects what a scene tells, a note that waits, and an entry."""

    replaces: frozenset[str] = frozenset()

    def __init__(self, being: Being) -> None:
        self._being = being
        self._op = being.op

    def correct(self, item: int, new: Correction, also: Also) -> Replacement | None:
        """Put a text in place of what an item says; None if the item is not of this faculty."""
        with self._op.read() as unit:
            node = nodes_of(unit, [item]).get(item)
            entry = next(iter(unit.all("episodic.entry_of", ids=[item])), None)
            note = next(iter(unit.all("episodic.note_get", ids=[item])), None)
        if node is not None:
            return self._retell(node, new, also)
        if entry is not None:
            return self._rewrite_entry(entry, new, also)
        return None if note is None else self._rewrite_note(item, new, also)

    def _retell(self, node: Node, new: Correction, also: Also) -> Replacement:
        check_living(node, "correct")
        action = checked(new.text, "the text", LONGEST["action"]).strip()
        whole = replace(node.content, scene=replace(node.scene, action=action))
        ready = self._op.index.prepare([scene_document(whole, self._op.now)])
        made = ready.made or self._op.embedding.make([ready.documents[0].situated])
        prepared = Prepared(ready.documents, ready.words, made)
        with self._op.write("correct_node") as tx:
            now = nodes_of(tx.unit, [node.id]).get(node.id)
            # That a patrol has placed or aged it is no reason to refuse.
            if now is None or now.content != node.content:
                raise Conflict(f"scene {node.id} has just been changed", hint="read it again, then try once more")
            check_living(now, "correct")
            fresh = _in_place(tx, now, whole, prepared) if new.forget_old else _anew(tx, now, whole, prepared)
            refresh(tx.unit, self._op.embedding, [now.cluster_id])
            record(tx, "correct", {node.id: now}, dict.fromkeys([fresh, node.id]), reason=new.reason)
            if new.forget_old:
                blank_history(tx.unit, tx.unit.all("episodic.change_told", ids=[node.id]))
            also(tx, fresh)
        how = "it is told anew" if fresh == node.id else f"it absorbs {node.id}, which stays as history"
        return Replacement(id=fresh, kind="scene", how=how)

    def _rewrite_entry(self, row: Row, new: Correction, also: Also) -> Replacement:
        with self._op.write("correct_entry") as tx:
            known = find_entry(tx.unit, row["target"], row["entry_key"])
            if known is None or known.id != row["id"]:
                raise Conflict(f"entry {row['id']} has just been changed", hint="read it again, then try once more")
            put_entry(tx, replace(known, content=new.text))
            also(tx, row["id"])
        return Replacement(id=row["id"], kind="entry", how="it is rewritten")

    def _rewrite_note(self, item: int, new: Correction, also: Also) -> Replacement:
        with self._op.write("correct_note") as tx:
            note = find_note(tx.unit, item)
            if note.type == "scene":
                told = write_down(new.text, self._op.today)
                change_note(tx, note, told.content, problem=told.problem)
            else:
                change_note(tx, note, new.text)
                index = self._op.index
                index.revise(tx.unit, item, index.prepare([note_document(new.text, note.created_at)]), tx.at)
            also(tx, item)
        return Replacement(id=item, kind="note", how="it is rewritten")


def _anew(tx: Transaction, node: Node, whole: SceneContent, ready: Prepared) -> int:
    """Add the corrected scene beside the old one, which it absorbs."""
    (fresh,) = add_documents(tx, replace(ready, documents=(replace(ready.documents[0], session_id=tx.session_id),)))
    add_nodes(tx.unit, [(fresh, whole, node.cluster_id)], tx.at, patrol_id=node.patrol_id, fresh=node.fresh)
    tx.unit.send("episodic.place", id=fresh, cluster=node.cluster_id, placed=int(node.placed))
    absorb(tx, fresh, [node.id])
    if node.pinned:
        pin(tx.unit, fresh, True)
        pin(tx.unit, node.id, False)
    return fresh


def _in_place(tx: Transaction, node: Node, whole: SceneContent, ready: Prepared) -> int:
    """Rewrite a scene, and the note that it was told in."""
    unit = tx.unit
    unit.send("episodic.scene_rewrite", id=node.id, **scene_columns(whole))
    tx.op.index.revise(unit, node.id, ready, tx.at)
    for row in unit.all("episodic.note_behind", ids=[node.id]):
        unit.send("episodic.note_retell", id=row["id"], content=whole.scene.action, at=to_micros(tx.at))
    return node.id
