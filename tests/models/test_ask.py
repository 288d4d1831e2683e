"""What language models promise, over real HTTP and from a script on disk."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field

from everloom.clock import ManualClock
from everloom.errors import MalformedReply, ProviderBusy, ProviderRefused, Rejected
from everloom.models import LLM, Budget, Meter, TokenUsage, UsageRecord
from everloom.models.ask import AskMessage, AskRequest, StopReason
from everloom.models.providers import ProviderAccess, Roles, make_embedder, make_llm
from everloom.models.shape import ModelAnswer
from tests.models.conftest import LLMS
from tests.scripted.server import ERROR, ScriptedServer, fails, says

ASK = AskRequest("Be brief.", (AskMessage("user", "What did James do?"),), max_tokens=50, purpose="recall")


class Deed(BaseModel):
    who: str
    what: str


DEED = Deed(who="James", what="sail")
GOOD = DEED.model_dump_json()


class Notes:
    """Keeps records in a list."""

    def __init__(self) -> None:
        self.records: list[UsageRecord] = []

    def record(self, record: UsageRecord) -> None:
        self.records.append(record)


def schema_sent(body: dict[str, Any]) -> Any:
    """Find the schema in a request of any provider."""
    if "output_config" in body:
        return body["output_config"]["format"]["schema"]
    return body["format"] if "format" in body else body["response_format"]["json_schema"]["schema"]


def test_a_completion_says_text_usage_model_and_why_it_ended(llm: LLM, server: ScriptedServer) -> None:
    server.script(says("He sailed."), says("He sai", stop="cut"))
    reply, cut = llm.complete(ASK), llm.complete(ASK)
    assert (reply.text, reply.stop, reply.model) == ("He sailed.", StopReason.END, llm.name)
    assert (reply.usage.prompt, reply.usage.output) == (30, 7)
    assert cut.stop is StopReason.CUT


def test_the_question_reaches_the_server_as_it_was_asked(llm: LLM, server: ScriptedServer) -> None:
    more = AskMessage("assistant", "Sail\ud800."), AskMessage("user", "Where?")
    llm.complete(replace(ASK, messages=ASK.messages + more))
    body = server.heard[0].body
    turns = [turn for turn in body["messages"] if turn["role"] != "system"]
    system = body.get("system") or body["messages"][0]["content"]
    assert body["model"] == llm.name.partition(":")[2]
    assert system == "Be brief."
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    assert [turn["content"] for turn in turns] == ["What did James do?", "Sail?.", "Where?"]
    # A Claude model thinks by itself, and is left room for it.
    room = 16_384 if llm.name.startswith("anthropic") else 0
    assert 50 + room in (body.get("max_tokens"), body.get("options", {}).get("num_predict"))


def test_a_question_without_a_system_text_sends_none(llm: LLM, server: ScriptedServer) -> None:
    llm.complete(AskRequest("", ASK.messages))
    assert "system" not in server.heard[0].body
    assert [turn["role"] for turn in server.heard[0].body["messages"]] == ["user"]


class Voyage(ModelAnswer):
    """An answer of two parts."""

    title: str = ""
    days: list[str] = Field(default=[])


def test_valid_parts_are_kept_after_one_correction(llm: LLM, server: ScriptedServer) -> None:
    half, other = '{"title": "Home", "days": [1, "Tue"]}', '{"title": {}, "days": ["Mon"]}'
    server.script(says(half), says(other), says(half), ERROR, ERROR, ERROR, ERROR)
    assert llm.answer(ASK, Voyage).days == ["Mon"]
    # A provider that fails at the correction does not discard what it has said before.
    found = llm.answer(ASK, Voyage)
    assert (found.title, found.days, len(found.dropped)) == ("Home", ["Tue"], 1)
    assert "days.0" in found.dropped[0]


def test_a_structured_answer_is_asked_for_natively_and_validated(llm: LLM, server: ScriptedServer) -> None:
    server.script(says(GOOD))
    assert llm.answer(ASK, Deed) == DEED
    assert llm.spent.output_tokens == 7
    assert schema_sent(server.heard[0].body)["required"] == ["who", "what"]


def test_an_answer_wrapped_in_prose_is_found(llm: LLM, server: ScriptedServer) -> None:
    server.script(says(f"Of course! Here it is:\n```json\n{GOOD}\n```\nAnything else?"))
    assert llm.answer(ASK, Deed) == DEED


def test_a_misfit_is_sent_back_once_with_what_is_wrong(llm: LLM, server: ScriptedServer) -> None:
    server.script(says('{"who": "James"}'), says(GOOD))
    assert llm.answer(ASK, Deed) == DEED
    assert llm.spent.output_tokens == 14
    assert "what: Field required" in server.heard[1].body["messages"][-1]["content"]


def test_a_second_misfit_is_malformed(llm: LLM, server: ScriptedServer) -> None:
    server.script(says(""), says("I would rather not."))
    with pytest.raises(MalformedReply, match="Deed"):
        llm.answer(ASK, Deed)
    assert len(server.heard) == 2


def test_an_answer_that_was_cut_off_is_not_asked_for_again(llm: LLM, server: ScriptedServer) -> None:
    server.script(says('{"who": "Ja', stop="cut"))
    with pytest.raises(MalformedReply, match="more than 50 tokens"):
        llm.answer(ASK, Deed)
    assert len(server.heard) == 1


@pytest.mark.parametrize("spec", LLMS[:2])
def test_a_refusal_is_refused(spec: str, access: ProviderAccess, server: ScriptedServer) -> None:
    server.script(says("", stop="refused"))
    with pytest.raises(ProviderRefused, match="declined"):
        make_llm(spec, access=access).complete(ASK)


def test_a_server_without_a_strict_mode_is_asked_in_words(access: ProviderAccess, server: ScriptedServer) -> None:
    llm = make_llm("openai:plain", access=access)
    server.script(fails(400, "This response_format type is unavailable now"), says(GOOD), says(GOOD))
    assert llm.answer(ASK, Deed) == llm.answer(ASK, Deed) == DEED
    assert ["response_format" in heard.body for heard in server.heard] == [True, False, False]
    assert '"required": ["who", "what"]' in server.heard[1].body["messages"][0]["content"]


def test_ollama_is_given_room_for_a_long_question(access: ProviderAccess, server: ScriptedServer) -> None:
    llm = make_llm("ollama:some-model", access=access)
    llm.complete(ASK)
    llm.complete(AskRequest("", (AskMessage("user", "a long story " * 5_000),)))
    assert [heard.body["options"]["num_ctx"] for heard in server.heard] == [4_096, 32_768]


def test_every_try_is_booked_also_those_that_fail(
    access: ProviderAccess, server: ScriptedServer, clock: ManualClock
) -> None:
    notes = Notes()
    roles = Roles(large=LLMS[0], small=LLMS[2], access=access, meter=Meter(notes, clock=clock))
    roles.large.complete(ASK)
    server.script(says("no"), says(GOOD))
    roles.small.answer(ASK, Deed)
    server.script(*[ERROR] * 3)
    with pytest.raises(ProviderBusy):
        roles.large.complete(ASK)
    booked = [(record.model, record.role, record.purpose, record.error) for record in notes.records]
    assert booked == [
        (LLMS[0], "large", "recall", None),
        (LLMS[2], "small", "recall", None),
        (LLMS[2], "small", "recall", None),
        (LLMS[0], "large", "recall", "ProviderBusy"),
    ]
    assert notes.records[0].dollars == pytest.approx((20 * 0.1 + 10 * 0.01 + 7 * 0.5) / 1e6)
    assert notes.records[3].usage == TokenUsage()
    assert all(record.at == clock.now() and record.milliseconds >= 0 for record in notes.records)


def test_a_spent_budget_refuses_before_anything_is_sent(access: ProviderAccess, server: ScriptedServer) -> None:
    llm = make_llm(LLMS[1], access=access, meter=Meter(budget=Budget(tokens=30)))
    llm.complete(ASK)
    with pytest.raises(ProviderRefused, match="budget"):
        llm.complete(ASK)
    assert len(server.heard) == 1


def test_each_role_stands_in_for_the_other() -> None:
    assert Roles(large="scripted:echo", access=ProviderAccess()).small.name == "scripted:echo"
    roles = Roles(small="scripted:echo", access=ProviderAccess())
    assert (roles.large.name, roles.large.role, roles.is_configured) == ("scripted:echo", "large", True)


def test_without_a_language_model_the_error_says_what_to_set() -> None:
    roles = Roles(access=ProviderAccess())
    assert not roles.is_configured
    with pytest.raises(Rejected, match=r"no language model is configured.*llm\.large"):
        _ = roles.small


@pytest.mark.parametrize("spec", ["gpt-x", "grok:x", "anthropic:", ":x", ""])
def test_an_unknown_kind_is_rejected_with_the_known_ones(spec: str, clock: ManualClock) -> None:
    with pytest.raises(Rejected, match="anthropic:…, ollama:…, openai:…, scripted:…"):
        make_llm(spec, access=ProviderAccess())
    with pytest.raises(Rejected, match="ollama:…, openai:…, static:…"):
        make_embedder([spec], access=ProviderAccess(), clock=clock)


def test_an_unknown_static_embedder_is_rejected(clock: ManualClock) -> None:
    with pytest.raises(Rejected, match="static:multilingual-384 or static:wordllama-256"):
        make_embedder(["static:other"], access=ProviderAccess(), clock=clock)


def test_a_script_replies_by_its_first_matching_rule_else_echoes(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(
        json.dumps([{"match": "(?i)james", "reply": DEED.model_dump()}, {"match": "brief", "reply": "Yes."}])
    )
    llm = make_llm(f"scripted:{file}", access=ProviderAccess())
    assert llm.answer(ASK, Deed) == DEED
    assert llm.complete(AskRequest("Be brief.", (AskMessage("user", "Well?"),))).text == "Yes."
    echoed = llm.complete(AskRequest("", (AskMessage("user", "Well?"),)))
    assert echoed.text == "Well?"
    assert echoed.usage.output > 0
    assert llm.complete(ASK) == llm.complete(ASK)


@pytest.mark.parametrize("content", [None, "{}", "[{}]", '[{"match": "(", "reply": ""}]', "not json"])
def test_a_script_that_cannot_be_read_is_rejected(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "script.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(Rejected, match="script"):
        make_llm(f"scripted:{file}", access=ProviderAccess())
