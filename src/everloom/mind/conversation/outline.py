"""An extractive outline of turns, for when no model can summarise them, and the transcript for one that can. Pure.

Chooses among sentences that were said; invents none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from everloom.models.talk import Compacted, TextBlock, ToolResult, ToolUse, Turn
from everloom.models.text import estimate, shortened, trimmed

SENTENCE = re.compile(r"(?<=[.!?…。！？])\s+")
LONGEST_LINE = 200
LONGEST_RESULT = 400
WHO = {"user": "Person", "assistant": "You"}
HEADING = "An outline of what was said before; each line is the beginning of a turn."
LEFT_OUT = "({} older lines are left out.)"


def outline(turns: Sequence[Turn], budget: int) -> str:
    """Write how each turn begins, the newest above all; what was folded before comes ahead, as far as it fits."""
    before = [block.text for turn in turns for block in turn.blocks if isinstance(block, Compacted)]
    lines = [f"- {WHO[turn.role]}: {first_sentence(turn.text)}" for turn in turns if turn.text.strip()]
    kept = newest_within(lines, budget // 2 if before else budget)
    if len(kept) < len(lines):
        kept = [LEFT_OUT.format(len(lines) - len(kept)), *kept]
    earlier = [trimmed(text, budget // 2) for text in before]
    return "\n".join([*earlier, HEADING, *kept])


def first_sentence(text: str) -> str:
    """Take the beginning of a text, on one line."""
    return shortened(SENTENCE.split(text.strip(), maxsplit=1)[0], LONGEST_LINE)


def newest_within(lines: Sequence[str], budget: int) -> list[str]:
    """Keep as many of the last lines as a budget of tokens allows."""
    kept: list[str] = []
    for line in reversed(lines):
        budget -= estimate(line)
        if budget < 0:
            break
        kept.append(line)
    return kept[::-1]


def transcript(turns: Sequence[Turn], budget: int) -> str:
    """Write turns for a model to read; when they are too long, what was folded before and the newest lines."""
    before = [line for turn in turns for line in _lines(turn) if line.startswith(EARLIER)]
    lines = [line for turn in turns for line in _lines(turn) if not line.startswith(EARLIER)]
    kept = newest_within(lines, budget - sum(map(estimate, before)))
    gap = [LEFT_OUT.format(len(lines) - len(kept))] if len(kept) < len(lines) else []
    return "\n".join([*before, *gap, *kept])


EARLIER = "Before: "


def _lines(turn: Turn) -> Iterator[str]:
    for block in turn.blocks:
        match block:
            case Compacted(text):
                yield f"{EARLIER}{text}"
            case TextBlock(text):
                yield f"{WHO[turn.role]}: {text}"
            case ToolUse(name=name, input=arguments):
                yield f"You used {name}: {shortened(str(dict(arguments)), LONGEST_RESULT)}"
            case ToolResult(text=text):
                yield f"It answered: {shortened(text, LONGEST_RESULT)}"
            case _:
                pass
