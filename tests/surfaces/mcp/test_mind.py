"""The tools of the mind, in both eras."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from everloom.loom import open_loom
from everloom.settings import Settings
from everloom.surfaces.mcp.tools import tools_of
from tests.surfaces.mcp.ground import call, refusal, serving

pytestmark = pytest.mark.anyio

TOOLS = (
    "search_memory update_status list_notes read_note write_note append_note schedule_message list_scheduled "
    "cancel_scheduled set_intention list_intentions drop_intention forget correct start_job job_status stop_job"
).split()


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def talked(store: str) -> None:
    """Let somebody have said something."""
    settings = Settings.model_validate({"llm": {"large": "scripted:echo"}})
    with open_loom(store, settings=settings) as loom:
        conversation = loom.workspace().mind.conversation
        conversation.receive("James sails on Sundays.", channel="terminal", is_whole=True)
        assert conversation.step()


@pytest.mark.promise("trust.16-quoted")
@pytest.mark.promise("mind.tools")
async def test_every_tool_of_the_mind_answers(store_url: str, mode: str) -> None:
    talked(store_url)
    with serving(store_url, "mind") as server:
        async with Client(server, mode=mode) as client:
            assert sorted(tool.name for tool in (await client.list_tools()).tools) == sorted(TOOLS)
            assert "sails on Sundays" in (await call(client, "search_memory", query="sailing"))["found"]
            status = await call(client, "update_status", updates={"mood": {"james": "calm"}})
            assert status["mood"]["james"] == "calm"
            written = await call(client, "write_note", name="MEMORY.md", body="James sails, and Audrey too.")
            await call(client, "append_note", name="MEMORY.md", text="They sail on Sundays.")
            read = await call(client, "read_note", name="MEMORY.md")
            opening, *lines, closing = read["body"].splitlines()
            assert lines == ["> James sails, and Audrey too.", "> They sail on Sundays."]
            assert closing == opening.replace("<", "</")
            assert opening.startswith("<memory-md-")
            # Repeated as it was quoted, with a line more, it is stored without the marks.
            again = "\n".join([*lines, "> And on Mondays."])
            await call(client, "write_note", name="MEMORY.md", body=again)
            read = await call(client, "read_note", name="MEMORY.md")
            assert read["body"].splitlines()[1:-1] == [*lines, "> And on Mondays."]
            assert written["name"] in (await call(client, "list_notes"))["result"]
            planned = await call(client, "schedule_message", text="Ahoy", at="09:30", every="daily")
            assert [each["id"] for each in (await call(client, "list_scheduled"))["result"]] == [planned["id"]]
            await call(client, "cancel_scheduled", id=planned["id"])
            assert (await call(client, "list_scheduled"))["result"] == []


@pytest.mark.promise("mind.tools")
async def test_a_status_is_an_object_and_a_note_is_not_lost_by_accident(store: Path, mode: str) -> None:
    with serving(store, "mind") as server:
        async with Client(server, mode=mode) as client:
            await call(client, "update_status", updates={"mood": "calm"})
            wrong: list[Any] = ['{"mood": "wild"}', "wild", ["wild"], None, {}]
            for updates in wrong:
                assert await refusal(client, "update_status", updates=updates)
            await call(client, "write_note", name="plan.md", body="A plan of many words, all of them needed.")
            assert "replace" in await refusal(client, "write_note", name="plan.md", body="Short.")
            for name in ("../x.md", "/etc/passwd"):
                assert await refusal(client, "read_note", name=name)
            assert (await call(client, "read_note", name="plan.md"))["body"].splitlines()[1].startswith("> A plan")
            assert "calm" in (await call(client, "read_note", name="status.json"))["body"]


@pytest.mark.promise("mind.tools")
def test_among_all_tools_the_minds_keep_their_names() -> None:
    names = [tool.name for tool in tools_of("all")]
    assert len(names) == len(set(names))
    assert {*TOOLS, "episodic_search_memory"} <= set(names)
