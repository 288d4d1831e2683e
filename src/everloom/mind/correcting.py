"""The mind's part in a correction: a note gets a new version, and what an exchange said is answered by a fact.

The log of record stays what was said; the search leads with the correction.
"""

from __future__ import annotations

from collections.abc import Sequence

from everloom.kernel.forgetting.ports import Also, Correction, Replacement, SaysThatAlready
from everloom.kernel.operation import Transaction
from everloom.mind.notes.notes import Notes
from everloom.mind.ports import FactChange, MindSetup


class MindCorrector:
    """Corrects notes and exchanges."""

    replaces = frozenset({"exchange"})

    def __init__(self, setup: MindSetup) -> None:
        self._setup = setup

    def correct(self, item: int, new: Correction, also: Also) -> Replacement | None:
        """Put a text in place of what an item says; None if the item is not of this faculty."""
        with self._setup.op.read() as unit:
            note = next(iter(unit.all("notes.note_of", ids=[item])), None)
            exchange = next(iter(unit.all("mind.exchange_of", ids=[item])), None)
        if note is not None:
            return self._rewrite(note["id"], note["name"], new, also)
        return None if exchange is None else self._answer(item, new, also)

    def _rewrite(self, item: int, name: str, new: Correction, also: Also) -> Replacement:
        notes = Notes(self._setup)
        # Whoever corrects has decided what is true; the text is replaced as it is now.
        known = notes.version(name)

        def as_well(tx: Transaction, number: int) -> None:
            if new.forget_old:
                tx.unit.send("notes.version_purge_before", id=item, number=number)
                tx.unit.send("mind.prompt_drop")
            also(tx, item)

        number = known.number if known else None
        written = notes.write(name, new.text, author="person", replace=True, expected=number, also=as_well)
        if known is not None and written.number == known.number:
            raise SaysThatAlready(f"{name} says that already", hint="give what is right")
        return Replacement(id=item, kind="note", how=f"version {written.number} of {name}")

    def _answer(self, exchange: int, new: Correction, also: Also) -> Replacement:
        def as_well(tx: Transaction, facts: Sequence[int | None]) -> None:
            # Nothing was added if the very same fact is known already: then that one is what holds.
            fact = next((each for each in facts if each is not None), exchange)
            tx.op.index.retire(tx.unit, [exchange], fact, tx.at)
            also(tx, fact)

        (fact,) = self._setup.facts.learn([FactChange(new.text)], exchange=exchange, also=as_well, name="supersede")
        how = "this is what holds" if new.forget_old else "the log keeps what was said; this is what holds"
        return Replacement(id=fact or exchange, kind="observation", how=how)
