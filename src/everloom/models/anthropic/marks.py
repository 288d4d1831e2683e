"""Where a conversation is marked for Anthropic's cache, so that the next request finds as much of it as possible.

A mark stores the request up to its block, and finds what an earlier request stored there or at one of the twenty blocks
before it. There may be four: one is for tools and system prompt, which leaves three for the messages. Pure; refuses to
know how blocks are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from everloom.models.talk import CacheLife, TalkRequest, Turn
from everloom.models.wire import spoken_places

_MOST = 3


@dataclass(frozen=True, slots=True)
class CacheMark:
    """A turn whose end is marked, and how long it should be kept."""

    turn: int
    life: CacheLife


def cache_control(life: CacheLife) -> dict[str, Any]:
    """Write a mark; five minutes are what a mark means that says nothing else."""
    return {"type": "ephemeral"} if life == "5m" else {"type": "ephemeral", "ttl": life}


def marks_of(request: TalkRequest, turns: Sequence[Turn]) -> list[CacheMark]:
    """Choose the turns to mark, in order; `turns` are those of the request as they are sent, without its aside.

    The last two ends, because a tool loop may be longer than the provider looks back. In a loop also the message that
    it answers: the aside stands behind that, so it is the last thing that the next turn repeats. And the last message
    that the next compaction takes, from which on its request differs.
    """
    spoken = spoken_places(turns)
    newest = spoken[-1] if spoken else -1
    results = [at for at, turn in enumerate(turns) if at > newest and turn.role == "user"]
    ends = [*spoken, *results]
    staying = len(spoken_places(request.turns[request.leaving :]))
    leaving = spoken[: max(0, len(spoken) - staying)] if request.leaving else []
    wanted = [*ends[:-3:-1], *spoken[-1:], *leaving[-1:], *ends[::-1]]
    chosen = sorted(list(dict.fromkeys(wanted))[:_MOST])
    # What stands behind the aside is of no use after this loop.
    return [CacheMark(at, "5m" if at in results else request.cache_life) for at in chosen]
