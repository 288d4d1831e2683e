"""The session store of the Claude Agent SDK keeps to its contracts, on both engines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from everloom.loom import Workspace
from tests.store.ground import open_at, rows_of

pytest.importorskip("claude_agent_sdk", reason="the Claude Agent SDK is not installed here; make test-adapters has it")

import claude_agent_sdk as sdk
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


def test_the_sdk_lists_reads_forks_and_deletes_the_sessions_that_it_kept(workspace: Workspace, tmp_path: Path) -> None:
    store, name, folder = EverloomSessions(workspace), str(UUID(int=7)), str(tmp_path)
    line: Any = {
        "type": "user",
        "uuid": str(UUID(int=1)),
        "parentUuid": None,
        "timestamp": "2026-11-15T09:00:00.000Z",
        "sessionId": name,
        "message": {"role": "user", "content": "What is a loom?"},
    }

    async def used() -> None:
        await store.append({"project_key": sdk.project_key_for_directory(folder), "session_id": name}, [line])
        (found,) = await sdk.list_sessions_from_store(store, directory=folder)
        assert found.first_prompt == "What is a loom?"
        (message,) = await sdk.get_session_messages_from_store(store, name, directory=folder)
        assert message.message == line["message"]
        await sdk.rename_session_via_store(store, name, "Looms", directory=folder)
        fork = await sdk.fork_session_via_store(store, name, directory=folder)
        listed = {each.session_id: each for each in await sdk.list_sessions_from_store(store, directory=folder)}
        assert listed[name].custom_title == "Looms"
        await sdk.delete_session_via_store(store, name, directory=folder)
        assert [each.session_id for each in await sdk.list_sessions_from_store(store, directory=folder)] == [
            fork.session_id
        ]

    asyncio.run(used())
