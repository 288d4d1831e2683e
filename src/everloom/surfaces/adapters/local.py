"""What every adapter stands on: a workspace of a store that this program has open, and threads for those who await.

Knows no framework.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from anyio.to_thread import run_sync

from everloom.errors import Rejected
from everloom.workspace import Workspace

T = TypeVar("T")


def opened(workspace: object) -> Workspace:
    """Return a workspace of a store that is open here; refuse one that is behind a server or awaited."""
    if isinstance(workspace, Workspace):
        return workspace
    raise Rejected(
        f"a framework keeps its state in a store that is open here, not in {type(workspace).__name__}",
        hint='give it open_loom("sqlite:///…").workspace(), or that of a postgresql:// store',
    )


def missing(extra: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    """Say which extra brings a framework that is not there."""
    return ModuleNotFoundError(f"{error}; pip install 'everloom[{extra}]'", name=error.name)


async def in_thread(work: Callable[[], T]) -> T:
    """Do something in a thread, and wait for it even when cancelled: the caller may close the store right after."""
    return await run_sync(work)
