"""Anthropic's memory tool on the notes of a workspace, for `client.beta.messages.tool_runner`.

    client.beta.messages.tool_runner(…, tools=[EverloomMemoryTool(workspace)])

The notes are files that a person can read and edit, with all earlier versions. Needs the extra `anthropic`.
"""

from __future__ import annotations

from typing import Any

from everloom.errors import EverloomError
from everloom.mind.notes.memory_tool import MemoryTool
from everloom.surfaces.adapters.local import in_thread, missing, opened
from everloom.workspace import Workspace

try:
    from anthropic.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
except ModuleNotFoundError as error:
    raise missing("anthropic", error) from error


class EverloomMemoryTool(BetaAbstractMemoryTool):
    """The tool called memory, on the notes of a workspace."""

    def __init__(self, workspace: Workspace, *, cache_control: Any = None) -> None:
        super().__init__(cache_control=cache_control)
        self._workspace = opened(workspace)

    def call(self, input: object) -> str:  # noqa: A002  the SDK's name
        """Run a command as the model wrote it."""
        return _answered(self._workspace, input if isinstance(input, dict) else {})

    def view(self, command: Any) -> str:
        """Show a note, or list them."""
        return _answered(self._workspace, _fields(command))

    def create(self, command: Any) -> str:
        """Make a new note."""
        return _answered(self._workspace, _fields(command))

    def str_replace(self, command: Any) -> str:
        """Replace a text that occurs once."""
        return _answered(self._workspace, _fields(command))

    def insert(self, command: Any) -> str:
        """Insert lines after a line."""
        return _answered(self._workspace, _fields(command))

    def delete(self, command: Any) -> str:
        """Delete a note, or all below a folder."""
        return _answered(self._workspace, _fields(command))

    def rename(self, command: Any) -> str:
        """Rename a note, or a folder."""
        return _answered(self._workspace, _fields(command))


class AsyncEverloomMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same tool for an asynchronous client."""

    def __init__(self, workspace: Workspace, *, cache_control: Any = None) -> None:
        super().__init__(cache_control=cache_control)
        self._workspace = opened(workspace)

    async def call(self, input: object) -> str:  # noqa: A002  the SDK's name
        """Run a command as the model wrote it."""
        given = input if isinstance(input, dict) else {}
        return await in_thread(lambda: _answered(self._workspace, given))

    async def view(self, command: Any) -> str:
        """Show a note, or list them."""
        return await self.call(_fields(command))

    async def create(self, command: Any) -> str:
        """Make a new note."""
        return await self.call(_fields(command))

    async def str_replace(self, command: Any) -> str:
        """Replace a text that occurs once."""
        return await self.call(_fields(command))

    async def insert(self, command: Any) -> str:
        """Insert lines after a line."""
        return await self.call(_fields(command))

    async def delete(self, command: Any) -> str:
        """Delete a note, or all below a folder."""
        return await self.call(_fields(command))

    async def rename(self, command: Any) -> str:
        """Rename a note, or a folder."""
        return await self.call(_fields(command))


def _fields(command: Any) -> dict[str, Any]:
    found: dict[str, Any] = command.to_dict()
    return found


def _answered(workspace: Workspace, command: dict[str, Any]) -> str:
    """Run a command; what is refused becomes an error that the model reads, with what to do about it."""
    try:
        return MemoryTool(workspace.mind.notes, workspace.op).call(command)
    except EverloomError as error:
        raise ToolError(str(error)) from error
