"""The memory for programs with an event loop: the same verbs, awaited, with the store here or behind a server.

Here, verbs run in a bounded number of threads. Elsewhere, requests are native to the loop. Either way a call can be
cancelled, and leaves nothing half written. Contains no list of verbs, and refuses to know what one does.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from pathlib import Path
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from everloom.errors import StoreError
from everloom.kernel.verbs import Verb
from everloom.remote.calls import Peer, RemoteCaller, request_for, result_of
from everloom.remote.changes import Position, follow_async
from everloom.remote.loom import DESCRIBE, caller_of, checked_token, timeouts_of
from everloom.remote.sending import AsyncSender
from everloom.remote.tokens import remote_token
from everloom.remote.workspace import Rounds, WorkspaceCalls
from everloom.settings import Settings, load
from everloom.wiring.background import AsyncBackgroundWork
from everloom.wiring.faculties import FACULTIES, Faculty
from everloom.wiring.wire.protocol import is_remote

if TYPE_CHECKING:
    from anyio import CapacityLimiter

    from everloom.clock import Clock
    from everloom.kernel.journal import Event
    from everloom.kernel.work.tasks import Outcome
    from everloom.kernel.workspaces import WorkspaceInfo
    from everloom.loom import Loom, Workspace

T = TypeVar("T")

# SQLite writes one at a time, and reads are short: more threads would only wait for each other.
THREADS = 8
_LOOK_EVERY = 0.5
_PAGE = 200


def open_async_loom(
    url: str | Path | None = None,
    *,
    token: str | EllipsisType | None = ...,
    settings: Settings | None = None,
    clock: Clock | None = None,
    threads: int = THREADS,
) -> AsyncLoom:
    """Make a loom for a program with an event loop; `async with` opens it. The arguments are those of `open_loom`.

    `threads` bounds how many verbs run at once on a store of this machine.
    """
    known = settings if settings is not None else load()[0]
    address = known.store.url if url is None else url
    if isinstance(address, str) and is_remote(address):
        held = remote_token(known, address) if token is ... else token
        return AsyncLoom(_Elsewhere(address, known, held))
    from everloom.loom import open_loom  # noqa: PLC0415  loads numpy

    given: dict[str, Any] = {} if token is ... else {"token": token}
    return AsyncLoom(_Here(lambda: open_loom(address, settings=known, clock=clock, **given), threads))


class _Side(Protocol):
    """Where the memory is."""

    async def open(self) -> None: ...
    async def workspace(self, name: str | None, **caller: Any) -> AsyncWorkspace: ...
    async def close(self) -> None: ...


class AsyncLoom:
    """An open memory, for tasks of one event loop. Use it as an asynchronous context manager.

    Cancelling a call abandons it at once. Here, its thread still finishes the transaction that it has begun, so that
    the write is there as a whole or not at all; elsewhere, the request is closed, and the server does the same. A write
    that must happen exactly once is given an `idempotency_key`, and repeated with it.
    """

    def __init__(self, side: _Side) -> None:
        self._side = side

    async def workspace(
        self,
        name: str | None = None,
        *,
        session: str | None = None,
        model_tier: str | None = None,
        origin: str | None = None,
    ) -> AsyncWorkspace:
        """Open a workspace, created on first use; `session` labels everything that is written through it."""
        return await self._side.workspace(name, session=session, model_tier=model_tier, origin=origin)

    async def open(self) -> AsyncLoom:
        """Open the memory."""
        await self._side.open()
        return self

    async def close(self) -> None:
        """Wait for the threads of calls that were cancelled, and close every connection."""
        await self._side.close()

    async def __aenter__(self) -> AsyncLoom:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()


RunVerb = Callable[[Faculty, Verb, Mapping[str, Any]], Awaitable[Any]]
Follow = Callable[[int], AsyncGenerator["Event"]]


class AsyncWorkspace(WorkspaceCalls):
    """One workspace, whose faculties and methods are awaited: `await workspace.semantic.recall("James")`."""

    def __init__(self, info: WorkspaceInfo, caller: RemoteCaller, run: RunVerb, follow: Follow) -> None:
        super().__init__(info, caller)
        self._run = run
        self._follow = follow

    @property
    def background(self) -> AsyncBackgroundWork:
        """Reach the long work that somebody has started."""
        return AsyncBackgroundWork(self.reach(FACULTIES["jobs"], {}))

    def run(self, faculty: Faculty, verb: Verb, given: Mapping[str, Any]) -> Awaitable[Any]:
        """Call a verb with arguments by name."""
        return self._run(faculty, verb, given)

    async def _then(self, answer: Any, change: Callable[[Any], Any]) -> Any:
        return change(await answer)

    async def sleep(self, *, seconds: float = 3600.0) -> list[Outcome]:
        """Run every task that is due in this workspace."""
        rounds = Rounds(seconds)
        while (seconds_left := rounds.begin()) > 0:
            rounds.take(await self._ask("workspace.run_due", seconds=seconds_left))
        return rounds.outcomes

    async def changes(self, after: int | None = None) -> AsyncGenerator[Event]:
        """Follow the operations of this workspace as they happen, after an event or from now on."""
        begin = after if after is not None else next((each.id for each in await self.events(limit=1)), 0)
        async with aclosing(self._follow(begin)) as events:
            async for event in events:
                yield event


class _Elsewhere:
    """A memory behind a server."""

    def __init__(self, url: str, settings: Settings, token: str | None) -> None:
        self._settings = settings
        self._peer = Peer.at(url)
        self._token = checked_token(self._peer, token)
        self._sender: AsyncSender | None = None

    async def open(self) -> None:
        from anyio.to_thread import run_sync  # noqa: PLC0415  slow to load

        # In a thread: loading the certificates takes a while.
        self._sender = await run_sync(AsyncSender, self._peer, self._token, timeouts_of(self._settings))

    async def workspace(self, name: str | None, **caller: Any) -> AsyncWorkspace:
        known = caller_of(self._settings, name, **caller, read_only=False)
        run = partial(self._called, known)
        faculty, verb = DESCRIBE
        info = await run(faculty, faculty.verb(verb), {})
        return AsyncWorkspace(info, known, run, partial(self._followed, known))

    async def _called(self, caller: RemoteCaller, faculty: Faculty, verb: Verb, given: Mapping[str, Any]) -> Any:
        request = request_for(faculty, verb, given, caller)
        return result_of(self._peer, request, await self._opened().send(request))

    def _followed(self, caller: RemoteCaller, after: int) -> AsyncGenerator[Event]:
        return follow_async(self._peer, self._opened(), caller, Position(self._peer, after))

    def _opened(self) -> AsyncSender:
        if self._sender is None:
            raise _unopened()
        return self._sender

    async def close(self) -> None:
        if self._sender is not None:
            await self._sender.close()
            self._sender = None


class _Here:
    """A memory of this machine, whose verbs run in threads."""

    def __init__(self, open_it: Callable[[], Loom], threads: int) -> None:
        self._open_it = open_it
        self._threads = threads
        self._limiter: CapacityLimiter | None = None
        self._loom: Loom | None = None
        self._running = 0
        self._lock = threading.Lock()

    async def open(self) -> None:
        from anyio import CapacityLimiter  # noqa: PLC0415  slow to load
        from anyio.to_thread import run_sync  # noqa: PLC0415

        self._limiter = CapacityLimiter(self._threads)
        # Not abandoned: a store that nobody closes would be left open.
        self._loom = await run_sync(self._open_it, limiter=self._limiter)

    async def workspace(self, name: str | None, **caller: Any) -> AsyncWorkspace:
        loom = self._opened()
        place = await self._in_thread(lambda: loom.workspace(name, **caller))
        run = partial(self._called, place)
        return AsyncWorkspace(place.info, RemoteCaller(place.name, **caller), run, partial(self._followed, run))

    async def _called(self, place: Workspace, faculty: Faculty, verb: Verb, given: Mapping[str, Any]) -> Any:
        self._opened()
        read = dict(given)
        chosen = {each.name: read.pop(each.name, None) for each in faculty.selectors}
        return await self._in_thread(lambda: getattr(faculty.reach(place, chosen), verb.name)(**read))

    async def _followed(self, run: RunVerb, after: int) -> AsyncGenerator[Event]:
        from anyio import sleep  # noqa: PLC0415  slow to load

        items = FACULTIES["items"]
        seen = after
        while True:
            found = await run(items, items.verb("events_after"), {"event_id": seen, "limit": _PAGE, "max_tokens": None})
            for event in found:
                seen = event.id
                yield event
            if not found:
                await sleep(_LOOK_EVERY)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        from anyio.to_thread import run_sync  # noqa: PLC0415  as above

        def counted() -> T:
            with self._lock:
                self._running += 1
            try:
                return work()
            finally:
                with self._lock:
                    self._running -= 1

        return await run_sync(counted, abandon_on_cancel=True, limiter=self._limiter)

    def _opened(self) -> Loom:
        if self._loom is None:
            raise _unopened()
        return self._loom

    async def close(self) -> None:
        from anyio import CancelScope, sleep  # noqa: PLC0415  as above
        from anyio.to_thread import run_sync  # noqa: PLC0415

        loom, self._loom = self._loom, None
        if loom is None:
            return
        # Even when the program is being cancelled: a thread that was abandoned still writes through this store.
        with CancelScope(shield=True):
            while self._running:
                await sleep(0.01)
            await run_sync(loom.close)


def _unopened() -> StoreError:
    return StoreError("this loom is not open", hint="use it inside `async with open_async_loom(…) as loom:`")
