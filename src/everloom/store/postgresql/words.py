"""The word index of PostgreSQL: keeping postings in the rows of words and in parts, and reading candidates from them.

Decides nothing about what a posting says or which part owns it (`store/postings.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from everloom.store.contract import EVERYTHING, IndexedWords, Reach, Row
from everloom.store.engine import WordCounts, count_words
from everloom.store.postings import (
    BYTES,
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

if TYPE_CHECKING:
    from everloom.store.postgresql.unit import PostgresUnit

# The postings of words that occur in no more documents come with their counts, which saves a round trip for 8 kB.
FEW = 1_000
# Up to so many documents are asked about at once, whether they are inside a reach and what they are.
PAGE = 200
# How many times the wanted number of documents is looked at first, and by how much more in every further round.
_FIRST = 4
_FURTHER = 8

_Postings = Mapping[str, Sequence[int]]


def index(unit: PostgresUnit, documents: Sequence[IndexedWords]) -> None:
    """Add documents of any age to the counts and the postings of their words."""
    postings = postings_of(documents)
    through = {row["term"]: row["through"] for row in unit.all("words.heads_of", terms=list(postings))}
    newest: dict[str, list[int]] = {}
    older: dict[str, list[int]] = {}
    for term, each in postings.items():
        newest[term] = [posting for posting in each if item_of(posting) > through.get(term, 0)]
        older[term] = [posting for posting in each if item_of(posting) <= through.get(term, 0)]
    index_newest(unit, documents, newest)
    _rewrite(unit, older)


def index_newest(unit: PostgresUnit, documents: Sequence[IndexedWords], newest: _Postings) -> None:
    """Count the words of documents, and add those of their postings that are newer than the parts of the words."""
    counts = count_words(documents)
    _tally(unit, counts)
    # In the order of the table's key, so that neighbouring rows are written together.
    rows = unit.all(
        "words.index_add",
        terms=list(counts.terms),
        counts=list(counts.terms.values()),
        postings=[packed(newest[term]) for term in counts.terms],
        most=PART * BYTES,
    )
    _settle(unit, [row for row in rows if row["term"] is not None])


def unindex(unit: PostgresUnit, documents: Sequence[IndexedWords]) -> None:
    """Remove documents from the counts and the postings of their words."""
    counts, postings = count_words(documents), postings_of(documents)
    dropped = frozenset(each.item_id for each in documents)
    _tally(unit, counts.signed(-1))
    heads = {row["term"]: row for row in unit.all("words.heads_of", terms=list(counts.terms))}
    unit.send(
        "words.index_drop",
        terms=list(heads),
        counts=[counts.terms[term] for term in heads],
        postings=[without(row["postings"], dropped) for row in heads.values()],
    )
    older = {term: [each for each in postings[term] if item_of(each) <= heads[term]["through"]] for term in heads}
    _rewrite(unit, older, dropped)


def candidates(
    unit: PostgresUnit, listed: Iterable[tuple[str, bytes]], weights: Mapping[str, float], limit: int, reach: Reach
) -> list[int]:
    """Rank the documents in the postings of terms by each term's impact and weight, and keep those inside a reach."""
    return inside(unit, ranked_in(listed, weights, reach), limit, reach)


def listed_in(rows: Iterable[Row]) -> list[tuple[str, bytes]]:
    """Read the postings of terms from their rows."""
    return [(row["term"], row["postings"]) for row in rows]


def ranked_in(listed: Iterable[tuple[str, bytes]], weights: Mapping[str, float], reach: Reach) -> list[int]:
    """Rank the documents in the postings of terms; those that are no longer current only for a question of the past."""
    return ranked(listed, weights, live_only=reach.is_present)


def inside(unit: PostgresUnit, found: Sequence[int], limit: int, reach: Reach) -> list[int]:
    """Choose the first `limit` documents inside a reach. They are mostly among the best, which are looked at first."""
    if reach == EVERYTHING:
        return [*found[:limit]]
    chosen: list[int] = []
    begin, end = 0, _FIRST * limit
    while begin < len(found) and len(chosen) < limit:
        page = found[begin:end]
        chosen += kept_in(page, unit.all("words.within", ids=page, **reach.params))
        begin, end = end, end * _FURTHER
    return chosen[:limit]


def kept_in(found: Sequence[int], rows: Iterable[Row]) -> list[int]:
    """Keep the documents that are in some rows, in order."""
    kept = {row["id"] for row in rows}
    return [item for item in found if item in kept]


def _tally(unit: PostgresUnit, counts: WordCounts) -> None:
    unit.send("words.tally_count", documents=counts.documents, words=counts.words, context_words=counts.context_words)


def _settle(unit: PostgresUnit, full: Sequence[Row]) -> None:
    """Move postings out of the rows of words that have become full, into parts."""
    if not full:
        return
    found = {row["term"]: settled(unpacked(row["postings"]), row["through"]) for row in full}
    _put(unit, {term: each.parts for term, each in found.items()})
    unit.send(
        "words.index_settle",
        terms=list(found),
        throughs=[each.through for each in found.values()],
        postings=[packed(each.rest) for each in found.values()],
    )
    _rewrite(unit, {term: each.older for term, each in found.items()})


def _rewrite(unit: PostgresUnit, postings: _Postings, dropped: AbstractSet[int] = frozenset()) -> None:
    """Add postings to the parts that own them, or take those of `dropped` documents out of these."""
    asked = [(term, item_of(posting)) for term, each in postings.items() for posting in each]
    if not asked:
        return
    terms, items = zip(*asked, strict=True)
    parts: dict[str, dict[int, PostingPart]] = {term: {} for term in terms}
    for row in unit.all("words.parts_of", terms=terms, items=items):
        parts[row["term"]][row["low"]] = PostingPart(row["low"], unpacked(row["postings"]))
    _put(
        unit,
        {
            term: rewritten([*known.values()], () if dropped else postings[term], dropped)
            for term, known in parts.items()
        },
    )


def _put(unit: PostgresUnit, parts: Mapping[str, Sequence[PostingPart]]) -> None:
    """Write parts of postings; those that are empty go."""
    every = [(term, part.low, packed(part.postings)) for term, each in parts.items() for part in each]
    if kept := [each for each in every if each[2]]:
        terms, lows, postings = zip(*kept, strict=True)
        unit.send("words.parts_put", terms=terms, lows=lows, postings=postings)
    if gone := [each[:2] for each in every if not each[2]]:
        terms, lows = zip(*gone, strict=True)
        unit.send("words.parts_drop", terms=terms, lows=lows)
