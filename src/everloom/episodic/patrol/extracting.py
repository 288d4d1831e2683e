"""Diary and think_md without a model: whole sentences of the scenes that a patrol took in, chosen and never reworded.

Pure. What is written says that it is an extract. Refuses to know where it is kept.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from everloom.episodic.scenes.scene import SceneContent
from everloom.kernel.texts import analyse

# The contract's lengths: a diary of three to five lines, three to seven thoughts. Fewer scenes give fewer lines.
_MOST_LINES, _MOST_THOUGHTS = 5, 7
# A sentence that shares so many of its words with one that was chosen tells the same again.
_TOLD_ALREADY = 0.6
# Nobody writes longer sentences on purpose; what has no full stop at all is cut.
_LONGEST = 300
# How much a strong feeling, and being about what the other scenes are about, count beside the importance.
_FELT, _SHARED = 0.5, 0.5
# After a word of at least four letters, because "Dr." and "St." end no sentence; Chinese and Japanese need no space.
_END = re.compile(r"(?<=\w\w\w\w[.!?])[\"'”’»)]*\s+|(?<=[。！？])")


@dataclass(frozen=True, slots=True)
class Extract:
    """What an extract writes: a diary page and thoughts, each with its mark, and of how many scenes they are."""

    diary: str
    thoughts: str
    lines: int


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A sentence of a scene, with the words that it is compared by."""

    place: int
    text: str
    words: frozenset[str]
    scene: SceneContent


def extract(scenes: Sequence[SceneContent]) -> Extract:
    """Choose the sentences that tell most, the diary in the order of the scenes and the thoughts by weight."""
    chosen = _choose(scenes, _MOST_THOUGHTS)
    told = sorted(chosen[:_MOST_LINES], key=lambda each: each.place)
    diary = [_mark(len(told), len(scenes)), *(_line(each) for each in told)]
    thoughts = [f"- {_mark(len(chosen), len(scenes))}", *(f"- {_line(each)}" for each in chosen)]
    return Extract("\n".join(diary), "\n".join(thoughts), len(told))


def _mark(told: int, scenes: int) -> str:
    return f"[extract] Sentences of {told} of {scenes} scenes, chosen without a language model:"


def _line(chosen: _Candidate) -> str:
    """Write a sentence with the date and the feeling of its scene, as both were told."""
    when = next((" ".join(entry.date.split()) for entry in chosen.scene.scene.when), "")
    feeling = f" ({' '.join(chosen.scene.feeling.split())})" if chosen.scene.feeling else ""
    return f"{when}: {chosen.text}{feeling}" if when else f"{chosen.text}{feeling}"


def sentences_of(text: str) -> list[str]:
    """Split a text into its sentences, each on one line."""
    return [line for part in _END.split(text) if (line := " ".join(part.split()))]


def _choose(scenes: Sequence[SceneContent], most: int) -> list[_Candidate]:
    """Choose at most one sentence of each scene, the weightiest first, and none that tells what another told."""
    candidates = list(_candidates(scenes))
    occurs = Counter(word for each in scenes for word in set(analyse(each.scene.action)))
    ranked = sorted(candidates, key=lambda each: (-_weight(each, occurs, len(scenes)), each.place))
    chosen: list[_Candidate] = []
    for each in ranked:
        is_told = any(each.place == other.place or _alike(each, other) for other in chosen)
        if not is_told and len(chosen) < most:
            chosen.append(each)
    return chosen


def _candidates(scenes: Sequence[SceneContent]) -> Iterator[_Candidate]:
    for place, content in enumerate(scenes):
        for sentence in sentences_of(content.scene.action):
            text = sentence if len(sentence) <= _LONGEST else f"{sentence[: _LONGEST - 1].rstrip()}…"
            yield _Candidate(place, text, frozenset(analyse(sentence)), content)


def _weight(each: _Candidate, occurs: Counter[str], scenes: int) -> float:
    """Weigh a sentence: the importance and the feeling of its scene, and how much of it other scenes are about."""
    emotion = each.scene.emotion
    felt = 0.0 if emotion is None else math.sqrt(math.fsum(x * x for x in emotion.as_dict().values()) / 6)
    others = [occurs[word] - 1 for word in each.words]
    shared = math.fsum(others) / len(others) / max(1, scenes - 1) if others else 0.0
    return each.scene.importance + _FELT * felt + _SHARED * shared


def _alike(one: _Candidate, other: _Candidate) -> bool:
    both = len(one.words & other.words)
    return both >= _TOLD_ALREADY * max(1, min(len(one.words), len(other.words)))
