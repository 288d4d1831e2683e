"""Identifies the caller: its conversation, its workspace, and whether it may write. Pure.

Reads neither the environment nor a request: both arrive as values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeGuard

from everloom.errors import Forbidden
from everloom.kernel.texts import LONGEST_NAME, name_key
from everloom.kernel.tokens import ShownToken
from everloom.wiring.wire.protocol import (
    ORIGIN_HEADER,
    READONLY_HEADER,
    SESSION_HEADER,
    TIER_HEADER,
    WORKSPACE_HEADER,
    from_header,
)

if TYPE_CHECKING:
    from everloom.kernel.tokens import Token
    from everloom.kernel.workspaces import WorkspaceInfo

# Sent by clients of the older protocol, which are given one when they connect (`connections.py`).
CONNECTION_HEADER = "mcp-session-id"
# The key in a call's `_meta` under which a client tells how capable the model is that calls.
_TIER_META = "everloom/model-tier"

# The key in a call's `_meta` under which each client sends the id of its conversation.
_META_KEYS = {
    "VS Code": "vscode.conversationId",
    "Codex": "threadId",
    "ChatGPT": "openai/session",
    "OpenCode": "ai.opencode/sessionID",
    "Antigravity": "antigravity.google/conversation_id",
}
# A server that Claude Code started finds the conversation here. Other programs may inherit the second variable, so it
# counts only beside the first.
_CLAUDE_MARK, _CLAUDE_SESSION = "CLAUDECODE", "CLAUDE_CODE_SESSION_ID"
_NO = frozenset({"", "0", "false", "no", "off"})


@dataclass(frozen=True, slots=True)
class Process:
    """The options of a server process.

    `environ` is given over stdio only, where it is the client's environment, and so is `label`: there a process is one
    conversation. A process without a label serves many.
    """

    label: str | None
    default_workspace: str
    workspace: str | None = None
    read_only: bool = False
    environ: Mapping[str, str] = field(default_factory=dict)
    model_tier: str | None = None


@dataclass(frozen=True, slots=True)
class CallClues:
    """What a call carries that identifies its caller; header names are in lower case."""

    argument: str | None = None
    meta: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    token: Token | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller: a conversation in a workspace, and whether it may only read; `session` None means no conversation."""

    session: str | None
    workspace: str
    read_only: bool
    model_tier: str | None = None
    origin: str | None = None
    # The workspace itself, if whoever checked the token has read it just now.
    place: WorkspaceInfo | None = None


def caller_of(clues: CallClues, process: Process) -> Caller:
    """Identify the caller from all clues."""
    session, workspace = conversation_of(clues, process), workspace_of(clues, process)
    origin = from_header(clues.headers.get(ORIGIN_HEADER, "")).strip() or None
    place = clues.token.place if isinstance(clues.token, ShownToken) else None
    return Caller(session, workspace, is_read_only(clues, process), tier_of(clues, process), origin, place)


def conversation_of(clues: CallClues, process: Process) -> str | None:
    """Find the conversation's id by the first clue that has one; a call without any belongs to no conversation."""
    # From the most deliberate to the vaguest: what the model wrote, what its client sends by itself, who started the
    # process, a header of the configuration, the connection. Any of them but the argument may be unusable, and is
    # skipped. A token says who calls, not in which conversation: two clients with one token must not share what they
    # have seen, nor delete each other's mistakes.
    if clues.argument is not None:
        return clues.argument
    found = [clues.meta.get(key) for key in _META_KEYS.values()]
    if process.environ.get(_CLAUDE_MARK) == "1":
        found.append(process.environ.get(_CLAUDE_SESSION))
    found += [from_header(clues.headers.get(SESSION_HEADER, "")), _connection_of(clues), process.label]
    return next((label for label in found if _is_label(label)), None)


def _connection_of(clues: CallClues) -> str | None:
    """Name the connection that a call came over, if it has one; the name does not tell the id by which it is known."""
    known = clues.headers.get(CONNECTION_HEADER)
    if not known:
        return None
    mark = blake2b(known.encode(errors="replace"), digest_size=6).hexdigest()
    return f"connection {mark}" if clues.token is None else f"token {clues.token.name[:100]} {mark}"


def tier_of(clues: CallClues, process: Process) -> str | None:
    """Find the tier of the calling model: what the call says, then its header, then the process; None if unknown."""
    found = (clues.meta.get(_TIER_META), from_header(clues.headers.get(TIER_HEADER, "")), process.model_tier)
    return next((tier for tier in found if _is_label(tier)), None)


def _is_label(label: object) -> TypeGuard[str]:
    """Return whether a value that a client sent can serve as a label."""
    return isinstance(label, str) and 0 < len(label) <= LONGEST_NAME and label.isprintable() and bool(name_key(label))


def workspace_of(clues: CallClues, process: Process) -> str:
    """Find the workspace; if a flag or a token names one, no other is allowed."""
    asked = from_header(clues.headers.get(WORKSPACE_HEADER, "")).strip() or None
    bounds = {"this server": process.workspace, "this token": None if clues.token is None else clues.token.workspace}
    for who, bound in bounds.items():
        if bound is None:
            continue
        asked = asked or bound
        if name_key(asked) != name_key(bound):
            hint = f"leave out {WORKSPACE_HEADER}, or use a server and a token for {asked!r}"
            raise Forbidden(f"{who} serves the workspace {bound!r} only, not {asked!r}", hint=hint)
    return asked or process.default_workspace


def is_read_only(clues: CallClues, process: Process) -> bool:
    """Return whether anything forbids this call to write."""
    asked = clues.headers.get(READONLY_HEADER, "").strip().lower() not in _NO
    return process.read_only or asked or (clues.token is not None and clues.token.read_only)


def refuse_write(name: str, clues: CallClues, process: Process) -> Forbidden:
    """Explain why a write is refused, and what would allow it."""
    if process.read_only:
        return Forbidden(f"{name} writes, and this server is read-only", hint="start it without --read-only")
    if clues.token is not None and clues.token.read_only:
        hint = "`everloom token create` creates one that may write"
        return Forbidden(f"{name} writes, and the token {clues.token.name!r} may only read", hint=hint)
    hint = f"remove its {READONLY_HEADER} header"
    return Forbidden(f"{name} writes, and this client asked to be read-only", hint=hint)
