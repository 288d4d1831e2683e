"""Pydantic AI's conversation store keeps each message once and lets nobody overwrite what they have not seen."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from everloom.loom import Workspace
from tests.store.ground import open_at, rows_of

pytest.importorskip("pydantic_ai", reason="Pydantic AI is not installed here; make test-adapters has it")

from pydantic_ai import Agent
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict, ConversationRecord
from pydantic_ai.exceptions import UserError
from pydantic_ai.models.test import TestModel as Echo

from everloom.surfaces.adapters.pydantic import EverloomConversations

AGENT: Any = Agent(Echo(custom_output_text="All is well."))
ENTRIES = "SELECT key FROM program_record WHERE namespace = 'entries/'"


async def talk(store: EverloomConversations, name: str, text: str, **more: Any) -> Any:
    conversation = await store.load(name) or Conversation(conversation_id=name)
    result = await AGENT.run(text, conversation=conversation)
    return await store.save(result, **more)


def said(conversation: Any) -> list[str]:
    return [str(part.content) for message in conversation.messages for part in message.parts]


@pytest.mark.promise("adapters.pydantic-ai")
def test_a_conversation_goes_on_where_it_was_saved(workspace: Workspace, store_url: str) -> None:
    asyncio.run(talk(EverloomConversations(workspace), "c", "Hello."))
    with open_at(store_url) as other:
        store = EverloomConversations(other.workspace("james"))
        new = asyncio.run(talk(store, "c", "And again."))
        assert len(new) == 2
        found: Any = asyncio.run(store.load("c"))
        assert said(found) == ["Hello.", "All is well.", "And again.", "All is well."]
        assert found.usage.requests == 2
        assert said(asyncio.run(store.load("c", limit=1))) == ["All is well."]
        entries: Any = asyncio.run(store.load_entries("c"))
        assert asyncio.run(store.read_entry(entries[1].id)) == entries[1]
        assert asyncio.run(store.load("d")) is None
        assert asyncio.run(EverloomConversations(other.workspace("audrey")).load("c")) is None


@pytest.mark.promise("adapters.pydantic-ai")
def test_of_two_that_read_the_same_revision_one_saves(workspace: Workspace, store_url: str) -> None:
    store = EverloomConversations(workspace)

    async def told() -> None:
        await talk(store, "c", "Hello.")
        one, two = await store.load("c"), await store.load("c")
        first = await AGENT.run("One.", conversation=one)
        second = await AGENT.run("Two.", conversation=two)
        outcomes = await asyncio.gather(store.save(first), store.save(second), return_exceptions=True)
        assert [isinstance(each, ConversationConflict) for each in outcomes].count(True) == 1
        assert len(said(await store.load("c"))) == 4
        # The loser has left no message behind.
        assert len(rows_of(store_url, ENTRIES)) == 4
        with pytest.raises(ConversationConflict):
            await store.save(Conversation(conversation_id="c"))
        with pytest.raises(ConversationConflict):
            await store.write_record(ConversationRecord(conversation_id="x", head_id="none"), expected_revision=None)
        with pytest.raises(ConversationConflict):
            await store.delete_record("c", expected_revision="older")
        with pytest.raises(ConversationConflict):
            await store.delete_record("none", expected_revision="any")
        with pytest.raises(LookupError):
            await store.read_entry("none")

    asyncio.run(told())


def test_a_delete_takes_along_what_no_other_conversation_shares(workspace: Workspace, store_url: str) -> None:
    store = EverloomConversations(workspace)

    async def told() -> None:
        for text in ("One.", "Two.", "Three."):
            await talk(store, "c", text)
        await talk(store, "else", "Something else.")
        fork = await store.fork("c", at=4, new_conversation_id="f")
        await store.save(await AGENT.run("Four.", conversation=fork))
        known: Any = await store.load("c")
        back = await store.branch("c", at=2, expected_revision=known.revision)
        await store.save(await AGENT.run("Instead.", conversation=back))
        assert len(rows_of(store_url, ENTRIES)) == 6 + 2 + 2 + 2
        await store.delete("c")
        assert await store.load("c") is None
        assert said(await store.load("f")) == ["One.", "All is well.", "Two.", "All is well.", "Four.", "All is well."]
        assert len(rows_of(store_url, ENTRIES)) == 6 + 2
        await store.delete("f")
        assert said(await store.load("else")) == ["Something else.", "All is well."]
        assert len(rows_of(store_url, ENTRIES)) == 2

    asyncio.run(told())


def test_conversations_are_listed_by_their_scope_the_last_saved_first(workspace: Workspace) -> None:
    store = EverloomConversations(workspace)

    async def told() -> None:
        for name, scope in (("a", "ann"), ("b", "bob"), ("c", "ann")):
            await talk(store, name, "Hello.", scope=scope)
        await talk(store, "a", "Again.")
        assert [each.conversation_id for each in await store.list_conversations()] == ["a", "c", "b"]
        assert [each.conversation_id for each in await store.list_conversations(scope="ann", limit=1)] == ["a"]
        assert await store.load("a", scope="bob") is None
        with pytest.raises(UserError):
            await store.branch("a", at=99, expected_revision=(await store.list_conversations())[0].revision)

    asyncio.run(told())
