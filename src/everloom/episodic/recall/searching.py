"""`search_memory` and `search_history`: looking on purpose, by meaning and by literal words, the dead included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from everloom.clock import from_micros, to_micros
from everloom.episodic.ground import Place
from everloom.episodic.recall.recalling import over, reactivate
from everloom.episodic.scenes.node import Node, nodes_of
from everloom.episodic.scenes.scene import fields_of, folded
from everloom.errors import Rejected
from everloom.kernel.search import Scope
from everloom.kernel.texts import checked
from everloom.store import Unit
from everloom.store.contract import FOREVER

MOST_HITS = 30
MOST_HISTORY = 50
MOST_TERMS = 20
LONGEST_QUERY = 2_000
# How many scenes that hold a term are looked at, newest first.
MOST_HOLDING = 500
# A literal match of every term weighs as much as this much similarity.
LITERAL = 0.5

Mode = Literal["or", "and"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A scene that a query touched: the fields that hold its words, and its similarity where vectors were compared."""

    node: Node
    matched: tuple[str, ...]
    similarity: float | None

    @property
    def line(self) -> str:
        """Write it as the contract does."""
        matched = f" [matched: {', '.join(self.matched)}]" if self.matched else ""
        state = "" if self.node.status == "active" else f" [{self.node.status}]"
        themes = f" (themes: {', '.join(self.node.themes)})" if self.node.themes else ""
        return f"- [{self.node.id}]{state}{matched} {self.node.text}{themes}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundScenes:
    """What `search_memory` answers."""

    text: str
    hits: tuple[Found, ...]
    by_vectors: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A piece of a conversation."""

    id: int
    kind: str
    text: str
    happened_at: datetime


def search_memory(place: Place, query: str, mode: Mode, limit: int) -> FoundScenes:
    """Find scenes by meaning and by literal words; a scene counts once a call."""
    if mode not in ("or", "and"):
        raise Rejected(f"there is no mode {mode!r}", hint="say or, or and")
    if not 1 <= limit <= MOST_HITS:
        raise Rejected(f"cannot answer {limit} hits", hint=f"ask for 1 to {MOST_HITS}")
    terms = list(dict.fromkeys(checked(query, "the query", LONGEST_QUERY).split()))[:MOST_TERMS]
    vectors = place.ground.embedding.probe(query, place.info.id)
    with place.read() as unit:
        probe = place.ground.embedding.aimed(unit, vectors)
        similar: dict[int, float] = {}
        if probe is not None and vectors is not None:
            threshold = place.ground.thresholds(unit, vectors.model).recall
            # With `and`, words decide and vectors only rank: more of them are needed.
            depth = limit if mode == "or" else MOST_HOLDING
            similar = dict(over(unit, probe, threshold, depth, living_only=False))
        held = holding(unit, terms, mode)
        hits = ranked(unit, terms, mode, similar, held)[:limit]
    reactivate(place, [hit.node.id for hit in hits])
    text = "\n".join(hit.line for hit in hits) or "no related memory"
    return FoundScenes(text=text, hits=tuple(hits), by_vectors=probe is not None)


def holding(unit: Unit, terms: Sequence[str], mode: Mode) -> set[int]:
    """Find the scenes that hold the terms literally, whatever their case."""
    if mode == "or":
        return {
            row["id"]
            for term in terms
            for row in unit.all("episodic.holding", pattern=pattern(term), limit=MOST_HOLDING)
        }
    longest, *others = sorted(terms, key=len, reverse=True)
    rows = unit.all("episodic.holding", pattern=pattern(longest), limit=FOREVER)
    return {row["id"] for row in rows if all(folded(term) in row["haystack"] for term in others)}


def pattern(term: str) -> str:
    """Write a term as a pattern in which nothing is a wildcard."""
    literal = folded(term).replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{literal}%"


def ranked(unit: Unit, terms: Sequence[str], mode: Mode, similar: Mapping[int, float], held: set[int]) -> list[Found]:
    """Order what was found by either way: similarity and literal matches add up; ties go to the newer."""
    wanted = held if mode == "and" else held | similar.keys()
    scores = {}
    hits = {}
    for item, node in nodes_of(unit, sorted(wanted)).items():
        fields = fields_of(node.told)
        shares = [fields.matched(term) for term in terms]
        literal = sum(map(bool, shares)) / len(terms)
        scores[item] = similar.get(item, 0.0) + LITERAL * literal
        names = tuple(dict.fromkeys(name for share in shares for name in share))
        hits[item] = Found(node=node, matched=names, similarity=similar.get(item))
    return [hits[item] for item in sorted(hits, key=lambda item: (-scores[item], -item))]


def search_history(
    place: Place, query: str | None, begin: datetime | None, end: datetime | None, limit: int
) -> tuple[Said, ...]:
    """Find pieces of conversations by what they say and when they were said."""
    if not 1 <= limit <= MOST_HISTORY:
        raise Rejected(f"cannot answer {limit} messages", hint=f"ask for 1 to {MOST_HISTORY}")
    kinds = place.ground.policy.history_kinds
    if query is not None and query.strip():
        scope = Scope(kinds=frozenset(kinds), happened_from=begin, happened_until=end)
        hits = place.ground.finder.search(place.info.id, query, limit=limit, within=scope).hits
        return tuple(Said(id=hit.id, kind=hit.kind, text=hit.text, happened_at=hit.happened_at) for hit in hits)
    with place.read() as unit:
        rows = unit.all(
            "episodic.history",
            kinds=list(kinds),
            happened_from=-FOREVER if begin is None else to_micros(begin),
            happened_until=FOREVER if end is None else to_micros(end),
            limit=limit,
        )
    return tuple(
        Said(id=row["id"], kind=row["kind"], text=row["text"], happened_at=from_micros(row["happened_at"]))
        for row in rows
    )
