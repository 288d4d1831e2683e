"""Anthropic's memory tool writes the notes of a workspace, for both kinds of client."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from everloom.loom import Workspace

pytest.importorskip("anthropic", reason="the Anthropic SDK is not installed here")

from anthropic.tools import ToolError

from everloom.surfaces.adapters.anthropic import AsyncEverloomMemoryTool, EverloomMemoryTool

STORY: list[tuple[dict[str, Any], str]] = [
    ({"command": "create", "path": "/memories/boat.md", "file_text": "The boat is red.\n"}, "File created"),
    ({"command": "view", "path": "/memories/boat.md"}, "The boat is red."),
    ({"command": "view", "path": "/memories"}, "/memories/boat.md"),
    ({"command": "str_replace", "path": "/memories/boat.md", "old_str": "red", "new_str": "blue"}, "has been edited"),
    ({"command": "insert", "path": "/memories/boat.md", "insert_line": 1, "insert_text": "It leaks."}, "been edited"),
    ({"command": "rename", "old_path": "/memories/boat.md", "new_path": "/memories/ship.md"}, "Successfully renamed"),
    ({"command": "view", "path": "/memories/ship.md", "view_range": [2, 2]}, "It leaks."),
]
WRONG: list[tuple[Any, str]] = [
    ({"command": "create", "path": "/memories/ship.md", "file_text": "x"}, "already exists"),
    ({"command": "view", "path": "/memories/none.md"}, "does not exist"),
    ({"command": "view", "path": "/etc/passwd"}, "must start with /memories"),
    ({"command": "view", "path": "/memories/../x"}, "escape"),
    ({"command": "fly"}, "Unknown command"),
    ({}, "Unknown command"),
    ("text", "Unknown command"),
]
END: dict[str, Any] = {"command": "delete", "path": "/memories/ship.md"}


@pytest.mark.promise("adapters.anthropic")
def test_the_tool_writes_notes_that_people_read(workspace: Workspace) -> None:
    tool = EverloomMemoryTool(workspace)
    assert tool.to_dict() == {"type": "memory_20250818", "name": "memory"}
    for command, said in STORY:
        assert said in tool.call(command), command
    assert workspace.mind.notes.read("ship.md") == "The boat is blue.\nIt leaks.\n"
    for command, said in WRONG:
        with pytest.raises(ToolError, match=said):
            tool.call(command)
    assert "Successfully deleted" in tool.call(END)
    # Others call the methods with the SDK's own commands.
    from anthropic.types import beta

    made = beta.BetaMemoryTool20250818CreateCommand(command="create", path="/memories/a.md", file_text="A.")
    assert "File created" in tool.execute(made)
    own: list[Any] = [
        beta.BetaMemoryTool20250818ViewCommand(command="view", path="/memories/a.md"),
        beta.BetaMemoryTool20250818StrReplaceCommand(
            command="str_replace", path="/memories/a.md", old_str="A", new_str="B"
        ),
        beta.BetaMemoryTool20250818InsertCommand(
            command="insert", path="/memories/a.md", insert_line=0, insert_text="C"
        ),
        beta.BetaMemoryTool20250818RenameCommand(
            command="rename", old_path="/memories/a.md", new_path="/memories/b.md"
        ),
        beta.BetaMemoryTool20250818DeleteCommand(command="delete", path="/memories/b.md"),
    ]
    assert all(map(tool.execute, own))


@pytest.mark.promise("adapters.anthropic")
def test_an_asynchronous_client_has_the_same_tool(workspace: Workspace) -> None:
    async def told() -> None:
        tool = AsyncEverloomMemoryTool(workspace)
        for command, said in STORY:
            assert said in await tool.call(command), command
        for command, said in WRONG:
            with pytest.raises(ToolError, match=said):
                await tool.call(command)
        from anthropic.types import beta

        gone = beta.BetaMemoryTool20250818DeleteCommand(command="delete", path="/memories/ship.md")
        assert "Successfully deleted" in str(await tool.execute(gone))

    asyncio.run(told())
    assert workspace.mind.notes.read("ship.md") is None
