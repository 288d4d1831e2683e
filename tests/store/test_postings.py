"""PostgreSQL's postings: packed, divided into parts, ranked, checked, and made from the rows of older stores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloom.kernel.journal import register
from everloom.store.contract import IndexedWords
from everloom.store.migrations import steps
from everloom.store.postings import (
    PART,
    PostingPart,
    item_of,
    packed,
    postings_of,
    ranked,
    rewritten,
    settled,
    unpacked,
    without,
)
from tests.store.ground import NOW, as_superuser, assert_agreement, note, open_at, remove, retire, rows_of

IDS = st.sets(st.integers(1, 10**12), max_size=100)
MANY = st.sets(st.integers(1, 10**12), min_size=PART + 1, max_size=4 * PART)


def held_by(items: Sequence[int]) -> list[int]:
    return postings_of([IndexedWords(item, "harbour", "", 1) for item in items]).get("harbour", [])


def assert_divided(parts: Sequence[PostingPart], expected: Sequence[int]) -> None:
    """Prove that parts hold what is expected, each what it owns, and none too much."""
    ordered = sorted(parts, key=lambda part: part.low)
    assert [each for part in ordered for each in part.postings] == sorted(expected)
    ends = [*(part.low for part in ordered[1:]), 2**60]
    for part, end in zip(ordered, ends, strict=True):
        assert all(part.low <= item_of(each) < end for each in part.postings)
        assert len(part.postings) <= 2 * PART


@given(st.lists(st.integers(1, 2**54), max_size=50))
def test_postings_are_read_as_they_were_written(items: list[int]) -> None:
    postings = held_by(items)
    assert unpacked(packed(postings)) == postings
    assert unpacked(without(packed(postings), set(items[::2]))) == [
        each for each in postings if item_of(each) not in items[::2]
    ]


@given(MANY)
def test_full_parts_are_taken_from_a_row_and_the_newest_documents_stay(ids: set[int]) -> None:
    found = settled(held_by([*ids]), 0)
    assert_divided(found.parts, [each for each in held_by(sorted(ids)) if item_of(each) <= found.through])
    assert found.parts[0].low == 0
    assert {len(part.postings) for part in found.parts} == {PART}
    assert sorted(map(item_of, found.rest)) == [item for item in sorted(ids) if item > found.through]
    assert len(found.rest) < PART
    assert found.older == []


@pytest.mark.promise("index.agrees-with-documents")
def test_an_item_that_gets_its_document_late_is_found_and_forgotten_like_others(postgres_url: str) -> None:
    with open_at(postgres_url) as loom:
        place = loom.workspace("james")
        with loom.store.write(place.info.id) as unit:
            late = register(unit, ["note"] * 3, NOW)
        place.add([note("The harbour is quiet.") for _ in range(PART + 5)])
        with loom.store.write(place.info.id) as unit:
            loom.index.publish(unit, late, loom.index.prepare([note("A quiet harbour.")] * 3), NOW)
        # Full again, with the older ones in it.
        place.add([note("The harbour is quiet.") for _ in range(PART)])
        assert_agreement(postgres_url)
        retire(place, late[0])
        remove(place, *late[1:])
    assert_agreement(postgres_url)


@given(MANY, IDS, IDS)
def test_parts_take_in_what_they_own_and_let_go_what_is_dropped(ids: set[int], more: set[int], gone: set[int]) -> None:
    first = settled(held_by([*ids]), 0)
    inside = [item for item in more - ids if item <= first.through]
    parts = {part.low: part for part in first.parts}
    parts |= {part.low: part for part in rewritten([*parts.values()], held_by(inside), frozenset())}
    held = sorted({*map(item_of, (each for part in first.parts for each in part.postings)), *inside})
    assert_divided([*parts.values()], held_by(held))
    dropped = gone | {*held[::3]}
    parts |= {part.low: part for part in rewritten([*parts.values()], (), dropped)}
    assert_divided([*parts.values()], held_by([item for item in held if item not in dropped]))


@given(st.dictionaries(st.sampled_from("abcd"), st.sets(st.integers(1, 40)), min_size=1))
def test_documents_are_ranked_by_the_weights_and_impacts_of_their_words(holding: dict[str, set[int]]) -> None:
    weights = {"a": 1.0, "b": 2.5, "c": 0.25, "d": 4.0}
    documents = [
        IndexedWords(item, " ".join(term for term, items in holding.items() if item in items), "", item % 2)
        for item in range(1, 41)
    ]
    lists = [(term, packed(each)) for term, each in postings_of(documents).items()]
    sums = Counter({each.item_id: sum(weights[term] for term in each.words.split()) for each in documents})
    best = sorted((item for item in sums if sums[item]), key=lambda item: (-sums[item], item))
    assert ranked(lists, weights, live_only=False) == best
    assert ranked(lists, weights, live_only=True) == [item for item in best if item % 2]


@pytest.mark.promise("index.agrees-with-documents")
def test_a_word_takes_one_row_until_many_documents_hold_it(postgres_url: str) -> None:
    with open_at(postgres_url) as loom:
        place = loom.workspace("james")
        for number in range(PART):
            place.add([note("The harbour is quiet.", title=str(number % 10))])
        (before,) = rows_of(postgres_url, "SELECT count(*) AS terms, (SELECT count(*) FROM posting) AS parts FROM term")
        assert before == {"terms": 12, "parts": 0}
        place.add([note("The harbour is quiet.") for _ in range(PART + 1)])
        parts = rows_of(postgres_url, "SELECT term, count(*) AS count FROM posting GROUP BY term ORDER BY term")
        assert [row["count"] for row in parts] == [2, 2]
    assert_agreement(postgres_url)


@pytest.mark.promise("index.agrees-with-documents")
def test_a_posting_that_is_not_what_its_document_says_is_found(postgres_url: str) -> None:
    with open_at(postgres_url) as loom:
        place = loom.workspace("james")
        ids = place.add([note("The harbour is quiet."), note("The harbour is loud.")])
        retire(place, ids[0])
        assert loom.store.health(deep=True).problems == ()
        with psycopg.connect(as_superuser(postgres_url), autocommit=True) as server:
            server.execute("UPDATE term SET postings = '' WHERE term LIKE 'harb%'")
        assert loom.store.health(deep=True).problems == (
            "the index of words of workspace james does not match its documents",
        )


@pytest.mark.promise("store.migrates-on-open")
def test_the_postings_of_an_older_store_are_packed(postgres_url: str) -> None:
    with open_at(postgres_url) as loom:
        for name in ("james", "audrey"):
            place = loom.workspace(name)
            texts = ["The harbour is quiet." + " Quiet!" * (number % 3) for number in range(2 * PART + 7)]
            ids = place.add([note(text, context="Fog in the harbour." if text.endswith("!") else "") for text in texts])
            retire(place, *ids[::5])
    (step,) = (step for step in steps("postgresql") if step.name == "postings")
    with psycopg.connect(as_superuser(postgres_url), autocommit=True) as server:
        server.execute("ALTER TABLE term DROP COLUMN through, DROP COLUMN postings")
        server.execute(step.sql.encode())
    assert len(rows_of(postgres_url, "SELECT DISTINCT workspace_id, term FROM posting")) >= 4
    assert_agreement(postgres_url)
