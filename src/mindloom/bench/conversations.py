"""Reading LoCoMo-shaped data: conversations of dated sessions, and questions whose answers lie in known turns.

Knows the file's shape only. The data is never part of this project: its path is given on the command line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from mindloom.errors import Rejected

SESSION = re.compile(r"session_(\d+)\Z")
WHEN = "%I:%M %p on %d %B, %Y"
ADVERSARIAL = 5


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing that somebody said."""

    id: str
    speaker: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the turns that answer it."""

    text: str
    category: int
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns in order, by session, and the questions about them."""

    name: str
    sessions: tuple[tuple[Turn, ...], ...]
    questions: tuple[Question, ...]

    @property
    def turns(self) -> list[Turn]:
        """List every turn in order."""
        return [turn for session in self.sessions for turn in session]


def read_conversations(path: Path) -> list[Conversation]:
    """Read a file of conversations; questions without a known answer, and adversarial ones, are left out."""
    try:
        samples = json.loads(path.read_text(encoding="utf-8"))
        return [conversation(sample) for sample in samples]
    except OSError as error:
        raise Rejected(f"cannot read {path}: {error.strerror}", hint="give the path of a LoCoMo-shaped file") from error
    except (ValueError, KeyError, TypeError) as error:
        raise Rejected(
            f"{path} is not LoCoMo-shaped: {error}", hint="it holds a list of conversations with qa"
        ) from error


def conversation(sample: Mapping[str, Any]) -> Conversation:
    """Read one conversation."""
    talk = sample["conversation"]
    numbers = sorted(int(match[1]) for key in talk if (match := SESSION.match(key)) and talk[key])
    sessions = tuple(tuple(turns(talk, number)) for number in numbers)
    known = {turn.id for session in sessions for turn in session}
    return Conversation(str(sample["sample_id"]), sessions, tuple(questions(sample["qa"], known)))


def turns(talk: Mapping[str, Any], number: int) -> Iterator[Turn]:
    """Read the turns of one session, a minute apart from its date on."""
    start = datetime.strptime(talk[f"session_{number}_date_time"], WHEN).replace(tzinfo=UTC)
    for offset, turn in enumerate(talk[f"session_{number}"]):
        yield Turn(turn["dia_id"], turn["speaker"], turn["text"], start + timedelta(minutes=offset))


def questions(found: list[Mapping[str, Any]], known: set[str]) -> Iterator[Question]:
    """Read the questions that have an answer in the conversation."""
    for question in found:
        evidence = (
            frozenset(part for entry in question.get("evidence", ()) for part in re.findall(r"D\d+:\d+", entry)) & known
        )
        if evidence and question["category"] != ADVERSARIAL:
            yield Question(question["question"], question["category"], evidence)
