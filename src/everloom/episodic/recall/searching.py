"""`search_memory` and `search_history`: deliberate search by meaning and by literal words, dead scenes included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Literal

from everloom.clock import from_micros, to_micros
from everloom.episodic.being import Being
from everloom.episodic.recall.recalling import FRAME_TOKENS, LINE, SCENES, SHOW_SCENE, reactivate
from everloom.episodic.scenes.node import Node, nodes_of
from everloom.episodic.scenes.scene import fold_text
from everloom.errors import NotFound, Rejected
from everloom.kernel.answer.budget import Listed, affordable, checked_tokens, cut_item, more
from everloom.kernel.answer.encode import BY_ID, SAID
from everloom.kernel.search import ALONE, Findings, Hit, Scope
from everloom.kernel.texts import checked, checked_limit
from everloom.kernel.verbs import ANSWER_TOKENS, no_next_page
from everloom.store import Unit
from everloom.store.contract import FOREVER

_MOST_HITS = 30
_MOST_HISTORY = 50
_MOST_TERMS = 20
_LONGEST_QUERY = 2_000
# How many scenes that contain a term are considered, newest first.
_MOST_HOLDING = 500
# When nothing fits, so many of the nearest scenes are shown.
_NEAREST = 3
_NOTHING, _NOTHING_FITS = "no related memory", "nothing fits well; the nearest:"

SearchMode = Literal["or", "and"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundScene:
    """A hit: the scene, the fields that contain words of the query, and the cosine if vectors were compared.

    `answers` is how likely it is that it answers the query, None if only its letters were found; `also` are the scenes
    that it stands for. Only a hit that `fits` counts as recalled.
    """

    node: Node = field(metadata=BY_ID)
    matched: tuple[str, ...]
    similarity: float | None
    answers: float | None = None
    fits: bool = True
    also: tuple[int, ...] = ()

    @property
    def line(self) -> str:
        """The hit on a line, as the contract writes it."""
        matched = f" [matched: {', '.join(self.matched)}]" if self.matched else ""
        themes = f" (themes: {', '.join(self.node.themes)})" if self.node.themes else ""
        return f"- [{self.node.id}]{self.node.state}{matched} {self.node.text}{themes}"

    def told(self, tokens: int) -> str:
        """The hit on a line that is cut to a budget."""
        return cut_item(self.line, self.node.id, tokens, SHOW_SCENE)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundScenes:
    """The result of `search_memory`; if nothing fits, `hits` are the nearest scenes and `text` says so."""

    text: str
    hits: tuple[FoundScene, ...] = field(metadata=SAID)
    by_vectors: bool
    fits: bool
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidMessage:
    """A message of a conversation; found by a query, it says whether it fits."""

    id: int
    kind: str
    text: str
    happened_at: datetime
    fits: bool = True


def search_memory(
    being: Being,
    query: str,
    mode: SearchMode,
    limit: int,
    max_tokens: int = ANSWER_TOKENS,
    *,
    fits_only: bool = False,
) -> FoundScenes:
    """Find scenes by meaning and by literal words; each hit that fits and is shown counts as recalled once."""
    tokens = checked_tokens(max_tokens)
    if mode not in ("or", "and"):
        raise Rejected(f"there is no search mode {mode!r}", hint="use 'or' or 'and'")
    checked_limit(limit, _MOST_HITS)
    terms = list(dict.fromkeys(checked(query, "the query", _LONGEST_QUERY).split()))[:_MOST_TERMS]
    with being.op.read() as unit:
        held = _find_literally(unit, terms, mode)
    # With `and`, words decide, and the search only ranks the scenes that contain them all.
    among = None if mode == "or" else sorted(held)
    how = {"within": SCENES, "among": among, "recipe": ALONE, "fits_only": fits_only}
    found = being.op.search(query, limit=limit, **how)
    fitting = {hit.id for hit in found.fitting} | {item for item, share in held.items() if share == 1.0}
    chosen = [item for item in _rank(held, found, fitting) if item in fitting or not fits_only][:limit]
    with being.op.read() as unit:
        nodes = nodes_of(unit, chosen)
    known = {hit.id: hit for hit in found.hits}
    hits = [_describe(nodes[item], terms, known.get(item), fits=item in fitting) for item in chosen]
    # A hit is told once, on its line; the rest of it are numbers.
    told = affordable([(hit, hit.told(round(tokens * LINE))) for hit in hits], tokens - FRAME_TOKENS, least=1)
    reactivate(being, [hit.node.id for hit, _ in told if hit.fits])
    lines = [*([] if fitting or not hits else [_NOTHING_FITS]), *(line for _, line in told)]
    return FoundScenes(
        text="\n".join(lines) or _NOTHING,
        hits=tuple(hit for hit, _ in told),
        by_vectors=found.by_vectors,
        fits=bool(fitting),
        note=more(len(hits) - len(told), "were found") if hits else found.note,
    )


def _find_literally(unit: Unit, terms: Sequence[str], mode: SearchMode) -> dict[int, float]:
    """Find the scenes that contain any or all terms literally, ignoring case, each with its share of the terms."""
    # The longest term usually occurs in the fewest scenes; with `and`, the others are matched only in those. Without a
    # limit, or a scene with all terms could be cut off by newer ones with the longest alone.
    wanted, most = (terms, _MOST_HOLDING) if mode == "or" else ([max(terms, key=len)], FOREVER)
    rows = [row for term in wanted for row in unit.all("episodic.holding", pattern=_pattern(term), limit=most)]
    folded = [fold_text(term) for term in terms]
    shares = {row["id"]: sum(term in row["haystack"] for term in folded) / len(folded) for row in rows}
    return {item: share for item, share in shares.items() if mode == "or" or share == 1.0}


def _pattern(term: str) -> str:
    """Write a term as a LIKE pattern without wildcards of its own."""
    literal = fold_text(term).replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{literal}%"


def _rank(held: Mapping[int, float], found: Findings, fitting: AbstractSet[int]) -> list[int]:
    """Rank scenes: those that fit as the search does, then those with more of the terms, the newest first.

    What merely was nearest is left out if anything fits.
    """
    places = {item: place for place, hit in enumerate(found.hits) for item in (hit.id, *hit.also)}

    def rank(item: int) -> tuple[bool, int, float, int]:
        return item not in fitting, places.get(item, len(places)), -held.get(item, 0.0), -item

    every = sorted({*held, *(hit.id for hit in found.hits)}, key=rank)
    return [item for item in every if item in fitting or item in held] if fitting else every[:_NEAREST]


def _describe(node: Node, terms: Sequence[str], hit: Hit | None, *, fits: bool) -> FoundScene:
    """Describe a hit, with the fields that contain terms literally."""
    texts = {name: fold_text(text) for name, text in node.content.texts.items()}
    matched = dict.fromkeys(name for term in terms for name, text in texts.items() if fold_text(term) in text)
    if hit is None:
        return FoundScene(node=node, matched=tuple(matched), similarity=None, fits=fits)
    return FoundScene(
        node=node, matched=tuple(matched), similarity=hit.similarity, answers=hit.answers, fits=fits, also=hit.also
    )


def _place_of(unit: Unit, item: int) -> tuple[int, int]:
    """Find where a message stands in the list, by its time and its id."""
    rows = unit.all("words.document_of", ids=[item])
    if not rows:
        raise NotFound(f"no message has the id {item}", hint="begin the list anew")
    return rows[0]["happened_at"], item


def search_history(
    being: Being,
    query: str | None,
    period: tuple[datetime | None, datetime | None],
    limit: int,
    beyond: int | None = None,
    *,
    fits_only: bool = False,
) -> tuple[SaidMessage, ...]:
    """Find messages by their text and time; without a text, list them, newest first or after one of them."""
    begin, end = period
    checked_limit(limit, _MOST_HISTORY, "messages")
    kinds = being.policy.history_kinds
    if query is not None and query.strip():
        if beyond is not None:
            raise no_next_page()
        scope = Scope(kinds=frozenset(kinds), happened_from=begin, happened_until=end)
        found = being.op.search(query, limit=limit, within=scope, fits_only=fits_only)
        names = [each.name for each in fields(SaidMessage)]
        return Listed.of(
            (SaidMessage(**{name: getattr(hit, name) for name in names}) for hit in found.hits), found.note
        )
    with being.op.read() as unit:
        last_at, last_id = (FOREVER, FOREVER) if beyond is None else _place_of(unit, beyond)
        rows = unit.all(
            "episodic.history",
            last_at=last_at,
            last_id=last_id,
            kinds=list(kinds),
            happened_from=-FOREVER if begin is None else to_micros(begin),
            happened_until=FOREVER if end is None else to_micros(end),
            limit=limit,
        )
    return tuple(
        SaidMessage(id=row["id"], kind=row["kind"], text=row["text"], happened_at=from_micros(row["happened_at"]))
        for row in rows
    )
