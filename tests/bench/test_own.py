"""A user's own questions: what a file may say, what counts as found, and what a run demands."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from everloom.bench.own import Demands, OwnAnswer, OwnQuestion, ask_own, read_questions, report
from everloom.errors import Rejected
from everloom.loom import Workspace
from tests.store.ground import dump

FACTS = {
    "Maya": "Maya lives in Porto since the spring.",
    "oak": "The oak for the mast step cost 310 euros.",
    "Ann": "Ann is in hospital with a broken leg.",
}


@pytest.fixture
def ids(workspace: Workspace) -> dict[str, int]:
    """A workspace that knows three things, by their subjects."""
    return {subject: workspace.semantic.remember([subject], text).id for subject, text in FACTS.items()}


def write(file: Path, *lines: Any) -> Path:
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return file


def test_questions_are_read_from_lines_and_from_a_list(tmp_path: Path) -> None:
    given = [
        {"question": "Where does Maya live?", "phrases": "Porto"},
        {"question": "Who is ill?", "ids": [7, 8, 7], "category": "people"},
        {"question": "Who rules Japan?", "unknown": True},
    ]
    lines = read_questions(write(tmp_path / "own.jsonl", given[0], "", *given[1:]))
    assert lines == read_questions(write(tmp_path / "own.json", json.dumps(given, indent=2)))
    assert lines[1] == OwnQuestion(question="Who is ill?", ids=(7, 8), category="people")
    assert [each.is_unknown for each in lines] == [False, False, True]
    assert lines[0].phrases == ("Porto",)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"question": "x"', "line 2: it is not JSON"),
        ("[1]", "line 2: it must be an object, not list"),
        ({"phrases": ["x"]}, "line 2: it needs a question"),
        ({"question": " ", "phrases": ["x"]}, "line 2: it needs a question"),
        ({"question": "x"}, "line 2: say what must be found"),
        ({"question": "x", "phrases": []}, "line 2: say what must be found"),
        ({"question": "x", "phrases": [" "]}, "line 2: phrases must be texts"),
        ({"question": "x", "ids": ["7"]}, "line 2: ids must be whole numbers"),
        ({"question": "x", "ids": [True]}, "line 2: ids must be whole numbers"),
        ({"question": "x", "phrase": "y"}, "line 2: there is no field 'phrase'"),
        ({"question": "x", "unknown": "yes"}, "line 2: unknown is true or false"),
        ({"question": "x", "known": 1}, "line 2: known is true or false"),
        ({"question": "x", "pair": ["Ann"]}, "line 2: a pair has two subjects or more"),
        ({"question": "x", "ids": 3, "within": 0}, "line 2: within must be a whole number from 1 to 100"),
        ({"question": "x", "pair": ["Ann", "Bo"], "within": 1}, "line 2: within is for what must be found"),
        ({"question": "x", "unknown": True, "known": True}, "line 2: it is unknown, so"),
        ({"question": "x", "unknown": True, "ids": 3}, "line 2: it is unknown, so"),
    ],
)
def test_a_bad_line_is_named_with_the_reason(tmp_path: Path, line: Any, reason: str) -> None:
    file = write(tmp_path / "own.jsonl", {"question": "Who?", "phrases": "x"}, line)
    with pytest.raises(Rejected, match=r"own\.jsonl") as refused:
        read_questions(file)
    assert reason in refused.value.message


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "holds no question"),
        ("[]", "holds no question"),
        ('[{"question": "x", "ids": 1},\n', "line 2: it is not JSON"),
        ('[{"question": "x", "ids": 1}, 7]', "question 2: it must be an object, not int"),
        ("x\n" * 8, "line 5: .*; and 3 more"),
    ],
)
def test_a_file_that_holds_no_questions_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(Rejected, match=reason):
        read_questions(write(tmp_path / "own.json", text))


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.json").write_bytes(b'{"question": "caf\xe9"}')
    for name, reason in {"nothing.json": "No such file", "latin.json": "not UTF-8"}.items():
        with pytest.raises(Rejected, match=reason):
            read_questions(tmp_path / name)


def test_what_must_be_found_is_found_by_id_and_by_phrase(workspace: Workspace, ids: dict[str, int]) -> None:
    right, wrong = ask_own(
        workspace,
        [
            OwnQuestion(question="What did the oak for the mast cost?", ids=(ids["oak"],), phrases=("310  EUROS",)),
            OwnQuestion(question="What did the oak for the mast cost?", ids=(ids["oak"],), phrases=("400 euros",)),
        ],
        depth=5,
    )
    assert (right.ranks, right.missing, right.is_right) == ((1, 1), (), True)
    assert (wrong.ranks, wrong.missing, wrong.is_right) == ((1,), ("400 euros",), False)
    assert (wrong.first_id, wrong.first_text) == (ids["oak"], FACTS["oak"])


def test_the_unknown_is_right_if_nothing_fits(workspace: Workspace, ids: dict[str, int]) -> None:
    del ids
    japan, oak = ask_own(
        workspace,
        [
            OwnQuestion(question="Who is the prime minister of Japan?"),
            OwnQuestion(question="What did the oak for the mast step cost?"),
        ],
        depth=5,
    )
    assert (japan.fits, japan.is_right) == (False, True)
    assert (oak.fits, oak.is_right) == (True, False)


def test_what_is_known_is_right_if_something_answers_among_the_first(workspace: Workspace, ids: dict[str, int]) -> None:
    del ids
    oak, japan = ask_own(
        workspace,
        [
            OwnQuestion(question="What did the oak for the mast step cost?", known=True, within=1),
            OwnQuestion(question="Who is the prime minister of Japan?", known=True),
        ],
        depth=5,
    )
    assert (oak.is_present, oak.is_right) == (True, True)
    assert (japan.is_present, japan.is_right, japan.lacks) == (False, False, "an answer")


def test_how_deep_something_may_stand_is_said_for_one_question(workspace: Workspace, ids: dict[str, int]) -> None:
    asked = OwnQuestion(question="What did the oak for the mast step cost?", ids=(ids["oak"], ids["Ann"]))
    deep, first = ask_own(workspace, [asked, replace(asked, within=1)], depth=10)
    assert deep.is_right
    assert (first.ranks, first.missing) == ((1,), (ids["Ann"],))
    (wide,) = ask_own(workspace, [replace(asked, within=10)], depth=1)
    assert wide.is_right


def test_a_pair_is_right_if_what_is_understood_of_both_comes_first(workspace: Workspace, ids: dict[str, int]) -> None:
    del ids
    semantic = workspace.semantic
    text = "Maya and Ann are sisters and call each other every Sunday."
    semantic.create_understanding(["Maya", "Ann"], text, "They are sisters.")
    semantic.add_alias("Ann", "Annie")
    question = "How are Maya and Ann related, as sisters?"
    right, alias, other, unknown = ask_own(
        workspace,
        [
            OwnQuestion(question=question, pair=("Maya", "Ann")),
            OwnQuestion(question=question, pair=("Annie", "Maya")),
            OwnQuestion(question=question, pair=("Maya", "oak")),
            OwnQuestion(question=question, pair=("Maya", "Zoe")),
        ],
        depth=5,
    )
    assert (right.leads, alias.leads) == (True, True)
    assert (other.leads, other.lacks, unknown.leads) == (False, "first: Maya and oak", False)
    found = report([right, other], Demands(paired=0.6), depth=5)
    assert (found.paired, found.found) == (0.5, None)
    assert found.unmet == ("paired 0.500, demanded 0.600",)


def test_asking_writes_nothing(workspace: Workspace, ids: dict[str, int], store_url: str) -> None:
    before = dump(store_url, workspace.info.id)
    asked = OwnQuestion(question="Where does Maya live?", ids=(ids["Maya"],), known=True, pair=("Maya", "Ann"))
    ask_own(workspace, [asked], depth=10)
    assert dump(store_url, workspace.info.id) == before


KNOWN = OwnAnswer(OwnQuestion(question="k", ids=(1, 2), category="a"), (1, 3), (), True, 0.9, 1, "one")
MISSED = replace(KNOWN, asked=OwnQuestion(question="m", ids=(1,), category="b"), ranks=(), missing=(1,), fits=False)
SILENT = replace(KNOWN, asked=OwnQuestion(question="s"), ranks=(), fits=False, strength=0.1)
TALKATIVE = replace(SILENT, fits=True)


def test_a_run_is_summed_up_in_all_and_by_category() -> None:
    found = report([KNOWN, MISSED, SILENT, TALKATIVE], Demands(), depth=10)
    assert (found.questions, found.known, found.unknown) == (4, 2, 2)
    assert (found.found, found.answered, found.silent) == (0.5, 0.5, 0.5)
    assert (found.quality["recall@5"], found.quality["mrr"]) == (0.5, 0.5)
    assert "recall@20" not in found.quality
    assert [(each["category"], each["right"]) for each in found.categories] == [("a", 1.0), ("b", 0.0)]
    assert found.failed == (MISSED, TALKATIVE)
    assert found.separation is not None
    assert found.separation.auroc == 1.0


@pytest.mark.parametrize(
    ("demands", "unmet"),
    [
        (Demands(), ["found", "silent"]),
        (Demands(found=0.5, silent=0.5), []),
        (Demands(found=0.5, silent=0.5, answered=0.6), ["answered"]),
    ],
)
def test_a_run_must_reach_the_shares_that_are_demanded(demands: Demands, unmet: list[str]) -> None:
    found = report([KNOWN, MISSED, SILENT, TALKATIVE], demands, depth=10)
    assert [each.split()[0] for each in found.unmet] == unmet


def test_nothing_is_demanded_of_questions_that_were_not_asked() -> None:
    assert report([KNOWN], Demands(answered=1.0), depth=10).unmet == ()
    assert report([SILENT], Demands(), depth=10).unmet == ()
