"""The newest documents of a workspace, whose words are not in the word index yet: they are read from their rows.

Ranks them as FTS5's BM25 would, so that they take their places among what the index finds. Knows nothing of statements.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

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


class RecentWords:
    """The documents of a workspace that wait, by the rows that hold their words."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        # A word stands between two spaces: to look for that is cheaper than to split every text.
        self._texts = [f" {row['words']} {row['context_words']} " for row in rows]
        self._places: dict[str, list[int]] = {}

    def _places_of(self, term: str) -> list[int]:
        found = self._places.get(term)
        if found is None:
            wanted = f" {term} "
            found = self._places[term] = [place for place, text in enumerate(self._texts) if wanted in text]
        return found

    def holding(self, term: str) -> int:
        """Count the documents that hold a word."""
        return len(self._places_of(term))

    def matching(self, terms: Iterable[str], reach: Reach) -> list[Row]:
        """List the documents within a search's reach that hold any of the words."""
        places = sorted({place for term in terms for place in self._places_of(term)})
        return [row for row in (self._rows[place] for place in places) if _is_within(row, reach)]

    def ranked(self, matching: Sequence[Row], held: Mapping[str, int], size: IndexSize) -> list[tuple[float, int]]:
        """Score documents as FTS5 would if it held them, too: the lower, the better."""
        documents = size.documents + len(self._rows)
        # Each word has a space before it; the last space ends the text, and an empty field leaves one more. That a
        # document without any word counts as one does not matter for an average.
        words = size.words + sum(text.count(" ") - text.count("  ") - 1 for text in self._texts)
        rarity = {term: _rarity(documents, count) for term, count in held.items()}
        return [(-_score(row, rarity, max(words, 1) / documents), row["item_id"]) for row in matching]


def _is_within(row: Row, reach: Reach) -> bool:
    """Return whether a search may see a document."""
    return bool(
        (reach.kinds is None or row["kind"] in reach.kinds)
        and reach.happened_from <= row["happened_at"] <= reach.happened_until
        and row["created_at"] <= reach.as_of
        and (row["retired_at"] is None or row["retired_at"] > reach.as_of)
    )


def _rarity(documents: int, holding: int) -> float:
    return max(math.log((documents - holding + 0.5) / (holding + 0.5)), _LEAST_RARITY)


def _score(row: Row, rarity: Mapping[str, float], usual: float) -> float:
    text: list[str] = row["words"].split()
    context: list[str] = row["context_words"].split()
    length = _K1 * (1 - _B + _B * (len(text) + len(context)) / usual)
    counts = ((text.count(term) + _CONTEXT * context.count(term), weight) for term, weight in rarity.items())
    return sum(weight * count * (_K1 + 1) / (count + length) for count, weight in counts if count)
