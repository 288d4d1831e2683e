"""Encodes the blocks of a conversation for the store, and repairs turns to the form that every model accepts. Pure.

Reasoning has no encoding here, so it cannot be stored. Refuses to know the store and providers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from everloom.models.talk import Block, Compacted, MediaBlock, TextBlock, Thought, ToolResult, ToolUse, Turn
from everloom.models.text import shortened

# Sent as the user's turn if the assistant spoke first, because providers require that the user begins.
OPENER = "(The conversation begins here.)"
# Stands in for the lost result of a tool, which may have done its work before a crash.
LOST = "The answer of this tool was lost; what it did, if anything, is not known."
# Stands in for what a tool brought, once something that it showed was forgotten.
_ERASED = "What this tool brought is gone: some of it was forgotten."
_LONGEST_TOLD = 400
_MEDIA = ("hash", "media_type", "name", "size", "tokens", "text")


def erased(block: Block) -> Block:
    """Return a tool's use or answer without what was asked or brought; other blocks as they are."""
    match block:
        case ToolResult():
            return replace(block, text=_ERASED)
        case ToolUse(input=given):
            return replace(block, input=dict.fromkeys(given, ""))
    return block


def encode_blocks(blocks: Iterable[Block]) -> str:
    """Encode blocks as JSON, without reasoning."""
    return json.dumps([_encode(block) for block in blocks if not isinstance(block, Thought)], ensure_ascii=False)


def _encode(block: Block) -> dict[str, Any]:
    match block:
        case TextBlock(text):
            return {"type": "text", "text": text}
        case ToolUse(use, name, arguments):
            return {"type": "tool_use", "id": use, "name": name, "input": dict(arguments)}
        case ToolResult(use, text, is_error):
            return {"type": "tool_result", "id": use, "text": text, "is_error": is_error}
        case MediaBlock():
            return {"type": "media", **{name: getattr(block, name) for name in _MEDIA}}
        case Compacted(text, raw):
            return {"type": "folded", "text": text, "raw": None if raw is None else dict(raw)}
        case Thought():
            raise ValueError("reasoning is never written")


def decode_blocks(text: str) -> tuple[Block, ...]:
    """Decode blocks from JSON; unknown kinds are left out."""
    found = [_decode(each) for each in json.loads(text)]
    return tuple(block for block in found if block is not None)


def _decode(value: Mapping[str, Any]) -> Block | None:
    match value:
        case {"type": "text", "text": str(text)}:
            return TextBlock(text)
        case {"type": "tool_use", "id": str(use), "name": str(name), "input": dict(arguments)}:
            return ToolUse(use, name, arguments)
        case {"type": "tool_result", "id": str(use), "text": str(text)}:
            return ToolResult(use, text, bool(value.get("is_error")))
        case {"type": "media", "hash": str(known), "media_type": str(kind), "name": str(name), "text": str(text)}:
            return MediaBlock(known, kind, name, int(value.get("size", 0)), int(value.get("tokens", 0)), text)
        case {"type": "folded", "text": str(text)}:
            return Compacted(text, value.get("raw"))
        case _:
            return None


def without_thoughts(turn: Turn) -> Turn:
    """Remove the reasoning from a turn."""
    return replace(turn, blocks=tuple(block for block in turn.blocks if not isinstance(block, Thought)))


def render_turns(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """Put turns into the form that models accept: alternating, paired, not empty, first a compaction or the user."""
    return _open_with_user(repair_pairs(_merge_turns(turns)))


def _merge_turns(turns: Iterable[Turn]) -> list[Turn]:
    """Join consecutive turns of one role; a turn that contains a compaction is not changed."""
    joined: list[Turn] = []
    for turn in (_without_empties(each) for each in turns):
        if not turn.blocks:
            continue
        if joined and joined[-1].role == turn.role and not (is_folded(joined[-1]) or is_folded(turn)):
            joined[-1] = Turn(turn.role, _results_first(joined[-1].blocks + turn.blocks))
        else:
            joined.append(turn)
    return joined


def is_folded(turn: Turn) -> bool:
    """Check whether a turn contains a compaction."""
    return any(isinstance(block, Compacted) for block in turn.blocks)


def _without_empties(turn: Turn) -> Turn:
    return replace(
        turn,
        blocks=tuple(block for block in turn.blocks if not (isinstance(block, TextBlock) and not block.text.strip())),
    )


def _results_first(blocks: Sequence[Block]) -> tuple[Block, ...]:
    # Providers require tool results before any other block in the same user turn.
    results = [block for block in blocks if isinstance(block, ToolResult)]
    return (*results, *(block for block in blocks if not isinstance(block, ToolResult)))


def repair_pairs(turns: Iterable[Turn]) -> list[Turn]:
    """Repair tool uses and results, so that every use has exactly one result, in the next turn.

    A use without a result gets one that says it was lost, because the tool may have run. A result without a use is
    dropped. A use with an id that was used before gets a new id, and so does its result.
    """
    # `taken` holds all ids so far; `asked` maps the ids of the previous turn's uses to their new ids.
    mended: list[Turn] = []
    taken: set[str] = set()
    asked: dict[str, str] = {}
    for turn in turns:
        if asked and turn.role == "assistant":
            mended.append(Turn("user", _pair_results(asked, ())))
            asked = {}
        if turn.role == "assistant":
            blocks, asked = _rename_uses(turn.blocks, taken)
        else:
            others = tuple(block for block in turn.blocks if not isinstance(block, ToolResult | ToolUse))
            blocks, asked = (*_pair_results(asked, turn.blocks), *others), {}
        if blocks:
            mended.append(Turn(turn.role, blocks))
    if asked:
        mended.append(Turn("user", _pair_results(asked, ())))
    return _merge_turns(mended)


def _free_id(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    taken.add(name)
    return name


def _rename_uses(blocks: Sequence[Block], taken: set[str]) -> tuple[tuple[Block, ...], dict[str, str]]:
    """Give every use a unique id; also returns the new id for each old one."""
    kept: list[Block] = []
    asked: dict[str, str] = {}
    for block in blocks:
        if isinstance(block, ToolUse):
            if block.id in asked:
                continue
            asked[block.id] = _free_id(block.id, taken)
            kept.append(replace(block, id=asked[block.id]))
        elif not isinstance(block, ToolResult):
            kept.append(block)
    return tuple(kept), asked


def _pair_results(asked: Mapping[str, str], blocks: Sequence[Block]) -> tuple[Block, ...]:
    given = {block.id: block for block in reversed(blocks) if isinstance(block, ToolResult)}
    return tuple(
        replace(given[use], id=name) if use in given else ToolResult(name, LOST, is_error=True)
        for use, name in asked.items()
    )


def _open_with_user(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Insert a user turn wherever the assistant would begin, or would speak twice in a row."""
    ready: list[Turn] = []
    for turn in turns:
        if turn.role == "assistant" and not is_folded(turn) and (not ready or ready[-1].role == "assistant"):
            ready.append(Turn("user", (TextBlock(OPENER),)))
        ready.append(turn)
    return tuple(ready)


def close_tool_loop(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Replace the tool uses since the user last spoke with a description in words.

    A provider requires the reasoning of a tool loop until the user speaks again. Reasoning is not stored, so the loop
    cannot be sent as it was.
    """
    # Turns before the person last spoke need no reasoning, and are sent unchanged.
    spoken = [place for place, turn in enumerate(turns) if turn.role == "user" and turn.text.strip()]
    start = spoken[-1] + 1 if spoken else 0
    results = {block.id: block for turn in turns[start:] for block in turn.blocks if isinstance(block, ToolResult)}
    words = [
        replace(turn, blocks=tuple(_tell_use(block, results) for block in turn.blocks))
        for turn in turns[start:]
        if turn.role == "assistant"
    ]
    return render_turns([*turns[:start], *words])


def _tell_use(block: Block, results: Mapping[str, ToolResult]) -> Block:
    if not isinstance(block, ToolUse):
        return block
    asked = shortened(json.dumps(dict(block.input), ensure_ascii=False), _LONGEST_TOLD)
    answer = shortened(results[block.id].text, _LONGEST_TOLD) if block.id in results else LOST
    return TextBlock(f"(I used {block.name} {asked}; it answered: {answer})")
