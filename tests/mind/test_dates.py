"""Dates at the ends of the calendar and in the future: they stop nothing, and do not own the present."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from everloom.checks.dates import items_ahead, set_date
from everloom.clock import EARLIEST, LATEST
from everloom.errors import ProviderError, Rejected
from everloom.exports import read, write
from everloom.kernel.search import Document
from everloom.kernel.verbs import Verb
from everloom.loom import Workspace
from everloom.mind.verbs import Mind
from everloom.semantic.arguments import NewObservation
from everloom.semantic.results import QuestionRecall
from everloom.wiring.arguments import Arguments
from everloom.wiring.faculties import FACULTIES
from everloom.wiring.items import Items
from tests.mind.worlds import World, conversation_in
from tests.scripted.speech import fails

FIRST = datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))
LAST = datetime.max.replace(tzinfo=timezone(timedelta(hours=-14)))
ZONES = ("Europe/Berlin", "Pacific/Kiritimati", "Etc/GMT+12", "America/New_York")
DATED = [
    (each, names)
    for faculty in FACULTIES.values()
    for each in faculty.verbs
    if (names := [parameter.name for parameter in each.parameters if datetime in parameter.kinds])
]


def in_zone(world: World, zone: str) -> Workspace:
    """Open the workspace of a world anew, in another time zone."""
    world.loom.workspaces.change("james", time_zone=zone)
    return world.loom.workspace("james", session="monday")


def put_date(place: Workspace, item: int, micros: int) -> None:
    """Store a date as a program did that checked none."""
    with place.loom.store.write(place.info.id) as unit:
        (row,) = unit.all("words.document_of", ids=[item])
        content = {name: row[name] for name in ("title", "text", "context", "details")}
        unit.send("words.document_redate", id=item, happened_at=micros, **content)


@pytest.mark.promise("dates.stop-nothing")
def test_stored_dates_that_no_zone_can_show_stop_nothing(world: World, tmp_path: Path) -> None:
    place = world.loom.workspace("james", session="monday")
    berths = {"one": 2**62, "two": 253_402_300_799_999_999, "three": -(2**62), "four": -62_135_596_800_000_000}
    known = {berth: place.semantic.remember(["James"], f"James rents berth {berth}.").id for berth in berths}
    (turn,) = place.add([Document(kind="turn", text="The pier is closed.", happened_at=world.clock.now())])
    for berth, micros in berths.items():
        put_date(place, known[berth], micros)
        put_date(place, turn, micros)
    for zone in ZONES:
        here = in_zone(world, zone)
        recalled = here.semantic.recall("Who rents berth four?")
        assert isinstance(recalled, QuestionRecall)
        assert recalled.best_answer is not None
        assert recalled.best_answer.id == known["four"]
        assert known["one"] in [hit.id for hit in here.search("who rents berth one?")]
        for bad in known.values():
            assert here.show(bad).happened_at in (EARLIEST, LATEST)
            assert here.why(bad).id == bad
        assert len(here.semantic.read_unseen(["James"]).observations) == len(known)
        assert here.semantic.orient().current_time
        assert here.semantic.get_session_context("monday").session.session_id == "monday"
        here.episodic.get_context()
        here.episodic.search_memory("pier", max_tokens=4_000)
        items, now = Items(here), here.op.now
        assert items.count_days(now - timedelta(days=3), now, max_tokens=None).days
        assert items.look_back(EARLIEST, LATEST).items
        here.semantic.get_consolidation_report()
    assert items_ahead(place.op, 10)[0] == 2
    write(world.loom, tmp_path / "out")
    read(world.loom, tmp_path / "out", as_name="again")
    assert world.loom.workspace("again").search("who rents berth three?")
    set_date(place.op, known["one"], world.clock.now())
    assert place.show(known["one"]).happened_at == world.clock.now()
    assert not world.loom.store.health(deep=True).problems


@pytest.mark.promise("dates.stop-nothing")
def test_a_message_with_a_date_at_the_end_of_the_calendar_is_answered(world: World) -> None:
    for zone in ZONES:
        setup = replace(world.setup, op=in_zone(world, zone).op)
        conversation = conversation_in(setup, world.left)
        Mind(setup).set_intention(f"the contract in {zone}", "Ask whether it was signed.")
        for said in (
            "my contract is valid until 9999-12-31",
            "mein Vertrag gilt bis 31. Dezember 9999, seit vor 999 Jahren",
            "it was on 0001-01-01, 999 years ago",
        ):
            conversation.receive(said, channel="terminal", is_whole=True)
            answered = conversation.step()
            assert answered is not None
            assert answered.heard == said
            in_zone(world, zone).semantic.recall(said)


@pytest.mark.promise("dates.stop-nothing")
def test_a_message_that_came_or_failed_while_the_clock_was_ahead_is_answered(world: World) -> None:
    world.later(days=8 * 365)
    world.server.script(fails(529))
    world.say("The clock is wrong.")
    with pytest.raises(ProviderError):
        world.conversation.step()
    world.later(days=-8 * 365)
    world.conversation.receive("Are you there?", channel="terminal")
    assert world.conversation.ripe_in() == 0
    answered = world.conversation.step()
    assert answered is not None
    assert "Are you there?" in answered.heard


@pytest.mark.parametrize(("verb", "names"), DATED, ids=lambda each: getattr(each, "name", ""))
@pytest.mark.promise("dates.refused")
def test_a_date_that_not_every_zone_can_show_is_refused_by_every_verb(verb: Verb, names: list[str]) -> None:
    arguments = Arguments(verb.name, verb.parameters)
    for text in ("0001-01-01T00:00+14:00", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00Z", "9999-12-31T23:59Z"):
        for zone in ZONES:
            with pytest.raises(Rejected, match="out of range") as refused:
                arguments.read(dict.fromkeys(names, text), ZoneInfo(zone))
            assert "9999-12-30" in str(refused.value.hint)


@pytest.mark.promise("dates.refused")
def test_python_callers_are_refused_such_a_date_too(world: World) -> None:
    place = world.loom.workspace("james")
    for at in (FIRST, LAST, FIRST.replace(tzinfo=UTC), LAST.replace(tzinfo=UTC)):
        for act in (
            lambda at=at: place.semantic.remember(["James"], "He sails.", observed_at=at),
            lambda at=at: place.semantic.add_observations(
                [NewObservation(subject_names=["James"], content="He sails.", observed_at=at)]
            ),
            lambda at=at: place.semantic.sessions(after=at),
            lambda at=at: place.episodic.story(date_from=at),
            lambda at=at: Mind(world.setup).set_intention("the boat", "Ask.", until=at),
        ):
            with pytest.raises(Rejected, match="out of range"):
                act()
    assert place.semantic.remember(["James"], "James sails.", observed_at=datetime(9999, 12, 30, tzinfo=UTC)).id
