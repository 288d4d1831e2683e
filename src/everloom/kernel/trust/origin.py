"""Where a text comes from, and what follows for what is made of it. Pure.

A closed set, in order of trust, with room for detail. What nobody recorded has no origin; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from everloom.errors import Rejected

_LONGEST_DETAIL = 200


class OriginKind(StrEnum):
    """Who or what a text comes from, the most trusted first; `docs/decisions/0015-origin.md` argues the order."""

    PERSON = "person"
    AGENT = "agent"
    TOOL = "tool"
    IMPORT = "import"
    WEB = "web"

    @property
    def rank(self) -> int:
        """The place in the order of trust: 0 is trusted most."""
        return _RANKS[self]


_RANKS = {each: place for place, each in enumerate(OriginKind)}
_KINDS = tuple(OriginKind)


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of one text: its kind, and for example the name of the tool or the address of the page."""

    kind: OriginKind
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.detail}" if self.detail else str(self.kind)


PERSON, AGENT, IMPORT = Origin(OriginKind.PERSON), Origin(OriginKind.AGENT), Origin(OriginKind.IMPORT)


def read_origin(text: str) -> Origin:
    """Read an origin as it is written: a kind, and optionally a detail after a colon."""
    if not isinstance(text, str):
        raise Rejected("the origin must be text", hint=_HINT)
    kind, _, detail = text.strip().partition(":")
    if kind.strip().lower() not in _RANKS:
        raise Rejected(f"there is no origin {kind[:40]!r}", hint=_HINT)
    # On one line and short: it is shown beside the text, and may come from a stranger.
    return Origin(OriginKind(kind.strip().lower()), " ".join(detail.split())[:_LONGEST_DETAIL])


_HINT = f"use {', '.join(_KINDS)}, with a detail after a colon if you like: web:example.org"


def least_trusted(ranks: Iterable[int | None]) -> int | None:
    """Return the rank of the least trusted of some texts; those without a rank say nothing."""
    return max((rank for rank in ranks if rank is not None), default=None)


def trust_named(rank: int | None) -> OriginKind | None:
    """Name the trust that a text deserves by the kind that it is worth as much as."""
    return None if rank is None else _KINDS[rank]


def worth_saying(origin: str | None, rank: int | None) -> tuple[str | None, str | None]:
    """Return origin and trust as an answer says them: only if the text is worth less than what the agent says."""
    if rank is None or rank <= OriginKind.AGENT.rank:
        return None, None
    trust = trust_named(rank)
    # Of evidence the origin says it all.
    return origin, None if origin is not None and read_origin(origin).kind is trust else trust
