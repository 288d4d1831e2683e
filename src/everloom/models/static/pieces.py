"""Splitting words of any language into the pieces of a vocabulary that is ordered from the commonest to the rarest.

Pure. The pieces are found as sentencepiece finds them with a unigram model: those that are likeliest together.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence

# Begins the first piece of a word.
_START = "\u2581"
# Pieces of punctuation say nothing of what a text is about, and stuck to a word they change how it is split. Letters of
# Indian scripts come with signs that Python counts as no letters, so this lists what is left out.
_WORD = re.compile(
    "[^\\s!-/:-@\\[-`{-~\u00a1-\u00bf\u2000-\u206f\u3000-\u3004\u3008-\u303f\u060c\u061b\u061f\u06d4\u0964\u0965"
    "\uff5f-\uff65]+"
)
# By Zipf's law the n-th piece is as likely as 1 / n. The offset keeps the very first from being used everywhere.
_OFFSET = 50.0
_UNKNOWN = -25.0  # of a character without a piece: any split that avoids it is better


def words_of(text: str) -> list[str]:
    """Split a text at spaces and punctuation; scripts without spaces give whole clauses."""
    return _WORD.findall(text if text.isascii() else unicodedata.normalize("NFKC", text))


class PieceVocabulary:
    """The pieces with their places in the list, which are their ranks."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self._places = {piece: place for place, piece in enumerate(pieces)}
        self._scores = [-math.log(place + _OFFSET) for place in range(len(pieces))]
        self._longest = max(map(len, pieces))

    def split(self, word: str) -> tuple[int, ...]:
        """Return the places of the pieces that are likeliest to make up a word; unknown characters are left out."""
        text = _START + word
        places, scores, longest = self._places, self._scores, self._longest
        if (whole := places.get(text)) is not None:
            return (whole,)
        best, last = [0.0], [0]  # of the text up to each character: the best score, and where its last piece begins
        for end in range(1, len(text) + 1):
            top, start = best[end - 1] + _UNKNOWN, end - 1
            for begin in range(max(0, end - longest), end):
                place = places.get(text[begin:end])
                if place is not None and (score := best[begin] + scores[place]) > top:
                    top, start = score, begin
            best.append(top)
            last.append(start)
        found = []
        end = len(text)
        while end:
            if (place := places.get(text[last[end] : end])) is not None:
                found.append(place)
            end = last[end]
        return tuple(reversed(found))
