"""The newest documents of a workspace, whose words are not in the word index yet: they are read from their rows.

Ranks them as FTS5's BM25 would, so that they take their places among what the index finds. Knows nothing of statements.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from everloom.store.contract import Reach, Row

# As FTS5 has them, and how much it is told that a word of the context weighs.
_K1, _B = 1.2, 0.75
_CONTEXT = 0.5
_LEAST_RARITY = 1e-6


@dataclass(frozen=True, slots=True)
class IndexSize:
    """How many documents the word index holds, and how many words these have."""

    documents: int
    words: int

    @classmethod
    def read(cls, block: bytes) -> Self:
        """Read FTS5's own record of it: the number of rows, then the words of each column, seven bits to a byte."""
        numbers, number = [], 0
        for byte in block:
            number = number << 7 | byte & 0x7F
            if byte < 0x80:
                numbers.append(number)
                number = 0
        return cls(numbers[0], sum(numbers[1:])) if numbers else cls(0, 0)


class _Recent(NamedTuple):
    """A document that waits: the words of its text and of its lighter field, and what a reach asks for."""

    item_id: int
    text: list[str]
    context: list[str]
    kind: str
    happened_at: int
    created_at: int
    retired_at: int | None

    def is_within(self, reach: Reach) -> bool:
        """Return whether a search may see it."""
        return (
            (reach.kinds is None or self.kind in reach.kinds)
            and reach.happened_from <= self.happened_at <= reach.happened_until
            and self.created_at <= reach.as_of
            and (self.retired_at is None or self.retired_at > reach.as_of)
        )


class RecentWords:
    """The documents of a workspace that wait."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._each = [
            _Recent(
                row["item_id"],
                row["words"].split(),
                row["context_words"].split(),
                row["kind"],
                row["happened_at"],
                row["created_at"],
                row["retired_at"],
            )
            for row in rows
        ]

    def holding(self, terms: Collection[str]) -> Counter[str]:
        """Count the documents that hold each of the words."""
        wanted = frozenset(terms)
        held: Counter[str] = Counter()
        for each in self._each:
            held.update(wanted.intersection(each.text + each.context))
        return held

    def matching(self, terms: Collection[str], reach: Reach) -> list[_Recent]:
        """List the documents within a search's reach that hold any of the words."""
        wanted = frozenset(terms)
        found = (each for each in self._each if not wanted.isdisjoint(each.text + each.context))
        return [each for each in found if each.is_within(reach)]

    def ranked(self, matching: Sequence[_Recent], held: Mapping[str, int], size: IndexSize) -> list[tuple[float, int]]:
        """Score documents as FTS5 would if it held them, too: the lower, the better."""
        documents = size.documents + len(self._each)
        words = size.words + sum(len(each.text) + len(each.context) for each in self._each)
        rarity = {
            term: max(math.log((documents - count + 0.5) / (count + 0.5)), _LEAST_RARITY)
            for term, count in held.items()
        }
        return [(-_score(each, rarity, words / documents), each.item_id) for each in matching]


def _rarity(documents: int, holding: int) -> float:
    return max(math.log((documents - holding + 0.5) / (holding + 0.5)), _LEAST_RARITY)


def _score(each: _Recent, rarity: Mapping[str, float], usual: float) -> float:
    length = _K1 * (1 - _B + _B * (len(each.text) + len(each.context)) / usual)
    counts = ((each.text.count(term) + _CONTEXT * each.context.count(term), weight) for term, weight in rarity.items())
    return sum(weight * count * (_K1 + 1) / (count + length) for count, weight in counts if count)
