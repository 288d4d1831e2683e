"""Follows the operations of a workspace elsewhere: server-sent events, resumed where they broke off.

Reads the stream's own format and decides when to connect again; a thread or a task does the rest. Every event comes
once and in order, because its id is where the next connection goes on.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from everloom.errors import EverloomError, StoreBusy
from everloom.kernel.journal import Event
from everloom.remote.calls import Peer, RemoteCaller, WireReply, problem_in
from everloom.remote.decode import reader_of
from everloom.remote.sending import AsyncSender, Failed, Sender, faults, lower
from everloom.wiring.wire.protocol import CHANGES

if TYPE_CHECKING:
    import httpx2

# A server says something every 15 seconds.
_SILENT_SECONDS = 45.0
# How long a server may be gone before whoever follows is told.
_PATIENCE = 60.0
_LONGEST_WAIT = 3.0
_NAME = "changes"


class Reconnecting:
    """When whoever reads a stream connects again, and when to give up."""

    def __init__(self) -> None:
        self._gone_since: float | None = None
        self._tried = 0

    def reached(self) -> None:
        """Note that the server has said something."""
        self._gone_since, self._tried = None, 0

    def pause(self, error: EverloomError | None) -> float:
        """Say how long to wait before the next connection; raises if that has no sense any more."""
        if error is None:
            # A stream has an end, after which the next one begins; one that ends at once must not keep both sides busy.
            return random.uniform(0.1, 0.3)
        if not isinstance(error, StoreBusy):
            raise error
        now = time.monotonic()
        self._gone_since = now if self._gone_since is None else self._gone_since
        if now - self._gone_since > _PATIENCE:
            raise error
        self._tried += 1
        return min(0.1 * 2.0**self._tried, _LONGEST_WAIT) * random.uniform(0.5, 1.0)


class Position:
    """Where a follower is: the last event, and since when no connection has worked."""

    def __init__(self, peer: Peer, after: int) -> None:
        self._peer = peer
        self.after = after
        self._reconnecting = Reconnecting()
        self._data: list[str] = []

    def line(self, line: str) -> Event | None:
        """Read one line of the stream; returns an event once it is whole."""
        self._reconnecting.reached()
        if line.startswith("data:"):
            self._data.append(line[5:].removeprefix(" "))
        if line or not self._data:
            return None
        text, self._data = "\n".join(self._data), []
        event = self._event_in(text)
        # After a connection broke, nothing is told twice.
        if event.id <= self.after:
            return None
        self.after = event.id
        return event

    def _event_in(self, text: str) -> Event:
        try:
            event: Event = reader_of(Event)(json.loads(text))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise self._peer.strange(f"an event of {_NAME} cannot be read") from error
        return event

    def broke(self, error: EverloomError | None) -> float:
        """Say how long to wait before the next connection."""
        self._data = []
        return self._reconnecting.pause(error)


def follow(peer: Peer, sender: Sender, caller: RemoteCaller, position: Position) -> Generator[Event]:
    """Yield the events of a workspace as they happen."""
    while True:
        error: EverloomError | None = None
        try:
            with trouble(peer, _NAME), sender.client.stream("GET", CHANGES, **_options(caller, position)) as reply:
                check_stream(peer, _NAME, reply, b"" if reply.status_code == 200 else reply.read())
                for line in reply.iter_lines():
                    if (event := position.line(line)) is not None:
                        yield event
        except Failed as failed:
            error = failed.outcome.error
        time.sleep(position.broke(error))


async def follow_async(
    peer: Peer, sender: AsyncSender, caller: RemoteCaller, position: Position
) -> AsyncGenerator[Event]:
    """Yield the events of a workspace as they happen; cancelling closes the stream."""
    import anyio  # noqa: PLC0415  slow to load

    while True:
        error: EverloomError | None = None
        try:
            with trouble(peer, _NAME):
                async with sender.client.stream("GET", CHANGES, **_options(caller, position)) as reply:
                    check_stream(peer, _NAME, reply, b"" if reply.status_code == 200 else await reply.aread())
                    async for line in reply.aiter_lines():
                        if (event := position.line(line)) is not None:
                            yield event
        except Failed as failed:
            error = failed.outcome.error
        await anyio.sleep(position.broke(error))


def _options(caller: RemoteCaller, position: Position) -> dict[str, Any]:
    return stream_options({**caller.headers, "last-event-id": str(position.after)})


def stream_options(named: Mapping[str, str]) -> dict[str, Any]:
    """Choose the options of a request for a stream."""
    import httpx2  # noqa: PLC0415  as above

    headers = {**named, "accept": "text/event-stream"}
    return {"headers": headers, "timeout": httpx2.Timeout(_SILENT_SECONDS, connect=5.0)}


def check_stream(peer: Peer, name: str, reply: httpx2.Response, body: bytes) -> None:
    """Check that a reply is a stream of events; raises what it says if not."""
    found = WireReply(reply.status_code, lower(reply.headers), body)
    if found.status != 200:
        raise problem_in(peer, name, found)
    if found.kind != "text/event-stream":
        raise peer.strange(f"it answered {name} with {found.kind or 'nothing'}")


@contextmanager
def trouble(peer: Peer, name: str) -> Iterator[None]:
    """Tell what a later connection may mend from what it may not."""
    try:
        with faults(peer, name):
            yield
    except StoreBusy as error:
        raise Failed.of(error) from error
