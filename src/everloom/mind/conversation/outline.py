"""An outline of turns, without a model: the sentences that say most, in their order, each as it was said.

What says most is decided by how rare its words are in the conversation, in whatever language, and by how new it is. An
earlier outline competes line by line with what is new, so that outlines of outlines keep what matters. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from everloom.models.talk import Compacted, Turn
from everloom.models.text import estimate, shortened, trimmed

HEADING = "An outline of what was said before, in sentences that were said; much of it is left out."
WHO = {"user": "Person", "assistant": "You"}
_LEFT_OUT = "({} sentences are left out.)"
_LEFT_OUT_BEFORE = re.compile(r"^\((\d+) sentences are left out\.\)$")
_LINE = re.compile(rf"^- ({'|'.join(WHO.values())}): ")
_SENTENCE = re.compile(r"(?<=[.!?…。！？])\s+|\n+")
# How a message begins that came over a channel: where and when.
_STAMP = re.compile(r"^\[[^\]\n]{1,80}\] ")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_WORD = re.compile(r"\w+")
_LONGEST_LINE = 200
# Common to all sentences, so that a single rare word is not worth more than a sentence of several.
_FRAME_WORDS = 4
# How much more the newest sentence is worth than the oldest of the same words.
_NEWNESS = 0.5


@dataclass(frozen=True, slots=True)
class _SaidSentence:
    """A sentence that may be kept; `line` numbers the line that it belongs to, `lead` is how that line begins."""

    line: int
    lead: str
    text: str


def outline(turns: Sequence[Turn], budget: int) -> str:
    """List the sentences of turns that say most, within a budget; summaries in prose come before, shortened."""
    prose, known, gone = _earlier(turns)
    candidates = [*known, *_sentences(turns, len(known))]
    before = trimmed("\n".join(prose), budget // 2)
    kept = _chosen(candidates, budget - estimate(before))
    gone += len(candidates) - len(kept)
    left_out = [_LEFT_OUT.format(gone)] if gone else []
    return "\n".join([*([before] if before else []), HEADING, *left_out, *_lines(kept)])


def _earlier(turns: Sequence[Turn]) -> tuple[list[str], list[_SaidSentence], int]:
    """Read earlier summaries: what is prose, the lines of outlines, and how many sentences those left out."""
    prose: list[str] = []
    known: list[_SaidSentence] = []
    gone = 0
    texts = [block.text for turn in turns for block in turn.blocks if isinstance(block, Compacted)]
    for line in (line for text in texts for line in text.splitlines() if line != HEADING):
        if left := _LEFT_OUT_BEFORE.match(line):
            gone += int(left[1])
        elif lead := _LINE.match(line):
            known += _parted(len(known), lead[0], line.removeprefix(lead[0]))
        else:
            prose.append(line)
    return prose, known, gone


def _sentences(turns: Sequence[Turn], first: int) -> Iterator[_SaidSentence]:
    for number, turn in enumerate(turns, first):
        yield from _parted(number, f"- {WHO[turn.role]}: ", turn.text.strip())


def _parted(line: int, lead: str, text: str) -> Iterator[_SaidSentence]:
    """Part a text into sentences; the day on which each was said stays with it, the channel and the hour do not."""
    day = ""
    for part in _SENTENCE.split(text):
        if stamp := _STAMP.match(part):
            day = f"[{found[0]}] " if (found := _DATE.search(stamp[0])) else stamp[0]
        if sentence := part[stamp.end() if stamp else 0 :].strip():
            yield _SaidSentence(line, lead + day, shortened(sentence, _LONGEST_LINE))


def _chosen(candidates: Sequence[_SaidSentence], budget: int) -> list[_SaidSentence]:
    """Choose the sentences that are worth most for their length, as many as fit, in their order."""
    words = [set(_WORD.findall(each.text.casefold())) for each in candidates]
    spread = Counter(word for each in words for word in each)
    worth = [
        (1 + _NEWNESS * place / len(words)) * sum(1 / spread[word] for word in each) / (_FRAME_WORDS + len(each))
        for place, each in enumerate(words)
    ]
    kept: list[int] = []
    lines: set[tuple[int, str]] = set()
    for place in sorted(range(len(words)), key=lambda place: (-worth[place], -place)):
        each = candidates[place]
        cost = estimate(each.text) + (0 if (each.line, each.lead) in lines else estimate(each.lead))
        if cost <= budget:
            budget -= cost
            kept.append(place)
            lines.add((each.line, each.lead))
    return [candidates[place] for place in sorted(kept)]


def _lines(kept: Sequence[_SaidSentence]) -> Iterator[str]:
    for (_, lead), group in groupby(kept, key=lambda each: (each.line, each.lead)):
        yield lead + " ".join(each.text for each in group)
