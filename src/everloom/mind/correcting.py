"""The mind's part in a correction: a note gets a new version, and what an exchange said is answered by a fact.

The log of record stays what was said; the search leads with the correction.
"""

from __future__ import annotations

from everloom.kernel.forgetting.ports import Correction, Replacement
from everloom.mind.notes.notes import Notes
from everloom.mind.ports import FactChange, MindSetup
from everloom.store import Unit


class MindCorrector:
    """Corrects notes and exchanges."""

    def __init__(self, setup: MindSetup) -> None:
        self._setup = setup

    def correct(self, item: int, new: Correction) -> Replacement | None:
        """Put a text in place of what an item says; None if the item is not of this faculty."""
        with self._setup.op.read() as unit:
            note = next(iter(unit.all("notes.note_of", ids=[item])), None)
            exchange = next(iter(unit.all("mind.exchange_of", ids=[item])), None)
        if note is not None:
            return self._rewrite(note["id"], note["name"], new)
        return None if exchange is None else self._answer(item, new)

    def _rewrite(self, item: int, name: str, new: Correction) -> Replacement:
        notes = Notes(self._setup)
        # Whoever corrects has decided what is true; the text is replaced as it is now.
        known = notes.version(name)
        written = notes.write(name, new.text, author="person", replace=True, expected=known.number if known else None)
        if new.forget_old:
            with self._setup.op.write("forget_versions") as tx:
                tx.unit.run("notes.version_purge_before", id=item, number=written.number)
        return Replacement(id=item, kind="note", how=f"version {written.number} of {name}")

    def _answer(self, exchange: int, new: Correction) -> Replacement:
        op = self._setup.op

        def nothing_else(_unit: Unit) -> None:
            pass

        (fact,) = self._setup.facts.learn([FactChange(new.text)], exchange=exchange, also=nothing_else)
        with op.write("correct_exchange") as tx:
            op.index.retire(tx.unit, [exchange], fact, tx.at)
            tx.event(id=fact, replaced=exchange)
        return Replacement(
            id=fact or exchange, kind="observation", how="the log keeps what was said; this is what holds"
        )
