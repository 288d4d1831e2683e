"""Reading conversations in LoCoMo's shape: what it means, what is tolerated, and turns joined into longer texts."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from everloom.bench.conversations import divided, joined, read_conversations
from everloom.bench.systems import said
from everloom.errors import Rejected
from everloom.imports.formats.locomo import said_when
from everloom.kernel.verbs import LONGEST_TEXT

SAID = [
    ("Ana", "I bought a red kayak in Lisbon."),
    ("Ben", "Which colour did you say it has?"),
    ("Ana", "Red, like the old one."),
    ("Ben", "My sister teaches the cello in Oslo."),
    ("Ana", "How long has she been teaching?"),
]


def sample(**changes: Any) -> dict[str, Any]:
    """Write one conversation of one session."""
    turns = [{"dia_id": f"D1:{at}", "speaker": who, "text": text} for at, (who, text) in enumerate(SAID, 1)]
    asked = {"question": "Where did Ana buy the kayak?", "answer": "Lisbon", "evidence": ["D1:1"], "category": 4}
    talk = {"speaker_a": "Ana", "session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": turns, "session_2": []}
    return {"sample_id": "c", "conversation": {**talk, **changes.pop("talk", {})}, "qa": [{**asked, **changes}]}


def read(tmp_path: Path, *samples: Any) -> Any:
    file = tmp_path / "talk.json"
    file.write_text(json.dumps(samples))
    return read_conversations(file)


def test_turns_have_speakers_and_times_and_questions_their_evidence(tmp_path: Path) -> None:
    (talk,) = read(tmp_path, sample())
    assert [turn.speaker for turn in talk.turns] == ["Ana", "Ben", "Ana", "Ben", "Ana"]
    assert talk.turns[1].at == datetime(2023, 5, 8, 13, 57, tzinfo=UTC)
    (question,) = talk.questions
    assert (question.evidence, question.category) == ({"D1:1"}, "single-hop")
    assert talk.session_of == {f"D1:{at}": 1 for at in range(1, 6)}


@pytest.mark.parametrize(
    ("evidence", "found"),
    [("D1:1", {"D1:1"}), (["D1:1; D1:4"], {"D1:1", "D1:4"}), (["(D1:1) D1:2,D1:4|"], {"D1:1", "D1:2", "D1:4"})],
)
def test_evidence_may_be_several_ids_in_one_string(tmp_path: Path, evidence: Any, found: set[str]) -> None:
    (talk,) = read(tmp_path, sample(evidence=evidence))
    assert [question.evidence for question in talk.questions] == [found]


def test_what_has_no_name_no_date_and_no_ids_is_counted(tmp_path: Path) -> None:
    bare = sample(talk={"session_1_date_time": None})
    del bare["sample_id"]
    for turn in bare["conversation"]["session_1"]:
        del turn["dia_id"]
    first, second = read(tmp_path, bare, bare)
    assert (first.name, second.name) == ("conversation 1", "conversation 2")
    assert first.turns[0].at < first.turns[1].at
    assert [question.evidence for question in first.questions] == [{"D1:1"}]


@pytest.mark.parametrize("changes", [{"evidence": ["D9:9"]}, {"evidence": None}])
def test_questions_whose_evidence_is_not_there_are_left_out(tmp_path: Path, changes: dict[str, Any]) -> None:
    (talk,) = read(tmp_path, sample(**changes))
    assert (talk.questions, talk.unanswerable) == ((), ())


@pytest.mark.parametrize("changes", [{"category": 5}, {"category": 6, "evidence": [], "ability": "abstention"}])
def test_what_the_conversation_cannot_answer_is_kept_apart(tmp_path: Path, changes: dict[str, Any]) -> None:
    (talk,) = read(tmp_path, sample(**changes))
    assert talk.questions == ()
    assert [question.evidence for question in talk.unanswerable] == [frozenset()]


def test_a_category_is_called_as_its_data_set_calls_it(tmp_path: Path) -> None:
    samples = [sample(category=1), sample(category=1, ability="multi_session_reasoning"), sample(category=77)]
    talks = read(tmp_path, *samples)
    assert [talk.questions[0].category for talk in talks] == ["multi-hop", "several sessions", "other"]


@pytest.mark.parametrize(
    "text",
    [
        "1:56 pm on 8 May, 2023",
        "2023/05/08 (Mon) 13:56",
        "2023-05-08T13:56:00Z",
        "2023-05-08 13:56",
        "2023/05/08 13:56",
    ],
)
def test_dates_are_read_in_several_forms(text: str) -> None:
    assert said_when(text) == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


@pytest.mark.parametrize("wrong", [{"talk": {"session_1_date_time": "some day"}}, {"talk": {"session_1": [{}]}}])
def test_what_has_another_shape_is_refused_with_a_reason(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(Rejected, match="not in LoCoMo's format"):
        read(tmp_path, sample(**wrong))


def test_joined_turns_keep_every_word_both_speakers_and_the_evidence(tmp_path: Path) -> None:
    (talk,) = read(tmp_path, sample(evidence=["D1:2", "D1:4"]))
    long = joined(talk, 2)
    assert [turn.id for turn in long.turns] == ["D1:1", "D1:3", "D1:5"]
    assert long.turns[0].text == f"{SAID[0][1]} Ben: {SAID[1][1]}"
    assert [turn.others for turn in long.turns] == [("Ben",), ("Ben",), ()]
    assert [question.evidence for question in long.questions] == [{"D1:1", "D1:3"}]
    assert joined(talk, 1) == talk


def test_a_long_turn_is_divided_at_paragraphs_and_nothing_of_it_is_lost(tmp_path: Path) -> None:
    (talk,) = read(tmp_path, sample())
    assert divided(talk) == talk
    page = "The kayak is red.\n\n"
    first, *rest = talk.sessions[0]
    long = replace(talk, sessions=((replace(first, text=page * 20_000), *rest), *talk.sessions[1:]))
    parts = [turn for turn in divided(long).turns if turn.id == first.id]
    assert len(parts) == 2
    assert all(len(said(each)) <= LONGEST_TEXT and each.text.endswith("red.") for each in parts)
    assert "".join(each.text for each in parts).count("The kayak") == 20_000
    assert (divided(long).divided_turns, len(divided(long).session_of)) == (1, len(talk.session_of))
