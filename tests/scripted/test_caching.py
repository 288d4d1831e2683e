"""The scripted cache is as exact as the documented one: what it reads, what it writes, and what it has lost."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scripted.caching import LOOKBACK, PrefixCache
from tests.scripted.rules import Issued, complaints

Body = dict[str, Any]
TOOL = {"name": "look", "input_schema": {"type": "object"}}
HEADERS = {"anthropic-version": "2026-10-21", "x-api-key": "key"}


def block(text: str, life: str | None = None) -> Body:
    marked = {} if life is None else {"cache_control": {"type": "ephemeral", "ttl": life}}
    return {"type": "text", "text": text, **marked}


def body_of(*blocks: Body, **more: Any) -> Body:
    """Make a request whose messages alternate, a block each."""
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": [each]} for at, each in enumerate(blocks)]
    return {"model": "m", "max_tokens": 9, "tools": [TOOL], "system": "Be kind.", "messages": messages, **more}


class Till:
    """A cache with a clock that the test moves, where every block is one token."""

    def __init__(self, least: int = 0) -> None:
        self.at = 0.0
        self.cache = PrefixCache(lambda: self.at, least)

    def read(self, body: Body) -> int:
        return int(self.charge(body)["cache_read_input_tokens"])

    def charge(self, body: Body) -> Any:
        return self.cache.charge(body, len)


def words(count: int, *marks: int, life: str = "5m") -> list[Body]:
    return [block(f"word {at}", life if at in marks else None) for at in range(count)]


def test_a_mark_writes_what_stands_before_it_and_the_next_request_reads_it() -> None:
    till = Till()
    first = till.charge(body_of(*words(3, 2)))
    assert (first["cache_creation_input_tokens"], first["input_tokens"]) == (5, 0), "a tool, the prompt, three blocks"
    then = till.charge(body_of(*words(5, 4), block("aside")))
    assert (then["cache_read_input_tokens"], then["cache_creation_input_tokens"], then["input_tokens"]) == (5, 2, 1)


def test_nothing_is_read_after_a_difference_and_nothing_between_two_entries() -> None:
    till = Till()
    till.charge(body_of(*words(9, 3, 8)))
    other = words(9, 8)
    other[5] = block("another word")
    assert till.read(body_of(*other)) == 6, "the entry at the earlier mark, not all that is equal"
    assert till.read(body_of(*words(9, 8), system="Be brief.")) == 0
    assert till.read(body_of(*words(9, 8), tools=[])) == 0
    assert till.read(body_of(*words(9, 8), model="n")) == 0
    assert till.read(body_of(*words(9, 8), tool_choice={"type": "none"})) == 0
    assert till.read(body_of(*words(9, 8))) == 11


def test_a_mark_looks_back_over_twenty_positions_and_no_further() -> None:
    for distance, read in ((LOOKBACK - 1, 7), (LOOKBACK, 0)):
        till = Till()
        till.charge(body_of(*words(5, 4)))
        assert till.read(body_of(*words(5 + distance, 4 + distance))) == read
    till = Till()
    till.charge(body_of(*words(5, 4)))
    assert till.read(body_of(*words(60, 4, 59))) == 7, "a mark on the earlier end finds it"


def test_an_entry_lives_as_long_as_its_mark_says_and_reading_it_renews_it() -> None:
    till = Till()
    till.charge(body_of(*words(3, 2)))
    for _ in range(3):
        till.at += 299
        assert till.read(body_of(*words(3, 2))) == 5
    till.at += 300
    assert till.read(body_of(*words(3, 2))) == 0
    till.charge(body_of(*words(4, 3, life="1h")))
    till.at += 3_599
    assert till.read(body_of(*words(4, 3, life="1h"))) == 6


def test_what_lives_an_hour_is_counted_by_itself() -> None:
    blocks = [block("one", "1h"), block("two"), block("three", "5m"), block("four")]
    said = Till().charge(body_of(*blocks))
    assert said["cache_creation"] == {"ephemeral_1h_input_tokens": 3, "ephemeral_5m_input_tokens": 2}
    assert said["input_tokens"] == 1


def test_what_is_too_short_is_not_cached() -> None:
    till = Till(least=6)
    for _ in range(2):
        assert till.charge(body_of(*words(3, 2)))["input_tokens"] == 5
    assert till.charge(body_of(*words(4, 2, 3)))["cache_creation_input_tokens"] == 6


@pytest.mark.parametrize(
    ("blocks", "complaint"),
    [
        ([block("a", "5m"), block("b"), block("c", "1h")], "must not come after"),
        ([block("a", "2h")], "a ttl of 5m or 1h"),
        (words(9, 0, 2, 4, 6, 8), "maximum of 4"),
        (words(7, 0, 2, 4, 6), None),
        ([block("a", "1h"), block("b"), block("c", "5m")], None),
    ],
)
def test_marks_follow_the_rules(blocks: list[Body], complaint: str | None) -> None:
    found = complaints(body_of(*blocks), HEADERS, Issued())
    assert found == [] if complaint is None else any(complaint in one for one in found)
