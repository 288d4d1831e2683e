"""Whatever a record of the package holds, it is made again exactly from its whole form."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence, Set
from datetime import UTC, date, datetime
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everloom.kernel.answer.encode import as_object
from everloom.kernel.answer.whole import whole_answer
from everloom.remote.decode import Undecodable, _records, reader_of, result_from
from everloom.semantic.results import Marked
from everloom.wiring.wire.annotations import hints_of
from tests.remote.test_same import same

RECORDS = _records()
TEXT = st.text(max_size=8)
DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT | st.just("@"), inner, max_size=2),
    max_leaves=4,
)
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(),
    bool: st.booleans(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    NoneType: st.none(),
    datetime: st.datetimes(timezones=st.just(UTC)),
    date: st.dates(),
    Any: DATA,
    # The result of some verb.
    object: st.none(),
}


def values_of(kind: Any, depth: int = 3) -> st.SearchStrategy[Any]:
    """Make values of a type; lists are empty where they would be nested too deeply."""
    if kind in PLAIN:
        return PLAIN[kind]
    if isinstance(kind, type):
        if dataclasses.is_dataclass(kind):
            hints = hints_of(kind)
            own = {each.name: values_of(hints[each.name], depth - 1) for each in dataclasses.fields(kind) if each.init}
            return st.builds(kind, **own)
        if issubclass(kind, Enum):
            return st.sampled_from(kind)
    return composed_of(get_origin(kind), get_args(kind), depth)


def composed_of(origin: Any, members: tuple[Any, ...], depth: int) -> st.SearchStrategy[Any]:
    """Make values of a type that is made of others."""
    if origin is Literal:
        return st.sampled_from(members)
    if origin in {Union, UnionType}:
        kept = [each for each in members if depth > 0 or not dataclasses.is_dataclass(each)]
        return st.one_of([values_of(each, depth) for each in kept])
    if issubclass(origin, Mapping):
        each = DATA if members[1] is object else values_of(members[1], depth)
        return st.dictionaries(TEXT, each, max_size=2)
    if origin is tuple and Ellipsis not in members:
        return st.tuples(*(values_of(member, depth) for member in members))
    assert issubclass(origin, Sequence | Set)
    most = 2 if depth > 0 else 0
    return st.lists(values_of(members[0], depth) if most else st.nothing(), max_size=most).map(tuple)


@pytest.mark.promise("remote.same-answers")
@pytest.mark.parametrize("name", sorted(RECORDS))
def test_every_record_is_made_again_from_its_whole_form(name: str) -> None:
    kind = RECORDS[name]

    @settings(max_examples=12)
    @given(values_of(kind))
    def check(value: Any) -> None:
        same(value, result_from(kind, json.loads(whole_answer(value))))

    check()


@pytest.mark.promise("remote.same-answers")
def test_what_the_short_form_leaves_out_is_restored() -> None:
    kind = RECORDS["Event"]

    @given(values_of(kind))
    def check(value: Any) -> None:
        assert reader_of(kind)(as_object(value)) == value

    check()


def test_only_what_verbs_return_is_made() -> None:
    class Intruder:
        """Not a result of any verb."""

    assert "Intruder" not in RECORDS
    made = result_from(object | None, {"result": {"@": "Intruder", "x": 1}})
    assert made == {"@": "Intruder", "x": 1}
    with pytest.raises(Undecodable):
        result_from(Marked, {"result": {"@": "Marked"}})
    with pytest.raises(Undecodable):
        result_from(Marked, {"result": [1, 2]})
    with pytest.raises(Undecodable):
        result_from(tuple[Marked, ...], {"result": "text"})


@given(DATA)
def test_no_answer_whatever_it_holds_raises_anything_else(data: Any) -> None:
    for kind in (RECORDS["Findings"], RECORDS["Reason"], tuple[int, ...], RECORDS["QuestionRecall"] | None):
        try:
            result_from(kind, {"result": data})
        except Undecodable:
            continue
