"""The context in which every verb runs: one workspace, one session, the clock, and how to read and write.

A write is one transaction that records the session, an event for the audit trail and, if the caller may repeat it, a
receipt. A look is a read whose footprints are written afterwards, if that is possible; reading never depends on it. An
operation that is read-only refuses every write, and its looks leave none. Refuses to know any rule of memory: a faculty
keeps its policy next to an operation, never inside one.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cache
from threading import Lock, get_ident
from typing import TYPE_CHECKING, Any, TypeVar, cast
from zoneinfo import ZoneInfo

from everloom.clock import Clock, clamped, to_micros, zone_named
from everloom.errors import EverloomError, Forbidden, StoreError
from everloom.kernel.embedding import Embedding
from everloom.kernel.journal import (
    Session,
    append_event,
    ask_attendance,
    attended,
    attending,
    keep_receipt,
    read_receipt,
    receipt_of,
)
from everloom.kernel.search import Finder, Findings, Index
from everloom.kernel.trust.origin import AGENT, Origin, OriginKind, read_origin
from everloom.kernel.trust.screen import Screen
from everloom.kernel.workspaces import WorkspaceInfo
from everloom.secrets import logger_of
from everloom.store import Lookup, Row, Store, Unit

if TYPE_CHECKING:
    from everloom.kernel.work.lease import Lease

log = logger_of(__name__)

T = TypeVar("T")
# Writes one footprint, waiting at most so many seconds for other writers.
Write = Callable[[float], None]

# How long a reader may wait for other writers before it leaves its footprint to others.
MOMENT = 0.5
# And how long while others have waited in vain: just enough to notice that it is over.
_SHORT_SECONDS = 0.02
# After a failure, readers do not even try for so long.
_PAUSE_SECONDS = 1.0
# Footprints that wait at most. Beyond it the oldest are lost: their counts are the least recent.
MOST_WAITING = 1_000


@dataclass(frozen=True, slots=True)
class FootprintCounts:
    """How the footprints of a process fared: written, waiting, lost, and why the last one could not be written."""

    written: int
    waiting: int
    lost: int
    reason: str | None


class Footprints:
    """The footprints of one process: what reading leaves behind. Use it from any thread, outside a unit of work.

    Each is written right after the answer is known, by a short write of its own. Where that is not possible now (a full
    disk, a file that cannot be written, a writer that hangs) the answer is given all the same: the footprint waits for
    the next one that succeeds, a bounded number of them, and is lost if none does before the process ends. Losing one
    costs a count or repeats what was shown; nobody is told that a footprint was stored.
    """

    def __init__(self) -> None:
        self._waiting: deque[Write] = deque()
        self._lock = Lock()
        self._written = self._lost = 0
        self._reason: str | None = None
        self._pause_until = 0.0

    def leave(self, write: Write) -> None:
        """Write a footprint now if that is possible at once, else later or never; a store that fails is no error."""
        with self._lock:
            self._waiting.append(write)
            if len(self._waiting) > MOST_WAITING:
                self._waiting.popleft()
                self._lost += 1
        self._write_waiting()

    def flush(self) -> None:
        """Try to write what waits, whatever happened a moment ago; what cannot be written then is lost."""
        self._pause_until = 0.0
        self._write_waiting()
        with self._lock:
            self._lost += len(self._waiting)
            self._waiting.clear()

    @property
    def counts(self) -> FootprintCounts:
        """Say how the footprints of this process have fared so far."""
        with self._lock:
            return FootprintCounts(self._written, len(self._waiting), self._lost, self._reason)

    def _write_waiting(self) -> None:
        # In order, and each in a transaction of its own: one that cannot be written must not take others with it.
        while time.monotonic() >= self._pause_until and (write := self._next()) is not None:
            try:
                write(MOMENT if self._reason is None else _SHORT_SECONDS)
            except StoreError as error:
                self._put_back(write, error)
                return
            except EverloomError as error:
                # Its own fault: what it is about was deleted, or its lease was lost. Trying again would fail again.
                self._count(lost=1, reason=str(error))
            else:
                self._count(written=1)

    def _next(self) -> Write | None:
        with self._lock:
            return self._waiting.popleft() if self._waiting else None

    def _put_back(self, write: Write, error: StoreError) -> None:
        with self._lock:
            self._waiting.appendleft(write)
            if self._reason is None:
                log.warning("reading goes on, but what it leaves behind cannot be stored: %s", error)
            self._reason = str(error)
            self._pause_until = time.monotonic() + _PAUSE_SECONDS

    def _count(self, *, written: int = 0, lost: int = 0, reason: str | None = None) -> None:
        with self._lock:
            self._written += written
            self._lost += lost
            self._reason = reason


# More than the texts that anybody has in hand; beyond it the oldest is forgotten, and has to be read again.
_MOST_SEEN = 20_000


class SeenTexts:
    """What each caller in this process last read or wrote of texts that others may change, too.

    A caller that replaces a text without naming its version must have seen it as it is now. Nothing is stored: whoever
    comes back after a restart reads again.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._states: OrderedDict[tuple[object, ...], Mapping[str, str]] = OrderedDict()

    def put(self, key: tuple[object, ...], state: Mapping[str, str]) -> None:
        """Record what a caller knows now."""
        with self._lock:
            self._states[key] = state
            self._states.move_to_end(key)
            if len(self._states) > _MOST_SEEN:
                self._states.popitem(last=False)

    def get(self, key: tuple[object, ...]) -> Mapping[str, str] | None:
        """Return what a caller last knew; None if nothing."""
        with self._lock:
            return self._states.get(key)


# A name takes about a hundred bytes; beyond this many, all are forgotten and met anew.
_MOST_MET = 50_000


class Lately:
    """What a process has met lately, by any key: a belief that may be wrong by now, and that only saves work."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._met: set[Hashable] = set()

    def meet(self, keys: Iterable[Hashable]) -> None:
        """Record that something was there."""
        with self._lock:
            if len(self._met) > _MOST_MET:
                self._met.clear()
            self._met.update(keys)

    def has_met(self, keys: Iterable[Hashable]) -> bool:
        """Whether all of them were there when somebody last looked."""
        with self._lock:
            return self._met.issuperset(keys)


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
    # The origin that the caller is bound to: a header, a connection or the surface set it. None for a program in this
    # process that named none.
    caller: Origin | None = None
    # The origins that wait for a person's review before they count.
    holds: frozenset[OriginKind] = frozenset()
    # Run first in every write; one that raises, such as a lease's guard, rolls it back.
    guards: tuple[Callable[[Unit], None], ...] = ()
    footprints: Footprints = field(default_factory=Footprints)
    # Why nothing may be written through it; None if it may.
    refusal: EverloomError | None = None
    # How long its writes wait for others, if not as long as usual. Only work that nobody asked for has one.
    patience: float | None = None

    seen: SeenTexts = field(default_factory=SeenTexts)
    lately: Lately = field(default_factory=Lately)

    def saw(self, kind: str, name: str, state: Mapping[str, str]) -> None:
        """Record that the caller has just read or written a text in this state, by the hashes of its parts."""
        self.seen.put(self._seen_key(kind, name), state)

    def seen_of(self, kind: str, name: str) -> Mapping[str, str] | None:
        """Return the state in which the caller last saw a text; None if it has not seen it."""
        return self.seen.get(self._seen_key(kind, name))

    def _seen_key(self, kind: str, name: str) -> tuple[object, ...]:
        # Without a session, a thread of this process is one caller: two of them may read and write at the same time.
        return self.workspace.id, self.session or get_ident(), kind, name

    @property
    def is_read_only(self) -> bool:
        """Whether nothing may be written: no row, no file, not even a trace of reading."""
        return self.refusal is not None

    @property
    def now(self) -> datetime:
        """The current time, in UTC."""
        return self.clock.now()

    @property
    def origin(self) -> Origin:
        """Where what is written here comes from."""
        return self.index.origin or AGENT

    @property
    def is_held(self) -> bool:
        """Whether what is written here waits for a person's review."""
        return self.origin.kind in self.holds

    def with_origin(self, origin: Origin | None, *, caller: Origin | None = None) -> Operation:
        """Return an operation whose writes have this origin, whatever it was; None keeps it.

        For the places where a call enters, which also name the caller if it is bound to an origin. An argument of a
        call goes through `told_by`.
        """
        if origin is None:
            return self
        return replace(self, index=self.index.told_by(origin), caller=caller or self.caller)

    def told_by(self, origin: Origin | str | None) -> Operation:
        """Return an operation whose writes have the origin that a call names; None keeps the current one.

        An argument can only lower the trust: a higher one is refused.
        """
        if origin is None:
            return self
        known = read_origin(origin) if isinstance(origin, str) else origin
        if known.kind.rank < self.origin.kind.rank:
            hint = f"leave out the origin, or name one that is trusted less than {self.origin.kind}"
            if self.caller is None:
                hint += f"; a program that writes for a person opens the workspace with origin={str(known.kind)!r}"
            raise Forbidden(f"a caller whose origin is {self.origin} cannot write as {known.kind}", hint=hint)
        return self.with_origin(known)

    def at_most(self, origin: Origin | str) -> Operation:
        """Return an operation whose writes are trusted no more than those of an origin; a lower one is kept."""
        known = read_origin(origin) if isinstance(origin, str) else origin
        return self if known.kind.rank < self.origin.kind.rank else self.with_origin(known)

    def must_decide(self, title: str) -> None:
        """Refuse a decision to a caller that is bound to an origin other than a person."""
        if self.caller is not None and self.caller.kind is not OriginKind.PERSON:
            hint = "decide on the page, or in a terminal with the command `everloom`"
            raise Forbidden(f"only a person can do this ({title}), and this caller is {self.caller}", hint=hint)

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
        return clamped(at or self.now).astimezone(self.zone)

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
    def look(self, name: str) -> Iterator[Look]:
        """Begin a read that leaves footprints: written after it, if that is possible at once, else later or never.

        A session counts as active from then on. In a read-only operation nothing is left.
        """
        with self.store.read(self.workspace.id) as unit:
            look = self.look_in(unit, name)
            yield look
            # Inside the unit: most of the time it came with the first answer.
            _ = look.session
        look.end()

    def look_in(self, unit: Unit, name: str) -> Look:
        """Begin a look in a unit that somebody else reads in; whoever begins it ends it, once that unit is over."""
        at = self.now
        attending = None if self.session is None else ask_attendance(unit, self.session, at, self.model_tier)
        return Look(self, unit, name, at, attending)

    def leave(self, name: str, act: Callable[[Transaction], object], session: Session | None = None) -> None:
        """Write something that no answer depends on, if that is possible now or soon.

        `session` is the one that was found when it was read; the id 0 means that there was none yet.
        """
        if self.is_read_only:
            return

        def write(patience: float) -> None:
            known = session if session is not None and session.id else None
            with replace(self, patience=patience)._begin(name, (), is_durable=False, known=known) as transaction:
                act(transaction)

        self.footprints.leave(write)

    def write(
        self, name: str, *, is_durable: bool = True, asked: Sequence[Lookup] = ()
    ) -> AbstractContextManager[Transaction]:
        """Begin a transaction, and record the session as active in it; only a footprint is not durable.

        What is `asked` is read at the same time, to save round trips: the transaction has it as `found`.
        """
        return self._begin(name, asked, is_durable=is_durable)

    @contextmanager
    def _begin(
        self, name: str, asked: Sequence[Lookup], *, is_durable: bool, known: Session | None = None
    ) -> Iterator[Transaction]:
        """Begin a transaction; a session that is known already is only recorded as active."""
        self.must_write()
        with self.store.write(self.workspace.id, patience=self.patience, is_durable=is_durable) as unit:
            for guard in self.guards:
                guard(unit)
            # Read under the write lock, so that times in a workspace grow with its ids as long as the clock is right.
            at = self.now
            if known is not None:
                # Should it be forgotten by now, what refers to it is refused, and so is the whole footprint.
                unit.send("kernel.session_touch", id=known.id, at=to_micros(at), model_tier=self.model_tier)
                yield Transaction(self, unit, name, at, replace(known, seen_at=at))
                return
            if self.session is None:
                yield Transaction(self, unit, name, at, None, unit.together(*asked) if asked else ())
                return
            rows, *found = unit.together(attending(self.session, at, self.model_tier), *asked)
            session = attended(unit, rows, self.session, at, self.model_tier)
            yield Transaction(self, unit, name, at, session, found)

    def write_once(
        self,
        name: str,
        key: str | None,
        request: Mapping[str, Any],
        shape: type[T],
        act: Callable[[Transaction], T],
        *,
        asked: Sequence[Lookup] = (),
    ) -> T:
        """Write once per idempotency key: repeating a request under the same key returns the first answer.

        The receipt is stored in the transaction of the write itself, so that neither exists without the other.
        """
        if key is None:
            with self.write(name, asked=asked) as transaction:
                return act(transaction)
        # Looked up under the write lock: of two equal requests at the same time, the second finds the receipt.
        adapter = _adapter(cast("Hashable", shape))
        with self.write(name, asked=[*asked, receipt_of(key)]) as transaction:
            known = read_receipt(transaction.found[-1], key, name, request)
            if known is not None:
                first: T = adapter.validate_python(known["answer"])
                return first
            answer = act(replace(transaction, found=transaction.found[:-1]))
            receipt = {"answer": adapter.dump_python(answer, mode="json")}
            keep_receipt(transaction.unit, key, name, request, receipt, transaction.at)
            return answer

    def must_write(self) -> None:
        """Raise the reason why nothing may be written, if there is one. Call it before a file is touched."""
        if self.refusal is not None:
            raise self.refusal.with_traceback(None)

    def in_passing(self) -> Operation:
        """Return an operation for work that is due but not asked for: its writes give up after a moment."""
        return replace(self, patience=MOMENT)

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
    # The rows of each lookup that was asked when it began.
    found: Sequence[Sequence[Row]] = ()

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

    def leave(self, act: Callable[[Transaction], object]) -> None:
        """Do at once what a look would do afterwards."""
        act(self)


@dataclass(frozen=True, slots=True)
class Look:
    """One read in progress, and what it will leave behind."""

    op: Operation
    unit: Unit
    name: str
    at: datetime
    _attending: Callable[[], Session] | None = None
    footprints: list[Callable[[Transaction], object]] = field(default_factory=list)

    @property
    def session(self) -> Session | None:
        """The session that reads, if any; one that was not recorded before has the id 0."""
        return None if self._attending is None else self._attending()

    def event(self, **detail: object) -> None:
        """Append the operation to the audit trail afterwards."""
        self.leave(lambda transaction: transaction.event(**detail))

    def leave(self, act: Callable[[Transaction], object]) -> None:
        """Do something afterwards, in one short transaction with everything else that this read leaves."""
        self.footprints.append(act)

    def end(self) -> None:
        """Do everything that was left for afterwards, if that is possible at once, else later or never."""
        session = self.session
        if self.footprints or session is not None:
            self.op.leave(self.name, self._write_footprints, session)

    def _write_footprints(self, transaction: Transaction) -> None:
        for act in self.footprints:
            act(transaction)


@cache
def _adapter(shape: Any) -> Any:
    from pydantic import TypeAdapter  # noqa: PLC0415  only writes that may be repeated need it

    return TypeAdapter(shape)
