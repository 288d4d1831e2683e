"""The words of each client: how it calls an event, what it says about a session, and how it takes an answer.

Pure, and light: it is loaded by every hook, most of which have nothing to do. Refuses to know what is answered.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

EVENTS = ("session-start", "user-prompt", "pre-compact", "stop", "session-end")
_LIKE_CLAUDE = dict(zip(EVENTS, ("SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd"), strict=True))
# What each client calls our events.
NAMES: Mapping[str, Mapping[str, str]] = {
    "claude-code": _LIKE_CLAUDE,
    "codex": _LIKE_CLAUDE,
    "gemini": {
        "session-start": "SessionStart",
        "user-prompt": "BeforeAgent",
        "pre-compact": "PreCompress",
        "stop": "AfterAgent",
        "session-end": "SessionEnd",
    },
    # Its beforeSubmitPrompt can only let a prompt pass or stop it, so that there is nothing to be told there.
    "cursor": {
        "session-start": "sessionStart",
        "pre-compact": "preCompact",
        "stop": "stop",
        "session-end": "sessionEnd",
    },
}
CLIENTS = tuple(NAMES)
# Codex puts whatever is longer than 2,500 tokens into a file and shows only its beginning.
MOST_TOKENS = {"codex": 2_300}


class HookInput(NamedTuple):
    """What a client says when it calls a hook; whatever it left out is empty."""

    client: str
    session: str = ""
    transcript: str = ""
    directory: str = ""
    prompt: str = ""
    source: str = ""


def read_input(text: str, client: str | None) -> HookInput:
    """Read the JSON that a client writes; a ValueError if it is none."""
    tree = json.loads(text)
    if not isinstance(tree, dict):
        raise ValueError("the input is not an object")
    roots = tree.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else None
    return HookInput(
        client=client or guess_client(tree),
        session=_text(tree, "session_id") or _text(tree, "conversation_id"),
        transcript=_text(tree, "transcript_path"),
        directory=_text(tree, "cwd") or (first if isinstance(first, str) else ""),
        prompt=_text(tree, "prompt"),
        source=_text(tree, "source") or _text(tree, "trigger") or _text(tree, "reason"),
    )


def _text(tree: Mapping[str, Any], name: str) -> str:
    value = tree.get(name)
    return value if isinstance(value, str) else ""


def guess_client(tree: Mapping[str, Any]) -> str:
    """Guess which client speaks, by what only it says; most clients speak like Claude Code."""
    event, transcript = _text(tree, "hook_event_name"), _text(tree, "transcript_path").replace("\\", "/")
    if "cursor_version" in tree or "conversation_id" in tree or event in NAMES["cursor"].values():
        return "cursor"
    if event in {"BeforeAgent", "AfterAgent", "PreCompress"} or "/.gemini/" in transcript:
        return "gemini"
    # The name of a rollout, wherever CODEX_HOME is.
    if "/.codex/" in transcript or transcript.rpartition("/")[2].startswith("rollout-"):
        return "codex"
    # Gemini dates its calls, and Claude Code does not.
    return "gemini" if "timestamp" in tree else "claude-code"


def written_answer(client: str, event: str, context: str) -> str:
    """Write what a client reads: the context for its model, or an answer that changes nothing."""
    name = NAMES.get(client, {}).get(event)
    if not context or name is None:
        return "{}"
    if client == "cursor":
        return json.dumps({"additional_context": context})
    return json.dumps({"hookSpecificOutput": {"hookEventName": name, "additionalContext": context}})
