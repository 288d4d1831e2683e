"""Postings as PostgreSQL keeps them: which documents hold a word, many of them packed into one value. Pure.

A posting is a number that begins with the id of a document. The postings of a word's newest documents are in its row of
`term`; those of documents up to its `through` are in parts, each of which owns the ids from its `low` up to that of the
next. Refuses to know how rows are read and written.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from struct import pack, unpack

import numpy as np

from everloom.store.contract import IndexedWords

# Postings of one part. The row of a word may hold as many: it is written anew with every document that holds the word,
# so that more would cost every write, while fewer would take more rows.
PART = 64
BYTES = 8
# The impact of a word is below 1.5, so that a step of 1/84 leaves it below 127: with the mark of current documents, it
# fits into the last byte. Candidates are all that it ranks.
_STEPS = 84
_SHIFT = 8


def impact(text_count: int, context_count: int) -> float:
    """Weight a word by how often a document uses it: each repetition adds less, and the context counts half."""
    return text_count / (text_count + 1.2) + 0.5 * context_count / (context_count + 1.2)


def postings_of(documents: Iterable[IndexedWords]) -> dict[str, list[int]]:
    """Make the postings of documents, by word."""
    found: dict[str, list[int]] = {}
    for each in documents:
        text, context = Counter(each.words.split()), Counter(each.context_words.split())
        for term in text.keys() | context.keys():
            steps = round(impact(text[term], context[term]) * _STEPS)
            found.setdefault(term, []).append(each.item_id << _SHIFT | steps << 1 | each.live)
    return found


def item_of(posting: int) -> int:
    """Return the id of a posting's document."""
    return posting >> _SHIFT


def packed(postings: Sequence[int]) -> bytes:
    """Write postings as bytes."""
    return pack(f">{len(postings)}q", *postings)


def unpacked(packed_postings: bytes) -> list[int]:
    """Read postings from bytes."""
    return list(unpack(f">{len(packed_postings) // BYTES}q", packed_postings))


def without(packed_postings: bytes, items: AbstractSet[int]) -> bytes:
    """Leave out the postings of some documents."""
    return packed([posting for posting in unpacked(packed_postings) if item_of(posting) not in items])


@dataclass(frozen=True, slots=True)
class PostingPart:
    """The postings of a word's documents from one id on, in the order of the ids; an empty part is not kept."""

    low: int
    postings: Sequence[int]


@dataclass(frozen=True, slots=True)
class Settled:
    """The row of a word once it was emptied as far as possible.

    Its new parts, up to which document they go, what the row still holds, and what belongs into parts that exist.
    """

    parts: Sequence[PostingPart]
    through: int
    rest: Sequence[int]
    older: Sequence[int]


def settled(postings: Iterable[int], through: int) -> Settled:
    """Take full parts from the postings in a word's row, the oldest documents first.

    An item may get its document long after it was registered: then it belongs into a part that exists.
    """
    ordered = sorted(postings)
    begin = bisect_right(ordered, through, key=item_of)
    end = len(ordered) - (len(ordered) - begin) % PART
    parts = _parts(ordered[begin:end], item_of(ordered[begin]) if through else 0) if begin < end else []
    return Settled(parts, item_of(ordered[end - 1]) if parts else through, ordered[end:], ordered[:begin])


def rewritten(parts: Sequence[PostingPart], added: Iterable[int], dropped: AbstractSet[int]) -> list[PostingPart]:
    """Put postings into the parts that own their ids, and take those of dropped documents out of all.

    Returns every part that changed; one that has grown too long is divided.
    """
    lows = sorted({0, *(part.low for part in parts)})
    before: dict[int, Sequence[int]] = dict.fromkeys(lows, ()) | {part.low: part.postings for part in parts}
    held = {low: [each for each in postings if item_of(each) not in dropped] for low, postings in before.items()}
    for posting in added:
        held[lows[bisect_right(lows, item_of(posting)) - 1]].append(posting)
    changed = {low: sorted(postings) for low, postings in held.items() if postings != list(before[low])}
    # Divided at twice the length only, so that the next posting does not divide it again.
    divided = (
        [PostingPart(low, each)] if len(each) <= 2 * PART else _parts(each, low) for low, each in changed.items()
    )
    return [part for several in divided for part in several]


def _parts(ordered: Sequence[int], low: int) -> list[PostingPart]:
    """Divide postings into parts, of which the first begins at `low` and the others at their first document."""
    cuts = [ordered[at : at + PART] for at in range(0, len(ordered), PART)]
    return [PostingPart(item_of(cut[0]) if place else low, cut) for place, cut in enumerate(cuts)]


def ranked(lists: Iterable[tuple[str, bytes]], weights: Mapping[str, float], *, live_only: bool) -> list[int]:
    """Rank the documents of some words' postings by each word's impact and weight, best first."""
    listed = [(np.frombuffer(postings, ">i8"), weights[term]) for term, postings in lists]
    if not listed:
        return []
    every = np.concatenate([numbers for numbers, _ in listed]).astype(np.int64)
    scores = np.repeat([weight for _, weight in listed], [len(numbers) for numbers, _ in listed])
    if live_only:
        is_live = (every & 1).astype(np.bool_)
        every, scores = every[is_live], scores[is_live]
    items, places = np.unique(every >> _SHIFT, return_inverse=True)
    sums = np.bincount(places, scores * (every >> 1 & 127), len(items))
    best: list[int] = items[np.lexsort((items, -sums))].tolist()
    return best
