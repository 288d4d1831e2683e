"""The verbs by which people change scenes that were taken in: correct, split, move, undo, and the history of all that.

Declarations only, for `verbs.Episodic` to inherit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from everloom.kernel.verbs import (
    ADDS,
    ANSWER_TOKENS,
    READS,
    Before,
    Key,
    MaxTokens,
    Says,
    helps,
    verb,
)

if TYPE_CHECKING:
    from everloom.episodic.being import Being
    from everloom.episodic.changes import ChangedNodes
    from everloom.episodic.scenes import SceneHistory

_TOOLS = ("episodic",)
_NodeId = Annotated[int, helps("the id of a scene", metavar="ID")]
_Texts = Sequence[str] | None
_Reason = Annotated[str | None, helps("the reason, for its history", metavar="TEXT")]
_Version = Annotated[str | None, helps("the version you read; fails if there is a newer one", metavar="VERSION")]
_Preview = Annotated[bool, helps("only say what would be done", flag="--dry-run")]


class CorrectionVerbs:
    """The verbs that change scenes by hand."""

    _being: Being

    @verb(
        "Correct a node",
        ADDS,
        tools=_TOOLS,
        models="""Correct a scene, or give it another feeling. What you leave out stays; an empty text or list clears;
        the old state stays in its history.""",
    )
    def correct_node(  # noqa: PLR0913  one for each field of a scene
        self,
        node_id: _NodeId,
        *,
        action: Annotated[str | None, helps("what happened", metavar="TEXT")] = None,
        feeling: Annotated[str | None, helps("how it felt, in words", metavar="TEXT")] = None,
        emotion: Annotated[
            Mapping[str, float] | Sequence[float] | str | None,
            helps(
                "how it felt, in numbers: valence=0.8,trust=0.5 changes these; none takes all away", metavar="NUMBERS"
            ),
        ] = None,
        actors: Annotated[_Texts, helps("who was there, all of them", flag="--actor", metavar="NAME")] = None,
        when: Annotated[
            Sequence[str | Mapping[str, str]] | None, helps("its dates, all of them", metavar="YYYY-MM-DD")
        ] = None,
        setting: Annotated[str | None, helps("where it was", metavar="TEXT")] = None,
        dialogue: Annotated[_Texts, helps("what was said, all of it", flag="--said", metavar="TEXT")] = None,
        sensory: Annotated[_Texts, helps("what was sensed, all of it", flag="--sensed", metavar="TEXT")] = None,
        themes: Annotated[_Texts, helps("its themes, all of them", flag="--theme", metavar="NAME")] = None,
        importance: Annotated[float | None, helps("from 0 to 1", metavar="NUMBER")] = None,
        reason: _Reason = None,
        expected_version: _Version = None,
        idempotency_key: Key = None,
    ) -> ChangedNodes:
        """Correct any part of a scene, or give it another feeling; what it said before stays in its history."""
        from everloom.episodic.changes import SceneRequest, correct_node

        given = {
            "action": action,
            "feeling": feeling,
            "emotion": emotion,
            "actors": actors,
            "when": when,
            "setting": setting,
            "dialogue": dialogue,
            "sensory": sensory,
            "themes": themes,
            "importance": importance,
        }
        patch: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        request = SceneRequest(node_id=node_id, reason=reason, expected_version=expected_version, key=idempotency_key)
        return correct_node(self._being, request, patch)

    @verb(
        "Split a node",
        ADDS,
        tools=_TOOLS,
        models="Split a scene that tells several things; a part has from the whole what it does not say.",
    )
    def split_node(
        self,
        node_id: _NodeId,
        parts: Annotated[
            Sequence[Mapping[str, Any] | str],
            Says("each an action, or fields as in correct_node", flag="--part", metavar="TEXT|JSON"),
        ],
        *,
        preview: _Preview = False,
        reason: _Reason = None,
        expected_version: _Version = None,
        idempotency_key: Key = None,
    ) -> ChangedNodes:
        """Split a scene into two or more; the whole stays, dead, and points at its parts."""
        from everloom.episodic.changes import SceneRequest, split_node

        request = SceneRequest(node_id=node_id, reason=reason, expected_version=expected_version, key=idempotency_key)
        return split_node(self._being, request, parts, is_preview=preview)

    @verb(
        "Move a node",
        ADDS,
        tools=_TOOLS,
        models="""Move a scene to another cluster, for good: by cluster_id; by name, which may be new; or by root alone.
        With neither, patrols place it again.""",
    )
    def move_node(
        self,
        node_id: _NodeId,
        cluster_id: Annotated[int | None, helps("the cluster to move it to", metavar="CLUSTER")] = None,
        *,
        name: Annotated[str | None, helps("a cluster by its name; made if there is none", metavar="NAME")] = None,
        root: Annotated[
            Literal["Business", "Private"] | None, helps("the root of the cluster; by itself, the root is meant")
        ] = None,
        reason: _Reason = None,
        expected_version: _Version = None,
        idempotency_key: Key = None,
    ) -> ChangedNodes:
        """Move a scene to another cluster, where patrols leave it; without one, let them place it again."""
        from everloom.episodic.changes import MoveRequest, move_node

        request = MoveRequest(
            node_id=node_id,
            cluster_id=cluster_id,
            name=name,
            root=root,
            reason=reason,
            expected_version=expected_version,
            key=idempotency_key,
        )
        return move_node(self._being, request)

    @verb(
        "Undo a change",
        ADDS,
        tools=_TOOLS,
        models="""Undo the newest change of a scene, or the one with change_id (see node_history): a correction, a
        move, a merge, a split, or an undo.""",
    )
    def undo_change(
        self,
        node_id: _NodeId,
        change_id: Annotated[int | None, helps("the change to undo; the newest if left out", metavar="CHANGE")] = None,
        *,
        preview: _Preview = False,
        reason: _Reason = None,
        expected_version: _Version = None,
        idempotency_key: Key = None,
    ) -> ChangedNodes:
        """Undo the newest change of a scene, or one with an id; an undo can be undone, too."""
        from everloom.episodic.changes import SceneRequest, undo_change

        request = SceneRequest(node_id=node_id, reason=reason, expected_version=expected_version, key=idempotency_key)
        return undo_change(self._being, request, change_id, is_preview=preview)

    @verb("Node history", READS, tools=_TOOLS, models="What was changed about a scene: who, when, before and after.")
    def node_history(
        self,
        node_id: _NodeId,
        *,
        before: Before = None,
        limit: Annotated[int, helps("maximum number of changes")] = 20,
        max_tokens: MaxTokens = ANSWER_TOKENS,
    ) -> SceneHistory:
        """Show what was changed about a scene, by whom and when, with what it was before and after."""
        from everloom.episodic.scenes import node_history
        from everloom.kernel.answer.budget import fitted

        return fitted(node_history(self._being, node_id, before, limit), max_tokens)
