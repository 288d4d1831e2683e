"""The story of a month or a year: what it says is in the scenes that it names, and nothing else is."""

from __future__ import annotations

import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.clock import ManualClock
from everloom.episodic import Episodic
from everloom.episodic.scenes.scene import Emotion
from everloom.episodic.story.finding import MOST_IDS, find_people, find_quiet, find_turns, telling_ids
from everloom.episodic.story.period import StoryRange, StoryRequest, begin_of, range_of
from everloom.episodic.story.results import Story, StoryMoment, StoryScene, StoryStatement
from everloom.errors import Forbidden, Rejected
from everloom.loom import Loom
from tests.episodic.ground import BILLING, SAILING, open_being, remember, scene, write_script

TODAY = date(2026, 11, 15)


def said(story: Story, kind: str) -> list[StoryStatement]:
    return [each for each in story.statements if each.kind == kind]


def live(being: Episodic) -> list[int]:
    """Live through the spring of 2026: work that wears down, a month without anything, then the boat."""
    told = [
        scene(
            action,
            when=[f"2026-03-{day:02}"],
            actors=["James", "Mia"] if day == 3 else ["James"],
            feeling="Tired" if day % 2 else "tired",
            emotion={"valence": -0.5, "trust": -0.1},
        )
        for day, action in enumerate(BILLING, 1)
    ]
    told += [
        scene(action, when=[f"2026-05-{day:02}"], actors=["Audrey", "james"], feeling="glad", emotion={"valence": 0.6})
        for day, action in enumerate(SAILING, 10)
    ]
    return remember(being, *told)


@pytest.mark.promise("episodic.story")
def test_a_story_tells_what_turned_who_was_there_and_what_was_quiet(being: Episodic) -> None:
    ids = live(being)
    being.pin_node(ids[8])
    for _ in range(3):
        being.recall_memory(being.show(ids[0]).cluster_id, limit=1)
    counts = [being.show(item).reactivation_count for item in ids]
    story = being.story(year=2026, pictures=True, max_tokens=50_000)
    assert (story.title, story.begins, story.ends, story.scenes) == ("2026", date(2026, 1, 1), date(2026, 12, 31), 12)
    overview = said(story, "overview")[0]
    assert overview.text.startswith(
        "2026 holds 12 scenes on 12 days, from 1 March to 15 May. The fullest week began on"
    )
    assert (overview.scene_ids, overview.scenes) == (tuple(ids), 12)
    (turn,) = said(story, "turn")
    assert turn.text == (
        "On 10 May the mood brightened: valence went from -0.50 to +0.60. It turned with “James repaired the mast of "
        "the boat” (glad)."
    )
    assert turn.scene_ids == tuple(ids[1:11])
    (feelings,) = said(story, "feeling")
    assert feelings.text == "The feelings that scenes name most: Tired (6) and glad (6)."
    james, audrey, mia = said(story, "person")
    assert james.text == "James was there most often: in 12 scenes, from 1 March to 15 May."
    assert (audrey.text, audrey.scene_ids) == ("Audrey was there: in 6 scenes, from 10 May to 15 May.", tuple(ids[6:]))
    assert (mia.text, mia.scene_ids) == ("Mia was there: in 1 scene, on 3 March.", (ids[2],))
    (quiet,) = said(story, "quiet")
    assert quiet.text.startswith(
        "It was quiet for 64 days, from 7 March to 9 May, between “The billing service was down"
    )
    assert quiet.scene_ids == (ids[5], ids[6])
    assert [each.scene_ids for each in said(story, "kept") if "pinned" in each.text] == [(ids[8],)]
    assert all(each.scene_ids for each in story.statements)
    assert {item for each in story.statements for item in each.scene_ids} <= set(ids)
    picture = story.picture
    assert picture is not None
    assert (picture.grain, sum(each.moments for each in picture.periods)) == ("week", 12)
    assert all(len(arc.counts) == len(picture.periods) for arc in picture.clusters)
    assert sum(sum(arc.counts) for arc in picture.clusters) == 12
    # A month has its own story; without pictures, the words alone.
    march = being.story(month="2026-03")
    assert (march.title, march.scenes, march.picture) == ("March 2026", 6, None)
    assert not said(march, "turn")
    assert being.story().title == "16 November 2025 to 15 November 2026"
    # Telling is not recalling.
    assert [being.show(item).reactivation_count for item in ids] == counts


@pytest.mark.promise("episodic.story")
def test_empty_months_single_scenes_and_scenes_without_a_day_are_told_as_they_are(being: Episodic, loom: Loom) -> None:
    assert being.story(year=2026).statements == (
        StoryStatement(kind="overview", text="Nothing is remembered of 2026."),
    )
    first, vague, monthly = remember(
        being,
        scene("We moved", when=["2026-02-07"], actors=[]),
        scene("Grandmother told of the war", when=["last summer"], actors=["Grandmother"]),
        scene("The cherry trees bloomed", when=["2026年4月"], actors=[]),
    )
    one = being.story(month="2026-02")
    assert [each.line for each in one.statements] == [
        f"February 2026 holds 1 scene on 7 February. It is “We moved”. [{first}]"
    ]
    empty = being.story(month="2026-03").statements[0]
    assert (
        empty.text == "Nothing is remembered of March 2026. The nearest scenes are of 7 February 2026 and 1 April 2026."
    )
    assert empty.scene_ids == (first, monthly)
    assert being.story(month="2026-04").scenes == 1
    (undated,) = said(being.story(month="2026-11"), "dates")
    assert undated.line == f"1 scene names no calendar day; it stands on the day of being told. [{vague}]"
    # Nobody else's, and nothing that is forgotten.
    assert loom.workspace("audrey").episodic.story(year=2026).scenes == 0
    place = loom.workspace("james")
    place.forgetting.forget([first], confirm=place.forgetting.forget([first]).confirm)
    assert "Nothing is remembered of February 2026" in being.story(month="2026-02").statements[0].text


@pytest.mark.promise("episodic.story")
def test_a_merged_scene_is_told_on_each_of_its_days_and_counts_once(being: Episodic) -> None:
    ids = remember(
        being,
        scene("We planted the apple tree", when=["2026-03-01"]),
        scene("The apple tree bloomed", when=["2026-05-01"]),
        scene("A holiday is booked", when=["2026-12-24"]),
        scene("The boat will be paid for", when=["2031-01-01"]),
    )
    merged = being.merge_nodes(ids[:2], "The life of the apple tree").node.id
    for month, action in (("2026-03", "We planted the apple tree"), ("2026-05", "The apple tree bloomed")):
        (only,) = said(being.story(month=month), "overview")
        assert f"It is “{action}”." in only.text
        assert only.scene_ids == (merged,)
    year = being.story(year=2026, pictures=True, max_tokens=50_000)
    assert year.picture is not None
    assert (year.scenes, sum(each.moments for each in year.picture.periods)) == (2, 3)
    assert being.story(month="2026-12").scenes == being.story(year=2031).scenes == 1


@pytest.mark.promise("episodic.story")
@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"month": "2026-13"}, "not in the calendar"),
        ({"month": "May"}, "is not a month"),
        ({"year": 0}, "not in the calendar"),
        ({"year": 20260}, "not in the calendar"),
        ({"month": "2026-05", "year": 2026}, "several ranges"),
        ({"begins": TODAY, "ends": TODAY - timedelta(days=1)}, "ends before it begins"),
        ({"begins": date(1, 1, 1), "ends": TODAY}, "at most 100 years"),
    ],
)
def test_a_range_that_makes_no_sense_is_refused(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(Rejected, match=message):
        range_of(StoryRequest(**asked), TODAY)


@given(st.dates(), st.integers(0, 36_000))
def test_periods_cover_every_day_of_a_range_once(begins: date, days: int) -> None:
    ends = begins + timedelta(days=min(days, (date.max - begins).days))
    within = StoryRange(begins, ends, "")
    periods = list(within.periods())
    assert periods == sorted(set(periods))
    assert len(periods) <= 102
    for day in (begins, ends, begins + (ends - begins) / 2):
        assert begin_of(day, within.grain) in periods


@given(st.dates(), st.integers(1, 12), st.integers(1, 9999))
def test_every_month_and_year_of_the_calendar_has_a_range(today: date, month: int, year: int) -> None:
    found = range_of(StoryRequest(month=f"{year:04}-{month}"), today)
    assert (found.begins.day, found.begins.month, found.ends.month) == (1, month, month)
    assert 28 <= found.days <= 31
    assert range_of(StoryRequest(year=year), today).days in (365, 366)
    assert range_of(StoryRequest(), today).days in range(1, 367)


def moment(number: int, valence: float | None, *actors: str, day: int | None = None) -> StoryMoment:
    emotion = None if valence is None else Emotion(valence, 0, 0, 0, 0, 0)
    told = StoryScene(number, f"scene {number}", "", actors, emotion, 1, 0.5, True, False, 0)
    return StoryMoment(date(2026, 1, 1) + timedelta(days=number if day is None else day), told, told.action, "", True)


def test_a_turning_point_is_where_the_mean_before_and_after_differ_by_half() -> None:
    def turns(*valences: float | None) -> list[tuple[int, float, float]]:
        found = find_turns([moment(number, valence) for number, valence in enumerate(valences)])
        return [(each.scene_id, each.before, each.after) for each in found]

    assert turns(*[-0.25] * 5, *[0.25] * 5) == [(5, -0.25, 0.25)]
    assert turns(*[-0.24] * 5, *[0.25] * 5) == []
    # Three on each side are enough, two are not; scenes without an emotion do not count.
    assert turns(0, 0, 0, None, 1, 1, 1) == [(4, 0.0, 1.0)]
    assert turns(0, 0, 1, 1, 1) == []
    # One bad day is no turn, and two turns are told in order of time.
    assert turns(*[0.3] * 6, -0.9, *[0.3] * 6) == []
    assert [each[0] for each in turns(*[0.8] * 8, *[-0.8] * 8, *[0.4] * 8)] == [8, 16]


@given(st.lists(st.tuples(st.integers(0, 200), st.none() | st.floats(-1, 1)), max_size=80))
def test_whatever_happened_what_is_found_is_among_it(lived: list[tuple[int, float | None]]) -> None:
    moments = sorted(
        (moment(number, valence, "James", day=day) for number, (day, valence) in enumerate(lived)),
        key=lambda each: (each.day, each.scene.id),
    )
    ids = {each.scene.id for each in moments}
    assert set(telling_ids(moments)) <= ids
    assert len(telling_ids(moments)) == min(MOST_IDS, len(ids))
    within = StoryRange(date(2026, 1, 1), date(2026, 12, 31), "2026")
    days = {each.day for each in moments}
    for quiet in find_quiet(moments, within):
        assert not any(quiet.begins <= day <= quiet.ends for day in days)
        assert quiet.days >= 14
    assert all(each.scene_id in ids and abs(each.after - each.before) >= 0.5 for each in find_turns(moments))
    assert sum(each.scenes for each in find_people(moments)) == len(ids)


RETELL = "Retell this story"


@pytest.mark.promise("episodic.story-retold")
def test_a_model_retells_a_story_and_only_what_can_be_checked_counts(
    store_url: str, clock: ManualClock, tmp_path: Path
) -> None:
    script = tmp_path / "script.json"
    with open_being(store_url, clock) as loom:
        ids = live(loom.workspace("james").episodic)
        with pytest.raises(Rejected, match="no language model is configured"):
            loom.workspace("james").episodic.story(year=2026, retell=True)
    with open_being(store_url, clock, llm={"large": f"scripted:{script}"}) as loom:
        being = loom.workspace("james").episodic
        write_script(
            script,
            {
                RETELL: {
                    "paragraphs": [
                        {"text": "A tired March gave way to 12 scenes in all.", "statements": [1, 99]},
                        {"text": "There were 4711 boats.", "statements": [1]},
                        {"text": "Nobody told me this.", "statements": []},
                        {"text": "", "statements": [1]},
                    ]
                }
            },
        )
        story = being.story(year=2026, retell=True)
        assert story.retold is not None
        (kept,) = story.retold.paragraphs
        assert kept.text == "A tired March gave way to 12 scenes in all."
        assert kept.scene_ids == tuple(ids)
        assert story.retold.model.startswith("scripted:")
        assert [re.sub(r"\d+$", "", each.partition(": ")[2]) for each in story.retold.remarks] == [
            "4711 is in none of its statements",
            "it rests on no statement",
            "it rests on no statement",
        ]
        assert story.refusal is None
        # The words stay ours whatever the model does, and the answer says that it failed.
        write_script(script, {RETELL: {"paragraphs": [{"text": "Trust me.", "statements": [700]}]}})
        failed = being.story(year=2026, retell=True)
        assert failed.retold is None
        assert failed.statements == story.statements
        assert "nothing of what the model told could be checked" in str(failed.refusal)
        assert "nothing to retell" in str(being.story(year=1999, retell=True).refusal)
        with pytest.raises(Forbidden):
            loom.workspace("james", refusal=Forbidden("only reads")).episodic.story(year=2026, retell=True)
