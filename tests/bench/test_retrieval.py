"""Conversations entered through the public doors, asked what they know and what they cannot know."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

import pytest

from everloom.bench.conversations import SampleConversation, conversation, read_conversations
from everloom.bench.measures import Verdicts, ranking_quality, ranks_of, session_quality
from everloom.bench.retrieval import MEANS, OURS, ablate, evaluate
from everloom.bench.systems import DOORS, DoorName, everloom_reader
from everloom.kernel.search import DEFAULT, Recipe
from everloom.loom import Loom, Workspace
from tests.bench.talks import BEES, KAYAK, TALKS
from tests.store.ground import open_at

DOOR_NAMES: tuple[DoorName, ...] = get_args(DoorName)


@pytest.fixture
def talks(tmp_path: Path) -> list[SampleConversation]:
    """The two conversations, as a file says them."""
    file = tmp_path / "talks.json"
    file.write_text(json.dumps(TALKS))
    return read_conversations(file)


@pytest.mark.promise("bench.public-doors")
@pytest.mark.parametrize("door", DOOR_NAMES)
def test_every_turn_is_entered_in_its_session_with_its_time_and_its_speaker(
    loom: Loom, talks: list[SampleConversation], door: DoorName
) -> None:
    kayak, _ = talks
    place = loom.workspace("kayak")
    turns = DOORS[door](place, kayak)
    assert sorted(turn for each in turns.values() for turn in each) == sorted(kayak.session_of)
    hits = {turns[hit.id][0]: hit for hit in place.search("Ana Ben kayak cello river", limit=20) if hit.id in turns}
    for turn in kayak.turns:
        if turn.id in hits:
            assert hits[turn.id].happened_at == turn.at
            assert turn.speaker in hits[turn.id].labels
    sessions = {kayak.session_of[turn]: hit.session_id for turn, hit in hits.items()}
    assert len(set(sessions.values()) - {None}) == 2
    assert all(hit.session_id == sessions[kayak.session_of[turn]] for turn, hit in hits.items())


def test_equal_turns_are_one_observation_that_counts_as_both(workspace: Workspace) -> None:
    yes = {"speaker": "Ana", "text": "Yes, of course."}
    said = {"session_1": [{**yes, "dia_id": "a"}, {**yes, "dia_id": "b"}]}
    turns = DOORS["observations"](workspace, conversation({"conversation": said, "qa": []}, "c"))
    assert list(turns.values()) == [["a", "b"]]


@pytest.mark.parametrize("door", DOOR_NAMES)
def test_systems_are_compared_on_turns_sessions_and_categories(
    store_url: str, talks: list[SampleConversation], door: DoorName
) -> None:
    rows = evaluate(talks, door, store_url)
    assert [row["system"] for row in rows] == [OURS, "words (FTS5 porter)", "vectors only"]
    ours: dict[str, Any] = rows[0]
    assert (ours["questions"], ours["recall@5"], ours["session_any@5"], ours["session_all@5"]) == (4, 1.0, 1.0, 1.0)
    counts = {part["category"]: part["questions"] for part in ours["categories"]}
    assert counts == {"multi-hop": 1, "single-hop": 2, "temporal": 1}
    # The workspaces of the run are gone.
    with open_at(store_url) as loom:
        assert loom.workspaces.list() == []


def test_what_a_conversation_cannot_know_is_asked_too(talks: list[SampleConversation]) -> None:
    ours, words, vectors = evaluate(talks)
    for row in (ours, words, vectors):
        assert row["foreign"].questions == 4
        assert row["unanswerable"].questions == 1
        assert row["foreign"].auroc > 0.8
    assert ours["foreign"].silent_at_floor >= 0.75
    assert ours["foreign"].answered_at_floor == 1.0
    assert (words["foreign"].silent_at_floor, vectors["foreign"].silent_at_floor) == (None, None)


def test_a_single_conversation_has_no_foreign_questions(talks: list[SampleConversation]) -> None:
    assert evaluate(talks[1:])[0]["foreign"] is None
    assert evaluate(talks[1:])[0]["unanswerable"] is None
    assert evaluate([]) == []


def test_each_means_is_taken_away_in_turn(talks: list[SampleConversation]) -> None:
    assert [row["system"] for row in ablate(talks)] == [OURS, *MEANS]
    recipes = {"with": DEFAULT, "without": replace(DEFAULT, **MEANS["without times"])}
    with everloom_reader("observations", recipes)(talks[0]) as asked:
        june = {name: reading.ask("What did Ana and Ben say in June 2023?").turns for name, reading in asked.items()}
    assert june["with"] != june["without"]
    assert {turn[:2] for turn in june["with"][:3]} == {"D2"}


def test_every_weight_of_the_recipe_is_taken_away_once() -> None:
    # How alike two texts must be to say the same is no means of finding them.
    values = {field.name: getattr(DEFAULT, field.name) for field in fields(Recipe)}
    weights = {name for name, value in values.items() if isinstance(value, float | bool)} - {"same"}
    assert {name for change in MEANS.values() for name in change} == weights


def test_a_ranking_is_measured_by_the_ranks_of_the_evidence() -> None:
    ranks = ranks_of(["x", "a", "y", "z", "w", "v", "b"], {"a", "b", "c"})
    assert ranks == [2, 7]
    found = ranking_quality(ranks, 3)
    assert (found["recall@5"], found["recall@10"], found["mrr"]) == pytest.approx((1 / 3, 2 / 3, 1 / 2))
    # The gains 1/log2(3) and 1/log2(8), over those of the ranks 1, 2 and 3.
    assert found["ndcg@10"] == pytest.approx((0.63093 + 1 / 3) / (1 + 0.63093 + 0.5), abs=1e-4)
    assert set(ranking_quality([], 2).values()) == {0.0}
    assert ranking_quality([1, 1], 2)["ndcg@10"] == 1.0


def test_sessions_are_ranked_by_their_first_turn() -> None:
    home = {f"{session}:{turn}": session for session in range(1, 8) for turn in range(3)}
    ranked = ["1:0", "1:1", "2:0", "3:0", "4:0", "5:0", "6:0"]
    assert session_quality(ranked, {"5:2"}, home) == {"session_any@5": 1.0, "session_all@5": 1.0}
    assert session_quality(ranked, {"5:2", "6:0"}, home) == {"session_any@5": 1.0, "session_all@5": 0.0}
    assert session_quality(ranked, {"6:0"}, home) == {"session_any@5": 0.0, "session_all@5": 0.0}


def test_the_threshold_lets_one_known_question_in_twenty_go_unanswered() -> None:
    known = Verdicts([0.1, *(0.5 + place / 100 for place in range(19))], [False] + [True] * 19)
    found = known.separation(Verdicts([0.05, 0.49, 0.5, 0.9], [False, False, True, True]))
    assert found is not None
    assert (found.questions, found.silent_at_95, found.silent_at_floor) == (4, 0.5, 0.5)
    assert found.answered_at_floor == 0.95
    # Of 80 pairs the known question is ahead in 20 + 19 + 18 and level in one.
    assert found.auroc == pytest.approx((20 + 19 + 18 + 0.5) / 80, abs=1e-4)
    assert known.separation(Verdicts()) is None


def test_the_conversations_here_share_no_topic() -> None:
    words = [
        {word for session in talk for _, text in session for word in text.lower().split() if len(word) > 5}
        for talk in (KAYAK, BEES)
    ]
    assert words[0] & words[1] == set()
