"""Measuring an embedder's noise on real texts: how near a question lies to texts on other things.

Questions about the texts are used if they are given. If not, the beginning of a text stands for a question, and the
rest of it for the answer. Pairs are unrelated if they come from different sources, are of one script, and share no
word. Whatever cannot tell answers from unrelated texts is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from everloom.kernel.texts import analyse, language_of
from everloom.models.noise import Script, script_of

# Texts of a script that are measured; more would cost time with a transformer and change little.
MOST = 300
# Fewer say more about themselves than about the embedder.
_LEAST_TEXTS = 20
_LEAST_PAIRS = 200
# Of the answers, this share more must lie above the noise than of unrelated texts, or cosines mean nothing here.
_LEAST_WORTH = 0.1
# About one in twenty unrelated texts lies above the mean by this many spreads.
_ABOVE = 1.64
_SENTENCE_END = re.compile(r"(?<=[.!?\u3002\uff01\uff1f\u0964\u061f])(?=\s|\w)")
_SHORTEST = 8  # characters of a part that says anything
# Bytes at which a beginning says what a text is about; "Hey Mel!" does not. Scripts that say more in a sign use more
# bytes for it.
_TELLING = 40

_Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class HalvedText:
    """A question, or the beginning of a text in place of one, and the text that answers it."""

    question: str
    rest: str
    source: str
    script: Script


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptNoise:
    """The noise of one script: mean and spread, and the shares of answers and of unrelated texts that lie above it."""

    script: str
    texts: int
    mean: float = 0.0
    spread: float = 0.0
    answers_above: float = 0.0
    unrelated_above: float = 0.0
    refusal: str | None = None


def halves(texts: Iterable[tuple[str, str, Sequence[str]]]) -> list[HalvedText]:
    """Pair questions with what answers them, from texts with their sources and, if known, with questions about them.

    Chooses at most `MOST` of each script, evenly spread.
    """
    by_script: dict[Script, list[HalvedText]] = {}
    for text, source, asked in texts:
        for question, rest in [(each, text) for each in asked] or _parts(text):
            script = script_of(question, is_english=language_of(question) in {"", "en"})
            half = HalvedText(question=question, rest=rest, source=source, script=script)
            by_script.setdefault(script, []).append(half)
    return [half for found in by_script.values() for half in found[:: max(1, -(-len(found) // MOST))]]


def _parts(text: str) -> list[tuple[str, str]]:
    """Divide a text after the sentences that begin it, or in the middle, between words if possible."""
    plain = text.strip()
    ends = (end.start() for end in _SENTENCE_END.finditer(plain))
    cut = next((end for end in ends if len(plain[:end].encode("utf-8", "replace")) >= _TELLING), len(plain))
    if len(plain) - cut < _SHORTEST:
        cut = plain.find(" ", len(plain) // 2)
        cut = len(plain) // 2 if cut < 0 else cut
    first, rest = plain[:cut].strip(), plain[cut:].strip()
    return [(first, rest)] if min(len(first), len(rest)) >= _SHORTEST else []


def measure_noise(texts: Sequence[HalvedText], questions: _Floats, rests: _Floats) -> list[ScriptNoise]:
    """Measure each script that has enough texts, the most frequent first."""
    places: dict[Script, list[int]] = {}
    for place, text in enumerate(texts):
        places.setdefault(text.script, []).append(place)
    found = []
    for script, members in sorted(places.items(), key=lambda each: -len(each[1])):
        if len(members) >= _LEAST_TEXTS:
            chosen = [texts[place] for place in members]
            found.append(_measured(script, chosen, questions[members] @ rests[members].T))
    return found


def _measured(script: Script, texts: Sequence[HalvedText], cosines: _Floats) -> ScriptNoise:
    unrelated = cosines[_unrelated_pairs(texts)]
    if len(unrelated) < _LEAST_PAIRS:
        return ScriptNoise(script=script, texts=len(texts), refusal="too few of the texts are about different things")
    mean, spread = float(unrelated.mean()), float(unrelated.std())
    bound = mean + _ABOVE * spread
    right, wrong = float((np.diag(cosines) > bound).mean()), float((unrelated > bound).mean())
    is_worth = right - wrong >= _LEAST_WORTH
    return ScriptNoise(
        script=script,
        texts=len(texts),
        mean=round(mean, 3),
        spread=round(spread, 3),
        answers_above=round(right, 3),
        unrelated_above=round(wrong, 3),
        refusal=None if is_worth else "the embedder does not tell answers from unrelated texts",
    )


def _unrelated_pairs(texts: Sequence[HalvedText]) -> npt.NDArray[np.bool_]:
    """Say which questions and rests come from different sources and share no word."""
    sources = np.array([text.source for text in texts])
    pairs: npt.NDArray[np.bool_] = sources[:, None] != sources[None, :]
    words = [(set(analyse(text.question)), set(analyse(text.rest))) for text in texts]
    for row, (asked, _) in enumerate(words):
        for column in np.flatnonzero(pairs[row]):
            pairs[row, column] = asked.isdisjoint(words[column][1])
    return pairs
