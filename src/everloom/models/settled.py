"""Turns as every provider accepts them: from the last compaction on, nothing blank, the two sides alternating.

Pure; knows no provider. What is kept of a conversation may be none of this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from everloom.models.talk import Block, Folded, Text, Thought, Turn

KeepsRaw = Callable[[Mapping[str, Any]], bool]
SUMMARY = "What was said before, in summary:\n\n"


def settle(turns: Iterable[Turn], keeps_raw: KeepsRaw = lambda _: False, *, keeps_thoughts: bool = False) -> list[Turn]:
    """Rewrite turns for a provider; a compaction whose block it would not take back becomes a user's words."""
    settled: list[Turn] = []
    for turn in _since_folded(list(turns)):
        for block in turn.blocks:
            if isinstance(block, Folded) and not (block.raw and keeps_raw(block.raw)):
                _put(settled, Turn("user", (Text(SUMMARY + block.text),)))
            elif _is_worth_sending(block, keeps_thoughts=keeps_thoughts):
                _put(settled, Turn(turn.role, (block,)))
    return settled


def _since_folded(turns: list[Turn]) -> list[Turn]:
    for place in range(len(turns) - 1, -1, -1):
        blocks = turns[place].blocks
        folds = [at for at, block in enumerate(blocks) if isinstance(block, Folded)]
        if folds:
            return [Turn(turns[place].role, blocks[folds[-1] :]), *turns[place + 1 :]]
    return turns


def _is_worth_sending(block: Block, *, keeps_thoughts: bool) -> bool:
    if isinstance(block, Text):
        return bool(block.text.strip())
    return keeps_thoughts or not isinstance(block, Thought)


def _put(settled: list[Turn], turn: Turn) -> None:
    if settled and settled[-1].role == turn.role:
        settled[-1] = Turn(turn.role, settled[-1].blocks + turn.blocks)
    else:
        settled.append(turn)
