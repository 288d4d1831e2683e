"""How alike scenes are, as rows whose products are their likeness, and from where on two of them belong together.

Pure. Vectors alone sort scenes by language before they sort them by what happened, and a static embedder hardly knows
what rare words mean. So each vector is measured from the middle of its language, and rare words and names that scenes
share count half as much as their vectors. The cut is read off the scenes themselves: no fixed cosine holds for two
embedders, or for a memory of two topics and one of twenty.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import numpy.typing as npt

from everloom.episodic.scenes.geometry import Floats, unit_rows
from everloom.kernel.texts import indexed, language_of

# The middle of a language that few scenes are told in is drawn towards the middle of all.
_DRAWN = 5
# What shared words count beside the vectors, chosen on benchmarks/scenes/lives.json.
_WORDS = 0.5
# Words become columns by their hash: with a dozen words in a scene, two of them seldom share one.
_COLUMNS = 512
# Pairs of so many scenes, spread over all of them, tell how alike unrelated ones are.
_SAMPLED = 400
# Differences below are those of rounding.
_NOTHING = 1e-6
# Most pairs are unrelated, however many topics there are: even with two, the lower half. What lies this many times the
# distance of the 5th and the 25th percentile above the latter is no longer chance.
_LOW, _LOWER_MIDDLE, _ABOVE = 5, 25, 2.25


@dataclass(frozen=True, slots=True)
class Likeness:
    """Scenes as rows, of which the product of two is how alike they are, and the cut: from there on they belong."""

    rows: Floats
    cut: float

    def among(self, places: npt.NDArray[np.intp]) -> Floats:
        """Compute how alike some scenes are, each with each."""
        chosen = self.rows[places]
        alike: Floats = chosen @ chosen.T
        return alike


def likeness_of(vectors: Floats, texts: Sequence[str], labels: Sequence[Sequence[str]]) -> Likeness:
    """Measure scenes by their vectors, and by the words of their texts and labels."""
    parts = (_from_the_middle(vectors, texts), _word_rows(texts, labels))
    sample = np.unique(np.linspace(0, len(texts) - 1, min(len(texts), _SAMPLED)).astype(int))
    pairs = [_pairs_of(part[sample]) for part in parts]
    # Each by its spread, so that neither counts more because its numbers are larger.
    weights = [share / _spread(each) for share, each in zip((1.0, _WORDS), pairs, strict=True)]
    low, middle = np.percentile(weights[0] * pairs[0] + weights[1] * pairs[1], [_LOW, _LOWER_MIDDLE])
    rows = np.hstack([part * np.float32(math.sqrt(weight)) for part, weight in zip(parts, weights, strict=True)])
    return Likeness(rows, float(middle + _ABOVE * (middle - low)))


def _from_the_middle(vectors: Floats, texts: Sequence[str]) -> Floats:
    """Measure each vector from the middle of its language."""
    languages = np.array([language_of(text) or "en" for text in texts])
    middle, moved = vectors.mean(axis=0), vectors.copy()
    for language in np.unique(languages):
        own = languages == language
        moved[own] -= (vectors[own].sum(axis=0) + _DRAWN * middle) / (int(own.sum()) + _DRAWN)
    return unit_rows(moved)


def _word_rows(texts: Sequence[str], labels: Sequence[Sequence[str]]) -> Floats:
    """Write the words of scenes as rows of length one, in which rare words count more."""
    # Scenes share names and themes: each is read once.
    known = {label: indexed(label) for label in {label for own in labels for label in own}}
    told = [
        dict.fromkeys([*indexed(text), *(word for label in own for word in known[label])])
        for text, own in zip(texts, labels, strict=True)
    ]
    found = Counter(word for words in told for word in words)
    rows = np.zeros((len(told), _COLUMNS), np.float32)
    for number, words in enumerate(told):
        row, whole = rows[number], 0.0
        for word in words:
            weight = math.log(len(told) / found[word])
            whole += weight * weight
            # A word that nobody else uses makes the others count less, and takes no column from them.
            if found[word] > 1:
                place = crc32(word.encode())
                row[place % _COLUMNS] += weight if place & 0x8000_0000 else -weight
        rows[number] = row / (math.sqrt(whole) or 1.0)
    return rows


def _pairs_of(rows: Floats) -> Floats:
    """Compute the products of all pairs of rows."""
    pairs: Floats = (rows @ rows.T)[np.triu_indices(len(rows), 1)]
    return pairs if len(pairs) else np.zeros(1, np.float32)


def _spread(pairs: Floats) -> float:
    """Compute how much the products of pairs differ; 1 if they do not."""
    spread = float(pairs.std())
    return spread if spread > _NOTHING else 1.0
