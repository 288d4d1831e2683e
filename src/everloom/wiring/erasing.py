"""Collects what the faculties of a workspace offer so that their items can be forgotten and corrected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everloom.kernel.forgetting.ports import Eraser


def erasers_of(_workspace: Any) -> list[Eraser]:
    """Make the erasers of a workspace, in the order in which they are asked; the kernel's own is last."""
    from everloom.kernel.forgetting.documents import DocumentEraser  # noqa: PLC0415  a search alone needs none of them
    from everloom.semantic.erasing import SemanticEraser  # noqa: PLC0415

    return [SemanticEraser(), DocumentEraser()]
