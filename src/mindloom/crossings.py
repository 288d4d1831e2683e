"""What crosses from one faculty to another: the one soul, and messages between Beings.

Faculties know nothing of each other; here one is handed to the other behind a port that the other defines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mindloom.errors import Conflict
from mindloom.store import Store

if TYPE_CHECKING:
    from mindloom.episodic import Episodic
    from mindloom.semantic import Semantic


class OneSoul:
    """The soul of a workspace, which semantic memory keeps, as episodic memory reads and writes it."""

    def __init__(self, store: Store, workspace: int, semantic: Semantic) -> None:
        self._store = store
        self._workspace = workspace
        self._semantic = semantic

    def _current(self) -> tuple[str, int]:
        from mindloom.semantic.documents import default_text  # noqa: PLC0415
        from mindloom.semantic.ground import state_of  # noqa: PLC0415
        from mindloom.semantic.results import Understanding  # noqa: PLC0415

        with self._store.read(self._workspace) as unit:
            soul_id = state_of(unit).soul_id
        kept = None if soul_id is None else self._semantic.show(soul_id)
        return (kept.content, kept.version) if isinstance(kept, Understanding) else (default_text("soul"), 0)

    def read(self) -> str:
        """Read the prose; before anybody wrote one, the one that a workspace starts with."""
        return self._current()[0]

    def supersede(self, prose: str, *, instead_of: str, reason: str) -> None:
        """Write the soul anew, unless somebody else did since it was read."""
        current, version = self._current()
        if current != instead_of:
            raise Conflict("the soul was edited at the same moment", hint="read it again, then decide")
        self._semantic.create_understanding(
            [], prose, "Who this Being is.", kind="soul", reason=reason, expected_version=version
        )


class Neighbours:
    """The other workspaces of a store, as Beings that can be written to."""

    def __init__(self, being: Callable[[str], Episodic]) -> None:
        self._being = being

    def deliver(self, to: str, sender: str, text: str, key: str) -> None:
        """Hand a message to another Being's own memory."""
        self._being(to).receive(sender, text, key)
