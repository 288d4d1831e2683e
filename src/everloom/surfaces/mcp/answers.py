"""How an operation's answer, or its error, is written for a model: minified JSON, and texts that say what to do next.

Refuses to know what an answer means.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from enum import Enum
from typing import Any

from mcp.types import CallToolResult, TextContent
from pydantic import ValidationError

from everloom.errors import Conflict, EverloomError, ProviderBusy, meaning_of

# Fields that say something only by being there.
ABSENT_WHEN_EMPTY = frozenset({"workspace_activity"})
# A score's fifth digit tells a model nothing, and every digit is a token.
SCORE_DIGITS = 4
# What to do about an error that carries no hint of its own.
NEXT = {
    "not_found": "look for it by another name or id",
    "conflict": "read what is there now, then decide anew",
    "rejected": "change the arguments; the same call will fail again",
    "forbidden": "go on without it, or ask the person who set this up",
}
RETRY = "try again in a moment"
GIVE_UP = "go on without it; `everloom doctor` tells what is wrong"
INTERNAL = "internal error, nothing was written. Next: go on without it; the server's log has the traceback"
UNANSWERED = "internal error: no answer could be written. Next: read what is there before you write it again"


def answered(value: object) -> CallToolResult:
    """Write an operation's answer as structured content and as the same JSON in text."""
    data = as_data(value)
    whole = data if isinstance(data, dict) else {"result": data}
    return CallToolResult(content=[TextContent(type="text", text=minified(whole))], structured_content=whole)


def failed(text: str) -> CallToolResult:
    """Write an error that the model reads."""
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def minified(data: object) -> str:
    """Write JSON without spare bytes."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def as_data(value: object) -> Any:
    """Turn any value of the Python API into what JSON can hold."""
    match value:
        case Mapping():
            return {str(key): as_data(each) for key, each in value.items()}
        case Set():
            return sorted((as_data(each) for each in value), key=str)
        case Sequence() if not isinstance(value, str | bytes):
            return [as_data(each) for each in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        return {name: as_data(each) for name, each in fields if each or name not in ABSENT_WHEN_EMPTY}
    return plain(value)


def plain(value: object) -> str | int | float | None:
    """Write a single value as JSON has it."""
    match value:
        case Enum():
            return plain(value.value)
        case float():
            return round(value, SCORE_DIGITS) if math.isfinite(value) else None
        case datetime():
            return value.isoformat(timespec="seconds")
        case None | str() | int():
            return value
    return str(value)


def explained(error: EverloomError) -> str:
    """Say what happened and what to do next, under the error's code; a conflict shows what is there now."""
    meaning = meaning_of(error)
    parts = [f"{meaning.mcp_code}: {error.message}."]
    if isinstance(error, Conflict) and error.current is not None:
        parts.append(f"Current: {minified(as_data(error.current))}.")
    parts.append(f"Next: {error.hint or NEXT.get(meaning.mcp_code, RETRY if meaning.retry else GIVE_UP)}.")
    if isinstance(error, ProviderBusy) and error.retry_after:
        parts.append(f"Retry after {error.retry_after:.0f} s.")
    return " ".join(parts)


def misread(error: ValidationError) -> str:
    """Say which arguments do not fit, without repeating what was in them."""
    faults = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors(include_url=False)[:5]]
    return f"rejected: {'; '.join(faults)}. Next: call again with arguments that fit the tool's schema."
