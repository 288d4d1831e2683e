"""Learns facts from exchanges: the small model proposes changes, `proposal.py` decides, semantic memory stores.

All changes from one exchange are one transaction with the mark that the exchange is done, so that a crash neither loses
nor repeats a fact. Nothing is erased: a fact that is no longer true is superseded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from everloom.clock import to_micros
from everloom.errors import Conflict, MalformedReply, NotFound, ProviderDenied, ProviderError, ProviderRefused
from everloom.kernel.journal import append_event
from everloom.kernel.operation import Operation
from everloom.mind.learning.archive import SpokenLine, is_worth_keeping, lines_of, tell_lines
from everloom.mind.learning.proposal import FactDecision, FactProposal, decide
from everloom.mind.ports import Fact, MindSetup
from everloom.mind.prompts import prompt_named
from everloom.models.ask import Passage, Question, Thinker
from everloom.secrets import logger_of
from everloom.store import Unit

log = logger_of(__name__)

# The contract shows the model the 20 nearest facts; more are rarely about the same subject.
_SHOWN = 20
_LONGEST_MATERIAL = 12_000
# Pauses of 1, 4, 16 and 64 minutes: the fifth and last attempt is about an hour and a half after the first.
MOST_TRIES = 5
_FIRST_PAUSE = timedelta(minutes=1)

_TASK = prompt_named("facts")


def _question_of(lines: Sequence[SpokenLine], shown: Sequence[Fact], op: Operation) -> Question:
    facts = "\n".join(f"[{fact.id}] {fact.text} ({op.local(fact.learnt_at):%Y-%m-%d})" for fact in shown)
    began = op.local(lines[0].at)
    said = tell_lines(lines, op.zone, _LONGEST_MATERIAL)
    material = f"Facts:\n{facts or 'none yet'}\n\nExchange of {began:%Y-%m-%d, %A}:\n{said}"
    return Question(purpose="facts", task=_TASK, passages=(Passage(material),), max_tokens=1_500, is_routine=True)


@dataclass(frozen=True, slots=True)
class FactLearner:
    """Learns facts from the exchanges of one workspace."""

    setup: MindSetup
    thinker: Thinker

    def learn(self, exchange: int) -> FactDecision | None:
        """Learn from one exchange; None if it must be tried again or was given up."""
        with self.setup.op.read() as unit:
            # What a machine reports is not what anybody said: nothing is learnt from it.
            lines = [line for line in lines_of(unit, [exchange])[exchange] if line.speaker != "event"]
        if not any(line.speaker == "person" for line in lines) or not is_worth_keeping(lines):
            return self._keep(exchange, FactDecision())
        shown = self.setup.facts.nearest(" ".join(line.text for line in lines), _SHOWN)
        try:
            proposal = self.thinker.answer(_question_of(lines, shown, self.setup.op), FactProposal)
        except ProviderDenied:
            # Not the fault of the exchange: it waits until the account or the settings are in order.
            raise
        except (MalformedReply, ProviderRefused) as error:
            self._note_failure(exchange, error)
            return None
        return self._keep(exchange, decide(proposal, shown))

    def learn_waiting(self, exchanges: Iterable[int]) -> int:
        """Learn from those of the given exchanges that still wait; returns how many succeeded."""
        with self.setup.op.read() as unit:
            waiting = [row["id"] for row in unit.all("archive.facts_waiting_of", ids=list(exchanges))]
        return sum(self.learn(exchange) is not None for exchange in waiting)

    def _keep(self, exchange: int, decision: FactDecision) -> FactDecision | None:
        op = self.setup.op

        def also(unit: Unit) -> None:
            # This runs in semantic memory's transaction, which does not know the task's lease, so it is checked here.
            for guard in op.guards:
                guard(unit)
            # Conditional on the exchange still waiting: two workers cannot both learn from it.
            if not unit.run("archive.facts_settle", id=exchange, state="done"):
                raise Conflict(f"exchange {exchange} has already been learnt from")
            if decision.changes or decision.ignored:
                ignored = [{"operation": i.operation, "fact": i.fact_id, "why": i.why} for i in decision.ignored]
                detail = {"exchange": exchange, "changes": len(decision.changes), "ignored": ignored}
                append_event(unit, "facts", detail, op.now, None)

        try:
            if decision.changes:
                self.setup.facts.learn(decision.changes, exchange=exchange, also=lambda tx, _ids: also(tx.unit))
            else:
                with op.write("facts") as writing:
                    also(writing.unit)
        except (Conflict, NotFound) as error:
            log.info("the facts of exchange %d will be tried again: %s", exchange, error)
            with op.write("facts"):
                # Writes nothing, but checks the lease: a worker that lost it fails here, before the next exchange.
                return None
        return decision

    def _note_failure(self, exchange: int, error: ProviderError) -> None:
        with self.setup.op.write("facts_skipped") as writing:
            unit = writing.unit
            rows = unit.all("archive.facts_waiting_of", ids=[exchange])
            failures = rows[0]["facts_failures"] + 1 if rows else 0
            later = to_micros(writing.at + _FIRST_PAUSE * 4 ** max(0, failures - 1))
            unit.send("archive.facts_failed", id=exchange, not_before=later)
            if failures >= MOST_TRIES:
                unit.send("archive.facts_settle", id=exchange, state="skipped")
                writing.event(exchange=exchange, tries=failures, error=error.message[:300])
