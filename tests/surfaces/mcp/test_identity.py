"""Whose call it is: every source of the conversation's id in its order, workspaces, and the right to write."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from everloom.errors import Forbidden
from everloom.kernel.tokens import Token
from everloom.surfaces.web.identity import (
    CallClues,
    Caller,
    Process,
    caller_of,
    conversation_of,
    is_read_only,
    workspace_of,
)
from tests.store.ground import NOW


def _token(name: str, workspace: str, *, read_only: bool = False) -> Token:
    return Token(name, workspace, read_only, created_at=NOW, expires_at=None, state="valid")


PROCESS = Process("process 1", "default")
CLAUDE = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "from-environment"}
EVERY_CLUE = CallClues(
    argument="from-argument",
    meta={"vscode.conversationId": "from-meta"},
    headers={"x-memory-session-id": "from-header", "mcp-session-id": "from-connection"},
    token=_token("from-token", "default"),
)
MARK = "c5f1e7797155"


@pytest.mark.promise("mcp.session-order")
@pytest.mark.parametrize(
    ("taken_away", "expected"),
    [
        ((), "from-argument"),
        (("argument",), "from-meta"),
        (("argument", "meta"), "from-environment"),
        (("argument", "meta", "environ"), "from-header"),
        (("argument", "meta", "environ", "header"), f"token from-token {MARK}"),
        (("argument", "meta", "environ", "header", "token"), f"connection {MARK}"),
        (("argument", "meta", "environ", "header", "connection"), "process 1"),
        (("argument", "meta", "environ", "header", "connection", "process"), None),
    ],
)
def test_the_conversation_is_found_in_this_order(taken_away: tuple[str, ...], expected: str | None) -> None:
    blank: dict[str, Any] = {"argument": None, "meta": {}, "token": None}
    named = {"header": "x-memory-session-id", "connection": "mcp-session-id"}
    left = {key: value for key, value in EVERY_CLUE.headers.items() if key not in map(named.get, taken_away)}
    clues = replace(EVERY_CLUE, headers=left, **{name: blank[name] for name in taken_away if name in blank})
    process = replace(PROCESS, environ={} if "environ" in taken_away else CLAUDE)
    if "process" in taken_away:
        process = replace(process, label=None)
    assert conversation_of(clues, process) == expected


@pytest.mark.promise("trust.14-own-conversation")
def test_a_token_alone_is_no_conversation() -> None:
    assert conversation_of(CallClues(token=EVERY_CLUE.token), replace(PROCESS, label=None)) is None


@pytest.mark.parametrize(
    "key",
    [
        "vscode.conversationId",
        "threadId",
        "openai/session",
        "ai.opencode/sessionID",
        "antigravity.google/conversation_id",
    ],
)
def test_each_client_is_understood_by_its_own_key(key: str) -> None:
    assert conversation_of(CallClues(meta={key: "c-1"}), PROCESS) == "c-1"


@pytest.mark.parametrize(
    "environ", [{"CLAUDE_CODE_SESSION_ID": "old"}, {**CLAUDE, "CLAUDECODE": "0"}, {"CLAUDECODE": "1"}]
)
def test_an_inherited_session_of_claude_code_does_not_count(environ: dict[str, str]) -> None:
    assert conversation_of(CallClues(), replace(PROCESS, environ=environ)) == "process 1"


@pytest.mark.parametrize("label", ["", " ", 7, None, ["a"], "a\nb", "x" * 201, "\x00", "--"])
def test_what_cannot_be_a_label_is_passed_over(label: object) -> None:
    assert conversation_of(CallClues(meta={"threadId": label}), PROCESS) == "process 1"


@pytest.mark.promise("mcp.workspace-scope")
@pytest.mark.parametrize(
    ("flag", "header", "token", "expected"),
    [
        (None, None, None, "default"),
        ("james", None, None, "james"),
        (None, "james", None, "james"),
        (None, None, "james", "james"),
        (None, "JAMES", "james", "JAMES"),
        ("james", "james", "james", "james"),
        (None, "%E3%81%82", None, "あ"),
        # As curl sends what was typed, and a server hands it out: UTF-8, one character for each byte.
        (None, "müller あ".encode().decode("latin-1"), None, "müller あ"),
        (None, "müller", None, "müller"),
        (None, "  ", None, "default"),
    ],
)
def test_the_workspace_is_that_of_the_flag_the_token_or_the_header(
    flag: str | None, header: str | None, token: str | None, expected: str
) -> None:
    assert workspace_of(clues_for(header, token), replace(PROCESS, workspace=flag)) == expected


@pytest.mark.promise("mcp.workspace-scope")
@pytest.mark.parametrize(
    ("flag", "header", "token"), [("james", "audrey", None), (None, "audrey", "james"), ("audrey", None, "james")]
)
def test_a_flag_or_a_token_allows_no_other_workspace(flag: str | None, header: str | None, token: str | None) -> None:
    with pytest.raises(Forbidden, match="james"):
        workspace_of(clues_for(header, token), replace(PROCESS, workspace=flag))


def clues_for(header: str | None, token: str | None) -> CallClues:
    headers = {} if header is None else {"x-memory-workspace": header}
    return CallClues(headers=headers, token=None if token is None else _token("t", token))


@pytest.mark.parametrize("value", ["1", "true", "yes", "anything"])
def test_a_client_can_ask_to_be_kept_from_writing(value: str) -> None:
    assert is_read_only(CallClues(headers={"x-memory-readonly": value}), PROCESS)


@pytest.mark.parametrize("value", ["", "0", "false", "No", "OFF"])
def test_a_client_that_declines_may_write(value: str) -> None:
    assert not is_read_only(CallClues(headers={"x-memory-readonly": value}), PROCESS)


def test_no_header_gives_back_a_right_that_flag_or_token_took() -> None:
    asks = {"x-memory-readonly": "0"}
    assert is_read_only(CallClues(headers=asks), replace(PROCESS, read_only=True))
    assert is_read_only(CallClues(headers=asks, token=_token("t", "default", read_only=True)), PROCESS)


def test_a_caller_is_all_of_it_together() -> None:
    assert caller_of(EVERY_CLUE, PROCESS) == Caller("from-argument", "default", read_only=False)


def test_the_models_tier_comes_from_the_call_its_header_or_the_process() -> None:
    process = replace(PROCESS, model_tier="small")
    headers = {"x-memory-model-tier": "medium"}
    assert caller_of(CallClues(), PROCESS).model_tier is None
    assert caller_of(CallClues(), process).model_tier == "small"
    assert caller_of(CallClues(headers=headers), process).model_tier == "medium"
    clues = CallClues(meta={"everloom/model-tier": "large"}, headers=headers)
    assert caller_of(clues, process).model_tier == "large"
    assert caller_of(replace(clues, meta={"everloom/model-tier": 7}), process).model_tier == "medium"
