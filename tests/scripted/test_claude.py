"""The scripted Anthropic server refuses what the real one refuses: a test that it lets pass has kept the rules."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT
from tests.scripted.claude import ClaudeServer, echo, least, units_of
from tests.scripted.rules import ON_DEMAND, THRESHOLD, Accepts, Issued, complaints, frozen
from tests.scripted.speech import Body, blocks_of, uses
from tests.scripted.wire import Heard

HEADERS = {"anthropic-version": "2026-10-21", "x-api-key": "k"}
SIGNED = {"type": "compaction", "content": "They sail.", "signature": "s"}
UNSIGNED = {"type": "compaction", "content": "They sail."}
MARK = {"cache_control": {"type": "ephemeral"}}
LOOK = {"name": "look", "description": "Look.", "input_schema": {"type": "object"}}


def message(role: str, *blocks: Body | str) -> Body:
    written = [{"type": "text", "text": one} if isinstance(one, str) else one for one in blocks]
    return {"role": role, "content": written}


def body_of(*messages: Body, **more: Any) -> Body:
    return {"model": "m", "max_tokens": 10, "messages": list(messages), "tools": [LOOK], **more}


def use(identity: str = "t1") -> Body:
    return {"type": "tool_use", "id": identity, "name": "look", "input": {}}


def result(identity: str = "t1") -> Body:
    return {"type": "tool_result", "tool_use_id": identity, "content": "x"}


HI, AYE, NOW = message("user", "Hi."), message("assistant", "Aye."), message("user", "And now?")
LOOP = (HI, message("assistant", use()), message("user", result()))
EDIT = {"edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 60_000}}]}
LOW = {"edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 1_000}}]}
ASKED = {"compaction": {"type": "summarize"}}
FOLDED, OLD = message("assistant", SIGNED), message("assistant", UNSIGNED)


def issued() -> Issued:
    return Issued(compactions={frozen(SIGNED), frozen(UNSIGNED)})


def judged(body: Body, *betas: str, headers: dict[str, str] = HEADERS) -> list[str]:
    return complaints(body, {**headers, "anthropic-beta": ",".join(betas)}, issued())


@pytest.mark.parametrize(
    ("body", "betas"),
    [
        (body_of(HI), ()),
        (body_of(*LOOP), ()),
        (body_of(HI, AYE, NOW), ()),
        (body_of(FOLDED, NOW), (ON_DEMAND,)),
        (body_of(OLD, NOW, context_management=EDIT), (THRESHOLD,)),
        (body_of(HI, AYE, **ASKED), (ON_DEMAND,)),
    ],
)
def test_a_good_request_is_let_pass(body: Body, betas: tuple[str, ...]) -> None:
    assert judged(body, *betas) == []


@pytest.mark.parametrize(
    ("body", "betas", "reason"),
    [
        (body_of(AYE, NOW), (), "first message"),
        (body_of(HI, NOW), (), "alternate"),
        (body_of(HI, AYE), (), "prefill"),
        (body_of(), (), "at least one message"),
        (body_of(message("user")), (), "non-empty"),
        (body_of(message("user", " \n")), (), "non-whitespace"),
        (body_of(HI, message("assistant", use()), NOW), (), "without tool_result"),
        (body_of(HI, message("assistant", use()), **ASKED), (ON_DEMAND,), "without tool_result"),
        (body_of(HI, AYE, message("user", result())), (), "unexpected tool_use_id"),
        (body_of(HI, message("assistant", use()), message("user", "x", result())), (), "come first"),
        (body_of(HI, message("assistant", use("a|b")), message("user", result("a|b"))), (), "plain"),
        (body_of(*LOOP, message("assistant", use()), message("user", result())), (), "unique"),
        (body_of(*LOOP, tools=[]), (), "defines no tools"),
        (body_of(FOLDED, NOW), (), "beta header"),
        (body_of(FOLDED, NOW), (THRESHOLD,), "beta header"),
        (body_of(HI, message("assistant", "x", SIGNED), NOW), (ON_DEMAND,), "misplaced"),
        (body_of(message("assistant", {**SIGNED, "content": "y"}), NOW), (ON_DEMAND,), "altered"),
        (body_of(FOLDED, NOW), (ON_DEMAND, THRESHOLD), "combined"),
        (body_of(HI, AYE, **ASKED), (), "not permitted"),
        (body_of(HI, context_management=EDIT), (), "not permitted"),
        (body_of(HI, context_management=LOW), (THRESHOLD,), "at least"),
        (body_of(FOLDED, **ASKED), (ON_DEMAND,), "nothing_to_summarize"),
        (body_of(HI, temperature=1), (), "temperature"),
        (body_of(HI, output_config={"effort": "extreme"}), (), "effort"),
        (body_of(HI, thinking={"type": "enabled", "budget_tokens": 2_000}), (), "thinking.type"),
        (body_of(HI, thinking={"type": "adaptive", "budget_tokens": 2_000}), (), "budget_tokens"),
        (body_of(HI, thinking={"type": "adaptive", "display": "all"}), (), "display"),
        (body_of(HI, thinking={"type": "adaptive"}, tool_choice={"type": "any"}), (), "forces tool use"),
        (body_of(HI, thinking={"type": "adaptive"}, tool_choice={"type": "tool", "name": "look"}), (), "forces"),
        ({"model": "m", "messages": [HI]}, (), "max_tokens"),
        (body_of(message("user", *({"type": "text", "text": "x", **MARK},) * 5)), (), "maximum of 4"),
        (body_of(HI, system=[{"type": "text", "text": ""}]), (), "system"),
        (body_of(HI, tools=[{"name": "look", "input_schema": {}}]), (), "input_schema"),
    ],
)
def test_a_request_that_breaks_a_rule_is_refused(body: Body, betas: tuple[str, ...], reason: str) -> None:
    assert any(reason in complaint for complaint in judged(body, *betas))


def test_thinking_is_taken_as_a_model_takes_it() -> None:
    asked = body_of(HI, thinking={"type": "disabled"}, output_config={"effort": "max"}, tool_choice={"type": "any"})
    assert judged(asked) == []
    strict = Accepts(thinking=("adaptive",), efforts=("low",))
    assert len(complaints(asked, HEADERS, issued(), strict)) == 2
    free = body_of(HI, thinking={"type": "adaptive", "display": "omitted"}, tool_choice={"type": "none"})
    assert complaints(free, HEADERS, issued(), strict) == []


@pytest.mark.parametrize("missing", HEADERS)
def test_a_request_without_its_headers_is_refused(missing: str) -> None:
    assert judged(body_of(HI), headers={name: value for name, value in HEADERS.items() if name != missing})


def _altered(content: list[Body]) -> None:
    content[0]["thinking"] += "!"


def _dropped(content: list[Body]) -> None:
    del content[0]


@pytest.mark.parametrize(("change", "reason"), [(_altered, "cannot be modified"), (_dropped, "must carry")])
def test_a_thought_that_is_changed_within_a_loop_is_refused(change: Callable[[list[Body]], None], reason: str) -> None:
    kept = issued()
    content = blocks_of(uses(("look", {}), thought="Hm."), 1)
    kept.keep(content, body_of(HI))
    loop = [HI, {"role": "assistant", "content": deepcopy(content)}, message("user", result("toolu_1_0"))]
    assert complaints(body_of(*loop), HEADERS, kept) == []
    moved = [message("user", "Other."), *loop[1:]]
    assert any("prefix mismatch" in one for one in complaints(body_of(*moved), HEADERS, kept))
    change(loop[1]["content"])
    assert any(reason in one for one in complaints(body_of(*loop), HEADERS, kept))
    assert complaints(body_of(HI, AYE, NOW), HEADERS, kept) == []


def test_what_was_read_before_comes_from_the_cache() -> None:
    first = body_of(message("user", {"type": "text", "text": "word " * 1_000, **MARK}))
    second = body_of(*first["messages"], AYE, message("user", {"type": "text", "text": "And now?", **MARK}))
    with ClaudeServer() as server:
        usages = [server.answer(body, HEADERS)[1]["usage"] for body in (first, second)]
    assert usages[0]["cache_read_input_tokens"] == 0
    assert usages[1]["cache_read_input_tokens"] == usages[0]["cache_creation_input_tokens"] > 1_024
    counted = [usages[1][f"{name}input_tokens"] for name in ("", "cache_read_", "cache_creation_")]
    assert server.tokens(units_of(second)) == pytest.approx(sum(counted), abs=5)


def test_a_breach_is_recorded_and_answered_with_400() -> None:
    with ClaudeServer() as server:
        assert server.post(Heard("/v1/messages", HEADERS, body_of(AYE))).status == 400
        assert server.complaints


def test_an_echo_names_every_message_of_a_turn() -> None:
    assert echo(body_of(message("user", "[chat] #1 one\n\n[telegram] #2 two"))).text == (
        "Heard: [chat] #1 one | [telegram] #2 two"
    )


def test_a_question_in_a_shape_gets_the_least_value_of_it() -> None:
    schema = {
        "$defs": {"One": {"type": "object", "properties": {"kind": {"enum": ["add", "noop"]}}}},
        "type": "object",
        "properties": {
            "ones": {"type": "array"},
            "one": {"$ref": "#/$defs/One"},
            "text": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
    }
    assert least(schema) == {"ones": [], "one": {"kind": "add"}, "text": None}


def test_it_also_runs_as_a_process_of_its_own(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"reply": "echo", "steps": [{"status": 529}]}), encoding="utf-8")
    command = [sys.executable, "-m", "tests.scripted.claude", "--port", "0", "--script", str(script)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            url = process.stdout.readline().strip()
            said = _post(f"{url}/v1/messages", body_of(HI))
            assert said["type"] == "error"
            assert _post(f"{url}/v1/messages", body_of(HI))["content"][0]["text"] == "Heard: Hi."
            _post(f"{url}/scripted/script", {"steps": [{"uses": [["look", {"q": 1}]]}]})
            assert _post(f"{url}/v1/messages", body_of(HI))["stop_reason"] == "tool_use"
            assert _post(f"{url}/v1/messages", body_of(AYE))["type"] == "error"
            with urllib.request.urlopen(f"{url}/scripted/complaints") as answer:
                assert any("first message" in one for one in json.load(answer))
        finally:
            process.kill()


def _post(url: str, body: Body) -> Body:
    headers = {**HEADERS, "content-type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request) as answer:
            read: Body = json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            read = json.load(error)
    return read
