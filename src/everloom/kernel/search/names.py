"""Names in a question: which labels of documents it mentions. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

import numpy as np

from everloom.kernel.search.bias import Claims
from everloom.kernel.search.fusion import Column
from everloom.kernel.texts import analyse

_UNLABELLED = "[]"


def names_in(labels: Iterable[str], terms: AbstractSet[str]) -> frozenset[frozenset[str]]:
    """Find the labels (JSON lists) that a question mentions: every word of a label is among its terms."""
    return frozenset(
        words for each in set(labels) if each != _UNLABELLED for words in _label_words(each) if words <= terms
    )


def bearing(labels: Sequence[str], names: AbstractSet[frozenset[str]], terms: Sequence[str], holds: Claims) -> Column:
    """Mark the documents that have one of the names as a label or, if they have no labels, in their text."""
    bears = {each: not names.isdisjoint(_label_words(each)) for each in set(labels)}
    is_labelled = np.array([each != _UNLABELLED for each in labels], np.bool_)
    says = np.zeros(len(labels), np.bool_)
    for name in names:
        says |= holds[:, [terms.index(word) for word in name]].all(axis=1)
    return np.where(is_labelled, [bears[each] for each in labels], says).astype(np.float64)


# Documents of one subject share their labels, and the same ones come up in every search.
@lru_cache(maxsize=20_000)
def _label_words(labels: str) -> Sequence[frozenset[str]]:
    """Split each label into words; a label without words is left out."""
    return tuple(words for label in json.loads(labels) if (words := frozenset(analyse(label))))
