"""Sends requests and repeats them until an answer comes or patience ends: all of them are safe to repeat.

The decisions are one generator that yields what to do next; a thread or a task carries it out. Refuses to know verbs.
"""

from __future__ import annotations

import random
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from everloom import __version__
from everloom.errors import EverloomError, StoreBusy, StoreError
from everloom.remote.calls import Peer, WireReply, WireRequest, problem_in
from everloom.secrets import logger_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx2

log = logger_of(__name__)

# An answer has a budget of tokens; the largest are records that are asked for whole, and pages of events.
MOST_BYTES = 64 * 2**20
_FIRST_WAIT = 0.1
_LONGEST_WAIT = 3.0
# A server that answered before is given the time of a restart; one that never did is probably not there.
_PATIENCE = 30.0
_FIRST_PATIENCE = 1.0
# Shorter than a server keeps a quiet connection open, so that no request meets one that is just being closed.
_QUIET_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long connecting may take, how long a server may stay silent, and how long a whole answer may take."""

    connect: float = 5.0
    # The server itself gives up a request after 120 seconds.
    silent: float = 130.0
    whole: float = 300.0


@dataclass(slots=True)
class Contact:
    """Whether a server has answered before; shared by all threads of a client, for which a stale value is harmless."""

    was_reached: bool = False

    @property
    def patience(self) -> float:
        """For how many seconds a request is repeated."""
        return _PATIENCE if self.was_reached else _FIRST_PATIENCE


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A request without an answer: why, and whether another attempt makes no sense."""

    error: EverloomError
    is_final: bool = False


Step = WireRequest | float
Attempted = WireReply | Unanswered | None
Plan = Generator[Step, Attempted, WireReply]


def attempts(peer: Peer, request: WireRequest, contact: Contact) -> Plan:
    """Plan the attempts of one request: yields the request to be sent or the seconds to wait; returns the reply."""
    ends: float | None = None
    tried = 0
    error: EverloomError | None
    while True:
        outcome = yield request
        tried += 1
        if isinstance(outcome, WireReply):
            contact.was_reached = True
            error = problem_in(peer, request.name, outcome) if outcome.is_repeated else None
            # A model that is busy was asked again by the server already, and costs money each time.
            if not isinstance(error, StoreBusy):
                return outcome
            is_final, asked = False, _asked_wait(outcome.headers)
        elif isinstance(outcome, Unanswered):
            error, is_final, asked = outcome.error, outcome.is_final, 0.0
        else:
            raise TypeError("a request has an outcome")
        now = time.monotonic()
        ends = now + contact.patience if ends is None else ends
        wait = max(min(_FIRST_WAIT * 2.0 ** (tried - 1), _LONGEST_WAIT) * random.uniform(0.5, 1.0), asked)
        if is_final or now + wait > ends:
            raise error
        log.info("%s again in %.1f s: %s", request.name, wait, error.message)
        yield wait


def _asked_wait(headers: Mapping[str, str]) -> float:
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return 0.0
    return max(0.0, seconds) if isfinite(seconds) else 0.0


class Sender:
    """Sends requests from any thread over kept connections."""

    def __init__(self, peer: Peer, token: str | None, timeouts: Timeouts) -> None:
        import httpx2  # noqa: PLC0415  slow to load

        self._peer = peer
        self._timeouts = timeouts
        self._contact = Contact()
        self.client = httpx2.Client(**client_options(peer, token, timeouts))

    def send(self, request: WireRequest) -> WireReply:
        """Send a request and return its reply, repeating it where that makes sense."""
        plan = attempts(self._peer, request, self._contact)
        step = next(plan)
        try:
            while True:
                step = plan.send(self._do(step))
        except StopIteration as ended:
            reply: WireReply = ended.value
            return reply

    def _do(self, step: Step) -> Attempted:
        if not isinstance(step, WireRequest):
            time.sleep(step)
            return None
        try:
            with faults(self._peer, step.name):
                return self._reply_to(step)
        except Failed as failed:
            return failed.outcome

    def _reply_to(self, request: WireRequest) -> WireReply:
        ends = time.monotonic() + self._timeouts.whole
        with self.client.stream("POST", request.path, content=request.body, headers=request.headers) as reply:
            body = bytearray()
            for chunk in reply.iter_bytes():
                body += chunk
                check_body(self._peer, request.name, len(body), ends)
            return WireReply(reply.status_code, lower(reply.headers), bytes(body))

    def close(self) -> None:
        """Close every connection."""
        self.client.close()


class AsyncSender:
    """Sends requests from any task; cancelling a task closes its request."""

    def __init__(self, peer: Peer, token: str | None, timeouts: Timeouts) -> None:
        import httpx2  # noqa: PLC0415  slow to load

        self._peer = peer
        self._timeouts = timeouts
        self._contact = Contact()
        self.client = httpx2.AsyncClient(**client_options(peer, token, timeouts))

    async def send(self, request: WireRequest) -> WireReply:
        """Send a request and return its reply, repeating it where that makes sense."""
        plan = attempts(self._peer, request, self._contact)
        step = next(plan)
        try:
            while True:
                step = plan.send(await self._do(step))
        except StopIteration as ended:
            reply: WireReply = ended.value
            return reply

    async def _do(self, step: Step) -> Attempted:
        if not isinstance(step, WireRequest):
            import anyio  # noqa: PLC0415  as above

            await anyio.sleep(step)
            return None
        try:
            with faults(self._peer, step.name):
                return await self._reply_to(step)
        except Failed as failed:
            return failed.outcome

    async def _reply_to(self, request: WireRequest) -> WireReply:
        ends = time.monotonic() + self._timeouts.whole
        async with self.client.stream("POST", request.path, content=request.body, headers=request.headers) as reply:
            body = bytearray()
            async for chunk in reply.aiter_bytes():
                body += chunk
                check_body(self._peer, request.name, len(body), ends)
            return WireReply(reply.status_code, lower(reply.headers), bytes(body))

    async def close(self) -> None:
        """Close every connection."""
        await self.client.aclose()


def client_options(peer: Peer, token: str | None, timeouts: Timeouts) -> dict[str, Any]:
    """Choose the options of an HTTP client; it follows no redirect, because the token must not go elsewhere."""
    import httpx2  # noqa: PLC0415  as above

    from everloom.models.transport import trusted_certificates  # noqa: PLC0415

    headers = {"user-agent": f"everloom/{__version__}", "accept": "application/json"}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    return {
        "base_url": peer.url,
        "headers": headers,
        "follow_redirects": False,
        "timeout": httpx2.Timeout(timeouts.silent, connect=timeouts.connect),
        # No proxy stands between a program and its own machine, whatever the environment says.
        "trust_env": not peer.is_here,
        "limits": httpx2.Limits(keepalive_expiry=_QUIET_SECONDS),
        "verify": trusted_certificates() if peer.url.lower().startswith("https") else False,
    }


def lower(headers: httpx2.Headers) -> dict[str, str]:
    """Copy headers with names in lower case."""
    return {name.lower(): value for name, value in headers.items()}


def check_body(peer: Peer, name: str, size: int, ends: float) -> None:
    """Give up an answer that is too large or takes too long: each part of it resets the client's own timeout."""
    if size > MOST_BYTES:
        error = StoreError(f"{peer.url} answered {name} with more than {MOST_BYTES:,} bytes", hint="ask for less")
        raise Failed(Unanswered(error, is_final=True))
    if time.monotonic() > ends:
        raise Failed(Unanswered(peer.silent(name, "the answer took too long"), is_final=True))


class Failed(Exception):
    """An attempt that had no answer."""

    def __init__(self, outcome: Unanswered) -> None:
        super().__init__(outcome.error.message)
        self.outcome = outcome

    @classmethod
    def of(cls, error: EverloomError) -> Failed:
        """Make one of an error."""
        return cls(Unanswered(error))


@contextmanager
def faults(peer: Peer, name: str) -> Iterator[None]:
    """Translate the failures of the HTTP library: which of them are worth another attempt."""
    import httpx2  # noqa: PLC0415  as above

    try:
        yield
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError) as error:
        why = str(error) or "it does not accept connections"
        if "certificate" in why.lower() or "ssl" in why.lower():
            raise Failed(Unanswered(peer.untrusted(why), is_final=True)) from error
        raise Failed(Unanswered(peer.unreachable(why))) from error
    except httpx2.TimeoutException as error:
        # It is there and slow: asking again would only add to its work.
        silent = peer.silent(name, "it took too long")
        raise Failed(Unanswered(silent, is_final=True)) from error
    except (httpx2.DecodingError, httpx2.UnsupportedProtocol, httpx2.InvalidURL, httpx2.LocalProtocolError) as error:
        strange = peer.strange(str(error))
        raise Failed(Unanswered(strange, is_final=True)) from error
    except httpx2.RequestError as error:
        broken = peer.silent(name, "the connection broke")
        raise Failed(Unanswered(broken)) from error
    except RuntimeError as error:
        if "closed" not in str(error):
            raise
        closed = StoreError("this loom was closed", hint="open it again")
        raise Failed(Unanswered(closed, is_final=True)) from error
