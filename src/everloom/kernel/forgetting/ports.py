"""What a faculty offers so that its items can be forgotten and corrected; wiring collects these for a workspace."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from everloom.errors import Rejected
from everloom.kernel.forgetting.plan import Consequences, Doomed, ForgetPlan, Traces
from everloom.kernel.operation import Transaction
from everloom.store import Unit


class Eraser:
    """A faculty's part in one forgetting. Made for one operation; what a faculty does not need, it leaves as it is."""

    def claim(self, unit: Unit, ids: Collection[int]) -> Mapping[int, Doomed]:  # noqa: ARG002
        """Describe those of the items that belong to this faculty."""
        return {}

    def about(self, unit: Unit, names: Sequence[str]) -> set[int]:  # noqa: ARG002
        """Find everything about all of some subjects."""
        return set()

    def within(self, unit: Unit, begin: int, end: int, session_id: int | None) -> set[int]:  # noqa: ARG002
        """Find items of a period, or of a session, that have no document."""
        return set()

    def consequences(self, unit: Unit, plan: ForgetPlan) -> Consequences:  # noqa: ARG002
        """Say what else goes, and what stays but changes."""
        return Consequences()

    @contextmanager
    def alone(self, plan: ForgetPlan) -> Iterator[None]:  # noqa: ARG002
        """Hold, outside the transaction, what must not be changed by others until `finish`."""
        yield

    def erase(self, tx: Transaction, plan: ForgetPlan) -> None:
        """Delete this faculty's rows; the kernel deletes documents, sources, accesses and the items afterwards."""

    def scrub(self, tx: Transaction, traces: Traces) -> None:
        """Take the words out of what was made from texts without a record: reports, thoughts, names."""

    def finish(self) -> tuple[str, ...]:
        """Change files, once the transaction is committed; return what could not be cleaned."""
        return ()


# What else a correction writes; it is given the transaction of the correction, and the id of what is right.
Also = Callable[[Transaction, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What is right, in place of what is wrong."""

    text: str
    summary: str | None = None
    reason: str | None = None
    forget_old: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """The item that says what is right now; the same one where a faculty keeps versions."""

    id: int
    kind: str
    how: str


class SaysThatAlready(Rejected):
    """There is nothing to correct: the item says what is right."""


class Corrector(Protocol):
    """A faculty's way to correct one of its items.

    What is of a kind in `replaces` is replaced by a new item; everything else is changed in its place, at least if its
    old words shall go.
    """

    replaces: frozenset[str]

    def correct(self, item: int, new: Correction, also: Also) -> Replacement | None:
        """Put a text in place of what an item says; None if the item is not of this faculty.

        It calls `also` in its own transaction, after its own writes.
        """
        ...
