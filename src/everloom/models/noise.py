"""What an embedder's cosines are worth: how near a question lies to texts that have nothing to do with it.

That depends on the script of the question. Models that know a script badly split its words into letters, and all texts
of it look alike: 0.8 between unrelated texts in Arabic means as little as 0.1 does in English. Pure.
"""

from __future__ import annotations

import re
from enum import StrEnum

from everloom.models.catalog import Traits


class Script(StrEnum):
    """How a text is written, as far as it matters to embedders; English is told from the rest of Latin script."""

    ENGLISH = "english"
    LATIN = "latin"
    CYRILLIC = "cyrillic"
    CJK = "cjk"
    ARABIC = "arabic"
    DEVANAGARI = "devanagari"
    OTHER = "other"


_RUNS = re.compile(
    r"(?P<latin>[A-Za-z\u00c0-\u024f\u1e00-\u1eff]+)|(?P<cyrillic>[\u0400-\u052f]+)"
    r"|(?P<cjk>[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+)"
    r"|(?P<arabic>[\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufeff]+)"
    r"|(?P<devanagari>[\u0900-\u097f]+)|(?P<other>[^\W\d_]+)"
)
_LETTERS_IN_A_SIGN = 3  # a Chinese or Japanese sign says about as much as so many letters


def script_of(text: str, *, is_english: bool = True) -> Script:
    """Tell the script of most of a text; `is_english` is whether Latin letters in it are taken for English."""
    counts = dict.fromkeys(Script, 0)
    for run in _RUNS.finditer(text):
        script = Script(run.lastgroup or Script.OTHER)
        counts[script] += (run.end() - run.start()) * (_LETTERS_IN_A_SIGN if script is Script.CJK else 1)
    # A text without letters, a number for example, is read like English: the first of equals.
    most = max(counts, key=counts.__getitem__)
    return Script.ENGLISH if most is Script.LATIN and is_english else most


def noise_of(traits: Traits, text: str, *, is_english: bool = True) -> tuple[float, float]:
    """Return the mean and the spread of the cosine between a question such as this and unrelated texts of its script.

    For a script that nobody has measured it is the highest that was measured: rather silent than wrong.
    """
    script = script_of(text, is_english=is_english)
    known = traits.noise_by_script
    if script is Script.ENGLISH or not known:
        return traits.noise
    return known.get(script) or max(known.values())
