"""The memory service of Google's ADK remembers what was said, apart for each user of each app."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from everloom.loom import Workspace
from tests.store.ground import NOW, assert_agreement, open_at, rows_of

pytest.importorskip("google.adk", reason="Google's ADK is not installed here; make test-adapters has it")

from google.adk.events.event import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai.types import Content, FunctionCall, Part

from everloom.surfaces.adapters.adk import EverloomMemory

ANN: dict[str, Any] = {"app_name": "app", "user_id": "ann"}


def event(number: int, author: str, text: str | None) -> Event:
    part = Part(text=text) if text is not None else Part(function_call=FunctionCall(name="look", args={}))
    content = Content(role="user" if author == "user" else "model", parts=[part])
    return Event(id=f"e{number}", author=author, content=content, timestamp=NOW.timestamp() + number)


def session(*events: Event, name: str = "s", user: str = "ann") -> Session:
    return Session(id=name, app_name="app", user_id=user, events=list(events))


def texts(found: Any) -> list[str]:
    return [part.text for each in found.memories for part in each.content.parts]


TALK = (
    event(1, "user", "My cat Tom is ill."),
    event(2, "helper", None),
    event(3, "helper", "I am sorry. Call the vet in Harbour Street."),
    event(4, "user", "I will. By the way, I started to learn the cello."),
)


@pytest.mark.promise("adapters.google-adk")
def test_a_session_is_remembered_once_and_found_by_its_user_alone(workspace: Workspace, store_url: str) -> None:
    async def told() -> None:
        memory = EverloomMemory(workspace)
        await memory.add_session_to_memory(session(*TALK[:3]))
        await asyncio.gather(*(memory.add_session_to_memory(session(*TALK)) for _ in range(3)))
        await memory.add_events_to_memory(**ANN, events=TALK[3:], session_id="s", custom_metadata={"k": 1})
        await memory.add_session_to_memory(session(event(1, "user", "My cat is called Paul."), user="bob"))
        found = await memory.search_memory(**ANN, query="Which instrument do I learn?")
        assert texts(found)[0] == "I will. By the way, I started to learn the cello."
        assert found.memories[0].author == "user"
        assert found.memories[0].id == "e4"
        assert (found.memories[0].timestamp or "").startswith("2026-11-15T")
        cats = texts(await memory.search_memory(**ANN, query="What is the cat called?"))
        assert "My cat Tom is ill." in cats
        assert len(cats) == len(set(cats))
        assert not any("Paul" in each for each in cats)
        assert texts(await memory.search_memory(**ANN, query=" ")) == []
        # Whatever a session is called, and also without words.
        silent = Event(id="e0", author="helper", timestamp=NOW.timestamp())
        odd = session(silent, event(5, "user", "Tom is well again."), name="line\n" * 100)
        await memory.add_session_to_memory(odd)
        assert texts(await memory.search_memory(**ANN, query="Is Tom well again?"))[0] == "Tom is well again."
        assert texts(await memory.search_memory(app_name="other", user_id="ann", query="cat")) == []

    asyncio.run(told())
    with open_at(store_url) as again:
        place = again.workspace("james")
        found = asyncio.run(EverloomMemory(place, hits=1).search_memory(**ANN, query="vet"))
        assert texts(found) == ["I am sorry. Call the vet in Harbour Street."]
        # They are turns of a session of the memory itself.
        assert {hit.kind for hit in place.search("cello")} == {"turn"}
    assert "app/ann/s" in {row["label"] for row in rows_of(store_url, "SELECT label FROM session")}
    assert_agreement(store_url)


@pytest.mark.promise("adapters.google-adk")
def test_what_was_deleted_or_forgotten_does_not_come_back_with_its_session(workspace: Workspace) -> None:
    async def told() -> None:
        memory = EverloomMemory(workspace)
        await memory.add_session_to_memory(session(*TALK))
        await memory.delete_memory(**ANN, memory_id="e1")
        await memory.delete_memory(**ANN, memory_id="none")
        await memory.delete_memory(**ANN)
        (hit,) = [each for each in workspace.search("cello") if "cello" in each.text]
        workspace.forget([hit.id], confirm=workspace.forget([hit.id]).confirm)
        await memory.add_session_to_memory(session(*TALK))
        left = texts(await memory.search_memory(**ANN, query="cat vet cello street"))
        assert left == ["I am sorry. Call the vet in Harbour Street."]

    asyncio.run(told())


def test_entries_are_added_as_they_are_and_replaced_by_their_id(workspace: Workspace) -> None:
    def entry(text: str, **more: Any) -> MemoryEntry:
        return MemoryEntry(content=Content(role="user", parts=[Part(text=text)]), **more)

    async def told() -> None:
        memory = EverloomMemory(workspace)
        await memory.add_memory(
            **ANN,
            memories=[
                entry("Ann rows.", id="r"),
                entry("Ann sails.", author="ann", timestamp="2020-01-02"),
                entry(" "),
            ],
            custom_metadata={"from": "letter"},
        )
        await memory.add_memory(**ANN, memories=[entry("Ann rows no more.", id="r", timestamp="nonsense")])
        found = (await memory.search_memory(**ANN, query="Does Ann row or sail?")).memories
        assert sorted(texts(await memory.search_memory(**ANN, query="Ann rows sails"))) == [
            "Ann rows no more.",
            "Ann sails.",
        ]
        (sails,) = [each for each in found if each.author == "ann"]
        assert sails.custom_metadata == {"from": "letter"}
        assert sails.timestamp == "2020-01-02T00:00:00+00:00"
        assert sails.id

    asyncio.run(told())
