"""Rollouts of Codex: one file of JSON lines for each session, below `~/.codex/sessions`.

Taken are the words of the person and of Codex. Reasoning, tool calls and their results, and what the client tells the
model about its surroundings are not speech.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from everloom.imports.reading.dates import moment
from everloom.imports.reading.folders import files_in
from everloom.imports.reading.injected import spoken_part
from everloom.imports.reading.lines import Line, json_lines
from everloom.imports.records import ForeignTurn, Part, Step

_SPEAKERS = {"user": "User", "assistant": "Codex"}
_TEXTS = ("input_text", "output_text", "text")
_RECORD = "records of the client that hold no speech"
_NO_SPEECH = "tool calls, tool results and reasoning"
_SURROUNDINGS = "what the client tells the model about its surroundings"
# How instructions begin that the client sends as if the person had said them.
_INSTRUCTIONS = (
    "# AGENTS.md instructions",
    "<user_instructions>",
    "<environment_context>",
    "<permissions instructions>",
    "<skill>",
    "<skills_instructions>",
    "<turn_aborted>",
    "<subagent_notification>",
)


@dataclass(frozen=True, slots=True)
class _RolloutHead:
    """What the first line of a rollout says about all of it."""

    session: str
    at: datetime | None


class Codex:
    """Rollouts of Codex."""

    name = "codex"
    about = "Codex rollouts: a session's rollout-….jsonl, or ~/.codex/sessions"
    grows = True
    retires = False

    def fits(self, path: Path) -> bool:
        """Say whether a path is a rollout, or a folder of them."""
        if path.is_file() and path.suffix != ".jsonl":
            return False
        for part in self.parts(path):
            if isinstance(part, Part) and part.size:
                with part.open() as file:
                    return _head(file, "") is not None
        return False

    def parts(self, path: Path) -> Iterator[Part | str]:
        """List the rollouts."""
        if path.is_file():
            yield from files_in(path, bool)
        else:
            yield from files_in(path, lambda name: name.startswith("rollout-") and name.endswith(".jsonl"))

    def read(self, part: Part, start: int) -> Iterator[Step]:
        """Read the turns of a rollout."""
        with part.open() as file:
            head = _head(file, Path(part.name).stem)
            if head is None:
                yield Step(start, skipped=("a file that is no rollout",))
                return
            for line in json_lines(file, start):
                if line.value is None:
                    yield Step(line.end, skipped=(line.problem or _RECORD,))
                else:
                    turn = _turn(line, line.value, head)
                    found = ((turn,), ()) if isinstance(turn, ForeignTurn) else ((), (turn,))
                    yield Step(line.end, *found)


def _head(file: Any, name: str) -> _RolloutHead | None:
    """Read whose rollout it is; None if it is none."""
    first = next(json_lines(file, 0), None)
    if first is None or first.value is None:
        return None
    value = first.value
    # Earlier versions wrote no envelope: the first line is the description itself.
    told = value.get("payload") if value.get("type") == "session_meta" else value
    if not isinstance(told, dict) or not isinstance(told.get("id"), str) or "timestamp" not in told:
        return None
    return _RolloutHead(told["id"] or name, moment(told.get("timestamp")))


def _turn(line: Line, value: dict[str, Any], head: _RolloutHead) -> ForeignTurn | str:
    """Read a line as a turn, or say why it is none."""
    said = value.get("payload") if value.get("type") == "response_item" else value
    if not isinstance(said, dict) or said.get("type") != "message":
        return _NO_SPEECH if value.get("type") == "response_item" else _RECORD
    speaker, at = _SPEAKERS.get(str(said.get("role"))), moment(value.get("timestamp")) or head.at
    if speaker is None:
        return _SURROUNDINGS
    if at is None:
        return "a message without a time"
    whole = _text(said.get("content"))
    text = "" if whole.lstrip().startswith(_INSTRUCTIONS) else spoken_part(whole)
    if not text:
        return _SURROUNDINGS
    # Messages have no ids of their own, and the file only grows: a message is known by its place.
    return ForeignTurn(key=f"{head.session}:{line.begin}", speaker=speaker, text=text, at=at, session=head.session)


def _text(content: object) -> str:
    blocks = content if isinstance(content, list) else []
    said = (block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") in _TEXTS)
    return "\n\n".join(text for text in said if isinstance(text, str))
