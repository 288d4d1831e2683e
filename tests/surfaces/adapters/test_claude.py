"""The session store of the Claude Agent SDK keeps to its contracts, on both engines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from everloom.loom import Workspace
from tests.store.ground import open_at, rows_of

pytest.importorskip("claude_agent_sdk", reason="the Claude Agent SDK is not installed here; make test-adapters has it")

from claude_agent_sdk import list_sessions_from_store
from claude_agent_sdk.testing import run_session_store_conformance

from everloom.surfaces.adapters.claude import EverloomSessions


@pytest.mark.promise("adapters.claude-agent")
def test_the_session_store_keeps_every_contract_of_the_sdk(fresh: Callable[[], Workspace]) -> None:
    asyncio.run(run_session_store_conformance(lambda: EverloomSessions(fresh())))


@pytest.mark.promise("adapters.claude-agent")
def test_an_entry_that_comes_again_is_kept_once_and_sums_up_once(workspace: Workspace, store_url: str) -> None:
    store, key = EverloomSessions(workspace), {"project_key": "p/q", "session_id": "s"}
    lines: list[Any] = [
        {"type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": f"Question {number}"}}
        for number in range(3)
    ]

    async def told() -> None:
        await store.append(key, lines[:2])
        await asyncio.gather(*(store.append(key, [line, {"type": "mode"}]) for line in lines))
        await store.append(key, [lines[0], lines[0]])

    asyncio.run(told())
    with open_at(store_url) as other:
        again = EverloomSessions(other.workspace("james"))
        loaded = asyncio.run(again.load(key)) or []
        assert [each["uuid"] for each in loaded if each["type"] == "user"][:2] == ["u0", "u1"]
        assert sorted(each.get("uuid", each["type"]) for each in loaded) == ["mode", "mode", "mode", "u0", "u1", "u2"]
        (listed,) = asyncio.run(again.list_sessions("p/q"))
        assert listed["session_id"] == "s"
        assert asyncio.run(again.load({"project_key": "p", "session_id": "s"})) is None
        asyncio.run(again.delete(key))
    assert rows_of(store_url, "SELECT key FROM program_record") == []


def test_the_sdk_lists_the_sessions_that_it_kept(workspace: Workspace) -> None:
    store = EverloomSessions(workspace)
    line: Any = {
        "type": "user",
        "uuid": "u1",
        "timestamp": "2026-11-15T09:00:00Z",
        "sessionId": "6f1ed002-ab5c-4a5f-8a59-0123456789ab",
        "message": {"role": "user", "content": "What is a loom?"},
    }

    async def listed() -> list[Any]:
        from claude_agent_sdk import project_key_for_directory

        key = project_key_for_directory("/tmp")
        await store.append({"project_key": key, "session_id": line["sessionId"]}, [line])
        return await list_sessions_from_store(store, directory="/tmp")

    (found,) = asyncio.run(listed())
    assert found.first_prompt == "What is a loom?"
