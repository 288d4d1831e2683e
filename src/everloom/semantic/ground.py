"""What every room stands on: the store, the index, the clock, one workspace, one session; and the shape of a write.

Refuses to know any rule of memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from everloom.clock import Clock, from_micros
from everloom.kernel.embedding import Embedding
from everloom.kernel.journal import Session, answered_before, append_event, attend, keep_receipt
from everloom.kernel.search import Finder, Index
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.store import Row, Store, Unit

if TYPE_CHECKING:
    from pydantic import TypeAdapter

# A pause after which a client has probably lost what it was shown.
SEEN_GAP = timedelta(minutes=30)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """One workspace of an open store, through which one session reads and writes."""

    store: Store
    index: Index
    finder: Finder
    embedding: Embedding
    clock: Clock
    workspace: WorkspaceInfo
    session: str | None = None
    model_tier: str | None = None
    seen_gap: timedelta = SEEN_GAP

    @contextmanager
    def read(self) -> Iterator[Unit]:
        """Begin a unit that sees one moment and changes nothing."""
        with self.store.read(self.workspace.id) as unit:
            yield unit

    @contextmanager
    def act(self, operation: str) -> Iterator[Act]:
        """Begin a write; the session is noted as active."""
        with self.store.write(self.workspace.id) as unit:
            at = self.clock.now()
            session = None if self.session is None else attend(unit, self.session, at, self.model_tier)
            if session is not None:
                unit.run("semantic.session_ensure", session=session.id)
            yield Act(self, unit, operation, at, session)


@dataclass(frozen=True, slots=True)
class Act:
    """One write, while it happens."""

    ground: Ground
    unit: Unit
    operation: str
    at: datetime
    session: Session | None

    @property
    def session_id(self) -> int | None:
        """Say which session acts."""
        return None if self.session is None else self.session.id

    @property
    def model_tier(self) -> str | None:
        """Say which tier of model acts."""
        return self.ground.model_tier if self.session is None else self.session.model_tier

    def told(self, key: str | None, request: Mapping[str, Any], shape: type[T]) -> T | None:
        """Find the answer that this request already got under its idempotency key."""
        return told(self.unit, self.operation, key, request, shape)

    def note(self, **detail: object) -> None:
        """Write the operation into the audit trail."""
        append_event(self.unit, self.operation, detail, self.at, self.session_id)

    def keep(self, key: str | None, request: Mapping[str, Any], shape: type[T], answer: T) -> T:
        """Keep the answer under the idempotency key, and give it."""
        if key is not None:
            dumped = {"answer": adapter(shape).dump_python(answer, mode="json")}
            keep_receipt(self.unit, key, self.operation, request, dumped, self.at)
        return answer


@dataclass(frozen=True, slots=True)
class State:
    """Where a workspace's documents are and where its consolidation stands."""

    soul_id: int | None = None
    protocol_id: int | None = None
    orientation_id: int | None = None
    current_generation: int = 0
    begun_through: int | None = None
    consolidated_through: int = 0
    last_consolidated_at: datetime | None = None

    @property
    def is_open(self) -> bool:
        """Say whether a pass has begun and not ended."""
        return self.begun_through is not None

    @property
    def document_ids(self) -> tuple[int, ...]:
        """List the soul, the protocol and the orientation, as far as they exist."""
        return tuple(each for each in (self.soul_id, self.protocol_id, self.orientation_id) if each is not None)


def state_of(unit: Unit) -> State:
    """Read the state of a workspace; a workspace that nobody wrote to has none yet."""
    row = unit.one("semantic.workspace_get")
    return State() if row is None else state_from(row)


def state_for_writing(unit: Unit) -> State:
    """Read the state of a workspace, making its row first."""
    unit.run("semantic.workspace_ensure")
    return state_of(unit)


def state_from(row: Row) -> State:
    """Read a state from its row."""
    last = row["last_consolidated_at"]
    return State(
        row["soul_id"],
        row["protocol_id"],
        row["orientation_id"],
        row["current_generation"],
        row["begun_through"],
        row["consolidated_through"],
        None if last is None else from_micros(last),
    )


def clock_id(unit: Unit) -> int:
    """Say which id is the latest."""
    row = unit.one("semantic.clock")
    return 0 if row is None else int(row["id"])


def tick(unit: Unit) -> int:
    """Take an id that is later than everything written so far."""
    (fresh,) = unit.ids(1)
    return fresh


def told(unit: Unit, operation: str, key: str | None, request: Mapping[str, Any], shape: type[T]) -> T | None:
    """Find the answer that a request already got under its idempotency key."""
    answer = answered_before(unit, key, operation, request)
    return None if answer is None else adapter(shape).validate_python(answer["answer"])


def adapter(shape: type[T]) -> TypeAdapter[T]:
    """Find what reads and writes an answer as JSON."""
    from pydantic import TypeAdapter  # noqa: PLC0415  only writes that may be repeated need it

    return TypeAdapter(shape)
