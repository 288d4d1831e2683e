"""The pages of a call that searches, and what it reads with them in the same round trip: whole records, and the news.

Refuses to know what is shown of a page, and what counts as used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from everloom.kernel.operation import Look, Operation
from everloom.kernel.search import Findings
from everloom.semantic.parts import WorkspaceActivity
from everloom.semantic.recall.answers import RecalledHit, Record, ask_records, with_records
from everloom.semantic.state import ask_activity
from everloom.store import Unit


class FoundPages:
    """The pages that one call finds, by one search or by several."""

    def __init__(self, op: Operation, name: str) -> None:
        self._op = op
        self._name = name
        self._records: list[Callable[[], dict[int, Record]]] = []
        self._look: tuple[Look, Callable[[], WorkspaceActivity]] | None = None

    def search(self, topic: str, **how: Any) -> Findings:
        """Find a page; `how` takes the options of `Finder.search`."""
        return self._op.search(topic, reading=self._ask, **how)

    def read_again(self, found: Findings) -> None:
        """Read everything of a page anew, because it was found long ago."""
        self._records, self._look = [], None
        self._read(item for hit in found.hits for item in (hit.id, *hit.also))

    def joined(self, *found: Findings) -> list[list[RecalledHit]]:
        """Join what is on each page with its records."""
        records = {item: record for read in self._records for item, record in read().items()}
        return [with_records(each.hits, records) for each in found]

    def looked(self) -> tuple[Look, Callable[[], WorkspaceActivity]]:
        """Return the look of this call, which the caller ends, and what others wrote."""
        if self._look is None:
            # Nothing was found, so nobody has asked yet.
            self._read(())
        assert self._look is not None
        return self._look

    def _read(self, ids: Iterable[int]) -> None:
        with self._op.read() as unit:
            self._ask(unit, ids)
            unit.end()

    def _ask(self, unit: Unit, ids: Iterable[int]) -> None:
        self._records.append(ask_records(unit, ids))
        if self._look is None:
            look = self._op.look_in(unit, self._name)
            self._look = look, ask_activity(look)
