"""The export of ChatGPT: conversations as trees of messages, of which the branch that was last shown is taken.

Taken are the words of the person and of ChatGPT. Calls of tools and what they answered, reasoning, the person's custom
instructions and ChatGPT's own memory, which it tells itself before a conversation, are not speech.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
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

_SPEAKERS = {"user": "User", "assistant": "ChatGPT"}
_SAID = frozenset({"text", "multimodal_text"})
_NO_SPEECH = "tool calls, tool results, reasoning and instructions"
_BRANCH = "messages of a branch that was given up"
# As the import of Claude's export counts them.
_ATTACHED = "files that were attached to a message"


class Chatgpt:
    """The export of ChatGPT."""

    name = "chatgpt"
    about = "ChatGPT export: the .zip from Settings → Data controls → Export, or its conversations.json"
    grows = False
    retires = False

    def fits(self, path: Path) -> bool:
        """Say whether a path is an export of ChatGPT."""
        return isinstance(first_element(path).get("mapping"), dict)

    def parts(self, path: Path) -> Iterator[Part | str]:
        """List the files with conversations."""
        return conversation_files(path)

    def read(self, part: Part, start: int) -> Iterator[Step]:
        """Read the conversations of a file."""
        return read_conversations(part, start, _conversation)


def _conversation(talk: Mapping[str, Any]) -> Reading:
    """Read the branch of a conversation that was last shown."""
    nodes, known = talk.get("mapping"), talk.get("conversation_id") or talk.get("id")
    if not isinstance(nodes, dict) or not isinstance(known, str):
        return (), (NOT_ONE,)
    branch = _branch(nodes, talk.get("current_node"))
    records: list[Record] = []
    skipped = [_BRANCH] * sum(1 for name in nodes.keys() - set(branch) if _said(_message(nodes, name)))
    # Some messages have no time: they were said after the one before.
    at = moment(talk.get("create_time"))
    for name in branch:
        message = _message(nodes, name)
        if not message:
            continue
        at = moment(message.get("create_time")) or at
        text, role = _said(message), _role(message)
        if role in _SPEAKERS and _has_files(message):
            skipped.append(_ATTACHED)
        if not text or at is None:
            skipped.append(_NO_SPEECH if at is not None else "a message without a time")
            continue
        records.append(
            ForeignTurn(
                key=f"{known}:{name}",
                speaker=_SPEAKERS[role],
                text=text,
                at=at,
                session=f"chatgpt:{known}",
                title=str(talk.get("title") or ""),
            )
        )
    return tuple(records), tuple(skipped)


def _branch(nodes: Mapping[str, Any], leaf: object) -> list[str]:
    """Follow a branch from its leaf to the root, and return it from the root on."""
    if not isinstance(leaf, str) or leaf not in nodes:
        leaf = max(nodes, key=lambda name: (_time(_message(nodes, name)), name), default=None)
    found: dict[str, None] = {}
    while isinstance(leaf, str) and leaf in nodes and leaf not in found:
        found[leaf] = None
        leaf = nodes[leaf].get("parent") if isinstance(nodes[leaf], dict) else None
    return [*reversed(found)]


def _time(message: Mapping[str, Any]) -> float:
    at: datetime | None = moment(message.get("create_time"))
    return at.timestamp() if at is not None else 0.0


def _message(nodes: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    node = nodes.get(name)
    message = node.get("message") if isinstance(node, dict) else None
    return message if isinstance(message, dict) else {}


def _role(message: Mapping[str, Any]) -> str:
    author = message.get("author")
    return str(author.get("role")) if isinstance(author, dict) else ""


def _said(message: Mapping[str, Any]) -> str:
    """Return what the person or ChatGPT said in a message to the other; empty if it is something else."""
    content, told = message.get("content"), message.get("metadata")
    metadata = told if isinstance(told, dict) else {}
    is_speech = (
        _role(message) in _SPEAKERS
        and isinstance(content, dict)
        and str(content.get("content_type")) in _SAID
        and message.get("recipient") in (None, "all")
        and message.get("channel") in (None, "final")
        and not metadata.get("is_visually_hidden_from_conversation")
        and not metadata.get("is_user_system_message")
    )
    if not is_speech or not isinstance(content, dict):
        return ""
    parts = content.get("parts")
    return spoken_part("\n\n".join(filter(None, map(_part, parts if isinstance(parts, list) else []))))


def _has_files(message: Mapping[str, Any]) -> bool:
    """Return whether files belong to a message: pictures in its parts, or uploads that its metadata lists."""
    content, metadata = message.get("content"), message.get("metadata")
    parts = content.get("parts") if isinstance(content, dict) else None
    shown = parts if isinstance(parts, list) else []
    kinds = [str(part.get("content_type")) for part in shown if isinstance(part, dict)]
    # Sound is left out of the count: its transcription is taken.
    is_shown = any(kind.endswith("asset_pointer") and not kind.startswith("audio") for kind in kinds)
    return is_shown or bool(isinstance(metadata, dict) and metadata.get("attachments"))


def _part(part: object) -> str:
    """Return the words of a part: written ones, or what was heard of spoken ones."""
    if isinstance(part, str):
        return part.strip()
    text = part.get("text") if isinstance(part, dict) and part.get("content_type") == "audio_transcription" else None
    return text.strip() if isinstance(text, str) else ""
