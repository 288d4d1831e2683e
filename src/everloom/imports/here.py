"""Whether a workspace is one of this machine: an import works on the store itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from everloom.errors import Rejected

if TYPE_CHECKING:
    from everloom.kernel.operation import Operation


def operation_here(workspace: Any) -> Operation:
    """Return the context in which a workspace reads and writes; refuses one that is behind a server."""
    from everloom.workspace import Workspace  # noqa: PLC0415  loaded already where there is one

    if isinstance(workspace, Workspace):
        return workspace.op
    raise Rejected(
        "imports work on the store itself, and this memory is behind a server",
        hint="import on the machine where `everloom serve` runs, with the store that is there",
    )
