"""What an exchange teaches: the small model proposes, `proposal.py` decides, semantic memory keeps.

Everything that one exchange changes is one transaction with the note that it was learnt, so that no kill loses or
doubles a fact. Nothing is erased: what no longer holds is superseded.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from everloom.clock import to_micros
from everloom.errors import Conflict, MalformedReply, NotFound, ProviderError, ProviderRefused
from everloom.kernel.journal import append_event
from everloom.mind.ground import Ground
from everloom.mind.learning.archive import lines_of
from everloom.mind.learning.chunks import Line, is_worth_keeping, told
from everloom.mind.learning.proposal import Decision, Proposal, decide
from everloom.mind.ports import Fact
from everloom.models.ask import Passage, Question, Thinker
from everloom.store import Unit

log = logging.getLogger(__name__)

SHOWN = 20
LONGEST_MATERIAL = 12_000
MOST_TRIES = 5
FIRST_PAUSE = timedelta(minutes=1)

TASK = """\
You keep the lasting facts of one continuous conversation between a person and an agent. You are shown an exchange and \
the facts nearest to it that are already kept, each with its number in brackets.

Answer with operations:
- ADD: the exchange tells something that is likely to matter in weeks: who somebody is, what they like, decided, \
promised, own or plan. One short sentence that can be understood alone, with names instead of pronouns and dates \
instead of "today".
- UPDATE: it changes a fact that is shown. Give its number as fact_id and the whole new sentence as text.
- DELETE: it makes a fact that is shown untrue, and nothing takes its place. Give its number as fact_id.
- NOOP: nothing lasting was said.

`about` lists the people, places or things that the sentence is about, by name. Leave out moods, greetings, and what \
will be over tomorrow. Use no number that is not shown. Most exchanges teach nothing: then answer with no operations."""


def question_of(lines: Sequence[Line], shown: Sequence[Fact], ground: Ground) -> Question:
    """Ask what an exchange changes in the facts that are near to it."""
    facts = "\n".join(f"[{fact.id}] {fact.text} ({ground.local(fact.learnt_at):%Y-%m-%d})" for fact in shown)
    began = ground.local(lines[0].at)
    said = told(lines, ground.zone, LONGEST_MATERIAL)
    material = f"Facts:\n{facts or 'none yet'}\n\nExchange of {began:%Y-%m-%d, %A}:\n{said}"
    return Question(purpose="facts", task=TASK, passages=(Passage(material),), max_tokens=1_500, is_routine=True)


@dataclass(frozen=True, slots=True)
class Extraction:
    """Learning from exchanges, with the guard of whoever does it."""

    ground: Ground
    thinker: Thinker
    guard: Callable[[Unit], None] = lambda _: None

    def learn(self, exchange: int) -> Decision | None:
        """Learn from one exchange that still waits; None when it has to be tried again, or is given up."""
        with self.ground.store.read(self.ground.workspace.id) as unit:
            lines = lines_of(unit, [exchange])[exchange]
        if not any(line.speaker == "person" for line in lines) or not is_worth_keeping(lines):
            return self._settle(exchange, Decision())
        shown = self.ground.facts.nearest(" ".join(line.text for line in lines), SHOWN)
        try:
            proposal = self.thinker.answer(question_of(lines, shown, self.ground), Proposal)
        except (MalformedReply, ProviderRefused) as error:
            self._failed(exchange, error)
            return None
        return self._settle(exchange, decide(proposal, shown))

    def _settle(self, exchange: int, decision: Decision) -> Decision | None:
        def also(unit: Unit) -> None:
            self.guard(unit)
            if not unit.run("archive.facts_settle", id=exchange, state="done"):
                raise Conflict(f"exchange {exchange} was learnt from already")
            self._note(unit, exchange, decision)

        try:
            if decision.changes:
                self.ground.facts.learn(decision.changes, exchange=exchange, also=also)
            else:
                with self.ground.store.write(self.ground.workspace.id) as unit:
                    also(unit)
        except (Conflict, NotFound) as error:
            log.info("facts of exchange %d wait for another look: %s", exchange, error)
            self._check_lease()
            return None
        return decision

    def _check_lease(self) -> None:
        with self.ground.store.write(self.ground.workspace.id) as unit:
            self.guard(unit)

    def _note(self, unit: Unit, exchange: int, decision: Decision) -> None:
        if not decision.changes and not decision.ignored:
            return
        detail = {
            "exchange": exchange,
            "changes": len(decision.changes),
            "ignored": [{"operation": i.operation, "fact": i.fact_id, "why": i.why} for i in decision.ignored],
        }
        append_event(unit, "facts", detail, self.ground.clock.now(), None)

    def _failed(self, exchange: int, error: ProviderError) -> None:
        now = self.ground.clock.now()
        with self.ground.store.write(self.ground.workspace.id) as unit:
            self.guard(unit)
            rows = unit.all("archive.facts_waiting_of", ids=[exchange])
            failures = rows[0]["facts_failures"] + 1 if rows else 0
            later = to_micros(now + FIRST_PAUSE * 4 ** max(0, failures - 1))
            unit.run("archive.facts_failed", id=exchange, not_before=later)
            if failures >= MOST_TRIES:
                unit.run("archive.facts_settle", id=exchange, state="skipped")
                detail = {"exchange": exchange, "tries": failures, "error": error.message[:300]}
                append_event(unit, "facts_skipped", detail, now, None)


def capture(ground: Ground, exchanges: Iterable[int]) -> int:
    """Learn from those of some exchanges that still wait, before they leave the array; says how many were settled."""
    thinker = ground.thinker()
    if thinker is None:
        return 0
    with ground.store.read(ground.workspace.id) as unit:
        waiting = [row["id"] for row in unit.all("archive.facts_waiting_of", ids=list(exchanges))]
    extraction = Extraction(ground, thinker)
    return sum(extraction.learn(exchange) is not None for exchange in waiting)
