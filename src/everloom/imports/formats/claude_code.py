"""Transcripts of Claude Code: one file of JSON lines for each session, below `~/.claude/projects`.

Taken are the words of the person and of Claude. Thinking, tool calls and their results, the talk of subagents,
summaries of a compaction and what hooks add are not speech.
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

_SPEAKERS = {"user": "User", "assistant": "Claude"}
# Flags of a line that nobody in the conversation said, and what the report calls it.
_ASIDE = {
    "isSidechain": "the talk of a subagent",
    "isMeta": "a note of the client",
    "isCompactSummary": "a summary of the conversation",
    "isVisibleInTranscriptOnly": "a note of the client",
    "isApiErrorMessage": "an error of the client",
}
_NO_SPEECH = "tool calls, tool results and thinking"
_RECORD = "records of the client that hold no speech"
_INTERRUPTED = "[Request interrupted by user"
# So many lines of a file are looked at to recognise it: the first ones may be records of the client.
_LOOKED_AT = 50
# Lines that only transcripts of Claude Code have.
_TELLING = frozenset(
    {"file-history-snapshot", "queue-operation", "summary", "attachment", "system", "user", "assistant"}
)


class ClaudeCode:
    """Transcripts of Claude Code."""

    name = "claude-code"
    about = "Claude Code transcripts: a session's .jsonl, a project's folder, or ~/.claude/projects"
    grows = True
    retires = False

    def fits(self, path: Path) -> bool:
        """Say whether a path is a transcript, or a folder of them."""
        return any(_is_transcript(part) for part in _first(path) if isinstance(part, Part))

    def parts(self, path: Path) -> Iterator[Part | str]:
        """List the transcripts; those of subagents lie in folders of their own, and are left out."""
        for part in files_in(path, lambda name: name.endswith(".jsonl")):
            if isinstance(part, str) or "subagents" not in Path(part.name).parts:
                yield part

    def read(self, part: Part, start: int) -> Iterator[Step]:
        """Read the turns of a transcript."""
        with part.open() as file:
            for line in json_lines(file, start):
                if line.value is None:
                    yield Step(line.end, skipped=(line.problem or _RECORD,))
                else:
                    turn = _turn(line.value, Path(part.name).stem)
                    found = ((turn,), ()) if isinstance(turn, ForeignTurn) else ((), (turn,))
                    yield Step(line.end, *found)


def _turn(line: dict[str, Any], file: str) -> ForeignTurn | str:
    """Read a line as a turn, or say why it is none."""
    message, speaker = line.get("message"), _SPEAKERS.get(str(line.get("type")))
    if speaker is None or not isinstance(message, dict):
        return _RECORD
    for flag, reason in _ASIDE.items():
        if line.get(flag):
            return reason
    at = moment(line.get("timestamp"))
    key = line.get("uuid")
    if at is None or not isinstance(key, str):
        return "a message without a time or an id"
    text = spoken_part(_text(message.get("content")))
    if not text or text.startswith(_INTERRUPTED):
        return _NO_SPEECH
    return ForeignTurn(key=key, speaker=speaker, text=text, at=at, session=str(line.get("sessionId") or file))


def _text(content: object) -> str:
    """Join what was said in a message; blocks of any other kind are not speech."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    said = (block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text")
    return "\n\n".join(text for text in said if isinstance(text, str))


def _first(path: Path) -> Iterator[Part | str]:
    """Look at one file of a place: a folder of transcripts holds nothing else of that kind."""
    if path.is_file() and path.suffix != ".jsonl":
        return
    for part in ClaudeCode().parts(path):
        if isinstance(part, Part) and part.size:
            yield part
            return


def _is_transcript(part: Part) -> bool:
    with part.open() as file:
        for line, _ in zip(json_lines(file, 0), range(_LOOKED_AT), strict=False):
            if line.value is not None and "sessionId" in line.value and str(line.value.get("type")) in _TELLING:
                return True
    return False
