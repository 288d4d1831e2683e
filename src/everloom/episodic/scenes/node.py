"""A scene node: a scene with its cluster and its life, as rows store it and as verbs show it.

Reads and writes rows inside the caller's unit of work.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Literal

from everloom.clock import to_micros
from everloom.episodic.scenes.scene import (
    AXES,
    Emotion,
    Scene,
    SceneContent,
    body_text,
    embed_text,
    lifespan,
    scene_from,
    scene_text,
    time_texts,
)
from everloom.errors import Conflict
from everloom.kernel.answer.encode import SAID
from everloom.kernel.lifecycle import strength_after_patrols
from everloom.kernel.operation import Transaction
from everloom.kernel.search import Document, Prepared
from everloom.kernel.trust.resting import rest_on
from everloom.store import Row, Unit, value_from
from everloom.store.contract import Value

KIND = "scene"
# 48 bits: two versions of one scene that are alike by chance would take millions of changes.
_VERSION_LENGTH = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A scene node with every field of the contract; the kernel stores its vector."""

    id: int
    scene: Scene
    feeling: str
    importance: float
    cluster_id: int
    themes: tuple[str, ...] = field(metadata=SAID)
    emotion: Emotion | None = field(metadata=SAID)
    session_count: int
    status: Literal["active", "dying", "dead"]
    fresh: bool
    pinned: bool
    reactivation_count: int
    last_activated: datetime
    created_at: datetime
    death: Literal["faded", "absorbed", "split", "undone"] | None = None
    absorbed_into: int | None = None
    # The scenes that it was split into, and the one that it is a part of.
    split_into: tuple[int, ...] = ()
    split_from: int | None = None
    # Whether somebody chose its cluster; patrols leave it there.
    placed: bool = False
    dying_since: int | None = None
    patrol_id: int | None = None
    # Whoever changes it can say which version they saw; ageing makes no new one.
    version: str = ""
    # What was left off to keep within the budget of an answer.
    note: str | None = None

    @property
    def strength(self) -> float:
        """How much of its importance is left: the contract's eff_imp."""
        return strength_after_patrols(self.importance, self.session_count, self.reactivation_count)

    @property
    def text(self) -> str:
        """The scene as text for people."""
        return scene_text(self.scene, self.feeling)

    @property
    def line(self) -> str:
        """The scene as an item of a list, with its id and its state unless it is active."""
        return f"- [{self.id}]{self.state} {self.text}"

    @property
    def state(self) -> str:
        """Its state as a tag, if it is dying or dead."""
        return "" if self.status == "active" else f" [{self.status}]"

    @property
    def content(self) -> SceneContent:
        """What was told about it, without its life."""
        return SceneContent(**{each.name: getattr(self, each.name) for each in fields(SceneContent)})


def scene_document(content: SceneContent, at: datetime, session_id: int | None = None) -> Document:
    """Make a scene's search document: its text becomes the vector; the rest, also its dates, is found by words."""
    scene, day = content.scene, content.scene.day
    surroundings = [scene.setting, *scene.dialogue, *scene.sensory, *time_texts(scene)]
    return Document(
        kind=KIND,
        text=embed_text(scene, content.feeling),
        details=" ".join(text for text in surroundings if text),
        labels=(*content.themes, *scene.actors),
        # Noon in UTC is the same day in nearly every time zone. A day in the future counts as now, or search would rank
        # it as the newest of all.
        happened_at=at if day is None else min(datetime(day.year, day.month, day.day, 12, tzinfo=UTC), at),
        session_id=session_id,
    )


def scene_columns(content: SceneContent) -> dict[str, Value]:
    """Convert the texts and the emotion of a scene into the values of its row."""
    return {
        "action": content.scene.action,
        "feeling": content.feeling,
        "themes": json.dumps(content.themes, ensure_ascii=False),
        "body": body_text(content.scene),
        "haystack": content.haystack,
        **emotion_columns(content.emotion),
    }


def emotion_columns(emotion: Emotion | None) -> dict[str, Value]:
    """Convert an emotion into the values of its columns."""
    return {axis: None if emotion is None else getattr(emotion, axis) for axis in AXES}


def add_documents(tx: Transaction, prepared: Prepared) -> Sequence[int]:
    """Add the documents of new scenes, complete with their vectors."""
    # In two parts: the index leaves the vectors of a slow embedder to the worker, but a patrol has already waited for
    # them and needs them to place its scenes.
    ids = tx.op.index.add(tx.unit, Prepared(prepared.documents, prepared.words, None), tx.at)
    if prepared.made is not None and ids:
        tx.op.embedding.make_whole(tx.unit, ids, prepared.made, tx.at)
    return ids


def add_nodes(
    unit: Unit, nodes: Sequence[tuple[int, SceneContent, int]], at: datetime, *, patrol_id: int | None, fresh: bool
) -> None:
    """Write scene nodes, given as (id, content, cluster), whose documents exist already."""
    micros = to_micros(at)
    unit.many(
        "episodic.scene_add",
        ({**scene_columns(content), "id": item, "patrol": patrol_id, "at": micros} for item, content, _ in nodes),
    )
    unit.many(
        "episodic.life_add",
        (
            {
                "id": item,
                "cluster": cluster,
                "importance": content.importance,
                "lifespan": lifespan(content.importance),
                "at": micros,
                "fresh": int(fresh),
            }
            for item, content, cluster in nodes
        ),
    )


def absorb(tx: Transaction, survivor: int, ids: Iterable[int]) -> None:
    """Mark scenes as absorbed by another: they stay as its sources, and search ranks them below it."""
    absorbed = list(ids)
    tx.unit.many("episodic.absorb", ({"id": item, "into": survivor} for item in absorbed))
    rest_on(tx.unit, ((survivor, item) for item in absorbed))
    tx.op.index.cover(tx.unit, survivor, absorbed)


def nodes_of(unit: Unit, ids: Sequence[int]) -> dict[int, Node]:
    """Read scene nodes by id; ids of anything else are absent."""
    rows = unit.all("episodic.node_of", ids=list(ids))
    wholes = [row["id"] for row in rows if row["death"] == "split"]
    parts: dict[int, list[int]] = {}
    for part in unit.all("episodic.parts_of", ids=wholes) if wholes else ():
        parts.setdefault(part["split_from"], []).append(part["id"])
    return {row["id"]: _node_from(row, tuple(parts.get(row["id"], ()))) for row in rows}


def _node_from(row: Row, parts: tuple[int, ...]) -> Node:
    return value_from(
        Node,
        row,
        scene=scene_from(row["action"], row["body"]),
        themes=tuple(json.loads(row["themes"])),
        emotion=None if row["valence"] is None else Emotion(*(row[axis] for axis in AXES)),
        split_into=parts,
        version=_version(row),
        note=None,
    )


def _version(row: Row) -> str:
    """Hash what people can change about a scene."""
    # Whether it has faded is left out: that is age, which changes nothing that anybody wrote.
    ended = None if row["death"] == "faded" else row["death"]
    told = [row[name] for name in ("action", "feeling", "themes", "body", "importance", *AXES, "cluster_id")]
    return hashlib.sha256(json.dumps([*told, ended], ensure_ascii=False).encode()).hexdigest()[:_VERSION_LENGTH]


def check_living(node: Node, verb: str) -> None:
    """Refuse to change a scene that lives on in others, and say in which."""
    hint = {
        "absorbed": f"{verb} {node.absorbed_into}, which it was merged into",
        "split": f"{verb} its parts: {', '.join(map(str, node.split_into))}",
        "undone": "node_history tells by which change; undo that one to bring it back",
    }.get(node.death or "")
    if hint is not None:
        raise Conflict(f"scene {node.id} was {node.death}", hint=hint)
