"""The mind as a workspace hands it out: prompt, tools, conversation, notes and archive work together."""

from __future__ import annotations

from pathlib import Path

import pytest

from everloom.clock import ManualClock
from everloom.errors import NotFound
from everloom.loom import open_loom
from everloom.mind.conversation.array import Exchange
from everloom.settings import Settings
from tests.scripted.claude import ClaudeServer
from tests.scripted.speech import Step, says, uses
from tests.store.bytes import words_in_files

TOOLS = ["search_memory", "update_status", "read_note", "write_note", "append_note"]


def settings_for(claude: ClaudeServer, mind: dict[str, object]) -> Settings:
    return Settings.model_validate(
        {
            "workspace": {"time_zone": "UTC"},
            "mind": mind,
            "llm": {"large": "anthropic:claude-sonnet-5-5"},
            "provider": {"anthropic_base": claude.url},
            "secrets": {"anthropic_api_key": "key"},
        }
    )


@pytest.mark.promise("mind.speaks-first")
def test_the_mind_of_a_workspace_converses_with_its_notes_at_hand(
    store_url: str, clock: ManualClock, claude: ClaudeServer, tmp_path: Path
) -> None:
    settings = settings_for(claude, {"notes": tmp_path / "notes"})
    with open_loom(store_url, settings=settings, clock=clock) as loom:
        mind = loom.workspace().mind
        mind.notes.write("USER.md", "James sails, and keeps bees behind the house.")
        claude.script(uses(("update_status", {"updates": {"mood": "calm"}})), says("Calm it is."))
        mind.conversation.receive("I feel calm today, really.", channel="terminal", is_whole=True)
        exchange = mind.conversation.step()
        assert exchange is not None
        assert exchange.reply == "Calm it is."
        assert "mood" in mind.notes.status()
        spoken = mind.conversation.speak("Good morning, James!", cause="heartbeat", channel="terminal")
        assert "keeps bees" in str(claude.talks[0]["system"])
        assert [each["name"] for each in claude.talks[0]["tools"]][: len(TOOLS)] == TOOLS
        assert [each.id for each in mind.conversation.exchanges()] == [spoken.id, exchange.id]
        assert "calm today" in mind.archive.search("calm")
    assert claude.complaints == []


@pytest.mark.promise("mind.memory-tool")
def test_the_memory_tool_is_the_providers_own_where_it_is_switched_on(
    clock: ManualClock, claude: ClaudeServer, tmp_path: Path
) -> None:
    settings = settings_for(claude, {"notes": tmp_path / "notes", "memory_tool": True})
    with open_loom(tmp_path / "loom.db", settings=settings, clock=clock) as loom:
        mind = loom.workspace().mind
        create = {"command": "create", "path": "/memories/boat.md", "file_text": "The mast is new."}
        claude.script(uses(("memory", create)), says("Noted."))
        mind.conversation.receive("Remember that the mast is new.", channel="terminal", is_whole=True)
        assert mind.conversation.step() is not None
        assert mind.notes.read("boat.md") == "The mast is new.\n"
    assert {"type": "memory_20250818", "name": "memory"} in claude.talks[0]["tools"]
    assert claude.complaints == []


@pytest.mark.promise("mind.forgets-when-asked")
def test_the_agent_forgets_what_the_person_wants_forgotten_once_they_were_asked(
    store_url: str, clock: ManualClock, claude: ClaudeServer, tmp_path: Path
) -> None:
    settings = settings_for(claude, {"notes": tmp_path / "notes"})
    with open_loom(store_url, settings=settings, clock=clock) as loom:
        place = loom.workspace()
        mind = place.mind
        told = place.semantic.remember(["James"], "James was treated for melanoma in Zweibruecken.").id
        sails = place.semantic.remember(["James"], "James sails every Sunday.").id
        token = place.forget([told]).confirm

        def turn(text: str, *steps: Step) -> Exchange:
            claude.script(*steps)
            mind.conversation.receive(text, channel="terminal", is_whole=True)
            exchange = mind.conversation.step()
            assert exchange is not None
            return exchange

        # The preview shows the words; in the same turn nothing can be confirmed.
        preview, done = ("forget", {"ids": [told]}), ("forget", {"ids": [told], "confirm": token})
        turn("Please forget my illness.", uses(preview), uses(done), says("This would go. Shall I?"))
        assert "melanoma" in str(claude.talks[1])
        assert "has not seen yet what would go" in str(claude.talks[2])
        assert place.show(told).text
        # The turn goes on after the forgetting, and what it looked up before is not kept; nor what it thought of that.
        looked, again = ("search_memory", {"query": "melanoma in Zweibruecken"}), ("search_memory", {"query": "James"})
        thinks = {"thought": "The melanoma."}
        steps = uses(looked, **thinks), uses(done, **thinks), uses(again, **thinks), says("It is gone.")
        reply = turn("Yes.", *steps)
        assert reply.reply == "It is gone."
        with pytest.raises(NotFound, match="was forgotten"):
            place.show(told)
        assert place.show(sails).text
        assert words_in_files(store_url, ["melanoma", "zweibruecken"]) == set()
        turn("And now?", says("Nothing of it is left."))
        assert "melanoma" not in str(claude.talks[-1])
    assert claude.complaints == []


@pytest.mark.promise("forget.words-gone")
def test_what_tools_brought_loses_the_words_too(
    store_url: str, clock: ManualClock, claude: ClaudeServer, tmp_path: Path
) -> None:
    settings = settings_for(claude, {"notes": tmp_path / "notes"})
    with open_loom(store_url, settings=settings, clock=clock) as loom:
        place = loom.workspace()
        talk = place.mind.conversation
        told = place.semantic.remember(["James"], "James was treated for melanoma in Zweibruecken.", kind="fact").id
        place.semantic.remember(["James"], "James sails every Sunday.")
        looked = ("search_memory", {"query": "melanoma in Zweibruecken"})
        claude.script(uses(looked), says("I know."))
        talk.receive("What do you know?", channel="terminal", is_whole=True)
        assert talk.step() is not None
        assert "melanoma" in words_in_files(store_url, ["melanoma"])
        place.forget([told], confirm=place.forget([told]).confirm)
        assert words_in_files(store_url, ["melanoma", "zweibruecken"]) == set()
        claude.script(says("Nothing."))
        talk.receive("And now?", channel="terminal", is_whole=True)
        assert talk.step() is not None
    assert claude.complaints == []
