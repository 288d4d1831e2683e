"""An array that grows too long folds: by the provider, the model or an outline; nothing is lost, all is recorded."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.errors import ProviderBusy
from everloom.mind.conversation.array import ArrayEntry
from everloom.mind.conversation.blocks import is_folded
from everloom.mind.conversation.compaction import LEAST_KEPT, bound_of, cut_as_marked, cut_at, transcript
from everloom.mind.conversation.conversation import Conversation
from everloom.mind.conversation.outline import HEADING, outline
from everloom.mind.ports import MindSetup
from everloom.models.talk import Compacted, TextBlock, ToolResult, ToolUse, Turn
from everloom.models.text import estimate
from tests.mind.worlds import NOW, World, conversation_in, elsewhere, setup_of, tool
from tests.scripted.speech import fails, says, uses


@pytest.fixture
def world(room: World) -> World:
    """A conversation in a workspace of its own."""
    return room


STORY = "We sailed from the harbour to the island and back again. "


def grow(world: World, exchanges: int = 6) -> None:
    """Converse until there is something to fold; the fourth exchange uses tools."""
    for number in range(exchanges):
        if number == 3:
            world.server.script(uses(("look_up", {"what": "tides"})), says("I looked it up."))
        world.exchange(f"Part {number}: {STORY * 4}")


def renewed(world: World, server_url: str | None, **policy: Any) -> MindSetup:
    """Lay the setup anew, with a model that does not know the server yet, or with none."""
    name = world.setup.op.workspace.name
    return setup_of(world.loom, world.setup.notes, server_url, name=name, clock=world.clock, **policy)


def folding(world: World, way: str, compact_at: int = 1_200) -> None:
    world.server.capabilities = (way,) if way else ()
    world.server.chars_per_token = 2.0
    world.setup = replace(world.setup, talker=renewed(world, world.server.url).talker)
    world.again(compact_at=compact_at)


@pytest.mark.promise("mind.compaction", "mind.compaction-on-demand")
def test_a_provider_that_folds_on_demand_is_asked_with_the_instructions_of_the_notes(world: World) -> None:
    folding(world, "on_demand", compact_at=100_000)
    grow(world)
    assert world.conversation.compact() == []
    whole = world.conversation.turns()
    size = world.conversation.exchanges(1)[0].context_tokens
    world.again(compact_at=size)
    (made,) = world.conversation.compact()
    assert world.server.folds[0]["compaction"]["instructions"].startswith("Hold on to the course")
    turns = world.conversation.turns()
    assert is_folded(turns[0])
    assert turns[1:] == whole[-len(turns) + 1 :], "the newest turns stay word for word"
    assert len(turns) > 1
    assert (made.way, made.tokens_before) == ("server", size)
    assert 0 < made.tokens_after < size
    assert made.dollars
    assert world.conversation.compactions() == [made]
    assert world.conversation._compactor.measure(world.setup.talker())[1] == made.tokens_after, "not as counted before"
    assert [each.heard[:6] for each in world.left] == [f"Part {n}" for n in range(len(world.left))]
    assert world.left
    assert len(world.rows("array_entry")) > len(whole), "what left the array is still in the store"
    assert len(world.conversation.log(limit=100)) == 12
    world.exchange("And what now, my friend?")
    sent = json.dumps(world.server.talks[-1])
    assert "Part 0: " not in sent.replace("beginning with: [terminal, Mon 2026-11-16 09:30] Part 0: ", "")
    assert sent.index("compaction") < sent.index("Part 5")
    assert world.conversation.compact() == [], "what was counted before the compaction does not count again"
    world.assert_valid()


@pytest.mark.promise("mind.compaction-on-demand")
def test_turns_that_end_with_tools_fold_too_although_their_reasoning_is_gone(world: World) -> None:
    folding(world, "on_demand", compact_at=1_500)
    loop = uses(("look_up", {"what": "tides"}), thought="hm", text="Let me see.")
    world.server.script(*[loop, says("I looked it up.", thought="well")] * 6)
    for number in range(6):
        world.exchange(f"Part {number}: {STORY * 4}")
    world.conversation.compact()
    assert world.conversation.compactions()
    world.assert_valid()


@pytest.mark.promise("mind.compaction", "mind.compaction-threshold")
def test_a_provider_that_folds_by_itself_is_followed(world: World) -> None:
    folding(world, "threshold", compact_at=50_000)
    grow(world, 3)
    assert all(body["context_management"]["edits"][0]["trigger"]["value"] == 50_000 for body in world.server.talks)
    before = world.conversation.turns()
    world.server.chars_per_token = 0.02
    exchange = world.exchange("Now it is too much, is it not?")
    world.server.chars_per_token = 2.0
    (made,) = world.conversation.compactions()
    assert made.way == "server"
    turns = world.conversation.turns()
    assert is_folded(turns[0])
    assert [(turn.role, turn.text) for turn in turns] == [("assistant", exchange.reply)], "as the provider gave it"
    assert len(world.left) == 3
    world.exchange("And what now, my friend?")
    assert "Part 2" not in json.dumps(world.server.talks[-1])
    world.assert_valid()
    world.conversation.undo_last()
    world.conversation.undo_last()
    assert world.conversation.turns() == before, "a compaction that came with an exchange goes with it"
    world.exchange("Where were we, my friend?")
    world.assert_valid()


@pytest.mark.promise("mind.compaction-threshold")
def test_a_provider_may_fold_in_the_middle_of_a_tool_loop(world: World) -> None:
    folding(world, "threshold", compact_at=50_000)
    grow(world, 3)
    sizes = iter([0.02, 2.0])

    def count_anew(_: object) -> str:
        world.server.chars_per_token = next(sizes)
        return "done"

    counting = [tool("swell", count_anew), tool("calm", count_anew)]
    world.conversation = conversation_in(world.conversation._setup, world.left, counting)
    loops = [uses((name, {}), thought="hm", text="Let me see.") for name in ("swell", "calm")]
    world.server.script(*loops, says("At noon.", thought="well"))
    exchange = world.exchange("When is high water?")
    assert exchange.rounds == 3
    assert len(world.conversation.compactions()) == 1
    world.exchange("And what now, my friend?")
    assert "Part 2" not in json.dumps(world.server.talks[-1])
    world.assert_valid()


@pytest.mark.promise("mind.compaction", "mind.compaction-any-model")
def test_any_other_model_folds_with_the_same_instructions_and_reads_the_past_as_data(world: World) -> None:
    folding(world, "")
    summaries: list[str] = []

    def reply(body: dict[str, object]) -> object:
        asked = json.dumps(body["messages"])
        if "grown too long" not in asked:
            return None
        summaries.append(asked)
        return says("They sailed to the island.", thought="how shall I put it")

    world.server.reply = reply  # type: ignore[assignment]
    grow(world)
    world.conversation.compact()
    made = world.conversation.compactions()
    assert made
    assert {each.way for each in made} == {"model"}
    assert all(each.tokens_after < each.tokens_before for each in made)
    assert "Hold on to the course" in summaries[0]
    assert "<conversation-" in summaries[0]
    turns = world.conversation.turns()
    assert turns[0] == Turn("assistant", (Compacted("They sailed to the island."),))
    assert "They sailed to the island." in summaries[-1] or len(made) == 1
    world.exchange("And what now, my friend?")
    assert "Part 0" not in json.dumps(world.server.talks[-1])
    assert "They sailed to the island." in json.dumps(world.server.talks[-1])
    world.assert_valid()


@pytest.mark.promise("mind.compaction-fails-softly")
def test_a_compaction_that_fails_keeps_everything_and_is_tried_again_later(world: World) -> None:
    folding(world, "on_demand")
    world.server.fold_steps.extend([fails(529), fails(529)])
    grow(world)
    assert len(world.conversation.exchanges()) == 6, "no turn failed because of it"
    assert world.conversation.compactions() == []
    assert "Part 0" in str(world.conversation.turns())
    world.later(seconds=61)
    assert world.conversation.compact() == []
    world.later(seconds=61)
    assert world.conversation.compact() == [], "the pause grows"
    world.later(seconds=61)
    assert len(world.conversation.compact()) == 1
    assert len(world.left) == len({each.id for each in world.left}), "nothing is handed over twice"
    world.assert_valid()


@pytest.mark.promise("mind.compaction")
def test_a_prompt_that_fills_the_bound_does_not_cost_a_compaction_each_turn(world: World) -> None:
    folding(world, "on_demand", compact_at=3_000)
    around = replace(world.conversation._around, system=lambda: "Be brief. " * 1_000)
    world.conversation = Conversation(world.conversation._setup, around)
    for number in range(8):
        world.exchange(f"Number {number}, just a few words.")
        world.conversation.compact()
    assert world.conversation.exchanges(1)[0].context_tokens > 3_000
    assert len(world.server.folds) <= 1
    world.assert_valid()


@pytest.mark.promise("mind.compaction-last-resort")
def test_an_array_that_no_longer_fits_is_outlined_when_nobody_can_sum_it_up(world: World) -> None:
    folding(world, "", compact_at=100_000)
    grow(world)
    world.server.window = 1_500
    folding(world, "", compact_at=100_000)
    world.server.steps.extend([fails(529), says("Here I am.")])
    answered = world.exchange("Are you there?")
    assert answered.reply == "Here I am."
    (made,) = world.conversation.compactions()
    assert made.way == "outline"
    assert HEADING in made.text
    assert "- Person: [2026-11-16] Part 0: We sailed" in made.text
    world.assert_valid()


@pytest.mark.promise("mind.compaction-without-a-model")
def test_without_a_model_the_oldest_turns_fold_into_an_outline(world: World) -> None:
    folding(world, "", compact_at=100_000)
    grow(world)
    alone = conversation_in(renewed(world, None, compact_at=1_200), world.left)
    (made,) = alone.compact()
    assert (made.way, made.model, made.dollars) == ("outline", "", None)
    assert is_folded(alone.turns()[0])
    assert alone.turns()[-1].text == "All is well."
    world.exchange("And what now, my friend?")
    world.assert_valid()


def test_what_cannot_be_handed_over_does_not_stop_the_conversation(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    folding(world, "on_demand")

    def busy(_: object) -> None:
        raise ProviderBusy("not now")

    world.conversation._compactor._around = replace(world.conversation._around, before_folding=busy)
    grow(world)
    world.conversation.compact()
    assert world.conversation.compactions()
    assert "preparations for a compaction failed" in caplog.text


@pytest.mark.promise("mind.hand-off")
def test_turns_are_handed_over_after_the_compaction_was_asked_for_and_before_they_leave(world: World) -> None:
    folding(world, "on_demand", compact_at=100_000)
    grow(world)
    world.again(compact_at=1_000)
    seen: list[tuple[int, int]] = []

    def look(_: object) -> None:
        seen.append((len(world.server.folds), len(world.conversation.compactions())))

    world.conversation._compactor._around = replace(world.conversation._around, before_folding=look)
    assert world.conversation.compact()
    assert seen[0] == (1, 0), "a note that is written for it changes nothing that its request could read from the cache"


def test_a_compaction_whose_lease_was_lost_writes_nothing(world: World) -> None:
    folding(world, "on_demand", compact_at=100_000)
    grow(world)
    before = world.conversation.turns()
    world.again(compact_at=1_000)
    other = conversation_in(elsewhere(world.setup), [])

    def overtake(_: object) -> None:
        world.later(minutes=2)
        other.speak("Good morning, all of you.", cause="heartbeat", channel="web")

    world.conversation._compactor._around = replace(world.conversation._around, before_folding=overtake)
    assert world.conversation.compact() == []
    assert len(world.server.folds) == 1
    assert world.conversation.compactions() == []
    assert world.conversation.turns()[: len(before) - 1] == before[:-1]


def test_the_bound_is_what_was_set_and_never_more_than_the_window_bears() -> None:
    assert bound_of(100_000, None) == 100_000
    assert bound_of(100_000, 1_000_000) == 100_000
    assert bound_of(100_000, 8_192) == 6_553


entries = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 400)), max_size=20)


@pytest.mark.promise("mind.compaction")
@given(entries, st.integers(10, 2_000))
def test_a_cut_never_divides_an_exchange_and_keeps_the_newest(parts: list[tuple[int, int]], bound: int) -> None:
    made: list[ArrayEntry] = []
    sizes: list[int] = []
    for number, (length, size) in enumerate(parts):
        for _ in range(length + 1):
            made.append(ArrayEntry(len(made), number, Turn("user", (TextBlock("x"),)), NOW))
            sizes.append(size)
    cut = cut_at(made, sizes, bound)
    assert 0 <= cut <= len(made)
    if 0 < cut < len(made):
        assert made[cut - 1].exchange_id != made[cut].exchange_id
        kept = sum(sizes[cut:])
        assert kept <= bound // 2
        assert kept <= bound * 0.2 or len(made) - cut <= LEAST_KEPT + 3
    # A compaction cuts where the turn before it has marked, unless its own exchange is too long to be kept.
    newest = [entry for entry in made if entry.exchange_id == len(parts) - 1]
    before = cut_at(made[: len(made) - len(newest)], sizes[: len(made) - len(newest)], bound)
    fits = before and sum(sizes[before:]) <= bound // 2
    assert cut_as_marked(made, sizes, bound) == (before if fits else cut)


def test_there_is_nothing_to_fold_in_a_compaction_alone() -> None:
    folded = ArrayEntry(1, None, Turn("assistant", (Compacted("x"),)), NOW)
    small = ArrayEntry(2, 7, Turn("user", (TextBlock("x"),)), NOW)
    assert cut_at([], [], 100) == 0
    assert cut_at([folded], [9_000], 100) == 0
    assert cut_at([folded, small], [9_000, 1], 100) == 0
    assert cut_at([folded, small], [9_000, 9_000], 100) == 2


def test_an_outline_is_made_of_what_was_said_and_fits() -> None:
    turns = [
        Turn("assistant", (Compacted("The summary before."),)),
        *(Turn("user" if n % 2 else "assistant", (TextBlock(f"Sentence {n}. And more of it."),)) for n in range(200)),
    ]
    text = outline(turns, 400)
    assert estimate(text) < 500
    assert text.startswith("The summary before.")
    assert "- Person: Sentence 199.\n" in text + "\n"
    assert "sentences are left out" in text
    assert "And more of it" not in text
    assert "Sentence 0." not in text


def test_an_outline_of_an_outline_keeps_what_says_most_and_counts_what_it_left_out() -> None:
    def talk(number: int, *said: str) -> list[Turn]:
        idle = [f"[terminal, Mon 2026-11-16 09:30] It rains. We wait for day {number + n % 3}." for n in range(30)]
        return [Turn("user", (TextBlock(text),)) for text in (*idle, *said)]

    fact = "[web, Tue 2026-11-17 10:00] Well. Mirela moved to Tampere. It rains."
    text = outline(talk(0, fact), 250)
    for cycle in range(1, 9):
        text = outline([Turn("assistant", (Compacted(text),)), *talk(cycle)], 250)
        assert estimate(text) < 300
    (line,) = [line for line in text.splitlines() if "Tampere" in line]
    assert line.startswith("- Person: [2026-11-17] ")
    assert "Mirela moved to Tampere." in line
    assert text.count(HEADING) == 1
    (left,) = re.findall(r"\((\d+) sentences are left out", text)
    assert int(left) > 400
    assert outline([Turn("assistant", (Compacted("Prose about Mirela."),))], 250).startswith("Prose about Mirela.")
    assert outline([], 100) == HEADING


def test_a_transcript_keeps_what_was_folded_before_and_the_newest_lines() -> None:
    loop = (
        Turn("assistant", (Compacted("Long ago."),)),
        Turn("user", (TextBlock("Old words."),)),
        Turn("assistant", (ToolUse("a", "look_up", {"what": "x"}),)),
        Turn("user", (ToolResult("a", "found x"),)),
        Turn("assistant", (TextBlock("New words."),)),
    )
    whole = transcript(loop, 1_000)
    assert whole.splitlines() == [
        "Before: Long ago.",
        "Person: Old words.",
        "You used look_up: {'what': 'x'}",
        "It answered: found x",
        "You: New words.",
    ]
    short = transcript(loop, 12)
    assert "Long ago" in short
    assert "New words" in short
    assert "Old words" not in short
