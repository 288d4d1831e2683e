"""What every verb runs in: one workspace, one session, the clock, and the shape of a read and of a write.

A write is one transaction with the session noted, an event for the audit trail and, where the caller may repeat it, a
receipt. Refuses to know any rule of memory: a faculty keeps its own policy beside an operation, never inside one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, TypeVar
from zoneinfo import ZoneInfo

from everloom.clock import Clock, zone_named
from everloom.kernel.embedding import Embedding
from everloom.kernel.journal import Session, answered_before, append_event, attend, keep_receipt
from everloom.kernel.search import Finder, Findings, Index
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.store import Store, Unit

if TYPE_CHECKING:
    from everloom.kernel.lease import Lease

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One workspace of an open store, through which one session reads and writes."""

    store: Store
    index: Index
    finder: Finder
    embedding: Embedding
    clock: Clock
    workspace: WorkspaceInfo
    session: str | None = None
    model_tier: str | None = None
    # Run first in every write; whoever objects undoes it. A lease's guard, say.
    guards: tuple[Callable[[Unit], None], ...] = ()

    @property
    def now(self) -> datetime:
        """Say what time it is, in UTC."""
        return self.clock.now()

    @property
    def zone(self) -> ZoneInfo:
        """Find the zone in which the workspace means "today"."""
        return zone_named(self.workspace.time_zone)

    def local(self, at: datetime | None = None) -> datetime:
        """Read a moment, or now, on the workspace's own clock."""
        return (at or self.now).astimezone(self.zone)

    @property
    def today(self) -> date:
        """Say which day it is in the workspace."""
        return self.local().date()

    @contextmanager
    def read(self) -> Iterator[Unit]:
        """Begin a unit of work that sees one moment and changes nothing."""
        with self.store.read(self.workspace.id) as unit:
            yield unit

    @contextmanager
    def write(self, name: str) -> Iterator[Transaction]:
        """Begin a transaction that is kept whole or not at all; the session is noted as active."""
        with self.store.write(self.workspace.id) as unit:
            for guard in self.guards:
                guard(unit)
            at = self.now
            session = None if self.session is None else attend(unit, self.session, at, self.model_tier)
            yield Transaction(self, unit, name, at, session)

    def write_once(
        self, name: str, key: str | None, request: Mapping[str, Any], shape: type[T], act: Callable[[Transaction], T]
    ) -> T:
        """Write, once for each idempotency key: the same request under the same key gets the first answer again.

        The receipt is kept in the transaction of the write itself, so that there is never the one without the other.
        """
        with self.write(name) as transaction:
            unit = transaction.unit
            known = answered_before(unit, key, name, request)
            if known is not None:
                first: T = _adapter(shape).validate_python(known["answer"])
                return first
            answer = act(transaction)
            if key is not None:
                receipt = {"answer": _adapter(shape).dump_python(answer, mode="json")}
                keep_receipt(unit, key, name, request, receipt, transaction.at)
            return answer

    def search(self, cue: str, **how: Any) -> Findings:
        """Search this workspace; `how` is what `Finder.search` takes."""
        return self.finder.search(self.workspace.id, cue, **how)

    def under(self, lease: Lease, *, session: str | None = None, model_tier: str | None = None) -> Operation:
        """Write under a lease from here on: a holder that lost it writes nothing more."""
        return replace(self, guards=(*self.guards, lease.guard), session=session, model_tier=model_tier)


@dataclass(frozen=True, slots=True)
class Transaction:
    """One write, while it happens."""

    op: Operation
    unit: Unit
    name: str
    at: datetime
    session: Session | None

    @property
    def session_id(self) -> int | None:
        """Say which session writes."""
        return None if self.session is None else self.session.id

    @property
    def model_tier(self) -> str | None:
        """Say which tier of model writes."""
        return self.op.model_tier if self.session is None else self.session.model_tier

    def event(self, **detail: object) -> int:
        """Append the operation to the audit trail."""
        return append_event(self.unit, self.name, detail, self.at, self.session_id)


def _adapter(shape: type[T]) -> Any:
    from pydantic import TypeAdapter  # noqa: PLC0415  only writes that may be repeated need it

    return TypeAdapter(shape)
