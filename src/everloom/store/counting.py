"""What a word index counts about a workspace: how many documents hold a word, and how long documents are. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from everloom.store.contract import Row


@dataclass(frozen=True, slots=True)
class WordCounts:
    """Counts over some documents, to be added to a workspace's or taken from them."""

    documents: int
    words: int
    context_words: int
    terms: dict[str, int]

    def signed(self, sign: int) -> WordCounts:
        """Turn an addition into a removal when `sign` is -1."""
        terms = {term: sign * count for term, count in self.terms.items()}
        return WordCounts(sign * self.documents, sign * self.words, sign * self.context_words, terms)


def count_words(rows: Iterable[Row]) -> WordCounts:
    """Count the words of documents as they stand in their rows."""
    documents = words = context_words = 0
    terms: Counter[str] = Counter()
    for row in rows:
        text, context = row["words"].split(), row["context_words"].split()
        documents, words, context_words = documents + 1, words + len(text), context_words + len(context)
        terms.update({*text, *context})
    return WordCounts(documents, words, context_words, dict(sorted(terms.items())))
