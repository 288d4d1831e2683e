"""What is promised of conversing with OpenAI's wire, with Ollama, and with a script; and of what all wires share."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from everloom.errors import ProviderError
from everloom.models import Talker
from everloom.models.ask import StopReason
from everloom.models.ollama.talk import WINDOW
from everloom.models.providers import ProviderAccess, make_talker
from everloom.models.talk import (
    Compacted,
    CompactionMode,
    TalkRequest,
    TextBlock,
    Thought,
    ToolResult,
    ToolSpec,
    ToolUse,
    Turn,
)
from everloom.models.wire import sendable_turns
from tests.models.conftest import LLMS, access_to
from tests.scripted.claude import ClaudeServer
from tests.scripted.speech import says, uses
from tests.scripted.streams import StreamServer

OPENAI, OLLAMA = "openai:some-model", "ollama:some-model"
LOOK = ToolSpec("look", "Look something up.", {"type": "object", "properties": {"q": {"type": "string"}}})


def user(text: str) -> Turn:
    return Turn("user", (TextBlock(text),))


def talk_of(*turns: Turn) -> TalkRequest:
    return TalkRequest("Be kind.", turns, (LOOK,))


@pytest.fixture(params=[OPENAI, OLLAMA])
def talker(request: pytest.FixtureRequest, streams: StreamServer) -> Talker:
    """Each provider that streams without compacting."""
    return make_talker(request.param, access=access_to(streams.url))


def test_words_are_heard_in_order_as_they_arrive(streams: StreamServer, talker: Talker) -> None:
    text = "One, two,\u2028three 🙂\n\nfour."
    streams.script(says(text, piece=3))
    heard: list[str] = []
    said = talker.talk(talk_of(user("Count.")), heard.append)
    assert "".join(heard) == said.turn.text == text
    assert len(heard) > 5
    assert said.stop is StopReason.END
    assert streams.talks[-1]["messages"][0] == {"role": "system", "content": "Be kind."}


@pytest.mark.parametrize("has_ids", [True, False])
def test_a_tool_goes_round_and_comes_back(streams: StreamServer, talker: Talker, has_ids: bool) -> None:
    streams.has_ids = has_ids
    wishes = (("look", {"q": "sails", "deep": {"n": [1, 2]}}), ("look", {"q": "ü\u2028"}))
    streams.script(uses(*wishes, text="Let me see."), says("A boat."))
    first = talker.talk(talk_of(user("What?")))
    assert first.stop is StopReason.TOOLS
    assert [use.input for use in first.turn.uses] == [given for _, given in wishes]
    assert len({use.id for use in first.turn.uses}) == 2
    results = Turn("user", (ToolResult(first.turn.uses[0].id, "a boat"), ToolResult(first.turn.uses[1].id, "?", True)))
    assert talker.talk(talk_of(user("What?"), first.turn, results)).turn.text == "A boat."
    sent = streams.talks[-1]["messages"]
    assert [turn["role"] for turn in sent] == ["system", "user", "assistant", "tool", "tool"]
    assert sent[-1]["content"] == "Error: ?"
    assert streams.talks[-1]["tools"][0]["function"]["parameters"] == LOOK.schema


@pytest.mark.promise("mind.faulty-tool-inputs")
@pytest.mark.parametrize("given", ['{"q": "sai', "[1, 2]"], ids=["not JSON", "not an object"])
def test_an_input_that_cannot_be_read_is_told_and_the_turn_goes_on(
    streams: StreamServer, talker: Talker, given: str
) -> None:
    streams.script(uses(("look", {}), raw_input=given), says("Sorry."))
    first = talker.talk(talk_of(user("Look.")))
    [use] = first.turn.uses
    assert (use.name, use.input) == ("look", {})
    assert use.fault
    assert given[:6] in use.fault
    mended = Turn("user", (ToolResult(use.id, use.fault, is_error=True),))
    assert talker.talk(talk_of(user("Look."), first.turn, mended)).turn.text == "Sorry."


def test_a_server_that_does_not_count_is_estimated(streams: StreamServer, talker: Talker) -> None:
    counted = talker.talk(talk_of(user("word " * 100)))
    assert counted.usage.prompt == len(json.dumps(streams.talks[-1]["messages"])) // 4
    assert counted.context == counted.usage.total
    streams.counts = False
    guessed = talker.talk(talk_of(user("word " * 100)))
    assert guessed.usage.prompt == talk_of(user("word " * 100)).estimate()
    assert guessed.usage.output > 0
    talker.talk(talk_of(user("word " * 100)))
    streams.complaints = [one for one in streams.complaints if "stream_options" not in one]
    assert len(streams.talks) in (3, 4)  # a server that complains of being asked to count is not asked again


@pytest.mark.promise("mind.thoughts-unheard")
@pytest.mark.parametrize("piece", [1, 3, 200])
def test_reasoning_that_a_server_leaves_in_the_text_is_not_heard(
    streams: StreamServer, talker: Talker, piece: int
) -> None:
    texts = {
        "<think>\nHm, <b>.\n</think>\n\nHello <think> there.": "Hello <think> there.",
        " <thin ice": " <thin ice",
        "<": "<",
        "<think>for ever": "",
        "No <think>x</think>.": "No <think>x</think>.",
    }
    for text, expected in texts.items():
        streams.script(says(text, piece=piece))
        heard: list[str] = []
        assert talker.talk(talk_of(user("Hi.")), heard.append).turn.text == expected
        assert "".join(heard) == expected


def test_what_was_cached_is_told_apart(streams: StreamServer) -> None:
    said = make_talker(OPENAI, access=access_to(streams.url)).talk(talk_of(user("Hi.")))
    assert said.usage.cached_read == 3


def test_a_reply_that_is_cut_short_says_so(streams: StreamServer, talker: Talker) -> None:
    streams.script(says("All is", stop="max_tokens"))
    assert talker.talk(talk_of(user("Hi."))).stop is StopReason.CUT


def test_nobody_compacts(streams: StreamServer, talker: Talker) -> None:
    assert talker.compacts is CompactionMode.NEVER
    with pytest.raises(ProviderError, match="does not compact"):
        talker.compact(talk_of(user("Hi.")), "Keep.")


def test_windows_are_known_by_name_or_by_asking(streams: StreamServer) -> None:
    access = access_to(streams.url)
    assert make_talker(OPENAI, access=access).window == 128_000
    assert make_talker("openai:gpt-4.1-mini", access=access).window == 1_000_000
    talker = make_talker(OLLAMA, access=access)
    assert talker.window == 16_384
    talker.talk(talk_of(user("Hi.")))
    assert streams.talks[-1]["options"]["num_ctx"] == 16_384
    streams.shown = {"model_info": {"llama.context_length": 2_048}}
    assert make_talker(OLLAMA, access=access).window == 2_048
    streams.shown = None
    assert make_talker(OLLAMA, access=access).window == WINDOW


def test_ollama_is_always_asked_for_room_enough(streams: StreamServer) -> None:
    streams.shown = None
    talker = make_talker(OLLAMA, access=access_to(streams.url))
    talk = talk_of(user("word " * 10_000))
    talker.talk(talk)
    assert streams.talks[-1]["options"]["num_ctx"] >= talk.estimate() + talk.max_tokens


def test_a_model_without_tools_converses_without_them(streams: StreamServer) -> None:
    streams.has_tools = False
    talker = make_talker(OLLAMA, access=access_to(streams.url))
    for _ in range(2):
        assert talker.talk(talk_of(user("Hi."))).turn.text == "All is well."
    assert ["tools" in body for body in streams.talks] == [True, False, False]
    streams.complaints.clear()


@pytest.mark.promise("mind.providers-can-change")
@pytest.mark.parametrize("spec", LLMS)
def test_a_conversation_goes_on_with_another_provider(streams: StreamServer, claude: ClaudeServer, spec: str) -> None:
    """Blocks that only one provider understands are left out or said in words by every other."""
    block = {"type": "compaction", "content": "They sail."}
    past = (
        user("gone"),
        Turn("assistant", (Compacted("They sail.", block), TextBlock("Aye."))),
        user("Look."),
        Turn("assistant", (ToolUse("call|1.2", "look", {"q": "x"}),)),
        Turn("user", (ToolResult("call|1.2", "a boat"), TextBlock("And now?"))),
    )
    server: ClaudeServer | StreamServer = claude if spec.startswith("anthropic") else streams
    assert make_talker(spec, access=access_to(server.url)).talk(talk_of(*past)).turn.text == "All is well."
    sent = json.dumps(server.talks[-1]["messages"])
    assert "They sail." in sent
    assert "gone" not in sent


def test_turns_are_settled_from_the_last_compaction_on() -> None:
    thought = Thought({"type": "thinking"})
    turns = [
        user("1"),
        Turn("assistant", (Compacted("old"),)),
        user("2"),
        Turn("assistant", (TextBlock("before"), Compacted("new"), thought, TextBlock("after"))),
        user("3"),
        user("4"),
    ]
    settled = sendable_turns(turns)
    assert [turn.role for turn in settled] == ["user", "assistant", "user"]
    assert settled[0].text.endswith("new")
    assert settled[1].blocks == (TextBlock("after"),)
    assert settled[2].blocks == (TextBlock("3"), TextBlock("4"))
    assert sendable_turns(turns, keeps_thoughts=True)[1].blocks == (thought, TextBlock("after"))


@pytest.mark.promise("mind.scripted-talks")
def test_a_script_converses_and_uses_tools_the_same_each_time(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    rules = [
        {"match": "boat", "reply": "Let me see.", "uses": [{"name": "look", "input": {"q": "boat"}}]},
        {"match": "sloop", "reply": "It is a sloop."},
    ]
    script.write_text(json.dumps(rules), encoding="utf-8")
    talker = make_talker(f"scripted:{script}", access=ProviderAccess())
    heard: list[str] = []
    asked = user("What boat?")
    first = talker.talk(talk_of(asked), heard.append)
    assert "".join(heard) == "Let me see."
    assert len(heard) > 1
    assert (first.stop, first.turn.uses[0].input) == (StopReason.TOOLS, {"q": "boat"})
    assert first == talker.talk(talk_of(asked))
    result = Turn("user", (ToolResult(first.turn.uses[0].id, "a boat: a sloop"),))
    second = talker.talk(talk_of(asked, first.turn, result))
    assert (second.turn.text, second.stop) == ("It is a sloop.", StopReason.END)
    assert talker.talk(talk_of(user("Unheard of."))).turn.text == "Unheard of."
    assert (talker.compacts, talker.cost(second.usage)) == (CompactionMode.NEVER, 0)


def test_an_echo_converses_without_a_file() -> None:
    talker = make_talker("scripted:echo", access=ProviderAccess())
    assert talker.talk(replace(talk_of(user("Hello.")), tools=())).turn.text == "Hello."
