"""Turning hits into answers: whole records, what a hit stands for, what held before it, all within a budget of tokens.

Reads records inside a unit of work. Refuses to know what is counted as used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from everloom.clock import from_micros, is_ahead
from everloom.kernel.answer.budget import cost, cut_item
from everloom.kernel.search import DEFAULT, Hit, is_question
from everloom.kernel.search.when import spans_in
from everloom.models.text import trimmed
from everloom.semantic.evidence.records import ask_observations, ask_understandings
from everloom.semantic.parts import BestAnswer, BriefObservation, Brought, DatedText, NamedText, Source, Supporting
from everloom.semantic.recall.present import Statement, present_state
from everloom.semantic.recall.signs import AT_THE_START
from everloom.semantic.results import Observation, SemanticHit, Understanding
from everloom.store import Ids, Unit

Record = Observation | Understanding
PartT = TypeVar("PartT", BestAnswer, Brought, SemanticHit, Supporting)

# What a hit brings along is short: it says that there is more, and its id leads to the whole.
_ASIDE_TOKENS = 40
_SHORTEST = 12
_MOST_NAMED = 5
_MOST_EARLIER = 5
_MOST_LINKED = 3
_MARGIN = DEFAULT.bias.margin
# "At the start of 2025" ends after so much of it.
_EARLY = 1 / 3
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
# Written for the session as a whole or for the agent itself, they touch every topic and answer few questions.
_SESSION = "session"
_GENERAL = frozenset({_SESSION, "soul", "protocol", "orientation"})


@dataclass(frozen=True, slots=True)
class RecalledHit:
    """A hit with its record, and with the statements about the same thing that say something else."""

    hit: Hit
    record: Record
    answers: float
    fits: bool
    also: tuple[NamedText, ...] = ()
    earlier: tuple[DatedText, ...] = ()
    contradicts: tuple[DatedText, ...] = ()

    @property
    def id(self) -> int:
        """The id of the item."""
        return self.hit.id

    @property
    def source(self) -> Source:
        """The kind of the item."""
        return "observation" if isinstance(self.record, Observation) else "understanding"

    @property
    def at(self) -> datetime:
        """When it was observed, or last understood."""
        return self.record.observed_at if isinstance(self.record, Observation) else self.record.updated_at

    @property
    def stored_at(self) -> datetime | None:
        """When it was stored, if that is another time than when it was observed."""
        record = self.record
        return (
            record.created_at if isinstance(record, Observation) and record.created_at != record.observed_at else None
        )

    @property
    def linked(self) -> tuple[BriefObservation, ...]:
        """The newest observations that were linked to an understanding since it was written."""
        return () if isinstance(self.record, Observation) else self.record.linked_observations[-_MOST_LINKED:]

    def shown(self, tokens: int) -> dict[str, Any]:
        """Collect what every answer shows of it, the text cut to a budget."""
        summary = None if isinstance(self.record, Observation) else self.record.summary
        return {
            "source": self.source,
            "summary": summary and cut_item(summary, self.id, _ASIDE_TOKENS),
            "content": cut_item(self.record.content, self.id, tokens),
            "linked_observations": tuple(
                replace(each, content=cut_item(each.content, each.id, _ASIDE_TOKENS)) for each in self.linked
            ),
            **self.beside(),
        }

    def beside(self) -> dict[str, Any]:
        """Collect what it stands for, what held before it, and what speaks against it."""
        return {"also": self.also, "earlier": self.earlier, "contradicts": self.contradicts, **self.worth()}

    def worth(self) -> dict[str, str | None]:
        """Collect where it comes from and what it is worth, if that is less than what the agent says."""
        return {"origin": self.hit.origin, "trust": self.hit.trust}


def ask_records(unit: Unit, ids: Iterable[int]) -> Callable[[], dict[int, Record]]:
    """Ask for observations and understandings by id."""
    wanted = Ids(tuple(ids))
    observations, understandings = ask_observations(unit, wanted), ask_understandings(unit, wanted)
    return lambda: {**observations(), **understandings()}


def with_records(hits: Sequence[Hit], records: Mapping[int, Record]) -> list[RecalledHit]:
    """Join hits with their records and name what each stands for, leaving out what was deleted in the meantime."""
    return [
        RecalledHit(hit, records[hit.id], hit.answers, hit.fits, tuple(_named(hit.also, records)))
        for hit in hits
        if hit.id in records
    ]


def _named(ids: Sequence[int], records: Mapping[int, Record]) -> Iterable[NamedText]:
    """Name items with their texts; of many, the last by their ids alone."""
    for place, item in enumerate(each for each in ids if each in records):
        text = cut_item(records[item].content, item, _ASIDE_TOKENS) if place < _MOST_NAMED else None
        yield NamedText(id=item, content=text)


def arranged(question: str, found: Sequence[RecalledHit], now: datetime) -> list[RecalledHit]:
    """Put what fits first and the present state first among it; what it leaves behind is named inside it.

    `now` is in the workspace's time zone, which decides when a day or a year ends.
    """
    # The description of a session comes first only if it answers better than the rest; documents never do.
    enough = max((each.answers for each in found if each.fits and not _is_general(each)), default=0.0) + _MARGIN
    ranked = sorted(found, key=lambda each: (not each.fits, _is_general(each) and not _tells_more(each, enough)))
    if ranked and (ranked[0].hit.leads or _is_repeated(question, ranked[0].hit)):
        return ranked
    statements = [_statement(each, now) for each in ranked]
    held = present_state(question, statements, _end_of_the_time_asked_for(question, now))
    if held is None:
        return ranked
    by_id = {each.id: each for each in ranked}
    first = next(each for each in ranked if each.fits)
    chosen = by_id.pop(held.lead)
    lead = replace(
        chosen,
        # It leads because it says what became of the statement that answers best, and answers no less than that.
        answers=max(chosen.answers, first.answers),
        fits=True,
        earlier=_dated(held.earlier, by_id),
        contradicts=_dated(held.contradicts, by_id),
    )
    return [lead, *by_id.values()]


def uncrowded(found: Sequence[RecalledHit]) -> list[RecalledHit]:
    """Leave out what is already named inside a hit, and all but the first of what was written for no question."""
    named = {other.id for each in found for other in (*each.earlier, *each.contradicts)}
    general = [each.id for each in found if _is_general(each)]
    return [each for each in found if each.id not in named and each.id not in general[1:]]


def _is_repeated(question: str, hit: Hit) -> bool:
    """Return whether a statement is asked for in its own words: then it is wanted itself, not what became of it."""
    return hit.signals.get("verbatim", 0.0) > 0.0 and not is_question(question)


def _tells_more(each: RecalledHit, enough: float) -> bool:
    return isinstance(each.record, Understanding) and each.record.kind == _SESSION and each.answers > enough


def _is_general(each: RecalledHit) -> bool:
    return isinstance(each.record, Understanding) and each.record.kind in _GENERAL


def _statement(each: RecalledHit, now: datetime) -> Statement:
    sources = () if isinstance(each.record, Observation) else each.record.source_observation_ids
    return Statement(
        id=each.id,
        text=each.record.content,
        at=each.at,
        subjects=frozenset(each.record.subject_names),
        answers=each.answers,
        fits=each.fits,
        sources=frozenset(sources),
        is_dated=not is_ahead(each.at, now),
        is_synthesis=not isinstance(each.record, Observation),
    )


def _dated(ids: Sequence[int], by_id: Mapping[int, RecalledHit]) -> tuple[DatedText, ...]:
    return tuple(
        DatedText(
            id=item, content=cut_item(by_id[item].record.content, item, _ASIDE_TOKENS), observed_at=by_id[item].at
        )
        for item in ids[:_MOST_EARLIER]
    )


def _end_of_the_time_asked_for(question: str, now: datetime) -> datetime | None:
    """Return when the past period that a question mentions ended; None if it mentions none."""
    share = _EARLY if AT_THE_START.search(question.casefold()) else 1
    ends = [from_micros(span.begin + round((span.end - span.begin) * share)) for span in spans_in(question, now)]
    if not ends:
        ends = [now.replace(year=int(year) + 1, month=1, day=1, hour=0, minute=0) for year in _YEAR.findall(question)]
    return max((end for end in ends if end <= now), default=None)


def _shortest(dated: Sequence[DatedText]) -> tuple[DatedText, ...]:
    return tuple(replace(each, content=f"{trimmed(each.content, _SHORTEST).rstrip('…')}…") for each in dated[:1])


# What a part of an answer does without when it is too long, in this order; ids stay longer than texts.
_SHEDDING: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("also", lambda named: tuple(replace(each, content=None) for each in named)),
    ("linked_observations", lambda linked: linked[-1:]),
    ("contradicts", _shortest),
    ("earlier", _shortest),
    ("also", lambda named: named[:_MOST_NAMED]),
)


def slimmed(part: PartT, tokens: int) -> PartT:
    """Shorten what a part of an answer brings along until it fits into a budget."""
    for name, shed in _SHEDDING:
        if cost(part) <= tokens:
            break
        if brought := getattr(part, name, ()):
            part = replace(part, **{name: shed(brought)})
    return part
