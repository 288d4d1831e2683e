"""The context in which every verb runs: one workspace, one session, the clock, and how to read and write.

A write is one transaction that records the session, an event for the audit trail and, if the caller may repeat it, a
receipt. Refuses to know any rule of memory: a faculty keeps its policy next to an operation, never inside one.
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
from everloom.kernel.trust.screen import Screen
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
    # Run first in every write; one that raises, such as a lease's guard, rolls it back.
    guards: tuple[Callable[[Unit], None], ...] = ()

    @property
    def now(self) -> datetime:
        """The current time, in UTC."""
        return self.clock.now()

    @property
    def screen(self) -> Screen:
        """What is done about secrets in what is written here."""
        return self.index.screen

    @property
    def zone(self) -> ZoneInfo:
        """The time zone of the workspace, which decides when its day begins."""
        return zone_named(self.workspace.time_zone)

    def local(self, at: datetime | None = None) -> datetime:
        """Convert a time, by default the current one, to the workspace's time zone."""
        return (at or self.now).astimezone(self.zone)

    @property
    def today(self) -> date:
        """The current date in the workspace's time zone."""
        return self.local().date()

    @contextmanager
    def read(self) -> Iterator[Unit]:
        """Begin a read-only unit of work that sees a single snapshot."""
        with self.store.read(self.workspace.id) as unit:
            yield unit

    @contextmanager
    def write(self, name: str) -> Iterator[Transaction]:
        """Begin a transaction, and record the session as active in it."""
        with self.store.write(self.workspace.id) as unit:
            for guard in self.guards:
                guard(unit)
            # Read under the write lock, so that times in a workspace grow with its ids as long as the clock is right.
            at = self.now
            session = None if self.session is None else attend(unit, self.session, at, self.model_tier)
            yield Transaction(self, unit, name, at, session)

    def write_once(
        self, name: str, key: str | None, request: Mapping[str, Any], shape: type[T], act: Callable[[Transaction], T]
    ) -> T:
        """Write once per idempotency key: repeating a request under the same key returns the first answer.

        The receipt is stored in the transaction of the write itself, so that neither exists without the other.
        """
        with self.write(name) as transaction:
            unit = transaction.unit
            # Looked up under the write lock: of two equal requests at the same time, the second finds the receipt.
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
        """Search this workspace; `how` takes the options of `Finder.search`."""
        return self.finder.search(self.workspace.id, cue, **how)

    def under(self, lease: Lease, *, session: str | None = None, model_tier: str | None = None) -> Operation:
        """Return an operation that writes under a lease: if the lease is lost, every further write fails."""
        return replace(self, guards=(*self.guards, lease.guard), session=session, model_tier=model_tier)


@dataclass(frozen=True, slots=True)
class Transaction:
    """One write in progress."""

    op: Operation
    unit: Unit
    name: str
    at: datetime
    session: Session | None

    @property
    def session_id(self) -> int | None:
        """The id of the session that writes, if any."""
        return None if self.session is None else self.session.id

    @property
    def model_tier(self) -> str | None:
        """The tier of the model that writes, if known."""
        return self.op.model_tier if self.session is None else self.session.model_tier

    def event(self, **detail: object) -> int:
        """Append the operation to the audit trail."""
        return append_event(self.unit, self.name, detail, self.at, self.session_id)


def _adapter(shape: type[T]) -> Any:
    from pydantic import TypeAdapter  # noqa: PLC0415  only writes that may be repeated need it

    return TypeAdapter(shape)
