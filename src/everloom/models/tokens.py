"""How many tokens a text probably is: a guess by kinds of characters, biased high, mended by what replies report.

Knows no tokenizer: providers do not publish theirs, and the ones that exist must be downloaded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import ceil
from threading import Lock

# Tokens per character and the least per run, fitted to lie a little above cl100k-like tokenizers on English prose,
# code, JSON, Russian, Chinese and emoji (see tests/models/test_tokens.py).
_WEIGHTS = {
    "word": (0.0, 1.2),
    "number": (0.36, 1.0),
    "gap": (0.02, 1.0),
    "mark": (0.65, 0.9),
    "letters": (0.56, 1.0),
    "abjad": (0.8, 1.0),
    "glyphs": (1.3, 0.0),
    "other": (3.0, 0.0),
}
_COMMON_WORD = 8  # letters of an English word up to which it is nearly always one token
_RUNS = re.compile(
    r"(?P<word>[A-Z]?[a-z\u00c0-\u024f]+|[A-Z]+)|(?P<number>[0-9]+)|[ ](?=\S)|(?P<gap>\s+)|(?P<mark>[!-/:-@\[-`{-~]+)"
    r"|(?P<letters>[\u0250-\u058f]+)|(?P<abjad>[\u0590-\u06ff]+)|(?P<glyphs>[\u0080-\uffff])|(?P<other>.)",
    re.DOTALL,
)


def estimate(text: str) -> int:
    """Guess how many tokens a text is, rather too many than too few."""
    return ceil(sum(_weigh(run.lastgroup, run.end() - run.start()) for run in _RUNS.finditer(text)))


def _weigh(kind: str | None, length: int) -> float:
    if kind is None:
        return 0.0
    each, least = _WEIGHTS[kind]
    if kind == "word":
        return least + max(0, length - _COMMON_WORD) / 4
    return max(least, each * length)


def trimmed(text: str, limit: int) -> str:
    """Cut a text so that its estimate is at most `limit` tokens."""
    while (guess := estimate(text)) > limit:
        text = text[: min(len(text) - 1, len(text) * limit // guess)]
    return text


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far reports may pull the estimate, and how many tokens it takes to convince us."""

    lowest: float = 0.5
    highest: float = 3.0
    prior: float = 2_000.0
    memory: float = 0.98


class Calibration:
    """What the replies of one model have taught about our estimates."""

    def __init__(self, bounds: Bounds | None = None) -> None:
        self._bounds = bounds or Bounds()
        self._estimated = self._reported = self._bounds.prior
        self._lock = Lock()

    @property
    def factor(self) -> float:
        """Say by what to multiply an estimate for this model."""
        return min(self._bounds.highest, max(self._bounds.lowest, self._reported / self._estimated))

    def observe(self, estimated: int, reported: int) -> float:
        """Take in one reply and say the new factor; long texts and late replies weigh more."""
        if estimated > 0 and reported > 0:
            with self._lock:
                self._estimated = self._estimated * self._bounds.memory + estimated
                self._reported = self._reported * self._bounds.memory + reported
        return self.factor

    def estimate(self, text: str) -> int:
        """Guess how many tokens a text is for this model."""
        return ceil(estimate(text) * self.factor)
