"""Intentions: what is to come up when something is next spoken of.

An intention is found by searching for what was said among the open ones, with the ranking and the floor of every other
search. It comes up once, in the transaction that writes the exchange; how it is said is the model's business. Refuses
to know turns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime

from everloom.clock import from_micros, to_micros
from everloom.errors import Conflict, NotFound, Rejected
from everloom.kernel.journal import register
from everloom.kernel.operation import Transaction
from everloom.kernel.search import Document, Scope
from everloom.kernel.texts import checked
from everloom.mind.ports import MindSetup
from everloom.models.text import quoted, shortened
from everloom.store import Ids, Row, Unit

KIND = "intention"
# Far more than anybody keeps in mind; an agent that has more has probably lost count.
_MOST_OPEN = 200
_LONGEST = 1_000
_LONGEST_OCCASION = 200
# More would be a list that is read out.
_AT_ONCE = 3
_LONGEST_CUE = 2_000
# The parts of what was said that are searched for by themselves.
_END = re.compile(r"[.!?;,\n]+")
_FEWEST_WORDS = 3
_MOST_PARTS = 6
_TOLD = (
    "What was to come up when this is next spoken of. Bring up what fits, in your own words; it is shown to you once."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intention:
    """Something that is to come up when `about` is next spoken of; `exchange_id` is where it did."""

    id: int
    about: str
    text: str
    state: str
    set_at: datetime
    not_before: datetime | None = None
    until: datetime | None = None
    surfaced_at: datetime | None = None
    exchange_id: int | None = None

    def __str__(self) -> str:
        limits = [f"{word} {at:%Y-%m-%d}" for word, at in (("from", self.not_before), ("until", self.until)) if at]
        when = f" ({', '.join(limits)})" if limits else ""
        return f"[{self.id}] when we speak of {self.about}{when}: {shortened(self.text)}"


class IntentionList(list[Intention]):
    """Open intentions, newest first."""

    def __str__(self) -> str:
        # Its words may be anybody's. Whoever reads the list is not instructed by it.
        return quoted("\n".join(map(str, self)), "intentions") if self else "Nothing is to come up."


class Intentions:
    """The intentions of one workspace."""

    def __init__(self, setup: MindSetup) -> None:
        self._op = setup.op

    def add(
        self, about: str, text: str, not_before: datetime | None, until: datetime | None, key: str | None
    ) -> Intention:
        """Keep an intention, under a key only once."""
        occasion = checked(about, "the occasion", _LONGEST_OCCASION)
        wanted = checked(text, "the text", _LONGEST)
        if until is not None and until <= (not_before or self._op.now):
            raise Rejected("it would never come up: until is over by then", hint="give a later until")
        document = Document(kind=KIND, title=occasion, text=wanted, happened_at=self._op.now)
        prepared = self._op.index.prepare([document])

        def act(tx: Transaction) -> Intention:
            unit = tx.unit
            if len(unit.all("archive.intention_open", limit=_MOST_OPEN)) >= _MOST_OPEN:
                raise Conflict(f"{_MOST_OPEN} intentions are open already", hint="drop some of them first")
            (fresh,) = register(unit, KIND, tx.at)
            tx.op.index.publish(unit, [fresh], prepared, tx.at)
            begin, end = (None if each is None else to_micros(each) for each in (not_before, until))
            unit.send("archive.intention_add", id=fresh, not_before=begin or 0, until=end)
            tx.event(id=fresh)
            return self._read(unit, fresh)

        asked = {"about": about, "text": text, "not_before": not_before, "until": until}
        return self._op.write_once("set_intention", key, asked, Intention, act)

    def waiting(self) -> IntentionList:
        """List the open intentions, newest first."""
        with self._op.read() as unit:
            return IntentionList(self._from(row) for row in unit.all("archive.intention_open", limit=_MOST_OPEN))

    def drop(self, intention_id: int, key: str | None = None) -> Intention:
        """Drop an open intention: it does not come up any more."""

        def act(tx: Transaction) -> Intention:
            if not tx.unit.run("archive.intention_drop", id=intention_id):
                raise NotFound(f"no intention {intention_id} is open", hint="list_intentions shows the ids")
            tx.op.index.retire(tx.unit, [intention_id], None, tx.at)
            tx.event(id=intention_id)
            return self._read(tx.unit, intention_id)

        return self._op.write_once("drop_intention", key, {"id": intention_id}, Intention, act)

    def called_up_by(self, said: str) -> tuple[Intention, ...]:
        """Find the open intentions that what was said is about, the nearest first."""
        now = self._op.now
        with self._op.read() as unit:
            # Most turns end here: whoever keeps no intention pays for no search.
            if not unit.last("archive.intention_open", limit=1):
                return ()

        def are_due(unit: Unit, ids: Ids) -> Callable[[], AbstractSet[int]]:
            rows = unit.ask("archive.intention_of", ids=ids)
            return lambda: {each.id for each in map(self._from, rows.get()) if _is_due(each, now)}

        near: dict[int, float] = {}
        for cue in _cues_of(said):
            within = Scope(kinds=frozenset({KIND}))
            for hit in self._op.search(cue, limit=_AT_ONCE, within=within, where=are_due).hits:
                # Two that are nearly the same are folded into one hit.
                for item in (hit.id, *hit.also) if hit.fits else ():
                    near[item] = max(near.get(item, 0.0), hit.answers)
        wanted = sorted(near, key=lambda item: (-near[item], item))[:_AT_ONCE]
        with self._op.read() as unit:
            known = {row["id"]: self._from(row) for row in unit.last("archive.intention_of", ids=wanted)}
        return tuple(known[item] for item in wanted if item in known)

    def _read(self, unit: Unit, intention_id: int) -> Intention:
        (row,) = unit.all("archive.intention_of", ids=[intention_id])
        return self._from(row)

    def _from(self, row: Row) -> Intention:
        def local(micros: int | None) -> datetime | None:
            return self._op.local(from_micros(micros)) if micros else None

        return Intention(
            id=row["id"],
            about=row["title"],
            text=row["text"],
            state=row["state"],
            set_at=self._op.local(from_micros(row["created_at"])),
            not_before=local(row["not_before"]),
            until=local(row["until"]),
            surfaced_at=local(row["surfaced_at"]),
            exchange_id=row["exchange_id"],
        )


def _cues_of(said: str) -> list[str]:
    """List what is searched for: all that was said, and its first parts, one of which may be about something else.

    Nothing if nobody said anything: an event, or a picture without a caption, is about nothing that was wished.
    """
    if not said[:_LONGEST_CUE].strip():
        return []
    parts = [part.strip() for part in _END.split(said[:_LONGEST_CUE]) if len(part.split()) >= _FEWEST_WORDS]
    return list(dict.fromkeys([said[:_LONGEST_CUE], *parts[:_MOST_PARTS]]))


def _is_due(each: Intention, now: datetime) -> bool:
    is_late = each.until is not None and each.until < now
    return each.state == "open" and not is_late and (each.not_before is None or each.not_before <= now)


def tell_intentions(called_up: Sequence[Intention]) -> str | None:
    """Word the aside of a turn in which intentions come up; None if none does."""
    if not called_up:
        return None
    lines = [f"when we speak of {each.about} (wished on {each.set_at:%Y-%m-%d}): {each.text}" for each in called_up]
    return "\n".join([_TOLD, quoted("\n".join(lines), "intentions")])


def surface(unit: Unit, called_up: Sequence[Intention], exchange: int, at: datetime) -> None:
    """Record that intentions have come up in an exchange."""
    if called_up:
        ids = [each.id for each in called_up]
        unit.send("archive.intention_surface", ids=ids, exchange=exchange, at=to_micros(at))
