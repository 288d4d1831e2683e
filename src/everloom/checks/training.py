"""Learning what evidence says about answers, from stories with the questions they answer and questions they do not.

Each story is stored through the verbs, alone and together with others, as written and with several memories joined to
one, and is asked its own questions and those of another story. Two logistic functions are fitted to what the search
found: how likely a text answers, and how likely a memory holds an answer.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from everloom.clock import ManualClock
from everloom.errors import Rejected
from everloom.kernel.search import Scope
from everloom.loom import Workspace, open_loom
from everloom.settings import Settings

Column = npt.NDArray[np.float64]

_BEGIN = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
_DEPTH = 20
# So many stories share a workspace, and so many memories are joined to one.
_SHAPES = ((1, 1), (3, 1), (12, 1), (3, 4), (8, 8))
# The evidence about a text, and the sign that each weight must have: more of it must never tell against what it is for.
_TEXT = {"strength": 1, "unnamed": -1, "told": 1, "untold": -1, "uncounted": -1}
_QUESTION = {"odds": 1, "documents": -1, "length": -1}
_MEMORY = {"bearing": 1, "documents": -1, "length": -1}
# A question that nothing answers counts less than one that has an answer: of the second kind people ask more.
_FOREIGN, _UNKNOWN = 0.5, 0.15
_ROUNDS = 60
_CALM = 30
_PENALTY = 2.0
_DIGITS = 2


@dataclass(frozen=True, slots=True)
class TrainingQuestion:
    """A question, the memories that answer it, and whether it is about something else entirely."""

    text: str
    answers: frozenset[str]
    is_foreign: bool = False


@dataclass(frozen=True, slots=True)
class TrainingStory:
    """Memories by id, each with its text and its subjects, and questions."""

    name: str
    language: str
    memories: Mapping[str, tuple[str, tuple[str, ...]]]
    questions: tuple[TrainingQuestion, ...]


class JudgedHit(NamedTuple):
    """One hit of a question: its evidence, whether it answers, its place, and what kind of question it was."""

    evidence: Mapping[str, float]
    is_right: bool
    place: int
    has_answer: bool
    is_foreign: bool


def read_stories(file: Path) -> list[TrainingStory]:
    """Read stories as `benchmarks/recall` writes them."""
    try:
        return _stories(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Rejected(
            f"{file} holds no stories: {error!r}", hint="write them as benchmarks/recall/train.json"
        ) from error


def _stories(content: Mapping[str, Any]) -> list[TrainingStory]:
    return [_story(each) for each in content["stories"]]


def _story(given: Mapping[str, Any]) -> TrainingStory:
    """Read a story; questions that an understanding answers are left out, for only memories are stored."""
    known = {each["id"] for each in given["memories"]}
    if missing := {name for each in given["questions"] for name in each["answer"]} - known:
        raise ValueError(f"{given['id']} has no memory called {', '.join(sorted(missing))}")
    memories = {
        each["id"]: (each["text"], tuple(each["subjects"])) for each in given["memories"] if "rests_on" not in each
    }
    questions = tuple(
        TrainingQuestion(each["question"], frozenset(each["answer"]), each["category"] == "foreign")
        for each in given["questions"]
        if memories.keys() >= {*each["answer"]}
    )
    return TrainingStory(given["id"], given["language"], memories, questions)


def groups_of(stories: Sequence[TrainingStory]) -> list[list[TrainingStory]]:
    """Put stories together in several ways; each group is to be a workspace."""
    strange = [_with_foreign(place, stories) for place in range(len(stories))]
    return [group for shape in _SHAPES for group in _grouped(strange, *shape)]


def train(
    groups: Sequence[Sequence[TrainingStory]], settings: Settings, progress: Callable[[int], None]
) -> dict[str, Any]:
    """Learn the weights for the embedder of these settings; `progress` is told of each group."""
    cases: list[JudgedHit] = []
    clock = ManualClock(_BEGIN)
    with (
        tempfile.TemporaryDirectory() as folder,
        open_loom(Path(folder) / "loom.db", settings=settings, clock=clock) as loom,
    ):
        for number, group in enumerate(groups):
            cases += _asked(loom.workspace(f"group {number}"), group, clock)
            progress(1)
    if not any(each.is_right for each in cases):
        raise Rejected("these stories answer no question", hint="name for each question the memories that answer it")
    return _learned(cases)


def _with_foreign(place: int, stories: Sequence[TrainingStory]) -> TrainingStory:
    """Ask a story what another one of its language answers, too."""
    story = stories[place]
    others = [each for each in stories if each.language == story.language and each is not story]
    other = (others or stories)[place % len(others or stories)]
    foreign = tuple(replace(each, answers=frozenset(), is_foreign=True) for each in other.questions if each.answers)
    return replace(story, questions=story.questions + foreign)


def _grouped(stories: Sequence[TrainingStory], count: int, joined: int) -> Iterator[list[TrainingStory]]:
    """Put stories together; what one of them answers is foreign to none."""
    for start in range(0, len(stories) - count + 1, count):
        group = stories[start : start + count]
        known = {each.text for story in group for each in story.questions if each.answers}
        kept = [
            replace(story, questions=tuple(each for each in story.questions if each.answers or each.text not in known))
            for story in group
        ]
        yield [_joined(story, joined) for story in kept]


def _joined(story: TrainingStory, count: int) -> TrainingStory:
    """Join every few memories to one long note."""
    names = [*story.memories]
    parts = [names[start : start + count] for start in range(0, len(names), count)]
    into = {name: part[0] for part in parts for name in part}
    memories = {
        part[0]: (
            " ".join(story.memories[name][0] for name in part),
            tuple(dict.fromkeys(subject for name in part for subject in story.memories[name][1]))[:_DEPTH],
        )
        for part in parts
    }
    questions = (replace(each, answers=frozenset(into[name] for name in each.answers)) for each in story.questions)
    return replace(story, memories=memories, questions=tuple(questions))


def _asked(workspace: Workspace, group: Sequence[TrainingStory], clock: ManualClock) -> Iterator[JudgedHit]:
    """Store the memories of some stories in a workspace, and ask their questions."""
    ids: dict[tuple[str, str], int] = {}
    for story in group:
        session = workspace.loom.workspace(workspace.name, session=story.name)
        for name, (text, subjects) in story.memories.items():
            clock.advance(timedelta(minutes=1))
            ids[story.name, name] = session.semantic.remember(subjects, text).id
    scope = Scope(kinds=frozenset({"observation"}))
    for story in group:
        for question in story.questions:
            right = {ids[story.name, name] for name in question.answers}
            for place, hit in enumerate(workspace.find(question.text, limit=_DEPTH, within=scope).hits):
                yield JudgedHit(hit.evidence, hit.id in right, place, bool(right), question.is_foreign)


def _learned(cases: Sequence[JudgedHit]) -> dict[str, Any]:
    """Fit first which text of a memory answers, then how likely, then whether the memory holds an answer."""
    evidence = {name: np.array([each.evidence[name] for each in cases]) for name in cases[0].evidence}
    right, places = np.array([float(each.is_right) for each in cases]), np.array([each.place for each in cases])
    answered = np.array([each.has_answer for each in cases])
    worth = np.array([1.0 if each.has_answer else _FOREIGN if each.is_foreign else _UNKNOWN for each in cases])
    best, text = _fitted(_TEXT, evidence, right, answered.astype(float))
    odds = best + sum((weight * evidence[name] for name, weight in text.items()), np.zeros(len(cases)))
    # Half of a question's weight is on the hit that leads, the rest on those behind it.
    lead = np.where(places == 0, 0.5, np.where(places < 4, 0.1, 0.2 / (_DEPTH - 4)))
    always, whole = _fitted(_QUESTION, evidence | {"odds": odds}, right, worth * lead)
    share = whole.pop("odds")
    answers = {"always": always + share * best, **{name: share * weight for name, weight in text.items()}, **whole}
    first = (places == 0) & (answered | np.array([each.is_foreign for each in cases]))
    balance = np.where(answered, 1.0, answered[first].sum() / max(1, (~answered[first]).sum()))
    always, known = _fitted(_MEMORY, evidence, answered.astype(float), balance * first)
    return {"answers": _rounded(answers), "known": _rounded({"always": always, **known})}


def _fitted(
    signs: Mapping[str, int], evidence: Mapping[str, Column], right: Column, worth: Column
) -> tuple[float, dict[str, float]]:
    """Fit a logistic function by Newton's method; a weight of the wrong sign stays at zero."""
    chosen = worth > 0
    raw = np.stack([evidence[name][chosen] for name in signs], axis=1)
    middle, spread = raw.mean(axis=0), raw.std(axis=0) + 1e-9
    table = np.column_stack([np.ones(len(raw)), (raw - middle) / spread])
    wanted = np.array([0, *signs.values()])
    penalty = _PENALTY * np.array([0.0, *np.ones(len(signs))])
    weights = np.zeros(len(wanted))
    for step in range(_ROUNDS):
        likely = 1 / (1 + np.exp(-table @ weights))
        slope = table.T @ (worth[chosen] * (right[chosen] - likely)) - penalty * weights
        free = ~((wanted * weights <= 0) & (wanted * slope < 0) & (wanted != 0))
        open_table = table[:, free]
        bend = (open_table * (worth[chosen] * likely * (1 - likely))[:, None]).T @ open_table
        moved = weights.copy()
        moved[free] += np.linalg.solve(bend + np.diag(penalty[free] + 1e-9), slope[free])
        moved = np.where((wanted != 0) & (wanted * moved < 0), 0.0, moved)
        # Late steps are halved: with weights that meet their bounds, whole ones may go to and fro.
        weights = moved if step < _CALM else (weights + moved) / 2
    plain = weights[1:] / spread
    return float(weights[0] - middle @ plain), dict(zip(signs, plain.tolist(), strict=True))


def _rounded(weights: Mapping[str, float]) -> dict[str, float]:
    return {name: round(weight, _DIGITS) for name, weight in weights.items() if round(weight, _DIGITS)}
