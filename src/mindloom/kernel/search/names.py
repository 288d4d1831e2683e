"""Who a question is about: whether it names one of the names under which a document is known. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

from mindloom.kernel.search.words import analyse

UNLABELLED = "[]"


def names_in(labels: Iterable[str], terms: AbstractSet[str]) -> frozenset[frozenset[str]]:
    """Find the names that a question says: labels, which are JSON, whose every word is among its terms."""
    return frozenset(
        words for each in set(labels) if each != UNLABELLED for words in label_words(each) if words <= terms
    )


def named(labels: str, words: Sequence[str], names: AbstractSet[frozenset[str]]) -> bool:
    """Say whether a document bears one of the names; one without labels bears those that its text says."""
    if labels != UNLABELLED:
        return any(each in names for each in label_words(labels))
    return any(all(part in words for part in each) for each in names)


@lru_cache(maxsize=20_000)
def label_words(labels: str) -> Sequence[frozenset[str]]:
    """Read the words of each label; one without words names nothing."""
    return tuple(words for label in json.loads(labels) if (words := frozenset(analyse(label))))
