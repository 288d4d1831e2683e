"""Scheduled messages: at the right local moment, once, in the same conversation as everything else."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.errors import Conflict, NotFound, Rejected
from everloom.mind import Mind
from everloom.mind.initiative.schedule import Schedule
from everloom.mind.initiative.timing import first_moment, next_moment, on_or_after
from tests.episodic.ground import Killed, killed_after
from tests.mind.thinking import INSTANTS, worker
from tests.mind.worlds import World

BERLIN = ZoneInfo("Europe/Berlin")


def local(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN)


def told(moment: datetime) -> str:
    return f"{moment.astimezone(BERLIN):%a %d %H:%M}"


# Deciding


@pytest.mark.promise("mind.one-clock")
def test_a_daily_message_keeps_its_local_time_over_a_change_of_the_clocks() -> None:
    due = local("2026-03-28T09:00")
    moments = [due]
    for _ in range(3):
        moments.append(next_moment(moments[-1], "daily 09:00", moments[-1], BERLIN))
    assert [told(each) for each in moments] == ["Sat 28 09:00", "Sun 29 09:00", "Mon 30 09:00", "Tue 31 09:00"]
    assert moments[1] - moments[0] == timedelta(hours=23)
    assert moments[2] - moments[1] == timedelta(hours=24)


@pytest.mark.promise("mind.one-clock")
def test_a_time_that_a_day_does_not_have_moves_that_day_only() -> None:
    due = next_moment(local("2026-03-28T02:30"), "daily 02:30", local("2026-03-28T02:30"), BERLIN)
    assert told(due) == "Sun 29 03:30"
    assert told(next_moment(due, "daily 02:30", due, BERLIN)) == "Mon 30 02:30"


def test_a_time_that_a_day_has_twice_comes_once() -> None:
    due = next_moment(local("2026-10-24T02:30"), "daily 02:30", local("2026-10-24T02:30"), BERLIN)
    assert due == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert told(next_moment(due, "daily 02:30", due, BERLIN)) == "Mon 26 02:30"


def test_rhythms() -> None:
    friday = local("2026-11-20T18:00")
    assert told(next_moment(friday, "weekdays 18:00", friday, BERLIN)) == "Mon 23 18:00"
    assert told(next_moment(friday, "weekly 18:00", friday, BERLIN)) == "Fri 27 18:00"
    # What was missed in a pause is not made up for, and the day of the week stays.
    assert told(next_moment(friday, "weekly 18:00", local("2026-12-14T09:00"), BERLIN)) == "Fri 18 18:00"
    assert told(next_moment(friday, "daily 18:00", local("2026-12-14T19:00"), BERLIN)) == "Tue 15 18:00"


def test_when_is_read_on_the_workspace_clock() -> None:
    now = local("2026-11-20T12:00").astimezone(UTC)
    assert told(first_moment("2026-11-21T07:15", now, BERLIN)) == "Sat 21 07:15"
    assert told(first_moment("07:15", now, BERLIN)) == "Sat 21 07:15"
    assert told(first_moment("12:01", now, BERLIN)) == "Fri 20 12:01"
    assert first_moment("2026-11-21T07:15+00:00", now, BERLIN) == datetime(2026, 11, 21, 7, 15, tzinfo=UTC)
    for wrong in ("2026-11-20T11:59", "yesterday", "25:00", "2046-01-01", "2026-11-20"):
        with pytest.raises(Rejected):
            first_moment(wrong, now, BERLIN)


@given(
    INSTANTS,
    st.times(),
    st.sampled_from(["daily", "weekdays", "weekly"]),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC", "Pacific/Apia"]),
)
def test_the_next_moment_is_always_to_come_and_near(at: datetime, wall: time, every: str, zone: str) -> None:
    moment = on_or_after(at, wall, every, ZoneInfo(zone))
    assert at < moment < at + timedelta(days=9)
    assert every != "weekdays" or moment.astimezone(ZoneInfo(zone)).weekday() < 5 or wall.hour < 4


# Doing


@pytest.fixture
def schedule(world: World) -> Schedule:
    """A schedule in a conversation with somebody on Telegram, on a Monday at 09:30."""
    world.conversation.receive("Remind me of the dentist.", channel="telegram", address="42", is_whole=True)
    world.conversation.step()
    return Schedule(world.setup)


def sent(world: World) -> list[str]:
    return [each.text for each in reversed(world.conversation.log()) if each.direction == "out"][1:]


@pytest.mark.promise("mind.scheduled-same-stream")
def test_a_scheduled_message_is_in_the_array_the_log_and_the_outbox(world: World, schedule: Schedule) -> None:
    run = worker(world.loom, world.setup)
    planned = schedule.add("The dentist is at three.", "14:30")
    assert run("schedule") == {}
    world.later(hours=4, minutes=59)
    assert run("schedule") == {}
    world.later(minutes=1)
    assert run("schedule")["schedule"].state == "done"
    newest = world.conversation.log(limit=1)[0]
    assert (newest.text, newest.channel, newest.address) == (planned.text, "telegram", "42")
    assert (newest.direction, newest.state) == ("out", "unsent")
    assert world.conversation.turns()[-1].text.endswith(planned.text)
    assert world.conversation.exchanges(1)[0].cause == "schedule"
    world.exchange("Thank you, I am on my way to the dentist.")
    assert any(planned.text in str(turn) for turn in world.server.talks[-1]["messages"])
    world.assert_valid()
    assert (run("schedule"), schedule.waiting()) == ({}, [])


@pytest.mark.promise("mind.scheduled-once")
def test_a_kill_anywhere_sends_a_message_neither_twice_nor_never(world: World, schedule: Schedule) -> None:
    schedule.add("The dentist is at three.", "10:00")
    world.later(hours=1)
    (due,) = schedule.due()
    kills = 0
    for statements in range(2, 100, 5):
        try:
            with killed_after(statements):
                schedule.deliver(due, world.conversation)
            break
        except Killed:
            kills += 1
            world.later(minutes=5)
            assert bool(sent(world)) is not bool(schedule.due()), "said, or still to be said"
            if sent(world):
                break
    assert kills > 1
    assert sent(world) == ["The dentist is at three."]
    with pytest.raises(Conflict):
        schedule.deliver(due, world.conversation)
    assert sent(world) == ["The dentist is at three."]


@pytest.mark.promise("mind.scheduled-once")
def test_a_recurring_message_comes_at_its_rhythm_and_once_after_a_pause(world: World, schedule: Schedule) -> None:
    schedule.add("Have you had some water?", "2026-11-17T08:00", "weekdays")
    run = worker(world.loom, world.setup)
    for _ in range(8 * 24):
        world.later(hours=1)
        run("schedule")
    assert sent(world) == ["Have you had some water?"] * 6
    world.later(days=30)
    run("schedule")
    assert run("schedule") == {}
    assert len(sent(world)) == 7
    (waiting,) = schedule.waiting()
    assert waiting.due_at == datetime(2026, 12, 25, 8, tzinfo=UTC)


@pytest.mark.promise("mind.scheduled-once")
def test_a_cancelled_message_is_not_sent(world: World, schedule: Schedule) -> None:
    first, second = schedule.add("One message.", "10:00"), schedule.add("Another message.", "10:00")
    schedule.cancel(first.id)
    world.later(hours=1)
    due = schedule.due()
    schedule.cancel(second.id)
    with pytest.raises(Conflict):
        schedule.deliver(due[0], world.conversation)
    assert worker(world.loom, world.setup)("schedule") == {}
    assert sent(world) == []
    with pytest.raises(NotFound):
        schedule.cancel(first.id)


def test_the_agent_plans_lists_and_cancels_by_its_tools(world: World, schedule: Schedule) -> None:
    plan, listed, cancel = Mind(world.setup).tools()[5:8]
    assert [each.tool.name for each in (plan, listed, cancel)] == [
        "schedule_message",
        "list_scheduled",
        "cancel_scheduled",
    ]
    assert listed.use({}) == "No message is scheduled."
    said = plan.use({"text": "The dentist is at three.", "at": "2026-11-18T14:30", "every": "weekly"})
    (waiting,) = schedule.waiting()
    assert said == f"[{waiting.id}] 2026-11-18 14:30, Wednesday, weekly: The dentist is at three."
    assert said in listed.use({})
    assert listed.use({}).startswith("<scheduled-")
    wrong: tuple[dict[str, object], ...] = (
        {},
        {"text": "x"},
        {"text": " ", "at": "10:00"},
        {"text": "x", "at": "2020-01-01"},
        {"text": "x", "at": "10:00", "every": "hourly"},
        {"text": "x", "at": 7},
    )
    for given_ in wrong:
        with pytest.raises(Rejected):
            plan.use(given_)
    for number in ("seven", None, True, 1.5):
        with pytest.raises(Rejected):
            cancel.use({"id": number})
    # A number in quotes is still that number.
    with pytest.raises(NotFound):
        cancel.use({"id": "7"})
    assert cancel.use({"id": waiting.id}) == f"Message {waiting.id} will not be sent."
    assert schedule.waiting() == []


def test_nobody_can_be_written_to_who_never_wrote(world: World) -> None:
    with pytest.raises(Conflict):
        Schedule(world.setup).add("Hello there.", "10:00")
