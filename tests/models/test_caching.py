"""What is promised of caching, over real HTTP: what is marked, what stands behind the marks, what is read again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from everloom.models import Talker
from everloom.models.providers import make_talker
from everloom.models.talk import (
    AutoCompaction,
    Compacted,
    TalkReply,
    TalkRequest,
    TextBlock,
    ToolResult,
    ToolSpec,
    Turn,
)
from tests.models.conftest import access_to
from tests.scripted.claude import ClaudeServer
from tests.scripted.speech import says, uses
from tests.scripted.streams import StreamServer

LOOK = ToolSpec("look", "Look something up.", {"type": "object", "properties": {"q": {"type": "string"}}})
ASIDE = "(It is a quarter past nine.)"
MARK, HOUR = {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}


def user(text: str) -> Turn:
    return Turn("user", (TextBlock(text),))


def talk_of(*turns: Turn, **more: Any) -> TalkRequest:
    return TalkRequest("Be kind. " * 20, turns, (LOOK,), **more)


def answered(said: TalkReply) -> Turn:
    return Turn("user", tuple(ToolResult(use.id, f"nothing about {use.input['q']}") for use in said.turn.uses))


@pytest.fixture
def talker(claude: ClaudeServer) -> Talker:
    """A Claude whose server caches however little it is sent."""
    claude.cache.least = 0
    return make_talker("anthropic:claude-sonnet-5-5", access=access_to(claude.url))


def marks(body: dict[str, Any]) -> list[tuple[int, int, Any]]:
    """List the marks in the messages of a request: the message, the block, the mark."""
    return [
        (place, at, block["cache_control"])
        for place, message in enumerate(body["messages"])
        for at, block in enumerate(message["content"])
        if "cache_control" in block
    ]


@pytest.mark.promise("mind.prompt-cached")
def test_the_prompt_and_the_last_messages_carry_marks_and_the_aside_stands_behind_them(
    claude: ClaudeServer, talker: Talker
) -> None:
    turns: list[Turn] = []
    read = 0
    for number in range(5):
        said = talker.talk(talk_of(*turns, user(f"{number}. " * 50), aside=f"{ASIDE} {number}"))
        body = claude.talks[-1]
        assert body["system"][0]["cache_control"] == MARK
        assert body["messages"][-1]["content"][-1] == {"type": "text", "text": f"{ASIDE} {number}"}
        newest = 2 * number
        assert marks(body) == [(place, 0, MARK) for place in (newest - 4, newest - 2, newest) if place >= 0]
        assert said.usage.cached_read == read, "all that was marked in the round before"
        read = said.usage.cached_read + said.usage.cached_written
        turns += [user(f"{number}. " * 50), said.turn]
    assert claude.complaints == []


@pytest.mark.promise("mind.prompt-cached")
def test_a_long_tool_loop_reads_its_rounds_again_and_loses_nothing_for_the_next_turn(
    claude: ClaudeServer, talker: Talker
) -> None:
    past = [user("One. " * 50), Turn("assistant", (TextBlock("Well. " * 50),))]
    many = [("look", {"q": f"the tide at {number}"}) for number in range(15)]
    claude.script(*[uses(*many, thought="hm")] * 4, says("At noon.", thought="so"))
    loop = [user("When is high water? " * 20)]
    seen = asked = 0
    for _ in range(5):
        said = talker.talk(talk_of(*past, *loop, aside=ASIDE))
        assert said.usage.cached_read == seen, "each round reads the one before, although it looks back twenty blocks"
        seen = said.usage.cached_read + said.usage.cached_written
        asked = asked or seen
        assert len(marks(claude.talks[-1])) <= 3
        assert claude.talks[-1]["messages"][2]["content"][-1]["text"] == ASIDE, "fixed, so that thoughts stay bound"
        loop += [said.turn, answered(said)] if said.turn.uses else [said.turn]
    plain = [Turn(turn.role, tuple(b for b in turn.blocks if not hasattr(b, "raw"))) for turn in loop]
    after = talker.talk(talk_of(*past, *plain, user("Thanks."), aside=f"{ASIDE} now"))
    assert after.usage.cached_read == asked, "from the message on, the loop had the aside before it"
    assert claude.complaints == []


@pytest.mark.promise("mind.cache-life")
def test_what_is_kept_for_an_hour_is_marked_and_paid_as_such(claude: ClaudeServer, talker: Talker) -> None:
    claude.script(uses(("look", {"q": "tides"})), says("At noon."))
    asked = user("When is high water? " * 50)
    first = talker.talk(talk_of(asked, aside=ASIDE, cache_life="1h"))
    assert claude.talks[-1]["system"][0]["cache_control"] == HOUR
    assert marks(claude.talks[-1]) == [(0, 0, HOUR)]
    assert first.usage.cached_hour == first.usage.cached_written > 0
    price = (first.usage.input * 2 + first.usage.cached_written * 4 + first.usage.output * 10) / 1e6
    assert talker.cost(first.usage) == pytest.approx(price)
    second = talker.talk(talk_of(asked, first.turn, answered(first), aside=ASIDE, cache_life="1h"))
    assert marks(claude.talks[-1]) == [(0, 0, HOUR), (2, 0, MARK)], "the rest of the loop is of no use afterwards"
    assert second.usage.cached_read == first.usage.cached_written
    assert (second.usage.cached_hour, second.usage.cached_written > 0) == (0, True)
    assert claude.complaints == []


@pytest.mark.promise("mind.prompt-cached")
def test_a_compaction_reads_what_the_round_before_has_marked_for_it(claude: ClaudeServer, talker: Talker) -> None:
    turns: list[Turn] = []
    for number in range(12):
        turns += [user(f"{number}. " * 50), Turn("assistant", (TextBlock(f"Well, {number}. " * 50),))]
    talker.talk(talk_of(*turns, user("And now?"), aside=ASIDE, leaving=16))
    folded = talker.compact(talk_of(*turns[:16]), "Keep the tone.")
    assert folded.usage.cached_read > folded.usage.prompt * 0.9
    assert folded.usage.cached_written == 0
    folded_turn = Turn("assistant", tuple(b for b in folded.turn.blocks if isinstance(b, Compacted)))
    first = talker.talk(talk_of(folded_turn, *turns[16:], user("Where were we?"), aside=ASIDE))
    assert claude.talks[-1]["messages"][0]["content"][0].keys().isdisjoint({"cache_control"})
    again = (folded_turn, *turns[16:], user("Where were we?"), first.turn, user("Go on."))
    second = talker.talk(talk_of(*again, aside=ASIDE))
    assert second.usage.cached_read == first.usage.cached_read + first.usage.cached_written
    assert first.usage.cached_read > 0, "the prompt is the same"
    assert claude.complaints == []


@pytest.mark.promise("mind.aside")
@pytest.mark.parametrize("spec", ["openai:some-model", "ollama:some-model"])
def test_elsewhere_the_aside_is_the_end_of_the_newest_message(spec: str, streams: StreamServer) -> None:
    talker = make_talker(spec, access=access_to(streams.url))
    streams.script(uses(("look", {"q": "tides"})), says("At noon."), says("You are welcome."))
    past = (user("One."), Turn("assistant", (TextBlock("Two."),)))
    asked = user("When is high water?")
    said = talker.talk(talk_of(*past, asked, aside=ASIDE))
    loop = (asked, said.turn, answered(said))
    done = talker.talk(talk_of(*past, *loop, aside=ASIDE))
    talker.talk(talk_of(*past, *loop, done.turn, user("Thanks."), aside="(It is ten.)"))
    first, second, third = (body["messages"] for body in streams.talks[-3:])
    assert first[-1] == {"role": "user", "content": f"When is high water?\n\n{ASIDE}"}
    assert second[: len(first)] == first, "a cache that goes by the beginning finds all of it"
    assert third[: len(first) - 1] == first[:-1]
    assert third[len(first) - 1]["content"] == "When is high water?"
    assert third[-1]["content"] == "Thanks.\n\n(It is ten.)"
    assert sum(ASIDE in str(message["content"]) for message in third) == 0


@pytest.mark.promise("mind.aside")
def test_an_aside_whose_message_was_compacted_away_keeps_its_place(claude: ClaudeServer, talker: Talker) -> None:
    claude.capabilities = ("threshold",)
    claude.chars_per_token = 0.002
    request = talk_of(user("When is high water?"), aside=ASIDE)
    claude.script(*[uses(("look", {"q": "tides"}))] * 2, says("At noon."))

    first = talker.talk(replace(request, compaction=AutoCompaction("Keep the tone.", 50_000)))
    claude.chars_per_token = 4.0
    loop = [first.turn, answered(first)]
    second = talker.talk(replace(request, turns=tuple(loop)))
    assert claude.talks[-1]["messages"][1]["content"][-1] == {"type": "text", "text": ASIDE}
    loop += [second.turn, answered(second)]
    talker.talk(replace(request, turns=tuple(loop)))
    assert claude.talks[-1]["messages"][1]["content"][-1]["text"] == ASIDE
    assert ASIDE not in str(claude.talks[-1]["messages"][2:])
    assert claude.complaints == []
