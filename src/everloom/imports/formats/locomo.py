"""Conversations in the format of LoCoMo: dated sessions of turns, each with its speaker.

Knows only the file format; the benchmark, which also asks its questions, reads it from here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from everloom.clock import clamped, instant_in, moved
from everloom.imports.formats.exports import NOT_ONE, first_element
from everloom.imports.reading.arrays import json_elements
from everloom.imports.reading.folders import files_in
from everloom.imports.reading.injected import spoken_part
from everloom.imports.records import ForeignTurn, Part, Record, Step

_SESSION = re.compile(r"session_(\d+)\Z")
# How LoCoMo writes dates, and how other benchmarks do that were converted to its format; ISO 8601 is tried last.
_WHEN = ("%I:%M %p on %d %B, %Y", "%Y/%m/%d (%a) %H:%M", "%Y/%m/%d %H:%M", "%d %B, %Y", "%B %d, %Y")
_UNDATED = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class DatedTurn:
    """One turn of a session, under the id that its conversation gives it."""

    id: str
    speaker: str
    text: str
    at: datetime


class Locomo:
    """Conversations in the format of LoCoMo."""

    name = "locomo"
    about = "conversations in LoCoMo's format: [{sample_id, conversation: {session_1, session_1_date_time, …}}]"
    grows = False
    retires = False

    def fits(self, path: Path) -> bool:
        """Say whether a path is a file in this format."""
        talk = first_element(path).get("conversation") if path.is_file() else None
        return isinstance(talk, dict) and any(_SESSION.match(key) for key in talk)

    def parts(self, path: Path) -> Iterator[Part | str]:
        """List the file."""
        return files_in(path, lambda name: name.endswith(".json"))

    def read(self, part: Part, start: int) -> Iterator[Step]:
        """Read conversations, one a step."""
        with part.open() as file:
            for element in json_elements(file, start):
                try:
                    turns = tuple(_turns(element.value, f"{Path(part.name).stem}:{element.end}"))
                    yield Step(element.end, turns)
                except (ValueError, KeyError, TypeError, AttributeError):
                    yield Step(element.end, skipped=(NOT_ONE,))


def _turns(sample: Mapping[str, Any], name: str) -> Iterator[Record]:
    known = str(sample.get("sample_id") or name)
    for number, session in dated_sessions(sample["conversation"]):
        for turn in session:
            if text := spoken_part(turn.text):
                yield ForeignTurn(
                    key=f"{known}:{number}:{turn.id}",
                    speaker=turn.speaker,
                    text=text,
                    at=turn.at,
                    session=f"locomo:{known[:150]}:{number}",
                )


def dated_sessions(talk: Mapping[str, Any]) -> Iterator[tuple[int, tuple[DatedTurn, ...]]]:
    """Read the sessions of a conversation in order, each with its number; empty ones are left out."""
    for number in sorted(int(match[1]) for key in talk if (match := _SESSION.match(key)) and talk[key]):
        yield number, tuple(_dated(talk, number))


def _dated(talk: Mapping[str, Any], number: int) -> Iterator[DatedTurn]:
    """Read the turns of one session, one minute apart; sessions without a date are placed one day apart."""
    told = talk.get(f"session_{number}_date_time")
    start = said_when(str(told)) if told else _UNDATED + timedelta(days=number)
    for offset, turn in enumerate(talk[f"session_{number}"]):
        known = str(turn.get("dia_id") or f"D{number}:{offset + 1}")
        yield DatedTurn(known, str(turn["speaker"]), str(turn["text"]), moved(start, timedelta(minutes=offset)))


def said_when(text: str) -> datetime:
    """Read a date."""
    for form in _WHEN:
        with suppress(ValueError):
            return clamped(datetime.strptime(text.strip(), form).replace(tzinfo=UTC))
    return instant_in(text.strip())
