"""A turn is all or nothing: what waits becomes one turn, in order; a failure anywhere leaves the array as it was."""

from __future__ import annotations

import json
import logging
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from everloom.clock import ManualClock, to_micros
from everloom.errors import (
    Conflict,
    MalformedReply,
    ProviderBusy,
    ProviderDenied,
    ProviderError,
    ProviderRefused,
    Rejected,
)
from everloom.kernel.work.lease import LEASE, Leases
from everloom.mind.conversation.conversation import TURN
from everloom.mind.conversation.stream import StreamMessage, ripe_at
from everloom.mind.conversation.turn import LONGEST_RESULT, Toolbox
from everloom.models.talk import ToolUse, Turn
from tests.mind.worlds import HOLDER, NOW, TOOLS, World, conversation_in, elsewhere, open_place, setup_of, tool
from tests.scripted.claude import OK, ClaudeServer, echo, words_of
from tests.scripted.speech import Step, drops, fails, refuses, says, uses


@pytest.fixture
def world(room: World) -> World:
    """A conversation in a workspace of its own."""
    return room


WINDOW = 3.0


def message(number: int, seconds: float, **more: Any) -> StreamMessage:
    at = NOW + timedelta(seconds=seconds)
    plain = StreamMessage(
        id=number, direction="in", channel="terminal", address="", text=str(number), at=at, state="waiting"
    )
    return replace(plain, **more)


@pytest.mark.promise("mind.gathers")
def test_the_window_counts_from_the_newest_message_and_ends_after_four() -> None:
    talkative = [message(each, each * 2.0) for each in range(9)]
    assert ripe_at([], WINDOW) is None
    assert ripe_at(talkative[:1], WINDOW) == NOW + timedelta(seconds=3)
    assert ripe_at(talkative[:3], WINDOW) == NOW + timedelta(seconds=7)
    assert ripe_at(talkative, WINDOW) == NOW + timedelta(seconds=12)


def test_a_whole_message_waits_for_nothing_and_a_failed_one_for_its_pause() -> None:
    later = NOW + timedelta(seconds=60)
    failed = message(1, 0, attempts=1, not_before=later, is_whole=True)
    assert ripe_at([message(1, 0, is_whole=True)], WINDOW) == NOW
    assert ripe_at([failed], WINDOW) == later
    assert ripe_at([failed, message(2, 5)], WINDOW) == later
    assert ripe_at([failed, message(2, 5, is_whole=True)], WINDOW) == NOW + timedelta(seconds=5)


@pytest.mark.promise("mind.gathers")
def test_messages_within_the_window_become_one_turn_in_order_and_the_newest_channel_gets_the_reply(
    world: World,
) -> None:
    world.server.reply = echo
    for channel, text in (("terminal", "one"), ("telegram", "two"), ("web", "three")):
        world.conversation.receive(text, channel=channel, address=f"at {channel}")
        assert world.conversation.step() is None
        world.later(seconds=1)
    assert world.conversation.ripe_in() == 2.0
    world.later(seconds=1.9)
    assert world.conversation.step() is None
    world.later(seconds=0.1)
    exchange = world.conversation.step()
    assert exchange is not None
    assert words_of(world.server.talks[0]).split("\n\n") == [
        "[terminal, Mon 2026-11-16 09:30] one",
        "[telegram, Mon 2026-11-16 09:30] two",
        "[web, Mon 2026-11-16 09:30] three",
    ]
    assert len(world.server.talks) == 1
    (reply,) = world.conversation.outbox("web")
    assert (reply.address, reply.exchange_id) == ("at web", exchange.id)
    assert world.conversation.ripe_in() is None
    assert world.conversation.step() is None


@pytest.mark.promise("mind.gathers")
def test_a_message_that_arrives_during_a_turn_joins_the_next(world: World) -> None:
    def interrupted(body: dict[str, object]) -> Step:
        if "first" in words_of(body):
            world.conversation.receive("second, meanwhile", channel="telegram", is_whole=True)
        return says("Yes.")

    world.server.reply = interrupted
    first = world.exchange("first question")
    assert first.heard == "first question"
    assert [each.text for each in world.conversation.waiting()] == ["second, meanwhile"]
    second = world.conversation.step()
    assert second is not None
    assert second.heard == "second, meanwhile"
    world.assert_valid()


FAILURES = {
    "overloaded": fails(529),
    "broken off": drops(after=6, step=says("All is well, and more.")),
    "rejected": fails(400, "no"),
    "refused": refuses(),
    "empty": says(""),
}


@pytest.mark.promise("mind.all-or-nothing")
@pytest.mark.parametrize("how", FAILURES)
def test_a_failure_in_the_middle_of_a_tool_loop_leaves_the_array_and_the_log_as_they_were(
    world: World, how: str
) -> None:
    world.exchange("We sail on Sunday, remember?")
    talk = world.conversation
    before = talk.turns(), [each.id for each in talk.log()], talk.exchanges()
    world.server.script(uses(("look_up", {"what": "tides"})), uses(("look_up", {"what": "wind"})), FAILURES[how])
    world.say("When is high water?")
    with pytest.raises(ProviderError):
        talk.step()
    (waits,) = talk.waiting()
    assert (waits.attempts, waits.state) == (1, "waiting")
    assert waits.last_error
    assert (talk.turns(), [each.id for each in talk.log()][1:], talk.exchanges()) == before
    assert talk.step() is None, "it is not tried again at once"
    world.later(minutes=1)
    world.server.script(says("At noon."))
    answered = world.again().step()
    assert answered is not None
    assert (answered.heard, answered.reply) == ("When is high water?", "At noon.")
    assert "tides" not in json.dumps(world.server.talks[-1])
    world.assert_valid()


@pytest.mark.promise("mind.all-or-nothing")
def test_a_defect_in_the_middle_of_a_turn_is_a_failure_like_any_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = world.conversation.turns()
    with monkeypatch.context() as patch:
        patch.setattr("everloom.mind.conversation.conversation.document_of", lambda *_: 1 / 0)
        world.say("Hello there, my friend.")
        with pytest.raises(ZeroDivisionError):
            world.conversation.step()
    assert world.conversation.turns() == before
    (waits,) = world.conversation.waiting()
    assert waits.attempts == 1
    assert world.conversation.log() == [waits]


def test_somebody_who_breaks_off_leaves_the_message_waiting_and_the_floor_free(world: World) -> None:
    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    world.say("Tell me a long story, please.")
    with pytest.raises(KeyboardInterrupt):
        world.conversation.step(interrupt)
    (waits,) = world.conversation.waiting()
    assert (waits.attempts, waits.not_before) == (0, None)
    assert world.conversation.step() is not None


def test_a_provider_that_asks_for_time_gets_it_and_pauses_grow(world: World) -> None:
    world.say("Hello there.")
    pauses = []
    for retry_after in (None, None, None, "90"):
        world.server.script(fails(529, retry_after=retry_after))
        with pytest.raises(ProviderBusy):
            world.conversation.step()
        pauses.append(world.conversation.ripe_in())
        world.later(seconds=pauses[-1] or 0)
    assert pauses == [2.0, 4.0, 8.0, 90.0]
    assert world.conversation.step() is not None
    assert [each.state for each in world.conversation.log()] == ["unsent", "answered"]


@pytest.mark.promise("mind.refused-does-not-block")
def test_a_refused_message_is_given_up_after_three_times_and_its_sender_is_told(world: World) -> None:
    world.server.reply = lambda body: refuses() if "forbidden" in words_of(body) else says("Of course.")
    world.say("something forbidden", channel="telegram", address="7")
    world.say("something else", channel="telegram", address="7")
    for _ in range(3):
        with pytest.raises(ProviderRefused):
            world.conversation.step()
        world.later(minutes=1)
    answered = world.conversation.step()
    assert answered is not None
    assert answered.heard == "something else"
    states = {each.text: each.state for each in world.conversation.log() if each.direction == "in"}
    assert states == {"something forbidden": "refused", "something else": "answered"}
    notice, reply = world.conversation.outbox("telegram")
    assert "could not answer" in notice.text
    assert (notice.address, reply.text) == ("7", "Of course.")
    assert "forbidden" not in str(world.conversation.turns())
    world.assert_valid()


@pytest.mark.promise("mind.account-faults-use-nothing-up")
@pytest.mark.parametrize(
    "fault",
    [
        fails(401, "invalid x-api-key"),
        fails(400, "Your credit balance is too low to access the API."),
        fails(429, "You exceeded your current quota, please check your plan and billing details."),
        fails(404, "model: claude-sonnet-99"),
    ],
    ids=["key", "balance", "quota", "model"],
)
def test_a_fault_of_the_account_uses_no_message_up_and_is_told_once(world: World, fault: Step) -> None:
    world.say("Hello there.", channel="telegram", address="7")
    for tried in range(6):
        world.server.script(fault)
        with pytest.raises(ProviderDenied):
            world.conversation.step()
        if tried == 3:
            world.say("Are you there?", channel="telegram", address="7")
        world.later(minutes=10)
    assert {each.state for each in world.conversation.waiting()} == {"waiting"}
    (told,) = world.conversation.outbox("telegram")
    assert told.text.startswith("(I cannot answer at the moment: ")
    assert (told.address, told.exchange_id) == ("7", None)
    answered = world.conversation.step()
    assert answered is not None
    assert answered.heard == "Hello there.\n\nAre you there?"
    # What nobody was told before the answer is taken back.
    assert [each.exchange_id for each in world.conversation.outbox("telegram")] == [answered.id]
    assert "cannot answer" not in str(world.conversation.turns()), "the model does not see our notice"
    world.assert_valid()


@pytest.mark.promise("mind.says-why-it-is-silent")
def test_who_waits_long_is_told_why_and_who_waits_briefly_is_not(world: World) -> None:
    world.say("Hello there.", channel="telegram", address="7")
    world.server.reply = lambda _: fails(529)
    said = []
    for seconds in (0, 60, 61, 600):
        world.later(seconds=seconds)
        with pytest.raises(ProviderBusy):
            world.conversation.step()
        said.append(len(world.conversation.outbox("telegram")))
    assert said == [0, 0, 1, 1]
    (told,) = world.conversation.outbox("telegram")
    world.conversation.sent(told.id)
    world.server.reply = None
    world.later(minutes=10)
    assert world.conversation.step() is not None
    world.say("And again.", channel="telegram", address="7")
    world.server.reply = lambda _: fails(401)
    with pytest.raises(ProviderDenied):
        world.conversation.step()
    assert len(world.conversation.outbox("telegram")) == 2, "the answer, and another word for another time"
    assert {each.id: each.state for each in world.conversation.log()}[told.id] == "sent"


@pytest.mark.promise("mind.says-why-it-is-silent")
def test_without_a_model_the_person_is_told_once(world: World) -> None:
    talk = conversation_in(replace(world.setup, talker=lambda: None), world.left)
    talk.receive("Hello there.", channel="telegram", address="7", is_whole=True)
    for _ in range(2):
        with pytest.raises(Rejected, match="no language model"):
            talk.step()
    (told,) = talk.outbox("telegram")
    assert "no language model is configured" in told.text


def test_a_reply_that_reached_its_limit_says_so(world: World) -> None:
    world.server.script(says("Once upon a", stop="max_tokens"))
    world.say("Tell me a story.")
    answered = world.conversation.step()
    assert answered is not None
    assert answered.reply.startswith("Once upon a\n\n[cut off here: a reply may take ")
    assert "cut off" not in str(world.conversation.turns()), "the model goes on where it stopped"


@pytest.mark.promise("mind.refused-does-not-block")
def test_refusals_are_counted_in_a_row_whatever_the_model_says_of_them(world: World) -> None:
    # An error whose words look like a count of refusals is not one.
    world.server.script(fails(529, "refused (2): overloaded"), refuses(), fails(529), refuses(), refuses(), refuses())
    world.say("Will you answer this one?")
    counts = []
    for _ in range(6):
        with pytest.raises(ProviderError):
            world.conversation.step()
        world.later(minutes=10)
        counts.append(world.conversation.log()[-1].refusals)
    assert counts == [0, 1, 0, 1, 2, 3]
    assert world.conversation.log()[-1].state == "refused"


@pytest.mark.promise("mind.no-model")
def test_without_a_model_the_message_waits_and_the_hint_says_what_to_set(
    store_url: str, clock: ManualClock, claude: ClaudeServer, tmp_path: Path
) -> None:
    with open_place(store_url, clock) as loom:
        talk = conversation_in(setup_of(loom, tmp_path, None), [])
        talk.receive("Is anybody there?", channel="terminal", is_whole=True)
        with pytest.raises(Rejected, match="ollama"):
            talk.step()
        (waits,) = talk.waiting()
        assert waits.attempts == 0
        later = conversation_in(setup_of(loom, tmp_path, claude.url), []).step()
        assert later is not None
        assert later.heard == "Is anybody there?"


@pytest.mark.promise("mind.tool-failures-go-back")
def test_what_goes_wrong_with_tools_goes_back_to_the_model(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.server.script(
        uses(
            ("look_up", {"what": "tides"}), ("reject", {}), ("break_down", {}), ("fly", {}), ("look_up", {"which": 1})
        ),
        says("I found the tides only."),
    )
    with caplog.at_level(logging.ERROR):
        exchange = world.exchange("What about the tides?")
    assert (exchange.rounds, exchange.reply) == (2, "I found the tides only.")
    results = world.server.talks[-1]["messages"][-1]["content"]
    assert [bool(each.get("is_error")) for each in results] == [False, True, True, True, True]
    said = [each["content"] for each in results]
    assert said[0] == "found tides"
    assert "look up something else" in said[1]
    assert "ZeroDivisionError" in said[2]
    assert "there is no tool fly" in said[3]
    assert said[4] == "missing arguments: what"
    assert "a defect" in caplog.text, "the log has the traceback"
    world.assert_valid()


@pytest.mark.promise("mind.tool-rounds")
def test_tools_are_bounded_and_the_model_is_asked_once_more_without_them(world: World) -> None:
    world.again(tool_rounds=2)
    world.server.reply = lambda body: (
        uses(("look_up", {"what": "more"}), text="Looking.") if body.get("tools") else None
    )
    world.server.script(*(uses(("look_up", {"what": "more"}), text="Looking.") for _ in range(2)), says("Enough."))
    exchange = world.exchange("Look everything up, please.")
    assert (exchange.rounds, exchange.reply) == (3, "Looking.\n\nLooking.\n\nEnough.")
    assert [body.get("tool_choice") for body in world.server.talks] == [None, None, {"type": "none"}]
    world.assert_valid()


def test_a_wish_for_tools_that_nobody_will_fulfil_is_not_kept(world: World) -> None:
    world.again(tool_rounds=1)
    world.server.script(*(uses(("look_up", {"what": "more"}), text="Looking.") for _ in range(2)))
    assert world.exchange("Look everything up, please.").rounds == 2
    assert world.conversation.turns()[-1].uses == ()
    world.exchange("And then?")
    world.assert_valid()


def test_a_tool_that_says_too_much_or_nothing_is_bounded() -> None:
    box = Toolbox([tool("shout", lambda _: "x" * 100_000), tool("hush", lambda _: "")])
    loud, still, faulty = box.answer(
        Turn(
            "assistant",
            (ToolUse("a", "shout", {}), ToolUse("b", "hush", {}), ToolUse("c", "hush", {}, fault="garbled")),
        )
    ).blocks
    assert len(loud.text) < LONGEST_RESULT + 100  # type: ignore[union-attr]
    assert still.text == "(nothing)"  # type: ignore[union-attr]
    assert (faulty.text, faulty.is_error) == ("garbled", True)  # type: ignore[union-attr]
    assert [each.name for each in Toolbox(TOOLS).tools] == ["look_up", "reject", "break_down"]


def test_words_are_heard_as_they_are_said_and_add_up_to_the_reply(world: World) -> None:
    heard: list[str] = []
    world.server.script(uses(("look_up", {"what": "it"}), text="Let me see."), says("There it is."))
    world.say("Where is it, then?")
    exchange = world.conversation.step(heard.append)
    assert exchange is not None
    assert "".join(heard) == exchange.reply == "Let me see.\n\nThere it is."


@pytest.mark.promise("mind.usage")
def test_an_exchange_knows_what_it_took(world: World) -> None:
    world.server.script(uses(("look_up", {"what": "it"})), says("There it is."))
    exchange = world.exchange("Where is it, then?")
    (kept,) = world.conversation.exchanges()
    assert kept == exchange
    spent = world.setup.op.store
    with spent.read(world.setup.op.workspace.id) as unit:
        rows = unit.all("kernel.usage_sum", **{"from": 0, "until": to_micros(world.clock.now()) + 1})
    assert sum(row["calls"] for row in rows) == exchange.rounds == 2
    assert exchange.usage.total == sum(
        row[name]
        for row in rows
        for name in ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    )
    assert exchange.dollars
    assert 0 < exchange.context_tokens < exchange.context_window == 1_000_000


@pytest.mark.promise("mind.one-turn")
def test_one_process_speaks_at_a_time(world: World) -> None:
    other = conversation_in(elsewhere(world.setup), [])
    world.say("Who answers this one?")
    with elsewhere(world.setup).leases.held(world.setup.op.workspace.id, TURN) as held:
        assert held is not None
        assert world.conversation.step() is None
        assert world.conversation.compact() == []
    assert other.step() is not None
    assert world.conversation.step(wait=True) is None
    assert len(world.server.talks) == 1


@pytest.mark.promise("mind.one-turn")
@pytest.mark.parametrize("ending", [says("Too late."), fails(529)], ids=["answered", "failed"])
def test_a_turn_whose_lease_was_lost_writes_nothing_and_the_other_answers(world: World, ending: Step) -> None:
    other = conversation_in(elsewhere(world.setup), [])

    def overtaken(_: object) -> str:
        world.clock.advance(LEASE + timedelta(seconds=1))
        assert other.step() is not None
        return "overtaken"

    slow = conversation_in(world.setup, [], [tool("dawdle", overtaken)])
    world.server.script(uses(("dawdle", {})), OK, ending)
    world.say("Who answers this one?")
    assert slow.step() is None
    assert [each.text for each in world.conversation.log()] == ["All is well.", "Who answers this one?"]
    assert len(world.conversation.exchanges()) == 1
    world.assert_valid()


@pytest.mark.promise("mind.one-turn")
def test_a_turn_whose_lease_was_lost_writes_nothing_also_while_nobody_answered_yet(world: World) -> None:
    other = conversation_in(elsewhere(world.setup), [])

    def overtaken(_: object) -> str:
        world.clock.advance(LEASE + timedelta(seconds=1))
        other.speak("Good morning, all of you.", cause="heartbeat", channel="web")
        return "overtaken"

    slow = conversation_in(world.setup, [], [tool("dawdle", overtaken)])
    world.server.script(uses(("dawdle", {})), says("Too late."))
    world.say("Who answers this one?")
    assert slow.step() is None
    assert [each.text for each in world.conversation.log()] == ["Good morning, all of you.", "Who answers this one?"]
    assert [each.text for each in world.conversation.waiting()] == ["Who answers this one?"]
    world.assert_valid()


@pytest.mark.promise("mind.all-or-nothing")
def test_a_message_that_was_dealt_with_during_the_turn_is_not_answered_again(world: World) -> None:
    def deal_with_it(_: object) -> str:
        with world.setup.op.store.write(world.setup.op.workspace.id) as unit:
            unit.run("mind.message_refused", ids=[asked.id], error="somebody else did it", refusals=1)
        return "done"

    talk = conversation_in(world.setup, [], [tool("meddle", deal_with_it)])
    asked = talk.receive("Who answers this one?", channel="web", is_whole=True)
    world.server.script(uses(("meddle", {})), says("Too late."))
    assert talk.step() is None
    assert [each.state for each in talk.log()] == ["refused"]
    assert (talk.turns(), talk.exchanges()) == ((), [])


def test_a_reply_that_was_cut_in_the_middle_of_a_use_goes_on(world: World) -> None:
    cut = uses(("look_up", {"what": "tides"}), stop="max_tokens", raw_input='{"what": "ti')
    world.server.script(cut, says("Let me put it in words."))
    assert world.exchange("What about the tides?").reply == "Let me put it in words."
    (result,) = world.server.talks[-1]["messages"][-1]["content"]
    assert result["is_error"]
    world.assert_valid()


@pytest.mark.promise("mind.one-turn")
def test_the_turn_of_a_process_that_died_is_free_at_once(world: World) -> None:
    place = world.conversation._op.workspace.id
    dead = HOLDER.replace(f":{os.getpid()}:", f":{2**22 + 1}:")
    assert Leases(world.setup.leases.store, world.clock, dead).take(place, TURN) is not None
    world.server.script(says("Here I am."))
    assert world.exchange("Are you there?").reply == "Here I am."


@pytest.mark.promise("mind.speaks-first")
def test_what_the_agent_says_first_is_in_array_log_and_outbox(world: World) -> None:
    spoken = world.conversation.speak(
        "Good morning! How did it go?", cause="heartbeat", channel="telegram", address="7"
    )
    again = world.conversation.speak("Do not forget the tide.", cause="schedule", channel="telegram", address="7")
    assert [each.text for each in world.conversation.outbox("telegram")] == [spoken.reply, again.reply]
    assert [each.cause for each in world.conversation.exchanges()] == ["schedule", "heartbeat"]
    world.exchange("It went well, thank you so much.")
    sent = world.server.talks[0]["messages"]
    assert [each["role"] for each in sent] == ["user", "assistant", "user"]
    assert [block["text"] for block in sent[1]["content"]] == [spoken.reply, again.reply]
    world.conversation.speak("Still there, I hope?", cause="heartbeat", channel="telegram")
    world.exchange("Yes, still here.")
    world.assert_valid()


def test_what_is_written_beside_words_that_came_first_is_written_with_them_or_not_at_all(world: World) -> None:
    def also(_: object, exchange: int) -> None:
        raise Conflict(f"not {exchange}")

    with pytest.raises(Conflict, match="not"):
        world.conversation.speak("Good morning!", cause="heartbeat", channel="telegram", also=also)
    assert world.conversation.log() == []
    assert world.conversation.turns() == ()
    with pytest.raises(Rejected):
        world.conversation.speak("Good morning!", cause="whim", channel="telegram")


def test_a_turn_is_given_up_between_rounds_when_the_process_stops(world: World) -> None:
    stop = Event()

    def look_up(_: object) -> str:
        stop.set()
        return "found"

    stopping = tool("look_up", look_up, "what")
    talk = conversation_in(world.setup, [], [stopping])
    world.server.script(uses(("look_up", {"what": "it"})), says("Never said."))
    world.say("Where is it, then?")
    assert talk.step(is_stopping=stop.is_set) is None
    (waits,) = talk.waiting()
    assert waits.attempts == 0
    assert len(world.server.talks) == 1


def test_two_threads_answer_a_message_once(world: World) -> None:
    talks = [conversation_in(world.setup, []) for _ in range(4)]
    world.server.reply = lambda _: says("Once.", delay=0.05)
    world.say("Who answers this one?")
    threads = [Thread(target=talk.step) for talk in talks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each.text for each in world.conversation.outbox("terminal")] == ["Once."]


def test_an_empty_reply_is_no_reply(world: World) -> None:
    world.server.script(says("  \n"))
    world.say("Say nothing, please.")
    with pytest.raises(MalformedReply):
        world.conversation.step()


@pytest.mark.promise("mind.exchange-is-found")
def test_an_exchange_is_found_by_search_and_a_trivial_one_is_not(world: World) -> None:
    world.server.script(says("The mast is made of spruce."), says("ok"))
    told = world.exchange("What is the mast made of?")
    world.exchange("thanks")
    assert world.found("spruce mast") == [told.id]
    assert len(world.rows("document")) == 1
