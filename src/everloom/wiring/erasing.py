"""Collects what the faculties of a workspace offer so that their items can be forgotten and corrected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everloom.kernel.forgetting.ports import Corrector, Eraser
    from everloom.kernel.forgetting.verbs import AgentTurn, Forgetting


def forgetting_of(workspace: Any, turn: AgentTurn | None = None) -> Forgetting:
    """Make the verbs that forget and correct in a workspace; `turn` is that of the agent, if it forgets itself."""
    from everloom.kernel.forgetting.verbs import Forgetting  # noqa: PLC0415

    return Forgetting(workspace.op, lambda: erasers_of(workspace), lambda: correctors_of(workspace), turn)


def erasers_of(workspace: Any) -> list[Eraser]:
    """Make the erasers of a workspace, in the order in which they are asked; the kernel's own is last."""
    # Imported here: a search alone needs none of them.
    from everloom.episodic.erasing import EpisodicEraser  # noqa: PLC0415
    from everloom.graph.erasing import GraphEraser  # noqa: PLC0415
    from everloom.kernel.forgetting.documents import DocumentEraser  # noqa: PLC0415
    from everloom.kernel.forgetting.lines import LinesEraser  # noqa: PLC0415
    from everloom.kernel.forgetting.names import NameEraser  # noqa: PLC0415
    from everloom.kernel.imported import ImportEraser  # noqa: PLC0415
    from everloom.kernel.records.erasing import RecordEraser  # noqa: PLC0415
    from everloom.kernel.trust.erasing import HeldEraser  # noqa: PLC0415
    from everloom.mind.erasing import MindEraser  # noqa: PLC0415
    from everloom.semantic.erasing import SemanticEraser  # noqa: PLC0415

    return [
        SemanticEraser(),
        EpisodicEraser(workspace.op),
        GraphEraser(workspace.graphs),
        MindEraser(workspace.loom.mind_setup(workspace.info)),
        HeldEraser(),
        ImportEraser(),
        RecordEraser(),
        NameEraser(),
        LinesEraser(workspace.loom.places.typed(workspace.info)),
        DocumentEraser(),
    ]


def correctors_of(workspace: Any) -> list[Corrector]:
    """Make the correctors of a workspace, in the order in which they are asked."""
    from everloom.episodic.correcting import EpisodicCorrector  # noqa: PLC0415
    from everloom.graph.correcting import GraphCorrector  # noqa: PLC0415
    from everloom.mind.correcting import MindCorrector  # noqa: PLC0415
    from everloom.semantic.correcting import SemanticCorrector  # noqa: PLC0415

    return [
        SemanticCorrector(workspace.op),
        EpisodicCorrector(workspace.loom.being(workspace)),
        GraphCorrector(workspace.graphs),
        MindCorrector(workspace.loom.mind_setup(workspace.info)),
    ]
