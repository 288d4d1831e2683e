"""The answer of every change by hand, and what all of them check first. Values, and reading them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from everloom.episodic.being import Being
from everloom.episodic.scenes.history import SceneChange, changes_of
from everloom.episodic.scenes.node import Node, nodes_of
from everloom.errors import Conflict
from everloom.kernel.forgetting.tombstones import explain_absence
from everloom.kernel.journal import answered_before
from everloom.store import Unit

_NOTHING = "it says that already: nothing was changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedNodes:
    """The result of a change by hand: the scenes as they are now, and the change itself, one entry for each of them.

    With `is_preview` nothing was written; `remarks` say what would be done, or why there was nothing to do.
    """

    nodes: tuple[Node, ...]
    changes: tuple[SceneChange, ...] = ()
    remarks: tuple[str, ...] = ()
    is_preview: bool = False

    @property
    def change_id(self) -> int | None:
        """The id by which `undo_change` takes it back; None if nothing was changed."""
        return self.changes[0].id if self.changes else None


def changed(being: Being, change: int, scenes: Sequence[int]) -> ChangedNodes:
    """Read the answer of a change that is done; 0 stands for one that had nothing to do."""
    with being.op.read() as unit:
        changes = changes_of(unit, [change]) if change else []
        nodes = nodes_of(unit, [each.scene_id for each in changes] or scenes)
    remarks = () if change else (_NOTHING,)
    return ChangedNodes(nodes=tuple(nodes.values()), changes=tuple(changes), remarks=remarks)


def done_before(being: Being, verb: str, key: str | None, asked: Mapping[str, object]) -> int | None:
    """Return the change that this request has already made under its key; None if it is new."""
    with being.op.read() as unit:
        known = answered_before(unit, key, verb, asked)
    return None if known is None else int(known["answer"])


def read_node(unit: Unit, node_id: int) -> Node:
    """Read a scene that must be there."""
    found = nodes_of(unit, [node_id]).get(node_id)
    if found is None:
        raise explain_absence(unit, node_id)
    return found


def check_version(node: Node, expected: str | None) -> None:
    """Refuse to change a scene that is not at the version the caller saw."""
    if expected is not None and node.version != expected:
        raise Conflict(
            f"scene {node.id} is at version {node.version}, not {expected}",
            hint="read it again before you change it",
            current=node,
        )
