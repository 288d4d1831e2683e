"""Chats of Gemini CLI: one file of JSON lines for each session, below `~/.gemini/tmp/PROJECT/chats`.

Taken are the words of the person and of Gemini. Thoughts, tool calls, and what the client tells the model about its
surroundings are not speech.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from everloom.imports.reading.dates import moment
from everloom.imports.reading.folders import files_in
from everloom.imports.reading.injected import spoken_part
from everloom.imports.reading.lines import json_lines
from everloom.imports.records import ForeignTurn, Part, Step

_SPEAKERS = {"user": "User", "gemini": "Gemini"}
_RECORD = "records of the client that hold no speech"
_NO_SPEECH = "tool calls, tool results and thoughts"
_SURROUNDINGS = "<session_context>"


class GeminiChats:
    """Chats of Gemini CLI."""

    name = "gemini"
    about = "Gemini CLI chats: a session's session-….jsonl, or ~/.gemini/tmp"
    grows = True
    retires = False

    def fits(self, path: Path) -> bool:
        """Say whether a path is a chat, or a folder of them."""
        if path.is_file() and path.suffix != ".jsonl":
            return False
        first = next((part for part in self.parts(path) if isinstance(part, Part) and part.size), None)
        return first is not None and _session_of(first) is not None

    def parts(self, path: Path) -> Iterator[Part | str]:
        """List the chats."""
        yield from files_in(path, lambda name: name.endswith(".jsonl"))

    def read(self, part: Part, start: int) -> Iterator[Step]:
        """Read the turns of a chat."""
        session = _session_of(part)
        with part.open() as file:
            for line in json_lines(file, start):
                if line.value is None or session is None:
                    yield Step(line.end, skipped=(line.problem or _RECORD,))
                else:
                    turn = _turn(line.value, session)
                    found = ((turn,), ()) if isinstance(turn, ForeignTurn) else ((), (turn,))
                    yield Step(line.end, *found)


def _session_of(part: Part) -> str | None:
    """Read the session from the first line of a chat; None if it is none."""
    with part.open() as file:
        head = next(iter(json_lines(file, 0)), None)
    value = head.value if head else None
    # No other format begins like this.
    if value is None or "projectHash" not in value or not isinstance(value.get("sessionId"), str):
        return None
    return str(value["sessionId"])


def _turn(value: dict[str, Any], session: str) -> ForeignTurn | str:
    """Read a line as a turn, or say why it is none."""
    speaker, key, at = _SPEAKERS.get(str(value.get("type"))), value.get("id"), moment(value.get("timestamp"))
    if speaker is None:
        return _RECORD
    if at is None or not isinstance(key, str):
        return "a message without a time or an id"
    whole = _text(value.get("content"))
    text = "" if whole.startswith(_SURROUNDINGS) else spoken_part(whole)
    return ForeignTurn(key=key, speaker=speaker, text=text, at=at, session=session) if text else _NO_SPEECH


def _text(content: object) -> str:
    """Join what was said in a message; parts of any other kind are not speech."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    said = (part.get("text") for part in parts if isinstance(part, dict) and not part.get("thought"))
    return "\n\n".join(text for text in said if isinstance(text, str))
