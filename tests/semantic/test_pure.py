"""What decides without touching anything: likeness of names, the plan's order, signs of drift, compaction."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.semantic.consolidation.plan import WaitingSubject, make_plan, pair_value, pending_items
from everloom.semantic.consolidation.results import IntersectionNeed, SessionNeed
from everloom.semantic.evidence.identity import distance, nearest_names, spelled_alike
from everloom.semantic.parts import BriefUnderstanding
from everloom.semantic.recall.retrieval import compaction
from everloom.semantic.state import SeenLog, preview
from everloom.semantic.understanding.documents import default_text
from everloom.semantic.understanding.soul import soul_hints

NOW = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
WORDS = st.text(alphabet="abc", max_size=7)


@given(WORDS, WORDS, st.integers(0, 9))
def test_a_bounded_distance_is_the_distance_or_more_than_the_bound(one: str, other: str, most: int) -> None:
    table = [[i + j if not i or not j else 0 for j in range(len(other) + 1)] for i in range(len(one) + 1)]
    for i, letter in enumerate(one, 1):
        for j, against in enumerate(other, 1):
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (letter != against))
            if i > 1 and j > 1 and (letter, one[i - 2]) == (other[j - 2], against):
                table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    assert distance(one, other, most) == min(table[-1][-1], most + 1)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("james", "jmaes", True),
        ("postgresql", "postgres", True),
        ("deployment pipeline", "deploy pipelines", True),
        ("plan 1", "plan 2", False),
        ("anna", "hanna", True),
        ("ann", "dan", False),
        ("james", "audrey", False),
        ("cat", "car", False),
    ],
)
def test_names_a_slip_apart_are_alike_and_counted_ones_are_not(one: str, other: str, alike: bool) -> None:
    assert bool(spelled_alike(one, other)) is alike
    assert bool(spelled_alike(other, one)) is alike


def test_the_nearest_names_come_first_and_once() -> None:
    names = [("james", "James"), ("james bond", "James Bond"), ("audrey", "Audrey"), ("james", "James")]
    assert nearest_names("james", names, 3) == ["James", "James Bond"]


@pytest.mark.parametrize(
    ("token", "given_token", "minutes", "reason"),
    [
        (None, None, 0, None),
        (None, 5, 0, None),
        (5, 5, 30, None),
        (5, 5, 31, "time_gap"),
        (5, None, 0, "missing_token"),
        (5, 6, 99, "wrong_token"),
    ],
)
def test_compaction_is_a_lost_token_or_a_long_pause(
    token: int | None, given_token: int | None, minutes: int, reason: str | None
) -> None:
    beat = SeenLog(token, NOW)
    assert compaction(beat, given_token, NOW + timedelta(minutes=minutes), timedelta(minutes=30)) == reason


def test_a_plan_takes_sessions_in_time_and_the_rest_by_value() -> None:
    brief = BriefUnderstanding(id=7, summary="s", generation=0, version=1)
    sessions = [
        SessionNeed(
            session_id=name, started_at=at, latest_activity=at, observation_count=1, existing_understanding=None
        )
        for name, at in (("late", NOW), ("early", NOW - timedelta(days=1)))
    ]
    subjects = [
        WaitingSubject(name="small", observation_count=1, new_observation_count=1, oldest_generation=4, generation=4),
        WaitingSubject(name="large", observation_count=9, new_observation_count=5, oldest_generation=1, generation=4),
        WaitingSubject(
            name="doubtful", observation_count=1, new_observation_count=1, oldest_generation=4, generation=4,
            understanding=brief, last_updated=NOW, questionable=3, linked_observation_ids=(3,),
        ),
    ]  # fmt: skip
    pairs = [
        IntersectionNeed(
            subject_a="a", subject_b=other, intersection_size=size, new_generation_count=fresh,
            existing_understanding=None, value=pair_value(size, fresh),
        )
        for other, size, fresh in (("b", 1, 1), ("c", 9, 6))
    ]  # fmt: skip
    plan = make_plan(sessions, subjects, pairs, 4)
    assert [each.session_id for each in plan.sessions] == ["early", "late"]
    assert [each.name for each in plan.missing] == ["large", "small"]
    assert [(each.id, each.linked_observation_ids) for each in plan.stale] == [(7, (3,))]
    assert [each.subject_b for each in plan.intersections] == ["c", "b"]
    assert [(each.name, each.generations_waiting) for each in plan.neglected] == [("large", 3)]
    assert plan.pending_count == len(pending_items(plan, 10)) == 5
    assert [each.item_type for each in pending_items(plan, 3)] == ["stale_understanding", "intersection", "subject"]
    assert make_plan([], [], [], 4).pending_count == 0


def test_a_soul_drifts_when_it_becomes_rules_quotes_sessions_or_grows() -> None:
    default = default_text("soul")
    assert soul_hints([]) == soul_hints([default]) == ()
    rules = "- Always answer briefly.\n- Never guess.\n- Use lists.\n- Check twice.\nBe kind."
    tactics = default + " Last session we fixed loom.py, see PR 12."
    grown = [default, default * 3]
    signs = [
        [hint.sign for hint in soul_hints(each)] for each in ([rules], [tactics], grown, [default, default + " Yes."])
    ]
    assert signs == [["rules"], ["tactics"], ["growth"], []]


def test_a_preview_has_twenty_words_and_never_much_more() -> None:
    assert preview("one two") == "one two"
    assert preview(" ".join("abcdefghijklmnopqrstuvwxyz")) == " ".join("abcdefghijklmnopqrst") + "…"
    assert len(preview("x" * 5_000)) == 201
