"""Writes results and errors for a model: minified JSON, and texts that say what to do next.

Refuses to know what a result means.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcp.types import CallToolResult, TextContent

from everloom.errors import Conflict, EverloomError, ProviderBusy, meaning_of
from everloom.kernel.answer.encode import as_object, written
from everloom.secrets import Recognised, masked

# A score's fifth digit tells a model nothing, and every digit is a token.
_SCORE_DIGITS = 4
# What to do about an error without a hint of its own: a model that is not told will often repeat the same call.
_NEXT = {
    "not_found": "look for it by another name or id",
    "conflict": "read the current state, then decide again",
    "rejected": "change the arguments; the same call will fail again",
    "forbidden": "go on without it, or ask the person who set this up",
}
_RETRY = "try again in a moment"
_GIVE_UP = "go on without it; `everloom doctor` shows what is wrong"
INTERNAL = "internal error, nothing was written. Next: go on without it; the server's log has the traceback"
UNANSWERED = "internal error: no answer could be written. Next: read the current state before you write again"


def answered(value: object, secrets: Sequence[Recognised] = ()) -> CallToolResult:
    """Write a result as structured content and as the same JSON in text, with the secrets that were recognised."""
    # Both, because clients differ in which of the two they show to the model.
    quoting = getattr(value, "for_model", None)
    whole = as_object(value if quoting is None else quoting(), _SCORE_DIGITS)
    if secrets:
        whole["secrets"] = [str(each) for each in secrets]
    return CallToolResult(content=[TextContent(type="text", text=written(whole))], structured_content=whole)


def failed(text: str) -> CallToolResult:
    """Write an error that the model reads."""
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def explained(error: EverloomError) -> str:
    """Write an error: its code, what happened, and what to do next; a conflict shows the current state."""
    meaning = meaning_of(error)
    parts = [f"{meaning.mcp_code}: {error.message}."]
    if isinstance(error, Conflict) and error.current is not None:
        parts.append(f"Current: {masked(written(error.current, _SCORE_DIGITS))}.")
    parts.append(f"Next: {error.hint or _NEXT.get(meaning.mcp_code, _RETRY if meaning.retry else _GIVE_UP)}.")
    if isinstance(error, ProviderBusy) and error.retry_after:
        parts.append(f"Retry after {error.retry_after:.0f} s.")
    return " ".join(parts)
