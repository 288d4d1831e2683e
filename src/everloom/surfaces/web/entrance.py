"""From a request to the workspace it is for: who calls, whether it may write, and the loom, opened if need be.

One entrance for MCP and the JSON API, so that both grant and refuse the same. Refuses to know what is called there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from everloom.surfaces.web.identity import CallClues, Caller, Process, caller_of, refuse_write

if TYPE_CHECKING:
    from everloom.loom import Workspace
    from everloom.surfaces.web.lazy import LazyLoom


class Entrance:
    """The way into the memory that one server process serves."""

    def __init__(self, opening: LazyLoom, process: Process) -> None:
        self.opening = opening
        self.process = process

    def enter(self, name: str, clues: CallClues, *, writes: bool) -> Workspace:
        """Return the workspace of the call `name`; refuse a write by a caller that may only read."""
        caller = caller_of(clues, self.process)
        if writes and caller.read_only:
            raise refuse_write(name, clues, self.process)
        return self.take(caller)

    def take(self, caller: Caller) -> Workspace:
        """Return the workspace of a caller."""
        loom = self.opening.take()
        # Opening creates a missing workspace, which a caller that may only read must not cause.
        if caller.read_only:
            loom.workspaces.get(caller.workspace)
        workspace = loom.workspace(caller.workspace, session=caller.session, model_tier=caller.model_tier)
        if not caller.read_only:
            self.opening.follow(workspace.info)
        return workspace
