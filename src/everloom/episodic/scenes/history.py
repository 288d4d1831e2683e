"""The history of scenes: what each change made of them, who made it and when, in a form that can be put back.

Records changes inside the caller's unit of work and reads them again. Refuses to decide what may be changed or undone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from everloom.clock import from_micros
from everloom.episodic.being import Being
from everloom.episodic.scenes.node import Node, nodes_of
from everloom.episodic.scenes.scene import Emotion, Scene, SceneContent, When
from everloom.errors import NotFound
from everloom.kernel.forgetting.plan import blanked
from everloom.kernel.operation import Transaction
from everloom.kernel.texts import checked_limit
from everloom.store import Row, Unit
from everloom.store.contract import FOREVER

Act = Literal["correct", "move", "merge", "split", "undo"]
# The author of what a patrol does by itself.
PATROL = "patrol"
_MOST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One field of a scene that a change set, with its value before and after."""

    field: str
    before: Any = None
    after: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneChange:
    """What one change did to one scene; other scenes of the same change have the same id.

    `is_new` says that the change made the scene. `is_lost` says that words of it were forgotten: it cannot be undone.
    """

    id: int
    scene_id: int
    act: Act
    at: datetime
    author: str
    fields: tuple[FieldChange, ...] = ()
    session: str | None = None
    reason: str | None = None
    is_new: bool = False
    undone_by: int | None = None
    is_lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneHistory:
    """The result of `node_history`: the changes of a scene, the newest first; `more` are left before the last one."""

    node_id: int
    changes: tuple[SceneChange, ...]
    more: bool = False
    # What was left off to keep within the budget of an answer.
    note: str | None = None


def state_of(node: Node) -> dict[str, Any]:
    """Describe what can be changed about a scene, by name, as JSON values."""
    life = ("cluster_id", "placed", "pinned", "death", "absorbed_into", "split_from")
    return {**node.content.as_json(), **{name: getattr(node, name) for name in life}} | {
        name: list(getattr(node.scene, name)) for name in ("actors", "dialogue", "sensory")
    }


def content_of(state: Mapping[str, Any]) -> SceneContent:
    """Make what a scene tells from its description."""
    lists = {name: tuple(state[name]) for name in ("actors", "dialogue", "sensory")}
    when = tuple(When(each) if isinstance(each, str) else When(**each) for each in state["when"])
    return SceneContent(
        scene=Scene(action=state["action"], when=when, setting=state["setting"], **lists),
        feeling=state["feeling"],
        themes=tuple(state["themes"]),
        importance=state["importance"],
        emotion=None if state["emotion"] is None else Emotion(**state["emotion"]),
    )


def record(
    tx: Transaction,
    act: Act,
    before: Mapping[int, Node],
    scenes: Iterable[int],
    *,
    reason: str | None = None,
    author: str | None = None,
) -> int:
    """Record what has just been done to scenes, given as they were before; those that were not there are new."""
    ids = list(scenes)
    after = nodes_of(tx.unit, ids)
    change = tx.event(id=ids[0], ids=ids, act=act)
    rows = []
    for item in ids:
        was, became = (state_of(before[item]) if item in before else None), state_of(after[item])
        kept = [name for name in became if was is None or was[name] != became[name]]
        rows.append(
            {
                "id": change,
                "scene": item,
                "act": act,
                "author": author or str(tx.op.origin),
                "was": None if was is None else _dumped({name: was[name] for name in kept}),
                # What a new scene tells is in its row; here is only from where it comes.
                "became": _dumped({} if was is None else {name: became[name] for name in kept}),
                "reason": reason,
            }
        )
    tx.unit.many("episodic.change_add", rows)
    return change


def _dumped(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)


def changes_of(unit: Unit, ids: Sequence[int]) -> list[SceneChange]:
    """Read changes, scene by scene, the oldest first."""
    return [_change_from(row) for row in unit.all("episodic.change_of", ids=list(ids))]


def _change_from(row: Row) -> SceneChange:
    was, became = json.loads(row["was"] or "{}"), json.loads(row["became"])
    return SceneChange(
        id=row["id"],
        scene_id=row["scene_id"],
        act=row["act"],
        at=from_micros(row["at"]),
        author=row["author"],
        fields=tuple(FieldChange(field=name, before=was.get(name), after=became[name]) for name in became),
        session=row["label"],
        reason=row["reason"],
        is_new=row["was"] is None,
        undone_by=row["undone_by"],
        is_lost=bool(row["lost"]),
    )


def blank_history(unit: Unit, rows: Iterable[Row]) -> None:
    """Take the words out of changes; that something was changed, and what, stays on record."""
    blank = list(rows)
    unit.many(
        "episodic.change_blank",
        (
            {
                "id": row["id"],
                "scene": row["scene_id"],
                "was": None if row["was"] is None else json.dumps(blanked(json.loads(row["was"]))),
                "became": json.dumps(blanked(json.loads(row["became"]))),
                "reason": None,
            }
            for row in blank
        ),
    )
    # A change is undone for all its scenes or for none.
    unit.send("episodic.change_lose", ids=sorted({row["id"] for row in blank}))


def told_in_history(row: Row) -> list[object]:
    """Read everything that the row of a change tells, for looking through its words."""
    return [json.loads(row["was"] or "{}"), json.loads(row["became"]), row["reason"] or ""]


def node_history(being: Being, node_id: int, before: int | None, limit: int) -> SceneHistory:
    """Read the changes of a scene, the newest first."""
    checked_limit(limit, _MOST, "changes")
    with being.op.read() as unit:
        if node_id not in nodes_of(unit, [node_id]):
            raise NotFound(f"no scene has the id {node_id}", hint="search_memory shows the ids of scenes")
        rows = unit.all(
            "episodic.change_about", scene=node_id, before=FOREVER if before is None else before, limit=limit + 1
        )
        found = changes_of(unit, [row["id"] for row in rows[:limit]])
    own = [each for each in reversed(found) if each.scene_id == node_id]
    return SceneHistory(node_id=node_id, changes=tuple(own), more=len(rows) > limit)
