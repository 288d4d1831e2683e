"""Heartbeats: when the agent may speak first, in which order that is forbidden, and that it is really said."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.errors import Conflict
from everloom.kernel.work.tasks import Report, Work
from everloom.mind.initiative.heartbeat import Heartbeats, Wish
from everloom.mind.initiative.timing import is_quiet, read_awareness, reason_to_be_silent, slot_before
from everloom.mind.learning.archive import Speaker, SpokenLine
from everloom.mind.notes.notes import Notes
from everloom.mind.ports import MindSetup
from everloom.mind.tasks import mind_tasks
from tests.mind.thinking import INSTANTS, Answers, thinking, worker
from tests.mind.worlds import World

BERLIN = ZoneInfo("Europe/Berlin")
# A Sunday evening at 23:30 local time.
NIGHT = datetime(2026, 11, 15, 23, 30, tzinfo=BERLIN)
# A Wednesday at noon.
NOON = datetime(2026, 11, 18, 12, 0, tzinfo=BERLIN)


def spoken(now: datetime, *said: tuple[str, float]) -> list[SpokenLine]:
    """Write a log of who spoke how many minutes ago."""
    names: dict[str, Speaker] = {"own": "agent", "person": "person"}
    return [SpokenLine(names[who], "web", "", now - timedelta(minutes=minutes)) for who, minutes in said]


def forbidden(now: datetime, *said: tuple[str, float]) -> str | None:
    return reason_to_be_silent(read_awareness(spoken(now, *said), now, BERLIN), 23, 8)


@pytest.mark.promise("mind.heartbeat-order")
def test_suppression_goes_by_the_order_of_its_rules() -> None:
    lively = [("person", 25.0), ("person", 24.0)]
    # All five hold at once, then the first of them is taken away, one after the other.
    assert forbidden(NIGHT, *lively, ("own", 20), ("own", 10), ("own", 5)) == "3 messages are unanswered"
    assert forbidden(NIGHT, *lively, ("person", 23), ("own", 10), ("own", 5)) == "spoke less than 30 minutes ago"
    old = [("person", 50.0), ("own", 45.0), ("own", 40.0)]
    assert forbidden(NIGHT, *old) == "it is the weekend and 2 messages are unanswered"
    answered = [("own", 40.0), *(("person", minutes) for minutes in (20.0, 15.0, 12.0, 11.0))]
    assert forbidden(NIGHT, *answered) == "quiet hours (23:00 to 8:00)"
    assert forbidden(NOON, *answered) == "a conversation is in progress"
    assert forbidden(NOON, *answered[:-1]) is None
    assert forbidden(NOON) is None


@pytest.mark.promise("mind.heartbeat-order")
def test_each_rule_holds_exactly_to_its_bound() -> None:
    assert forbidden(NOON, ("person", 90), ("own", 80), ("own", 70)) is None
    assert forbidden(NOON, ("person", 90), ("own", 80), ("own", 70), ("own", 60)) == "3 messages are unanswered"
    assert forbidden(NOON, ("person", 90), ("own", 29.9)) == "spoke less than 30 minutes ago"
    assert forbidden(NOON, ("person", 90), ("own", 30)) is None
    five = [("person", float(minutes)) for minutes in (31, 20, 19, 18)]
    assert forbidden(NOON, ("own", 45), *five) == "a conversation is in progress"
    assert forbidden(NOON, ("own", 61), *five) is None
    assert forbidden(NOON, ("own", 90), *(("person", minutes + 30.0) for minutes in (31, 20, 19, 5))) is None
    saturday = NOON + timedelta(days=3)
    assert forbidden(saturday, ("person", 90), ("own", 80)) is None
    assert forbidden(saturday, ("person", 90), ("own", 80), ("own", 70)) is not None


@pytest.mark.promise("mind.one-clock")
def test_weekend_and_night_are_those_of_the_workspace() -> None:
    friday_night = datetime(2026, 11, 20, 23, 30, tzinfo=UTC)
    said = spoken(friday_night, ("person", 90), ("own", 80), ("own", 70))
    assert reason_to_be_silent(read_awareness(said, friday_night, BERLIN), 3, 4) is not None
    assert reason_to_be_silent(read_awareness(said, friday_night, ZoneInfo("UTC")), 3, 4) is None
    # The night of the change: 00:30 and 07:30 UTC are 01:30 and 09:30 in Berlin.
    assert forbidden(datetime(2026, 3, 29, 0, 30, tzinfo=UTC)) is not None
    assert forbidden(datetime(2026, 3, 29, 6, 30, tzinfo=UTC)) is None
    assert forbidden(datetime(2026, 3, 28, 6, 30, tzinfo=UTC)) == "quiet hours (23:00 to 8:00)"


def test_quiet_hours_may_go_over_midnight_or_be_none() -> None:
    assert [hour for hour in range(24) if is_quiet(hour, 23, 8)] == [*range(8), 23]
    assert [hour for hour in range(24) if is_quiet(hour, 1, 3)] == [1, 2]
    assert not any(is_quiet(hour, 5, 5) for hour in range(24))


@given(INSTANTS, st.floats(0.25, 24), st.integers(1, 99))
def test_a_slot_is_past_stays_the_same_and_comes_once_a_period(now: datetime, hours: float, workspace: int) -> None:
    period = timedelta(hours=hours)
    slot = slot_before(now, hours, workspace)
    assert slot is not None
    assert now - period * 1.25 - timedelta(seconds=1) < slot <= now
    assert slot_before(slot, hours, workspace) == slot
    later = slot_before(slot + period * 1.25, hours, workspace)
    assert later is not None
    assert slot < later
    assert slot_before(now, 0, workspace) is None


@pytest.mark.parametrize(
    "message", ["", "  ", "NO_NOTIFICATION", "[no_notification]", "no_notification: quiet", "None."]
)
def test_words_that_say_nothing_are_silence(message: str) -> None:
    assert Wish(reach_out=True, message=message).words == ""


def test_whoever_does_not_want_to_reach_out_says_nothing() -> None:
    assert Wish(reach_out=False, message="Hello!").words == ""
    assert Wish(reach_out=True, message=" Hello! ").words == "Hello!"


# Doing

Ready = tuple[World, MindSetup, Answers]


@pytest.fixture
def ready(world: World) -> Ready:
    """A conversation on a Monday morning, with heartbeats every two hours."""
    setup, answers = thinking(world.setup, world.server)
    return world, replace(setup, policy=replace(setup.policy, heartbeat_hours=2.0)), answers


def outcomes(setup: MindSetup) -> list[tuple[str, str]]:
    found = Heartbeats(setup).recent(200)
    # Page by page they are the same.
    for at, each in enumerate(found):
        assert Heartbeats(setup).recent(1, each.id) == found[at + 1 : at + 2]
    return [(each.outcome, each.reason) for each in found]


WISH = {"reach_out": True, "message": "The dentist is at three, remember?", "reason": "it is today"}


@pytest.mark.promise("mind.heartbeat-same-stream")
def test_what_a_heartbeat_says_is_in_the_array_the_log_and_the_outbox(ready: Ready) -> None:
    world, setup, answers = ready
    world.conversation.receive("I see the dentist at three.", channel="telegram", address="42", is_whole=True)
    world.conversation.step()
    answers.given["heartbeat"] = WISH
    world.later(hours=3)
    run = worker(world.loom, setup)
    assert run("heartbeat")["heartbeat"].state == "done"
    (beat,) = Heartbeats(setup).recent()
    assert (beat.outcome, beat.reason) == ("sent", "it is today")
    newest = world.conversation.log(limit=1)[0]
    assert (newest.text, newest.channel, newest.address) == (WISH["message"], "telegram", "42")
    assert (newest.state, newest.exchange_id) == ("unsent", beat.exchange_id)
    assert newest in world.conversation.outbox("telegram")
    assert world.conversation.turns()[-1].text.endswith(str(WISH["message"]))
    assert run("heartbeat") == {}
    world.exchange("Thanks, I nearly forgot about it!")
    assert any(str(WISH["message"]) in str(turn) for turn in world.server.talks[-1]["messages"])
    world.assert_valid()


def hear(world: World) -> None:
    """Let the person get what was said."""
    world.conversation.fetched(world.conversation.outbox("terminal"))


@pytest.mark.promise("mind.heartbeat-light")
def test_the_decision_sees_notes_status_and_the_end_of_the_log_and_not_the_array(ready: Ready) -> None:
    world, setup, answers = ready
    notes = Notes(setup)
    notes.write("USER.md", "# User\n\nJames, a sailor from Brest with a dog.")
    notes.update_status({"water": "three glasses"})
    for number in range(15):
        world.exchange(f"Message number {number} about the boat.")
        world.later(minutes=1)
    hear(world)
    world.later(hours=3)
    worker(world.loom, setup)("heartbeat")
    (material,) = answers.of("heartbeat")
    assert "a sailor from Brest" in material
    assert "three glasses" in material
    assert "Message number 14" in material
    assert "Message number 4 " not in material
    assert "Messages of yours without an answer: 1." in material
    talks = len(world.server.talks)
    assert talks == 15


@pytest.mark.promise("mind.heartbeat-order")
def test_a_suppressed_heartbeat_is_recorded_with_its_reason_and_asks_nobody(ready: Ready) -> None:
    world, setup, answers = ready
    world.exchange("I am off to bed now, good night.")
    world.later(minutes=10)
    Heartbeats(setup).beat(world.conversation, Notes(setup))
    world.later(hours=14)
    Heartbeats(setup).beat(world.conversation, Notes(setup))
    assert outcomes(setup) == [
        ("suppressed", "quiet hours (23:00 to 8:00)"),
        ("suppressed", "spoke less than 30 minutes ago"),
    ]
    assert answers.asked == []


@pytest.mark.promise("mind.heartbeat-order")
def test_after_three_unanswered_messages_there_is_silence_until_the_person_writes(ready: Ready) -> None:
    world, setup, answers = ready
    answers.given["heartbeat"] = WISH
    world.exchange("I will be in the workshop all week.")
    run = worker(world.loom, setup)
    for _ in range(60):
        hear(world)
        world.later(hours=1)
        run("heartbeat")
    sent = [outcome for outcome, _ in outcomes(setup)].count("sent")
    assert sent == 2
    assert ("suppressed", "3 messages are unanswered") in outcomes(setup)
    world.exchange("Sorry, I was busy. What is up?")
    while world.setup.op.local().hour != 12:
        world.later(hours=1)
        run("heartbeat")
    assert [outcome for outcome, _ in outcomes(setup)].count("sent") > sent


@pytest.mark.promise("mind.reaches-the-person")
def test_messages_that_nobody_got_do_not_silence_the_agent(ready: Ready) -> None:
    world, setup, answers = ready
    answers.given["heartbeat"] = WISH
    conversation = world.conversation
    conversation.receive("Hello.", channel="telegram", address="7", is_whole=True)
    conversation.step()
    world.exchange("I am at the terminal now.")
    hear(world)

    def beat() -> str:
        world.later(minutes=40)
        found = Heartbeats(setup).beat(conversation, Notes(setup))
        return found.outcome if found.outcome == "sent" else found.reason

    assert beat() == "sent"
    # One waits for somebody; no second one is added to it.
    assert beat() == "nobody can be reached, and an earlier message still waits"
    # Somebody can be reached again: the agent may speak, and what was never heard is no reason for silence.
    for _ in range(3):
        conversation.reached("telegram", ["7"], 3_600)
        assert beat() == "sent"
    conversation.settle()
    conversation.fetched(conversation.outbox("telegram"))
    assert beat().endswith("messages are unanswered")


def test_silence_failures_and_waiting_messages_are_recorded(ready: Ready) -> None:
    world, setup, answers = ready
    beats, notes = Heartbeats(setup), Notes(setup)
    beats.beat(world.conversation, notes)
    world.exchange("I am in the workshop today.")
    world.later(hours=2)
    beats.beat(world.conversation, notes)
    answers.given["heartbeat"] = 529
    beats.beat(world.conversation, notes)
    world.say("Are you there?")
    beats.beat(world.conversation, notes)
    beats_without = Heartbeats(world.setup)
    world.conversation.step()
    world.later(hours=1)
    beats_without.beat(world.conversation, notes)
    assert [each[0] for each in outcomes(setup)][::-1] == ["silent", "silent", "failed", "silent", "silent"]
    reasons = [each[1] for each in outcomes(setup)][::-1]
    assert reasons[0] == "nobody has written yet"
    assert reasons[1] == "nothing is due"
    assert reasons[3:] == ["a message is waiting for a reply", "no model is configured"]
    assert [each.text for each in world.conversation.log() if each.direction == "out"] == ["All is well."] * 2


@pytest.mark.promise("mind.heartbeat-once")
def test_whoever_writes_while_the_agent_wonders_is_not_spoken_over(ready: Ready) -> None:
    world, setup, answers = ready
    world.exchange("I am in the workshop today.")
    world.later(hours=2)

    def decide(_: str) -> object:
        world.say("By the way, the dentist called.")
        return WISH

    answers.given["heartbeat"] = decide
    beat = Heartbeats(setup).beat(world.conversation, Notes(setup))
    assert (beat.outcome, beat.reason) == ("silent", "the person wrote in the meantime")
    assert world.conversation.log(limit=1)[0].text == "By the way, the dentist called."


@pytest.mark.promise("mind.heartbeat-once")
def test_a_slot_has_one_heartbeat_whatever_the_workers_do_and_downtime_is_not_made_up_for(ready: Ready) -> None:
    world, setup, answers = ready
    answers.given["heartbeat"] = WISH
    world.exchange("I am in the workshop today.")
    world.later(days=4)
    first, second = worker(world.loom, setup, "first"), worker(world.loom, setup, "second")
    met: list[object] = []

    def decide(_: str) -> object:
        met.append(second("heartbeat")["heartbeat"].state)
        return WISH

    answers.given["heartbeat"] = decide
    first("heartbeat")
    assert met == ["busy"]
    assert (first("heartbeat"), second("heartbeat")) == ({}, {})
    assert [each[0] for each in outcomes(setup)] == ["sent"]
    # A worker that looked before the other was done, and got the lease after it.
    late = Work(world.loom.store, world.clock, "late")
    outcome = late.run_one(setup.op.workspace, mind_tasks(lambda _: setup)[2], 10.0, lambda _: None)
    assert outcome.report == Report(0)
    assert [each[0] for each in outcomes(setup)] == ["sent"]


@pytest.mark.promise("mind.heartbeat-once")
def test_a_worker_that_lost_its_lease_says_nothing(ready: Ready) -> None:
    world, setup, answers = ready
    world.exchange("I am in the workshop today.")
    world.later(hours=4)

    def decide(_: str) -> object:
        # So slow that another worker took over.
        world.later(minutes=10)
        quiet = replace(setup.policy, quiet_from=1, quiet_until=23)
        worker(world.loom, replace(setup, policy=quiet), "second")("heartbeat")
        return WISH

    answers.given["heartbeat"] = decide
    assert worker(world.loom, setup, "first")("heartbeat")["heartbeat"].state == "failed"
    assert outcomes(setup) == [("suppressed", "quiet hours (1:00 to 23:00)")]
    assert world.conversation.log(limit=1)[0].text == "All is well."


def test_no_heartbeats_without_hours_or_model_or_anybody_to_write_to(ready: Ready) -> None:
    world, setup, _ = ready
    assert not Heartbeats(setup).is_due()
    world.exchange("I am in the workshop today.")
    assert Heartbeats(setup).is_due()
    assert not Heartbeats(replace(setup, thinker=lambda: None)).is_due()
    assert not Heartbeats(replace(setup, policy=replace(setup.policy, heartbeat_hours=0))).is_due()


def test_a_turn_in_another_process_comes_first(ready: Ready) -> None:
    world, setup, answers = ready
    answers.given["heartbeat"] = WISH
    world.exchange("I am in the workshop today.")
    world.later(hours=2)

    class Busy:
        """A conversation in which another process has the turn."""

        def speak(self, *_: object, **__: object) -> object:
            raise Conflict("another process is in the middle of a turn")

    with pytest.raises(Conflict):
        Heartbeats(setup).beat(cast("Any", Busy()), Notes(setup))
    assert outcomes(setup) == []
