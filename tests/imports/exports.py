"""Writes exports and memories of other programs as these write them, with invented words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from tests.imports.transcripts import BEGIN, at, said, write_lines


def chatgpt_node(name: str, parent: str | None, role: str, words: Any, minute: int, **more: Any) -> dict[str, Any]:
    content = words if isinstance(words, dict) else {"content_type": "text", "parts": [words]}
    message = {
        "id": name,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": BEGIN.timestamp() + 60 * minute if minute else None,
        "content": content,
        "recipient": "all",
        "metadata": {},
        **more,
    }
    return {"id": name, "parent": parent, "children": [], "message": message}


def chatgpt_conversation(name: str = "c1", words: str = "How do I splice a rope?") -> dict[str, Any]:
    """A conversation with a branch that was given up, and with everything that is not speech."""
    hidden = {"is_visually_hidden_from_conversation": True}
    nodes = [
        {"id": "root", "parent": None, "children": [], "message": None},
        chatgpt_node("s", "root", "system", "", 0, metadata=hidden),
        chatgpt_node("i", "s", "user", {"content_type": "user_editable_context", "user_profile": "I am a sailor."}, 0),
        chatgpt_node("q", "i", "user", words, 1),
        chatgpt_node("old", "q", "assistant", "A splice needs glue.", 2),
        chatgpt_node("t", "q", "assistant", {"content_type": "code", "text": "search()"}, 2, recipient="browser"),
        chatgpt_node("r", "t", "tool", "Forty results.", 2),
        chatgpt_node("h", "r", "assistant", {"content_type": "thoughts", "thoughts": []}, 2),
        chatgpt_node("a", "h", "assistant", "Unlay three strands and tuck each of them five times.", 3),
        chatgpt_node(
            "v",
            "a",
            "user",
            {
                "content_type": "multimodal_text",
                "parts": [
                    {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"},
                    {"content_type": "audio_transcription", "text": "Is this tuck tight enough?"},
                ],
            },
            0,
        ),
    ]
    return {
        "conversation_id": name,
        "id": name,
        "title": "Ropework",
        "create_time": BEGIN.timestamp(),
        "mapping": {node["id"]: node for node in nodes},
        "current_node": "v",
    }


CHATGPT_TURNS = (
    "User: How do I splice a rope?",
    "ChatGPT: Unlay three strands and tuck each of them five times.",
    "User: Is this tuck tight enough?",
)


def claude_ai_conversation() -> dict[str, Any]:
    return {
        "uuid": "k1",
        "name": "Bread",
        "created_at": at(0),
        "chat_messages": [
            {
                "uuid": "1",
                "sender": "human",
                "text": "",
                "content": said("Why is my rye so dense?"),
                "created_at": at(1),
            },
            {
                "uuid": "2",
                "sender": "assistant",
                "text": "",
                "content": [{"type": "thinking", "thinking": "Yeast?"}, *said("Your oven is too cold.")],
                "created_at": at(2),
                "parent_message_uuid": "1",
            },
            {
                "uuid": "3",
                "sender": "assistant",
                "text": "",
                "content": [
                    {"type": "tool_use", "name": "search", "input": {}},
                    {"type": "tool_result", "content": "A page about rye."},
                    *said("Rye has little gluten, so give it a sour dough."),
                ],
                "created_at": at(3),
                "parent_message_uuid": "1",
            },
            {
                "uuid": "4",
                "sender": "human",
                "text": "",
                "content": said("See the photograph."),
                "attachments": [{"file_name": "loaf.txt", "extracted_content": "a dense loaf"}],
                "created_at": at(4),
                "parent_message_uuid": "3",
            },
        ],
    }


CLAUDE_AI_TURNS = (
    "User: Why is my rye so dense?",
    "Claude: Rye has little gluten, so give it a sour dough.",
    "User: See the photograph.",
)


def write_zip(path: Path, **members: Any) -> Path:
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, value in members.items():
            archive.writestr(name, value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False))
    return path


def write_json(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def server_memory() -> list[dict[str, Any]]:
    return [
        {
            "type": "entity",
            "name": "Ada_Byron",
            "entityType": "person",
            "observations": ["Speaks fluent Cornish", "Ada Byron keeps bees"],
        },
        {"type": "entity", "name": "Marigold", "entityType": "boat", "observations": []},
        {"type": "relation", "from": "Ada_Byron", "to": "Marigold", "relationType": "sails_on"},
        {"type": "relation", "from": "", "to": "Marigold", "relationType": "sails_on"},
    ]


def write_server_memory(path: Path) -> Path:
    return write_lines(path, server_memory())


SERVER_FACTS = {
    "Ada Byron is of the type person.": {"Ada Byron"},
    "Ada Byron: Speaks fluent Cornish": {"Ada Byron"},
    "Ada Byron keeps bees": {"Ada Byron"},
    "Marigold is of the type boat.": {"Marigold"},
    "Ada Byron sails on Marigold.": {"Ada Byron", "Marigold"},
}


def mem0_results() -> dict[str, Any]:
    return {
        "results": [
            {"id": "m1", "memory": "Prefers tea without sugar", "user_id": "ada", "created_at": "2025-11-02T10:00:00Z"},
            {"id": "m2", "memory": "", "user_id": "ada"},
        ],
        "relations": [{"source": "ada", "relationship": "lives_in", "destination": "falmouth"}],
    }


MEM0_FACTS = {"Prefers tea without sugar": {"ada"}, "ada lives in falmouth.": {"ada", "falmouth"}}


def locomo_samples() -> list[dict[str, Any]]:
    talk = {
        "speaker_a": "Ada",
        "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ada", "dia_id": "D1:1", "text": "I adopted a greyhound called Comet."},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "How fast does he run?"},
        ],
    }
    return [{"sample_id": "s1", "conversation": talk, "qa": []}]


LOCOMO_TURNS = ("Ada: I adopted a greyhound called Comet.", "Ben: How fast does he run?")

BASIC_NOTE = """---
title: Coffee Brewing
type: note
tags: [coffee, brewing]
permalink: coffee-brewing
created: 2025-06-01
---

# Coffee Brewing

Mornings begin with a kettle, as [[Grandmother|my grandmother]] taught us.

## Observations
- [method] Pour over gives more clarity than a press #brewing
- [ ] buy filters

## Relations
- requires [[Proper Grinding]]
"""


def write_vault(folder: Path) -> Path:
    (folder / ".obsidian").mkdir(parents=True)
    (folder / ".obsidian" / "app.json").write_text("{}")
    (folder / "2025-02-03.md").write_text("Saw a kingfisher at the weir.\n\n![[bird.png]]\n", encoding="utf-8")
    (folder / "Bees.md").write_text(
        "---\naliases: [apiary]\n---\n# Bees\n\nThe hive swarmed. %%secret thought%%\n", encoding="utf-8"
    )
    return folder
