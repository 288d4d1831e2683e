"""The export of Claude.ai: conversations as lists of messages, of which the branch that was last shown is taken.

Taken are the words of the person and of Claude. Thinking, calls of tools and their results, and attached files are not
speech.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from everloom.imports.formats.exports import (
    NOT_ONE,
    Reading,
    conversation_files,
    first_element,
    read_conversations,
)
from everloom.imports.reading.dates import moment
from everloom.imports.reading.injected import spoken_part
from everloom.imports.records import ForeignTurn, Part, Record, Step

_SPEAKERS = {"human": "User", "user": "User", "assistant": "Claude"}
_NO_SPEECH = "messages without words: files, tool calls and thinking"
_ATTACHED = "files that were attached to a message"
_BRANCH = "messages of a branch that was given up"


class ClaudeAi:
    """The export of Claude.ai."""

    name = "claude-ai"
    about = "Claude.ai export: the .zip from Settings → Privacy → Export data, or its conversations.json"
    grows = False
    retires = False

    def fits(self, path: Path) -> bool:
        """Say whether a path is an export of Claude.ai."""
        return isinstance(first_element(path).get("chat_messages"), list)

    def parts(self, path: Path) -> Iterator[Part | str]:
        """List the files with conversations."""
        return conversation_files(path)

    def read(self, part: Part, start: int) -> Iterator[Step]:
        """Read the conversations of a file."""
        return read_conversations(part, start, _conversation)


def _conversation(talk: Mapping[str, Any]) -> Reading:
    """Read the branch of a conversation that was last shown."""
    messages, known = talk.get("chat_messages"), talk.get("uuid")
    if not isinstance(messages, list) or not isinstance(known, str):
        return (), (NOT_ONE,)
    every = [message for message in messages if isinstance(message, dict)]
    branch = _branch(every)
    records: list[Record] = []
    skipped = [_BRANCH] * (len(every) - len(branch))
    for message in branch:
        if message.get("attachments") or message.get("files"):
            skipped.append(_ATTACHED)
        speaker, text = _SPEAKERS.get(str(message.get("sender"))), spoken_part(_said(message))
        at = moment(message.get("created_at")) or moment(talk.get("created_at"))
        name = message.get("uuid")
        if speaker is None or not text:
            skipped.append(_NO_SPEECH)
        elif at is None or not isinstance(name, str):
            skipped.append("a message without a time or an id")
        else:
            records.append(
                ForeignTurn(
                    key=name,
                    speaker=speaker,
                    text=text,
                    at=at,
                    session=f"claude-ai:{known}",
                    title=str(talk.get("name") or ""),
                )
            )
    return tuple(records), tuple(skipped)


def _branch(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the messages of the latest branch; older exports have no branches, and say nothing of parents."""
    known = {str(message.get("uuid")): message for message in messages}
    if not any(str(message.get("parent_message_uuid")) in known for message in messages):
        return list(messages)
    leaf = str(max(messages, key=lambda message: str(message.get("created_at") or "")).get("uuid"))
    found: dict[str, None] = {}
    while leaf in known and leaf not in found:
        found[leaf] = None
        leaf = str(known[leaf].get("parent_message_uuid"))
    return [known[name] for name in reversed(found)]


def _said(message: Mapping[str, Any]) -> str:
    """Join the words of a message; older exports have them in one field."""
    blocks = message.get("content")
    said = [
        block["text"]
        for block in (blocks if isinstance(blocks, list) else [])
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
    ]
    plain = message.get("text")
    return "\n\n".join(said) if said else plain if isinstance(plain, str) and not blocks else ""
