"""Whether the embedder in use knows the languages that a workspace is written in.

An embedder that does not know a language finds all of its texts alike: its noise there is far above that in English.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from everloom.kernel.operation import Operation
from everloom.kernel.search.sample import spread_over
from everloom.kernel.texts import language_of
from everloom.models.noise import Script, script_of

# So many texts tell a share to about five in a hundred.
_SAMPLE = 200
# Unrelated texts that are alike by this much more than English ones are not told apart. Embedders that know a language
# are within .06 of their English, those that do not at .2 and above.
_ALIKE = 0.15
# Fewer texts than this share are found well enough by their words.
_MATTERS = 0.25
_ENGLISH = "Where is it?"


@dataclass(frozen=True, slots=True)
class UnknownTexts:
    """The share of a workspace's texts that its embedder does not know, and how most of these are written."""

    share: float
    script: Script


def unknown_texts(op: Operation) -> UnknownTexts | None:
    """Look at a sample of a workspace's texts; None if the preferred embedder knows nearly all of them."""
    model = op.embedding.preferred
    with op.read() as unit:
        rows = unit.all("words.document_of", ids=spread_over(unit, _SAMPLE))
        samples = {_script(row["text"]): row["text"] for row in rows}
        asked = {script: op.embedding.ask_noise(unit, model, text) for script, text in samples.items()}
        english = op.embedding.ask_noise(unit, model, _ENGLISH)
        unknown = {script for script, noise in asked.items() if _mean(noise) > _mean(english) + _ALIKE}
    counts = Counter(script for row in rows if (script := _script(row["text"])) in unknown)
    share = counts.total() / max(len(rows), 1)
    return UnknownTexts(share, counts.most_common(1)[0][0]) if share >= _MATTERS else None


def _script(text: str) -> Script:
    return script_of(text, is_english=language_of(text) in {"", "en"})


def _mean(noise: Callable[[], tuple[float, float]]) -> float:
    return noise()[0]
