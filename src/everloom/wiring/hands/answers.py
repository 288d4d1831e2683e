"""The result of a tool as text: what is not text becomes a line that says what it is. Pure."""

from __future__ import annotations

import json
from typing import Any

from everloom.mind.hands.servers import ToolAnswer

_LONGEST_LABEL = 200


def answer_of(result: Any) -> ToolAnswer:
    """Write what a tool answered."""
    parts = [text for each in result.content if (text := _part(each))]
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False)]
    return ToolAnswer("\n".join(parts), bool(result.is_error))


def _part(block: Any) -> str:
    match block.type:
        case "text":
            return str(block.text)
        case "image" | "audio":
            return f"({block.type}, {_label(block.mime_type)}, about {len(block.data) * 3 // 4:,} bytes; not shown)"
        case "resource_link":
            return f"(a link to {_label(block.name)}: {_label(str(block.uri))})"
        case "resource":
            text = getattr(block.resource, "text", None)
            return str(text) if text is not None else f"(a file, {_label(str(block.resource.uri))}; not shown)"
    return f"({_label(str(block.type))}; not shown)"


def _label(text: str | None) -> str:
    return (text or "of unknown kind")[:_LONGEST_LABEL]
