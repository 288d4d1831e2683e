"""Sets facts aside each night, a few at a time: `pruning.py` decides, semantic memory keeps.

Each change is one transaction that looks again at what it changes. That the night is done is recorded last, so that a
pass that dies goes on where it stopped. Nothing is erased, and everything can be taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from everloom.kernel.journal import answered_before, keep_receipt
from everloom.mind.learning import pruning
from everloom.mind.ports import FactCard, MindSetup
from everloom.mind.results import FactPruning, PrunedFacts
from everloom.store import Unit

# Few, so that a person can look at what a night did, and a wrong rule does little before somebody notices.
MOST_A_NIGHT = 20


class Pruner:
    """Sets the repeated and faded facts of one workspace aside, in the night that began at a moment."""

    def __init__(self, setup: MindSetup, night: datetime) -> None:
        self._setup = setup
        self._op = setup.op
        self._night = night
        self._key = f"pruning {night.isoformat()}"

    def is_due(self) -> bool:
        """Check whether the night's pass is due: switched on, not done yet, and something was ever said."""
        if not self._setup.policy.prune_facts:
            return False
        with self._op.read() as unit:
            return (
                unit.one("mind.exchange_last") is not None and answered_before(unit, self._key, "pruning", {}) is None
            )

    def run(self, has_time: Callable[[], bool] = lambda: True) -> PrunedFacts:
        """Run the night's pass."""
        done = self.prune(has_time)
        if has_time():
            with self._op.write("pruning") as writing:
                # Read again under the lock: another worker may have been faster.
                if answered_before(writing.unit, self._key, "pruning", {}) is None:
                    detail = {"facts": len(done.facts)}
                    keep_receipt(writing.unit, self._key, "pruning", {}, detail, writing.at)
        return done

    def plan(self) -> PrunedFacts:
        """Say what a pass would do now. Writes nothing."""
        chosen, waiting = self._chosen()
        return PrunedFacts(facts=tuple(chosen), is_done=False, waiting=waiting)

    def prune(self, has_time: Callable[[], bool] = lambda: True) -> PrunedFacts:
        """Set aside what has to be, within what a night may do; one transaction each."""
        self._op.must_write()
        chosen, waiting = self._chosen()
        done = []
        for each in chosen:
            if not has_time():
                break
            if self._setup.facts.set_aside(each, partial(self._is_still, each), self._guard):
                done.append(replace(each, at=self._op.now))
        return PrunedFacts(facts=tuple(done), is_done=True, waiting=waiting + len(chosen) - len(done))

    def _chosen(self) -> tuple[list[FactPruning], int]:
        facts, now, days = self._setup.facts, self._op.now, self._setup.policy.prune_after_days
        cards = facts.cards()
        repeated = pruning.repeated(cards, now)
        gone = {each.id for each in repeated} | {each.into for each in repeated}
        fadeable = pruning.fadeable([card for card in cards if card.id not in gone], now, days)
        faded = pruning.faded(fadeable, facts.names([card.id for card in fadeable]), days)
        found = [*repeated, *faded]
        room = max(0, MOST_A_NIGHT - facts.pruned_since(self._night))
        return found[:room], len(found) - len(found[:room])

    def _is_still(self, each: FactPruning, cards: Sequence[FactCard]) -> bool:
        """Decide again, under the lock: it may have been read, pinned or edited since."""
        now = self._op.now
        goes = cards[0]
        if each.into is None:
            return pruning.may_be_pruned(goes, now) and goes.text == each.text
        return pruning.may_replace(cards[1], goes, now) and pruning.say_the_same(goes, cards[1])

    def _guard(self, unit: Unit) -> None:
        # Semantic memory's transaction does not know the task's lease, so it is checked here.
        for guard in self._op.guards:
            guard(unit)
