"""What the strictest model would refuse in an array: how the tests judge every array that is made."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from everloom.mind.conversation.blocks import is_folded
from everloom.models.talk import Compacted, TextBlock, Thought, ToolResult, Turn


def validity(turns: Sequence[Turn]) -> list[str]:
    """List what a strict model would refuse in an array; empty when it would take it."""
    faults = []
    if turns and turns[0].role == "assistant" and not is_folded(turns[0]):
        faults.append("it begins with the assistant")
    for place, turn in enumerate(turns):
        if not turn.blocks or any(isinstance(block, TextBlock) and not block.text.strip() for block in turn.blocks):
            faults.append(f"turn {place} is empty or holds an empty text")
        if is_folded(turn) and (place or any(isinstance(block, Compacted) for block in turn.blocks[1:])):
            faults.append(f"turn {place} holds a compaction that does not stand first")
        if any(isinstance(block, Thought) for block in turn.blocks):
            faults.append(f"turn {place} holds reasoning")
    sides = enumerate(pairwise(turns), start=1)
    alike = [f"turn {place} follows one of the same side" for place, (one, two) in sides if one.role == two.role]
    return faults + alike + _unpaired(turns)


def _unpaired(turns: Sequence[Turn]) -> list[str]:
    faults = []
    seen: set[str] = set()
    for place, turn in enumerate(turns):
        results = [block.id for block in turn.blocks if isinstance(block, ToolResult)]
        before = [use.id for use in turns[place - 1].uses] if place and turn.role == "user" else []
        if sorted(results) != sorted(before):
            faults.append(f"turn {place} answers {results} where {before} was asked")
        if results and any(not isinstance(block, ToolResult) for block in turn.blocks[: len(results)]):
            faults.append(f"turn {place} does not begin with its results")
        uses = [use.id for use in turn.uses]
        if uses and (turn.role == "user" or place == len(turns) - 1):
            faults.append(f"turn {place} uses tools and nobody answers")
        if len(set(uses) - seen) < len(uses):
            faults.append(f"turn {place} uses an id again")
        seen.update(uses)
    return faults
