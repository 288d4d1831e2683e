"""Thinking and effort are asked for as settings say, as far as a model takes them, and nobody sees what was thought."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from everloom.loom import open_loom
from everloom.models.ask import AskMessage, AskRequest
from everloom.models.providers import Role, Roles, make_llm, make_talker
from everloom.models.talk import TalkRequest, TextBlock, ToolResult, ToolSpec, Turn
from everloom.models.thinking import EFFORTS, ThinkingChoice, nearest_effort, roomy
from everloom.settings import load
from tests.models.conftest import KEY, access_to
from tests.scripted.claude import ClaudeServer
from tests.scripted.rules import Accepts
from tests.scripted.speech import says, uses
from tests.scripted.streams import StreamServer

SONNET, OPUS, OLD = (f"anthropic:claude-{name}" for name in ("sonnet-5-5", "opus-5-5", "haiku-4-5"))
LOOK = ToolSpec("look", "Look something up.", {"type": "object", "properties": {}})
HI = TalkRequest("Be kind.", (Turn("user", (TextBlock("Hi."),)),), (LOOK,), max_tokens=1_000)
ASK = AskRequest("Be brief.", (AskMessage("user", "Why?"),), max_tokens=100)
ADAPTIVE, OFF = {"type": "adaptive", "display": "omitted"}, {"type": "disabled"}


def test_the_nearest_level_is_the_next_lower_one() -> None:
    assert nearest_effort("xhigh", ("low", "medium", "high")) == "high"
    assert nearest_effort("low", ("medium", "high")) == "medium"
    assert [nearest_effort(each, EFFORTS) for each in EFFORTS] == list(EFFORTS)
    assert nearest_effort(None, EFFORTS) is nearest_effort("max", ()) is None


def test_a_reply_has_room_for_what_is_thought() -> None:
    chosen = ThinkingChoice("adaptive", "low")
    assert roomy(1_000, chosen, thinks=False) == 1_000 + 4_096
    assert roomy(1_000, chosen, thinks=False, most=3_000) == 3_000
    assert roomy(5_000, chosen, thinks=False, most=3_000) == 5_000
    assert roomy(1_000, ThinkingChoice("off", "max"), thinks=True) == 1_000
    assert roomy(1_000, ThinkingChoice(), thinks=False) == 1_000


@pytest.mark.promise("models.thinking")
@pytest.mark.parametrize(
    ("spec", "choice", "accepts", "sent"),
    [
        (SONNET, ThinkingChoice(), Accepts(), {"max_tokens": 17_384}),
        (OLD, ThinkingChoice(), Accepts(), {"max_tokens": 1_000}),
        (
            SONNET,
            ThinkingChoice("adaptive", "max"),
            Accepts(efforts=("low", "medium", "high")),
            {"thinking": ADAPTIVE, "output_config": {"effort": "high"}, "max_tokens": 33_768},
        ),
        (SONNET, ThinkingChoice("off"), Accepts(), {"thinking": OFF, "max_tokens": 1_000}),
        (
            SONNET,
            ThinkingChoice("off", "low"),
            Accepts(thinking=("adaptive", "between_tools")),
            {"thinking": {"type": "between_tools"}, "output_config": {"effort": "low"}, "max_tokens": 1_000},
        ),
        # One that always thinks cannot be told not to, and needs its room all the same.
        (OPUS, ThinkingChoice("off"), Accepts(thinking=("adaptive",)), {"max_tokens": 17_384}),
        (OLD, ThinkingChoice(None, "medium"), Accepts(thinking=(), efforts=()), {"max_tokens": 9_192}),
    ],
)
def test_claude_is_asked_for_what_its_server_says_that_it_takes(
    claude: ClaudeServer, spec: str, choice: ThinkingChoice, accepts: Accepts, sent: dict[str, Any]
) -> None:
    claude.accepts = accepts
    make_talker(spec, access=access_to(claude.url), thinking=choice).talk(HI)
    body = claude.talks[-1]
    assert {name: body[name] for name in ("thinking", "output_config", "max_tokens") if name in body} == sent
    assert len(claude.talks) == 1


@pytest.mark.promise("models.thinking")
def test_a_server_that_refuses_is_asked_for_less_and_told_of_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with ClaudeServer() as claude, caplog.at_level(logging.WARNING, "everloom"):
        # It lists nothing about thinking, so that the model's name decides, which promises too much here.
        claude.lists_thinking = False
        claude.accepts = Accepts(thinking=("adaptive",), efforts=())
        talker = make_talker(SONNET, access=access_to(claude.url), thinking=ThinkingChoice("adaptive", "low"))
        assert talker.talk(HI).turn.text == "All is well."
        assert talker.talk(HI).turn.text == "All is well."
        wished = [("thinking" in body, "output_config" in body) for body in claude.talks]
        assert wished == [(True, True), (True, False), (True, False)]
        claude.accepts = Accepts(thinking=(), efforts=())
        assert talker.talk(HI).turn.text == "All is well."
        assert "thinking" not in claude.talks[-1]
        llm = make_llm(SONNET, access=access_to(claude.url), thinking=ThinkingChoice("adaptive", "low"))
        assert llm.complete(ASK).text == "All is well."
    told = [line for line in caplog.messages if "does not take" in line]
    assert len(told) == 2  # one for the talker, one for the other


@pytest.mark.promise("models.thinking")
def test_an_account_that_fails_is_not_mistaken_for_a_refused_wish(claude: ClaudeServer) -> None:
    claude.script(says("x", status=401, message="thinking of your key: it is wrong"))
    talker = make_talker(SONNET, access=access_to(claude.url), thinking=ThinkingChoice("adaptive"))
    with pytest.raises(Exception, match="key"):
        talker.talk(HI)
    talker.talk(HI)
    assert claude.talks[-1]["thinking"] == ADAPTIVE


@pytest.mark.promise("mind.thoughts-unchanged", "models.thinking")
def test_a_tool_loop_carries_its_thoughts_and_the_last_round_forces_nothing(claude: ClaudeServer) -> None:
    claude.script(uses(("look", {}), thought="Where?", redacted=True), says("There.", thought="Aha."))
    talker = make_talker(OPUS, access=access_to(claude.url), thinking=ThinkingChoice("adaptive", "high"))
    first = talker.talk(HI)
    result = Turn("user", tuple(ToolResult(use.id, "nothing") for use in first.turn.uses))
    heard: list[str] = []
    said = talker.talk(TalkRequest("Be kind.", (*HI.turns, first.turn, result), (LOOK,), may_use=False), heard.append)
    assert "".join(heard) == said.turn.text == "There."
    assert [block["type"] for block in claude.talks[-1]["messages"][1]["content"]][:2] == [
        "thinking",
        "redacted_thinking",
    ]
    assert claude.talks[-1]["tool_choice"] == {"type": "none"}


@pytest.mark.parametrize(
    ("choice", "taken", "sent"),
    [
        (ThinkingChoice(), None, None),
        (ThinkingChoice("adaptive"), None, None),
        (ThinkingChoice(None, "low"), ("low",), "low"),
        (ThinkingChoice(None, "max"), ("low", "medium", "high"), "high"),
        (ThinkingChoice("off", "max"), ("none", "high"), "none"),
        (ThinkingChoice("off"), ("minimal",), "minimal"),
        (ThinkingChoice(None, "high"), None, None),
    ],
)
def test_openai_is_asked_by_level(choice: ThinkingChoice, taken: tuple[str, ...] | None, sent: str | None) -> None:
    with StreamServer() as streams:
        streams.efforts = taken
        talker = make_talker("openai:some-model", access=access_to(streams.url), thinking=choice)
        for _ in range(2):
            assert talker.talk(HI).turn.text == "All is well."
            assert streams.talks[-1].get("reasoning_effort") == sent
        assert talker.talk(HI).turn.text == "All is well."
        body = streams.talks[-1]
        assert max(body.get("max_tokens", 0), body.get("max_completion_tokens", 0)) >= 1_000


@pytest.mark.parametrize(
    ("choice", "values", "thinks", "sent"),
    [
        (ThinkingChoice(), None, None, None),
        (ThinkingChoice("adaptive"), None, (True,), True),
        (ThinkingChoice("adaptive", "max"), ["low", "medium", "high"], ("low", "medium", "high"), "high"),
        (ThinkingChoice("adaptive", "max"), [True, False], (True,), True),
        (ThinkingChoice("off"), [True, False], (True,), False),
        (ThinkingChoice("adaptive"), [False], (), None),
        (ThinkingChoice("adaptive"), None, (), None),
    ],
)
def test_ollama_is_asked_by_what_it_shows(
    choice: ThinkingChoice, values: list[Any] | None, thinks: tuple[Any, ...] | None, sent: object
) -> None:
    with StreamServer() as streams:
        streams.thinks = thinks
        streams.shown = {"parameters": "", **({"thinking": {"values": values}} if values is not None else {})}
        talker = make_talker("ollama:some-model", access=access_to(streams.url), thinking=choice)
        for _ in range(2):
            assert talker.talk(HI).turn.text == "All is well."
            assert streams.talks[-1].get("think") == sent


def test_each_role_and_one_conversation_may_choose_for_itself(claude: ClaudeServer) -> None:
    thinking: dict[str, ThinkingChoice] = {
        Role.LARGE: ThinkingChoice("adaptive", "high"),
        Role.SMALL: ThinkingChoice("off"),
    }
    roles = Roles(large=OPUS, small=SONNET, access=access_to(claude.url), thinking=thinking)
    roles.talker().talk(HI)
    roles.talker(Role.SMALL).talk(HI)
    roles.talker(thinking=ThinkingChoice(None, "low")).talk(HI)
    roles.small.complete(ASK)
    asked = [(body.get("thinking"), body.get("output_config")) for body in claude.talks]
    assert asked == [(ADAPTIVE, {"effort": "high"}), (OFF, None), (None, {"effort": "low"}), (OFF, None)]
    assert roles.talker() is roles.talker()


@pytest.mark.promise("models.thinking")
def test_what_was_thought_is_in_no_file_and_no_reply(claude: ClaudeServer, tmp_path: Path) -> None:
    chosen = {"llm.large": OPUS, "llm.thinking": "adaptive", "llm.effort": "max", "mind.notes": str(tmp_path / "n")}
    far = {"provider.anthropic_base": claude.url, "mind.gather_seconds": 0}
    settings = load(flags={**chosen, **far}, environ={"ANTHROPIC_API_KEY": KEY})[0]
    with open_loom(tmp_path / "x.db", settings=settings) as loom:
        claude.script(uses(("list_scheduled", {}), thought="a hidden plan"), says("Nothing.", thought="a hidden end"))
        talk = loom.workspace().mind.conversation
        talk.receive("What is planned?", channel="terminal", is_whole=True)
        answered = talk.step()
        assert answered is not None
        assert answered.reply == "Nothing."
        assert "hidden" not in json.dumps([message.text for message in talk.log()])
    assert claude.talks[-1]["output_config"] == {"effort": "max"}
    assert all(b"hidden" not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
