"""Bad scenes: kept and marked, or mended and reported; never lost, never a crash."""

from __future__ import annotations

import json
import math
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.episodic import Episodic
from everloom.episodic.entries.notes import write_down
from everloom.episodic.scenes.parser import ParsedScene, UnreadableScene, parse_scene
from everloom.episodic.scenes.scene import When, embed_text, scene_from, scene_text
from everloom.episodic.scenes.scene import body_text as body_of
from everloom.errors import Rejected
from everloom.kernel.answer.encode import as_data
from tests.episodic.ground import patrol, remember, scene, tell

TODAY = date(2026, 11, 15)


def read(content: object) -> ParsedScene:
    found = parse_scene(content, TODAY)
    assert isinstance(found, ParsedScene), found
    return found


@pytest.mark.promise("episodic.bad-scenes")
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("not JSON at all", "not JSON"),
        ("[1, 2]", "not an object"),
        ("null", "not an object"),
        ("{}", "no action"),
        ({"actors": ["James"]}, "no action"),
        ({"action": "   "}, "no action"),
        ({"action": None}, "no action"),
        ({"action": ["a", "list"]}, "no action"),
        ({"action": "x", "when": ["2026-13-45"]}, "not a calendar date"),
        ({"action": "x", "when": ["2026-02-30"]}, "not a calendar date"),
        ({"action": "x", "when": [{"action": "without a date"}]}, "no date"),
        ({"action": "x", "when": 7}, "not a list of dates"),
        (12, "not an object"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_what_is_beyond_repair_is_refused_with_a_reason(content: object, reason: str) -> None:
    found = parse_scene(content, TODAY)
    assert isinstance(found, UnreadableScene)
    assert reason in found.reason


@pytest.mark.promise("episodic.bad-scenes")
@pytest.mark.parametrize(
    ("fields", "check"),
    [
        ({"importance": 7}, lambda content: content.importance == 1.0),
        ({"importance": -3}, lambda content: content.importance == 0.0),
        ({"importance": math.nan}, lambda content: content.importance == 0.5),
        ({"importance": math.inf}, lambda content: content.importance == 0.5),
        ({"importance": "0.7"}, lambda content: content.importance == 0.7),
        ({"importance": True}, lambda content: content.importance == 0.5),
        ({"importance": {"a": 1}}, lambda content: content.importance == 0.5),
        ({"actors": [f"actor {number}" for number in range(10_000)]}, lambda told: len(told.scene.actors) == 50),
        ({"actors": "James"}, lambda content: content.scene.actors == ("James",)),
        ({"actors": {"a": 1}}, lambda content: content.scene.actors == ()),
        ({"action": "x" * 100_000}, lambda told: len(told.scene.action) == 4_000),
        ({"action": "nul \x00 and \ud800"}, lambda content: content.scene.action == "nul � and �"),
        ({"when": None}, lambda content: content.scene.when == (When("2026-11-15"),)),
        ({"when": "2026-11-01"}, lambda content: content.scene.when == (When("2026-11-01"),)),
        ({"when": ["2026-1-5T10:00"]}, lambda content: content.scene.when == (When("2026-1-5T10:00"),)),
        ({"when": [{"date": "Day7", "action": "x"}]}, lambda content: content.scene.when == (When("Day7", "x"),)),
        ({"emotion": [math.nan] * 6}, lambda content: content.emotion is None),
        ({"emotion": [9, -9, 0, 0, 0, 0]}, lambda told: (told.emotion.valence, told.emotion.arousal) == (1, -1)),
        ({"emotion": {"v": 0.5, "TRUST": 1}}, lambda told: (told.emotion.valence, told.emotion.trust) == (0.5, 1)),
        ({"emotion": "sad"}, lambda content: content.emotion is None),
        ({"dialogue": ["“Hi”"], "sensory": ["tar"]}, lambda content: content.scene.dialogue == ("“Hi”",)),
    ],
)
def test_what_can_be_mended_is_mended(fields: dict[str, Any], check: Any) -> None:
    assert check(read(scene("x", **fields) if "action" not in fields else {**scene("x"), **fields}).content)


def test_both_forms_of_when_are_written_as_the_seed_does() -> None:
    told = read(
        scene("We met", when=["2026-11-01", {"date": "2026-11-02", "action": "again"}], dialogue=["Hi!"])
    ).content
    assert scene_text(told.scene, "glad") == '2026-11-01, 2026-11-02（again） — We met — "Hi!" — (glad)'
    assert embed_text(told.scene, "glad") == "We met / glad"
    assert "object Object" not in embed_text(told.scene, "")
    assert scene_from("We met", body_of(told.scene)) == told.scene


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)
field_names = st.sampled_from(
    ["action", "actors", "when", "setting", "dialogue", "sensory", "feeling", "themes", "importance", "emotion"]
)


@pytest.mark.promise("episodic.bad-scenes")
@given(st.dictionaries(field_names, json_values) | json_values | st.text())
def test_whatever_is_told_is_read_or_refused_and_can_be_kept(content: object) -> None:
    written = write_down(content, TODAY)
    assert 0 < len(written.content) <= 200_000
    written.content.encode()
    assert "\x00" not in written.content
    if isinstance(written.read, ParsedScene):
        told = written.read.content
        assert told.scene.action
        assert 0 <= told.importance <= 1
        assert told.scene.when
        json.dumps(told.scene.as_json(), allow_nan=False).encode()
        assert scene_from(told.scene.action, body_of(told.scene)) == told.scene
        again = parse_scene(written.content, TODAY)
        assert isinstance(again, ParsedScene)
        assert again.content == told


@pytest.mark.promise("episodic.bad-scenes")
def test_bad_scenes_are_kept_and_reported_and_good_ones_are_remembered(being: Episodic) -> None:
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    scenes = [
        "not JSON",
        {"feeling": "nothing happened"},
        scene("wrong date", when=["2026-99-99"]),
        scene("many actors", actors=[f"a long name of actor {number}" for number in range(10_000)]),
        scene("importance seven", importance=7),
        scene("importance NaN", importance=math.nan),
        {"action": "deep", "actors": deep},
        {"action": "circle \x00"},
    ]
    with pytest.raises(Rejected, match=r"scenes\[8\] must be a mapping or text, not int"):
        being.update_notes(scenes=[*scenes, 7])  # type: ignore[list-item]
    kept = being.update_notes(scenes=scenes)  # type: ignore[arg-type]
    assert [each.index for each in kept.rejected] == [0, 1, 2, 6]
    assert all(each.reason for each in kept.rejected)
    remarks = "\n".join(kept.remarks)
    for said in ("of 10,000 actors the first 50 were kept", "importance 7 was clamped to 1", "became 0.5"):
        assert said in remarks
    patrol(being)
    assert being.census()["active"] == 4
    (hit,) = being.search_memory("seven", mode="and").hits
    assert hit.node.importance == 1.0
    listed = being.update_memory("notes", "get").entries
    assert [entry.content.startswith("[PARSE_FAILED]") for entry in listed] == [True] * 4
    assert len(listed) == len(kept.rejected)
    patrol(being)
    assert len(being.update_memory("notes", "get").entries) == 4


@pytest.mark.promise("episodic.bad-scenes")
def test_a_note_that_was_spoilt_behind_our_back_is_marked_by_the_patrol(being: Episodic) -> None:
    (note,) = tell(being, "A lamp was lit")
    with being._being.op.write("test") as tx:
        tx.unit.run("episodic.note_change", id=note, kind="scene", content="{spoilt", problem=None, at=1)
    patrol(being)
    (entry,) = being.update_memory("notes", "get").entries
    assert entry.content == "[PARSE_FAILED] {spoilt"
    assert being.census()["active"] == 0


GIVEN = [
    "2026-1-5T10:00",
    " 2026-11-01 ",
    "last summer",
    "Day7",
    "2026年5月",
    "２０２６年５月３日",
    "2026/06/09",
    "2026-07",
    "2026-11-01",
    "2026-11-01",
    {"date": "2026-11-02"},
    {"date": "2026-11-02", "action": "again"},
    {"date": "Tag 9", "action": "später"},
]


@pytest.mark.promise("episodic.when-as-given")
def test_when_comes_back_as_it_was_given_with_the_days_beside_it(being: Episodic, store_url: str) -> None:
    (item,) = remember(being, scene("We met", when=GIVEN))
    shown = as_data(being.show(item))["scene"]
    assert shown["when"] == GIVEN
    assert shown["days"] == ["2026-01-05", "2026-11-01", "2026-05-03", "2026-06-09", "2026-11-02"]
    # Each is found by what was written and by the day that it means.
    for query in ("last summer", "2026年5月", "2026-1-5T10:00", "2026-01-05", "2026-05-03"):
        assert [hit.node.id for hit in being.search_memory(query, mode="and").hits] == [item], query
    merged = being.merge_nodes([item, *remember(being, scene("Once more", when=["2026-3-4"]))], "We met often")
    dates = [entry.date for entry in merged.node.scene.when]
    assert (
        dates.index("2026-1-5T10:00") < dates.index("2026-3-4") < dates.index("2026年5月") < dates.index(" 2026-11-01 ")
    )


@pytest.mark.parametrize(
    ("when", "day"),
    [(["2026年5月"], date(2026, 5, 1)), (["2026-05", "2026-07-09"], date(2026, 7, 9)), (["2026-13", "soon"], None)],
)
def test_a_month_alone_places_a_scene_at_its_beginning(when: list[str], day: date | None) -> None:
    assert read(scene("x", when=when)).content.scene.day == day
