"""Reads data in the formats of LoCoMo and BEAM: conversations of dated sessions, and questions answered by known turns.

Knows only the questions; the sessions are read as an import reads them. The data is never part of this project: its
path is given on the command line.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from everloom.errors import Rejected
from everloom.imports.formats.locomo import dated_sessions
from everloom.imports.storing import parts_of
from everloom.kernel.verbs import LONGEST_TEXT

_SEPARATED = re.compile(r"[^\w:.#-]+")
# The categories are numbers in both formats. BEAM's questions also name the ability that they test.
_LOCOMO = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_BEAM = {
    1: "several sessions",
    2: "time",
    3: "preferences",
    4: "single facts",
    6: "abstention",
    7: "changed knowledge",
    8: "contradictions",
    9: "order of events",
}
# What the conversation does not answer (LoCoMo's fifth, BEAM's sixth): no turn is right, so recall is undefined.
_UNANSWERABLE = frozenset({5, 6})


@dataclass(frozen=True, slots=True)
class SampleTurn:
    """One turn of a conversation, or a part of a long one; `others` are further speakers, if several were joined."""

    id: str
    speaker: str
    text: str
    at: datetime
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    """A question and the turns that answer it; none does if the conversation cannot answer it."""

    text: str
    category: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class SampleConversation:
    """Turns in order, by session, and the questions about them: those that they answer, and those that they do not."""

    name: str
    sessions: tuple[tuple[SampleTurn, ...], ...]
    questions: tuple[SampleQuestion, ...]
    unanswerable: tuple[SampleQuestion, ...] = ()

    @property
    def turns(self) -> list[SampleTurn]:
        """List every turn in order."""
        return [turn for session in self.sessions for turn in session]

    @property
    def divided_turns(self) -> int:
        """Count the turns that come in several parts."""
        return sum(parts > 1 for parts in Counter(turn.id for turn in self.turns).values())

    @property
    def session_of(self) -> dict[str, int]:
        """Look up the session of each turn, by number."""
        return {turn.id: number for number, session in enumerate(self.sessions, 1) for turn in session}


def read_conversations(path: Path) -> list[SampleConversation]:
    """Read a file of conversations; questions whose evidence is missing or unknown are left out."""
    try:
        samples = json.loads(path.read_text(encoding="utf-8"))
        return [conversation(sample, f"conversation {number}") for number, sample in enumerate(samples, 1)]
    except OSError as error:
        raise Rejected(
            f"cannot read {path}: {error.strerror}", hint="give the path of a file in LoCoMo's or BEAM's format"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise Rejected(
            f"{path} is not in LoCoMo's format: {error}", hint="the file must hold a list: [{conversation, qa}]"
        ) from error


def conversation(sample: Mapping[str, Any], name: str) -> SampleConversation:
    """Read one conversation; `name` is used if it has none of its own."""
    sessions = tuple(
        tuple(SampleTurn(turn.id, turn.speaker, turn.text, turn.at) for turn in session)
        for _, session in dated_sessions(sample["conversation"])
    )
    known = {turn.id for session in sessions for turn in session}
    asked = list(questions(sample["qa"], known))
    answered, unanswerable = (tuple(each for each in asked if bool(each.evidence) is has) for has in (True, False))
    return SampleConversation(str(sample.get("sample_id", name)), sessions, answered, unanswerable)


def questions(found: list[Mapping[str, Any]], known: set[str]) -> Iterator[SampleQuestion]:
    """Read the questions that the conversation answers, and those that are known to have no answer in it."""
    for question in found:
        given = question.get("evidence") or ()
        entries = [given] if isinstance(given, str) else map(str, given)
        # LoCoMo's evidence is inconsistent: an entry is a turn's id, or several in one string.
        evidence = known.intersection(part for entry in entries for part in (entry, *_SEPARATED.split(entry)))
        number = question.get("category", 0)
        category = (_BEAM if "ability" in question else _LOCOMO).get(number, "other")
        if number in _UNANSWERABLE:
            # LoCoMo names the turns that mislead; they are no evidence.
            yield SampleQuestion(str(question["question"]), category, frozenset())
        elif evidence:
            yield SampleQuestion(str(question["question"]), category, frozenset(evidence))


def joined(conversation: SampleConversation, count: int) -> SampleConversation:
    """Join every `count` consecutive turns into one: the same questions over longer texts."""
    if count == 1:
        return conversation
    parts = [[session[at : at + count] for at in range(0, len(session), count)] for session in conversation.sessions]
    home = {turn.id: part[0].id for session in parts for part in session for turn in part}
    sessions = tuple(tuple(_one_of(part) for part in session) for session in parts)
    asked = (replace(each, evidence=frozenset(home[turn] for turn in each.evidence)) for each in conversation.questions)
    return replace(conversation, sessions=sessions, questions=tuple(asked))


def divided(conversation: SampleConversation) -> SampleConversation:
    """Divide turns that are longer than a memory takes; each part has its turn's id, so that no evidence is lost."""
    sessions = tuple(tuple(part for turn in session for part in _divided(turn)) for session in conversation.sessions)
    return replace(conversation, sessions=sessions)


def _divided(turn: SampleTurn) -> Iterator[SampleTurn]:
    # A turn is remembered with its speaker before it.
    room = LONGEST_TEXT - len(turn.speaker) - len(": ")
    if len(turn.text) <= room:
        yield turn
        return
    yield from (replace(turn, text=part) for part in parts_of(turn.text, room))


def _one_of(turns: Sequence[SampleTurn]) -> SampleTurn:
    """Join turns into one that has the id of the first."""
    first, *rest = turns
    others = dict.fromkeys(turn.speaker for turn in rest if turn.speaker != first.speaker)
    text = " ".join([first.text, *(f"{turn.speaker}: {turn.text}" for turn in rest)])
    return replace(first, text=text, others=tuple(others))
