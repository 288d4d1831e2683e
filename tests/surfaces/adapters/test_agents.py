"""The session of the OpenAI Agents SDK keeps items in their order, on both engines."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from everloom.loom import Workspace
from tests.store.ground import open_at

pytest.importorskip("agents", reason="the OpenAI Agents SDK is not installed here; make test-adapters has it")

from agents.memory import Session, SessionSettings

from everloom.surfaces.adapters.agents import EverloomSession


def item(number: int) -> Any:
    return {"role": "user", "content": f"number {number}"}


@pytest.mark.promise("adapters.openai-agents")
def test_a_session_gives_back_its_items_and_takes_the_last_one_away(workspace: Workspace, store_url: str) -> None:
    async def talked() -> None:
        session, other = EverloomSession("a/1", workspace), EverloomSession("a", workspace)
        assert isinstance(session, Session)
        assert await session.get_items() == []
        assert await session.pop_item() is None
        await session.add_items([])
        await session.add_items([item(1), item(2)])
        await session.add_items([item(3)])
        await other.add_items([item(9)])
        assert await session.get_items() == [item(1), item(2), item(3)]
        assert await session.get_items(2) == [item(2), item(3)]
        assert await session.get_items(0) == []
        assert await session.pop_item() == item(3)
        # What comes after an item that was taken away does not take its place before others.
        await session.add_items([item(4)])
        assert await session.get_items() == [item(1), item(2), item(4)]
        few = EverloomSession("a/1", workspace, session_settings=SessionSettings(limit=1))
        assert await few.get_items() == [item(4)]
        assert await few.get_items(2) == [item(2), item(4)]
        await asyncio.gather(*(session.add_items([item(10), item(11)]) for _ in range(4)))

    asyncio.run(talked())
    with open_at(store_url) as again:
        session = EverloomSession("a/1", again.workspace("james"))
        assert asyncio.run(session.get_items())[3:] == [item(10), item(11)] * 4
        asyncio.run(session.clear_session())
        assert asyncio.run(session.get_items()) == []
        assert asyncio.run(EverloomSession("a", again.workspace("james")).get_items()) == [item(9)]
        assert asyncio.run(EverloomSession("a", again.workspace("audrey")).get_items()) == []
