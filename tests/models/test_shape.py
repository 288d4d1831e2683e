"""What is promised about structured answers, wherever in a reply they stand."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from everloom.models.shape import Misfit, ModelAnswer, fit, fit_parts, json_values, strict_schema

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(max_size=5), VALUES, max_size=4)
PROSE = st.text(st.characters(exclude_characters="{}[]`", exclude_categories=["Cs"]), max_size=60)


class Place(BaseModel):
    title: str = Field(min_length=1, description="what it is called")


class Scene(BaseModel):
    action: str
    kind: Literal["seen", "felt"] = "seen"
    weight: float = Field(default=0.5, ge=0, le=1)
    place: Place | None = Field(default=None, description="where it was")


class Member(BaseModel):
    name: str
    tools: list[str] = Field(default=[])


class Crew(ModelAnswer):
    log: str = ""
    members: list[Member] = Field(default=[])
    numbers: list[int] = Field(default=[], max_length=3)


@given(OBJECTS, PROSE, PROSE)
def test_json_is_found_in_prose(value: dict[str, Any], before: str, after: str) -> None:
    assert value in list(json_values(f"{before} {json.dumps(value)} {after}"))


@given(OBJECTS, PROSE)
def test_json_is_found_in_a_fence(value: dict[str, Any], before: str) -> None:
    assert value in list(json_values(f"{before}\n```json\n{json.dumps(value, indent=2)}\n```\nDone."))


@given(st.text(st.sampled_from('{}[]",:`\\ntrue1 \ud800') | st.characters(), max_size=80))
def test_no_text_makes_the_search_for_json_fail(text: str) -> None:
    list(json_values(text))


@pytest.mark.parametrize("text", ["[" * 200_000, "[1, " * 50_000, '{"a":' * 50_000, "```\n" * 50_000])
def test_a_reply_that_is_all_brackets_holds_nothing(text: str) -> None:
    assert not list(json_values(text))


def test_the_search_for_json_gives_up_after_a_thousand_openings() -> None:
    assert list(json_values("[ " * 900 + '{"a": 1}')) == [{"a": 1}]
    assert not list(json_values("[ " * 1_000 + '{"a": 1}'))


def test_the_first_value_that_fits_counts() -> None:
    reply = 'See [1] and {"note": "a thought"}. ```json\n{"action": "sail", "kind": "felt"}\n```'
    assert fit(reply, Scene) == Scene(action="sail", kind="felt")


def test_a_lone_surrogate_in_an_answer_is_replaced() -> None:
    assert fit('{"action": "sa\\ud800il"}', Scene).action == "sa?il"


@pytest.mark.parametrize("text", ["", "no json here", '{"action": 1}', '{"action": "sail", "weight": 7}', "null"])
def test_a_misfit_says_what_is_wrong(text: str) -> None:
    with pytest.raises(Misfit) as caught:
        fit(text, Scene)
    assert str(caught.value)


def answer(**parts: Any) -> str:
    return json.dumps(parts)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({"members": {"name": "Pia", "tools": "saw"}}, {"members": [{"name": "Pia", "tools": ["saw"]}]}),
        ({"log": ["Montag", "Dienstag"], "numbers": 4}, {"log": "Montag\nDienstag", "numbers": [4]}),
        ({"log": None, "members": [{"name": "Pia", "tools": None}]}, {"members": [{"name": "Pia"}]}),
        ({"log": "", "numbers": "7"}, {"numbers": [7]}),
    ],
)
def test_a_part_in_another_form_is_converted_if_nothing_is_lost(said: Any, meant: Any) -> None:
    found = fit(answer(**said), Crew)
    assert (found, found.dropped) == (Crew.model_validate(meant), ())


def test_each_part_of_an_answer_is_accepted_by_itself() -> None:
    members = [{"name": "Pia", "tools": ["saw", 5, {}]}, {"tools": ["axe"]}, "Ole", {"name": "Udo", "tools": []}]
    text = answer(log={"day": 1}, members=members, numbers=[1, 2, 3, 4, 5])
    with pytest.raises(Misfit):
        fit(text, Crew)
    found = fit_parts(text, Crew)
    assert found is not None
    assert [(each.name, each.tools) for each in found.members] == [("Pia", ["saw"]), ("Udo", [])]
    assert (found.log, found.numbers) == ("", [1, 2, 3])
    places = [remark.removeprefix("dropped ").partition(":")[0] for remark in found.dropped]
    wanted = ["log", "members.0.tools.1", "members.0.tools.2", "members.1", "members.2", "the end of numbers"]
    assert sorted(places) == sorted(wanted)


@pytest.mark.parametrize("text", ["", "[1]", answer(log=5), answer(members=[{"names": "Pia"}]), answer(error="busy")])
def test_an_answer_without_a_valid_part_is_none(text: str) -> None:
    assert fit_parts(text, Crew) is None


def test_a_field_without_a_default_cannot_be_dropped() -> None:
    assert fit_parts(answer(action=3, kind="felt"), Scene) is None
    assert fit_parts(answer(action="sail", kind="heard", weight=7), Scene) == Scene(action="sail")


def test_a_fragment_of_a_broken_answer_is_no_answer() -> None:
    with pytest.raises(Misfit, match="none of the fields"):
        fit('{"members": [{"name": "Pia"}, {"na', Crew)


@given(st.dictionaries(st.sampled_from(["log", "members", "numbers"]), VALUES))
def test_no_answer_makes_the_repair_fail(value: dict[str, Any]) -> None:
    fit_parts(json.dumps(value), Crew)


def test_the_strict_schema_is_closed_and_free_of_what_strict_modes_refuse() -> None:
    schema = strict_schema(Scene)
    assert schema["required"] == ["action", "kind", "weight", "place"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["weight"] == {"type": "number"}
    assert schema["properties"]["kind"] == {"enum": ["seen", "felt"], "type": "string"}
    # A field may be called like a keyword of JSON schema.
    assert schema["$defs"]["Place"]["required"] == ["title"]
    assert schema["$defs"]["Place"]["properties"]["title"] == {"description": "what it is called", "type": "string"}
