"""`search_memory` and `search_history`: deliberate search by meaning and by literal words, dead scenes included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from everloom.clock import from_micros, to_micros
from everloom.episodic.being import Being
from everloom.episodic.recall.recalling import near_scenes, reactivate
from everloom.episodic.scenes.node import Node, nodes_of
from everloom.episodic.scenes.scene import fold_text
from everloom.errors import Rejected
from everloom.kernel.search import Scope
from everloom.kernel.texts import checked, checked_limit
from everloom.store import Unit
from everloom.store.contract import FOREVER

_MOST_HITS = 30
_MOST_HISTORY = 50
_MOST_TERMS = 20
_LONGEST_QUERY = 2_000
# How many scenes that contain a term are considered, newest first.
_MOST_HOLDING = 500
# A literal match of every term counts as much as this cosine.
_LITERAL = 0.5

SearchMode = Literal["or", "and"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundScene:
    """A hit: the scene, the fields that contain words of the query, and the cosine if vectors were compared."""

    node: Node
    matched: tuple[str, ...]
    similarity: float | None

    @property
    def line(self) -> str:
        """The hit on a line, as the contract writes it."""
        matched = f" [matched: {', '.join(self.matched)}]" if self.matched else ""
        themes = f" (themes: {', '.join(self.node.themes)})" if self.node.themes else ""
        return f"- [{self.node.id}]{self.node.state}{matched} {self.node.text}{themes}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundScenes:
    """The result of `search_memory`."""

    text: str
    hits: tuple[FoundScene, ...]
    by_vectors: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidMessage:
    """A message of a conversation."""

    id: int
    kind: str
    text: str
    happened_at: datetime


def search_memory(being: Being, query: str, mode: SearchMode, limit: int) -> FoundScenes:
    """Find scenes by meaning and by literal words; each hit counts as recalled once."""
    if mode not in ("or", "and"):
        raise Rejected(f"there is no search mode {mode!r}", hint="use 'or' or 'and'")
    checked_limit(limit, _MOST_HITS)
    terms = list(dict.fromkeys(checked(query, "the query", _LONGEST_QUERY).split()))[:_MOST_TERMS]
    with being.op.read() as unit:
        held = _find_literally(unit, terms, mode)
    # With `and`, words decide, and vectors only rank the scenes that contain them all.
    how: Mapping[str, Any] = {"limit": limit} if mode == "or" else {"limit": _MOST_HOLDING, "among": held}
    found = near_scenes(being, query, **how)
    with being.op.read() as unit:
        nodes = nodes_of(unit, sorted({*held, *found.similar}))
    hits = _rank(nodes, terms, found.similar)[:limit]
    reactivate(being, [hit.node.id for hit in hits])
    text = "\n".join(hit.line for hit in hits) or "no related memory"
    return FoundScenes(text=text, hits=tuple(hits), by_vectors=found.by_vectors)


def _find_literally(unit: Unit, terms: Sequence[str], mode: SearchMode) -> list[int]:
    """Find the scenes that contain the terms literally, ignoring case."""
    if mode == "or":
        found = (unit.all("episodic.holding", pattern=_pattern(term), limit=_MOST_HOLDING) for term in terms)
        return [row["id"] for rows in found for row in rows]
    # The longest term usually occurs in the fewest scenes; the others are matched only in those. Without a limit, or a
    # scene with all terms could be cut off by newer ones with the longest alone.
    longest, *others = sorted(terms, key=len, reverse=True)
    rows = unit.all("episodic.holding", pattern=_pattern(longest), limit=FOREVER)
    return [row["id"] for row in rows if all(fold_text(term) in row["haystack"] for term in others)]


def _pattern(term: str) -> str:
    """Write a term as a LIKE pattern without wildcards of its own."""
    literal = fold_text(term).replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{literal}%"


def _rank(nodes: Mapping[int, Node], terms: Sequence[str], similar: Mapping[int, float]) -> list[FoundScene]:
    """Rank hits by the sum of similarity and literal matches; ties go to the newer one."""
    scores, hits = {}, {}
    for item, node in nodes.items():
        texts = {name: fold_text(text) for name, text in node.content.texts.items()}
        matched = [[name for name, text in texts.items() if fold_text(term) in text] for term in terms]
        scores[item] = similar.get(item, 0.0) + _LITERAL * sum(map(bool, matched)) / len(terms)
        names = tuple(dict.fromkeys(name for fields in matched for name in fields))
        hits[item] = FoundScene(node=node, matched=names, similarity=similar.get(item))
    return [hits[item] for item in sorted(hits, key=lambda item: (-scores[item], -item))]


def search_history(
    being: Being, query: str | None, begin: datetime | None, end: datetime | None, limit: int
) -> tuple[SaidMessage, ...]:
    """Find messages by their text and time."""
    checked_limit(limit, _MOST_HISTORY, "messages")
    kinds = being.policy.history_kinds
    if query is not None and query.strip():
        scope = Scope(kinds=frozenset(kinds), happened_from=begin, happened_until=end)
        hits = being.op.search(query, limit=limit, within=scope).hits
        return tuple(SaidMessage(id=hit.id, kind=hit.kind, text=hit.text, happened_at=hit.happened_at) for hit in hits)
    with being.op.read() as unit:
        rows = unit.all(
            "episodic.history",
            kinds=list(kinds),
            happened_from=-FOREVER if begin is None else to_micros(begin),
            happened_until=FOREVER if end is None else to_micros(end),
            limit=limit,
        )
    return tuple(
        SaidMessage(id=row["id"], kind=row["kind"], text=row["text"], happened_at=from_micros(row["happened_at"]))
        for row in rows
    )
