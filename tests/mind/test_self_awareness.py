"""The nightly pass and the hand-off: once a local date, over seven days, through the guards of the notes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.kernel.work.tasks import Report, Work
from everloom.mind.conversation.compaction import newest_within
from everloom.mind.initiative.self_awareness import SelfAwareness, before_folding
from everloom.mind.initiative.timing import night_before
from everloom.mind.notes.notes import Notes
from everloom.mind.ports import MindSetup
from everloom.mind.tasks import mind_tasks
from everloom.models import estimate
from tests.mind.thinking import INSTANTS, Answers, thinking, worker
from tests.mind.worlds import World

BERLIN = ZoneInfo("Europe/Berlin")
NOTE = "# Self-awareness\n\nI asked twice about the dentist; once is enough. I was of help with the boat."
Ready = tuple[World, MindSetup, Answers]


@pytest.fixture
def ready(world: World) -> Ready:
    setup, answers = thinking(world.setup, world.server)
    answers.given["self_awareness"] = {"note": NOTE, "line": "A day of sails and dentists."}
    return world, setup, answers


@given(INSTANTS, st.integers(0, 23))
def test_the_latest_night_has_come_and_the_next_has_not(now: datetime, hour: int) -> None:
    night = night_before(now, hour, BERLIN)
    assert night.moment <= now < night.moment + timedelta(hours=25, minutes=1)
    assert night_before(night.moment, hour, BERLIN) == night


@pytest.mark.promise("mind.one-clock")
def test_the_hour_is_local_and_every_date_has_one_night() -> None:
    nights = [
        night_before(datetime(2026, 3, 27, 19, 59, tzinfo=UTC) + timedelta(minutes=minutes), 21, BERLIN)
        for minutes in range(0, 4 * 24 * 60, 1)
    ]
    assert [each.day.day for each in dict.fromkeys(nights)] == [26, 27, 28, 29, 30, 31]
    assert {each.moment.astimezone(BERLIN).hour for each in nights} == {21}


@pytest.mark.promise("mind.nightly-pass")
def test_the_pass_is_made_once_a_date_and_written_through_the_notes(ready: Ready) -> None:
    world, setup, answers = ready
    run = worker(world.loom, setup)
    world.exchange("I see the dentist at three, please remind me.")
    world.later(hours=11)
    assert run("self_awareness") == {}
    world.later(minutes=30)
    assert run("self_awareness")["self_awareness"].state == "done"
    assert run("self_awareness") == {}
    late = Work(world.loom.store, world.clock, "late")
    (nightly,) = [each for each in mind_tasks(lambda _: setup) if each.name == "self_awareness"]
    outcome = late.run_one(setup.op.workspace, nightly, 10.0, lambda _: None)
    assert outcome.report == Report(0)
    notes = Notes(setup)
    assert notes.read("SELF-AWARENESS.md") == f"{NOTE}\n"
    page = notes.read("daily/2026-11-16.md") or ""
    assert page.splitlines()[0].startswith("# 2026-11-16")
    assert "Looking back: A day of sails and dentists." in page
    world.later(hours=24)
    assert run("self_awareness")["self_awareness"].state == "done"
    assert "Looking back" in (notes.read("daily/2026-11-17.md") or "")
    assert len(answers.of("self_awareness")) == 2
    # Two weeks without a word: nothing to look back at, and no pass for every missed night.
    world.later(days=14)
    assert run("self_awareness") == {}


@pytest.mark.promise("mind.nightly-pass")
def test_the_pass_sees_seven_days_and_not_a_handful_of_messages(ready: Ready) -> None:
    world, setup, answers = ready
    for day in range(10):
        for number in range(4):
            world.exchange(f"Message {number} of day {day} about the boat.")
            world.later(minutes=7)
        world.later(hours=23, minutes=32)
    notes = Notes(setup)
    notes.update_status({"mood": "calm"})
    SelfAwareness(setup, notes).run()
    (material,) = answers.of("self_awareness")
    assert "Message 0 of day 9 " in material
    assert "Message 3 of day 4 " in material
    assert "Message 3 of day 1 " not in material
    assert material.count("about the boat.") == 4 * 7
    assert "calm" in material
    assert "# Self-awareness" in material


def test_a_week_that_is_too_long_keeps_its_newest() -> None:
    lines = [f"line {number} with some words in it" for number in range(100)]
    kept = newest_within(lines, 10 * estimate(lines[-1]))
    assert kept == lines[-10:]
    assert newest_within(lines, 0, at_least=1) == lines[-1:]
    assert newest_within(lines, 0) == []


@pytest.mark.promise("mind.nightly-pass")
def test_the_note_is_not_emptied_or_cut_by_a_careless_model(ready: Ready) -> None:
    world, setup, answers = ready
    notes = Notes(setup)
    notes.write("SELF-AWARENESS.md", NOTE * 5, replace=True)
    world.exchange("I see the dentist at three, please remind me.")
    for careless in ("", "short"):
        answers.given["self_awareness"] = {"note": careless, "line": "A quiet day."}
        world.later(hours=24)
        outcome = worker(world.loom, setup)("self_awareness")["self_awareness"]
        assert outcome.report is not None
        assert str(outcome.report.detail["note"]).startswith("not changed")
    assert (notes.read("SELF-AWARENESS.md") or "").strip() == (NOTE * 5).strip()


def test_a_pass_that_fails_is_made_later_and_a_missed_one_is_made_up_for(ready: Ready) -> None:
    world, setup, answers = ready
    run = worker(world.loom, setup)
    world.exchange("I see the dentist at three, please remind me.")
    world.later(hours=12)
    answers.given["self_awareness"] = 529
    assert run("self_awareness")["self_awareness"].state == "failed"
    answers.given["self_awareness"] = {"note": NOTE, "line": "A day."}
    world.later(hours=10)
    assert run("self_awareness")["self_awareness"].state == "done"
    assert "Looking back" in (Notes(setup).read("daily/2026-11-16.md") or "")
    assert Notes(setup).read("daily/2026-11-17.md") is None


def test_without_a_model_or_a_word_there_is_no_pass(world: World) -> None:
    setup, _ = thinking(world.setup, world.server)
    world.later(days=1)
    assert worker(world.loom, setup)("self_awareness") == {}
    world.exchange("I see the dentist at three, please remind me.")
    world.later(days=1)
    assert worker(world.loom, replace(setup, thinker=lambda: None))("self_awareness") == {}


@pytest.mark.promise("mind.hand-off")
def test_a_hand_off_note_is_left_before_turns_fade_and_facts_are_captured(ready: Ready) -> None:
    world, setup, answers = ready
    exchanges = [world.exchange("I will call the sailmaker on Friday."), world.exchange("When is the regatta?")]
    answers.given["hand_off"] = {
        "open_threads": ["When the regatta is"],
        "promises": ["James calls the sailmaker on Friday"],
        "tone": "warm and brief",
    }
    notes = Notes(setup)
    before_folding(setup, notes)(exchanges)
    page = notes.read("daily/2026-11-16.md") or ""
    assert "## Hand-off, 09:30" in page
    assert "- When the regatta is" in page
    assert "- James calls the sailmaker on Friday" in page
    assert "Tone: warm and brief" in page
    assert len(answers.of("facts")) == 2
    before_folding(setup, notes)(exchanges)
    assert (notes.read("daily/2026-11-16.md") or "").count("## Hand-off") == 1


@pytest.mark.promise("mind.hand-off")
@pytest.mark.parametrize("is_failing", [True, False])
def test_without_a_model_the_hand_off_is_an_outline(ready: Ready, is_failing: bool) -> None:
    world, setup, answers = ready
    exchanges = [world.exchange("I will call the sailmaker on Friday."), world.exchange("When is the regatta?")]
    answers.given |= {"hand_off": 529, "facts": 529}
    setup = setup if is_failing else replace(setup, thinker=lambda: None)
    before_folding(setup, Notes(setup))(exchanges)
    page = Notes(setup).read("daily/2026-11-16.md") or ""
    assert "- When is the regatta?" in page
    assert "- I will call the sailmaker on Friday." in page
    with setup.op.store.read(setup.op.workspace.id) as unit:
        assert len(unit.all("archive.facts_waiting_of", ids=[each.id for each in exchanges])) == 2
