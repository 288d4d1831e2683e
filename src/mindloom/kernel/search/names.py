"""Who a question is about: whether it names one of the names under which a document is known. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

from mindloom.kernel.search.words import analyse


def named(labels: str, terms: AbstractSet[str]) -> bool:
    """Say whether the question's terms hold every word of one of the labels, which are JSON."""
    return labels != "[]" and any(words <= terms for words in label_words(labels))


@lru_cache(maxsize=20_000)
def label_words(labels: str) -> Sequence[frozenset[str]]:
    """Read the words of each label; one without words names nothing."""
    return tuple(words for label in json.loads(labels) if (words := frozenset(analyse(label))))
