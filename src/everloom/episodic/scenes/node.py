"""A scene node: a scene with its place and its life, as rows keep it and as verbs show it.

Reads and writes rows inside a unit of work that somebody else began. Decides nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from everloom.clock import from_micros, to_micros
from everloom.episodic.scenes.lifespan import lifespan
from everloom.episodic.scenes.scene import (
    AXES,
    Emotion,
    Scene,
    Told,
    body_text,
    embed_text,
    fields_of,
    scene_from,
    scene_text,
)
from everloom.kernel.lifecycle import strength_after_patrols
from everloom.kernel.search import Document
from everloom.store import Row, Unit
from everloom.store.contract import Value

KIND = "scene"

Status = Literal["active", "dying", "dead"]
Death = Literal["faded", "absorbed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A scene node with every field of the contract; its vector is kept by the kernel."""

    id: int
    scene: Scene
    feeling: str
    importance: float
    cluster_id: int
    themes: tuple[str, ...]
    emotion: Emotion | None
    session_count: int
    status: Status
    fresh: bool
    pinned: bool
    reactivation_count: int
    last_activated: datetime
    created_at: datetime
    death: Death | None = None
    absorbed_into: int | None = None
    dying_since: int | None = None
    patrol_id: int | None = None

    @property
    def strength(self) -> float:
        """Say how much of its importance is left: the contract's eff_imp."""
        return strength_after_patrols(self.importance, self.session_count, self.reactivation_count)

    @property
    def text(self) -> str:
        """Write it for people."""
        return scene_text(self.scene, self.feeling)

    @property
    def told(self) -> Told:
        """Read it as the scene that was told."""
        return Told(
            scene=self.scene,
            feeling=self.feeling,
            themes=self.themes,
            importance=self.importance,
            emotion=self.emotion,
        )


def document_of(told: Told, at: datetime, session_id: int | None = None) -> Document:
    """Write what search sees of a scene: its text becomes the vector, the rest is found by words."""
    scene = told.scene
    surroundings = [scene.setting, *scene.dialogue, *scene.sensory]
    surroundings += [text for each in scene.when for text in (each.action, each.feeling)]
    day = scene.day
    return Document(
        kind=KIND,
        text=embed_text(scene, told.feeling),
        details=" ".join(text for text in surroundings if text),
        labels=(*told.themes, *scene.actors),
        happened_at=at if day is None else min(datetime(day.year, day.month, day.day, 12, tzinfo=UTC), at),
        session_id=session_id,
    )


def columns(told: Told) -> dict[str, Value]:
    """Write the texts and the emotion of a scene as the values of its row."""
    return {
        "action": told.scene.action,
        "feeling": told.feeling,
        "themes": json.dumps(told.themes, ensure_ascii=False),
        "body": body_text(told.scene),
        "haystack": fields_of(told).haystack,
        **felt(told.emotion),
    }


def felt(emotion: Emotion | None) -> dict[str, Value]:
    """Write an emotion as the values of its columns."""
    return {axis: None if emotion is None else getattr(emotion, axis) for axis in AXES}


def add_nodes(
    unit: Unit, nodes: Sequence[tuple[int, Told, int]], at: datetime, *, patrol_id: int | None, fresh: bool
) -> None:
    """Write scene nodes whose documents are there already: id, scene, cluster."""
    micros = to_micros(at)
    unit.many(
        "episodic.scene_add",
        ({**columns(told), "id": item, "patrol": patrol_id, "at": micros} for item, told, _ in nodes),
    )
    unit.many(
        "episodic.life_add",
        (
            {
                "id": item,
                "cluster": cluster,
                "importance": told.importance,
                "lifespan": lifespan(told.importance),
                "at": micros,
                "fresh": int(fresh),
            }
            for item, told, cluster in nodes
        ),
    )


def nodes_of(unit: Unit, ids: Sequence[int]) -> dict[int, Node]:
    """Read scene nodes by id; ids of anything else are absent."""
    return {row["id"]: node_from(row) for row in unit.all("episodic.node_of", ids=list(ids))}


def node_from(row: Row) -> Node:
    """Read a scene node from its row."""
    emotion = None if row["valence"] is None else Emotion(*(row[axis] for axis in AXES))
    return Node(
        id=row["id"],
        scene=scene_from(row["action"], row["body"]),
        feeling=row["feeling"],
        importance=row["importance"],
        cluster_id=row["cluster_id"],
        themes=tuple(json.loads(row["themes"])),
        emotion=emotion,
        session_count=row["session_count"],
        status=row["status"],
        fresh=bool(row["fresh"]),
        pinned=bool(row["pinned"]),
        reactivation_count=row["reactivation_count"],
        last_activated=from_micros(row["last_activated"]),
        created_at=from_micros(row["created_at"]),
        death=row["death"],
        absorbed_into=row["absorbed_into"],
        dying_since=row["dying_since"],
        patrol_id=row["patrol_id"],
    )
