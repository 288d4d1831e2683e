"""Arguments of a verb are read from JSON in one way for all surfaces, and described in as few words as possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

import pytest

from everloom.errors import Rejected
from everloom.kernel.verbs import ADDS, READS, Says, helps, verb, verbs_of
from everloom.wiring.arguments import Arguments

PARIS = ZoneInfo("Europe/Paris")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """Something to send."""

    name: str
    sent_at: datetime | None = None
    tags: Sequence[str] = ()


class Post:
    """A faculty of the tests."""

    @verb("Send", ADDS)
    def send(
        self,
        parcels: Sequence[Parcel],
        until: Annotated[datetime | None, Says("last day", ends_day=True)] = None,
        *,
        kind: Literal["slow", "fast"] = "slow",
        pairs: Sequence[tuple[str, str]] = (),
        weight: Annotated[float, helps("how heavy", least=0, most=5)] = 1.0,
        is_fragile: Annotated[bool, Says("handle it with care")] = False,
        note: str | Sequence[str] | None = None,
        idempotency_key: Annotated[str | None, Says(is_plumbing=True)] = None,
    ) -> None:
        """Send parcels."""

    @verb("Label", READS)
    def label(self, fields: Mapping[str, Any]) -> None:
        """Print a label."""


SEND, LABEL = (Arguments(each.tool, each.parameters) for each in verbs_of(Post))


def test_the_schema_is_lean_and_shows_no_plumbing() -> None:
    known = SEND.schema["properties"]
    assert "idempotency_key" not in known
    assert known["until"] == {"type": "string", "description": "last day"}
    assert known["weight"] == {"default": 1.0, "maximum": 5, "minimum": 0, "type": "number"}
    pair = {"items": {"type": "string"}, "maxItems": 2, "minItems": 2, "type": "array"}
    assert known["pairs"] == {"items": pair, "type": "array"}
    assert SEND.schema["required"] == ["parcels"]
    assert SEND.schema["$defs"]["Parcel"]["additionalProperties"] is False


def test_objects_become_the_faculty_s_own_and_times_are_read_in_the_workspace_s_zone() -> None:
    given = {
        "parcels": [{"name": "boat", "sent_at": "2026-11-16", "tags": ["big"]}],
        "until": "2026-11-16",
        "pairs": [["a", "b"]],
        "idempotency_key": "k",
    }
    read = SEND.read(given, PARIS)
    (parcel,) = read["parcels"]
    assert isinstance(parcel, Parcel)
    assert parcel.sent_at == datetime(2026, 11, 15, 23, tzinfo=UTC)
    assert read["until"] == datetime(2026, 11, 16, 22, 59, 59, 999_999, tzinfo=UTC)
    assert (read["pairs"], read["idempotency_key"]) == ([("a", "b")], "k")
    assert "weight" not in read, "what was not given is left to the verb"


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({}, "parcels"),
        ({"parcels": [{}]}, "name"),
        ({"parcels": [{"name": "x", "colour": "red"}]}, "colour"),
        ({"parcels": [], "speed": 1}, "send takes no speed"),
        ({"parcels": [], "until": "yesterday"}, "cannot read the time"),
        ({"parcels": [], "kind": "sideways"}, "kind"),
        ({"parcels": [], "pairs": [["a"]]}, "pairs"),
        ({"parcels": [], "weight": 6}, "weight"),
        ({"parcels": [], "weight": True}, "weight: Input should be a number"),
        ({"parcels": [], "is_fragile": "yes"}, "is_fragile: Input should be true or false"),
        ({"parcels": [], "is_fragile": 1}, "is_fragile: Input should be true or false"),
        ({"parcels": None}, "parcels"),
    ],
)
def test_what_does_not_fit_is_refused_and_named(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(Rejected, match=fault):
        SEND.read(given, PARIS)


def test_an_error_teaches_what_the_argument_means() -> None:
    with pytest.raises(Rejected, match="handle it with care"):
        SEND.read({"parcels": [], "is_fragile": "perhaps"}, PARIS)
    with pytest.raises(Rejected, match="how heavy"):
        SEND.read({"parcels": [], "weight": 6}, PARIS)
    with pytest.raises(Rejected, match="correct these arguments"):
        LABEL.read({"fields": "none"}, PARIS)


def test_words_of_numbers_and_switches_are_read_and_null_leaves_out_what_has_a_default() -> None:
    given: dict[str, Any] = {"parcels": [], "weight": "2", "is_fragile": "True", "kind": None, "note": None}
    assert SEND.read(given, PARIS) == {"parcels": [], "weight": 2, "is_fragile": True, "note": None}


def test_json_in_a_string_is_read_only_where_a_list_was_meant() -> None:
    assert SEND.read({"parcels": '[{"name": "boat"}]'}, PARIS)["parcels"] == [Parcel(name="boat")]
    assert SEND.read({"parcels": [], "note": "null"}, PARIS)["note"] == "null"
    assert SEND.read({"parcels": [], "note": '["a", "b"]'}, PARIS)["note"] == ["a", "b"]
    with pytest.raises(Rejected):
        LABEL.read({"fields": '{"a": 1}'}, PARIS)
