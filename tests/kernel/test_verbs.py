"""A verb is declared once: its signature, its sentences and its effect are what every surface reads."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal

import pytest

from everloom.kernel.answer.encode import SAID, as_data
from everloom.kernel.verbs import ADDS_ONCE, READS, REQUIRED, Effect, Says, verb, verbs_of

if TYPE_CHECKING:
    from nowhere import Answer  # type: ignore[import-not-found]

Names = Annotated[Sequence[str], Says("what it is about", flag="--about", metavar="SUBJECT")]
Key = Annotated[str | None, Says("makes it safe to repeat", is_plumbing=True)]


class Shelf:
    """A faculty that exists only here."""

    @verb("Put", ADDS_ONCE, tools=("shelf",), tool="shelf_put", models="Put a\n  thing there.", agent=True)
    def put(self, names: Names, text: str, *, size: Literal["s", "l"] = "s", idempotency_key: Key = None) -> Answer:
        """Put a thing on the shelf,
        and keep it there.

        What follows is for readers of the code.
        """

    @verb("Look", READS, cli=False)
    def look(self) -> Answer:
        """Look at the shelf."""

    def close(self) -> None:
        """Do what is not a verb."""


def test_verbs_are_listed_in_their_order_and_nothing_else_is() -> None:
    assert [each.name for each in verbs_of(Shelf)] == ["put", "look"]


def test_inherited_verbs_follow_those_of_the_class_itself() -> None:
    class Drawer(Shelf):
        @verb("Lock", READS)
        def lock(self) -> Answer:
            """Lock the drawer."""

    assert [each.name for each in verbs_of(Drawer)] == ["lock", "put", "look"]


def test_a_declaration_says_what_each_surface_needs() -> None:
    put, look = verbs_of(Shelf)
    assert (put.title, put.tool, put.tools, put.effect) == ("Put", "shelf_put", ("shelf",), Effect(repeats=True))
    assert (put.is_agent_tool, put.is_command, look.is_agent_tool, look.is_command) == (True, True, False, False)
    assert put.summary == "Put a thing on the shelf, and keep it there."
    assert (put.description, look.description) == ("Put a thing there.", "Look at the shelf.")
    assert look.parameters == ()


def test_parameters_are_read_from_the_signature_with_their_sentences() -> None:
    names, text, size, key = verbs_of(Shelf)[0].parameters
    assert (names.name, names.type, names.says.flag, names.is_required) == ("names", Sequence[str], "--about", True)
    assert (text.type, text.says, text.default, text.is_positional) == (str, Says(), REQUIRED, True)
    assert (size.type, size.default, size.is_positional) == (Literal["s", "l"], "s", False)
    assert (key.type, key.says.is_plumbing, key.is_required) == (str | None, True, False)


def test_declaring_loads_nothing_heavy() -> None:
    code = "import sys, everloom.kernel.verbs; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "pydantic", "everloom.store"} & set(loaded)


class Colour(StrEnum):
    """A value that has a name."""

    RED = "red"


@dataclass(frozen=True)
class Thing:
    """An answer with one of everything."""

    at: datetime
    score: float
    colour: Colour
    tags: frozenset[str]
    best: str | None = field(default=None, metadata=SAID)
    author: str | None = None
    others: tuple[str, ...] = ()
    count: int = 0
    note: str = ""
    more: dict[int, object] = field(default_factory=dict)


def test_a_result_has_one_json_form() -> None:
    thing = Thing(datetime(2026, 1, 2, 3, 4, 5, 6, UTC), 0.123456, Colour.RED, frozenset({"b", "a"}), more={1: None})
    assert as_data(thing) == {
        "at": "2026-01-02T03:04:05.000006+00:00",
        "score": 0.123456,
        "colour": "red",
        "tags": ["a", "b"],
        "best": None,
        "count": 0,
        "note": "",
        "more": {"1": None},
    }
    short = as_data(thing, digits=4)
    assert (short["at"], short["score"]) == ("2026-01-02T03:04:05+00:00", 0.1235)
    assert as_data([float("inf"), True, b"x"]) == [None, True, "b'x'"]


@pytest.mark.promise("trust.9-short-answers")
def test_nothing_is_written_of_what_is_not_there() -> None:
    said = as_data(Thing(datetime(2026, 1, 2, tzinfo=UTC), 1.0, Colour.RED, frozenset()))
    # `best` is declared to be said: that nothing is the best is the answer.
    assert said.keys() == {"at", "score", "colour", "best", "count", "note"}
